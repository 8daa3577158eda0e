"""What a search sees of a media: texts and numbers by index name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time

from dam_sync.emulators.a_hypermedia.probing import facts_of
from dam_sync.emulators.a_hypermedia.records import Media, Node, form_type_of, millis
from dam_sync.emulators.a_hypermedia.schema import FormField, Schema
from dam_sync.emulators.kit.environment import Json

EVERYTHING = "*text"
"""The index name that stands for all texts of a media."""
_WORDS = re.compile(r"\w+")


def words(text: str) -> list[str]:
    """The words of a text, folded."""
    return _WORDS.findall(text.casefold())


class Lexicon:
    """Reads media by index name; an unknown name has no texts and no number."""

    def __init__(self, schema: Schema, nodes: Mapping[int, Node]) -> None:
        self.schema, self.nodes = schema, nodes

    def texts(self, media: Media, name: str) -> Sequence[str]:
        """Every text (or id, as text) the media has under this name."""
        if name == EVERYTHING:
            return [text for key in media.values for text in self._field(media, key, "", titles=True)] + _names(media)
        system = self._system(media, name)
        if system is not None:
            return system
        key, _, language = name.partition(".")
        return list(self._field(media, key, language.lower()))

    def number(self, media: Media, name: str) -> float | None:
        """The number, or the timestamp in ms, under this name; None if there is none."""
        moment = _MOMENTS.get(name)
        if moment is not None:
            at: datetime | None = getattr(media, moment)
            return millis(at) if at else None
        file = media.file
        match name:
            case "id":
                return media.id
            case "fileSize" | "totalSize":
                return file.blob.size if file else None
            case "width" | "height":
                return getattr(facts_of(file.blob), name) if file else None
            case "statViews" | "statDownloads" | "durationInSecond":
                return 0
        return _as_number(media.values.get(name))

    def sort_key(self, media: Media, name: str) -> tuple[int, float, str]:
        """Orders media by a name; those without a value come last."""
        number = self.number(media, name)
        if number is not None:
            return (0, number, "")
        texts = self.texts(media, name)
        return (0, 0, texts[0].casefold()) if texts else (1, 0, "")

    def _system(self, media: Media, name: str) -> Sequence[str] | None:
        reader = _SYSTEM.get(name)
        if reader is not None:
            return reader(media)
        if name == "status":
            return [self.schema.base(media.status)]
        return [self.schema.forms[media.form].type] if name == "formType" else None

    def _field(self, media: Media, key: str, language: str, *, titles: bool = False) -> Iterator[str]:
        field = self.schema.forms[media.form].fields.get(key)
        kept = media.values.get(key)
        if field is None or kept is None or (titles and not field.indexed):
            return
        if field.localized:
            kept = [text for code, text in kept.items() if not language or code == language]
        for one in kept if isinstance(kept, list) else [kept]:
            yield from self._texts_of(field, one, titles=titles)

    def _texts_of(self, field: FormField, one: Json, *, titles: bool) -> Iterable[str]:
        if field.type == "THESAURUS":
            node = self.nodes.get(one)
            return list(node.titles.values()) if titles and node else [str(one)]
        if field.type in ("SIMPLE_LIST", "PERSON_LIST"):
            title = self.schema.lookups[field.lookup].values[one]
            return [title] if titles else [title, str(one)]
        if isinstance(one, dict):
            return [str(part) for part in one.values()]
        return [str(one).lower() if isinstance(one, bool) else str(one)]


_MOMENTS = {
    "updateDate": "updated",
    "importDate": "imported",
    "creationDate": "created",
    "statusUpdateDate": "status_updated",
    "addFolderDate": "foldered",
    "trashDate": "trashed",
}


def _names(media: Media) -> list[str]:
    return [media.file.name] if media.file else []


def _types(media: Media) -> list[str]:
    return [media.file.media_type, form_type_of(media.file.media_type)] if media.file else []


_SYSTEM: Mapping[str, Callable[[Media], Sequence[str]]] = {
    "id": lambda media: [str(media.id)],
    "subStatusId": lambda media: [str(media.status)],
    "customStatusId": lambda media: [str(media.status)],
    "metamodelId": lambda media: [str(media.form)],
    "formId": lambda media: [str(media.form)],
    "tagsInMedia": lambda media: [str(number) for number in media.labels],
    "labelId": lambda media: [str(number) for number in media.labels],
    "folderId": lambda media: [str(number) for number in media.folders],
    "originalFileName": _names,
    "mediaType": _types,
}


def _as_number(kept: Json) -> float | None:
    if isinstance(kept, bool) or kept is None:
        return None
    if isinstance(kept, datetime):
        return millis(kept)
    if isinstance(kept, date):
        return millis(datetime.combine(kept, time(), UTC))
    return kept if isinstance(kept, (int, float)) else None
