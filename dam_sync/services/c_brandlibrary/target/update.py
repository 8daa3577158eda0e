"""Changes assets of service C: fields, tags, names, new file versions, attachments, deletion."""

from __future__ import annotations

from collections.abc import Mapping

from dam_sync.aio.polling import poll_until
from dam_sync.http.dates import parse_timestamp
from dam_sync.http.interpreting import interprets_response
from dam_sync.model.asset import AssetId, Draft, Patch
from dam_sync.model.errors import IntegrityError, NotFound, Rejected, TooLarge
from dam_sync.model.ports import Content, Journal
from dam_sync.model.values import Json, parse_instant
from dam_sync.model.waits import PROCESSED, sleep_for
from dam_sync.model.write_record import note_version
from dam_sync.services.c_brandlibrary import facts
from dam_sync.services.c_brandlibrary.codec import wire
from dam_sync.services.c_brandlibrary.codec.values import composed
from dam_sync.services.c_brandlibrary.target.resend import Resend
from dam_sync.services.c_brandlibrary.target.values import BrandLibraryWriter, JustCreated
from dam_sync.transfer.upload_session import source_of

GONE = frozenset({403, 404})
REPORTED = ("approved", "name", "description")  # what the response to a change shows of it (wire C 3.2, 6.4)
HINTS = {
    "approved": "the approval workflow of the account decides this: approve the asset there, then `errors JOB --retry`",
}
CHANGED_DATES = "availability dates of a change"  # a form that is read back once
VERSION_FIELDS = "version_count"


class BrandLibraryUpdater(BrandLibraryWriter):
    """Each method says what is safe to repeat."""

    async def update(self, asset: AssetId, patch: Patch) -> None:
        """One call for the asset's own attributes, one for each record of a custom field. Safe to repeat."""
        if patch.empty:
            return
        wanted = await self._planner.changes(patch)
        row = await self._current(asset, patch, wanted)
        attributes = named(wire.patch_attributes(patch), row)
        reported = await self._api.edit(asset, attributes, repeatable=True) if attributes else None
        if reported is not None:
            reported = await self._seen_hidden(asset, reported, attributes)
        if reported is not None and patch.closed:
            refuse_unkept(reported, attributes)
        if row is not None:
            await self._related(row, patch, wanted)  # no calls for what the patch does not concern
        if reported is not None:
            refuse_unkept(reported, attributes)
        if opening := named(wire.opening(patch), row, attributes.get("name")):
            refuse_unkept(await self._api.edit(asset, opening, repeatable=True), opening)

    async def _seen_hidden(self, asset: AssetId, reported: Json, sent: Mapping[str, Json]) -> Json:
        """The response to a change that hides the asset, or the asset read again if that does not show what hides it:
        its approval each time, its dates for the first one of a connection (wire C 6.4). Raises Rejected."""
        dates = {name: sent[name] for name in wire.DATES if sent.get(name)}
        pending = sent.get("approved") is False and not wire.tells_approval(reported)

        async def look() -> bool:
            nonlocal reported
            if pending or not reported["attributes"].keys() >= dates.keys():
                shown = await self._api.one(facts.ASSET, (asset,), (("fields", ",".join(wire.DATES)),), asset=asset)
                reported = {**reported, "attributes": {**reported["attributes"], **shown["attributes"]}}
            refuse_other_dates(reported, dates, "changed")
            return True

        if pending:
            await look()
        elif dates:
            await self._proven.holds(CHANGED_DATES, look, patient=False)
        if sent.get("approved") is False and not wire.tells_approval(reported):
            raise _unkept(asset, "approved")
        return reported

    def bare_filename(self, draft: Draft) -> str:
        """The name of an asset without a file stands for that of its file."""
        return wire.name_of(draft)

    async def _related(self, row: Json, patch: Patch, wanted: dict[str, tuple[str, ...]]) -> None:
        await self._values.change(row, wanted)
        await self._values.change_tags(row, patch.tags_add, patch.tags_remove)
        if patch.filename is not None:
            await self._rename(row, patch.filename)

    async def _current(self, asset: AssetId, patch: Patch, wanted: dict[str, tuple[str, ...]]) -> Json:
        """The current asset, if the write depends on it or it was just read."""
        parts = [
            *(["custom_fields"] if wanted else []),
            *(["tags"] if patch.tags_add or patch.tags_remove else []),
            *(["attachments"] if patch.filename is not None else []),
        ]
        known = self._api.just_read.take(asset)
        if not parts:
            return known
        return known or await self._api.one(facts.ASSET, (asset,), (("include", ",".join(parts)),), asset=asset)

    async def _rename(self, row: Json, name: str) -> None:
        """Without a file there is no name to change; a file that is added later brings its own."""
        files = wire.attachments_of(row)
        if not files or files[0]["attributes"].get("filename") == name:
            return
        body = {"data": {"attributes": {"filename": name}}}
        await self._api.write(facts.PUT_ATTACHMENT, (files[0]["id"],), body, asset=row["id"], repeatable=True)

    async def replace(self, asset: AssetId, content: Content, journal: Journal) -> None:
        """A new version of the first attachment; the previous one is finished first, or it would be lost (wire C
        6.5). An asset without files is given its first one (wire C 6.4)."""
        before = await journal.run("before", lambda: self._before(asset), idempotent=True)
        if before["attachment"] is None:
            return await self.attach(asset, content, journal)
        url = await self._uploads.send(content, journal)
        attachment = str(before["attachment"])

        async def put() -> Json:
            attributes = {"url": url, "filename": content.name}
            body = {"data": {"attributes": attributes}}
            await self._api.write(facts.PUT_ATTACHMENT, (attachment,), body, asset=asset)
            return True

        async def newer() -> Json:
            row = await self._finished(asset, attachment, facts.READY_SECONDS)
            return True if row is not None and wire.count_of(row) > before["count"] else None

        async def landed() -> Json:
            return await poll_until(self._api.clock, newer, self._api.options.index_lag, facts.READY_WAITS, PROCESSED)

        await journal.run("put", put, reconcile=landed)
        try:
            await journal.run(
                "ready", lambda: self._arrived(asset, attachment, before["count"], content), idempotent=True
            )
        except NotReady:
            await self._uploads.discard(journal)  # its object may have gone before anybody looked at it: sent again
            await journal.discard("put")
            raise

    async def _before(self, asset: AssetId) -> Json:
        """The first attachment, once the service has processed it; none if the asset has no file."""
        created = self._made_at.drop(asset)
        if created is not None:
            await self._wait_for_first_look(created)
            if (first := await self._first_of(asset, created)) is not None:
                return {"attachment": first, "count": 1}
        known = self._api.just_read.take(asset)
        row = known or await self._api.one(facts.ASSET, (asset,), (("include", "attachments"),), asset=asset)
        files = wire.attachments_of(row)
        if not files:
            return {"attachment": None, "count": 0}
        attachment = files[0]["id"]
        done = await self._finished(asset, attachment, facts.READY_SECONDS)
        if done is None:
            raise _not_ready(asset)
        return {"attachment": attachment, "count": wire.count_of(done)}

    async def _wait_for_first_look(self, created: JustCreated) -> None:
        """An asset that was just created is not looked at before its file can be ready: a look is a call."""
        ready = created.at + self._api.options.first_look
        await sleep_for(self._api.clock, ready - self._api.clock.monotonic(), PROCESSED, "target")

    async def _first_of(self, asset: AssetId, created: JustCreated) -> str | None:
        """The attachment of an asset that was just created, if it is the one that was sent and was processed: it has
        no other version. One look for all who are created at the same time."""
        if created.size is None:
            return None
        with self._file_looks.participant() as participant:
            row = await self._file_looks.ask(asset, participant)
        files = wire.attachments_of(row) if row is not None else []
        ready = len(files) == 1 and wire.is_ready(files[0]) and files[0]["attributes"].get("size") == created.size
        return str(files[0]["id"]) if ready else None

    async def _finished(self, asset: str, attachment: str, seconds: float) -> Json:
        async def ready() -> Json:
            row = await self._attachment(asset, attachment)
            return row if wire.is_ready(row) else None

        return await poll_until(self._api.clock, ready, seconds, facts.READY_WAITS, PROCESSED)

    async def _arrived(self, asset: str, attachment: str, count: int, content: Content) -> Json:
        """Wait until the new version is visible; its size must be that of the bytes sent. Raises IntegrityError,
        Rejected."""

        async def newer() -> Json:
            row = await self._attachment(asset, attachment)
            return row if wire.is_ready(row) and wire.count_of(row) > count else None

        first = self._api.options.first_look
        row = await poll_until(self._api.clock, newer, facts.READY_SECONDS, facts.READY_WAITS, PROCESSED, delay=first)
        if row is None:
            raise _not_ready(asset)
        size = row["attributes"].get("size")
        if size != content.size:
            raise IntegrityError(f"{content.size} bytes were sent but {size} arrived", asset=asset)
        note_version(str(wire.count_of(row)))
        return True

    async def _attachment(self, asset: str, attachment: str) -> Json:
        return await self._api.one(facts.ATTACHMENT, (attachment,), (("fields", VERSION_FIELDS),), asset=asset)

    async def attach(self, asset: AssetId, content: Content, journal: Journal) -> None:
        """Add an attachment. The call appends, so it is never repeated without checking (wire C 6.4)."""
        name = _name(content)
        rows: list[Json] = []

        async def attached() -> Json:
            rows.append(await self._api.one(facts.ASSET, (asset,), (("include", "attachments"),), asset=asset))
            return _file_names(rows[-1])

        before = await journal.run(f"{name}:before", attached, idempotent=True)
        if len(before) >= facts.ATTACHMENTS:
            raise TooLarge(f"the asset already has {len(before)} files, and cannot have more than {facts.ATTACHMENTS}")
        url = await self._uploads.send(content, journal, f"{name}:file")

        async def put() -> Json:
            files = [{"url": url, "filename": content.name}]
            await self._api.edit(asset, named({"attachments": files}, rows[-1] if rows else None))
            return True

        async def found() -> Json:
            now = await attached()
            fresh = [file for file in now if file not in before and composed(now[file]) == composed(content.name)]
            return True if fresh else None

        async def check() -> Json:
            await self._refuse_missing(asset, frozenset(before), content, journal)
            return True

        await journal.run(name, put, reconcile=found)
        await journal.run(f"{name}:read-back", check, idempotent=True)

    async def _refuse_missing(self, asset: AssetId, before: frozenset[str], content: Content, journal: Journal) -> None:
        """The new attachment must exist, and once processed have the size that was sent."""
        waits = self._api.options.readiness == "wait"
        fresh: list[Json] = []

        async def ready() -> Json:
            row = await self._api.one(facts.ASSET, (asset,), (("include", "attachments"),), asset=asset)
            files = [file for file in wire.attachments_of(row) if file["id"] not in before]
            fresh[:] = [
                file
                for file in files
                if composed(str(file["attributes"].get("filename") or "")) == composed(content.name)
            ]
            return True if not waits or any(wire.is_ready(file) for file in fresh) else None

        first = self._api.options.first_look if waits else 0.0
        pauses = facts.READY_WAITS
        done = await poll_until(self._api.clock, ready, facts.READY_SECONDS, pauses, PROCESSED, delay=first)
        if not done and fresh:
            if not await Resend(self._api, self._uploads).sent(
                asset, fresh[0]["id"], content, journal, f"{_name(content)}:file"
            ):
                raise _not_ready(asset)
            done = await poll_until(self._api.clock, ready, facts.READY_SECONDS, pauses, PROCESSED, delay=first)
        if not done and fresh:
            raise _not_ready(asset)
        sizes = [file["attributes"].get("size") for file in fresh]
        if content.size not in sizes and None not in sizes:
            raise IntegrityError(
                f"{content.name}: {content.size} bytes were sent but {sizes or 'none'} arrived", asset=asset
            )

    async def remove(self, asset: AssetId) -> None:
        """A soft deletion; nothing to do if it is already gone, once the key is known to be valid. Safe to repeat."""
        try:
            reply = await self._api.write(facts.DELETE_ASSET, (asset,), asset=asset, repeatable=True, accept=GONE)
        except NotFound:
            return  # no id of this service
        if reply.status in GONE:
            await self._api.prove()


def named(attributes: dict[str, Json], row: Json, given: Json = None) -> dict[str, Json]:
    """With the name, which one description of the service requires (wire C, last section), if known; nothing
    for nothing. given: a name that it got since it was read."""
    name = given or (row["attributes"].get("name") if row is not None else None)
    return {"name": name, **attributes} if attributes and isinstance(name, str) and name else attributes


def refuse_unkept(row: Json, sent: Mapping[str, Json]) -> None:
    """Raises Rejected if the response to a change has another status, name or description than was sent."""
    reported = row["attributes"]
    for name in REPORTED:
        if name in sent and name in reported and not _same(reported[name], sent[name]):
            raise _unkept(row["id"], name)


def _unkept(asset: str, name: str) -> Rejected:
    return Rejected(
        f"the asset was changed, but its {name} was not stored",
        asset=asset,
        operation=facts.PUT_ASSET,
        code=name,
        hint=HINTS.get(name, f"the service does not store such a {name}: shorten or change it in the mapping"),
    )


@interprets_response
def refuse_other_dates(row: Json, sent: Mapping[str, Json], done: str) -> None:
    """Raises Rejected if a complete row has other availability dates than were sent, or does not show them."""
    for name, text in sent.items():
        if parse_timestamp(row["attributes"].get(name)) != parse_instant(str(text)):
            raise Rejected(
                f"the asset was {done}, but {name} was not stored",
                asset=row["id"],
                code="availability",
                hint="the account may not support availability dates: leave release and expiry out of the mapping",
            )


def _same(reported: Json, sent: Json) -> bool:
    """Whether a flag is as sent, if the response has it, or a text, which may be missing if empty."""
    if isinstance(sent, bool):
        return reported is None or reported == sent
    return composed(str(reported or "")) == composed(str(sent or ""))


@interprets_response
def _file_names(row: Json) -> Json:
    """File names of the attachments by id."""
    return {file["id"]: str(file["attributes"].get("filename") or "") for file in wire.attachments_of(row)}


def _name(content: Content) -> str:
    """The prefix of the journal entries of an attachment."""
    return f"attach:{source_of(content)[:12]}"


class NotReady(Rejected):
    """The service has not processed a file in time."""


def _not_ready(asset: str) -> NotReady:
    return NotReady(
        "the service has not processed the last file in time",
        asset=asset,
        operation=facts.ATTACHMENT,
        code="not ready",
        hint="check that the service processes uploads, then `errors JOB --retry`",
    )
