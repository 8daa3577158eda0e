"""`signoff`: somebody accepts what a wave moved, so that the waves after it may run. Needs only the state."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dam_sync.api.stored_job import existing_store, stored_job_of
from dam_sync.api.system_user import user_name
from dam_sync.api.waves import WaveBook, WaveState
from dam_sync.config.job import JobConfig
from dam_sync.engine.guards.finding import GuardFinding, refuse
from dam_sync.model.errors import ConfigError, SafetyStop
from dam_sync.model.run_options import RunOptions
from dam_sync.model.values import Json, instant_text
from dam_sync.model.wording import counted
from dam_sync.store.note_keys import SIGNED_WAVE, key_of_wave
from dam_sync.store.store import SqlStore
from dam_sync.store.waves import WaveCounts

WITH_ACCEPT = "--accept-changes signs it off as it is"


@dataclass(frozen=True, slots=True)
class SignOffRequest:
    """wave: its name; by: who signs, the user of this computer if empty; note: what is to be remembered; revoke: take
    the sign-off back."""

    wave: str
    by: str = ""
    note: str = ""
    revoke: bool = False


async def sign_off(path: Path | JobConfig, request: SignOffRequest, options: RunOptions) -> dict[str, Any]:
    """Sign a wave off, or take that back; returns what is kept. Raises SafetyStop while it is not moved, verified and
    free of parked assets; all but the first can be accepted. Safe to repeat."""
    job = stored_job_of(path)
    if not request.wave:
        raise ConfigError("a sign-off needs the name of a wave", hint="add --wave NAME; `status JOB` shows the waves")
    async with existing_store(job, options.clock, storage=options.storage) as store:
        state = (await WaveBook.of(job, store, options.clock.now())).named(request.wave)
        if request.revoke:
            signed: Json = None
        else:
            signed = await _signed(state, request, store, options)
        await store.set_meta(key_of_wave(SIGNED_WAVE, request.wave), signed)
    return {"job": job.name, "wave": request.wave, "signed": signed}


async def _signed(state: WaveState, request: SignOffRequest, store: SqlStore, options: RunOptions) -> dict[str, Json]:
    if state.unfinished or not state.last:
        why = f"run {state.unfinished} of it is not finished" if state.unfinished else "it was not moved yet"
        hint = f"run it first: `run JOB --wave {state.name}`"
        raise SafetyStop(f"wave {state.name} cannot be signed off: {why}", hint=hint)
    by = request.by or user_name()
    accepted = refuse([*_signed_already(state, by, request.note), *_findings(state)], options)
    row = await store.run_row(state.last)
    books = row.outcome if row is not None and isinstance(row.outcome, dict) else {}
    counts = state.counts
    return {
        "run": state.last,
        "by": by,
        "at": instant_text(options.clock.now().replace(microsecond=0)),
        "note": request.note,
        "assets": {"selected": counts.selected, "moved": counts.moved, "parked": counts.parked} if counts else {},
        "verified": dict(state.verified) if state.checked and state.verified is not None else None,
        "operations": books.get("plan", ""),
        "mapping": books.get("mapping", ""),
        "accepted": list(accepted),
    }


def _signed_already(state: WaveState, by: str, note: str) -> Iterator[GuardFinding]:
    """What another person accepted since the last run of the wave is not replaced without a safety stop."""
    signed = state.signed
    if signed is None or signed["run"] != state.last or (signed["by"], signed["note"]) == (by, note):
        return
    who = f"{signed['by']}, {signed['at']}" + (f", with the note “{signed['note']}”" if signed["note"] else "")
    hint = f"`signoff JOB --wave {state.name} --revoke` takes that back; --accept-changes replaces it"
    yield GuardFinding(f"wave {state.name} is signed off already: by {who}", hint)


def _findings(state: WaveState) -> Iterator[GuardFinding]:
    """What speaks against a sign-off."""
    if not state.checked or state.verified is None:
        hint = f"`verify JOB --wave {state.name}` compares both services; {WITH_ACCEPT}"
        yield GuardFinding(f"wave {state.name} was not verified since run {state.last}", hint)
    elif not state.verified["clean"]:
        hint = f"`verify JOB --wave {state.name}` shows them; {WITH_ACCEPT}"
        yield GuardFinding(f"the verification of wave {state.name} found differences", hint)
    counts = state.counts or WaveCounts()
    if counts.parked:
        found = f"{counted(counts.parked, 'asset is', 'assets are')} parked in wave {state.name}"
        yield GuardFinding(found, f"`errors JOB` says why; {WITH_ACCEPT}")
    if counts.open:
        found = f"{counted(counts.open, 'asset waits', 'assets wait')} for the next run of wave {state.name}"
        yield GuardFinding(found, f"`run JOB --wave {state.name}` moves them; {WITH_ACCEPT}")
