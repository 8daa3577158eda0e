"""Who sees the assets of the emulated tenant: by security templates of every version, dates only where they hide."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.support.services.emulated_d import Api, asset_row, schema_rows, served
from tests.support.stepped_clock import NOW

EVERYBODY = ["group:Inner Circle", "user"]
INNER = ["group:Inner Circle"]
ROWS = [
    *schema_rows(),
    {"record": "group", "name": "Closed", "opens": []},
    asset_row(1),
    asset_row(2, rights={"groups": ["Inner Circle"]}),
    asset_row(3, rights={"groups": ["Inner Circle", "Full Access"]}),
    asset_row(4, rights={"groups": ["Closed"]}),
    asset_row(5, rights={"release_at": (NOW + timedelta(days=2)).isoformat()}),
    asset_row(6, rights={"expires_at": (NOW - timedelta(days=2)).isoformat()}),
    asset_row(7, status="trash"),
]
DATES = {"release_field": "released", "expiry_field": "expires"}


def audience(d: Api) -> Any:
    """What the control route says."""
    return d.bare.get(f"{d.served.url}/_emulator/audience").json()


def seen(d: Api) -> dict[str, list[str]]:
    """The viewers by the catalogue's ids, or by family."""
    names = {row["id"]: row["catalogue_id"] or row["id"] for row in d.served.app.state.dump()}
    return {names[key]: viewers for key, viewers in audience(d)["now"].items()}


def test_outsiders_see_what_a_security_template_opens_to_them() -> None:
    with served(ROWS, **DATES) as d:
        assert seen(d) == {"1": EVERYBODY, "2": INNER, "3": EVERYBODY, "5": EVERYBODY, "6": EVERYBODY}
        assert not audience(d)["opened"]


def test_dates_hide_only_in_tenants_that_work_so() -> None:
    with served(ROWS, dates_hide=True, **DATES) as d:
        assert seen(d) == {"1": EVERYBODY, "2": INNER, "3": EVERYBODY}
        d.world.advance(3 * 86_400)
        assert seen(d)["5"] == EVERYBODY
        assert {row["viewer"] for row in audience(d)["opened"]} == set(EVERYBODY)


def test_an_older_version_left_open_shows_the_asset() -> None:
    with served(ROWS) as d:
        made = d.uploaded("new.jpg")
        family = made["originalFileId"]
        again = d.uploaded("new.jpg", originalFileId=family)
        d.patch(f"/asset/{again['objectId']}", {"metadata": [], "securityTemplateIds": [d.security("Inner Circle")]})
        assert seen(d)[family] == EVERYBODY
        d.patch(f"/asset/{made['objectId']}", {"metadata": [], "securityTemplateIds": [d.security("Inner Circle")]})
        assert seen(d)[family] == INNER
        assert [(row["asset"], row["viewer"]) for row in audience(d)["opened"]] == [
            (family, viewer) for viewer in EVERYBODY
        ]
        for each in (made, again):
            d.post(f"/asset/{each['objectId']}/delete", {"action": "delete", "deleteType": "full"})
        assert family not in seen(d)
