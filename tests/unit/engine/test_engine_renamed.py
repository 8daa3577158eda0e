"""Which terms and containers a verification reports as renamed at the target."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dam_sync.engine.compare.patterns import OTHER_NAME, RENAMED
from dam_sync.engine.verification.renamed import Renamed
from dam_sync.mapping.crosswalk import Drafted
from dam_sync.mapping.vocabulary import MetTerm, TermIndex, VocabularyRule, recall_key
from dam_sync.model.asset import Asset, AssetId, Draft, Placement, Revision
from dam_sync.model.counterpart import CONTAINER, TERM
from dam_sync.model.schema import Schema
from dam_sync.model.values import Term
from tests.support.run_double import run_double

RULE = VocabularyRule("region", "region")
ORIGIN, WANTED = Term("France", "s1/s2", ("Europe", "France")), ("Europe", "France")


@pytest.mark.parametrize(
    ("held", "given", "patterns"),
    [
        (Term("France", "t1/t2", WANTED), WANTED, []),
        (Term("France", "t1/t2", ("EUROPE", "France")), WANTED, [RENAMED]),
        (Term("Frankreich", "t1/t2", ("Europe", "Frankreich")), WANTED, [RENAMED]),
        (Term("Gaul", "t1/t2", ("Europe", "Gaul")), ("Europe", "Gaul"), [OTHER_NAME]),
        (Term("Frankreich", "t1/t2", ("Europe", "Frankreich")), ("Europe", "Gaul"), [RENAMED]),
    ],
)
def test_a_term_that_a_listing_leaves_out_is_renamed_if_its_name_differs(
    held: Term, given: tuple[str, ...], patterns: list[str]
) -> None:
    """By others; a name that runs gave is another one since the source was renamed."""
    index = TermIndex()
    index.promised[WANTED] = {recall_key(RULE.name, ORIGIN): MetTerm(RULE, ORIGIN.id, WANTED)}
    row = SimpleNamespace(target="t1/t2", wanted=given)
    known = {(TERM, RULE.name, ORIGIN.id): row}
    counterparts = SimpleNamespace(rows=known, of=lambda *key: known.get(key))
    context: Any = run_double(counterparts=counterparts, crosswalk=None, target_schema=Schema({}))
    actual = Asset(AssetId("2"), Revision("r"), filename="a.jpg", fields={"region": held})
    asset = Asset(AssetId("1"), Revision("r"), filename="a.jpg", fields={"region": ORIGIN})
    drafted = Drafted(
        Draft(None, "a.jpg", fields={"region": Term("France")}), unmade={("region", 0): ("region", WANTED)}
    )
    draft, found = Renamed(context.target, context.mapping.crosswalk, asset, actual, {"region": index}).of(drafted)
    assert (draft.fields["region"], [each.pattern for each in found]) == (held, patterns)


@pytest.mark.parametrize(
    ("renames", "given", "pattern"),
    [({"section"}, "New", RENAMED), (set(), "New", OTHER_NAME), ({"section"}, "Old", OTHER_NAME)],
)
def test_people_are_not_said_to_have_renamed_what_the_target_cannot_rename(
    renames: set[str], given: str, pattern: str
) -> None:
    """The name at the source may have changed since, and the target has no call to follow it."""
    origin, wanted = Placement("category", ("New",), "s1"), Placement("section", ("New",))
    held = Placement("section", ("Old",), "t1")
    known = {(CONTAINER, "category", "s1"): SimpleNamespace(place="section", target="t1", wanted=(given,))}
    counterparts = SimpleNamespace(rows=known, of=lambda *key: known.get(key))
    able = SimpleNamespace(renames=renames)
    context: Any = run_double(
        counterparts=counterparts,
        crosswalk=SimpleNamespace(placed=lambda _: [wanted]),
        target=SimpleNamespace(capabilities=able),
        target_schema=Schema({}),
    )
    actual = Asset(AssetId("2"), Revision("r"), filename="a.jpg", placements=frozenset({held}))
    asset = Asset(AssetId("1"), Revision("r"), filename="a.jpg", placements=frozenset({origin}))
    drafted = Drafted(Draft(None, "a.jpg", placements=frozenset({wanted})))
    names = Renamed(context.target, context.mapping.crosswalk, asset, actual, {})
    draft, found = names.of(drafted)
    assert (draft.placements, [each.pattern for each in found]) == (frozenset({held}), [pattern])
    kept = {"placements.section"}
    assert names.of(drafted, kept) == (draft, [])
    own = Draft(None, "a.jpg", placements=frozenset({Placement("section", ("Kept",), "t1")}))
    assert names.named(own, kept).placements == frozenset({held})
    assert names.named(own, ()) == own
