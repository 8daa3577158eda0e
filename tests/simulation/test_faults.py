"""Everything that a network or a service does to a call, at every call of every service as source and as target.

The migration goes through, or stops with an error for people and goes through the next time; what it parks is named,
and goes through when it is let. `DAM_SYNC_FAULTS=all` tries every fault at every call, a number so many of them, by
`DAM_SYNC_SEED`; without it `make sim` tries every kind of fault once for each service and role.
`DAM_SYNC_AT_ONCE=1` tries each in a migration of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.pairs import EVERYTHING
from tests.support.virtual.crashes import SEED
from tests.support.virtual.fault_scripts import Reference, Script, parked, stormed
from tests.support.virtual.faults import pairs, tried
from tests.support.virtual.moves import Simulation

PAIRS = pairs(SEED)
SAMPLE = 5  # of the kinds of faults, `make test` tries one of so many at each pair, others at the next
SLEPT = ("a_hypermedia", "e_profiles"), Script("target", "POST /v2/uploads/chunks/upload", "sleeps:90000")
HID = ("e_profiles", "a_hypermedia"), Script("source", "GET /api/rest/asset/uuid/{id}", "sticky status:404")
LIED = ("e_profiles", "d_templates"), Script("target", "POST /v1/asset/complete", "odd:2")

WENT = ("b_documents", "c_brandlibrary"), Script("target", "PUT storage /up", "sleeps:900000", "middle")
SHUT = ("b_documents", "d_templates"), Script("target", "PATCH /v1/collections/{id}", "sticky status:404", "middle")
BARE = ("e_profiles", "b_documents"), Script("source", "GET /v2/assets/search", "no_rows", "middle")
LOST = ("c_brandlibrary", "d_templates"), Script("source", "GET /api/v4/assets/{id}", "sticky status:403")
NULL = ("b_documents", "e_profiles"), Script("source", "GET /api/v1/config/schemas", "odd:2")
DOUBLED = (
    ("d_templates", "c_brandlibrary"),
    Script("target", "POST /api/v4/custom_field_keys/{id}/custom_field_values", "sticky status:403", "middle"),
)
STAGED = ("b_documents", "a_hypermedia"), Script("target", "POST /api/dam/folder-tree", "stalls", "middle")
NEVER = ("c_brandlibrary", "d_templates"), Script("target", "PUT storage /masters", "odd:2")
TWICE = ("e_profiles", "a_hypermedia"), Script("target", "POST /api/dam/folder-tree", "sleeps:900000", "last")
EMPTY = ("e_profiles", "c_brandlibrary"), Script("source", "GET /v2/assets/search", "no_library", "middle")
LATE = (
    ("e_profiles", "c_brandlibrary"),
    Script("target", "POST /api/v4/custom_field_keys/{id}/custom_field_values", "sleeps:4000", "last"),
)
ONCE = {
    "a folder twice": TWICE,
    "a file that never arrived": NEVER,
    "values that came late": LATE,
    "two staging folders": STAGED,
    "values twice": DOUBLED,
    "left out of the listing": LOST,
    "labels of no schema": NULL,
    "two at one asset": SLEPT,
    "no attachments": HID,
    "never completed": LIED,
    "never looked at": WENT,
    "not in its collection": SHUT,
    "not in its category": BARE,
    "not in its category, which was said to be empty": EMPTY,
}


@pytest.mark.parametrize(("kinds", "script"), list(ONCE.values()), ids=list(ONCE))
def test_what_once_left_a_trace(tmp_path: Path, kinds: tuple[str, str], script: Script) -> None:
    ending = stormed(Reference.of(Simulation(tmp_path, kinds, SEED)), [script])
    assert (ending.wrong, ending.unhit, ending.verified) == ([], [], [])


UNVOUCHED = {
    "attachment": (("c_brandlibrary", "b_documents"), Script("source", "GET storage /files", "garble", "last")),
    "older version": (("e_profiles", "a_hypermedia"), Script("source", "GET storage /objects", "garble", "middle")),
}


@pytest.mark.parametrize(("kinds", "script"), list(UNVOUCHED.values()), ids=list(UNVOUCHED))
def test_other_bytes_that_no_digest_shows_are_found_by_verify(
    tmp_path: Path, kinds: tuple[str, str], script: Script
) -> None:
    ending = stormed(Reference.of(Simulation(tmp_path, kinds, SEED)), [script])
    assert (ending.wrong, ending.unhit) == ([], [])
    assert ending.verified


REFUSED = [
    ("a_hypermedia", "e_profiles", "GET /api/dam/medias/{id}/media-links"),
    ("b_documents", "d_templates", "GET /api/v1/id/{id}/@blob/{xpath}"),
    ("d_templates", "b_documents", "GET /v1/asset/{id}/link"),
    ("e_profiles", "a_hypermedia", "GET /v2/assets/{id}/versions"),
]


@pytest.mark.parametrize(("source", "target", "call"), REFUSED, ids=[kind[0] for kind, *_ in REFUSED])
def test_an_asset_that_may_not_be_read_keeps_no_other_back(tmp_path: Path, source: str, target: str, call: str) -> None:
    reference = Reference.of(Simulation(tmp_path, (source, target), SEED))
    with reference.simulation.moving() as move:
        weather = move.universe.network.weather
        weather.lines.append(Script("source", call, "sticky status:403", "last").trouble(move, reference.calls))
        move.live()
        assert weather.unhit() == []
        (row,) = parked(move)
        assert row["asset"]
        assert "403" in row["message"]
        assert row["hint"]


@pytest.mark.parametrize("kinds", PAIRS, ids=[f"{a[0]}-{b[0]}" for a, b in PAIRS])
def test_no_fault_leaves_a_trace(
    tmp_path: Path, kinds: tuple[str, str], record_property: Callable[[str, object], None]
) -> None:
    part = slice(None) if EVERYTHING else slice(PAIRS.index(kinds) % SAMPLE, None, SAMPLE)
    came = tried(Simulation(tmp_path, kinds, SEED), len(PAIRS), part)
    record_property("points tried", str(came))
    assert came.faults == [], f"seed {came.seed}"
    assert came.unhit == [], f"seed {came.seed}"
