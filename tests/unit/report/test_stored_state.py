"""What the commands of `state` print: words and numbers, and nothing of the insides of the file."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from dam_sync.cli import cli
from dam_sync.report.stored_state import rows_of_state

SHOWN = {
    "file": "/jobs/museum.db",
    "format": 19,
    "bytes": 499_712,
    "rows": {"link": 1_200, "ledger": 3, "conflict": 0, "shard": 7},
    "open": 1,
    "last_run": {
        "id": 2,
        "command": "run",
        "state": "done",
        "started_at": "2026-06-01T10:00:00.123456Z",
        "ended_at": "2026-06-01T11:00:00.5Z",
    },
    "notes": {"schema": {"source": {}}},
    "watermark": "2026-06-01T09:59:59.000Z",
}


def test_a_state_is_shown_in_words() -> None:
    assert rows_of_state(SHOWN) == [
        ("file", "/jobs/museum.db, 499.7 kB, format 19"),
        ("linked assets", "1,200"),
        ("rows of the ledger", "3"),
        ("open", "1 asset waits for the next run"),
        ("last run", "2, run, done, 2026-06-01T10:00:00Z to 2026-06-01T11:00:00Z"),
        ("source listed up to", "2026-06-01T09:59:59Z"),
    ]


def test_what_was_done_with_a_state_is_shown_without_quotes() -> None:
    done = {"state": "/jobs/museum.db", "ledger rows removed": 1_000, "bytes before": 2_000_000, "bytes": 900}
    assert rows_of_state(done) == [
        ("state", "/jobs/museum.db"),
        ("ledger rows removed", "1,000"),
        ("size before", "2.0 MB"),
        ("size", "900 bytes"),
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["JOB", "export"], "`state JOB export` needs the path of a file"),
        (["JOB", "import"], "write `state JOB import FILE`"),
        (["JOB", "show", "x"], "takes no file, but was given x"),
        (["export", "JOB"], "the job file comes before the action: `state "),
        (["JOB", "exprt"], "`exprt` is not an action of `state`"),
    ],
)
def test_a_wrong_order_of_words_is_corrected(tmp_path: Path, arguments: list[str], said: str) -> None:
    job = tmp_path / "job.yaml"
    job.write_text("version: 1\n", encoding="utf-8")
    ended = CliRunner().invoke(cli, ["state", *(str(job) if word == "JOB" else word for word in arguments)])
    assert ended.exit_code == 2
    assert said in ended.stderr
