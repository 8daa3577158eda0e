"""YAML with positions, and what its parser says of a broken file, in words that say what to do."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from ruamel.yaml import YAML
from ruamel.yaml.constructor import RoundTripConstructor
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from dam_sync.config.spelling import Spelt, without_spelling, written_again
from dam_sync.model.values import Json

SHORT = 64 * 1024  # characters; a watching process reads short files before each run, and parses them once
TAG = "tag:yaml.org,2002:"
UNHASHABLE = "a key that is a list or a block"
PROBLEMS = (
    (r"found character '\\t'", "a tab where only spaces are allowed", "replace the tab by spaces"),
    (r"found duplicate key", "", "remove one of the two"),
    (
        r"mapping values are not allowed",
        "a second `: ` in one line, or a line that is indented too far",
        "indent it like the lines around it, or write text with a colon in quotes",
    ),
    (
        r"expected <block end>",
        "the line is indented differently from those around it",
        "indent all keys of a block by the same number of spaces",
    ),
    (
        r"expected ',' or '([\]}])'",
        "a comma or a bracket is missing before this, or quotes around text that contains brackets",
        'write [a, b] or {a: 1, b: 2}, "${env:NAME}" and "tags[]"',
    ),
    (r"found '<stream end>'", "a bracket is not closed", "close it"),
    (r"found unexpected end of stream", "a quote is not closed", "close it"),
    (r"could not find expected ':'", "a key without a colon", "write key: value"),
    (r"surrogates not allowed", "half a character, written as an escape such as \\ud800", "write the whole one"),
    (r"special characters are not allowed", "is not text", "save it as UTF-8 text"),
    (UNHASHABLE, "a list or a block where a key is expected", "write key: value; text with brackets in quotes"),
    (
        r"found unknown escape character",
        "a backslash between double quotes begins an escape, and this is none",
        "write a path with /, or the text between single quotes",
    ),
    (
        r"expected '<document start>'",
        "there is more after the end of the keys: this is a list of records, or another kind of file",
        "give the path of a file that begins with `version: 1`",
    ),
    (r"found undefined alias", "", "name text that begins with * in quotes"),
    (r"found character '[@`%]'", "", "write text that begins with such a character in quotes"),
    (r"nested too deeply|too large", "", "write shorter lists; keep tables in CSV files"),
)


def explained(problem: str) -> tuple[str, str]:
    """What is wrong, and what to do; the problem as it is, if it is not a known one."""
    for pattern, message, hint in PROBLEMS:
        if re.search(pattern, problem):
            return message or problem, hint
    return problem, "check the line above: its colon, indent, quotes and brackets"


def positioned(text: str) -> Json:
    """The keys and values of a YAML file, with their positions, for reading alone. Raises YAMLError, RecursionError,
    and ValueError."""
    return _kept(text) if len(text) <= SHORT else _parsed(text)


@lru_cache(maxsize=8)
def _kept(text: str) -> Json:
    return _parsed(text)


def _parsed(text: str) -> Json:
    try:
        return loader().load(text)
    except TypeError:  # the parser takes a list or a block as a key, then cannot use it
        for key in _keys(loader().compose(text)):
            if not isinstance(key, ScalarNode):
                raise MarkedYAMLError(problem=UNHASHABLE, problem_mark=key.start_mark) from None
        raise


def _keys(node: Node | None) -> Iterator[Node]:
    match node:
        case MappingNode():
            for key, value in node.value:
                yield key
                yield from _keys(value)
        case SequenceNode():
            for item in node.value:
                yield from _keys(item)


class SpellingConstructor(RoundTripConstructor):
    """Makes a `Spelt` of each plain scalar that would be another text if it were written again."""


def loader() -> YAML:
    """A parser with positions and spellings."""
    yaml = YAML(typ="rt")
    yaml.Constructor = SpellingConstructor
    return yaml


def _with_spelling(make: Callable[..., Json]) -> Callable[[RoundTripConstructor, ScalarNode], Json]:
    def made(constructor: RoundTripConstructor, node: ScalarNode) -> Json:
        if node.style is not None:
            return make(constructor, node)
        text = str(node.value)
        try:
            taken = make(constructor, node)
        except ValueError:  # 2020-13-45 looks like a date
            return text
        return taken if written_again(taken) == text else Spelt.of(text, without_spelling(taken))

    return made


for _kind in ("int", "float", "bool", "null", "timestamp"):
    _usual = RoundTripConstructor.yaml_constructors[f"{TAG}{_kind}"]
    SpellingConstructor.add_constructor(f"{TAG}{_kind}", _with_spelling(_usual))
