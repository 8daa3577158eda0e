"""What a connection found out about its instance and its credential."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from dam_sync.model.capabilities import Capabilities, Feature
from dam_sync.model.errors import DamSyncError
from dam_sync.model.exposure_options import ExposureOption, some
from dam_sync.model.limits import MonthlyAllowance
from dam_sync.model.schema import Field, FieldKind, Schema


@dataclass(frozen=True, slots=True)
class Undecided:
    """Something that is left behind until an option of the job says what becomes of it. part: of an asset, None for
    what concerns the account; text: what is left behind; hint: what to write to decide it, also to leave it behind.
    holds: if the option names a field, the kind that it has to be of; several: whether it holds several values."""

    part: Feature | None
    text: str
    hint: str
    holds: FieldKind | None = None
    several: bool = False

    def among(self, fields: Iterable[Field]) -> Undecided:
        """The same with the names of the fields that the option can name."""
        if self.holds is None:
            return self
        fit = [each for each in fields if each.kind is self.holds and each.multiple is self.several]
        names = [each.key for each in fit if not (each.system or each.derived)]
        return replace(
            self, hint=f"{self.hint}; {f'fields that it can name: {some(names)}' if names else 'no field fits so far'}"
        )


@dataclass(frozen=True, slots=True)
class Toggle:
    """An opt-in behavior that the service lists. requested: by the job; decides: what of this job depends on it, empty
    if nothing is known to."""

    name: str
    description: str = ""
    requested: bool = False
    decides: str = ""


@dataclass(frozen=True, slots=True)
class Toggles:
    """The opt-in behaviors of a service. option: of the job, which requests them; unknown: requested ones that the
    service does not list; unread: why its list cannot be read, empty if it was."""

    option: str
    offered: tuple[Toggle, ...] = ()
    unknown: tuple[str, ...] = ()
    unread: str = ""


@dataclass(frozen=True, slots=True)
class Account:
    """What `probe()` proved. tenant: a stable name of the instance; unnamed: what a plan or an adoption knew it by,
    before a run gave it that name; former: what an earlier release of dam-sync called it. total: assets this
    credential sees, if counted.

    notes: missing permissions and capabilities, as sentences for the operator; as_source, as_target: those that concern
    the service only where a job reads it, or writes to it. They need no decision; undecided_as_source and
    undecided_as_target do. allowance: if the job names one. refused_as_source, refused_as_target: why it cannot be
    that.
    """

    tenant: str
    user: str = ""
    release: str = ""
    total: int | None = None
    clock_skew: timedelta = timedelta(0)
    notes: tuple[str, ...] = ()
    as_source: tuple[str, ...] = ()
    as_target: tuple[str, ...] = ()
    undecided_as_source: tuple[Undecided, ...] = ()
    undecided_as_target: tuple[Undecided, ...] = ()
    allowance: MonthlyAllowance | None = None
    unnamed: str = ""
    former: str = ""
    refused_as_source: DamSyncError | None = None
    refused_as_target: DamSyncError | None = None

    def refuse_as(self, role: str) -> None:
        """Raises ConfigError or Denied if it cannot be a source, or a target."""
        refused = self.refused_as_source if role == "source" else self.refused_as_target
        if refused is not None:
            raise refused

    def notes_as(self, role: str) -> tuple[str, ...]:
        """The notes that concern a source or a target."""
        return (*self.notes, *(self.as_source if role == "source" else self.as_target))

    def undecided_as(self, role: str) -> tuple[Undecided, ...]:
        """What the operator of a job has to decide about a source or a target."""
        return self.undecided_as_source if role == "source" else self.undecided_as_target


def undecided(
    source: Account, target: Account, able: Capabilities, versions: str, closing: Iterable[ExposureOption] = ()
) -> dict[str, tuple[Undecided, ...]]:
    """By role, what the operator of a job has to decide yet. able: what the source can do, because what it lacks needs
    no decision about the target; versions: the policy of the job; closing: see `ExposureOptions`, of the target."""
    wanted = (one for one in target.undecided_as_target if one.part is None or able.reads(one.part))
    moved = (one for one in wanted if one.part is not Feature.VERSIONS or versions == "all")
    hiding = (Undecided(Feature.CLOSED, one.why, one.hint) for one in closing)
    return {"source": source.undecided_as_source, "target": (*hiding, *moved)}


def with_fields(
    left: Mapping[str, Iterable[Undecided]], source: Schema, target: Schema
) -> dict[str, tuple[Undecided, ...]]:
    """The same with the names of the fields that each option can name."""
    fields = {"source": source.fields.values(), "target": target.fields.values()}
    return {role: tuple(one.among(fields[role]) for one in each) for role, each in left.items()}
