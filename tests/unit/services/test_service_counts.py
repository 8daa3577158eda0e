"""Counts of single services, beyond what all of them have in common."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dam_sync.model.counts import Counts
from dam_sync.model.values import Term
from dam_sync.services.a_hypermedia.codec.forms import FormField
from dam_sync.services.a_hypermedia.counts import terms_of as terms_of_a
from dam_sync.services.c_brandlibrary.counts import escaped
from dam_sync.services.d_templates.counts import types_of
from dam_sync.services.e_profiles.counts import terms_of as terms_of_e
from tests.conformance.catalogue import library
from tests.conformance.tenant import started


async def counted(kind: str, spool: Path, fields: tuple[str, ...] = (), **options: Any) -> Counts:
    """What a service counts of the small library."""
    tenant = started(kind, library(), spool, **options)
    try:
        service = tenant.connect(read_only=True)
        await service.probe()
        return await service.counts(fields)
    finally:
        await tenant.disconnect()
        tenant.served.stop()


async def test_d_counts_requests(tmp_path: Path) -> None:
    assert (await counted("d_templates", tmp_path, requests=54)).not_moved["requests"] == 54


async def test_a_release_without_facets_counts_the_rest(tmp_path: Path) -> None:
    """`facet-fields` came with 4.75.0."""
    counts = await counted("a_hypermedia", tmp_path, ("subject",), release="4.60.0")
    assert (counts.assets, counts.terms) == (7, {})


@pytest.mark.parametrize(
    ("facets", "expected"),
    [
        ([], {}),
        ([{"facet_name": "System Metadata Templates", "values": [{"key": "Photo", "doc_count": 3}]}], {"Photo": 3}),
        ([{"facet_name": "System Metadata Templates", "values": [{"key": "Photo", "doc_count": 2}]}], {}),
        ([{"facet_name": "Another", "values": [{"key": "Photo", "doc_count": 3}]}], {}),
    ],
)
def test_a_facet_of_d_counts_only_if_it_adds_up(facets: list[Any], expected: Mapping[str, int]) -> None:
    assert types_of({"totalCount": 3, "facets": facets}, 3) == expected
    assert types_of([{"totalCount": 3, "facets": facets}], 3) == expected


@pytest.mark.parametrize(("number", "complete"), [(24, True), (25, False)])
def test_a_facet_of_e_that_may_be_cut_is_not_used(number: int, complete: bool) -> None:
    values = [{"value": f"term {each}", "count": 1} for each in range(number)]
    found = terms_of_e({"facets": {"metadata": [{"display_key": "subject", "values": values}]}})
    assert ("subject" in found) == complete


def test_values_of_e_have_two_spellings() -> None:
    rows = [{"value": "Sea", "count": 2}, {"values": ["City"], "count": 1}]
    found = terms_of_e({"facets": {"metadata": [{"display_key": "subject", "values": rows}]}})
    assert found == {"subject": [(Term("Sea"), 2), (Term("City"), 1)]}


@pytest.mark.parametrize(("number", "complete"), [(149, True), (150, False)])
def test_a_facet_of_a_that_may_be_cut_is_not_used(number: int, complete: bool) -> None:
    values = [{"id": each, "title": f"term {each}", "count": 1} for each in range(1, number + 1)]
    body = {"_embedded": {"facet": [{"id": "subject", "_embedded": {"value": values}}]}}
    found = terms_of_a(body, {"subject": FormField("subject"), "mood": FormField("mood")})
    assert set(found) == ({"subject"} if complete else set())


@pytest.mark.parametrize(
    ("name", "expected"),
    [("Plain", "Plain"), ("Shot date", "Shot\\ date"), ("a:b (c)", "a\\:b\\ \\(c\\)")],
)
def test_names_of_keys_are_escaped_in_searches_of_c(name: str, expected: str) -> None:
    assert escaped(name) == expected
