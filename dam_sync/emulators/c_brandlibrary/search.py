"""A query's tree against assets and libraries (wire C 2.4)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

from dam_sync.emulators.c_brandlibrary.query import And, BadQuery, Node, Not, Or, Phrase, Span, Word, parse
from dam_sync.emulators.c_brandlibrary.records import Asset, Library, Refusal
from dam_sync.emulators.c_brandlibrary.render import embedded, extension
from dam_sync.emulators.c_brandlibrary.state import HOUR, Tenant
from dam_sync.emulators.kit.environment import Json

Getter: TypeAlias = Callable[[Asset], Sequence[str]]
Numbers: TypeAlias = Callable[[Asset], Sequence[int]]
Test: TypeAlias = Callable[[Asset], bool]

_WORDS = re.compile(r"\w+")
_RELATIVE = re.compile(r"now(?:([+-])(\d+)([mhdwM]))?$")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}$")
_UNITS: Mapping[str, int] = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800, "M": 2_592_000}
_CUSTOM = "custom_fields."


class Search:
    """Reads queries for one tenant; a malformed one finds nothing."""

    def __init__(self, tenant: Tenant) -> None:
        self._tenant = tenant
        self._exact = _exact(tenant)
        self._texts = _texts(tenant)
        self._numbers = _numbers()
        self._dates: Mapping[str, Numbers] = {
            "created_at": lambda asset: [asset.created],
            "updated_at": lambda asset: [asset.updated],
            "published_at": lambda asset: [asset.start] if asset.start is not None else [],
            "expires_at": lambda asset: [asset.end] if asset.end is not None else [],
        }

    def assets(self, text: str, rows: Iterable[Asset], library: str) -> list[Asset]:
        """The rows that match. Raises Refusal 404 for a custom field that the library has not."""
        try:
            test = self._test(parse(text), library)
        except BadQuery:
            return []
        found = [row for row in rows if test(row)]
        if not found and _CUSTOM in text and "value_404" in self._tenant.plays:
            raise Refusal(404, "No such custom field value")
        return found

    def libraries(self, text: str, rows: Iterable[Library]) -> list[Library]:
        """The libraries whose name or slug matches."""
        try:
            node = parse(text)
        except BadQuery:
            return []
        return [row for row in rows if _library_matches(node, row)]

    def _test(self, node: Node, library: str) -> Test:
        match node:
            case And(nodes):
                tests = [self._test(each, library) for each in nodes]
                return lambda asset: all(test(asset) for test in tests)
            case Or(nodes):
                tests = [self._test(each, library) for each in nodes]
                return lambda asset: any(test(asset) for test in tests)
            case Not(inner):
                test = self._test(inner, library)
                return lambda asset: not test(asset)
            case Span():
                return self._span(node)
            case Word("", "*"):
                return lambda asset: True
            case Word(field, "*"):
                values = self._values(field, library)
                return lambda asset: bool(values(asset))
        return self._leaf(node, library)

    def _leaf(self, node: Word | Phrase, library: str) -> Test:
        field, text = node.field, node.text
        if field in self._dates or field in self._numbers:
            return self._span(Span(field, text, text))
        values = self._values(field, library)
        if field in self._exact or field.endswith(".strict"):
            wanted = text.casefold()
            return lambda asset: any(value.casefold() == wanted for value in values(asset))
        match = _phrase(text) if isinstance(node, Phrase) else _word(text)
        return lambda asset: any(match(words_of(value)) for value in values(asset))

    def _values(self, field: str, library: str) -> Getter:
        """The texts of a field. Raises Refusal 404 for an unknown custom field, BadQuery for any other unknown one."""
        if field.startswith(_CUSTOM):
            return self._custom(field.removeprefix(_CUSTOM), library)
        if field.startswith("metadata."):
            return _metadata(field.removeprefix("metadata."))
        known = self._exact.get(field) or self._texts.get(field.removesuffix(".strict"))
        if known is not None:
            return known
        numbers = self._dates.get(field) or self._numbers.get(field)
        if numbers is None:
            raise BadQuery(f"no field {field}")
        found = numbers
        return lambda asset: [str(number) for number in found(asset)]

    def _custom(self, name: str, library: str) -> Getter:
        keys = {key.id for key in self._tenant.keys_of(library) if key.name == name}
        if not keys:
            raise Refusal(404, f"No such custom field: {name}")
        return lambda asset: [value.value for value in asset.values if value.key in keys]

    def _span(self, node: Span) -> Test:
        dates = self._dates.get(node.field)
        numbers = dates or self._numbers.get(node.field)
        if numbers is None:
            raise BadQuery(f"{node.field} has no order")
        ends = (node.first, node.last)
        first, last = (None if end is None else (self._moment(end) if dates else _number(end)) for end in ends)
        low = None if first is None else first[0] if node.closed else first[1] + 1
        high = None if last is None else last[1] if node.closed else last[0] - 1
        found = numbers

        def test(asset: Asset) -> bool:
            return any((low is None or low <= n) and (high is None or n <= high) for n in found(asset))

        return test

    def _moment(self, text: str) -> tuple[int, int]:
        """First and last millisecond of a day or a timestamp. Raises BadQuery."""
        relative = _RELATIVE.match(text)
        if relative:
            sign, count, unit = relative.groups()
            shift = int(count) * _UNITS[unit] * 1000 if count else 0
            at = self._tenant.now() + (-shift if sign == "-" else shift)
            return at, at
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            raise BadQuery(f"no date: {text}") from None
        start = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        at = round(start.timestamp() * 1000)
        return (at, at + round(timedelta(days=1).total_seconds() * 1000) - 1) if _DAY.match(text) else (at, at)


def words_of(text: str) -> list[str]:
    """The lower-cased words of a text."""
    return _WORDS.findall(text.lower())


def _word(text: str) -> Callable[[list[str]], bool]:
    if text.endswith("~"):
        near = text[:-1].lower()
        return lambda words: any(_distance(near, word) <= 2 for word in words)
    if text.endswith("*"):
        start = text[:-1].lower()
        return lambda words: any(word.startswith(start) for word in words)
    return _phrase(text)


def _phrase(text: str) -> Callable[[list[str]], bool]:
    wanted = words_of(text)
    size = len(wanted)
    if not size:
        return lambda words: False
    return lambda words: any(words[at : at + size] == wanted for at in range(len(words) - size + 1))


def _distance(one: str, other: str) -> int:
    """The edits between two words."""
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        last, row[0] = row[0], i
        for j, against in enumerate(other, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (letter != against))
    return row[-1]


def _number(text: str) -> tuple[int, int]:
    try:
        number = int(text)
    except ValueError:
        raise BadQuery(f"no number: {text}") from None
    return number, number


def _metadata(name: str) -> Getter:
    return lambda asset: [str(embedded(each)[name]) for each in asset.attachments if name in embedded(each)]


def _exact(tenant: Tenant) -> Mapping[str, Getter]:
    """Fields of which the whole value counts. Flags by date are as of the last full hour (wire C 3.1)."""

    def flag(test: Callable[[Asset, int], bool]) -> Getter:
        def values(asset: Asset) -> Sequence[str]:
            tick = max(tenant.now() // HOUR * HOUR, asset.updated)
            return ["true" if test(asset, tick) else "false"]

        return values

    return {
        "asset_key": lambda asset: [asset.id],
        "section_key": lambda asset: [asset.section],
        "collection_key": lambda asset: asset.collections,
        "asset_type": lambda asset: [tenant.sections[asset.section].default_asset_type, asset.type],
        "extension": lambda asset: [extension(each.filename) for each in asset.attachments],
        "filetype": lambda asset: [extension(each.filename) for each in asset.attachments],
        "approved": flag(lambda asset, tick: asset.approved),
        "expired": flag(lambda asset, tick: asset.end is not None and asset.end <= tick),
        "unpublished": flag(lambda asset, tick: asset.start is not None and asset.start > tick),
        "view_only": flag(lambda asset, tick: asset.view_only),
        "comments": flag(lambda asset, tick: False),
    }


def _texts(tenant: Tenant) -> Mapping[str, Getter]:
    """Fields of which the words count; the empty name is what bare words are searched in."""

    def labels(asset: Asset) -> Sequence[str]:
        return [tenant.labels[each].name for each in asset.labels if each in tenant.labels]

    def collections(asset: Asset) -> Sequence[str]:
        found = [tenant.collections[each] for each in asset.collections if each in tenant.collections]
        return [text for each in found for text in (each.name, each.id)]

    def people(asset: Asset) -> Sequence[str]:
        user = tenant.accounts.users.get(asset.creator)
        return [user.email, f"{user.first_name} {user.last_name}"] if user else []

    simple: Mapping[str, Getter] = {
        "name": lambda asset: [asset.name],
        "filename": lambda asset: [each.filename for each in asset.attachments],
        "description": lambda asset: [asset.description] if asset.description else [],
        "tags": lambda asset: [tag.name for tag in asset.tags],
        "section": lambda asset: [tenant.sections[asset.section].name, asset.section],
        "collection": collections,
        "label": labels,
        "labels": labels,
        "creator": people,
        "people": people,
    }
    everywhere = [simple[name] for name in ("name", "filename", "description", "tags")]

    def anywhere(asset: Asset) -> Sequence[str]:
        custom = [value.value for value in asset.values]
        return [text for values in everywhere for text in values(asset)] + custom

    return {**simple, "": anywhere}


def _numbers() -> Mapping[str, Numbers]:
    def of(member: Callable[[Json], int | None]) -> Numbers:
        def values(asset: Asset) -> Sequence[int]:
            found = [member(each.current) for each in asset.attachments if each.current]
            return [number for number in found if number is not None]

        return values

    return {
        "size": of(lambda stored: int(stored.blob.size)),
        "width": of(lambda stored: stored.width),
        "height": of(lambda stored: stored.height),
    }


def _library_matches(node: Node, library: Library) -> bool:
    match node:
        case And(nodes):
            return all(_library_matches(each, library) for each in nodes)
        case Or(nodes):
            return any(_library_matches(each, library) for each in nodes)
        case Not(inner):
            return not _library_matches(inner, library)
        case Word(field, text) | Phrase(field, text):
            values = {"": [library.name, library.slug], "name": [library.name], "slug": [library.slug]}.get(field, [])
            if field == "slug":
                return text == library.slug
            match_words = _phrase(text) if isinstance(node, Phrase) else _word(text)
            return any(match_words(words_of(value)) for value in values)
    return False
