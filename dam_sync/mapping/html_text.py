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
_END = re.compile(r">|=\s*[\"']")  # of a tag, or the beginning of a quoted value inside it


def text_of_html(source: str) -> str:
    """The text of HTML with character references replaced; blocks begin a new line, scripts and styles are dropped.
    What is not markup (`a < b`, a tag that never ends) stays as it is."""
    if len(source) > LONGEST:
        return html.unescape(re.sub(r"<[^<>]*>", " ", source))
    return "".join(_Reader(source).parts())


class _Reader:
    """One pass over a text. A search that failed is never repeated later, where it would fail again."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._missing: set[str] = set()

    def parts(self) -> Iterator[str]:
        """Text and line ends."""
        at = 0
        while (start := self._source.find("<", at)) >= 0:
            yield html.unescape(self._source[at:start])
            tag, at = self._markup(start)
            if at == start:
                yield "<"
                at += 1
            elif tag in BLOCKS:
                yield "\n"
            elif tag in SILENT:
                at = self._behind(tag, at)
        yield html.unescape(self._source[at:])

    def _markup(self, start: int) -> tuple[str, int]:
        """The name of the tag that begins here, if it is one, and where the markup ends: at `start` if it is not."""
        if self._source.startswith("<!--", start):
            return "", self._found("-->", start + 4) or self._found(">", start) or start
        found = _TAG.match(self._source, start + 1)
        if found is None:
            bogus = self._source[start + 1 : start + 2] in ("!", "?", "/")
            return "", (self._found(">", start) or start) if bogus else start
        if found[0].startswith("/"):
            return found[1].lower() if found[1].lower() in BLOCKS else "", self._found(">", start) or start
        return found[1].lower(), self._tag_end(found.end()) or self._found(">", start) or start

    def _tag_end(self, at: int) -> int:
        """The position after the `>` of a tag, skipping quoted values; 0 if a quote or the tag never ends."""
        while self._found(">", at) and "quote" not in self._missing:
            found = _END.search(self._source, at)
            if found is not None and found[0] == ">":
                return found.end()
            at = self._source.find(found[0][-1], found.end()) + 1 if found is not None else 0
            if not at:
                self._missing.add("quote")
        return 0

    def _found(self, what: str, at: int) -> int:
        """The position after the next of these; 0 if there is none."""
        place = -1 if what in self._missing else self._source.find(what, at)
        if place < 0:
            self._missing.add(what)
            return 0
        return place + len(what)

    def _behind(self, tag: str, at: int) -> int:
        """Where the end of a dropped element begins."""
        found = SILENT[tag].search(self._source, at) if tag not in self._missing else None
        if found is not None:
            return found.start()
        self._missing.add(tag)
        return len(self._source) if tag in _PROGRAM else at
