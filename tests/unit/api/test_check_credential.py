"""`check` names the user of a service, no credential where a service takes none, and every secret that is missing."""

from __future__ import annotations

import pytest

from dam_sync.api.check import _about, _unresolved
from dam_sync.config.side import Auth, SideConfig
from dam_sync.model.errors import ConfigError, Transient
from dam_sync.model.probed import Account


@pytest.mark.parametrize(
    ("user", "with_credential", "told"),
    [
        ("ann", True, "museum as ann, sees 7 assets"),
        ("", True, "museum as the given credential, sees 7 assets"),
        ("", False, "museum, sees 7 assets"),
    ],
)
def test_as_whom_a_service_is_read(user: str, with_credential: bool, told: str) -> None:
    account = Account("museum", user=user, total=7)
    assert next(_about("source", account, with_credential=with_credential)).message == told


async def test_secrets_are_asked_for_though_the_service_is_not_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DAM_TEST_SECRET", raising=False)
    monkeypatch.setenv("DAM_OTHER_SECRET", "")
    given = {"login": "ann", "password": "${env:DAM_TEST_SECRET}", "token": "${env:DAM_OTHER_SECRET}"}
    side = SideConfig(kind="b_documents", auth=Auth(flow="basic", **given))
    found = await _unresolved(side, Transient("not reached"))
    assert [error.message for error in found] == [
        "${env:DAM_TEST_SECRET} is not set",
        "${env:DAM_OTHER_SECRET} is empty",
    ]
    told = ConfigError(found[0].message)
    assert len(await _unresolved(side, told)) == 1, "what the connection said is not said again"
    assert await _unresolved(SideConfig(kind="folder"), told) == []
