"""What a suggested mapping chooses once: the marker field, and where containers go."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from dam_sync.mapping.paths import LABEL
from dam_sync.mapping.similarity import compact, has_meaning, names_of, words_of
from dam_sync.model.schema import Field, FieldKind, Schema

OURS = "dam_sync_source_id"
MARKER_NAMES = (
    *("damsyncsourceid", "srckey", "sourcekey", "sourceid", "sourceidentifier", "sourceassetid", "sourcesystemid"),
    *("legacyid", "legacykey", "migrationkey", "migrationid", "externalid", "externalkey", "originid", "oldid"),
    *("importid", "importkey", "foreignid", "foreignkey"),
)
MARKER_WORDS = frozenset(
    (
        *("source", "src", "legacy", "external", "identifier", "reference", "ref", "import", "migration", "origin"),
        *("id", "key", "system", "previous", "former", "prior", "old", "foreign"),
        *("altsystem", "quellsystem", "vorsystem", "fremdsystem", "schlussel", "kennung", "referenz", "altes"),
        *("systeem", "bronsysteem", "vorig", "vorige", "oud", "oude", "sleutel", "referentie", "kenmerk"),
        *("systeme", "ancien", "precedent", "cle", "identifiant"),
        *("sistema", "anterior", "antiguo", "clave", "identificador", "referencia"),
        *("precedente", "vecchio", "chiave", "identificativo", "riferimento"),
    )
)
STANDARDS = frozenset(  # prefixes of fields whose meaning a standard of metadata defines
    (
        *("dc", "dcterms", "dublincore", "iptc", "iptc4xmpcore", "iptc4xmpext", "photoshop", "plus"),
        *("xmp", "xmpmm", "xmprights", "exif", "exifex", "tiff", "gps"),
    )
)
CONTENT_WORDS = frozenset(
    (
        *("title", "name", "headline", "description", "caption", "abstract", "summary", "rights", "copyright"),
        *("credit", "creator", "author", "language"),
    )
)
CLOSED_WORDS = frozenset(
    (
        *("limited", "restricted", "internal", "private", "confidential", "closed", "hidden", "staff", "admin"),
        *("administrators", "administration", "intern", "interne", "beperkt", "restreint", "eingeschrankt", "prive"),
    )
)
OPEN_WORDS = frozenset(
    ("public", "everybody", "everyone", "all", "full", "open", "world", "guest", "guests", "default")
)
NESTED = ("folder", "category", "section", "collection")
NEXT_BEST: Mapping[str, tuple[str, ...]] = {
    "folder": NESTED,
    "category": ("category", "folder", "section", "collection"),
    "section": ("section", "category", "folder", "collection"),
    "collection": ("collection", "category", "folder", "section"),
    LABEL: (LABEL, "collection", "category", "folder"),
}


def named_marker(candidates: Collection[Field]) -> Field | None:
    """The field whose name suggests the key of another system."""

    def rank(known: Field) -> int:
        names = [compact(name) for name in names_of(known)]
        return next((index for index, name in enumerate(MARKER_NAMES) if name in names), len(MARKER_NAMES))

    named = [known for known in candidates if rank(known) < len(MARKER_NAMES)]
    return min(named, key=lambda known: (rank(known), known.key), default=None)


def free_marker(candidates: Collection[Field]) -> Field | None:
    """The field that people least likely use for something else."""

    def rank(known: Field) -> tuple[int, int, bool, bool, str]:
        words = _words_of_marker(known)
        telling = 2 if _has_content(known, words) else 0 if words & MARKER_WORDS else 1
        many = -len(words & MARKER_WORDS) if telling == 0 else 0
        standard = is_of_standard(known.key)
        return (telling, 0 if standard else many, standard, known.kind is not FieldKind.TEXT, known.key)

    return min(candidates, key=rank, default=None)


def is_telling(marker: Field) -> bool:
    """Whether the name of a field says that it holds a key of another system."""
    return named_marker([marker]) is not None or bool(_words_of_marker(marker) & MARKER_WORDS)


def _words_of_marker(known: Field) -> frozenset[str]:
    return frozenset(word for name in names_of(known) for word in words_of(name))


def _has_content(known: Field, words: frozenset[str]) -> bool:
    """Whether its name says that it holds something else: the name of a source is one of a key as well."""
    return bool(words & CONTENT_WORDS) or (has_meaning(known) and not words <= MARKER_WORDS)


def is_of_standard(key: str) -> bool:
    """Whether a standard of metadata defines what this field means."""
    prefix, colon, _ = key.partition(":")
    return bool(colon) and prefix.casefold() in STANDARDS


def default_group(groups: Collection[str]) -> str:
    """The group whose name promises the fewest people; empty if there is none."""

    def rank(name: str) -> tuple[bool, bool, str]:
        words = frozenset(words_of(name))
        return (not words & CLOSED_WORDS, bool(words & OPEN_WORDS), name)

    return min(groups, key=rank, default="")


def containers(source: Schema, target: Schema) -> Iterator[tuple[str, str]]:
    """(kind at the source, kind at the target; empty if none is left) for every kind of the source.

    The same kind comes first; a kind with a limited number per asset is not shared with another. Labels are
    always among them: a service may return labels without accepting any, and then does not list them.
    """
    mine = [*(kind for kind in NESTED if kind in source.container_kinds), LABEL]
    taken: dict[str, str] = {kind: kind for kind in mine if kind in target.container_kinds}
    for kind in mine:
        if kind not in taken:
            full = {known for known in taken.values() if known in target.container_most}
            free = [known for known in NEXT_BEST[kind] if known in target.container_kinds and known not in full]
            taken[kind] = next(iter(free), "")
    yield from ((kind, taken[kind]) for kind in mine)
