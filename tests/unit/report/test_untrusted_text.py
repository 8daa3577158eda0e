"""Text of strangers on terminals, in pipes, in pages and tables."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import sys
import unicodedata
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from typer.testing import CliRunner

from dam_sync.cli import cli
from dam_sync.model.asset import AssetId, Entry, Revision
from dam_sync.model.clock import SystemClock
from dam_sync.model.errors import ConfigError, Rejected
from dam_sync.model.outcome import Outcome
from dam_sync.model.parking import ParkReason
from dam_sync.model.safe_text import (
    copied_cell,
    csv_cell,
    guarded,
    shown_name,
    unguarded,
    visible,
    visible_json,
    visible_lines,
)
from dam_sync.model.service import Batch, Shard
from dam_sync.report.html import render_html
from dam_sync.report.output import Output
from dam_sync.report.progress import line
from dam_sync.report.terminal import print_report, print_table
from dam_sync.store.store import SqlStore

OSC, CSI, C1 = "\x1b]0;OWNED\x1b\\", "\x1b[31m", "\x9b31m"
BIDI = "\u202egpj.exe\u2066\u200e\u200f\u061c\u200b\u2060\ufeff\U000e0041\ue000"
HOSTILE = f"{OSC}{CSI}{C1}{BIDI}\ud800\x00\x7f"
BLANK = "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"  # letters and marks that are never drawn
STORABLE = HOSTILE.replace("\ud800", "")  # text is stored as UTF-8
RAW = ("\x1b", "\x9b", "\ud800", "\x00", "\x7f", *BIDI.replace("gpj.exe", ""))


def harmless(text: str) -> bool:
    return not any(raw in text for raw in RAW)


def report(**changes: Any) -> dict[str, Any]:
    side = {"kind": "x", "tenant": HOSTILE, "calls": {HOSTILE: 1}}
    parked = {"cause": HOSTILE, "operation": HOSTILE, "count": 1, "example": HOSTILE, "asset": HOSTILE, "hint": HOSTILE}
    return {
        "kind": "run",
        "job": HOSTILE,
        "run": 1,
        "source": side,
        "target": side,
        "counts": {HOSTILE: 1},
        "operations": {HOSTILE: 1},
        "exposure": [],
        "conflicts": [],
        "losses": [{"path": HOSTILE, "rule": HOSTILE, "assets": 1}],
        "parked": [parked],
        "gone": [dict.fromkeys(("asset", "target", "reason", "since", "until"), HOSTILE)],
        "verdict": None,
        "notes": [HOSTILE],
        "started": "",
        "ended": "",
        "seconds": 1,
        "estimate": None,
        **changes,
    }


def test_control_characters_and_changes_of_direction_are_shown_as_escapes() -> None:
    assert (
        visible("\x1b[31m\x9b\u202e\u2069\ud800\r\n\t\x00") == "\\x1b[31m\\x9b\\u202e\\u2069\\ud800\\x0d\\n\\x09\\x00"
    )
    assert visible_lines("a\n\tb\x1b") == "a\n\tb\\x1b"
    assert visible("Ünïcödé 文 😀 עברית") == "Ünïcödé 文 😀 עברית"


def test_all_that_steers_or_hides_is_escaped_and_nothing_else() -> None:
    """By the categories of this Python's Unicode; what it does not know yet is reserved for such characters."""
    for each in map(chr, range(sys.maxunicode + 1)):
        category = unicodedata.category(each)
        if category in ("Cc", "Cf", "Co", "Cs", "Zl", "Zp"):
            assert visible(each).isascii(), hex(ord(each))
            assert each in "\t\n" or visible_lines(each).isascii(), hex(ord(each))
            assert visible_json(each).isascii() or each < " ", hex(ord(each))
            assert each not in shown_name(f"a{each}b")
        elif category != "Cn" and each not in BLANK:
            assert visible_lines(each) == visible_json(each) == each, hex(ord(each))


def test_each_escape_is_distinguished_from_the_text_after_it() -> None:
    assert visible("\U000e00411 \u200e1 \xad1") == "\\U000e00411 \\u200e1 \\xad1"


def test_a_cell_that_people_copy_keeps_the_joiners_of_its_words() -> None:
    words = "می\u200cخواهم क्\u200dष \u200fעברית\u200e\nsoft\u00adly"
    assert unguarded(copied_cell(words)) == words
    assert copied_cell(f"{words}\u202e\u200b\x1b") == f"{words}\\u202e\\u200b\\x1b"


@given(st.text())
def test_json_says_the_same_when_it_is_made_visible(text: str) -> None:
    shown = visible_json(json.dumps({text: text}, ensure_ascii=False))
    assert json.loads(shown) == {text: text}
    assert visible_lines(shown) == shown


def test_a_table_steers_no_terminal_and_its_first_column_has_one_line() -> None:
    console = Console(width=200, file=io.StringIO(), force_terminal=True)
    print_table(console, HOSTILE, ("a", "b"), [(f"{HOSTILE}\nerror: made up", HOSTILE)])
    assert harmless(text_of(console))
    assert "\nerror:" not in text_of(console)


def test_a_report_steers_no_terminal_and_no_page() -> None:
    console = Console(width=200, file=io.StringIO())
    print_report(console, report())
    page = render_html(report())
    assert harmless(text_of(console))
    assert harmless(page)
    assert "<h2>Parked</h2>" in page
    page.encode()


def test_a_report_of_an_imported_state_steers_no_terminal() -> None:
    """Somebody else may have made the state, and with it what is a number or a word of ours in our own reports."""
    console = Console(width=200, file=io.StringIO())
    made = report()
    sides = {side: {**made[side], "kind": HOSTILE} for side in ("source", "target")}
    print_report(console, {**made, **sides, "run": HOSTILE})
    assert harmless(text_of(console))


def test_the_progress_line_steers_no_terminal() -> None:
    numbers = dict.fromkeys(
        ("expected", "done", "moves", "bytes", "source_calls", "target_calls", "rate", "parked", "waits"), 0
    )
    assert harmless(line({**numbers, "phase": HOSTILE, "left": HOSTILE}))


def test_errors_and_hints_steer_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    output = Output()
    output.error(Rejected(f"{HOSTILE}\nerror: made up", hint=f"{HOSTILE}\nhint: made up"))
    output.error(ConfigError(f"job.yaml:1: {HOSTILE}\njob.yaml:2: another"))
    output.note(HOSTILE)
    told = capsys.readouterr().err
    assert harmless(told)
    assert "\nerror: made up" not in told
    assert "\nhint: made up" not in told
    assert "\njob.yaml:2: another\n" in told


def test_results_as_json_steer_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    Output(as_json=True).data({"title": HOSTILE})
    told = capsys.readouterr().out
    assert harmless(told)
    assert json.loads(told) == {"title": HOSTILE}


@pytest.mark.parametrize("name", ["=HYPERLINK(1)", "+cmd|x", "@SUM(A1)", "-2+3", "\t=1", "\r=1"])
def test_the_list_of_errors_holds_no_formula(name: str) -> None:
    assert guarded(name).startswith(f"'{name[0]}")
    assert unguarded(guarded(name)) == name
    assert csv_cell(name)[0] not in "=+@-\t\r"


@given(st.text(st.sampled_from("'=+a")))
def test_a_guarded_cell_is_read_back_as_it_was(text: str) -> None:
    assert unguarded(guarded(text)) == text


JOB = """\
version: 1
name: x
source: {kind: a_hypermedia, base_url: "https://a.example", auth: {flow: basic}}
target: {kind: a_hypermedia, base_url: "https://b.example", auth: {flow: basic}}
mapping: mapping.yaml
state: job.db
"""


async def parked(path: Path, asset: str, outcome: Outcome) -> None:
    """A state with one parked asset."""
    store = await SqlStore.open(path, SystemClock())
    run = (await store.begin("x", "run")).id
    await store.record(run, Shard("all"), Batch((Entry(AssetId(asset), Revision("1")),), None), ())
    (work,) = await store.claim(run, 1, timedelta(minutes=5))
    await store.complete(work, outcome)
    await store.close()


def test_the_list_of_errors_is_a_table_for_people(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB, encoding="utf-8")
    outcome = Outcome(
        "parked", cause=ParkReason.DIGEST, message="+cmd|x\nerror: made up", hint=STORABLE, named={"title": STORABLE}
    )
    asyncio.run(parked(tmp_path / "job.db", "7", outcome))
    out = tmp_path / "errors.csv"
    result = CliRunner().invoke(cli, ["errors", str(tmp_path / "job.yaml"), "--csv", str(out)])
    assert result.exit_code == 0, result.output
    (read,) = csv.DictReader(io.StringIO(out.read_text(encoding="utf-8-sig")))
    assert read["message"] == "'+cmd|x\\nerror: made up"
    assert harmless(read["hint"] + read["title"])


def text_of(console: Console) -> str:
    shown = console.file
    assert isinstance(shown, io.StringIO)
    return shown.getvalue().replace("\x1b[0m", "").replace("\x1b[1m", "").replace("\x1b[3m", "")


def test_keys_of_fields_are_no_emoji(capsys: pytest.CaptureFixture[str]) -> None:
    output = Output()
    output.table("fields.lib:heart:", ("fields.lib:star: is cut",), [("fields.lib:notes: is cut",)])
    output.note("fields.lib:notes: is cut")
    shown = capsys.readouterr()
    for text in ("lib:heart:", "lib:star: is cut", "lib:notes: is cut"):
        assert text in shown.out
    assert "lib:notes: is cut" in shown.err
