"""How an asset of service D is found by its marker."""

from __future__ import annotations

import pytest

from dam_sync.model.asset import Draft, Marker
from dam_sync.model.errors import Transient
from tests.conformance.catalogue import MARKER, SCHEMA
from tests.conformance.tenant import Start
from tests.support.state.memory_journal import MemoryJournal

KIND = "d_templates"


@pytest.mark.parametrize("facetable", [True, False])
async def test_a_marker_is_found_whether_its_attribute_is_a_facet_or_not(start: Start, facetable: bool) -> None:
    """Wire D 6.9: by a facet expression, or as a plain term where the attribute is not a facet."""
    tenant = start([{**row, "facetable": facetable} if row.get("key") == MARKER else row for row in SCHEMA])
    service, journal = tenant.connect(options={"security": "public"}), MemoryJournal()
    for other in ("s1234abcd-4", "s1234abcd-421"):
        alike = Draft(Marker(MARKER, other), "other.jpg", "Photo", fields={"title": "New"})
        await service.create(alike, None, MemoryJournal())
    wanted = Draft(Marker(MARKER, "s1234abcd-42"), "one.jpg", "Photo", fields={"title": "New"})
    tenant.faults.add([{"match": "POST /v1/asset", "nth": 1, "do": "reset_after"}])
    with pytest.raises(Transient):
        await service.create(wanted, None, journal)
    made = await service.create(wanted, None, journal)
    assert len(tenant.truth()) == 3
    assert await service.find(Marker(MARKER, "s1234abcd-42")) == made
