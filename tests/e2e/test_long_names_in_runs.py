"""An asset or a name of millions of characters: it is parked or left out by name, the others are moved, and no report
repeats it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dam_sync.api.jobs import run_job
from dam_sync.http.bounds import LARGEST_REPLY
from tests.conformance.catalogue import SCHEMA, asset, field
from tests.support.jobs import small_jobs
from tests.support.jobs.any_pair import any_pair
from tests.support.jobs.tenants import Pair
from tests.support.libraries.every_feature import receiving, titled
from tests.support.network.long_texts import WORD, LongTexts

LONG = 1_000_000


def ran(folder: Path, records: list[Any], characters: int, source: str = "a_hypermedia") -> Mapping[str, Any]:
    """The report of a run in which a word of the source is a long text."""
    with any_pair(folder, source, "e_profiles", records, receiving(), "srckey") as pair:
        return asyncio.run(_run(pair, LongTexts(characters)))


async def _run(pair: Pair, network: LongTexts) -> Mapping[str, Any]:
    try:
        report = await run_job(pair.job, small_jobs.options(connectors=pair.connectors, transport=network))
    finally:
        await network.aclose()
    return report.as_json()


def test_an_asset_that_is_too_large_to_be_read_is_parked_and_others_are_moved(tmp_path: Path) -> None:
    rows = [asset(1, fields=titled(1, note=WORD)), asset(2, fields=titled(2))]
    report = ran(tmp_path, [*SCHEMA, *rows], LARGEST_REPLY + 1)
    assert (report["counts"]["created"], report["counts"]["parked"]) == (1, 1)
    (parked,) = report["parked"]
    assert parked["cause"] == "large asset"
    assert "shorten its longest texts" in parked["hint"]


@pytest.mark.parametrize(
    ("fields", "more", "created", "tells"),
    [
        ({"keywords": ["one", WORD]}, (), 1, "has 1,000,000 characters, at most 100,000"),
        ({WORD: "text"}, (field(WORD, "text"),), 2, "is longer than 100,000 characters"),
    ],
    ids=["a term made of a text", "the key of a field"],
)
def test_a_name_that_is_too_long_is_left_out_or_parked_by_name_and_no_report_repeats_it(
    tmp_path: Path, fields: Mapping[str, Any], more: tuple[Any, ...], created: int, tells: str
) -> None:
    rows = [asset(1, fields=titled(1, **fields)), asset(2, fields=titled(2))]
    report = ran(tmp_path, [*SCHEMA, *more, *rows], LONG, "c_brandlibrary")
    text = json.dumps(report)
    assert (report["counts"]["created"], report["counts"]["parked"]) == (created, 2 - created)
    assert tells in text
    assert len(text) < LONG
