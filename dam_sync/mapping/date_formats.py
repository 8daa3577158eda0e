"""Recognizes in which formats the texts of a sample give dates, for a first `date` or `datetime` step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC

from dam_sync.mapping.results import shown
from dam_sync.mapping.transforms.dates import ISO, read_date

CLEAR = (
    *("%Y/%m/%d", "%Y.%m.%d", "%Y:%m:%d", "%Y:%m:%d %H:%M:%S", "%Y/%m/%d %H:%M:%S", "%Y/%m/%d %H:%M"),
    *("%d %B %Y", "%d %b %Y", "%d. %B %Y", "%d-%b-%Y", "%B %d, %Y", "%b %d, %Y", "%B %d %Y"),
)
"""Formats that read a text in one way only."""
EITHER = tuple(
    (f"%d{mark}%m{mark}%Y{clock}", f"%m{mark}%d{mark}%Y{clock}")
    for mark in ("/", "-", ".")
    for clock in ("", " %H:%M", " %H:%M:%S")
)
"""Formats with the day first and with the month first, between which only some dates decide."""
DAY_FIRST = "."  # between the parts of a date: with dots the day comes first, unless dates prove the opposite
PARTIAL = ("%Y", "%Y-%m", "%B %Y", "%b %Y", "%m/%Y")
"""Formats without a day."""
SHOWN = 40  # characters of an example


@dataclass(frozen=True, slots=True)
class DateFormats:
    """formats: the first that fits a text of the sample reads it as it is meant. read: how many of `total` values they
    read; dayless: of these, values that name no day. undecided: pairs of formats of which the sample does not say which
    one is meant, with an example; unread: an example of the values that no known format reads."""

    formats: tuple[str, ...] = ()
    total: int = 0
    read: int = 0
    dayless: int = 0
    undecided: tuple[tuple[str, str, str], ...] = ()
    unread: str = ""

    @property
    def decided(self) -> bool:
        """Whether all values are days that it reads."""
        return 0 < self.total == self.read and not self.dayless

    @property
    def looked_like_dates(self) -> bool:
        """Whether any value is read, or would be if somebody decided how."""
        return bool(self.read or self.undecided)

    @property
    def arguments(self) -> tuple[str, ...]:
        """What `in` of the step has to name, ISO dates always among it; empty if it reads everything without."""
        more = tuple(form for form in self.formats if form != ISO)
        return (ISO, *more) if more else ()

    @property
    def summary(self) -> str:
        """What the step does with the sample, for the comment of its line."""
        if not self.total:
            return ""
        parts = [f"reads {self.read:,} of {self.total:,} sampled values"]
        if self.dayless:
            parts.append(f"{self.dayless:,} of them without a day: the first one is written")
        return ", ".join(parts)

    def open_points(self) -> Iterable[str]:
        """What a person has to decide, one sentence each."""
        for day, month, example in self.undecided:
            yield f"the sample does not decide whether {example} begins with the day or the month: add {day} or {month}"
        if self.unread:
            yield f"no known format reads {self.unread}"


def formats_of(texts: Mapping[str, int]) -> DateFormats:
    """The formats in which these texts give dates. texts: each with the number of values that are equal to it."""
    left = Counter({text: number for text, number in texts.items() if text.strip()})
    total, found, undecided = left.total(), list[str](), list[tuple[str, str, str]]()
    for form in (ISO, *CLEAR):
        _take(form, left, found)
    for day_first, month_first in EITHER:
        chosen, example = _chosen(day_first, month_first, left)
        if chosen:
            _take(chosen, left, found)
        elif example:
            undecided.append((day_first, month_first, shown(example, SHOWN)))
    before = left.total()
    for form in PARTIAL:
        _take(form, left, found)
    dayless = before - left.total()
    either = [form for pair in undecided for form in pair[:2]]
    unread = next((text for text, _ in left.most_common() if not _read_by(either, text)), "")
    return DateFormats(
        tuple(found), total, total - left.total(), dayless, tuple(undecided), shown(unread, SHOWN) if unread else ""
    )


def _take(form: str, left: Counter[str], found: list[str]) -> None:
    """Add a format that reads some of the texts, which are left no more."""
    read = [text for text in left if _read_by((form,), text)]
    if read:
        found.append(form)
    for text in read:
        del left[text]


def _chosen(day_first: str, month_first: str, texts: Collection[str]) -> tuple[str, str]:
    """The format of which some texts prove that it is meant, unless others prove the opposite, or which is usual; and a
    text that either of them reads, or the other one."""
    days = [text for text in texts if _read_by((day_first,), text)]
    months = [text for text in texts if _read_by((month_first,), text)]
    only_days, only_months = set(days) - set(months), set(months) - set(days)
    if only_days and only_months:
        chosen = ""
    elif only_months:
        chosen = month_first
    else:
        chosen = day_first if only_days or (days and day_first[2] == DAY_FIRST) else ""
    return chosen, next(iter(days or months), "")


def _read_by(forms: Iterable[str], text: str) -> bool:
    return any(read_date(text, form, UTC) is not None for form in forms)
