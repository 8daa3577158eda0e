"""A schema of each service, and a mapping suggested from two of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dam_sync.mapping.crosswalk import Crosswalk
from dam_sync.mapping.suggest import SuggestedLine, Suggestion
from dam_sync.model.schema import AssetType, Field, FieldKind, Schema, Vocabulary
from tests.support.mapping.tenant_schemas import able, compiled, schema

TEXT, LONG, HTML, NUMBER, FLAG = FieldKind.TEXT, FieldKind.LONG_TEXT, FieldKind.HTML, FieldKind.NUMBER, FieldKind.FLAG


DATE, INSTANT, TERM, PERSON = FieldKind.DATE, FieldKind.INSTANT, FieldKind.TERM, FieldKind.PERSON


PICTURE = frozenset({"Picture"})


BOTH = frozenset({"Picture", "Document"})


A = schema(
    Field("title", TEXT, "Title", localized=True, required=True, max_length=255, types=BOTH),
    Field("description", LONG, "Description", localized=True, indexed=False, types=BOTH),
    Field("inventory", TEXT, "Inventory number", max_length=100, types=BOTH),
    Field("keywords", TERM, "Keywords", multiple=True, indexed=False, vocabulary="keywords", types=BOTH),
    Field("country", TERM, "Country", indexed=False, vocabulary="country", types=PICTURE),
    Field("shot_date", DATE, "Shot date", indexed=False, types=PICTURE),
    Field("taken_at", INSTANT, "Taken at", indexed=False, types=PICTURE),
    Field("height_cm", NUMBER, "Height, cm", indexed=False, types=PICTURE),
    Field("credit", HTML, "Credit", indexed=False, types=BOTH),
    Field("photographer", PERSON, "Photographer", multiple=True, indexed=False, types=PICTURE),
    Field("site", FieldKind.PLACE, "Site", indexed=False, types=PICTURE),
    Field("cleared", FLAG, "Cleared", indexed=False, types=BOTH),
    Field("dims", FieldKind.ROWS, "Dimensions", multiple=True, indexed=False, types=PICTURE),
    Field("contact", FieldKind.EMAIL, "Contact", types=BOTH),
    Field("srckey", TEXT, "Source key", max_length=255, types=BOTH),
    Field("stat_views", NUMBER, "Views", editable=False, system=True),
    Field("width", NUMBER, "Width", editable=False, derived=True),
    vocabularies={
        "keywords": Vocabulary("keywords", "Keywords", hierarchical=True, localized=True, max_length=100),
        "country": Vocabulary("country", "Country", closed=True),
    },
    types=(AssetType("Picture", "Picture", PICTURE), AssetType("Document", "Document", frozenset({"DOCUMENT"}))),
    statuses=frozenset({"published", "archived", "draft"}),
    groups=frozenset(),
    labels=frozenset({"Top"}),
    locales=("en", "fr"),
    container_kinds=frozenset({"folder", "label"}),
    capabilities=able("status", "versions", "attachments", "relations"),
)


B = schema(
    Field("dc:title", TEXT, "Title"),
    Field("dc:description", LONG, "Description"),
    Field("dc:rights", TEXT, "Rights"),
    Field("dc:source", TEXT, "Source"),
    Field("dc:language", TEXT, "Language"),
    Field("dc:coverage", TERM, "Coverage", vocabulary="l10ncoverage"),
    Field("dc:subjects", TERM, "Subjects", multiple=True, vocabulary="l10nsubjects"),
    Field("dc:created", INSTANT, "Created"),
    Field("lib:title", TEXT, "Title of the work"),
    Field("lib:inventory", TEXT),
    Field("lib:keywords", TEXT, multiple=True),
    Field("lib:shot_date", INSTANT),
    Field("lib:height_cm", NUMBER),
    Field("lib:cleared", FLAG),
    Field("lib:dims", FieldKind.ROWS, multiple=True),
    Field("dc:contributors", TEXT, multiple=True, system=True, editable=False),
    vocabularies={
        "l10nsubjects": Vocabulary("l10nsubjects", hierarchical=True, closed=True),
        "l10ncoverage": Vocabulary("l10ncoverage", hierarchical=True, closed=True),
    },
    types=(AssetType("File", "File"), AssetType("Picture", "Picture"), AssetType("Video", "Video")),
    statuses=frozenset({"project", "approved", "obsolete"}),
    container_kinds=frozenset({"folder", "collection", "section"}),
    capabilities=able("tags", "status", "release", "expiry", "groups", "versions", "attachments", "filename"),
)


C = schema(
    Field("asset:name", TEXT, "name", required=True, max_length=255),
    Field("asset:description", LONG, "description"),
    Field("Campaign", TERM, "Campaign", vocabulary="Campaign"),
    Field("Release Date", TEXT, "Release Date"),
    Field("Keywords", TEXT, "Keywords", multiple=True),
    Field("Usage Rights, v2.0", TEXT, "Usage Rights, v2.0"),
    Field("dam_sync_source_id", TEXT, "dam_sync_source_id"),
    vocabularies={"Campaign": Vocabulary("Campaign", "Campaign", closed=True)},
    statuses=frozenset({"published", "pending"}),
    container_kinds=frozenset({"section", "collection"}),
    container_depth={"section": 1, "collection": 1},
    container_most={"section": 1, "collection": 1},
    capabilities=able("tags", "status", "release", "expiry", "versions", "attachments", "filename"),
)


ALL = frozenset({"Default", "Images"})


D = schema(
    Field("title", TEXT, "Title", required=True, max_length=250, types=ALL),
    Field("shoot_date", DATE, "Shoot Date", indexed=False, types=ALL),
    Field("channels", TERM, "Channels", multiple=True, indexed=False, required=True, vocabulary="channels", types=ALL),
    Field("tags", TERM, "Tags", multiple=True, indexed=False, vocabulary="tags", types=ALL),
    Field("category_table", FieldKind.ROWS, "Categories", multiple=True, indexed=False, types=frozenset({"Images"})),
    Field("notes", LONG, "Notes", indexed=False, max_length=10000, types=ALL),
    Field("migration_key", TEXT, "Migration Key", max_length=250, types=ALL),
    Field("embargo_date", DATE, "Embargo Date", indexed=False, types=ALL),
    Field("system_checksum", TEXT, editable=False, indexed=False, types=ALL),
    vocabularies={
        "channels": Vocabulary("channels", "Channels", closed=True),
        "tags": Vocabulary("tags", "Tags"),
    },
    types=(AssetType("Default", "Default"), AssetType("Images", "Images")),
    groups=frozenset({"Everybody", "Press"}),
    container_kinds=frozenset({"collection"}),
    container_depth={"collection": 1},
    capabilities=able("groups", "versions", "relations"),
)


KINDS = frozenset({"Image", "File"})


E = schema(
    Field("title", TEXT, "Title", required=True, max_length=255, types=KINDS),
    Field("titleFr", TEXT, "Title (French)", max_length=255, types=KINDS),
    Field("description", LONG, "Description", types=KINDS),
    Field("subject", TERM, "Subject", multiple=True, vocabulary="subject", types=KINDS),
    Field("country", TERM, "Country", vocabulary="country", types=KINDS),
    Field("shotDate", DATE, "Shot date", types=KINDS),
    Field("heightCm", NUMBER, "Height, cm", types=KINDS),
    Field("credit", TEXT, "Credit", max_length=80, types=KINDS),
    Field("photographer", TEXT, "Photographer", max_length=1280, types=KINDS),
    Field("place", TEXT, "Place", max_length=1280, types=KINDS),
    Field("cleared", TERM, "Cleared", vocabulary="cleared", types=KINDS),
    Field("firstStored", DATE, "First stored", types=KINDS),
    Field("srckey", TEXT, "Source key", max_length=1280, types=KINDS),
    Field("image_width", NUMBER, "image width", editable=False, indexed=False, system=True, derived=True),
    vocabularies={key: Vocabulary(key, key.title()) for key in ("subject", "country", "cleared")},
    types=(AssetType("Image", "images"), AssetType("File", "documents")),
    statuses=frozenset({"published", "archived", "trash"}),
    groups=frozenset({"public", "staff"}),
    labels=frozenset(),
    container_kinds=frozenset({"category", "collection"}),
    capabilities=able("tags", "release", "expiry", "groups", "versions"),
)


SERVICES: Mapping[str, Schema] = {"a": A, "b": B, "c": C, "d": D, "e": E}


def by_target(found: Suggestion, block: str = "fields") -> dict[str, SuggestedLine]:
    return {line.target: line for line in found.lines if line.block == block}


def walked(folder: Path, found: Suggestion, source: Schema, target: Schema) -> Crosswalk:
    return compiled(folder, found.text(), source, target)
