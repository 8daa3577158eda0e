"""Controlled vocabularies and cascades; a new value can be used once it is applied."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from dam_sync.model.connector import Context
from dam_sync.model.errors import ConfigError, Conflict, InvalidValue, NotFound, Rejected, Unsupported
from dam_sync.model.shared_target import SharedPart
from dam_sync.model.values import Json, Term
from dam_sync.services.d_templates import facts
from dam_sync.services.d_templates.codec.forms import Attribute, VocabularyValues, composed
from dam_sync.services.d_templates.codec.values import cascade_term
from dam_sync.services.d_templates.codec.wire import failed, message_of
from dam_sync.services.d_templates.tenant import TemplatesPart

V = TypeVar("V")
_UNKNOWN = "invalid fields"  # wire D 6.4: how a value is refused that the service does not know


class TemplatesTerms(TemplatesPart):
    """Reads before it writes; one writer per vocabulary, because the service accepts duplicate labels."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._applied = False
        self._writers: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def terms(self, vocabulary: str) -> AsyncIterator[Term]:
        """All current values; for a cascade the top level, because its hierarchy is not exposed."""
        cascade, values = await self._place(await self.tenant.source(vocabulary))
        fresh = await self.tenant.vocabulary(values)
        for identity, label in fresh.labels.items():
            yield cascade_term([Term(label, identity)]) if cascade else Term(label, identity, (label,))

    async def ensure_term(self, vocabulary: str, term: Term) -> Term:
        """Below a parent only in a cascade. Raises Unsupported for a list maintained by the service."""
        return (await self.ensure_terms(vocabulary, (term,)))[0]

    async def ensure_terms(self, vocabulary: str, terms: Sequence[Term]) -> tuple[Term, ...]:
        """Missing values of one vocabulary are added together."""
        for term in terms:
            _refuse_label(vocabulary, term.label)
        source = await self.tenant.source(vocabulary)
        places = [(await self._place(source, term.parent)) for term in terms]
        known: dict[tuple[str, str], str] = {}
        for values in dict.fromkeys(values for _, values in places):
            labels = [term.label for term, (_, own) in zip(terms, places, strict=True) if own == values]
            ids = await self._ensured(values, list(dict.fromkeys(labels)))
            known |= {(values, label): one for label, one in zip(dict.fromkeys(labels), ids, strict=True)}
        made = []
        for term, (cascade, values) in zip(terms, places, strict=True):
            own = Term(term.label, known[values, term.label], (term.label,))
            made.append(own if cascade is None else cascade_term([*await self._path(cascade, term.parent), own]))
        return tuple(made)

    async def rename_term(self, vocabulary: str, term: Term, renamed: Term) -> Term:
        """PATCH of one value by its id, which stays, applied, then read. A value of a cascade may be in several
        branches, so that it is not renamed."""
        _refuse_label(vocabulary, renamed.label)
        cascade, values = await self._place(await self.tenant.source(vocabulary), term.parent)
        if cascade is not None:
            raise Unsupported("the branches of a cascade share their values", hint="rename the value by hand")
        async with self._writers[values]:
            known = (await self.tenant.forms.get()).lexicon.get(values) or await self.tenant.vocabulary(values)
            if term.id not in known.labels:
                raise NotFound(f"the list {known.name!r} has no value {term.id[:60]!r}", operation=facts.ADD_TERMS)
            if known.named(renamed.label) not in ("", term.id):
                raise Conflict(f"the list {known.name!r} has the value {renamed.label!r} already")
            body = {"update": [{"valueId": term.id, "valueName": renamed.label}]}
            fresh = await self._changed(known, body, again=True)
            if fresh.labels.get(term.id) != renamed.label:
                text = f"the value {term.label!r} of {known.name!r} was not renamed to {renamed.label!r}"
                raise InvalidValue(text, operation=facts.ADD_TERMS)
        return Term(renamed.label, term.id, (renamed.label,))

    def learn_term(self, vocabulary: str, term: Term) -> None:
        forms = self.tenant.forms.now
        if forms is None:
            return
        source = forms.sources().get(vocabulary, vocabulary)
        cascade = forms.by_id.get(source)
        lists = [level.vocabulary for level in cascade.levels] if cascade is not None and cascade.levels else [source]
        ids, names = term.id.split("/"), term.path or (term.label,)
        if len(ids) != len(names):
            return  # the levels above are not said; their ids are all that is written
        lexicon = dict(forms.lexicon)
        for name, identity, label in zip(lists, ids, names, strict=False):
            if name in lexicon and lexicon[name].labels.get(identity) != label:
                lexicon[name] = replace(lexicon[name], labels={**lexicon[name].labels, identity: label})
                self.tenant.forms.put(replace(forms, lexicon=lexicon))

    async def tag_terms(self, labels: Iterable[str]) -> tuple[Term, ...]:
        """Values of the tags attribute; new ones are added together."""
        wanted = sorted({composed(label): label for label in sorted(labels)}.values())
        attribute = (await self.tenant.forms.get()).by_key[self.api.options.named.tags]
        ids = await self._ensured(attribute.vocabulary, wanted)
        return tuple(Term(label, identity) for label, identity in zip(wanted, ids, strict=True))

    async def usable(self, call: Callable[[], Awaitable[V]]) -> V:
        """Make a write that contains values. A value that was added but never applied, because a process ended in
        between, is refused: then everything is applied, once per session, and the write is repeated."""
        try:
            return await call()
        except InvalidValue as error:
            if self._applied or _UNKNOWN not in error.message.casefold():
                raise
        self._applied = True
        await self.api.send(self.api.request(facts.APPLY, repeatable=True))
        return await call()

    async def _ensured(self, vocabulary: str, labels: list[str]) -> list[str]:
        """The ids of these values; missing ones are added with one PATCH, applied, then read (wire D 5.2)."""
        async with self._writers[vocabulary]:
            known = (await self.tenant.forms.get()).lexicon.get(vocabulary)
            if known is None:
                known = await self.tenant.vocabulary(vocabulary)
            if not all(map(known.named, labels)):
                known = await self._added_alone(known, labels)
            return [known.named(label) for label in labels]

    async def _added_alone(self, known: VocabularyValues, labels: Sequence[str]) -> VocabularyValues:
        """The vocabulary with these values: one process at a time adds to it, after it has read what others added."""
        shared, scope = self.api.shared, f"values of {known.id}"
        async with shared.creating(scope):
            if others := await shared.created_by_others(scope):
                known = await self.tenant.vocabulary(known.id)
                left = [replace(each, value=known.named(each.path[0]) or None) for each in others if not each.value]
                await shared.created(scope, left)
            missing = [label for label in labels if not known.named(label)]
            if missing:
                parts = [SharedPart(known.id, (label,), label) for label in missing]
                await shared.begin(scope, parts)
                try:
                    known = await self._added(known, missing)
                except Rejected:  # all of them, or none
                    await shared.created(scope, [replace(part, value=None) for part in parts])
                    raise
                await shared.created(scope, parts)
        return known

    async def _added(self, known: VocabularyValues, labels: list[str]) -> VocabularyValues:
        if known.closed:
            raise Unsupported(
                f"the list {known.name!r} is maintained by the service and has no value {labels[0]!r}",
                hint="map this value to one that exists",
            )
        fresh = await self._changed(known, {"add": labels}, again=False)
        for label in labels:
            if not fresh.named(label):
                raise InvalidValue(f"the value {label!r} was not added to {known.name!r}", operation=facts.ADD_TERMS)
        return fresh

    async def _changed(self, known: VocabularyValues, body: Json, *, again: bool) -> VocabularyValues:
        """The vocabulary after a change, applied and read. again: the change may be sent twice."""
        try:
            reply = await self.api.write(facts.ADD_TERMS, known.id, body, again=again)
            if failed(answer := reply.json() if reply.body else None):
                raise InvalidValue(message_of(answer)[:200], operation=facts.ADD_TERMS)
            await self.api.send(self.api.request(facts.APPLY, repeatable=True))
        except BaseException:
            self.tenant.forms.forget()  # nobody knows what is there now
            raise
        return await self.tenant.vocabulary(known.id)

    async def _place(self, source: str, parent: str = "") -> tuple[Attribute | None, str]:
        """The cascade, if any, and the vocabulary of the level below `parent`. Raises Unsupported."""
        forms = await self.tenant.forms.get()
        cascade = forms.by_id.get(source)
        if cascade is None or not cascade.levels:
            return None, source
        depth = parent.count("/") + 1 if parent else 0
        if depth >= len(cascade.levels):
            raise Unsupported(f"the cascade {cascade.key!r} has only {len(cascade.levels)} levels")
        return cascade, cascade.levels[depth].vocabulary

    async def _path(self, cascade: Attribute, parent: str) -> list[Term]:
        """The ancestor terms, from the parent's id."""
        lexicon = (await self.tenant.forms.get()).lexicon
        path = []
        for level, identity in zip(cascade.levels, parent.split("/") if parent else (), strict=False):
            label = lexicon[level.vocabulary].labels.get(identity) if level.vocabulary in lexicon else None
            if label is None:
                raise NotFound(f"the cascade {cascade.key!r} has no value with the id {identity[:60]!r}")
            path.append(Term(label, identity))
        return path


def _refuse_label(vocabulary: str, label: str) -> None:
    if not label or label != label.strip():
        text = f"{label!r} cannot be a value of {vocabulary}: it is empty or begins or ends with whitespace"
        raise InvalidValue(text)


def chosen_template(names: dict[str, str], wanted: str) -> str:
    """The id of the metadata template for new collections. Raises ConfigError."""
    if wanted:
        if wanted not in names:
            raise ConfigError(f"option collection_template: unknown template {wanted!r}", service=facts.NAME)
        return names[wanted]
    if not names:
        raise ConfigError("the instance has no metadata template", service=facts.NAME)
    return names[min(names)]
