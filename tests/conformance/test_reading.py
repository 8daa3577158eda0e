"""The contract of a source: whole assets, their files, vocabularies, containers."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Callable

import pytest

from dam_sync.model.asset import Asset, AssetId, FileRef, Placement, Relation
from dam_sync.model.capabilities import Operation
from dam_sync.model.codec import rights_from_json
from dam_sync.model.errors import IntegrityError, NotFound, Rejected, Transient
from dam_sync.model.schema import Schema
from dam_sync.model.service import Service
from dam_sync.model.values import Json, parse_instant
from tests.conformance.catalogue import FLAT, NESTED, SCHEMA, asset
from tests.conformance.drafts import vocabulary_of
from tests.conformance.tenant import Tenant, own_fields, true_fields
from tests.support.services.connections import body, entries

Fresh = Callable[..., Tenant]
FIELDS = [row["key"] for row in SCHEMA if row["record"] == "field"]


async def whole(tenant: Tenant, service: Service, number: int = 1) -> Asset:
    return await service.fetch(tenant.of_catalogue(number))


def readable(tenant: Tenant, identity: AssetId) -> list[Json]:
    """The versions whose bytes the service returns: all, or the current one."""
    versions: list[Json] = tenant.truth()[identity]["versions"]
    return versions[-1:] if "read:versions" in tenant.absent else versions


# -- fetch -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", FIELDS)
async def test_each_field_is_read_as_it_is(tenant: Tenant, source: Service, schema: Schema, key: str) -> None:
    found, key = await whole(tenant, source), tenant.key(key)
    wanted = tenant.as_read(true_fields(tenant.truth()[found.id], schema))
    assert tenant.as_read(own_fields(found.fields))[key] == wanted[key]


async def test_no_asset_has_more_fields_than_it_has(tenant: Tenant, source: Service, schema: Schema) -> None:
    for identity, row in tenant.shown().items():
        found = tenant.as_read(own_fields((await source.fetch(identity)).fields))
        wanted = tenant.as_read(true_fields(row, schema))
        own = {tenant.key(key) for key in FIELDS} | wanted.keys()
        assert {key: found[key] for key in found if key in own} == wanted


async def test_every_field_read_is_in_the_schema(tenant: Tenant, source: Service, schema: Schema) -> None:
    assert set((await whole(tenant, source)).fields) <= schema.fields.keys()


async def test_what_a_listing_gives_whole_is_what_fetch_gives(source: Service) -> None:
    for entry in await entries(source):
        assert entry.asset is None or entry.asset == await source.fetch(entry.id)


async def test_the_revision_of_a_listing_is_that_of_fetch(source: Service) -> None:
    for entry in await entries(source):
        assert entry.revision == (await source.fetch(entry.id)).revision


@pytest.mark.parametrize("number", [1, 2, pytest.param(6, marks=pytest.mark.needs("read:trash")), 7])
async def test_name_type_and_status(tenant: Tenant, source: Service, number: int) -> None:
    found = await whole(tenant, source, number)
    row = tenant.truth()[found.id]
    assert (found.filename, found.type) == (row["filename"], row["type"])
    assert found.status == row["status"]
    assert (found.status == "trash") == (number == 6)


async def test_versions_come_oldest_first_and_end_with_the_current_one(tenant: Tenant, source: Service) -> None:
    found = await whole(tenant, source)
    truth = readable(tenant, found.id)
    assert [(file.name, file.size) for file in found.versions] == [(row["name"], row["size"]) for row in truth]
    assert found.file == found.versions[-1]
    assert len({file.id for file in found.versions}) == len(truth)
    if "read:versions" in tenant.absent:
        assert any(loss.path == "versions" for loss in found.losses)
    else:
        assert len(truth) == 3


async def test_published_digests_are_right(tenant: Tenant, source: Service) -> None:
    found = await whole(tenant, source)
    for file, row in zip(found.versions, readable(tenant, found.id), strict=True):
        assert bool(file.digests) == ("digests" not in tenant.wired.quiet)
        assert file.digests.items() <= row["digests"].items()


async def test_dates_are_those_of_the_service(tenant: Tenant, source: Service) -> None:
    found = await whole(tenant, source, 2)
    row = tenant.truth()[found.id]
    assert found.created_at == parse_instant(row["created_at"])
    assert found.changed_at == parse_instant(row["changed_at"])
    assert found.imported_at == parse_instant(row["imported_at"])


async def test_tags(tenant: Tenant, source: Service) -> None:
    found = await whole(tenant, source)
    assert found.tags == set(tenant.truth()[found.id]["tags"])


async def test_rights(tenant: Tenant, source: Service) -> None:
    found = await whole(tenant, source)
    assert found.rights == rights_from_json(tenant.truth()[found.id]["rights"])


@pytest.mark.needs("read:relations")
async def test_relations(tenant: Tenant, source: Service) -> None:
    found = await whole(tenant, source)
    assert found.relations == {Relation(tenant.relation, tenant.of_catalogue(2))}


@pytest.mark.needs("read:attachments")
async def test_attachments(tenant: Tenant, source: Service) -> None:
    found = await whole(tenant, source)
    (row,) = tenant.truth()[found.id]["attachments"]
    assert [(file.name, file.size or row["size"]) for file in found.attachments] == [(row["name"], row["size"])]
    assert not (await whole(tenant, source, 2)).attachments


async def test_memberships_come_with_the_asset_or_from_the_containers(tenant: Tenant, source: Service) -> None:
    found: dict[AssetId, set[tuple[str, str]]] = {}
    if Operation.MEMBERS in source.capabilities:
        async for membership in source.members():
            place = (membership.placement.kind, membership.placement.text)
            for each in membership.assets:
                if membership.unsure:  # a listing that includes the children says so of each of their assets
                    assert any(kind == place[0] and text.startswith(f"{place[1]}/") for kind, text in found[each])
                else:
                    found.setdefault(each, set()).add(place)
    for identity in tenant.shown():
        for place in (await source.fetch(identity)).placements:
            found.setdefault(identity, set()).add((place.kind, place.text))
    truth = {
        key: {(place["kind"], Placement(place["kind"], tuple(place["path"])).text) for place in row["placements"]}
        for key, row in tenant.shown().items()
    }
    assert {key: places for key, places in found.items() if places} == {k: v for k, v in truth.items() if v}


UNKNOWN = ["999999999", "00000000-0000-4000-8000-000000000000", "no such", "../../etc", "a/b?c=d#e", "%2e%2e", "é"]


@pytest.mark.calls(15)
@pytest.mark.parametrize("identity", UNKNOWN)
async def test_an_unknown_asset_is_not_found(source: Service, identity: str) -> None:
    with pytest.raises(Rejected if ".." in identity else NotFound) as missed:  # it would lead to another call
        await source.fetch(AssetId(identity))
    assert missed.value.asset == identity


async def test_a_fetch_costs_few_calls(tenant: Tenant, source: Service) -> None:
    await whole(tenant, source, 3)
    with tenant.costs() as spent:
        await whole(tenant, source, 2)
    assert spent.total() <= 5


async def test_assets_can_be_fetched_at_once(tenant: Tenant, source: Service) -> None:
    ids = list(tenant.shown())
    found = await asyncio.gather(*(source.fetch(identity) for identity in ids * 3))
    assert [each.id for each in found] == ids * 3


@pytest.mark.parametrize("fault", ["reset_before", "reset_after", "status:503", "throttle:2", "truncate:0.5"])
@pytest.mark.needs("network")
async def test_a_passing_fault_is_survived(tenant: Tenant, source: Service, fault: str) -> None:
    identity = tenant.of_catalogue(1)
    tenant.fail({"match": f"GET *{identity}*", "nth": 1, "do": fault})
    assert (await source.fetch(identity)).id == identity


# -- open --------------------------------------------------------------------------------------------------------------


async def files(tenant: Tenant, service: Service) -> list[tuple[FileRef, str]]:
    """All files of the full asset, and the SHA-256 of each."""
    found = await whole(tenant, service)
    row = tenant.truth()[found.id]
    rows = (*readable(tenant, found.id), *row["attachments"])
    pairs = zip((*found.versions, *found.attachments), rows, strict=True)
    return [(file, each["digests"]["sha256"]) for file, each in pairs]


async def test_the_bytes_of_every_file_are_right(tenant: Tenant, source: Service) -> None:
    for file, digest in await files(tenant, source):
        assert hashlib.sha256(await body(source, file)).hexdigest() == digest


@pytest.mark.parametrize("offset", [1, 450, 899])
async def test_bytes_come_from_any_offset(tenant: Tenant, source: Service, offset: int) -> None:
    file = (await whole(tenant, source)).versions[-1]
    data = await body(source, file)
    assert await body(source, file, offset) == data[offset:]


async def test_a_stream_says_where_it_starts_and_how_long_the_file_is(tenant: Tenant, source: Service) -> None:
    file = (await whole(tenant, source)).versions[-1]
    for offset in (0, 100):
        stream = await source.open(file, offset)
        assert stream.start in (0, offset)
        assert stream.total in (None, file.size)
        await stream.aclose()
        await stream.aclose()


@pytest.mark.needs("network")
async def test_bytes_are_no_api_calls(tenant: Tenant, source: Service) -> None:
    file = (await whole(tenant, source)).versions[-1]
    before = tenant.world.storage_calls
    with tenant.costs() as spent:
        await body(source, file)
    assert spent.total() == tenant.wired.opening
    assert tenant.world.storage_calls > before


@pytest.mark.needs("limits:link")
async def test_an_expired_link_is_renewed(fresh: Fresh) -> None:
    tenant = fresh()
    service = tenant.connect(read_only=True)
    for file, digest in await files(tenant, service):
        tenant.advance(40 * 24 * 3600)
        assert hashlib.sha256(await body(service, file)).hexdigest() == digest


async def test_long_after_the_listing_the_bytes_still_come(fresh: Fresh) -> None:
    tenant = fresh()
    service = tenant.connect(read_only=True)
    several = await files(tenant, service)
    tenant.advance(400 * 24 * 3600)
    for file, digest in several:
        assert hashlib.sha256(await body(service, file)).hexdigest() == digest
        assert len(await body(service, file, 10)) == len(await body(service, file)) - 10


async def test_a_file_without_its_link_is_opened_by_another_process(tenant: Tenant, source: Service) -> None:
    """As runs do: links are never stored."""
    several = await files(tenant, source)
    other = tenant.connect(read_only=True)
    for file, digest in several:
        bare = FileRef(file.id, file.name, file.size, file.media_type, file.digests, file.created_at)
        assert hashlib.sha256(await body(other, bare)).hexdigest() == digest


async def test_the_file_of_an_unknown_asset_is_not_found(tenant: Tenant, source: Service) -> None:
    file = (await whole(tenant, source)).versions[-1]
    identity = tenant.of_catalogue(1)
    unknown = FileRef(file.id.replace(identity, identity[:-1] + ("1" if identity[-1] != "1" else "2") * 5), "x.jpg", 10)
    with pytest.raises(Rejected):
        await body(source, unknown)


@pytest.mark.parametrize("fault", ["truncate:0.5", "reset_before", "wrong_length:0.5"])
@pytest.mark.needs("network")
async def test_a_broken_download_raises_an_error_or_is_short(fresh: Fresh, fault: str) -> None:
    """Never silently mended with other bytes: what is missing is seen by whoever counts."""
    tenant = fresh([*SCHEMA, asset(1, versions=[{"name": "a.jpg", "generate": {"size": 300_000, "seed": 1}}])])
    service = tenant.connect(read_only=True)
    file = (await whole(tenant, service)).versions[-1]
    data = await body(service, file)
    tenant.fail({"match": "GET *", "nth": 1, "do": fault})
    try:
        broken = await body(service, file)
    except (Transient, IntegrityError):
        broken = b""
    assert data.startswith(broken)
    assert await body(service, file) == data


async def test_many_files_at_once(tenant: Tenant, source: Service) -> None:
    several = await files(tenant, source)
    bodies = await asyncio.gather(*(body(source, file) for file, _ in several * 4))
    assert [hashlib.sha256(data).hexdigest() for data in bodies] == [digest for _, digest in several * 4]


async def test_an_open_download_does_not_hold_up_others(tenant: Tenant, source: Service) -> None:
    """More streams open than storage takes at once, none of them read yet."""
    file = (await whole(tenant, source)).versions[-1]
    streams = [await asyncio.wait_for(source.open(file), 10) for _ in range(source.limits.pace.storage_at_once + 2)]
    assert len(await asyncio.wait_for(body(source, file), 10)) == file.size
    for stream in streams:
        await stream.aclose()


# -- vocabularies and containers ---------------------------------------------------------------------------------------


@pytest.mark.needs(Operation.TERMS)
@pytest.mark.parametrize(
    ("key", "labels"), [("subject", {"Nature", "Sea", "Wood", "City"}), ("country", {"France", "Spain"})]
)
async def test_every_term_is_listed_once(source: Service, schema: Schema, key: str, labels: set[str]) -> None:
    found = [term async for term in source.terms(vocabulary_of(source, schema, key))]
    assert Counter(term.label for term in found) == Counter(labels)
    assert len({term.id for term in found}) == len(found)
    assert all(term.id for term in found)


@pytest.mark.needs(Operation.TERMS)
async def test_parents_come_before_their_children(source: Service, schema: Schema) -> None:
    vocabulary = schema.vocabularies[vocabulary_of(source, schema, "subject")]
    paths: dict[str, tuple[str, ...]] = {"": ()}
    async for term in source.terms(vocabulary.key):
        assert term.parent in paths
        assert term.path == (*paths[term.parent], term.label)
        paths[term.id] = term.path
    deep = {path for path in paths.values() if len(path) == 2}
    assert deep == ({("Nature", "Sea"), ("Nature", "Wood")} if vocabulary.hierarchical else set())


@pytest.mark.needs(Operation.TERMS)
async def test_terms_speak_the_languages_of_the_vocabulary(source: Service, schema: Schema) -> None:
    vocabulary = schema.vocabularies[vocabulary_of(source, schema, "subject")]
    terms = {term.label: term async for term in source.terms(vocabulary.key)}
    if vocabulary.localized:
        assert terms["Sea"].labels == {"en": "Sea", "fr": "Mer"}


@pytest.mark.needs(Operation.TERMS)
async def test_the_terms_of_an_unknown_vocabulary_are_refused(source: Service) -> None:
    with pytest.raises(Rejected):
        [term async for term in source.terms("no such vocabulary")]


@pytest.mark.needs(Operation.CONTAINERS)
async def test_every_container_is_listed_once(tenant: Tenant, source: Service) -> None:
    kinds = tenant.wired.containers
    nested = [(" / ".join(path),) for path in NESTED] if "nested" in tenant.absent else NESTED
    wanted = Counter((kind, path) for name, kind in kinds.items() for path in (nested if name == "folder" else FLAT))
    found = [place async for place in source.containers()]
    assert Counter((place.kind, place.path) for place in found) == wanted
    assert len({(place.kind, place.id) for place in found}) == len(found)
    assert all(place.id for place in found)


@pytest.mark.needs(Operation.CONTAINERS)
async def test_containers_come_after_their_parents(source: Service) -> None:
    seen = set()
    async for place in source.containers():
        assert len(place.path) == 1 or (place.kind, place.path[:-1]) in seen
        seen.add((place.kind, place.path))
