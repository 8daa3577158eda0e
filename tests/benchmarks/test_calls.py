"""API calls of a migration and of the unchanged run after it, beside the least that the contracts allow.

The least is computed here, from the library's own numbers and the sections named; the emulators count what was sent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.jobs.accepted_exposure import ACCEPTED_LINE
from tests.support.jobs.bulk_jobs import Bulk, write_bulk, write_bulk_back
from tests.support.jobs.tenants import Pair, Tenant
from tests.support.measuring.printed_table import show
from tests.support.processes import measured, processes, processes_back

ASSETS = 1_000
PAGE = 100  # rows a listing page, members a call: service A 2.2, service E 2.1, 5.4, 5.5
LANGUAGES = 16  # candidates asked for, one call each: service A 5.6
UPLOADED = 20  # assets whose upload takes one second: 50 calls/s, and nearly three calls an asset
MOST = 1.10
MEDIA = "GET /api/dam/medias/{id}"
SEARCH = "GET /api/dam/search/media"
SEARCH_E = "GET /v2/assets/search"
SCROLL_E = "GET /v2/assets/search/scroll"
Calls = Counter[str]


def least_to_know_a(*, empty: bool = False) -> Calls:
    """Service A before the first asset: entry points and user (1.1, 1.2), the count (2.4), schema (5.2), roots of the
    thesauri (5.3), labels and statuses (5.5); languages on a sample, where there is one (5.6)."""
    known = {"GET /api": 1, "GET /api/dam": 1, "GET /api/dam/users/{user}": 1, SEARCH: 2}
    known[MEDIA] = 0 if empty else LANGUAGES
    schema = ("forms", "sheet-fields", "thesaurus-tree", "medias/labels", "medias/custom-statuses")
    return Counter(known) + Counter({f"GET /api/dam/{name}": 1 for name in schema})


def least_to_list_a(pages: int) -> Calls:
    """Service A 2.4, 2.5: the proof that ids can be ranged over (two calls), whether rows are whole, then the pages."""
    return Counter({SEARCH: 2 + 1 + pages})


def least_to_read_a(bulk: Bulk) -> Calls:
    """Service A 3.3, default column: pages of 100, each media once in each language, versions where there are more,
    folders at no cost but one walk of the tree (5.4). Originals come from the static host, which counts none."""
    languages = 2 if bulk.localized else 1
    return least_to_list_a(-(-bulk.assets // PAGE)) + Counter(
        {
            MEDIA: bulk.assets * languages,
            "GET /api/dam/medias/{id}/file-versions": bulk.older_versions,
            "GET /api/dam/folder-tree": 1,
            "GET /api/dam/folder-tree/{id}": 1,  # one with children
        }
    )


def least_to_poll_a() -> Calls:
    """Service A 2.6: what changed, and what went into the trash."""
    return least_to_list_a(1) + Counter({"GET /api/dam/search/trash": 1})


def least_to_know_e() -> Calls:
    """Service E before the first asset: the own user (1.4), a count (2.1), viewable fields until an empty page (5.1),
    types, groups and profiles (5.2, 5.6, 5.7)."""
    return Counter(
        {
            "GET /v2/user": 1,
            SEARCH_E: 1,
            "GET /v2/metadata/fields/viewable": 2,
            "GET /api/rest/metadata/types": 1,
            "GET /v2/assets/assetgroups": 1,
            "GET /v2/uploads/profiles": 1,
        }
    )


def least_to_write_e(bulk: Bulk) -> Calls:
    """Service E 6.9: one upload, one call for tags, a hundredth of a call a category; none for rights that are the
    profile's. Each new asset is read back, for it may have become a version of another one (13). A version is one more
    upload, after a look whether the last one is complete and before one whether the asset shows it (6.2, 6.7, 13).
    Names in use are read once (6.7), categories once (5.4), collections once a type (5.5); a missing category is made
    (5.4)."""
    return Counter(
        {
            "POST /v2/uploads": bulk.assets + bulk.older_versions,
            "PUT /v2/assets/{id}/tags/add": bulk.tags,
            "POST /api/rest/category/assets": sum(-(-members // PAGE) for members in bulk.members()),
            "GET /v2/assets/{id}": bulk.assets + 2 * bulk.older_versions,
            SEARCH_E: 1,
            "GET /api/rest/category/categoryTree": 1,
            "GET /v2/collections": 3,
            "POST /api/rest/category": bulk.folders,
        }
    )


def least_to_look_for_new_e(made: int) -> Calls:
    """Service E 2.5: an upload may wait in the queue, where no search finds it, so the run after a create looks once
    whether all assets of the last half hour are there: in pages that overlap by one second (2.3)."""
    return Counter({SEARCH_E: -(-made // (PAGE - UPLOADED))})


def least_to_read_e(bulk: Bulk, changed: int) -> Calls:
    """Service E as a source: what it takes to know it, whether it shows archived assets (2.6), the tree and a listing
    a category and 100 members (3.5, 3.6; membership moves no date, so every run reads it, 2.5), one more for each that
    holds more (found out before a scroll is opened, for open scrolls may be limited, 2.2); and pages in order of upload
    (2.3), the first of which counts the whole."""
    pages = max(1, -(-changed // PAGE))
    categories = sum(-(-members // PAGE) + (members > PAGE) for members in bulk.members())
    return least_to_know_e() + Counter(
        {
            SEARCH_E: 1 + pages + categories,
            "GET /api/rest/category/categoryTree": 1,
            "GET /v2/categories": 1,
            "GET /v2/collections": 3,
        }
    )


def least_to_write_a(bulk: Bulk, fields: int) -> Calls:
    """Service A 6.13, way B, in one language: upload, create in the folder, then all fields with the marker, and the
    status, by a selection of one media and one bulk. A missing folder is looked for and made (5.4)."""
    assert fields > 4, "way A is cheaper"
    a_media = ("POST /api/dam/files", "POST /api/dam/folders/{id}/medias")
    selection = "POST /api/dam/users/{user}/selections"
    in_bulk = (selection, f"{selection}/{{selection}}/medias", f"{selection}/{{selection}}/bulks")
    calls = Counter(dict.fromkeys((*a_media, *in_bulk), bulk.assets))
    calls["GET /api/dam/folder-tree"] = 1 + bulk.folders
    calls["POST /api/dam/folder-tree"] = bulk.folders
    return calls


@pytest.mark.bench
def test_no_more_calls_than_the_contracts_ask_for(tmp_path: Path) -> None:
    bulk = Bulk(ASSETS, folders=7, tagged=2, versioned=10, localized=True)
    written = write_bulk(tmp_path, bulk)
    more = "limits: {calls_per_second: 50, concurrency: 16}"
    with processes(tmp_path, written, more=more, source_options={"languages": ["en", "fr"]}) as pair:
        first = one_run(pair)
        assert first["counts"]["created"] == ASSETS
        know_a, know_e = least_to_know_a(), least_to_know_e()
        compare("source, first run", pair.source, know_a + least_to_read_a(bulk))
        compare("target, first run", pair.target, know_e + least_to_write_e(bulk))
        again = one_run(pair)
        assert again["operations"] == {}
        compare("source, unchanged run", pair.source, know_a + least_to_poll_a())
        compare("target, unchanged run", pair.target, know_e + least_to_look_for_new_e(ASSETS))


@pytest.mark.bench
def test_no_more_calls_the_other_way_round(tmp_path: Path) -> None:
    bulk = Bulk(ASSETS, folders=7, tagged=1)
    written = write_bulk_back(tmp_path, bulk)
    more = f"limits: {{calls_per_second: 50, concurrency: 16}}\n{ACCEPTED_LINE}"
    with processes_back(tmp_path, written, more=more, target_options={"languages": ["en"]}) as pair:
        assert one_run(pair)["counts"]["created"] == ASSETS
        read = least_to_read_e(bulk, ASSETS)
        written_least = least_to_know_a(empty=True) + least_to_write_a(bulk, 6)
        sent = compare("source E, first run", pair.source, read)
        sent += compare("target A, first run", pair.target, written_least)
        assert sent <= MOST * (read + written_least).total()
        assert one_run(pair)["operations"] == {}
        compare("source E, unchanged run", pair.source, least_to_read_e(bulk, 0))
        compare("target A, unchanged run", pair.target, least_to_know_a())


def one_run(pair: Pair) -> Mapping[str, Any]:
    for tenant in (pair.source, pair.target):
        tenant.forget_calls()
    report: Mapping[str, Any] = measured("run", str(pair.job), "--json", "--no-progress").report
    return report


def compare(title: str, tenant: Tenant, least: Calls, most: float = MOST) -> int:
    """Shows both, and fails where more than `most` times the least was sent, or a call refused; what was sent."""
    sent = Counter(tenant.calls)
    sent[SEARCH_E] += sent.pop(SCROLL_E, 0)  # a scroll continues what a search began
    sent = +sent
    rows = [(call, sent[call], least[call], sent[call] - least[call]) for call in sorted(sent | least)]
    total = sent.total(), least.total()
    table = [*rows, ("all", *total, total[0] - total[1]), ("ratio", total[0] / total[1], "", "")]
    show(f"{title}, {ASSETS:,} assets", ("call", "sent", "least", "more"), table)
    assert total[0] <= most * total[1], title
    assert not tenant.refused
    return total[0]
