"""`explain`: everything that is known about one asset, from the state."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from dam_sync.api.mapping_tools.lines import lines_of
from dam_sync.api.stored_job import existing_store, stored_job_of
from dam_sync.config.job import JobConfig
from dam_sync.engine.compare.parts import PARTS, PartKind
from dam_sync.http.redaction import redact
from dam_sync.model.clock import SYSTEM_CLOCK, Clock
from dam_sync.model.conflict import PLACEMENTS, shown
from dam_sync.model.errors import ConfigError
from dam_sync.model.ledger import LedgerRow
from dam_sync.model.parking import SkipReason
from dam_sync.model.values import Json, instant_text
from dam_sync.model.wording import counted
from dam_sync.report.causes import sentence
from dam_sync.store.base import Storage
from dam_sync.store.rows import RunRow
from dam_sync.store.store import SqlStore
from dam_sync.store.story import ASKED_BY, VALUE, Candidate, StoredStory

SEARCHED, SHOWN = 500, 50  # rows of a table that have a text, and assets that are listed
Facts = dict[str, Any]
WRITERS = {  # parts of a draft whose rule is not called like them
    "filename": "asset.filename",
    "status": "asset.status",
    "rights.release_at": "security.release",
    "rights.expires_at": "security.expiry",
    "rights.groups": "security.groups",
}


async def job_explain(
    path: Path | JobConfig,
    called: str,
    by: str = "",
    clock: Clock = SYSTEM_CLOCK,
    storage: Storage | None = None,
) -> Facts:
    """What the state knows about the asset with this id at the source or at the target, or with this file name; if none
    is called so, the one of which a value, such as its title or number, is this text, or else has it within. by: only
    one of these. With several such assets, only `candidates`. Raises ConfigError if there is none."""
    job = stored_job_of(path)
    if by and by not in ASKED_BY:
        raise ConfigError(f"--by expects one of {', '.join(ASKED_BY)}, not {by}")
    async with existing_store(job, clock, read_only=True, storage=storage) as store:
        found = [one for one in await store.candidates_called(called) if by in ("", one.by)]
        if not found and by in ("", VALUE):
            found = await _with_value(store, called)
        if not found:
            ids = "its id at either service, its file name, or a value of it, such as its title or its number"
            raise ConfigError(f"the state knows no asset called {called!r}", hint=f"name {ids}")
        if len({one.source for one in found}) > 1:
            several: Facts = redacted({"job": job.name, "asked": called, "candidates": [asdict(one) for one in found]})
            return several
        story = await store.story(found[0].source)
        facts = await _facts(store, job, story, found[0])
    shown_facts: Facts = redacted(facts)
    return shown_facts


async def _with_value(store: SqlStore, text: str) -> list[Candidate]:
    """Assets with a value that is this text; if there are none, those that have it within a value."""
    for whole in (True, False):
        found = dict[str, Candidate]()
        for holder in await store.holders_of(text, SEARCHED, whole=whole):
            value = _value_with(text, holder.parts, whole=whole)
            if value and len(found) < SHOWN:
                found.setdefault(holder.candidate.source, replace(holder.candidate, value=value))
        if found:
            return [found[source] for source in sorted(found)]
    return []


def _value_with(text: str, parts: Json, *, whole: bool) -> str:
    """The first value that is this text, or has it within, after its part of the asset; empty if none is. parts: see
    `Holder`."""
    wanted = text.casefold()
    for key, value in _searched(parts):
        texts = [each.casefold() for each in _texts_of(value)]
        if wanted in texts or (not whole and any(wanted in each for each in texts)):
            return f"{key}: {in_words(key, value)}"
    return ""


def _searched(parts: Json) -> Iterator[tuple[str, Json]]:
    """Each value with its part of the asset; of a change both."""
    if not isinstance(parts, dict):
        return
    if "fields" in parts:
        yield from parts_of(parts).items()
        yield "marker", (parts.get("marker") or {}).get("value")
        return
    for key, value in parts.items():
        changed = isinstance(value, list)
        yield from ((key, side) for side in (value if changed else [value]))


def _texts_of(value: Json) -> Iterator[str]:
    """The texts and numbers of a value in the form of a draft, without ids."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _texts_of(part) if key != "id" else ()
    elif isinstance(value, list):
        for part in value:
            yield from _texts_of(part)
    elif value is not None:
        yield str(value)


async def _facts(store: SqlStore, job: JobConfig, story: StoredStory, found: Candidate) -> Facts:
    runs = await store.runs_numbered(_involved(story))
    conflicts = await store.conflicts_of([story.source])
    return {
        "job": job.name,
        "asset": {
            "source_id": story.source,
            "target_id": story.link.target if story.link else found.target,
            "filename": found.filename or found.name,
            "source": job.source.kind,
            "target": job.target.kind,
            **({"found by": found.value} if found.value else {}),
        },
        "now": _now(story),
        "values": _values(job, story),
        "losses": [dict(loss) for loss in story.last.losses] if story.last else [],
        "files": _files(story),
        "conflicts": [
            {
                "value": row.path,
                **{side: shown(row.path, getattr(row, side)) for side in ("written", "source", "target")},
                "why": row.why,
                "decision": row.decision,
            }
            for row in conflicts
        ],
        "corrections": [
            {"value": row.path, "failed": row.failed, "corrected": "; ".join(row.corrected), "at": row.at}
            for row in await store.correction_rows([story.source])
            if row.corrected
        ],
        "writes": [_write(row) for row in story.ledger],
        "calls": dict(sum((Counter(row.calls) for row in story.ledger), Counter())),
        "runs": [_run(runs[number]) for number in _involved(story) if number in runs],
        "open_steps": [{"write": name, "state": state} for name, state in story.open_steps],
        "waiting": [{"what": what, "refused": why} for what, why in story.waiting],
        "live": None,
    }


def redacted(value: Json) -> Any:
    """The same JSON without credentials and signed URLs."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {key: redacted(part) for key, part in value.items()}
    return [redacted(part) for part in value] if isinstance(value, list | tuple) else value


def _now(story: StoredStory) -> Facts:
    last, link = story.last, story.link
    cause = last.cause if last else None
    facts: Facts = {
        "outcome": last.action if last else "linked" if link else "",
        "in run": last.run if last else None,
        "at": last.at if last else "",
        "listed in run": last.listed_run if last else story.seen_run or None,
        "revision at the source": last.revision if last else link.source_revision if link else "",
        "cause": str(cause or ""),
        "meaning": sentence(cause) if cause is not None and not isinstance(cause, SkipReason) else "",
        "call": last.operation if last else "",
        "message": last.message if last else "",
        "what to do": last.hint if last else "",
        "evidence": link.weakest if link else "",
        "may still be removed by the target, created at": _text(link.made_at) if link else "",
        "gone from the source since": _text(story.gone),
        "moved to the trash of the target": f"run {story.trashed[0]}, {story.trashed[1]}" if story.trashed else "",
        "gone from the target": story.removed,
    }
    return {key: value for key, value in facts.items() if value not in ("", None)}


def _text(moment: datetime | None) -> str:
    return instant_text(moment) if moment else ""


def _values(job: JobConfig, story: StoredStory) -> list[Facts]:
    """Each part of what was last written, with the line of the mapping that writes it."""
    rules = _rules(job)
    draft = story.link.draft if story.link else None
    kept = story.link.kept if story.link else {}
    return [
        {
            "value": key,
            "rule": rules.get(WRITERS.get(key, key), ""),
            "written": in_words(key, value),
            "kept at the target": in_words(key, kept[key]) if key in kept else "",
        }
        for key, value in parts_of(draft or {}).items()
    ]


def _rules(job: JobConfig) -> dict[str, str]:
    """The lines of the mapping by what they write; those of containers together."""
    found: dict[str, str] = {}
    for place, line in lines_of(job).items():
        name, text = "placements" if place.startswith("placements") else place, str(line)
        found[name] = f"{found[name]}; {text}" if name in found else text
    return found


def parts_of(draft: Mapping[str, Json]) -> dict[str, Json]:
    """The filled parts of a draft (as JSON) by name."""
    texts = (part.name for part in PARTS if part.kind in (PartKind.VALUE, PartKind.CREATION))
    sets = (part.name for part in PARTS if part.kind in (PartKind.NAMES, PartKind.CONTAINERS))
    parts = {name: draft.get(name) for name in texts}
    parts |= {f"fields.{key}": value for key, value in (draft.get("fields") or {}).items()}
    parts |= {name: draft.get(name) for name in sets}
    parts |= {f"rights.{key}": value for key, value in (draft.get("rights") or {}).items()}
    return {key: value for key, value in parts.items() if value not in (None, "", [], {})}


def _files(story: StoredStory) -> list[Facts]:
    link = story.link
    if link is None:
        return []
    keys = [*(("version", key) for key in link.versions), *(("attachment", key) for key in link.attachments)]
    return [{"part": part, "key": key, "evidence": link.proof_of(key)} for part, key in keys]


def _write(row: LedgerRow) -> Facts:
    return {
        "run": row.run,
        "at": row.at,
        "operation": row.operation,
        "target": row.target,
        "changes": [_change(key, sides) for key, sides in row.changes.items()],
        "calls": dict(row.calls),
        "bytes": row.size,
        "digest": row.digest,
        "version": row.version,
        "seconds": row.seconds,
        "detail": row.detail,
    }


def _change(key: str, sides: Json) -> Facts:
    if not isinstance(sides, list) or len(sides) != 2:
        return {"value": key, "before": "", "after": "" if sides is None else str(sides)}
    if key == "members":  # of a bulk write: the other assets are not what was asked for
        left, joined = (counted(len(ids), "asset") if ids else "" for ids in sides)
        return {"value": key, "before": f"{left} taken out" * bool(left), "after": f"{joined} put in" * bool(joined)}
    return {"value": key, "before": in_words(key, sides[0]), "after": in_words(key, sides[1])}


def in_words(key: str, value: Json) -> str:
    """A part of a draft (as JSON), or of what a write changed, in one line for people."""
    try:
        return shown(PLACEMENTS if key == "placements" else key, value)
    except (KeyError, TypeError, ValueError):  # what later versions record
        return json.dumps(value, ensure_ascii=False)


def _involved(story: StoredStory) -> list[int]:
    """Numbers of the runs that wrote or last visited it, newest first."""
    last = (story.last.run, story.last.listed_run) if story.last else (story.seen_run,)
    return sorted({row.run for row in story.ledger} | set(last), reverse=True)


def _run(row: RunRow) -> Facts:
    return {
        "run": row.id,
        "command": row.command,
        "started": _text(row.started_at),
        "ended": _text(row.ended_at),
        "result": row.state,
    }
