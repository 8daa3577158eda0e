"""The text of HTML, in linear time whatever its content; the parser of the standard library takes hours
for a megabyte of `<a `."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

LONGEST = 1_000_000  # characters parsed tag by tag; in longer text, tags are only removed
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
BLOCKS = frozenset(
    (*HEADINGS, "p", "div", "br", "hr", "li", "ul", "ol", "dt", "dd", "tr", "table", "pre", "blockquote", "section")
)
SILENT = {name: re.compile(rf"</{name}(?=[\s/>]|$)", re.IGNORECASE) for name in ("script", "style", "head", "title")}
_PROGRAM = frozenset(("script", "style"))  # dropped to the end of the text if never closed
_TAG = re.compile(r"/?([a-zA-Z][^\s/>]{0,64})")
_END = re.compile(r">|=\s*+[\"']")  # of a tag, or the beginning of a quoted value inside it
_ZEROS = re.compile(r"&#0++(?=[0-9])")
_TOO_LARGE = re.compile(r"&#[0-9]{8,}+;?")  # for a character; the standard library raises ValueError for 4,301 digits


def text_of_html(source: str) -> str:
    """The text of HTML with character references replaced; blocks begin a new line, scripts and styles are dropped.
    What is not markup (`a < b`, a tag that never ends) stays as it is."""
    if len(source) > LONGEST:
        return _unescaped(re.sub(r"<[^<>]*+>", " ", source))
    return "".join(HtmlReader(source).parts())


def _unescaped(text: str) -> str:
    """The text with its character references replaced."""
    return html.unescape(_TOO_LARGE.sub("\ufffd", _ZEROS.sub("&#", text)) if "&#" in text else text)


class HtmlReader:
    """One pass over a text. A search that failed is never repeated later, where it would fail again; of a search that
    looked ahead, what it found is kept until the pass arrives there.

    steps: characters that its searches looked at, a small multiple of the length of the text whatever it contains.
    """

    def __init__(self, source: str) -> None:
        self.steps = 0
        self._source = source
        self._missing: set[str] = set()
        self._ahead: dict[str, tuple[int, int]] = {}  # where a search for this began, and where it found it

    def parts(self) -> Iterator[str]:
        """Text and line ends."""
        at = 0
        while start := self._found("<", at):
            start -= 1
            yield _unescaped(self._source[at:start])
            tag, at = self._markup(start)
            if at == start:
                yield "<"
                at += 1
            elif tag in BLOCKS:
                yield "\n"
            elif tag in SILENT:
                at = self._behind(tag, at)
        yield _unescaped(self._source[at:])

    def _markup(self, start: int) -> tuple[str, int]:
        """The name of the tag that begins here, if it is one, and where the markup ends: at `start` if it is not."""
        if self._source.startswith("<!--", start):
            return "", self._found("-->", start + 4) or self._found(">", start) or start
        if not self._found(">", start):
            return "", start
        found = self._counted(_TAG.match(self._source, start + 1), start, start)
        if found is None:
            bogus = self._source[start + 1 : start + 2] in ("!", "?", "/")
            return "", self._found(">", start) if bogus else start
        if found[0].startswith("/"):
            return found[1].lower() if found[1].lower() in BLOCKS else "", self._found(">", start)
        return found[1].lower(), self._tag_end(found.end()) or self._found(">", start) or start

    def _tag_end(self, at: int) -> int:
        """The position after the `>` of a tag, skipping quoted values; 0 if a quote or the tag never ends."""
        while self._found(">", at) and "quote" not in self._missing:
            found = self._counted(_END.search(self._source, at), at, len(self._source))
            if found is not None and found[0] == ">":
                return found.end()
            at = self._closed(found[0][-1], found.end()) if found is not None else 0
            if not at:
                self._missing.add("quote")
        return 0

    def _closed(self, quote: str, at: int) -> int:
        """The position after the quote that ends a value; 0 if there is none."""
        place = self._source.find(quote, at)
        self.steps += (place if place >= 0 else len(self._source)) - at
        return place + 1

    def _found(self, what: str, at: int) -> int:
        """The position after the next of these; 0 if there is none."""
        if what in self._missing:
            return 0
        began, place = self._ahead.get(what, (0, -1))
        if not began <= at <= place:
            began, place = at, self._source.find(what, at)
            self.steps += (place + len(what) if place >= 0 else len(self._source)) - at
        if place < 0:
            self._missing.add(what)
            return 0
        self._ahead[what] = began, place
        return place + len(what)

    def _behind(self, tag: str, at: int) -> int:
        """Where the end of a dropped element begins."""
        if tag not in self._missing:
            found = self._counted(SILENT[tag].search(self._source, at), at, len(self._source))
            if found is not None:
                return found.start()
        self._missing.add(tag)
        return len(self._source) if tag in _PROGRAM else at

    def _counted(self, found: re.Match[str] | None, at: int, last: int) -> re.Match[str] | None:
        """What was found, after counting the characters up to its end, or to the last one that was looked at."""
        self.steps += (found.end() if found is not None else last) - at
        return found
