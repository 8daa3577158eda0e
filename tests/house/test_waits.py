"""Whatever a call waits for can be shown: a sleep says what for."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from tests.house.sources import FILES, nodes_of, shown, tree_of

WITHOUT = {
    "aio/coalescing.py": "three seconds for others that need the same call",
    "aio/polling.py": "whoever calls it says what for",
    "api/emulation/demo.py": "watches the run of the demo",
    "api/job.py": "reports progress",
    "api/processes/worker_process.py": "waits for orders",
    "api/reports/run_record.py": "records what is spent",
    "cluster/worker_waits.py": "asks workers what they wait for, beside the run",
    "cluster/workers.py": "looks for workers, beside the run",
    "engine/run/pipeline.py": "leases and the end of a run, beside it",
    "engine/run/execute.py": "the heartbeat",
    "http/rates/leased.py": "`take` says what for",
    "model/clock.py": "the clock",
    "store/server/credentials.py": "an outage of the database, which is shown as such",
    "store/server/lock.py": "taking the lock says what for",
    "store/server/notices.py": "listens, beside the run",
    "store/server/target.py": "renews claims, beside the run",
    "store/server/threads.py": "an outage of the database, which is shown as such",
    "watch/notifier.py": "sends messages, beside the runs",
    "watch/page.py": "draws the page",
    "watch/watched_job.py": "between runs",
    "watch/watcher.py": "between runs",
}
EMULATORS = "emulators/"


def sleeps_in(node: ast.AST, *, named: bool = False) -> Iterator[int]:
    """The lines of sleeps outside a block that says what is waited for."""
    for child in ast.iter_child_nodes(node):
        within = named or (isinstance(child, ast.With) and any("waiting(" in ast.unparse(each) for each in child.items))
        call = child.func if isinstance(child, ast.Call) and not within else None
        if isinstance(call, ast.Attribute) and call.attr in ("sleep", "block"):
            yield call.lineno
        yield from sleeps_in(child, named=within)


def test_every_wait_says_what_for() -> None:
    found = {shown(path): list(sleeps_in(tree_of(path))) for path in FILES}
    sleeping = {name for name, lines in found.items() if lines and not name.startswith(EMULATORS)}
    assert sleeping == WITHOUT.keys(), "use `model.waits.sleep_for`, or sleep within `model.waits.waiting`"


def phases_in(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """The code of what is shown as a phase."""
    for node in nodes:
        if isinstance(node, ast.Assign) and any(
            isinstance(to, ast.Attribute) and to.attr == "phase" for to in node.targets
        ):
            yield ast.unparse(node.value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "enter":
            yield from map(ast.unparse, node.args)


def test_a_phase_says_what_is_done_so_that_a_wait_is_shown_once() -> None:
    found = [(shown(path), phase) for path in FILES for phase in phases_in(nodes_of(path))]
    assert len(found) > 10
    assert [each for each in found if "waiting" in each[1]] == [], "register it as a wait, by `model.waits`"
