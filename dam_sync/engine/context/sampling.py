"""What a sample says about everything it was drawn from: an exact upper bound. Pure.

The assets of a sample are chosen by a digest of their ids, so a sample of a size is one drawn at random without
replacement, and the number of assets in it that differ has a hypergeometric distribution.
"""

from __future__ import annotations

import hashlib
from math import exp, lgamma

from dam_sync.model.wording import counted

CONFIDENCE = 0.95
NEGLIGIBLE = 1e-18  # a probability that changes no sum


def most_different(population: int, sample: int, found: int, confidence: float = CONFIDENCE) -> int:
    """The largest number of the population that may differ if `found` of a sample do: with more, so few or fewer would
    be found with a probability of at most 1 - confidence. One-sided; the population if nothing was compared."""
    if sample >= population:
        return found
    least, most = found, population - (sample - found)
    while least < most:
        middle = (least + most + 1) // 2
        if at_most(found, population, middle, sample) > 1 - confidence:
            least = middle
        else:
            most = middle - 1
    return least


def at_most(found: int, population: int, differing: int, sample: int) -> float:
    """The probability of finding so many or fewer that differ in a sample, if so many of the population do."""
    first, usual = max(0, sample - (population - differing)), sample * differing // population
    whole, total = _choices(population, sample), 0.0
    for each in range(min(found, differing, sample), first - 1, -1):
        term = exp(_choices(differing, each) + _choices(population - differing, sample - each) - whole)
        total += term
        if each < usual and term < NEGLIGIBLE:
            break
    return min(1.0, total)


def is_sampled(asset: str, share: float) -> bool:
    """Whether an asset is in a sample of this share of everything: chosen by a digest of its id."""
    return int(hashlib.sha256(asset.encode()).hexdigest()[:8], 16) / 0x1_0000_0000 < share


def statement_of(population: int, sample: int, found: int, level: str) -> str:
    """What a verification may claim, in a sentence. sample: assets compared; found: how many of them differ."""
    differ = "differs" if found == 1 else "differ"
    if not sample:
        return "no asset was compared, so nothing is known about any"
    if sample >= population:
        return f"{found:,} of all {counted(sample, 'asset')} {differ} at the level {level}"
    most = most_different(population, sample, found)
    return (
        f"{found:,} of {sample:,} sampled of {counted(population, 'asset')} {differ} at the level {level}: with "
        f"{100 * CONFIDENCE:.0f} % confidence at most {most:,} of all ({_percent(most, population)}) differ"
    )


def _percent(part: int, whole: int) -> str:
    """Rounded up, so that the claim stays true."""
    tenths = -(-1000 * part // whole)
    return f"{tenths // 10}.{tenths % 10} %"


def _choices(number: int, chosen: int) -> float:
    """The logarithm of the number of ways to choose."""
    if not 0 <= chosen <= number:
        return float("-inf")
    return lgamma(number + 1) - lgamma(chosen + 1) - lgamma(number - chosen + 1)
