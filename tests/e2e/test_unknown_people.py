"""Users that the target does not have, in a field of users: known before the first asset, by plan and run alike."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dam_sync.api.emulation.sandbox import Emulated
from tests.conformance.catalogue import SCHEMA, asset, field
from tests.support.jobs.any_pair import hurried, joined, living, moved, planned, ran, receiver_of, tenant_of
from tests.support.jobs.tenants import Pair
from tests.support.libraries.every_feature import OWN_MARKS, receiving

AUTHOR, USERS = field("author", "text"), field("author", "person", native="USER")
NAMES = {1: "Administrator", 2: "A. Stranger", 3: "A. Stranger"}
LIBRARY = [*SCHEMA, AUTHOR, *(asset(n, fields={"author": name}) for n, name in NAMES.items())]


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    """The field of the target takes users of that server alone."""
    tenants = tenant_of("e_profiles", LIBRARY), receiver_of("b_documents", [*receiving(), USERS])
    with hurried(), tenants[0] as first, tenants[1] as second:
        sides = Emulated("e_profiles", first.url), Emulated("b_documents", second.url)
        yield joined(tmp_path, *sides, (first, second), OWN_MARKS)


def mapped(pair: Pair, fate: str) -> None:
    """What becomes of a name that the target does not know."""
    mapping = pair.folder / "mapping.yaml"
    text = mapping.read_text(encoding="utf-8")
    line = "{from: fields.author}"
    assert text.count(line) == 1
    mapping.write_text(text.replace(line, f"{{from: fields.author, on_error: {fate}}}"), encoding="utf-8")


def test_unknown_people_are_dropped_and_reported_where_the_mapping_says_so(pair: Pair) -> None:
    mapped(pair, "drop")
    plan, done = planned(pair), ran(pair)
    assert (done["counts"]["created"], done["counts"]["parked"]) == (3, 0)
    assert (plan["operations"], plan["losses"]) == (done["operations"], done["losses"])
    (lost,) = [row for row in done["losses"] if row["path"] == "fields.author"]
    assert (lost["rule"], lost["assets"]) == ("not in the list", 2)
    written = [row["fields"].get("lib:author") for row in living(pair.target).values()]
    assert list(filter(None, written)) == ["Administrator"]


def test_unknown_people_park_the_asset_in_a_plan_too(pair: Pair) -> None:
    mapped(pair, "park")
    plan, done = planned(pair), ran(pair)
    assert (plan["counts"]["created"], plan["counts"]["parked"]) == (1, 2)
    assert (plan["counts"], plan["operations"]) == (done["counts"], done["operations"])
    assert set(moved(pair).parked.values()) == {"mapping fields.lib:author: not in the list"}
