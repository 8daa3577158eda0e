"""A bounded dictionary that forgets the least recently used key."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """At most `capacity` values. Not for blocking code: it is used from one event loop only."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._values: OrderedDict[K, V] = OrderedDict()

    def __repr__(self) -> str:
        return f"LruCache({len(self._values)})"

    def __contains__(self, key: K) -> bool:
        return key in self._values

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: K) -> V | None:
        """The value, which counts as used now; None if the key is unknown."""
        if key in self._values:
            self._values.move_to_end(key)
        return self._values.get(key)

    def put(self, key: K, value: V) -> None:
        """Store a value and forget the least recently used ones beyond the capacity."""
        self._values[key] = value
        self._values.move_to_end(key)
        while len(self._values) > self._capacity:
            self._values.popitem(last=False)

    def drop(self, key: K) -> V | None:
        """Forget a key; its value, None if the key is unknown."""
        return self._values.pop(key, None)

    def snapshot(self) -> Mapping[K, V]:
        """A copy of all entries; does not count as use."""
        return dict(self._values)
