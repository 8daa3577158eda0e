"""Over sockets: what left the source goes to the trash of the target once its grace period is over, never more than
the job allows, and comes back as the same asset."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import structlog
from typer.testing import CliRunner

from dam_sync.cli import cli
from dam_sync.model.asset import AssetId, Draft
from tests.conformance.catalogue import SCHEMA, asset
from tests.support.jobs import small_jobs
from tests.support.jobs.accepted_exposure import ACCEPTED
from tests.support.jobs.any_pair import any_pair, living, moved
from tests.support.jobs.open_service import opened_service
from tests.support.jobs.small_jobs import FastClock, options
from tests.support.jobs.tenants import Pair
from tests.support.libraries.every_feature import OWN_MARKS

SOURCE, TARGET = "a_hypermedia", "b_documents"
ASSETS = 4
POLICY = {**ACCEPTED, "deletes": "trash", "grace": "7d"}


@contextmanager
def library(folder: Path) -> Iterator[Pair]:
    """Two tenants, and a job with the usual limit of deletions; an index is never behind."""
    rows = [*SCHEMA, *(asset(number) for number in range(1, ASSETS + 1))]
    with any_pair(folder, SOURCE, TARGET, rows, SCHEMA, OWN_MARKS, policy=POLICY) as pair:
        yield pair


def ran(pair: Pair, verb: str, *arguments: str, code: int = 0) -> Any:
    """What a command says, as data if it succeeds; else the text of its error."""
    given = {"clock": small_jobs.CLOCK, "storage": small_jobs.STORAGE}
    done = CliRunner().invoke(cli, [verb, str(pair.job), "--json", *arguments], obj=given)
    structlog.reset_defaults()
    assert done.exit_code == code, f"exit {done.exit_code}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return json.loads(done.stdout) if code in (0, 4) else " ".join(done.output.split())


def pass_days(days: float) -> None:
    """So much later for the commands and both services."""
    FastClock.instant += timedelta(days=days)


def changed(pair: Pair, act: str, sources: Iterable[str]) -> None:
    """Somebody moves assets of the source into its trash, or takes them out of it."""

    async def acted() -> None:
        async with opened_service(pair.job, "source", options()) as service:
            await service.schema()
            for each in map(AssetId, sources):
                await (
                    service.remove(each)
                    if act == "remove"
                    else service.restore(each, Draft(None, "", status="published"))
                )

    asyncio.run(acted())
    pair.source.ask("/_emulator/clock", {"advance": 60})  # its index shows it


def test_what_left_the_source_goes_to_the_trash_after_its_grace_and_comes_back_the_same(tmp_path: Path) -> None:
    with library(tmp_path) as pair:
        assert ran(pair, "run")["counts"]["created"] == ASSETS
        twins = dict(moved(pair).twins)
        gone, target = next(iter(twins.items()))
        changed(pair, "remove", [gone])

        report = ran(pair, "run")
        (row,) = report["gone"]
        assert (row["asset"], row["target"], row["reason"]) == (gone, target, "in the trash")
        assert datetime.fromisoformat(row["until"]) - datetime.fromisoformat(row["since"]) == timedelta(days=7)
        assert ran(pair, "status")["gone"] == [row]
        assert living(pair.target).keys() == set(twins.values())

        pass_days(8)
        told = ran(pair, "run", code=6)
        for words in ("1 of 4 assets would be removed", "max_deletes: 5%", "status JOB"):
            assert words in told, told
        assert living(pair.target).keys() == set(twins.values())

        pair.job.write_text(pair.job.read_text(encoding="utf-8").replace("grace: 7d", "grace: 7d\n  max_deletes: 1"))
        report = ran(pair, "run")
        assert (report["counts"]["removed"], report["operations"]) == (1, {"remove": 1})
        assert living(pair.target).keys() == set(twins.values()) - {target}
        assert {each["id"]: each["status"] for each in pair.target.assets}[target] == "trash"
        assert ran(pair, "run")["operations"] == {}

        changed(pair, "restore", [gone])
        report = ran(pair, "run", "--full")
        assert report["operations"] == {"restore": 1}, report["parked"]
        assert moved(pair).twins == twins
        assert living(pair.target).keys() == set(twins.values())
        verdict = ran(pair, "verify")["verdict"]
        assert (verdict["equal"], verdict["removed"]) == (ASSETS, 0), verdict["differences"]
