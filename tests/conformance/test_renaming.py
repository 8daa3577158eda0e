"""The contract of a target: terms and containers get other names."""

from __future__ import annotations

from itertools import count

import pytest

from dam_sync.model.asset import Placement, with_new_top
from dam_sync.model.capabilities import Operation
from dam_sync.model.errors import NotFound, Rejected, Unsupported
from dam_sync.model.schema import Schema
from dam_sync.model.service import Service
from dam_sync.model.values import Json, Term
from tests.conformance.drafts import spell, vocabulary_of, worked
from tests.conformance.tenant import Tenant
from tests.support.state.memory_journal import MemoryJournal

terms = pytest.mark.needs(Operation.RENAME_TERM, Operation.TERMS)
containers = pytest.mark.needs(Operation.RENAME_CONTAINER, Operation.CONTAINERS)
lost = pytest.mark.parametrize("fault", ["reset_before", "reset_after", "status:503"])
NUMBERS = count(1)  # the tests of a module share a tenant, so that every new name is another


async def all_terms(service: Service, key: str) -> dict[str, Term]:
    return {term.id: term async for term in service.terms(key)}


def fresh_name() -> str:
    return f"Océan & Æther {next(NUMBERS)}"


async def used_term(tenant: Tenant, service: Service, key: str) -> Term:
    """A term below another, where there are levels, that assets have."""
    known = sorted((await all_terms(service, key)).values(), key=lambda term: -len(term.path))
    return next(term for term in known if holders(tenant, service, term.label))


def holders(tenant: Tenant, service: Service, label: str) -> set[str]:
    """Assets that have this subject."""
    found = {}
    for identity, row in tenant.truth().items():
        value: Json = row["fields"].get(spell(service, "subject")) or []
        found[identity] = {each["label"] if isinstance(each, dict) else each for each in value}
    return {identity for identity, names in found.items() if label in names}


# -- terms -------------------------------------------------------------------------------------------------------------


@terms
async def test_a_term_gets_another_name_and_assets_keep_it(tenant: Tenant, service: Service, schema: Schema) -> None:
    key, name = vocabulary_of(service, schema, "subject"), fresh_name()
    before, sea = await all_terms(service, key), await used_term(tenant, service, key)
    held = holders(tenant, service, sea.label)
    renamed = await service.rename_term(key, sea, Term(name))
    assert held
    assert holders(tenant, service, name) == held
    assert holders(tenant, service, sea.label) == set()
    for connected in (service, tenant.connect()):
        known = await all_terms(connected, key)
        assert known.keys() - {renamed.id} == before.keys() - {sea.id}
        assert (known[renamed.id].label, renamed.label) == (name, name)
        assert known[renamed.id].path == (*sea.path[:-1], name) == renamed.path
        assert (await connected.ensure_term(key, Term(name, parent=sea.parent))).id == renamed.id


@terms
async def test_terms_below_a_renamed_one_stay_there(tenant: Tenant, service: Service, schema: Schema) -> None:
    key = vocabulary_of(service, schema, "subject")
    if not schema.vocabularies[key].hierarchical:
        return
    sea = await used_term(tenant, service, key)
    before, name = await all_terms(service, key), fresh_name()
    top = next(term for term in before.values() if term.path == sea.path[:1])
    await service.rename_term(key, top, Term(name))
    for connected in (service, tenant.connect()):
        known = {term.id: term.path for term in (await all_terms(connected, key)).values()}
        assert known == {term.id: with_new_top(term.path, top.path, (name,)) for term in before.values()}


@terms
async def test_a_term_that_has_the_name_already_stays(tenant: Tenant, service: Service, schema: Schema) -> None:
    key, name = vocabulary_of(service, schema, "subject"), fresh_name()
    sea = await used_term(tenant, service, key)
    first = await service.rename_term(key, sea, Term(name))
    for connected in (service, tenant.connect()):
        await all_terms(connected, key)
        assert (await connected.rename_term(key, sea, Term(name))).id == first.id
    assert len([term for term in (await all_terms(service, key)).values() if term.label == name]) == 1


@terms
async def test_the_names_in_other_languages_stay(tenant: Tenant, service: Service, schema: Schema) -> None:
    key = vocabulary_of(service, schema, "subject")
    if not schema.vocabularies[key].localized:
        return
    lake = await service.ensure_term(key, Term("Lake", labels={"en": "Lake", "fr": "Lac"}))
    lake = (await all_terms(service, key))[lake.id]
    await service.rename_term(key, lake, Term("Pond", labels={"en": "Pond"}))
    assert (await all_terms(tenant.connect(), key))[lake.id].labels == {"en": "Pond", "fr": "Lac"}


@terms
async def test_a_term_that_no_longer_exists_is_not_renamed(tenant: Tenant, service: Service, schema: Schema) -> None:
    key = vocabulary_of(service, schema, "subject")
    sea, before = await used_term(tenant, service, key), await all_terms(service, key)
    gone = Term("No such term", "987654" if sea.id.isdigit() else "no such term", ("No such term",))
    with pytest.raises(NotFound):
        await service.rename_term(key, gone, Term("Name of nothing"))
    assert (await all_terms(tenant.connect(), key)).keys() == before.keys()


@terms
@pytest.mark.parametrize("label", ["", " "])
async def test_a_term_cannot_lose_its_name(tenant: Tenant, service: Service, schema: Schema, label: str) -> None:
    key = vocabulary_of(service, schema, "subject")
    sea = await used_term(tenant, service, key)
    with pytest.raises(Rejected):
        await service.rename_term(key, sea, Term(label))
    assert (await all_terms(tenant.connect(), key))[sea.id].label == sea.label


@terms
async def test_a_closed_list_keeps_its_names(tenant: Tenant, service: Service, schema: Schema) -> None:
    key = vocabulary_of(service, schema, "country")
    if schema.vocabularies[key].closed:
        spain = next(term for term in (await all_terms(service, key)).values() if term.label == "Spain")
        with pytest.raises(Unsupported):
            await service.rename_term(key, spain, Term("Iberia"))


@terms
@lost
@pytest.mark.needs("network")
async def test_a_renamed_term_whose_response_was_lost_is_renamed(
    tenant: Tenant, service: Service, schema: Schema, fault: str
) -> None:
    key, name = vocabulary_of(service, schema, "subject"), fresh_name()
    sea = await used_term(tenant, service, key)
    held = holders(tenant, service, sea.label)
    tenant.fail({"match": "P* *", "nth": 1, "do": fault})
    renamed = await worked(lambda: service.rename_term(key, sea, Term(name)), MemoryJournal())
    assert renamed.label == name
    assert holders(tenant, service, name) == held


# -- containers --------------------------------------------------------------------------------------------------------


async def all_containers(service: Service) -> dict[str, Placement]:
    return {place.id: place async for place in service.containers()}


async def full_ones(tenant: Tenant, service: Service) -> list[Placement]:
    """A container of each kind that can be renamed, which has members."""
    held = {
        (place["kind"], tuple(place["path"])) for row in tenant.truth().values() for place in row["placements"] or ()
    }
    known = [place for place in (await all_containers(service)).values() if (place.kind, place.path) in held]
    kinds = service.capabilities.renames
    return [next(place for place in known if place.kind == kind) for kind in sorted(kinds)]


def members(tenant: Tenant, place: Placement) -> set[str]:
    wanted = (place.kind, list(place.path))
    rows = tenant.truth().items()
    return {key for key, row in rows if wanted in [(each["kind"], list(each["path"])) for each in row["placements"]]}


@containers
async def test_a_container_gets_another_name_and_keeps_its_assets(tenant: Tenant, service: Service) -> None:
    for place in await full_ones(tenant, service):
        before, held = await all_containers(service), members(tenant, place)
        path = (*place.path[:-1], fresh_name())
        renamed = await service.rename_container(place, path)
        assert (renamed.id, renamed.path) == (place.id, path)
        assert held
        assert members(tenant, renamed) == held
        assert members(tenant, place) == set()
        expected = {
            key: with_new_top(each.path, place.path, path) if each.kind == place.kind else each.path
            for key, each in before.items()
        }
        for connected in (service, tenant.connect()):
            assert {key: each.path for key, each in (await all_containers(connected)).items()} == expected
            parent = next((key for key, each in expected.items() if each == path[:-1]), "")
            assert (await connected.ensure_container(place.kind, path, parent)).id == place.id


@containers
async def test_a_container_that_has_the_name_already_stays(tenant: Tenant, service: Service) -> None:
    for place in await full_ones(tenant, service):
        path = (*place.path[:-1], fresh_name())
        for connected in (service, service, tenant.connect()):
            assert (await connected.rename_container(place, path)).id == place.id
        assert [each.path for each in (await all_containers(tenant.connect())).values()].count(path) == 1


@containers
async def test_containers_that_cannot_be_renamed_are_refused(tenant: Tenant, service: Service) -> None:
    for place in (await all_containers(service)).values():
        if place.kind not in service.capabilities.renames:
            with pytest.raises(Unsupported):
                await service.rename_container(place, (*place.path[:-1], fresh_name()))
        elif place.kind not in service.capabilities.moves:
            with pytest.raises(Unsupported):
                await service.rename_container(place, ("Elsewhere",), "")


@containers
async def test_a_container_moves_to_another_parent(tenant: Tenant, service: Service) -> None:
    for kind in sorted(service.capabilities.moves):
        top = await service.ensure_container(kind, ("Top",))
        inner = await service.ensure_container(kind, ("Top", "Inner"), top.id)
        leaf = await service.ensure_container(kind, ("Top", "Inner", "Leaf"), inner.id)
        other = await service.ensure_container(kind, ("Other",))
        for path, parent in ((("Other", "Moved"), other.id), (("Moved",), "")):
            for connected in (service, tenant.connect()):
                moved = await connected.rename_container(inner, path, parent)
                assert (moved.id, moved.path) == (inner.id, path)
            known = await all_containers(tenant.connect())
            assert (known[inner.id].path, known[leaf.id].path) == (path, (*path, "Leaf"))
            inner = moved


@containers
@lost
@pytest.mark.needs("network")
async def test_a_renamed_container_whose_response_was_lost_is_renamed(
    tenant: Tenant, service: Service, fault: str
) -> None:
    place = (await full_ones(tenant, service))[0]
    held, path = members(tenant, place), (*place.path[:-1], fresh_name())
    tenant.fail({"match": "P* *", "nth": 1, "do": fault})
    renamed = await worked(lambda: service.rename_container(place, path), MemoryJournal())
    assert members(tenant, renamed) == held
