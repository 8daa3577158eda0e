"""`check` names the user of a service, and no credential where a service takes none."""

from __future__ import annotations

import pytest

from dam_sync.api.check import _about
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
