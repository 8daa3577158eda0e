"""Two emulated tenants and a job between them, for tests of whole runs."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from dam_sync.emulators import application_of
from dam_sync.emulators.kit.catalogue import catalogue_of, read_catalogue
from dam_sync.emulators.kit.environment import Clock, Environment
from dam_sync.emulators.kit.faults import Faults
from dam_sync.emulators.kit.object_store import ObjectStore
from dam_sync.emulators.kit.serve import Served, serve_in_thread
from dam_sync.model.connector import Connector
from tests.support.programs import Program
from tests.support.services import background_stop

Completed = subprocess.CompletedProcess[str]
Command = Callable[..., Completed]
TICK = 0.01  # seconds between two looks at what a process has reached
RARELY = 20  # looks, if there was no call
JOB = """\
version: 1
name: test
source:
  kind: a_hypermedia
  base_url: {source}
  auth: {{flow: basic, login: dam-sync, password: "${{file:secrets/a_hypermedia}}"}}
target:
  kind: e_profiles
  base_url: {target}
  tenant_url: {target}
  auth: {{flow: token, token: "${{file:secrets/e_profiles}}"}}
  options: {{{options}}}
mapping: {mapping}
state: {state}
{more}
"""


CREDENTIALS = {"a_hypermedia": "secret-a", "e_profiles": "wat_demo_b1d3c61e03c6"}


def write_secret(folder: Path, name: str, secret: str) -> None:
    """What the job of this folder refers to as `${file:secrets/NAME}`."""
    path = folder / "secrets" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(secret, encoding="utf-8")


@dataclass
class Tenant:
    """One emulated service, and what it saw. pid: of its process, if it has one of its own."""

    url: str
    served: Served | None = None
    pid: int = 0

    def ask(self, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = Request(self.url + path, data=data, headers={"Content-Type": "application/json"})
        with urlopen(request) as reply:
            text = reply.read().decode()
        if path == "/_emulator/assets":
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        return json.loads(text) if text.strip() else None

    @property
    def assets(self) -> list[dict[str, Any]]:
        return list(self.ask("/_emulator/assets"))

    @property
    def calls(self) -> dict[str, int]:
        return dict(self.ask("/_emulator/calls")["api"])

    @property
    def refused(self) -> dict[str, int]:
        return dict(self.ask("/_emulator/calls")["refused"])

    @property
    def writes(self) -> int:
        reading = ("GET ", "HEAD ", "POST /v2/uploads/chunks/status")
        return sum(number for call, number in self.calls.items() if not call.startswith(reading))

    def forget_calls(self) -> None:
        self.ask("/_emulator/reset-calls", {})

    def add_faults(self, *lines: Mapping[str, Any]) -> None:
        self.ask("/_emulator/faults", list(lines))


def alone(*arguments: str) -> Completed:
    """A command in a program of its own."""
    command = [sys.executable, "-m", "dam_sync", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


@dataclass
class Pair:
    """A source, a target, and the job file that joins them. command: how a command is run; connectors: of the
    commands in this process, where they are not the installed ones."""

    source: Tenant
    target: Tenant
    job: Path
    folder: Path
    command: Command = alone
    connectors: Mapping[str, Connector] | None = None

    def cli(self, *arguments: str, check: int | None = 0) -> Completed:
        done = self.command(*arguments)
        if check is not None:
            assert done.returncode == check, f"exit {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done

    def start(self, *arguments: str) -> Program:
        return Program("dam_sync", *arguments)

    def start_until(self, reached: Callable[[], bool], *arguments: str) -> Program:
        """A process at work, once something is reached; or that has ended before."""
        process = self.start(*arguments)
        self.wait_until(reached, process)
        return process

    def wait_until(self, reached: Callable[[], bool], process: Program) -> None:
        """Until something is reached, or the process has ended. It is looked at after new calls, and now and then."""
        called = -1
        for tick in count():
            if process.poll() is not None:
                return
            now = self.called
            if (now != called or not tick % RARELY) and reached():
                return
            called = now
            time.sleep(TICK)

    @property
    def called(self) -> int:
        """The calls that both services have seen, without a call."""
        return sum(each.served.app.world.api_calls.total() for each in (self.source, self.target) if each.served)

    def json(self, *arguments: str, check: int | None = 0) -> Any:
        return json.loads(self.cli(*arguments, "--json", "--no-progress", check=check).stdout)


def emulated(
    kind: str,
    catalogue: Path | Sequence[Mapping[str, Any]],
    files: Path | None = None,
    clock: Clock | None = None,
    **options: Any,
) -> Tenant:
    """Serve one in a thread; stop it by `tenant.served.stop()`."""
    world = Environment(1, clock)

    def make() -> Any:
        app = application_of(kind)(world, Faults(), ObjectStore(world), options)
        found = read_catalogue(catalogue) if isinstance(catalogue, Path) else catalogue_of(catalogue)
        app.state.load(found, files)
        return app

    served = serve_in_thread(make)
    return Tenant(served.url, served)


def joined(
    folder: Path,
    source: Tenant,
    target: Tenant,
    mapping: Path,
    *,
    template: str = JOB,
    options: str = "",
    more: str = "",
) -> Pair:
    """Both tenants with a job between them, whose state is in the folder too."""
    folder.mkdir(parents=True, exist_ok=True)
    job = folder / "job.yaml"
    text = template.format(
        source=source.url,
        target=target.url,
        options=options,
        mapping=mapping,
        state=folder / "state" / "job.db",
        more=more,
    )
    job.write_text(text, encoding="utf-8")
    for name, secret in CREDENTIALS.items():
        write_secret(folder, name, secret)
    return Pair(source, target, job, folder)


@contextmanager
def pair(
    folder: Path,
    source: Path | Sequence[Mapping[str, Any]],
    target: Path | Sequence[Mapping[str, Any]],
    mapping: Path,
    *,
    files: Path | None = None,
    options: str = "version_policy: file_only, index_lag: 1",
    more: str = "",
    source_options: Mapping[str, Any] | None = None,
    target_options: Mapping[str, Any] | None = None,
    command: Command = alone,
) -> Iterator[Pair]:
    """Both tenants for as long as the block runs."""
    one = emulated("a_hypermedia", source, files, **{"lag": 0.2, **(source_options or {})})
    two = emulated("e_profiles", target, None, **{"lag": 0.2, "rate": None, **(target_options or {})})
    try:
        yield replace(joined(folder, one, two, mapping, options=options, more=more), command=command)
    finally:
        for tenant in (one, two):
            if tenant.served is not None:
                background_stop.stop(tenant.served)


def duplicates(assets: Sequence[Mapping[str, Any]], field: str = "srckey") -> list[str]:
    """Marker values that more than one asset carries."""
    keys = Counter(str(asset["fields"].get(field, asset["id"])) for asset in assets)
    return [key for key, number in keys.items() if number > 1]
