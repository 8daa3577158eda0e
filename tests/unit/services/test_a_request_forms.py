"""Forms of request that no document shows are read back when they are first used, and replaced where they fail."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from dam_sync.aio.single_flight import LOOK_AGAIN, gather_or_raise
from dam_sync.model.asset import AssetId, Draft, Patch, Relation
from dam_sync.model.capabilities import Feature, Operation
from dam_sync.model.errors import ConfigError, InvalidValue, Rejected, Unsupported
from dam_sync.model.estimator import Estimator
from dam_sync.model.service import Service
from dam_sync.model.values import GeoPoint, Localized, Term
from tests.support.services.connected_a import FULL, Open, QuickClock, asset, draft_for, serving
from tests.support.services.connections import Bytes, alike, entries
from tests.support.state.memory_journal import MemoryJournal

BULKS = "POST /api/dam/users/*/selections/*/bulks"
FIELDS: Mapping[str, Any] = {
    "legend": Localized({"en": "Light", "fr": "Lumière"}),
    "rating": 3,
    "cleared": True,
    "keywords": ("sea", "dawn"),
    "spot": GeoPoint(48.382, -4.495, "Brest"),
}


@pytest.fixture
async def opened() -> AsyncIterator[Open]:
    async with serving() as start:
        yield start


async def create(service: Service, key: str = "m-1", **more: Any) -> tuple[AssetId, Draft]:
    terms = {term.label: term async for term in service.terms("subject")}
    draft = await draft_for(service, key, **{**FIELDS, "subject": (terms["Sea"],), **more})
    return await service.create(draft, Bytes(f"{key}.jpg", key.encode() * 30), MemoryJournal()), draft


async def check(service: Service, made: AssetId, draft: Draft) -> None:
    found = await service.fetch(made)
    assert {key: plain(found.fields.get(key)) for key in draft.fields} == {
        key: plain(value) for key, value in draft.fields.items()
    }
    assert found.status == "published"


def plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    return (value.id, value.label) if isinstance(value, Term) else value


@pytest.mark.parametrize("answer", ["odd", "empty", "status:400", "status:415", "status:422"])
async def test_a_bulk_without_effect_or_refused_is_replaced_by_single_puts(opened: Open, answer: str) -> None:
    tenant = opened(asset(1))
    service = tenant.connect()
    tenant.faults.add([{"match": BULKS, "do": answer}])
    made, draft = await create(service)
    await check(service, made, draft)
    with tenant.costs() as spent:
        made, draft = await create(service, "m-2")
    assert not [call for call in spent if "selections" in call], "the form that failed was used again"
    await check(service, made, draft)


class Waits(QuickClock):
    """Counts how often somebody waited before looking again."""

    def __init__(self) -> None:
        super().__init__()
        self.times = 0

    async def sleep(self, seconds: float) -> None:
        self.times += seconds == LOOK_AGAIN
        await super().sleep(seconds)


async def test_assets_that_are_written_at_the_same_time_wait_once_for_a_bulk_without_effect(opened: Open) -> None:
    tenant, clock = opened(asset(1), bulk="ignored"), Waits()
    service = tenant.connect(clock=clock)
    await service.schema()
    await gather_or_raise([create(service, f"m-{number}") for number in range(5)])
    assert clock.times <= len(FIELDS) + 3  # once for each form


async def test_a_bulk_that_loses_only_the_status_is_replaced(opened: Open) -> None:
    tenant = opened(asset(1))
    service = tenant.connect()
    await service.schema()
    tenant.faults.add([{"match": BULKS, "nth": 2, "do": "odd"}])  # the second language, in which the status rides
    made, draft = await create(service)
    await check(service, made, draft)


async def test_a_bulk_form_that_was_proven_is_not_doubted_for_the_error_of_one_asset(opened: Open) -> None:
    tenant = opened(asset(1))
    service = tenant.connect()
    await create(service)
    tenant.faults.add([{"match": BULKS, "nth": 1, "do": "status:400"}])
    with pytest.raises(InvalidValue):
        await create(service, "m-2")
    with tenant.costs() as spent:
        await create(service, "m-3")
    assert [call for call in spent if "bulks" in call]


async def test_what_single_puts_refuse_as_well_is_the_error_of_the_asset(opened: Open) -> None:
    tenant = opened(asset(1))
    service = tenant.connect()
    tenant.faults.add([{"match": BULKS, "nth": 1, "do": "status:400"}])
    tenant.faults.add([{"match": "PUT /api/dam/medias/*/metadatas/rating", "nth": 1, "do": "status:400"}])
    with pytest.raises(InvalidValue):
        await create(service)
    with tenant.costs() as spent:
        made, draft = await create(service, "m-2")
    assert [call for call in spent if "bulks" in call], "nothing showed that the form is wrong"
    await check(service, made, draft)


@pytest.mark.parametrize("bulk", ["off", False])
async def test_fields_are_written_one_by_one_from_the_start_where_the_job_says_so(opened: Open, bulk: Any) -> None:
    tenant = opened(asset(1))
    service = tenant.connect(bulk=bulk)
    await service.schema()
    with tenant.costs() as spent:
        made, draft = await create(service)
    assert not [call for call in spent if "selections" in call]
    await check(service, made, draft)
    with pytest.raises(ConfigError):
        tenant.connect(bulk="sometimes")


@pytest.mark.parametrize("bulk", ["auto", "off"])
async def test_the_first_use_costs_what_was_estimated_and_the_next_nothing_more(opened: Open, bulk: str) -> None:
    tenant = opened(asset(1))
    service = tenant.connect(bulk=bulk)
    await service.schema()
    terms = {term.label: term async for term in service.terms("subject")}
    reads = []
    for key in ("m-1", "m-2"):
        draft = await draft_for(service, key, **FIELDS, subject=(terms["Sea"],))
        told = Estimator(service).write(draft, 90)
        with tenant.costs() as spent:
            await service.create(draft, Bytes(f"{key}.jpg", key.encode() * 30), MemoryJournal())
        assert alike(spent) == alike(told)
        reads.append(sum(number for call, number in spent.items() if call.startswith("GET")))
    assert reads[0] > reads[1]


@pytest.mark.parametrize(
    ("field", "value"), [("keywords", ("sea",)), ("rating", 7), ("spot", GeoPoint(1.5, 2.5)), ("country", None)]
)
async def test_a_value_that_a_single_put_does_not_keep_is_reported(opened: Open, field: str, value: Any) -> None:
    tenant = opened(FULL, asset(2))
    service = tenant.connect()
    await service.schema()
    first, _ = await entries(service)
    tenant.faults.add([{"match": f"PUT /api/dam/medias/*/metadatas/{field}", "do": "odd"}])
    with pytest.raises(Rejected, match=f"field {field} was not written"):
        await service.update(first.id, Patch(fields={field: value}))


@pytest.mark.parametrize(
    ("match", "text"),
    [
        ("POST /api/dam/folders/*/medias", "is not in folder"),
        ("POST /api/dam/medias/*/labels", "is not in label"),
        ("DELETE /api/dam/folders/*/medias/*", "stays in folder"),
        ("DELETE /api/dam/medias/*/labels/*", "stays in label"),
        ("PUT /api/dam/medias/*", "status"),
    ],
)
async def test_a_change_without_effect_is_reported(opened: Open, match: str, text: str) -> None:
    tenant = opened(FULL, asset(2, placements=[]))
    service = tenant.connect()
    await service.schema()
    places = {place.text: place async for place in service.containers()}
    first, second = await entries(service)
    both = frozenset({places["/Press/2024"], places["/Highlight"]})
    tenant.faults.add([{"match": match, "do": "odd"}])
    changes = {second.id: Patch(placements_add=both, status="archived"), first.id: Patch(placements_remove=both)}
    messages = [str(error) for error in [await refusal(service, media, patch) for media, patch in changes.items()]]
    assert text in "\n".join(messages)


async def refusal(service: Service, media: AssetId, patch: Patch) -> Rejected | None:
    try:
        await service.update(media, patch)
    except Rejected as error:
        return error
    return None


async def test_a_link_without_effect_is_reported(opened: Open) -> None:
    tenant = opened(FULL, asset(2), asset(3))
    service = tenant.connect()
    await service.schema()
    first, _, third = await entries(service)
    await service.fetch(first.id)
    tenant.faults.add([{"match": "POST /api/dam/medias/*/media-links/*/medias", "do": "odd"}])
    with pytest.raises(Rejected, match="the link"):
        await service.relate(first.id, Relation("Views of the object", third.id))


async def test_an_attachment_without_bytes_is_reported(opened: Open) -> None:
    tenant = opened(FULL, asset(2))
    service = tenant.connect()
    first, _ = await entries(service)
    tenant.faults.add([{"match": "PUT *", "do": "odd"}])
    with pytest.raises(Rejected, match="does not have its bytes"):
        await service.attach(first.id, Bytes("more.pdf", b"m" * 40, "application/pdf"), MemoryJournal())


async def test_a_term_whose_languages_are_not_written_is_reported(opened: Open) -> None:
    tenant = opened(asset(1))
    service = tenant.connect()
    await service.schema()
    tenant.faults.add([{"match": "PUT /api/dam/thesauruses/*", "do": "odd"}])
    with pytest.raises(Rejected, match="the languages of the term"):
        await service.ensure_term("subject", Term("Moor", labels={"en": "Moor", "fr": "Lande"}))


async def test_a_media_that_does_not_go_to_the_trash_is_reported(opened: Open) -> None:
    tenant = opened(asset(1))
    service = tenant.connect()
    (entry,) = await entries(service)
    tenant.faults.add([{"match": "DELETE /api/dam/medias/*", "nth": 1, "do": "odd"}])
    with pytest.raises(Rejected, match="not in the trash"):
        await service.remove(entry.id)
    await service.remove(entry.id)
    assert (await service.fetch(entry.id)).status == "trash"


async def test_an_option_says_that_an_instance_refuses_attachments(opened: Open) -> None:
    tenant = opened(FULL, asset(2))
    tenant.faults.add([{"match": "POST /api/dam/medias/*/attachments", "times": 9, "do": "status:405"}])
    service = tenant.connect()
    first, *_ = await entries(service)
    with pytest.raises(Unsupported) as refused:
        await service.attach(first.id, Bytes("more.pdf", b"m" * 40, "application/pdf"), MemoryJournal())
    assert "`attachments: off`" in refused.value.hint
    without = tenant.connect(attachments="off").capabilities
    assert service.capabilities.without(Operation.ATTACH, writes=[Feature.ATTACHMENTS]) == without
