"""Changes to an existing document: properties, tags, folder, rights, state, files, trash (wire B 6.5 to 6.7)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace

from dam_sync.http.client import Request
from dam_sync.http.interpreting import interprets_response, member_text
from dam_sync.model import journal_names
from dam_sync.model.asset import AssetId, Draft, FileRef, Patch, Relation, Rights, digest_of
from dam_sync.model.connector import Context
from dam_sync.model.errors import Conflict, IntegrityError, NotFound, Rejected, SessionGone, Unsupported
from dam_sync.model.limits import MIB, Limits
from dam_sync.model.ports import Content, Journal
from dam_sync.model.values import Json
from dam_sync.model.waits import AGAIN, sleep_for
from dam_sync.model.write_record import note_version
from dam_sync.services.b_documents import facts
from dam_sync.services.b_documents.api.client import NO_DROP, WHOLE, document_path
from dam_sync.services.b_documents.codec import wire
from dam_sync.services.b_documents.codec.forms import (
    check_groups,
    folder_among,
    patch_properties,
    state_of,
    transitions_between,
    unresolved,
)
from dam_sync.services.b_documents.codec.rights import access_of, is_blocked
from dam_sync.services.b_documents.codec.values import lost, tidy
from dam_sync.services.b_documents.target.create_once import timeout_headers
from dam_sync.services.b_documents.taxonomy.containers import DocumentsContainers
from dam_sync.services.b_documents.taxonomy.terms import DocumentsTerms
from dam_sync.services.b_documents.uploads.uploader import DocumentsUploads, reference, upload_path
from dam_sync.transfer.budget import MemoryBudget

Properties = Mapping[str, Json]
MEMORY = 64 * MIB  # for chunks in flight, where the process has no budget of its own
FOLLOW, CREATE_VERSION = "Document.FollowLifecycleTransition", "Document.CreateVersion"
_FAILED = 500
LARGE = 50_000_000  # bytes of a file for which the server's usual transaction may be too short


class DocumentsUpdate(DocumentsContainers, DocumentsTerms):
    """Changes documents; what the service may silently drop is compared with its response."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.uploads = DocumentsUploads(self.api, context.budget or MemoryBudget(MEMORY))
        self._unrelated: Unsupported | None = None  # the response of a server that has no relations

    async def update(self, asset: AssetId, patch: Patch) -> None:
        """Refused before the first write if possible. What closes the document or removes readers comes first,
        then properties and folder, then new readers and the state. Safe to repeat."""
        if patch.empty:
            return
        if patch.filename is not None:
            raise Unsupported("a stored file cannot be renamed", asset=asset)
        server, options = await self.tenant.server.get(), self.api.options
        terms = await self.stored_terms(unresolved(patch.fields, server))
        properties = patch_properties(patch, server, options, terms)
        target = folder_among(patch.placements_add)
        goal = state_of(patch.status, options) if patch.status and not options.status_field else ""
        row = self.api.just_read.take(asset) or await self.api.document(asset)
        await self._check_groups(patch.rights, row)
        groups = patch.rights.groups if patch.rights is not None and patch.closed is None else frozenset[str]()
        if patch.closed:
            await self.permissions.close(asset)
        given = await self._narrow(asset, row, groups)
        if properties or patch.tags_add or patch.tags_remove:
            row = await self._put_patch(asset, row, properties, patch)
        await self._move(asset, row, target.id if target else "", patch)
        if groups and not given:
            await self.permissions.give(asset, groups)
        if patch.closed is False:
            await self.permissions.open(asset, patch.rights.groups if patch.rights is not None else frozenset())
        if goal:
            await self.follow(asset, member_text(row, "state"), goal)

    async def _check_groups(self, rights: Rights | None, row: Json) -> None:
        """Raises InvalidValue for a group that cannot be given; those that the document has stay, whoever gave them."""
        if rights is None or not rights.groups:
            return
        options, user = self.api.options, (await self.tenant.user.get()).name
        new = replace(rights, groups=rights.groups - access_of(row, options.everybody, user).readers)
        check_groups(new, options, await self.refused_groups(new))

    async def _narrow(self, asset: AssetId, row: Json, groups: frozenset[str]) -> bool:
        """Remove readers before anything new is written for the others; whether that was all."""
        if not groups:
            return False
        options, user = self.api.options, (await self.tenant.user.get()).name
        now = access_of(row, options.everybody, user).readers
        if groups <= now or not now or not is_blocked(row):
            await self.permissions.give(asset, groups)
            return True
        await self.permissions.withdraw(asset, row, groups)
        return False

    async def put(
        self,
        asset: AssetId,
        properties: Callable[[Json], Properties],
        row: Json | None = None,
        seconds: float | None = None,
    ) -> Json:
        """Write properties over the state that was read; if somebody else wrote meanwhile, over the newer one
        (wire B 6.6). Returns the response. Safe to repeat."""
        for wait in (*facts.TRY_WAITS, None):
            row = row or await self.api.document(asset)
            body: dict[str, Json] = {"entity-type": "document", "uid": asset, "properties": dict(properties(row))}
            if row.get("changeToken"):
                body["changeToken"] = row["changeToken"]
            request = Request(
                facts.PUT_ID,
                "PUT",
                document_path(asset),
                json=body,
                headers={**WHOLE, **NO_DROP, **timeout_headers(self.api, seconds)},
                asset=asset,
                repeatable=True,
                accept=frozenset({409}) if wait else frozenset(),
                timeout=seconds,
            )
            reply = await self.api.client.send(request)
            if reply.status != 409:
                return wire.document_of(reply.object())
            row = None
            pause = (wait or 0) * (0.5 + self.api.clock.chance())
            await sleep_for(self.api.clock, pause, AGAIN, "target")
        raise Conflict("somebody else keeps changing the document", asset=asset, operation=facts.PUT_ID)

    async def put_checked(self, asset: AssetId, properties: Properties, row: Json | None = None) -> Json:
        """Write plain values, and compare every one with the response. Raises Rejected for what was dropped."""
        reply = await self.put(asset, lambda _: properties, row)
        refuse_lost(asset, properties, reply)
        return reply

    async def _put_patch(self, asset: AssetId, row: Json, properties: Properties, patch: Patch) -> Json:
        user = (await self.tenant.user.get()).name
        retagged = bool(patch.tags_add or patch.tags_remove)
        if retagged and "NXTag" not in (row.get("facets") or ()):
            await self.tag(asset, patch.tags_add, patch.tags_remove)
            retagged = False
        sent: dict[str, Json] = {}

        def over(current: Json) -> Properties:
            sent.clear()
            sent.update(properties)
            if retagged:
                sent[wire.TAGS] = tags_after(current, patch, user)
            return sent

        if not properties and not retagged:
            return row
        reply = await self.put(asset, over, row)
        refuse_lost(asset, sent, reply)
        return {**reply, "contextParameters": reply.get("contextParameters") or row.get("contextParameters")}

    async def tag(self, asset: AssetId, add: frozenset[str], remove: frozenset[str]) -> None:
        """Tag by operation, which lowercases and shortens labels; for types without a tags property."""
        for operation, tags in (("Services.TagDocument", add), ("Services.UntagDocument", remove)):
            if tags:
                several = any("," in tag for tag in tags)  # commas split a text of tags (wire B 6.5)
                params: dict[str, Json] = {"tags": sorted(tags) if several else ",".join(sorted(tags))}
                await self.api.operate(operation, f"doc:{asset}", params, repeatable=True, asset=asset)

    async def _move(self, asset: AssetId, row: Json, target: str, patch: Patch) -> None:
        """Move into another folder; removed from its last one, it goes to the home folder (assumption 18)."""
        here = member_text(row, "parentRef")
        leaving = any(place.kind == "folder" and place.id == here for place in patch.placements_remove)
        if not target and leaving:
            target = await self.home_folder()
        if not target or target == here:
            return
        params = {"target": target, "name": member_text(row, "path").rpartition("/")[2]}
        reply = await self.api.operate("Document.Move", f"doc:{asset}", params, repeatable=True, asset=asset)
        moved = wire.document_of(reply.object())
        if (member_text(moved, "parentRef") or target) != target:
            raise Rejected(
                "the document is not in the folder it was moved to",
                asset=asset,
                operation=f"{facts.OPERATION}Document.Move",
            )

    async def follow(self, asset: AssetId, state: str, goal: str) -> None:
        """Follow the transitions to a state; each only from where it is allowed, so none is sent twice blindly."""
        if state == goal:
            return
        for transition in transitions_between(state, goal, self.api.options):
            state = await self._followed(asset, state, transition)
        if state != goal:
            raise Rejected(f"the document is {state}, not {goal}, after its transitions", asset=asset)

    async def _followed(self, asset: AssetId, state: str, transition: str) -> str:
        """The state after a transition. 500 is the response to one that the life cycle forbids, and that of a server in
        trouble (wire B 6.5, 7.3): it is sent again if the document can be read and has not moved. Raises Rejected."""
        params = {"value": transition}
        for wait in facts.TRY_WAITS[:2]:
            reply = await self.api.operate(
                FOLLOW, f"doc:{asset}", params, repeatable=False, asset=asset, accept=frozenset({_FAILED})
            )
            reported = member_text(reply.object(), "state") if reply.status != _FAILED and reply.body else ""
            if reported:
                return reported
            now = member_text(await self.api.document(asset), "state")
            if now != state:
                return now
            await sleep_for(self.api.clock, wait * (0.5 + self.api.clock.chance()), AGAIN, "target")
        raise Rejected(
            f"the document is {state} and does not follow the transition {transition}",
            asset=asset,
            operation=facts.OPERATION + FOLLOW,
            code="life cycle",
            hint="name the states and transitions of its type in the options `states` and `transitions` of the job",
        )

    # -- files -----------------------------------------------------------------------------------------------------

    async def replace(self, asset: AssetId, content: Content, journal: Journal) -> None:
        """The old file is checked in as a version, then the new one is written (assumption 16). After a
        lost response the current file is checked. Raises Rejected, with nothing written, if no version was made."""
        name = f"version-{digest_of([asset, content.name, content.size, dict(content.digests)])[:12]}"
        row = self.api.just_read.take(asset) or await self.api.document(asset)
        handle = await self.uploads.send(content, journal, f"{name}:file")
        kept: list[Json] = []

        async def keep() -> Json:
            kept.append(await self._check_in(asset))
            return True

        async def is_kept() -> Json:
            return True if (await self.api.document(asset)).get("isCheckedOut") is False else None

        if row.get("isCheckedOut") is not False and isinstance(_blob(row), dict):
            await journal.run(f"{name}:keep", keep, reconcile=is_kept)

        async def write() -> Json:
            reply = await self.write_file(asset, content, handle, kept[0] if kept else row)
            note_version(member_text(reply, "changeToken"))
            return True

        async def is_written() -> Json:
            now = await self.api.document(asset)  # checked in, it has the file of before, which may be the same
            written = now.get("isCheckedOut") is not False and await holds(_blob(now), content, self.api.limits)
            return True if written else None

        try:
            await journal.run(name, write, reconcile=is_written)
        except SessionGone as error:
            await journal.discard(f"{name}:file*", name)
            self.uploads.refused(handle, error)
            raise
        await self.uploads.drop(handle)

    async def restore_version(self, asset: AssetId, version: FileRef) -> None:
        """The document becomes what the version was, with its properties; the current file is checked in before, unless
        it is a version already (wire B 6.7)."""
        row, uid = await self.api.document(asset), version.id.partition("/")[0]
        blob = _blob(row)
        now = wire.file_of(blob, asset, None) if isinstance(blob, dict) else None
        if uid == asset or (now is not None and (now.size, now.digests) == (version.size, version.digests)):
            return
        if row.get("isCheckedOut") is not False and now is not None:
            await self._check_in(asset)
        await self.api.operate("Document.RestoreVersion", f"doc:{uid}", {}, repeatable=True, asset=asset)

    async def write_file(self, asset: AssetId, content: Content, handle: Json, row: Json | None) -> Json:
        """Write the main file. Raises SessionGone if the service silently kept the old one (wire B 6.4)."""
        seconds = facts.ANSWER_SECONDS if content.size > LARGE else None
        reply = await self.put(asset, lambda _: {wire.CONTENT: reference(handle)}, row, seconds)
        if not await holds(_blob(reply), content, self.api.limits):
            raise SessionGone("the service did not store the uploaded file", asset=asset, operation=facts.PUT_ID)
        return reply

    async def _check_in(self, asset: AssetId) -> Json:
        params = {"increment": self.api.options.increment, "saveDocument": True}
        reply = await self.api.operate(
            CREATE_VERSION, f"doc:{asset}", params, repeatable=False, asset=asset, headers=WHOLE
        )
        row = wire.document_of(reply.object())
        if row.get("isCheckedOut") is not False:  # absent is unknown: the response may be that of another document
            row = await self.api.document(asset)
        if row.get("isCheckedOut") is not False:
            raise Rejected(
                "the service made no version of the document, which would have kept its file",
                asset=asset,
                operation=facts.OPERATION + CREATE_VERSION,
                code="no version",
                hint="allow versions of its type, or name another `increment` in the options of the target; "
                "then `errors JOB --retry`",
            )
        return row

    async def attach(self, asset: AssetId, content: Content, journal: Journal) -> None:
        """Add a file besides the main one; after a lost response, check whether it exists."""
        name = f"attach-{digest_of([asset, content.name, content.size, dict(content.digests)])[:12]}"
        handle = await self.uploads.send(content, journal, f"{name}:file")
        equal = int(await journal.get(journal_names.EQUAL_BEFORE) or 0)

        async def attach() -> Json:
            await self._append(asset, handle)
            return True

        async def is_there() -> Json:
            return True if await self._attached(asset, content) > equal else None

        try:
            await journal.run(name, attach, reconcile=is_there)
        except (Rejected, SessionGone) as error:
            await journal.discard(f"{name}*")
            self.uploads.refused(handle, error)
            raise
        if await self._attached(asset, content) <= equal:
            await journal.discard(f"{name}*")
            self.uploads.batches.release(handle)
            raise IntegrityError("the attachment did not arrive completely", asset=asset, operation=facts.EXECUTE)
        await self.uploads.drop(handle)

    async def _append(self, asset: AssetId, handle: Json) -> None:
        path = f"{upload_path(handle)}/execute/Blob.AttachOnDocument"
        params = {"document": asset, "xpath": wire.ATTACHED, "save": "true"}
        headers = {**NO_DROP, "X-NXVoidOperation": "true"}
        body = {"params": params, "context": {}}
        await self.creates.send(Request(facts.EXECUTE, "POST", path, json=body, headers=headers, asset=asset))

    async def _attached(self, asset: AssetId, content: Content) -> int:
        """How many attachments are this file."""
        rows = ((await self.api.document(asset)).get("properties") or {}).get(wire.ATTACHED) or ()
        blobs = [item.get("file") for item in rows if isinstance(item, dict)]
        named = [blob for blob in blobs if isinstance(blob, dict) and blob.get("name") == tidy(content.name)]
        return sum([await holds(blob, content, self.api.limits) for blob in named])

    async def end_shared(self) -> None:
        """Drop the upload batches of this connection, unless they hold a file of unfinished work; those of a killed
        process end by themselves."""
        await self.uploads.batches.end()

    # -- relations and the trash -----------------------------------------------------------------------------------

    async def relate(self, asset: AssetId, relation: Relation) -> None:
        """Checked first, because the service may store the same one twice. Safe to repeat."""
        predicate = self.api.options.relations.get(relation.kind)
        if predicate is None:
            raise Unsupported(
                f"the service has no relations of kind {relation.kind!r}",
                asset=asset,
                hint="add it to the option `relations`",
            )
        if self._unrelated is not None:
            raise Unsupported(self._unrelated.message, asset=asset, hint=self._unrelated.hint)
        known = relation.target in await self.api.related(asset, relation.kind)
        if known and not self.api.read_only:  # a connection that only reads is refused in any case
            return
        params = {"object": str(relation.target), "predicate": predicate, "outgoing": True}
        try:
            await self.api.operate("Document.AddRelation", f"doc:{asset}", params, send=self.creates.send, asset=asset)
        except Unsupported as refused:
            self._unrelated = refused
            raise

    async def remove(self, asset: AssetId) -> None:
        """Move to the trash. Read first, so that nothing is renamed twice; if it is gone, it is done."""
        if await self._is_trashed(asset) is False:
            await self.api.operate("Document.Trash", f"doc:{asset}", {}, repeatable=False, asset=asset)

    async def restore(self, asset: AssetId, draft: Draft) -> None:
        """Out of the trash, where the service remembers name and state (wire B 2.5). Read first."""
        trashed = await self._is_trashed(asset)
        if trashed is None:
            raise NotFound(f"{asset} is not in the trash any more", asset=asset)
        if trashed:
            await self.api.operate("Document.Untrash", f"doc:{asset}", {}, repeatable=False, asset=asset)

    async def _is_trashed(self, asset: AssetId) -> bool | None:
        """None if there is no such document."""
        try:
            request = Request(facts.GET_ID, "GET", document_path(asset), asset=asset, accept=frozenset({404}))
        except Rejected:
            return None
        reply = await self.api.client.send(request)
        return None if reply.status == 404 else wire.is_trashed(reply.object())


@interprets_response
def tags_after(row: Json, patch: Patch, user: str) -> list[Json]:
    """The tags with their owners, after removing and adding some."""
    now = [tag for tag in (row.get("properties") or {}).get(wire.TAGS) or () if isinstance(tag, dict)]
    kept = [tag for tag in now if str(tag.get("label")) not in patch.tags_remove]
    labels = {str(tag.get("label")) for tag in kept}
    added = sorted(tidy(tag) for tag in patch.tags_add if tidy(tag) not in labels)
    return [*kept, *({"label": tag, "username": user} for tag in added)]


@interprets_response
def refuse_lost(asset: AssetId, sent: Properties, reply: Json) -> None:
    """Raises Rejected if the service dropped or changed what it was sent (wire B 6.4)."""
    if gone := lost(sent, reply.get("properties") or {}):
        raise Rejected(
            f"the service did not keep {', '.join(gone)}",
            asset=asset,
            code="dropped",
            hint="the type may not have the property, or a listener changes it; map to another one",
        )


@interprets_response
def _blob(row: Json) -> Json:
    """The main file; None if there is none. Raises ContractBroken if it is not a file."""
    blob = (row.get("properties") or {}).get(wire.CONTENT)
    if blob is not None and not isinstance(blob, dict):
        raise TypeError(f"{wire.CONTENT} is {blob!r:.40}, not a file")
    return blob


async def holds(blob: Json, content: Content, limits: Limits, *, proven: bool = False) -> bool:
    """Whether a stored file is this content, by length and by the digest that the service publishes. proven: not
    without a digest to compare, because the file may be an earlier version of the same length."""
    compared = False
    if not isinstance(blob, dict) or wire.size_of(blob) not in (None, content.size):
        return False
    for algorithm, digest in wire.digests_of(blob).items():
        ours = await digest_in(content, algorithm, limits)
        if ours and ours != digest:
            return False
        compared = compared or bool(ours)
    return compared or not proven


async def digest_in(content: Content, algorithm: str, limits: Limits) -> str:
    """Already known, or computed by reading a file in memory or spool; empty for a large one."""
    if known := content.digests.get(algorithm):
        return known
    if limits.parts_for(content.size):
        return ""
    digest = hashlib.new(algorithm, usedforsecurity=False)
    async for block in content.blocks():
        digest.update(block)
    return digest.hexdigest()
