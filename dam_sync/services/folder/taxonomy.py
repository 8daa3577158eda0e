"""Terms and containers: records of the catalogue. Their ids follow from what they are, so that none is made twice."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock

from dam_sync.aio.threads import run_sync
from dam_sync.model.asset import Placement
from dam_sync.model.errors import InvalidValue, Unsupported
from dam_sync.model.schema import Vocabulary
from dam_sync.model.values import Term
from dam_sync.services.folder import codec, facts
from dam_sync.services.folder.api.catalogue import Edition, Record
from dam_sync.services.folder.target import Writer
from dam_sync.services.folder.tenant import Tenant


@dataclass(slots=True)
class KnownTerms:
    """All terms as of an edition of the catalogue. terms: by vocabulary, parent and label; paths: by vocabulary and
    id."""

    edition: Edition
    terms: dict[tuple[str, str, str], Term] = field(default_factory=dict)
    paths: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)

    def add(self, vocabulary: str, term: Term) -> None:
        """Of several terms with one label below one parent the first counts."""
        self.terms.setdefault((vocabulary, term.parent, term.label), term)
        self.paths.setdefault((vocabulary, term.id), term.path)


@dataclass(slots=True)
class Taxonomy:
    """Reads and makes terms and containers."""

    tenant: Tenant
    writer: Writer
    _known: KnownTerms | None = None
    _lock: Lock = field(default_factory=Lock)  # of `_known`, which worker threads read and change

    async def terms(self, vocabulary: str) -> AsyncIterator[Term]:
        for term in await run_sync(self._terms, vocabulary):
            yield term

    def _terms(self, vocabulary: str) -> list[Term]:
        records = [each for each in self.tenant.listing.records("term") if each["vocabulary"] == vocabulary]
        if not records and self._declared(vocabulary) is None:
            raise InvalidValue(f"the folder has no vocabulary {vocabulary}", hint="declare it in the catalogue")
        return list(codec.terms_of(records))

    def _declared(self, key: str) -> Vocabulary | None:
        for record in (*self.tenant.listing.records("vocabulary"), *self.tenant.lacking()):
            if record["record"] == "vocabulary" and record["key"] == key:
                return codec.vocabulary_of(record)
        return None

    async def containers(self) -> AsyncIterator[Placement]:
        found = map(codec.container_of, await run_sync(self.tenant.listing.records, "container"))
        for place in sorted(found, key=lambda place: (len(place.path), place.kind, place.path)):
            yield place

    async def ensure_term(self, vocabulary: str, term: Term) -> Term:
        """See `Service.ensure_term`; a known term gets the languages, synonyms and descriptions that it lacks. Raises
        InvalidValue, Unsupported for a new term of a closed vocabulary."""
        known = await run_sync(self._known_term, vocabulary, term)
        if known is None:
            await run_sync(self._check_new, vocabulary, term)
        elif codec.completed(known, term) == known:
            return known
        await self.writer.begin()
        return await run_sync(self._add, vocabulary, term)

    def _known_term(self, vocabulary: str, term: Term) -> Term | None:
        with self._lock:
            return self._current().terms.get((vocabulary, term.parent, term.label))

    def _add(self, vocabulary: str, term: Term) -> Term:
        key = (vocabulary, term.parent, term.label)
        with self._lock:
            current = self._current()
            known = current.terms.get(key)
            if known is None:
                path = (*current.paths.get((vocabulary, term.parent), ()), term.label)
                made = replace(term, id=codec.term_id(*key), path=path)
            else:
                made = codec.completed(known, term)
            if made != known:
                self.tenant.catalogue.change(lambda: [codec.term_record(vocabulary, made)])
                current.edition = current.edition.after(1)
                current.terms.pop(key, None)
                current.add(vocabulary, made)
            return made

    def _current(self) -> KnownTerms:
        """What is known, read again if anything but our own additions changed it."""
        edition = self.tenant.catalogue.edition("term")
        if self._known is None or self._known.edition != edition:
            records: dict[str, list[Record]] = {}
            for record in self.tenant.catalogue.records("term"):
                records.setdefault(record["vocabulary"], []).append(record)
            self._known = KnownTerms(edition)
            for vocabulary, own in records.items():
                for term in codec.terms_of(own):
                    self._known.add(vocabulary, term)
        return self._known

    def _check_new(self, vocabulary: str, term: Term) -> None:
        if not term.label:
            raise InvalidValue(f"a term of the vocabulary {vocabulary} has no label")
        declared = self._declared(vocabulary)
        if declared is None:
            self._terms(vocabulary)  # raises InvalidValue if it has no term either
        elif declared.closed:
            raise Unsupported(f"the vocabulary {vocabulary} is closed, so {term.label} cannot be added to it")

    async def ensure_container(self, kind: str, path: Sequence[str]) -> Placement:
        if kind not in facts.CONTAINERS:
            raise Unsupported(f"a folder has no containers of the kind {kind}")
        wanted = Placement(kind, tuple(path), codec.container_id(kind, tuple(path)))
        known = await run_sync(self.tenant.catalogue.record, "container", kind, list(path))
        if known is not None and codec.container_of(known) == wanted:
            return wanted
        await self.writer.begin()
        record = {"record": "container", "kind": kind, "path": list(wanted.path), "id": wanted.id}
        await run_sync(self.tenant.catalogue.change, lambda: [record])
        return wanted
