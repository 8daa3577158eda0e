"""What published schemas of the service say, beside what its clients send."""

from __future__ import annotations

from tests.support.services.emulated_c import Rig, asset_row


def test_a_permission_names_its_user_in_data_or_directly_in_one_reading() -> None:
    for variant, bare in (("", False), ("bare_user", True)):
        with Rig(variant=variant) as c:
            (row, *_) = c.get(f"/libraries/{c.library}/user_permissions")["data"]
            assert set(row["relationships"]["user"]) == ({"id", "type"} if bare else {"data"})


def test_a_change_needs_the_name_in_one_reading() -> None:
    body = {"data": {"attributes": {"description": "d"}}}
    for variant, status in (("", 200), ("name_on_put", 422)):
        with Rig([asset_row("1")], variant=variant) as c:
            key = c.of("1")
            assert c.api.put(f"/assets/{key}", json=body).status_code == status
            named = {"data": {"attributes": {"description": "d", "name": "n"}}}
            assert c.api.put(f"/assets/{key}", json=named).status_code == 200
