"""API calls of service C beside the least that its contract allows: read, written, and looked through unchanged.

Service B is the partner, for C returns no older versions (wire C 4) and so could not be asked for any. Files are not
waited for after a create (`readiness: later`, as it is by default); before a new version they must be (wire C 6.5).
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.support.jobs.bulk_jobs import Bulk
from tests.support.measuring.counted_calls import ASSETS, TEXTS, Calls, Side, counted

PAGE = 500  # assets a page: wire C 3.4
LONG = 3_000  # rows a page at most: wire C 2
BATCH = 100  # values of one key a call: wire C 6.8
NEWEST = 100  # of the newest assets a page: wire C 6.9
API = "/api/v4"
ASSET_LIST = f"GET {API}/libraries/{{id}}/assets"
SIDE = Side(
    "c_brandlibrary",
    "section",
    options={"readiness": "later", "first_look": 1.0},
    emulated={"processing": 0.2},
)
OTHER = Side("b_documents", "folder", options={"relations": ""}, emulated={"direct": False}, profile="Images")


def least_to_know() -> Calls:
    """The key's user and organizations (wire C 1), libraries and the one with its count (2.2), the user's role (1),
    custom field keys (5.1), a page of assets that shows which keys hold several values, for no call says so (5.1), and
    sections, whose type says what their assets are (3.1)."""
    one = ("users/whoami", "organizations", "libraries", "libraries/{id}")
    of_library = ("user_permissions", "custom_field_keys", "sections", "assets")
    calls = (*one, *(f"libraries/{{id}}/{name}" for name in of_library))
    return Counter({f"GET {API}/{call}": 1 for call in calls})


def least_to_read(bulk: Bulk) -> Calls:
    """Wire C 3.4: pages of 500 with everything, two searches for the assets with availability dates and one for those
    that are view-only (2.4), which lists do not show, how many versions there are by the list of attachments, and
    labels. Bytes come by the links of the lists."""
    return Counter(
        {
            ASSET_LIST: -(-bulk.assets // PAGE) + 3,
            f"GET {API}/libraries/{{id}}/attachments": -(-bulk.assets // LONG),
            f"GET {API}/libraries/{{id}}/labels": 1,
        }
    )


def least_to_write(bulk: Bulk) -> Calls:
    """Wire C 6.8: for each asset a place for its file, the create and the call that takes the marker out of its
    description; values key by key, 100 a call; tags; and a list that shows 100 of what was made. A version takes a
    place, the file, a look before for the attachment and one after (6.5). Sections, collections and labels are listed
    once, missing sections made (5.2)."""
    keys = len(TEXTS) + 1
    return Counter(
        {
            f"GET {API}/upload_requests": bulk.assets + bulk.older_versions,
            f"POST {API}/libraries/{{id}}/assets": bulk.assets,
            f"PUT {API}/assets/{{id}}": bulk.assets,
            f"POST {API}/custom_field_keys/{{id}}/custom_field_values": keys * -(-bulk.assets // BATCH),
            f"POST {API}/assets/{{id}}/tags": bulk.tags,
            ASSET_LIST: -(-bulk.assets // NEWEST),
            f"GET {API}/assets/{{id}}": bulk.older_versions,
            f"PUT {API}/attachments/{{id}}": bulk.older_versions,
            f"GET {API}/attachments/{{id}}": bulk.older_versions,
            f"GET {API}/libraries/{{id}}/sections": 1,
            f"GET {API}/libraries/{{id}}/collections": 1,
            f"GET {API}/libraries/{{id}}/labels": 1,
            f"POST {API}/libraries/{{id}}/sections": bulk.folders,
        }
    )


def least_to_poll() -> Calls:
    """Wire C 2.3: a page by last change; and labels, whose members move no date (2.2)."""
    return Counter({ASSET_LIST: 1, f"GET {API}/libraries/{{id}}/labels": 1})


@pytest.mark.bench
def test_no_more_calls_than_the_contract_of_c_asks_for_to_read(tmp_path: Path) -> None:
    bulk = Bulk(ASSETS, folders=7, tagged=2, versioned=10)
    with counted(tmp_path, SIDE, OTHER, bulk, limits={"concurrency": 16}) as job:
        planned, done = job.plan(), job.run()
        assert done["counts"]["created"] == ASSETS
        job.compare("source", "C read", planned, least_to_know() + least_to_read(bulk))
        planned, done = job.plan(), job.run()
        assert done["operations"] == {}
        job.compare("source", "C unchanged, as the source", planned, least_to_know() + least_to_poll())


@pytest.mark.bench
def test_no_more_calls_than_the_contract_of_c_asks_for_to_write(tmp_path: Path) -> None:
    bulk = Bulk(ASSETS, folders=7, tagged=2, versioned=10)
    with counted(tmp_path, OTHER, SIDE, bulk, limits={"concurrency": 16}) as job:
        planned, done = job.plan(), job.run()
        assert done["counts"]["created"] == ASSETS
        job.compare("target", "C written", planned, least_to_know() + least_to_write(bulk))
        planned, done = job.plan(), job.run()
        assert done["operations"] == {}
        job.compare("target", "C unchanged, as the target", planned, least_to_know())
