"""The text of an expression in CEL, in tokens: what it reads of the asset, and how much work it can cause."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dam_sync.mapping.paths import FILE_PARTS, INSTANTS, SETS, TEXTS, spelt
from dam_sync.model.schema import Schema

VARIABLE = "asset"
WORDS = frozenset({"true", "false", "null", "in"})
MACROS = frozenset({"all", "exists", "exists_one", "map", "filter"})
FUNCTIONS = frozenset(
    (
        *("has", "size", "contains", "startsWith", "endsWith", "matches", "string", "int", "double", "timestamp"),
        *("duration", "getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear"),
        *("getHours", "getMinutes", "getSeconds", "getMilliseconds"),
        *MACROS,
    )
)
LARGEST = 1 << 40
OPENS, CLOSES = frozenset("([{"), frozenset(")]}")
TOKEN = re.compile(
    r"(?P<blank>\s+|//[^\n]*)"
    r"|(?P<text>[rRbB]{0,2}(?:'''(?:[^\\]|\\.)*?'''|\"\"\"(?:[^\\]|\\.)*?\"\"\""
    r"|'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"))"
    r"|(?P<number>(?:0[xX][0-9a-fA-F]+|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\.\d+)[uU]?)"
    r"|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<sign>==|!=|<=|>=|&&|\|\||.)",
    re.DOTALL | re.ASCII,
)


@dataclass(frozen=True, slots=True)
class CelToken:
    """One token. form: text, number, name or sign; at: its position in the expression."""

    form: str
    text: str
    at: int


@dataclass(frozen=True, slots=True)
class AssetReference:
    """A part of the asset that an expression reads, written as a path of `from`; at: where it is named."""

    path: str
    at: int


class ReferenceFault(ValueError):
    """A part of the asset that cannot be read this way; `at` is its position, `hint` says what to write."""

    def __init__(self, message: str, at: int, hint: str = "") -> None:
        super().__init__(message)
        self.at, self.hint = at, hint


@dataclass(frozen=True, slots=True)
class ExpressionWork:
    """What bounds the cost of an expression. depth: of brackets; loops: of macros inside each other; growth: by how
    much it may multiply a list or text; literals: items and pieces of text that it
    names or joins."""

    depth: int
    loops: int
    growth: int
    literals: int


def tokens_of(source: str) -> list[CelToken]:
    """The tokens of an expression, without whitespace and comments. Never fails: what is no token is a sign."""
    found = (match for match in TOKEN.finditer(source) if match.lastgroup != "blank")
    return [CelToken(match.lastgroup or "", match[0], match.start()) for match in found]


def names_called(tokens: Sequence[CelToken]) -> Iterator[CelToken]:
    """The functions and methods that are called."""
    for index, token in enumerate(tokens):
        if token.form == "name" and token.text not in WORDS and _sign(tokens, index + 1) == "(":
            yield token


def unknown_variables(tokens: Sequence[CelToken]) -> Iterator[CelToken]:
    """Names that are neither the asset nor the variable of a macro."""
    own = {VARIABLE, *WORDS, *_loop_variables(tokens)}
    for index, token in enumerate(tokens):
        alone = token.form == "name" and _sign(tokens, index - 1) != "." and _sign(tokens, index + 1) != "("
        if alone and token.text not in own:
            yield token


def work_of(tokens: Sequence[CelToken]) -> ExpressionWork:
    """The bounds of an expression."""
    depth = deepest = most_loops = literals = 0
    growth, open_loops = 1, list[_Loop]()
    for index, token in enumerate(tokens):
        literals += token.form == "text" or token.text in (",", "+")
        if token.form != "sign":
            continue
        if token.text in OPENS:
            depth += 1
            if _is_macro(tokens, index - 1):
                open_loops.append(_Loop(depth))
        elif token.text in CLOSES:
            if open_loops and open_loops[-1].depth == depth:
                growth = min(growth * max(open_loops.pop().adds, 1), LARGEST)
            depth -= 1
        elif token.text in "+," and open_loops:
            open_loops[-1].adds += 1  # the first comma separates the variable from what is done with it
        deepest, most_loops = max(deepest, depth), max(most_loops, len(open_loops))
    return ExpressionWork(deepest, most_loops, growth, literals)


@dataclass(slots=True)
class _Loop:
    """A macro whose bracket is open. adds: items and pieces of text in it."""

    depth: int
    adds: int = 0


def references_of(tokens: Sequence[CelToken], source: Schema) -> Iterator[AssetReference]:
    """What is read of the asset. Raises ReferenceFault for a part whose name is only known when it runs: then nobody
    could tell which fields are read."""
    for index, token in enumerate(tokens):
        if token.form == "name" and token.text == VARIABLE and _sign(tokens, index - 1) != ".":
            steps = _steps(tokens, index + 1)
            asked = _asked_for(tokens, index) if steps == ["fields"] else None
            yield AssetReference(_path([*steps, *([] if asked is None else [asked])], source, token.at), token.at)


BEFORE = frozenset({"(", "[", "{", ",", ":", "?", "&&", "||"})
"""What may stand before `"key" in asset.fields`; anything else binds closer to the key than `in`."""


def _asked_for(tokens: Sequence[CelToken], index: int) -> str | None:
    """The key in `"key" in asset.fields`, which says whether the field has a value."""
    begins = index == 2 or _sign(tokens, index - 3) in BEFORE
    named = begins and _form(tokens, index - 2) == "text" and tokens[index - 1].text == "in"
    read_on = _sign(tokens, index + 3) in (".", "[")
    return literal_text(tokens[index - 2].text) if named and not read_on else None


def _path(steps: list[str], source: Schema, at: int) -> str:
    if not steps:
        raise ReferenceFault(f"{VARIABLE} is read as a whole", at, "name the part: asset.status, asset.fields.title")
    root, *rest = steps
    if root == "fields":
        return _field_path(rest, source, at)
    if root == "file" and rest and rest[0] in FILE_PARTS:
        return f"file.{rest[0]}"
    if root == "file":
        raise ReferenceFault("the part of the file is not named", at, f"write asset.file.{' or .'.join(FILE_PARTS)}")
    if rest and root in (*TEXTS, *INSTANTS, *SETS, "placements"):
        raise ReferenceFault(f"asset.{root} has no {rest[0]}", at, _WRITTEN.get(root, f"write asset.{root}"))
    return "placements[].path" if root == "placements" else f"{root}[]" if root in SETS else root


_WRITTEN = {
    "placements": 'write asset.placements.exists(p, p.path == "/Press")',
    **{name: f'write "x" in asset.{name}' for name in SETS},
}


def _field_path(rest: list[str], source: Schema, at: int) -> str:
    if not rest:
        message = "the field is not named by a word or a text in quotes"
        hint = (
            'write asset.fields.title or asset.fields["lib:title"], and "lib:title" in asset.fields to ask for a value'
        )
        raise ReferenceFault(message, at, hint)
    key, *parts = rest
    path, known = f"fields.{spelt(key)}", source.fields.get(key)
    if not parts or known is None:
        return path
    if known.multiple:
        hint = f"write asset.fields.{key}.exists(v, v.{parts[0]} == …) or .map(v, v.{parts[0]})"
        raise ReferenceFault(f"field {key} has several values", at, hint)
    return f"{path}.{spelt(parts[0])}"


def _steps(tokens: Sequence[CelToken], index: int) -> list[str]:
    """The names after the asset: `.name` and `["name"]`, up to a call or anything else."""
    steps: list[str] = []
    while True:
        if _sign(tokens, index) == "." and _form(tokens, index + 1) == "name" and _sign(tokens, index + 2) != "(":
            steps.append(tokens[index + 1].text)
            index += 2
        elif _sign(tokens, index) == "[" and _form(tokens, index + 1) == "text" and _sign(tokens, index + 2) == "]":
            steps.append(literal_text(tokens[index + 1].text))
            index += 3
        else:
            return steps


def literal_text(text: str) -> str:
    """A text in quotes as Python reads it, which reads the same escapes; as it is written if it does not."""
    try:
        value = ast.literal_eval(text.lstrip("rRbB") if text[0] not in "rR" else text)
    except (SyntaxError, ValueError):
        return text
    return value if isinstance(value, str) else text


def _loop_variables(tokens: Sequence[CelToken]) -> Iterator[str]:
    for index in range(len(tokens)):
        if _is_macro(tokens, index) and _form(tokens, index + 2) == "name" and _sign(tokens, index + 3) == ",":
            yield tokens[index + 2].text


def _is_macro(tokens: Sequence[CelToken], index: int) -> bool:
    named = index > 0 and tokens[index].text in MACROS and _sign(tokens, index - 1) == "."
    return named and _sign(tokens, index + 1) == "("


def _form(tokens: Sequence[CelToken], index: int) -> str:
    return tokens[index].form if 0 <= index < len(tokens) else ""


def _sign(tokens: Sequence[CelToken], index: int) -> str:
    return tokens[index].text if _form(tokens, index) == "sign" else ""
