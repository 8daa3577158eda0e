"""An inventory as tables, which the terminal, CSV files and the HTML page show alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dam_sync.model.inventory import (
    Amount,
    Distinct,
    FieldInventory,
    Inventory,
    LeftOut,
    Risk,
    SideInventory,
    TermUse,
    VocabularyInventory,
)
from dam_sync.model.safe_text import csv_cell
from dam_sync.model.wording import agreed, bytes_text, counted

if TYPE_CHECKING:
    from _csv import Writer

SHOWN = 40  # rows of a table on a terminal
EXAMPLE = 60  # characters of a sample, on a terminal half as many
Opened = Callable[[Path, str], AbstractContextManager["Writer"]]


@dataclass(frozen=True, slots=True)
class InventoryTable:
    """name: of the CSV file. wide: columns with long texts, which the terminal leaves out; brief: those that only the
    terminal shows."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    wide: frozenset[str] = frozenset()
    brief: frozenset[str] = frozenset()

    def narrow(self) -> InventoryTable:
        """For a terminal: without its wide columns, and with the first rows only."""
        table = self._without(self.wide)
        if len(table.rows) <= SHOWN:
            return table
        more = (f"… and {len(table.rows) - SHOWN:,} more", *[""] * (len(table.columns) - 1))
        return InventoryTable(table.name, table.title, table.columns, (*table.rows[:SHOWN], more))

    def full(self) -> InventoryTable:
        """For a file: without its brief columns."""
        return self._without(self.brief)

    def dense(self) -> InventoryTable:
        """For a page: like `full`, without columns that are empty."""
        table = self.full()
        empty = (column for n, column in enumerate(table.columns) if not any(row[n] for row in table.rows))
        return table._without(frozenset(empty))

    def _without(self, columns: frozenset[str]) -> InventoryTable:
        kept = [n for n, column in enumerate(self.columns) if column not in columns]
        rows = tuple(tuple(row[n] for n in kept) for row in self.rows)
        return InventoryTable(self.name, self.title, tuple(self.columns[n] for n in kept), rows)


def headline(side: SideInventory) -> str:
    """What one side is, in one line."""
    total = side.total if side.total is not None else side.read
    parts = [counted(total, "asset"), size_text(side.bytes), f"{side.trashed:,} in the trash" if side.trashed else ""]
    user = f", as {side.user}" if side.user else ""
    release = f", release {side.release}" if side.release else ""
    return f"{side.role}: {side.kind} ({side.tenant}{user}{release}): {', '.join(filter(None, parts))}"


def tables_of(side: SideInventory) -> tuple[InventoryTable, ...]:
    """All tables of one side; those without rows are left out."""
    made = (
        _risks("rights", f"Rights and expiry: {scope_of(side)}", side.rights if side.read else ()),
        _fields(side),
        _vocabularies(side),
        _near(side),
        _unused(side),
        _containers(side),
        *(
            _amounts(side, name, amounts)
            for name, amounts in (("type", side.by_type), ("status", side.by_status), ("year", side.by_year))
        ),
        _duplicates(side),
        _risks("unseen", "What the credential cannot see", side.unseen),
        _left_out("not-moved", "What will not be moved", side.not_moved),
        _left_out("not-used", "Parts of the API that are not used", side.not_used),
    )
    return tuple(table for table in made if table.rows)


def scope_of(side: SideInventory) -> str:
    """Of how many assets a table is that is not counted by the service."""
    if side.whole:
        return agreed(side.read, "of the only asset", f"of all {side.read:,} assets")
    return f"of the {counted(side.read, 'asset that was read', 'assets that were read')}"


def write_csv(inventory: Inventory, folder: Path, opened: Opened) -> list[Path]:
    """One file for each table, `SIDE-TABLE.csv`; returns them."""
    written = []
    for side in inventory.sides:
        for table in (each.full() for each in tables_of(side)):
            path = folder / f"{side.role}-{table.name}.csv"
            with opened(path, "the table") as writer:
                writer.writerow(table.columns)
                writer.writerows([csv_cell(cell) for cell in row] for row in table.rows)
            written.append(path)
    return written


def dense_tables(side: SideInventory) -> list[InventoryTable]:
    """The tables of a page."""
    return [table.dense() for table in tables_of(side)]


def size_text(number: int | None) -> str:
    """`47.2 MB`; empty if unknown."""
    return "" if number is None else bytes_text(number)


def share_text(part: int, whole: int) -> str:
    """`12.5 %`; never rounded to 0 % or 100 % if it is not that."""
    if not whole:
        return ""
    share = 100 * part / whole
    if 0 < share < 0.1 or 99.9 < share < 100:
        return "< 0.1 %" if share < 1 else "> 99.9 %"
    return f"{share:.1f} %".replace(".0 %", " %")


def distinct_text(distinct: Distinct) -> str:
    """`120`, or `more than 2,000` beyond the bound of the counter."""
    return f"more than {distinct.number:,}" if distinct.exceeded else f"{distinct.number:,}"


def _fields(side: SideInventory) -> InventoryTable:
    columns = (
        *("key", "label", "type", "filled", "share", "distinct", "longest", "limit", "values", "for example"),
        *("languages", "vocabulary", "asset types", "most frequent", "samples"),
    )
    wide = frozenset({"label", "languages", "vocabulary", "asset types", "most frequent", "samples"})
    title = "Fields" if side.whole else f"Fields: values {scope_of(side)}; filled as far as the service counts them"
    return InventoryTable("fields", title, columns, tuple(map(_field, side.fields)), wide, frozenset({"for example"}))


def _field(known: FieldInventory) -> tuple[str, ...]:
    marks = [known.kind, "required" if known.required else "", "" if known.editable else "read-only"]
    marks += ["several" if known.multiple else "", "localized" if known.localized else ""]
    return (
        known.key,
        known.label if known.label != known.key else "",
        ", ".join(filter(None, marks)),
        f"{known.filled:,} of {known.assets:,}",
        share_text(known.filled, known.assets),
        distinct_text(known.distinct),
        f"{known.longest:,}" if known.longest else "",
        f"{known.max_length:,}" if known.max_length else "",
        f"up to {known.most:,}" if known.most > 1 else "",
        shortened(next(iter(known.samples), ""), EXAMPLE // 2),
        ", ".join(f"{locale}: {number:,}" for locale, number in known.languages.items()),
        known.vocabulary,
        ", ".join(known.types),
        "; ".join(f"{shortened(text)} ({number:,})" for text, number in known.common if number > 1),
        "; ".join(map(shortened, known.samples)),
    )


def _vocabularies(side: SideInventory) -> InventoryTable:
    columns = ("key", "label", "fields", "terms", "unused", "similar", "kind", "languages", "most used", "not in it")
    rows = tuple(map(_vocabulary, side.vocabularies))
    return InventoryTable("vocabularies", "Vocabularies", columns, rows, frozenset({"label", "languages", "most used"}))


def _vocabulary(one: VocabularyInventory) -> tuple[str, ...]:
    marks = ["closed" if one.closed else "open", "tree" if one.hierarchical else ""]
    return (
        one.key,
        one.label if one.label != one.key else "",
        ", ".join(one.fields),
        distinct_text(one.terms),
        _unused_text(one),
        f"{len(one.near):,}" if one.spelled else f"{len(one.near):,} (too many terms to compare spellings)",
        ", ".join(filter(None, marks)),
        ", ".join(f"{locale}: {number:,}" for locale, number in one.languages.items()),
        "; ".join(map(_use, one.common)),
        "; ".join(one.unlisted),
    )


def shortened(text: str, most: int = EXAMPLE) -> str:
    """A value on one line, at most so long."""
    plain = " ".join(text.split())
    return plain if len(plain) <= most else f"{plain[: most - 1]}…"


def _unused_text(one: VocabularyInventory) -> str:
    if not one.fields:
        return "no field has its terms"
    return "unknown" if one.unused_number is None else f"{one.unused_number:,}"


def _near(side: SideInventory) -> InventoryTable:
    rows = [(one.key, near.why, "; ".join(map(_use, near.terms))) for one in side.vocabularies for near in one.near]
    return InventoryTable(
        "similar-terms", "Terms that may mean the same", ("vocabulary", "differ in", "terms"), tuple(rows)
    )


def _unused(side: SideInventory) -> InventoryTable:
    rows = [(one.key, term) for one in side.vocabularies for term in one.unused]
    title = "Terms that neither an asset nor a used term below them needs"
    return InventoryTable("unused-terms", title, ("vocabulary", "term"), tuple(rows))


def _containers(side: SideInventory) -> InventoryTable:
    rows = [(one.kind, one.path, "unknown" if one.assets is None else f"{one.assets:,}") for one in side.containers]
    title = f"Containers: {distinct_text(side.containers_number)}"
    return InventoryTable("containers", title, ("kind", "path", "assets directly in it"), tuple(rows))


def _amounts(side: SideInventory, name: str, amounts: Mapping[str, Amount]) -> InventoryTable:
    counted = all(amount.counted for amount in amounts.values())
    title = f"Assets by {name}" if counted else f"Assets by {name}, {scope_of(side)}"
    if name == "year":
        title += " (of creation, otherwise of import)"
    rows = ((key or "(none)", f"{one.assets:,}", size_text(one.bytes)) for key, one in amounts.items())
    return InventoryTable(f"by-{name}", title, (name, "assets", "size"), tuple(rows))


def _duplicates(side: SideInventory) -> InventoryTable:
    rows = [
        (one.name, size_text(one.size), f"{one.assets:,}", ", ".join(one.examples)) for one in side.duplicates.examples
    ]
    columns = ("file", "size", "assets", "for example")
    return InventoryTable("duplicates", f"Assets with equal files: {duplicates_text(side)}", columns, tuple(rows))


def duplicates_text(side: SideInventory) -> str:
    """How files were compared, and what was found; empty if there was nothing to compare."""
    found = side.duplicates
    if not found.compared:
        return ""
    how = "digest" if found.by == "digest" else f"{found.by}, because the service publishes no digest"
    more = "; most files were compared with the first ones only" if found.exceeded else ""
    copies = f"{counted(found.surplus, 'copy', 'copies')}, which {agreed(found.surplus, 'takes', 'take')}"
    have = f"{found.groups:,} of them {agreed(found.groups, 'has', 'have')} {copies} {size_text(found.bytes)}"
    return f"{counted(found.compared, 'file')} compared by {how}: {have if found.groups else 'no two are equal'}{more}"


def _risks(name: str, title: str, risks: Iterable[Risk]) -> InventoryTable:
    rows = ((one.what, "" if one.assets is None else f"{one.assets:,}", ", ".join(one.examples)) for one in risks)
    return InventoryTable(name, title, ("what", "number", "for example"), tuple(rows))


def _left_out(name: str, title: str, left_out: Iterable[LeftOut]) -> InventoryTable:
    rows = ((one.what, "" if one.number is None else f"{one.number:,}", one.why, one.where) for one in left_out)
    columns = ("what", "number", "why", "documented in")
    return InventoryTable(name, title, columns, tuple(rows), frozenset({"documented in"}))


def _use(term: TermUse) -> str:
    return term.path if term.assets is None else f"{term.path} ({term.assets:,})"


def texts_of(inventory: Inventory) -> Iterator[tuple[str, tuple[InventoryTable, ...], tuple[str, ...]]]:
    """For a terminal: of each side its headline, its tables and its notes."""
    for side in inventory.sides:
        head = f"{headline(side)}\n{side.reading}\n{duplicates_text(side)}".rstrip()
        yield head, tuple(each.narrow() for each in tables_of(side)), side.notes
