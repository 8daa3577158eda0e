"""What may go wrong with assets that share calls, each case of it as a probe, which reports what it found wrong.

`test_batches.py` proves that they find nothing, `test_mutants.py` that each finds something once a safeguard is taken
away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from dam_sync.api.state_commands import job_errors
from dam_sync.model.asset import AssetId
from dam_sync.services.b_documents import facts
from tests.support.virtual.batched_moves import NAMES, SKEW, TITLES, TO_A, TO_B, TO_C, SharedSimulation
from tests.support.virtual.branching import Branch, branches
from tests.support.virtual.crashes import SEED
from tests.support.virtual.fault_scripts import Reference, Script, parked, stormed
from tests.support.virtual.fuse import CALL, Fuse
from tests.support.virtual.moves import Move, differences
from tests.support.virtual.network_faults import Trouble
from tests.support.virtual.odd_networks import DroppingNetwork, MixingNetwork, RefusingNetwork
from tests.support.virtual.orphans import kinds
from tests.support.virtual.state_location import ask
from tests.support.virtual.universe import LAGS
from tests.support.virtual.wire import Network

C_CREATE: Final = "POST /api/v4/libraries/{id}/assets"
C_VALUES: Final = "POST /api/v4/custom_field_keys/{id}/custom_field_values"
B_CREATE: Final = "POST /api/v1/id/{id}"
B_UPLOAD: Final = "POST /api/v1/upload/{batch}/{index}"
A_CREATE: Final = "POST /api/dam/folders/{id}/medias"
SHARE: Final = 12  # of the crash points, one of so many
TWINS: Final = 3  # creates of which each is lost once, while one of two assets with the same bytes is recorded
LOSSES: Final = facts.BATCH_LOSSES  # as the product has it

Act = Callable[[Reference], Iterator[str]]


@dataclass(frozen=True, slots=True)
class Probe:
    """kinds: source and target; act: what happens, against a move without faults; skew, network: of the target."""

    kinds: tuple[str, str]
    act: Act
    skew: float = 0.0
    network: type[Network] = Network

    def reference(self, folder: Path) -> Reference:
        """The move without faults, to be made before a safeguard is taken away."""
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


def quiet(reference: Reference) -> Iterator[str]:
    """Nothing goes wrong, and nothing is left of the uploads."""
    with reference.simulation.moving() as move:
        move.live()
        yield from batches_of(move)
        yield from differences(move.state(), reference.want, in_doubt=0)


def batches_of(move: Move) -> Iterator[str]:
    """Orphaned upload batches."""
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
    files = {
        row["fields"]["note"]: row["versions"][-1]["digests"]["sha256"]
        for row in reference.want.assets
        if _is_ours(row)
    }
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
    """A server that loses batches, and assets one after the other: one file is sent twice for each of a few batches."""
    with reference.simulation.moving() as move:
        before = move.job.read_text(encoding="utf-8")
        move.job.write_text(f"{before}limits: {{concurrency: 1}}\n", encoding="utf-8")
        try:
            move.live()
        finally:
            move.job.write_text(before, encoding="utf-8")
        yield from _sent(move, len(TITLES) + LOSSES)
        yield from _parked(move)


def losing_at_once(reference: Reference) -> Iterator[str]:
    """The same with all assets at the same time: the file of each arrives in the end."""
    with reference.simulation.moving() as move:
        move.live()
        yield from _parked(move)
        if move.state().assets != reference.want.assets:
            yield "assets differ"


def _sent(move: Move, most: int) -> Iterator[str]:
    sent = move.universe.network.weather.called[move.target.app, B_UPLOAD]
    if sent > most:
        yield f"{sent} files were sent for {len(TITLES)} assets"


def _parked(move: Move) -> Iterator[str]:
    yield from (f"parked: {row}" for row in parked(move))


def recorded_files(reference: Reference) -> Iterator[str]:
    """A crash after the last file was recorded: none is sent again, and the batch does not stay."""
    with reference.simulation.moving() as move:
        called = move.universe.network.weather.called
        move.live(Fuse(until=lambda: called[move.target.app, B_CREATE] == len(TITLES)))
        move.live_to_the_end()
        yield from _sent(move, len(TITLES))
        yield from batches_of(move)


def gone_meanwhile(reference: Reference) -> Iterator[str]:
    """A crash, after which the assets whose create has no recorded result leave the source: whatever was created for
    them goes to the trash."""
    points = [point for point in reference.points if point.kind == CALL]
    with reference.simulation.moving() as move:
        plans = [[point] for point in points[::SHARE]]
        for branch in branches(move, plans, lambda plan: Branch(1, [f"{plan[0]}: {x}" for x in _left_of_gone(move)])):
            yield from branch.faults


def twin_gone(reference: Reference) -> Iterator[str]:
    """The create of an asset is lost on its way, that of one with the same bytes is recorded, and the process ends:
    when the first one leaves the source, the media of the other stays."""
    met = 0
    for number in range(1, TWINS + 1):
        with reference.simulation.moving() as move:
            weather = move.universe.network.weather
            weather.lines.append(Trouble(move.target.app, A_CREATE, "lost", nth=number))
            if move.live(Fuse(until=partial(_one_of_twins, move))).blown:
                met += 1
                yield from (f"create {number}: {fault}" for fault in _left_of_gone(move))
    if not met:
        yield "no twin was recorded without the other"


def _one_of_twins(move: Move) -> bool:
    """Whether the create of one asset of a pair is recorded, and that of the other was begun."""
    files = {row["id"]: row["filename"] for row in move.source.assets if row["filename"] in set(NAMES.values())}
    doubtful = {files.get(each) for each in _creates(move, "intent")} - {None}
    return bool(doubtful & {files.get(each) for each in _creates(move, "done")})


def _left_of_gone(move: Move) -> Iterator[str]:
    """After a crash."""
    gone = _creates(move, "intent")
    move.universe.do(_removed(move, gone))
    move.full = True
    move.live_to_the_end()
    want = sorted(row["id"] for row in move.source.assets if row["status"] != "trash")
    living = [row for row in move.target.assets if row["status"] != "trash"]
    marks = sorted(str(row["fields"].get("srckey", "none")).partition("-")[2] for row in living)
    if marks != want:
        yield f"{len(gone)} are gone, and there are {marks} instead of {want}"


def _creates(move: Move, state: str) -> list[str]:
    """Source ids of unfinished assets whose create is in this state."""
    begun = "SELECT scope, state FROM step WHERE name = 'in create: create'"
    return [scope.removeprefix("asset:") for scope, found in ask(move.job, begun) if found == state]


async def _removed(move: Move, sources: Sequence[str]) -> None:
    async with move.service("source") as service:
        await service.schema()
        for each in sources:
            await service.remove(AssetId(each))
    await move.universe.clock.sleep(LAGS)


PROBES: Final[Mapping[str, Probe]] = {
    "a lost create": Probe(TO_C, responses(C_CREATE, "mute", 1), SKEW),
    "two lost creates": Probe(TO_C, responses(C_CREATE, "mute", 1, 2), SKEW),
    "a refused create": Probe(TO_C, responses(C_CREATE, "status:422", 1)),
    "files mixed up": Probe(TO_C, own_files, network=MixingNetwork),
    "lost values": Probe(TO_C, responses(C_VALUES, "mute", 2)),
    "a guilty value": Probe(TO_C, guilty_value, network=RefusingNetwork),
    "a quiet run": Probe(TO_B, quiet),
    "a batch that is gone": Probe(TO_B, responses(B_CREATE, "play:dropped", 1)),
    "a server that loses batches": Probe(TO_B, losing_server, network=DroppingNetwork),
    "a server that loses batches in use": Probe(TO_B, losing_at_once, network=DroppingNetwork),
    "recorded files": Probe(TO_B, recorded_files),
    "assets gone meanwhile": Probe(TO_A, gone_meanwhile),
    "a twin gone meanwhile": Probe(TO_A, twin_gone),
}
