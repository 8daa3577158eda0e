"""Creates a media so that a crash at any moment leaves no second one (wire A 6.12)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial

from dam_sync.model.asset import AssetId, Draft, Placement
from dam_sync.model.audience import Audience
from dam_sync.model.connector import Context
from dam_sync.model.diagnostic import nearest
from dam_sync.model.errors import DamSyncError, Disposition, InvalidValue, NotFound, Rejected, SessionGone
from dam_sync.model.ports import Content, Journal
from dam_sync.model.values import Json
from dam_sync.services.a_hypermedia.api.connection import HalRequest, made_id
from dam_sync.services.a_hypermedia.codec.forms import MediaForm, MediaForms
from dam_sync.services.a_hypermedia.codec.wire import Status
from dam_sync.services.a_hypermedia.codec.writes import Put, Writes, other_titles, writes_of
from dam_sync.services.a_hypermedia.target.find import CREATE, SENT, MediaFinder, created_media
from dam_sync.services.a_hypermedia.target.members import FOLDER_MEDIAS, in_order
from dam_sync.services.a_hypermedia.target.update import (
    CLOSED,
    PUBLISHED,
    MediaUpdater,
    chosen_status,
    status_to_write,
)

HIDDEN = "hidden at first"  # the check of the first new media of a folder that must be hidden
UNTITLED = "no title at first"  # the check of the first new media with a file and no title of ours in a language


@dataclass(frozen=True, slots=True)
class PlannedMedia:
    """A draft as calls: the marker's value, all other writes, the form; what clears the title in other languages."""

    marker: Put | None
    writes: Writes
    form: MediaForm | None
    other_titles: tuple[Put, ...] = ()

    @property
    def marked_writes(self) -> Writes:
        """All writes, the marker first."""
        return replace(self.writes, puts=(self.marker, *self.writes.puts)) if self.marker else self.writes


class MediaCreator(MediaUpdater, MediaFinder):
    """Creates media in the first of their folders, or in the staging folder if they get none; then adds the other
    containers; writes the marker with the fields and the status, so nothing is published incomplete. Until then a media
    is found by its recorded id, or by its folder and content. It leaves the staging folder once it has its marker."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._titled: set[str] = set()  # languages in which the instance gives a new media a title of its own

    async def create(self, draft: Draft, content: Content | None, journal: Journal) -> AssetId:
        """Create the media. What can be refused without a call is refused before the first one."""
        plan = await self._checked(draft, content)
        hidden = is_hidden(plan.writes, await self._tenant.statuses.get())
        if hidden:
            self._proofs.refuse_harmful(HIDDEN)
        home = await self._home(draft)
        path = await self._uploads.send(content, journal) if content else ""
        asset, resumed = await self._made_hidden(plan, _MediaRequest(draft, home, path, content), journal, hidden)
        with _what_stays(asset):
            await self._claim(asset, draft.marker, journal, resumed)
            rides = not resumed and bool(home_of(draft)) and (await self._selectable(plan.marked_writes)).bulked
            if plan.marker and not rides:
                await self._put_field(asset, plan.marker)
            await self._into_place(asset, draft, "" if resumed else home)
            if content is not None:
                await self._clear_titles(asset, plan.other_titles)
            await self._write_values(asset, plan, rides)
        self._release(asset)
        return AssetId(asset)

    async def _home(self, draft: Draft) -> str:
        """The folder in which a new media is created; empty for a release that creates media outside of folders."""
        if not await self._creates_in_folders():
            return ""
        return home_of(draft) or await self._staging.get()

    async def _into_place(self, asset: str, draft: Draft, home: str) -> None:
        """Into its containers, and out of the staging folder. home: where it certainly is."""
        folders = {place.id for place in draft.placements if place.kind == "folder"}
        await self._add_placements(asset, placed_later(draft.placements, home))
        staging = await self._known_staging() if home not in folders else ""
        if staging and staging not in folders:
            await self._out_of_folder(asset, staging)

    async def _write_values(self, asset: str, plan: PlannedMedia, rides: bool) -> None:
        """Write the values. If the marker rides with them and they are refused, it is written alone, so that the
        incomplete media is found by it."""
        try:
            await self._apply(asset, plan.marked_writes if rides else plan.writes)
        except Rejected:
            if plan.marker and rides:
                with suppress(Rejected):
                    await self._put_field(asset, plan.marker)
            raise

    async def _clear_titles(self, asset: str, others: Iterable[Put]) -> None:
        """Clear the file name that the instance took as the title (wire A 14), in languages that get no other one: it
        would count as somebody's change later. A title that cannot be cleared stays."""
        for put in others:
            if await self._has_title(asset, put):
                self._titled.add(put.language)
                with suppress(Rejected):
                    await self._put_field(asset, put)

    async def _has_title(self, asset: str, put: Put) -> bool:
        """Whether the instance gave the media a title in this language; asked until one answer is known to hold."""
        if put.language in self._titled:
            return True
        return not await self._proofs.holds(untitled_form(put), partial(self._kept, asset, put), patient=False)

    def audience(self, draft: Draft) -> Audience:
        """Depends on the status only: permissions of folders are not returned (wire A 5.1)."""
        return audience_of(draft, self._tenant.statuses.now or {})

    def bare_filename(self, draft: Draft) -> str:
        """Only an upload gives a media a file name (wire A 6.6)."""
        return ""

    async def _made_hidden(
        self, plan: PlannedMedia, making: _MediaRequest, journal: Journal, hidden: bool
    ) -> tuple[str, bool]:
        """The same as `_made`; hidden: no ordinary user may see it. One at a time until the first one of a folder was
        seen to be hidden."""
        if not hidden:
            return await self._made(plan, making, journal)
        folder = home_of(making.draft)
        async with self._proofs.first_use(hidden_form(folder)):
            self._proofs.refuse_harmful(HIDDEN)
            asset, resumed = await self._made(plan, making, journal)
            with _what_stays(asset):
                await self._refuse_published(asset, folder)
        return asset, resumed

    async def _refuse_published(self, asset: str, folder: str) -> None:
        """Check the first new media of a folder that must be hidden. Raises Rejected, after it was hidden, if the
        instance has published it, or does not show whether it has."""
        if await self._proofs.holds(hidden_form(folder), lambda: self._is_hidden(asset), patient=False):
            return
        self._proofs.harmful(HIDDEN, published_at_once)
        await self._hide(asset)
        raise published_at_once(asset)

    async def _checked(self, draft: Draft, content: Content | None) -> PlannedMedia:
        forms, locales = await self._tenant.forms.get(), await self._tenant.locales.get()
        in_order(draft.placements)
        if content is not None:
            await self._uploads.check(content)
        if draft.status:
            chosen_status(draft.status, await self._tenant.statuses.get())
        form = forms.by_name.get(draft.profile)
        if draft.profile and form is None:
            raise InvalidValue(f"the target has no form {draft.profile!r}", hint=nearest(draft.profile, forms.by_name))
        if content is None and form is None:
            form = _form_with(draft.fields, forms)
        plan = planned(draft, writes_of(draft.fields, forms, locales, draft.status, closed=draft.closed), form)
        return replace(plan, other_titles=other_titles(draft.fields, forms, locales))

    async def _made(self, plan: PlannedMedia, making: _MediaRequest, journal: Journal) -> tuple[str, bool]:
        """The media's id, and whether an earlier attempt created it."""
        fresh: list[str] = []
        refused: list[DamSyncError] = []
        marker = making.draft.marker

        async def call() -> Json:
            await self._note_sent(making.home, making.content, journal)
            try:
                fresh.append(await self._post(await self._body(plan, making.path), making.home))
            except (Rejected, SessionGone) as error:
                refused.append(error)
                raise
            self._claims.setdefault(fresh[0], marker.value if marker else "")
            return created_media(fresh[0])

        async def found() -> Json:
            asset = await self._created(making.content, marker, journal)
            return created_media(asset) if asset else None

        try:
            made = await journal.run(CREATE, call, reconcile=found)
        except (Rejected, SessionGone):
            if refused:  # certainly nothing was created, so there is nothing to look for next time
                await journal.discard(CREATE, f"{SENT}*", "file*")
            raise
        return str(made["id"]), not fresh

    async def _body(self, plan: PlannedMedia, path: str) -> Json:
        links = {}
        if path:
            links["from"] = {"href": self._api.base_url + path}
        if plan.form:
            links[self._api.rels.rel("form")] = {"href": await self._api.href("forms", "/{id}", plan.form.id)}
        return {"_links": links}

    async def _post(self, body: Json, folder: str) -> str:
        """The call that must not happen twice."""
        force = [("forceNew", "true")]  # wire A 6.3: otherwise a known XMP id merges the file into an older media
        if folder:
            request = HalRequest("POST", "folders", FOLDER_MEDIAS, (folder,), force, json=body)
            return made_id(await self._api.call(request))
        return made_id(await self._api.call(HalRequest("POST", "medias", params=force, json=body)))


@dataclass(frozen=True, slots=True)
class _MediaRequest:
    """The call that creates a media. home: the folder; path: of the uploaded file."""

    draft: Draft
    home: str
    path: str
    content: Content | None


def _form_with(fields: Iterable[str], forms: MediaForms) -> MediaForm:
    """The first form that has all these fields, because a media without a file has no document class. Raises
    InvalidValue if there is none."""
    wanted = frozenset(fields) & forms.by_key.keys()
    for form in forms.by_id.values():
        if wanted <= {one.key for one in form.fields.values()}:
            return form
    raise InvalidValue("a media without a file needs a form", hint="map `profile`")


def planned(draft: Draft, writes: Writes, form: MediaForm | None) -> PlannedMedia:
    """Plan the writes; the marker is written first and alone."""
    marker = next((put for put in writes.puts if draft.marker and put.field == draft.marker.field), None)
    rest = tuple(put for put in writes.puts if put is not marker)
    if draft.marker and marker is None:
        marker = Put(draft.marker.field, draft.marker.value)
    return PlannedMedia(marker, replace(writes, puts=rest), form)


def home_of(draft: Draft) -> str:
    """The folder in which the media is created; empty if it gets none. Raises InvalidValue."""
    return next((place.id for place in in_order(draft.placements) if place.kind == "folder"), "")


def placed_later(placements: Iterable[Placement], home: str) -> list[Placement]:
    """Those that need a call of their own."""
    return [place for place in placements if place.kind != "folder" or place.id != home]


def hidden_form(folder: str) -> str:
    """The form in which a media is created hidden: statuses may depend on the folder."""
    return f"{HIDDEN} {folder}".rstrip()


def untitled_form(put: Put) -> str:
    """The form in which a media is created without a title in this language."""
    return f"{UNTITLED} {put.language}"


@contextmanager
def _what_stays(asset: str) -> Iterator[None]:
    """Add to a refusal what it leaves at the target: a partial create, which the next attempt completes."""
    try:
        yield
    except Rejected as error:
        if error.disposition is Disposition.PARK and not isinstance(error, NotFound):
            error.message += f"; media {asset}, created for it, stays at the target until the asset is retried"
        raise


def is_hidden(writes: Writes, statuses: Mapping[str, Status]) -> bool:
    """Whether a new media is hidden from ordinary users: one without a status stays a draft (wire A 6.3)."""
    return status_to_write(writes, statuses).base != PUBLISHED


def audience_of(draft: Draft, statuses: Mapping[str, Status]) -> Audience:
    """Who would see a media created from this draft. One with an unknown status counts as visible."""
    try:
        base = status_to_write(Writes(status=draft.status, closed=draft.closed), statuses).base
    except InvalidValue:
        return Audience()
    return Audience() if base == PUBLISHED else Audience(hidden=f"its status is {base or CLOSED}")


def published_at_once(asset: str = "") -> Rejected:
    """Why a media that must be hidden is not created."""
    done = "it may have been visible until it was hidden a moment later" if asset else "it was not created"
    return Rejected(
        "the instance publishes new media at once, or shows no status of them, and this one must not be visible: "
        f"{done}",
        asset=asset,
        code="published-at-once",
        hint="let an administrator set the status of new media to draft, then `errors JOB --retry`; only if more "
        "people may see it, accept the exposure rule in the job file",
    )
