"""What one tenant is: who we are there, what it holds, what its fields and profiles are."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import ClassVar

from dam_sync.aio.single_flight import Proven
from dam_sync.crawl.held_list import HeldList
from dam_sync.crawl.pagers import Keyset, Page, Params
from dam_sync.crawl.pagination import paginate
from dam_sync.http.client import Client
from dam_sync.http.connected import HttpService
from dam_sync.http.dates import parse_timestamp
from dam_sync.model.capabilities import Feature, Operation
from dam_sync.model.connector import Context
from dam_sync.model.errors import ConfigError, ContractBroken, Denied, NotFound, Rejected, Transient
from dam_sync.model.exposure_options import ExposureOptions
from dam_sync.model.library import Library
from dam_sync.model.limits import CountedCalls, MonthlyAllowance
from dam_sync.model.probed import Account, Toggle, Toggles, Undecided
from dam_sync.model.schema import Schema
from dam_sync.model.values import Json
from dam_sync.services.e_profiles import facts
from dam_sync.services.e_profiles.api.client import ProfilesApi
from dam_sync.services.e_profiles.api.search import ProfilesSearch
from dam_sync.services.e_profiles.api.tokens import tenant_of
from dam_sync.services.e_profiles.codec import fields, security, wire
from dam_sync.services.e_profiles.codec.fields import TenantSchema

UNREAD_ATTACHMENTS = Undecided(
    Feature.ATTACHMENTS,
    "documents attached to assets are not read",
    "`options: {attachments: on}` of the source reads them, with one more call per asset; `off` leaves them behind",
)
PRIVATE = "collections are made as private ones: nobody but the user of the job sees them"
UNBOUNDED = "API calls beyond the monthly allowance of the account are billed, and no allowance is kept to"
NO_VERSIONS = Undecided(
    Feature.VERSIONS,
    "older file versions are not written, because the option version_policy of the target is not set",
    "`options: {version_policy: file_only}` of the target writes them, where the upload profiles add versions; `none` "
    "leaves them behind",
)


@dataclass(slots=True)
class ProfilesTenant:
    """The tenant's own facts, each read once."""

    api: ProfilesApi
    search: ProfilesSearch
    _tenant: TenantSchema | None = None
    _archives: bool | None = None

    @property
    def known(self) -> TenantSchema:
        """What was read so far; empty before the first `load()`."""
        return self._tenant or TenantSchema()

    async def archives(self, total: int | None = None) -> bool:
        """Whether the tenant shows archived assets: only a search without them tells (wire E 2.6)."""
        if self._archives is None:
            everything = (await self.search.page("", limit=1)).total if total is None else total
            self._archives = (await self.search.page("", limit=1, archived=False)).total < everything
        return self._archives

    async def load(self) -> TenantSchema:
        """Read once for each connection."""
        if self._tenant is None:
            types = await self._types()
            groups = await self.api.get("GET /v2/assets/assetgroups", "/v2/assets/assetgroups")
            self._tenant = TenantSchema(
                fields=fields.with_types(fields.viewable_of(await self._viewable()), types),
                types=fields.asset_types(types),
                groups=wire.names_of(groups),
                profiles={profile.name: profile for profile in await self._profiles()},
                everybody=self.api.options.everybody,
            )
        return self._tenant

    async def _types(self) -> list[Json]:
        reply = await self.api.get("GET /api/rest/metadata/types", "/api/rest/metadata/types")
        rows = reply.get("types") if isinstance(reply, dict) else None
        if not isinstance(rows, list):
            raise ContractBroken("the response about metadata types has no `types`")
        return fields.of_assets(rows)

    async def _viewable(self) -> list[Json]:
        """All viewable fields; two of one display name at a page border are made good by the metadata types."""

        async def fetch(params: Params) -> Page:
            asked = [("field_types", "all"), ("limit", str(params["size"]))]
            if params["after"] is not None:
                asked.append(("display_name_after", str(params["after"])))
            reply = await self.api.get("GET /v2/metadata/fields/viewable", "/v2/metadata/fields/viewable", tuple(asked))
            rows = reply.get("fields") if isinstance(reply, dict) else None
            if not isinstance(rows, list):
                raise ContractBroken("the response about viewable fields has no `fields`")
            return Page(rows)

        found: list[Json] = []
        held = HeldList()
        async with aclosing(paginate(fetch, Keyset(self.api.limits.page, "display_name"))) as pages:
            async for page, _ in pages:
                held.take(page.rows)
                found.extend(page.rows)
        return found

    async def _profiles(self) -> list[fields.UploadProfile]:
        """Upload profiles; a user who may only look has none."""
        try:
            reply = await self.api.get("GET /v2/uploads/profiles", "/v2/uploads/profiles")
        except Denied:
            return []
        return [fields.profile_of(row) for row in wire.items_of(reply)]


class ProfilesPart(HttpService):
    """What every part of the service works with: the API, searches, what is known of the tenant."""

    kind: ClassVar[str] = facts.NAME
    declared = facts.CAPABILITIES

    def __init__(self, context: Context) -> None:
        self.api = ProfilesApi.open(context)
        self.limits = self.api.limits
        if not self.api.options.versioning:
            self.remove_capabilities(Operation.REPLACE, writes=[Feature.VERSIONS])
        if not self.api.options.attachments:
            self.remove_capabilities(reads=[Feature.ATTACHMENTS])
        self.search = ProfilesSearch(self.api)
        self.tenant = ProfilesTenant(self.api, self.search)
        self.proven = Proven(context.clock)
        self._library: Library | None = None
        self._counted: CountedCalls | None = None
        self._urls = (context.base_url, context.tenant_url)

    @property
    def client(self) -> Client:
        """The client that sends the requests."""
        return self.api.client

    async def probe(self) -> Account:
        """Prove the credential on its own user, and count what it sees (wire E 1.4). The counter of calls is read
        first: if the allowance is used up, nothing else is sent."""
        allowance = await self._allowance()
        reply = await self.api.client.send(self.api.reading("GET /v2/user", "/v2/user"))
        user = reply.json()
        if not isinstance(user, dict) or not (user.get("username") or user.get("uuid") or user.get("id")):
            raise ContractBroken("the service did not say whose token this is", operation="GET /v2/user")
        hits = await self.search.page("", limit=1)
        archives = self.api.tells_archived and await self.tenant.archives(hits.total)
        name = tenant_of(await self.api.auth.headers(), self.api.tenant_url)
        self._library = Library.of_customer(facts.NAME, self._urls, name.casefold())
        return Account(
            tenant=name,
            user=str(user.get("username") or user.get("email") or user.get("uuid")),
            release="v2",
            total=hits.total,
            clock_skew=reply.ahead_of(self.api.clock.now()),
            notes=self._notes(hits),
            as_source=self._notes_as_source(archives),
            as_target=(PRIVATE,),
            undecided_as_source=(*self._unset("attachments", UNREAD_ATTACHMENTS), *self._unbounded("source")),
            undecided_as_target=(*self._unset("version_policy", NO_VERSIONS), *self._unbounded("target")),
            allowance=allowance,
        )

    async def library(self) -> Library | None:
        """See `Service.library`: all customers have one host, and the token names the tenant (wire E 1)."""
        return self._library

    async def _allowance(self) -> MonthlyAllowance | None:
        """The allowance of the plan with what the service counted of it, up to a day late (wire E 1.4, 7)."""
        calls = self.api.options.calls_per_month
        if calls is None:
            return None
        try:
            self._counted = counted = await self._counter()
        except (Denied, NotFound) as error:
            raise ConfigError(
                f"the option calls_per_month needs the counter of API calls, which cannot be read: {error}",
                hint="leave out calls_per_month, or use a credential that may read the counter",
            ) from error
        allowance = MonthlyAllowance(calls, counted.used, counted.since, counted.until)
        self.client.keep_to(allowance)
        return allowance

    async def _counter(self) -> CountedCalls:
        """What the service counted. Raises ContractBroken for a form that is not known."""
        counter = await self.api.get("GET /v2/usage/api", "/v2/usage/api")
        try:
            since, until = (parse_timestamp(counter[key]) for key in facts.COUNTED)
            used = int(counter["request_count"])
        except (KeyError, TypeError, ValueError):
            since = until = None
        if since is None or until is None:
            raise ContractBroken("the counter of API calls has an unknown form", operation="GET /v2/usage/api")
        return CountedCalls(used, since, until, "calls_per_month", self.api.options.calls_per_month)

    async def counted_calls(self) -> CountedCalls | None:
        """See `Service.counted_calls`: read once, and not missed where it cannot be (wire E 1.4)."""
        if self._counted is None:
            try:
                self._counted = await self._counter()
            except (ContractBroken, Denied, Rejected, Transient):
                return None
        return self._counted

    async def toggles(self, *, needed: bool = False) -> Toggles | None:
        """See `Service.toggles`: a job depends on those that it requests, and on those about file versions if it writes
        them (wire E 6.7, 10)."""
        options, option = self.api.options, "toggles"
        decides = facts.TOGGLES_DECIDE if options.versioning else {}
        if needed and not (options.toggles or decides):
            return None
        try:
            listed = wire.toggles_of(await self.api.get(facts.TOGGLES, "/v2/toggles"))
        except (ContractBroken, Denied, Rejected, Transient) as error:
            return Toggles(option, unread=str(error))
        offered = (Toggle(name, text, name in options.toggles, decides.get(name, "")) for name, text in listed.items())
        return Toggles(option, tuple(offered), tuple(name for name in options.toggles if name not in listed))

    async def adopt_schema(self, source: Schema) -> None:
        """Adds nothing. Raises ConfigError if `closed_profile` names a profile by which nothing can be kept closed."""
        tenant, now = await self.tenant.load(), self.api.client.decision_time()
        security.refuse_seen_profiles(tenant, self.api.options, now)

    async def schema(self) -> Schema:
        """Fields with their vocabularies, metadata types and profiles, groups."""
        tenant, now = await self.tenant.load(), self.api.client.decision_time()
        return replace(fields.schema_of(tenant, now), capabilities=self.capabilities)

    def exposure_options(self) -> ExposureOptions:
        options, now = self.api.options, self.api.client.decision_time()
        closing = security.open_types(self.tenant.known, options, now)
        return ExposureOptions("everybody", options.everybody, tuple(closing))

    def _notes_as_source(self, archives: bool) -> tuple[str, ...]:
        return ("there are archived assets; telling them apart costs one more call for each slice",) * archives

    def _unbounded(self, role: str) -> tuple[Undecided, ...]:
        """That calls beyond an allowance are billed, which nothing stops before the job says so (spec 002, Limits)."""
        hint = (
            f"`options: {{calls_per_month: N}}` of the {role} stops a run before it exceeds what is left of N calls; "
            "`null` decides that no allowance is kept to"
        )
        return self._unset("calls_per_month", Undecided(None, UNBOUNDED, hint))

    def _unset(self, option: str, left: Undecided) -> tuple[Undecided, ...]:
        """What is left behind because the job does not say otherwise."""
        return () if option in self.api.options.model_fields_set else (left,)

    def _notes(self, hits: wire.ProfilesHits) -> tuple[str, ...]:
        sample = hits.rows[0] if hits.rows else {"tags": ()}
        linked = bool(hits.rows) and not sample.get("deleted_date")  # one in the trash has no link whatever the rights
        notes = (
            (linked and not wire.download_link(sample), "no download link on a sample asset: the user lacks "
             "the right to order originals there"),
            ("tags" not in sample, "an older release: it shows no tags and no file sizes in bytes"),
        )  # fmt: skip
        return tuple(text for holds, text in notes if holds)
