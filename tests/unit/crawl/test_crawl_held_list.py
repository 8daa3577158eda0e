"""A list that is kept in memory as a whole has a bound, whatever a service returns."""

from __future__ import annotations

import pytest

from dam_sync.crawl.held_list import HeldList
from dam_sync.model.errors import ContractBroken


def test_so_many_bytes_of_one_list_are_held_in_memory_and_no_more() -> None:
    held = HeldList(largest=10_000)
    for _ in range(5):
        held.take([{"id": "x" * 1900}])
    with pytest.raises(ContractBroken, match="a list has more than 10,000 bytes"):
        held.take([{"id": "x" * 500}])


def test_one_list_does_not_count_for_another() -> None:
    for _ in range(5):
        HeldList(largest=1000).take([{"id": "x" * 500}])
