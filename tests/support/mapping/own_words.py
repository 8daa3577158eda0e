"""Tenants with words of their own: museums in five vocabularies and a newspaper's photo archive, as each service would
have them, with a sample of their values, and how well a suggested mapping places their fields."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dam_sync.mapping.sample import Sample
from dam_sync.mapping.suggest import suggest
from dam_sync.mapping.suggestion import SuggestedLine, Suggestion
from dam_sync.model.asset import Asset, AssetId, Revision
from dam_sync.model.schema import AssetType, Field, FieldKind, Schema, Vocabulary
from dam_sync.model.values import Localized, Term, Value
from tests.support.mapping.tenant_schemas import able

Words = Mapping[str, str]
"""The names of a tenant's fields by what they mean."""
ASSETS = 40
SURE = 0.5  # the score above which nothing may be wrong
LICENCE = "licence"  # of which no source has anything
MEANINGS = (
    *("title", "creator", "dating", "technique", "kind", "subjects", "acquired", "number", "size", "credit"),
    *("description", "copyright"),
)
PRESS = (
    *("title", "photographer", "description", "taken", "published", "city", "country", "people", "credit"),
    *("copyright", "subjects", "agency"),
)


def words(names: str, meanings: Sequence[str] = MEANINGS) -> Words:
    """Names between commas, in the order of the meanings; the last one is that of the licence, if there is one more."""
    return dict(zip((*meanings, LICENCE), (each.strip() for each in names.split(",")), strict=False))


SOURCES: Mapping[str, Words] = {
    "english": words(
        "title, all_artists, date_text, medium, class, subjects, acquired, accession_number, dimensions, credit_line, "
        "caption, copyright"
    ),
    "german": words(
        "Titel, Kuenstler, Datierung, Technik, Objektart, Schlagworte, Zugangsdatum, Inventarnummer, Maße, "
        "Bildnachweis, Beschreibung, Rechte"
    ),
    "dutch": words(
        "titel, vervaardiger, datering, materiaal, objectsoort, trefwoorden, verwervingsdatum, inventarisnummer, "
        "afmetingen, naamsvermelding, omschrijving, auteursrechten"
    ),
    "french": words(
        "titre, auteur, datation, technique, type_objet, mots_cles, date_acquisition, numero_inventaire, dimensions, "
        "mention_obligatoire, legende, droits"
    ),
    "records": words(
        "displayTitle, artistMaker, displayDate, mediumDescription, objectClassification, descriptors, accessionDate, "
        "objectNumber, dimensionsText, creditLine, physicalDescription, copyrightStatement"
    ),
    "german records": words(
        "Sachtitel, Hersteller_Name, Datierung_Anzeige, Material_Technik, Sachbegriff, Schlagwort_Sache, Zugang_am, "
        "Inv_Nr, Maße_cm, Abbildungsnachweis, Kurztext, Copyright"
    ),
    "spreadsheet": words(
        "Name of object, Made by, When made, Made of, Type, Themes, Date of acquisition, Museum no., "
        "Measurements (mm), Photo credit, Caption of photo, Copyright line"
    ),
    "press": words(
        "headline, byline, caption, date_taken, published_on, city, country, persons_shown, credit, copyright_notice, "
        "keywords, agency",
        PRESS,
    ),
}
TARGETS: Mapping[str, Words] = {
    "english": words(
        "object_title, creator, dating, technique, objecttype, keywords, acquisition_date, object_number, "
        "measurements, credit, object_description, rights, license"
    ),
    "other english": words(
        "work_title, maker, date_of_creation, materials, classification, subject_terms, date_of_acquisition, "
        "inventory_no, size, courtesy_line, abstract, copyright_notice, licence_type"
    ),
    "german": words(
        "Werktitel, Künstler/in, Entstehungszeit, Material/Technik, Gattung, Stichwörter, Erwerbungsdatum, Inv.-Nr., "
        "Abmessungen, Fotonachweis, Objektbeschreibung, Urheberrecht, Lizenz"
    ),
    "dutch": words(
        "objecttitel, maker, vervaardigingsdatum, techniek, objectnaam, onderwerpen, aanwinstdatum, objectnummer, "
        "maten, bronvermelding, beschrijving, rechten, licentie"
    ),
    "french": words(
        "titre_oeuvre, auteur_executant, periode_de_creation, matieres_techniques, denomination, sujets, "
        "date_d_entree, n_inventaire, mesures, credit_photo, descriptif, mention_copyright, type_de_licence"
    ),
    "records": words(
        "display_title, maker_name, date_display, medium_support, object_class, search_terms, accessioned_on, "
        "object_id, dimensions_text, credit_statement, abstract_text, rights_statement, reuse_licence"
    ),
    "german records": words(
        "Haupttitel, Künstler, Datierungstext, Technikangabe, Objektbezeichnung, Schlagwortliste, Eingang am, "
        "Inventar-Nummer, Größe, Nachweis, Kurzbeschreibung, Rechtevermerk, Nutzungslizenz"
    ),
    "press": words(
        "Schlagzeile, Fotograf, Bildtext, Aufnahmedatum, Erscheinungsdatum, Stadt, Land, Personen im Bild, "
        "Quellenangabe, Urheberrechtsvermerk, Stichworte, Bildagentur, Lizenz",
        PRESS,
    ),
}
SUBJECTS = (
    *("Sea", "Harbour", "Heron", "Winter", "Bridge", "Portrait", "Horse", "Market", "Cloud", "Mill", "Window", "Boat"),
    *("Garden", "Dune", "Church", "Night"),
)
KINDS = ("Painting", "Drawing", "Print", "Sculpture", "Photograph", "on paper, unique")
NAMES = ("Robert Blake", "Anna Kern", "Jo Visser", "Claire Duval", "Mary Stone")
VALUES: Mapping[str, Callable[[int], str]] = {
    "title": lambda at: f"{SUBJECTS[at % 16]} at {NAMES[at % 5].split()[1]}'s house, {at}",
    "creator": lambda at: NAMES[at % 5],
    "photographer": lambda at: NAMES[(at + 1) % 5],
    "people": lambda at: NAMES[(at + 2) % 5],
    "dating": lambda at: ("c. 1890", "1912", "late 19th century", "1921–3", "date not known")[at % 5],
    "technique": lambda at: ("Oil on canvas", "Graphite on paper", "Etching", "Bronze")[at % 4],
    "kind": lambda at: KINDS[at % 6],
    "acquired": lambda at: f"{at % 28 + 1:02}/{at % 12 + 1:02}/19{at + 40:02}",
    "taken": lambda at: f"{at % 28 + 1:02}.{at % 12 + 1:02}.2019",
    "published": lambda at: f"{at % 27 + 2:02}.{at % 12 + 1:02}.2019",
    "number": lambda at: f"A{at:05}",
    "size": lambda at: f"support: {300 + at} x {200 + at} mm",
    "credit": lambda at: f"Presented by the Friends, 19{at + 40}",
    "description": lambda at: f"A view of {SUBJECTS[at % 16].lower()} and {SUBJECTS[(at + 3) % 16].lower()}, seen {at}",
    "copyright": lambda at: f"© {NAMES[at % 5]}",
    "city": lambda at: ("Leiden", "Bremen", "Lille")[at % 3],
    "country": lambda at: ("Netherlands", "Germany", "France")[at % 3],
    "agency": lambda at: ("Northern Pictures", "Press Photo Union")[at % 2],
}
LISTS: Mapping[str, tuple[str, ...]] = {
    "kind": (*KINDS[:5], "Textile", "Furniture"),
    "subjects": (*SUBJECTS[:12], "Tree", "River"),
    LICENCE: ("CC0", "CC BY 4.0", "All rights reserved"),
}
CLOSED = ("kind", LICENCE)
BESIDE = ("height", "units", "url", "on_display", "valuation")
"""Fields of a source that no target has."""
TEXT, LONG, TERM, DATE = FieldKind.TEXT, FieldKind.LONG_TEXT, FieldKind.TERM, FieldKind.DATE


@dataclass(frozen=True, slots=True)
class OwnSource:
    """A source, a sample of it, and what its fields mean, by key."""

    schema: Schema
    sample: Sample
    meanings: Mapping[str, str]


def source_of(kind: str, own: Words) -> OwnSource:
    """A tenant of a service, by its letter, or a folder."""
    shape = _SHAPES[kind]
    fields = {meaning: shape(meaning, name) for meaning, name in own.items()}
    beside = [shape("", name) for name in BESIDE]
    service = [Field(key, TEXT, label) for key, label in _OF_SERVICE.get(kind, {}).items()]
    every = (*fields.values(), *beside, *service)
    lists = {each.vocabulary: Vocabulary(each.vocabulary) for each in every if each.vocabulary}
    found = Schema({each.key: each for each in every}, lists, capabilities=able())
    sample = Sample.of(_asset(at, fields, beside, kind) for at in range(ASSETS))
    return OwnSource(found, sample, {each.key: meaning for meaning, each in fields.items()})


def _asset(at: int, fields: Mapping[str, Field], beside: Sequence[Field], kind: str) -> Asset:
    name = f"IMG_{at:04}.jpg"
    values: dict[str, Value] = {
        known.key: _subjects(at, known) if meaning == "subjects" else _as(VALUES[meaning](at), known)
        for meaning, known in fields.items()
        if meaning != "description" or at % 2
    }
    values |= {known.key: _as(f"{known.key} {at * 7}", known) for known in beside}
    values |= dict.fromkeys([key for key in _OF_SERVICE.get(kind, {}) if key in _NAMED], name)
    return Asset(AssetId(str(at)), Revision("1"), filename=name, fields=values)


def _subjects(at: int, known: Field) -> Value:
    chosen = (SUBJECTS[at % 16], SUBJECTS[(at + 5) % 16])
    if not known.multiple:
        return ";".join(chosen)
    return tuple(Term(each) for each in chosen) if known.kind is TERM else chosen


def _as(text: str, known: Field) -> Value:
    if known.kind is TERM:
        return Term(text)
    return Localized({"en": text}) if known.localized else text


def _key(name: str) -> str:
    return name.replace(" ", "_").replace("/", "_").replace(".", "")


def _in_forms(meaning: str, name: str) -> Field:
    if meaning in ("subjects", "kind"):
        return Field(_key(name), TERM, name, multiple=meaning == "subjects", vocabulary=_key(name))
    return Field(_key(name), TEXT, name.replace("_", " ").capitalize(), localized=meaning in ("title", "description"))


def _in_documents(meaning: str, name: str) -> Field:
    return Field(f"lib:{_key(name)}", TEXT, name.replace("_", " ").capitalize(), multiple=meaning == "subjects")


def _by_label(meaning: str, name: str) -> Field:
    label = name.replace("_", " ").title()
    return Field(label, TEXT, label, multiple=meaning == "subjects")


def _in_templates(meaning: str, name: str) -> Field:
    more = {"multiple": True, "vocabulary": _key(name)} if meaning == "subjects" else {}
    return Field(_key(name), TERM if more else TEXT, name, **more)  # type: ignore[arg-type]


def _in_profiles(meaning: str, name: str) -> Field:
    first, *rest = name.split("_")
    key = _key("".join((first, *(each.capitalize() for each in rest))))
    more = {"multiple": meaning == "subjects", "vocabulary": key} if meaning in ("subjects", "kind") else {}
    return Field(key, TERM if more else TEXT, name, **more)  # type: ignore[arg-type]


def _in_sheet(meaning: str, name: str) -> Field:
    return Field(name, TEXT)


_SHAPES: Mapping[str, Callable[[str, str], Field]] = {
    "a": _in_forms,
    "b": _in_documents,
    "c": _by_label,
    "d": _in_templates,
    "e": _in_profiles,
    "folder": _in_sheet,
}
_OF_SERVICE: Mapping[str, Mapping[str, str]] = {
    "b": {
        "dc:title": "Title",
        "dc:description": "Description",
        "dc:subjects": "Subjects",
        "dc:rights": "Rights",
        "dc:source": "Source",
        "dc:coverage": "Coverage",
    },
    "c": {"asset:name": "name", "asset:description": "description"},
    "d": {"description": "Description", "keywords": "Keywords"},
}
_NAMED = ("dc:title", "asset:name")  # the service fills them with the name of the file


def target_of(kind: str, own: Words) -> tuple[Schema, Mapping[str, tuple[str, ...]], Mapping[str, str]]:
    """A tenant of e or d, the labels of its terms, and what its fields mean, by key."""
    types = frozenset({"Image"})
    fields = {meaning: _wanted(meaning, name, types) for meaning, name in own.items()}
    beside = [Field(key, TEXT, types=types) for key in ("srckey", "rating", "loan_state", "conservation_report")]
    lists = {
        each.vocabulary: Vocabulary(each.vocabulary, closed=meaning in CLOSED)
        for meaning, each in fields.items()
        if each.vocabulary
    }
    parts = ("tags", "groups", "release", "expiry") if kind == "e" else ("groups", "versions", "relations")
    found = Schema(
        {each.key: each for each in (*fields.values(), *beside)},
        lists,
        types=(AssetType("Image", "Image"),),
        groups=frozenset({"Full Access", "Limited Access"}),
        capabilities=able(*parts),
        needs=frozenset({"groups"} if kind == "d" else ()),
    )
    labels = {each.vocabulary: LISTS[meaning] for meaning, each in fields.items() if each.vocabulary}
    return found, labels, {each.key: meaning for meaning, each in fields.items()}


def _wanted(meaning: str, name: str, types: frozenset[str]) -> Field:
    key, label = _key(name), name.replace("_", " ").capitalize()
    if meaning in LISTS:
        known = Field(key, TERM, label, vocabulary=key, types=types, multiple=meaning == "subjects")
        return replace(known, required=meaning == LICENCE)
    if meaning in ("acquired", "taken", "published"):
        return Field(key, DATE, label, types=types)
    kind = LONG if meaning == "description" else TEXT
    return Field(key, kind, label, types=types, max_length=255, required=meaning == "title")


@dataclass(slots=True)
class Placed:
    """How a suggestion places the fields of a target."""

    of: int = 0
    right: int = 0
    missed: list[str] = field(default_factory=list)
    surely_wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.right} of {self.of} right, {len(self.surely_wrong)} wrong above {SURE}; not: {self.missed}"


def placed(source: str, own: str, target: str, theirs: str) -> tuple[Placed, Suggestion, OwnSource, Schema]:
    """A suggestion between a source of a service in some words and a target in others, and how good it is."""
    given = source_of(source, SOURCES[own])
    schema, labels, wanted = target_of(target, TARGETS[theirs])
    found = suggest(given.schema, schema, sample=given.sample, terms=labels)
    lines = {line.target: line for line in found.lines if line.block == "fields" and "marker" not in line.more}
    judged = Placed(len(wanted))
    for key, line in lines.items():
        wrong = line.sources and _meaning(line, given) != wanted.get(key)
        if wrong and line.score > SURE:
            judged.surely_wrong.append(f"{key} from {line.sources[0]} by {line.why}")
    for key, meaning in wanted.items():
        judged.right += (right := _is_right(lines.get(key), meaning, given))
        judged.missed += [] if right else [f"{key} ({lines[key].sources if key in lines else 'no line'})"]
    return judged, found, given, schema


def _is_right(line: SuggestedLine | None, meaning: str, given: OwnSource) -> bool:
    if meaning not in given.meanings.values():  # it has to be decided by people
        return line is None or line.is_open
    return line is not None and _meaning(line, given) == meaning


def _meaning(line: SuggestedLine, given: OwnSource) -> str:
    return given.meanings.get(next(iter(_keys(line)), ""), "something else")


def _keys(line: SuggestedLine) -> Iterator[str]:
    for path in line.sources:
        if path.startswith("fields."):
            yield path.removeprefix("fields.").removesuffix("[]").strip('"')
