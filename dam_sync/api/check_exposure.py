"""The exposure guard on the assets that `check` looks at, by the same code as in a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dam_sync.api.preview import LinksOf, Preview
from dam_sync.api.stored_job import existing_store
from dam_sync.config.job import JobConfig
from dam_sync.engine.guards.exposure import ExposureGate
from dam_sync.engine.guards.remedies import advice_of
from dam_sync.model.asset import AssetId
from dam_sync.model.exposure_advice import what_to_do
from dam_sync.model.exposure_options import ExposureOptions
from dam_sync.model.link import LinkRow
from dam_sync.model.run_options import RunOptions
from dam_sync.model.schema import Schema
from dam_sync.model.service import Service
from dam_sync.model.service_time import RunTime
from dam_sync.model.wording import the_first

SHOWN = 3  # causes, or values


def gate_of(job: JobConfig, source: Service, target: Service, schema: Schema, options: RunOptions) -> ExposureGate:
    """As a run of this job would have it. schema: of the target."""
    alike, earliest = job.source.kind == job.target.kind, RunTime.of(options.clock).earliest
    return ExposureGate(source, target, schema, job.policy.exposure.waivers, earliest, alike)


def links_of_job(job: JobConfig, options: RunOptions, *, linked: bool) -> LinksOf:
    """Reads links from the state of a job. linked: whether it has any."""

    async def links_of(assets: Sequence[AssetId]) -> Mapping[AssetId, LinkRow]:
        if not linked:
            return {}
        async with existing_store(job, options.clock, read_only=True, storage=options.storage) as store:
            return await store.links(assets)

    return links_of


def about_set_aside(found: Preview, source: ExposureOptions) -> tuple[str, str]:
    """How many assets would be set aside because more people would see them, and what to do about it: what keeps them
    closed first, the waiver last."""
    number = found.set_aside.total()
    words = "; ".join(
        f"{cause} ({many}): {found.examples[cause]}" for cause, many in found.set_aside.most_common(SHOWN)
    )
    of = the_first(found.taken, "asset")
    fate = f"{number} of the first {found.taken}" if number < found.taken else f"every one of {of}"
    message = f"{fate} would be set aside: more people would see {'it' if number == 1 else 'them'}: {words}"
    advice = advice_of(found.held, source, found.taken)
    return message, ". ".join(what_to_do([told.as_json(rule) for rule, told in advice.items()]))
