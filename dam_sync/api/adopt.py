"""`adopt`: links assets that are already at the target; nothing is written to either service."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path

from dam_sync.aio.task_group import TaskGroup
from dam_sync.api.atomic_io import csv_file, scratch_dir
from dam_sync.api.bootstrap import connected, run_context_of
from dam_sync.api.csv_rows import read_rows
from dam_sync.api.job_file import job_of
from dam_sync.api.jobs import copy_state
from dam_sync.api.reports.kept_reports import keep_report
from dam_sync.api.reports.run_report import bare_report
from dam_sync.api.waves import list_whole_source
from dam_sync.config.job import JobConfig
from dam_sync.engine.context.run_context import RunContext
from dam_sync.engine.guards.copies import note_compared
from dam_sync.engine.guards.lost_state import known_marks, target_now
from dam_sync.engine.guards.preflight import refuse_before_run
from dam_sync.engine.run.adopt import KEPT, KEPT_OPEN, Decisions, MatchOptions, MatchSummary, match_all
from dam_sync.engine.run.execute import under_lease
from dam_sync.model.adoption import AdoptionCount, links_key
from dam_sync.model.asset import AssetId
from dam_sync.model.errors import ConfigError
from dam_sync.model.run_options import RunOptions
from dam_sync.model.safe_text import csv_cell, guarded, unguarded
from dam_sync.model.schema import FieldKind, Schema
from dam_sync.report import sentences
from dam_sync.report.report import Report
from dam_sync.store.candidates import Candidates
from dam_sync.store.note_keys import HELD_BACK, UNDECIDED, window_key
from dam_sync.store.store import SqlStore

COLUMNS = ("source", "target", "how", "reason", "decision")
FILL_IN = "write the list with `adopt JOB --csv FILE` and fill in its column `decision`"
LINK, SKIP = "link", "skip"
AT_ONCE = 500  # links copied per transaction
ID_KINDS = frozenset({FieldKind.TEXT, FieldKind.LONG_TEXT, FieldKind.NUMBER, FieldKind.URL})


@dataclass(frozen=True, slots=True)
class Adoption:
    """Options of `adopt`. by_field: the target's field that holds source ids; ambiguous: a CSV to write;
    decisions: the same CSV, filled in by a person."""

    dry_run: bool = False
    by_field: str = ""
    by_file: bool = False
    ambiguous: Path | None = None
    decisions: Path | None = None


async def adopt_job(path: Path | JobConfig, options: RunOptions, asked: Adoption) -> Report:
    """Match the assets of both sides and, unless it is a dry run, save the links of certain matches. Safe to repeat.

    Raises StoreBusy during a run of the job, ConfigError for a field or a decision that does not exist.
    """
    job = job_of(path, options.connectors)
    decisions = read_decisions(asked.decisions) if asked.decisions else Decisions()
    async with AsyncExitStack() as stack:
        kept = None if asked.dry_run else await SqlStore.open(job.state_place, options.clock, storage=options.storage)
        if kept is not None:
            stack.push_async_callback(kept.close)
        opened = await stack.enter_async_context(connected(job, options, dry=True))
        if asked.by_field:
            _refuse_field(asked.by_field, opened.target_schema)
        folder = stack.enter_context(scratch_dir("adopt"))
        run = await kept.begin(job.name, "adopt") if kept is not None else None
        await copy_state(job, options, folder / "adopt.db")
        store = await SqlStore.open(folder / "adopt.db", options.clock, storage=options.storage)
        stack.push_async_callback(store.close)
        candidates = Candidates(folder / "candidates.db")
        stack.callback(candidates.close)
        context = await run_context_of(opened, store, await store.begin(job.name, "adopting"), options)
        await refuse_before_run(context, adopting=True)
        ways = MatchOptions(asked.by_field, asked.by_file, decisions)
        held, number = (kept, run.id) if kept is not None and run is not None else (store, context.state.run.id)
        looked = target_now(context.target)
        adopted = await under_lease(held, number, context.clock, match_all(context, candidates, ways))
        _refuse_stopped(context)
        _refuse_decisions(decisions.links, candidates, asked.decisions)
        if asked.ambiguous is not None:
            _write_ambiguous(asked.ambiguous, candidates)
        if kept is not None and run is not None:
            await refuse_before_run(context.with_state(kept, run), adopting=True)
            if asked.by_field or asked.by_file or asked.decisions:  # markers alone decide nothing
                await kept.set_meta(UNDECIDED, adopted.ambiguous)
                await note_compared(context.source, context.target, kept)
            await kept.set_meta(HELD_BACK, adopted.held)
            behind = await _keep(store, kept, candidates, run.id)
            await known_marks(kept, looked)
            await kept.accept_rows()
            await _list_again(kept)
            if behind:
                await _list_everything(kept, job)
            await kept.finish(run.id, {"adopted": asdict(adopted)}, listed=False)
        report = bare_report("adopt", opened, context)
        report.target = replace(report.target, calls=dict(opened.target.calls))  # without those of writes never sent
        _describe(report, adopted, job, asked)
        if kept is not None and run is not None:
            await keep_report(kept, report, run.id, context.task.policy)
    return report


async def _keep(found: SqlStore, kept: SqlStore, candidates: Candidates, run: int) -> bool:
    """Copy the links of certain matches in chunks, to bound memory, and record the file name of each linked asset, and
    the containers of the source that its link was made with. This run has listed it: it does not count as gone. What
    was parked without a link is settled, or tried again if the next run has to write to it. Returns whether there is
    such a one."""
    matches, behind = candidates.matches(certain=True), False
    while batch := list(islice(matches, AT_ONCE)):
        links = await found.links([match.source for match in batch])
        members = await found.members_of(sorted(links))
        await kept.keep_members_of({asset: members.get(asset, frozenset()) for asset in links})
        async with TaskGroup() as group:
            for match in batch:
                if (link := links.get(AssetId(match.source))) is not None:
                    group.start(kept.put_link, link, run)
                    group.start(kept.reserve_name, match.filename.casefold(), match.source)
        to_write = {asset for asset, link in links.items() if not link.source_revision}
        await kept.retry_assets(sorted(to_write))
        await kept.settle_linked(links.keys() - to_write)
        behind = behind or bool(to_write)
    return behind


async def _list_again(kept: SqlStore) -> None:
    """A run that stopped lists again: its listing came before the new links, whose assets would count as gone."""
    if (row := await kept.unfinished("run")) is not None:
        await kept.forget_shards(row.id)


async def _list_everything(kept: SqlStore, job: JobConfig) -> None:
    """The next run of the job, or of each of its waves, lists the whole source: what it adds did not change there."""
    await list_whole_source(kept, [wave.name for wave in job.waves])
    row = await kept.unfinished("run")
    if row is not None and (window := await kept.get_meta(window_key(row.id))) is not None:
        await kept.set_meta(window_key(row.id), {**window, "since": None})


def _refuse_field(key: str, target: Schema) -> None:
    known = target.fields.get(key)
    if known is None or known.kind not in ID_KINDS:
        usable = ", ".join(sorted(name for name, one in target.fields.items() if one.kind in ID_KINDS))
        problem = "the target has no such field" if known is None else f"it contains {known.kind.value}, not ids"
        raise ConfigError(f"--by-field {key}: {problem}", hint=f"name one of: {usable}")


def _refuse_stopped(context: RunContext) -> None:
    if context.stopping.token.reason:
        raise context.stopping.token.error("nothing was linked; run the same command again")


def _refuse_decisions(decisions: Mapping[str, str], candidates: Candidates, path: Path | None) -> None:
    for source, target in decisions.items():
        if candidates.by_id(target) is None:
            raise ConfigError(
                f"{path}: the target has no asset {target}, which was to be linked to {source}",
                hint="correct the row, or write the list again with --csv",
            )


def _describe(report: Report, adopted: MatchSummary, job: JobConfig, asked: Adoption) -> None:
    report.counts = {links_key(by, dry_run=asked.dry_run): number for by, number in adopted.certain.items()}
    counted = {AdoptionCount.LINKED_BEFORE: adopted.linked_before, AdoptionCount.AMBIGUOUS: adopted.ambiguous}
    report.counts |= {str(name): number for name, number in counted.items()}
    report.counts |= {f"without a link: {reason}": number for reason, number in adopted.unmatched.items()}
    report.notes.extend(sentences.about_adopted(adopted.differing, adopted.ambiguous))
    report.notes.extend(sentences.about_originals(adopted.originals.get(KEPT, 0), adopted.originals.get(KEPT_OPEN, 0)))
    report.counts |= {str(AdoptionCount.HELD_BACK): adopted.held} if adopted.held else {}
    report.notes.extend(sentences.about_held(adopted.held))
    report.notes.extend(sentences.about_shown(adopted.to_hide, adopted.to_limit, adopted.accepted))
    report.notes.extend(sentences.about_uncompared(adopted.uncompared))
    report.notes.extend(sentences.about_linked(adopted.linked_targets))
    report.notes.extend(sentences.about_unclaimed(adopted.unclaimed, adopted.unclaimed_examples))


def read_decisions(path: Path) -> Decisions:
    """The rows with a decision. Raises ConfigError with file and line."""
    found: dict[str, str] = {}
    skipped, left = set[str](), set[str]()
    taken: dict[str, str] = {}
    with read_rows(path, COLUMNS, FILL_IN) as rows:
        for line, row in rows:
            decision = (row["decision"] or "").strip().casefold()
            if decision not in ("", LINK, SKIP):
                raise ConfigError(
                    f"{path}:{line}: the decision is {decision!r}", hint=f"write {LINK} or {SKIP}, or leave it empty"
                )
            source, target = unguarded(row["source"] or ""), unguarded(row["target"] or "")
            if decision != LINK:
                (skipped if decision == SKIP else left).add(source)
            elif found.setdefault(source, target) != target or taken.setdefault(target, source) != source:
                problem = f"{path}:{line}: {source} or {target} is in two rows with the decision {LINK}"
                raise ConfigError(problem, hint="remove one of the rows")
    return Decisions(found, frozenset(skipped - found.keys()), frozenset(left - found.keys() - skipped))


def _write_ambiguous(path: Path, candidates: Candidates) -> None:
    with csv_file(path, "the list") as writer:
        writer.writerow(COLUMNS)
        for match in candidates.matches(certain=False):
            ids = guarded(match.source), guarded(match.target)  # unchanged, because they are read back
            writer.writerow([*ids, csv_cell(match.how), csv_cell(match.reason), ""])
