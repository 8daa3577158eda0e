"""The next command to suggest after each command."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dam_sync.model.adoption import AdoptionCount, links_found
from dam_sync.model.parking import ParkReason, park_cause

SAFETY_STOP = 6  # exit code
NEW_PLAN = "plan.json"
TO_CORRECT = (2, 7)  # exit codes of wrong files and credentials


def after_init(job: str, *, complete: bool) -> list[str]:
    """Look at both libraries, or write the mapping once the variables are set."""
    return [_line("inspect", job), _line("check", job)] if complete else [_line("init", job)]


def after_inspect(job: str) -> list[str]:
    """The mapping comes next; a check says what is wrong with it."""
    return [_line("check", job)]


def after_check(job: str, code: int) -> list[str]:
    """A dry run, or the same check again once the problems are fixed."""
    return [_line("plan" if code == 0 else "check", job)]


def after_plan(job: str, file: Path | None, *, sampled: bool, wave: str = "", asked: Sequence[str] = ()) -> list[str]:
    """Run what was planned. file: where the plan is, to be run as it is; a plan of a sample cannot be. asked: the
    options of the plan that decide what a run does, as they are written."""
    if file and not sampled:
        return [_line("run", job, f"--plan {shlex.quote(str(file))}")]
    return [_line("run", job, " ".join((*([f"--wave {shlex.quote(wave)}"] if wave else []), *asked)))]


def after_report(report: Mapping[str, Any], job: str) -> list[str]:
    """What to do after a run or verification."""
    wave = f"--wave {shlex.quote(report['wave'])}" if report.get("wave") else ""
    if report["kind"] == "verify":
        clean = bool(wave) and report["verdict"] is not None and report["verdict"]["clean"]
        return [_line("signoff", job, wave)] if clean else _after_verify(report["verdict"], job, wave)
    open_conflicts = any(park_cause(row["cause"]) is ParkReason.CONFLICT for row in report["parked"])
    return [
        *([_line("errors", job)] if report["parked"] else []),
        *([_line("conflicts", job)] if open_conflicts else []),
        _line("verify", job, wave),
    ]


def after_adoption(
    job: str, counts: Mapping[str, int], *, ways: str, dry_run: bool, listed: Path | None, decided: Path | None
) -> list[str]:
    """Decide what is ambiguous, save the links that a dry run found, or plan. ways: the options by which assets were
    matched, which the next adoption needs as well; listed: where the ambiguous ones are; decided: decisions read."""
    ambiguous = counts.get(AdoptionCount.AMBIGUOUS)
    if ambiguous and listed is None:
        return [_line("adopt", job, f"{ways} --csv ambiguous.csv".strip())]
    file = listed if ambiguous else decided
    if ambiguous or (dry_run and links_found(counts, dry_run=True)):
        read = f"--decisions {shlex.quote(str(file))}" if file else ""
        return [_line("adopt", job, f"{ways} {read}".strip())]
    return [_line("plan", job)]


def after_open_rollback(job: str, run: int) -> list[str]:
    """Until the rollback of this run is finished, no other run starts."""
    return [_line("rollback", job, f"--run {run}")]


def _after_verify(verdict: Mapping[str, Any] | None, job: str, wave: str = "") -> list[str]:
    """Finish the run that is interrupted; what was not moved needs a run; of what differs, see what a repair would
    overwrite: it may be what people wrote, so that only they can say whether to repair it."""
    if verdict is not None and verdict["clean"]:
        return [_line("status", job)]
    if verdict is not None and verdict.get("unfinished"):
        return [_line("run", job, wave), _line("verify", job, wave)]
    if verdict is not None and not (verdict["different"] or verdict["missing"]):
        return [_line("plan", job, wave), _line("run", job, wave)]
    return [_line("plan", job, f"--repair {wave}".strip())]


def after_sign_off(job: str) -> list[str]:
    """See which wave may run next."""
    return [_line("status", job)]


def after_map(job: str, what: str) -> list[str]:
    """What to do after a command of the group `map`."""
    return [_line("map check" if what in ("suggest", "pins") else "map test" if what == "check" else "plan", job)]


def after_sheet(job: str, file: Path) -> list[str]:
    """Read the sheet back, once somebody has written decisions into it."""
    return [_line("map sheet", job, f"--import {shlex.quote(str(file))}")]


def after_map_diff(job: str, *, changed: bool) -> list[str]:
    """Assets that are already moved are mapped again by a full run only."""
    return [_line("plan", job, "--full" if changed else "")]


def after_rehearsal(job: str) -> list[str]:
    """The plan for the target itself."""
    return [_line("plan", job)]


def after_errors(
    job: str,
    parked: int,
    retried: int,
    *,
    values: bool = False,
    stopped: bool = False,
    rollback: int = 0,
    running: bool = False,
    listed: Path | None = None,
) -> list[str]:
    """Retry the parked assets, run, or verify. values: some are parked for values, which can be corrected in a list;
    stopped: the last run is to be resumed; rollback: the run of which the rollback is not finished; running: a run is
    under way, so nothing else can start; listed: the list of values, if it was written."""
    if running and not parked:
        return [_line("status", job)]
    if rollback:
        return after_open_rollback(job, rollback)
    if retried or (stopped and not parked):
        return [_line("run", job)]
    correct = [_line("errors", job, _read_back(listed) or "--csv errors.csv")] if values else []
    return [*correct, _line("errors", job, "--retry")] if parked else [_line("verify", job)]


def after_forgetting(job: str, asset: str) -> list[str]:
    """Write what the source says again."""
    return [_line("run", job, f"--only {shlex.quote(asset)}")]


def _read_back(listed: Path | None) -> str:
    """The option that reads a list which was written; empty without one."""
    return f"--import {shlex.quote(str(listed))}" if listed else ""


def after_corrections(job: str, number: int) -> list[str]:
    """Apply the corrected values, or write the list to be filled in."""
    return [_line("run", job)] if number else [_line("errors", job, "--csv errors.csv")]


def after_conflicts(job: str, undecided: int, decided: int, listed: Path | None = None) -> list[str]:
    """Export the conflicts that are left to be decided, read the list back, or run to apply the decisions."""
    if undecided:
        lists = _line("conflicts", job, _read_back(listed) or "--csv conflicts.csv")
        return [lists, *([_line("run", job)] if decided else [])]
    return [_line("run" if decided else "verify", job)]


def after_status(
    job: str,
    *,
    unfinished: str,
    parked: int,
    running: bool = False,
    waves: Sequence[Mapping[str, Any]] = (),
    code: int | None = None,
    begun: bool = True,
    waiting: int = 0,
    planned: bool = False,
) -> list[str]:
    """Resume an interrupted run or rollback, look at parked assets, go on with the first wave that waits for a command,
    or verify. unfinished: its command; running: it is under way, so nothing else can start; begun: there was a run,
    without which there is nothing to verify; waiting: how many assets the next run will write or try again;
    code: the exit code of what stopped it: files and credentials are checked before it is tried again, and after a
    safety stop people see first what a run would do; planned: it follows a plan, and continues by another one only."""
    if running:
        return [_line("status", job)]
    if unfinished:
        return _after_stop(job, unfinished, code, planned=planned)
    if parked:
        return [_line("errors", job)]
    if waiting and not waves:
        return [_line("run", job)]
    for row in waves:
        if row["next"]:
            return [_line(row["next"], job, f"--wave {shlex.quote(row['wave'])}")]
    return [_line("verify" if begun else "plan", job)]


def _after_stop(job: str, unfinished: str, code: int | None, *, planned: bool) -> list[str]:
    verb, _, number = unfinished.partition(" ")
    again = _line("rollback", job, f"--run {number}") if verb == "rollback" else _line("run", job)
    if code == SAFETY_STOP and planned:
        return [_line("plan", job, f"-o {NEW_PLAN}"), _line("run", job, f"--plan {NEW_PLAN}")]
    if code == SAFETY_STOP and verb != "rollback":
        return [_line("plan", job), again]
    return [_line("check", job), again] if code in TO_CORRECT else [again]


def after_rollback(
    job: str, run: int, *, dry_run: bool, complete: bool, nothing: bool = False, allow: int = 0
) -> list[str]:
    """Undo it, or look at what is left and plan the next run. nothing: there was nothing to undo; allow: assets that go
    to the trash, if they are more than the job allows."""
    if dry_run and nothing:
        return [_line("status", job)]
    if dry_run:
        return [_line("rollback", job, f"--run {run}{f' --max-deletes {allow}' if allow else ''}")]
    return [_line("plan", job)] if complete else [_line("status", job), _line("plan", job)]


def after_redirects(job: str, *, found: bool, written: bool, probed: bool) -> list[str]:
    """Write the rules, then ask the links, if there are any."""
    if not found:
        return [_line("status", job)]
    if not written:
        return [_line("redirects", job, "--csv redirects.csv --nginx redirects.conf")]
    return [_line("status", job)] if probed else [_line("redirects", job, "--probe")]


def after_state(job: str, what: str) -> list[str]:
    """What to do after `state show`, an export, or an import, which may lack links of assets that are at the target."""
    return [_line("adopt", job, "--dry-run") if what == "import" else _line("status", job)]


def after_statuses(job: str) -> list[str]:
    """Look at the first job that needs attention."""
    return [_line("status", job)]


def after_explain(job: str, story: Mapping[str, Any]) -> list[str]:
    """Decide an open conflict, look at what is parked, or compare with the services."""
    if story["conflicts"]:
        return [_line("conflicts", job)]
    if story["now"].get("outcome") == "parked":
        return [_line("errors", job)]
    if story["live"]:
        return [_line("verify", job)]
    return [_line("explain", job, f"{shlex.quote(story['asset']['source_id'])} --by source --live")]


def after_reports(job: str, newest: Mapping[str, Any] | None, *, running: bool = False) -> list[str]:
    """Show the newest report that is kept, or make one, unless a run is under way."""
    if running and newest is None:
        return [_line("status", job)]
    return [_line("report", job, f"--run {newest['run']} --kind {newest['kind']}")] if newest else [_line("run", job)]


def after_kept_report(job: str) -> list[str]:
    """Where the job stands now."""
    return [_line("status", job)]


def after_demo(job: str, code: int) -> list[str]:
    """The emulated services of a demo have ended; its state remains."""
    return [_line("errors" if code == 4 else "status", job)]


def _line(verb: str, job: str, options: str = "") -> str:
    return " ".join(part for part in (verb, shlex.quote(job), options) if part)
