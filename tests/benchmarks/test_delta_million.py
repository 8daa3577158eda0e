"""A run in which nothing changed, of a million known assets: CPU and memory of its process.

The emulated services hold all assets, are served by this process, and are asked over sockets; the state is that of a
completed run (see `test_delta_calls.py`). `DAM_SYNC_LONG=1` has a million assets, `DAM_SYNC_ASSETS` another number.
"""

from __future__ import annotations

import os
import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dam_sync.emulators.kit.serve import serve_in_thread
from tests.support.measuring.counted_calls import Side
from tests.support.measuring.printed_table import MB, show
from tests.support.processes import measured
from tests.support.virtual.scale.moved_library import CLASSES, Kinds, Moved, learn, planted

FEW, ALL = 20_000, 1_000_000
SIZE = int(os.environ.get("DAM_SYNC_ASSETS", ALL if os.environ.get("DAM_SYNC_LONG") == "1" else FEW))
SECONDS = 60.0  # of one core, for a million
BEGINNING = 10.0  # of which the program takes to begin, at most
MOST = 256 * MB
APART = 4  # ports between the origins of two tenants of a universe
A = Side("a_hypermedia", "folder", options={"locales": "en"})
D = Side("d_templates", "collection", options={"relations": "off"}, profile="Images", groups=True)
PAIRS = (
    (A, D),
    (Side("b_documents", "folder", options={"relations": ""}), D),
    (Side("c_brandlibrary", "section"), D),
    (replace(D, profile=""), A),
    (Side("e_profiles", "category", options={"version_policy": "file_only", "attachments": "off"}), D),
)
COLLECTIONS = 250 if SIZE > FEW else CLASSES  # of service D as the source: each holds 4,999 files


@pytest.mark.bench
@pytest.mark.parametrize(("source", "target"), PAIRS, ids=[source.kind for source, _ in PAIRS])
def test_an_unchanged_run_takes_little_of_the_processor_and_of_memory(
    tmp_path: Path, source: Side, target: Side
) -> None:
    kinds = Kinds(source, target, free_ports(), COLLECTIONS if source.kind == D.kind else CLASSES)
    with planted(tmp_path / "planted", learn(tmp_path / "model", kinds), SIZE) as made, served(made):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run = measured("run", str(made.job), "--json", "--no-progress")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    calls = {role: sum(run.report[role]["calls"].values()) for role in ("source", "target")}
    rows = [
        ("seconds of one core", seconds),
        ("MB at most", run.peak / MB),
        ("seconds", run.seconds),
        *((f"calls, {role}", number) for role, number in calls.items()),
    ]
    show(f"nothing changed, {SIZE:,} known assets, {source.kind}", ("", ""), rows)
    assert run.report["operations"] == {}
    assert seconds <= BEGINNING + (SECONDS - BEGINNING) * SIZE / ALL
    assert run.peak <= MOST


def free_ports() -> int:
    """The first of two ports that nobody listens at, `APART` from each other."""
    while True:
        with socket.socket() as one, socket.socket() as other:
            one.bind(("127.0.0.1", 0))
            port = int(one.getsockname()[1])
            try:
                other.bind(("127.0.0.1", port + APART))
            except (OSError, OverflowError):
                continue
            return port


@contextmanager
def served(made: Moved) -> Iterator[None]:
    """Both tenants on real sockets, at the time that it is."""
    with ExitStack() as stack:
        for tenant in (made.source, made.target):
            app, port = tenant.app, int(tenant.url.rpartition(":")[2])
            app.world.advance((datetime.now(UTC) - app.world.now()).total_seconds())
            stack.enter_context(serve_in_thread(lambda app=app: app, port))  # type: ignore[misc]
        yield
