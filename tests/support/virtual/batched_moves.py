"""Assets that share calls and upload batches, and that little but a record of each tells apart; moves in which every
boundary between them is a crash point and every response to a shared call is lost once."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from fnmatch import fnmatch
from functools import partial
from typing import Any, Final

from ruamel.yaml import YAML

from dam_sync.model.values import Json
from tests.conformance.catalogue import SCHEMA, asset, moment
from tests.support.virtual.branching import branches
from tests.support.virtual.clock import EPOCH
from tests.support.virtual.crashes import survived
from tests.support.virtual.fault_scripts import Reference
from tests.support.virtual.fuse import Fuse, Point
from tests.support.virtual.moves import Simulation, State
from tests.support.virtual.small_library import receiving
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
ALIKE: Final = {41: "Alike", 42: "Alike", 51: "Alike too", 52: "Alike too"}
SAME: Final = {31: "Same", 32: "Same"}
TITLES: Final[Mapping[int, str]] = {11: "First", 12: "Second", 21: "Third", 22: "Fourth", **SAME, **ALIKE}
FILES: Final = {21: "same.jpg", 22: "same.jpg"}
NAMES: Final[Mapping[int, str]] = {**FILES, 41: "alike.jpg", 42: "alike.jpg", 51: "too.jpg", 52: "too.jpg"}
SKEW: Final = 600.0  # seconds that the clock of a service may be ahead of ours, more than is allowed for unseen
BEFORE: Final = "2025-12-01T00:00:00Z"


def shared_library(*, identical: bool = False) -> list[Json]:
    """Ten assets of one container: two that differ in everything, two with files of one name, two with one title, and
    two pairs of which only the values differ, and the bytes unless they are `identical`. Of what several calls create,
    not every second one of a pair can be the first."""
    rows = [of_place(number, title) for number, title in TITLES.items()]
    if identical:
        for row, number in zip(rows, TITLES, strict=True):
            if number in ALIKE:
                row["versions"][0]["generate"]["seed"] = number // 10
    return [*SCHEMA, *rows]


def strangers(now: str) -> list[Json]:
    """What other people have in that container. Of each of our assets there is one with its name and its file that was
    created long ago, and of those of `now` one with its name and one with its file."""
    found = []
    for number, title in TITLES.items():
        file = NAMES.get(number, f"{number}.jpg")
        for place, (name, filename, at) in enumerate(
            [(title, file, BEFORE), (title, f"theirs {number}.jpg", now), (f"Theirs {number}", file, now)]
        ):
            made = of_place(number, title, imported_at=at, created_at=at, changed_at=at)
            version = {"name": filename, "generate": {"size": SIZE, "seed": 1000 + 10 * number + place}}
            own = {"id": str(1000 + 10 * number + place), "filename": filename, "versions": [version]}
            found.append({**made, **own, "fields": {"name": name}})
    return found


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
    """Moves the shared library to a container where strangers have assets, by a clock that is ahead of ours by `skew`
    seconds. Assets of C are named by their titles, so that files of one name share a call."""

    skew: float = 0.0

    def filled(self) -> list[Json]:
        """Records of the source."""
        return shared_library(identical=self.kinds == TO_A)

    def receiving(self) -> list[Json]:
        """Records of the target."""
        others = strangers(moment(EPOCH + timedelta(seconds=self.skew))) if self.kinds == TO_C else []
        return [*receiving(), *others]

    def _tenant(self, universe: Universe, role: str, kind: str, rows: Sequence[Any]) -> Tenant:
        tenant = Simulation._tenant(self, universe, role, kind, rows)
        if role == "to":
            tenant.app.world.advance(self.skew)
            universe.accepts = bool(self.skew) or self.kinds == TO_C  # a wrong clock, and files that look like ours
        return tenant

    def _write(self, universe: Universe, tenants: Sequence[Tenant]) -> None:
        Simulation._write(self, universe, tenants)
        if self.kinds[1] == TO_C[1]:
            yaml, path = YAML(), self._job.with_name("mapping.yaml")
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
