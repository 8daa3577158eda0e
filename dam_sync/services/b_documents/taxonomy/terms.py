"""Vocabularies of service B: directories, read with those of their parents, and extended (wire B 5.2)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from urllib.parse import quote

from dam_sync.aio.single_flight import KeyedLock
from dam_sync.crawl.held_list import HeldList
from dam_sync.crawl.pagers import Offset, Page, Params
from dam_sync.crawl.pagination import paginate
from dam_sync.http.client import Request
from dam_sync.http.interpreting import interprets_response, member_text
from dam_sync.model.asset import with_new_top
from dam_sync.model.connector import Context
from dam_sync.model.errors import Conflict, ContractBroken, InvalidValue, NotFound, Unsupported
from dam_sync.model.trees import arranged as parents_arranged
from dam_sync.model.unicode_forms import nfkd
from dam_sync.model.values import Json, Term
from dam_sync.services.b_documents import facts
from dam_sync.services.b_documents.codec.fields import ENUM, Directory, ServerSchema, chain
from dam_sync.services.b_documents.tenant import DocumentsPart

LONGEST = 250  # characters of an entry's id or label; directories keep them in columns of 255


@dataclass(slots=True)
class Listed:
    """One vocabulary: terms in order, each with the id of its entry."""

    terms: dict[str, Term]  # by term id, which is the path of entry ids
    entries: dict[str, str]  # term id -> entry id


class DocumentsTerms(DocumentsPart):
    """Reads before it writes; keeps what it read, and reads again after a refused write."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._vocabularies: dict[str, Listed] = {}
        self._term_locks = KeyedLock()
        self._listing = KeyedLock()

    async def terms(self, vocabulary: str) -> AsyncIterator[Term]:
        """Every term, parents before children."""
        for term in list((await self._listed(vocabulary, again=True)).terms.values()):
            yield term

    async def stored_terms(self, vocabularies: Iterable[str]) -> Mapping[str, Mapping[str, Term]]:
        """The terms of these vocabularies by what documents store: the path of ids, or the id alone."""
        found: dict[str, dict[str, Term]] = {}
        for name in sorted(vocabularies):
            listed = await self._listed(name)
            alone = {entry: listed.terms[term] for term, entry in listed.entries.items()}
            found[name] = {**alone, **listed.terms}
        return found

    async def ensure_term(self, vocabulary: str, term: Term) -> Term:
        """The entry below its parent with this label."""
        _refuse_label(vocabulary, term.label)
        async with self._term_locks.of(vocabulary):
            listed = await self._listed(vocabulary)
            found = _known(listed, term)
            return found or await self._add_term(vocabulary, term, listed)

    async def _add_term(self, vocabulary: str, term: Term, listed: Listed) -> Term:
        target = await self._directory(vocabulary, term)
        if term.parent and term.parent not in listed.terms:
            raise InvalidValue(f"the parent {term.parent!r} is not in {vocabulary}")
        entry = free_id(term, listed)
        properties = entry_properties(target, entry, term, listed.entries.get(term.parent, ""))
        body = {"entity-type": "directoryEntry", "directoryName": target.name, "properties": properties}
        path = f"{facts.API}/directory/{quote(target.name, safe='')}"
        request = Request(facts.ADD_ENTRY, "POST", path, json=body, repeatable=False)
        try:
            await self.api.client.send(request)
        except (Conflict, InvalidValue):
            again = _known(await self._listed(vocabulary, again=True), term)  # somebody else made it meanwhile
            if again is None:
                raise
            return again
        except Exception:
            self._vocabularies.pop(vocabulary, None)
            raise
        made = term_of(target, {"id": entry, "properties": properties}, listed.terms.get(term.parent))
        listed.terms[made.id], listed.entries[made.id] = made, entry
        return made

    def learn_term(self, vocabulary: str, term: Term) -> None:
        """See `Service.learn_term`: the vocabulary is listed again when it is needed."""
        if term.id not in getattr(self._vocabularies.get(vocabulary), "terms", {}):
            self._vocabularies.pop(vocabulary, None)

    async def rename_term(self, vocabulary: str, term: Term, renamed: Term) -> Term:
        """PUT of the entry with all its properties, read before; its id, which documents hold, stays."""
        _refuse_label(vocabulary, renamed.label)
        async with self._term_locks.of(vocabulary):
            directory = await self._directory(vocabulary, term)
            entry = (await self._listed(vocabulary)).entries.get(term.id, "")
            rows = {_entry_id(row): row for row in await self._read_entries(directory.name)}
            if entry not in rows:
                raise NotFound(f"{vocabulary} has no term {term.id!r}", operation=facts.PUT_ENTRY)
            properties = relabelled(directory, rows[entry]["properties"], term, renamed)
            if properties != rows[entry]["properties"]:
                await self._put_entry(directory, entry, properties)
            written = term_of(directory, {"id": entry, "properties": properties}, None)
            return self._keep_renamed(vocabulary, term, written)

    async def _put_entry(self, directory: Directory, entry: str, properties: Mapping[str, Json]) -> None:
        body = {"entity-type": "directoryEntry", "directoryName": directory.name, "properties": properties}
        path = f"{facts.API}/directory/{quote(directory.name, safe='')}/{quote(entry, safe='/')}"
        await self.api.client.send(Request(facts.PUT_ENTRY, "PUT", path, json=body, repeatable=True))

    def _keep_renamed(self, vocabulary: str, term: Term, written: Term) -> Term:
        """The term with its new label, in what was read, too; terms below have another path."""
        listed = self._vocabularies[vocabulary]
        path = (*term.path[:-1], written.label)
        for key, known in listed.terms.items():
            listed.terms[key] = replace(known, path=with_new_top(known.path, term.path, path))
        made = replace(listed.terms[term.id], label=written.label, labels=written.labels)
        listed.terms[term.id] = made
        return made

    async def _directory(self, vocabulary: str, term: Term) -> Directory:
        """The directory that has, or takes, this term. Raises Unsupported."""
        server = await self.tenant.server.get()
        directory = server.directories.get(vocabulary)
        if directory is None or directory.closed:
            raise Unsupported(f"no term of {vocabulary} can be changed", hint="map the value to one that the list has")
        own = not directory.parent or term.parent or directory.parent == directory.name
        return directory if own else server.directories[directory.parent]

    async def _listed(self, vocabulary: str, *, again: bool = False) -> Listed:
        """Read once for all that need it at the same time."""
        async with self._listing.of(vocabulary):
            if again or vocabulary not in self._vocabularies:
                self._vocabularies[vocabulary] = await self._read_terms(vocabulary)
            return self._vocabularies[vocabulary]

    async def _read_terms(self, vocabulary: str) -> Listed:
        server = await self.tenant.server.get()
        if vocabulary.startswith(ENUM):
            return enum_of(server, vocabulary)
        if vocabulary not in server.directories:
            return arranged(
                Directory(vocabulary), [(Directory(vocabulary), row) for row in await self._read_entries(vocabulary)]
            )
        several = chain(server, vocabulary)
        rows = [(each, row) for each in reversed(several) for row in await self._read_entries(each.name)]
        return arranged(several[0], rows)

    async def _read_entries(self, directory: str) -> list[Json]:
        """All entries; the default page would end after 50. Raises NotFound."""
        path = f"{facts.API}/directory/{quote(directory, safe='')}"

        async def fetch(params: Params) -> Page:
            """By offset, so that a server with smaller pages leaves no gaps."""
            asked = (("pageSize", str(params["size"])), ("offset", str(params["offset"])))
            reply = await self.api.get(facts.DIRECTORY, path, asked)
            rows = reply.get("entries") if isinstance(reply, dict) else None
            if not isinstance(rows, list):
                raise ContractBroken("a vocabulary response has no `entries`", operation=facts.DIRECTORY)
            if not all(map(_is_entry, rows)):
                raise ContractBroken("a vocabulary has an entry without id or properties", operation=facts.DIRECTORY)
            total = reply.get("resultsCount")
            return Page(rows, total if isinstance(total, int) and total >= 0 else None)

        found: list[Json] = []
        held = HeldList()
        async with aclosing(paginate(fetch, Offset(facts.ENTRIES))) as pages:
            async for page, _ in pages:
                held.take(page.rows)
                found.extend(page.rows)
        return found


def _is_entry(row: Json) -> bool:
    return isinstance(row, dict) and isinstance(row.get("properties"), dict) and bool(_entry_id(row))


def enum_of(server: ServerSchema, vocabulary: str) -> Listed:
    """The list of a constraint. Raises NotFound."""
    info = server.fields.get(vocabulary.removeprefix(ENUM))
    if info is None or info.vocabulary != vocabulary:
        raise NotFound(f"there is no vocabulary {vocabulary!r}")
    terms = {value: Term(value, value, (value,)) for value in info.values}
    return Listed(terms, {value: value for value in terms})


@interprets_response
def arranged(own: Directory, rows: Iterable[tuple[Directory, Json]]) -> Listed:
    """Terms, parents before children; an entry whose parent is missing, or leads back to it, is at the top."""
    pending = [(directory, row, _text(row, "parent")) for directory, row in rows]
    listed = Listed({}, {})
    while pending:
        known = {entry: term for term, entry in listed.entries.items()}
        waiting = {_entry_id(row) for _, row, _ in pending}
        later = [each for each in pending if each[2] and each[2] not in known and each[2] in waiting]
        if len(later) == len(pending):
            later = _outside_cycles(pending)
        waits = set(map(id, later))
        for directory, row, parent in (each for each in pending if id(each) not in waits):
            above = listed.terms.get(known.get(parent, "")) if own.parent else None
            term = term_of(directory, row, above)
            listed.terms.setdefault(term.id, term)
            listed.entries.setdefault(term.id, _entry_id(row))
        pending = later
    return listed


def _outside_cycles(stuck: Sequence[tuple[Directory, Json, str]]) -> list[tuple[Directory, Json, str]]:
    """The entries that only wait for others; none if it cannot be seen which of them do."""
    cut = parents_arranged({_entry_id(row): parent for _, row, parent in stuck}).cut
    outside = [each for each in stuck if _entry_id(each[1]) not in cut]
    return outside if len(outside) < len(stuck) else []


@interprets_response
def term_of(directory: Directory, row: Json, parent: Term | None) -> Term:
    """One entry. Its id is the path of entry ids, as documents store it."""
    properties = row.get("properties") or {}
    entry = _entry_id(row)
    labels = {
        key.removeprefix("label_").lower().replace("_", "-"): str(text)
        for key, text in properties.items()
        if key.startswith("label_") and text
    }
    label = labels.get("en") or next(iter(labels.values()), "") or member_text(properties, "label")
    if not label or label.startswith("label."):  # a key of the message catalogue, not a text (wire B 5.2)
        label = entry
    path = (*parent.path, label) if parent else (label,)
    return Term(label, f"{parent.id}/{entry}" if parent else entry, path, parent.id if parent else "", labels)


def entry_properties(directory: Directory, entry: str, term: Term, parent: str) -> dict[str, Json]:
    """The properties of a new entry (wire B 5.2)."""
    found: dict[str, Json] = {directory.id_field: entry, "obsolete": 0, "ordering": 10_000_000}
    if directory.localized:
        labels = dict(term.labels) or {"en": term.label}
        found |= {f"label_{locale}": text for locale, text in labels.items()}
        if term.label not in labels.values():
            found["label_en"] = term.label
    else:
        found["label"] = term.label
    if parent:
        found["parent"] = parent
    return found


@interprets_response
def relabelled(directory: Directory, known: Mapping[str, Json], term: Term, renamed: Term) -> dict[str, Json]:
    """The properties of an entry with another label: in the languages that `renamed` has, otherwise in those in which
    it has the old one."""
    if not directory.localized:
        return {**known, "label": renamed.label}
    spoken = {f"label_{locale.replace('-', '_')}": text for locale, text in renamed.labels.items()}
    old = {key: renamed.label for key, text in known.items() if key.startswith("label_") and text == term.label}
    return {**known, **(spoken or old or {"label_en": renamed.label})}


def _refuse_label(vocabulary: str, label: str) -> None:
    if not label.strip() or label != label.strip() or len(label) > LONGEST:
        raise InvalidValue(
            f"{label[:40]!r} cannot be a term of {vocabulary}: 1 to {LONGEST} characters, no whitespace around"
        )


def free_id(term: Term, listed: Listed) -> str:
    """A readable id derived from label and parent only, so that a repetition finds the same one; another one if an
    entry has it that was renamed since."""
    ascii_text = nfkd(term.label).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", ascii_text).strip("-")[:40]
    taken = set(listed.entries.values())
    plain = [slug] if slug == term.label.lower() else []
    marked = (f"{slug}-{_mark(term, number)}".lstrip("-") for number in range(len(taken) + 1))
    return next(each for each in (*plain, *marked) if each not in taken)


def _mark(term: Term, number: int) -> str:
    text = f"{term.parent}\n{term.label}" + (f"\n{number}" if number else "")
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _known(listed: Listed, term: Term) -> Term | None:
    if term.id in listed.terms and listed.terms[term.id].label == term.label:
        return listed.terms[term.id]
    found = (each for each in listed.terms.values() if each.label == term.label and each.parent == term.parent)
    return next(found, None)


@interprets_response
def _entry_id(row: Json) -> str:
    identity = row.get("id") or (row.get("properties") or {}).get("id") or ""
    if not isinstance(identity, str | int):
        raise ContractBroken("an entry of a directory has an id that is not a string")
    return str(identity)


@interprets_response
def _text(row: Json, name: str) -> str:
    value = (row.get("properties") or {}).get(name)
    return str(value) if value else ""
