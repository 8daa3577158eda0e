"""Transforms that change text."""

from __future__ import annotations

import html
import re
from typing import ClassVar, Literal

from pydantic import Field

from dam_sync.mapping.filenames import cut_to_characters, safe_name
from dam_sync.mapping.html_text import text_of_html
from dam_sync.mapping.results import Note, Result, ValueOutcome, shown
from dam_sync.mapping.transforms.base import EachTransform, TransformContext
from dam_sync.model.name_bounds import MOST_NAMES
from dam_sync.model.unicode_forms import nfc
from dam_sync.model.values import Scalar


class TextTransform(EachTransform):
    """One text in, one text out."""

    each_language: ClassVar[bool] = True

    def each(self, value: Scalar, context: TransformContext) -> Result:
        text = self.text_of(value, context)
        return text if isinstance(text, Result) else Result((self.change(text),))

    def change(self, text: str) -> str:
        """The changed text."""
        return text


class Nfc(TextTransform):
    name: ClassVar[str] = "nfc"
    summary: ClassVar[str] = "composes characters and their accents (Unicode NFC)"
    example: ClassVar[str] = "nfc"

    def change(self, text: str) -> str:
        return nfc(text)


class Trim(TextTransform):
    name: ClassVar[str] = "trim"
    summary: ClassVar[str] = "removes whitespace at both ends"
    example: ClassVar[str] = "trim"

    def change(self, text: str) -> str:
        return text.strip()


class Casefold(TextTransform):
    name: ClassVar[str] = "casefold"
    summary: ClassVar[str] = "folds case, so that spellings that differ only in case become equal"
    example: ClassVar[str] = "casefold"

    def change(self, text: str) -> str:
        return nfc(text.casefold())


class Upper(TextTransform):
    name: ClassVar[str] = "upper"
    summary: ClassVar[str] = "uppercase"
    example: ClassVar[str] = "upper"

    def change(self, text: str) -> str:
        return text.upper()


class Lower(TextTransform):
    name: ClassVar[str] = "lower"
    summary: ClassVar[str] = "lowercase"
    example: ClassVar[str] = "lower"

    def change(self, text: str) -> str:
        return text.lower()


class Title(TextTransform):
    name: ClassVar[str] = "title"
    summary: ClassVar[str] = "a capital letter at the start of each word"
    example: ClassVar[str] = "title"

    def change(self, text: str) -> str:
        return re.sub(r"[^\W\d_]+(?:['’][^\W\d_]+)*", lambda word: word[0][:1].upper() + word[0][1:].lower(), text)


class Escape(TextTransform):
    name: ClassVar[str] = "escape"
    summary: ClassVar[str] = "escapes text for HTML"
    example: ClassVar[str] = "escape"

    def change(self, text: str) -> str:
        return html.escape(text, quote=False)


class StripHtml(TextTransform):
    name: ClassVar[str] = "strip_html"
    summary: ClassVar[str] = "the text of HTML, one paragraph per line"
    example: ClassVar[str] = "strip_html"

    def change(self, text: str) -> str:
        lines = (re.sub(r"[^\S\n]+", " ", line).strip() for line in text_of_html(text).split("\n"))
        return "\n".join(line for line in lines if line)


class StripPrefix(TextTransform):
    name: ClassVar[str] = "strip_prefix"
    summary: ClassVar[str] = "removes a prefix; a prefix that starts with / matches whole folder names only"
    example: ClassVar[str] = "{strip_prefix: /Library}"
    short: ClassVar[str] = "text"
    text: str = Field(min_length=1)

    def change(self, text: str) -> str:
        prefix = self.text.rstrip("/") if self.text.startswith("/") else self.text
        rest = text.removeprefix(prefix)
        inside = not self.text.startswith("/") or rest == "" or rest.startswith("/")
        return rest if inside else text


class Truncate(EachTransform):
    name: ClassVar[str] = "truncate"
    summary: ClassVar[str] = "at most `max` characters; `on_cut`: park, drop, or note that something was cut"
    example: ClassVar[str] = "{truncate: {max: 255, on_cut: park}}"
    short: ClassVar[str] = "max"
    each_language: ClassVar[bool] = True
    max: int = Field(ge=1)
    on_cut: Literal["park", "drop", "note"] | None = None

    def each(self, value: Scalar, context: TransformContext) -> Result:
        text = self.text_of(value, context)
        if isinstance(text, Result) or len(text) <= self.max:
            return text if isinstance(text, Result) else Result((text,))
        detail = f"{len(text)} characters, at most {self.max}: {shown(text)}"
        if self.on_cut != "note":
            return self.fail(detail, self.on_cut)
        return Result((cut_to_characters(text, self.max).rstrip(),), Note(self.name, detail, ValueOutcome.KEPT))


class SafeName(EachTransform):
    name: ClassVar[str] = "safe_name"
    summary: ClassVar[str] = (
        "a file name that every system accepts, at most `max` characters; keeps the extension. A changed name is a "
        "named loss"
    )
    example: ClassVar[str] = "{safe_name: {max: 128}}"
    short: ClassVar[str] = "max"
    each_language: ClassVar[bool] = True
    max: int = Field(default=255, ge=8)

    def each(self, value: Scalar, context: TransformContext) -> Result:
        text = self.text_of(value, context)
        if isinstance(text, Result):
            return text
        name = safe_name(text, self.max)
        changed = name != nfc(text)  # the two forms of an accent look alike
        return Result(
            (name,), Note(self.name, f"{shown(text)} is {shown(name)}", ValueOutcome.KEPT) if changed else None
        )


class Split(EachTransform):
    name: ClassVar[str] = "split"
    summary: ClassVar[str] = "splits one text into several values at `on`"
    example: ClassVar[str] = '{split: ";"}'
    short: ClassVar[str] = "on"
    on: str = Field(min_length=1)

    def each(self, value: Scalar, context: TransformContext) -> Result:
        text = self.text_of(value, context)
        if isinstance(text, Result):
            return text
        parts = text.split(self.on, MOST_NAMES)
        if len(parts) > MOST_NAMES:
            return self.fail(f"the text has more than {MOST_NAMES:,} parts")
        return Result(tuple(part.strip() for part in parts if part.strip()))

    def is_multi(self, many: bool) -> bool:
        """Several, always."""
        return True
