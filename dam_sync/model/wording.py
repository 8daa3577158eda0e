"""Parts of sentences: numbers with their nouns, and examples."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from datetime import timedelta

SEPARATOR = re.escape(os.sep)
ODD_PATHS = (
    (r"[\x00-\x1f]", "between double quotes \\n and \\t are a line break and a tab: write the path with /"),
    (r"[“”„‟‘’‚«»]", "the curly quotes count as a part of the name: write straight ones, or none"),
    (r"\\", "folders are separated by / here, not by \\"),
    (r"\$\{?[A-Za-z_]|%[A-Za-z_]+%", "variables are not expanded in paths: write the path itself"),
)
"""Characters of a path, and what to do about it if it leads nowhere; the first that matches."""
FRACTION = re.compile(r"(?<=:\d\d)\.\d+(?=Z)")


def counted(number: int, one: str, several: str = "") -> str:
    """The number before `one` or `several`, which otherwise is `one` with an s: `1 asset`, `1,200 assets`."""
    return f"1 {one}" if number == 1 else f"{number:,} {several or f'{one}s'}"


def agreed(number: int, one: str, several: str) -> str:
    """The verb or noun that agrees with the number, without it: `is` or `are`."""
    return one if number == 1 else several


def the_first(number: int, one: str) -> str:
    """`the first asset`, `the first 12 assets`."""
    return f"the first {one}" if number == 1 else f"the first {counted(number, one)}"


def bytes_text(size: float) -> str:
    """`812 bytes`, `4.5 kB`, `47.2 MB`."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:,.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:,.1f} TB"


def path_hint(path: str, usual: str) -> str:
    """What to do about a path that leads nowhere: first what looks wrong in how it is written. usual: the rest."""
    found = next((hint for pattern, hint in ODD_PATHS if pattern != SEPARATOR and re.search(pattern, path)), "")
    return "; ".join(filter(None, (found, usual)))


def timestamp_text(text: str) -> str:
    """A timestamp in UTC as people read it, without the part of a second."""
    return FRACTION.sub("", text)


def such_as(examples: Sequence[str], number: int) -> str:
    """The first of many names, in parentheses."""
    more = "…" if number > len(examples) else ""
    return f" ({', '.join(examples)}{more})" if examples else ""


def against_ours(skew: timedelta) -> str:
    """How far another clock is ahead of this computer's: `is 0:15:00 behind ours`."""
    return f"is {apart_text(skew)} ours"


def apart_text(skew: timedelta) -> str:
    """How far one clock is ahead of another: `0:15:00 behind`, `0:15:00 ahead of`."""
    by = timedelta(seconds=round(abs(skew).total_seconds()))
    return f"{by} {'behind' if skew < timedelta(0) else 'ahead of'}"
