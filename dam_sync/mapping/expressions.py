"""Expressions in CEL: compiled once against the schema of the source, then evaluated for one asset after another.

An expression cannot loop without end or reach anything but the asset. What it can still do is multiply: loops inside
loops, lists of lists. Its length, its brackets and its loops are limited when it is compiled; the items and characters
that it would work through are limited for every asset, before it is evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dam_sync.mapping.expression_checker import TypeFault, check_condition, check_value
from dam_sync.mapping.expression_functions import functions_for, with_other_names
from dam_sync.mapping.expression_hints import ELSEWHERE
from dam_sync.mapping.expression_patterns import PatternFault, PatternSearches, Search, patterns_of
from dam_sync.mapping.expression_tokens import (
    FUNCTIONS,
    VARIABLE,
    AssetReference,
    CelToken,
    ExpressionWork,
    ReferenceFault,
    names_called,
    references_of,
    tokens_of,
    unknown_variables,
    work_of,
)
from dam_sync.mapping.expression_view import Unviewable, values_of, view_of
from dam_sync.mapping.paths import INSTANTS, SETS, TEXTS, AssetPath, PathFault, parse_path
from dam_sync.mapping.results import LanguagePreference
from dam_sync.model.asset import Asset
from dam_sync.model.diagnostic import Hint, Similar
from dam_sync.model.schema import Schema
from dam_sync.model.values import Json, Scalar

if TYPE_CHECKING:
    from cel import Program

LONGEST = 2_000  # characters of an expression
DEEPEST = 16  # brackets inside each other
LOOPS = 2  # macros inside each other
GROWTH = 1_000  # times that its loops may multiply what they work on
ITEMS = 1_000  # of all lists that a loop may work through
ROUNDS = 100_000  # of its innermost loop
CHARACTERS = 10_000_000  # of all texts that it may make
SEE = "`dam-sync help mapping` lists the functions"
SYNTAX = re.compile(r"ERROR: <input>:(\d+):(\d+): (?:Syntax error: )?([^\n]*)")
EXPECTED = re.compile(r" expecting (?:\{.*|.*)$")


class ExpressionFault(ValueError):
    """An invalid expression. line and column: in the expression, from 1; hint: what to write instead."""

    def __init__(self, message: str, line: int = 1, column: int = 1, hint: Hint = "") -> None:
        super().__init__(message)
        self.line, self.column, self.hint = line, column, hint


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What an expression gave for one asset; `fault` says why it gave nothing."""

    values: tuple[Scalar, ...] = ()
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled expression. paths: the parts of the asset that it reads. renamed: whether it calls
    functions of ours in place of those of the library."""

    source: str
    paths: tuple[AssetPath, ...]
    work: ExpressionWork
    program: Program = field(repr=False, compare=False)
    patterns: Mapping[str, Search] = field(default_factory=dict, repr=False, compare=False)
    renamed: bool = False

    def evaluate(self, asset: Asset, languages: LanguagePreference) -> Evaluated:
        """The values for one asset; never raises."""
        try:
            return Evaluated(values_of(self._result(asset, languages)))
        except Unviewable as error:
            return Evaluated(fault=str(error))

    def holds(self, asset: Asset, languages: LanguagePreference) -> bool | str:
        """Whether a condition is true for one asset; otherwise a text that says why this cannot be decided."""
        try:
            result = self._result(asset, languages)
        except Unviewable as error:
            return str(error)
        return result if isinstance(result, bool) else "a condition should be true or false"

    def _result(self, asset: Asset, languages: LanguagePreference) -> Json:
        view = view_of(asset, self.paths, languages)
        self._refuse_endless(view)
        if not self.renamed:
            return self._executed({VARIABLE: view})
        from cel import Context

        matching = PatternSearches(self.patterns)
        result = self._executed(Context(variables={VARIABLE: view}, functions=functions_for(matching)))
        if matching.fault:
            raise Unviewable(matching.fault)
        return result

    def _executed(self, given: Json) -> Json:
        try:
            return self.program.execute(given)
        except Exception as error:  # noqa: BLE001 - the library raises any built-in error for an error of the expression
            raise Unviewable(_reason(error)) from None
        except BaseException as error:
            if type(error).__name__ == "PanicException":  # how the library reports a fault of its own
                raise Unviewable("cannot be evaluated") from None
            raise

    def _refuse_endless(self, view: Json) -> None:
        items, characters = _measured(view)
        work = self.work
        items += work.literals
        if work.loops and (items > ITEMS or (items * work.growth) ** work.loops > ROUNDS):
            raise Unviewable(f"would loop over too many values: {items} in {work.loops} loops inside each other")
        if (characters + len(self.source)) * work.growth * max(work.literals, 1) > CHARACTERS:
            raise Unviewable(f"would make too much text of {characters} characters")


def compile_expression(text: str, source: Schema, *, condition: bool = False) -> Expression:
    """Compile an expression. condition: it has to be true or false. Raises ExpressionFault with its position."""
    if len(text) > LONGEST:
        raise ExpressionFault(f"has {len(text)} characters, at most {LONGEST}", hint="use a lookup or several lines")
    tokens = tokens_of(text)
    work = work_of(tokens)
    for found, most, what in (
        (work.depth, DEEPEST, "brackets inside each other"),
        (work.loops, LOOPS, "loops inside each other"),
        (work.growth, GROWTH, "times the size of what its loops work on"),
    ):
        if found > most:
            raise ExpressionFault(f"has more than {most} {what}", hint="make it simpler")
    given = with_other_names(text, tokens)
    program = _program(text, given)
    _refuse_unknown(text, tokens, source)
    paths = dict.fromkeys(_paths(text, tokens, source))
    try:
        patterns = patterns_of(tokens, lambda quoted: _program(quoted, quoted).execute({}))
        (check_condition if condition else check_value)(text, tokens, source)
    except (PatternFault, TypeFault) as fault:
        raise _fault_at(text, fault.at, str(fault), fault.hint) from None
    return Expression(text, tuple(paths), work, program, patterns, renamed=given != text)


def _program(text: str, given: str) -> Program:
    """The compiled expression. given: the expression for the library, with the same positions."""
    import cel  # only a mapping with an expression needs it; it loads a terminal library

    try:
        return cel.compile(given)
    except ValueError as error:
        found = SYNTAX.search(str(error))
        if found is None:
            raise ExpressionFault("is not a CEL expression") from None
        line, column = int(found[1]), int(found[2])
        raise ExpressionFault(
            _syntax(text, found[3], line, column), line, column, _instead(text, found[3], line, column)
        ) from None
    except BaseException as error:
        if type(error).__name__ == "PanicException":
            raise ExpressionFault("is not a CEL expression") from None
        raise


def _syntax(text: str, message: str, line: int, column: int) -> str:
    lines = text.split("\n")
    if "input '<EOF>'" in message or not text.strip():
        return "the expression ends too early" if text.strip() else "the expression is empty"
    if "has() macro" in message:
        return "has() takes a part that is named after a dot"
    rest = lines[line - 1][column - 1 :].strip() if line <= len(lines) else ""
    plain = EXPECTED.sub("", message).strip()
    return f"is not CEL from here: {rest[:20]}" if rest else f"is not CEL: {plain}"


ROOTS = frozenset((*TEXTS, *INSTANTS, *SETS, "placements", "fields", "file"))
CURLY = re.compile(r"\s*[“”„‟‘’‚«»]")
HAS = re.compile(r"""\bhas\(\s*(?P<of>[\w.]{1,200}?)\s*\[\s*(?P<key>"[^"]*"|'[^']*')\s*\]\s*\)""")
QUOTED = re.compile(r"""(?P<has>\bhas\(\s*)?\b(?P<of>[a-z][\w.]{0,200})\.(?P<key>"[^"]*"|'[^']*')""")
"""A key in quotes after a dot, as paths of `from` have it."""
WRITTEN = {"=": "==", "and": "&&", "or": "||", "not": "!", "&": "&&", "|": "||", "is": "==", "<>": "!="}


def _place(text: str, at: int) -> tuple[int, int]:
    """The line and the column of a character, from 1."""
    return text.count("\n", 0, at) + 1, at - (text.rfind("\n", 0, at) + 1) + 1


def _instead(text: str, message: str, line: int, column: int) -> str:
    """What CEL writes for an operator of another language, or for a key in quotes."""
    if "has() macro" in message:
        asked = HAS.search(text)
        return (
            f"write {asked['key']} in {asked['of']}" if asked else 'write has(asset.fields.title), or "x" in asset.tags'
        )
    quoted = next((one for one in QUOTED.finditer(text) if _place(text, one.start("key")) == (line, column)), None)
    if quoted is not None:
        of = quoted["of"] if quoted["of"].partition(".")[0] == "asset" else f"asset.{quoted['of']}"
        return f"write {quoted['key']} in {of}" if quoted["has"] else f"write {of}[{quoted['key']}]"
    rest = text.split("\n")[line - 1][column - 1 :] if line <= text.count("\n") + 1 else ""
    if rest.lstrip().startswith("`"):
        return 'write asset.fields["lib:title"], and "lib:title" in asset.fields to ask whether it has a value'
    if CURLY.match(rest):
        return "write straight quotes"
    if re.match(r"\s*not\s+in\b", rest):
        return 'write !("x" in asset.tags)'
    if re.match(r"\s*if\b", rest):
        return "write CONDITION ? VALUE : OTHER_VALUE"
    word = re.match(r"\s*(<>|[=&|]|and\b|or\b|not\b|is\b)", rest)
    return f"write {WRITTEN[word[1]]} instead of {word[1]}" if word else ""


def _refuse_unknown(text: str, tokens: Sequence[CelToken], source: Schema) -> None:
    for token in names_called(tokens):
        if token.text not in FUNCTIONS:
            hint = ELSEWHERE.get(token.text) or Similar(token.text, FUNCTIONS, SEE)
            raise _fault_at(text, token.at, f"there is no function {token.text}", hint)
    for token in unknown_variables(tokens):
        known = {**dict.fromkeys(source.fields, "fields."), **dict.fromkeys(ROOTS, "")}.get(token.text)
        quoted = f'text in quotes: "{token.text}"'
        hint = f"write {quoted}" if known is None else f"write asset.{known}{token.text}, or {quoted}"
        raise _fault_at(text, token.at, f"there is no variable {token.text}", hint)


def _paths(text: str, tokens: Sequence[CelToken], source: Schema) -> Iterator[AssetPath]:
    try:
        for reference in references_of(tokens, source):
            yield _path(text, reference, source)
    except ReferenceFault as fault:
        raise _fault_at(text, fault.at, str(fault), fault.hint) from None


def _path(text: str, reference: AssetReference, source: Schema) -> AssetPath:
    try:
        return parse_path(reference.path, source)
    except PathFault as fault:
        raise _fault_at(text, reference.at, str(fault), fault.hint) from None


def _fault_at(text: str, at: int, message: str, hint: Hint = "") -> ExpressionFault:
    before = text[:at]
    return ExpressionFault(message, before.count("\n") + 1, at - (before.rfind("\n") + 1) + 1, hint)


def _measured(view: Json) -> tuple[int, int]:
    """Items of all lists, and characters of all texts."""
    if isinstance(view, str):
        return 0, len(view)
    inside = view.values() if isinstance(view, dict) else view if isinstance(view, list) else ()
    found = [_measured(item) for item in inside]
    items = len(view) if isinstance(view, list) else 0
    return items + sum(row[0] for row in found), sum(row[1] for row in found)


def _reason(error: Exception) -> str:
    """Why it cannot be evaluated, in words."""
    match error:
        case KeyError():
            key = str(error).strip(chr(39))
            return f'there is no value {key}; test it first: "{key}" in asset.fields, or has()'
        case IndexError():
            return "the list has fewer items; test its size() first"
        case ZeroDivisionError():
            return "divides by zero"
        case OverflowError():
            return "a number or date becomes too large"
        case TypeError():
            return (
                "an operation got values of other types than it takes; numbers of the asset are doubles (2.0, not 2), "
                "and a number is joined with text as string(…)"
            )
        case _:
            plain = str(error).split("\n")[0].partition(". Check ")[0]
            return plain[:200] or type(error).__name__
