"""What is known about one server: its release, the current user, its schema, the root of the library."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import ClassVar
from urllib.parse import quote, urlsplit

from dam_sync.aio.single_flight import KeyedLock, SingleFlight, gather_or_raise
from dam_sync.http.client import Client, Request, Response
from dam_sync.http.connected import HttpService
from dam_sync.http.interpreting import interpreting_response, interprets_response, member_text
from dam_sync.model.asset import Rights
from dam_sync.model.capabilities import Feature, Operation
from dam_sync.model.connector import Context
from dam_sync.model.errors import ConfigError, ContractBroken, Denied, NotFound
from dam_sync.model.exposure_options import ExposureOptions
from dam_sync.model.library import Library
from dam_sync.model.probed import Account, Undecided
from dam_sync.model.schema import Schema
from dam_sync.services.b_documents import facts
from dam_sync.services.b_documents.api.client import DocumentsApi
from dam_sync.services.b_documents.api.search import LIVE, DocumentsSearch, one_of, quoted, select
from dam_sync.services.b_documents.codec import fields
from dam_sync.services.b_documents.codec.fields import GROUP, USER, ServerSchema
from dam_sync.services.b_documents.codec.forms import status_staging, status_ways

CONSTRAINED = (("fetch.schema", "fields"),)  # wire B 5.1; as a parameter, because proxies drop headers with a dot
HYPHENED = {"fetch-schema": "fields"}  # wire B 1.6: the same as a header
UNREAD = {
    "relations": Undecided(
        Feature.RELATIONS,
        "relations are not read",
        "the option `relations` of the source names the kinds to be read, at one call for each asset and kind; "
        "`relations: {}` leaves them behind",
    ),
    "sections": Undecided(
        Feature.SECTION,
        "in which sections assets are published is not read",
        "`options: {sections: on}` of the source reads it, with one more call for each hundred assets; `off` leaves it "
        "behind",
    ),
}
"""By the option that decides it."""


@dataclass(frozen=True, slots=True)
class Release:
    """A version such as `2025.10` or `10.10-HF68`, as numbers."""

    text: str = ""
    repository: str = "default"

    @property
    def numbers(self) -> tuple[int, ...]:
        """Empty if the server does not return it."""
        return tuple(int(part) for part in re.findall(r"\d+", self.text.partition("-")[0]))

    def since(self, first: tuple[int, ...]) -> bool:
        """Whether it is this release or a later one; an unknown one counts as new."""
        return not self.numbers or self.numbers >= first


@dataclass(frozen=True, slots=True)
class User:
    """The user of the credential."""

    name: str
    administrator: bool


@dataclass(frozen=True, slots=True)
class Root:
    """The root folder of the library."""

    uid: str
    path: str
    type: str


@dataclass(slots=True)
class DocumentsTenant:
    """Facts about the server, each read once."""

    api: DocumentsApi
    search: DocumentsSearch
    server: SingleFlight[ServerSchema] = field(init=False)
    release: SingleFlight[Release] = field(init=False)
    user: SingleFlight[User] = field(init=False)
    root: SingleFlight[Root] = field(init=False)

    def __post_init__(self) -> None:
        self.server = SingleFlight(self._server)
        self.release = SingleFlight(self._release)
        self.user = SingleFlight(self._user)
        self.root = SingleFlight(self._root)

    async def assets(self) -> str:
        """The condition for an asset of the library (assumption 1)."""
        server, root = await self.server.get(), await self.root.get()
        hidden = {"HiddenInNavigation", "SystemDocument"}
        others = {name for name, kind in server.types.items() if kind.facets & hidden}
        others |= server.folder_types | server.collection_types
        types = self.api.options.types
        kinds = one_of("ecm:primaryType", types) if types else f"NOT ({one_of('ecm:primaryType', others)})"
        return " AND ".join(part for part in (LIVE, kinds, below(root)) if part)

    async def _server(self) -> ServerSchema:
        """Three calls: types, schemas with constraints, directories (wire B 5.1, 5.2)."""
        types, schemas, directories = await gather_or_raise(
            [
                self.api.get(facts.TYPES, f"{facts.API}/config/types"),
                self.api.get(facts.SCHEMAS, f"{facts.API}/config/schemas", CONSTRAINED, headers=HYPHENED),
                self.api.get(facts.DIRECTORIES, f"{facts.API}/directory"),
            ]
        )
        return fields.server_of(types, schemas, directories, self.api.options)

    async def _release(self) -> Release:
        """From the capabilities; a server without them returns it elsewhere (wire B 10)."""
        try:
            shown = await self.api.get(facts.RELEASE, f"{facts.API}/capabilities")
            with interpreting_response("the capabilities"):
                text = str((shown.get("server") or {}).get("distributionVersion") or "")
                names = list((shown.get("repository") or {}).keys())  # of an object; a list is refused
        except NotFound:
            shown = await self.api.get(facts.CMIS, "/json/cmis")
            with interpreting_response("the repositories"):
                names = list(shown.keys())
                text = str((shown[names[0]] if names else {}).get("productVersion") or "")
        own = self.api.options.repository
        return Release(text, own or (names[0] if len(names) == 1 else "default"))

    async def _user(self) -> User:
        return user_of(await self.logged_in())

    async def logged_in(self) -> Response:
        path = f"{facts.API}/automation/login"
        return await self.api.client.send(Request(facts.LOGIN, "POST", path, json={}, reads=True, repeatable=True))

    async def _root(self) -> Root:
        """The folder of the option, the default workspaces, or the first ones."""
        wanted = self.api.options.root
        row = await self.api.at_path(wanted or facts.WORKSPACES)
        if row is None and not wanted:
            hits = await self.search.page(select(LIVE, "ecm:isTrashed = 0", source="WorkspaceRoot"), 1)
            row = hits.rows[0] if hits.rows else await self.api.at_path("/")
        if row is None:
            raise ConfigError(
                f"there is no folder {wanted} at the service", hint="correct the option `root` in the job"
            )
        return Root(str(row["uid"]), str(row.get("path") or "/").rstrip("/"), member_text(row, "type"))


class DocumentsPart(HttpService):
    """Base of all parts of the service: the API, searches, what is known about the server."""

    kind: ClassVar[str] = facts.NAME
    declared = facts.CAPABILITIES

    def __init__(self, context: Context) -> None:
        self.api = DocumentsApi.open(context)
        self.limits = self.api.limits
        if not self.api.options.relations:
            self.remove_capabilities(Operation.RELATE, writes=[Feature.RELATIONS], reads=[Feature.RELATIONS])
        self.search = DocumentsSearch(self.api)
        self.tenant = DocumentsTenant(self.api, self.search)
        self._principals: dict[str, bool] = {}  # users and groups that were looked up
        self._looking = KeyedLock()

    @property
    def client(self) -> Client:
        """The client that sends the requests."""
        return self.api.client

    async def probe(self) -> Account:
        """Prove the credential on its own user, read the release, count what it sees (wire B 1.5)."""
        try:
            reply = await self.tenant.logged_in()
        except Denied as refused:
            refused.hint = self._denied_hint() or refused.hint
            raise
        user = user_of(reply)
        self.tenant.user.put(user)
        release = await self.tenant.release.get()
        self._gate(release)
        total = await self._total()
        address = urlsplit(self.api.base_url)
        return Account(
            tenant=f"{address.netloc}{address.path}/{release.repository}",
            user=user.name,
            release=release.text,
            total=total,
            clock_skew=reply.ahead_of(self.api.clock.now()),
            notes=self._notes(release, user),
            undecided_as_source=self._unread(),
        )

    async def library(self) -> Library | None:
        """See `Service.library`: what lies below the root, in one of the repositories of a server."""
        release = self.tenant.release.now
        if release is None:
            return None
        within = tuple(part for part in (await self.tenant.root.get()).path.split("/") if part)
        return Library.of_server(facts.NAME, self.api.base_url, (*facts.API_PATHS, "/site"), release.repository, within)

    async def schema(self) -> Schema:
        """Fields, vocabularies and types; everything that writing needs is read with it."""
        await self.tenant.release.get()
        user = await self.tenant.user.get()
        await self.tenant.root.get()
        schema = fields.schema_of(await self.tenant.server.get(), self.api.options)
        if not user.administrator:
            kept = {key: replace(schema.fields[key], editable=False) for key in facts.SECURED & schema.fields.keys()}
            schema = replace(schema, fields={**schema.fields, **kept})
        return replace(
            schema,
            status_staging=status_staging(self.api.options),
            status_ways=status_ways(self.api.options),
            group_staging=frozenset({user.name, facts.ADMINISTRATORS}),
            capabilities=self.capabilities,
        )

    async def unknown_groups(self, names: frozenset[str]) -> frozenset[str]:
        """Those that are neither a group nor a user; one that may not be looked up counts as known (wire B 5.3). One
        call for a group, two for a user or an unknown name."""
        return frozenset([name for name in sorted(names) if not await self._is_known(name)])

    async def unknown_people(self, names: frozenset[str]) -> frozenset[str]:
        """Those that are neither a user nor a group: a field of users is checked by the server (wire B 6.4, 7.2). Cost
        and exceptions are those of `unknown_groups`."""
        plain = {name: name.removeprefix(USER).removeprefix(GROUP) for name in names}
        unknown = await self.unknown_groups(frozenset(plain.values()))
        return frozenset(name for name, each in plain.items() if each in unknown)

    async def refused_groups(self, rights: Rights | None) -> frozenset[str]:
        """Groups of these rights that cannot be given, where the job lists none itself."""
        if rights is None or not rights.groups or self.api.options.groups is not None:
            return frozenset()
        return await self.unknown_groups(rights.groups)

    async def _is_known(self, name: str) -> bool:
        if name in (facts.EVERYONE, facts.ADMINISTRATORS):
            return True
        async with self._looking.of(name):
            if name not in self._principals:
                self._principals[name] = await self._is_there(facts.GROUP, "group", name) or await self._is_there(
                    facts.USER, "user", name
                )
        return self._principals[name]

    async def _is_there(self, operation: str, kind: str, name: str) -> bool:
        path = f"{facts.API}/{kind}/{quote(name, safe='')}"
        reply = await self.api.client.send(Request(operation, "GET", path, accept=frozenset({403, 404})))
        return reply.status != 404

    async def _total(self) -> int | None:
        """By one call where the library is where it usually is; a count of zero is verified."""
        path = self.api.options.root or facts.WORKSPACES
        inside = f"ecm:path STARTSWITH {quoted(path)}" if path != "/" else ""
        others = [f"ecm:mixinType <> {quoted(facet)}" for facet in sorted(facts.NO_ASSET_FACETS)]
        kinds = f"NOT ({one_of('ecm:primaryType', facts.FOLDERISH | facts.COLLECTIONS)})"
        usual = "" if self.api.options.types else select(LIVE, *others, kinds, inside)
        total = await self.search.count(usual) if usual else 0
        return total if total != 0 else await self.search.count(select(await self.tenant.assets()))

    def _gate(self, release: Release) -> None:
        if self.api.grant == "client_credentials" and not release.since(facts.CLIENT_CREDENTIALS_FROM):
            raise Denied(
                f"release {release.text} knows no client credentials; they came with 2025.3",
                hint="use auth.flow basic, token or signed_token, or another grant",
            )

    def _denied_hint(self) -> str:
        if self.api.grant == "client_credentials":
            need = "they need release 2025.3, and a user whose name is the client_id"
            return f"check client_id and client_secret of the client credentials; {need}"
        return ""

    def _notes(self, release: Release, user: User) -> tuple[str, ...]:
        root = self.api.options.root or facts.WORKSPACES
        notes = (
            (not user.administrator, "the user is not an administrator: documents may be hidden from it, and creation "
             "dates cannot be restored"),
            (not release.since(facts.IDEMPOTENCY_FROM), f"release {release.text} cannot replay a create; after lost "
             "responses the document is looked for"),
            (root != "/", f"the library is what lies below {root}; the option `root` names another folder"),
            (self.search.forbidden, "queries to the repository are forbidden, so the index is used, which may lag"),
        )  # fmt: skip
        return tuple(text for holds, text in notes if holds)

    def exposure_options(self) -> ExposureOptions:
        """See `Service.exposure_options`: every document can be hidden."""
        return ExposureOptions("everybody", self.api.options.everybody - {facts.EVERYONE})

    def _unread(self) -> tuple[Undecided, ...]:
        given = self.api.options.model_fields_set
        return tuple(left for option, left in UNREAD.items() if option not in given)


def below(root: Root) -> str:
    """The condition for lying below the root; none for the root of everything."""
    return f"ecm:ancestorId = {quoted(root.uid)}" if root.path else ""


@interprets_response
def user_of(reply: Response) -> User:
    data = reply.json()
    name = member_text(data, "username", "id") if isinstance(data, dict) else ""
    if not name:
        raise ContractBroken("the service did not say whose credential this is", operation=facts.LOGIN)
    if name.lower() in ("guest", "anonymous"):
        raise Denied("the service took us for a guest", hint="check the credential in the job file")
    return User(name, data.get("isAdministrator") is not False)
