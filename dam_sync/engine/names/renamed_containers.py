"""Containers that were renamed or moved at the source: the target's own are, too, instead of new ones beside them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from dam_sync.engine.compare.name_paths import Level, Path, PathRenaming, Trees
from dam_sync.engine.compare.name_verdict import NameAction, NameFacts, NamePurpose, NotRenamed
from dam_sync.engine.context.counterparts import Counterparts
from dam_sync.engine.context.libraries import Source, Target
from dam_sync.engine.context.run_task import RunTask
from dam_sync.engine.names.containers import TargetContainers
from dam_sync.engine.names.rename import RenameObstacle, follow
from dam_sync.mapping.crosswalk import Crosswalk
from dam_sync.model import journal_names
from dam_sync.model.asset import Asset, Loss, Placement
from dam_sync.model.capabilities import Feature, MembershipWrite, Operation
from dam_sync.model.conflict import PLACEMENTS, ConflictPolicy
from dam_sync.model.counterpart import CONTAINER, PLACED, Counterpart
from dam_sync.model.loss_rules import LossRule
from dam_sync.store.rows import Run

"""The rule of a loss: several containers of the source become one."""


@dataclass(slots=True)
class ContainerRenames:
    """Those of one run. A container is known by its id at the source, by what the mapping makes of it alone, and by the
    id at the target of what stands for it. Its name is taken from a listing of the source's containers, made once, when
    the first asset comes with another name: what was read of an asset may be older."""

    source: Source
    target: Target
    crosswalk: Crosswalk
    run: Run
    task: RunTask
    containers: TargetContainers
    known: Counterparts
    undecided: set[tuple[str, str]] = field(default_factory=set)  # renamed at both sides
    _made: dict[tuple[str, str, Path], Placement | None] = field(default_factory=dict)
    _listed: dict[tuple[str, str], Placement] | None = None
    _alive: set[tuple[str, Path]] = field(default_factory=set)
    _made_from: dict[tuple[str, Path], Placement] = field(default_factory=dict)
    _noted: bool = False
    _earlier: bool = False  # earlier runs knew containers

    async def placed(self, asset: Asset, placements: frozenset[Placement]) -> frozenset[Placement]:
        """The placements of a draft, after containers that were renamed at the source were renamed at the target. One
        that others renamed at the target is found by the path that the mapping gives it."""
        self._note_renamed()
        now: dict[Placement, set[Placement]] = {}
        for place, origin in self._origins(asset, placements):
            now.setdefault(place, set()).add(await self._followed(place, origin))
        return frozenset(each for place in placements for each in now.get(place, {place}))

    def _note_renamed(self) -> None:
        """What others renamed at the target, so that what is below it is found there."""
        if self._noted:
            return
        self._noted, self._earlier = True, any(True for _ in self.known.containers())
        for row in self.known.containers():
            if self.containers.path_of(row.place, row.target) not in ((), row.wanted):
                self.containers.stand_ins[row.place, row.wanted] = row.target

    async def keep(self, asset: Asset, placements: frozenset[Placement]) -> None:
        """Remember which containers of the target stand for those of an asset. placements: with the target's ids."""
        left = set(placements)
        for place, origin in self._origins(asset, placements):
            left.discard(place)
            name = self.containers.paths.get((place.kind, place.id))
            if name is not None and (origin.kind, origin.id) not in self.undecided:
                row = self.known.of(CONTAINER, origin.kind, origin.id)
                await self.remember(origin, place, row.run if row is not None and row.target == place.id else 0)
        for place in left:
            await self._keep_placed(place)

    async def _keep_placed(self, place: Placement) -> None:
        """Remember a container that nothing of the source stands for."""
        name = self.containers.paths.get((place.kind, place.id))
        if name is not None:
            target = (place.kind, place.id, place.path)
            await self.known.keep(Counterpart(PLACED, *target, *target, name))

    async def remember(self, origin: Placement, place: Placement, run: int) -> None:
        """What stands for a container of the source. place: what the mapping wants, with the target's id."""
        name, digest = self.containers.paths[place.kind, place.id], self.crosswalk.digest
        source, target = (origin.kind, origin.id, origin.path), (place.kind, place.id, place.path)
        await self.known.keep(Counterpart(CONTAINER, *source, *target, name, mapping=digest, run=run))

    def stuck(self, placements: Iterable[Placement]) -> tuple[Loss, ...]:
        """Containers that keep another name than the source has, with every asset in them, because the target neither
        renames them nor moves assets. placements: of a draft, with the target's ids."""
        able, found = self.target.service.capabilities, dict[str, Loss]()
        for place in placements:
            name = self.containers.path_of(place.kind, place.id)
            fixed = able.membership(place.kind) is MembershipWrite.AT_CREATION
            if fixed and name and name != self.containers.accepted(place.path):
                found[place.kind] = Loss(f"{PLACEMENTS}{place.kind}", LossRule.FIXED, Placement(place.kind, name).text)
        return tuple(found.values())

    async def merged(self, asset: Asset, placements: Iterable[Placement]) -> tuple[Loss, ...]:
        """Containers of the source that become one with another one there, because both have the same path. placements:
        of a draft, with the target's ids. Called after `keep`."""
        found = dict[str, Loss]()
        for place, origin in self._origins(asset, placements):
            others = self.known.alike(place.kind, place.id, origin)
            listed = await self._listing() if others else {}
            now = [listed.get((row.scope, row.source)) for row in others]
            if any(each is not None and each.path == origin.path for each in now):
                found[place.kind] = Loss(f"{PLACEMENTS}{place.kind}", LossRule.SAME_PATH, origin.text)
        return tuple(found.values())

    def _origins(self, asset: Asset, placements: Iterable[Placement]) -> Iterator[tuple[Placement, Placement]]:
        """Of the placements of a draft those that stand for containers of the source, with each of these."""
        made: dict[Placement, list[Placement]] = {}
        for origin in asset.placements:
            place = self._made_of(origin) if origin.id else None
            if place is not None:
                made.setdefault(place, []).append(origin)
        return ((place, origin) for place in placements for origin in made.get(place, ()))

    def _made_of(self, origin: Placement) -> Placement | None:
        """What the mapping makes of a container alone; None if that is not exactly one."""
        key = (origin.kind, origin.id, origin.path)
        if key not in self._made:
            found = self.crosswalk.placed(origin)
            self._made[key] = found[0] if len(found) == 1 else None
        return self._made[key]

    async def _followed(self, place: Placement, origin: Placement) -> Placement:
        """Where an asset belongs that is in this container of the source."""
        row = self.known.of(CONTAINER, origin.kind, origin.id)
        if row is None or row.place != place.kind:
            if not self.containers.standing(place.kind, place.path):
                await self._above(place)
            return place
        if row.wanted != place.path:
            listed = (await self._listing()).get((origin.kind, origin.id))
            wanted = self._made_of(listed) if listed is not None else None
            if listed is None or wanted is None or wanted.kind != row.place:
                return place
            place = await self._by_new_name(row, listed, wanted)
            row = self.known.rows[row.key]
        if row.wanted == place.path and self.containers.path_of(row.place, row.target):
            await self._found_by(row, place, origin)
        return place

    async def _by_new_name(self, row: Counterpart, listed: Placement, wanted: Placement) -> Placement:
        """Where an asset belongs whose container has another name now, after it was renamed if that is possible."""
        if wanted.path != row.wanted and self._is_same_mapping(row, listed):
            await self._follow(row, listed, wanted)
        if (listed.kind, listed.id) in self.undecided:  # another one may have the former name, so it is known by its id
            row = self.known.rows[row.key]
            return Placement(row.place, row.wanted, row.target)
        return wanted

    async def _above(self, place: Placement) -> None:
        """Follow what was renamed above a container that is to be made."""
        kind, path = place.kind, place.path
        for above in (path[:depth] for depth in range(1, len(path) if self._earlier else 0)):
            listed = None if self.containers.standing(kind, above) else await self._listed_at(kind, above)
            row = self.known.of(CONTAINER, listed.kind, listed.id) if listed is not None else None
            if listed is not None and row is not None:
                await self._followed(Placement(kind, above), listed)
                if (listed.kind, listed.id) in self.undecided:
                    self.containers.stand_ins[kind, above] = row.target

    async def _listed_at(self, kind: str, path: Path) -> Placement | None:
        """The container of the source of which the mapping makes this path."""
        await self._listing()
        return self._made_from.get((kind, path))

    async def _found_by(self, row: Counterpart, place: Placement, origin: Placement) -> None:
        """Find what others renamed at the target by the path that the mapping gives it; a repair gives it its name."""
        if self.task.repairs and not self.containers.found(row.place, place.path):
            await follow(_StandingContainer(self, row, origin, place), self.run.id)
        self.containers.call(row.place, place.path, row.target)

    def _is_same_mapping(self, row: Counterpart, listed: Placement) -> bool:
        """Whether it has another name because of the source, and not because of the mapping."""
        before = Placement(row.place, row.wanted)
        return row.mapping == self.crosswalk.digest or self._made_of(replace(listed, path=row.origin)) == before

    async def _listing(self) -> Mapping[tuple[str, str], Placement]:
        if self._listed is None:
            self._listed = {}
            if Operation.CONTAINERS in self.source.service.capabilities:
                async for origin in self.source.service.containers():
                    self._listed[origin.kind, origin.id] = origin
            for origin in self._listed.values():
                if (place := self._made_of(origin)) is not None:
                    self._made_from[place.kind, place.path] = origin
                    self._alive |= {(place.kind, place.path[: level + 1]) for level in range(len(place.path))}
        return self._listed

    def lives(self, kind: str, path: Path) -> bool:
        """Whether the source has something of which the mapping makes this path, or one below it."""
        return (kind, path) in self._alive

    async def _follow(self, row: Counterpart, origin: Placement, wanted: Placement) -> None:
        """Rename what stands for `origin`, where that is possible."""
        await self._above(wanted)
        row = self.known.rows[row.key]
        if self.containers.path_of(row.place, row.target):  # otherwise it is gone, and a new one is made
            await follow(_StandingContainer(self, row, origin, wanted), self.run.id)


@dataclass(frozen=True, slots=True)
class _StandingContainer:
    """Stands for a container of the source; implements `Followed`. origin: that one; wanted: what the mapping makes of
    it."""

    names: ContainerRenames
    row: Counterpart
    origin: Placement
    wanted: Placement

    @property
    def renaming(self) -> PathRenaming:
        accepted = self.names.containers.accepted
        purpose = NamePurpose.REPAIR if self.names.task.repairs else NamePurpose.RUN
        return PathRenaming(accepted(self.row.wanted), accepted(self.wanted.path), purpose)

    @property
    def trees(self) -> Trees:
        kind, containers = self.row.place, self.names.containers
        return Trees(
            partial(containers.standing, kind), partial(containers.found, kind), partial(self.names.lives, kind)
        )

    @property
    def rule(self) -> ConflictPolicy:
        return self.names.task.policy.conflicts.of(f"{PLACEMENTS}{self.row.place}")

    def path(self) -> Path:
        return self.names.containers.path_of(self.row.place, self.row.target)

    async def facts(self) -> NameFacts:
        row, able = self.row, self.names.target.service.capabilities
        there = self.names.containers.standing(row.place, self.wanted.path)
        if there == row.target or self.wanted.path == row.wanted:  # only others gave it another name
            return NameFacts()
        fixed = Operation.RENAME_CONTAINER not in able or row.place not in able.renames
        return NameFacts(taken=bool(there), shared=await self.names.known.is_shared(row), fixed=fixed)

    async def complete(self) -> None:
        kind, now, containers = self.row.place, self.path(), self.names.containers
        known = [containers.accepted(path) for path in (self.row.name, self.row.wanted)]
        for depth in range(1, len(now) + 1):
            new, levels = now[:depth], [path[depth - 1 : depth] for path in known]
            olds = {(*new[:-1], *level) for level in levels} | (set(known) if depth == len(now) else set())
            for old in sorted(olds - {new}):
                identity = containers.found(kind, new)
                if identity and await containers.begun(journal_names.renamed_container_names(kind, old, new)):
                    await self._take(Placement(kind, old, identity), new, self.wanted.path[:depth], None)

    def is_able(self, step: Level) -> bool:
        return not step.moved or self.row.place in self.names.target.service.capabilities.moves

    async def rename(self, step: Level) -> None:
        kind, now, containers = self.row.place, self.path(), self.names.containers
        identity = self.row.target if step.depth == len(now) else containers.found(kind, now[: step.depth])
        before, parent = containers.paths[kind, identity], None
        above = before[:-1]
        if step.moved:
            parent = await containers.above(kind, step.new)
            above = containers.paths[kind, parent] if parent else ()
        if (*above, step.new[-1]) != before:
            await self._take(Placement(kind, before, identity), (*above, step.new[-1]), step.new, parent)

    async def _take(self, before: Placement, path: Path, wanted: Path, parent: str | None) -> None:
        """path: at the target, afterwards; wanted: the one that the source has for it."""
        containers = self.names.containers
        await containers.rename(before, path, parent)
        await self.names.known.moved(before.kind, containers.below(before.kind, before.id), wanted)

    async def record(self, run: int) -> None:
        await self.names.remember(self.origin, replace(self.wanted, id=self.row.target), run)

    async def keep(self, kept: RenameObstacle) -> None:
        able, kind = self.names.target.service.capabilities, self.row.place
        detail = kept.error.message if kept.error is not None else ""
        if kept.why in _UNABLE:
            detail = able.features[_UNABLE[kept.why]].why
        old = Placement(kind, self.row.name).text
        self.names.known.notes.add(kind, kept.why.explained(detail), old, self.wanted.text)
        if kept.action is NameAction.OPEN:
            self.names.undecided.add((self.origin.kind, self.origin.id))
        elif kept.why in _UNABLE and able.membership(kind) is MembershipWrite.AT_CREATION:
            await self.record(self.row.run)  # assets cannot leave it either: it stays what stands for the other


_UNABLE = {NotRenamed.FIXED: Feature.RENAMED_CONTAINERS, NotRenamed.MOVED: Feature.MOVED_CONTAINERS}
