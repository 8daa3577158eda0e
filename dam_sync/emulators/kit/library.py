"""A generated museum library: a catalogue and real, decodable files, the same for the same seed.

Written for the demonstration and the tests: nested thesaurus, nested folders, several languages, file versions, dates,
awkward names, files of several kinds and sizes.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

Record = dict[str, Any]

SUBJECTS: Mapping[str, Mapping[str, Sequence[tuple[str, str]]]] = {
    "Nature|Nature": {
        "Water|Eau": (("Sea", "Mer"), ("River", "Rivière"), ("Harbour", "Port"), ("Lighthouse", "Phare")),
        "Sky|Ciel": (("Dawn", "Aube"), ("Storm", "Tempête"), ("Stars", "Étoiles")),
        "Animals|Animaux": (("Horse", "Cheval"), ("Heron", "Héron"), ("Whale", "Baleine")),
    },
    "Society|Société": {
        "Work|Travail": (("Fishing", "Pêche"), ("Weaving", "Tissage"), ("Printing", "Imprimerie")),
        "Leisure|Loisirs": (("Theatre", "Théâtre"), ("Dance", "Danse"), ("Regatta", "Régate")),
    },
    "Objects|Objets": {
        "Ceramics|Céramique": (("Vase", "Vase"), ("Tile", "Carreau")),
        "Textiles|Textiles": (("Tapestry", "Tapisserie"), ("Sail", "Voile")),
    },
}
TYPES = ("Picture", "Document")
MARKS = "srckey"
COUNTRIES = ("France", "Spain", "Portugal", "Norway", "Japan", "Brazil")
FOLDERS = (
    ("Library",),
    ("Library", "Press"),
    ("Library", "Press", "2024"),
    ("Library", "Press", "2025"),
    ("Library", "Collections"),
    ("Library", "Collections", "Sea & Shore"),
    ("Library", "Collections", "Atelier / Workshop"),
    ("Library", "Archive"),
)
PEOPLE = ("Élodie Marchand", "João Prado", "Ingrid Sørbø", "Aiko Tanaka", "Sam O’Neill")
AWKWARD = (
    "été à la plage.jpg",
    "e\u0301te\u0301 de\u0301compose\u0301.jpg",
    "🦭 seal & friends.png",
    "תמונה של הים.jpg",
    "海辺の写真.jpg",
    "CON.jpg",
    "100% “quoted” name.jpg",
    "two  spaces [draft] (final) {v2}.jpg",
    "a" * 120 + ".jpg",
    ".hidden.jpg",
    "UPPER.JPG",
    "semi;colon,comma+plus#hash.jpg",
)
PICTURES = (
    ("jpg", "JPEG"),
    ("jpg", "JPEG"),
    ("jpg", "JPEG"),
    ("png", "PNG"),
    ("tif", "TIFF"),
    ("webp", "WEBP"),
    ("gif", "GIF"),
)
START = datetime(2019, 3, 1, 8, 0, tzinfo=UTC)


def write_library(folder: Path, assets: int = 300, seed: int = 7) -> Path:
    """Write `catalogue.jsonl` and `files/` below the folder; gives the catalogue's path."""
    files = folder / "files"
    files.mkdir(parents=True, exist_ok=True)
    rng = random.Random(seed)
    path = folder / "catalogue.jsonl"
    with path.open("w", encoding="utf-8") as out:
        for record in [*schema_records(), *_assets(rng, assets, files)]:
            out.write(json.dumps(record, ensure_ascii=False) + "\n")
    return path


def write_empty_tenant(folder: Path, *, like_the_source: bool = False) -> Path:
    """Write `target.jsonl`: the schema of a tenant that is to receive the library, and no assets. `like_the_source`:
    it has the library's own fields, and one for marks."""
    path = folder / "target.jsonl"
    with path.open("w", encoding="utf-8") as out:
        for record in twin_records() if like_the_source else target_records():
            out.write(json.dumps(record, ensure_ascii=False) + "\n")
    return path


def schema_records() -> Iterator[Record]:
    """Types, fields, vocabularies, terms and containers of the museum's library."""
    yield {"record": "type", "name": "Picture", "media": ["PICTURE"]}
    yield {"record": "type", "name": "Document", "media": ["DOCUMENT"]}
    yield {"record": "vocabulary", "key": "subjects", "label": "Subjects", "hierarchical": True, "localized": True}
    yield {"record": "vocabulary", "key": "countries", "label": "Countries", "closed": True}
    yield from _terms()
    yield from _fields()
    yield from ({"record": "container", "kind": "folder", "path": list(path)} for path in FOLDERS)
    yield {"record": "container", "kind": "label", "path": ["Highlight"]}
    yield {"record": "status", "name": "Internal", "status": "published"}
    for name in ("public", "staff"):
        yield {"record": "group", "name": name}
    for name in TYPES:
        yield {"record": "profile", "name": name, "type": name, "groups": ["public"], "version_policy": "file_only"}


def twin_records() -> Iterator[Record]:
    """A receiving tenant whose fields are the library's own, and one for our markers."""
    yield from schema_records()
    marks = {"record": "field", "key": MARKS, "label": "Source key", "kind": "text", "types": list(TYPES)}
    yield {**marks, "max_length": 250}


def target_records() -> Iterator[Record]:
    """The receiving tenant: flat text fields, two upload profiles that add versions, two groups."""
    both = ["Images", "Documents"]
    yield {"record": "type", "name": "Images"}
    yield {"record": "type", "name": "Documents"}
    for group in ("public", "staff"):
        yield {"record": "group", "name": group}
    for name, kind in (("images", "Images"), ("documents", "Documents")):
        yield {"record": "profile", "name": name, "type": kind, "groups": ["public"], "version_policy": "file_only"}
    yield {"record": "vocabulary", "key": "subject", "label": "Subject"}
    yield {"record": "vocabulary", "key": "country", "label": "Country"}
    for number, country in enumerate((*COUNTRIES, "Worldwide")):
        yield {"record": "term", "vocabulary": "country", "id": f"c{number}", "labels": {"en": country}}
    rows: Sequence[tuple[str, str, Record]] = (
        ("srckey", "text", {"max_length": 255}),
        ("title", "text", {"required": True, "max_length": 255}),
        ("titleFr", "text", {"max_length": 255}),
        ("description", "long_text", {}),
        ("inventory", "text", {"max_length": 255}),
        ("subject", "term", {"vocabulary": "subject", "multiple": True}),
        ("country", "term", {"vocabulary": "country"}),
        ("shotDate", "date", {}),
        ("heightCm", "number", {}),
        ("credit", "text", {"max_length": 1280}),
        ("photographer", "text", {"max_length": 1280}),
        ("status", "text", {"max_length": 255}),
        ("place", "text", {"max_length": 1280}),
        ("firstStored", "text", {"max_length": 255}),
    )
    for key, kind, more in rows:
        yield {"record": "field", "key": key, "label": key, "kind": kind, "types": both, **more}


def _terms() -> Iterator[Record]:
    number = 0
    for top, middles in SUBJECTS.items():
        number += 1
        top_id = str(number)
        yield _term(top_id, "", *top.split("|"))
        for middle, leaves in middles.items():
            number += 1
            middle_id = str(number)
            yield _term(middle_id, top_id, *middle.split("|"))
            for english, french in leaves:
                number += 1
                yield _term(str(number), middle_id, english, french)
    for index, country in enumerate(COUNTRIES):
        yield {"record": "term", "vocabulary": "countries", "id": f"c{index}", "labels": {"en": country}}


def _term(term_id: str, parent: str, english: str, french: str) -> Record:
    labels = {"en": english, "fr": french}
    return {"record": "term", "vocabulary": "subjects", "id": term_id, "parent": parent, "labels": labels}


def _fields() -> Iterator[Record]:
    both = list(TYPES)
    rows: Sequence[tuple[str, str, Record]] = (
        ("title", "text", {"localized": True, "required": True, "max_length": 255}),
        ("description", "long_text", {"localized": True}),
        ("inventory", "text", {"max_length": 100}),
        ("keywords", "term", {"vocabulary": "subjects", "multiple": True}),
        ("country", "term", {"vocabulary": "countries"}),
        ("shot_date", "date", {}),
        ("height_cm", "number", {}),
        ("credit", "html", {}),
        ("photographer", "text", {"multiple": True}),
        ("site", "place", {"types": ["Picture"]}),
    )
    for key, kind, more in rows:
        yield {
            "record": "field",
            "key": key,
            "label": key.replace("_", " ").title(),
            "kind": kind,
            "types": both,
            **more,
        }


def _assets(rng: random.Random, number: int, files: Path) -> Iterator[Record]:
    leaves = [term for term in _terms() if term["vocabulary"] == "subjects" and term["parent"]]
    for index in range(1, number + 1):
        yield _asset(rng, index, files, leaves)


def _asset(rng: random.Random, index: int, files: Path, leaves: Sequence[Record]) -> Record:
    document = index % 29 == 0
    stored = START + timedelta(hours=7 * index, seconds=index)
    names = _file_names(index, document)
    subjects = rng.sample(leaves, rng.randint(1, 4))
    folders = rng.sample(FOLDERS[1:], 1 + (index % 5 == 0))
    placements = [{"kind": "folder", "path": list(path)} for path in folders]
    if index % 17 == 0:
        placements.append({"kind": "label", "path": ["Highlight"]})
    return {
        "record": "asset",
        "id": str(index),
        "filename": names[-1],
        "status": "archived" if index % 13 == 0 else "published",
        "form_type": "DOCUMENT" if document else "PICTURE",
        "type": "Document" if document else "Picture",
        "fields": _values(rng, index, document, subjects),
        "versions": [
            {"name": name, "file": _write_file(rng, files, index, version, name)} for version, name in enumerate(names)
        ],
        "placements": placements,
        "created_at": _text(stored - timedelta(days=rng.randint(1, 4000))),
        "imported_at": _text(stored),
        "changed_at": _text(stored + timedelta(minutes=rng.randint(0, 90))),
    }


def _values(rng: random.Random, index: int, document: bool, subjects: Sequence[Record]) -> Record:
    first = subjects[0]["labels"]
    values: Record = {
        "title": {"texts": {"en": f"{first['en']} no. {index}", "fr": f"{first['fr']} n° {index}"}},
        "inventory": f"MU.{2019 + index % 6}.{index:05d}",
        "keywords": [{"id": term["id"], "label": term["labels"]["en"]} for term in subjects],
        "shot_date": {"date": (START + timedelta(days=11 * index % 3000)).date().isoformat()},
        "photographer": rng.sample(PEOPLE, 1 + index % 2),
    }
    if index % 3:
        values["description"] = {"texts": {"en": _prose(rng, first["en"]), "fr": _prose(rng, first["fr"])}}
    if index % 4:
        country = rng.randrange(len(COUNTRIES))
        values["country"] = {"id": f"c{country}", "label": COUNTRIES[country]}
        values["credit"] = f"<p>Gift of the <b>{rng.choice(PEOPLE)}</b> estate &amp; friends</p>"
    if index % 5 == 0:
        values["height_cm"] = round(rng.uniform(4, 240), 1)
    if index % 6 == 0 and not document:
        values["site"] = {
            "latitude": round(rng.uniform(-60, 60), 4),
            "longitude": round(rng.uniform(-170, 170), 4),
            "address": f"{rng.randint(1, 99)} Quai du Port",
        }
    return values


def _file_names(index: int, document: bool) -> list[str]:
    if document:
        return [f"leaflet-{index:04d}.pdf"]
    if index <= len(AWKWARD):
        return [AWKWARD[index - 1]]
    extension = PICTURES[index % len(PICTURES)][0]
    name = "harbour.jpg" if index % 31 == 0 else f"MU_{index:04d}.{extension}"  # every 31st shares its name
    return [name] * (1 + (index % 10 == 0) + (index % 50 == 0))


def _write_file(rng: random.Random, files: Path, index: int, version: int, name: str) -> str:
    """Save one decodable file; gives its path below `files`."""
    extension = name.rpartition(".")[2].lower()
    relative = f"{index:05d}-{version}.{extension}"
    kind = {"jpg": "JPEG", "tif": "TIFF", "pdf": "PDF", "png": "PNG", "webp": "WEBP", "gif": "GIF"}[extension]
    large = index == 39  # one file that travels in chunks
    width, height = (2900, 2500) if large else (rng.randint(64, 480), rng.randint(64, 360))
    image = Image.new("RGB", (width, height), tuple(rng.randrange(256) for _ in range(3)))
    draw = ImageDraw.Draw(image)
    for _ in range(12):
        x, y = rng.randrange(width), rng.randrange(height)
        draw.ellipse((x, y, x + width // 4, y + height // 5), fill=tuple(rng.randrange(256) for _ in range(3)))
    draw.text((8, 8), f"{index} v{version + 1}", fill="white")
    image.save(files / relative, "TIFF" if large else kind)
    return relative


def _prose(rng: random.Random, word: str) -> str:
    return " ".join(f"{word} {rng.choice(COUNTRIES)} {rng.randint(1700, 2020)}." for _ in range(rng.randint(1, 12)))


def _text(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
