"""One connection to a server of service B: its credential, its calls."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import cast
from urllib.parse import quote, urlsplit

from dam_sync.aio.just_read import JustRead
from dam_sync.config.options import PasswordAuth
from dam_sync.http.auth.base import Authenticator, Basic, ClientCredentials, SignedToken
from dam_sync.http.auth.oauth import (
    DeviceIdentity,
    HeaderToken,
    JwtBearerGrant,
    LoginToken,
    OAuthClient,
    SharedConsent,
    UserConsent,
)
from dam_sync.http.client import Client, ClientConfig, Request, Response
from dam_sync.http.error_rules import Refusal, error_for
from dam_sync.http.interpreting import interpreting_response, interprets_response
from dam_sync.model.asset import AssetId
from dam_sync.model.clock import Clock
from dam_sync.model.connector import Context
from dam_sync.model.errors import ConfigError, ContractBroken, DamSyncError, InvalidValue, NotFound, Rejected
from dam_sync.model.limits import Limits
from dam_sync.model.values import Json
from dam_sync.services.b_documents import facts
from dam_sync.services.b_documents.codec.rights import lists_of
from dam_sync.services.b_documents.codec.wire import document_of, has_no_properties, uid_of
from dam_sync.services.b_documents.options import (
    DocumentsLoginToken,
    DocumentsOAuth,
    DocumentsOptions,
    DocumentsSignedToken,
)

WHOLE = {"properties": "*", "fetch-document": "versionLabel,lock", "enrichers-document": "acls"}  # wire B 1.6, 3
RIGHTS = {"enrichers-document": "acls"}
DATED = {"properties": "dublincore"}  # wire B 1.6: without it a row has no properties
MEMBER = {"properties": "collectionMember"}  # wire B 2.5, assumption 28: the only schema of a thin row
NO_DROP = {"X-Batch-No-Drop": "true"}  # wire B 6.2: or the batch goes with any call that names it
FORBIDDEN = "forbidden"  # code of the error for an operation that the user may not run
Send = Callable[[Request], Awaitable[Response]]
_VOID, _NOT_FOUND = 204, 404
_ID = re.compile(r"[0-9A-Za-z_.-]{1,64}")
_TOKEN_LIFE = timedelta(minutes=10)  # wire B 1.4: sign short


@dataclass(slots=True)
class DocumentsApi:
    """The calls of one connection."""

    client: Client
    clock: Clock
    options: DocumentsOptions
    limits: Limits
    base_url: str
    read_only: bool
    grant: str
    just_read: JustRead[Json]  # documents of a target, as `document` returns them

    @classmethod
    def open(cls, context: Context) -> DocumentsApi:
        """Raises ConfigError for a URL, options or a credential that cannot be used."""
        options: DocumentsOptions = context.options
        limits = context.limited(facts.LIMITS)
        pace = context.paced(limits.pace)
        wiring = ClientConfig.of(context, facts.NAME, authenticator_of(context), facts.RULES, pace)
        wiring = replace(wiring, headers={"Accept": "application/json"})  # wire B 7.2: or refused values are not named
        base = context.base_url.rstrip("/")
        grant = context.auth.kind if isinstance(context.auth, DocumentsOAuth) else ""
        read = JustRead[Json](context.clock)
        limits = replace(limits, pace=pace)
        return cls(Client(wiring), context.clock, options, limits, base, context.read_only, grant, read)

    async def get(
        self,
        operation: str,
        path: str,
        params: Sequence[tuple[str, str]] = (),
        *,
        headers: Mapping[str, str] | None = None,
    ) -> Json:
        """JSON that was read."""
        request = Request(operation, "GET", path, params=tuple(params), headers=headers or {})
        return (await self.client.send(request)).json()

    async def document(self, uid: str) -> Json:
        """A document, whole. Raises NotFound."""
        request = Request(facts.GET_ID, "GET", document_path(uid), headers=WHOLE, asset=uid)
        row = document_of((await self.client.send(request)).json())
        if has_no_properties(row):
            raise ContractBroken("a document came without the properties that were asked for", asset=uid)
        return await self.with_rights(row)

    async def with_properties(self, row: Json) -> Json:
        """The row of a search; read by its id if it came without the properties that were asked for, which is not the
        same as a document without values (assumption 2)."""
        return await self.document(uid_of(row)) if has_no_properties(row) else row

    async def with_rights(self, row: Json) -> Json:
        """Read who may read a document if it came without that; unknown if that is refused."""
        if lists_of(row) is not None:
            return row
        uid = uid_of(row)
        accept = frozenset({403, _NOT_FOUND})
        reply = await self.client.send(Request(facts.ACL, "GET", document_path(uid, "@acl"), asset=uid, accept=accept))
        if reply.status in accept:
            return row
        body = reply.json()
        return {**row, "contextParameters": {"acls": body.get("acl") if isinstance(body, dict) else None}}

    async def at_path(self, path: str, hidden: Json = None) -> Json:
        """The complete document at a path, or None; read from the repository, so that what was just written is found.

        `hidden`, where given, is the response for one that we may not read; else that raises Denied (wire B 7.3).
        """
        segments = "/".join(quote(part, safe="") for part in path.strip("/").split("/"))
        accept = frozenset({404} if hidden is None else {403, 404})
        request = Request(facts.GET_PATH, "GET", f"{facts.API}/path/{segments}", headers=WHOLE, accept=accept)
        reply = await self.client.send(request)
        if reply.status == 403:
            return hidden
        return None if reply.status == 404 else document_of(reply.object())

    async def operate(
        self, operation: str, given: Json, params: Mapping[str, Json], *, send: Send | None = None, **how: object
    ) -> Response:
        """Run an operation on `given` (`doc:…`, `docs:…` or nothing). send: not the client's. Raises InvalidValue for
        text that the server would run as a script, Rejected with the code FORBIDDEN if the user may not run it,
        ContractBroken for a response that is neither empty nor documents (wire B 6.1)."""
        for text in _all_texts(params):
            if text.lstrip().startswith("expr:"):
                raise InvalidValue("a text that starts with `expr:` would be run by the server; refused")
        body = {"params": dict(params), "context": {}}
        if given:
            body["input"] = given
        path = f"{facts.API}/automation/{operation}"
        request = replace(Request(facts.OPERATION + operation, "POST", path, json=body), **cast("dict[str, Json]", how))
        reply = await (send or self.client.send)(replace(request, accept=request.accept | {_NOT_FOUND}))
        if reply.status == _NOT_FOUND:
            raise _unfound(reply, operation)
        if 200 <= reply.status < 300 and reply.status != _VOID:
            _refuse_nothing_done(reply)
        return reply

    async def related(self, asset: AssetId, kind: str) -> list[AssetId]:
        """The assets this one points to, by one kind of relation (wire B 3, 6.5)."""
        params = {"predicate": self.options.relations[kind], "outgoing": True}
        reply = await self.operate(
            "Document.GetLinkedDocuments", f"doc:{asset}", params, reads=True, repeatable=True, asset=asset
        )
        with interpreting_response("linked documents"):
            rows = reply.object().get("entries") or () if reply.status != 204 else ()
            return [AssetId(str(row["uid"])) for row in rows]


def _unfound(reply: Response, operation: str) -> DamSyncError:
    """The error for a 404, which without a body says nothing about the document (wire B 2.6)."""
    if not reply.body.strip():
        return Rejected(
            f"the service forbids the operation {operation}",
            asset=reply.asset,
            operation=reply.operation,
            code=FORBIDDEN,
            hint="let the user of the job be an administrator, or allow it this operation",
        )
    refusal = Refusal(_NOT_FOUND, reply.headers, reply.body, reply.service, reply.operation, reply.asset)
    return error_for(facts.RULES, refusal)


@interprets_response
def _refuse_nothing_done(reply: Response) -> None:
    """Raises an error for a response of a proxy, which does not prove that the operation ran."""
    said = reply.looked_at()
    if not isinstance(said, dict) or said.get("entity-type") not in ("document", "documents"):
        raise ContractBroken(
            "returned JSON without the documents, so the outcome is unknown",
            service=reply.service,
            operation=reply.operation,
            asset=reply.asset,
            hint="a proxy may have responded instead of the service; run the same command again",
        )


def document_path(uid: str, *more: str) -> str:
    """`/api/v1/id/{uid}/…`. Raises NotFound for an invalid id."""
    refuse_invalid_id(uid)
    return "/".join((f"{facts.API}/id", uid, *more))


def refuse_invalid_id(uid: str) -> None:
    """Raises NotFound for an id that no document can have, and that would lead to another path."""
    if not _ID.fullmatch(uid) or not uid.strip("."):
        raise NotFound("no document can have this id", asset=uid, operation=facts.GET_ID)


def authenticator_of(context: Context) -> Authenticator:
    """The authenticator of the job's flow (spec 001, Authentication, Service B). Raises ConfigError."""
    auth, base = context.auth, context.base_url.rstrip("/")
    if isinstance(auth, PasswordAuth):
        return Basic(auth.login, auth.password)
    if isinstance(auth, DocumentsLoginToken):
        return _login_token(auth, base, context.clock)
    if isinstance(auth, DocumentsSignedToken):
        return _signer(auth, context.clock)
    return _oauth(auth, context, base)


def _login_token(auth: DocumentsLoginToken, base: str, clock: Clock) -> Authenticator:
    if auth.token:
        return HeaderToken(auth.header, auth.token)
    device = DeviceIdentity(auth.header, auth.application, auth.device)
    return LoginToken(f"{base}/authentication/token", Basic(auth.login, auth.password), device, clock)


def _signer(auth: DocumentsSignedToken | DocumentsOAuth, clock: Clock) -> SignedToken:
    """Subject is the user; the issuer is a constant of the product, its verifier checks neither (wire B)."""
    claims = {"sub": auth.login, "iss": auth.issuer, **({"aud": auth.audience} if auth.audience else {})}
    return SignedToken(claims, auth.key, auth.algorithm, _TOKEN_LIFE, clock)


def _oauth(auth: DocumentsOAuth, context: Context, base: str) -> Authenticator:
    clock, url = context.clock, auth.token_url or f"{base}/oauth2/token"
    client = OAuthClient(url, auth.client_id, auth.client_secret)
    match auth.kind:
        case "client_credentials":
            return ClientCredentials(url, auth.client_id, auth.client_secret, "", clock)
        case "jwt_bearer":
            return JwtBearerGrant(client, _signer(auth, clock), clock)
        case _:
            if context.credentials is None:
                raise ConfigError("rotating tokens need a credential store")
            consent = UserConsent(auth.refresh_token, auth.code, auth.redirect_uri, auth.code_verifier)
            name = f"{facts.NAME}-{urlsplit(base).hostname}-{client.client_id}"
            return SharedConsent(client, consent, context.credentials, name, clock)


@interprets_response
def _all_texts(data: Json) -> list[str]:
    if isinstance(data, str):
        return [data]
    if isinstance(data, Mapping):
        return [text for part in data.values() for text in _all_texts(part)]
    if isinstance(data, list | tuple):
        return [text for part in data for text in _all_texts(part)]
    return []
