"""Collections: flat, with files as members instead of assets (wire D 2.6, 6.8)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing

from dam_sync.aio.lru import LruCache
from dam_sync.aio.single_flight import gather_or_raise
from dam_sync.crawl.pagers import Offset, Page, Params
from dam_sync.crawl.pagination import paginate
from dam_sync.http.interpreting import interprets_response, member_text
from dam_sync.model.asset import AssetId, Placement
from dam_sync.model.errors import Conflict, ContractBroken, InvalidValue, NotFound, Rejected, TooLarge, Unsupported
from dam_sync.model.service import Context, Membership, Shard
from dam_sync.model.values import Json
from dam_sync.services.d_templates import facts
from dam_sync.services.d_templates.api import refusal
from dam_sync.services.d_templates.codec.wire import (
    Record,
    failed,
    hits,
    is_asset,
    is_binned,
    member_files,
    message_of,
    owner_of,
    record_of,
    total_of,
)
from dam_sync.services.d_templates.source.crawl import BIN, ByCursor, Scan
from dam_sync.services.d_templates.taxonomy.owners import FileOwners
from dam_sync.services.d_templates.taxonomy.terms import chosen_template
from dam_sync.services.d_templates.tenant import TemplatesPart

KIND = "collection"


class TemplatesCollections(TemplatesPart):
    """Caches collections; the cache is dropped after a failed write."""

    collection_most = facts.COLLECTION_MOST
    members_a_time = facts.MEMBERS_A_TIME

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._fills_by_changes = False  # the newer call was seen to work
        self._fills_whole = False  # it does not, so the whole list is written
        self._known: dict[str, Placement] | None = None
        self._own = LruCache[str, Placement](facts.LISTED_KEPT)  # made or renamed lately, the search may lag
        self._writing = asyncio.Lock()

    async def containers(self) -> AsyncIterator[Placement]:
        """Every visible collection."""
        for placement in list((await self._all(again=True)).values()):
            yield placement

    async def members(self) -> AsyncIterator[Membership]:
        """All memberships, resolved in bounded groups."""
        group: list[tuple[Placement, list[str]]] = []
        scanned = FileOwners()
        async with aclosing(paginate(self._page, Offset(facts.COLLECTION_PAGE, facts.SEARCH_REACH))) as pages:
            async for page, behind in pages:
                group += [(_placement(row), _files_of(row)) for row in _real(page)]
                if behind is None or sum(len(files) for _, files in group) >= self.members_a_time:
                    wanted = {file for _, files in group for file in files}
                    owners = await self._owners(wanted, scanned, last=behind is None)
                    for placement, files in group:
                        assets = dict.fromkeys(owners[file] for file in files if file in owners)
                        if assets:
                            yield Membership(placement, tuple(assets))
                    group = []

    async def _owners(self, files: set[str], scanned: FileOwners, *, last: bool) -> dict[str, AssetId]:
        """The assets of member files, which may be files of any version: from a full listing, then from the cache, then
        by a scan if that is cheaper than a lookup for each; the scan also serves later groups, unless this is the last.
        Files missing from a listing may have been added since."""
        listed = self.version_groups.files if self.version_groups.whole else {}
        found = {file: AssetId(listed[file]) for file in files if file in listed}
        known = {file: self.version_groups.owners.get(file) for file in files - found.keys()}
        found |= {file: AssetId(owner[0]) for file, owner in known.items() if owner is not None}
        found |= scanned.of(files - found.keys())
        missing = files - found.keys()
        if len(missing) > facts.LOOKED_UP and not scanned.whole:
            total = await self.tenant.counted()
            if total is not None and total < len(missing) * self.limits.page:
                found |= await self._scanned(missing, None if last else scanned)
                missing -= found.keys()
        ordered = sorted(missing)
        for start in range(0, len(ordered), self.limits.page):
            some = ordered[start : start + self.limits.page]
            owners = await gather_or_raise([self._owner(file) for file in some])
            found |= {file: owner for file, owner in zip(some, owners, strict=True) if owner}
        return found

    async def _scanned(self, wanted: set[str], everything: FileOwners | None) -> dict[str, AssetId]:
        """To the end where the recycle bin has anything, which is then listed by the same scan, or where the assets of
        all files are asked for."""
        found: dict[str, AssetId] = {}
        scan, binned = Scan(self.api, Shard("members", {"scan": BIN})), list[Record]()
        async with aclosing(paginate(scan.fetch, ByCursor(self.limits.page))) as pages:
            async for page, behind in pages:
                rows = [row for row in page.rows if is_asset(row)]
                owned = [owner_of(row) for row in rows]
                found |= {file: asset for file, asset in owned if file in wanted}
                if everything is not None:
                    everything.add(owned)
                if len(binned) <= facts.BINNED_KEPT:
                    binned += [record_of(row) for row in rows if is_binned(row)]
                if everything is None and len(found) == len(wanted) and behind is not None and not binned:
                    if await self.tenant.binned() == 0:
                        break
                    wanted = {*wanted, ""}  # on to the end
        if everything is not None:
            everything.end()
        self.version_groups.binned = binned if len(binned) <= facts.BINNED_KEPT else None
        return found

    async def ensure_container(self, kind: str, path: Sequence[str], parent: str = "") -> Placement:
        """The collection of this name, created if missing: shared with the users of the job's security template, or
        private if there is none."""
        if kind != KIND:
            raise Unsupported(f"the service has no containers of kind {kind}", hint="use collections")
        if len(path) != 1:
            raise Unsupported("collections have no levels", hint="map the placement to a path of one name")
        name = path[0]
        _refuse_name(name)
        async with self._writing:
            known = await self._all()
            if name not in known:
                known = await self._made(known, name)
            return known[name]

    async def _made(self, known: dict[str, Placement], name: str) -> dict[str, Placement]:
        try:
            identity = await self._create(name)
        except Conflict:
            return await self._made_by_others(name)
        except BaseException:
            self._known = None  # it may be there, or not
            raise
        known[name] = Placement(KIND, (name,), identity)
        self._own.put(name, known[name])
        return known

    async def _made_by_others(self, name: str) -> dict[str, Placement]:
        """A name that is taken: wait until the search index shows the collection."""

        async def shown() -> dict[str, Placement] | None:
            known = await self._all(again=True)
            return known if name in known else None

        found = await self.api.until(shown, self.api.options.index_lag, facts.FIND_WAITS)
        if found is None:
            hint = "it may be a private collection of another user: rename one of them"
            raise Conflict(f"a collection {name!r} exists but is not visible to this user", hint=hint)
        return found

    async def _create(self, name: str) -> str:
        forms = await self.tenant.forms.get()
        names = {template.name: template.id for template in forms.templates.values()}
        security = (await self.tenant.security.get()).of_collection()
        body = {
            "collectionType": "secured" if security else "privateSecured",
            "name": name,
            "metadataTemplateId": chosen_template(names, self.api.options.collection_template),
            **({"securityTemplateIds": security} if security else {}),
            "metadataDocument": [],
            "collectionDocument": [],
        }
        reply = (await self.api.write(facts.ADD_COLLECTION, "", body, again=False)).json()
        identity = member_text(reply, "collectionId")
        if failed(reply) or not identity:  # success can carry an error (wire D 11.5)
            text = message_of(reply)[:200] or "no collection was created"
            if "already exists" in text:
                raise Conflict(text, operation=facts.ADD_COLLECTION)
            raise InvalidValue(text, operation=facts.ADD_COLLECTION)
        return identity

    async def rename_container(self, container: Placement, path: Sequence[str], parent: str | None = None) -> Placement:
        """By the newer call, which leaves the members alone; where it is missing or without effect, by the older one
        with all members. Read before and after."""
        if container.kind != KIND or len(path) != 1 or parent is not None:
            raise Unsupported(f"a {container.kind} cannot be renamed to {'/'.join(path)!r}")
        name, row = path[0], await self._row(container.id)
        _refuse_name(name)
        if _name_of(row) != name and (self._fills_whole or not await self._renamed_newly(container.id, name)):
            await self._rewritten(container.id, name=name)
        renamed = Placement(KIND, (name,), container.id)
        self._known = {each: place for each, place in (self._known or {}).items() if place.id != container.id}
        self._known[name] = renamed
        self._own.drop(container.path[0])
        self._own.put(name, renamed)
        return renamed

    async def _renamed_newly(self, collection: str, name: str) -> bool:
        """Whether the newer call is there and gave the collection this name."""
        if not await self._patched(collection, {"collectionName": name}):
            return False

        async def right() -> bool | None:
            return _name_of(await self._row(collection)) == name or None

        return bool(await self.api.until(right, self.api.options.index_lag, facts.FIND_WAITS))

    # -- filling ---------------------------------------------------------------------------------------------------

    async def place(self, container: Placement, add: Sequence[AssetId], remove: Sequence[AssetId]) -> None:
        """Add the file of the current version, remove the files of all versions. Safe to repeat."""
        if container.kind != KIND:
            raise Unsupported(f"the service has no containers of kind {container.kind}")
        most = self.limits.member_batch
        for start in range(0, max(len(add), len(remove)), most):
            some = slice(start, start + most)
            come = [
                ids.file for ids in await gather_or_raise([self.version_groups.known(asset) for asset in add[some]])
            ]
            gone = [
                file
                for files in await gather_or_raise([self._files(asset) for asset in remove[some]])
                for file in files
            ]
            await self._filled(container.id, come, gone)

    async def _files(self, asset: AssetId) -> tuple[str, ...]:
        try:
            return (await self.version_groups.known(asset)).files
        except NotFound:
            return ()

    async def _filled(self, collection: str, come: list[str], gone: list[str]) -> None:
        for operation, files in (("add", come), ("remove", gone)):
            if not files:
                continue
            if self._fills_whole or not await self._by_changes(collection, operation, files):
                await self._rewritten(collection, operation, files)

    async def _by_changes(self, collection: str, operation: str, files: list[str]) -> bool:
        """Use the newer call if this instance has it. Until it was seen to change something, the collection is read
        before and after; a state that was already right proves nothing."""
        proves = not (self._fills_by_changes or _is_so(await self._files_in(collection), operation, files))
        await self._patched(collection, {"collectionUpdates": {"operation": operation, "fileIds": files}})
        if proves:
            self._fills_by_changes = await self._shows(collection, operation, files)
            self._fills_whole = not self._fills_by_changes  # the newer call is not there, or was taken and did nothing
        return not self._fills_whole

    async def _patched(self, collection: str, body: Json) -> bool:
        """The newer call: only the changes. Whether the instance has it, which is remembered."""
        request = self.api.request(
            facts.FILL, collection, json=body, repeatable=True, accept=frozenset({403, 404, 405})
        )
        reply = await self.api.send(request)
        text = message_of(reply.json() if reply.body and not reply.is_html else None)
        if reply.status == 404 and self._fills_by_changes:
            raise NotFound("the collection does not exist", operation=facts.FILL)
        if reply.status in (404, 405) or "authentication token" in text.casefold():
            self._fills_whole, self._fills_by_changes = True, False  # no such call here (wire D 10)
        elif reply.status == 403:
            raise refusal(reply)
        elif failed(reply.json() if reply.body else None):
            raise _refusal(text, facts.FILL)
        return not self._fills_whole

    async def _shows(self, collection: str, operation: str, files: list[str]) -> bool:
        """Whether the collection, read back, has the requested members."""
        if self._fills_whole:
            return False

        async def right() -> bool | None:
            return _is_so(await self._files_in(collection), operation, files) or None

        return bool(await self.api.until(right, self.api.options.index_lag, facts.FIND_WAITS))

    async def _rewritten(
        self, collection: str, operation: str = "add", files: Sequence[str] = (), name: str = ""
    ) -> None:
        """The older call: the list replaces all members, so there is one writer at a time."""
        async with self._writing:
            row = await self._row(collection)
            members = _files_of(row)
            kept = [*members, *files] if operation == "add" else [one for one in members if one not in set(files)]
            wanted = list(dict.fromkeys(kept))
            if len(wanted) > self.collection_most:
                raise TooLarge(f"a collection takes {self.collection_most} assets, not {len(wanted)}")
            body = {"name": name or row.get("name"), "collectionType": row.get("collectionType")}
            whole = {**body, "collectionDocument": wanted}
            reply = (await self.api.write(facts.FILL_WHOLE, collection, whole)).json()
            if failed(reply):
                raise _refusal(message_of(reply), facts.FILL_WHOLE)

    async def _files_in(self, collection: str) -> list[str]:
        return list(member_files(await self._row(collection)))

    async def _row(self, collection: str) -> Json:
        reply = await self.api.ask(facts.COLLECTION, collection)
        row = reply[0] if isinstance(reply, list) and reply else reply
        if not isinstance(row, dict):
            raise ContractBroken("a collection has no documented shape", operation=facts.COLLECTION)
        return row

    # -- reading ---------------------------------------------------------------------------------------------------

    async def _owner(self, file: str) -> AssetId | None:
        try:
            return (await self.version_groups.owner(file))[0]
        except (NotFound, Rejected):
            return None  # a member this user does not see

    async def _all(self, *, again: bool = False) -> dict[str, Placement]:
        if again or self._known is None:
            known: dict[str, Placement] = {}
            async with aclosing(paginate(self._page, Offset(facts.COLLECTION_PAGE, facts.SEARCH_REACH))) as pages:
                async for page, _ in pages:
                    for row in _real(page):
                        placement = _placement(row)
                        known.setdefault(placement.path[0], placement)
            own = self._own.snapshot()
            ids = {placement.id for placement in own.values()}
            self._known = {**own, **{name: place for name, place in known.items() if place.id not in ids}}
        return self._known

    async def _page(self, params: Params) -> Page:
        rows, total = await self._rows(params["offset"], params["size"])
        return Page(rows, total)

    async def _rows(self, start: int, most: int) -> tuple[list[Json], int | None]:
        """Collections from `start` on. With many members they can be too large for the gateway, which is a 502: then
        they are asked for in halves (wire D 7)."""
        body = {
            "from": start,
            "limit": most,
            "searchTerm": ["*"],
            "operation": "AND",
            "sortBy": [{"metadataDefinitionSearchField": "createdEpoch", "order": "asc"}],
        }
        accept = frozenset({502} if most > 1 else ())
        request = self.api.request(facts.COLLECTIONS, json=body, reads=True, repeatable=True, accept=accept)
        reply = await self.api.send(request)
        if reply.status != 502:
            data = reply.json()
            return hits(data), total_of(data)
        await self.api.clock.sleep(1.0)
        half = most // 2
        rows, total = await self._rows(start, half)
        if len(rows) < half:
            return rows, total
        rest, total = await self._rows(start + half, most - half)
        return [*rows, *rest], total


def _is_so(members: list[str], operation: str, files: list[str]) -> bool:
    """Whether the members already match the change."""
    return set(files) <= set(members) if operation == "add" else not set(files) & set(members)


@interprets_response
def _files_of(row: Json) -> list[str]:
    return [one for one in member_files(row) if one != facts.NIL]


def _real(page: Page) -> list[Json]:
    if not all(isinstance(row, dict) for row in page.rows):
        raise ContractBroken("a list of collections has rows that are not objects", operation=facts.COLLECTIONS)
    return [row for row in page.rows if row.get("collectionId")]


@interprets_response
def _placement(row: Json) -> Placement:
    identity = member_text(row, "collectionId")
    return Placement(KIND, (_name_of(row) or identity,), identity)


@interprets_response
def _name_of(row: Json) -> str:
    return member_text(row, "name", "collectionName")


def _refuse_name(name: str) -> None:
    if not 1 <= len(name) <= facts.COLLECTION_LETTERS or not name.strip():
        raise InvalidValue(f"the name of a collection has 1 to {facts.COLLECTION_LETTERS} characters, not {len(name)}")


def _refusal(text: str, operation: str) -> Rejected:
    said = text.casefold()
    if "does not exist" in said or "not found" in said:
        return NotFound(text[:200], operation=operation)
    return InvalidValue(text[:200] or "refused", operation=operation)
