"""Accounts: how many values were read, and what became of them. For each path, read = the sum of the outcomes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

READ = "read"
WRITTEN, TRANSFORMED, DEFAULTED = "written", "transformed", "defaulted"
DROPPED, LOST, PARKED = "dropped", "lost", "parked"
OUTCOMES = (WRITTEN, TRANSFORMED, DEFAULTED, DROPPED, LOST, PARKED)
"""Written as it was; changed by a rule; replaced by the default of its rule; dropped by a rule of the mapping; not
carried, because no rule reads it or the target cannot hold it; set aside with its asset."""
FILLED, BY_DEFAULT, EMPTY = "filled", "by default", "empty"
"""What a field rule gave for an asset: a value from the source, its default or constant, or nothing."""


class AccountKey(NamedTuple):
    """What is counted. path: of values, or the place of a field rule for `FILLED`, `BY_DEFAULT` and `EMPTY`. rule: of
    the mapping, or the reason; empty for `READ`."""

    path: str
    outcome: str
    rule: str = ""


Account: TypeAlias = Counter[AccountKey]
"""Values of one asset, or of many."""
NOTHING: Mapping[AccountKey, int] = {}


@dataclass(frozen=True, slots=True)
class Imbalance:
    """A path of an account whose outcomes are not as many as the values that were read."""

    path: str
    read: int
    accounted: int


def parked_account(read: Mapping[str, int], cause: str, unmapped: Mapping[AccountKey, int] = NOTHING) -> Account:
    """The account of an asset that is set aside: all its values are, without those that would not be carried if it were
    written. read: how many, by path; unmapped: those that no rule of the mapping reads."""
    account: Account = Counter()
    for path, number in read.items():
        account[AccountKey(path, READ)] = number
        account[AccountKey(path, PARKED, cause)] = number
    for key, number in unmapped.items():
        account[key] += number
        account[AccountKey(key.path, PARKED, cause)] -= number
    return +account


def imbalances(account: Mapping[AccountKey, int]) -> Iterator[Imbalance]:
    """Where an account does not add up; nothing if it does."""
    read: Counter[str] = Counter()
    accounted: Counter[str] = Counter()
    for key, number in account.items():
        if key.outcome == READ:
            read[key.path] += number
        elif key.outcome in OUTCOMES:
            accounted[key.path] += number
    for path in sorted(read.keys() | accounted.keys()):
        if read[path] != accounted[path]:
            yield Imbalance(path, read[path], accounted[path])
