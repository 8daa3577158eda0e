"""Selections, baskets, boards, bulk changes, temporary searches: what groups media for a while."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from dam_sync.emulators.a_hypermedia.errors import bad, forbidden, not_found
from dam_sync.emulators.a_hypermedia.metadata import MULTIPLE
from dam_sync.emulators.a_hypermedia.records import Media, User
from dam_sync.emulators.a_hypermedia.schema import FormField
from dam_sync.emulators.a_hypermedia.state import Library
from dam_sync.emulators.kit.environment import Json

BASKET_CALL_MAX = 500
_MODES = frozenset({"REPLACE", "APPEND", "CLEAR", "REMOVE"})


@dataclass(slots=True)
class Ephemeral:
    """Something that expires: a selection, a bulk job, an export, a download request, a temporary search."""

    id: str
    kind: str
    owner: int
    expires: datetime
    medias: dict[int, None] = field(default_factory=dict)
    facts: dict[str, Json] = field(default_factory=dict)


@dataclass(slots=True)
class Basket:
    """A lasting group of media: a basket or a board."""

    id: int
    kind: str
    owner: int
    title: str
    description: str = ""
    medias: dict[int, None] = field(default_factory=dict)


class Collections:
    """The groups of one instance."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.ephemerals: dict[str, Ephemeral] = {}
        self.baskets: dict[int, Basket] = {}
        self._last = 70

    def begin(self, kind: str, user: User, life: float | None = None, **facts: Json) -> Ephemeral:
        """A new ephemeral thing; it lives `life` seconds, or as long as the instance says."""
        options, world = self.library.options, self.library.world
        expires = world.now() + timedelta(seconds=options.ephemeral_life if life is None else life)
        made = Ephemeral(world.word(8), kind, user.id, expires, facts=facts)
        self.ephemerals[made.id] = made
        return made

    def selection(self, user: User) -> Ephemeral:
        """A new selection; on some instances the one that the user has, begun with the first media of the library."""
        if not self.library.options.shared_selection:
            return self.begin("selection", user)
        mine = [one for one in self.alive("selection") if one.owner == user.id]
        if mine:
            return mine[0]
        made = self.begin("selection", user)
        made.medias.update(dict.fromkeys(sorted(self.library.medias)[:1]))
        return made

    def get(self, kind: str, number: str, user: User) -> Ephemeral:
        """Raises 404 when unknown, expired or somebody else's."""
        found = self.ephemerals.get(number)
        if found is None or found.kind != kind or self.library.world.now() >= found.expires or found.owner != user.id:
            raise not_found(kind)
        return found

    def alive(self, kind: str) -> list[Ephemeral]:
        """All of a kind that have not expired."""
        now = self.library.world.now()
        return [one for one in self.ephemerals.values() if one.kind == kind and now < one.expires]

    def select(self, selection: Ephemeral, user: User, ids: Json, *, most_per_call: int | None = None) -> None:
        """Add media. Raises 400 above 10,000 in all, 404 on one the user does not see; then none is added."""
        numbers = _numbers(ids, most_per_call)
        for number in numbers:
            self.library.media(number, user)
        most = self.library.options.selection_limit
        if len({*selection.medias, *numbers}) > most:  # spec 000, Limits: at most 10,000 media
            raise bad("selection-too-large", f"A selection has at most {most} media.")
        selection.medias.update(dict.fromkeys(numbers))

    def basket(self, kind: str, number: int, user: User, *, as_admin: bool = False) -> Basket:
        """Raises 404 when unknown or somebody else's."""
        found = self.baskets.get(number)
        if found is None or found.kind != kind or not (found.owner == user.id or (as_admin and user.may())):
            raise not_found(kind)
        return found

    def new_basket(self, kind: str, user: User, body: Json) -> Basket:
        """Raises 400 without a title."""
        title = body.get("title") if isinstance(body, dict) else None
        if not isinstance(title, str) or not title:
            raise bad(f"{kind}-title-missing", "A title is needed.")
        self._last += 1
        made = Basket(self._last, kind, user.id, title, str(body.get("description") or ""))
        self.baskets[made.id] = made
        return made

    def fill(self, basket: Basket, user: User, ids: Json, *, inside: bool) -> None:
        """Add or take out media. Raises 400 above 500 a call, 404 on one the user does not see."""
        numbers = _numbers(ids, BASKET_CALL_MAX)
        for number in numbers:
            if inside:
                self.library.member_change(self.library.media(number, user))
                basket.medias[number] = None
            else:
                basket.medias.pop(number, None)

    def bulk(self, selection: Ephemeral, user: User, body: Json, status: int | None, language: str) -> int:
        """Change fields and status of all selected media, or of none. The number changed. Raises 400, 403.

        Publishing with a mandatory field empty and not filled here fails the whole selection (spec 000, States).
        """
        if not isinstance(body, dict) or body.get("type", "UPDATE") != "UPDATE":
            raise bad("bulk-type-unknown", "The type must be UPDATE.")
        changes = (body.get("_embedded") or {}).get("metadata") or []
        changes = changes if isinstance(changes, list) else [changes]
        medias = [self.library.media(number, user) for number in selection.medias]
        planned = [(media, self._changed(media, changes, language)) for media in medias]
        self._check_status(planned, user, status)
        for media, values in planned:
            media = self.library.write_values(media, user, values, language) if values else media
            if status is not None:
                self.library.change_status(media, user, status)
        return len(planned)

    def shared_fields(self, selection: Ephemeral, user: User) -> list[FormField]:
        """The fields that can be edited on every selected media."""
        medias = [self.library.media(number, user) for number in selection.medias]
        shared: dict[str, FormField] = dict(self.library.form(medias[0]).fields) if medias else {}
        for media in medias[1:]:
            shared = {name: one for name, one in shared.items() if name in self.library.form(media).fields}
        return [one for one in shared.values() if one.editable]

    def _changed(self, media: Media, changes: Sequence[Json], language: str) -> dict[str, Json]:
        return {str(change.get("id")): self._value(media, change, language) for change in changes}

    def _value(self, media: Media, change: Mapping[str, Json], language: str) -> Json:
        library, mode = self.library, change.get("mode", "REPLACE")
        field = library.field(media, str(change.get("id")))
        if not field.editable:
            raise bad("metadata-not-editable", f"The field {field.name} cannot be written.")
        if mode not in _MODES or (mode == "REMOVE" and not library.options.at_least("4.124.0")):
            raise bad("bulk-mode-unknown", f"The mode {mode} is unknown.")
        if mode == "CLEAR":
            return None
        given = library.typist.taken(field, change.get("value"))
        if mode == "REPLACE":
            return given
        return _combined(field, media.values.get(field.name), given, language, append=mode == "APPEND")

    def _check_status(
        self, planned: Iterable[tuple[Media, Mapping[str, Json]]], user: User, status: int | None
    ) -> None:
        library = self.library
        if not user.may("WRITE", "PUBLISH", "DELETE"):
            raise forbidden("change the media")
        if status is None:
            return
        if not user.may("PUBLISH"):
            raise forbidden("change the status")
        base = library.schema.base(status)
        if base == "TRASH":
            raise bad("status-transition-forbidden", "A media goes to the trash by DELETE.")
        for media, values in planned if base == "PUBLISHED" else ():
            after = replace(media, values=_after(media, values))
            if library.missing(after):
                raise bad("mandatory-metadata-missing", f"Media {media.id} lacks {', '.join(library.missing(after))}.")


def _after(media: Media, values: Mapping[str, Json]) -> dict[str, Json]:
    return {key: value for key, value in {**media.values, **values}.items() if value is not None}


def _combined(field: FormField, now: Json, given: Json, language: str, *, append: bool) -> Json:
    if field.localized:
        now = (now or {}).get(language)
    if field.type in MULTIPLE:
        kept, more = now or [], given or []
        return [*kept, *(one for one in more if one not in kept)] if append else [o for o in kept if o not in more]
    if append:
        return f"{now} {given}" if isinstance(now, str) and isinstance(given, str) else given
    return None if now == given else now


def _numbers(ids: Json, most: int | None) -> list[int]:
    if not isinstance(ids, list) or not all(isinstance(number, int) for number in ids):
        raise bad("body-invalid", 'The body must be {"ids": [numbers]}.')
    if most is not None and len(ids) > most:
        raise bad("too-many-ids", f"At most {most} media a call.")
    return ids
