"""What a person should know of an inventory before its tables: how much there is, what cannot be moved, what needs a
decision."""

from __future__ import annotations

from collections.abc import Iterator

from dam_sync.model.inventory import Inventory, SideInventory
from dam_sync.model.wording import counted
from dam_sync.report.inventory import InventoryTable, size_text

SHOWN = 3  # names of vocabularies


def summary_of(inventory: Inventory) -> InventoryTable:
    """A row per finding: what it is about, of which side, and the finding."""
    rows = [("in short", "", verdict_of(inventory))]
    rows += [(side.role, side.kind, _amount(side)) for side in inventory.sides]
    rows += [("not moved", side.role, text) for side in inventory.sides for text in _not_moved(side)]
    rows += [("to decide", role, text) for role, text in decisions_of(inventory)]
    return InventoryTable("summary", "Summary", ("", "side", "finding"), tuple(rows))


def decisions_of(inventory: Inventory) -> list[tuple[str, str]]:
    """What a person should decide or look at, each with the side that it is about."""
    return [(side.role, text) for side in inventory.sides for text in _decisions(side)]


def verdict_of(inventory: Inventory) -> str:
    """How much there is, and how much there is to decide, in one sentence."""
    decisions = len(decisions_of(inventory))
    libraries = " and ".join(f"{counted(_total(side), 'asset')} in the {side.role}" for side in inventory.sides)
    todo = f"{counted(decisions, 'thing')} to decide or to look at before a plan" if decisions else "nothing to decide"
    return f"{libraries}; {todo}"


def _total(side: SideInventory) -> int:
    return side.total if side.total is not None else side.read


def _amount(side: SideInventory) -> str:
    size = f", {size_text(side.bytes)}" if side.bytes is not None else ", size not known"
    trash = f", and {side.trashed:,} in the trash" if side.trashed else ""
    return f"{counted(_total(side), 'asset')}{size}{trash}; {side.reading}"


def _not_moved(side: SideInventory) -> Iterator[str]:
    """What is there and stays behind; then how many kinds of things there may be of which no number is known."""
    yield from (f"{one.number:,} × {one.what}: {one.why}" for one in side.not_moved if one.number)
    unknown = [one for one in side.not_moved if one.number is None]
    if unknown:
        kinds = counted(len(unknown), "kind")
        yield f"{kinds} of things that the service does not count: see the table “What will not be moved”"


def _decisions(side: SideInventory) -> Iterator[str]:
    yield from (f"{text}: {hint}" for text, hint in side.undecided)
    yield from (f"{counted(one.assets, 'asset')}: {one.what}" for one in (*side.rights, *side.unseen) if one.assets)
    found = side.duplicates
    if found.groups:
        yield f"{counted(found.surplus, 'asset')} whose files are copies of others ({size_text(found.bytes)})"
    yield from _about_vocabularies(side)


def _about_vocabularies(side: SideInventory) -> Iterator[str]:
    near = [one for one in side.vocabularies if one.near]
    if near:
        groups = counted(sum(len(one.near) for one in near), "group")
        yield f"{groups} of terms that may mean the same: {_named([one.key for one in near])}"
    unlisted = [one.key for one in side.vocabularies if one.unlisted]
    if unlisted:
        yield f"values that are not in their vocabulary: {_named(unlisted)}"


def _named(keys: list[str]) -> str:
    more = f" and {len(keys) - SHOWN:,} more" if len(keys) > SHOWN else ""
    return f"{', '.join(keys[:SHOWN])}{more}"
