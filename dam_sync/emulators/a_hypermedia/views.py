"""Media as the service writes them: light items of searches, full media, their parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dam_sync.emulators.a_hypermedia.hal import Tree, Writer, embedded, partial
from dam_sync.emulators.a_hypermedia.naming import extension, file_secret, size_text
from dam_sync.emulators.a_hypermedia.probing import facts_of
from dam_sync.emulators.a_hypermedia.records import Attachment, Media, User, Version, instant
from dam_sync.emulators.a_hypermedia.schema import FormField
from dam_sync.emulators.a_hypermedia.state import Library
from dam_sync.emulators.kit.environment import Json
from dam_sync.emulators.kit.object_store import Held

LIGHT_RENDITIONS = ("small", "preview", "whr")
RENDITIONS = {"small": 80, "medium": 112, "large": 224, "xlarge": 448, "preview": 607, "whr": 1200}
_VISUAL = frozenset({"PICTURE", "VIDEO", "DOCUMENT"})
_PARTS = (
    "metadatas", "folders", "labels", "permalinks", "file-versions", "media-links", "attachment", "share",
    "terms-of-use",
)  # fmt: skip


class MediaViews:
    """Writes media for one caller at a time; languages are codes in lower case."""

    def __init__(self, library: Library, writer: Writer) -> None:
        self.library, self.writer = library, writer
        self._relations = [(writer.rel(part), f"/{part}s" if part == "attachment" else f"/{part}") for part in _PARTS]

    def light(self, media: Media, user: User, language: str, tree: Tree | None, *, force: bool) -> dict[str, Json]:
        """An item of a search: ten properties and few links, or what `fields` makes of them."""
        body = self._light_body(media, user, language)
        if tree is None:
            return body
        parts = tree.get("_embedded") or {}
        rich = self.library.options.rich_search
        if rich and (not tree.keys() <= body.keys() | {"_embedded"} or not parts.keys() <= {"metadata", "label"}):
            return dict(partial(self.full(media, user, language, force=force, folders=True), tree))
        if parts:
            items: dict[str, Sequence[Json]] = {}
            if "metadata" in parts:
                items["metadata"] = self.metadata(media, user, language, force=force)
            if "label" in parts:
                items["label"] = [self.label(number) for number in media.labels]
            body |= embedded(items, force=True)
        found: dict[str, Json] = partial(body, tree)
        return _unforced(found) if not force else found

    def _light_body(self, media: Media, user: User, language: str) -> dict[str, Json]:
        file, writer = media.file, self.writer
        body: dict[str, Json] = {
            "id": media.id,
            "title": self.title(media, language),
            "statusUpdateDate": instant(media.status_updated),
            "permission": user.permission,
        }
        links = {"self": writer.link(f"/medias/{media.id}")}
        if file:
            size = file.blob.size
            body |= {"mediaType": file.media_type, "fileSize": size, "fileSizeString": size_text(size, language)}
        body |= {
            "updateDate": instant(media.updated),
            "duplicationStatus": media.duplication,
            "thumbnailGenerationStatus": self.thumbnails(media),
        }
        links |= self.renditions(media, LIGHT_RENDITIONS)
        links[writer.rel("custom-status")] = writer.link(f"/medias/custom-statuses/{media.status}")
        return {**body, "_links": links}

    def full(
        self, media: Media, user: User, language: str, *, force: bool, folders: bool = False, everything: bool = False
    ) -> dict[str, Json]:
        """The whole media; `folders` embeds them, `everything` also the empty fields."""
        options = self.library.options
        body = {**self._properties(media, user, language), "_links": self._links(media, user)}
        users: dict[str, Sequence[Json]] = {
            "importUser": [self.person(media.importer)],
            "updateUser": [self.person(media.updater)],
        }
        items: dict[str, Sequence[Json]] = {
            "metadata": self.metadata(media, user, language, force=force, everything=everything),
            "label": [self.label(number) for number in media.labels],
        }
        if folders and options.embeds_folders:
            items["folders" if options.plural_folders else "folder"] = [
                self.folder_item(number) for number in media.folders
            ]
        both = embedded(items, force).get("_embedded", {})
        return body | {"_embedded": both | embedded(users, force and options.force_users)["_embedded"]}

    def _properties(self, media: Media, user: User, language: str) -> dict[str, Json]:
        library = self.library
        body: dict[str, Json] = {
            "id": media.id,
            "title": self.title(media, language),
            "status": library.schema.base(media.status),
            "statusUpdateDate": instant(media.status_updated),
            "permission": user.permission,
            "downloadLevel": media.level(user),
            "annotation": media.annotation,
            "orientation": media.orientation,
            "creationDate": instant(media.created),
            "updateDate": instant(media.updated),
            "importDate": media.imported and instant(media.imported),
            "addFolderDate": media.foldered and instant(media.foldered),
            "trashDate": media.trashed and instant(media.trashed),
            "durationInSeconds": 0,
            "duplicationStatus": media.duplication,
            "thumbnailGenerationStatus": self.thumbnails(media),
            "statViews": 0,
            "statDownloads": 0,
            "attachmentCounts": _counts(media.attachments),
            "mediaLinkCount": sum(len(targets) for targets in media.links.values()),
            "formType": library.form(media).type,
            "pointOfInterest": media.interest,
            "fileVersionCount": len(media.versions),
            **self._file_properties(media, language),
            **self._place(media),
        }
        hidden = set[str]() if library.options.shows_status else {"status"}
        shown = {key: value for key, value in body.items() if key not in hidden}
        return {key: value for key, value in shown.items() if key == "title" or (value is not None and value != "")}

    def _file_properties(self, media: Media, language: str) -> dict[str, Json]:
        file = media.file
        if file is None:
            return {}
        facts, sums = facts_of(file.blob), file.blob.digests()
        total = sum(version.blob.size for version in media.versions)
        shape = {"width": facts.width, "height": facts.height, "resolution": facts.resolution}
        return {
            **(shape if facts.width else {}),
            "colorSpace": facts.colours,
            "mediaType": file.media_type,
            "fileSize": file.blob.size,
            "totalSize": total,
            "fileSizeString": size_text(file.blob.size, language),
            "totalSizeString": size_text(total, language),
            "originalFileName": file.name,
            "checkSums": {"md5": sums.md5, "crc32": sums.crc32},
        }

    def _place(self, media: Media) -> Mapping[str, Json]:
        fields = self.library.form(media).fields
        return next((kept for key, kept in media.values.items() if fields[key].type == "GEO"), {})

    def _links(self, media: Media, user: User) -> dict[str, Json]:
        writer, own = self.writer, f"/medias/{media.id}"
        links: dict[str, Json] = {"self": writer.link(own), "curies": writer.curies()}
        links[writer.rel("form")] = writer.link(f"/forms/{media.form}")
        links[writer.rel("custom-status")] = writer.link(f"/medias/custom-statuses/{media.status}")
        links |= {relation: writer.link(own + path) for relation, path in self._relations}
        if media.current:
            links["current"] = writer.link(f"{own}/file-versions/{media.current}")
        links |= self.renditions(media, tuple(RENDITIONS))
        if media.file and media.level(user) == "HD":
            links[writer.rel("hires")] = {"href": self.static(media, media.file)}
        return links

    def renditions(self, media: Media, formats: Sequence[str]) -> dict[str, Json]:
        """Links to derivatives, once they have been generated."""
        file = media.file
        if file is None or self.library.form(media).type not in _VISUAL or self.thumbnails(media) != "GENERATED":
            return {}
        rel = self.writer.rel
        return {one if one == "preview" else rel(one): {"href": self.static(media, file, one)} for one in formats}

    def thumbnails(self, media: Media) -> str:
        """PENDING until the media's renditions are made, then GENERATED."""
        return "PENDING" if media.ready and self.library.world.now() < media.ready else "GENERATED"

    def static(self, media: Media, version: Version, rendition: str = "") -> str:
        """The unsigned, unguessable address of a file on the static host; it changes with each version."""
        secret = file_secret(self.library.world.seed, version.id)
        ending = ".jpg" if rendition else extension(version.name)
        suffix = f"-{rendition}" if rendition else ""
        origin = self.library.world.storage_origin
        return f"{origin}/medias/domain1/media{media.id // 1000}/{media.id}-{secret}{suffix}{ending}"

    def held(self, path: str) -> Held | None:
        """What an address of the static host gives; None when there is nothing (any more, or yet)."""
        name = path.rpartition("/")[2].partition(".")[0]
        number, _, rest = name.partition("-")
        secret, _, rendition = rest.partition("-")
        media = self.library.medias.get(int(number)) if number.isdigit() and number.isascii() else None
        if media is None or not path.startswith("/medias/domain1/"):
            return None
        seed = self.library.world.seed
        version = next((one for one in media.versions if file_secret(seed, one.id) == secret), None)
        if version is None or (rendition and (rendition not in RENDITIONS or self.thumbnails(media) != "GENERATED")):
            return None
        if not rendition:
            return Held(version.blob, version.name, version.media_type)
        return Held(
            self.library.objects.generated(RENDITIONS[rendition] * 20, f"{version.id}{rendition}"), "", "image/jpeg"
        )

    def title(self, media: Media, language: str) -> str:
        """The metadata field `title`; empty when it is not filled in that language."""
        kept = media.values.get("title")
        if isinstance(kept, dict):
            kept = kept.get(language)
        return str(kept) if kept is not None else ""

    def metadata(
        self, media: Media, user: User, language: str, *, force: bool, everything: bool = False
    ) -> list[dict[str, Json]]:
        """The filled fields in the form's order, or all of them."""
        fields, values = self.library.form(media).fields, media.values
        items = []
        for name, field in fields.items():
            if name in values or everything:
                item = self.metadata_item(media, user, field, language, force=force)
                if everything or "value" in item or "_embedded" in item:
                    items.append(item)
        return items

    def metadata_item(
        self, media: Media, user: User, field: FormField, language: str, *, force: bool
    ) -> dict[str, Json]:
        """One field of a media; a field without `value` and `_embedded.value` is empty."""
        link, name = self.writer.link, field.name
        writable = field.editable and user.may("WRITE", "PUBLISH", "DELETE")
        item: dict[str, Json] = {"id": name, "name": field.title, "permission": "WRITE" if writable else "READ"}
        links = {"self": link(f"/medias/{media.id}/metadatas/{name}")}
        links[self.writer.rel("field")] = link(f"/forms/{media.form}/fields/{field.id}")
        item["_links"] = links
        kept = self.library.typist.item(field, media.values.get(name), language)
        if "ids" not in kept:
            return item | kept
        values: list[Json] = [{"id": number, "title": title} for number, title in kept["ids"]]
        if field.type == "THESAURUS":
            values = [one | {"_links": {"self": link(f"/thesauruses/{one['id']}")}} for one in values]
        return item | embedded({"value": values}, force)

    def label(self, number: int) -> dict[str, Json]:
        """A label."""
        title = self.library.schema.labels[number]
        return {"id": number, "title": title, "backgroundColor": "#ffcc00", "textColor": "#000000"}

    def folder_item(self, number: int) -> dict[str, Json]:
        """A folder as it is embedded in a media."""
        links = {"self": self.writer.link(f"/folders/{number}")}
        return {"id": number, "title": self.library.folders.by_id[number].title, "_links": links}

    def person(self, number: int) -> dict[str, Json]:
        """A user as embedded in a media."""
        login = next((user.login for user in self.library.users.values() if user.id == number), "")
        first, _, last = login.title().partition("-")
        email = f"{login}@customer.example"
        return {"id": number, "lastName": last, "firstName": first, "email": email, "status": 1}

    def version(self, media: Media, version: Version, user: User) -> dict[str, Json]:
        """A file version."""
        links: dict[str, Json] = {"self": self.writer.link(f"/medias/{media.id}/file-versions/{version.id}")}
        if media.level(user) == "HD":
            links[self.writer.rel("hires")] = {"href": self.static(media, version)}
        return {
            "id": version.id,
            "versionNumber": version.number,
            "current": version.id == media.current,
            "originalFileName": version.name,
            "mediaType": version.media_type,
            "fileSize": version.blob.size,
            "checkSums": {"md5": version.blob.digests().md5},
            "creationDate": instant(version.created),
            "_links": links,
        }


def _counts(attachments: Sequence[Attachment]) -> dict[str, int]:
    online = sum(one.blob is not None for one in attachments)
    return {"online": online, "offline": 0, "pendingToOnline": len(attachments) - online}


def _unforced(body: dict[str, Json]) -> dict[str, Json]:
    parts = body.get("_embedded")
    if not parts:
        return body
    single = {key: rows[0] if isinstance(rows, list) and len(rows) == 1 else rows for key, rows in parts.items()}
    return {**body, "_embedded": single}
