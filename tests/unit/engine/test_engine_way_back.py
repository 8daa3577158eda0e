"""Assets that came from the target are known by their markers, also where these name the target by another URL."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from dam_sync.engine.guards.copies import is_one
from dam_sync.engine.guards.way_back import TRIES, WayBack
from dam_sync.mapping.compile import mark_in, marker_value, origin_of
from dam_sync.model.asset import Asset, AssetId, FileRef, Revision
from dam_sync.model.errors import NotFound
from dam_sync.model.probed import Account
from dam_sync.model.values import parse_instant

LONG = AssetId("a/" * 60)
HERE = Account("museum.dam.example", unnamed="museum", former="MUSEUM.dam.example")
WHEN = parse_instant("2026-01-01T00:00:00Z")


def asset(identity: str, size: int | None = 100, marker: str = "", **more: Any) -> Asset:
    file = FileRef(f"{identity}-file", f"{identity}.jpg", size)
    given = {"filename": f"{identity}.jpg", "versions": (file,), "fields": {"key": marker} if marker else {}}
    return Asset(AssetId(identity), Revision("1"), **{**given, **more})


@dataclass
class Target:
    """Has some assets, and counts how often it is asked."""

    there: dict[str, Asset] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    async def fetch(self, identity: AssetId) -> Asset:
        self.asked.append(identity)
        await asyncio.sleep(0)
        if identity not in self.there:
            raise NotFound("not there", asset=identity)
        return self.there[identity]


def way_back(target: Target) -> WayBack:
    return WayBack.of(target, HERE)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [HERE.tenant, HERE.unnamed, HERE.former])
async def test_every_name_of_the_target_is_known(name: str) -> None:
    target = Target({"17": asset("17", size=1)})
    copy = asset("copy", marker=marker_value(name, AssetId("17")))
    assert await way_back(target).original_of(copy) == "17"
    target.there.clear()
    assert await way_back(target).original_of(copy) is None


async def test_an_unknown_name_of_the_target_is_learnt_by_what_it_has() -> None:
    target = Target({str(number): asset(str(number), size=number) for number in range(10)})
    copies = [asset(f"copy-{at}", at, marker_value("10.0.0.5", AssetId(str(at)))) for at in range(10)]
    known = way_back(target)
    found = await asyncio.gather(*map(known.original_of, copies))
    assert found == [str(number) for number in range(10)]


async def test_a_source_that_is_not_the_target_is_asked_about_a_few_times() -> None:
    target = Target({str(number): asset(str(number), size=number + 1) for number in range(5)})
    copies = [asset(f"copy-{at}", at, marker_value("elsewhere", AssetId(str(at)))) for at in range(20)]
    known = way_back(target)
    assert await asyncio.gather(*map(known.original_of, copies)) == [None] * 20
    assert len(target.asked) == TRIES


async def test_a_marker_with_the_digest_of_a_long_id_is_one_of_the_target() -> None:
    value = marker_value(HERE.tenant, LONG)
    assert mark_in(value) == (origin_of(HERE.tenant), None)
    assert await way_back(Target()).original_of(asset("copy", marker=value)) is not None
    assert await way_back(Target()).original_of(asset("copy", marker=marker_value("elsewhere", LONG))) is None


@pytest.mark.parametrize("value", ["", "s", "s12345678-", "S12345678-17", "s12345678-1_7", "h12345678-17", "x" * 60])
def test_what_is_no_marker_names_nothing(value: str) -> None:
    assert mark_in(value) is None


def test_two_assets_are_one_by_id_dates_and_file() -> None:
    first = asset("17", created_at=WHEN, imported_at=WHEN)
    assert is_one(first, asset("17", created_at=WHEN, imported_at=WHEN))
    assert not is_one(first, asset("17", created_at=WHEN))
    assert not is_one(first, asset("17", size=101, created_at=WHEN, imported_at=WHEN))
    assert not is_one(first, asset("17", created_at=WHEN, imported_at=WHEN, status="trash"))
    assert not is_one(first, asset("17", created_at=WHEN, imported_at=WHEN, filename="other.jpg"))
    assert not is_one(asset("17"), asset("17"))
