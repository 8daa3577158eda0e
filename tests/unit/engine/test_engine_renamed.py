"""Which terms a verification reports as renamed at the target."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dam_sync.engine.verification.patterns import RENAMED
from dam_sync.engine.verification.renamed import Renamed
from dam_sync.mapping.crosswalk import Drafted
from dam_sync.mapping.vocabulary import MetTerm, TermIndex, VocabularyRule, recall_key
from dam_sync.model.asset import Asset, AssetId, Draft, Revision
from dam_sync.model.schema import Schema
from dam_sync.model.values import Term
from dam_sync.store.rows import TERM

RULE = VocabularyRule("region", "region")
ORIGIN, WANTED = Term("France", "s1/s2", ("Europe", "France")), ("Europe", "France")


@pytest.mark.parametrize(
    ("held", "patterns"),
    [
        (Term("France", "t1/t2", WANTED), []),
        (Term("France", "t1/t2", ("EUROPE", "France")), [RENAMED]),
        (Term("Frankreich", "t1/t2", ("Europe", "Frankreich")), [RENAMED]),
    ],
)
def test_a_term_that_a_listing_leaves_out_is_renamed_if_its_name_differs(held: Term, patterns: list[str]) -> None:
    index = TermIndex()
    index.promised[WANTED] = {recall_key(RULE.name, ORIGIN): MetTerm(RULE, ORIGIN.id, WANTED)}
    row = SimpleNamespace(target="t1/t2")
    known = {(TERM, RULE.name, ORIGIN.id): row}
    counterparts = SimpleNamespace(rows=known, of=lambda *key: known.get(key))
    context: Any = SimpleNamespace(counterparts=counterparts, target_schema=Schema({}))
    actual = Asset(AssetId("2"), Revision("r"), filename="a.jpg", fields={"region": held})
    asset = Asset(AssetId("1"), Revision("r"), filename="a.jpg", fields={"region": ORIGIN})
    drafted = Drafted(
        Draft(None, "a.jpg", fields={"region": Term("France")}), unmade={("region", 0): ("region", WANTED)}
    )
    draft, found = Renamed(context, asset, actual, {"region": index}).of(drafted)
    assert (draft.fields["region"], [each.pattern for each in found]) == (held, patterns)
