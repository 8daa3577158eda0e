"""The service `folder`: terms and containers are looked up without reading the catalogue for each of them, and a tree
that is none costs levels only."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from dam_sync.model.asset import AssetId
from dam_sync.model.service import Service
from dam_sync.model.values import Term
from dam_sync.services.folder.tenant import Tenant
from tests.unit.services.test_folder_service import connect, opened, terms


async def test_many_terms_and_containers_do_not_read_the_catalogue_for_each(tmp_path: Path) -> None:
    service = await opened(tmp_path / "f")
    tenant: Tenant = service._tenant  # type: ignore[attr-defined]
    records, reads = tenant.catalogue.records, Counter[str]()

    def counted(kind: str) -> list[Any]:
        reads[kind] += 1
        return records(kind)

    tenant.catalogue.records = counted  # type: ignore[method-assign]
    for number in range(50):
        await service.ensure_term("w", Term(f"Term {number}"))
        await service.ensure_container("folder", ("Press", str(number)))
    assert reads["term"] <= 2
    assert reads["container"] == 0
    assert len(await terms(service)) == 50


async def test_terms_and_containers_of_another_process_are_taken_up(tmp_path: Path) -> None:
    one, two = await opened(tmp_path / "f"), await opened(tmp_path / "f")
    first = await one.ensure_term("w", Term("Nature"))
    second = await two.ensure_term("w", Term("Sea", parent=first.id))
    assert second.path == ("Nature", "Sea")
    named = await two.ensure_term("w", Term("Nature", labels={"fr": "Nature"}))
    assert await one.ensure_term("w", Term("Nature")) == named
    assert await one.ensure_term("w", Term("Sea", parent=first.id)) == second
    assert await terms(one) == [named, second]
    made = await two.ensure_container("folder", ("Press",))
    size = (tmp_path / "f" / "data" / "catalogue.jsonl").stat().st_size
    assert await one.ensure_container("folder", ("Press",)) == made
    assert (tmp_path / "f" / "data" / "catalogue.jsonl").stat().st_size == size


TERMS: list[dict[str, Any]] = [
    {"id": "1", "parent": "2", "labels": {"en": "Plants", "fr": "Plantes"}},
    {"id": "2", "parent": "1", "labels": {"en": "Nature", "fr": "Nature"}},
    {"id": "3", "parent": "1", "labels": {"en": "Rose", "fr": "Rose"}},
    {"id": "4", "parent": "9", "labels": {"en": "Stone", "fr": "Pierre"}},
    {"id": "5", "parent": "4", "labels": {"en": "Flint", "fr": "Silex"}},
    {"id": "6", "parent": "6", "labels": {"en": "Self", "fr": "Soi"}},
    {"id": "7", "labels": {"en": "Sea", "fr": "Mer"}},
    {"id": "8", "parent": "7", "labels": {"en": "Gulf", "fr": "Golfe"}},
]


def odd_tree(folder: Path) -> Service:
    rows: list[dict[str, Any]] = [{"record": "vocabulary", "key": "subj", "hierarchical": True}]
    rows += [{"record": "field", "key": "S", "kind": "term", "vocabulary": "subj", "multiple": True}]
    rows += [{"record": "term", "vocabulary": "subj", **term} for term in TERMS]
    for term in TERMS:
        value = {"id": term["id"], "label": term["labels"]["en"]}
        rows += [{"record": "asset", "id": term["id"], "fields": {"S": [value]}}]
    folder.mkdir()
    (folder / "catalogue.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return connect(folder, read_only=True)


async def test_a_cycle_and_a_missing_parent_cost_terms_a_level_and_nothing_else(tmp_path: Path) -> None:
    service = odd_tree(tmp_path / "f")
    found = {term.id: term async for term in service.terms("subj")}
    assert {key: term.path for key, term in found.items()} == {
        "1": ("Plants",),
        "2": ("Nature",),
        "3": ("Plants", "Rose"),
        "4": ("Stone",),
        "5": ("Stone", "Flint"),
        "6": ("Self",),
        "7": ("Sea",),
        "8": ("Sea", "Gulf"),
    }
    assert [found[str(term["id"])].labels for term in TERMS] == [term["labels"] for term in TERMS]
    assert (found["1"].parent, found["3"].parent) == ("", "1")


async def test_the_lost_level_is_a_loss_of_each_asset_and_check_names_the_terms(tmp_path: Path) -> None:
    service = odd_tree(tmp_path / "f")
    lost = {key: (await service.fetch(AssetId(key))).losses for key in "12345678"}
    assert {key: [loss.path for loss in losses] for key, losses in lost.items()} == {
        **{key: ["fields.S"] for key in "123456"},
        **{key: [] for key in "78"},
    }
    assert lost["3"][0].detail == "Rose: the parents of Plants (1) lead back to it"
    assert lost["5"][0].detail == "Flint: the parent 9 of Stone (4) is not in the catalogue"
    cycle, missing = [note for note in (await service.probe()).notes if note.startswith("vocabulary subj")]
    assert cycle.endswith(": Plants (1), Nature (2), Self (6); below them: Rose (3)")
    assert missing.endswith(": Stone (4); below them: Flint (5)")
