"""Who sees the assets of the emulated tenant: release, expiration, groups, archived, at every moment."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.support.services.emulated_e import Tenant, asset_row, schema_rows, tenants
from tests.support.stepped_clock import NOW

EVERYBODY = ["group:public", "group:staff", "public", "user"]
STAFF = ["group:staff"]


def moment(hours: float) -> str:
    return (NOW + timedelta(hours=hours)).isoformat(timespec="seconds").replace("+00:00", "Z")


ROWS = [
    *schema_rows(),
    asset_row("open"),
    asset_row("staff", rights={"groups": ["staff"]}),
    asset_row("both", rights={"groups": ["staff", "public"]}),
    asset_row("later", rights={"release_at": moment(2)}),
    asset_row("never", rights={"released": False}),
    asset_row("ends", rights={"expires_at": moment(3)}),
    asset_row("over", rights={"expires_at": moment(-1)}),
    asset_row("archived", status="archived"),
    asset_row("binned", status="trash"),
]


def audience(e: Tenant) -> Any:
    """What the control route says."""
    return e.plain.get(f"{e.served.url}/_emulator/audience").json()


def seen(e: Tenant) -> dict[str, list[str]]:
    """The viewers by name."""
    names = {key: name for name, key in e.ids().items()}
    return {names[key]: viewers for key, viewers in audience(e)["now"].items()}


def opened(e: Tenant) -> list[tuple[str, str]]:
    """What became visible to whom."""
    return [(row["asset"], row["viewer"]) for row in audience(e)["opened"]]


def test_outsiders_see_what_is_released_in_a_group_of_theirs() -> None:
    with tenants() as made:
        e = made(*ROWS)
        assert seen(e) == {"open": EVERYBODY, "staff": STAFF, "both": EVERYBODY, "ends": EVERYBODY}
        assert not opened(e)


def test_dates_open_and_close_by_the_clock() -> None:
    with tenants() as made:
        e = made(*ROWS)
        e.world.advance(4 * 3600)
        assert seen(e)["later"] == EVERYBODY
        assert "ends" not in seen(e)
        assert {viewer for _, viewer in opened(e)} == set(EVERYBODY)


def test_an_upload_is_open_at_once_where_its_profile_says_so_and_security_opens_and_closes() -> None:
    with tenants() as made:
        e = made(*ROWS)
        key = e.uploaded("new.jpg")
        assert opened(e) == [(key, viewer) for viewer in EVERYBODY]

        def secure(**members: Any) -> None:
            answer = e.http.put(f"/v2/assets/{key}/security?patch={','.join(members)}", json=members)
            assert answer.status_code < 300, answer.text

        secure(asset_groups=["staff"])
        assert seen(e)["new"] == STAFF
        secure(release_date=None)
        assert "new" not in seen(e)
        secure(release_date=moment(-1))
        assert opened(e).count((key, "group:staff")) == 2
        e.http.delete(f"/v2/assets/{key}")
        assert "new" not in seen(e)
