"""What is known about this instance: templates, vocabularies, security templates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import ClassVar

from dam_sync.aio.just_read import JustRead
from dam_sync.aio.lru import LruCache
from dam_sync.aio.single_flight import SingleFlight, gather_or_raise
from dam_sync.http.client import Client
from dam_sync.http.connected import HttpService
from dam_sync.http.interpreting import interprets_response, member_text
from dam_sync.http.messages import Response
from dam_sync.model.asset import Draft
from dam_sync.model.audience import Audience
from dam_sync.model.capabilities import Feature
from dam_sync.model.connector import Context
from dam_sync.model.diagnostic import nearest
from dam_sync.model.errors import NotFound
from dam_sync.model.exposure_options import ExposureOption, ExposureOptions
from dam_sync.model.library import Library
from dam_sync.model.probed import Account, Undecided
from dam_sync.model.schema import FieldKind, Schema
from dam_sync.model.values import Json
from dam_sync.services.d_templates import facts
from dam_sync.services.d_templates.api import TemplatesApi
from dam_sync.services.d_templates.codec.forms import (
    OPTIONAL,
    MetadataForms,
    Template,
    VocabularyValues,
    check,
    schema_of,
    template_of,
    values_of,
)
from dam_sync.services.d_templates.codec.security import RESTRICTED, Security
from dam_sync.services.d_templates.codec.wire import VersionGroup, hits, listed, total_of
from dam_sync.services.d_templates.source.versions import VersionGroups

LEFT = {
    "release": "release dates are",
    "expiry": "expiry dates are",
    "status": "the status is",
    "tags": "tags are",
}
_DATE_STEP = timedelta(seconds=2)
_LIVE = {"includeDeleted": False, "includeVersions": False}
_BOTH = {"includeDeleted": True, "includeVersions": True}


@dataclass(slots=True)
class TemplatesTenant:
    """Loaded on first use, then cached; vocabularies are reloaded when an unknown value turns up."""

    api: TemplatesApi
    forms: SingleFlight[MetadataForms] = field(init=False)
    security: SingleFlight[Security] = field(init=False)
    seen: int | None = None  # all records, when they were last counted by a scan
    _strange: LruCache[str, bool] = field(default_factory=lambda: LruCache(facts.LISTED_KEPT))

    def __post_init__(self) -> None:
        self.forms = SingleFlight(self._forms)
        self.security = SingleFlight(self._security)

    async def user(self) -> str:
        """Id of our user, as it appears as the creator of records."""
        return member_text(await self.api.ask(facts.USER), "userId")

    async def total(self, which: Mapping[str, bool]) -> int | None:
        """Number of such records visible to the credential, if a scan reports it (wire D 2.4)."""
        return total_of(await self.api.ask(facts.SCAN, json=count_body(which)))

    async def counted(self) -> int | None:
        """Number of all records, from the scan or from a search within its reach; None if neither reports it (wire D
        15)."""
        if self.seen is None:
            self.seen = await self.total(_BOTH)
        if self.seen is not None:
            return self.seen
        body = {**count_body(_BOTH), "from": 0}
        reply = await self.api.ask(facts.SEARCH, json=body)
        found = total_of(reply)
        if found is None and not hits(reply):
            return 0
        return found if found is not None and found < facts.SEARCH_REACH else None

    async def binned(self) -> int | None:
        """Number of records in the recycle bin; None if no total is reported."""
        living = await self.total({"includeDeleted": False, "includeVersions": True})
        everything = await self.total(_BOTH)
        return None if living is None or everything is None else everything - living

    async def forms_for(self, values: Iterable[str]) -> MetadataForms:
        """The forms, reloaded if one of these values is in no vocabulary; at most once per unknown value."""
        forms = await self.forms.get()
        known = {identity for vocabulary in forms.lexicon.values() for identity in vocabulary.labels}
        unknown = {value for value in values if value not in known and self._strange.get(value) is None}
        if unknown:
            for value in unknown:
                self._strange.put(value, True)
            forms = replace(forms, lexicon=await self._lexicon())
            self.forms.put(forms)
        return forms

    async def vocabulary(self, identity: str) -> VocabularyValues:
        """One vocabulary as it is now; updates the cache. Raises NotFound."""
        values = values_of(await self.api.ask(facts.VOCABULARY, identity))
        forms = await self.forms.get()
        self.forms.put(replace(forms, lexicon={**forms.lexicon, values.id: values}))
        return values

    async def source(self, key: str) -> str:
        """Vocabulary id, or attribute id of a cascade, for the key of a vocabulary or field. Raises NotFound."""
        forms = await self.forms.get()
        sources = forms.sources()
        attribute = forms.by_key.get(key)
        found = sources.get(key) or (attribute.source if attribute else "") or (key if key in forms.lexicon else "")
        if not found:
            raise NotFound(f"there is no vocabulary {key!r}", hint=nearest(key, forms.lexicon))
        return found

    async def _forms(self) -> MetadataForms:
        ids = _template_ids(listed(await self.api.ask(facts.TEMPLATES), "templates"))
        templates = await gather_or_raise([self._template(identity) for identity in ids])
        forms = MetadataForms.of(templates, await self._lexicon())
        check(forms, self.api.options.named)
        return forms

    async def _template(self, identity: str) -> Template:
        return template_of(await self.api.ask(facts.TEMPLATE, identity))

    async def _lexicon(self) -> dict[str, VocabularyValues]:
        rows = listed(await self.api.ask(facts.VOCABULARIES), "vocabularies")
        return {values.id: values for values in map(values_of, rows) if values.id}

    async def _security(self) -> Security:
        rows = listed(await self.api.ask(facts.SECURITY), "securityTemplates", "templates")
        known = {member_text(row, "templateName", "name"): member_text(row, "templateId", "id") for row in rows}
        options = self.api.options
        return Security.of(known, options.security, options.restricted_security, options.everybody)


class TemplatesPart(HttpService):
    """Base of all parts of the service: client, limits, and what is known about the instance."""

    kind: ClassVar[str] = facts.NAME
    declared = facts.CAPABILITIES

    def __init__(self, context: Context) -> None:
        self.api = TemplatesApi.open(context)
        self.limits = self.api.limits
        self.tenant = TemplatesTenant(self.api)
        read = None if context.read_only else JustRead[VersionGroup](context.clock)
        self._base_url = context.base_url
        self._customer: str | None = None  # not known before `probe`
        self.version_groups = VersionGroups(self.api, just_read=read)
        if not self.api.options.relations:
            self.remove_capabilities(reads=[Feature.RELATIONS])

    @property
    def client(self) -> Client:
        """The client that sends the requests."""
        return self.api.client

    async def probe(self) -> Account:
        """Our user, then what it can see; 401 and 403 raise different errors (wire D 1.8)."""
        reply = await self.api.send(self.api.request(facts.USER))
        user = reply.json()
        self._customer = _customer_of(reply)
        total = await self.tenant.total(_LIVE)
        return Account(
            tenant=self.api.host,
            user=member_text(user, "emailId", "username", "userId"),
            release="v1.5",
            total=total,
            clock_skew=self._skew(reply),
            as_source=await self._notes(total),
            undecided_as_source=tuple(self._unset("source", "read")),
            undecided_as_target=tuple(self._unset("target", "written")),
        )

    async def library(self) -> Library | None:
        """See `Service.library`: all customers have one host, and the key selects the customer (wire D 1.1)."""
        return None if self._customer is None else Library.of_customer(facts.NAME, [self._base_url], self._customer)

    def _unset(self, role: str, done: str) -> Iterator[Undecided]:
        """Parts of assets that are kept in attributes, of which the job does not say whether there is one."""
        for name in OPTIONAL:
            option = f"{name}_field"
            if option not in self.api.options.model_fields_set:
                hint = (
                    f'the option `{option}` of the {role} names the attribute; `{option}: ""` says that there is none'
                )
                holds = FieldKind.TERM if name in ("status", "tags") else FieldKind.DATE
                part, text = Feature[name.upper()], f"{LEFT[name]} not {done}"
                yield Undecided(part, text, hint, holds, several=name == "tags")

    @interprets_response
    def _skew(self, reply: Response) -> timedelta:
        """How far the service's clock is ahead of ours, with the resolution of the Date header."""
        ahead = reply.ahead_of(self.api.clock.now())
        return ahead if abs(ahead) > _DATE_STEP else timedelta(0)

    async def _notes(self, total: int | None) -> tuple[str, ...]:
        everything = self.tenant.seen = await self.tenant.total(_BOTH)
        if total is None or everything is None:
            return ("the scan reports no total, so listings are counted by a search or a second scan",)
        more = everything - total
        return (f"older versions or in the recycle bin: {more:,} of the listed records",) if more else ()

    async def schema(self) -> Schema:
        """The neutral schema. Raises ConfigError for options that name a missing attribute."""
        forms = await self.tenant.forms.get()
        security = await self.tenant.security.get()
        schema = schema_of(forms, self.api.options.named, security.known)
        needs = {"groups"} if not security.default else set()
        needs |= {"profile"} if len(forms.templates) != 1 else set()
        lost = [Feature[name.upper()] for name in OPTIONAL if not getattr(self.api.options.named, name)]
        self.remove_capabilities(reads=lost, writes=lost if security.restricted else [*lost, Feature.CLOSED])
        return replace(schema, needs=frozenset(needs), capabilities=self.capabilities)

    def audience(self, draft: Draft) -> Audience:
        """Judged by the names of the security templates."""
        security = self.tenant.security.now
        return Audience() if security is None else security.audience(draft, self.tenant.forms.now)

    def closing_option(self, draft: Draft) -> ExposureOption | None:
        """The same for every asset."""
        security = self.tenant.security.now
        return None if security is None else security.closing_option()

    def exposure_options(self) -> ExposureOptions:
        options, security = self.api.options, self.tenant.security.now
        open_ = None if security is None else security.closing_option()
        closing = () if open_ is None or RESTRICTED in options.model_fields_set else (open_,)
        return ExposureOptions("everybody", options.everybody, closing)


@interprets_response
def _customer_of(reply: Response) -> str:
    """The number of the customer, from the record of our user; empty if it does not say (wire D 1.8)."""
    return member_text(reply.json(), "customerId")


def count_body(which: Mapping[str, bool]) -> dict[str, Json]:
    """Body of a scan whose total alone is read: values of its one record may be of any size."""
    return {**scan_body(1, which), "excludes": list(facts.THIN_EXCLUDES)}


def scan_body(limit: int, which: Mapping[str, bool]) -> dict[str, Json]:
    """Body of a scan in order of creation (wire D 2.1)."""
    return {
        "limit": limit,
        "searchTerm": ["*"],
        "operation": "AND",
        "sortBy": [{"metadataDefinitionSearchField": "createdEpoch", "order": "asc"}],
        "excludes": list(facts.EXCLUDES),
        **which,
    }


@interprets_response
def _template_ids(rows: Sequence[Json]) -> list[str]:
    """Ids of the templates for assets; of all where none says that it is one."""
    items = [row["template"] if isinstance(row.get("template"), dict) else row for row in rows]
    usable = [item for item in items if "default" in (item.get("templateType") or ["default"])]
    return [member_text(item, "templateId", "id") for item in usable or items]
