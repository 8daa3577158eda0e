"""Mapping files with something in them that nobody would write, and something that somebody would mistype."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

WORDS = (
    *("from", "pipe", "const", "cel", "when", "default", "required", "on_error", "marker", "match", "fuzzy", "target"),
    *("source", "unmatched", "create", "values", "csv", "fields", "select", "where", "status", "include", "version"),
    *("trim", "truncate", "vocabulary", "lookup", "date", "split", "join", "language", "park", "null", "true", "each"),
    *(
        "fields.title",
        "fields.keywords[]",
        "fields.title.en",
        'fields."a b"',
        "placements[].path",
        "tags[]",
        "file.size",
    ),
    *("asset", "asset.status", "asset.fields.title.en", "asset.tags.map(t, t)", 'asset.fields["keywords"]', "1 + 1"),
    *("asset.fields.height_cm / 0.0", "[[1]]", "{'a': 1}", "matches('(')", "2020-01-01", "9" * 400, "-1", "1e999"),
)
ODD = (
    *(
        "",
        " ",
        "\t",
        "\n",
        "\x00",
        "\x1b[31m",
        "\ufeff",
        "\u202e",
        "é",
        "e\u0301",
        "😀",
        "\ud800",
        "x" * 5_000,
        "{",
        "}",
    ),
    *(
        "[",
        "]",
        ":",
        "- ",
        "&a",
        "*a",
        "!!python/object:os.system",
        "!!binary aGk=",
        "%YAML 1.1",
        "---",
        "...",
        "|",
        ">",
    ),
    *("'", '"', "\\", "#", "<<: *a", "? a", "~", "0x1F", "1_000", ".inf", ".nan", "2020-13-45", "0o17", "@", "`", ","),
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 10**30, 0.5, float("inf"), "", "x", [], {}, [[]], [None], {"": None}, {"a": {"b": []}}),
    *(["a", 1, None, True], {"from": "id"}, {"cel": "asset.id"}, {"marker": True}, {"values": {"a": "b"}}, "null"),
)


def mutated_text(text: str, chance: random.Random) -> str:
    """A text with one to four changes of characters, words or lines."""
    for _ in range(chance.randint(1, 4)):
        text = chance.choice(TEXT)(text, chance)
    return text


def mutated_data(data: Any, chance: random.Random) -> Any:
    """Keys and values with one to four changes."""
    changed = deepcopy(data)
    for _ in range(chance.randint(1, 4)):
        places = [*_places(changed)]
        if not places:
            return changed
        holder, key = chance.choice(places)
        chance.choice(DATA)(holder, key, chance)
    return changed


def _replace(text: str, chance: random.Random) -> str:
    words = text.split(" ")
    words[chance.randrange(len(words))] = chance.choice(WORDS)
    return " ".join(words)


def _insert(text: str, chance: random.Random) -> str:
    at = chance.randint(0, len(text))
    return text[:at] + chance.choice(ODD) + text[at:]


def _delete(text: str, chance: random.Random) -> str:
    at = chance.randint(0, len(text))
    return text[:at] + text[at + chance.randint(1, 20) :]


def _flip(text: str, chance: random.Random) -> str:
    if not text:
        return "x"
    at = chance.randrange(len(text))
    return text[:at] + chr(chance.choice((chance.randrange(32, 127), chance.randrange(0xD7FF)))) + text[at + 1 :]


def _line(text: str, chance: random.Random) -> str:
    lines = text.split("\n")
    at = chance.randrange(len(lines))
    what = chance.randrange(4)
    if what == 0:
        lines.insert(at, chance.choice(lines))
    elif what == 1:
        del lines[at]
    elif what == 2:
        lines[at] = " " * chance.randint(1, 3) + lines[at]
    else:
        lines[at] = lines[at].lstrip()
    return "\n".join(lines)


TEXT: tuple[Callable[[str, random.Random], str], ...] = (_replace, _insert, _delete, _flip, _line)


def _places(node: Any) -> Iterator[tuple[Any, Any]]:
    """Every value with what holds it."""
    inside = list(node.items()) if isinstance(node, dict) else list(enumerate(node)) if isinstance(node, list) else []
    for key, value in inside:
        yield node, key
        yield from _places(value)


def _value(holder: Any, key: Any, chance: random.Random) -> None:
    holder[key] = deepcopy(chance.choice((*VALUES, *WORDS, chance.choice(ODD))))


def _inner(holder: Any, key: Any, chance: random.Random) -> None:
    if isinstance(holder[key], str):
        holder[key] = chance.choice(TEXT[:4])(holder[key], chance)
    else:
        _value(holder, key, chance)


def _gone(holder: Any, key: Any, chance: random.Random) -> None:
    del holder[key]


def _renamed(holder: Any, key: Any, chance: random.Random) -> None:
    if isinstance(holder, dict):
        holder[chance.choice((*WORDS, *ODD, str(key)[:-1], str(key) + "x"))] = holder.pop(key)


def _wrapped(holder: Any, key: Any, chance: random.Random) -> None:
    holder[key] = chance.choice(([holder[key]], {"from": holder[key]}, {chance.choice(WORDS): holder[key]}))


DATA: tuple[Callable[[Any, Any, random.Random], None], ...] = (_value, _inner, _inner, _gone, _renamed, _wrapped)
