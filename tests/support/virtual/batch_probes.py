"""What may go wrong with assets that share calls, each case of it as a probe: it tells what it found wrong.

`test_batches.py` proves that they find nothing, `test_mutants.py` that each finds something once a safeguard is taken
away.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from ruamel.yaml import YAML

from dam_sync.api.state_commands import job_errors
from dam_sync.model.asset import AssetId
from dam_sync.services.b_documents import facts
from tests.support.virtual.batched import SKEW, TITLES, TO_A, TO_B, TO_C, SharedSimulation, crash_points, crashed
from tests.support.virtual.branching import Branch, branches
from tests.support.virtual.crashes import SEED
from tests.support.virtual.fuse import CALL, Fuse, Point
from tests.support.virtual.lying import kinds
from tests.support.virtual.moves import Move, differences
from tests.support.virtual.odd_servers import DroppingNetwork, MixingNetwork, RefusingNetwork
from tests.support.virtual.scripts import Reference, Script, parked, stormed
from tests.support.virtual.wire import Network

C_CREATE: Final = "POST /api/v4/libraries/{id}/assets"
C_VALUES: Final = "POST /api/v4/custom_field_keys/{id}/custom_field_values"
B_CREATE: Final = "POST /api/v1/id/{id}"
B_UPLOAD: Final = "POST /api/v1/upload/{batch}/{index}"
A_CREATE: Final = "POST /api/dam/folders/{id}/medias"
SHARE: Final = 12  # of the crash points, one of so many
AT_ONCE: Final = 2  # assets that are written at the same time to a server that loses batches
RUNS: Final = 3  # in which what a crash left of assets that are gone must be cleared up

Act = Callable[[Reference], Iterator[str]]


@dataclass(frozen=True, slots=True)
class Probe:
    """kinds: source and target; act: what happens, against a move in good weather; skew, network: of the target."""

    kinds: tuple[str, str]
    act: Act
    skew: float = 0.0
    network: type[Network] = Network

    def reference(self, folder: Path) -> Reference:
        """The move in good weather, to be made before a safeguard is taken away."""
        return Reference.of(SharedSimulation(folder, self.kinds, SEED, skew=self.skew))

    def found(self, reference: Reference) -> Iterator[str]:
        """What is wrong afterwards."""
        simulation = replace(reference.simulation, network=self.network)
        return self.act(replace(reference, simulation=simulation))


def responses(call: str, do: str, *numbers: int, guilty: int = 0) -> Act:
    """These calls of the target fail in this way; so many assets may be parked for it."""

    def act(reference: Reference) -> Iterator[str]:
        scripts = [Script("target", call, do, str(number)) for number in numbers]
        ending = stormed(reference, scripts)
        yield from ending.wrong
        yield from (f"not hit: {script}" for script in ending.unhit)
        if len(ending.parked) > guilty:
            yield f"parked: {ending.parked}"

    return act


def crashes(reference: Reference) -> Iterator[str]:
    """At some points of the move."""
    some = SharedSimulation.reference(reference.simulation)[1]
    yield from crashed(reference.simulation, reference.want, crash_points(some, SHARE))


def quiet(reference: Reference) -> Iterator[str]:
    """Nothing goes wrong, and nothing is left of the uploads."""
    with reference.simulation.moving() as move:
        move.live()
        yield from batches_of(move)
        yield from differences(move.state(), reference.want, in_doubt=0)


def batches_of(move: Move) -> Iterator[str]:
    """Upload batches that lie about."""
    for kind, number in kinds(move.target).items():
        yield f"left in the target: {number} of {kind}"


def guilty_value(reference: Reference) -> Iterator[str]:
    """One value of one asset is refused: that asset is parked and no other, and is complete once it is accepted."""
    with reference.simulation.moving() as move:
        network = move.universe.network
        assert isinstance(network, RefusingNetwork)
        network.word = "note 22"
        move.live()
        if len(parked(move)) != 1:
            yield f"{len(parked(move))} assets are parked for one"
        network.word = ""
        move.universe.do(job_errors(move.job, (), True, move.universe.clock, move.universe.storage))
        move.live()
        if move.state().assets != reference.want.assets:
            yield "the asset that was parked is not as it should be"


def own_files(reference: Reference) -> Iterator[str]:
    """Assets with a marker have their own files; those that the service mixed up are parked."""
    files = {row["fields"]["note"]: row["versions"][-1]["digests"]["sha256"] for row in reference.want.assets if _is_ours(row)}
    with reference.simulation.moving() as move:
        move.live()
        ours = [row for row in move.target.assets if _is_ours(row)]
        for row in ours:
            if row["versions"][-1]["digests"]["sha256"] != files[row["fields"]["note"]]:
                yield f"{row['fields']['note']} has the file of another asset"
        if len(ours) + len(parked(move)) != len(TITLES):
            yield f"{len(ours)} assets are there and {len(parked(move))} are parked"


def _is_ours(row: Mapping[str, Mapping[str, str]]) -> bool:
    return "note" in row["fields"]


def losing_server(reference: Reference) -> Iterator[str]:
    """A server that loses batches: nothing is parked, and no more files are sent twice than those of a few batches."""
    with reference.simulation.moving() as move:
        _limit(move.job, AT_ONCE)
        try:
            move.live()
        finally:
            _limit(move.job, 0)
        sent = move.universe.network.weather.called[move.target.app, B_UPLOAD]
        if sent > len(TITLES) + facts.BATCH_LOSSES * (AT_ONCE - 1):
            yield f"{sent} files were sent for {len(TITLES)} assets"
        yield from (f"parked: {row}" for row in parked(move))


def _limit(job: Path, concurrency: int) -> None:
    yaml = YAML()
    data = yaml.load(job.read_text(encoding="utf-8"))
    data["limits"] = {"concurrency": concurrency} if concurrency else {}
    with job.open("w", encoding="utf-8") as out:
        yaml.dump(data, out)


def recorded_files(reference: Reference) -> Iterator[str]:
    """A crash after the last file was recorded: none is sent again, and the batch does not stay."""
    with reference.simulation.moving() as move:
        called = move.universe.network.weather.called
        move.live(Fuse(until=lambda: called[move.target.app, B_CREATE] == len(TITLES)))
        move.live_to_the_end()
        sent = called[move.target.app, B_UPLOAD]
        if sent != len(TITLES):
            yield f"{sent} files were sent for {len(TITLES)} assets"
        yield from batches_of(move)


def gone_meanwhile(reference: Reference) -> Iterator[str]:
    """A crash, after which all assets whose create has no recorded result leave the source: whatever was created for
    them goes to the trash, and nothing else does."""
    calls = reference.calls["target", A_CREATE]
    points = [point for point in reference.points if point.kind == CALL]
    begun = next(n for n, point in enumerate(points) if point)
    with reference.simulation.moving() as move:
        plans = [[point] for point in points[begun::SHARE]] if calls else []
        for branch in branches(move, plans, partial(_left_of_the_gone, move)):
            yield from branch.faults


def _left_of_the_gone(move: Move, plan: Sequence[Point]) -> Branch:
    """In a child, after its crash."""
    gone = _in_doubt(move)
    move.universe.do(_removed(move, gone))
    move.full = True
    for _ in range(RUNS):
        move.live_to_the_end()
    want = sorted(row["id"] for row in move.source.assets if row["status"] != "trash")
    living = [row for row in move.target.assets if row["status"] != "trash"]
    marks = sorted(str(row["fields"].get("srckey", "none")).partition("-")[2] for row in living)
    fault = [] if marks == want else [f"{plan[0]}: {len(gone)} gone, {marks} instead of {want}"]
    return Branch(1, fault)


def _in_doubt(move: Move) -> list[str]:
    """Source ids of assets whose create was begun and has no result."""
    begun = "SELECT scope FROM step WHERE name = 'in create: create' AND state = 'intent'"
    with closing(sqlite3.connect(move.job.parent / "state" / "job.db")) as connection:
        return [scope.removeprefix("asset:") for (scope,) in connection.execute(begun).fetchall()]


async def _removed(move: Move, sources: Sequence[str]) -> None:
    async with move.side("source") as service:
        await service.schema()
        for each in sources:
            await service.remove(AssetId(each))
    await move.universe.clock.sleep(900)


PROBES: Final[Mapping[str, Probe]] = {
    "a lost create": Probe(TO_C, responses(C_CREATE, "mute", 1), SKEW),
    "a refused create": Probe(TO_C, responses(C_CREATE, "status:422", 1)),
    "crashes": Probe(TO_C, crashes),
    "files mixed up": Probe(TO_C, own_files, network=MixingNetwork),
    "lost values": Probe(TO_C, responses(C_VALUES, "mute", 2)),
    "a guilty value": Probe(TO_C, guilty_value, network=RefusingNetwork),
    "a quiet run": Probe(TO_B, quiet),
    "a batch that is gone": Probe(TO_B, responses(B_CREATE, "play:dropped", 1)),
    "a server that loses batches": Probe(TO_B, losing_server, network=DroppingNetwork),
    "recorded files": Probe(TO_B, recorded_files),
    "assets gone meanwhile": Probe(TO_A, gone_meanwhile),
}
