"""Assets that share calls and upload batches, and that little but a record of each tells apart; moves in which every
boundary between them is a crash point and every response to a shared call is lost once."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import partial
from typing import Any, Final

from ruamel.yaml import YAML

from dam_sync.model.values import Json
from tests.conformance.catalogue import SCHEMA, asset
from tests.support.virtual.branching import branches
from tests.support.virtual.crashes import survived
from tests.support.virtual.fuse import Fuse, Point
from tests.support.virtual.library import receiving
from tests.support.virtual.moves import Simulation, State
from tests.support.virtual.scripts import Ending, Reference, Script, stormed
from tests.support.virtual.universe import Tenant, Universe

SIZE: Final = 700  # bytes of each file
PLACE: Final = ["Press"]
TO_A, TO_B, TO_C = (
    ("d_templates", "a_hypermedia"),
    ("a_hypermedia", "b_documents"),
    ("a_hypermedia", "c_brandlibrary"),
)
SHARED: Final[Mapping[str, Sequence[str]]] = {
    "a_hypermedia": ("POST /api/dam/folders/{id}/medias", "POST /api/dam/users/*"),
    "b_documents": ("POST /api/v1/upload/*", "POST /api/v1/id/{id}"),
    "c_brandlibrary": ("POST */assets", "POST */custom_field_values"),
}
"""The writes of a target that several assets share, and those whose items a crash may separate."""
TITLES: Final = {11: "First", 12: "Second", 21: "Third", 22: "Fourth", 31: "Same", 32: "Same", 41: "Alike", 42: "Alike"}
NAMES: Final = {21: "same.jpg", 22: "same.jpg", 41: "alike.jpg", 42: "alike.jpg"}


def shared_library() -> list[Json]:
    """Eight assets of one place: two that differ in everything, two with files of one name, two with one title, and two
    of which only the bytes and the values differ."""
    return [*SCHEMA, *(of_place(number, title) for number, title in TITLES.items())]


def of_place(number: int, title: str, **more: Any) -> Json:
    """One of them, with as many values as make bulks worth while."""
    name = NAMES.get(number, f"{number}.jpg")
    values = {"rating": number, "note": f"note {number}", "mail": f"{number}@example.org", "keywords": [f"k{number}"]}
    return asset(
        number,
        filename=name,
        fields={"title": {"texts": {"en": title, "fr": title}}, "web": f"https://example.org/{number}", **values},
        placements=[{"kind": "folder", "path": PLACE}],
        versions=[{"name": name, "generate": {"size": SIZE, "seed": number}}],
        **more,
    )


@dataclass
class SharedSimulation(Simulation):
    """Moves the shared library. there: more records of the target; names: whether assets of C are named by their
    titles, so that files of one name share a call."""

    there: Sequence[Json] = field(default_factory=list)

    def filled(self) -> list[Json]:
        """Records of the source."""
        return shared_library()

    def receiving(self) -> list[Json]:
        """Records of the target."""
        return [*receiving(), *self.there]

    def _write(self, universe: Universe, tenants: Sequence[Tenant]) -> None:
        Simulation._write(self, universe, tenants)
        if self.kinds[1] == TO_C[1]:
            yaml, path = YAML(), self.folder / "mapping.yaml"
            mapping: Any = yaml.load(path)
            mapping["fields"]["name"] = {"from": "fields.title"}
            yaml.dump(mapping, path)


def crash_points(fuse: Fuse, share: int) -> list[Point]:
    """One of so many of all crash points, the first of them included."""
    every = fuse.points()
    return random.Random("batches").sample(every, -(-len(every) // share))


def crashed(simulation: Simulation, want: State, points: Sequence[Point]) -> Iterator[str]:
    """What crashes at these points leave behind."""
    with simulation.moving() as move:
        for branch in branches(move, [[point] for point in points], partial(survived, move, want)):
            yield from branch.faults


def shared_calls(reference: Reference) -> Iterator[tuple[str, int]]:
    """The shared writes of the target and their numbers, in the order of their names."""
    for (role, call), many in sorted(reference.calls.items()):
        if role == "target" and any(fnmatch(call, match) for match in SHARED[reference.simulation.kinds[1]]):
            yield from ((call, number) for number in range(1, many + 1))


def stormy(reference: Reference, *scripts: Script) -> Ending:
    """A move in which these faults happen."""
    return stormed(reference, scripts)
