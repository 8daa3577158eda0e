"""`explain --live`: the story of one asset with its records at both services, rule by rule."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dam_sync.api.atomic_io import scratch_dir
from dam_sync.api.bootstrap import ConnectedJob, connected, run_context_of
from dam_sync.api.explain import Facts, job_explain, redacted
from dam_sync.api.job_file import job_of
from dam_sync.api.stored_job import existing_store
from dam_sync.config.job import JobConfig
from dam_sync.engine.context.run_context import RunContext
from dam_sync.engine.names.source_terms import SourceTerms
from dam_sync.engine.verification.verify import Verifier
from dam_sync.mapping.trace import RuleTrace, loss_text, traces
from dam_sync.model.asset import Asset, AssetId
from dam_sync.model.codec import asset_to_json
from dam_sync.model.errors import NotFound
from dam_sync.model.run_options import RunOptions
from dam_sync.model.service import Service
from dam_sync.store.store import SqlStore


async def job_explain_live(path: Path | JobConfig, called: str, by: str, options: RunOptions) -> Facts:
    """As `job_explain`, with `live`: the records at both services, what each rule makes of that of the source now, and
    the differences. Neither service is written to."""
    job = job_of(path, options.connectors)
    facts = await job_explain(job, called, by, options.clock, options.storage)
    if "candidates" in facts:
        return facts
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(
            existing_store(job, options.clock, read_only=True, storage=options.storage)
        )
        opened = await stack.enter_async_context(connected(job, options, dry=True))
        scratch = await SqlStore.open(
            stack.enter_context(scratch_dir("explain")) / "explain.db", options.clock, storage=options.storage
        )
        stack.push_async_callback(scratch.close)
        run = await scratch.begin(job.name, "verify")
        context = await run_context_of(opened, store, run, options)
        facts["live"] = redacted(await _live(context, opened, scratch, facts["asset"]))
    return facts


async def _live(context: RunContext, opened: ConnectedJob, scratch: SqlStore, asset: Facts) -> Facts:
    source = AssetId(asset["source_id"])
    read = await _fetched(opened.source, source)
    link = (await context.state.store.links([source])).get(source)
    there = await _fetched(opened.target, AssetId(link.target)) if link is not None else None
    verifier = Verifier(context, scratch, "fields")
    judged = await verifier.compare_one(link) if link is not None and read is not None else None
    if judged is None:
        await verifier.load_terms()
    placed = await SourceTerms.of(context.source, context.mapping.crosswalk).placed(read) if read is not None else None
    return {
        "source": _record(read),
        "selected": None if read is None else opened.crosswalk.selects(read),
        "rules": [_rule(trace) for trace in traces(opened.crosswalk, placed, verifier.terms)] if placed else [],
        "target": _record(there),
        "outcome": judged.outcome if judged is not None else "",
        "differences": [asdict(one) for one in judged.found] if judged is not None else [],
    }


async def _fetched(service: Service, asset: AssetId) -> Asset | None:
    try:
        return await service.fetch(asset)
    except NotFound:
        return None


def _record(asset: Asset | None) -> dict[str, Any] | None:
    """The record without its public links."""
    if asset is None:
        return None
    record: dict[str, Any] = asset_to_json(asset)
    return {key: value for key, value in record.items() if key != "source_links" and value not in (None, "", [], {})}


def _rule(trace: RuleTrace) -> Facts:
    return {
        "rule": trace.rule,
        "read": [{"path": path, "value": value, "outcome": outcome} for path, value, outcome in trace.read],
        "made": list(trace.made),
        "lost": [loss_text(loss) for loss in trace.losses],
        "rejected": [loss_text(loss) for loss in trace.rejections],
    }
