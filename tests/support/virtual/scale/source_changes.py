"""Changes of single assets at the source of a library that was moved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dam_sync.model.asset import AssetId, Patch
from tests.support.measuring.counted_calls import Side
from tests.support.measuring.least_delta_calls import DELETE, MOVE, RENAME, TEXT, VERSION
from tests.support.virtual.scale.moved_library import CLASSES, Moved, number_of, truths
from tests.support.virtual.target_edits import Hand, replaced

CHANGES: Mapping[str, Mapping[str, int]] = {
    "a": {TEXT: 80, VERSION: 10, DELETE: 10},
    "b": {TEXT: 70, MOVE: 10, VERSION: 10, DELETE: 10},
    "c": {TEXT: 80, RENAME: 10, VERSION: 10},
    "d": {TEXT: 70, MOVE: 10, VERSION: 10, DELETE: 10},
    "e": {TEXT: 60, RENAME: 10, MOVE: 10, VERSION: 10, DELETE: 10},
}
"""How many of each kind at a source of each service. Not where the service cannot do it (files of A, B and D are not
renamed, C has no trash), nor where no listing shows it, so that the rotation finds it (members of a folder of A, of a
section of C)."""


def change(made: Moved, side: Side) -> dict[str, list[int]]:
    """A hundred assets, spread over the library; their numbers by what is changed."""
    return made.universe.do(_changed(made, side))


async def _changed(made: Moved, side: Side) -> dict[str, list[int]]:
    chosen: dict[str, list[int]] = {}
    async with made.universe.service(made.job, "source") as service:
        await service.schema()
        hand = Hand(service, side.kind, made.source.app.state, ())
        for what, number, asset in list(_chosen(made, side)):
            await _change(hand, side, what, number, asset)
            chosen.setdefault(what, []).append(number)
    return chosen


def _chosen(made: Moved, side: Side) -> Iterator[tuple[str, int, AssetId]]:
    kinds = [what for what, many in CHANGES[side.kind[0]].items() for _ in range(many)]
    step = made.size // len(kinds)
    for row in truths(made.source):
        number = number_of(row)
        place, rest = divmod(number - 1, step)
        if rest == place % min(step, CLASSES) and place < len(kinds):  # of all classes
            yield kinds[place], number, AssetId(row["id"])


async def _change(hand: Hand, side: Side, what: str, number: int, asset: AssetId) -> None:
    service = hand.service
    match what:
        case "text":
            await service.update(asset, Patch(fields={f"{side.prefix}credit": f"credit of number {number}, again"}))
        case "rename":
            await service.update(asset, Patch(filename=f"renamed-{number:06d}.jpg"))
        case "move":
            here = (number - 1) % CLASSES
            names = {"out_of": f"Folder {here}", "into": f"Folder {(here + 1) % CLASSES}"}
            await hand.move(await service.fetch(asset), side.container, **names)
        case "version":
            await replaced(hand, await service.fetch(asset))
        case _:
            await service.remove(asset)
