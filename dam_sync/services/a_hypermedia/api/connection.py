"""Calls to one instance: relations turned into paths, languages, pages, and what is read only once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from urllib.parse import quote

from dam_sync.aio.single_flight import SingleFlight
from dam_sync.crawl.held_list import HeldList
from dam_sync.http.client import Request, Response
from dam_sync.http.interpreting import interprets_response, member_text
from dam_sync.model.connector import Context
from dam_sync.model.errors import ContractBroken, Denied, NotFound, TruncatedListing
from dam_sync.model.values import Json
from dam_sync.services.a_hypermedia import facts
from dam_sync.services.a_hypermedia.api.client import client_of
from dam_sync.services.a_hypermedia.api.hal import Rels, api_path, collection_path, either, link, oddity, tail, total_of
from dam_sync.services.a_hypermedia.api.parts import MEDIA, MediaParts, is_part
from dam_sync.services.a_hypermedia.options import HypermediaOptions, HypermediaSignedToken

# wire A 1.1: paths of the current layout, for relations that the instance does not return
ENDPOINTS: Mapping[str, str] = {
    "medias": "/api/dam/medias",
    "media-search": "/api/dam/search/media",
    "trash-search": "/api/dam/search/trash",
    "files": "/api/dam/files",
    "folder-tree": "/api/dam/folder-tree",
    "folders": "/api/dam/folders",
    "thesaurus-tree": "/api/dam/thesaurus-tree",
    "thesauruses": "/api/dam/thesauruses",
    "forms": "/api/dam/forms",
    "sheet-fields": "/api/dam/sheet-fields",
    "labels": "/api/dam/medias/labels",
    "custom-statuses": "/api/dam/medias/custom-statuses",
    "users": "/api/dam/users",
    "baskets": "/api/dam/baskets",
}
MEDIA_READ = f"GET {ENDPOINTS['medias']}{MEDIA}"
_SLOT = re.compile(r"\{[^{}]*\}")  # no brace inside: each would be searched to the end of the link
_PAGES_AT_MOST = 10_000
_GONE = 404


@dataclass(frozen=True, slots=True)
class HalRequest:
    """One call: an endpoint (see `ENDPOINTS`) and a template below it, whose slots are filled from `ids` in order.

    language: Accept-Language of a read, Content-Language of a write. again: may be repeated after an unknown outcome.
    """

    method: str
    endpoint: str
    template: str = ""
    ids: Sequence[str] = ()
    params: Sequence[tuple[str, str]] = ()
    json: Json = None
    language: str = ""
    asset: str = ""
    repeatable: bool | None = None
    accept: frozenset[int] = frozenset()
    timeout: float | None = None

    @property
    def operation(self) -> str:
        """The endpoint, as counted: `PUT /api/dam/medias/{id}/metadatas/{metadataId}`."""
        return f"{self.method} {ENDPOINTS[self.endpoint]}{self.template}"


@dataclass(frozen=True, slots=True)
class EntryPoints:
    """What the two entry points say: release, URLs by relation, the current user, the clock difference."""

    release: tuple[int, ...] = ()
    links: Mapping[str, str] = field(default_factory=dict)
    user: str = ""
    skew: timedelta = timedelta(0)

    def has(self, release: tuple[int, ...]) -> bool:
        """Whether the instance is at least of this release; an unreadable one counts as the newest."""
        return not self.release or self.release >= release


class HypermediaApi:
    """One instance behind one client."""

    def __init__(self, context: Context) -> None:
        """No call is made yet. Raises ConfigError."""
        options: HypermediaOptions = context.options
        self.client = client_of(context)
        self.base_url = context.base_url.rstrip("/")
        self.rels = Rels(options.relation_prefix, options.header_prefix)
        self.clock = context.clock
        self.limits = replace(context.limited(facts.LIMITS), lag=timedelta(seconds=options.index_lag))
        self._signed = isinstance(context.auth, HypermediaSignedToken)
        self.entry = SingleFlight(self._enter)
        self._parts = MediaParts(self.rels)

    async def call(self, request: HalRequest) -> Response:
        """Make a call. Raises errors according to the rules. A part of a media that is not where it was looked for is
        looked for where the media links to, once."""
        knew = self._parts.known
        try:
            reply = await self._send(request)
            if reply.status != _GONE or not await self._moved(request, knew=knew):
                return reply
        except NotFound:
            if not await self._moved(request, knew=knew):
                raise
        return await self._send(request)

    async def _moved(self, request: HalRequest, *, knew: bool) -> bool:
        """Whether medias link to another path of this part than the one that was tried. knew: their links were known
        when it was; a concurrent call may have read them since."""
        if knew or request.endpoint != "medias" or not is_part(request.template):
            return False
        if not self._parts.known:
            with suppress(NotFound):
                await self._send(HalRequest("GET", "medias", MEDIA, request.ids[:1], asset=request.asset))
        usual = (await self.entry.get()).links.get(request.endpoint, ENDPOINTS[request.endpoint]) + request.template
        return self._parts.path(request.template) not in ("", usual)

    async def _send(self, request: HalRequest) -> Response:
        headers = {}
        if request.language:
            headers["Accept-Language" if request.method == "GET" else "Content-Language"] = request.language
        reply = await self.client.send(
            Request(
                operation=request.operation,
                method=request.method,
                path=await self.path(request.endpoint, request.template, request.ids),
                params=request.params,
                json=request.json,
                headers=headers,
                repeatable=request.repeatable,
                accept=request.accept,
                asset=request.asset,
                timeout=request.timeout,
            )
        )
        whole = request.operation == MEDIA_READ and reply.status == 200 and "fields" not in dict(request.params)
        if whole and not self._parts.known:
            self._parts.learn(reply.json(), request.ids[0])
        return reply

    async def json(self, request: HalRequest) -> Json:
        """The response as JSON. Raises ContractBroken if a read returns no resource; a write may return nothing."""
        reply = await self.call(request)
        if request.method == "GET" and reply.status == 200:
            return resource_of(reply)
        return reply.json() if reply.body.strip() else {}

    async def path(self, endpoint: str, template: str = "", ids: Sequence[str] = ()) -> str:
        """The path of a resource: from the instance's own relation if it returns one."""
        links = (await self.entry.get()).links
        whole = self._parts.path(template) if endpoint == "medias" else ""
        whole = whole or links.get(endpoint, ENDPOINTS[endpoint]) + template
        slots = iter(ids)
        return _SLOT.sub(lambda _: quote(next(slots), safe=""), whole)

    async def href(self, endpoint: str, template: str, *ids: str) -> str:
        """An absolute URL, for bodies that link to a resource."""
        return self.base_url + await self.path(endpoint, template, ids)

    async def listed(self, request: HalRequest, key: str, *, counted: bool = True) -> list[Json]:
        """Every item of a collection, page by page; all at once if it is not paged (wire A 0).

        Raises TruncatedListing if there are fewer than the collection counts, if it is `counted`.
        """
        rows: list[Json] = []
        before: list[Json] = []
        held = HeldList()
        for number in range(1, _PAGES_AT_MOST):
            paged = [*request.params, ("page", str(number)), ("size", str(self.limits.page)), *await self.arrays()]
            page = await self.json(replace(request, params=paged))
            found, total = either(page, key), total_of(page)
            if found and found == before:
                break  # the same page again: there is nothing more
            held.take(found)
            rows, before = rows + found, found
            if not found or (total is not None and len(rows) >= total) or (total is None and not link(page, "next")):
                break
        if counted and total is not None and len(rows) < total:
            raise TruncatedListing(
                f"only {len(rows)} of {total} items were returned", operation=request.operation, asset=request.asset
            )
        return rows

    async def arrays(self) -> list[tuple[str, str]]:
        """Requests arrays if the release supports it (wire A 10); both shapes are read anyway."""
        return [("forceArrays", "true")] if (await self.entry.get()).has(facts.FORCE_ARRAYS) else []

    async def user(self) -> tuple[str, tuple[str, ...]]:
        """The login of the current user, and notes about its permissions. Raises Denied."""
        identity = (await self.entry.get()).user
        if not identity:
            return "", ("the instance does not return the current user: bulk writing is not possible",)
        request = HalRequest("GET", "users", "/{userId}", (identity,), accept=frozenset({403, 404}))
        reply = await self.call(request)
        if reply.status != 200:
            return "", ("the user cannot read its own record, so its permissions are unknown",)
        body = resource_of(reply)
        return (member_text(body, "login", "email") or identity), ()

    async def _enter(self) -> EntryPoints:
        reply = await self.client.send(Request(operation="GET /api", method="GET", path="/api"))
        root = resource_of(reply)
        below = api_path(link(root, self.rels.rel("dam")) or "/api/dam")
        release = _release(root.get("release"))
        dam = await self._dam(below, release)
        relations = {endpoint: link(dam, self.rels.rel(endpoint)) for endpoint in ENDPOINTS}
        return EntryPoints(
            release=release,
            links={endpoint: collection_path(href) for endpoint, href in relations.items() if href},
            user=tail(link(dam, self.rels.rel("current-user"))),
            skew=reply.ahead_of(self.clock.now()),
        )

    async def _dam(self, path: str, release: tuple[int, ...]) -> Json:
        try:
            return resource_of(await self.client.send(Request(operation="GET /api/dam", method="GET", path=path)))
        except Denied as error:
            if self._signed and not EntryPoints(release).has(facts.SIGNED_TOKENS):
                said = ".".join(map(str, release))
                error.within(
                    hint=f"release {said} is older than 4.28.0 and does not support signed tokens: use the flow basic"
                )
            raise


_DIGITS = 19  # of a number that every JSON parser accepts


@interprets_response
def resource_of(reply: Response) -> Json:
    """The resource of a response. Raises ContractBroken if it is not a resource."""
    body = reply.json()
    if problem := oddity(body):
        raise ContractBroken(problem, service=reply.service, operation=reply.operation, asset=reply.asset)
    return body


@interprets_response
def made_id(reply: Response) -> str:
    """The id created by a POST: from Location, otherwise from the body (wire A 0, 11.5). Raises ContractBroken."""
    location = reply.headers.get("location", "")
    if location:
        return tail(location)
    body = reply.json() if reply.body.strip() else {}
    found = tail(link(body, "self")) or (member_text(body, "id") if isinstance(body, dict) else "")
    if not found:
        raise ContractBroken("the service created a resource but did not return its URL")
    return found


def as_number(identity: str) -> int | str:
    """Ids are sent as numbers if they are numbers (wire A 0)."""
    return int(identity) if identity.isdecimal() and len(identity) < _DIGITS else identity


@interprets_response
def _release(text: Json) -> tuple[int, ...]:
    """A dotted number, compared number by number (wire A 10)."""
    return tuple(int(part) for part in re.findall(r"\d+", str(text or "")))
