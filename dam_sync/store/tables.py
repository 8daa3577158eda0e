"""The tables of a job's state, as SQLModel classes; migrations create them, statements use them.

Timestamps are text of fixed width (`stamp`), so that they sort correctly. JSON is text.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import ClassVar

from sqlalchemy import BigInteger, Index, Integer, Table, UniqueConstraint, text, true
from sqlmodel import Field, SQLModel

OPEN = "state IN ('pending', 'claimed')"
"""Unfinished rows; written as in the partial index, otherwise SQLite does not use it."""
PARKED = "action = 'parked'"
BIG = BigInteger().with_variant(Integer(), "sqlite")  # a file may be larger than 32 bits can say
ON_PROBATION = "made_at <> ''"
HINTED = "state IN ('waiting', 'taken')"


class MetaTable(SQLModel, table=True):
    """Key-value facts about the job."""

    __tablename__: ClassVar[str] = "note"
    key: str = Field(primary_key=True)
    value: str


class RunTable(SQLModel, table=True):
    """Runs, and the lease of the active one. state: running, stopped, done."""

    __tablename__: ClassVar[str] = "run"
    id: int | None = Field(default=None, primary_key=True)
    job: str
    command: str
    state: str
    started_at: str
    ended_at: str | None = None
    beat_at: str
    owner: str
    host: str
    pid: int
    listed: int = 0
    unchanged: int = 0
    shards_complete: bool = False
    outcome: str = "null"


class ShardTable(SQLModel, table=True):
    """Shards of a run and their cursors, in the order in which they were set."""

    __tablename__: ClassVar[str] = "shard"
    __table_args__ = (UniqueConstraint("run", "id"),)
    seq: int | None = Field(default=None, primary_key=True)
    run: int
    id: str
    params: str
    expected: int | None = None
    cursor: str = "null"
    done: bool = False


class WorkTable(SQLModel, table=True):
    """One row per asset, with its last outcome. state: pending, claimed, settled.

    run: that counts it; listed_run: that listed it, never a later one. due: when a pending row may be claimed, and when
    the lease of a claimed one ends. again: it was listed again, at another revision, while it was claimed.
    passing: in how many runs in a row it was parked for a temporary failure. account: what became of its values, as
    pairs of an `account_key` and a number; digest: of the operation.
    """

    __tablename__: ClassVar[str] = "work"
    __table_args__ = (
        UniqueConstraint("asset"),
        Index("work_run", "run", "seq"),
        Index("work_open", "seq", sqlite_where=text(OPEN)),
        Index("work_parked", "seq", sqlite_where=text(PARKED)),
        Index("work_deleted", "asset", sqlite_where=text("deleted = 1")),
    )
    seq: int | None = Field(default=None, primary_key=True)
    asset: str
    run: int
    listed_run: int
    revision: str
    changed_at: str | None = None
    deleted: bool = False
    payload: str | None = None
    state: str
    due: str = ""
    holder: str = ""
    attempt: int = 0
    again: bool = False
    action: str = ""
    cause: str = ""
    operation: str = ""
    message: str = ""
    hint: str = ""
    losses: str = "null"
    evidence: str = ""
    settled_at: str | None = None
    named: str = "{}"
    passing: int = 0
    account: str = "[]"
    digest: str = ""


class TallyTable(SQLModel, table=True):
    """How many work rows of a run are `open` or ended in an action; kept by triggers on `work`."""

    __tablename__: ClassVar[str] = "tally"
    run: int = Field(primary_key=True)
    label: str = Field(primary_key=True)
    n: int


class LinkTable(SQLModel, table=True):
    """Source asset to target asset. made_at: when the target asset was created, as long as its service may still remove
    it."""

    __tablename__: ClassVar[str] = "link"
    __table_args__ = (
        Index("link_target", "target"),
        Index("link_unsettled", "source", "made_at", sqlite_where=text(ON_PROBATION)),
    )
    source: str = Field(primary_key=True)
    target: str
    source_revision: str
    source_fingerprint: str
    draft_fingerprint: str
    filename: str
    evidence: str
    digests: str
    size: int | None = Field(default=None, sa_type=BIG)
    versions: str
    draft: str
    attachments: str = "[]"
    relations: str = "[]"
    made_at: str = ""
    proofs: str = "{}"
    kept: str = "{}"
    attached: str = "{}"


class SeenTable(SQLModel, table=True):
    """The last run that listed each linked source asset, and the revision at which it was written; triggers on `link`
    keep the rows and the revisions. Apart from the links, because a listing reads and changes it for every asset, and a
    link is long."""

    __tablename__: ClassVar[str] = "seen"
    source: str = Field(primary_key=True)
    run: int = 0
    revision: str = ""


class ConflictTable(SQLModel, table=True):
    """Values of parked assets that changed at both services, as shown to a person, and the decision. state: a digest of
    both sides; decision: empty, source or target."""

    __tablename__: ClassVar[str] = "conflict"
    asset: str = Field(primary_key=True)
    path: str = Field(primary_key=True)
    written: str
    source: str
    target: str
    state: str
    why: str = ""
    decision: str = ""
    filename: str = ""


class RemovalTable(SQLModel, table=True):
    """Source assets whose target asset was removed by the service, with the key of its file."""

    __tablename__: ClassVar[str] = "removal"
    source: str = Field(primary_key=True)
    target: str
    file: str
    message: str
    at: str


class DeletionTable(SQLModel, table=True):
    """Linked assets that are gone from the source; see `rows.Deletion`."""

    __tablename__: ClassVar[str] = "deletion"
    source: str = Field(primary_key=True)
    reason: str
    since: str
    listings: int
    run: int
    scope: str


class TrashedTable(SQLModel, table=True):
    """Links of assets that a run moved to the trash of the target, so that they come back as the same assets. link: the
    row of `link` as JSON."""

    __tablename__: ClassVar[str] = "trashed"
    __table_args__ = (Index("trashed_target", "target"),)
    source: str = Field(primary_key=True)
    target: str
    run: int
    at: str
    link: str
    retried: bool = False


class CounterpartTable(SQLModel, table=True):
    """Terms and containers of the source and those of the target that stand for them; see `Counterpart`."""

    __tablename__: ClassVar[str] = "counterpart"
    part: str = Field(primary_key=True)
    scope: str = Field(primary_key=True)
    source: str = Field(primary_key=True)
    origin: str
    place: str
    target: str
    wanted: str
    name: str
    former: str = "[]"
    mapping: str = ""
    run: int = 0


class NameTable(SQLModel, table=True):
    """File names taken at the target, casefolded."""

    __tablename__: ClassVar[str] = "name"
    __table_args__ = (Index("name_owner", "owner"),)
    folded: str = Field(primary_key=True)
    owner: str


class ContainerTable(SQLModel, table=True):
    """Containers that memberships refer to by number, so that a path is stored once, not once per member."""

    __tablename__: ClassVar[str] = "spot"
    __table_args__ = (UniqueConstraint("kind", "path", "container"),)
    id: int | None = Field(default=None, primary_key=True)
    kind: str
    path: str
    container: str


class MemberTable(SQLModel, table=True):
    """Memberships read from the containers of a side. first_read, last_read: numbers of readings, between which none
    lacked it."""

    __tablename__: ClassVar[str] = "member"
    asset: str = Field(primary_key=True)
    spot: int = Field(primary_key=True)
    first_read: int = 0
    last_read: int = 0


class PlacementTable(SQLModel, table=True):
    """Bulk memberships still to be written to the target; `refused` is why the target refused it."""

    __tablename__: ClassVar[str] = "placement"
    spot: int = Field(primary_key=True)
    asset: str = Field(primary_key=True)
    adds: bool
    refused: str = ""


class RelationTable(SQLModel, table=True):
    """Relations still to be written or removed, by source ids; `refused` is why the target refused it."""

    __tablename__: ClassVar[str] = "relation"
    __table_args__ = (UniqueConstraint("owner", "kind", "other"),)
    seq: int | None = Field(default=None, primary_key=True)
    owner: str
    kind: str
    other: str
    refused: str = ""
    adds: bool = True


class JournalTable(SQLModel, table=True):
    """Journal entries. state: intent, vouched (an intent that a person checked), done."""

    __tablename__: ClassVar[str] = "step"
    scope: str = Field(primary_key=True)
    name: str = Field(primary_key=True)
    at: str
    state: str
    result: str = "null"


class LedgerTable(SQLModel, table=True):
    """Every write made to a target; rows are added, and removed by `state gc` only.

    changes: key -> [value before, value after], or key -> null if the policy keeps no values. calls: API calls by
    endpoint. digest: `algorithm:value` of the bytes sent, size: how many. version: what the target returned. seconds:
    how long it took, waiting for the rate limit included.
    """

    __tablename__: ClassVar[str] = "ledger"
    __table_args__ = (Index("ledger_written", "run", "operation"),)
    seq: int | None = Field(default=None, primary_key=True)
    run: int
    operation: str
    asset: str
    target: str
    detail: str
    at: str
    changes: str = "{}"
    calls: str = "{}"
    digest: str = ""
    size: int | None = Field(default=None, sa_type=BIG)
    version: str = ""
    seconds: float | None = None


class HintTable(SQLModel, table=True):
    """Deliveries of webhooks by id, and the asset that each names. state: waiting, at most one of an asset; taken by a
    run; done, kept for a while so that one sent again is known."""

    __tablename__: ClassVar[str] = "hint"
    __table_args__ = (Index("hint_open", "asset", sqlite_where=text(HINTED)), Index("hint_at", "at"))
    delivery: str = Field(primary_key=True)
    asset: str
    at: str
    state: str


class AccountKeyTable(SQLModel, table=True):
    """What accounts count: see `model.account.AccountKey`. Rows are added only."""

    __tablename__: ClassVar[str] = "account_key"
    __table_args__ = (UniqueConstraint("path", "outcome", "rule"),)
    id: int | None = Field(default=None, primary_key=True)
    path: str
    outcome: str
    rule: str


class WaveTable(SQLModel, table=True):
    """The wave that each asset belongs to, empty for none. revision: at which it was sorted. due: a run of another wave
    met a change of it, which the next run of its own wave has to look at."""

    __tablename__: ClassVar[str] = "wave"
    __table_args__ = (Index("wave_due", "asset", sqlite_where=text("due = 1")),)
    asset: str = Field(primary_key=True)
    wave: str
    revision: str
    due: bool = False


class PlannedTable(SQLModel, table=True):
    """The plan that a run follows; see `planned.PlannedRow`."""

    __tablename__: ClassVar[str] = "planned"
    kind: str = Field(primary_key=True)
    name: str = Field(primary_key=True)
    revision: str = ""
    action: str = ""
    digest: str = ""


class ReportTable(SQLModel, table=True):
    """Reports of finished runs and of verifications; see `rows.KeptReport`. body: JSON, compressed by zlib."""

    __tablename__: ClassVar[str] = "report"
    __table_args__ = (Index("report_run", "run"),)
    id: int | None = Field(default=None, primary_key=True)
    run: int
    kind: str
    at: str
    version: str
    result: str
    body: bytes


class CorrectionTable(SQLModel, table=True):
    """Values for which an asset is parked, and what people gave in their place; see `rows.CorrectionRow`. corrected: a
    list of texts, `null` if nobody gave anything."""

    __tablename__: ClassVar[str] = "correction"
    asset: str = Field(primary_key=True)
    path: str = Field(primary_key=True)
    failed: str = Field(primary_key=True)
    rule: str
    corrected: str
    at: str


def table_of(model: type[SQLModel]) -> Table:
    """The table of a model, for Core statements."""
    return SQLModel.metadata.tables[str(model.__tablename__)]


def stamp(moment: datetime) -> str:
    """A timestamp as text of fixed width in UTC."""
    utc = moment if moment.tzinfo is UTC else moment.astimezone(UTC)
    return f"{utc.isoformat(timespec='microseconds')[:-6]}Z"


def instant(text_: str) -> datetime:
    """The inverse of `stamp`."""
    return datetime.fromisoformat(text_)


META = table_of(MetaTable)
RUN = table_of(RunTable)
SHARD = table_of(ShardTable)
WORK = table_of(WorkTable)
TALLY = table_of(TallyTable)
LINK = table_of(LinkTable)
SEEN = table_of(SeenTable)
REMOVAL = table_of(RemovalTable)
DELETION = table_of(DeletionTable)
TRASHED = table_of(TrashedTable)
CONFLICTS = table_of(ConflictTable)
COUNTERPART = table_of(CounterpartTable)
NAME = table_of(NameTable)
CONTAINER = table_of(ContainerTable)
MEMBER = table_of(MemberTable)
PLACEMENT = table_of(PlacementTable)
RELATION = table_of(RelationTable)
JOURNAL = table_of(JournalTable)
LEDGER = table_of(LedgerTable)
HINT = table_of(HintTable)
REPORT = table_of(ReportTable)
CORRECTION = table_of(CorrectionTable)
ACCOUNT_KEY = table_of(AccountKeyTable)
PLANNED = table_of(PlannedTable)
WAVE = table_of(WaveTable)
TABLES = (
    *(META, RUN, SHARD, WORK, TALLY, LINK, SEEN, REMOVAL, DELETION, TRASHED, CONFLICTS, COUNTERPART, NAME, CONTAINER),
    *(MEMBER, PLACEMENT, RELATION, JOURNAL, LEDGER, HINT, REPORT, CORRECTION, ACCOUNT_KEY, PLANNED, WAVE),
)
LISTED_DELETED = WORK.c.deleted == true()  # no parameter, so that the partial index is used
WAVE_DUE = WAVE.c.due == true()
