"""Texts of millions of characters: a page that they make too large is read piece by piece, an asset that is too large
by itself is listed all the same, and what is held at a time is a small factor of one text."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Mapping

from dam_sync.http.bounds import LARGEST_REPLY
from dam_sync.model.asset import AssetId
from dam_sync.model.errors import OversizedResponse
from dam_sync.model.name_bounds import LONGEST_NAME
from dam_sync.model.service import Service
from dam_sync.model.values import Value
from tests.conformance.catalogue import SCHEMA, asset, field
from tests.conformance.conftest import Start
from tests.conformance.tenant import Tenant
from tests.support.network.long_texts import WORD, LongTexts
from tests.support.pairs import KINDS
from tests.support.services.connections import entries

READINGS = tuple((kind, "") for kind in KINDS)
NUMBER = 4
LONG_KEY = 500_000
KEY_FACTOR = 16  # of the key, which a response repeats
FACTOR = 12  # of one text: what it takes as bytes and as text, for each of a few assets that are read at once


def long_library(start: Start, characters: int) -> tuple[Tenant, LongTexts, Service]:
    """Assets of which each has a text of so many characters, but for the last."""
    notes = [*(["note", WORD],) * (NUMBER - 1), ["note", "short"]]
    rows = [asset(number, fields={"title": f"{number}", key: text}) for number, (key, text) in enumerate(notes, 1)]
    tenant = start([*SCHEMA, *rows])
    tenant.transport = network = LongTexts(characters, tenant.transport)
    return tenant, network, tenant.connect(read_only=True)


def longest_in(fields: Mapping[str, Value]) -> int:
    return max(len(value) for value in fields.values() if isinstance(value, str))


async def test_a_page_that_is_too_large_is_read_piece_by_piece(start: Start) -> None:
    characters = LARGEST_REPLY * 2 // 5  # twice in the response for one asset at some services
    tenant, network, service = long_library(start, characters)
    tracemalloc.start()
    try:
        found = {entry.id: entry.asset for entry in await entries(service)}
        listed = tracemalloc.get_traced_memory()[1]
        found_long = []
        for identity, given in found.items():
            whole = given or await service.fetch(identity)
            found_long.append(longest_in(whole.fields))
            del whole
    finally:
        tracemalloc.stop()
    assert set(found) == set(tenant.truth())
    assert sorted(found_long)[1:] == [characters] * (NUMBER - 1)
    assert network.hits
    assert listed < FACTOR * characters, f"{listed / characters:.1f} times"


async def test_an_asset_that_is_too_large_by_itself_is_listed_and_others_are_read(start: Start) -> None:
    tenant, _, service = long_library(start, LARGEST_REPLY + 1)
    found = {entry.id: entry.asset for entry in await entries(service)}
    assert set(found) == set(tenant.truth())
    read = [identity for identity in found if await is_read(service, identity)]
    assert read == [tenant.of_catalogue(NUMBER)]


async def test_the_key_of_a_field_is_nothing_that_is_asked_for(start: Start) -> None:
    """A list of values is read by its key, which is quoted, and so several times as long, in a URL."""
    row = asset(1, fields={"title": "1", WORD: {"id": "11", "label": "France"}})
    tenant = start([*SCHEMA, field(WORD, "term", vocabulary="countries", label="Place"), row])
    tenant.transport = LongTexts(LONG_KEY, tenant.transport, letter="\u6f22")
    service = tenant.connect(read_only=True)
    tracemalloc.start()
    try:
        schema = await service.schema()
        for key in schema.vocabularies:
            async for _ in service.terms(key):
                pass
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    size = sys.getsizeof("\u6f22" * LONG_KEY)
    assert most < KEY_FACTOR * size, f"{most / size:.1f} times"
    assert max(map(len, (*schema.fields, *schema.vocabularies))) <= LONGEST_NAME


async def is_read(service: Service, identity: AssetId) -> bool:
    try:
        await service.fetch(identity)
    except OversizedResponse:
        return False
    return True
