"""Quick-search text: the few forms this service needs of service E's query language (wire E 2.4)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from dam_sync.model.errors import InvalidValue
from dam_sync.model.values import instant_text

TAGS = "keywords"
SYNTAX = frozenset('{}()[]":*\\')
SAFE = re.compile(r"[A-Za-z0-9_-]+")


def seconds(moment: datetime) -> str:
    """A timestamp as queries take it: UTC, whole seconds, `Z`."""
    return instant_text(moment.replace(microsecond=0))


def added_in(since: datetime | None, until: datetime | None) -> str:
    """Uploaded between the two, on either reading of range ends at least (since, until); empty when both are open."""
    if since and until:
        return f"DateAdded:[{seconds(since)} to {seconds(until)}]"
    if since:
        return f"DateAdded:[after {seconds(since)}]"
    return f"DateAdded:[before {seconds(until)}]" if until else ""


def edited_between(since: datetime | None, until: datetime | None) -> str:
    """Last changed after `since` and before `until`; empty when both are open."""
    parts = [f"lastEditDate:[after {seconds(since)}]"] if since else []
    if until:
        parts.append(f"lastEditDate:[before {seconds(until)}]")
    return joined(*parts)


def exactly(field: str, value: str) -> str:
    """A field that holds exactly this value. Raises InvalidValue for characters that are syntax."""
    if not SAFE.fullmatch(value):
        raise InvalidValue(
            f"cannot search for {value!r}", hint="keys to be searched may contain letters, digits, - and _"
        )
    return f"{field}:({{{value}}})"


def having(field: str, value: str) -> str:
    """A field that has this value, perhaps among others; empty for one with characters that are syntax."""
    return "" if SYNTAX.intersection(value) else f"{field}:({{{value}}})"


def tagged(tag: str, fields: Mapping[str, Sequence[str]]) -> str:
    """Assets with this tag. A tenant may have a field that is called as tags are in queries; then any text counts, and
    it is empty for a tag that one of the asset's own fields has, too."""
    if TAGS not in fields:
        return having(TAGS, tag)
    said = any(tag in text.casefold() for texts in fields.values() for text in texts)
    return "" if said or SYNTAX.intersection(tag) else f"{{{tag}}}"


def is_filled(field: str) -> str:
    """A field that has a value."""
    return f"{field}:-(isempty)"


def in_category(path: tuple[str, ...]) -> str:
    """In the category of this full path, where the service gave no query of its own; a slash inside a name as `\\/`
    (spec 002, Resources)."""
    parts = (part.replace("/", "\\/") for part in path)
    return f"category:({{{'/'.join(parts)}}})"


def joined(*parts: str) -> str:
    """All of them must hold; empty parts are left out."""
    return " AND ".join(part for part in parts if part)
