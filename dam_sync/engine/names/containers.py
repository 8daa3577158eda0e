"""Containers of the target: what exists, and what has to be created first, each once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import ClassVar

from dam_sync.engine.compare.name_paths import Known, Path
from dam_sync.engine.names.registry import NameCreation, NameRegistry, RenameEntry, TargetRecord
from dam_sync.model import journal_names
from dam_sync.model.asset import Placement, with_new_top
from dam_sync.model.capabilities import Operation
from dam_sync.model.codec import placements_from_json, placements_to_json
from dam_sync.model.errors import Unsupported
from dam_sync.model.journal import call_again
from dam_sync.model.naming import Naming
from dam_sync.model.shared_target import SharedPart
from dam_sync.model.values import Json
from dam_sync.model.write_record import WriteRecord

CONTAINERS = "containers"  # the scope of the journal of a run


@dataclass(slots=True)
class TargetContainers(NameRegistry):
    """The target's containers by kind and path, and the only place that adds to them. naming: what the target requires
    of names; a container renamed by people is found by the name that it should have."""

    naming: Naming | None = None
    index: Known | None = None
    paths: dict[tuple[str, str], Path] = field(default_factory=dict)  # by kind and id, as the target says
    called: Known = field(default_factory=dict)  # by paths that mean them, though others renamed them
    stand_ins: Known = field(default_factory=dict)  # the same, where no asset of theirs was met yet
    go_on: Callable[[], None] = lambda: None  # before one is made: one asset may be in thousands; raises StopRequested
    scope: ClassVar[str] = CONTAINERS
    what: ClassVar[str] = "container"

    async def known(self) -> Known:
        """Every container; read on first use, so that a run without memberships reads none."""
        if self.index is None:
            await self._read()
            self.index = self._indexed()
            if self.recovers:
                await self._recover(self.index)
            await self.learn()
        return self.index

    async def _recover(self, known: Known) -> None:
        """Record the containers that a killed process created without recording them."""
        begun = await self.journal.begun("container:")
        for kind, path in [each for each in known if journal_names.container(*each) in begun]:
            made = Placement(kind, path, known[kind, path])
            record = WriteRecord(made.id, {self.what: [None, _detail(made)]})
            await self.record_found(journal_names.container(kind, path), placements_to_json([made]), record)

    async def _read(self) -> None:
        if Operation.CONTAINERS in self.target.capabilities:
            async for placement in self.target.containers():
                self.paths[placement.kind, placement.id] = placement.path

    async def learn(self) -> bool:
        """Take over what other processes created and renamed since the containers were read; whether any is new."""
        if self.index is None:
            return False
        before, parts = dict(self.paths), await self.shared.created_by_others(CONTAINERS)
        left = [part for part in parts if part.value is None]
        try:
            if any(self._found(part) is None for part in left):
                await self._read()
        finally:  # others report them once
            for part in parts:
                self._take(part)
            if self.paths != before:
                self.index = self._indexed()
        if left:
            await self.shared.created(CONTAINERS, [replace(part, value=self._found(part)) for part in left])
        return self.paths != before

    def _found(self, part: SharedPart) -> Json:
        made = (self.index or {}).get((part.place, part.path))
        return placements_to_json([Placement(part.place, part.path, made)]) if made else None

    def _take(self, part: SharedPart) -> None:
        """What was read of the target since stands; what is below a container that was renamed has another path."""
        for made in placements_from_json(part.value or ()):
            known = self.paths.get((made.kind, made.id))
            if known is not None and known != part.before:
                continue
            self.target.learn_container(made)
            if known is not None:
                self._moved(made.kind, known, made.path)
            self.paths[made.kind, made.id] = made.path

    def _moved(self, kind: str, old: Path, new: Path) -> None:
        for key, known in self.paths.items():
            if key[0] == kind:
                self.paths[key] = with_new_top(known, old, new)

    def names(self) -> Iterator[str]:
        """The operations that would create the containers that are known."""
        return (journal_names.container(kind, path) for kind, path in self.index or {})

    def _indexed(self) -> Known:
        index: Known = {(kind, path): made for (kind, made), path in self.paths.items()}
        if self.naming is not None:
            index = {(kind, self.naming.path(path)): made for (kind, path), made in index.items()} | index
        return self.called | index

    def found(self, kind: str, path: Sequence[str]) -> str:
        """The id of what has this path at the target; empty if nothing has."""
        made = (self.index or {}).get((kind, tuple(path)), "")
        return made if made and self.path_of(kind, made) == tuple(path) else ""

    def standing(self, kind: str, path: Sequence[str]) -> str:
        """The id of what an asset of this path goes to, or of what stands for it; empty if it would be made."""
        path = tuple(path)
        return (self.index or {}).get((kind, self._below_renamed(kind, path)), "") or self.stand_ins.get(
            (kind, path), ""
        )

    def below(self, kind: str, identity: str) -> dict[str, Path]:
        """This container and all below it, by ids, with their paths."""
        top = self.paths[kind, identity]
        return {made: path for (each, made), path in self.paths.items() if each == kind and path[: len(top)] == top}

    def path_of(self, kind: str, identity: str) -> Path:
        """The path of a container by its id, as the target accepts names; empty if there is none."""
        return self.accepted(self.paths.get((kind, identity), ()))

    def accepted(self, path: Path) -> Path:
        """The path with names as the target accepts new ones."""
        return path if self.naming is None else self.naming.path(path)

    def call(self, kind: str, path: Sequence[str], identity: str) -> None:
        """Find a container by this path, too, unless another one has it."""
        if self.index is not None and (kind, tuple(path)) not in self.index:
            self.index[kind, tuple(path)] = self.called[kind, tuple(path)] = identity

    async def above(self, kind: str, path: Sequence[str]) -> str:
        """The id of the container above this path, created if it is missing; empty at the top."""
        if len(path) == 1:
            return ""
        found = self.standing(kind, path[:-1])
        if not found:
            known = await self.known()
            async with self.alone():
                found = await self._ensure(known, kind, tuple(path[:-1]))
        return found

    async def rename(
        self,
        before: Placement,
        path: Path,
        parent: str | None = None,
        entry: RenameEntry | None = None,
    ) -> None:
        """Give a container another name, or another parent. before: with its id, as it was known. entry: of a rollback.
        Raises the errors of the target, and TargetChanged before anything is renamed."""
        kind, new = before.kind, replace(before, path=path)
        old, now = (self.accepted(each.path) for each in (before, new))
        names = journal_names.renamed_container_names(kind, old, now)
        sides = [_detail(before), _detail(new)]
        given = entry or RenameEntry(names, before.id, {self.what: sides}, journal_names.of_containers(kind))

        async def call() -> TargetRecord:
            made = await self.target.rename_container(before, path, parent)
            return TargetRecord(before.id, placements_to_json([made]))

        async def look() -> Json:
            """What a killed process did: the containers were read since."""
            return placements_to_json([new]) if self.paths[kind, before.id] == path else None

        def told(_: Json) -> SharedPart:
            return SharedPart(kind, path, placements_to_json([new]), before=before.path)

        await self.rename_once(given, call, call_again if given.undoes else look, told)
        self._moved(kind, before.path, path)
        self.called, self.stand_ins = (
            {
                (part, with_new_top(each, before.path, path) if part == kind else each): made
                for (part, each), made in names.items()
                if (part, made) != (kind, before.id)
            }
            for names in (self.called, self.stand_ins)
        )
        self.index = self._indexed()
        await self.forget(given)

    async def refuse_unmakeable(self, placements: Iterable[Placement]) -> None:
        """Raises Unsupported if one is missing and the target does not accept new ones."""
        if Operation.ENSURE_CONTAINER in self.target.capabilities:
            return
        known = await self.known() if placements else {}
        for each in placements:
            if (each.kind, self._below_renamed(each.kind, each.path)) not in known:
                raise Unsupported(f"the target has no {each.kind} {each.text} and does not accept a new one")

    async def resolve(self, placements: Iterable[Placement]) -> frozenset[Placement]:
        """The same placements with the target's ids, where they do not have them; missing ones are created, parents
        first. Raises TargetChanged before anything is created."""
        ordered = sorted(placements, key=lambda p: (p.kind, p.path))
        if not ordered:
            return frozenset()
        known = await self.known()
        complete = all(p.id or (p.kind, self._below_renamed(p.kind, p.path)) in known for p in ordered)
        async with nullcontext() if complete else self.alone():
            return frozenset([replace(p, id=p.id or await self._ensure(known, p.kind, p.path)) for p in ordered])

    def _below_renamed(self, kind: str, path: Path) -> Path:
        """The path of a container that others renamed, or below one, by the name that it has."""
        if (kind, path) in (self.index or {}):
            return path
        for depth in range(len(path), 0, -1):
            found = self.stand_ins.get((kind, path[:depth])) or self.called.get((kind, path[:depth]))
            if found:
                return (*self.path_of(kind, found), *path[depth:])
        return path

    async def _ensure(self, known: Known, kind: str, path: Path) -> str:
        path = self._below_renamed(kind, path)
        if (kind, path) in known:
            return known[kind, path]
        if Operation.ENSURE_CONTAINER not in self.target.capabilities:
            raise Unsupported(f"the target has no {kind} {Placement(kind, path).text} and does not accept a new one")
        parent = await self._ensure(known, kind, path[:-1]) if len(path) > 1 else ""
        self.go_on()

        one = NameCreation(journal_names.container(kind, path), SharedPart(kind, path), _detail(Placement(kind, path)))

        async def call(_: Sequence[NameCreation]) -> list[TargetRecord]:
            made = await self.target.ensure_container(kind, path, parent)
            return [TargetRecord(made.id, placements_to_json([made]))]

        def know(_: NameCreation, value: Json) -> None:
            (made,) = placements_from_json(value)
            known[kind, path] = made.id
            self.paths[kind, made.id] = made.path

        await self.create_once([one], call, know)
        return known[kind, path]


def _detail(place: Placement) -> Json:
    return {"kind": place.kind, "path": list(place.path)}
