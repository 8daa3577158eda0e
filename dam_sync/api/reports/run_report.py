"""The report of a plan or run, read back from its state."""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from dam_sync import __version__
from dam_sync.api.bootstrap import ConnectedJob
from dam_sync.api.job_status import gone_rows
from dam_sync.api.reports.asset_names import add_names
from dam_sync.api.reports.run_record import LedgerSummary
from dam_sync.api.reports.scope import scope_of
from dam_sync.api.reports.work_summary import WorkSummary
from dam_sync.api.state_commands import causes_of
from dam_sync.api.system_user import user_name
from dam_sync.config.diagnostics import dotted
from dam_sync.config.job import JobConfig
from dam_sync.engine.context.run_context import RunContext
from dam_sync.engine.guards.drift import schema_facts
from dam_sync.engine.guards.exposure import TERMS, report_exposure
from dam_sync.engine.run.dry_run import DryTarget
from dam_sync.engine.run.retrying import unseen_changes
from dam_sync.engine.run.second_pass import disappeared, unwritten_relations
from dam_sync.engine.write.conflict_settler import report_conflicts
from dam_sync.http.redaction import redact
from dam_sync.mapping.describe import rules_of, steps_of
from dam_sync.mapping.paths import field_name
from dam_sync.mapping.refusals import refusal_of
from dam_sync.mapping.rules import FieldRule
from dam_sync.model.asset import digest_of
from dam_sync.model.conflict import CONFLICT
from dam_sync.model.exposure import EXPOSURE
from dam_sync.model.parking import MappingCause, ParkCause
from dam_sync.model.probed import Account, undecided, with_fields
from dam_sync.model.service import Service
from dam_sync.model.values import Json, instant_text
from dam_sync.report import sentences
from dam_sync.report.causes import mapping_sentence, sentence
from dam_sync.report.headline import complete
from dam_sync.report.parts import IrreversibleStep, LossLine, MappingLine, OpenOption, Origin, ValueSample
from dam_sync.report.report import Report, ReportedSide
from dam_sync.services import discover
from dam_sync.store.note_keys import UNREAD_CONTAINERS, window_key
from dam_sync.store.status_facts import DELETIONS
from dam_sync.store.store import SqlStore
from dam_sync.store.waves import NOT_DONE

VALID = "as long as both schemas, the mapping, the policy and the listing stay the same"


@dataclass(frozen=True, slots=True)
class Done:
    """What the report of a resumed run leaves out: ledger rows, assets of the run by outcome, and what became of
    their values. again: further assets that are done and are read again, so that the report has them."""

    ledger: int
    counts: Mapping[str, int] = field(default_factory=dict)
    work: WorkSummary = field(default_factory=WorkSummary)
    again: int = 0

    @classmethod
    async def of(cls, context: RunContext) -> Done:
        """Everything done so far by an interrupted run: a plan covers the rest. Changes the state, which is a copy."""
        again = await context.state.store.set_done_apart(context.state.run.id) if context.state.run.resumed else 0
        ledger, counts = await context.state.store.ledger_count(), await context.state.store.tally(context.state.run.id)
        settled = {action: number for action, number in counts.items() if action and action not in NOT_DONE}
        return cls(ledger, settled, await _work_of(context), again)

    @property
    def assets(self) -> int:
        """How many assets are done."""
        return sum(self.counts.values()) + self.again

    def rest(self, counts: Mapping[str, int]) -> dict[str, int]:
        """A tally without what was done before; never negative, because listed assets may change."""
        done = {**self.counts, "listed": sum(self.counts.values())}
        return {action: max(0, number - done.get(action, 0)) for action, number in counts.items() if action}


async def _work_of(context: RunContext) -> WorkSummary:
    fields = frozenset(map(field_name, context.source.schema.fields))
    return await WorkSummary.of(context.state.store, context.state.run.id, fields)


async def about_other_job(job: JobConfig, store: SqlStore) -> list[str]:
    """A note if the last run before this one was one of another job."""
    writers = (row.job for row in await store.runs(at_most=2) if row.job != job.name)
    return sentences.about_writer(job.state_name, next(writers, ""), job.name)


async def report_of(kind: str, opened: ConnectedJob, context: RunContext, done: Done) -> Report:
    """What the run did, read back from the state. Raises InternalError if a value is not accounted for."""
    store, run = context.state.store, context.state.run
    report = bare_report(kind, opened, context)
    report.run = run.id if kind == "run" else 0
    report.resumed = run.resumed
    report.counts = done.rest(await store.tally(run.id))
    report.notes.extend(sentences.about_resumed(run.id, done.assets))
    written = await LedgerSummary.of(store, run.id, done.ledger)
    report.operations, report.repaired, report.digest = written.operations, written.repaired, written.digest
    report.notes.extend(sentences.about_repair(report.repaired) if report.is_plan else [])
    report.terms, report.containers = written.made.of_terms(context.target.schema), written.made.of_containers()
    work = (await _work_of(context)).without(done.work)
    report.accounts, report.collisions, report.files = work.field_accounts(), work.collisions(), work.file_problems()
    report.mapping = _mapping(opened, context, work)
    labels = {field_name(key): known.label for key, known in context.source.schema.fields.items()}
    report.omissions = work.omissions(context.mapping.samples.left_out, labels)
    lines = work.loss_lines(_optional(opened, context))
    report.exposure = await report_exposure(context.source, context.state, lines)
    report.conflicts = await report_conflicts(context.state, written.conflicts)
    report.losses = [line for line in lines if _is_loss(line)]
    for line in lines:
        if line["path"] == TERMS:
            report.notes.extend(sentences.about_listed_terms(line["assets"], [text for _, text in line["examples"]]))
    report.parked = await _parked(opened, store)
    report.undecided = _undecided(opened, context, report)
    report.bytes = context.phases.progress.bytes
    report.irreversible = _irreversible(context, report.operations)
    report.notes.extend(await about_other_job(opened.job, store))
    report.notes.extend(opened.crosswalk.notes)
    report.notes.extend(sentences.about_unread(await store.get_meta(UNREAD_CONTAINERS) or []))
    report.left_out = await store.left_out(run.id)
    report.notes.extend(sentences.about_left_out(report.left_out))
    await _add_changes(report, context)
    report.scope = scope_of(context, report.counts)
    report.origin = replace(report.origin, hashes=await _hashes(opened, context, report), valid=VALID * report.is_plan)
    await add_names(report, store)
    complete(report)
    return report


async def _parked(opened: ConnectedJob, store: SqlStore) -> list[dict[str, Json]]:
    return [
        {
            "cause": str(row.cause),
            "text": _why_parked(opened, row.cause),
            "operation": row.operation,
            "hint": redact(row.hint),
            "count": row.count,
            "asset": row.asset,
            "example": f"{row.asset}: {redact(row.message)}",
        }
        for row in await causes_of(store)
    ]


def _why_parked(opened: ConnectedJob, cause: ParkCause) -> str:
    """Why assets are parked, in a sentence, with what the mapping says about it."""
    if not isinstance(cause, MappingCause):
        return sentence(cause)
    refusal = refusal_of(cause.place, cause.rule, opened.crosswalk, opened.document)
    return mapping_sentence(cause.place, cause.rule, refusal.said, refusal.most)


async def _add_changes(report: Report, context: RunContext) -> None:
    """What is read again, what no listing shows, and what is gone from the source."""
    store = context.state.store
    report.notes.extend(sentences.about_retried(context.tallies.retried))
    report.notes.extend(sentences.about_corrections(*await context.state.store.correction_count()))
    window = await store.get_meta(window_key(context.state.run.id)) or {}
    unseen = unseen_changes(context.source, context.task.options, window.get("since"))
    report.notes.extend(sentences.about_unseen(unseen, context.task.policy.rotation))
    report.notes.extend(sentences.about_read_again(context.tallies.read_again, window.get("rotation")))
    unrenamed = context.target.counterparts.notes
    report.notes.extend(sentences.about_not_renamed(unrenamed.kept, unrenamed.examples))
    report.notes.extend(sentences.about_relations(await unwritten_relations(context.state.store)))
    if (policy := context.task.policy.deletions) is not None:
        report.gone = gone_rows(await store.deletions(at_most=DELETIONS), policy)
    removes = context.task.policy.deletions is not None
    if loss := await disappeared(context.source, context.state, context.task.options):
        report.notes.extend(sentences.about_disappeared(loss.gone, loss.fresh, loss.examples, removes=removes))


def _optional(opened: ConnectedJob, context: RunContext) -> frozenset[str]:
    """Parts of assets that the target would store if an option of the job named their place."""
    connector = (context.task.options.connectors or discover())[opened.job.target.kind]
    return connector.capabilities.parts - opened.target.capabilities.parts


def _undecided(opened: ConnectedJob, context: RunContext, report: Report) -> list[OpenOption]:
    able, losses = opened.source.capabilities, {loss["path"]: loss["assets"] for loss in report.losses}
    accounts, closing = (opened.source_account, opened.target_account), opened.target.exposure_options().closing
    left = undecided(*accounts, able, context.task.policy.versions, closing)
    found = with_fields(left, opened.source_schema, opened.target_schema)
    return [
        OpenOption(side, part, one.text, one.hint, losses.get(part, 0))
        for side, parts in found.items()
        for one, part in ((one, one.part.name.lower() if one.part is not None else "") for one in parts)
    ]


def bare_report(kind: str, opened: ConnectedJob, context: RunContext) -> Report:
    """A report with only sides, times, origin and notes."""
    now = context.clock.now()
    return Report(
        kind=kind,
        job=opened.job.name,
        wave="" if context.task.wave is None else context.task.wave.name,
        source=_side(opened.job.source.kind, opened.source_account, opened.source),
        target=_side(opened.job.target.kind, opened.target_account, opened.target),
        started=instant_text(context.state.run.started_at.replace(microsecond=0)),
        ended=instant_text(now.replace(microsecond=0)),
        seconds=(now - context.state.run.started_at).total_seconds(),
        origin=Origin(__version__, user_name(), socket.gethostname(), opened.job.mapping),
        notes=[
            *(f"source: {note}" for note in opened.source_account.notes_as("source")),
            *(f"target: {note}" for note in opened.target_account.notes_as("target")),
            *sentences.about_accepted(context.accepted.findings),
        ],
    )


def hashes_of(opened: ConnectedJob, context: RunContext) -> dict[str, str]:
    """Digests of what a plan or run depends on; of the schemas, the parts that the mapping uses."""
    schemas = schema_facts(context.source, context.target, context.mapping.crosswalk)
    return {
        "mapping": context.mapping.crosswalk.digest,
        "source_schema": digest_of(schemas["source"]),
        "target_schema": digest_of(schemas["target"]),
        "policy": opened.job.policy.digest,
    }


async def _hashes(opened: ConnectedJob, context: RunContext, report: Report) -> dict[str, str]:
    """The same with what was listed and what is done."""
    listing = await context.state.store.listing_digest(context.state.run.id)
    return {**hashes_of(opened, context), "listing": listing, "operations": report.digest}


def _side(kind: str, account: Account, service: Service) -> ReportedSide:
    calls, at_least = Counter[str](service.calls), dict[str, str]()
    if isinstance(service, DryTarget):
        calls.update(service.estimated)
        at_least = {call: takes for call, takes in service.limits.combined.items() if service.estimated[call]}
    return ReportedSide(kind, account.tenant, account.release, account.total, dict(calls), account.user, at_least)


def _mapping(opened: ConnectedJob, context: RunContext, work: WorkSummary) -> list[MappingLine]:
    written = opened.document.written
    return [
        _mapping_line(rule, written.position(rule.place)[0], context, work) for rule in rules_of(opened.crosswalk.plan)
    ]


def _mapping_line(rule: FieldRule, line: int, context: RunContext, work: WorkSummary) -> MappingLine:
    name = dotted(rule.place)
    assets, filled, defaulted = work.given(name)
    return MappingLine(
        target=name,
        label=rule.fit.field.label if name.startswith("fields") else "",
        source=tuple(path.text for path in rule.paths),
        rule=redact(steps_of(rule)),
        line=line,
        assets=assets,
        filled=filled,
        defaulted=defaulted,
        samples=tuple(
            ValueSample(each.asset, redact(each.before), redact(each.after), each.shortened)
            for each in context.mapping.samples.rows.get(name, ())
        ),
    )


def _is_loss(line: LossLine) -> bool:
    """Not a conflict, and nothing about who sees an asset: these have tables and notes of their own."""
    return line["path"] not in (CONFLICT, EXPOSURE, TERMS)


def _irreversible(context: RunContext, operations: Mapping[str, int]) -> list[IrreversibleStep]:
    known = context.target.service.capabilities.irreversible
    return [IrreversibleStep(kind, operations[kind], text) for kind in operations for text in known.get(kind, ())]
