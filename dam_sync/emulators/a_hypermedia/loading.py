"""Filling an instance from a catalogue in the neutral form."""

from __future__ import annotations

import mimetypes
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

from dam_sync.emulators.a_hypermedia.collections import Basket, Collections
from dam_sync.emulators.a_hypermedia.probing import facts_of
from dam_sync.emulators.a_hypermedia.records import LEVELS, Attachment, Media, User, Version
from dam_sync.emulators.a_hypermedia.schema import Form, FormField, Lookup, SchemaBuilder
from dam_sync.emulators.a_hypermedia.state import Library
from dam_sync.emulators.kit.catalogue import Catalogue, Record, blob_of, restrictions, unloaded
from dam_sync.emulators.kit.environment import Json

mimetypes.add_type("image/heic", ".heic")
mimetypes.add_type("image/heif", ".heif")
mimetypes.add_type("image/webp", ".webp")


def media_type_of(name: str) -> str:
    """The MIME type a file name stands for."""
    return mimetypes.guess_type(name)[0] or "application/octet-stream"


class Loader:
    """Fills one library and its baskets; the schema first, then the assets. Used once."""

    def __init__(self, library: Library, files: Path | None, baskets: Collections) -> None:
        self.library, self.files, self._groups = library, files, baskets
        self._baskets: dict[str, Basket] = {}
        self._terms: dict[tuple[str, str], int] = {}
        self._forms: dict[str, Form] = {}
        self._vocabularies: dict[str, str] = {}
        self._folders: dict[tuple[str, ...], int] = {}
        self._labels: dict[str, int] = {}
        self._ids: dict[str, int] = {}
        self._relations: list[tuple[int, Sequence[Record]]] = []

    def load(self, catalogue: Catalogue) -> None:
        """Take everything in. Raises ValueError naming the asset, on what the schema does not hold."""
        library = self.library
        if library.medias:
            raise ValueError("the instance is not empty")
        self._learn_languages(catalogue)
        roots = self._thesauri(catalogue)
        library.set_up(SchemaBuilder(catalogue, roots).build())
        self._vocabularies = {str(r["key"]): str(r.get("vocabulary") or "") for r in catalogue.fields}
        self._forms = {form.title: form for form in library.schema.forms.values()}
        self._labels = {title: number for number, title in library.schema.labels.items()}
        for record in catalogue.containers:
            if record["kind"] == "folder":
                folder = library.folders.by_id[self._folder(tuple(record["path"]))]
                folder.groups = frozenset((record.get("rights") or {}).get("groups") or ())
            elif record["kind"] == "basket":
                self._basket(str(record["path"][-1]))
        for asset in catalogue.assets:
            try:
                self._asset(asset)
            except (KeyError, ValueError, TypeError) as problem:
                raise unloaded(asset, problem) from problem
        self._relate()
        add_users(library)

    def _learn_languages(self, catalogue: Catalogue) -> None:
        seen = {code.lower() for term in catalogue.terms for code in term.get("labels", {})}
        known = self.library.languages
        known += sorted(seen - set(known))

    def _thesauri(self, catalogue: Catalogue) -> dict[str, int]:
        thesauri, roots = self.library.thesauri, {}
        for record in catalogue.vocabularies:
            key = str(record["key"])
            title, number = str(record.get("label") or key), int(key) if key.isdecimal() else 0
            roots[key] = thesauri.add(0, {self.library.languages[0]: title}, number=number).id
        for term in catalogue.terms:
            key = str(term["vocabulary"])
            above = str(term.get("parent") or "")
            parent = self._terms[key, above] if above else roots[key]
            titles = {code.lower(): text for code, text in term["labels"].items()}
            node = thesauri.add(parent, titles, str(term["id"]))
            node.synonyms = {code.lower(): list(words) for code, words in (term.get("synonyms") or {}).items()}
            node.descriptions = {code.lower(): text for code, text in (term.get("descriptions") or {}).items()}
            self._terms[key, str(term["id"])] = node.id
        return roots

    def _folder(self, path: tuple[str, ...]) -> int:
        if path not in self._folders:
            self._folders[path] = self.library.folders.ensure(path).id
        return self._folders[path]

    def _basket(self, title: str) -> Basket:
        """A basket of the user whose credential the job has."""
        if title not in self._baskets:
            owner = next(iter(self.library.users.values()))
            self._baskets[title] = self._groups.new_basket("basket", owner, {"title": title})
        return self._baskets[title]

    def _label(self, title: str) -> int:
        if title not in self._labels:
            labels = self.library.schema.labels
            self._labels[title] = number = max(labels, default=39) + 1
            labels[number] = title
        return self._labels[title]

    def _asset(self, record: Record) -> None:
        library, number = self.library, self.library.new_media_id()
        form = self._form(record)
        now = library.now()
        created = _moment(record.get("created_at")) or now
        base = str(record.get("status") or "published").upper()
        status = library.schema.status_of(base, str(record.get("substatus") or ""))
        updated = _moment(record.get("changed_at")) or created
        versions = tuple(self._versions(number, record, created))
        labels, folders = self._placements(record)
        media = Media(
            id=number, form=form.id, status=status, values=self._values(form, record.get("fields") or {}),
            created=created, updated=updated, status_updated=updated, versions=versions,
            imported=_moment(record.get("imported_at")) if "imported_at" in record else created,
            current=versions[-1].id if versions else 0, folders=folders, foldered=updated if folders else None,
            labels=labels, attachments=tuple(self._attachments(record)), trashed=updated if base == "TRASH" else None,
            orientation=facts_of(versions[-1].blob).orientation if versions else "",
            catalogue_id=str(record.get("id", "")), download=_download(record),
        )  # fmt: skip
        library.medias[number] = media
        library.indexer.at_once(media)
        self._ids[media.catalogue_id] = number
        for folder in folders:
            library.folders.by_id[folder].members.add(number)
        for place in record.get("placements") or ():
            if place["kind"] == "basket":
                self._basket(str(place["path"][-1])).medias[number] = None
        if record.get("relations"):
            self._relations.append((number, record["relations"]))

    def _form(self, record: Record) -> Form:
        form = self._forms.get(str(record.get("type") or ""))
        form = form or self.library.schema.form_for(str(record.get("form_type") or ""))
        if form is None:
            raise ValueError(f"no form for type {record.get('type')!r} or {record.get('form_type')!r}")
        return form

    def _versions(self, media: int, record: Record, created: datetime) -> Iterable[Version]:
        for number, item in enumerate(record.get("versions") or (), 1):
            blob = blob_of(item, self.files, self.library.objects)
            name = str(item.get("name") or record.get("filename") or f"{media}.bin")
            media_type = str(item.get("media_type") or media_type_of(name))
            at = _moment(item.get("created_at")) or created
            yield self.library.new_version(media, number, name, media_type, blob, at)

    def _attachments(self, record: Record) -> Iterable[Attachment]:
        for number, item in enumerate(record.get("attachments") or (), 1):
            blob = blob_of(item, self.files, self.library.objects)
            name = str(item["name"])
            yield Attachment(number, name, str(item.get("media_type") or media_type_of(name)), blob.size, blob)

    def _placements(self, record: Record) -> tuple[tuple[int, ...], tuple[int, ...]]:
        places = record.get("placements") or ()
        labels = dict.fromkeys(self._label(str(p["path"][-1])) for p in places if p["kind"] == "label")
        folders = dict.fromkeys(self._folder(tuple(p["path"])) for p in places if p["kind"] == "folder")
        return tuple(labels), tuple(folders)

    def _values(self, form: Form, given: Mapping[str, Json]) -> dict[str, Json]:
        values: dict[str, Json] = {}
        for key, value in given.items():
            kept = self._kept(form.fields[key], value)
            if kept not in (None, "", [], {}):
                values[key] = kept
        return values

    def _kept(self, field: FormField, value: Json) -> Json:
        if field.localized:
            texts = value["texts"] if isinstance(value, dict) else {self.library.languages[0]: value}
            self.library.languages += [code for code in texts if code not in self.library.languages]
            return dict(texts)
        lookups = self.library.schema.lookups
        match field.type:
            case "DATE" | "DATETIME":
                return date.fromisoformat(value["date"]) if field.type == "DATE" else _moment(value["instant"])
            case "THESAURUS":
                words = self._vocabularies[field.name]
                return [self._terms[words, str(one["id"])] for one in _many(value)]
            case "SIMPLE_LIST":
                return _choice(lookups[field.lookup], _many(value)[0])
            case "PERSON_LIST":
                return [_person(lookups[field.lookup], one) for one in _many(value)]
        return _plain(field, value)

    def _relate(self) -> None:
        types = self.library.schema.link_types
        for number, relations in self._relations:
            links: dict[int, tuple[int, ...]] = {}
            for relation in relations:
                known = next((at for at, title in types.items() if title == relation["kind"]), None)
                if known is None:
                    known = max(types, default=6) + 1
                    types[known] = str(relation["kind"])
                links[known] = (*links.get(known, ()), self._ids[str(relation["target"])])
            media = self.library.medias[number] = replace(self.library.medias[number], links=links)
            self.library.indexer.at_once(media)


def add_users(library: Library) -> None:
    """The users the options name; folders are paths as people write them. Raises ValueError on an unknown folder."""
    for number, user in enumerate(library.options.users, 3):
        folders = None
        if user.get("folders") is not None:
            found = [library.folders.find(str(path).strip("/").split("/")) for path in user["folders"]]
            if None in found:
                raise ValueError(f"user {user['login']}: no such folder")
            folders = frozenset(folder.id for folder in found if folder)
        library.add_user(
            User(
                number, str(user["login"]), str(user.get("password", "")), str(user.get("permission", "READ")),
                str(user.get("download", "HD")), folders, bool(user.get("active", True)),
            )
        )  # fmt: skip


def _plain(field: FormField, value: Json) -> Json:
    if field.type == "MULTIPLE_LIST":
        return [one["label"] if isinstance(one, dict) else one for one in _many(value)]
    if field.type == "FIELD_SET":
        return [one.get("row", one) for one in _many(value)]
    if field.type == "GEO":
        return {key: part for key, part in value.items() if part not in (None, "")}
    return next(iter(value["texts"].values())) if isinstance(value, dict) else value


def _choice(lookup: Lookup, value: Json) -> int:
    if isinstance(value, dict) and str(value.get("id")) in lookup.catalogue:
        return lookup.catalogue[str(value["id"])]
    label = value["label"] if isinstance(value, dict) else value
    return next(number for number, title in lookup.values.items() if title == label)


def _person(lookup: Lookup, value: Json) -> int:
    name = str(value["person"]) if isinstance(value, dict) else str(value)
    found = next((number for number, title in lookup.values.items() if title == name), None)
    if found is None:
        found = lookup.id * 1000 + len(lookup.values)
        lookup.values[found] = name
    return found


def _download(record: Record) -> str:
    """The level that the neutral restriction names (`NONE`, `BD`). Raises ValueError on another one."""
    levels = [str(one["detail"]) for one in restrictions(record, "download")]
    if not set(levels) <= set(LEVELS):
        raise ValueError(f"download levels are {', '.join(LEVELS)}")
    return min(levels, key=LEVELS.index, default="HD")


def _many(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list) else [value]


def _moment(text: Json) -> datetime | None:
    if not text:
        return None
    moment = datetime.fromisoformat(text)
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
