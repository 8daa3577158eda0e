"""Vocabularies and folders: read, found or created (wire A 5.3, 5.4)."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from dam_sync.aio.single_flight import gather_or_raise
from dam_sync.http.failures import NotSent
from dam_sync.http.interpreting import interprets_response, member_text
from dam_sync.model.asset import Placement, with_new_top
from dam_sync.model.connector import Context
from dam_sync.model.diagnostic import nearest
from dam_sync.model.errors import InvalidValue, NotFound, Rejected, Transient, Unsupported
from dam_sync.model.values import Json, Term
from dam_sync.model.waits import LATE, sleep_for
from dam_sync.services.a_hypermedia import facts
from dam_sync.services.a_hypermedia.api.connection import HalRequest, made_id
from dam_sync.services.a_hypermedia.api.hal import embedded, same_name, wanted_id
from dam_sync.services.a_hypermedia.target.stops import description_gone, term_parts_gone
from dam_sync.services.a_hypermedia.tenant import HypermediaBase

TERM_CHILDREN = "/{id}/children"
FOLDER_CHILDREN = "/{nodeId}/children"
TERM, TITLES = "term", "titles of a term"  # forms read back on first use
FOLDER, RENAMED = "folder in a folder", "title of a folder"
KEPT_PARTS = ("descriptions", "synonyms")  # of a term that is written whole


class HypermediaTaxonomy(HypermediaBase):
    """Terms and containers. Siblings may have equal titles, so there is one writer at a time per parent."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._writers: defaultdict[tuple[str, str], asyncio.Lock] = defaultdict(asyncio.Lock)

    async def terms(self, vocabulary: str) -> AsyncIterator[Term]:
        """Every term, parents first. A thesaurus costs two calls per term: its children, and its languages."""
        word, root = await self._source(vocabulary)
        if word == "lookup":
            for item in await self._tenant.lookup(root):
                yield Term(member_text(item, "title"), wanted_id(item), (member_text(item, "title"),))
            return
        waiting, at_once = [Term("", root)], self.limits.pace.at_once
        seen = {root}
        while waiting:
            chunk, waiting = waiting[:at_once], waiting[at_once:]
            for family in await self._families(chunk):
                for term in family:
                    if term.id not in seen:
                        seen.add(term.id)
                        waiting.append(term)
                        yield replace(term, parent="" if term.parent == root else term.parent)

    async def _families(self, parents: Sequence[Term]) -> list[list[Term]]:
        """The children of several parents, complete, read at the same time."""
        return await gather_or_raise([self._children(parent) for parent in parents])

    async def _children(self, parent: Term) -> list[Term]:
        language = (await self._tenant.locales.get())[0]
        node = await self._node(parent.id, language)
        return [await self._term(child, parent) for child in embedded(node, "child")]

    async def _term(self, child: Json, parent: Term) -> Term:
        identity, title = wanted_id(child), member_text(child, "title")
        whole = await self._api.json(HalRequest("GET", "thesauruses", "/{id}", (identity,)))
        return Term(
            label=title,
            id=identity,
            path=(*parent.path, title),
            parent=parent.id,
            labels=_texts(whole.get("titles")),
            synonyms=_synonyms(whole.get("synonyms")),
            descriptions=_texts(whole.get("descriptions")),
        )

    async def _node(self, identity: str, language: str) -> Json:
        params = await self._api.arrays()
        return await self._api.json(
            HalRequest("GET", "thesaurus-tree", "/{id}", (identity,), params, language=language)
        )

    async def _source(self, vocabulary: str) -> tuple[str, str]:
        """The source of a vocabulary: thesaurus or lookup, and its id."""
        forms = await self._tenant.forms.get()
        if vocabulary in forms.sources:
            return forms.sources[vocabulary]
        if vocabulary.isdigit():
            return ("thesaurus", vocabulary)
        raise NotFound(f"unknown vocabulary {vocabulary!r}", hint=nearest(vocabulary, forms.sources))

    async def ensure_term(self, vocabulary: str, term: Term) -> Term:
        """Children of the parent are read, the title compared, then POST, then the other
        languages by PUT of the whole object. A lookup cannot grow: an unknown value is refused."""
        word, root = await self._source(vocabulary)
        if word == "lookup":
            return await self._lookup_value(vocabulary, root, term)
        language = await self._language_of(term)
        title = term.labels.get(language, term.label)
        if not title:
            raise InvalidValue("a thesaurus does not accept a term without a title", code="thesaurus-title-missing")
        _check_titles({**term.labels, language: title})
        parent = term.parent or root
        async with self._writers["term", parent]:  # one writer per parent (wire A 5.3): siblings are not unique

            async def look() -> Json:
                return _child_named(await self._node(parent, language), title)

            found = await look()
            if found is None:
                request = HalRequest(
                    "POST", "thesaurus-tree", TERM_CHILDREN, (parent,), json={"title": title}, language=language
                )
                identity = await self._made_once(request, look)
                await self._refuse_unmade(identity, parent, title, language)
        if found is not None:
            await self._fill(wanted_id(found), term, language)
            return replace(term, id=wanted_id(found), label=member_text(found, "title"))
        if needs_more(term, language):
            await self._complete(identity, term, language)
        return replace(term, id=identity, label=title)

    async def _refuse_unmade(self, identity: str, parent: str, title: str, language: str) -> None:
        """Check the first created term among the children of its parent. Raises Rejected."""

        async def look() -> bool:
            children = embedded(await self._node(parent, language), "child")
            titles = {wanted_id(child): child.get("title") for child in children}
            return identity in titles and same_name(titles[identity], title)

        if not await self._proofs.holds(TERM, look):
            hint = "add one term by hand to see what the thesaurus accepts, then `errors JOB --retry`"
            text = (
                f"the term {title!r} was not created: the service accepted it but does not return it below its parent"
            )
            raise Rejected(text, code="not-written", hint=hint)

    async def _language_of(self, term: Term) -> str:
        return language_of(term, await self._tenant.locales.get())

    def new_term(self, term: Term) -> Term:
        """Its title in the language that it is written in. Lookups do not grow."""
        language = language_of(term, self._tenant.locales.now or ("en",))
        return replace(term, label=term.labels.get(language, term.label))

    async def _fill(self, identity: str, term: Term, language: str) -> None:
        """Add missing titles to an existing term, because an earlier run may have been killed after its
        first call; existing titles stay. If the thesaurus cannot be edited, the term is used as it is."""
        wanted = {locale for locale, title in term.labels.items() if title} - {language}
        if not wanted:
            return
        known = await self._api.json(HalRequest("GET", "thesauruses", "/{id}", (identity,)))
        if not wanted <= _texts(known.get("titles")).keys():
            await self._put_term(identity, completed(known, term, over=False), language, accept=frozenset({403}))

    async def _complete(self, identity: str, term: Term, language: str) -> None:
        known = await self._api.json(HalRequest("GET", "thesauruses", "/{id}", (identity,)))
        await self._put_term(identity, completed(known, term, over=True), language)

    async def _put_term(self, identity: str, whole: Json, language: str, accept: frozenset[int] = frozenset()) -> None:
        ids = (identity,)
        request = HalRequest("PUT", "thesauruses", "/{id}", ids, json=whole, language=language, repeatable=True)

        async def look() -> bool:
            known = await self._api.json(HalRequest("GET", "thesauruses", "/{id}", ids))
            if gone := [part for part in KEPT_PARTS if not _locales_in(whole, part) <= _locales_in(known, part)]:
                raise self._proofs.harmful(TITLES, partial(term_parts_gone, identity, gone))
            now, wanted = _texts(known.get("titles")), _texts(whole.get("titles"))
            return all(same_name(now.get(locale), title) for locale, title in wanted.items())

        async with self._proofs.first_use(TITLES):
            reply = await self._api.call(replace(request, accept=accept))
            written = reply.status == 403 or await self._proofs.holds(TITLES, look)
        if not written:
            hint = "change one term by hand to see what the thesaurus accepts, then `errors JOB --retry`"
            text = f"the languages of the term {identity} were not written: the service accepted them without effect"
            raise Rejected(text, code="not-written", hint=hint)

    async def _lookup_value(self, vocabulary: str, lookup: str, term: Term) -> Term:
        for item in await self._tenant.lookup(lookup):
            if same_name(item.get("title"), term.label):
                return replace(term, id=wanted_id(item), label=member_text(item, "title"))
        hint = "let an administrator add the value to the list, or map it to an existing one"
        raise Unsupported(f"the closed list {vocabulary!r} has no value {term.label!r}", hint=hint)

    async def rename_term(self, vocabulary: str, term: Term, renamed: Term) -> Term:
        """PUT of the whole term with its new titles; titles in other languages, descriptions and synonyms stay. A
        value of a lookup cannot be renamed."""
        word, _ = await self._source(vocabulary)
        if word == "lookup":
            hint = "let an administrator rename the value"
            raise Unsupported(f"the closed list {vocabulary!r} cannot be changed", hint=hint)
        language = await self._language_of(renamed)
        title = renamed.labels.get(language, renamed.label)
        if not title.strip():
            raise InvalidValue("a thesaurus does not accept a term without a title", code="thesaurus-title-missing")
        titles = {**renamed.labels, language: title}
        _check_titles(titles)
        known = await self._api.json(HalRequest("GET", "thesauruses", "/{id}", (term.id,)))
        now = _texts(known.get("titles"))
        if not all(same_name(now.get(locale), text) for locale, text in titles.items() if text):
            whole = completed(known, Term(title, labels=titles), over=True)
            await self._put_term(term.id, {**whole, "title": title}, language)
        path = (*term.path[:-1], title) if term.path else ()
        return replace(term, label=title, path=path, labels={**term.labels, **titles})

    async def containers(self) -> AsyncIterator[Placement]:
        """Folders with their paths, parents first, then labels."""
        folders, labels = await self._tenant.folders.get(), await self._tenant.labels.get()
        for identity, path in folders.items():
            if path:
                yield Placement("folder", path, identity)
        for title, identity in labels.items():
            yield Placement("label", (title,), identity)

    async def ensure_container(self, kind: str, path: Sequence[str], parent: str = "") -> Placement:
        """Find a folder among its siblings, or create it; a label must exist."""
        if kind == "label":
            return await self._label(path)
        if kind != "folder" or not path:
            raise Unsupported(f"the service has no containers of kind {kind!r}")
        title = path[-1]
        async with self._writers["folder", parent]:  # one writer per parent (wire A 5.4): siblings are not unique

            async def look() -> Json:
                return _child_named(await self._tenant.folder(parent), title)

            if (found := await look()) is not None:
                return Placement("folder", tuple(path), wanted_id(found))
            request = HalRequest("POST", "folder-tree", json={"title": title})
            if parent:
                body = {"title": title, "description": ""}
                request = HalRequest("POST", "folder-tree", FOLDER_CHILDREN, (parent,), json=body)
            made = await self._made_once(request, look)
            if parent:
                await self._refuse_other_parent(made, parent, title)
            return Placement("folder", tuple(path), made)

    async def _made_once(self, request: HalRequest, look: Callable[[], Awaitable[Json]]) -> str:
        """The id of what a call creates. One whose response is lost may still arrive: what it made is waited for, so
        that nobody creates it again meanwhile."""
        try:
            return made_id(await self._api.call(request))
        except NotSent:
            raise
        except Transient:
            for wait in facts.LATE_WAITS:
                await sleep_for(self._api.clock, wait, LATE, "target")
                if (found := await look()) is not None:
                    return wanted_id(found)
            raise

    def learn_container(self, container: Placement) -> None:
        """See `Service.learn_container`. Terms are read where they are needed."""
        folders = self._tenant.folders.now
        if container.kind == "folder" and folders is not None:
            folders[container.id] = container.path

    async def _refuse_other_parent(self, identity: str, parent: str, title: str) -> None:
        """Check that the first created subfolder is in its parent. Raises Rejected."""

        async def look() -> bool:
            children = embedded(await self._tenant.folder(parent), "child")
            return identity in map(wanted_id, children)

        if not await self._proofs.holds(FOLDER, look):
            hint = "create one folder by hand to see what the service accepts, then `errors JOB --retry`"
            raise Rejected(f"the folder {title!r} was created but is not in its parent", code="not-written", hint=hint)

    async def rename_container(self, container: Placement, path: Sequence[str], parent: str | None = None) -> Placement:
        """PUT of the title with the description, which stays."""
        if container.kind != "folder" or not path:
            raise Unsupported(f"containers of kind {container.kind!r} cannot be renamed")
        if parent is not None:
            raise Unsupported("a folder cannot be moved to another folder")
        title, ids = path[-1], (container.id,)
        known = await self._described(container.id)
        if not same_name(known.get("title"), title):
            body = {"title": title, "description": known.get("description") or ""}
            async with self._proofs.first_use(RENAMED):
                await self._api.call(HalRequest("PUT", "folders", "/{id}", ids, json=body, repeatable=True))
                await self._refuse_kept(container.id, body)
        renamed = Placement("folder", tuple(path), container.id)
        folders = self._tenant.folders.now or {}
        for identity, now in list(folders.items()):
            folders[identity] = with_new_top(now, container.path, renamed.path)
        return renamed

    async def _described(self, identity: str) -> Json:
        """A folder with its description, which a node of the tree may not show."""
        node = await self._tenant.folder(identity)
        if "description" in node:
            return node
        return {**await self._api.json(HalRequest("GET", "folders", "/{id}", (identity,))), **node}

    async def _refuse_kept(self, identity: str, body: Mapping[str, str]) -> None:
        """Check the first renamed folder. Raises Rejected if it has its old title, SafetyStop if it lost its
        description."""
        title, description = body["title"], body["description"]

        async def look() -> bool:
            now = await self._described(identity)
            renamed = same_name(member_text(now, "title"), title)
            if renamed and description and not member_text(now, "description"):
                raise self._proofs.harmful(RENAMED, partial(description_gone, title, description))
            return renamed

        if not await self._proofs.holds(RENAMED, look):
            hint = "rename one folder by hand to see what the service accepts, then run again"
            raise Rejected(
                f"the folder was not renamed to {title!r}: the service accepted it without effect",
                code="not-written",
                hint=hint,
            )

    async def _label(self, path: Sequence[str]) -> Placement:
        for title, identity in (await self._tenant.labels.get()).items():
            if len(path) == 1 and same_name(title, path[0]):
                return Placement("label", tuple(path), identity)
        hint = "let an administrator create the label, or map this one to an existing label"
        raise Unsupported(f"the service has no label {'/'.join(path)!r}", hint=hint)


def _child_named(resource: Json, title: str) -> Json:
    """The child with this title; None if there is none."""
    return next((child for child in embedded(resource, "child") if same_name(child.get("title"), title)), None)


def needs_more(term: Term, language: str) -> bool:
    """Whether a new term has more than a title in one language."""
    others = {locale: title for locale, title in term.labels.items() if locale != language and title}
    return bool(others or any(term.synonyms.values()) or any(term.descriptions.values()))


def completed(known: Json, term: Term, *, over: bool) -> dict[str, Any]:
    """A term as read, completed by ours; `over`: existing values are replaced, too."""
    parts: dict[str, dict[str, Any]] = {
        "titles": {locale: title for locale, title in term.labels.items() if title},
        "descriptions": dict(term.descriptions),
        "synonyms": {locale: list(words) for locale, words in term.synonyms.items()},
    }
    whole = dict(known)
    for part, ours in parts.items():
        said = dict(known.get(part) or {})
        keys = {_locale(key): key for key in said}
        for locale, value in ours.items():
            key = keys.get(_locale(locale), locale.upper())
            said[key] = value if over else said.get(key) or value
        whole[part] = said
    return whole


def _check_titles(titles: Mapping[str, str]) -> None:
    """Check every title before any is written. Raises InvalidValue."""
    for title in titles.values():
        if len(title) > facts.TERM_LETTERS:
            text = f"term {title!r} has {len(title)} characters; a thesaurus accepts 1 to {facts.TERM_LETTERS}"
            raise InvalidValue(text, code="thesaurus-title-too-long")


def language_of(term: Term, locales: Sequence[str]) -> str:
    """The language its title is written in: the first content language in which it has one."""
    return next((locale for locale in locales if locale in term.labels), locales[0])


def _locale(code: str) -> str:
    return code.lower().replace("_", "-")


@interprets_response
def _by_locale(found: Json) -> dict[str, Any]:
    """Locale codes are upper case here, lower case everywhere else (wire A 5.6)."""
    return {_locale(locale): value for locale, value in (found or {}).items()}


def _locales_in(term: Json, part: str) -> set[str]:
    """The languages in which a term has this part."""
    return {locale for locale, value in _by_locale(term.get(part)).items() if value}


@interprets_response
def _synonyms(found: Json) -> dict[str, tuple[str, ...]]:
    return {locale: tuple(str(word) for word in words) for locale, words in _by_locale(found).items() if words}


@interprets_response
def _texts(found: Json) -> dict[str, str]:
    return {locale: str(text) for locale, text in _by_locale(found).items() if text}
