"""`inspect`: what is in the libraries of a job."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

from dam_sync.api.atomic_io import atomic_write, csv_file, prove_writable
from dam_sync.api.bootstrap import MEMORY_FOR_FILES, connect
from dam_sync.api.job_file import job_of
from dam_sync.api.service_notes import notes_about
from dam_sync.config.job import JobConfig
from dam_sync.engine.inventory.gather import Inspection
from dam_sync.engine.inventory.reading import Sampling
from dam_sync.model.connector import Connector
from dam_sync.model.errors import ConfigError, DamSyncError, Rejected
from dam_sync.model.inventory import Inventory, SideInventory
from dam_sync.model.run_options import RunOptions
from dam_sync.model.service import Service
from dam_sync.model.values import instant_text
from dam_sync.report.inventory import write_csv
from dam_sync.report.inventory_page import inventory_html
from dam_sync.services import discover
from dam_sync.transfer.content import MemoryBudget

SIDES = ("source", "target")
FIRST = "2000"
"""Assets that are read if no sample is asked for."""
REFUSED = "nothing was written; check the options of the {} in the job file, and run again with -v to see the call"


async def inspect_job(path: Path | JobConfig, options: RunOptions, sample: str = FIRST, side: str = "") -> Inventory:
    """The inventory of both sides, or of one. Neither is written to, and no file is downloaded. Raises ConfigError."""
    sampling, roles = Sampling.of(sample), SIDES if not side else (side,)
    if side and side not in SIDES:
        raise ConfigError(f"--side expects source or target, not {side!r}", hint="leave it out to inspect both")
    prove_writable(options.html, "the report")
    job = job_of(path, options.connectors)
    started = options.clock.now()
    found = []
    async with AsyncExitStack() as stack:
        for role in roles:
            service = await connect(job, role, options, MemoryBudget(MEMORY_FOR_FILES), read_only=True)
            stack.push_async_callback(service.close)
            calls = partial(_calls_of, service)
            if role == "source":
                options.progress.source_calls = calls
            else:
                options.progress.target_calls = calls
            kind = job.source.kind if role == "source" else job.target.kind
            connector = (options.connectors or discover())[kind]
            reads = Inspection(role, kind, service, connector.not_moved, sampling, options, not_used=connector.not_used)
            found.append(await _inventory(reads, connector))
    ended = options.clock.now()
    return Inventory(job.name, instant_text(started), instant_text(ended), tuple(found))


async def _inventory(side: Inspection, connector: Connector) -> SideInventory:
    """Raises what the service raises. A call that it refuses ends this command: there is no asset to set aside."""
    try:
        found = await side.run()
        notes = await notes_about(side.role, connector, side.service, needed=False)
        return replace(found, notes=(*found.notes, *(note.text for note in notes)))
    except Rejected as error:
        hint = error.within(hint=REFUSED.format(side.role)).hint
        at = {"service": error.service, "operation": error.operation, "asset": error.asset, "code": error.code}
        raise DamSyncError(error.message, hint=hint, **at) from error


def _calls_of(service: Service) -> int:
    return sum(service.calls.values())


def write_inventory(inventory: Inventory, html: Path | None, csv: Path | None) -> list[Path]:
    """Write the HTML page and the folder of CSV files that were asked for; returns the files."""
    written = []
    if html is not None:
        with atomic_write(html, "the report") as out:
            out.write(inventory_html(inventory))
        written.append(html)
    return written + (write_csv(inventory, csv, csv_file) if csv is not None else [])
