"""What a service has to report depends on whether a job reads it or writes to it, not on whether it may write now."""

from __future__ import annotations

from pathlib import Path

from dam_sync.model.service import Account
from dam_sync.report.loss_words import UNLESS_ASKED, in_words
from tests.support.small import photos, small

PRIVATE = "collections are made as private ones"
UNREAD = "documents attached to assets are not read"


def test_notes_follow_the_role() -> None:
    account = Account("here", notes=("both",), as_source=("read",), as_target=("written",))
    assert account.notes_as("source") == ("both", "read")
    assert account.notes_as("target") == ("both", "written")


def test_a_plan_says_of_its_target_what_the_run_will_say(tmp_path: Path) -> None:
    with small(tmp_path, photos(1), options="version_policy: none, index_lag: 1") as job:
        planned = job.ran("plan", "--json", "--no-progress", code=0).data["notes"]
        done = job.run().data["notes"]
    for notes in (planned, done):
        assert any(PRIVATE in note for note in notes)
        assert any("version_policy of the target is not set" in note for note in notes)
        assert not any(UNREAD in note for note in notes), "nothing is read there"


def test_what_an_option_would_carry_is_not_called_impossible() -> None:
    assert in_words("versions", "target cannot hold") == f"older versions of the file: {UNLESS_ASKED}"
    assert in_words("created_at", "target cannot hold") == "the creation date: the target has no place for it"
    assert in_words("fields.keywords[]", "first") == "field keywords: only the first of several values is carried"
