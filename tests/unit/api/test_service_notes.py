"""What a service says besides its account, as sentences with what to do."""

from __future__ import annotations

from dam_sync.api.service_notes import SHOWN, about_toggles
from dam_sync.model.probed import Toggle, Toggles

KEEPS = Toggle("keep-type", "A version keeps its type", decides="the type after a new version")
OTHER = Toggle("other", requested=True)


def test_an_inventory_lists_every_opt_in_behavior_and_a_check_those_that_matter() -> None:
    plain = Toggle("plain", "Does something")
    found = Toggles("toggles", (KEEPS, OTHER, plain))
    every = [note.text for note in about_toggles(found, needed=False)]
    assert every == [
        "opt-in behavior keep-type, not requested (toggles): A version keeps its type; "
        "it may decide the type after a new version",
        "opt-in behavior other, requested",
        "opt-in behavior plain, not requested (toggles): Does something",
    ]
    assert [note.text for note in about_toggles(found, needed=True)] == every[:2]
    assert not any(note.warns for note in about_toggles(found, needed=True))
    assert about_toggles(None, needed=True) == []


def test_one_that_the_service_does_not_list_is_a_warning_with_the_nearest_name() -> None:
    (note,) = about_toggles(Toggles("toggles", (KEEPS,), ("keep-typ",)), needed=True)[:1]
    assert note.warns
    assert "lists no opt-in behavior keep-typ" in note.text
    assert "did you mean keep-type?" in note.hint
    (note,) = about_toggles(Toggles("toggles", (), ("later",)), needed=True)
    assert "leave it out of toggles" in note.hint


def test_a_list_that_cannot_be_read_is_a_warning_where_the_job_needs_it() -> None:
    found = Toggles("toggles", unread="returned 403")
    ((needed,), (shown,)) = about_toggles(found, needed=True), about_toggles(found, needed=False)
    assert (needed.warns, shown.warns) == (True, False)
    assert "returned 403" in needed.text
    assert needed.hint


def test_a_long_list_is_cut() -> None:
    found = Toggles("toggles", tuple(Toggle(f"t{number}") for number in range(SHOWN + 2)))
    notes = about_toggles(found, needed=False)
    assert len(notes) == SHOWN + 1
    assert notes[-1].text == "2 more opt-in behaviors of the service"
