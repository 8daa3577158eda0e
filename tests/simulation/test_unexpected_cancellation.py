"""A part of the work ends by a CancelledError that nobody meant for it, as that of a library's own task: the run stops
and says so, and the next one does what is missing. It is never counted as done."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from dam_sync.api.jobs import run_job, verify_job
from dam_sync.model.asset import Asset, AssetId, Draft
from dam_sync.model.errors import InternalError, first_cause
from dam_sync.model.ports import Content, Journal
from dam_sync.model.run_options import RunOptions
from dam_sync.model.service import Batch, Cursor, Service, Shard
from dam_sync.services.b_documents.service import DocumentsService
from tests.support.virtual.crashes import IN_DOUBT, SEED
from tests.support.virtual.moves import Move, Simulation, differences

KINDS = "e_profiles", "b_documents"


class Losing(DocumentsService):
    """A target on which the first call of one kind is cancelled within."""

    lost: str

    def lose(self, call: str) -> None:
        if type(self).lost == call:
            type(self).lost = ""
            raise asyncio.CancelledError

    async def create(self, draft: Draft, content: Content | None, journal: Journal) -> AssetId:
        self.lose("create")
        return await super().create(draft, content, journal)

    async def fetch(self, asset: AssetId) -> Asset:
        self.lose("fetch")
        return await super().fetch(asset)

    async def crawl(self, shard: Shard, cursor: Cursor | None) -> AsyncIterator[Batch]:
        async for batch in super().crawl(shard, cursor):
            yield replace(batch, entries=tuple(replace(entry, asset=None) for entry in batch.entries))


def losing(move: Move, call: str) -> RunOptions:
    """Options of a run on such a target."""
    options = move.universe.options()
    assert options.connectors is not None

    def service() -> type[Service]:
        return type("LosingOne", (Losing,), {"lost": call})

    made = service()
    target = replace(options.connectors[KINDS[1]], service=lambda: made)
    return replace(options, connectors={**options.connectors, KINDS[1]: target})


def test_the_run_stops_and_the_next_one_moves_what_is_missing(tmp_path: Path) -> None:
    simulation = Simulation(tmp_path, KINDS, SEED)
    want, _ = simulation.reference()
    with simulation.moving() as move:
        with pytest.raises(InternalError, match="cancelled by nobody"):
            move.universe.do(run_job(move.job, losing(move, "create")))
        move.live()
        assert list(differences(move.state(), want, in_doubt=IN_DOUBT)) == []


def test_an_asset_whose_comparison_is_lost_is_not_proved(tmp_path: Path) -> None:
    with Simulation(tmp_path, KINDS, SEED).moving() as move:
        move.live()
        with pytest.raises(ExceptionGroup) as failed:
            move.universe.do(verify_job(move.job, losing(move, "fetch"), "fields", "100%"))
        assert "cancelled by nobody" in str(first_cause(failed.value))
        assert move.universe.do(verify_job(move.job, move.universe.options(), "fields", "100%")).verdict["clean"]
