"""Undocumented write requests: read back on first use in a run (wire A 6)."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from datetime import datetime, tzinfo

import structlog

from dam_sync.aio.single_flight import Proven
from dam_sync.http.interpreting import interprets_response
from dam_sync.model.clock import Clock
from dam_sync.model.unicode_forms import nfc
from dam_sync.model.values import GeoPoint, Json, Person, Row, Scalar, Term, Value
from dam_sync.services.a_hypermedia.codec.forms import FormField
from dam_sync.services.a_hypermedia.codec.values import decode
from dam_sync.services.a_hypermedia.codec.writes import Put

log = structlog.get_logger(__name__)

BULK, SINGLE = "bulk", "single"
SHOWN = frozenset({"TEXT", "TEXT_AREA", "EMAIL", "URL", "THESAURUS"})  # wire A 6.4: writes marked [public] or [seed]
LOOK_AGAIN = 2.0  # seconds before a check without result is repeated; reads by id should not lag (wire A 6.12)
_TAG = re.compile(r"<[^<>]{0,2000}>")


class Proofs(Proven):
    """The proofs of one connection. `bulk`: whether fields may be written by selection and bulk."""

    def __init__(self, clock: Clock, bulk: bool = True) -> None:
        super().__init__(clock)
        self.bulk = bulk

    def no_bulks(self, why: str = "bulk writes have no effect here") -> None:
        """Stop using bulks in this run: they failed where single calls did not, or would write to other media."""
        if self.bulk:
            log.warning("bulk.replaced", message=f"{why}: fields are written one by one")
        self.bulk = False


def form_of(put: Put, way: str) -> str:
    """The form in which a value is written; empty if it is documented."""
    if put.value in (None, []):
        return f"{way} clear" if way == BULK else f"{way} clear {put.value}"
    kind = put.of.type if put.of else "TEXT"
    if kind in SHOWN and kind != "THESAURUS":
        return f"{way} text" if way == BULK else ""
    return "" if way == SINGLE and kind in SHOWN else f"{way} {kind}"


def first_of_each(puts: Iterable[Put], way: str) -> dict[str, Put]:
    """One write for each form that needs a proof. Of texts in several languages the first: a bulk that ignored the
    language would have overwritten it."""
    found: dict[str, Put] = {}
    for put in puts:
        if form := form_of(put, way):
            found.setdefault(form, put)
    return found


@interprets_response
def kept(put: Put, item: Json, zone: tzinfo) -> bool:
    """Whether a metadata item read back has the written value; spelling that a service may change is ignored."""
    field = put.of or FormField(put.field)
    got = decode(field, item, zone)
    if put.value in (None, []):
        return got is None
    return alike(field, decode(field, {"value": put.value}, zone), got)


def alike(field: FormField, wanted: Value | None, got: Value | None) -> bool:
    """Whether two values are equal except for spelling and order."""
    if wanted is None or got is None:
        return wanted is got
    ours, theirs = (value if isinstance(value, tuple) else (value,) for value in (wanted, got))
    return all(any(_same(field, one, other) for other in theirs) for one in ours) and len(theirs) <= len(ours)


def _same(field: FormField, one: Scalar, other: Scalar) -> bool:
    if isinstance(one, (Term, Person)) and isinstance(other, (Term, Person)) and one.id and other.id:
        return one.id == other.id
    return _spelt(field, one) == _spelt(field, other)


def _spelt(field: FormField, value: Scalar) -> object:
    match value:
        case Term(label=name) | Person(name=name):
            return _text(name).casefold()
        case GeoPoint(latitude=float() | int() as latitude, longitude=float() | int() as longitude):
            return round(latitude, 4), round(longitude, 4)
        case GeoPoint(address=address):
            return _text(address)
        case datetime():
            return int(value.timestamp())
        case str():
            return _text(html.unescape(_TAG.sub(" ", value)) if field.type.startswith("HTML") else value)
        case Row(cells=cells):
            return sorted((key, str(_spelt(field, cell))) for key, cell in cells.items() if not isinstance(cell, tuple))
        case bool() | int() | float():
            return float(value)
        case _:
            return value


def _text(text: str) -> str:
    return " ".join(nfc(text).split())
