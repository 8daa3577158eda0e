"""Options of an emulated service: what a command line gives comes as text, and unknown words are refused."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

SERVICES = ("b_documents", "c_brandlibrary", "d_templates", "e_profiles")


def options_of(service: str) -> Callable[..., Any]:
    made: Callable[..., Any] = import_module(f"dam_sync.emulators.{service}.options").options_of
    return made


@pytest.mark.parametrize("service", SERVICES)
def test_text_becomes_numbers_and_a_rate_of_nothing_is_no_limit(service: str) -> None:
    found = options_of(service)({"lag": "2.5", "rate": "0", "variant": None})
    assert (found.lag, found.rate, found.plays) == (2.5, None, frozenset())


@pytest.mark.parametrize("service", SERVICES)
def test_the_second_reading_is_one_word(service: str) -> None:
    module = import_module(f"dam_sync.emulators.{service}.options")
    assert options_of(service)({"variant": "second"}).plays == module.SECOND
    one = sorted(set(module.VARIANTS) - module.SECOND)[:1]
    given = ",".join(["second", *one])
    assert options_of(service)({"variant": given}).plays == module.SECOND | set(one)


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"variant": "third"}, "unknown variant third; there are second, "),
        ({"colour": "blue"}, "unknown option colour;"),
    ],
)
def test_unknown_words_are_refused(service: str, given: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        options_of(service)(given)
