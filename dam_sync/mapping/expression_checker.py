"""Checks an expression that the CEL library has parsed: which operations can never work with the types that the schema
of the source says. The library itself notices them with the first asset, without a position."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dam_sync.mapping.expression_hints import calculation, comparison, condition, membership
from dam_sync.mapping.expression_tokens import MACROS, VARIABLE, CelToken, literal_text
from dam_sync.mapping.expression_types import (
    ANY,
    BYTES,
    CALLS,
    FLAG,
    LOCALIZED,
    NULL,
    NUMBER,
    NUMBERS,
    TEXT,
    TEXTUAL,
    WHOLE,
    Call,
    CelKind,
    CelType,
    asset_type,
    comparable,
    result_of,
)
from dam_sync.model.schema import Schema

END = CelToken("", "", 0)
ORDER = frozenset({"<", "<=", ">", ">="})
UNWRITABLE = frozenset({CelKind.BYTES, CelKind.DURATION})


class TypeFault(ValueError):
    """An operation that can never work; `at` is its position, `hint` says what to write."""

    def __init__(self, message: str, at: int, hint: str = "") -> None:
        super().__init__(message)
        self.at, self.hint = at, hint


@dataclass(frozen=True, slots=True)
class CelPart:
    """A part of an expression: its type, where it begins, and how it is written."""

    type: CelType
    at: int
    text: str

    @property
    def kind(self) -> CelKind:
        """The kind of its type."""
        return self.type.kind


def check_value(text: str, tokens: Sequence[CelToken], source: Schema) -> None:
    """Check an expression that gives values. Raises TypeFault."""
    found = _Checker(text, tokens, source).whole()
    if found.kind in UNWRITABLE:
        raise TypeFault(f"gives {found.kind}, which no field holds", found.at, f"write string({found.text})")
    if found.kind is found.type.inner.kind is CelKind.LIST:
        raise TypeFault("gives lists inside a list", found.at, "write one list")


def check_condition(text: str, tokens: Sequence[CelToken], source: Schema) -> None:
    """Check an expression that is true or false. Raises TypeFault."""
    checker = _Checker(text, tokens, source)
    checker.flag(checker.whole(), "a condition")


class _Checker:
    """Reads the tokens once from left to right. What it does not know has the type ANY, which is never refused."""

    def __init__(self, text: str, tokens: Sequence[CelToken], source: Schema) -> None:
        self._text, self._tokens, self._at = text, tokens, 0
        self._names: dict[str, CelType] = {VARIABLE: asset_type(source)}

    def whole(self) -> CelPart:
        """The whole expression."""
        return self._choice()

    def flag(self, part: CelPart, what: str) -> None:
        """Refuse what is not true or false."""
        several = part.type == LOCALIZED
        kind, text = (CelKind.TEXT, f"{part.text}.en") if several else (part.kind, part.text)
        if kind not in (CelKind.FLAG, CelKind.ANY):
            raise TypeFault(f"{what} should be true or false, not {kind}", part.at, condition(text, kind))

    def _choice(self) -> CelPart:
        begin, found = self._at, self._binary(0)
        if not self._takes("?"):
            return found
        self.flag(found, "what stands before ?")
        first = self._binary(0)
        self._takes(":")
        second = self._choice()
        return self._part(begin, first.type if first.type == second.type else ANY)

    def _binary(self, level: int) -> CelPart:
        if level == len(LEVELS):
            return self._unary()
        signs, check = LEVELS[level]
        begin, left = self._at, self._binary(level + 1)
        while self._next.text in signs and self._next.form in ("sign", "name"):
            sign = self._taken()
            right = self._binary(level + 1)
            left = self._part(begin, check(self, sign, left, right))
        return left

    def logic(self, sign: CelToken, left: CelPart, right: CelPart) -> CelType:
        """`&&` and `||`."""
        for part in (left, right):
            self.flag(part, f"each side of {sign.text}")
        return FLAG

    def relation(self, sign: CelToken, left: CelPart, right: CelPart) -> CelType:
        """Comparisons, and `in`."""
        if sign.text == "in":
            self._membership(sign, left, right)
        elif not comparable(left.type, right.type, ordered=sign.text in ORDER):
            both = f"{left.kind} and {right.kind}"
            message = f"{both} cannot be compared" if sign.text in ORDER else f"{both} are never equal"
            raise TypeFault(message, sign.at, comparison((left.text, left.kind), (right.text, right.kind)))
        return FLAG

    def arithmetic(self, sign: CelToken, left: CelPart, right: CelPart) -> CelType:
        """Sums and products."""
        found = result_of(sign.text, left.type, right.type)
        if found is None:
            hint = calculation(sign.text, (left.text, left.kind), (right.text, right.kind))
            raise TypeFault(f"{sign.text} does not take {left.kind} and {right.kind}", sign.at, hint)
        return found

    def _membership(self, sign: CelToken, left: CelPart, right: CelPart) -> None:
        if right.kind not in (CelKind.LIST, CelKind.PARTS, CelKind.ANY):
            hint = membership(left.text, (right.text, right.kind))
            raise TypeFault(f"`in` takes a list, not {right.kind}", sign.at, hint)
        inner = right.type.inner if right.kind is CelKind.LIST else TEXT if right.kind is CelKind.PARTS else ANY
        if not comparable(left.type, inner, ordered=False):
            hint = comparison((left.text, left.kind), ("v", inner.kind), f"{right.text}.exists(v, %s)")
            raise TypeFault(f"{left.kind} is never in it: it has {inner.kind}", sign.at, hint)

    def _unary(self) -> CelPart:
        begin, signs = self._at, list[CelToken]()
        while self._next.form == "sign" and self._next.text in ("!", "-"):
            signs.append(self._taken())
        found = self._member()
        for sign in reversed(signs):
            if sign.text == "!":
                self.flag(found, "what stands behind !")
            elif found.kind not in (*NUMBERS, CelKind.DURATION, CelKind.ANY):
                raise TypeFault(f"- takes a number, not {found.kind}", sign.at, f"write -double({found.text})")
        return self._part(begin, found.type)

    def _member(self) -> CelPart:
        begin, found = self._at, self._primary()
        while True:
            if self._takes("."):
                name = self._taken()
                called = self._takes("(")
                kind = self._method(name, found) if called else self._selected(name, found)
            elif self._takes("["):
                kind = self._indexed(found, self._choice())
                self._takes("]")
            else:
                return found
            found = self._part(begin, kind)

    def _selected(self, name: CelToken, found: CelPart) -> CelType:
        if found.kind is CelKind.ANY:
            return found.type.inner
        kind = found.type.part(name.text) if found.kind is CelKind.PARTS else None
        if kind is None:
            several = found.kind is CelKind.LIST
            hint = f"write {found.text}.exists(v, v.{name.text} == …)" if several else ""
            raise TypeFault(f"{found.kind} has no {name.text}", name.at, hint)
        return kind

    def _indexed(self, found: CelPart, index: CelPart) -> CelType:
        if found.kind is CelKind.PARTS:
            return found.type.part(literal_text(index.text)) or ANY if index.kind is CelKind.TEXT else ANY
        if found.kind is CelKind.TEXT:
            hint = f'write {found.text}.startsWith("A") or {found.text}.matches("^.A")'
            raise TypeFault("a text cannot be asked for a character", index.at, hint)
        if found.kind is CelKind.LIST and index.kind not in (CelKind.WHOLE, CelKind.ANY):
            raise TypeFault(f"the position in a list is a whole number, not {index.kind}", index.at, "write [0]")
        if found.kind not in (CelKind.LIST, CelKind.ANY):
            raise TypeFault(f"{found.kind} has no parts", index.at)
        return found.type.inner

    def _primary(self) -> CelPart:
        begin, token = self._at, self._taken()
        if token.form == "text":
            return self._part(begin, BYTES if "b" in token.text.partition(token.text[-1])[0].lower() else TEXT)
        if token.form == "number":
            return self._part(begin, _number(token.text))
        if token.form == "name":
            return self._part(begin, self._named(token))
        opened = {"(": self._bracket, "[": self._list, "{": self._map}.get(token.text)
        return self._part(begin, opened() if opened else ANY)

    def _named(self, token: CelToken) -> CelType:
        if self._takes("("):
            return self._function(token)
        if token.text in ("true", "false"):
            return FLAG
        return NULL if token.text == "null" else self._names.get(token.text, ANY)

    def _bracket(self) -> CelType:
        found = self._choice()
        self._takes(")")
        return found.type

    def _list(self) -> CelType:
        kinds = [part.type for part in self._until("]")]
        return CelType(CelKind.LIST, kinds[0] if kinds and all(kind == kinds[0] for kind in kinds) else None)

    def _map(self) -> CelType:
        self._until("}")
        return CelType(CelKind.PARTS)

    def _until(self, closing: str) -> list[CelPart]:
        """What stands between commas and colons, up to the closing bracket."""
        found: list[CelPart] = []
        while self._next is not END and not self._takes(closing):
            found.append(self._choice())
            if not (self._takes(",") or self._takes(":")) and self._next.text != closing:
                self._at = len(self._tokens)
        return found

    def _function(self, token: CelToken) -> CelType:
        if token.text == "has":
            self._until(")")
            return FLAG
        return self._called(token, None, self._until(")"))

    def _method(self, token: CelToken, receiver: CelPart) -> CelType:
        return self._macro(token, receiver) if token.text in MACROS else self._called(token, receiver, self._until(")"))

    def _called(self, token: CelToken, receiver: CelPart | None, given: Sequence[CelPart]) -> CelType:
        call = CALLS.get(token.text)
        if call is None:
            return ANY
        hint = f"write {call.example}"
        if receiver is not None and call.either:
            given = [receiver, *given]
            receiver = None
        if bool(call.receiver) != (receiver is not None) or len(given) != len(call.takes):
            raise TypeFault(_usage(token.text, call), token.at, hint)
        pairs = [(receiver, call.receiver)] if receiver is not None else []
        for part, kinds in (*pairs, *zip(given, call.takes, strict=True)):
            if part.kind not in (*kinds, CelKind.ANY):
                raise TypeFault(f"{token.text} does not take {part.kind}", token.at, _instead(token.text, part, given))
        return call.gives

    def _macro(self, token: CelToken, receiver: CelPart) -> CelType:
        if receiver.kind not in (CelKind.LIST, CelKind.PARTS, CelKind.ANY):
            raise TypeFault(
                f"{token.text} asks a list, not {receiver.kind}", token.at, f"compare {receiver.text} alone"
            )
        name, before = self._taken().text, dict(self._names)
        self._names[name] = receiver.type.inner if receiver.kind is CelKind.LIST else ANY
        self._takes(",")
        *conditions, last = self._until(")") or [self._part(self._at, ANY)]
        self._names = before
        for part in conditions if token.text == "map" else [*conditions, last]:
            self.flag(part, f"what {token.text} asks of each value")
        if token.text == "map":
            return CelType(CelKind.LIST, last.type)
        listed = receiver.type if receiver.kind is CelKind.LIST else CelType(CelKind.LIST)
        return listed if token.text == "filter" else FLAG

    @property
    def _next(self) -> CelToken:
        return self._tokens[self._at] if self._at < len(self._tokens) else END

    def _taken(self) -> CelToken:
        token = self._next
        self._at += 1
        return token

    def _takes(self, sign: str) -> bool:
        """Go past this sign, if it is the next token."""
        found = self._next.form == "sign" and self._next.text == sign
        self._at += found
        return found

    def _part(self, begin: int, kind: CelType) -> CelPart:
        """What was read since this token."""
        used = self._tokens[begin : self._at] or [END]
        return CelPart(kind, used[0].at, self._text[used[0].at : used[-1].at + len(used[-1].text)])


Check = Callable[[_Checker, CelToken, CelPart, CelPart], CelType]
LEVELS: Sequence[tuple[frozenset[str], Check]] = (
    (frozenset({"||"}), _Checker.logic),
    (frozenset({"&&"}), _Checker.logic),
    (frozenset({*ORDER, "==", "!=", "in"}), _Checker.relation),
    (frozenset({"+", "-"}), _Checker.arithmetic),
    (frozenset({"*", "/", "%"}), _Checker.arithmetic),
)
"""Operators, those that bind least first."""


def _number(text: str) -> CelType:
    if text[-1] in "uU":
        return ANY
    return WHOLE if text.isdecimal() or text[:2] in ("0x", "0X") else NUMBER


def _usage(name: str, call: Call) -> str:
    if call.receiver:
        return f"{name} is asked of {' or '.join(call.receiver)}, with {len(call.takes) or 'no'} argument"
    return f"{name} takes one argument"


def _instead(name: str, part: CelPart, given: Sequence[CelPart]) -> str:
    """What to write where a function does not take a value."""
    if name == "contains" and part.kind is CelKind.LIST and given:
        return f"write {given[0].text} in {part.text}"
    if name == "string" and part.kind is CelKind.FLAG:
        return f'write ({part.text} ? "yes" : "no")'
    if part.kind is CelKind.PARTS:
        return f"name one part: {part.text}.{next(iter(part.type.parts), 'name')}"
    if part.kind is CelKind.LIST:
        return f"write {part.text}.exists(v, …), or name one: {part.text}[0]"
    if name == "size" and part.kind is not CelKind.NULL:
        return f"write size(string({part.text}))"
    if CALLS[name].receiver == TEXTUAL and part.kind in NUMBERS:
        return f"write string({part.text})"
    return f"write {CALLS[name].example}"
