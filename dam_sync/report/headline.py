"""A plan or run in one sentence, and how it is to be taken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from dam_sync.model.account import DROPPED
from dam_sync.model.wording import agreed, bytes_text, counted
from dam_sync.report.loss_words import part_in_words
from dam_sync.report.parts import ATTENTION, GOOD, HIGH, LOW, STOP, Headline
from dam_sync.report.report import Report
from dam_sync.report.risks import risks_of
from dam_sync.report.terminal import duration

PLANNED = {"created": "created", "updated": "updated", "removed": "moved to the trash of the target"}
SHARES = 4  # parts whose values are not carried, named one by one
LEFT = (("unchanged", "unchanged"), ("skipped", "left out"), ("parked", "parked"))


def complete(report: Report) -> None:
    """Set what follows from the rest of a report: its risks and its headline. Safe to repeat."""
    report.risks = risks_of(report)
    report.headline = headline_of(report)


def headline_of(report: Report) -> Headline:
    """What a reader needs to know first. `stop`: some assets are held back until somebody decides; `attention`:
    something is lost, parked or at risk."""
    points = [risk.text for risk in report.risks if risk.level != LOW]
    held = any(risk.level == HIGH for risk in report.risks)
    return Headline(STOP if held else ATTENTION if points else GOOD, _text(report), tuple(points))


def _text(report: Report) -> str:
    parts = [_assets(report), *_untouched(report), *_values(report)]
    if report.estimate is not None:
        calls = report.source.total_calls + report.target.total_calls
        bound = "at least " if report.source.at_least or report.target.at_least else ""
        parts.append(f"about {_band(report.estimate.p50, report.estimate.p90)}, {bound}{counted(calls, 'call')}")
    return "; ".join(parts)


def _assets(report: Report) -> str:
    one, several = ("asset will be", "assets will be") if report.is_plan else ("asset was", "assets were")
    numbers = {words: report.counts.get(name, 0) for name, words in PLANNED.items()}
    done = [f"{counted(number, one, several)} {words}" for words, number in numbers.items() if number]
    size = f" ({bytes_text(report.bytes)} of files)" if report.bytes else ""
    written = ", ".join(done)
    return f"{written}{size}" if written else f"no asset {'will be' if report.is_plan else 'was'} changed"


def _untouched(report: Report) -> Iterator[str]:
    counts = report.counts
    if report.is_plan and not counts.get("updated") and not counts.get("removed"):
        yield "nothing that is at the target is changed or removed"
    left = [f"{counts[name]:,} {words}" for name, words in LEFT if counts.get(name)]
    if left:
        yield ", ".join(left)


def _values(report: Report) -> Iterator[str]:
    read = sum(account.read for account in report.accounts)
    gone = sum(account.dropped + account.lost for account in report.accounts)
    aside = sum(account.parked for account in report.accounts)
    waits = f"{agreed(aside, 'is', 'are')} set aside with {agreed(aside, 'its asset', 'their assets')}"
    if gone:
        shares = ", ".join(_shares(report, gone))
        yield f"{gone:,} of {counted(read, 'value')} {agreed(gone, 'is', 'are')} not carried: {shares}"
        if aside:
            yield f"{aside:,} {waits}"
    elif aside and aside < read:
        yield f"{aside:,} of {counted(read, 'value')} {waits}, {agreed(read - aside, 'the other', 'the others')}" + (
            f" {agreed(read - aside, 'is', 'are')} carried"
        )
    elif aside:
        yield f"{agreed(read, 'the only value', f'all {read:,} values')} {waits}"
    elif read:
        every = agreed(read, "the only value is carried", f"all {read:,} values are carried")
        yield every + ", if what is parked is written" * bool(report.counts.get("parked"))


def _shares(report: Report, gone: int) -> Iterator[str]:
    """What the values are that are not carried: first those that the mapping leaves out on purpose."""
    omitted = sum(one.values for one in report.omissions)
    if omitted:
        yield f"{omitted:,} left out by the mapping"
    on_purpose, others = {(DROPPED, one.rule) for one in report.omissions}, Counter[str]()
    for account in report.accounts:
        purpose = sum(why.values for why in account.reasons if (why.outcome, why.rule) in on_purpose)
        others[part_in_words(account.path)] += account.dropped + account.lost - purpose
    shown = (+others).most_common(SHARES)
    yield from (f"{number:,} {part}" for part, number in shown)
    if more := gone - omitted - sum(number for _, number in shown):
        yield f"{more:,} others"


def _band(least: float, most: float) -> str:
    shown: Iterable[str] = dict.fromkeys((duration(least), duration(most)))
    return " to ".join(shown)
