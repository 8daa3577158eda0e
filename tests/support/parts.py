"""A service whose files go in parts from a few bytes on, so that a test can look at every part."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module

import pytest

from tests.support.profiles import profile_of


@contextmanager
def small_parts(kind: str) -> Iterator[None]:
    """The numbers of the adapter's `facts` that say how large parts are, as small as its Trial says."""
    facts, part = import_module(f"dam_sync.services.{kind}.facts"), profile_of(kind).part
    if facts.LIMITS.parts is None:
        yield
        return
    bounds = replace(facts.LIMITS.parts, preferred=part, least=part, most=part)
    small = {
        **dict.fromkeys(("SINGLE_BYTES", "CHUNK_BYTES", "PART_BYTES"), part),
        "BOUNDS": bounds,
        "LIMITS": replace(facts.LIMITS, single_bytes=part, parts=bounds),
    }
    with pytest.MonkeyPatch.context() as patch:
        for name in small.keys() & vars(facts).keys():
            patch.setattr(facts, name, small[name])
        yield
