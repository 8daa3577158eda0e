"""Terms and containers: records of the catalogue. Their ids follow from what they are, so that none is made twice."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace

from dam_sync.aio.threads import run_sync
from dam_sync.model.asset import Placement
from dam_sync.model.errors import InvalidValue, Unsupported
from dam_sync.model.schema import Vocabulary
from dam_sync.model.values import Term
from dam_sync.services.folder import codec, facts
from dam_sync.services.folder.target import Writer
from dam_sync.services.folder.tenant import Tenant


@dataclass(slots=True)
class Taxonomy:
    """Reads and makes terms and containers."""

    tenant: Tenant
    writer: Writer

    async def terms(self, vocabulary: str) -> AsyncIterator[Term]:
        """See `Service.terms`."""
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
        """See `Service.containers`."""
        found = map(codec.container_of, await run_sync(self.tenant.listing.records, "container"))
        for place in sorted(found, key=lambda place: (len(place.path), place.kind, place.path)):
            yield place

    async def ensure_term(self, vocabulary: str, term: Term) -> Term:
        """See `Service.ensure_term`; a known term gets the languages, synonyms and descriptions that it lacks. Raises
        InvalidValue, Unsupported for a new term of a closed vocabulary."""
        made = replace(term, id=codec.term_id(vocabulary, term.parent, term.label))
        for known in await run_sync(self._terms, vocabulary):
            if (known.parent, known.label) == (term.parent, term.label):
                made = codec.completed(known, term)
                if made == known:
                    return known
                break
        else:
            await run_sync(self._check_new, vocabulary, term)
        await self.writer.begin()
        await run_sync(self.tenant.catalogue.change, lambda: [codec.term_record(vocabulary, made)])
        return made

    def _check_new(self, vocabulary: str, term: Term) -> None:
        if not term.label:
            raise InvalidValue(f"a term of the vocabulary {vocabulary} has no label")
        declared = self._declared(vocabulary)
        if declared is not None and declared.closed:
            raise Unsupported(f"the vocabulary {vocabulary} is closed, so {term.label} cannot be added to it")

    async def ensure_container(self, kind: str, path: Sequence[str]) -> Placement:
        """See `Service.ensure_container`."""
        if kind not in facts.CONTAINERS:
            raise Unsupported(f"a folder has no containers of the kind {kind}")
        wanted = Placement(kind, tuple(path), codec.container_id(kind, tuple(path)))
        async for known in self.containers():
            if known == wanted:
                return known
        await self.writer.begin()
        record = {"record": "container", "kind": kind, "path": list(wanted.path), "id": wanted.id}
        await run_sync(self.tenant.catalogue.change, lambda: [record])
        return wanted
