"""Who sees the assets of the emulated tenant: approval, dates, libraries and collections, at every moment."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from tests.support.services.emulated_c import Rig, Row, asset_row
from tests.support.stepped_clock import NOW

USER = ["user"]


def moment(hours: float) -> str:
    return (NOW + timedelta(hours=hours)).isoformat()


def placed(name: str) -> list[Row]:
    return [{"kind": "collection", "path": [name]}]


ROWS: list[Row] = [
    {"record": "container", "kind": "collection", "path": ["Open"], "public": True},
    {"record": "container", "kind": "collection", "path": ["Hidden"], "stealth": True},
    asset_row("1"),
    asset_row("2", status="pending"),
    asset_row("3", rights={"release_at": moment(2)}),
    asset_row("4", rights={"expires_at": moment(3)}),
    asset_row("5", rights={"expires_at": moment(-1)}),
    asset_row("6", placements=placed("Open")),
    asset_row("7", placements=placed("Hidden")),
    asset_row("8", placements=placed("Logo Kit")),
    asset_row("9", view_only=True),
    asset_row("10", status="trash"),
]


def seen(c: Rig) -> dict[str, list[str]]:
    """The viewers by the catalogue's ids."""
    names = {row["id"]: row["catalogue_id"] or row["id"] for row in c.app.state.dump()}
    return {names[key]: viewers for key, viewers in c.app.state.audience.now().items()}


def opened(c: Rig) -> list[Any]:
    """What became visible to whom, by the control route."""
    return [(row["asset"], row["viewer"]) for row in c.store.get(f"{c.url}/_emulator/audience").json()["opened"]]


def test_outsiders_see_what_is_published_in_a_library_or_collection_of_theirs() -> None:
    with Rig(ROWS) as c:
        assert seen(c) == {
            "1": USER,
            "4": USER,
            "6": ["collection:Open", "link", "public", "user"],
            "7": ["collection:Hidden", "link", "user"],
            "8": ["collection:Logo Kit", "user"],
            "9": ["user:preview"],
        }
        assert not opened(c)
        shown = {row["attributes"]["name"]: row["attributes"] for row in c.get("/collections")["data"]}
        assert [shown["Open"]["public"], shown["Hidden"]["stealth"], shown["Logo Kit"]["stealth"]] == [
            True,
            True,
            False,
        ]


def test_dates_open_and_close_by_the_clock() -> None:
    with Rig(ROWS) as c:
        c.world.advance(4 * 3600)
        assert "3" in seen(c)
        assert "4" not in seen(c)
        (row,) = c.app.state.audience.opened()
        assert row["viewer"] == "user"
        assert datetime.fromisoformat(row["at"]) - NOW == timedelta(hours=2)


def test_an_asset_is_open_from_the_call_that_creates_it_approved_and_again_after_each_approval() -> None:
    with Rig(ROWS) as c:
        closed = c.create({"name": "Closed", "approved": False})["data"][0]["id"]
        assert not opened(c)
        made = c.create({"name": "New", "approved": True})["data"][0]["id"]
        assert opened(c) == [(made, "user")]
        for approved in (False, True):
            c.send("PUT", f"/assets/{made}", {"data": {"attributes": {"approved": approved}}})
        assert opened(c) == [(made, "user")] * 2
        c.send("PUT", f"/assets/{closed}", {"data": {"attributes": {"approved": True}}})
        assert sorted(opened(c)) == sorted([(made, "user"), (made, "user"), (closed, "user")])


def test_a_library_that_becomes_public_opens_all_that_is_published() -> None:
    with Rig(ROWS, public_libraries=()) as c:
        c.send("PUT", f"/libraries/{c.library}", {"data": {"attributes": {"privacy": "public"}}})
        assert {viewer for _, viewer in opened(c)} == {"public", "link", "public:preview", "link:preview"}
        assert seen(c)["1"] == ["link", "public", "user"]
        assert len({asset for asset, viewer in opened(c) if viewer.startswith("public")}) == 5


def test_a_stealth_library_is_open_to_whoever_holds_its_link() -> None:
    with Rig(ROWS, stealth_libraries=["Acme"]) as c:
        assert seen(c)["1"] == ["link", "user"]
        assert c.get("/libraries")["data"][0]["attributes"]["privacy"] == "stealth"
