"""The texts of a record by which searches find it: exact ones by attribute, analysed ones by place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from dam_sync.emulators.d_templates.formats import content_type_of, mime_of
from dam_sync.emulators.d_templates.metadata import Metadata
from dam_sync.emulators.d_templates.records import Attribute, Record
from dam_sync.emulators.d_templates.schema import EXTERNAL, Schema
from dam_sync.emulators.kit.environment import Json

PLACES = ("filename", "assetId", "metadata", "content")
_WORD = re.compile(r"[^\W_]+")
_CONTENT = "lorem ipsum dolor sit amet consectetur adipiscing elit "


class Texts:
    """`of(record, name)`: name is an attribute's id, or `@` and a place for the words found there."""

    def __init__(self, schema: Schema, metadata: Metadata, extracted: int) -> None:
        self._schema, self._metadata, self._extracted = schema, metadata, extracted
        self._system = {each.id: each.slug for each in schema.system.values()}

    def of(self, record: Record, name: str) -> Iterable[str]:
        """Folded texts; values of facets whole, words of places one by one."""
        if name.startswith("@"):
            return set(self._words(record, name[1:]))
        if name in self._system:
            return [text.casefold() for text in system_texts(self._schema, record, self._system[name])]
        value = record.values.get(name)
        if value is None:
            return ()
        attribute = self._schema.attributes[name]
        return [text.casefold() for text in flat(self._metadata.denormalised(attribute, value))]

    def _words(self, record: Record, place: str) -> Iterator[str]:
        if place == "filename":
            yield record.filename.casefold()
            yield from words(record.filename)
        elif place == "assetId":
            yield from (record.object_id, record.file_id, record.original)
        elif place == "content":
            yield from words(content_text(record, self._extracted)[:200])
        else:
            for attribute in self._searchable(record):
                for text in flat(self._metadata.denormalised(attribute, record.values[attribute.id])):
                    yield from words(text)

    def _searchable(self, record: Record) -> Iterator[Attribute]:
        for each in record.values:
            attribute = self._schema.attributes[each]
            if attribute.searchable and attribute.type != EXTERNAL:
                yield attribute


def words(text: str) -> list[str]:
    """What the index makes of a text: lower-case runs of letters and digits."""
    return [word.casefold() for word in _WORD.findall(text)]


def flat(value: Json) -> Iterator[str]:
    """The texts inside a denormalised value."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from flat(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from flat(inner)
    elif value is not None:
        yield str(value)


def content_text(record: Record, size: int) -> str:
    """The text extracted from a processed file, so many characters of it."""
    if not size or not record.processed or record.blob is None:
        return ""
    return (_CONTENT * (size // len(_CONTENT) + 1))[:size]


def system_texts(schema: Schema, record: Record, slug: str) -> list[str]:
    """The service's own attributes as text."""
    match slug:
        case "system_metadata_templates":
            return [schema.templates[record.template].name]
        case "system_security_templates":
            return [schema.security[each].name for each in record.security if each in schema.security]
        case "system_created_by":
            return [schema.users[record.created_by].shown]
        case "system_last_updated_by":
            return [schema.users[record.updated_by].shown]
        case "system_is_federated":
            return ["Yes" if record.federated else "No"]
    return _file_texts(record, slug)


def _file_texts(record: Record, slug: str) -> list[str]:
    if slug == "system_content_type":
        return [content_type_of(record.filename)]
    if slug == "system_mime_type":
        return [mime_of(record.filename)]
    if slug == "system_checksum" and record.processed and record.blob is not None:
        return [record.blob.digests().md5]
    return []
