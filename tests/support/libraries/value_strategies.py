"""Hypothesis strategies for values and assets of any kind, plain and odd."""

from __future__ import annotations

from datetime import UTC

from hypothesis import strategies as st

from dam_sync.model.asset import Asset, AssetId, FileRef, Placement, Revision, Rights
from dam_sync.model.values import GeoPoint, Localized, Person, Row, Scalar, Term

SHORT = (
    "",
    " ",
    "\u00a0",
    "é",
    "e\u0301",
    "<p>a</p>",
    "<![x[",
    "&lt;",
    "..",
    "CON.txt",
    "a/b",
    "12.5",
    "1.234,5",
    "Yes",
)
DAYS = (
    "2024-02-30",
    "2024-01-01",
    "2024-01-01T10:00:00+02:00",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-12:00",
)
odd = st.sampled_from((*SHORT, *DAYS, "/Library", "\u202eabc", "👩\u200d👩\u200d👧", "\ud800", "0" * 400))
texts = st.one_of(odd, st.text(max_size=30))
words = st.text(alphabet="abcdefgh XYZéß", min_size=1, max_size=12).filter(lambda text: bool(text.strip()))
dates = st.dates()
instants = st.datetimes(timezones=st.just(UTC))
numbers = st.one_of(st.integers(-(10**20), 10**20), st.floats())
terms = st.builds(
    Term,
    label=texts,
    id=st.sampled_from(("", "1", "2")),
    path=st.lists(texts, max_size=3).map(tuple),
    labels=st.dictionaries(st.sampled_from(("en", "fr")), texts, max_size=2),
    synonyms=st.dictionaries(st.sampled_from(("en", "fr")), st.lists(texts, max_size=2).map(tuple), max_size=2),
)
localized = st.dictionaries(st.sampled_from(("en", "fr", "pt-br")), texts, max_size=3).map(Localized)
people = st.builds(Person, texts, st.sampled_from(("", "1")))
degrees = st.one_of(st.none(), st.floats(-180, 180))
places = st.builds(GeoPoint, degrees, degrees, texts)
plain: st.SearchStrategy[Scalar] = st.one_of(texts, st.booleans(), numbers, dates, instants)
rows = st.dictionaries(
    st.sampled_from(("a", "b")), st.one_of(plain, st.lists(plain, max_size=2).map(tuple)), max_size=2
)
scalars: st.SearchStrategy[Scalar] = st.one_of(plain, localized, terms, people, places, rows.map(Row))
several = st.lists(scalars, min_size=1, max_size=4).map(tuple)

KEYS = (
    *("title", "description", "inventory", "keywords", "country", "shot_date", "taken_at", "height_cm", "credit"),
    *("photographer", "people", "site", "cleared", "dims", "stat_views", "width", "unknown"),
)


@st.composite
def assets(draw: st.DrawFn) -> Asset:
    """An asset whose fields may hold anything, also what its schema does not promise."""
    fields = draw(st.dictionaries(st.sampled_from(KEYS), st.one_of(scalars, several), max_size=8))
    kinds = st.sampled_from(("folder", "label", "category"))
    placed = st.builds(Placement, kinds, st.lists(words, min_size=1, max_size=3).map(tuple))
    file = FileRef("1", draw(texts), draw(st.one_of(st.none(), st.integers(0, 10))))
    return Asset(
        AssetId("7"),
        Revision("1"),
        filename=draw(texts),
        status=draw(st.sampled_from(("", "published", "archived"))),
        form_type=draw(st.sampled_from(("", "PICTURE", "VIDEO"))),
        fields=fields,
        versions=(file,) * draw(st.integers(0, 2)),
        placements=draw(st.frozensets(placed, max_size=3)),
        tags=draw(st.frozensets(texts, max_size=3)),
        rights=Rights(draw(st.one_of(st.none(), instants)), None, draw(st.frozensets(words, max_size=2))),
    )
