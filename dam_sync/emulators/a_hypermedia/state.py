"""One instance without HTTP: its media and what may be done to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from dam_sync.emulators.a_hypermedia.audience_oracle import AudienceOracle
from dam_sync.emulators.a_hypermedia.errors import Refusal, bad, forbidden, not_found
from dam_sync.emulators.a_hypermedia.lexicon import Lexicon
from dam_sync.emulators.a_hypermedia.metadata import Typist
from dam_sync.emulators.a_hypermedia.options import Options
from dam_sync.emulators.a_hypermedia.probing import facts_of, xmp_id_of
from dam_sync.emulators.a_hypermedia.records import Media, User, Values, Version, form_type_of
from dam_sync.emulators.a_hypermedia.schema import Form, FormField, Schema, SchemaBuilder
from dam_sync.emulators.a_hypermedia.search import Indexer
from dam_sync.emulators.a_hypermedia.trees import Folders, Thesauri
from dam_sync.emulators.a_hypermedia.twins import Twins
from dam_sync.emulators.kit.audience import Audience
from dam_sync.emulators.kit.catalogue import Catalogue
from dam_sync.emulators.kit.environment import Environment, Json
from dam_sync.emulators.kit.object_store import Blob, ObjectStore


class Library:
    """The media of one instance. Ids are strictly increasing and never used again."""

    def __init__(self, world: Environment, objects: ObjectStore, options: Options) -> None:
        self.world, self.objects, self.options = world, objects, options
        self.languages = list(options.languages)
        self.folders, self.thesauri = Folders(), Thesauri()
        self.medias: dict[int, Media] = {}
        self.versions: dict[int, int] = {}  # media by version
        self.twins = Twins()
        self.by_xmp: dict[str, int] = {}
        self.users: dict[str, User] = {}
        self.audience = Audience(world, AudienceOracle(self))
        self._last_media, self._last_version = 8800, 3000
        self.set_up(SchemaBuilder(Catalogue(), {}).build())
        self.add_user(User(2, options.login, options.password, "ADMIN", options.download_level))

    def set_up(self, schema: Schema) -> None:
        """Give the instance its schema; only while it is empty."""
        self.schema = schema
        self.typist = Typist(self.thesauri.nodes, schema.lookups, ZoneInfo(self.options.zone))
        self.indexer = Indexer(self.world, Lexicon(schema, self.thesauri.nodes), self.options.lag, self.medias.get)

    def add_user(self, user: User) -> None:
        """Let somebody in."""
        self.users[user.login] = user

    def now(self) -> datetime:
        """The world's timestamp at the precision the service keeps."""
        now = self.world.now()
        return now.replace(microsecond=now.microsecond // 1000 * 1000)

    # reading

    def media(self, number: int, user: User) -> Media:
        """Raises 404 when unknown, purged or invisible."""
        media = self.medias.get(number)
        if media is None or not self.visible(media, user):
            raise not_found("media")
        return media

    def visible(self, media: Media, user: User) -> bool:
        """Whether the user's folders, or having brought it, let them see it; an import only its importer."""
        if user.permission == "ADMIN" and user.folders is None:
            return True
        if media.importer == user.id:
            return True
        if self.schema.base(media.status) == "IMPORT":
            return False
        return user.folders is None or not user.folders.isdisjoint(self.above(media))

    def above(self, media: Media) -> Iterator[int]:
        """The media's folders and all above them."""
        for number in media.folders:
            while number:
                yield number
                number = self.folders.by_id[number].parent

    def form(self, media: Media) -> Form:
        """The media's form."""
        return self.schema.forms[media.form]

    def duplicates(self, media: Media) -> list[Media]:
        """Other living media with the same bytes as their current file."""
        file = media.file
        if file is None:
            return []
        same = (self.medias.get(number) for number in sorted(self.twins.of(file.blob) - {media.id}))
        return [one for one in same if one and not one.trashed and one.file and _equal(one.file.blob, file.blob)]

    # writing

    def store(self, media: Media) -> Media:
        """Keep a media; search sees it after the lag."""
        self.medias[media.id] = media
        self._changed(media.id)
        return media

    def new_media_id(self) -> int:
        """The next id."""
        self._last_media += 1
        return self._last_media

    def new_version(self, media: int, number: int, name: str, media_type: str, blob: Blob, at: datetime) -> Version:
        """A version with the next id."""
        self._last_version += 1
        self.versions[self._last_version] = media
        self.twins.add(media, blob)
        return Version(self._last_version, number, name, media_type, blob, at)

    def create(self, user: User, source: tuple[str, str, Blob] | None, form: Form | None, base: str) -> Media:
        """A media of (name, media type, blob) and a form. Raises 400 when the form is for another document type."""
        if not user.may("WRITE", "PUBLISH", "DELETE"):
            raise forbidden("create media here")
        form_type = form_type_of(source[1]) if source else ""
        form = form or self.schema.form_for(form_type) or next(iter(self.schema.forms.values()))
        if source and form.type not in (form_type, "OTHER"):
            raise bad("form-type-mismatch", f"The form {form.title} is for {form.type}, the file is {form_type}.")
        now = self.now()
        media = Media(
            id=self.new_media_id(), form=form.id, status=self.schema.status_of(base), values={}, created=now,
            updated=now, imported=now, status_updated=now, importer=user.id, updater=user.id,
            ready=now + timedelta(seconds=self.options.thumbnail_delay),
        )  # fmt: skip
        if source:
            media = self._with_file(media, source)
            if self.options.title_from_file:
                title = source[0].rpartition(".")[0] or source[0]
                media = replace(media, values=self._titled(form, title))
            if self.duplicates(media):
                media = replace(media, duplication="DUPLICATES_FOUND")
        self.world.event("media.created", id=media.id, name=source[0] if source else "")
        return self.store(media)

    def known_xmp(self, blob: Blob) -> Media | None:
        """The media that already carries the file's XMP document id, on instances that version by it."""
        if not self.options.xmp_versioning:
            return None
        return self.medias.get(self.by_xmp.get(xmp_id_of(blob), 0))

    def add_version(self, media: Media, user: User, source: tuple[str, str, Blob]) -> Media:
        """Append a file, which becomes the current one. Raises 403, or 400 for another document type."""
        self._writable(media, user)
        form = self.form(media)
        if not self.options.version_any_type and form_type_of(source[1]) != form.type and form.type != "OTHER":
            raise bad("form-type-mismatch", f"The media is a {form.type}.")
        now = self.now()
        media = self._with_file(media, source)
        ready = now + timedelta(seconds=self.options.thumbnail_delay)
        self.world.event("media.version", id=media.id, name=source[0])
        return self.store(replace(media, updated=now, updater=user.id, ready=ready))

    def drop_version(self, media: Media, user: User, version: Version) -> Media:
        """Raises 403, or 409 on the current one."""
        self._writable(media, user)
        if version.id == media.current:
            raise Refusal(409, "file-version-current", "The current version cannot be removed.")
        del self.versions[version.id]
        return self.store(replace(media, versions=tuple(one for one in media.versions if one.id != version.id)))

    def write_values(self, media: Media, user: User, changes: Values, language: str) -> Media:
        """Set or clear (None) checked values; a localized one in that language only. Raises 403."""
        self._writable(media, user)
        values = dict(media.values)
        for name, value in changes.items():
            field = self.field(media, name)
            if field.localized:
                texts = {**(values.get(name) or {}), language: value}
                value = {code: text for code, text in texts.items() if text is not None} or None
            if value is None:
                values.pop(name, None)
            else:
                values[name] = value
        return self.store(replace(media, values=values, updated=self.now(), updater=user.id))

    def field(self, media: Media, name: str) -> FormField:
        """A field of the media's form. Raises 400."""
        field = self.form(media).fields.get(name)
        if field is None:
            raise bad("metadata-unknown", f"The form {self.form(media).title} has no field {name}.")
        return field

    def missing(self, media: Media, values: Mapping[str, Json] | None = None) -> list[str]:
        """The mandatory fields that are empty."""
        values = media.values if values is None else values
        return [
            name for name, field in self.form(media).fields.items() if field.mandatory and not _filled(values, name)
        ]

    def change_status(self, media: Media, user: User, status: int) -> Media:
        """Move to a custom status; nothing happens when it is there. Raises 400, 403."""
        if status == media.status:
            return media
        base = self.schema.base(status)
        self._writable(media, user)
        if not user.may("PUBLISH"):
            raise forbidden("change the status")
        if base == "TRASH":
            raise bad("status-transition-forbidden", "A media goes to the trash by DELETE.")
        if base == "PUBLISHED" and self.missing(media):
            raise bad("mandatory-metadata-missing", f"Empty: {', '.join(self.missing(media))}.")
        now = self.now()
        return self.store(replace(media, status=status, status_updated=now, updated=now, updater=user.id, trashed=None))

    def delete(self, media: Media, user: User) -> None:
        """To the trash; out of it, and on some instances at once, permanently. Raises 403."""
        if not user.may("DELETE"):
            raise forbidden("delete the media")
        now = self.now()
        if media.trashed is None and not self.options.delete_purges:
            status = self.schema.status_of("TRASH")
            self.store(replace(media, status=status, status_updated=now, updated=now, trashed=now, updater=user.id))
            self.world.event("media.trashed", id=media.id)
            return
        del self.medias[media.id]
        for version in media.versions:
            del self.versions[version.id]
        for number in media.folders:
            self.folders.by_id[number].members.discard(media.id)
        self._changed(media.id)
        self.world.event("media.purged", id=media.id)

    def place(self, media: Media, user: User, folder: int, *, inside: bool) -> Media:
        """Into a folder, or out of it; safe to repeat. Raises 403, 404."""
        self._writable(media, user)
        members = self.folders.get(folder).members
        if (media.id in members) == inside:
            return media
        (members.add if inside else members.discard)(media.id)
        others = tuple(number for number in media.folders if number != folder)
        now = self.now()
        media = replace(media, folders=(*others, folder) if inside else others, foldered=now)
        return self.member_change(media)

    def member_change(self, media: Media) -> Media:
        """Keep a change of memberships, which moves `updateDate` on some instances only."""
        return self.store(replace(media, updated=self.now()) if self.options.memberships_update else media)

    def _changed(self, number: int) -> None:
        self.indexer.changed(number)
        self.audience.changed(str(number))

    def _with_file(self, media: Media, source: tuple[str, str, Blob]) -> Media:
        name, media_type, blob = source
        number = max((version.number for version in media.versions), default=0) + 1
        version = self.new_version(media.id, number, name, media_type, blob, self.now())
        xmp_id = xmp_id_of(blob) if self.options.xmp_versioning else ""
        if xmp_id:
            self.by_xmp[xmp_id] = media.id
        shape = facts_of(blob).orientation
        return replace(media, versions=(*media.versions, version), current=version.id, orientation=shape, xmp_id=xmp_id)

    def _titled(self, form: Form, title: str) -> Values:
        field = form.fields["title"]
        title = title[: field.max_length] if field.max_length else title
        return {"title": {self.languages[0]: title} if field.localized else title}

    def _writable(self, media: Media, user: User) -> None:
        if not user.may("WRITE", "PUBLISH", "DELETE"):
            raise forbidden("change the media")


def _filled(values: Values, name: str) -> bool:
    return values.get(name) not in (None, "", [], {})


def _equal(one: Blob, other: Blob) -> bool:
    return one is other or (one.size == other.size and one.digests().md5 == other.digests().md5)
