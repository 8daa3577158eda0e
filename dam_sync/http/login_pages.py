"""Whether what a link leads to is a page in place of a file, such as that of a login. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from urllib.parse import urlsplit

MOST = 64 * 1024  # bytes of a page that are searched
_HTML = ("text/html", "application/xhtml+xml")
_PAGE_NAME = re.compile(r"(?i)[.](?:x?html?|shtml)$")
_FILE_NAME = re.compile(r"[^/.][^/]*[.][0-9A-Za-z]{1,8}$")
_WORDS = re.compile(
    r"(?i)(?:^|[^a-z])(?:log[-_]?[io]n|sign[-_]?[io]n|(?:sso|saml2?|oauth2?|openid|adfs|authenticate|authorize)(?:[^a-z]|$))"
)
_PASSWORD = re.compile(rb"""(?i)<input\b[^>]*\btype\s*=\s*["']?password\b""")


class InsteadOfFile(StrEnum):
    """What is not the file that was asked for, as lists of links name it."""

    LOGIN = "a login page"
    OTHER = "a page in place of a file"


@dataclass(frozen=True, slots=True)
class LinkAnswer:
    """One response: its status, or why there is none; headers by name in lower case; the beginning of its body, if it
    was read."""

    status: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = field(repr=False, default=b"")

    @property
    def is_page(self) -> bool:
        """Whether it is a page that a browser shows."""
        kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        attached = self.headers.get("content-disposition", "").lower().startswith("attachment")
        return self.status.startswith("2") and kind in _HTML and not attached


def page_of(answer: LinkAnswer, asked: str, url: str, *, page: bool) -> InsteadOfFile | None:
    """What a page is that a link led to; None if the link is to a page. asked: the link; url: where it led;
    page: whether it is to a page, such as a player."""
    moved = url != asked
    if _PASSWORD.search(answer.body) or (moved and _WORDS.search(url)):
        return InsteadOfFile.LOGIN
    names_file = _FILE_NAME.search(urlsplit(asked).path) and not _PAGE_NAME.search(urlsplit(asked).path)
    return (
        InsteadOfFile.OTHER
        if not page and (moved or names_file or _WORDS.search(answer.body.decode("latin-1")))
        else None
    )
