"""Who sees the documents of the emulated server: rights, own and inherited, denied and timed, proxies, the trash."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from dam_sync.emulators.kit.audience import Audience
from tests.conformance.catalogue import SCHEMA, asset
from tests.support.services.emulated_b import Platform, platforms
from tests.support.stepped_clock import NOW

EVERYBODY = ["group:public", "group:staff", "user"]
STAFF = ["group:staff"]


def restricted(kind: str, **more: Any) -> dict[str, Any]:
    """Neutral rights with one restriction."""
    return {"restrictions": [{"kind": kind, "detail": "staff", **more}]}


def moment(hours: float) -> str:
    return (NOW + timedelta(hours=hours)).isoformat()


SECRET = {"record": "container", "kind": "folder", "path": ["Secret"], "rights": {"groups": ["staff"]}}
PLACED = [{"kind": "folder", "path": ["Secret", "Below"]}]
ROWS = [
    *SCHEMA,
    SECRET,
    asset(1, status="draft"),
    asset(2, status="archived"),
    asset(3, status="trash"),
    asset(4, rights={"groups": ["staff"]}),
    asset(5, rights={"groups": ["staff"], "inherit": True}),
    asset(6, rights=restricted("denied")),
    asset(7, placements=PLACED),
    asset(8, rights={"groups": ["public"], "inherit": True}, placements=PLACED),
    asset(9, rights=restricted("timed", begin=moment(2), end=moment(4))),
    asset(10, rights={"groups": ["staff"], "permission": "ReadWrite"}),
    asset(11, rights={"groups": ["staff"], "permission": "Write"}),
]


def audience(b: Platform) -> Audience:
    """The emulator's own, not over HTTP."""
    found: Audience = b.served.app.state.audience
    return found


def seen(b: Platform) -> dict[int, list[str]]:
    """The viewers by the catalogue's numbers."""
    numbers = {row["id"]: int(row["catalogue_id"]) for row in b.truth() if row["catalogue_id"]}
    return {numbers[uid]: viewers for uid, viewers in audience(b).now().items()}


def opened(b: Platform) -> list[tuple[str, str]]:
    """What became visible to whom."""
    return [(row["asset"], row["viewer"]) for row in audience(b).opened()]


def test_outsiders_see_what_their_rights_let_them_read_whatever_the_state_and_the_dates() -> None:
    with platforms() as made:
        b = made(*ROWS)
        assert seen(b) == {
            1: EVERYBODY,
            2: EVERYBODY,
            4: STAFF,
            5: EVERYBODY,
            6: ["group:public", "user"],
            7: STAFF,
            8: ["group:public", "group:staff"],
            10: STAFF,
        }
        assert b.http.get("/_emulator/audience").json() == {"now": dict(audience(b).now()), "opened": []}


def test_a_right_begins_and_ends_by_the_clock() -> None:
    with platforms() as made:
        b = made(*ROWS)
        uid = b.named(9)
        b.advance(3 * 3600)
        assert seen(b)[9] == STAFF
        b.advance(2 * 3600)
        assert 9 not in seen(b)
        assert [row for row in audience(b).opened() if row["asset"] == uid] == [
            {"at": (NOW + timedelta(hours=2)).isoformat(), "asset": uid, "viewer": "group:staff"}
        ]


def test_a_document_is_open_from_its_creation_until_its_rights_close_it() -> None:
    with platforms() as made:
        b = made(*ROWS)
        uid = b.create("cat")["uid"]
        b.operate("Document.AddPermission", uid, users=["staff"], permission="Read", blockInheritance=True)
        assert opened(b) == [(uid, viewer) for viewer in EVERYBODY]
        assert audience(b).now()[uid] == STAFF
        b.operate("Document.UnblockPermissionInheritance", uid)
        assert opened(b).count((uid, "user")) == 2


def test_a_folder_opens_what_is_below_it_and_the_trash_hides() -> None:
    with platforms() as made:
        b = made(*ROWS)
        folder = b.get("/path/default-domain/workspaces/Secret")["uid"]
        b.operate("Document.RemoveACL", folder, acl="local")
        assert sorted(opened(b)) == sorted(
            [(b.named(7), "user"), (b.named(7), "group:public"), (b.named(8), "user")]
        )  # fmt: skip
        b.operate("Document.Trash", folder)
        assert not {7, 8} & seen(b).keys()


def test_a_proxy_in_an_open_section_shows_a_closed_document() -> None:
    with platforms() as made:
        b = made(*ROWS)
        section = b.get("/path/default-domain/sections")["uid"]
        b.operate("Document.PublishToSection", b.named(4), target=section)
        assert seen(b)[4] == EVERYBODY
        assert opened(b) == [(b.named(4), "group:public"), (b.named(4), "user")]
