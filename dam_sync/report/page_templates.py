"""What the templates of all pages share: every value is escaped, and times are shown as people read them."""

from __future__ import annotations

from datetime import datetime

from jinja2 import Environment, PackageLoader, select_autoescape

from dam_sync.model.safe_text import shown_name, visible_lines
from dam_sync.model.values import parse_instant
from dam_sync.model.wording import agreed, bytes_text, counted


def templates() -> Environment:
    """The environment of the pages."""
    made = Environment(
        loader=PackageLoader("dam_sync.report"),
        autoescape=select_autoescape(default=True),
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible_lines(value) if type(value) is str else value,
    )
    made.globals |= {"agreed": agreed, "counted": counted, "bytes_text": bytes_text, "shown_name": shown_name}
    made.filters["local_time"] = local_time
    return made


def local_time(text: str) -> str:
    """A timestamp in the time zone of this computer, and in UTC: `2026-11-29 07:23:03 CET (06:23:03 UTC)`. What is no
    timestamp stays as it is."""
    try:
        moment = parse_instant(text)
        local = moment.astimezone()
    except (ValueError, OverflowError, OSError):
        return text
    in_utc = moment.strftime("%Y-%m-%d %H:%M:%S UTC")
    return in_utc if not local.utcoffset() else f"{local:%Y-%m-%d %H:%M:%S %Z} ({_without_day(moment, local)})"


def _without_day(moment: datetime, local: datetime) -> str:
    """The time in UTC, with its day if that is another one."""
    return f"{moment:%H:%M:%S UTC}" if moment.date() == local.date() else f"{moment:%Y-%m-%d %H:%M:%S UTC}"
