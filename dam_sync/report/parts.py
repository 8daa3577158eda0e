"""The parts of a report, as data. Texts from services and files are as they were read; renderers escape them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypedDict

GOOD, ATTENTION, STOP = "good", "attention", "stop"
"""Levels of a headline."""
HIGH, MEDIUM, LOW = "high", "medium", "low"
"""Levels of a risk."""


@dataclass(frozen=True, slots=True)
class Headline:
    """The result in one sentence. level: good, attention (something is lost, parked or needs a decision) or stop
    (nothing may be written, or a part of it is held back); points: the reasons for the level, one sentence each."""

    level: str
    text: str
    points: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Origin:
    """Who made the report with what. user: of the computer. hashes: of `mapping`, `source_schema`, `target_schema`,
    `policy`, `listing` (ids and revisions of the assets) and `operations`; those that a kind of report does not have
    are absent. valid: when a plan made of them can be run."""

    version: str = ""
    user: str = ""
    host: str = ""
    mapping_file: str = ""
    hashes: dict[str, str] = field(default_factory=dict)
    valid: str = ""


@dataclass(frozen=True, slots=True)
class SampledTotal:
    """A number that a sample was extrapolated to; low and high: the interval that contains it with 95 % confidence."""

    name: str
    sampled: int
    estimate: int
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class ReportScope:
    """What a plan or run covered. listed: assets of the source that were listed; covered: those that were planned or
    run; limit, sample (a share of 1), only (number of named assets): as asked for. statement: what a part of the
    library supports; totals: extrapolated to the whole."""

    listed: int = 0
    covered: int = 0
    limit: int | None = None
    sample: float | None = None
    only: int = 0
    full: bool = False
    repair: bool = False
    statement: str = ""
    totals: tuple[SampledTotal, ...] = ()


@dataclass(frozen=True, slots=True)
class ValueSample:
    """One value of an asset before and after the mapping, as short text. shortened: some characters are left out."""

    asset: str
    before: str
    after: str
    shortened: bool = False


@dataclass(frozen=True, slots=True)
class MappingLine:
    """One field rule. target: key of what it writes; label: its name for people; source: paths that it reads, in order;
    rule: the steps in words; line: in the mapping file, 0 if unknown. assets: to which it was applied; filled: those
    that get a value from the source, defaulted: from its default or constant; the rest stays empty."""

    target: str
    label: str = ""
    source: tuple[str, ...] = ()
    rule: str = ""
    line: int = 0
    assets: int = 0
    filled: int = 0
    defaulted: int = 0
    samples: tuple[ValueSample, ...] = ()


@dataclass(frozen=True, slots=True)
class Reason:
    """How many values of a field were dropped, lost, defaulted or parked, and why."""

    outcome: str
    rule: str
    values: int


@dataclass(frozen=True, slots=True)
class FieldAccount:
    """What becomes of the values of one path: read = written + transformed + defaulted + dropped + lost + parked."""

    path: str
    read: int = 0
    written: int = 0
    transformed: int = 0
    defaulted: int = 0
    dropped: int = 0
    lost: int = 0
    parked: int = 0
    reasons: tuple[Reason, ...] = ()


class LossLine(TypedDict):
    """A loss by path and rule. text: in words; examples: of assets, with the detail."""

    path: str
    rule: str
    assets: int
    text: str
    examples: list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Omission:
    """A field that the mapping leaves out on purpose. label: its name for people; rule, text: why, as accounts name it
    and in words; values: that are left out; assets: that have some, of those that were `read`; samples:
    the first different values."""

    path: str
    label: str
    rule: str
    text: str
    values: int
    assets: int
    read: int
    samples: tuple[str, ...] = ()


@dataclass(slots=True)
class TreeNode:
    """A term or container with what is below it; new: it is to be created, or was."""

    name: str
    new: bool = False
    children: list[TreeNode] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class MadeTree:
    """What is to be created in one vocabulary or of one kind of container. number: of new nodes; left_out: new nodes
    that are not among `roots`, because there are too many."""

    name: str
    number: int
    left_out: int = 0
    roots: tuple[TreeNode, ...] = ()


@dataclass(frozen=True, slots=True)
class Collision:
    """A file name that is taken at the target, and the one that the asset gets."""

    asset: str
    wanted: str
    given: str


@dataclass(frozen=True, slots=True)
class Collisions:
    """File names that are taken; the first examples."""

    assets: int = 0
    examples: tuple[Collision, ...] = ()


@dataclass(frozen=True, slots=True)
class FileProblem:
    """Files that the target does not take: `too large`, `unsupported type`, `no file`. examples: (asset, message)."""

    problem: str
    assets: int
    examples: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class TimePart:
    """Seconds that one cause alone would take. what: `rate limit`, `concurrency`, `bandwidth`, `processing`,
    `reading`, `one after another`; side: source, target, both or empty."""

    what: str
    side: str
    seconds: float
    text: str = ""


@dataclass(frozen=True, slots=True)
class AllowanceReach:
    """The monthly allowance of calls of one side. left: until `renewed`; needed: by this plan; assets: how many of the
    planned ones it suffices for; months: in how many calendar months the run can end, this one included."""

    side: str
    calls: int
    left: int
    needed: int
    assets: int
    renewed: str
    months: int


@dataclass(frozen=True, slots=True)
class DiskNeed:
    """Bytes that the run needs on this computer: `state` for its records, `spool` for the largest file at worst."""

    path: str
    free: int
    state: int
    spool: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """The predicted duration of a run, in seconds: it is expected between p50 and p90.

    bottleneck: the largest of `parts`, which overlap in time. files, bytes, largest: of what is to be transferred.
    untimed: bytes whose transfer is not in the duration, because no bandwidth is known.
    """

    p50: float
    p90: float
    bottleneck: TimePart | None = None
    parts: tuple[TimePart, ...] = ()
    files: int = 0
    bytes: int = 0
    largest: int = 0
    untimed: int = 0
    disk: DiskNeed | None = None
    allowances: tuple[AllowanceReach, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportedRisk:
    """Something that the reader should decide about. kind: `loss`, `exposure`, `parked`, `names`, `option`, `allowance`
    or `disk`; level: high, medium, or low for what may concern no asset."""

    level: str
    kind: str
    text: str
    assets: int = 0


@dataclass(frozen=True, slots=True)
class OpenOption:
    """Something that is left behind until an option of the job says what becomes of it. part: of an asset, as losses
    name it, empty for what concerns the account; hint: what to write; assets: that lose it, as far as the run reads
    it."""

    side: str
    part: str
    text: str
    hint: str
    assets: int = 0


@dataclass(frozen=True, slots=True)
class IrreversibleStep:
    """A kind of write that nothing takes back at this target, and how many of them there are."""

    operation: str
    number: int
    text: str
