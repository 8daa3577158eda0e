"""`waves` of a job file: parts of the library that are moved one after another, each with its own runs, verification,
freeze window and sign-off."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Self
from zoneinfo import ZoneInfo

from pydantic import BeforeValidator, Field, model_validator

from dam_sync.config.diagnostics import SourceMap
from dam_sync.config.side import StrictModel
from dam_sync.model.diagnostic import Diagnostic, Similar
from dam_sync.model.values import Json

NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
EXAMPLE = "for example 2026-11-27 18:00"
ZONE_MISSING = (
    "needs a time zone: add `zone: Europe/Paris`, or write the times with their offset, 2026-11-27 18:00+01:00"
)


def _moment(given: Json) -> Json:
    """A date with a time; with or without an offset."""
    if isinstance(given, str) and len(given.strip()) > len("2026-11-27"):
        try:
            return datetime.fromisoformat(given.strip())
        except ValueError:
            pass
    if not isinstance(given, datetime):
        raise ValueError(f"should be a date and a time, {EXAMPLE}")
    return given


def _names(given: Json) -> Json:
    """One name, or several."""
    return [given] if isinstance(given, str) else given


class FreezeConfig(StrictModel):
    """The time in which nobody edits the assets of a wave at the source: its runs write within it only. zone: of times
    without an offset."""

    from_: Annotated[datetime, BeforeValidator(_moment, json_schema_input_type=str), Field(alias="from")]
    to: Annotated[datetime, BeforeValidator(_moment, json_schema_input_type=str)]
    zone: ZoneInfo | None = None

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.begins >= self.ends:
            raise ValueError("should begin before it ends; exchange from and to")
        return self

    @property
    def begins(self) -> datetime:
        """From when on runs may write, in UTC."""
        return self._utc(self.from_)

    @property
    def ends(self) -> datetime:
        """Until when, in UTC."""
        return self._utc(self.to)

    @property
    def window(self) -> str:
        """From when until when, with the zone once."""
        begins, ends = self.shown(self.begins), self.shown(self.ends)
        return f"{begins.removesuffix(f' ({self.zone.key})')} to {ends}" if self.zone else f"{begins} to {ends}"

    def shown(self, moment: datetime) -> str:
        """A moment as the job file would write it, with its offset and zone."""
        local = moment.astimezone(self.zone or self.from_.tzinfo or UTC)
        return f"{local.isoformat(sep=' ', timespec='minutes')}{f' ({self.zone.key})' if self.zone else ''}"

    def _utc(self, given: datetime) -> datetime:
        """Raises ValueError for a time of which nobody knows when it is."""
        if given.tzinfo is not None:
            return given.astimezone(UTC)
        if self.zone is None:
            raise ValueError(ZONE_MISSING)
        early, late = (given.replace(tzinfo=self.zone, fold=fold) for fold in (0, 1))
        if early.utcoffset() != late.utcoffset():
            raise ValueError(f"{given:%Y-%m-%d %H:%M} happens twice or never in {self.zone.key}: write its offset")
        return early.astimezone(UTC)


class WaveConfig(StrictModel):
    """One wave. select: as in a mapping file, on top of what the mapping selects; nothing takes every asset that no
    wave above takes. after: waves that have to be signed off before."""

    name: Annotated[str, Field(pattern=NAME)]
    select: dict[str, Any] = Field(default_factory=dict)
    after: Annotated[tuple[str, ...], BeforeValidator(_names, json_schema_input_type=str | list[str])] = ()
    freeze: FreezeConfig | None = None


def wave_diagnostics(written: SourceMap) -> Iterator[Diagnostic]:
    """Names that occur twice, and waves after one that is not above them."""
    waves, above = written.data.get("waves"), list[str]()
    for index, wave in enumerate(waves if isinstance(waves, list) else ()):
        if isinstance(wave, Mapping):
            yield from _of_order(written, index, wave, above)
            above.append(str(wave.get("name")))


def _of_order(written: SourceMap, index: int, wave: Mapping[str, Json], above: list[str]) -> Iterator[Diagnostic]:
    if wave.get("name") in above:
        message = "another wave above has the same name"
        yield written.diagnostic(("waves", index, "name"), message, "give each wave a name of its own")
    after = _names(wave.get("after", ()))
    for name in after if isinstance(after, list | tuple) else ():
        if isinstance(name, str) and name not in above:
            hint = str(Similar(name, above)) if above else "the first wave is after none; remove the key"
            yield written.diagnostic(("waves", index, "after"), f"there is no wave {name} above this one", hint)
