"""A later run looks up only the terms it meets for the first time, not the whole vocabularies."""

from __future__ import annotations

import asyncio
import base64
from collections import Counter
from pathlib import Path
from typing import Any

from dam_sync.api.jobs import verify_job
from tests.conformance.catalogue import SCHEMA, asset
from tests.e2e.test_delta import call, settle
from tests.support.jobs import small_jobs
from tests.support.jobs.any_pair import any_pair, planned, ran
from tests.support.jobs.tenants import Pair

TREE = "GET /api/dam/thesaurus-tree/{}"
ADMIN = {"Authorization": "Basic " + base64.b64encode(b"dam-sync:secret-a").decode()}
TERMS = 40


def library() -> list[dict[str, Any]]:
    """A thesaurus of many terms, two of one label, of which three are used."""
    more = [
        {"record": "term", "vocabulary": "subjects", "id": f"1{n:02d}", "parent": "1", "labels": {"en": f"Term {n}"}}
        for n in range(TERMS)
    ]
    twin = {"record": "term", "vocabulary": "subjects", "id": "900", "parent": "4", "labels": {"en": "Sea"}}
    rows = [asset(number) for number in range(1, 4)]
    for row, (term, label) in zip(rows, [("2", "Sea"), ("900", "Sea"), ("105", "Term 5")], strict=True):
        del row["fields"]["srckey"]
        row["fields"]["subject"] = [{"id": term, "label": label}]
    return [*SCHEMA, *more, twin, *rows]


def trees(pair: Pair) -> list[int]:
    """Nodes of thesauri read at the source and at the target since the calls were forgotten."""
    found = []
    for tenant in (pair.source, pair.target):
        calls = Counter[str]()
        for name, number in tenant.calls.items():
            calls["/".join("{}" if part.startswith("{") else part for part in name.split("/"))] += number
        found.append(calls[TREE])
    return found


def forget(pair: Pair) -> None:
    pair.source.forget_calls()
    pair.target.forget_calls()


def change(pair: Pair, number: int, field: str, value: Any) -> None:
    media = next(row["id"] for row in pair.source.assets if row["catalogue_id"] == str(number))
    headers = {**ADMIN, "Content-Language": "en"}
    call(pair.source, "PUT", f"/api/dam/medias/{media}/metadatas/{field}", headers, {"value": value})
    settle(pair)


def labels(pair: Pair, number: int) -> list[str]:
    title = f"Photo {number}"
    row = next(row for row in pair.target.assets if title in str(row["fields"]["title"]))
    return [term["label"] for term in row["fields"]["subject"]]


def verified(pair: Pair) -> dict[str, Any]:
    """The report of a verification, made in this process."""
    return asyncio.run(verify_job(pair.job, small_jobs.options(), "fields", "100%")).as_json()


def paths(tenant: Any) -> set[tuple[str, ...]]:
    """The terms of each asset, as paths."""
    return {tuple(term["path"]) for row in tenant.assets for term in row["fields"]["subject"]}


def test_a_delta_reads_no_terms_that_were_met_before(tmp_path: Path) -> None:
    with any_pair(tmp_path, "a_hypermedia", "a_hypermedia", library(), SCHEMA, "srckey") as pair:
        first = ran(pair)
        assert first["counts"]["created"] == 3, first
        assert paths(pair.source) == paths(pair.target), "a term became a namesake of it"
        assert verified(pair)["counts"].get("different", 0) == 0
        for number in (1, 2):
            change(pair, number, "note", f"changed {number}")
        plan = planned(pair)
        forget(pair)
        report = ran(pair)
        assert (report["counts"]["updated"], report["counts"].get("parked", 0)) == (2, 0)
        assert trees(pair) == [0, 0], "the whole thesaurus was read for terms that are known"
        assert plan["operations"] == report["operations"]
        forget(pair)
        change(pair, 3, "subject", [{"id": int(term_id(pair, "Term 7")), "title": "Term 7"}])
        ran(pair)
        assert labels(pair, 3) == ["Term 7"]
        assert all(trees(pair)), "a term that nobody met before is looked for"


def test_a_delta_renames_a_term_that_an_asset_brings_by_another_name(tmp_path: Path) -> None:
    with any_pair(tmp_path, "a_hypermedia", "a_hypermedia", library(), SCHEMA, "srckey") as pair:
        assert ran(pair)["counts"]["created"] == 3
        before = pair.target.assets
        node = term_id(pair, "Term 5")
        whole = call(pair.source, "GET", f"/api/dam/thesauruses/{node}", ADMIN)
        renamed = {**whole, "title": "Term five", "titles": {"EN": "Term five"}}
        call(pair.source, "PUT", f"/api/dam/thesauruses/{node}", {**ADMIN, "Content-Language": "en"}, renamed)
        change(pair, 3, "note", "changed")
        plan = planned(pair)
        report = ran(pair)
        assert plan["operations"] == report["operations"] == {"rename_term": 1, "update": 1}
        assert plan["target"]["calls"]["PUT /api/dam/thesauruses/{id}"] == 1
        assert labels(pair, 3) == ["Term five"]
        assert paths(pair.source) == paths(pair.target)
        assert [row for row in pair.target.assets if row in before] == before[:2], "another asset was written"
        assert verified(pair)["counts"].get("different", 0) == 0
        forget(pair)
        change(pair, 3, "note", "changed again")
        assert ran(pair)["operations"] == {"update": 1}
        assert trees(pair) == [0, 0], "the new name is not remembered"


def term_id(pair: Pair, label: str) -> str:
    found = call(
        pair.source,
        "GET",
        f"/api/dam/search/autocomplete?type=thesaurus&q={label.replace(' ', '%20')}&forceArrays=true",
        ADMIN,
    )
    return next(str(row["id"]) for row in found["_embedded"]["thesaurus"] if row["title"] == label)
