"""Whose library it is, and as whom it is seen: a state belongs to one source, one target, and what a user may see."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

from dam_sync.engine.guards.finding import GuardFinding
from dam_sync.engine.run_context import RunContext

ORIGIN = "origin"  # the source's name by which our marks are made; it stays when the source gets another name


def tenant_key(side: str) -> str:
    """Under which the name of a side's tenant is noted."""
    return f"tenant:{side}"


def user_key(side: str) -> str:
    """Under which the login of a side is noted."""
    return f"user:{side}"


async def changed_identity(context: RunContext) -> AsyncIterator[GuardFinding]:
    """Another tenant or another login than those this state was made with; none for a state that holds nothing yet.
    A new secret for the same login is not another login."""
    if await context.store.is_blank():
        return
    for side, account in (("source", context.source_account), ("target", context.target_account)):
        tenant = await context.store.get_meta(tenant_key(side))
        if tenant not in (None, account.tenant):
            yield GuardFinding(
                f"the state belongs to a {side} called {tenant}, the job file now leads to {account.tenant}",
                "give the job another `state:` file; if it is the same library under another name, continue with "
                "--accept-changes",
            )
        user = await context.store.get_meta(user_key(side))
        if user and account.user and user != account.user:
            yield _other_user(side, str(user), account.user)


def _other_user(side: str, before: str, now: str) -> GuardFinding:
    if side == "source":
        hint = (
            "another user may see other assets: --full reads and maps everything this one sees; where both see the "
            "same, continue with --accept-changes"
        )
        return GuardFinding(f"the source is now read as {now}, before it was read as {before}", hint, full=True)
    hint = "see that this user has the same rights, then continue with --accept-changes"
    return GuardFinding(f"the target is now written as {now}, before it was written as {before}", hint)


async def use_origin(context: RunContext) -> str:
    """Let our marks be made by the name the source had when the state was begun; gives that name."""
    origin = context.source_account.tenant
    if not await context.store.is_blank():
        noted = await context.store.get_meta(ORIGIN) or await context.store.get_meta(tenant_key("source"))
        origin = str(noted or origin)
    context.source_account = replace(context.source_account, tenant=origin)
    return origin
