"""The secrets of a side, resolved without holding up the other work of the process."""

from __future__ import annotations

from dam_sync.aio.threads import run_sync
from dam_sync.config.options import AuthMethod
from dam_sync.config.side import Auth, auth_of
from dam_sync.model.connector import Connector


async def resolved_auth(connector: Connector, auth: Auth | None) -> AuthMethod | None:
    """See `auth_of`. A command or a keyring may block for seconds: then the secrets are resolved in a thread, so that
    other jobs of this process continue."""
    if auth is None or not auth.may_wait:
        return auth_of(connector, auth)
    return await run_sync(auth_of, connector, auth)
