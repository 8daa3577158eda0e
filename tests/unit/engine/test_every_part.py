"""Every part that is one value gets the same from each purpose of the engine, though nothing but the table of parts
names it: one more part is tried here as soon as it is in the table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import pytest

from dam_sync.engine.compare.parts import VALUES, AssetPart
from dam_sync.engine.decide.change import AssetChange, AssetCreate
from dam_sync.engine.decide.operations import digest_of_change
from dam_sync.engine.decide.patches import (
    applied,
    changes_of,
    changes_of_draft,
    changes_of_patch,
    may_overwrite,
    merge_patches,
    overlay,
    patch_between,
    patch_to_json,
    without,
)
from dam_sync.engine.decide.three_way import kept_values
from dam_sync.engine.run.originals import kept_of_original
from dam_sync.model.asset import Asset, Draft, Patch, Rights
from dam_sync.model.codec import draft_from_json, draft_to_json
from dam_sync.model.conflict import ConflictPolicy
from dam_sync.model.values import Json
from tests.support.comparisons import SCHEMA, asset_of
from tests.support.purposes import Purposes
from tests.support.random_states import State, Target

PLAIN: Final = Draft(None, "a.jpg", status="draft", fields={"title": "T"}, rights=Rights(groups=frozenset("g")))
KNOWN: Final = {"filename": ("a.jpg", "b.jpg", "hand.jpg"), "status": ("draft", "archived", "import")}
UNTOUCHED: Final = {  # of every plan of an earlier release
    "fields": {},
    "filename": None,
    "status": None,
    "closed": None,
    "tags": [[], []],
    "placements": [[], []],
    "rights": None,
    "cleared": [],
}


class Value:
    """One part with three values: as it was written, as the source has it now, and as somebody set it by hand."""

    def __init__(self, part: AssetPart) -> None:
        self.part, self.name = part, part.name
        self.old, self.new, self.hand = KNOWN.get(part.name, ("old", "new", "by hand"))

    def draft(self, value: str, **changes: Any) -> Draft:
        return replace(PLAIN, **{self.name: value}, **changes)

    def asset(self, value: str) -> Asset:
        return asset_of(self.draft(value))

    def json(self, value: str) -> Json:
        return draft_to_json(self.draft(value))

    def patch(self, value: str) -> Patch:
        return Patch(**{self.name: value})  # type: ignore[arg-type]

    def of(self, one: Draft | Asset | Patch) -> Any:
        return getattr(one, self.name)

    def purposes(
        self,
        *before: str,
        now: str,
        wanted: str,
        earlier: str | None = None,
        policy: ConflictPolicy = ConflictPolicy.PARK,
        **changes: Any,
    ) -> Purposes:
        """All purposes where these values were written, or may have been, and another one is there."""
        there, drafts = self.asset(now), tuple(map(self.draft, before))
        first = drafts[0] if earlier is None else self.draft(earlier)
        state = State(Target(), drafts, self.draft(wanted, **changes), there, there, first)
        return Purposes(state, policy)


@pytest.fixture(params=VALUES, ids=[part.name for part in VALUES])
def value(request: pytest.FixtureRequest) -> Value:
    return Value(request.param)


# -- a run -------------------------------------------------------------------------------------------------------------


def test_an_update_writes_it(value: Value) -> None:
    made = value.purposes(value.old, now=value.old, wanted=value.new).update()
    assert (made.patch, made.settled) == (value.patch(value.new), ())


def test_an_update_leaves_what_others_changed_alone(value: Value) -> None:
    made = value.purposes(value.old, now=value.hand, wanted=value.old, fields={"title": "U"}).update()
    assert (made.patch, made.settled) == (Patch(fields={"title": "U"}), ())


def test_a_change_at_both_services_is_a_conflict(value: Value) -> None:
    (found,) = value.purposes(value.old, now=value.hand, wanted=value.new).update().open
    one = found.conflict
    assert (one.path, one.written, one.source, one.target) == (value.name, value.old, value.new, value.hand)


@pytest.mark.parametrize("policy", [ConflictPolicy.SOURCE, ConflictPolicy.TARGET])
def test_the_value_that_the_policy_names_stands(value: Value, policy: ConflictPolicy) -> None:
    made = value.purposes(value.old, now=value.hand, wanted=value.new, policy=policy).update()
    kept = {value.name: value.hand} if policy is ConflictPolicy.TARGET else {}
    assert (made.patch, made.values) == (Patch() if kept else value.patch(value.new), kept)


def test_a_value_that_stands_remains_until_the_source_changes_it_again(value: Value) -> None:
    link = replace(value.purposes(value.old, now=value.old, wanted=value.old).link, kept={value.name: value.hand})
    kept = kept_values(link, value.draft(value.old), None)
    assert value.of(overlay(value.draft(value.old), kept)) == value.hand
    assert kept_values(link, value.draft(value.new), None) == {}


@pytest.mark.parametrize("written", [False, True])
def test_an_update_after_a_killed_one_completes_it(value: Value, written: bool) -> None:
    now = value.new if written else value.old
    made = value.purposes(value.old, value.new, now=now, wanted=value.new).update()
    assert (made.patch, made.settled) == (value.patch(value.new), ())


def test_a_resumed_create_completes_it_and_finds_what_others_changed(value: Value) -> None:
    made = value.purposes(value.old, now=value.old, wanted=value.new).resumed_create()
    assert (made.patch, made.settled) == (value.patch(value.new), ())
    purposes = value.purposes(value.old, now=value.hand, wanted=value.new)
    assert [one.conflict.path for one in purposes.resumed_create().open] == [value.name]
    by_source = replace(purposes, policy=ConflictPolicy.SOURCE).resumed_create()
    assert by_source.patch == value.patch(value.new)


# -- repair, removal, rollback -----------------------------------------------------------------------------------------


def test_a_repair_restores_it_and_records_what_was_there(value: Value) -> None:
    made = value.purposes(value.old, now=value.hand, wanted=value.old).repair()
    assert (made.settlement.patch, made.paths) == (value.patch(value.old), (value.name,))
    assert made.before[value.name] == value.hand
    assert value.purposes(value.old, now=value.old, wanted=value.old).repair().settlement.patch.empty


def test_a_removal_waits_where_others_changed_it(value: Value) -> None:
    assert value.purposes(value.old, now=value.hand, wanted=value.old).removal() == [value.name]
    for now in (value.old, value.new):
        assert value.purposes(value.old, value.new, now=now, wanted=value.new).removal() == []


def test_a_rollback_returns_it_unless_others_changed_it(value: Value) -> None:
    undo, kept = value.purposes(value.new, now=value.new, wanted=value.new, earlier=value.old).rollback()
    assert (undo.patch, [*kept]) == (value.patch(value.old), [])
    undo, kept = value.purposes(value.new, now=value.hand, wanted=value.new, earlier=value.old).rollback()
    assert (undo.patch, [*kept]) == (Patch(), [value.name])


@pytest.mark.parametrize("written", [False, True])
def test_a_rollback_of_a_killed_run_returns_it(value: Value, written: bool) -> None:
    now = value.new if written else value.old
    undo, kept = value.purposes(value.old, value.new, now=now, wanted=value.new).rollback()
    assert (undo.patch, [*kept]) == (value.patch(value.old), [])


# -- verification and adoption -----------------------------------------------------------------------------------------


def test_a_verification_and_an_adoption_name_it(value: Value) -> None:
    purposes = value.purposes(value.old, now=value.hand, wanted=value.old)
    for found in (purposes.verification, purposes.adoption):
        (one,) = found(value.draft(value.old), value.asset(value.hand))
        assert (one.path, one.expected, one.found, one.extra) == (value.name, value.old, value.hand, False)
        assert found(value.draft(value.old), value.asset(value.old)) == []


def test_an_adopted_original_keeps_it(value: Value) -> None:
    draft, there = value.draft(value.old), value.asset(value.hand)
    context = value.purposes(value.old, now=value.hand, wanted=value.old).context
    kept = kept_of_original(context.target, context.mapping.crosswalk, draft, draft, there)
    assert kept == {value.name: value.hand}


# -- plan, ledger, report ----------------------------------------------------------------------------------------------


def test_the_digest_of_a_plan_depends_on_it(value: Value) -> None:
    digests = [digest_of_change(AssetChange(patch=value.patch(one))) for one in (value.old, value.new)]
    assert len({*digests, digest_of_change(AssetChange())}) == 3
    creates = [AssetChange(create=AssetCreate(value.draft(one))) for one in (value.old, value.new)]
    assert len({*map(digest_of_change, creates)}) == 2
    assert patch_to_json(Patch()) == UNTOUCHED


def test_the_ledger_leads_forth_and_back(value: Value) -> None:
    old, new = value.json(value.old), value.json(value.new)
    changes = changes_of_patch(value.patch(value.new), old, "values")
    assert changes == {value.name: [value.old, value.new]}
    assert changes_of_patch(value.patch(value.new), old, "keys") == {value.name: None}
    assert (applied(old, changes), applied(new, changes, back=True)) == (new, old)
    assert changes_of_draft(new, "values")[value.name] == [None, value.new]


def test_the_report_names_it(value: Value) -> None:
    assert changes_of(AssetChange(patch=value.patch(value.new))) == value.name


def test_its_update_reads_the_asset_before(value: Value) -> None:
    assert may_overwrite(value.patch(value.new), False, SCHEMA)


def test_a_draft_is_stored_with_it_and_a_patch_can_leave_it_out(value: Value) -> None:
    assert draft_from_json(value.json(value.new)) == value.draft(value.new)
    assert without(value.patch(value.new), [value.name]).empty


# -- an empty one ------------------------------------------------------------------------------------------------------


def test_an_empty_value_says_nothing_or_is_written_as_one(value: Value) -> None:
    silent = value.part.silent
    cleared = Patch() if silent else value.patch("")
    assert patch_between(value.json(value.old), value.draft("")) == cleared
    assert merge_patches([value.json(value.old), value.json(value.new)], value.draft("")) == cleared
    purposes = value.purposes(value.old, now=value.old, wanted="")
    assert purposes.repair().settlement.patch == cleared


def test_what_a_run_set_first_is_empty_after_its_rollback(value: Value) -> None:
    """Unless an asset always has one."""
    undo, kept = value.purposes(value.new, now=value.new, wanted=value.new, earlier="").rollback()
    assert (undo.patch, [*kept]) == (Patch() if value.part.silent else value.patch(""), [])
    changes = changes_of_patch(value.patch(value.new), value.json(""), "values")
    assert applied(value.json(value.new), changes, back=True) == value.json("")


def test_what_others_set_where_nothing_is_wanted_is_an_addition(value: Value) -> None:
    """Where an empty value says nothing, it is not even that."""
    purposes = value.purposes("", now=value.hand, wanted="")
    found = purposes.verification(value.draft(""), value.asset(value.hand))
    assert [one.extra for one in found] == ([] if value.part.silent else [True])
    assert purposes.repair().settlement.patch.empty
