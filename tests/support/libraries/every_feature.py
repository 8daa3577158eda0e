"""A small library that uses every feature of the neutral model, and the schema of a tenant that can receive it."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping

from dam_sync.model.capabilities import Feature
from dam_sync.model.values import Json
from tests.conformance.catalogue import FULL, LINK, SCHEMA, asset, field
from tests.conformance.drafts import KEYS

OWN_MARKS = "srckey"  # the conformance catalogue's field for markers: kept free for ours
NAMES = (*KEYS, "artist", "sizes")  # the fields whose values are compared
DATES = {"created": "created_at"}  # fields of the receiving tenant that take what an asset has besides its fields
GROWN = "grown.tif"
LARGE = 150_000  # bytes of a file that travels in parts where these are made small
NEW_TERMS = ("2", "3", "4")  # the receiving tenant has these not yet
PARTS = [{"key": "part", "kind": "text"}, {"key": "length", "kind": "number"}]
PEOPLE = ("Élodie Marchand", "Sam O’Neill")
SYNONYMS = {"2": {"en": ["Ocean"], "fr": ["Océan"]}}

MORE_SCHEMA: tuple[Json, ...] = (
    {"record": "vocabulary", "key": "people", "label": "People", "closed": True},
    *(
        {"record": "term", "vocabulary": "people", "id": f"2{n}", "labels": {"en": name}}
        for n, name in enumerate(PEOPLE)
    ),
    field("artist", "person", multiple=True, vocabulary="people"),
    field("sizes", "rows", fields=PARTS, columns=[{**row, "types": ["Photo"]} for row in PARTS]),
)
PLACES: tuple[Json, ...] = (
    {"record": "container", "kind": "category", "path": ["Themes"]},
    {"record": "container", "kind": "category", "path": ["Themes", "Sea / Shore"]},
    {"record": "container", "kind": "section", "path": ["Front page"]},
)


def receiving() -> list[Json]:
    """The tenant to be filled: the same fields, and some of the terms."""
    rows = [row for row in (*SCHEMA, *MORE_SCHEMA) if not _is_new(row)]
    return [*rows, *(field(key, "instant") for key in DATES)]


def everything(large: int = LARGE, *, without: Container[str] = ()) -> list[Json]:
    """Types, fields, vocabularies, containers, and assets of every sort. large: bytes of the largest files; without:
    `fileless` where the tenant can hold no asset without a file."""
    rows = [full(), related(2, 1), related(3, 1), many_values(4), awkward(5), later(6), unicode(7), nowhere(8)]
    rows += [asset(9, fields=titled(9), status="archived"), asset(10, fields=titled(10), status="trash")]
    rows += [expired(11), grown(12, large), everywhere(14), asset(15, fields=titled(15), status="draft")]
    rows += [] if "fileless" in without else [fileless(13)]
    schema = [_with_synonyms(row) for row in (*SCHEMA, *MORE_SCHEMA, *PLACES)]
    return [*schema, *[{**row, "fields": _unmarked(row["fields"])} for row in rows]]


def _is_new(row: Json) -> bool:
    return row["record"] == "term" and row["vocabulary"] == "subjects" and row["id"] in NEW_TERMS


def _with_synonyms(row: Json) -> Json:
    spoken = row["record"] == "term" and row["vocabulary"] == "subjects" and row["id"] in SYNONYMS
    return {**row, "synonyms": SYNONYMS[row["id"]]} if spoken else row


def _unmarked(fields: Json) -> Json:
    return {key: value for key, value in fields.items() if key != OWN_MARKS}


def titled(number: int, **fields: Json) -> Json:
    return {"title": {"texts": {"en": f"Picture {number}", "fr": f"Image {number}"}}, **fields}


def full() -> Json:
    """The conformance suite's fullest asset, with persons, a field set, and tags of a recognition service."""
    rows = [{"row": {"part": "frame", "length": 12.5}}, {"row": {"part": "glass", "length": 3}}]
    fields = {**FULL["fields"], "artist": [{"person": PEOPLE[0]}, {"person": PEOPLE[1]}], "sizes": rows}
    return {**FULL, "fields": fields, "machine_tags": ["harbour wall", "boat"]}


def related(number: int, other: int) -> Json:
    return asset(
        number,
        fields=titled(number, rating=3, cleared=True),
        relations=[{"kind": LINK, "target": str(other)}],
        attachments=[_file(f"{name}.pdf", 400, 40 + n) for n, name in enumerate("ab")],
    )


def many_values(number: int) -> Json:
    terms = [{"id": n, "label": label} for n, label in (("1", "Nature"), ("3", "Wood"), ("4", "City"))]
    fields = titled(number, keywords=["one", "two", "three"], subject=terms, country={"id": "12", "label": "Spain"})
    return asset(number, fields=fields, tags=["one", "two"], placements=[{"kind": "folder", "path": ["Archive"]}])


def awkward(number: int) -> Json:
    """Names and texts that trip the careless."""
    name = "Œuvre d’été – 100 % “vrai”.jpg"
    fields = titled(number, note='=1+1; "quoted" | piped, \\ back', legend={"texts": {"en": "two\nlines & <more>"}})
    return asset(number, filename=name, fields=fields, versions=[_file(name, 1 << 16, number)])


def later(number: int) -> Json:
    """Published later, expired even later; three versions."""
    versions = [_file("later.jpg", 600 + n, 60 + n) for n in range(3)]
    rights = {"groups": ["public"], "release_at": "2021-06-01T00:00:00Z", "expires_at": "2045-06-01T00:00:00Z"}
    return asset(number, filename="later.jpg", fields=titled(number), versions=versions, rights=rights)


def unicode(number: int) -> Json:
    texts = {"en": "海辺 and море", "fr": "ה ים"}
    fields = {"title": {"texts": texts}, "note": "e\u0301te\u0301", "body": "<p>Ünïcode</p>", "mail": "a@example.org"}
    return asset(number, filename="海辺.jpg", fields=fields, placements=[{"kind": "folder", "path": ["Press"]}])


def nowhere(number: int) -> Json:
    """In no container at all."""
    return asset(number, fields=titled(number), placements=[])


def expired(number: int) -> Json:
    rights = {"groups": ["public", "staff"], "release_at": "2001-01-01T00:00:00Z", "expires_at": "2003-01-01T00:00:00Z"}
    return asset(number, fields=titled(number), rights=rights)


def grown(number: int, large: int) -> Json:
    """A chain of versions and an attachment that travel in parts, each in its own way: by length, and to the byte."""
    versions = [_file(GROWN, size, 80 + n) for n, size in enumerate((2_000, large, large + 1))]
    attached = [_file("plans.zip", large + 7, 90), _file("note.txt", 12, 91)]
    return asset(number, filename=GROWN, fields=titled(number), versions=versions, attachments=attached)


def fileless(number: int) -> Json:
    """Metadata alone."""
    return asset(number, filename="", fields=titled(number, note="no file"), versions=[])


def everywhere(number: int) -> Json:
    """In containers of every kind, in several of most."""
    folders = [["Press"], ["Archive"], ["Press", "2024"]]
    placements = [{"kind": "folder", "path": path} for path in folders]
    placements += [{"kind": row["kind"], "path": row["path"]} for row in PLACES]
    placements += [
        {"kind": kind, "path": [name]} for kind in ("label", "collection") for name in ("Highlight", "Best of")
    ]
    return asset(number, fields=titled(number), placements=placements)


def _file(name: str, size: int, seed: int) -> Json:
    return {"name": name, "generate": {"size": size, "seed": seed}}


# -- what of the neutral model it uses ---------------------------------------------------------------------------------

Rows = Iterable[Json]
Uses = Callable[[Rows], bool]
LINKS = "an address that a service gives an asset: a tenant makes it, and no catalogue can ask for one"
NOT_ASKED_FOR: Mapping[Feature, str] = {
    Feature.LINKS: LINKS,
    Feature.RESTRICTIONS: "the tests of exposure have them",
    Feature.FILENAME: "a change, which runs of changed libraries make",
    Feature.SAME_NAMES: "the end-to-end tests of names have it",
    Feature.CLOSED: "what a guard does, not what an asset has",
    Feature.CYCLES: "two assets of the library are related to each other; refusals have tests of their own",
    Feature.RENAMED_TERMS: "a change, which runs of changed libraries make",
    Feature.RENAMED_CONTAINERS: "a change, which runs of changed libraries make",
    Feature.MOVED_CONTAINERS: "a change, which runs of changed libraries make",
    Feature.OUTER_WHITESPACE: "a mapping's own tests have it",
}
KINDS = (
    *("TEXT", "LONG_TEXT", "HTML", "NUMBER", "FLAG", "DATE", "INSTANT", "TERM", "PLACE", "PERSON", "EMAIL", "URL"),
    "ROWS",
)
CONTAINERS = ("FOLDER", "CATEGORY", "COLLECTION", "SECTION", "LABEL")


def _values(rows: Rows, **wanted: Json) -> Iterator[Json]:
    """Values of the fields of which all this is true."""
    known = list(rows)
    keys = {
        row["key"]
        for row in known
        if row["record"] == "field" and all(row.get(name) == value for name, value in wanted.items())
    }
    yield from (value for row in _assets(known) for key, value in row["fields"].items() if key in keys)


def _assets(rows: Rows) -> Iterator[Json]:
    yield from (row for row in rows if row["record"] == "asset")


def _terms(rows: Rows) -> Iterator[Json]:
    yield from (row for row in rows if row["record"] == "term")


def _some(name: str, least: int = 1) -> Uses:
    return lambda rows: any(len(row.get(name) or ()) >= least for row in _assets(rows))


def _right(name: str) -> Uses:
    return lambda rows: any(row.get("rights", {}).get(name) for row in _assets(rows))


def _field(kind: Feature) -> Uses:
    return lambda rows: any(_values(rows, kind=kind.name.lower()))


def _container(kind: Feature) -> Uses:
    return lambda rows: any(p["kind"] == kind.name.lower() for row in _assets(rows) for p in row["placements"])


def _status(*wanted: str) -> Uses:
    return lambda rows: {row["status"] for row in _assets(rows)} >= set(wanted)


USED: Mapping[Feature, Uses] = {
    **{Feature[name]: _field(Feature[name]) for name in KINDS},
    **{Feature[name]: _container(Feature[name]) for name in CONTAINERS},
    Feature.FILELESS: lambda rows: any(not row["versions"] for row in _assets(rows)),
    Feature.VERSIONS: _some("versions", 2),
    Feature.ATTACHMENTS: _some("attachments"),
    Feature.DIGESTS: _some("versions"),
    Feature.MULTIPLE: lambda rows: any(len(value) > 1 for value in _values(rows, multiple=True)),
    Feature.LOCALIZED: lambda rows: any(len(value["texts"]) > 1 for value in _values(rows, localized=True)),
    Feature.TERMS: lambda rows: any(_terms(rows)),
    Feature.HIERARCHY: lambda rows: any(row.get("parent") for row in _terms(rows)),
    Feature.TERM_LOCALES: lambda rows: any(len(row["labels"]) > 1 for row in _terms(rows)),
    Feature.SYNONYMS: lambda rows: any(row.get("synonyms") for row in _terms(rows)),
    Feature.TAGS: _some("tags"),
    Feature.MACHINE_TAGS: _some("machine_tags"),
    Feature.STATUS: _status("published", "archived", "draft"),
    Feature.TRASH: _status("trash"),
    Feature.RELEASE: _right("release_at"),
    Feature.EXPIRY: _right("expires_at"),
    Feature.TIME_OF_DAY: _right("expires_at"),
    Feature.GROUPS: _right("groups"),
    Feature.RELATIONS: _some("relations"),
    Feature.CREATED: lambda rows: any(row["created_at"] for row in _assets(rows)),
}
