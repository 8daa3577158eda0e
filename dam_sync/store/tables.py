"""The tables of a job's state, as SQLModel describes them; migrations make them."""

from __future__ import annotations

from typing import ClassVar

from sqlalchemy import Index, Table, text
from sqlmodel import Field, SQLModel


class Note(SQLModel, table=True):
    """Small facts about the job, as JSON."""

    __tablename__: ClassVar[str] = "note"
    key: str = Field(primary_key=True)
    value: str


class RunTable(SQLModel, table=True):
    """Runs, and the lease of the one that is going on."""

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
    outcome: str | None = None


class ShardTable(SQLModel, table=True):
    """Shards of a run and their cursors."""

    __tablename__: ClassVar[str] = "shard"
    run: int = Field(primary_key=True)
    seq: int = Field(primary_key=True)
    id: str
    params: str
    expected: int | None = None
    cursor: str | None = None
    done: bool = False


class WorkTable(SQLModel, table=True):
    """One row an asset, with what became of it the last time it was looked at."""

    __tablename__: ClassVar[str] = "work"
    __table_args__ = (
        Index("work_open", "seq", sqlite_where=text("state IN ('pending', 'claimed')")),
        Index("work_parked", "cause", sqlite_where=text("action = 'parked'")),
    )
    asset: str = Field(primary_key=True)
    seq: int
    run: int
    revision: str
    changed_at: str | None = None
    deleted: bool = False
    payload: str | None = None
    state: str
    lease_until: float = 0.0
    attempt: int = 0
    action: str = ""
    cause: str = ""
    operation: str = ""
    message: str = ""
    hint: str = ""
    losses: str | None = None


class LinkTable(SQLModel, table=True):
    """Source asset to target asset."""

    __tablename__: ClassVar[str] = "link"
    source: str = Field(primary_key=True)
    target: str = Field(index=True)
    source_revision: str
    source_fingerprint: str
    draft_fingerprint: str
    target_revision: str
    filename: str
    evidence: str
    digests: str
    size: int | None = None
    versions: str
    draft: str
    seen_run: int = 0


class NameTable(SQLModel, table=True):
    """File names taken in the target, folded."""

    __tablename__: ClassVar[str] = "name"
    folded: str = Field(primary_key=True)
    owner: str


class MemberTable(SQLModel, table=True):
    """Memberships read from the containers of a side."""

    __tablename__: ClassVar[str] = "member"
    asset: str = Field(primary_key=True)
    kind: str = Field(primary_key=True)
    path: str = Field(primary_key=True)
    container: str


class PlacementTable(SQLModel, table=True):
    """Bulk memberships still to be written."""

    __tablename__: ClassVar[str] = "placement"
    kind: str = Field(primary_key=True)
    path: str = Field(primary_key=True)
    asset: str = Field(primary_key=True)
    container: str
    adds: bool


class RelationTable(SQLModel, table=True):
    """Relations still to be written."""

    __tablename__: ClassVar[str] = "relation"
    seq: int | None = Field(default=None, primary_key=True)
    owner: str
    kind: str
    other: str


class StepTable(SQLModel, table=True):
    """Durable steps: an intent has no result yet."""

    __tablename__: ClassVar[str] = "step"
    scope: str = Field(primary_key=True)
    name: str = Field(primary_key=True)
    at: str
    done: bool = False
    result: str | None = None


class LedgerTable(SQLModel, table=True):
    """Every write made to a target; rows are only ever added."""

    __tablename__: ClassVar[str] = "ledger"
    seq: int | None = Field(default=None, primary_key=True)
    run: int
    operation: str
    asset: str
    target: str
    detail: str
    at: str


def _core(table: type[SQLModel]) -> Table:
    """The table as SQLAlchemy Core sees it."""
    found: Table = SQLModel.metadata.tables[str(table.__tablename__)]
    return found


RUN = _core(RunTable)
SHARD = _core(ShardTable)
WORK = _core(WorkTable)
LINK = _core(LinkTable)
NAME = _core(NameTable)
MEMBER = _core(MemberTable)
PLACEMENT = _core(PlacementTable)
RELATION = _core(RelationTable)
STEP = _core(StepTable)
LEDGER = _core(LedgerTable)
NOTE = _core(Note)
TABLES = (RUN, SHARD, WORK, LINK, NAME, MEMBER, PLACEMENT, RELATION, STEP, LEDGER, NOTE)
