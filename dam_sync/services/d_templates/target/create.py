"""Creates assets and versions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict

from dam_sync.model.asset import AssetId, Draft, Marker
from dam_sync.model.errors import IntegrityError, InvalidValue, NotFound, Rejected, SessionGone, Transient, Uncertain
from dam_sync.model.ports import Content, Journal
from dam_sync.model.values import Json
from dam_sync.model.waits import PROCESSED
from dam_sync.model.write_record import note_version
from dam_sync.services.d_templates import facts
from dam_sync.services.d_templates.codec.forms import Template
from dam_sync.services.d_templates.codec.wire import Record, VersionGroup
from dam_sync.services.d_templates.target.find import RECORD, TemplatesFind
from dam_sync.services.d_templates.target.update import TemplatesUpdate, entries_for
from dam_sync.services.d_templates.uploads.uploader import WAITED, StoreRefused, TemplatesUploads
from dam_sync.services.d_templates.uploads.urls import CreatedRecord
from dam_sync.transfer.digests import md5_of

_WINDOWS = 2  # of the index lag, before a create whose response was lost is repeated (wire D 6.9)
_AGAIN = 3  # records made in a row because the links of the one before were lost


class TemplatesCreate(TemplatesFind, TemplatesUpdate, TemplatesUploads):
    """Writes assets; a create is journaled, everything else is safe to repeat."""

    # -- create ----------------------------------------------------------------------------------------------------

    async def create(self, draft: Draft, content: Content | None, journal: Journal) -> AssetId:
        """The record with its metadata, then its file: the service assigns ids before the upload (wire D 6.1)."""
        template = (await self.tenant.forms.get()).template(draft.profile)
        body = await self._body(draft, template)

        async def make() -> CreatedRecord:
            return await self.usable(lambda: self.uploader.created(body, content))

        async def found() -> CreatedRecord | None:
            record = await self.marked_record(draft.marker, _WINDOWS) if draft.marker else None
            return None if record is None or record.deleted else await self._found(record, content, draft.marker)

        made = await self._brought(make, found if draft.marker else None, content, journal, draft.marker)
        self.version_groups.made(made.family, made.object, made.file, made.template)
        return AssetId(made.family)

    async def _body(self, draft: Draft, template: Template) -> Json:
        filename = draft.filename or (draft.marker.value if draft.marker is not None else "")
        if not filename:
            raise InvalidValue("an asset needs a file name")
        fields = dict(draft.fields)
        if draft.marker is not None:
            fields[draft.marker.field] = draft.marker.value
        extra = await self.option_values(draft.rights, draft.status, draft.tags)
        forms = await self.tenant.forms.get()
        given = {key: value for key, value in {**fields, **extra}.items() if value is not None}
        entries = entries_for(given, template.id, forms)
        return {
            "metadataTemplateId": template.id,
            "securityTemplateIds": (await self.tenant.security.get()).ids(draft.rights.groups, closed=draft.closed),
            "filename": filename,
            "metadata": [entry for entry in entries if len(entry) > 1],
        }

    async def _brought(
        self,
        make: Callable[[], Awaitable[CreatedRecord]],
        found: Callable[[], Awaitable[CreatedRecord | None]] | None,
        content: Content | None,
        journal: Journal,
        marker: Marker | None,
    ) -> CreatedRecord:
        """A record and its file, each written once. A record whose upload URLs are lost is unmarked, moved to the
        recycle bin and created again, unless the storage refuses the new URLs in the same way."""

        async def call() -> Json:
            return asdict(await make())

        async def look() -> Json:
            known = await found() if found is not None else None
            return None if known is None else asdict(known)

        lost: SessionGone | None = None
        for _ in range(_AGAIN):
            made = CreatedRecord.of(await self._once(call, look if found is not None else None, journal))
            lost = None if content is None else await self._carried(made, content, journal, marker, lost)
            if lost is None:
                return made
        raise StoreRefused(f"{_AGAIN} records lost their upload links" + (f": {lost.message}" if lost else ""))

    async def _carried(
        self, made: CreatedRecord, content: Content, journal: Journal, marker: Marker | None, before: SessionGone | None
    ) -> SessionGone | None:
        """None when the file is uploaded, otherwise why it never will be; then no asset is left behind. A record whose
        URL the storage refuses for now stays for the next attempt.

        before: how the URLs of the previous record were lost.
        """
        try:
            await self.uploader.send(made, content, journal)
        except SessionGone as error:
            refused = before is not None and _alike(error, before)
            if not refused or made.upload:
                await self._put_by(made, journal, marker)
            if refused:
                raise StoreRefused.of(error).within(asset=made.family) from error
            return error
        except (Rejected, IntegrityError) as error:
            if made.upload or not isinstance(error, StoreRefused):
                await self._put_by(made, journal, marker)
            raise
        return None

    async def _put_by(self, made: CreatedRecord, journal: Journal, marker: Marker | None) -> None:
        """Discard a record whose file will never be uploaded, and its journal entries."""
        await self.uploader.give_up(made)
        await self._discard(made.family, made.object, marker)
        await journal.discard(RECORD, "file", "parts:*", "processed", WAITED)

    async def _once(
        self, call: Callable[[], Awaitable[Json]], look: Callable[[], Awaitable[Json]] | None, journal: Journal
    ) -> Json:
        """The journaled create. A refused create certainly made nothing, so its intent is discarded."""
        refused = False

        async def tried() -> Json:
            nonlocal refused
            try:
                return await call()
            except Rejected:
                refused = True
                raise

        try:
            return await journal.run(RECORD, tried, reconcile=look)
        except Rejected:
            if refused:
                await journal.discard(RECORD)
            raise

    async def _found(self, record: Record, content: Content | None, marker: Marker | None) -> CreatedRecord | None:
        """What an earlier attempt created and marked, if it can be resumed. A record without file and URLs cannot: no
        byte is sent before a record is journaled."""
        kept = _made(record) if content is None else await self._kept(record)
        if kept is not None:
            return kept
        if await self._looked_at(record) is not None:
            return _made(record)
        await self._discard(record.family, record.object, marker)
        return None

    async def _kept(self, record: Record) -> CreatedRecord | None:
        """A record whose upload URLs are still stored: no byte was sent yet."""
        return None if record.has_file else await self.uploader.urls.made(record.file)

    async def _looked_at(self, record: Record) -> Record | None:
        """The record, once its file is processed; None if it has none."""

        async def looked_at() -> Record | None:
            now = await self.version_groups.record(record.object, asset=record.family)
            return now if now.has_file else None

        waits = facts.PROCESS_WAITS
        return record if record.has_file else await self.api.until(looked_at, sum(waits[:4]), waits, PROCESSED)

    async def _discard(self, asset: str, record: str, marker: Marker | None) -> None:
        """Discard a record without a file: clear its marker, promote the version before it, move it to the recycle bin,
        and restore what was moved there with it (wire D 6.9, 15). Safe to repeat."""
        try:
            before = await self.version_groups.load(asset)
        except NotFound:
            return
        mine = next((one for one in before.records if one.object == record), None)
        if mine is None or mine.deleted:
            return
        if marker is not None and len(before.records) == 1:
            attribute = (await self.tenant.forms.get()).attribute(marker.field, mine.template)
            off = {
                "metadataDefinitionId": attribute.id,
                "metadataDefinitionValue": f"stub-{record}"[: attribute.length],
            }
            await self._patch(asset, record, {"metadata": [off]})
        living = [one.object for one in before.records if not one.deleted and one.object != record]
        if living and mine.current:
            accept = frozenset({400, 403, 404})  # where it is refused, a version less is current, and none is lost
            await self.api.send(
                self.api.request(facts.PROMOTE, living[-1], asset=asset, repeatable=True, accept=accept)
            )
        await self._bin(asset, record, "delete")
        for one in (await self.version_groups.load(asset)).records:
            if one.deleted and one.object in living:
                await self._bin(asset, one.object, "undelete")

    # -- replace ---------------------------------------------------------------------------------------------------

    async def replace(self, asset: AssetId, content: Content, journal: Journal) -> None:
        """A new version with the metadata of the current one (wire D 6.6), once that was processed."""
        await self._replace(asset, content, journal)

    async def give_first_file(self, asset: AssetId, content: Content, journal: Journal) -> None:
        """A new version of a record to which no file will come, unless another version of it exists by now."""
        await self._replace(asset, content, journal, empty=True)

    async def _replace(self, asset: AssetId, content: Content, journal: Journal, *, empty: bool = False) -> None:
        settled: list[VersionGroup] = []
        before = await journal.run("before", lambda: self._settled(asset, settled, empty=empty), idempotent=True)

        async def make() -> CreatedRecord:
            current = (settled.pop() if settled else await self.version_groups.load(asset)).current
            return await self.uploader.created(await self._same(current, content.name), content, asset=asset)

        async def found() -> CreatedRecord | None:
            return await self._version(asset, frozenset(before["records"]), content)

        made = await self._brought(make, found, content, journal, None)
        note_version(made.object)
        self.version_groups.made(asset, made.object, made.file, made.template)

    async def _version(self, asset: AssetId, before: frozenset[str], content: Content) -> CreatedRecord | None:
        """The version that an earlier attempt created: by this user, with this name, and with these bytes or stored
        upload URLs. Other versions are left alone. Raises Uncertain if one may be ours and nothing proves it."""
        user = await self.tenant.user()

        async def another() -> list[Record] | None:
            fresh = [one for one in (await self.version_groups.load(asset)).records if one.object not in before]
            return [one for one in fresh if not one.deleted and _may_be_ours(one, user, content.name)] or None

        records = await self.api.until(another, self.api.options.index_lag, facts.FIND_WAITS)
        for record in sorted(records or (), key=lambda one: not one.has_file):
            kept = await self._kept(record)
            if kept is not None:
                return kept
            filled = await self._looked_at(record)
            if filled is None:
                await self._put_away(record, user, content.name)
            elif filled.md5 and filled.md5 == await md5_of(content):
                return _made(filled)
        return None

    async def _put_away(self, record: Record, user: str, filename: str) -> None:
        """Discard a version without file and URLs that is certainly ours, by creator and name; if the service does not
        report the creator, nothing is changed. Raises Uncertain."""
        if not (user and record.creator == user and record.filename == filename):
            hint = "move that version to the recycle bin of the target if nobody needs it, then `errors JOB --retry`"
            text = "there is a new version without a file, and it is unknown whether it is ours"
            raise Uncertain(text, operation=facts.CREATE, asset=record.family, hint=hint)
        await self._discard(record.family, record.object, None)

    async def _settled(self, asset: AssetId, settled: list[VersionGroup], *, empty: bool) -> Json:
        """The ids of all records once the current one is processed, so that versions keep their order (wire D 6.6). The
        version group is appended to `settled`. empty: no file was sent for the first record."""

        async def processed() -> VersionGroup | None:
            known = self.version_groups.just_read.take(asset) if self.version_groups.just_read else None
            family = known or await self.version_groups.load(asset)
            ready = (empty and len(family.records) == 1) or family.current.has_file
            return family if ready or not self._may_come(family.current) else None

        waits = facts.PROCESS_WAITS
        first = empty or not self.version_groups.is_fresh(asset)
        family = await self.api.until(processed, facts.PROCESS_SECONDS, waits, PROCESSED, first=first)
        if family is None:
            raise Transient("the version before this one is still being processed", asset=asset)
        if family.deleted:
            raise Rejected("an asset in the recycle bin does not take versions", asset=asset, operation=facts.CREATE)
        settled.append(family)
        return {"records": [one.object for one in family.records]}

    def _may_come(self, record: Record) -> bool:
        """Whether a record without a file is so recent that its file may still arrive."""
        return self.api.clock.now().timestamp() * 1000 - record.created < facts.PROCESS_SECONDS * 1000

    async def _same(self, current: Record, filename: str) -> Json:
        """The body of a create that repeats a record, except what the service maintains itself."""
        if current.security is None:
            raise Rejected(
                "the service does not show the security templates of the asset, which a new version has to repeat",
                asset=current.family,
                operation=facts.CREATE,
                hint="give the user of the job permission to see them, then `errors JOB --retry`",
            )
        return {
            "metadataTemplateId": current.template,
            "securityTemplateIds": list(current.security),
            "filename": filename or current.filename,
            "originalFileId": current.family,
            "metadata": await self.repeated(current),
        }


# -- pure parts --------------------------------------------------------------------------------------------------------


def _made(record: Record) -> CreatedRecord:
    return CreatedRecord(record.object, record.file, record.family, record.filename, record.template)


def _alike(one: SessionGone, other: SessionGone) -> bool:
    """Whether two uploads were refused in the same way."""
    return bool(one.operation) and (one.operation, one.code) == (other.operation, other.code)


def _may_be_ours(record: Record, user: str, filename: str) -> bool:
    """Whether this user may have created a version for a file of this name."""
    return (not (user and record.creator) or record.creator == user) and filename in ("", record.filename)
