"""A tree stays a tree where a source's listing has no more of a term than its label and id."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import cast

from dam_sync.engine.names.source_terms import SourceTerms
from dam_sync.model.asset import Asset, AssetId, Revision
from dam_sync.model.capabilities import Capabilities, Operation
from dam_sync.model.service import Service
from dam_sync.model.values import Term, Value

NATURE = Term("Nature", "1", ("Nature",), labels={"en": "Nature", "fr": "La nature"})
SEA = Term("Sea", "2", ("Nature", "Sea"), "1", {"en": "Sea", "fr": "Mer"}, {"en": ("Ocean",)})


class Source:
    """Counts how often its vocabularies are read."""

    capabilities = Capabilities(frozenset({Operation.TERMS}))

    def __init__(self) -> None:
        self.read: list[str] = []

    async def terms(self, vocabulary: str) -> AsyncIterator[Term]:
        self.read.append(vocabulary)
        for term in (NATURE, SEA):
            yield term


def origins(source: Source, **vocabularies: str) -> SourceTerms:
    return SourceTerms(cast("Service", source), vocabularies)


def asset(**fields: Value) -> Asset:
    return Asset(AssetId("1"), Revision("1"), fields=fields)


BARE = asset(subject=(Term("Sea", "2"), Term("Elsewhere", "9")), main=Term("Sea", "2"), note="Sea")


async def test_terms_are_whole_once_the_vocabulary_was_read() -> None:
    source = Source()
    known = origins(source, subject="subjects", main="subjects")
    assert known.whole(BARE) == BARE
    assert await known.load(BARE)
    assert known.whole(BARE).fields == {"subject": (SEA, Term("Elsewhere", "9")), "main": SEA, "note": "Sea"}
    assert not await known.load(BARE)
    assert source.read == ["subjects"]


async def test_a_term_that_is_made_whole_keeps_the_label_that_was_read() -> None:
    """The asset's own text counts."""
    known = origins(Source(), subject="subjects")
    read = asset(subject=Term("read so", "2"))
    await known.load(read)
    assert known.whole(read).fields == {"subject": replace(SEA, label="read so")}


async def test_what_is_above_a_term_is_made_whole_too() -> None:
    known = origins(Source(), subject="subjects")
    await known.load(BARE)
    made = known.completed(Term("Nature", path=("Nature",)))
    assert (made.labels, made.id) == (NATURE.labels, "")
    assert known.completed(Term("Other", path=("Other",))) == Term("Other", path=("Other",))


async def test_the_vocabulary_is_read_for_what_is_above_a_term_that_has_languages() -> None:
    source = Source()
    known = origins(source, subject="subjects")
    whole = asset(subject=(SEA,))
    assert not await known.load(whole, [Term("Sea", path=("Nature", "Sea"))])
    assert await known.load(whole, [Term("Nature", path=("Nature",)), Term("Sea", path=("Nature", "Sea"))])
    assert known.completed(Term("Nature", path=("Nature",))).labels == NATURE.labels
    assert source.read == ["subjects"]


async def test_nothing_is_read_for_terms_that_are_whole_or_of_no_interest() -> None:
    source = Source()
    known = origins(source, subject="subjects")
    assert not await known.load(asset(subject=(SEA,), other=Term("Sea", "2")))
    assert not await known.load(asset(subject=(Term("free text"),)))
    assert source.read == []
