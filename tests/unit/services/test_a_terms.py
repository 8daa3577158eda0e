"""Terms and bulks of service A that were begun, or that it says it did not do (wire A 5.3, 6.5)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from dam_sync.model.asset import AssetId, Patch
from dam_sync.model.errors import InvalidValue, Rejected
from dam_sync.model.estimator import Estimator
from dam_sync.model.values import Json, Localized, Term
from dam_sync.services.a_hypermedia.api.connection import EntryPoints
from dam_sync.services.a_hypermedia.taxonomy import completed
from tests.support.network.altered_transport import AlteredTransport
from tests.support.services.connected_a import FULL, Open, asset, serving
from tests.support.services.connections import alike

MANY = Patch(
    fields={
        "title": Localized({"en": "Harbour", "fr": "Port"}),
        "legend": Localized({"en": "Dawn", "fr": "Aube"}),
        "rating": 3,
        "cleared": False,
        "keywords": ("sea",),
    },
    status="archived",
)


@pytest.fixture
async def opened() -> AsyncIterator[Open]:
    async with serving() as start:
        yield start


async def test_a_term_that_was_begun_gets_its_other_titles(opened: Open) -> None:
    tenant = opened()
    service = tenant.connect()
    await service.schema()
    coast = Term("Coast", labels={"en": "Coast", "fr": "Côte"}, synonyms={"en": ("Shore",)})
    tenant.faults.add([{"match": "PUT /api/dam/thesauruses/*", "do": "status:403"}])
    with pytest.raises(Rejected):
        await service.ensure_term("subject", coast)
    tenant.faults.clear()
    for puts in (1, 0):
        with tenant.costs() as spent:
            await service.ensure_term("subject", coast)
        assert spent["PUT /api/dam/thesauruses/{id}"] == puts
        assert not any(call.startswith("POST") for call in spent)
    (made,) = [term async for term in service.terms("subject") if term.label == "Coast"]
    assert made.labels == {"en": "Coast", "fr": "Côte"}
    assert made.synonyms == {"en": ("Shore",)}


async def test_a_title_too_long_in_any_language_is_refused_before_the_term_is_made(opened: Open) -> None:
    tenant = opened()
    service = tenant.connect()
    await service.schema()
    with tenant.costs() as spent, pytest.raises(InvalidValue, match="101 characters"):
        await service.ensure_term("subject", Term("Coast", labels={"en": "Coast", "fr": "c" * 101}))
    assert not spent


def test_what_a_term_says_already_stays_and_its_keys_keep_their_spelling() -> None:
    term = Term("Coast", labels={"en": "Coast", "fr": "Côte", "de": ""}, synonyms={"en": ("Shore",)})
    known: Json = {"titles": {"en": "Seaside", "FR": ""}, "synonyms": {"en": ["Beach"]}, "descriptions": None}
    assert completed(known, term, over=False)["titles"] == {"en": "Seaside", "FR": "Côte"}
    assert completed(known, term, over=False)["synonyms"] == {"en": ["Beach"]}
    assert completed(known, term, over=True)["titles"] == {"en": "Coast", "FR": "Côte"}
    assert completed({}, term, over=True)["titles"] == {"EN": "Coast", "FR": "Côte"}


async def test_without_a_known_user_many_fields_are_written_one_by_one(opened: Open) -> None:
    tenant = opened(FULL, asset(2))
    service: Any = tenant.connect()
    await service.schema()
    entry: EntryPoints = await service._api.entry.get()
    object.__setattr__(entry, "user", "")
    first = tenant.of_catalogue(1)
    told = Estimator(service).write(MANY)
    with tenant.costs() as spent:
        await service.update(first, MANY)
    assert alike(spent) == alike(told)
    await is_written(service, first)


class IdleTransport(AlteredTransport):
    """Bulk updates update nothing."""

    def instead(self, request: httpx.Request) -> Json:
        is_bulk = request.method == "POST" and request.url.path.endswith("/bulks")
        return {"type": "UPDATE", "mediaCount": 1, "updatedCount": 0} if is_bulk else None


async def test_a_bulk_that_updated_no_media_is_done_field_by_field(opened: Open) -> None:
    tenant = opened(FULL, asset(2))
    tenant.transport = IdleTransport()
    service = tenant.connect()
    first = tenant.of_catalogue(1)
    await service.update(first, MANY)
    await is_written(service, first)


async def is_written(service: Any, asset: AssetId) -> None:
    found = await service.fetch(asset)
    assert {key: found.fields[key] for key in MANY.fields} == MANY.fields
    assert found.status == "archived"
