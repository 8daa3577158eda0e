"""Gives a term or container of the target another name: in a run, a repair and a rollback, level by level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import structlog

from dam_sync.engine.compare.name_paths import Level, Path, PathRenaming, Trees
from dam_sync.engine.compare.name_verdict import NameAction, NameFacts, NotRenamed, action_of
from dam_sync.engine.context.error_policy import ParkAsset, react
from dam_sync.model.conflict import ConflictPolicy
from dam_sync.model.counterpart import Counterpart
from dam_sync.model.errors import DamSyncError

log = structlog.get_logger(__name__)


class Named(Protocol):
    """A term or container of the target that may get another name."""

    @property
    def renaming(self) -> PathRenaming:
        """The path that runs gave it, the one that is wanted, and who asks."""
        ...

    @property
    def trees(self) -> Trees:
        """What else there is."""
        ...

    @property
    def rule(self) -> ConflictPolicy:
        """Whose name stands if it was changed at both sides."""
        ...

    def path(self) -> Path:
        """Its path at the target now."""
        ...

    async def facts(self) -> NameFacts:
        """What is known to speak against another name."""
        ...

    async def complete(self) -> None:
        """Record what a killed process renamed of it."""
        ...

    def is_able(self, step: Level) -> bool:
        """Whether the target can go this step."""
        ...

    async def rename(self, step: Level) -> None:
        """Go one step. Raises the errors of the target."""
        ...


class Followed(Named, Protocol):
    """One that stands for something of the source, which has another name now."""

    @property
    def row(self) -> Counterpart:
        """As it is known."""
        ...

    async def record(self, run: int) -> None:
        """Remember that it stands for what the source has now. run: the one that gave it its name, 0 for none."""
        ...

    async def keep(self, kept: RenameObstacle) -> None:
        """Report that it keeps its name."""
        ...


@dataclass(frozen=True, slots=True)
class RenameObstacle:
    """One that does not get the wanted name. action: what follows; error: of a target that refused it."""

    why: NotRenamed
    action: NameAction = NameAction.TELL
    error: DamSyncError | None = None


async def give_name(one: Named) -> RenameObstacle | None:
    """Give it the wanted name, levels above it first; None if it has it then. Raises errors that concern more than this
    one."""
    obstacle = (await one.facts()).obstacle()
    if obstacle is not None:
        return RenameObstacle(obstacle)
    try:
        await one.complete()
        return await _step_by_step(one)
    except DamSyncError as error:
        if not isinstance(react(error), ParkAsset):
            raise
        log.warning("name.refused", now=one.path(), wanted=one.renaming.wanted, message=error.message)
        return RenameObstacle(NotRenamed.REFUSED, error=error)


async def _step_by_step(one: Named) -> RenameObstacle | None:
    renaming = one.renaming
    while (step := renaming.step(one.path(), one.trees)) is not None:
        action = action_of(step.verdict, renaming.purpose, one.rule)
        if action is not NameAction.RENAME:
            return RenameObstacle(NotRenamed.BOTH, action)
        if not one.is_able(step):
            return RenameObstacle(NotRenamed.MOVED)
        await one.rename(step)
        if step.moved:
            break
        renaming = renaming.after(step)
    return None


async def follow(one: Followed, run: int) -> bool:
    """Let it follow the source to the new name; whether it stands for what the source has now, by whichever name."""
    kept = await give_name(one)
    if kept is None:
        await one.record(run)
    elif kept.action is NameAction.STAND:
        await one.record(one.row.run)
    else:
        await one.keep(kept)
    return kept is None or kept.action is not NameAction.TELL
