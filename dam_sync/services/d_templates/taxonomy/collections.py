"""Collections: flat, with files as members instead of assets (wire D 2.6, 6.8)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, nullcontext

from dam_sync.aio.lru import LruCache
from dam_sync.aio.single_flight import gather_or_raise
from dam_sync.http.interpreting import member_text
from dam_sync.model.asset import AssetId, Placement
from dam_sync.model.connector import Context
from dam_sync.model.errors import Conflict, ContractBroken, InvalidValue, NotFound, Rejected, TooLarge, Unsupported
from dam_sync.model.values import Json
from dam_sync.services.d_templates import facts
from dam_sync.services.d_templates.api import refusal
from dam_sync.services.d_templates.codec.wire import (
    failed,
    member_files,
    message_of,
)
from dam_sync.services.d_templates.taxonomy.members import (
    KIND,
    ListedCollection,
    TemplatesMembers,
    files_of,
    name_of,
)
from dam_sync.services.d_templates.taxonomy.terms import chosen_template


class TemplatesCollections(TemplatesMembers):
    """Caches collections; the cache is dropped after a failed write."""

    collection_most = facts.COLLECTION_MOST

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._fills_by_changes = False  # the newer call was seen to work
        self._keeps_others = set[str]()  # its operations that were seen to leave the other members alone
        self._empty = set[str]()  # collections made here and not filled yet
        self._fills_whole = False  # it does not, so the whole list is written
        self._known: dict[str, Placement] | None = None
        self._own = LruCache[str, Placement](facts.LISTED_KEPT)  # made or renamed lately, the search may lag
        self._writing = asyncio.Lock()
        self._carrying = asyncio.Lock()  # one at a time, so that the newer call is tried once
        self._proving = asyncio.Lock()  # one at a time, so that nobody else changes what is compared

    async def containers(self) -> AsyncIterator[Placement]:
        """Every visible collection."""
        for placement in list((await self._all(again=True)).values()):
            yield placement

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

    def learn_container(self, container: Placement) -> None:
        """See `Service.learn_container`. The search may lag."""
        if container.kind == KIND:
            self._own.put(container.path[0], container)
            if self._known is not None:
                self._known[container.path[0]] = container

    async def _made(self, known: dict[str, Placement], name: str) -> dict[str, Placement]:
        try:
            identity = await self._create(name)
        except Conflict:
            return await self._made_by_others(name)
        except BaseException:
            self._known = None  # it may be there, or not
            raise
        known[name] = Placement(KIND, (name,), identity)
        self._empty.add(identity)
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
        if name_of(row) != name and (self._fills_whole or not await self._renamed_newly(container.id, name)):
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
            return name_of(await self._row(collection)) == name or None

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
                for files in await gather_or_raise([self.versions_of(asset) for asset in remove[some]])
                for file in files
            ]
            await self._filled(container.id, come, gone)

    async def carry_memberships(self, asset: AssetId, containers: Sequence[Placement]) -> None:
        """Collections keep the file that was put into them: that of the current version takes its place (wire D 6.6). A
        collection that others deleted is left out."""
        known = await self.version_groups.known(asset)
        for container in containers:
            try:
                members = set(await self._files_in(container.id))
                older = [file for file in known.files if file in members and file != known.file]
                if older:
                    unproven = not (self._fills_whole or {"add", "remove"} <= self._keeps_others)
                    async with self._carrying if unproven else nullcontext():
                        await self._filled(container.id, [known.file], older)
            except NotFound:
                continue

    async def _filled(self, collection: str, come: list[str], gone: list[str]) -> None:
        for operation, files in (("add", come), ("remove", gone)):
            if not files:
                continue
            if self._fills_whole or not await self._by_changes(collection, operation, files):
                await self._rewritten(collection, operation, files)

    async def _by_changes(self, collection: str, operation: str, files: list[str]) -> bool:
        """Use the newer call if this instance has it. Until it was seen to change what it names, and each of its
        operations to leave the other members alone, the collection is read before and after; a state that was already
        right proves nothing. What a call takes away from the others is put back (assumption 22)."""
        change = {"collectionUpdates": {"operation": operation, "fileIds": files}}
        fresh = collection in self._empty
        self._empty.discard(collection)

        def trusted() -> bool:
            return self._fills_whole or (self._fills_by_changes and (fresh or operation in self._keeps_others))

        async with nullcontext() if trusted() else self._proving:
            if trusted():  # since those before us
                return not self._fills_whole and await self._patched(collection, change)
            before = await self._files_in(collection)
            await self._patched(collection, change)
            if self._fills_whole or _is_so(before, operation, files):
                return not self._fills_whole
            after = await self._members_after(collection, operation, files)
            self._fills_by_changes = _is_so(after, operation, files)
            self._fills_whole = not self._fills_by_changes  # the newer call was taken and did nothing
            others = set(before) - set(files)
            if not others <= set(after):
                self._fills_whole, self._fills_by_changes = True, False
                await self._rewritten(collection, files=[file for file in before if file in others])
            elif others and self._fills_by_changes:
                self._keeps_others.add(operation)
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

    async def _members_after(self, collection: str, operation: str, files: list[str]) -> list[str]:
        """The members of the collection once they are as requested, or as they are after some time."""
        found: list[str] = []

        async def right() -> bool | None:
            found[:] = await self._files_in(collection)
            return _is_so(found, operation, files) or None

        await self.api.until(right, self.api.options.index_lag, facts.FIND_WAITS)
        return found

    async def _rewritten(
        self, collection: str, operation: str = "add", files: Sequence[str] = (), name: str = ""
    ) -> None:
        """The older call: the list replaces all members, so there is one writer at a time."""
        async with self._writing:
            row = await self._row(collection)
            members = files_of(row)
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

    async def _all(self, *, again: bool = False) -> dict[str, Placement]:
        if again or self._known is None:
            known: dict[str, Placement] = {}
            async with aclosing(self.listed_collections(ListedCollection.named)) as pages:
                async for page, _ in pages:
                    for listed in page:
                        known.setdefault(listed.placement.path[0], listed.placement)
            own = self._own.snapshot()
            ids = {placement.id for placement in own.values()}
            self._known = {**own, **{name: place for name, place in known.items() if place.id not in ids}}
        return self._known


def _is_so(members: list[str], operation: str, files: list[str]) -> bool:
    """Whether the members already match the change."""
    return set(files) <= set(members) if operation == "add" else not set(files) & set(members)


def _refuse_name(name: str) -> None:
    if not 1 <= len(name) <= facts.COLLECTION_LETTERS or not name.strip():
        raise InvalidValue(f"the name of a collection has 1 to {facts.COLLECTION_LETTERS} characters, not {len(name)}")


def _refusal(text: str, operation: str) -> Rejected:
    said = text.casefold()
    if "does not exist" in said or "not found" in said:
        return NotFound(text[:200], operation=operation)
    return InvalidValue(text[:200] or "refused", operation=operation)
