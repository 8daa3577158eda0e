"""What is known about the library of a job: the user, its name, its keys and sections, each read once."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from dam_sync.aio.single_flight import Proven, SingleFlight
from dam_sync.http.client import Client
from dam_sync.http.connected import HttpService
from dam_sync.http.dates import parse_timestamp
from dam_sync.http.interpreting import interprets_response, member_text
from dam_sync.model.connector import Context
from dam_sync.model.errors import ConfigError, OversizedResponse
from dam_sync.model.limits import MIB
from dam_sync.model.values import Json
from dam_sync.services.c_brandlibrary import facts
from dam_sync.services.c_brandlibrary.api import BrandLibraryApi
from dam_sync.services.c_brandlibrary.codec import fields, wire
from dam_sync.services.c_brandlibrary.codec.envelope import related
from dam_sync.services.c_brandlibrary.codec.fields import Key, Keys
from dam_sync.services.c_brandlibrary.source.listing import BrandLibraryListing
from dam_sync.services.c_brandlibrary.uploads import BrandLibraryUploads
from dam_sync.transfer.budget import MemoryBudget

MEMORY = 64 * MIB  # for ranges in flight, where the process has no budget of its own
_FEW = 10  # assets of a sample, where a page of them is too large to be read
UNKNOWN = frozenset({400, 404})  # the statuses of a search that is not understood (wire C 2.4)


@dataclass(frozen=True, slots=True)
class ChosenLibrary:
    """One library."""

    id: str
    name: str
    organization: str = ""


@dataclass(frozen=True, slots=True)
class LastChanged:
    """A page of the assets that changed last. several: names of keys with several values; oldest: when the last of them
    changed, None: not reported; read: when the page was requested, by the monotonic clock."""

    several: frozenset[str]
    oldest: datetime | None
    read: float


class BrandLibraryTenant:
    """Reads facts about the library as a whole."""

    def __init__(self, api: BrandLibraryApi) -> None:
        self.api = api
        self.counted: int | None = None  # assets, as the library itself reported when the key was proven
        self.chosen = SingleFlight(self._choose)
        self.keys = SingleFlight(self._keys)
        self._sample = SingleFlight(self._several)
        self._view_only = SingleFlight(self._find_view_only)
        self._payload = SingleFlight(self._has_payload)

    async def id(self) -> str:
        """The id of the job's library. Raises ConfigError if the job does not say which."""
        return (await self.chosen.get()).id

    async def has_payload(self) -> bool:
        """Whether some assets are not files."""
        return await self._payload.get()

    async def decode_context(self) -> wire.AssetDecodeContext:
        """The context for reading assets."""
        view_only = await self._view_only.get() if self.api.read_only else frozenset[str]()
        return wire.AssetDecodeContext(await self.keys.get(), view_only=view_only)

    async def _find_view_only(self) -> frozenset[str]:
        """Ids of view-only assets, which only a search returns (wire C 2.4); none
        if it is not supported."""
        found: set[str] = set()
        number, total = 1, 0
        while True:
            asked = (
                *(("search", "view_only:true"), ("page", str(number)), ("per", str(facts.LONG_PAGE))),
                *(("sort_by", "created_at"), ("order", "ASC")),
            )
            document = await self.api.listed(facts.LIBRARY_ASSETS, (await self.id(),), asked, accept=UNKNOWN)
            found |= {str(row["id"]) for row in document.rows}
            if document.refused or document.ends(total, len(found)):
                return frozenset(found)
            number, total = number + 1, len(found)

    async def _choose(self) -> ChosenLibrary:
        rows = await self.api.everything(facts.LIBRARIES, (), (("include", "organization"),))
        wanted = self.api.options.library
        found = [row for row in rows if not wanted or wanted in _names(row)]
        if len(found) == 1:
            organization = related(found[0], "organization")
            name = member_text(found[0]["attributes"], "name")
            return ChosenLibrary(found[0]["id"], name, organization[0]["id"] if organization else "")
        names = ", ".join(f"{row['attributes'].get('name')} ({row['id']})" for row in rows[:20]) or "none"
        if wanted:
            text = f"no library is called {wanted!r}" if not found else f"several libraries are called {wanted!r}"
        else:
            text = f"the key sees {len(rows)} libraries but the job does not name one"
        raise ConfigError(text, hint=f"set `options: {{library: …}}` to a name or an id; the key sees: {names}")

    async def _keys(self) -> Keys:
        rows = await self.listed_keys()
        several = (await self._sample.get()).several if rows else frozenset()
        return Keys.of(rows, several | self.api.options.multiple)

    def few_since(self, moment: datetime) -> bool:
        """Whether the sample of a moment ago shows that fewer assets than one page changed since then."""
        sample = self._sample.now
        if sample is None or sample.oldest is None:
            return False
        return sample.oldest < moment and self.api.clock.monotonic() - sample.read <= facts.SAMPLE_SECONDS

    async def refresh(self) -> Keys:
        """Read the keys again; knowledge about multiple values stays."""
        return await self.keys.again()

    def replace_key(self, key: Key) -> None:
        """Update a key that was just changed."""
        known = self.keys.now
        if known is not None:
            rows = [key if row.id == key.id else row for row in known.rows]
            self.keys.put(Keys.of(rows if key in rows else [*rows, key], known.multiple))

    async def listed_keys(self) -> tuple[Key, ...]:
        """The custom field keys as they are now."""
        return fields.keys_of(await self.api.everything(facts.KEYS, (await self.id(),)))

    async def _several(self) -> LastChanged:
        """Names of keys with several values in a sample of assets; no call reports it (wire C 5.1)."""
        began, rows = self.api.clock.monotonic(), tuple[Json, ...]()
        for size in (self.api.limits.page, _FEW, 1):
            with suppress(OversizedResponse):
                rows = await self._latest(size)
                break
        seen = Counter(name for row in rows for name, texts in wire.values_of(row).items() if len(texts) > 1)
        return LastChanged(frozenset(seen), changed_at(rows[-1]) if rows else None, began)

    async def _latest(self, number: int) -> tuple[Json, ...]:
        asked = (
            ("page", "1"),
            ("per", str(number)),
            ("sort_by", "updated_at"),
            ("order", "DESC"),
            ("include", "custom_fields"),
            ("fields", "updated_at"),
        )
        return (await self.api.listed(facts.LIBRARY_ASSETS, (await self.id(),), asked)).rows

    async def _has_payload(self) -> bool:
        """Whether there are sections for colours, fonts, people and the like (wire C 3.1)."""
        return any(is_fileless(row) for row in await self.api.everything(facts.SECTIONS, (await self.id(),)))


@interprets_response
def changed_at(row: Json) -> datetime | None:
    """When an asset changed last; None if its list does not report it."""
    return parse_timestamp(row["attributes"].get("updated_at"))


@interprets_response
def is_fileless(section: Json) -> bool:
    """Whether a section's assets have no files of their own."""
    return section["attributes"].get("default_asset_type") not in (None, "", facts.FILE_TYPE)


@interprets_response
def _names(row: Json) -> tuple[str, ...]:
    attributes = row["attributes"]
    return row["id"], member_text(attributes, "name").strip(), member_text(attributes, "slug")


class BrandLibraryBase(HttpService):
    """What all parts of the service share: the connection, what is known about the library, what was proven in this
    run.

    A part implements methods of `Service` and extends this class or another part, so that the service is their sum.
    """

    kind: ClassVar[str] = facts.NAME
    declared = facts.CAPABILITIES

    def __init__(self, context: Context) -> None:
        """No call is made yet. Raises ConfigError."""
        self._api = api = BrandLibraryApi.open(context)
        self._base_url = context.base_url
        self.limits = api.limits
        self._tenant = BrandLibraryTenant(api)
        self._listing = BrandLibraryListing(api)
        self._uploads = BrandLibraryUploads(api, context.budget or MemoryBudget(MEMORY), context.credentials)
        self._proven = Proven(context.clock)

    @property
    def client(self) -> Client:
        """The client that sends the requests."""
        return self._api.client
