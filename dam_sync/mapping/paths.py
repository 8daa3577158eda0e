r"""Paths into the neutral asset: read from text once, checked against the source's schema, then only followed.

Metadata fields are written `fields.KEY`, `fields.KEY[]` (the brackets are optional), and with a language or a part of
the value after a dot: `fields.title.fr`, `fields.keywords[].path`, `fields.lib:title.en`. A key or part in double
quotes is taken literally: `fields."Release Date".en`, `fields."a.b"[]`, `fields.sizes[]."Net weight"`; inside the
quotes `\"` is a quote and `\\` a backslash. Quotes are needed only if a key contains a dot, brackets or a quote and
could be ambiguous; in a YAML file a path with quotes is put in single quotes: `from: 'fields."Release Date".en'`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, partial

from dam_sync.mapping.results import SHAPES, LanguagePreference, ValueType, empty
from dam_sync.mapping.vocabulary import path_text
from dam_sync.model.asset import Asset
from dam_sync.model.diagnostic import Hint, Similar
from dam_sync.model.joined_names import spaced
from dam_sync.model.schema import Field, FieldKind, Schema
from dam_sync.model.values import GeoPoint, Localized, Person, Row, Scalar, Term, Value

TEXTS = ("id", "filename", "status", "substatus", "form_type", "type")
INSTANTS = ("release_at", "expires_at", "created_at", "changed_at", "imported_at")
SETS = ("tags", "machine_tags", "labels", "groups")
FILE_PARTS = {"name": ValueType.TEXT, "size": ValueType.NUMBER, "media_type": ValueType.TEXT, "md5": ValueType.TEXT}
LABEL = "label"
SINGLE = (*TEXTS, *INSTANTS, *(f"{name}[]" for name in SETS), "placements[].path")
PATHS = (*SINGLE, *(f"file.{part}" for part in FILE_PARTS))  # those of any asset
PLAIN = re.compile(r'[^\s."\[\]\\]+')
QUOTED = re.compile(
    r'"(?:[^"\\]++|\\.)*+"', re.DOTALL
)  # possessive: what is given back costs memory for each character
ENDS_QUOTED = re.compile(r'(.+)\.("(?:[^"\\]++|\\.)*+"(?:\[\])?)', re.DOTALL)
EXAMPLE = 'write it like fields."Release Date".en'
PARTS = {
    ValueType.PLACE: ("latitude", "longitude", "address"),
    ValueType.TERM: ("label", "id", "path"),
    ValueType.PERSON: ("name", "id"),
}


class PathFault(ValueError):
    """An invalid path; `hint` names the most similar valid one."""

    def __init__(self, message: str, hint: Hint = "") -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True, slots=True)
class PathValue:
    """A value of a path, and the name under which it is counted; `texts` names those of each language. index: of the
    value among those of its name in the asset."""

    label: str
    value: Scalar
    texts: tuple[tuple[str, str, str], ...] = ()  # (label, locale, text) of each language
    index: int = 0


@dataclass(frozen=True, slots=True)
class AssetPath:
    """One path. key: field, kind of container, or part of the file; part: of the value; locale: one of its
    languages."""

    text: str
    root: str
    shape: ValueType
    key: str = ""
    part: str = ""
    locale: str = ""
    many: bool = False
    localized: bool = False

    def read(
        self, asset: Asset, languages: LanguagePreference, *, all_languages: bool = False
    ) -> tuple[PathValue, ...]:
        """The values of this path, without empty ones; sets in a fixed order."""
        return tuple(found for found in self._read(asset, languages, all_languages) if not empty(found.value))

    def _read(self, asset: Asset, languages: LanguagePreference, all_languages: bool) -> Iterator[PathValue]:
        match self.root:
            case "fields":
                yield from self._field(asset, languages, all_languages)
            case "file":
                yield from self._file(asset)
            case "placements":
                yield from self._placements(asset)
            case "labels":
                names = label_paths(asset) if self.part == "path" else labels_of(asset)
                yield from _indexed("labels[]", names)
            case "groups":
                yield from _indexed("groups[]", sorted(asset.rights.groups))
            case "tags" | "machine_tags":
                yield from _indexed(f"{self.root}[]", sorted(getattr(asset, self.root)))
            case _:
                value = _plain(asset, self.root)
                yield from [PathValue(self.root, value)] if value is not None else []

    def _placements(self, asset: Asset) -> Iterator[PathValue]:
        kinds = sorted({p.kind for p in asset.placements if p.kind != LABEL and self.key in ("", p.kind)})
        for kind in kinds:
            paths = sorted((p for p in asset.placements if p.kind == kind), key=lambda p: p.path)
            yield from _indexed(f"placements.{kind}[]", [p.text for p in paths])

    def _file(self, asset: Asset) -> Iterator[PathValue]:
        file = asset.file
        if file is None:
            return
        value = file.digests.get("md5") if self.key == "md5" else getattr(file, self.key)
        if value is not None:
            yield PathValue(self.text, value)

    def _field(self, asset: Asset, languages: LanguagePreference, all_languages: bool) -> Iterator[PathValue]:
        value = asset.fields.get(self.key)
        if value is None:
            return
        for index, (label, scalar) in enumerate(labelled(self.key, value)):
            if isinstance(scalar, Localized):
                found = self._languages(label, scalar, languages, all_languages)
                yield found if index == 0 else replace(found, index=index)
            elif self.part:
                yield from (PathValue(label, part, (), index) for part in _parts(scalar, self.part, languages))
            else:
                yield PathValue(label, scalar, (), index)

    def _languages(self, label: str, value: Localized, languages: LanguagePreference, all_languages: bool) -> PathValue:
        if all_languages and not self.locale:
            texts = {locale: text for locale, text in value.texts.items() if text.strip()}
            rows = tuple((f"{label}.{locale}", locale, text) for locale, text in texts.items())
            return PathValue(label, Localized(texts), rows)
        locale = self.locale or languages.pick(value.texts)
        text = value.texts.get(locale, "")
        rows = ((f"{label}.{locale}", locale, text),)
        return PathValue(f"{label}.{locale}", Localized({locale: text}) if all_languages else text, rows)


def parse_path(text: str, source: Schema) -> AssetPath:
    """The path written as `text`. Raises PathFault with the most similar valid one."""
    root, _, rest = text.partition(".")
    many, root = root.endswith("[]"), root.removesuffix("[]")
    if root == "fields" and rest and not many:
        return _field_path(text, rest, source)
    if root == "placements":
        return _placement_path(text, rest, many, source)
    if root == "file" and rest in FILE_PARTS:
        return AssetPath(text, root, FILE_PARTS[rest], key=rest)
    if root in SETS and not rest:
        return AssetPath(text, root, ValueType.TEXT, many=True)
    if root in (*TEXTS, *INSTANTS) and not rest and not many:
        return AssetPath(text, root, ValueType.INSTANT if root in INSTANTS else ValueType.TEXT)
    if text in source.fields:
        raise PathFault(f"an asset has no path {text}", f"write {_as_path(source, text)}: it is a field of the source")
    raise PathFault(
        f"an asset has no path {text}", Similar(text, (*PATHS, *source.fields), spelt=partial(_as_path, source))
    )


def _indexed(label: str, texts: Iterable[str]) -> Iterator[PathValue]:
    return (PathValue(label, text, (), index) for index, text in enumerate(texts))


def labelled(key: str, value: Value) -> Iterator[tuple[str, Scalar]]:
    """The single values of a field with the names under which they are counted."""
    if isinstance(value, tuple):
        yield from ((f"{field_name(key)}[]", item) for item in value)
    else:
        yield field_name(key), value


def labels_of(asset: Asset) -> list[str]:
    """Names of the labels on an asset; levels of one are joined as `spaced` does, so that two labels stay two."""
    return sorted(spaced(p.path) for p in asset.placements if p.kind == LABEL)


def label_paths(asset: Asset) -> list[str]:
    """The labels on an asset as paths from the root, with slashes inside names escaped."""
    return sorted(p.text.removeprefix("/") for p in asset.placements if p.kind == LABEL)


def as_container(path: AssetPath) -> AssetPath:
    """The path for a placement rule: labels are read as paths."""
    return replace(path, part="path") if path.root == "labels" else path


def _as_path(source: Schema, name: str) -> str:
    """One of `PATHS`, or the path of a field with this key."""
    if name in PATHS:
        return name
    return field_name(name) + ("[]" if source.fields[name].multiple else "")


def _placement_path(text: str, rest: str, many: bool, source: Schema) -> AssetPath:
    if many and rest == "path":
        return AssetPath(text, "placements", ValueType.TEXT, many=True)
    kind, _, part = rest.partition(".")
    if not many and kind.endswith("[]") and part == "path" and kind != "[]":
        kind = kind.removesuffix("[]")
        if source.container_kinds and kind not in source.container_kinds:
            raise PathFault(f"the source has no containers of kind {kind}", Similar(kind, source.container_kinds))
        return AssetPath(text, "labels" if kind == LABEL else "placements", ValueType.TEXT, key=kind, many=True)
    raise PathFault(f"an asset has no path {text}", "write placements[].path or placements.folder[].path")


def _field_path(text: str, rest: str, source: Schema) -> AssetPath:
    key, part = _quoted_key(text, rest) if rest.startswith('"') else _bare_key(text, rest, source)
    field = source.fields.get(key)
    if field is None:
        raise PathFault(f"the source has no field {key}", Similar(spelt(key), source.fields, spelt=spelt))
    if part:
        return _part_path(text, field, part)
    return AssetPath(text, "fields", SHAPES[field.kind], key, many=field.multiple, localized=field.localized)


def _quoted_key(text: str, rest: str) -> tuple[str, str]:
    """The key in quotes, and its part."""
    found = QUOTED.match(rest)
    if found is None:
        raise PathFault(f"a quote in {text} is not closed", EXAMPLE)
    after = rest[found.end() :].removeprefix("[]")
    if after and (not after.startswith(".") or after == "."):
        raise PathFault(f"after the quotes in {text} there is something that is not a part", EXAMPLE)
    return _unquoted(found[0]), _part_named(text, after[1:])


def _bare_key(text: str, rest: str, source: Schema) -> tuple[str, str]:
    """The longest existing key, and its part."""
    plain = rest.replace("[]", "")
    if plain in source.fields:
        return plain, ""
    quoted = ENDS_QUOTED.fullmatch(rest)
    key, part = (quoted[1], quoted[2]) if quoted else (plain.rpartition(".")[0], plain.rpartition(".")[2])
    key = key.removesuffix("[]")
    return (key, _part_named(text, part)) if key else (plain, "")


def _part_named(text: str, part: str) -> str:
    part = part.removesuffix("[]")
    if not part.startswith('"'):
        return part
    if QUOTED.fullmatch(part) is None:
        raise PathFault(f"a quote in {text} is not closed", EXAMPLE)
    return _unquoted(part)


def spelt(key: str) -> str:
    """A key as written in a path: in quotes if it would be ambiguous."""
    return key if PLAIN.fullmatch(key) else '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'


@cache
def field_name(key: str) -> str:
    """The path of a metadata field, and the name under which its values are counted."""
    return f"fields.{spelt(key)}"


def _unquoted(quoted: str) -> str:
    return re.sub(r"\\(.)", r"\1", quoted[1:-1], flags=re.DOTALL)


def _part_path(text: str, field: Field, part: str) -> AssetPath:
    shape = SHAPES[field.kind]
    if field.localized and shape is ValueType.TEXT:
        locale = part.lower()
        return AssetPath(text, "fields", shape, field.key, locale=locale, many=field.multiple, localized=True)
    if field.kind is FieldKind.ROWS:
        return AssetPath(text, "fields", ValueType.TEXT, field.key, part, many=field.multiple)
    if part not in PARTS.get(shape, ()):
        what = f"field {field.key} is a {shape.value}" + ("" if field.localized else " without languages")
        raise PathFault(f"{what}; it has no {part}", Similar(part, PARTS.get(shape, ())))
    numeric = part in ("latitude", "longitude")
    return AssetPath(
        text, "fields", ValueType.NUMBER if numeric else ValueType.TEXT, field.key, part, many=field.multiple
    )


def _parts(value: Scalar, part: str, languages: LanguagePreference) -> Iterator[Scalar]:
    match value, part:
        case Term(), "path":
            yield path_text(value)
        case Term(), "label":
            yield languages.label(value)
        case Row(), _:
            cell = value.cells.get(part, ())
            yield from cell if isinstance(cell, tuple) else (cell,)
        case Term() | Person() | GeoPoint(), _:
            inner = getattr(value, part, None)
            yield from [inner] if isinstance(inner, str | int | float) else []
        case _:
            yield value


def _plain(asset: Asset, root: str) -> str | datetime | None:
    if root in ("release_at", "expires_at"):
        return asset.rights.release_at if root == "release_at" else asset.rights.expires_at
    value: str | datetime | None = getattr(asset, root)
    return value
