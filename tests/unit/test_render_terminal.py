"""Tables on a terminal and in a pipe."""

from __future__ import annotations

from rich.console import Console

from dam_sync.render.terminal import print_table


def lines(title: str, width: int) -> list[str]:
    console = Console(width=width)
    with console.capture() as shown:
        print_table(console, title, ("", ""), [("V3", "40")])
    return [line.rstrip() for line in shown.get().splitlines()]


def test_a_title_wider_than_its_table_stands_on_one_line() -> None:
    assert lines("What proves it", 80)[0] == "What proves it"


def test_a_title_wider_than_the_terminal_is_folded() -> None:
    assert lines("What proves it", 6)[:2] == ["What", "proves"]
