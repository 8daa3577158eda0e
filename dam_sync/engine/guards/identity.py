"""Guards the identity of tenants and users: a state belongs to one source, one target and one user of each."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

from dam_sync.engine.context.libraries import Source, Target
from dam_sync.engine.context.run_state import RunState
from dam_sync.engine.guards.finding import GuardFinding, empty_state
from dam_sync.store.note_keys import ORIGIN, tenant_key, user_key
from dam_sync.store.store import SqlStore


async def changed_identity(source: Source, target: Target, state: RunState) -> AsyncIterator[GuardFinding]:
    """Another tenant or login than those of this state; None for an empty state.
    A new secret for the same login is not another login."""
    if await state.store.is_blank():
        return
    for side, account in (("source", source.account), ("target", target.account)):
        tenant = await state.store.get_meta(tenant_key(side))
        named_since = side == "target" and tenant == account.unnamed  # adopted, and named by this run
        if tenant not in (None, account.tenant, account.former or None) and not named_since:
            yield GuardFinding(
                f"the state belongs to a {side} called {tenant}, but the job file now leads to {account.tenant}",
                f"give the job {empty_state(state)}; if it is the same library under another name, continue with "
                "--accept-changes",
            )
        user = await state.store.get_meta(user_key(side))
        if user and account.user and user != account.user:
            yield _other_user(side, str(user), account.user)


def _other_user(side: str, before: str, now: str) -> GuardFinding:
    if side == "source":
        hint = (
            "another user may see other assets: --full reads and maps everything this one sees; if both see the "
            "same, continue with --accept-changes"
        )
        return GuardFinding(f"the source is now read as {now}, previously as {before}", hint, full=True)
    hint = "check that this user has the same rights, then continue with --accept-changes"
    return GuardFinding(f"the target is now written as {now}, previously as {before}", hint)


async def use_origin(source: Source, store: SqlStore) -> str:
    """Use the name that the source had when the state was created for our markers, and return it."""
    origin = source.account.tenant
    if not await store.is_blank():
        noted = await store.get_meta(ORIGIN) or await store.get_meta(tenant_key("source"))
        origin = str(noted or origin)
    source.account = replace(source.account, tenant=origin)
    return origin
