"""Values of custom fields and tags of one asset: read first, then only missing or surplus ones are written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dam_sync.aio.coalescing import TIMEOUT, CallParticipant, RequestCoalescer
from dam_sync.aio.lru import LruCache
from dam_sync.aio.polling import poll_until
from dam_sync.aio.single_flight import KeyedLock
from dam_sync.http.client import Response
from dam_sync.http.failures import NotSent
from dam_sync.http.interpreting import MISREAD, interpreting_response, interprets_response, member_text
from dam_sync.model.asset import AssetId, Marker
from dam_sync.model.connector import Context
from dam_sync.model.errors import ContractBroken, DamSyncError, NotFound, Rejected, Throttled, Transient
from dam_sync.model.journal import note_fact
from dam_sync.model.ports import Call, Journal
from dam_sync.model.values import Json
from dam_sync.model.waits import LATE, sleep_for
from dam_sync.services.c_brandlibrary import facts
from dam_sync.services.c_brandlibrary.api import BrandLibraryApi, newest_first
from dam_sync.services.c_brandlibrary.codec import wire
from dam_sync.services.c_brandlibrary.codec.envelope import document_of, related
from dam_sync.services.c_brandlibrary.codec.fields import Key, Keys
from dam_sync.services.c_brandlibrary.codec.values import composed
from dam_sync.services.c_brandlibrary.target.find import BrandLibraryFinder
from dam_sync.services.c_brandlibrary.target.plan import ValuePlanner
from dam_sync.services.c_brandlibrary.tenant import BrandLibraryTenant

GONE = frozenset({403, 404})


@dataclass(slots=True)
class PendingValues:
    """Values still to be written to a new asset, by key. alone: they are sent without those of others."""

    asset: AssetId
    texts: Mapping[str, Sequence[str]]
    alone: bool = True


@dataclass(frozen=True, slots=True)
class JustCreated:
    """An asset that this process created. at: when, by the clock; size: of its file, once it was read back."""

    at: float
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """Why values of an asset were not written."""

    error: DamSyncError


@dataclass(frozen=True, slots=True)
class InDoubt(Failure):
    """They may have been written."""


IN_PART = "values in part"  # the step that remembers that some values may be there


@dataclass(slots=True)
class FieldValueWriter:
    """Writes values and tags by calls of their own; a record posted twice exists twice (wire C 6.7)."""

    api: BrandLibraryApi
    tenant: BrandLibraryTenant
    shared: RequestCoalescer[PendingValues, Failure | None] = field(init=False)
    _turns: KeyedLock = field(default_factory=KeyedLock)

    def __post_init__(self) -> None:
        timeout = max(TIMEOUT, self.api.options.first_look)  # others may wait for their files meanwhile
        self.shared = RequestCoalescer(
            self.api.clock, self._pay, self.api.made_at_once, facts.VALUE_JOIN_SECONDS, timeout
        )

    async def ensure_key(self, texts: Mapping[str, Iterable[str]], marker: Marker | None) -> None:
        """Create the key of our marker if the library has none (wire C 6.9)."""
        for name in {facts.MARK_KEY, marker.field if marker else facts.MARK_KEY} & set(texts):
            if (await self.tenant.keys.get()).named(name) is not None:
                continue
            async with self._turns.of(name):
                if (await self.tenant.refresh()).named(name) is None:
                    await self._add_key(name)

    async def _add_key(self, name: str) -> None:
        attributes = {"name": name, "restricted": False, "required": False, "prioritized": False}
        body = {"data": {"attributes": [attributes]}}  # an array, other than in updates (wire C 11.4)
        try:
            await self.api.write(facts.ADD_KEY, (await self.tenant.id(),), body)
        except DamSyncError:
            self.tenant.keys.forget()
            raise
        if (await self.tenant.refresh()).named(name) is None:
            raise Rejected(
                f"the library did not accept the custom field {name}",
                code="custom fields",
                hint="let an administrator create a free-text custom field with this name",
            )

    # -- while an asset is made ------------------------------------------------------------------------------------

    async def add(
        self,
        asset: AssetId,
        texts: Mapping[str, tuple[str, ...]],
        first: str,
        journal: Journal,
        participant: CallParticipant,
    ) -> None:
        """The values of a new asset, one call for each key, shared with assets created at the same time, `first`
        called before; after a lost response, or a refusal of others' values, only what is missing."""
        left = {key: list(texts[key]) for key in sorted(texts, key=lambda each: (each != first, each))}

        async def post() -> Json:
            if await journal.get(IN_PART) and await found():
                return True
            try:
                await self._shared(PendingValues(asset, left), found, participant)
            except DamSyncError:  # of several calls the last was refused: those before it were not
                await note_fact(journal, IN_PART)
                raise
            return True

        async def found() -> Json:
            have = wire.values_of(await self._row(asset, "custom_fields"))
            for key, some in left.items():
                there = have.get((await self._key(key)).name, {}).values()
                some[:] = [text for text in texts[key] if text not in there]
            return None if any(left.values()) else True

        if left:
            await journal.run("values", post, reconcile=found)

    async def _shared(self, owed: PendingValues, found: Call, participant: CallParticipant) -> None:
        """Together with others. After a response that was lost, or that lacks some, the missing ones are sent again
        together and then alone."""
        error = await self.shared.ask(owed, participant)
        if not owed.alone and isinstance(error, InDoubt):
            error = None if await found() else await self.shared.ask(owed, participant)
        if not owed.alone and isinstance(error, InDoubt):
            error = None if await found() else (await self._pay([owed]))[0]
        if error is not None:
            raise error.error

    async def _pay(self, several: Sequence[PendingValues]) -> Sequence[Failure | None]:
        """Write the values of all, key by key, as many per call as allowed (wire C 6.7). An asset whose call failed
        gets no further values."""
        for owed in several:
            owed.alone = len(several) == 1
        failed: dict[str, Failure] = {}
        for key in dict.fromkeys(key for owed in several for key in owed.texts):
            left = [owed for owed in several if owed.asset not in failed]
            rows = [(text, owed.asset) for owed in left for text in owed.texts.get(key, ())]
            if rows:
                failed |= await self._posted(await self._key(key), rows)
        return [failed.get(owed.asset) for owed in several]

    async def _posted(self, key: Key, rows: Sequence[tuple[str, str]]) -> dict[str, Failure]:
        """Values of one key; the assets whose values were not written, or perhaps not."""
        failed: dict[str, Failure] = {}
        for start in range(0, len(rows), facts.VALUE_BATCH):
            some = [row for row in rows[start : start + facts.VALUE_BATCH] if row[1] not in failed]
            failed |= await self._posted_together(key, some)
        return failed

    async def _posted_together(self, key: Key, rows: Sequence[tuple[str, str]]) -> dict[str, Failure]:
        """One call; if the service refuses it as a whole, one for each half, until only the refused assets are left."""
        assets = list(dict.fromkeys(asset for _, asset in rows))
        try:
            if rows:
                await self._post(key, rows)
        except Throttled as error:
            return dict.fromkeys(assets, Failure(error))
        except Transient as error:
            return dict.fromkeys(assets, InDoubt(error))
        except Rejected as error:
            if len(assets) == 1:
                return {assets[0]: Failure(error)}
            half, failed = set(assets[: len(assets) // 2]), dict[str, Failure]()
            for side in (True, False):
                failed |= await self._posted_together(key, [row for row in rows if (row[1] in half) is side])
            return failed
        return {}

    async def add_tags(self, asset: AssetId, tags: frozenset[str], journal: Journal) -> None:
        """The tags of a new asset, by one call."""
        left = sorted(tags)

        async def post() -> Json:
            await self._post_tags(asset, left)
            return True

        async def found() -> Json:
            have = tag_names(await self._row(asset, "tags"))
            left[:] = [tag for tag in sorted(tags) if tag not in have]
            return None if left else True

        await journal.run("tags", post, reconcile=found)

    # -- afterwards ------------------------------------------------------------------------------------------------

    async def change(self, row: Json, wanted: Mapping[str, tuple[str, ...]]) -> None:
        """Make the records of these keys as wanted: surplus ones are changed into missing ones. Safe to repeat."""
        for key in sorted(wanted):
            named = await self._key(key)
            records = wire.values_of(row).get(named.name, {})
            await self._settle(row["id"], named, records, wanted[key])

    async def drop_equal(self, row: Json) -> None:
        """Delete records of a new asset that are there twice, because a call arrived twice. Safe to repeat."""
        for texts in wire.values_of(row).values():
            known = set[str]()
            for record, text in texts.items():
                if text in known:
                    await self.api.write(facts.DELETE_VALUE, (record,), asset=row["id"], repeatable=True, accept=GONE)
                known.add(text)

    async def _settle(self, asset: str, key: Key, records: Mapping[str, str], texts: tuple[str, ...]) -> None:
        kept: set[str] = set()
        surplus: list[str] = []
        for record, text in records.items():
            if text in texts and text not in kept:
                kept.add(text)
            else:
                surplus.append(record)
        missing = [text for text in texts if text not in kept]
        while surplus and missing:
            body = {"data": {"attributes": {"value": missing.pop(0)}}}
            await self.api.write(facts.PUT_VALUE, (surplus.pop(0),), body, asset=asset, repeatable=True)
        for record in surplus:
            await self.api.write(facts.DELETE_VALUE, (record,), asset=asset, repeatable=True, accept=GONE)
        if missing:
            await self._post(key, [(text, asset) for text in missing])

    async def change_tags(self, row: Json, add: frozenset[str], remove: frozenset[str]) -> None:
        """Change tags added by people; machine tags do not change. Waits for deletions (wire C 6.6). Safe to repeat."""
        have = tag_names(row)
        gone, new = sorted(remove & have), sorted(add - have)
        if gone:
            body = {"tags": gone}
            await self.api.write(facts.DELETE_TAGS, (row["id"],), body, asset=row["id"], repeatable=True)
            await self._await_deletion(row["id"], frozenset(gone))
        if new:
            await self._post_tags(row["id"], new)

    async def _await_deletion(self, asset: str, gone: frozenset[str]) -> None:
        async def done() -> Json:
            document = await self.api.listed(facts.ASSET_TAGS, (asset,), (("per", str(facts.LONG_PAGE)),))
            return True if not gone & names_of(document.rows) else None

        seconds = sum(facts.TAG_WAITS)
        pauses, first = facts.TAG_WAITS[1:], facts.TAG_WAITS[0]
        if not await poll_until(self.api.clock, done, seconds, pauses, "tags to be deleted", delay=first):
            raise Rejected(
                "deleted tags still exist",
                asset=asset,
                operation=facts.DELETE_TAGS,
                code="tags",
                hint="the service deletes tags later: `errors JOB --retry` after a while",
            )

    async def _post(self, key: Key, rows: Sequence[tuple[str, str]]) -> None:
        """Values of one key, each with its asset."""
        assets = {asset for _, asset in rows}
        asset = assets.pop() if len(assets) == 1 else ""
        for start in range(0, len(rows), facts.VALUE_BATCH):
            some = rows[start : start + facts.VALUE_BATCH]
            reply = await self._written_once(key, some, asset)
            with interpreting_response("the values added"):
                reported = [row["attributes"].get("value") for row in document_of(reply.json(), facts.ADD_VALUES).rows]
                fewer = Counter(reported) < Counter(text for text, _ in some)
            if None not in reported and fewer:
                kind = Rejected if asset else Transient  # of several assets each has to be looked at
                raise kind(f"the field {key.name} accepted {len(reported)} of {len(some)} values", asset=asset)

    async def _written_once(self, key: Key, rows: Sequence[tuple[str, str]], asset: str) -> Response:
        """One call. After a lost response the request may still arrive, so this waits before it raises: a check made
        at once would find nothing, and the values would be written twice."""
        try:
            return await self.api.write(facts.ADD_VALUES, (key.id,), wire.values_body(rows), asset=asset)
        except (NotSent, Throttled):
            raise
        except Transient:
            await sleep_for(self.api.clock, facts.LATE_WAIT, LATE, "target")
            raise

    async def _post_tags(self, asset: str, tags: list[str]) -> None:
        body = {"data": {"attributes": [{"name": tag} for tag in tags]}}
        reply = await self.api.write(facts.ADD_TAGS, (asset,), body, asset=asset)
        missing = _unnamed(tags, reported_names(reply))
        if missing:  # a response of another shape proves nothing: the asset itself does
            row = await self._row(asset, "tags")
            missing = _unnamed(tags, {member_text(tag["attributes"], "name") for tag in related(row, "tags")})
        if missing:
            raise Rejected(
                f"the service did not store the tags {', '.join(missing[:5])}",
                asset=asset,
                operation=facts.ADD_TAGS,
                code="tags",
                hint="add a tag by hand to see what prevents it, then `errors JOB --retry`",
            )

    async def _row(self, asset: str, include: str) -> Json:
        return await self.api.one(facts.ASSET, (asset,), (("include", include),), asset=asset)

    async def _key(self, key: str) -> Key:
        known: Keys = await self.tenant.keys.get()
        found = known.named(key)
        if found is None:
            raise NotFound(f"the library has no field {key!r}")
        return found


class BrandLibraryWriter(BrandLibraryFinder):
    """Shared by creating and changing: the plan of values, and their writer."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._planner = ValuePlanner(self._tenant)
        self._values = FieldValueWriter(self._api, self._tenant)
        self._made_at = LruCache[str, JustCreated](facts.MADE_KEPT)  # the assets that this process created
        self._file_looks = RequestCoalescer(
            self._api.clock, self._files_looked, self._api.made_at_once, facts.FILE_JOIN_SECONDS
        )

    async def _files_looked(self, several: Sequence[str]) -> Sequence[Json]:
        include = (("include", "attachments"),)
        if len(several) == 1:
            return [await self._api.one(facts.ASSET, several, include, asset=several[0])]
        return await self._newest_of(several, include)

    async def _newest_of(self, several: Sequence[str], more: Sequence[tuple[str, str]]) -> list[Json]:
        """Rows of a list of the newest assets of the library, None for those that it does not reach."""
        size, rows = self._api.limits.page, dict[str, Json]()
        for number in range(1, len(several) // size + 2):
            asked = (*newest_first(number, size), *more)
            document = await self._api.listed(facts.LIBRARY_ASSETS, (await self._tenant.id(),), asked)
            before = len(rows)
            rows |= {row["id"]: row for row in document.rows}
            if rows.keys() >= set(several) or document.ends(before, len(rows)):
                break
        return [rows.get(identity) for identity in several]


@interprets_response
def reported_names(reply: Response) -> set[str]:
    """The names of tags in a response (wire C 6.6)."""
    try:
        return {member_text(row["attributes"], "name") for row in document_of(reply.json(), facts.ADD_TAGS).rows}
    except (ContractBroken, *MISREAD):
        return set()


def _unnamed(tags: Iterable[str], names: Iterable[str]) -> list[str]:
    """Tags that are not among the names, whose characters the service may compose and whose case it may change."""
    there = {composed(name).casefold() for name in names}
    return [tag for tag in tags if composed(tag).casefold() not in there]


@interprets_response
def tag_names(row: Json) -> frozenset[str]:
    """Names of tags added by people."""
    return names_of(related(row, "tags"))


@interprets_response
def names_of(tags: Iterable[Json]) -> frozenset[str]:
    """Names of tags that were not generated."""
    return frozenset(
        member_text(tag["attributes"], "name") for tag in tags if not tag["attributes"].get("auto_generated")
    )
