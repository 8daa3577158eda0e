"""What a report says in words: a line for what happened, none for what did not."""

from __future__ import annotations

import re

import pytest

from dam_sync.report import sentences


def test_nothing_is_said_of_what_did_not_happen() -> None:
    assert sentences.about_resumed(1, 0) == []
    assert sentences.about_retried({"passed": 0}) == []
    assert sentences.about_unseen((), None) == []
    assert sentences.about_left_out({}) == []
    assert sentences.about_orphans(0) == []
    assert sentences.about_partial_creates(0) == []
    assert sentences.about_fetched(0, 0, 0) == []
    assert sentences.about_fetches(0, 0) == []
    assert sentences.about_no_links("") == []
    assert sentences.about_adopted(0, 0) == []
    assert sentences.about_unclaimed(0, ()) == []
    assert sentences.about_linked(0) == []
    assert sentences.about_estimate(0, None, 5, 5) == []


@pytest.mark.parametrize(("number", "said"), [(1, "1 upload session left"), (2, "2 upload sessions left")])
def test_one_is_said_in_the_singular(number: int, said: str) -> None:
    (note,) = sentences.about_orphans(number)
    assert note.startswith(said)


@pytest.mark.parametrize(
    "notes",
    [
        sentences.about_relations([("no such kind", 1)]),
        sentences.about_relations([("", 1)]),
        sentences.about_disappeared(1, 0, ["7"]),
        sentences.about_disappeared(1, 1, ["7"], removes=True),
        sentences.about_probation(1, "2026-03-02"),
        sentences.about_adopted(0, 1),
        sentences.about_unclaimed(1, ["7"]),
        sentences.about_unseen(("tags",), 1),
    ],
    ids=lambda notes: notes[0][:30],
)
def test_no_number_is_followed_by_a_wrong_plural(notes: list[str]) -> None:
    (note,) = notes
    assert re.search(r"\b1 [a-z]", note)
    assert not re.search(r"\b1 (?:[a-z]+ )?(?:assets|relations|runs)\b", note)
    assert not re.search(r"\b1 [a-z ]+? (?:are|were|have|match|wait|they)\b", note)


def test_what_a_person_should_know_is_said_with_what_to_do() -> None:
    assert sentences.about_partial_creates(1) == [
        "1 asset was left incomplete by an earlier run, and gone from the source or restricted there since: "
        "moved to the trash of the target"
    ]
    assert sentences.about_retried({"changed": 2}) == ["2 assets that were parked are tried again: the mapping changed"]
    assert sentences.about_unseen(("tags",), 7) == [
        "changes of tags alone do not change an asset's date at the source: the rotation finds them within 7 runs"
    ]
    assert sentences.about_unseen(("tags", "rights"), None) == [
        "changes of tags and rights alone do not change an asset's date at the source: only `run JOB --full` finds them"
    ]
    assert sentences.about_disappeared(4, 1, ("a", "b", "c")) == [
        "4 assets moved before are gone from the source (a, b, c…), 1 of them since the last run; "
        "they stay in the target"
    ]
    assert "until 2026-01-01" in sentences.about_probation(2, "2026-01-01")[0]


def test_a_connector_that_does_not_state_its_calls_is_named() -> None:
    assert sentences.about_costs([]) == []
    source, target = sentences.about_costs(["source", "target"])
    assert source.startswith("the connector of the source does not state its API calls")
    assert target.endswith("the duration of this plan leave out what a run writes to it")
    assert source.endswith("leave out the files that a run opens")


def test_what_an_estimate_leaves_out_is_said() -> None:
    bytes_, calls, disk = sentences.about_estimate(2_500_000_000, 0.2, 12_300_000, 1_000_000)
    assert "the transfer of 2.5 GB" in bytes_
    assert "0.2 s for each" in calls
    assert "the largest file has 12.3 MB and the disk of the state has 1.0 MB free" in disk


def test_assets_that_are_not_selected_are_counted_by_condition() -> None:
    assert sentences.about_left_out({"where": 1200, "status": 3}) == [
        "1,203 assets are not selected, left out by `select`: where 1,200, status 3"
    ]
    assert sentences.about_left_out({"ids": 1}) == ["1 asset is not selected, left out by `select`: ids 1"]


def test_files_that_the_target_fetches_are_distinguished_from_those_that_were_sent() -> None:
    assert sentences.about_fetches(1, 1_000) == [
        "1 file will be fetched by the target itself (1,000 bytes), by links of the source"
    ]
    fetched, sent, why = sentences.about_fetched(2, 1_000, 1, exhausted=True)
    assert fetched == "2 files were fetched by the target itself (1,000 bytes), compared by size only"
    assert sent == "1 file was not fetched by the target as announced, and sent through this process instead"
    assert "check that the target can reach the source" in why
    assert sentences.about_no_links("the target does not fetch files") == [
        "`policy: {bytes: pull}` has no effect: the target does not fetch files"
    ]
