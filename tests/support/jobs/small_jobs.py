"""Small libraries for runs that go wrong: a few assets inline, commands in this process, texts looked through."""

from __future__ import annotations

import base64
import json
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog
from typer.testing import CliRunner

from dam_sync.cli import cli
from dam_sync.emulators.kit.faults import Fault
from dam_sync.emulators.kit.library import schema_records, target_records
from dam_sync.model.clock import Clock, SystemClock
from dam_sync.model.connector import Connector
from dam_sync.model.limits import Limits
from dam_sync.model.run_options import RunOptions
from dam_sync.store.base import Storage
from tests.support.jobs.rollbacks import undone_afterwards
from tests.support.jobs.tenants import CREDENTIALS, Pair, duplicates, pair, write_secret
from tests.support.services.small_limits import limited
from tests.support.state.shared_engine import SHARED, shared_engine

MAPPING = Path(__file__).parents[3] / "mappings" / "demo-a-to-e.yaml"
SOURCE, TARGET = "a_hypermedia", "e_profiles"
PASSWORD, TOKEN = CREDENTIALS[SOURCE], CREDENTIALS[TARGET]
SECRETS = (
    PASSWORD,
    TOKEN,
    TOKEN.removeprefix("wat_demo_"),
    base64.b64encode(f"dam-sync:{PASSWORD}".encode()).decode(),
    base64.b64encode(f"{TOKEN}:x-oauth-basic".encode()).decode(),
)
SIGNED = ("Signature=", "Expires=", "X-Amz-", "/objects/")
FASTER = 150.0
Record = dict[str, Any]


class FastClock(SystemClock):
    """Time as it passes, only faster: pauses between attempts cost a test little."""

    began, instant = time.monotonic(), datetime.now(UTC)

    def now(self) -> datetime:
        return self.instant + timedelta(seconds=self.monotonic() - self.began)

    def monotonic(self) -> float:
        return self.began + (time.monotonic() - self.began) * FASTER

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds / FASTER)


class HurriedClock(FastClock):
    """The same where services keep the true time: only what is waited for is shorter."""

    def now(self) -> datetime:
        return SystemClock.now(self)


CLOCK: Clock = SystemClock()  # of the commands of this process
STORAGE = SHARED
NEVER_STILL = timedelta(days=1)  # under a faster clock: a tenth of a second of a busy host is no standing still


def options(**given: Any) -> RunOptions:
    """Options of a call in this process."""
    return RunOptions(**given, clock=CLOCK, storage=STORAGE)


def skip(seconds: float) -> None:
    """So many seconds pass by the faster clock, for all who live by it."""
    FastClock.instant += timedelta(seconds=seconds)


def set_right() -> None:
    """The faster clock shows the true time again."""
    FastClock.began, FastClock.instant = time.monotonic(), datetime.now(UTC)


def hurry(patch: pytest.MonkeyPatch, clock: Clock | None = None) -> None:
    """Commands in this process wait less from now on, or live by this clock."""
    patch.setattr("tests.support.jobs.small_jobs.CLOCK", clock or HurriedClock())
    patch.setattr("tests.support.jobs.small_jobs.STORAGE", Storage(engine=shared_engine, still=NEVER_STILL))


@dataclass(slots=True)
class Meanwhile(Fault):
    """Something that happens at the emulated service when a call comes in."""

    act: Callable[[], object] = int

    def strikes(self, call: str) -> bool:
        """See `Fault.strikes`."""
        hit = Fault.strikes(self, call)
        if hit:
            self.act()
        return hit


def photo(number: int, size: int = 900, name: str = "", **fields: Any) -> Record:
    """A published picture with a generated file."""
    name = name or f"photo-{number}.jpg"
    return {
        "record": "asset",
        "id": str(number),
        "filename": name,
        "status": "published",
        "form_type": "PICTURE",
        "type": "Picture",
        "fields": {"title": {"texts": {"en": f"Picture {number}"}}, "inventory": f"MU.{number:05d}", **fields},
        "versions": [{"name": name, "generate": {"size": size, "seed": number}}],
        "placements": [{"kind": "folder", "path": ["Library", "Press"]}],
        "created_at": "2020-01-01T00:00:00Z",
        "imported_at": f"2021-03-01T08:00:{number:02d}Z",
        "changed_at": "2021-03-02T08:00:00Z",
    }


def photos(number: int = 4) -> list[Record]:
    """So many of them."""
    return [photo(each) for each in range(1, number + 1)]


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command said and how it ended."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        """Both streams."""
        return self.out + self.err

    @property
    def data(self) -> Any:
        """Of `--json`."""
        return json.loads(self.out)

    def says(self, *words: str) -> Ran:
        """Each of these, on one of the streams; itself, to go on."""
        plain = " ".join(self.text.split())
        for word in words:
            assert word in plain, f"{word!r} is not in:\n{self.text}"
        return self


@dataclass(slots=True)
class Small:
    """Two tenants, a job and the commands on it. Every command is looked through for what no text may hold."""

    pair: Pair
    secrets: tuple[str, ...] = SECRETS
    connectors: Mapping[str, Connector] | None = None

    def ran(self, verb: str, *options: str, code: int) -> Ran:
        """A command in this process, whose exit code must be `code`."""
        set_right()
        given = {"clock": CLOCK, "storage": STORAGE, "connectors": self.connectors}
        result = CliRunner().invoke(cli, [verb, str(self.pair.job), *options], obj=given)
        structlog.reset_defaults()
        return self.looked_through(Ran(result.exit_code, result.stdout, result.stderr), code)

    def process(self, verb: str, *options: str, code: int) -> Ran:
        """The same in a process of its own."""
        done = self.pair.cli(verb, str(self.pair.job), *options, check=None)
        return self.looked_through(Ran(done.returncode, done.stdout, done.stderr), code)

    def run(self, *options: str, code: int = 0) -> Ran:
        """`run` with its report as data."""
        return self.ran("run", "--json", "--no-progress", *options, code=code)

    def parked(self) -> list[Record]:
        """What `errors` reports of each parked asset; every one says what to do."""
        rows: list[Record] = self.ran("errors", "--json", code=0).data["assets"]
        assert all(row["message"] and row["hint"] for row in rows), rows
        return rows

    def edit(self, old: str, new: str) -> None:
        """Change the job file."""
        text = self.pair.job.read_text(encoding="utf-8")
        assert old in text
        self.pair.job.write_text(text.replace(old, new), encoding="utf-8")

    def credential(self, name: str, secret: str) -> None:
        """The job's secret of that name is this one from now on."""
        write_secret(self.pair.folder, name, secret)

    def accept(self, *rules: str) -> None:
        """Accept rules of the exposure guard in the job file."""
        text = self.pair.job.read_text(encoding="utf-8")
        self.pair.job.write_text(f"{text}policy: {{exposure: {{{', '.join(rules)}}}}}\n", encoding="utf-8")

    def faulty(self, *lines: Mapping[str, Any], side: str = "source") -> None:
        """Script faults of the source or the target."""
        (self.pair.source if side == "source" else self.pair.target).add_faults(*lines)

    def meanwhile(self, match: str, nth: int, act: Callable[[], object]) -> None:
        """Let something happen at the source when the `nth` such call comes in."""
        assert self.pair.source.served is not None
        self.pair.source.served.app.faults.lines.append(Meanwhile(match, "delay:0", nth=nth, act=act))

    def mend(self) -> None:
        """Every scripted fault was hit; from now on nothing goes wrong."""
        for tenant in (self.pair.source, self.pair.target):
            assert tenant.served is not None
            assert tenant.served.app.faults.unhit() == []
            tenant.served.app.faults.clear()

    def ends_complete(self, *options: str, verify: bool = True) -> list[Record]:
        """A later run brings everything over, once, byte by byte; gives what the target has."""
        self.run(*options)
        there = self.pair.target.assets
        assert duplicates(there) == []
        assert digests(there) == digests(self.pair.source.assets)
        if verify:
            verdict = self.ran("verify", "--json", "--no-progress", "--level", "digest", code=0).data["verdict"]
            assert verdict["equal"] == len(there)
        return there

    def retried(self, *options: str, verify: bool = True) -> list[Record]:
        """The same once `errors --retry` has put back what was parked."""
        self.ran("errors", "--retry", code=0).says("will be tried again by the next run")
        return self.ends_complete(*options, verify=verify)

    @property
    def state(self) -> Path:
        """The state file."""
        return self.pair.folder / "state" / "job.db"

    def state_version(self, version: int | None = None) -> int:
        """The version the state file says it has; sets it where given."""
        with closing(sqlite3.connect(self.state)) as connection:
            if version is not None:
                connection.execute(f"PRAGMA user_version = {version}")
                connection.commit()
            return int(connection.execute("PRAGMA user_version").fetchone()[0])

    def source_call(self, method: str, path: str, body: Any = None) -> None:
        """Somebody changes something at the source."""
        done = httpx.request(method, self.pair.source.url + path, json=body, auth=("dam-sync", PASSWORD), verify=False)
        assert done.status_code < 300, done.text

    def looked_through(self, ran: Ran, code: int) -> Ran:
        """The same, once it ended with `code` and its texts hold no secret, no signed link and no stack."""
        assert ran.code == code, f"exit {ran.code} instead of {code}\n{ran.text[-4000:]}"
        told = "\n".join((ran.text, *(self._kept())))
        assert "Traceback" not in ran.text
        assert "unexpected" not in ran.err
        assert (
            code in (0, 3, 4)
            or "error: " in ran.err
            or "(--limit)" in ran.err
            or "FAULT" in ran.out
            or '"ok": false' in ran.out
        )
        for word in (*self.secrets, *SIGNED):
            assert word not in told, f"{word[:4]}… was told"
        assert f"{self._storage}/" not in told
        return ran

    @property
    def _storage(self) -> str:
        assert self.pair.source.served is not None
        return self.pair.source.served.storage_url

    def _kept(self) -> Iterator[str]:
        """What the state folder holds, but for locks and spool."""
        for path in sorted(self.state.parent.glob("job.db*")) if self.state.parent.exists() else ():
            yield path.read_bytes().decode("utf-8", "replace")


def digests(assets: Sequence[Mapping[str, Any]]) -> Counter[tuple[str, ...]]:
    """The bytes of every version of every asset, as the emulators themselves have them."""
    return Counter(tuple(sorted(file["digests"]["sha256"] for file in asset["versions"])) for asset in assets)


_options = options  # `small` has a parameter of this name


@contextmanager
def spoiling(made: Small) -> Iterator[None]:
    """Job file and mapping may be spoilt inside: they are put back, and nothing was written."""
    files = (made.pair.job, made.pair.folder / "mapping.yaml")
    good = {path: path.read_text(encoding="utf-8") for path in files}
    yield
    for path, text in good.items():
        path.write_text(text, encoding="utf-8")
    made.pair.job = files[0]
    assert made.pair.target.writes == 0


@contextmanager
def small(
    folder: Path,
    assets: Sequence[Record] | None = None,
    *,
    mapping: Sequence[tuple[str, str]] = (),
    source: Sequence[Record] = (),
    target: Sequence[Record] = (),
    limits: Mapping[str, Limits | None] | None = None,
    **options: Any,
) -> Iterator[Small]:
    """Two tenants with the generated museum's schemas. `mapping`: what to replace in the demonstration's mapping;
    `source` and `target`: more records of their catalogues; limits: of services; the options are those of `pair`."""
    text = MAPPING.read_text(encoding="utf-8")
    for old, new in mapping:
        assert old in text, old
        text = text.replace(old, new)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "mapping.yaml"
    path.write_text(text, encoding="utf-8")
    rows = [*schema_records(), *source, *(photos() if assets is None else assets)]
    options = {"source_options": {"lag": 0.0}, "target_options": {"lag": 0.0}, **options}
    with pair(folder, rows, [*target_records(), *target], path, **options) as joined:
        job = Small(joined, connectors=limited(limits) if limits else None)
        with undone_afterwards(joined, _options):
            yield job
