"""`redirects`: old public links and those that take their place, as CSV and as rules of web servers."""

from __future__ import annotations

from contextlib import AsyncExitStack, closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit

from dam_sync.aio.task_group import TaskGroup
from dam_sync.api.atomic_io import atomic_write, csv_file, prove_writable, scratch_dir
from dam_sync.api.bootstrap import ConnectedJob, connected, run_context_of
from dam_sync.api.job_file import job_of
from dam_sync.api.jobs import copy_state
from dam_sync.api.own_files import refuse_own_files
from dam_sync.api.stored_job import existing_store
from dam_sync.config.job import JobConfig
from dam_sync.engine.guards.preflight import refuse_other_services
from dam_sync.engine.run.redirects import LinkReader, leave_out_exposed
from dam_sync.http.probe import LinkProbe
from dam_sync.model.capabilities import Feature, Operation
from dam_sync.model.errors import ConfigError
from dam_sync.model.exposure import MEANINGS
from dam_sync.model.public_link import Redirect, is_page
from dam_sync.model.run_options import RunOptions
from dam_sync.model.safe_text import csv_cell
from dam_sync.model.url_forms import is_loopback
from dam_sync.report import sentences
from dam_sync.report.redirect_rules import apache_map, apache_rules, nginx_rules
from dam_sync.report.redirects import RedirectReport
from dam_sync.store.redirect_list import Probed, RedirectList
from dam_sync.store.store import SqlStore

COLUMNS = ("old", "new", "asset", "target", "rendition", "becomes", "reason", "old status", "new status", "accepted")
SHOWN = 12
ASKED_AT_ONCE = 100
RULES = "the rules"


@dataclass(frozen=True, slots=True)
class RedirectRequest:
    """Files to write: table, a CSV; nginx, a configuration; apache, a configuration, with a map beside it. probe: ask
    every link; private: also in private networks."""

    table: Path | None = None
    nginx: Path | None = None
    apache: Path | None = None
    probe: bool = False
    private: bool = False

    @property
    def apache_map(self) -> Path | None:
        """The map beside the configuration."""
        return None if self.apache is None else self.apache.with_suffix(".map")


async def job_redirects(path: Path | JobConfig, options: RunOptions, asked: RedirectRequest) -> RedirectReport:
    """What both services say about the public links of every moved asset. Writes to neither. Raises ConfigError for a
    job without a state."""
    job = job_of(path, options.connectors)
    _refuse_replaced(asked, path, options)
    for file in (asked.table, asked.nginx, asked.apache, asked.apache_map):
        prove_writable(file, RULES, shared=True)
    async with AsyncExitStack() as stack:
        async with existing_store(job, options.clock, read_only=True, storage=options.storage):
            pass
        folder = stack.enter_context(scratch_dir("redirects"))
        await copy_state(job, options, folder / "state.db")
        store = await SqlStore.open(folder / "state.db", options.clock, storage=options.storage)
        stack.push_async_callback(store.close)
        opened = await stack.enter_async_context(connected(job, options, dry=True))
        context = await run_context_of(opened, store, await store.begin(job.name, "redirects"), options)
        await refuse_other_services(context.source, context.target, context.state, context.stopping, context.accepted)
        found = stack.enter_context(closing(RedirectList(folder / "links.db")))
        report = RedirectReport(job=job.name, notes=sentences.about_accepted(context.accepted.findings))
        if Operation.PUBLIC_LINKS in opened.source.capabilities:
            await LinkReader(
                context.source, context.target, context.state.store, context.stopping, context.phases.progress, found
            ).read()
        else:
            report.notes.append(_no_links(opened))
        if asked.probe:
            probe = LinkProbe(options.clock, asked.private, _is_local(job), transport=options.transport)
            await _probe(found, probe, options)
        leave_out_exposed(context.source, context.target, context.task.policy, found)
        _write(found, asked, job.name, report)
        return _reported(found, report, probed=asked.probe)


def _refuse_replaced(asked: RedirectRequest, job: Path | JobConfig, options: RunOptions) -> None:
    """Raise ConfigError if the map of Apache would replace another file of the command or of the job."""
    beside = asked.apache_map
    if beside is None:
        return
    if beside.resolve() in {each.resolve() for each in (asked.table, asked.nginx, asked.apache) if each is not None}:
        hint = "name the configuration FILE.conf, and no other file FILE.map"
        raise ConfigError(
            f"--apache writes a map, {beside}, which would replace another file of the command", hint=hint
        )
    if isinstance(job, Path):
        refuse_own_files([job], [beside], options.connectors)


def _no_links(opened: ConnectedJob) -> str:
    support = opened.source.capabilities.features.get(Feature.LINKS)
    why = f": {support.why}" if support is not None and support.why else ""
    return f"{opened.job.source.kind} has no public links that last, so nothing redirects{why}"


def _is_local(job: JobConfig) -> bool:
    """Whether a service of the job is on this computer: only then do its links lead there for a good reason."""
    return any(is_loopback(urlsplit(side.base_url).hostname or "") for side in (job.source, job.target))


async def _probe(found: RedirectList, probe: LinkProbe, options: RunOptions) -> None:
    """Ask both links of every redirect, a few at a time."""
    rows = found.redirects()
    options.progress.begin("asking links")

    async def ask(row: Redirect) -> tuple[str, Probed]:
        old = await probe.ask(row.old, page=is_page(row.name))
        new = await probe.ask(row.new, page=is_page(row.became))
        leads = old.good and old.hops and old.url == new.url
        text = f"{old.text}, leads to the new link" if leads else old.text
        return row.old, Probed(text, new.text, old.opens, new.may_open)

    try:
        while page := list(islice(rows, ASKED_AT_ONCE)):
            async with TaskGroup() as group:
                tasks = [group.start(ask, row) for row in page]
            for task in tasks:
                found.note_probe(*task.result())
            options.progress.listed += len(page)
    finally:
        await probe.close()


def _write(found: RedirectList, asked: RedirectRequest, job: str, report: RedirectReport) -> None:
    if asked.table is not None:
        with csv_file(asked.table, "the list") as writer:
            writer.writerow(COLUMNS)
            for rows in (found.redirects(), found.without()):
                for row in rows:
                    probed, rules = found.probe_of(row.old), " ".join(rule.value for rule in row.accepted)
                    cells = (row.old, row.new, row.asset, row.target, row.name, row.became, row.reason)
                    more = (probed.old_status, probed.new_status, rules)
                    writer.writerow([csv_cell(cell) for cell in (*cells, *more)])
        report.files.append(str(asked.table))
    if asked.nginx is not None:
        with atomic_write(asked.nginx, RULES, shared=True) as out:
            out.writelines(nginx_rules(found.redirects(), job))
        report.files.append(str(asked.nginx))
    if asked.apache is not None and (beside := asked.apache_map) is not None:
        with atomic_write(beside, RULES, shared=True) as out:
            out.writelines(apache_map(found.redirects(), job))
        with atomic_write(asked.apache, RULES, shared=True) as out:
            out.write(apache_rules(found.count(), job, str(beside.absolute())))
        report.files += [str(asked.apache), str(beside)]


def _reported(found: RedirectList, report: RedirectReport, *, probed: bool) -> RedirectReport:
    report.redirects = found.count()
    report.without, report.left_out = (
        [
            {"reason": reason, "number": number, "examples": examples}
            for reason, number, examples in found.reasons(left_out=left_out)
        ]
        for left_out in (False, True)
    )
    report.accepted = [
        {"rule": rule.value, "number": number, "meaning": MEANINGS[rule]} for rule, number in found.accepted()
    ]
    enlarged = sum(row.enlarges for row in found.redirects())
    report.notes.extend(sentences.about_enlarged(enlarged))
    report.links = [{"old": row.old, "new": row.new, "asset": row.asset} for row in islice(found.redirects(), SHOWN)]
    if probed:
        report.probes = found.probes()
    return report
