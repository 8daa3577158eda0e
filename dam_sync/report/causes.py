"""Causes of parking in words: what a cause is called, and what it means in a sentence."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, assert_never

from dam_sync.model.exposure import ExposureResult, meaning_of
from dam_sync.model.loss_rules import LossRule
from dam_sync.model.parking import (
    OF_MAPPING_RULES,
    ExposureCause,
    KeepsFailing,
    MappingCause,
    OtherCause,
    ParkCause,
    ParkReason,
    park_cause,
)
from dam_sync.model.wording import counted
from dam_sync.report.loss_words import parts_in_words

CALLED = {
    "ContractBroken": "undocumented response",
    "Denied": "access denied",
    "Throttled": "rate limit",
    "Transient": "no usable response",
}
"""What errors are called that park an asset only if they come again and again."""


def cause_in_words(cause: ParkCause) -> str:
    """A cause as people read it: the name of an error in words. The words are the cause in options, too."""
    match cause:
        case ParkReason():
            return cause.called
        case KeepsFailing(inner):
            return str(cause).removesuffix(str(inner)) + cause_in_words(inner)
        case OtherCause(code):
            return CALLED.get(code, code)
        case MappingCause() | ExposureCause():
            return str(cause)
        case _:
            assert_never(cause)


def cause_of(words: str, causes: Collection[ParkCause]) -> ParkCause | None:
    """The cause among these that is called so, in words or as the state calls it; None if there is none."""
    given = park_cause(words)
    return given if given in causes else next((each for each in causes if words == cause_in_words(each)), None)


def sentence(cause: ParkCause) -> str:
    """The meaning of a cause; empty if it explains itself."""
    match cause:
        case ParkReason() | KeepsFailing():
            return cause.meaning
        case ExposureCause(rules):
            meanings = (meaning_of(rule, ExposureResult.REFUSED) for rule in rules)
            return f"more people would see the asset: {'; '.join(meanings)}"
        case MappingCause(place, rule):
            return mapping_sentence(place, rule)
        case OtherCause():
            return ""
        case _:
            assert_never(cause)


def why_parked(row: Mapping[str, Any]) -> str:
    """The meaning of a row of parked assets of a report; that of an older release has none."""
    return row.get("text") or sentence(park_cause(row["cause"]))


def mapping_sentence(place: str, rule: str, said: str = "", most: int | None = None) -> str:
    """Why a line of the mapping parks: `technique is longer than 40 characters, and the mapping says `on_cut: park``.
    said: what the mapping says; most: characters that are allowed; both as far as they are known."""
    part = parts_in_words(place.removesuffix(f".{LossRule.WHEN}") if rule == LossRule.WHEN else place)
    allowed = counted(most, "character") if most is not None else "the target or the mapping allows"
    words = OF_MAPPING_RULES.get(rule, "{part} has a value that `{rule}` cannot convert")
    text = words.replace("{rule}", rule).replace("{most}", allowed).replace("{part}", part)
    return f"{text}, and the mapping says `{said}`" if said else text
