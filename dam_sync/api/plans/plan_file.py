"""The file of a plan: what `plan -o` writes and `run --plan` reads. Both stream it, line by line.

It is one JSON object with a member per line, and the items of its lists a line each: `plan` (what the plan was made
of), `report`, `assets`, `operations`, and `digest`, the SHA-256 of all lines before it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dam_sync.api.atomic_io import atomic_write
from dam_sync.api.reports.asset_rows import reason_of
from dam_sync.config.loader import regular_file
from dam_sync.model import journal_names
from dam_sync.model.errors import ConfigError, TooLarge
from dam_sync.model.journal_names import WriteKind
from dam_sync.model.other_formats import HEAD, other_format
from dam_sync.model.values import Json
from dam_sync.report.report import Report
from dam_sync.store.planned import AGAIN, ASSET, SHARED, PlannedRow
from dam_sync.store.store import SqlStore

PLAN = "the plan"
FIRST = '{"plan": '
FORMAT, VERSION = "dam-sync plan", 1
PAGE = 500
MADE = frozenset({WriteKind.TERM, WriteKind.CONTAINER, WriteKind.RENAME_TERM, WriteKind.RENAME_CONTAINER})
"""Kinds of operations that belong to no asset."""
LONGEST_LINE = 50_000_000  # bytes; the report is the longest line
NOT_A_PLAN = "name a file that `plan JOB -o FILE` wrote; a plan that was edited or cut off cannot be run"


class _Part(BaseModel):
    """A part of the first line; the file may have been edited, and its digest computed again."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    def as_json(self) -> dict[str, Json]:
        """As the file has it; without what an older version did not write."""
        return self.model_dump(by_alias=True, exclude_unset=True)


class PlanOptions(_Part):
    """The options that a plan was made with."""

    full: bool
    repair: bool
    only: list[str]
    limit: Annotated[int, Field(ge=0)] | None
    sample: str
    wave: str = ""


class PlanSide(_Part):
    """One of both services, as the job file and the credential named it."""

    kind: str
    tenant: str
    user: str
    options: dict[str, Json] = {}


class PlanSides(_Part):
    """Both services."""

    source: PlanSide
    target: PlanSide


class PlanSchema(_Part):
    """The parts of a schema that the mapping uses."""

    fields_: Annotated[dict[str, dict[str, Json]], Field(alias="fields")] = {}
    vocabularies: dict[str, dict[str, Json]] = {}
    lists: dict[str, list[str]] = {}


class PlanSchemas(_Part):
    """Those of both services."""

    source: PlanSchema
    target: PlanSchema


class PlanState(_Part):
    """Where a state stood: the last run, the runs that are not finished, the rows of the ledger, the links."""

    run: int
    unfinished: list[int]
    ledger: int
    links: int


class PlanHeader(_Part):
    """What a plan was made of. mapping, policy: digests; listing: digest of ids and revisions; operations: digest of
    what the run will do."""

    job: str
    made: str
    tool: str
    options: PlanOptions
    sides: PlanSides
    mapping: str
    policy: str
    schemas: PlanSchemas
    state: PlanState
    listing: str
    operations: str


async def write_plan(path: Path, header: PlanHeader, report: Report, store: SqlStore, span: tuple[int, int]) -> None:
    """Write the file completely or not at all. span: the run, and the last ledger row before it."""
    run, after = span
    with atomic_write(path, PLAN) as out:
        lines = _HashedLines(out)
        first = {"format": FORMAT, "version": VERSION, **header.as_json()}
        lines.write(FIRST + _text(first) + ",")
        lines.write('"report": ' + _text(report.as_json()) + ",")
        await lines.list_of("assets", _assets(store, run))
        await lines.list_of("operations", _operations(store, after))
        out.write(f'"digest": "{lines.digest}"}}\n')


def read_header(path: Path) -> tuple[PlanHeader, str]:
    """What a plan was made of, and the digest of its file, once the whole file is proven to be as it was written.
    Raises ConfigError."""
    digest = _proven(path)
    with _opened(path) as lines:
        data = _json(path, next(lines, ""), FIRST)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise _unusable(path, "it is not a plan")
    if data.get("version") != VERSION:
        hint = "make a new plan with this version of dam-sync"
        raise ConfigError(
            f"{path} is a plan of version {data.get('version')}, and this program reads {VERSION}", hint=hint
        )
    given = {key: value for key, value in data.items() if key not in ("format", "version")}
    try:
        return PlanHeader.model_validate(given), digest
    except ValidationError as error:
        place = ".".join(map(str, error.errors()[0]["loc"]))
        raise _unusable(path, f"its first line is not what `plan` writes ({place})") from None


def read_rows(path: Path) -> Iterator[PlannedRow]:
    """What the plan says about each asset, and which terms and containers are created or renamed. Call `read_header`
    before."""
    section = ""
    with _opened(path) as lines:
        for line in lines:
            if line.startswith('"') and line.endswith("[\n"):
                section = line.split('"')[1]
            elif line.startswith("]"):
                section = ""
            elif section == "assets":
                row = _json(path, line)
                asset, *rest = _texts(path, row, "asset", "revision", "action", "digest")
                yield PlannedRow(ASSET if row.get("listed") else AGAIN, asset, *rest)
            elif section == "operations":
                operation, what = _texts(path, _json(path, line), "operation", "what")
                if operation in MADE:
                    yield PlannedRow(SHARED, f"{operation}:{what}")


def _texts(path: Path, row: Json, *names: str) -> list[str]:
    """These members of a line. Raises ConfigError unless they are texts."""
    given = [row.get(name) for name in names] if isinstance(row, dict) else []
    found = [text for text in given if isinstance(text, str)]
    if len(found) < len(names):
        raise _unusable(path, "a line of it is not what `plan` writes")
    return found


@dataclass(slots=True)
class _HashedLines:
    """Writes lines and hashes them."""

    out: IO[str]
    hashed: hashlib._Hash = field(default_factory=hashlib.sha256)

    def write(self, line: str) -> None:
        if len(line) >= LONGEST_LINE:
            message = f"the plan has a line of {len(line):,} characters, more than `run --plan` reads"
            raise ConfigError(message, hint="plan fewer assets at once, with `--limit` or waves")
        self.out.write(line + "\n")
        self.hashed.update((line + "\n").encode())

    async def list_of(self, name: str, rows: AsyncIterator[Json]) -> None:
        self.write(f'"{name}": [')
        waiting: str | None = None  # the last item has no comma behind it
        async for row in rows:
            if waiting is not None:
                self.write(waiting + ",")
            waiting = _text(row)
        if waiting is not None:
            self.write(waiting)
        self.write("],")

    @property
    def digest(self) -> str:
        return self.hashed.hexdigest()


async def _assets(store: SqlStore, run: int) -> AsyncIterator[Json]:
    async for row in store.covered(run):
        yield {
            "asset": row.asset,
            "revision": row.revision,
            "action": row.action,
            "reason": reason_of(row),
            "filename": row.filename or row.named.get("filename", ""),
            "listed": row.listed,
            "digest": row.digest,
        }


async def _operations(store: SqlStore, after: int) -> AsyncIterator[Json]:
    while rows := await store.ledger(after, PAGE):
        after = rows[-1].seq
        for row in rows:
            if journal_names.writes(row.operation):
                what = journal_names.object_of(row.operation)
                yield {"operation": str(row.kind), "asset": row.asset, "what": what}


def _text(data: Json) -> str:
    return json.dumps(data, ensure_ascii=False, default=str)


def _proven(path: Path) -> str:
    """The digest at the end of the file, which is that of the lines before it. Raises ConfigError."""
    hashed, last = hashlib.sha256(), ""
    with _opened(path) as lines:
        for line in lines:
            if not last and not line.startswith(FIRST):
                raise _unusable(path, "it is not a plan")
            hashed.update(last.encode())
            last = line
    if last != f'"digest": "{hashed.hexdigest()}"}}\n':
        raise _unusable(path, "it was changed or cut off since it was written, or it is not a plan")
    return hashed.hexdigest()


@contextmanager
def _opened(path: Path) -> Iterator[Iterator[str]]:
    """The lines of a file. Raises ConfigError for one that cannot be read."""
    try:
        with os.fdopen(regular_file(path), encoding="utf-8", newline="") as file:
            other = other_format(os.pread(file.fileno(), HEAD, 0))
            if other is not None:
                raise _unusable(path, f"it {other.instead_of('a plan')}")
            yield iter(partial(file.readline, LONGEST_LINE), "")
    except OSError as error:
        raise ConfigError(f"the plan {path} cannot be read ({error.strerror or error})", hint=NOT_A_PLAN) from error
    except TooLarge as error:
        raise _unusable(path, f"it {error.message}") from error
    except UnicodeDecodeError as error:
        raise _unusable(path, "it is not UTF-8") from error


def _json(path: Path, line: str, begin: str = "") -> Json:
    try:
        if not line.startswith(begin):
            raise ValueError(line[:20])
        return json.loads(line.removeprefix(begin).rstrip().removesuffix(","))
    except (ValueError, RecursionError) as error:
        raise _unusable(path, "a line of it is not JSON") from error


def _unusable(path: Path, why: str) -> ConfigError:
    return ConfigError(f"the plan {path} cannot be used: {why}", hint=NOT_A_PLAN)
