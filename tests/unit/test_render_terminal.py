"""Tables on a terminal and in a pipe."""

from __future__ import annotations

from rich.console import Console

from dam_sync.render.terminal import print_table
from dam_sync.render.verdict import file_evidence, grouped


def lines(title: str, width: int) -> list[str]:
    console = Console(width=width)
    with console.capture() as shown:
        print_table(console, title, ("", ""), [("V3", "40")])
    return [line.rstrip() for line in shown.get().splitlines()]


def test_a_title_wider_than_its_table_stands_on_one_line() -> None:
    assert lines("What proves it", 80)[0] == "What proves it"


def test_a_title_wider_than_the_terminal_is_folded() -> None:
    assert lines("What proves it", 6)[:2] == ["What", "proves"]


def test_the_same_difference_of_many_assets_is_one_group_with_three_examples() -> None:
    found = [(str(n), f"t{n}", {"path": "fields.title", "expected": "X", "found": "Y"}) for n in range(200)]
    found += [("7", "t7", {"path": "tags", "expected": "", "found": "sea"})]
    rows = [row for group in grouped(found) for row in group.rows()]
    assert [row[:2] for row in rows] == [("fields.title", "200"), ("", ""), ("", ""), ("tags", "1")]
    assert rows[1][2:] == ("1", "t1", "X", "Y")


def test_evidence_is_told_by_kind_of_file() -> None:
    verdict = {"files": {"file": {"V3": 2, "V4": 5}, "attachments": {"V0": 1}}}
    assert file_evidence(verdict) == {"attachments, V0": 1, "current files, V4": 5, "current files, V3": 2}
