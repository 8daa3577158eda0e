"""What a first mapping chooses once: the profile, the field of our mark, and where containers go."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from dam_sync.mapping.checks import Makes, profiles_of, unfit_for_marker, writable
from dam_sync.mapping.likeness import compact, names_of, ratio, words_of
from dam_sync.mapping.paths import LABEL
from dam_sync.model.schema import AssetType, Field, FieldKind, Schema
from dam_sync.model.values import Json

OURS = "dam_sync_source_id"
MARKER_NAMES = (
    *("damsyncsourceid", "srckey", "sourcekey", "sourceid", "sourceidentifier", "sourceassetid", "sourcesystemid"),
    *("legacyid", "legacykey", "migrationkey", "migrationid", "externalid", "externalkey", "originid", "oldid"),
    *("importid", "importkey", "foreignid", "foreignkey"),
)
MARKER_WORDS = frozenset(
    ("source", "src", "legacy", "external", "identifier", "reference", "import", "migration", "origin", "id", "key")
)
CONTENT_WORDS = frozenset(
    (
        *("title", "name", "headline", "description", "caption", "abstract", "summary", "rights", "copyright"),
        *("credit", "creator", "author", "language"),
    )
)
GENERAL = ("default", "general", "generic", "document", "documents", "file", "files", "asset", "assets", "other")
FAMILY_WORDS: Mapping[str, tuple[str, ...]] = {
    "image": ("picture", "pictures", "image", "images", "photo", "photos", "photograph", "photography", "stills"),
    "video": ("video", "videos", "film", "films", "movie", "movies"),
    "audio": ("audio", "audios", "sound", "sounds", "music"),
    "document": ("document", "documents", "file", "files", "text", "texts"),
}
FAMILIES = {word: family for family, words in FAMILY_WORDS.items() for word in words}
NESTED = ("folder", "category", "section", "collection")
NEXT_BEST: Mapping[str, tuple[str, ...]] = {
    "folder": NESTED,
    "category": ("category", "folder", "section", "collection"),
    "section": ("section", "category", "folder", "collection"),
    "collection": ("collection", "category", "folder", "section"),
    LABEL: (LABEL, "collection", "category", "folder"),
}


@dataclass(frozen=True, slots=True)
class ProfileChoice:
    """The `profile` block, or nothing where the target chooses by itself; what that makes, and why."""

    block: Mapping[str, Json] = field(default_factory=dict)
    makes: Makes = field(default_factory=lambda: Makes({}))
    reason: str = ""


def choose_profile(source: Schema, target: Schema) -> ProfileChoice:
    """Profiles by the names of the source's types, and one for everything else."""
    known = profiles_of(target)
    if not known:
        return ProfileChoice()
    names = sorted({kind.name: kind for kind in source.types if kind.name}.items())
    cases = {name: found for name, kind in names if (found := _profile_for(kind, target, known))}
    by_media = any(kind.media for kind in target.types)
    if by_media and (not names or len(cases) < len(names)):
        return ProfileChoice(reason="no profile is named: the target chooses by the kind of file")
    default = _general(source, target, known, by_media)
    if not cases:
        reason = (
            "the only one there is" if len(known) == 1 else "no type of the source is called like one: please check"
        )
        return ProfileChoice({"default": default}, Makes({default: known[default]}), reason)
    block: dict[str, Json] = {"from": "type", "cases": cases} | ({"default": default} if default else {})
    given = sorted({*cases.values(), *([default] if default else [])})
    return ProfileChoice(block, Makes({name: known[name] for name in given}), "by the names of the types")


def _profile_for(kind: AssetType, target: Schema, known: Mapping[str, frozenset[str]]) -> str:
    """The profile whose name or type is like this type's; empty when there is none."""
    scored = [(_alike(kind, name, target, types), name) for name, types in known.items()]
    best = min(scored, key=lambda pair: (-pair[0], pair[1]))
    return best[1] if best[0] else ""


def _alike(kind: AssetType, name: str, target: Schema, types: Collection[str]) -> float:
    if compact(kind.name) in {compact(one) for one in (name, *types)}:
        return 1.0
    media = {word for one in target.types if one.name in types for word in one.media}
    if _families(kind.name, *kind.media) & _families(name, *types, *media):
        return 0.95
    return max(ratio(kind.name, one) for one in (name, *types)) * 0.9


def _families(*names: str) -> set[str]:
    return {FAMILIES[word] for name in names for word in words_of(name) if word in FAMILIES}


def _general(source: Schema, target: Schema, known: Mapping[str, frozenset[str]], by_media: bool) -> str:
    """The profile for what no case names, that with most of the source's fields; where types are by media only one for
    any media will do."""
    narrow = {kind.name for kind in target.types if kind.media}
    candidates = sorted(name for name, types in known.items() if not by_media or not types & narrow)
    wanted = {compact(key) for key in source.fields}

    def rank(name: str) -> tuple[int, int, str]:
        words = {*words_of(name), *(word for one in known[name] for word in words_of(one))}
        general = next((index for index, word in enumerate(GENERAL) if word in words), len(GENERAL))
        own = (
            key.rpartition(":")[2] for key, held in target.fields.items() if not held.types or held.types & known[name]
        )
        return (-len(wanted & {compact(key) for key in own}), general, name)

    return min(candidates, key=rank, default="")


def possible_markers(target: Schema, makes: Makes) -> list[Field]:
    """Optional plain text fields that can keep our mark."""
    texts = (FieldKind.TEXT, FieldKind.LONG_TEXT)
    plain = [known for known in target.fields.values() if known.kind in texts and writable(known)]
    return [known for known in plain if not known.required and not any(unfit_for_marker(known, makes))]


def named_marker(candidates: Collection[Field]) -> Field | None:
    """The one whose name says that it keeps the key of another system."""

    def rank(known: Field) -> int:
        names = [compact(name) for name in names_of(known)]
        return next((index for index, name in enumerate(MARKER_NAMES) if name in names), len(MARKER_NAMES))

    named = [known for known in candidates if rank(known) < len(MARKER_NAMES)]
    return min(named, key=lambda known: (rank(known), known.key), default=None)


def free_marker(candidates: Collection[Field]) -> Field | None:
    """The one that looks least as if people kept something else there."""

    def rank(known: Field) -> tuple[int, bool, str]:
        words = {word for name in names_of(known) for word in words_of(name)}
        telling = 2 if words & CONTENT_WORDS else 0 if words & MARKER_WORDS else 1
        return (telling, known.kind is not FieldKind.TEXT, known.key)

    return min(candidates, key=rank, default=None)


def containers(source: Schema, target: Schema) -> Iterator[tuple[str, str]]:
    """(kind at the source, kind at the target; empty where there is none left) for every kind the source has.

    The same kind comes first; a kind of which an asset takes only so many is not shared with another. Labels are
    always among them: a service may give them out and take none, and then does not name them.
    """
    mine = [*(kind for kind in NESTED if kind in source.container_kinds), LABEL]
    taken: dict[str, str] = {kind: kind for kind in mine if kind in target.container_kinds}
    for kind in mine:
        if kind not in taken:
            full = {known for known in taken.values() if known in target.container_most}
            free = [known for known in NEXT_BEST[kind] if known in target.container_kinds and known not in full]
            taken[kind] = next(iter(free), "")
    yield from ((kind, taken[kind]) for kind in mine)
