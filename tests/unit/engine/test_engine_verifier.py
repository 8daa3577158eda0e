"""Which assets a verification asks for, what counts as an addition or as there twice, and what is no difference."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dam_sync.engine.compare.differences import Difference
from dam_sync.engine.read.relations import compare_relations
from dam_sync.engine.verification.doubled import MOST, DoubledAssets
from dam_sync.engine.verification.verdict import Judgement
from dam_sync.engine.verification.verify import Verifier
from dam_sync.mapping.compile import marker_value
from dam_sync.model.asset import Asset, AssetId, Entry, Relation, Revision
from dam_sync.model.capabilities import Capabilities, Operation
from dam_sync.model.clock import SystemClock
from dam_sync.model.errors import NotFound
from dam_sync.model.link import LinkRow
from dam_sync.model.schema import Schema
from dam_sync.model.service import TRASH
from dam_sync.store.store import SqlStore
from dam_sync.store.undo import IN_TRASH, Undone
from tests.support.mapping.tenant_schemas import able
from tests.support.run_double import run_double
from tests.support.state.shared_engine import SHARED


@dataclass
class Target:
    """Assets by id, and those that were asked for."""

    there: Mapping[str, Asset] = field(default_factory=dict)
    capabilities: Capabilities = field(default_factory=able)
    asked: list[str] = field(default_factory=list)

    async def fetch(self, asset: AssetId) -> Asset:
        self.asked.append(asset)
        if asset not in self.there:
            raise NotFound("not there", asset=asset)
        return self.there[asset]

    def token_of(self, marker: object) -> str:
        return ""


def asset(name: str, **more: Any) -> Asset:
    return Asset(AssetId(name), Revision("r"), **{"status": "published", **more})


def entry(made: Asset) -> Entry:
    return Entry(made.id, made.revision, asset=made)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqlStore]:
    opened = await SqlStore.open(tmp_path / "job.db", SystemClock(), storage=SHARED)
    await opened.begin("job", "run")
    yield opened
    await opened.close()


def _same(made: Asset) -> Asset:
    return made


def context_of(store: Any, target: Target) -> Any:
    plan = SimpleNamespace(fields={}, placements=(), tags=None, groups=None, release=None, expiry=None)
    return run_double(
        store=store,
        target=target,
        source=SimpleNamespace(capabilities=Capabilities()),
        source_account=SimpleNamespace(tenant="here"),
        target_schema=Schema({}, capabilities=target.capabilities),
        source_schema=Schema({}),
        crosswalk=SimpleNamespace(marker="key", plan=plan, vocabularies={}, related=_same, coverage=None),
        policy=SimpleNamespace(extras="tell"),
        progress=SimpleNamespace(listed=0, unchanged=0),
        wave=None,
        readers=2,
        writers=2,
    )


def verifier(store: SqlStore, target: Target) -> Verifier:
    """One that counts."""
    seen = set[str]()

    async def first_time(key: str) -> bool:
        return key not in seen and not seen.add(key)  # type: ignore[func-returns-value]

    made: Any = SimpleNamespace(first_time=first_time)
    return Verifier(context_of(store, target), made, "count")


async def test_what_the_target_does_not_list_is_asked_for_by_id(store: SqlStore) -> None:
    """Its index may be behind."""
    for number in range(3):
        await store.put_link(LinkRow(f"s{number}", f"t{number}"))
    target = Target({"t1": asset("t1")})
    made = verifier(store, target)
    await made._check_batch([entry(asset("t0"))])
    assert target.asked == []
    await made._check_unvisited()
    assert sorted(target.asked) == ["t1", "t2"]
    assert (made.verdict.equal, made.verdict.missing) == (2, 1)


async def test_what_somebody_took_out_of_the_trash_is_an_addition(store: SqlStore) -> None:
    """It is not ours any more, and no double."""
    await store.undone(1, Undone("s0", "t0", (), IN_TRASH, LinkRow("s0", "t0")))
    made = verifier(store, Target())
    marked = {"key": marker_value("here", AssetId("s0"))}
    await made._check_batch([entry(asset("t0", fields=marked)), entry(asset("t1", fields=marked))])
    assert (made.verdict.extra, made.verdict.clean, made.doubles.number) == (1, True, 1)
    assert [(source, target, one.extra) for source, target, one in made.verdict.extras] == [("s0", "t0", True)]


async def test_one_asset_is_compared_without_containers_where_a_side_lists_their_members(store: SqlStore) -> None:
    """It is not worth reading all of them."""
    found = [Difference("placements", "a", "b"), Difference("tags", "a", "b")]

    class Judged(Verifier):
        async def _judge(self, link: LinkRow, listed: Asset | None, *, fresh: bool) -> Judgement:
            return Judgement("different", list(found))

    for operations, paths in (({Operation.MEMBERS}, ["tags"]), (set[Operation](), ["placements", "tags"])):
        context = context_of(store, Target(capabilities=Capabilities(frozenset(operations))))
        judged = await Judged(context, store, "fields").compare_one(LinkRow("s", "t"))
        assert [one.path for one in judged.found] == paths


async def test_assets_in_the_trash_are_no_doubles_and_so_many_are_remembered(store: SqlStore) -> None:
    """Old attempts lie there."""
    marked = {"key": marker_value("here", AssetId("s"))}
    link, second = LinkRow("s", "t0"), asset("t1", fields=marked)

    async def found(*assets: Asset, there: Asset | None = second, number: int = 0) -> list[str]:
        target = Target({"t1": there} if there is not None else {})
        doubles = DoubledAssets(
            context_of(store, target).source,
            context_of(store, target).target,
            context_of(store, target).mapping.crosswalk,
            number=number,
        )
        doubles.collect(map(entry, assets))
        return [identity async for _, identity in doubles.of([link])]

    assert await found(second) == ["t1"]
    trashed = replace(second, status=TRASH)
    assert await found(trashed) == []
    for now in (trashed, None, replace(second, fields={})):
        assert await found(second, there=now) == []
    assert await found(second, number=MOST - 1) == ["t1"]
    assert await found(second, number=MOST) == []


async def test_relations_that_a_run_reported_are_no_differences(store: SqlStore) -> None:
    """To an asset that was not moved, or that the target refused."""
    for name in ("s", "a", "b"):
        await store.put_link(LinkRow(name, f"t-{name}"))
    refused = frozenset({("view", "b")})

    async def refused_of(_: str) -> frozenset[tuple[str, str]]:
        return refused

    target = Target()
    known = SimpleNamespace(
        links=store.links,
        links_by_target=store.links_by_target,
        refused_relations_of=refused_of,
        relations_waiting=refused_of,
    )
    context = context_of(known, target)
    ours = asset("s", relations=frozenset(Relation("view", AssetId(other)) for other in ("a", "b", "never moved")))
    link = LinkRow("s", "t-s")
    (lacking,) = await compare_relations(
        context.target, context.mapping.crosswalk, context.state.store, ours, asset("t-s"), link
    )
    assert (lacking.path, lacking.expected, lacking.extra) == ("relations", "view to t-a", False)
    there = asset("t-s", relations=frozenset({Relation("view", AssetId("t-a"))}))
    assert (
        await compare_relations(context.target, context.mapping.crosswalk, context.state.store, ours, there, link) == []
    )
