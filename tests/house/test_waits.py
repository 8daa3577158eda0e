"""Whatever a call waits for can be shown: a sleep says what for."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.house.sources import FILES, shown, tree_of

WITHOUT = {
    "aio/coalescing.py": "three seconds for others that need the same call",
    "aio/polling.py": "whoever calls it says what for",
    "api/emulation/demo.py": "watches the run of the demo",
    "api/job.py": "reports progress",
    "api/processes/worker_process.py": "waits for orders",
    "api/reports/run_record.py": "records what is spent",
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
