"""Who sees the media of the emulated instance: by status, folder and download level, at every moment."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.support.services.emulated_a import Tenant, photo, tenant

EVERYBODY = ["group:press:download", "group:press:preview", "user:download", "user:preview"]
RESTRICTED = {"record": "container", "kind": "folder", "path": ["Secret"], "rights": {"groups": ["press"]}}
RECORDS = [
    RESTRICTED,
    {"record": "container", "kind": "folder", "path": ["Secret", "Below"]},
    photo(1),
    photo(2, status="draft"),
    photo(3, status="archived"),
    photo(4, status="trash"),
    photo(5, placements=[{"kind": "folder", "path": ["Secret", "Below"]}]),
    photo(6, rights={"restrictions": [{"kind": "download", "detail": "BD"}]}),
    photo(7, rights={"restrictions": [{"kind": "download", "detail": "NONE"}]}, placements=[]),
]


def audience(a: Tenant) -> Any:
    """What the control route says."""
    return a.plain.get(f"{a.served.url}/_emulator/audience").json()


def test_outsiders_see_what_is_published_in_folders_that_are_theirs() -> None:
    with tenant(RECORDS) as a:
        ids = {row["catalogue_id"]: row["id"] for row in a.served.app.state.dump()}
        seen = audience(a)
        assert seen == {
            "now": {
                ids["1"]: EVERYBODY,
                ids["5"]: ["group:press:download", "group:press:preview"],
                ids["6"]: ["group:press:preview", "user:preview"],
                ids["7"]: ["group:press:preview", "user:preview"],
            },
            "opened": [],
        }


def test_the_level_of_a_media_holds_for_the_caller_too() -> None:
    with tenant(RECORDS) as a:
        ids = {row["catalogue_id"]: row["id"] for row in a.served.app.state.dump()}
        levels = {key: a.get(f"/medias/{ids[key]}")["downloadLevel"] for key in "167"}
        assert levels == {"1": "HD", "6": "BD", "7": "NONE"}
        assert "svc:hires" not in a.get(f"/medias/{ids['6']}")["_links"]
        answer = a.plain.get(f"{a.served.url}/download-express?mid={ids['7']}", auth=("dam-sync", "secret-a"))
        assert answer.status_code == 403


def test_a_new_media_opens_when_it_is_published_and_not_before() -> None:
    with tenant(RECORDS) as a:
        before = audience(a)["now"]
        made = a.create()
        assert audience(a) == {"now": before, "opened": []}
        a.ok("PUT", f"/medias/{made}/metadatas/title", {"value": "New"})
        assert a.publish(made).status_code == 200
        after = audience(a)
        assert Counter(row["asset"] for row in after["opened"]) == {str(made): 4}
        assert after["now"][str(made)] == EVERYBODY
        a.ok("DELETE", f"/medias/{made}")
        assert str(made) not in audience(a)["now"]


def test_moving_out_of_a_restricted_folder_opens_a_media() -> None:
    with tenant(RECORDS) as a:
        secret = next(row for row in a.served.app.state.dump() if row["catalogue_id"] == "5")
        inside = secret["placements"][0]["id"]
        a.ok("DELETE", f"/folders/{inside}/medias/{secret['id']}")
        opened = audience(a)["opened"]
        assert [(row["asset"], row["viewer"]) for row in opened] == [
            (secret["id"], "user:download"),
            (secret["id"], "user:preview"),
        ]
