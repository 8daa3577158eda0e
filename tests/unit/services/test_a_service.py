"""Service A as a source, against its emulator over sockets: two readings of one contract."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

import httpx
import pytest

from dam_sync.http.auth.base import Basic, ClientCredentials, SignedToken
from dam_sync.model.asset import Asset, AssetId, FileRef, Patch
from dam_sync.model.capabilities import Operation
from dam_sync.model.connector import Context
from dam_sync.model.errors import ConfigError, DamSyncError, Denied, Rejected
from dam_sync.model.estimator import Estimator
from dam_sync.model.schema import FieldKind
from dam_sync.model.service import Window
from dam_sync.model.values import GeoPoint, Localized, Person
from dam_sync.services.a_hypermedia import CONNECTOR
from dam_sync.services.a_hypermedia.api.client import authenticator_of
from dam_sync.services.a_hypermedia.api.hal import embedded
from dam_sync.services.a_hypermedia.codec.wire import NAMESAKES
from dam_sync.services.a_hypermedia.facts import LANGUAGES
from tests.support.network.altered_transport import AlteredTransport
from tests.support.services.connected_a import FULL, PASSWORD, Open, asset, draft_for, serving
from tests.support.services.connections import Bytes, body, entries
from tests.support.services.small_limits import changed
from tests.support.services.typed_options import typed
from tests.support.state.memory_journal import MemoryJournal


@pytest.fixture
async def opened() -> AsyncIterator[Open]:
    async with serving() as start:
        yield start


async def test_probe_says_who_we_are_and_what_we_see(opened: Open) -> None:
    tenant = opened(asset(1), asset(2))
    service = tenant.connect()
    account = await service.probe()
    assert (account.user, account.total) == ("dam-sync", 2)
    assert account.release.startswith("4.")
    assert abs(account.clock_skew) < timedelta(seconds=5)


async def test_a_wrong_password_is_denied(opened: Open) -> None:
    service = opened().connect({**PASSWORD, "password": "wrong"})
    with pytest.raises(Denied):
        await service.probe()


async def test_a_signed_token_opens_too(opened: Open) -> None:
    auth = {"flow": "signed_token", "client_id": "demo-instance-id", "login": "dam-sync", "key": "sharedkey123"}
    service = opened(asset(1)).connect({**auth, "algorithm": "HS256"})
    assert (await service.probe()).total == 1


@pytest.mark.parametrize(
    ("auth", "kind"),
    [
        (PASSWORD, Basic),
        ({"flow": "signed_token", "client_id": "i", "login": "l", "key": "k" * 32, "algorithm": "HS512"}, SignedToken),
        (
            {"flow": "client_credentials", "token_url": "http://127.0.0.1:1/t", "client_id": "i", "client_secret": "s"},
            ClientCredentials,
        ),
    ],
)
def test_each_auth_method_makes_its_credential(auth: Mapping[str, str], kind: type) -> None:
    context = typed(CONNECTOR, Context("http://127.0.0.1:1", auth))
    assert isinstance(authenticator_of(context), kind)


def test_what_the_options_refuse_is_said() -> None:
    for options in ({"keyset": "maybe"}, {"timezone": "Mars/Olympus"}, {"index_lag": "soon"}):
        with pytest.raises(ConfigError, match=next(iter(options))):
            typed(CONNECTOR, Context("http://127.0.0.1:1", PASSWORD, options))
    with pytest.raises(ConfigError, match="saml"):
        typed(CONNECTOR, Context("http://127.0.0.1:1", {"flow": "saml"}))


async def test_the_schema_of_the_instance(opened: Open) -> None:
    service = opened().connect()
    schema = await service.schema()
    kinds = {key: schema.fields[key].kind for key in ("title", "legend", "shot_date", "subject", "country", "spot")}
    assert kinds == {
        "title": FieldKind.TEXT,
        "legend": FieldKind.LONG_TEXT,
        "shot_date": FieldKind.DATE,
        "subject": FieldKind.TERM,
        "country": FieldKind.TERM,
        "spot": FieldKind.PLACE,
    }
    assert schema.fields["title"].localized
    assert schema.fields["title"].required
    assert schema.fields["keywords"].multiple
    assert schema.fields["title"].types == {"Photo", "Video"}
    assert schema.vocabularies["subject"].label == "Subjects"
    assert schema.vocabularies["country"].closed
    assert schema.statuses is not None
    assert {"published", "Internal"} <= schema.statuses
    assert schema.labels == frozenset({"Highlight"})
    assert schema.locales == ("en", "fr")


async def test_content_languages_are_asked_of_the_instance(opened: Open) -> None:
    service = opened(asset(1), languages=["fr", "en"]).connect(locales=None)
    assert set((await service.schema()).locales) == {"en", "fr"}
    assert service.calls["GET /api/dam/medias/{mediaId}"] == len(LANGUAGES)


async def test_no_media_is_read_for_languages_that_the_job_names(opened: Open) -> None:
    service = opened(asset(1), languages=["fr", "en"]).connect(locales="en,fr")
    assert (await service.schema()).locales == ("en", "fr")
    assert "GET /api/dam/medias/{mediaId}" not in service.calls


async def test_languages_that_the_job_names_and_the_instance_lacks_are_found(opened: Open) -> None:
    service = opened(asset(1), languages=["fr", "en"]).connect(locales="en,xx,de")
    assert tuple(await service.unknown_languages()) == ("xx", "de")
    assert service.calls["GET /api/dam/medias/{mediaId}"] == 3
    assert tuple(await opened(asset(1), languages=["en"]).connect(locales=None).unknown_languages()) == ()
    assert tuple(await opened(languages=["en"]).connect(locales="xx").unknown_languages()) == ()


async def test_the_first_language_is_that_of_the_user_before_there_is_a_media_as_well(opened: Open) -> None:
    tenant = opened(languages=["fr", "en"])
    async with httpx.AsyncClient(base_url=f"{tenant.served.url}/api/dam", auth=("dam-sync", "secret-a")) as client:
        for root in (await client.get("/thesaurus-tree")).json()["_embedded"]["child"]:
            whole = (await client.get(f"/thesauruses/{root['id']}")).json()
            titles = {"EN": "Subjects", "FR": "Sujets"}
            assert (await client.put(f"/thesauruses/{root['id']}", json={**whole, "titles": titles})).is_success
    assert (await tenant.connect(locales=None).schema()).locales == ("fr", "en")


async def test_terms_and_containers(opened: Open) -> None:
    service = opened().connect()
    terms = {term.label: term async for term in service.terms("subject")}
    assert terms["Sea"].path == ("Nature", "Sea")
    assert (terms["Sea"].parent, terms["Nature"].parent) == (terms["Nature"].id, "")
    assert terms["Sea"].labels == {"en": "Sea", "fr": "Mer"}
    assert terms["Sea"].synonyms == {"en": ("Ocean",)}
    assert [term.label async for term in service.terms("country")] == ["France", "Spain"]
    assert [place.text async for place in service.containers()] == ["/Press", "/Press/2024", "/Highlight"]


def check_full(found: Asset) -> None:
    assert found.fields["title"] == Localized({"en": "Harbour at dawn", "fr": "Port à l’aube"})
    assert found.fields["legend"] == Localized({"en": "First light"})
    assert found.fields["shot_date"] == date(2025, 2, 6)
    assert found.fields["seen_at"] == datetime(2025, 2, 6, 10, 30, tzinfo=UTC)
    assert (found.fields["rating"], found.fields["cleared"]) == (12.5, True)
    assert found.fields["keywords"] == ("harbour", "dawn")
    assert found.fields["spot"] == GeoPoint(48.382, -4.495, "Brest, France")
    assert [term.label for term in found.fields["subject"]] == ["Sea"]  # type: ignore[union-attr]
    assert found.fields["country"].label == "France"  # type: ignore[union-attr]
    assert (found.status, found.substatus, found.type) == ("published", "Internal", "Photo")
    assert {place.text for place in found.placements} == {"/Press/2024", "/Highlight"}
    assert [file.name for file in found.versions] == ["old.jpg", "harbour.jpg"]
    assert [file.name for file in found.attachments] == ["plan.pdf"]
    assert [relation.kind for relation in found.relations] == ["Views of the object"]


@pytest.mark.parametrize("zone", ["Europe/Paris", None])
async def test_one_asset_complete(opened: Open, zone: str | None) -> None:
    tenant = opened(FULL, asset(2))
    service = tenant.connect(timezone=zone)
    first, second = await entries(service)
    found = await service.fetch(first.id)
    check_full(found)
    assert found.revision == first.revision
    assert {relation.target for relation in found.relations} == {second.id}
    truth = tenant.truth()[first.id]
    assert [file.digests["md5"] for file in found.versions] == [row["digests"]["md5"] for row in truth["versions"]]


async def test_a_plain_asset_costs_one_call_a_language(opened: Open) -> None:
    tenant = opened(asset(1), asset(2))
    service = tenant.connect()
    first, second = await entries(service)
    await service.fetch(first.id)
    with tenant.costs() as spent:
        await service.fetch(second.id)
    assert sum(spent.values()) == 2


@pytest.mark.parametrize("number", [0, 1, 100, 101, 230])
async def test_every_asset_is_listed_once(opened: Open, number: int) -> None:
    tenant = opened(*[asset(n + 1) for n in range(number)])
    service = tenant.connect()
    found = await entries(service)
    assert len(found) == len({entry.id for entry in found}) == number
    assert {entry.id for entry in found} == set(tenant.truth())
    assert all(entry.asset is None for entry in found)


async def test_without_a_keyset_pages_are_read(opened: Open) -> None:
    service = opened(*[asset(n + 1) for n in range(130)]).connect(keyset="off")
    assert len({entry.id for entry in await entries(service)}) == 130


@pytest.mark.parametrize("dated", [True, False])
async def test_a_library_beyond_the_reach_is_cut(opened: Open, dated: bool) -> None:
    """By date where the dates differ, by folder within a second that holds too many."""
    records = []
    for number in range(1, 121):
        when = datetime(2024, 1, 1, tzinfo=UTC) + timedelta(hours=7 * number if dated else 0)
        folder = ["Press", "2024"] if number % 4 == 0 else [f"Box {number % 4}"]
        places = [{"kind": "folder", "path": folder, "id": ""}]
        records.append(asset(number, imported_at=when.isoformat(), placements=places))
    boxes = [{"record": "container", "kind": "folder", "path": [f"Box {number}"]} for number in (1, 2, 3)]
    tenant = opened(*boxes, *records, window=40)
    tenant.limits = changed("a_hypermedia", page=10, reach=40)
    service = tenant.connect(keyset="off")
    shards = [shard async for shard in service.shards(Window())]
    assert len(shards) >= 4
    assert {"container" in shard.params for shard in shards if shard.expected} == {not dated}
    assert all((shard.expected or 0) <= 40 for shard in shards)
    found = [entry.id for entry in await entries(service)]
    assert sorted(found) == sorted(tenant.truth())


async def test_a_crawl_goes_on_from_any_cursor(opened: Open) -> None:
    service = opened(*[asset(n + 1) for n in range(250)]).connect()
    (shard,) = [shard async for shard in service.shards(Window())]
    batches = [batch async for batch in service.crawl(shard, None)]
    assert [len(batch.entries) for batch in batches] == [100, 100, 50]
    again = [batch async for batch in service.crawl(shard, batches[0].cursor)]
    assert [batch.entries for batch in again] == [batch.entries for batch in batches[1:]]
    assert shard.expected == 250


async def test_a_rich_search_saves_the_single_reads(opened: Open) -> None:
    tenant = opened(FULL, asset(2), asset(3), rich_search=True)
    service = tenant.connect()
    found = await entries(service)
    whole = [entry for entry in found if entry.asset is not None]
    for entry in whole:
        assert entry.asset == await service.fetch(entry.id)
    thin = [entry.id for entry in found if entry.asset is None]
    assert [tenant.truth()[identity]["catalogue_id"] for identity in thin] == ["1"]  # has versions and links


class LosingTransport(AlteredTransport):
    """Searches in French lack their first row."""

    def altered(self, request: httpx.Request, body: Any) -> Any:
        is_french = request.headers.get("accept-language") == "fr" and "/search/" in request.url.path
        if is_french and (rows := embedded(body, "media")):
            body["_embedded"]["media"] = rows[1:]
        return body


async def test_a_row_that_one_language_lacks_is_read_by_itself(opened: Open) -> None:
    tenant = opened(asset(2), asset(3), rich_search=True)
    tenant.transport = LosingTransport()
    service = tenant.connect()
    gone, kept = await entries(service)
    assert gone.asset is None
    assert kept.asset == await service.fetch(kept.id)


@pytest.mark.parametrize("keyset", ["auto", "off"])
@pytest.mark.parametrize("details", [True, False])
async def test_a_delta_holds_what_changed_and_what_went_into_the_trash(
    opened: Open, keyset: str, details: bool
) -> None:
    tenant = opened(*[asset(n + 1) for n in range(5)], trash_details=details)
    service = tenant.connect(keyset=keyset)
    first, second, *_ = await entries(service)
    tenant.world.advance(3600)
    since = tenant.world.now()
    await service.update(first.id, Patch(fields={"rating": 99}))
    await service.remove(second.id)
    found = {entry.id: entry for entry in await entries(service, Window(since, since + timedelta(hours=1)))}
    assert set(found) == {first.id, second.id}
    assert found[second.id].deleted
    assert not found[first.id].deleted
    assert found[first.id].revision != first.revision


async def test_files_open_at_any_offset_and_links_are_renewed(opened: Open) -> None:
    tenant = opened(FULL, asset(2))
    service = tenant.connect()
    entry, _ = await entries(service)
    found = await service.fetch(entry.id)
    for file in (*found.versions, *found.attachments):
        whole = await body(service, file)
        assert len(whole) == file.size
        assert await body(service, file, 100) == whole[100:]
        forgotten = FileRef(file.id, file.name, file.size)
        assert await body(service, forgotten) == whole
        if md5 := file.digests.get("md5"):
            assert hashlib.md5(whole).hexdigest() == md5
    await service.replace(entry.id, Bytes("newer.jpg", b"n" * 50), MemoryJournal())
    assert len(await body(service, found.versions[-1])) == 1200  # the link has changed, the version has not


async def test_folders_that_have_one_path_are_a_named_loss(opened: Open) -> None:
    tenant = opened(asset(1), asset(2))
    first, second = map(AssetId, tenant.truth())
    service = tenant.connect(read_only=True)
    assert not [loss for loss in (await service.fetch(first)).losses if loss.rule == NAMESAKES]
    async with httpx.AsyncClient(base_url=f"{tenant.served.url}/api/dam", auth=("dam-sync", "secret-a")) as client:
        (top,) = (await client.get("/folder-tree", params={"forceArrays": "true"})).json()["_embedded"]["child"]
        made = await client.post(f"/folder-tree/{top['id']}/children", json={"title": "2024"})  # wire A 5.4
        twin = made.headers["Location"].rpartition("/")[2]
        await client.post(f"/folders/{twin}/medias", json={"id": int(second)})
    found = await tenant.connect(read_only=True).fetch(second)
    assert {place.text for place in found.placements} == {"/Press/2024"}
    assert [(loss.path, loss.detail) for loss in found.losses if loss.rule == NAMESAKES] == [
        ("placements.folder[]", "/Press/2024")
    ]


class UnlinkedTransport(AlteredTransport):
    """No media has a link to its original."""

    def altered(self, request: httpx.Request, body: Any) -> Any:
        body.get("_links", {}).pop("svc:hires", None)
        return body


async def test_a_file_without_a_link_is_downloaded_in_any_media_type(opened: Open) -> None:
    tenant = opened(asset(1))
    tenant.transport = UnlinkedTransport()
    service = tenant.connect(read_only=True)
    (entry,) = await entries(service)
    found = await service.fetch(entry.id)
    assert found.file is not None
    assert len(await body(service, found.file)) == found.file.size


async def test_no_download_right_is_said_and_not_worked_around(opened: Open) -> None:
    for level in ("NONE", "BD"):
        tenant = opened(asset(1), download_level=level)
        service = tenant.connect()
        (entry,) = await entries(service)
        found = await service.fetch(entry.id)
        assert found.file is not None
        with pytest.raises(Rejected, match=level):
            await body(service, found.file)
        with pytest.raises(Rejected, match=level):
            Estimator(service).open(found.file)


async def test_odd_urls_are_read(opened: Open) -> None:
    service = opened(FULL, asset(2), odd_hrefs=True, odd_descriptors=True).connect()
    first, _ = await entries(service)
    found = await service.fetch(first.id)
    check_full(found)
    assert found.file is not None
    assert len(await body(service, found.file)) == 1200
    made = await service.create(await draft_for(service), Bytes("new.jpg", b"x" * 500), MemoryJournal())
    assert (await service.fetch(made)).filename == "new.jpg"


async def test_a_source_writes_nothing(opened: Open) -> None:
    tenant = opened(asset(1))
    service = tenant.connect(read_only=True)
    (entry,) = await entries(service)
    await service.fetch(entry.id)
    with pytest.raises(DamSyncError):
        await service.remove(entry.id)
    assert (await service.fetch(entry.id)).status == "published"


async def test_another_deployment_with_its_own_words(opened: Open) -> None:
    tenant = opened(FULL, asset(2), prefix="acme", header_prefix="X-ACME-")
    service = tenant.connect(relation_prefix="acme", header_prefix="X-ACME-")
    first, _ = await entries(service)
    check_full(await service.fetch(first.id))
    made = await service.create(await draft_for(service), Bytes("new.jpg", b"x"), MemoryJournal())
    assert (await service.fetch(made)).status == "published"


def test_every_capability_is_there_but_bulk_memberships() -> None:
    missing = set(Operation) - CONNECTOR.capabilities.operations
    assert missing == {Operation.PLACE, Operation.SUBSCRIBE, Operation.DETACH}
    assert Person("x").name == "x"
    assert AssetId("1") == "1"
