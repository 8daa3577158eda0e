"""Conflicts of one asset: which value stands, by a decision of a person or by the policy, and what follows for the
update."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from dam_sync.engine.compare.parts import GROUPS, STATUS
from dam_sync.engine.decide.three_way import ThreeWay, ValueConflict
from dam_sync.model import journal_names
from dam_sync.model.asset import Draft, Loss, Patch
from dam_sync.model.conflict import (
    CONFLICT,
    DATES,
    DECISION,
    EXPOSURE_RULE,
    FILE,
    RIGHTS,
    ConflictPolicy,
    ConflictResult,
    ConflictRules,
    Take,
)
from dam_sync.model.journal_names import WriteKind
from dam_sync.model.link import LinkRow
from dam_sync.model.outcome import ConflictRow, Outcome
from dam_sync.model.parking import ParkReason
from dam_sync.model.values import Json

WIDER = "the value of the target would show it to more people than the source does"
UNDATED = "{} gives no modification date"
SAME_TIME = "both were modified at about the same time"
EXCLUSIVE = "the two changes exclude each other"
CHANGED = "changed at the source, and at the target no longer what this job wrote"
TAKES = {ConflictPolicy.SOURCE: Take.SOURCE, ConflictPolicy.TARGET: Take.TARGET}
ZERO, SECOND = timedelta(0), timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Newer:
    """Which asset was modified later; `take` is NONE if that is unknown, because of `why`."""

    take: Take
    why: str = ""


@dataclass(frozen=True, slots=True)
class SettledConflict:
    """A conflict and the value that stands. by: `decision`, a policy, or `exposure`; why: for one that is parked."""

    conflict: ValueConflict
    take: Take
    by: str
    why: str = ""

    @property
    def loss(self) -> Loss:
        """For the report."""
        return loss_of(ConflictResult(self.conflict.path, self.take, self.by))


@dataclass(frozen=True, slots=True)
class Settlement:
    """What a run does about the conflicts of an asset. patch: the update that remains; values: what stands instead of
    the source's, by path, merged or kept at the target. before: what an attempt that was killed did. filename: the one
    that stands at the target; empty for that of the draft."""

    patch: Patch
    settled: tuple[SettledConflict, ...] = ()
    values: Mapping[str, Json] = field(default_factory=dict)
    before: tuple[Loss, ...] = ()
    filename: str = ""

    @property
    def open(self) -> tuple[SettledConflict, ...]:
        """Those that nobody decided: the asset is set aside."""
        return tuple(one for one in self.settled if one.take is Take.NONE)

    @property
    def losses(self) -> tuple[Loss, ...]:
        """For the report."""
        return tuple(dict.fromkeys((*self.before, *(one.loss for one in self.settled))))

    def parked(self, link: LinkRow) -> Outcome:
        """The outcome of an asset with open conflicts."""
        paths = ", ".join(sorted(one.conflict.path for one in self.open))
        reasons = sorted({one.why for one in self.open if one.why})
        return Outcome(
            action="parked",
            cause=ParkReason.CONFLICT,
            message=f"{CHANGED}: {paths}" + "".join(f"; {why}" for why in reasons),
            hint=ParkReason.CONFLICT.to_do,
            losses=[{"path": CONFLICT, "rule": one.loss.rule, "detail": ""} for one in self.open],
            conflicts=tuple(_row(link, one) for one in self.settled if one.take is Take.NONE or one.by == DECISION),
        )


def loss_of(result: ConflictResult) -> Loss:
    return Loss(CONFLICT, str(result))


def _row(link: LinkRow, one: SettledConflict) -> ConflictRow:
    conflict = one.conflict
    decision = one.take.value if one.by == DECISION and one.take is not Take.NONE else ""
    sides = conflict.written, conflict.source, conflict.target
    return ConflictRow(link.source, conflict.path, *sides, conflict.state, one.why, decision, link.filename)


def settle(
    conflicts: Sequence[ValueConflict], rules: ConflictRules, newer: Newer, decided: Mapping[tuple[str, str], str]
) -> list[SettledConflict]:
    """Which value stands, for each conflict. decided: `source` or `target` by path and state."""
    return [_settled(one, rules.of(one.path), newer, decided.get((one.path, one.state), "")) for one in conflicts]


def _settled(conflict: ValueConflict, policy: ConflictPolicy, newer: Newer, decided: str) -> SettledConflict:
    if decided:
        return SettledConflict(conflict, Take(decided), DECISION)
    if policy is ConflictPolicy.NEWEST:
        return SettledConflict(conflict, newer.take, policy.value, newer.why)
    if policy is ConflictPolicy.MERGE and conflict.merged is not None:
        return SettledConflict(conflict, Take.MERGED, policy.value)
    why = EXCLUSIVE if policy is ConflictPolicy.MERGE else ""
    return SettledConflict(conflict, TAKES.get(policy, Take.NONE), policy.value, why)


def settlement_of(three: ThreeWay, settled: Sequence[SettledConflict]) -> Settlement:
    """What follows from settled conflicts. A file of the target that stands keeps the name that came with it, which
    goes with the file if it is replaced."""
    values = {one.conflict.path: one.conflict.target for one in settled if one.take is Take.TARGET}
    values |= {one.conflict.path: one.conflict.merged for one in settled if one.take is Take.MERGED}
    if FILE in values and three.renamed:
        values["filename"] = three.renamed
    replaced = any(one.conflict.path == FILE and one.take is Take.SOURCE for one in settled)
    filename = values.get("filename") or ("" if replaced else three.renamed)
    return Settlement(three.settled(values), tuple(settled), values, filename=filename)


def admitted(three: ThreeWay, settled: Sequence[SettledConflict]) -> Settlement:
    """The update that follows, without what would show the asset to more people than the draft says: a value of the
    target that does so is not kept, and what others alone changed is set back as far as that shows it to fewer."""
    made = settlement_of(three, settled)
    opens = not three.guarded and _opens(three, made.patch)
    if three.guarded or not (opens or _keeps_open(three, made)):
        return made
    narrowed = [replace(one, take=Take.NONE, why=WIDER) if _is_kept(one) else one for one in settled]
    if narrowed != settled:
        return settlement_of(three, narrowed)
    after, undone = _after(three, made.patch), list[SettledConflict]()
    for one in three.set_back():
        trial = _as_source(three, after, one.path)
        if (opens or one.path in DATES) and not three.facts.shows_more(after, trial):
            after = trial
            undone.append(SettledConflict(one, Take.SOURCE, EXPOSURE_RULE))
    if not undone:
        return made
    paths = {one.conflict.path for one in undone}
    groups = three.draft.rights.groups if GROUPS in paths else three.rights(made.values).groups
    patch = replace(made.patch, rights=replace(after.rights, groups=groups) if paths & RIGHTS else made.patch.rights)
    patch = replace(patch, status=after.status if STATUS in paths else patch.status)
    return replace(made, patch=patch, settled=(*made.settled, *undone))


def _is_kept(one: SettledConflict) -> bool:
    return one.take is Take.TARGET and one.conflict.path in (*RIGHTS, STATUS)


def _keeps_open(three: ThreeWay, made: Settlement) -> bool:
    """Whether rights or values that the target keeps leave the asset visible to more people than the draft says."""
    if made.patch.rights is None and not made.values.keys() & {*RIGHTS, STATUS}:
        return False
    status = str(made.values.get(STATUS, three.draft.status))
    return three.facts.shows_more(_wanted(three), replace(_after(three, made.patch), status=status))


def _opens(three: ThreeWay, patch: Patch) -> bool:
    """Whether an update shows the asset to people who neither see it now, nor are to see it."""
    after = _after(three, patch)
    return all(three.facts.shows_more(now, after) for now in (_wanted(three), _after(three, Patch())))


def _wanted(three: ThreeWay) -> Draft:
    """The draft, with the groups that others added beside those of ours: whom they let in is theirs to say."""
    rights, part = three.draft.rights, three.comparison.parts.get(GROUPS)
    added = part.foreign.added if part is not None and three.merged_groups else frozenset()
    return replace(three.draft, rights=replace(rights, groups=rights.groups | frozenset(map(str, added))))


def _after(three: ThreeWay, patch: Patch) -> Draft:
    """Who sees the asset once this is written, in the form of a draft, which may have no opinion on groups."""
    draft, now = three.draft, three.actual
    wrote, part = patch.rights or now.rights, three.comparison.parts.get(STATUS)
    stays = {path for path, name in DATES.items() if getattr(wrote, name) is None} - patch.cleared
    rights = replace(wrote, **{DATES[path]: getattr(now.rights, DATES[path]) for path in stays})
    groups = (wrote.groups or now.rights.groups) if draft.rights.groups else frozenset()
    stands = now.status if part is not None and not part.same else draft.status
    return replace(draft, status=patch.status or stands, rights=replace(rights, groups=groups))


def _as_source(three: ThreeWay, after: Draft, path: str) -> Draft:
    """The same with the value of the source at this path."""
    if path == STATUS:
        return replace(after, status=three.draft.status)
    name = DATES.get(path, path)
    return replace(after, rights=replace(after.rights, **{name: getattr(three.draft.rights, name)}))


def settled_of(operation: str, detail: Json) -> list[ConflictResult]:
    """The conflicts that a ledger row says were settled; none for other writes."""
    if journal_names.kind_of(operation) is not WriteKind.CONFLICT:
        return []
    return [ConflictResult(path, Take(row["take"]), row["by"]) for path, row in detail.items()]
