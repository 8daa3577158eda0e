"""Service D: which asset a file of a scan belongs to."""

from __future__ import annotations

import tracemalloc
from uuid import UUID

from dam_sync.model.asset import AssetId
from dam_sync.services.d_templates import facts
from dam_sync.services.d_templates.taxonomy.owners import FileHashes, FileOwners

FILES = 50_000
EACH = 16  # bytes for a file while the scan ends: its hash, and its sorted copy
VERSION = 90  # bytes for a file with the id of its asset, while they are sorted
NONE = FileHashes()


def test_files_are_found_by_their_asset_in_little_memory() -> None:
    owners, names = FileOwners(), _names()
    owners.add([(name, name) for name in names], NONE, everything=True)
    owners.add([("version", AssetId("asset")), ("", AssetId("none"))], NONE, everything=True)
    tracemalloc.start()
    owners.end(everything=True)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < FILES * EACH
    assert owners.whole
    assert owners.of([*names, "version", "unknown", ""]) == {**{name: name for name in names}, "version": "asset"}


def test_files_of_versions_are_found_in_little_memory() -> None:
    names = _names()
    tracemalloc.start()
    owners = FileOwners()
    for name in names:
        owners.add([(f"version of {name}", name)], NONE, everything=True)
    owners.end(everything=True)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < FILES * VERSION
    assert owners.of(f"version of {name}" for name in names) == {f"version of {name}": name for name in names}
    assert owners.of(names) == {}


def test_only_wanted_files_are_remembered_and_each_is_wanted_once() -> None:
    owners, wanted = FileOwners(), FileHashes()
    wanted.add(["a", "version", "a", "not there"])
    wanted.sort()
    for _ in range(2):  # a scan that resumes may return rows again
        page = [("a", AssetId("a")), ("b", AssetId("b")), ("version", AssetId("b")), ("", AssetId("none"))]
        owners.add(page, wanted, everything=False)
        assert (len(wanted), "a" in wanted, "not there" in wanted) == (1, False, True)
    owners.end(everything=False)
    assert owners.of(["a", "b", "version", "not there"]) == {"a": "a", "version": "b"}
    assert not owners.whole


def test_wanted_files_are_remembered_among_more_versions_than_fit_in_memory() -> None:
    owners, wanted = FileOwners(), FileHashes()
    wanted.add(["last"])
    wanted.sort()
    rows = [(f"version {number}", AssetId("asset")) for number in range(facts.FILES_KEPT + 10)]
    owners.add([*rows, ("last", AssetId("asset"))], wanted, everything=True)
    owners.end(everything=True)
    assert not owners.whole
    assert owners.of(["version 0", rows[-1][0], "last"]) == {"version 0": "asset", "last": "asset"}
    owners.add([("more", AssetId("more")), ("last", AssetId("asset"))], wanted, everything=True)
    owners.end(everything=True)  # a scan for later members keeps what the first one found
    assert owners.of(["version 0", "last", "more"]) == {"version 0": "asset", "last": "asset", "more": "more"}


def _names() -> list[AssetId]:
    return [AssetId(str(UUID(int=number * 7919 * 10**20))) for number in range(1, FILES)]
