"""When to stop rather than go on: another library under the same name, a changed mapping, a side that looks empty."""

from __future__ import annotations

from dam_sync.engine.session import Ask, Session
from dam_sync.model.errors import SafetyStop
from dam_sync.model.service import Account
from dam_sync.store.store import SqlStore

NOTHING_SEEN = "the source shows no asset to this credential"
NOTHING_HINT = "check the address and the credential's rights at the source; if the library is really empty"
SHRUNK = 0.5  # fewer than this part of what we know is a listing not to be believed


async def refuse_other_library(store: SqlStore, source: Account, target: Account, ask: Ask) -> None:
    """Raises SafetyStop when the state belongs to other tenants than the job file names now."""
    for side, account in (("source", source), ("target", target)):
        known = await store.noted(f"tenant:{side}")
        if known is not None and known != account.tenant and not ask.accept_changes:
            raise SafetyStop(
                f"the state belongs to a {side} called {known}, the job file now leads to {account.tenant}",
                hint="give the job another `state:` file, or go on with --accept-changes",
            )
        await store.note(f"tenant:{side}", account.tenant)


async def refuse_changed_mapping(store: SqlStore, digest: str, ask: Ask) -> None:
    """Raises SafetyStop when the mapping is not the one the linked assets were written by."""
    known = await store.noted("mapping")
    if known not in (None, digest) and await store.link_count() and not (ask.full or ask.accept_changes):
        raise SafetyStop(
            "the mapping changed since assets were written by it",
            hint="--full reads and maps every asset again; --accept-changes uses it for new changes only",
        )
    await store.note("mapping", digest)


def refuse_unknown_marks(marked: int, ask: Ask) -> None:
    """Raises SafetyStop when a new state meets assets that were made from this source before: they would be doubled."""
    if marked and not ask.accept_changes:
        raise SafetyStop(
            f"the target has {marked} assets with the marks of this source, and this state knows none of them",
            hint="restore the state file from a backup; if another job made them, go on with --accept-changes",
        )


async def refuse_in_between(store: SqlStore, only: frozenset[str]) -> None:
    """Raises SafetyStop when single assets are asked for while a whole run is unfinished."""
    unfinished = [row for row in await store.runs() if row.command == "run" and row.state != "done"]
    if only and unfinished:
        raise SafetyStop(
            f"run {unfinished[0].number} is not finished; --only would get in between",
            hint="run the job without --only first, to its end",
        )


async def refuse_unseen_source(store: SqlStore, source: Account, ask: Ask) -> None:
    """Raises SafetyStop when the source, asked how many assets there are, shows none or suddenly far fewer."""
    if source.total is not None and not ask.only:
        _refuse_few(await store.link_count(), source.total, ask)


async def refuse_emptied_source(session: Session, listed: int) -> None:
    """Raises SafetyStop when a full listing has nothing or far less than what we have linked; it is then forgotten, so
    that the next run lists again."""
    try:
        _refuse_few(await session.store.link_count(), listed, session.ask)
    except SafetyStop:
        await session.store.forget_shards(session.run.id)
        raise


def _refuse_few(known: int, seen: int, ask: Ask) -> None:
    if ask.accept_changes:
        return
    if known and seen < known * SHRUNK:
        raise SafetyStop(
            f"the source lists {seen} assets, {known} were moved from it before",
            hint="check the credential's rights at the source; if so many are really gone, go on with --accept-changes",
        )
    if not known and not seen:
        raise SafetyStop(NOTHING_SEEN, hint=f"{NOTHING_HINT}, go on with --accept-changes")
