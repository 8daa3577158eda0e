"""Names of fields that mean the same. Each row lists what Dublin Core, IPTC, PLUS, EXIF, Spectrum, CDWA, VRA Core and
common habits call one thing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

MEANINGS: Final = (
    ("title", "headline", "name", "heading", "object name", "asset title", "document title"),
    ("description", "caption", "abstract", "summary", "cutline", "brief description", "physical description",
     "caption abstract", "long description", "image description", "synopsis"),
    ("description writer", "caption writer", "writer", "writer editor"),
    ("keyword", "tag", "subject", "subject keyword", "subject term", "search term", "descriptor"),
    ("creator", "author", "photographer", "artist", "maker", "agent", "artist maker", "production person", "byline",
     "photo by", "photographed by"),
    ("creator job title", "creator title", "author position", "byline title", "photographer job title"),
    ("right", "copyright", "copyright notice", "copyright statement", "right statement", "copyright line"),
    ("usage terms", "right usage terms", "terms of use", "usage", "usage right", "usage restriction", "usage condition",
     "condition of use", "restriction", "licence terms", "license terms", "allowed usage", "permitted use"),
    ("licence", "license", "licence type", "license type"),
    ("copyright holder", "copyright owner", "right holder", "right owner"),
    ("credit", "credit line", "courtesy", "courtesy line", "acknowledgement", "photo credit", "image credit",
     "provider", "credit provider", "mandatory credit"),
    ("source", "supplier", "image supplier", "agency", "photo agency"),
    ("shot date", "shoot date", "shooting date", "date taken", "capture date", "date photographed", "date captured",
     "date time original", "original date time", "taken at", "taken on", "photo date", "recording date"),
    ("site", "place", "location", "sublocation", "venue"),
    ("city", "town", "municipality"),
    ("province state", "state", "province", "region", "state region"),
    ("country", "country name", "nation"),
    ("country code", "iso country code", "country iso code"),
    ("job id", "job identifier", "job reference", "job number", "job", "assignment", "assignment id",
     "assignment number", "transmission reference", "original transmission reference"),
    ("instruction", "special instruction"),
    ("person", "people", "person shown", "people shown", "person in image", "person depicted", "people pictured"),
    ("event", "event name", "occasion"),
    ("job title", "position", "function", "role"),
    ("series", "programme", "program"),
    ("duration", "running time", "runtime"),
    ("inventory", "inventory number", "accession number", "object number", "repository number", "accession"),
    ("note", "comment", "remark", "internal note"),
    ("medium", "material", "technique", "material and technique", "medium and support"),
    ("dimension", "measurement"),
    ("classification", "object type", "work type", "artwork type", "object category", "work category",
     "object classification", "genre"),
    ("date made", "object date", "date of work", "production date"),
    ("alt text", "alternative text", "accessibility text"),
    ("language", "content language"),
    ("publisher", "published by"),
    ("expiry date", "expiration date", "expires", "licence end", "licence expiry", "license end", "license expiry",
     "right expiry", "right end", "usage end", "usage expiry", "valid until", "usable until"),
    ("model release", "model release status"),
    ("property release", "property release status"),
    ("sku", "article number", "item number", "product number", "product code", "product id", "material number"),
    ("product", "product name", "product title"),
    ("brand", "brand name"),
    ("campaign", "campaign name"),
    ("project", "project name", "project title"),
    ("department", "division", "business unit"),
    ("client", "customer", "client name", "customer name"),
    ("colour", "color"),
    ("season", "product season"),
)  # fmt: skip
EITHER: Final = (("date created", "creation date", "created on"), ("date made", "shot date"))
"""Names that may mean any of several things: the names, and one name of each thing."""

NUMBER: Final = frozenset({"no", "nr", "num", "number"})  # at the end of a name
FILLING: Final = frozenset({"the", "and", "or", "for", "a", "s"})  # what a name means without


def meanings_of(words: Sequence[str]) -> frozenset[int]:
    """What a name of these words means for certain: numbers of rows."""
    return frozenset(_SURE[one] for one in _spellings(words) if one in _SURE)


def possible_meanings_of(words: Sequence[str]) -> frozenset[int]:
    """What it may mean, too."""
    return meanings_of(words) | (_EITHER if _VAGUE.intersection(_spellings(words)) else frozenset())


def _spellings(words: Sequence[str]) -> Iterator[str]:
    """A name without filling words and plurals, as one word: in its order, and in that of the alphabet."""
    *first, last = words or ("",)
    spelt = [*first, "number" if first and last in NUMBER else last]
    plain = [singular(each) for each in spelt if each not in FILLING and each != "of"]
    yield "".join(plain)
    yield " ".join(sorted(plain))


def singular(word: str) -> str:
    """A word of a name without the `s` of its plural."""
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


_SURE: Mapping[str, int] = {
    spelling: number for number, row in enumerate(MEANINGS) for name in row for spelling in _spellings(name.split())
}
_VAGUE = frozenset(spelling for name in EITHER[0] for spelling in _spellings(name.split()))
_EITHER = frozenset[int]().union(*(meanings_of(name.split()) for name in EITHER[1]))
