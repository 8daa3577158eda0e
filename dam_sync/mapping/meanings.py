"""Names of fields that mean the same. Each row lists what Dublin Core, IPTC, PLUS, EXIF, Spectrum, CDWA, VRA Core and
common habits call one thing."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from dam_sync.mapping.translations import TRANSLATIONS
from dam_sync.model.unicode_forms import nfkd

MEANINGS: Final = (
    ("title", "name", "object name", "asset title", "document title", "headline", "heading"),
    ("headline", "heading"),
    ("description", "caption", "abstract", "summary", "cutline", "brief description", "physical description",
     "caption abstract", "long description", "image description", "synopsis"),
    ("description writer", "caption writer", "writer", "writer editor"),
    ("keyword", "subject", "tag", "subject keyword", "subject term", "search term", "descriptor", "topic", "theme",
     "subject heading"),
    ("creator", "author", "artist", "maker", "agent", "artist maker", "production person", "made by", "created by"),
    ("photographer", "photo by", "photographed by", "photo taken by", "picture taken by", "byline", "creator", "author",
     "agent"),
    ("creator job title", "creator title", "author position", "byline title", "photographer job title"),
    ("right", "copyright", "copyright notice", "copyright statement", "right statement", "copyright line"),
    ("usage terms", "right usage terms", "terms of use", "usage", "usage right", "usage restriction", "usage condition",
     "condition of use", "restriction", "licence terms", "license terms", "allowed usage", "permitted use"),
    ("licence", "license", "licence type", "license type"),
    ("copyright holder", "copyright owner", "right holder", "right owner"),
    ("credit", "credit line", "courtesy", "courtesy line", "acknowledgement", "acknowledgement line", "photo credit",
     "image credit", "provider", "credit provider", "mandatory credit"),
    ("source", "supplier", "image supplier", "agency", "photo agency"),
    ("shot date", "shoot date", "shooting date", "date taken", "capture date", "date photographed", "date captured",
     "date time original", "original date time", "taken at", "taken on", "photo date", "recording date",
     "photographed on", "photographed", "shot on", "photo taken on", "picture taken on", "date of photograph"),
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
    ("inventory", "inventory number", "accession number", "object number", "repository number", "accession",
     "museum number", "registration number", "register number", "entry number",
     "object identifier", "object id", "inventory code", "shelf mark"),
    ("note", "comment", "remark", "internal note"),
    ("medium", "material", "technique", "material and technique", "medium and support", "made of",
     "support and technique"),
    ("dimension", "measurement"),
    ("classification", "object type", "work type", "artwork type", "object category", "work category",
     "object classification", "genre", "class", "object class", "type of object", "kind of object"),
    ("date made", "object date", "date of work", "production date", "dating", "date of production", "date of making",
     "year made", "year of work", "when made", "production period", "period of production", "date of origin",
     "origin date", "made on", "period made", "period of making"),
    ("acquisition date", "date acquired", "acquired", "acquired on", "date of acquisition", "accession date",
     "date of accession", "accessioned", "accessioned on", "purchase date", "date of purchase", "date of entry",
     "received", "received on", "entered on", "date entered", "date received", "date of receipt"),
    ("publication date", "date published", "published on", "date of publication", "issue date", "print date"),
    ("collection", "collection name", "holding", "fond"),
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
    ("storage location", "current location", "normal location", "permanent location", "object location", "storage",
     "store location", "location in store", "storage place", "place of storage", "shelf", "shelf location",
     "where kept", "kept at"),
    ("findspot", "find spot", "find place", "find site", "find location", "place found", "where found",
     "place of finding", "place of discovery", "place of find", "excavation site", "place collected"),
    ("provenance", "ownership history", "history of ownership", "former ownership", "object history", "previous owner",
     "former owner"),
    ("condition", "object condition", "condition state", "condition note", "state of preservation", "preservation",
     "preservation state", "state of conservation"),
    ("bibliography", "literature", "literature reference"),
    ("on display", "on view", "on show", "on exhibition", "currently on display", "is on display"),
    ("height", "object height"),
    ("width", "breadth", "object width"),
    ("depth", "object depth"),
    ("length", "object length"),
    ("weight", "object weight"),
    ("diameter", "object diameter"),
    ("image height", "pixel height", "height pixel", "height px", "height in pixel"),
    ("image width", "pixel width", "width pixel", "width px", "width in pixel"),
    ("acquisition method", "method of acquisition", "mode of acquisition", "acquisition type", "how acquired",
     "manner of acquisition", "acquired by", "mode of entry", "entry method"),
    ("insurance value", "insured value", "value for insurance", "insurance valuation", "insured for", "insurance sum",
     "sum insured", "insured sum"),
    ("valuation", "appraised value", "appraisal", "estimated value", "market value"),
    ("loanable", "lendable", "available for loan", "may be lent", "can be lent", "may be loaned", "can be loaned"),
)  # fmt: skip
EITHER: Final = (
    (("date created", "creation date", "created on", "date of creation", "creation", "date", "dated", "year", "datum",
      "jahr", "jaar", "année", "fecha", "date de création", "fecha de creación", "data di creazione"),
     ("date made", "shot date")),
    (("size", "größe", "taille", "tamaño"), ("dimension",)),
    (("acquisition", "erwerbung", "ankauf", "verwerving", "adquisición", "acquisizione"), ("acquisition date",)),
)  # fmt: skip
"""Names that may mean any of several things: the names, and one name of each thing."""

NUMBER: Final = frozenset({"no", "nr", "num", "number"})  # at the end of a name
FILLING: Final = frozenset({"the", "and", "or", "for", "a", "s"})  # what a name means without
LINKING: Final = frozenset(  # and without these between two other words: `date de l'oeuvre`
    (
        *(
            "of",
            "in",
            "de",
            "du",
            "des",
            "d",
            "la",
            "le",
            "les",
            "l",
            "et",
            "der",
            "die",
            "das",
            "von",
            "und",
            "am",
            "im",
        ),
        *("van", "het", "en", "op", "del", "los", "las", "el", "y", "di", "dello", "della", "dei", "delle", "e"),
    )
)
WHOSE: Final = frozenset(  # words that say no more than whose value it is: the title of an object is a title
    (
        *("object", "objekt", "objet", "objeto", "oggetto", "artwork", "kunstwerk", "oeuvre", "œuvre", "opera", "werk"),
        *("work", "obra", "document", "dokument", "asset", "item", "image", "imagen", "immagine", "bild", "abbildung"),
        *("beeld", "afbeelding", "picture", "photograph", "photo", "foto", "record", "main", "primary", "principal"),
        *("principale", "haupt", "hoofd", "all", "preferred"),
    )
)
UNIT_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "mm": ("mm", "millimeter", "millimeters", "millimetre", "millimetres", "millimetri", "milimetros"),
    "cm": ("cm", "centimeter", "centimeters", "centimetre", "centimetres", "zentimeter", "centimetri", "centimetros"),
    "inch": ("inch", "inches", "zoll"),
    "g": ("g", "gram", "grams", "gramm", "gramme", "grammes", "gramos", "grammi"),
    "kg": ("kg", "kilo", "kilogram", "kilograms", "kilogramm", "kilogramme", "kilogrammes", "kilogramos"),
    "lb": ("lb", "lbs"),
    "eur": ("eur", "euro", "euros"),
    "usd": ("usd", "dollar", "dollars"),
    "gbp": ("gbp",),
    "chf": ("chf",),
}
UNITS: Final = frozenset(word for words in UNIT_WORDS.values() for word in words)
FORMS: Final = frozenset(  # words that say only how a value is written
    (
        *("text", "texte", "texto", "testo", "display", "anzeige", "weergave", "value", "statement", "string", "label"),
        *("name", "naam", "nom", "list", "liste", "angabe", "angaben", "vermerk", "feld", "field", "description"),
        *("free", "full"),
        *UNITS,
    )
)
OTHERWISE: Final = frozenset(  # words that make another thing of it: the role of a creator, a former title
    (
        *("role", "birth", "death", "born", "died", "nationality", "gender", "biography", "bio", "price", "method"),
        *("history", "language", "url", "link", "email", "phone", "status", "type", "code", "id", "number", "no", "nr"),
        *("count", "date", "year", "time", "place", "location", "owner", "format", "unit", "version", "key", "source"),
        *("alternative", "alternate", "alt", "former", "previous", "other", "sub", "parent", "old", "original"),
        *("translated", "second", "secondary", "file", "folder", "user", "modified", "updated", "uploaded", "internal"),
    )
)
PLACES: Final = ("site", "city", "province state", "country")  # where an object is kept is not what a picture shows
MEASURES: Final = ("height", "width", "depth", "length", "weight", "diameter")  # of an object, not of its picture
OF_PICTURES: Final = frozenset(
    (
        *("image", "images", "picture", "photo", "photograph", "imagen", "immagine", "bild", "abbildung", "beeld"),
        *("afbeelding", "foto", "pixel", "pixels", "px", "video", "screen", "thumbnail"),
    )
)
LEAST_BEFORE, LEAST_HEAD = 3, 5  # letters of the parts of a compound
SHORT: Final = 4  # letters of a word that may be a part of another one where it is not written apart
STRIPPED: Final = 3  # words that a name may have besides what it means


def meanings_of(words: Sequence[str]) -> frozenset[int]:
    """What a name of these words means for certain: numbers of rows."""
    return _rows_of(_spellings(words))


def core_meanings_of(words: Sequence[str]) -> frozenset[int]:
    """What it means without words that say only whose value it is, or how the value is written."""
    pictured = _MEASURES if OF_PICTURES.intersection(words) else frozenset()
    return meanings_of(words) or _rows_of(_cores(words)) - _PLACES - pictured


def possible_meanings_of(words: Sequence[str]) -> frozenset[int]:
    """What it may mean, too."""
    spellings = {*_spellings(words), *_cores(words)}
    return core_meanings_of(words).union(*(_MAYBE[one] for one in spellings if one in _MAYBE))


def part_meanings_of(words: Sequence[str]) -> frozenset[int]:
    """What a part of it means: its beginning or its end, of a compound only the end, which says what kind of thing the
    whole is: `Nutzungslizenz` is a `Lizenz`."""
    plain = _plain(words)
    if not plain or OTHERWISE.intersection(plain):
        return frozenset()
    parts = {plain[:-1], plain[1:], plain[:1], plain[-1:]} - {(), plain}
    last = plain[-1]
    ends = [last[at:] for at in range(LEAST_BEFORE, len(last) - LEAST_HEAD + 1)]
    named = _rows_of(spelling for part in parts if not FORMS.issuperset(part) for spelling in _joined(part))
    pictured = _MEASURES if OF_PICTURES.intersection(words) else frozenset()
    return (named or _rows_of(ends)) - _PLACES - pictured


def units_of(words: Sequence[str]) -> frozenset[str]:
    """The units of measurement that a name says its values are in."""
    return frozenset(_UNITS[word] for word in words if word in _UNITS)


def rank_of(words: Sequence[str]) -> int:
    """Where a name stands among all that have a meaning: the first of those that mean the same is the most usual."""
    return min((_RANKS[one] for one in (*_spellings(words), *_cores(words)) if one in _RANKS), default=len(_RANKS))


def says_only_whose(words: Iterable[str]) -> bool:
    """Whether these words add nothing to a name beside which they stand."""
    return all(word in WHOSE or word in FORMS for word in words)


def _rows_of(spellings: Iterable[str]) -> frozenset[int]:
    return frozenset[int]().union(*(_SURE[one] for one in spellings if one in _SURE))


def _spellings(words: Sequence[str]) -> Iterator[str]:
    """A name without filling words and plurals, as one word: in its order, and in that of the alphabet."""
    yield from _joined(_plain(words))


def _joined(plain: Sequence[str]) -> tuple[str, str]:
    return "".join(plain), " ".join(sorted(plain))


def _plain(words: Sequence[str]) -> tuple[str, ...]:
    """The words without filling words and plurals."""
    *first, last = words or ("",)
    spelt = [*first, "number" if first and last in NUMBER else last]
    inner = range(1, len(spelt) - 1)
    kept = (each for at, each in enumerate(spelt) if not (at in inner and each in LINKING))
    return tuple(singular(each) for each in kept if each not in FILLING and each != "of")


def _cores(words: Sequence[str]) -> Iterator[str]:
    """The same without words at either end that say only whose value it is, or how it is written."""
    found, latest = {_plain(words)}, {_plain(words)}
    for _ in range(STRIPPED):
        latest = {shorter for state in latest for shorter in _shorter(state)} - found
        found |= latest
    for state in sorted(found - {_plain(words)}):
        yield from _joined(state)


def _shorter(plain: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if len(plain) > 1:
        yield from [plain[1:]] if plain[0] in WHOSE | FORMS else []
        yield from [plain[:-1]] if plain[-1] in WHOSE | FORMS else []
    elif plain:
        (word,) = plain
        fronts = [word[len(each) :] for each in WHOSE if len(each) > SHORT and word.startswith(each)]
        ends = [word[: -len(each)] for each in FORMS if len(each) >= SHORT and word.endswith(each)]
        yield from ((each,) for each in (*fronts, *ends, *(end.removesuffix("s") for end in ends)) if each)


def singular(word: str) -> str:
    """A word of a name without the `s` of its plural."""
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _folded(name: str) -> list[list[str]]:
    """The words of a name without accents; of an umlaut, also as two letters."""
    texts = {name, name.lower().translate(_UMLAUTS)}
    plain = ("".join(each for each in nfkd(text.casefold()) if not unicodedata.combining(each)) for text in texts)
    return [re.findall(r"[^\W_]+", text) for text in plain]


def _spelt(names: Iterable[str]) -> Iterator[str]:
    for name in names:
        for words in _folded(name):
            yield from _spellings(words)


def _sure() -> Mapping[str, frozenset[int]]:
    found = defaultdict[str, set[int]](set)
    for number, row in enumerate(MEANINGS):
        for spelling in _spelt((*row, *TRANSLATIONS.get(row[0], ()))):
            found[spelling].add(number)
    return {spelling: frozenset(rows) for spelling, rows in found.items()}


def _maybe() -> Mapping[str, frozenset[int]]:
    found: dict[str, frozenset[int]] = {}
    for names, things in EITHER:
        rows = _rows_of(_spelt(things))
        found |= {spelling: found.get(spelling, frozenset()) | rows for spelling in _spelt(names)}
    return found


_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "œ": "oe"})
_SURE = _sure()
_MAYBE = _maybe()
_UNITS: Mapping[str, str] = {word: unit for unit, words in UNIT_WORDS.items() for word in words}
_MEASURES = _rows_of(_spelt(MEASURES))
_PLACES = _rows_of(_spelt(PLACES))
_RANKS = {spelling: at for at, spelling in enumerate(_SURE)}
