"""The result of a verification, as data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime

from dam_sync.engine.compare.differences import Difference
from dam_sync.engine.context.sampling import statement_of
from dam_sync.engine.verification.groups import DifferenceGroups, Found
from dam_sync.model.link import LinkRow
from dam_sync.model.values import Json

SHOWN = 1000  # differences kept in a report, and as many extras; the rest is counted
CLASSES = ("V0", "V1", "V2", "V3", "V4")


@dataclass(frozen=True, slots=True)
class FileProof:
    """The evidence that one file is equal. part: `file` (the current one), `versions` or `attachments`; key: of the
    file at the source, see `plan.version_key`. by: what was compared with what, if bytes or digests were."""

    part: str
    key: str
    evidence: str
    by: str = ""


@dataclass(slots=True)
class Judgement:
    """The result of comparing one asset. fate: the count of the verdict it belongs to; found: differences and extras;
    unread: parts not compared because the target does not return them; changed_at: when the asset was
    changed last at the target, as that says; left: paths that no call changes, which a run reported as a loss;
    unwritten: what differs is still to be written by an unfinished run; set_aside: no run writes the asset as it is.
    These two are asked only while the index of the target may be behind. link: with the keys that files have now, by
    which they are proven."""

    outcome: str
    found: list[Difference] = field(default_factory=list)
    proofs: list[FileProof] = field(default_factory=list)
    unread: frozenset[str] = frozenset()
    left: frozenset[str] = frozenset()
    evidence: str = ""
    changed_at: datetime | None = None
    unwritten: bool = False
    set_aside: bool = False
    link: LinkRow | None = None

    @property
    def clean(self) -> bool:
        """Whether the target has what it should, and nothing in addition."""
        return not self.found

    @property
    def whole(self) -> str:
        """The evidence of the asset: the weakest of its files, V2 if it has none."""
        return self.evidence or min((proof.evidence for proof in self.proofs), default="V2")


@dataclass(slots=True)
class Verdict:
    """The result of a verification. `differences` and `extras` are (source id, target id, difference), SHOWN at most;
    `groups` counts them all, and `sink` gets each of them.

    extra: assets with additions; they count as different only if the policy says so (`fail`).
    doubled: assets with the marker of an asset that is linked to another one.
    removed: assets that runs moved to the trash of the target, because they are gone from the source.
    missing_compared: of `missing`, those found by comparing linked assets.
    evidence: assets by class; files: files by class, for the current files, older versions and attachments.
    compared: files by what was compared with what.
    not_compared: assets by the part that the target does not return. not_carried: assets by what of them no call
    changes at the target, which a run reported as a loss; that is no difference. early: assets that the target may
    still remove, `until` then: it is too early to decide about them.
    """

    level: str
    extras_policy: str = "tell"
    source_assets: int = 0
    linked: int = 0
    parked: int = 0
    skipped: int = 0
    checked: int = 0
    equal: int = 0
    different: int = 0
    extra: int = 0
    missing: int = 0
    missing_compared: int = 0
    unaccounted: int = 0
    doubled: int = 0
    gone_at_source: int = 0
    removed: int = 0
    early: int = 0
    until: str = ""
    bytes: int = 0
    evidence: dict[str, int] = field(default_factory=dict)
    files: dict[str, dict[str, int]] = field(default_factory=dict)
    compared: dict[str, int] = field(default_factory=dict)
    not_compared: dict[str, int] = field(default_factory=dict)
    not_carried: dict[str, int] = field(default_factory=dict)
    differences: list[tuple[str, str, Difference]] = field(default_factory=list)
    extras: list[tuple[str, str, Difference]] = field(default_factory=list)
    groups: DifferenceGroups = field(default_factory=DifferenceGroups)
    sink: Callable[[str, str, Difference], None] | None = None

    @property
    def clean(self) -> bool:
        """No difference found."""
        return not (self.different or self.missing or self.unaccounted or self.doubled)

    @property
    def statement(self) -> str:
        """What the comparison, of a sample or of all, says about all linked assets."""
        compared = self.equal + self.different + self.missing_compared
        return statement_of(max(self.linked, compared), compared, self.different + self.missing_compared, self.level)

    def as_json(self) -> dict[str, Json]:
        """For a report."""
        facts = asdict(replace(self, groups=DifferenceGroups(), sink=None))
        del facts["sink"]
        return {**facts, "groups": self.groups.as_json(), "statement": self.statement, "clean": self.clean}

    def note(self, source: str, target: str, found: Iterable[Difference], changed_at: datetime | None = None) -> None:
        """Count differences, and keep them for the report, up to SHOWN."""
        for difference in found:
            self.groups.add(Found(source, target, difference, changed_at))
            if self.sink is not None:
                self.sink(source, target, difference)
            kept = self.extras if difference.extra else self.differences
            if len(kept) < SHOWN:
                kept.append((source, target, difference))

    def count(self, source: str, target: str, judged: Judgement) -> None:
        """Add the judgement of one asset."""
        self.checked += 1
        added = any(difference.extra for difference in judged.found)
        self.extra += added
        outcome = (
            "different" if judged.outcome == "equal" and added and self.extras_policy == "fail" else judged.outcome
        )
        setattr(self, outcome, getattr(self, outcome) + 1)
        self.missing_compared += outcome == "missing"
        self.note(source, target, judged.found, judged.changed_at)
        if outcome in ("equal", "different"):
            _add(self.evidence, judged.whole)
        for proof in judged.proofs:
            _add(self.files.setdefault(proof.part, {}), proof.evidence)
            if proof.by:
                _add(self.compared, proof.by)
        for part in judged.unread:
            _add(self.not_compared, part)
        for path in judged.left:
            _add(self.not_carried, path)


def proofs_by_key(proofs: Iterable[FileProof]) -> Mapping[str, str]:
    """For the link: evidence by the key of the file; the weakest if a file was compared twice."""
    found: dict[str, str] = {}
    for proof in proofs:
        found[proof.key] = min(found.get(proof.key, CLASSES[-1]), proof.evidence)
    return found


def _add(counts: dict[str, int], key: str) -> None:
    counts[key] = counts.get(key, 0) + 1
