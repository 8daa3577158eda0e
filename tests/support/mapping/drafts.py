"""Drafts of single assets, by whole mappings or by one line."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from dam_sync.mapping.crosswalk import Drafted
from dam_sync.mapping.vocabulary import TermIndex
from dam_sync.model.account import READ
from dam_sync.model.asset import Asset, AssetId, Revision
from dam_sync.model.schema import Schema
from dam_sync.model.values import Term, Value
from tests.support.mapping.tenant_schemas import TARGET, compiled, with_lines

NOON = datetime(2024, 3, 5, 12, tzinfo=UTC)


def asset(**fields: Value) -> Asset:
    return Asset(AssetId("7"), Revision("1"), filename="a.jpg", form_type="PICTURE", fields=fields)


def draft(folder: Path, text: str, given_: Asset, target: Schema = TARGET, **terms: TermIndex) -> Drafted:
    return compiled(folder, text, target=target).draft(given_, "mark", terms)


def index(*labels: str) -> TermIndex:
    made = TermIndex()
    for position, label in enumerate(labels):
        made.add(Term(label, f"id{position}"))
    return made


def line(folder: Path, written: str, given_: Asset, target: Schema = TARGET, **terms: TermIndex) -> Drafted:
    """What comes of the least mapping with this line."""
    return draft(folder, with_lines(written), given_, target, **terms)


def tally_of(drafted: Drafted) -> Counter[tuple[str, str]]:
    """Values by path and outcome."""
    found: Counter[tuple[str, str]] = Counter()
    for key, number in drafted.account.items():
        if key.outcome != READ:
            found[key.path, key.outcome] += number
    return found
