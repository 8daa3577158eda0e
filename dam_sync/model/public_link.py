"""Public links: which of an asset belong together at two services, and which must not be shown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, unquote_to_bytes, urlsplit

from dam_sync.model.capabilities import LinkAccess
from dam_sync.model.exposure import ExposureRule

ORIGINALS = ("original", "file", "cdn")
"""Names of the link to the file itself, or to what a service serves instead of it."""
EXPIRES = "no counterpart: expires"
_UNSAFE = re.compile(r"[\x00-\x20\x7f]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_BARE_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_SAFE = "/?#[]@!$&'()*+,;=:%~-._"
_HOST = re.compile(r"[0-9a-z_-]+(?:\.[0-9a-z_-]+)*\.?|[0-9a-f:.]*:[0-9a-f:.]*")
_SIGNED = re.compile(
    r"(?i)[?&;](?:signature|sig|expires?|exp|token|policy|key-pair-id|awsaccesskeyid|se|sp|sv|hmac|st"
    r"|x-amz-[\w-]+|x-goog-[\w-]+|access_token|auth|x-oss-[\w-]+|verify|hdnts|__token__|jwt)="
)
_PAGE = re.compile(r"(?i)viewer|player|html")
_IN_NAME = re.compile(r"(?i)(?<![0-9])([0-9]{2,5}) ?px")
_IN_QUERY = re.compile(r"(?i)[?&;]w(?:idth)?=([0-9]{2,5})(?![0-9])")
_CROPPED = re.compile(r"(?i)[?&;]crop=(?!no|0|false|none)")
LONGEST = 4096  # characters of a URL that a rule may have


@dataclass(frozen=True, slots=True)
class LinkWidening:
    """A rule by which a new link lets in more people. side: `source` or `target` if it is about who sees the asset
    there, empty if it is about the links themselves."""

    rule: ExposureRule
    side: str = ""


@dataclass(frozen=True, slots=True)
class Redirect:
    """One old link. new: empty without a counterpart, and where it is left out; reason: why. name: the rendition of the
    old link, became: that of the new one. widened: the rules by which the new link lets in more people, if it opens
    without a login; accepted: those of them that the job accepts."""

    old: str
    new: str
    asset: str
    target: str
    name: str = ""
    became: str = ""
    reason: str = ""
    widened: tuple[LinkWidening, ...] = ()
    accepted: tuple[ExposureRule, ...] = ()

    @property
    def enlarges(self) -> bool:
        """Whether a page that shows the preview of the old link would load the whole file in its place."""
        return self.name not in ORIGINALS and not is_page(self.name) and self.became in ORIGINALS

    def rules(
        self, old: bool | None, new: bool | None, source: LinkAccess, target: LinkAccess
    ) -> tuple[LinkWidening, ...]:
        """Those by which publishing this redirect lets in more people. old, new: whether the link was seen to open
        without a login, None if it was not asked or did not say; then what the services say of their links counts."""
        opens = not target.login if new is None else new
        asked = source.login if old is None else not old
        found = self.widened if opens or not target.login else ()
        return (*found, LinkWidening(ExposureRule.LOGIN)) if asked and opens else found


def is_signed(url: str) -> bool:
    """Whether a link is signed or expires, by its parameters: it is a secret, and is never shown."""
    try:
        parts = urlsplit(url)
    except ValueError:  # no rule can have it either
        return False
    return bool(_SIGNED.search(f"?{parts.query}") or parts.username or parts.password)


def plain_url(url: str) -> str:
    """The URL in the form in which it is sent, without a fragment; empty for one that no rule can have: too long, not
    http, with a user, with a host that is more than letters, digits, hyphens and dots, which a rule might read as a
    pattern, or with a path that servers resolve or refuse."""
    if len(url) > LONGEST or _UNSAFE.search(url.strip()):
        return ""
    try:
        parts = urlsplit(url.strip())
        host = (parts.hostname or "").encode("idna").decode("ascii").lower()
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return ""
    if parts.scheme.lower() not in ("http", "https") or not _HOST.fullmatch(host) or parts.username or parts.password:
        return ""
    host = f"[{host}]" if ":" in host else host
    path = quote(_BARE_PERCENT.sub("%25", parts.path or "/"), safe=_SAFE)
    if not _is_simple(path):
        return ""
    query = f"?{quote(parts.query, safe=_SAFE)}" if parts.query else ""
    return f"{parts.scheme.lower()}://{host}{port}{path}{query}"


def _is_simple(path: str) -> bool:
    """Whether a path is text without control characters, and without segments that a server resolves."""
    try:
        text = unquote_to_bytes(path).decode("utf-8")
    except UnicodeDecodeError:
        return False
    return not _CONTROL.search(text) and not {".", ".."} & set(text.split("/"))


def _width(name: str, url: str) -> int:
    """Pixels, as a rendition is named or its link asks for them; 0 if neither says."""
    found = _IN_NAME.search(name) or _IN_QUERY.search(url)
    return int(found[1]) if found else 0


def is_page(name: str) -> bool:
    """Whether a rendition of this name is a page that shows a file."""
    return bool(_PAGE.search(name))


def counterpart(name: str, links: Mapping[str, str], url: str = "") -> str:
    """The rendition of the other service that takes the place of this one, whose link is `url`; empty if there is none.
    A preview becomes the next larger one of known width, or the largest, if that is not cropped; else the file."""
    if name in links:
        return name
    if name not in ORIGINALS:
        known = {each: _width(each, there) for each, there in links.items() if not _CROPPED.search(there)}
        widths = sorted((width, each) for each, width in known.items() if width and each not in ORIGINALS)
        wanted = _width(name, url)
        if widths:
            return next((each for width, each in widths if wanted and width >= wanted), widths[-1][1])
    return next((each for each in (*ORIGINALS, *sorted(links)) if each in links), "")
