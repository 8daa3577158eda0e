"""What an action costs on any host: the calls of functions that it makes."""

from __future__ import annotations

from collections.abc import Callable
from cProfile import Profile
from typing import Any


def steps_of(action: Callable[[], Any]) -> int:
    """Calls of functions in Python, with those in C and with each step of a generator."""
    profile = Profile()  # counts in C: a function of Python for each call takes most of the time of what is counted
    profile.enable()
    try:
        action()
    finally:
        profile.disable()
    return sum(entry.callcount for entry in profile.getstats())
