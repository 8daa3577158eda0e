"""The service `folder`: terms and containers are looked up without reading the catalogue for each of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from dam_sync.model.values import Term
from dam_sync.services.folder.tenant import Tenant
from tests.unit.services.test_folder_service import opened, terms


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
