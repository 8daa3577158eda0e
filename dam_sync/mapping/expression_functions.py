"""Functions of CEL that the library calls back here, because it has them in another way than CEL does.

`matches` compiles its pattern again in each call; `size` counts the bytes of a text, where CEL counts its characters.

They are written as other names of the same length, so that every position in the expression stays the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dam_sync.mapping.expression_patterns import PatternSearches
from dam_sync.mapping.expression_tokens import CelToken, names_called

OTHER_NAMES: Mapping[str, str] = {"matches": "matched", "size": "span"}


def with_other_names(text: str, tokens: Sequence[CelToken]) -> str:
    """The expression as it is given to the library. A field or a variable may have the name of a function."""
    for token in names_called(tokens):
        name = OTHER_NAMES.get(token.text, token.text)
        text = text[: token.at] + name + text[token.at + len(name) :]
    return text


def functions_for(matching: PatternSearches) -> dict[str, Callable[..., object]]:
    """The functions by the names that the library calls; they never raise, because the library would log it."""

    def size(value: object) -> int:
        if isinstance(value, str | bytes | list | dict):
            return len(value)
        matching.fault = "size takes a text or a list"
        return 0

    return {OTHER_NAMES["matches"]: matching.holds, OTHER_NAMES["size"]: size}
