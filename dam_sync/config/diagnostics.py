"""Errors in files that people write: where, which key, what is wrong, and the nearest right key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from difflib import get_close_matches
from functools import lru_cache
from os import PathLike, fsdecode
from typing import Any, TypeAlias

from dam_sync.config.positions import position_within
from dam_sync.config.spelling import Spelt
from dam_sync.model.diagnostic import Diagnostic, nearest
from dam_sync.model.values import Json

KeyPath: TypeAlias = tuple[str | int, ...]
"""A place in a file: keys and positions from the top down."""

DEEPEST = 40
MOST_NODES = 200_000


@dataclass(frozen=True, slots=True)
class SourceMap:
    """A file as read: plain data with text keys, and the line and column of every key and item.

    values: line and column of the value of a key. files: the file of a place, if it is another one; it holds for all
    places inside. texts: of the files, by name. coded: a program gave the data, so that there are no lines.
    """

    file: str
    data: Json
    lines: Mapping[KeyPath, tuple[int, int]] = field(default_factory=dict)
    values: Mapping[KeyPath, tuple[int, int]] = field(default_factory=dict)
    files: Mapping[KeyPath, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)
    coded: bool = False

    @classmethod
    def of_code(cls, name: str, data: Mapping[str, Any]) -> SourceMap:
        """The keys of a file as a program gives them: a path is text there, and a tuple a list."""
        return cls(name, {key: _written(value) for key, value in data.items()}, coded=True)

    def file_of(self, place: KeyPath) -> str:
        """The file in which this place, or the nearest enclosing one, is written."""
        ends = (place[:length] for length in range(len(place), 0, -1))
        return next((self.files[end] for end in ends if end in self.files), self.file)

    def position(self, place: KeyPath) -> tuple[int, int]:
        """Line and column of this place, or of the nearest enclosing one."""
        for length in range(len(place), 0, -1):
            found = self.lines.get(place[:length])
            if found is not None:
                return found
        return (0, 0) if self.coded else (1, 1)

    def diagnostic(self, place: KeyPath, message: str, hint: str = "") -> Diagnostic:
        """A diagnostic at this place."""
        line, column = self.position(place)
        return Diagnostic(self.file_of(place), line, dotted(place), message, hint, column=column)

    def diagnostic_within(self, place: KeyPath, line: int, column: int, message: str, hint: str = "") -> Diagnostic:
        """A diagnostic at a character of the text at this place; line and column count from 1 in that text."""
        file, start = self.file_of(place), self.values.get(place)
        text = self.texts.get(file)
        if start is None or text is None:
            return self.diagnostic(place, message, hint)
        there = position_within(text, start, line, column)
        return Diagnostic(file, there[0], dotted(place), message, hint, column=there[1])


def _written(value: Any) -> Json:
    if isinstance(value, PathLike):
        return fsdecode(value)
    if isinstance(value, Mapping):
        return {key: _written(each) for key, each in value.items()}
    return [_written(each) for each in value] if isinstance(value, (list, tuple)) else value


@lru_cache(maxsize=10_000)  # every asset asks for the places of all its lines
def dotted(place: KeyPath) -> str:
    """A place in dotted notation: `fields.title.pipe[2]`; the top of a file is `file`."""
    text = ""
    for part in place:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text or "file"


def source_map_of(file: str, node: Json, text: str = "") -> SourceMap:
    """Plain data and lines from a round-trip YAML reader, whose nodes have their position in `lc`, and its text.

    Raises ValueError for a document that is nested too deeply or grows too large through aliases.
    """
    found = Positions()
    return SourceMap(file, _plain(node, (), found), found.lines, found.values, texts={file: text} if text else {})


def diagnostics_of(written: SourceMap, errors: Iterable[Mapping[str, Json]], schema: Json) -> Iterator[Diagnostic]:
    """The diagnostics behind a validator's errors (`type`, `loc`, `msg`); `schema` is the JSON Schema of the file.

    No value from the file is repeated.
    """
    for error in errors:
        place = real_place(written.data, tuple(error["loc"]))
        if error["type"] == "extra_forbidden":
            yield _unknown_key(written, place, schema)
        elif error["type"] == "missing":
            yield written.diagnostic(place[:-1], f"{place[-1]} is missing", _missing(schema, place))
        elif error["type"] in ("model_type", "dict_type"):
            yield written.diagnostic(place, "should contain keys and values", "write {key: value}")
        elif error["type"] in ("tuple_type", "list_type"):
            yield written.diagnostic(place, error_text(error), _as_list(written.data, place, schema))
        elif error["type"] == "string_type":
            yield _no_text(written, place, error)
        else:
            yield written.diagnostic(place, error_text(error))


def _no_text(written: SourceMap, place: KeyPath, error: Mapping[str, Json]) -> Diagnostic:
    found = _at(written.data, place)
    if found is None and _is_there(written.data, place):
        return written.diagnostic(place, "is empty", "write a value, or remove the key")
    return written.diagnostic(place, error_text(error), "" if isinstance(found, dict | list) else "put it in quotes")


def _as_list(data: Json, place: KeyPath, schema: Json) -> str:
    """How one item is written as a list, if it is a word or a key that the schema knows."""
    data = _at(data, place)
    items = [node for found in _nodes_at(schema, (*place, 0)) for node in _resolved(schema, found)]
    words = [word for node in items for word in node.get("enum", ())]
    if isinstance(data, str) and words:
        near = data if data in words else next(iter(get_close_matches(data, words, 1, 0)), words[0])
        return f"write [{near}]" if near == data else f"write a list of what is known, for example [{near}]"
    key = next(iter(data), "") if isinstance(data, dict) else ""
    return f"write [{{{key}: …}}]" if any(key in node.get("properties", ()) for node in items) else "write [a, b]"


def _missing(schema: Json, place: KeyPath) -> str:
    """What to write for a key that is missing."""
    nodes = (node for found in _nodes_at(schema, place) for node in _resolved(schema, found))
    values = [node["const"] for node in nodes if "const" in node]
    return f"write {place[-1]}: {values[0]}" if values else f"add the key {place[-1]}"


def _unknown_key(written: SourceMap, place: KeyPath, schema: Json) -> Diagnostic:
    word, around = str(place[-1]), place[:-1]
    known = _keys_at(schema, around)
    below = [key for key in known if word in _keys_at(schema, (*around, key))]
    hint = f"write it below {below[0]}:" if len(below) == 1 else nearest(word, known)
    return written.diagnostic(place, "unknown key", hint or "remove it")


SHOULD_BE = {
    "zoneinfo_str": "the name of a time zone, for example Europe/Paris",
    "string_type": "text",
    "tuple_type": "a list",
    "list_type": "a list",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
}
"""What a validator calls a valid string, tuple or integer, in words of the file."""


def error_text(error: Mapping[str, Json]) -> str:
    """The message of a validator error (`type`, `msg`), without the value."""
    text = str(error["msg"]).replace("greater than or equal to", "at least").replace("less than or equal to", "at most")
    if error["type"] == "string_pattern_mismatch":
        return "should consist of letters, digits, '-', '_' and '.', and begin with a letter or digit"
    if error["type"] in SHOULD_BE:
        return f"should be {SHOULD_BE[error['type']]}"
    for prefix in ("Value error, ", "Input should be "):
        if text.startswith(prefix):
            rest = text.removeprefix(prefix)
            return rest if prefix.startswith("Value") else f"should be {rest}"
    return text


def real_place(data: Json, loc: KeyPath) -> KeyPath:
    """The steps of a validator's location that exist in the file; the last one may be missing or unknown."""
    place: list[str | int] = []
    for index, part in enumerate(loc):
        inside = _child(data, part)
        if inside is None and index < len(loc) - 1 and not _has(data, part):
            continue  # the name of an alternative, not a key
        place.append(part)
        data = inside
    return tuple(place)


def _has(data: Json, part: str | int) -> bool:
    return isinstance(data, dict) and part in data


def _at(data: Json, place: KeyPath) -> Json:
    for part in place:
        data = _child(data, part)
    return data


def _is_there(data: Json, place: KeyPath) -> bool:
    """Whether the file has this key itself: a model may have made the place of a shorter form."""
    above = _at(data, place[:-1]) if place else None
    return isinstance(above, dict) and place[-1] in above


def _child(data: Json, part: str | int) -> Json:
    if isinstance(data, dict):
        return data.get(part)
    if isinstance(data, list) and isinstance(part, int) and part < len(data):
        return data[part]
    return None


def _nodes_at(schema: Json, place: KeyPath) -> Sequence[Json]:
    """What the schema says of this place, in each of its alternatives."""
    nodes = [schema]
    for part in place:
        nodes = [below for node in nodes for below in _below(_resolved(schema, node), part)]
    return nodes


def _keys_at(schema: Json, place: KeyPath) -> Sequence[str]:
    found: list[str] = []
    for node in _nodes_at(schema, place):
        found += [key for option in _opened(schema, node) for key in option.get("properties", {})]
    return found


def _opened(schema: Json, node: Json) -> Iterator[Json]:
    """The alternatives, and the items of those that are lists: one item may be written without the list around it."""
    for option in _resolved(schema, node):
        yield option
        if isinstance(option.get("items"), dict):
            yield from _resolved(schema, option["items"])


def _below(options: Iterable[Json], part: str | int) -> Iterator[Json]:
    for node in options:
        if isinstance(part, int):
            yield from [node["items"]] if isinstance(node.get("items"), dict) else []
        elif part in node.get("properties", {}):
            yield node["properties"][part]
        elif isinstance(node.get("additionalProperties"), dict):
            yield node["additionalProperties"]


def _resolved(schema: Json, node: Json) -> list[Json]:
    """The alternatives behind a node: references followed, `anyOf` opened."""
    if "$ref" in node:
        return _resolved(schema, schema["$defs"][node["$ref"].rpartition("/")[2]])
    options = node.get("anyOf") or node.get("oneOf")
    if options:
        return [found for option in options for found in _resolved(schema, option)]
    return [node]


@dataclass(slots=True)
class Positions:
    """Lines and columns from 1: of keys and items, and of the values of keys."""

    lines: dict[KeyPath, tuple[int, int]] = field(default_factory=dict)
    values: dict[KeyPath, tuple[int, int]] = field(default_factory=dict)


def _plain(node: Json, place: KeyPath, found: Positions) -> Json:
    if len(place) > DEEPEST or len(found.lines) > MOST_NODES:
        raise ValueError("nested too deeply or too large")
    if isinstance(node, Mapping):
        return {_key(key): _member(node, key, (*place, _key(key)), found) for key in node}
    if isinstance(node, list):
        return [_member(node, index, (*place, index), found) for index in range(len(node))]
    return _scalar(node)


def _member(node: Json, key: Json, place: KeyPath, found: Positions) -> Json:
    position = getattr(node, "lc", None)
    data = getattr(position, "data", None) or {}
    if key in data:
        numbers = [int(number) + 1 for number in data[key]]
        found.lines[place] = numbers[0], numbers[1]
        found.values[place] = numbers[-2], numbers[-1]
    else:
        found.lines[place] = found.lines.get(place[:-1], (1, 1))
    return _plain(node[key], place, found)


def _key(key: Json) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    return "null" if key is None else _text(str(key))


def _text(text: str) -> str:
    """The text. Raises ValueError if it cannot be written in UTF-8: an escape like `\\ud800` made half a character."""
    if not text.isascii():
        text.encode()
    return text


def _scalar(node: Json) -> Json:
    """A plain scalar, without the classes by which a round-trip reader remembers its spelling."""
    if isinstance(node, bool) or node is None:
        return node
    if isinstance(node, Spelt):
        return None if node.taken is None else node
    if isinstance(node, str):
        return _text(str(node))
    for plain in (int, float):
        if isinstance(node, plain):
            return plain(node)
    if isinstance(node, datetime):
        return datetime.combine(node.date(), node.time(), node.tzinfo)
    return getattr(node, "value", node)
