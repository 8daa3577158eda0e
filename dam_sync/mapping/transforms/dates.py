"""Transforms that read and write dates and timestamps."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, time, tzinfo
from functools import cache
from typing import ClassVar
from zoneinfo import ZoneInfo, available_timezones

from pydantic import Field

from dam_sync.mapping.results import Note, Result, ValueOutcome, ValueType, aware, shown
from dam_sync.mapping.transforms.base import EachTransform, Problem, TransformContext, Words
from dam_sync.model.diagnostic import Similar
from dam_sync.model.loss_rules import LossRule
from dam_sync.model.values import Scalar, instant_text

ISO = "iso"


@cache
def _zones() -> frozenset[str]:
    """All time zones; finding them reads hundreds of files."""
    return frozenset(available_timezones())


class _Moment(EachTransform):
    """What `date` and `datetime` have in common."""

    short: ClassVar[str] = "in"
    takes: ClassVar[frozenset[ValueType]] = frozenset({ValueType.TEXT, ValueType.DATE, ValueType.INSTANT})
    in_: Words = Field(default=(ISO,), alias="in")
    out: str | None = Field(default=None, min_length=1)
    zone: str = "UTC"
    first_year: int | None = Field(default=None, ge=1, le=9900)

    def problems(self, context: TransformContext) -> Iterator[Problem]:
        """Unknown zones, formats that no date fits, and those that would make up a year."""
        if self.zone not in _zones():
            named = sorted(zone for zone in _zones() if zone.casefold().endswith(f"/{self.zone.casefold()}"))
            hint = f"did you mean {named[0]}?" if named else Similar(self.zone, _zones(), "write Europe/Paris")
            yield Problem(f"unknown time zone {self.zone}", hint)
        for text in (*self.in_, *([self.out] if self.out else [])):
            if text != ISO and not _usable(text):
                yield Problem(f"{text!r} is not a date format", f"write {ISO} or codes like %Y-%m-%d")
        if _names_year(self.out or ISO):
            for text in [form for form in self.in_ if _usable(form) and not _names_year(form)]:
                yield Problem(f"{text!r} names no year", "add %Y, or give an `out` without a year")
        for text in self.in_:
            yield from _guesses(text, self.first_year)

    @property
    def place(self) -> tzinfo:
        """The time zone of dates; UTC if it is unknown, which `problems` reports."""
        try:
            return ZoneInfo(self.zone)
        except (OSError, ValueError, KeyError):
            return UTC

    @property
    def forms(self) -> str:
        """The formats, for a message about a text that none of them fits."""
        named = any(re.search("%[aAbBh]", form) for form in self.in_)
        return " or ".join(self.in_) + ("; names of months and days are read in English" if named else "")

    def moment(self, text: str) -> datetime | date | None:
        """The first format that fits."""
        for form in self.in_:
            found = read_date(text, form, self.place, self.first_year)
            if found is not None:
                return found
        return None

    def dayless(self, value: Scalar, context: TransformContext, made: Result) -> Result:
        """The result, with a note if the value was read by a format that names no day."""
        if isinstance(value, date) or made.note is not None:
            return made
        text = context.languages.text(value) or ""
        form = next((form for form in self.in_ if read_date(text, form, self.place, self.first_year) is not None), ISO)
        if form == ISO or re.search(r"%[djUWVcxsD]", form):
            return made
        written = made.values[0]
        detail = (
            f"{shown(value)} is written as {shown(instant_text(written) if isinstance(written, datetime) else written)}"
        )
        return replace(made, note=Note(LossRule.NO_DAY, detail, ValueOutcome.KEPT))

    def spelt(self, moment: datetime | date) -> Result:
        """The value as text in the format `out`."""
        try:
            return Result((moment.strftime(self.out or ""),))
        except ValueError:
            return self.fail(f"{moment} cannot be written as {self.out}")


class Date(_Moment):
    name: ClassVar[str] = "date"
    summary: ClassVar[str] = (
        "a date, parsed by the first format of `in` that fits; a timestamp is converted to `zone` first. A format "
        "without a day gives the first one of the month or year, which is a named loss. Two digits of a year (`%y`) "
        "need `first_year`: with 1880 they stand for 1880 to 1979. `%B`, `%b`, `%A` and `%a` are names of months and "
        "days in English"
    )
    example: ClassVar[str] = '{date: {in: ["%d/%m/%Y", iso], out: "%Y-%m-%d", zone: Europe/Paris}}'

    def output_type(self, shape: ValueType) -> ValueType:
        """A date, or text if `out` is given."""
        return ValueType.TEXT if self.out else ValueType.DATE

    def each(self, value: Scalar, context: TransformContext) -> Result:
        found = value if isinstance(value, date) else self.moment(context.languages.text(value) or "")
        if found is None:
            return self.fail(f"{shown(value)} is not a date of the form {self.forms}")
        if not isinstance(found, datetime):
            return self.dayless(value, context, self.spelt(found) if self.out else Result((found,)))
        moment = _local(found, self.place)
        made = self.spelt(moment.date()) if self.out else Result((moment.date(),))
        return (
            replace(made, note=Note(self.name, "the time of day", ValueOutcome.KEPT))
            if moment.time() != time()
            else made
        )


class DateTime(_Moment):
    name: ClassVar[str] = "datetime"
    summary: ClassVar[str] = "a timestamp, parsed as by `date`; a date becomes midnight in `zone`"
    example: ClassVar[str] = '{datetime: {in: ["%d/%m/%Y %H:%M"], zone: Europe/Paris}}'

    def output_type(self, shape: ValueType) -> ValueType:
        """A timestamp, or text if `out` is given."""
        return ValueType.TEXT if self.out else ValueType.INSTANT

    def each(self, value: Scalar, context: TransformContext) -> Result:
        found = value if isinstance(value, date) else self.moment(context.languages.text(value) or "")
        if found is None:
            return self.fail(f"{shown(value)} is not a timestamp of the form {self.forms}")
        if not isinstance(found, datetime):
            found = datetime.combine(found, time(), self.place)
        return self.dayless(value, context, self._written(found))

    def _written(self, found: datetime) -> Result:
        if self.out == ISO:
            return Result((instant_text(aware(found)),))
        return self.spelt(_local(found, self.place)) if self.out else Result((aware(found),))


def _names_year(form: str) -> bool:
    return form == ISO or re.search(r"%[YyGcxD]", form) is not None


def _usable(form: str) -> bool:
    """Whether this format can read what it writes."""
    sample = datetime(2021, 11, 23, 13, 14, 15, tzinfo=UTC)
    try:
        datetime.strptime(sample.strftime(form), form).replace(tzinfo=UTC)
    except (ValueError, re.error):
        return False
    return "%" in form


def _guesses(form: str, first_year: int | None) -> Iterator[Problem]:
    """What the reader of dates would make up silently."""
    codes = _codes(form)
    if codes & TWO_DIGITS and first_year is None:
        hint = "add `first_year: 1900`, then 00 to 99 are 1900 to 1999; or write %Y"
        yield Problem(f"{form!r} names two digits of the year", hint)
    if codes & TWO_DIGITS and codes & WEEKS:
        yield Problem(f"{form!r} counts weeks of a year with two digits", "write %Y")
    if "p" in codes and "H" in codes and "I" not in codes:
        yield Problem(f"{form!r} ignores AM and PM", "write %I instead of %H")
    if "I" in codes and "p" not in codes:
        yield Problem(f"{form!r} does not say whether the hour is AM or PM", "write %H, or add %p")


TWO_DIGITS = frozenset("yx")
WEEKS = frozenset("UWV")


@cache
def _codes(form: str) -> frozenset[str]:
    """The codes of a format."""
    return frozenset() if form == ISO else frozenset(re.findall(r"%(.)", form, re.DOTALL))


def read_date(text: str, form: str, zone: tzinfo, first_year: int | None = None) -> datetime | date | None:
    """The text as a date of this format; None if it is none. zone: of a time of day without one. first_year: the first
    of the hundred years that two digits stand for; without it, no format with two digits reads anything."""
    return _read_iso(text, zone) if form == ISO else _read_as(text.strip(), form, zone, first_year)


def _read_as(text: str, form: str, zone: tzinfo, first_year: int | None) -> datetime | date | None:
    codes = _codes(form)
    try:
        found = datetime.strptime(text, form)  # noqa: DTZ007 -- the zone follows below
        if codes & TWO_DIGITS:
            if first_year is None:
                return None
            found = found.replace(year=first_year + (found.year - first_year) % 100)
    except (ValueError, re.error, OverflowError):
        return None
    if codes & frozenset("aA") and f"{found:%a}".lower() not in text.lower():
        return None  # another day of the week than the one that is written
    if "Z" in codes:
        if not re.search(r"\b(?:UTC|GMT)\b", text, re.IGNORECASE):
            return None  # a name that only this computer knows, without its offset
        zone = UTC
    if not re.search(r"%[HIMSfcXT]", form):
        return found.date()
    return found if found.tzinfo else found.replace(tzinfo=zone)


def _read_iso(text: str, zone: tzinfo) -> datetime | date | None:
    plain = text.strip()
    try:
        return date.fromisoformat(plain)
    except ValueError:
        pass
    try:
        found = datetime.fromisoformat(plain)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=zone)


def _local(moment: datetime, zone: tzinfo) -> datetime:
    try:
        return aware(moment).astimezone(zone)
    except OverflowError:
        return moment
