"""What `state JOB show`, `export`, `import` and `gc` say to people; `--json` has everything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dam_sync.model.wording import bytes_text, counted, timestamp_text

ROWS = (
    ("link", "linked assets"),
    ("conflict", "values in conflict"),
    ("correction", "corrected values"),
    ("deletion", "assets that are gone from the source"),
    ("counterpart", "matched terms and containers"),
    ("ledger", "rows of the ledger"),
    ("report", "reports"),
    ("run", "runs"),
)
SIZES = frozenset({"bytes", "bytes before"})


def rows_of_state(data: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What the state contains, or what was done with it, as rows of a table."""
    return list(_contents(data) if "rows" in data else _done(data))


def _contents(shown: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "file", f"{shown['file']}, {bytes_text(shown['bytes'])}, format {shown['format']}"
    for table, words in ROWS:
        if number := shown["rows"].get(table):
            yield words, f"{number:,}"
    yield "open", f"{counted(shown['open'], 'asset waits', 'assets wait')} for the next run"
    last = shown["last_run"]
    if last is not None:
        ended = last["ended_at"] or ""
        when = f"{last['started_at']} to {ended}" if ended else str(last["started_at"])
        yield "last run", f"{last['id']}, {last['command']}, {last['state']}, {timestamp_text(when)}"
    if shown["watermark"]:
        yield "source listed up to", timestamp_text(str(shown["watermark"]))


def _done(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in data.items():
        name = key.replace("bytes", "size") if key in SIZES else key
        yield name, bytes_text(value) if key in SIZES else f"{value:,}" if isinstance(value, int) else str(value)
