"""New documents of service B: created once, under a deterministic name (wire B 6.3, 6.8)."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from dam_sync.http.client import Request, Response
from dam_sync.http.error_rules import Refusal, error_for
from dam_sync.http.interpreting import interprets_response, member_text
from dam_sync.model.errors import Conflict, ContractBroken, Transient
from dam_sync.model.values import Json
from dam_sync.model.waits import AGAIN, sleep_for
from dam_sync.services.b_documents import facts
from dam_sync.services.b_documents.api.client import NO_DROP, WHOLE, DocumentsApi, document_path
from dam_sync.services.b_documents.codec.wire import document_of
from dam_sync.services.b_documents.tenant import DocumentsTenant

T = TypeVar("T")
IsOurs = Callable[[Json], bool]
NAME_TAKEN = "name taken"
STRANGER: Mapping[str, Json] = {}  # a document that has a name and is hidden from us: nothing in it is ours


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A document to create: parent folder (id and path), type, name and properties."""

    parent: str
    parent_path: str
    type: str
    name: str
    properties: Mapping[str, Json] = field(repr=False)
    seconds: float | None = None

    @property
    def path(self) -> str:
        """Its future path."""
        return f"{self.parent_path}/{self.name}"

    def key(self, token: str) -> str:
        """The idempotency key, one for each create: keys are shared by all callers, all folders and all names (wire B
        6.8)."""
        text = f"{token} {self.parent} {self.name} {self.type}"
        return hashlib.sha256(text.encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class CreateOnce:
    """Sends creates so that a lost response, a race or a restart leaves one document."""

    api: DocumentsApi
    tenant: DocumentsTenant

    async def make(self, new: NewDocument, key: str, ours: IsOurs) -> Json:
        """The complete document. `key` is the same for every attempt of this create; `ours` distinguishes ours from
        others'.

        Raises Rejected if the service refused, Conflict when a stranger has the name, Transient when nobody answered:
        then `find` shows whether it was created.
        """
        replays = (await self.tenant.release.get()).since(facts.IDEMPOTENCY_FROM)
        for wait in facts.CLAIM_WAITS:
            reply = await self._post(new, key, replays)
            if reply.status != 409:
                return await self._alone(new, document_of(reply.object()), ours)
            found = await self.find(new)
            if found is not None and ours(found):
                return found
            await sleep_for(self.api.clock, wait * (0.5 + self.api.clock.chance()), AGAIN, "target")
        if _is_claimed(reply):  # whoever had the key died with it, and nothing was made (wire B 6.8)
            reply = await self._post(new, self.api.clock.token(), replays)
            if reply.status != 409:
                return await self._alone(new, document_of(reply.object()), ours)
        raise Conflict("another create with the same name is in progress", operation=facts.POST_ID, code="name race")

    async def send(self, request: Request) -> Response:
        """Send a call that adds something each time, under a key of its own: a network that delivers it twice, or that
        loses the response, adds it once (wire B 6.8). Raises Transient if the first delivery does not end."""
        replays = (await self.tenant.release.get()).since(facts.IDEMPOTENCY_FROM)
        headers = {**request.headers, "Idempotency-Key": self.api.clock.token()}
        keyed = replace(request, headers=headers, repeatable=replays, accept=request.accept | {409})
        for wait in facts.CLAIM_WAITS:
            reply = await self.api.client.send(keyed)
            if reply.status != 409 or not _is_claimed(reply):
                return _unless_refused(reply)
            await sleep_for(self.api.clock, wait * (0.5 + self.api.clock.chance()), AGAIN, "target")
        raise Transient("the first delivery of this call is still in progress", operation=request.operation)

    async def find(self, new: NewDocument) -> Json | None:
        """The document of this name, from the repository; a stranger's if it is not readable."""
        found: Json = await self.api.at_path(new.path, hidden=STRANGER)
        return found

    async def _post(self, new: NewDocument, key: str, replays: bool) -> Response:
        body = {"entity-type": "document", "type": new.type, "name": new.name, "properties": dict(new.properties)}
        headers = {**WHOLE, **NO_DROP, "Idempotency-Key": new.key(key), **timeout_headers(self.api, new.seconds)}
        return await self.api.client.send(
            Request(
                facts.POST_ID,
                "POST",
                document_path(new.parent),
                json=body,
                headers=headers,
                repeatable=replays,  # the same key gives the first response again (wire B 6.8)
                accept=frozenset({409}),
                timeout=new.seconds,
            )
        )

    async def _alone(self, new: NewDocument, row: Json, ours: IsOurs) -> Json:
        """The document, unless the name was taken: then the one that has it, and the twin is deleted (assumption
        14)."""
        name = member_text(row, "path").rpartition("/")[2]
        before, _, number = name.rpartition(".")
        if before != new.name or not number.isdecimal():
            if not name or not new.name.startswith(name[: facts.NAME_LETTERS]):
                raise ContractBroken(f"a create of {new.name} returned {name!r}", operation=facts.POST_ID)
            return row
        first = await self.find(new)
        await self.delete(str(row["uid"]))
        if first is not None and ours(first):
            return first
        raise self.taken(new)

    async def delete(self, uid: str) -> None:
        """Delete permanently: a twin that was just created."""
        await self.api.client.send(
            Request(
                facts.DELETE_ID,
                "DELETE",
                document_path(uid),
                asset=uid,
                repeatable=True,
                accept=frozenset({404}),
            )
        )

    def taken(self, new: NewDocument) -> Conflict:
        """The error for a name taken by another document."""
        return Conflict(
            f"another document already has the name {new.name} in {new.parent_path or '/'}",
            operation=facts.POST_ID,
            code=NAME_TAKEN,
            hint="rename that document, then `errors JOB --retry`",
        )


def asset_name(marker: str) -> str:
    """24 characters derived from the marker: 120 bits of its digest (wire B 6.8)."""
    digest = hashlib.sha256(marker.encode()).digest()[:15]
    return base64.b32encode(digest).decode().lower()


def timeout_headers(api: DocumentsApi, seconds: float | None) -> dict[str, str]:
    """A longer transaction, for calls with large files (wire B 6.8)."""
    return {api.options.timeout_header: str(facts.TRANSACTION_SECONDS)} if seconds else {}


@interprets_response
def _is_claimed(reply: Response) -> bool:
    """Whether a 409 means that the same key is in progress: it has no body and echoes the key (wire B 6.8)."""
    return not reply.body.strip() and "idempotency-key" in reply.headers


def _unless_refused(reply: Response) -> Response:
    """The response, unless it is a conflict that says why. Raises Conflict."""
    if reply.status != 409:
        return reply
    refusal = Refusal(reply.status, reply.headers, reply.body, reply.service, reply.operation, reply.asset)
    raise error_for(facts.RULES, refusal)


async def again_on_conflict(api: DocumentsApi, call: Callable[[], Awaitable[T]]) -> T:
    """Retry a call after conflicts, a few times with jitter (wire B 6.6)."""
    for wait in facts.TRY_WAITS:
        try:
            return await call()
        except Conflict:
            await sleep_for(api.clock, wait * (0.5 + api.clock.chance()), AGAIN, "target")
    return await call()
