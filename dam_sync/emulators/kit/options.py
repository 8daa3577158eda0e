"""Options of an emulated service: the readings of its contract that it plays, and what a command line gave."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import Field
from typing import Any

from dam_sync.emulators.kit.environment import Json

SECOND = "second"
TAGS: Mapping[str, str] = {
    "no_tags": "the storage gives no entity tags and no dates with files",
    "weak_tags": "the storage gives weak entity tags with files",
}
"""Variants of every service: no contract says what a storage tells of the version of a file."""


def tags_of(plays: frozenset[str]) -> str:
    """What the storage says of the version of a file, see `Blob.tags`."""
    return "none" if "no_tags" in plays else "weak" if "weak_tags" in plays else "strong"


def plays_of(variant: str, variants: Iterable[str], second: frozenset[str]) -> frozenset[str]:
    """The variants that are named, separated by commas; the word `second` means the second reading of the contract.
    Raises ValueError for an unknown one."""
    words = {word.strip() for word in variant.split(",")} - {""}
    unknown = words - set(variants) - {SECOND}
    if unknown:
        raise ValueError(f"unknown variant {', '.join(sorted(unknown))}; there are {SECOND}, {', '.join(variants)}")
    return frozenset(words - {SECOND}) | (second if SECOND in words else frozenset())


def refuse_unknown(what: str, word: str, words: Iterable[str]) -> None:
    """Raises ValueError for a word that is none of these."""
    words = tuple(words)
    if word not in words:
        raise ValueError(f"unknown {what} {word!r}; there are {', '.join(words)}")


def given_options(
    fields: Iterable[Field[Any]], given: Mapping[str, object], floats: Iterable[str] = (), counts: Iterable[str] = ()
) -> dict[str, Json]:
    """What a caller or the command line gave, to make the options of. floats, counts: those that may come as text. A
    rate of 0 is no limit. Raises ValueError on an unknown name."""
    known = {field.name for field in fields if field.init}
    unknown = set(given) - known
    if unknown:
        raise ValueError(f"unknown option {', '.join(sorted(unknown))}; there are {', '.join(sorted(known))}")
    values: dict[str, Json] = dict(given)
    values |= {name: float(values[name]) for name in floats if name in values}
    values |= {name: int(values[name]) for name in counts if name in values}
    if values.get("rate") is not None:
        values["rate"] = float(values["rate"]) or None
    if values.get("variant") is None:
        values.pop("variant", None)
    return values
