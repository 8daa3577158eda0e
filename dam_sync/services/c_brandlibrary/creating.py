"""Assets made at service C: refused before anything moves, made once, completed in second calls (wire C 6.3, 6.9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dam_sync.model.asset import AssetId, Draft, Placement
from dam_sync.model.errors import ContractBroken, IntegrityError, Rejected
from dam_sync.model.ports import Content, Steps
from dam_sync.model.values import Json, instant_text, parse_instant
from dam_sync.net.moments import moment
from dam_sync.services.c_brandlibrary import facts, wire
from dam_sync.services.c_brandlibrary.anew import Anew
from dam_sync.services.c_brandlibrary.connection import Line
from dam_sync.services.c_brandlibrary.envelope import document_of, related
from dam_sync.services.c_brandlibrary.fields import DESCRIPTION
from dam_sync.services.c_brandlibrary.finding import Finder
from dam_sync.services.c_brandlibrary.planning import Planner
from dam_sync.services.c_brandlibrary.sharing import Seat, Shared
from dam_sync.services.c_brandlibrary.taxonomy import Taxonomy
from dam_sync.services.c_brandlibrary.uploading import Uploader
from dam_sync.services.c_brandlibrary.valuing import Values

READ_BACK = (("include", "attachments"), ("fields", ",".join(("availability", *wire.DATES))))


@dataclass(slots=True)
class Creator:
    """Makes assets, one create call each, and completes them."""

    line: Line
    planner: Planner
    taxonomy: Taxonomy
    uploader: Uploader
    finder: Finder
    values: Values
    looks: Shared[AssetId, Json] = field(init=False)

    def __post_init__(self) -> None:
        self.looks = Shared(self.line.clock, self._looked, self.line.made_at_once)

    async def create(self, draft: Draft, content: Content | None, steps: Steps) -> AssetId:
        """Upload, create with the token, values, tags, clean description, read back; each once."""
        texts = await self.planner.texts(draft)
        section, collection = self.planner.homes(draft)
        home = section or (await self._default_section()).id
        await self.values.ensure_key(texts, draft.marker)
        making = _Making(self, draft, home, collection, content, steps)
        with self.values.shared.seat() as paying:
            made = AssetId(await making.make())
            await self.values.add(made, texts, draft.marker.field if draft.marker else "", steps, paying)
            await self._finish(made, draft, content, steps)
        return made

    async def _finish(self, made: AssetId, draft: Draft, content: Content | None, steps: Steps) -> None:
        with self.looks.seat() as looking:
            if draft.tags:
                await self.values.add_tags(made, draft.tags, steps)
            if draft.marker is not None and not self.line.options.keeps_marker:
                await steps.once("clean", lambda: self._clean(made, draft), harmless=True)
            await steps.once("read-back", lambda: self._read_back(made, draft, content, steps, looking), harmless=True)

    async def _default_section(self) -> Placement:
        return await self.taxonomy.ensure_container("section", (self.line.options.section,), "")

    async def _clean(self, made: AssetId, draft: Draft) -> Json:
        """The description without its token; approval once more, which a create may have passed over."""
        attributes = {DESCRIPTION: wire.text_at(draft.fields, DESCRIPTION), **wire.approval(draft.status)}
        await self.line.edit(made, attributes, again=True)
        return True

    async def _read_back(self, made: AssetId, draft: Draft, content: Content | None, steps: Steps, seat: Seat) -> Json:
        """What the service may have swallowed. Raises Rejected, IntegrityError."""
        waits = content is not None and self.line.options.waits_ready
        if waits:
            await self.line.clock.sleep(self.line.options.first_look)
        row = await self.looks.ask(made, seat)
        if row is None or not _tells(row, draft, content):
            row = await self.reread(made)
        if waits and not wire.is_settled(row):
            row = await self._ready(made)
            files = wire.attachments_of(row)
            if content is not None and files and not wire.is_settled(row):
                sent = await Anew(self.line, self.uploader).sent(made, files[0]["id"], content, steps)
                row = await self._ready(made) if sent else row
        refuse_swallowed(row, draft)
        if content is not None:
            refuse_other_file(row, content, self.line.options.waits_ready)
        return True

    async def _ready(self, made: AssetId) -> Json:
        """The asset once its file was looked at, or as it is when that takes too long."""
        row: Json = None

        async def ready() -> Json:
            nonlocal row
            row = await self.reread(made)
            return row if wire.is_settled(row) else None

        waits = facts.READY_WAITS
        await self.finder.asked_again(ready, facts.READY_SECONDS, waits[1:], first=waits[0])
        return row

    async def reread(self, made: AssetId) -> Json:
        """The asset with its files and dates."""
        return await self.line.one(facts.ASSET, (made,), READ_BACK, asset=made)

    async def _looked(self, several: Sequence[AssetId]) -> Sequence[Json]:
        """Those made at the same time are the newest of the library, so one list shows them (wire C 6.8), or None."""
        if len(several) == 1:
            return [await self.reread(several[0])]
        asked = (
            *(("page", "1"), ("per", str(facts.RECENT_PAGE)), ("sort_by", "created_at"), ("order", "DESC")),
            *READ_BACK,
        )
        document = await self.line.listed(facts.LIBRARY_ASSETS, (await self.planner.library.id(),), asked)
        rows = {row["id"]: row for row in document.rows}
        return [rows.get(made) for made in several]


@dataclass(slots=True)
class _Making:
    """The one call that makes the asset: its intent is journalled, and it is looked for before it is made again."""

    creator: Creator
    draft: Draft
    section: str
    collection: str
    content: Content | None
    steps: Steps

    async def make(self) -> Json:
        """The id. Raises what the upload and the create raise."""
        if self.content is not None and await self.steps.recall("create") is None:
            await self.creator.uploader.send(self.content, self.steps)  # before the intent: it makes no asset
        begun = await self.steps.once("intent", self._now, harmless=True)

        async def found() -> Json:
            if self.draft.marker is None:
                return None
            return await self.creator.finder.find(self.draft.marker, section=self.section, since=parse_instant(begun))

        known = found if self.draft.marker is not None else None
        return await self.steps.once("create", self._post, found=known)

    async def _now(self) -> Json:
        return instant_text(self.creator.line.clock.now())

    async def _post(self) -> Json:
        """Never repeated blindly."""
        uploads = []
        if self.content is not None:
            uploads.append(wire.Upload(await self._unused(self.content), self.draft.filename))
        body = wire.create_body(self.draft, self.section, uploads)
        operation, home = facts.ADD_TO_LIBRARY, await self.creator.planner.library.id()
        if self.collection:
            operation, home = facts.ADD_TO_COLLECTION, self.collection
        reply = await self.creator.line.write(operation, (home,), body)
        rows = document_of(reply.json(), operation).rows
        if len(rows) != 1:
            raise ContractBroken(f"one asset was to be made and {len(rows)} are told", operation=operation)
        return rows[0]["id"]

    async def _unused(self, content: Content) -> str:
        """An object of the file for this create; one that a create before, which made nothing, may have used up is
        sent anew (wire C 6.9), once however often that is broken off."""
        used = await self.steps.recall("used")
        address = await self.creator.uploader.send(content, self.steps)
        if address == used:
            await self.creator.uploader.forget(self.steps)
            address = await self.creator.uploader.send(content, self.steps)
        await self.steps.forget("used")
        return str(await self.steps.once("used", lambda: _given(address), harmless=True))


async def _given(value: Json) -> Json:
    return value


def _tells(row: Json, draft: Draft, content: Content | None) -> bool:
    """Whether a row of a list says all that is compared: dates may come with single assets alone (wire C 3.2)."""
    if content is not None and not related(row, "attachments"):
        return False
    return all(name in row["attributes"] for name in wire.availability(draft.rights))


def refuse_swallowed(row: Json, draft: Draft) -> None:
    """Raises Rejected when status or dates are not as they were written (wire C 6.3)."""
    attributes: Mapping[str, Json] = row["attributes"]
    want = wire.approval(draft.status)
    if want and attributes.get("approved") is not None and attributes["approved"] != want["approved"]:
        raise Rejected(
            f"the asset was made, but its status is not {draft.status}",
            asset=row["id"],
            code="approval",
            hint="the account's approval workflow decides it: approve the asset there, then `errors JOB --retry`",
        )
    for name, text in wire.availability(draft.rights).items():
        if name in attributes and moment(attributes[name]) != parse_instant(text):
            raise Rejected(
                f"the asset was made, but {name} was not kept",
                asset=row["id"],
                code="availability",
                hint="the account may have no availability dates: leave release and expiry out of the mapping",
            )


def refuse_other_file(row: Json, content: Content, waited: bool) -> None:
    """Raises IntegrityError when the file is missing, or has another size than was sent."""
    files = related(row, "attachments")
    if not files:
        raise IntegrityError("the asset was made without its file", asset=row["id"])
    size = files[0]["attributes"].get("size")
    if size is not None and size != content.size:
        raise IntegrityError(f"{content.size} bytes were sent and {size} arrived", asset=row["id"])
    if waited and size is None:
        raise Rejected(
            "the file was not looked at in time",
            asset=row["id"],
            code="not ready",
            hint="see that the service processes uploads, then `errors JOB --retry`",
        )
