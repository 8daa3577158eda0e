"""Creates assets at service C: refused before anything moves, created once, completed by further calls (wire C 6.3,
6.9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from dam_sync.aio.coalescing import CallParticipant, RequestCoalescer
from dam_sync.aio.polling import poll_until
from dam_sync.aio.single_flight import KeyedLock
from dam_sync.http.interpreting import interpreting_response, interprets_response
from dam_sync.model.asset import AssetId, Draft, Placement
from dam_sync.model.audience import Audience
from dam_sync.model.connector import Context
from dam_sync.model.errors import Conflict, ContractBroken, Denied, IntegrityError, Rejected, Transient
from dam_sync.model.journal import after_write, note_fact
from dam_sync.model.ports import Content, IsReferenced, Journal
from dam_sync.model.values import Json, instant_text, parse_instant
from dam_sync.model.waits import PROCESSED, sleep_for
from dam_sync.services.c_brandlibrary import facts
from dam_sync.services.c_brandlibrary.codec import wire
from dam_sync.services.c_brandlibrary.codec.envelope import document_of, related
from dam_sync.services.c_brandlibrary.codec.fields import DESCRIPTION, NAME
from dam_sync.services.c_brandlibrary.options import BrandLibraryOptions
from dam_sync.services.c_brandlibrary.target.pull import USED, Arrival, is_pulled, is_sent, link_for_create
from dam_sync.services.c_brandlibrary.target.resend import Resend
from dam_sync.services.c_brandlibrary.target.shared import CALL, Creation, SharedCall, SharedCallFailed, SharedCreates
from dam_sync.services.c_brandlibrary.target.update import VERSION_FIELDS, refuse_other_dates
from dam_sync.services.c_brandlibrary.target.values import BrandLibraryWriter, JustCreated
from dam_sync.services.c_brandlibrary.taxonomy import BrandLibraryTaxonomy
from dam_sync.transfer.linked import opened
from dam_sync.transfer.upload_session import was_sent_other

UNAPPROVED, DATED = "approval", "dates"  # forms that hide an asset, read back when they are first used
ANOTHER = "another file"  # the journal entry of a create whose file is replaced, because the source has another
ADAPTED = "adapted"  # the journal entry of what an asset that exists was made to say
UNKNOWN: Mapping[str, Json] = {"dates": {}, "status": None}  # of a state of an older release
GONE = frozenset({403, 404})
READ_BACK = (("include", "attachments,custom_fields"), ("fields", ",".join(("availability", *wire.DATES))))


class BrandLibraryCreator(BrandLibraryWriter, BrandLibraryTaxonomy):
    """Creates assets, several of them by one call, and completes them."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._shared = SharedCreates(self._api)
        self._looks = RequestCoalescer(self._api.clock, self._looked, self._api.made_at_once)
        self._first = KeyedLock()

    async def create(self, draft: Draft, content: Content | None, journal: Journal) -> AssetId:
        """Upload, create with the token, values, tags, clean description, read back; each once. An asset that an
        earlier attempt created from another draft or file gets the present ones."""
        texts = await self._planner.texts(draft)
        section, collection = self._planner.homes(draft)
        home = section or (await self._default_section()).id
        await self._values.ensure_key(texts, draft.marker)
        if content is not None and await is_sent(journal):
            content = await opened(content)
        making = _Making(self, draft, home, collection, content, journal)
        earlier = await _Earlier.of(journal, content)
        with self._shared.participant() as joining:
            made = await self._begun(making, earlier, joining)
            with self._values.shared.participant() as paying:
                await self._values.add(made, texts, draft.marker.field if draft.marker else "", journal, paying)
            making.marked()
            if earlier.other_file and content is not None:
                await self._send_again(made, content, journal)
            await self._finish(made, draft, content, journal)
        return made

    async def _begun(self, making: _Making, earlier: _Earlier, participant: CallParticipant) -> AssetId:
        """The asset, hidden if it must be: the first one of a run that must is created alone, and read back before
        another."""
        form = hiding_form(making.draft, self._api.client.decision_time())
        if form and not self._proven.proven([form]):
            async with self._first.of(form):
                if not self._proven.proven([form]):
                    return await self._hidden(making, earlier, None)
        return await self._hidden(making, earlier, participant)

    async def _hidden(self, making: _Making, earlier: _Earlier, participant: CallParticipant | None) -> AssetId:
        draft, journal = making.draft, making.journal
        made = AssetId(await making.make(participant))
        self._made_at.put(made, JustCreated(self._api.clock.monotonic()))
        if earlier.begun:
            await self._adapt(made, draft, journal, earlier)
        await self._refuse_visible(made, draft, journal, held_back=not earlier.approved)
        return made

    def audience(self, draft: Draft) -> Audience:
        """Depends on status and dates."""
        return wire.audience_of(draft)

    async def sweep(self, recorded: IsReferenced) -> int:
        """Abort orphaned upload sessions; returns how many a killed run had left open. Safe to repeat."""
        return await self._uploads.sweep(recorded)

    async def _finish(self, made: AssetId, draft: Draft, content: Content | None, journal: Journal) -> None:
        with self._looks.participant() as looking:
            if draft.tags:
                await self._values.add_tags(made, draft.tags, journal)
                self._shared.progressed()
            if self._approves(draft) or (cleans(draft, self._api.options) and await journal.get(CALL) is None):
                await journal.run("clean", lambda: self._clean(made, draft), idempotent=True)
            await journal.run(
                "read-back", lambda: self._read_back(made, draft, content, journal, looking), idempotent=True
            )

    async def _adapt(self, made: AssetId, draft: Draft, journal: Journal, earlier: _Earlier) -> None:
        """Dates of an asset that exists, but for those that neither this draft nor an earlier one has, and its status
        if an earlier one has another. One that had its approval does not get it later."""
        now = _audience_of(draft)
        hidden = draft.closed or (not earlier.approved and self._hides_at_first(draft))
        said = earlier.said["dates"]
        attributes = {name: text for name, text in now["dates"].items() if text or said.get(name, "") is not None}
        if hidden or earlier.said["status"] != now["status"]:
            status = draft.status or (wire.PUBLISHED if earlier.approved and self._approves(draft) else "")
            attributes |= wire.approval(wire.PENDING if hidden else status)
        if attributes:
            await self._api.edit(made, attributes, repeatable=True)
        if earlier.said != now:
            await journal.discard(ADAPTED)
            await note_fact(journal, ADAPTED, now)

    async def _send_again(self, made: AssetId, content: Content, journal: Journal) -> None:
        """A new version of the file, once the one before is processed (wire C 6.5)."""
        row = await self._ready(made)
        files = wire.attachments_of(row)
        if files:
            await note_fact(journal, ANOTHER)
            await self._uploads.discard(journal)
            url = await self._uploads.send(content, journal)
            body = {"data": {"attributes": {"url": url, "filename": content.name}}}
            await self._api.write(facts.PUT_ATTACHMENT, (files[0]["id"],), body, asset=made, repeatable=True)
            await sleep_for(self._api.clock, self._api.options.first_look, PROCESSED, "target")

    async def _refuse_visible(self, made: AssetId, draft: Draft, journal: Journal, *, held_back: bool) -> None:
        """The first asset that must be hidden is read back at once. Raises Rejected if the service did not store what
        hides it, after hiding it in another way, or deleting it."""
        form = hiding_form(draft, self._api.client.decision_time())
        if not form:
            return

        held_back = held_back and self._hides_at_first(draft)

        async def look() -> bool:
            row = await self._reread(made)
            refuse_swallowed(row, draft, held_back=held_back)
            return True

        try:
            await self._proven.holds(form, look, patient=False)
        except Rejected:
            await self._hide(made, journal)
            raise

    def _hides_at_first(self, draft: Draft) -> bool:
        """Whether a new asset is approved only after its dates were read back."""
        form = hiding_form(draft, self._api.client.decision_time())
        return form == DATED and not self._proven.proven([form])

    async def _hide(self, made: AssetId, journal: Journal) -> None:
        """Remove the approval; if that has no effect, trash the asset, to be created again later."""
        await self._api.edit(made, wire.approval(wire.PENDING), repeatable=True)
        if (await self._reread(made))["attributes"].get("approved") is not False:
            await self._api.write(facts.DELETE_ASSET, (made,), asset=made, repeatable=True, accept=GONE)
            await journal.discard("*")

    async def _default_section(self) -> Placement:
        return await self.ensure_container("section", (self._api.options.section,), "")

    def _approves(self, draft: Draft) -> bool:
        """Whether the approval may have been delayed until the dates were read back."""
        return hiding_form(draft, self._api.client.decision_time()) == DATED

    async def _clean(self, made: AssetId, draft: Draft) -> Json:
        """The description without its token; approval again, which a create may have ignored or delayed."""
        status = draft.status or (wire.PUBLISHED if self._approves(draft) else "")
        attributes = {NAME: wire.name_of(draft)} if wire.name_of(draft) else {}
        if cleans(draft, self._api.options):
            attributes[DESCRIPTION] = wire.text_at(draft.fields, DESCRIPTION)
        await self._api.edit(
            made, {**attributes, **wire.approval(wire.PENDING if draft.closed else status)}, repeatable=True
        )
        return True

    async def _read_back(
        self, made: AssetId, draft: Draft, content: Content | None, journal: Journal, participant: CallParticipant
    ) -> Json:
        """Check what the service may have dropped. Raises Rejected, IntegrityError."""
        sent = 1 if await journal.get(ANOTHER) is None else 2
        pulled = content is not None and await is_pulled(journal)
        waits = content is not None and (pulled or self._api.options.readiness == "wait")
        if waits:
            await sleep_for(self._api.clock, self._api.options.first_look, PROCESSED, "target")
        row = await self._looks.ask(made, participant)
        row = await self._approved(row if _tells(row, draft, content) else await self._reread(made), draft, journal)
        refuse_claimed(row, draft)
        await self._values.drop_equal(row)
        if pulled and content is not None:
            row, sent = await Arrival(self._api, self._uploads, self._reread).complete(row, content, journal)
        elif waits and not wire.is_settled(row):
            row = await self._ready(made)
            files = wire.attachments_of(row)
            if content is not None and files and not wire.is_settled(row):
                sent = await Resend(self._api, self._uploads).sent(made, files[0]["id"], content, journal)
                row = await self._ready(made) if sent else row
        try:
            refuse_swallowed(row, draft)
        except Rejected:
            if row["attributes"].get("approved") is not False and wire.audience_of(draft) != wire.EVERYBODY:
                await self._hide(made, journal)
            raise
        if content is not None and not await self._has_newer(row, content, sent):
            refuse_other_file(row, content, waits)
            self._made_at.put(made, replace(self._made_at.get(made) or JustCreated(0.0), size=content.size))
        return True

    async def _approved(self, row: Json, draft: Draft, journal: Journal) -> Json:
        """The asset after the approval that its create asked for: a call of its own may give what the create did
        not."""
        status = wire.PENDING if draft.closed else draft.status
        reported, want = row["attributes"].get("approved"), wire.approval(status).get("approved")
        if want is None or reported in (None, want) or await journal.get("clean") is not None:
            return row
        await journal.run("clean", lambda: self._clean(row["id"], draft), idempotent=True)
        return await self._reread(row["id"])

    async def _has_newer(self, row: Json, content: Content, sent: int) -> bool:
        """Whether the file has another size because somebody added a version to the `sent` ones: that stays."""
        files = wire.attachments_of(row)
        size = files[0]["attributes"].get("size") if files else None
        if size is None or size == content.size:
            return False
        asked = (("fields", VERSION_FIELDS),)
        return wire.count_of(await self._api.one(facts.ATTACHMENT, (files[0]["id"],), asked, asset=row["id"])) > sent

    async def _ready(self, made: AssetId) -> Json:
        """The asset once its file was processed, or as it is if that takes too long."""
        row: Json = None

        async def ready() -> Json:
            nonlocal row
            row = await self._reread(made)
            return row if wire.is_settled(row) else None

        waits = facts.READY_WAITS
        await poll_until(self._api.clock, ready, facts.READY_SECONDS, waits[1:], PROCESSED, delay=waits[0])
        return row

    async def _reread(self, made: AssetId) -> Json:
        """The asset with its files and dates."""
        return await self._api.one(facts.ASSET, (made,), READ_BACK, asset=made)

    async def _looked(self, several: Sequence[AssetId]) -> Sequence[Json]:
        """Those created at the same time are the newest of the library, so one list contains them (wire C 6.8), or
        None."""
        if len(several) == 1:
            return [await self._reread(several[0])]
        return await self._newest_of(several, READ_BACK)


@dataclass(frozen=True, slots=True)
class _Earlier:
    """What earlier attempts of a create did. begun: they may have created the asset; approved: they gave it the
    approval; other_file: with another file than this attempt has; said: its status and dates."""

    begun: bool
    approved: bool
    other_file: bool
    said: Mapping[str, Json]

    @classmethod
    async def of(cls, journal: Journal, content: Content | None) -> _Earlier:
        """Read before anything is done."""
        other = content is not None and await was_sent_other(content, journal, "file")
        intent = await journal.get("intent")
        said = await journal.get(ADAPTED) or (intent["said"] if isinstance(intent, dict) else UNKNOWN)
        return cls(intent is not None, await journal.get("clean") is not None, intent is not None and other, said)


@dataclass(slots=True)
class _Making:
    """The call that creates the asset: its intent is recorded, and the asset is looked up before it is created
    again."""

    creator: BrandLibraryCreator
    draft: Draft
    section: str
    collection: str
    content: Content | None
    journal: Journal
    _creation: Creation | None = None

    async def make(self, participant: CallParticipant | None) -> Json:
        """Returns the id. Raises what the upload and the create raise. participant: in shared calls, None for an asset
        that is created alone."""
        content = self.content
        if content is not None and content.link is None and await self.journal.get("create") is None:
            await self.creator._uploads.send(content, self.journal)  # before the intent, because it creates no asset
        intent = await self.journal.run("intent", self._intent, idempotent=True)
        begun = intent["at"] if isinstance(intent, dict) else intent  # a state of an older release has the time alone

        async def found() -> Json:
            marker, call = self.draft.marker, SharedCall.of(await self.journal.get(CALL))
            if marker is None:
                return None
            if call is not None:
                return await self.creator.find_shared(marker, call)
            return await self.creator.find(marker, section=self.section, since=parse_instant(begun))

        known = found if self.draft.marker is not None else None
        return await self.journal.run("create", lambda: self._post(participant), reconcile=known)

    def marked(self) -> None:
        """It has its marker now: its name need no longer distinguish it."""
        if self._creation is not None:
            self.creator._shared.release(self._creation)

    async def _intent(self) -> Json:
        return {"at": instant_text(self.creator._api.clock.now()), "said": _audience_of(self.draft)}

    async def _post(self, participant: CallParticipant | None) -> Json:
        """Never repeated blindly."""
        creation = self._creation = await self._planned()
        made = await self._together(creation, participant) if participant is not None else None
        if made is None:
            if await self.journal.get(CALL) is not None:
                await self.journal.discard(CALL)  # from now on it has a token of its own
            made = await self._alone_in_any_way(self._creation)
        self.creator._claims.put(made, creation.owner)
        return made

    async def _alone_in_any_way(self, creation: Creation) -> str:
        """With the bytes if the service refuses the asset with a link: it may be the link. A key that may not create
        assets is then refused without one, too."""
        try:
            return await self._alone(creation)
        except (Rejected, Denied):
            if self.content is None or not await is_pulled(self.journal):
                raise
        self.content = await opened(self.content)
        await self.creator._uploads.send(self.content, self.journal)
        self._creation = await self._planned()
        return await self._alone(self._creation)

    async def _together(self, creation: Creation, participant: CallParticipant) -> str | None:
        """By a call shared with others. If that failed, the asset is looked for; None if there is none: it is to be
        created alone, so that only those fail that the service refuses."""
        marker = creation.new.draft.marker
        try:
            return await self.creator._shared.created(creation, participant)
        except (Rejected, Denied):  # it had no other
            if await is_pulled(self.journal):
                return None
            raise
        except SharedCallFailed as failed:
            if marker is None:
                raise failed.error from None
            lost = isinstance(failed.error, Transient)
        call = SharedCall.of(await self.journal.get(CALL))
        with after_write():
            if call is not None:
                # the first asset of the call may be there by a call of its own, and proves nothing then
                made = await self.creator.find_shared(marker, call, patient=lost, renamed=False)
            else:
                made = await self.creator.find(marker, section=self.section, patient=lost)
        if made is None and lost:
            self._creation = await self._planned()
        return made

    async def _alone(self, creation: Creation) -> str:
        body = wire.create_body([creation.new], creation.section)
        reply = await self.creator._api.write(creation.operation, (creation.home,), body)
        rows = document_of(reply.json(), creation.operation).rows
        if len(rows) != 1:
            text = f"one asset was to be created but the response has {len(rows)}"
            raise ContractBroken(text, operation=creation.operation)
        with interpreting_response("the asset made"):
            return str(rows[0]["id"])

    async def _planned(self) -> Creation:
        upload, size = None, None
        if self.content is not None:
            link = await link_for_create(self.content, self.journal, self.creator._api.clock.now())
            url = link.url if link is not None else await self._unused(self.content)
            upload = wire.Upload(url, self.draft.filename)
            size = self.content.size if link is None else None  # who knows what is found behind a link
        hidden = self.draft.closed or self.creator._hides_at_first(self.draft)
        operation, home = facts.ADD_TO_LIBRARY, await self.creator._tenant.id()
        if self.collection:
            operation, home = facts.ADD_TO_COLLECTION, self.collection
        new = wire.NewAsset(self.draft, upload, hidden)
        return Creation(new, operation, home, self.section, size, self.journal)

    async def _unused(self, content: Content) -> str:
        """An uploaded object for this create; one that an earlier create, which created nothing, may have used up is
        sent again (wire C 6.9), once, however often that is interrupted."""
        used = await self.journal.get(USED)
        url = await self.creator._uploads.send(content, self.journal)
        if url == used:
            await self.creator._uploads.discard(self.journal)
            url = await self.creator._uploads.send(content, self.journal)
        await self.journal.discard(USED)
        return str(await note_fact(self.journal, USED, url))


def _audience_of(draft: Draft) -> Json:
    """What a draft says of who sees the asset, and when."""
    dates = {**dict.fromkeys(wire.DATES), **wire.availability(draft.rights)}
    return {"dates": dates, "status": [draft.status, draft.closed]}


@interprets_response
def _tells(row: Json, draft: Draft, content: Content | None) -> bool:
    """Whether there is a row of a list with everything that is compared: dates may be returned for single assets only
    (wire C 3.2)."""
    if row is None:
        return False
    if content is not None and not related(row, "attachments"):
        return False
    hides = draft.closed or draft.status == wire.PENDING
    if hides and not wire.tells_approval(row):
        return False
    return all(name in row["attributes"] for name in wire.availability(draft.rights))


def cleans(draft: Draft, options: BrandLibraryOptions) -> bool:
    """Whether the token is removed from the description."""
    return draft.marker is not None and not options.keep_marker


def hiding_form(draft: Draft, now: datetime) -> str:
    """What hides a new asset from ordinary users: its approval, or else its dates; empty if nothing does."""
    if draft.closed or draft.status == wire.PENDING:
        return UNAPPROVED
    release, expiry = draft.rights.release_at, draft.rights.expires_at
    return DATED if (release is not None and release > now) or (expiry is not None and expiry <= now) else ""


@interprets_response
def refuse_swallowed(row: Json, draft: Draft, *, held_back: bool = False) -> None:
    """Raises Rejected if status or dates differ from what was written (wire C 6.3). held_back: the approval will
    come."""
    attributes: Mapping[str, Json] = row["attributes"]
    status = wire.PENDING if draft.closed or held_back else draft.status
    want = wire.approval(status)
    unknown = not want.get("approved", True) and not wire.tells_approval(row)
    if unknown or (want and attributes.get("approved") is not None and attributes["approved"] != want["approved"]):
        raise Rejected(
            f"the asset was created, but its status is not {status}" + (", as far as the service shows it" * unknown),
            asset=row["id"],
            code="approval",
            hint="the account's approval workflow decides this: approve the asset there, then `errors JOB --retry`",
        )
    refuse_other_dates(row, wire.availability(draft.rights), "created")


@interprets_response
def refuse_claimed(row: Json, draft: Draft) -> None:
    """Raises Conflict if the asset has the marker of another one besides ours: of two assets without a token, alike and
    created at the same time by several processes, both may have been taken for it."""
    if draft.marker is None:
        return
    others = set(wire.values_of(row).get(draft.marker.field, {}).values()) - {draft.marker.value}
    if others:
        raise Conflict(
            f"{row['id']} was created for two assets of the source",
            asset=row["id"],
            code="two markers",
            hint="delete it, set `options: {tokens: asset}`, then `errors JOB --retry`",
        )


@interprets_response
def refuse_other_file(row: Json, content: Content, waited: bool) -> None:
    """Raises IntegrityError if the file is missing, or its size differs from what was sent."""
    files = related(row, "attachments")
    if not files:
        raise IntegrityError("the asset was created without its file", asset=row["id"])
    size = files[0]["attributes"].get("size")
    if size is not None and size != content.size:
        raise IntegrityError(f"{content.size} bytes were sent but {size} arrived", asset=row["id"])
    if waited and size is None:
        raise Rejected(
            "the file was not processed in time",
            asset=row["id"],
            code="not ready",
            hint="check that the service processes uploads, then `errors JOB --retry`",
        )
