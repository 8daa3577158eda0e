"""Service D: which asset a file of a scan belongs to."""

from __future__ import annotations

import tracemalloc
from uuid import UUID

from dam_sync.model.asset import AssetId
from dam_sync.services.d_templates.taxonomy.owners import FileOwners

FILES = 50_000
EACH = 16  # bytes for a file while the scan ends: its hash, and once more its sorted copy


def test_files_are_found_by_their_asset_in_little_memory() -> None:
    owners, names = FileOwners(), [AssetId(str(UUID(int=number * 7919 * 10**20))) for number in range(1, FILES)]
    owners.add((name, name) for name in names)
    owners.add([("version", AssetId("asset")), ("", AssetId("none"))])
    assert owners.of(["version"]) == {}
    tracemalloc.start()
    owners.end()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < FILES * EACH
    assert owners.of([*names, "version", "unknown", ""]) == {**{name: name for name in names}, "version": "asset"}
