"""The three-way decision: what was last written, what the source wants, what the target has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dam_sync.engine.compare.facts import TargetFacts
from dam_sync.engine.compare.file_keys import version_key
from dam_sync.engine.compare.files import file_facts
from dam_sync.engine.decide.conflicts import Newer, SettledConflict, settle, settlement_of
from dam_sync.engine.decide.patches import may_overwrite, merge_patches, overlay, patch_between
from dam_sync.engine.decide.three_way import Files, ThreeWay, kept_values
from dam_sync.engine.read.compared import as_not_hidden
from dam_sync.engine.read.expected import expected_files
from dam_sync.engine.read.intents import ATTACHED, FILES
from dam_sync.model.asset import Asset, AssetId, Draft, FileRef, Loss, Patch, Placement, Revision, Rights
from dam_sync.model.audience import Audience, Restriction, RestrictionKind
from dam_sync.model.capabilities import Feature, Support
from dam_sync.model.codec import draft_to_json
from dam_sync.model.conflict import DECISION, ConflictPolicy, ConflictRules, Take, shown
from dam_sync.model.limits import Limits, Pace
from dam_sync.model.link import LinkRow
from dam_sync.model.schema import Field, FieldKind, Schema
from dam_sync.model.values import Localized, Term, value_from_json, value_to_json
from tests.support.comparisons import ABLE

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PLACES = [Placement("folder", (name,)) for name in ("Ours", "Theirs", "Third")]
SCHEMA = Schema(
    fields={
        "note": Field("note", FieldKind.TEXT),
        "title": Field("title", FieldKind.TEXT, localized=True),
        "subject": Field("subject", FieldKind.TERM, multiple=True),
    },
    locales=("en", "fr"),
    container_most={"folder": 1},
    container_staging=frozenset({PLACES[2]}),  # people may put an asset there, too
)
LIMITS = Limits(page=1, pace=Pace())
FACTS = TargetFacts(
    SCHEMA, ABLE, LIMITS.precision, lambda draft: Audience(groups=draft.rights.groups or frozenset({"everyone"})), NOW
)
UNKNOWN = Newer(Take.NONE)
OLD, NEW, FOREIGN = (FileRef(f"f{n}", f"{n}.jpg", 100 + n, digests={"md5": f"{n}"}) for n in range(3))
LINK_VERSIONS = (version_key(OLD),)


def terms(*labels: str) -> tuple[Term, ...]:
    return tuple(Term(label, f"id-{label}") for label in labels)


BEFORE = Draft(
    None,
    "a.jpg",
    status="published",
    fields={"note": "old", "title": Localized({"en": "Sea", "fr": "Mer"}), "subject": terms("Sea", "City")},
    placements=frozenset({PLACES[0]}),
    tags=frozenset({"sea"}),
    rights=Rights(NOW, NOW + timedelta(days=90), frozenset({"staff", "press"})),
)


def link(draft: Draft = BEFORE, **changed: Any) -> LinkRow:
    row = LinkRow("1", "t1", filename="a.jpg", draft=draft_to_json(draft), size=OLD.size, digests=OLD.digests)
    return replace(row, versions=LINK_VERSIONS, **changed)


def asset(draft: Draft, file: FileRef = OLD) -> Asset:
    """An asset of the target that is as this draft says."""
    return Asset(
        AssetId("t1"),
        Revision("r"),
        filename=draft.filename,
        status=draft.status,
        fields=draft.fields,
        placements=draft.placements,
        tags=draft.tags,
        rights=draft.rights,
        versions=(file,),
    )


def files_of(known: LinkRow, current: FileRef, *ours: FileRef, sent: Sequence[FileRef] = ()) -> Files:
    """Those of an update that adds a version. ours: all files of the source; sent: by an attempt that was killed."""
    intents = [{**known.draft, FILES: [*map(file_facts, sent)], ATTACHED: []}] if sent else []
    return Files(known, current, fresh=True, expected=expected_files(known, intents, ours))


def compared(source: Draft, target: Asset, *more: Draft, files: Files | None = None) -> ThreeWay:
    before = [draft_to_json(each) for each in (BEFORE, *more)]
    patch = patch_between(before[0], source)
    return ThreeWay(before, source, patch, target, files or Files(link()), FACTS)


def changed(draft: Draft = BEFORE, **fields: Any) -> Draft:
    return replace(draft, fields={**draft.fields, **fields})


def taken(three: ThreeWay, policy: ConflictPolicy, newer: Newer = UNKNOWN) -> list[SettledConflict]:
    return settle(three.conflicts(), ConflictRules(policy), newer, {})


def values(settled: list[SettledConflict]) -> dict[str, Any]:
    found = {one.conflict.path: one.conflict.target for one in settled if one.take is Take.TARGET}
    return found | {one.conflict.path: one.conflict.merged for one in settled if one.take is Take.MERGED}


def applied(patch: Patch, target: Asset) -> Asset:
    """The target after an update."""
    fields = {**target.fields, **patch.fields}
    return replace(
        target,
        fields={key: value for key, value in fields.items() if value is not None},
        filename=target.filename if patch.filename is None else patch.filename,
        status=target.status if patch.status is None else patch.status,
        tags=target.tags - patch.tags_remove | patch.tags_add,
        rights=patch.rights or target.rights,
    )


EDITS: dict[str, tuple[Draft, Draft]] = {
    "fields.note": (changed(note="ours"), changed(note="theirs")),
    "fields.title": (changed(title=Localized({"en": "Ours"})), changed(title=Localized({"en": "Theirs"}))),
    "fields.subject": (changed(subject=terms("Wood")), changed(subject=terms("Lake"))),
    "filename": (replace(BEFORE, filename="ours.jpg"), replace(BEFORE, filename="theirs.jpg")),
    "status": (replace(BEFORE, status="archived"), replace(BEFORE, status="draft")),
    "placements.folder": (
        replace(BEFORE, placements=frozenset({PLACES[1]})),
        replace(BEFORE, placements=frozenset({PLACES[2]})),
    ),
    "release": tuple(
        replace(BEFORE, rights=replace(BEFORE.rights, release_at=NOW + timedelta(days=n))) for n in (1, 2)
    ),  # type: ignore[dict-item]
    "expiry": tuple(replace(BEFORE, rights=replace(BEFORE.rights, expires_at=NOW + timedelta(days=n))) for n in (1, 2)),  # type: ignore[dict-item]
    "groups": tuple(
        replace(BEFORE, rights=replace(BEFORE.rights, groups=frozenset({name}))) for name in ("staff", "press")
    ),  # type: ignore[dict-item]
}


@pytest.mark.parametrize("path", EDITS)
def test_a_value_that_changed_at_both_services_is_a_conflict_with_both_values(path: str) -> None:
    ours, theirs = EDITS[path]
    (found,) = compared(ours, asset(theirs)).conflicts()
    assert found.path == path
    sides = [shown(path, side) for side in (found.written, found.source, found.target)]
    assert len(set(sides)) == 3, sides
    assert "" not in sides


@pytest.mark.parametrize("path", EDITS)
def test_a_value_that_changed_at_one_service_is_none(path: str) -> None:
    ours, theirs = EDITS[path]
    assert compared(ours, asset(BEFORE)).conflicts() == []
    assert compared(BEFORE, asset(theirs)).conflicts() == []
    assert compared(ours, asset(ours)).conflicts() == [], "both made the same change"
    assert compared(ours, asset(theirs), theirs).conflicts() == [], "we may have written it before a crash"


def test_a_status_on_the_way_of_an_attempt_of_ours_is_no_conflict() -> None:
    """A killed attempt had followed the first of two transitions."""
    ours, theirs = EDITS["status"]
    schema = replace(SCHEMA, status_ways={("published", "archived"): frozenset({"Draft"})})
    assert [
        one.path for one in replace(compared(ours, asset(theirs)), facts=replace(FACTS, schema=schema)).conflicts()
    ] == ["status"]
    assert replace(compared(ours, asset(theirs), ours), facts=replace(FACTS, schema=schema)).conflicts() == []
    assert [one.path for one in compared(ours, asset(theirs), ours).conflicts()] == ["status"]


@pytest.mark.parametrize("path", EDITS)
@pytest.mark.parametrize("policy", ConflictPolicy)
def test_the_policy_says_which_value_is_used(path: str, policy: ConflictPolicy) -> None:
    ours, theirs = EDITS[path]
    three = compared(ours, asset(theirs))
    (settled,) = taken(three, policy, Newer(Take.TARGET))
    patch = three.settled(values([settled]))
    match policy:
        case ConflictPolicy.PARK:
            assert settled.take is Take.NONE
        case ConflictPolicy.SOURCE:
            assert settled.take is Take.SOURCE
            assert patch == three.patch
        case ConflictPolicy.TARGET | ConflictPolicy.NEWEST:
            assert settled.take is Take.TARGET
            assert patch.empty, patch
        case ConflictPolicy.MERGE if path in ("fields.subject",):
            assert settled.take is Take.MERGED
            assert patch.fields["subject"] == (*terms("Wood"), *terms("Lake"))
        case ConflictPolicy.MERGE:
            assert (settled.take, settled.why) == (Take.NONE, "the two changes exclude each other")


def test_the_newest_is_parked_with_the_reason_if_it_is_unknown() -> None:
    ours, theirs = EDITS["fields.note"]
    (settled,) = taken(compared(ours, asset(theirs)), ConflictPolicy.NEWEST, Newer(Take.NONE, "no date"))
    assert (settled.take, settled.why, settled.by) == (Take.NONE, "no date", "newest")


def test_a_decision_is_about_the_two_values_that_were_shown() -> None:
    ours, theirs = EDITS["fields.note"]
    (conflict,) = compared(ours, asset(theirs)).conflicts()
    decided = {(conflict.path, conflict.state): "target"}
    (settled,) = settle([conflict], ConflictRules(ConflictPolicy.SOURCE), Newer(Take.NONE), decided)
    assert (settled.take, settled.by) == (Take.TARGET, DECISION)
    for source, target in ((changed(note="later"), theirs), (ours, changed(note="later"))):
        (other,) = compared(source, asset(target)).conflicts()
        (settled,) = settle([other], ConflictRules(), Newer(Take.NONE), decided)
        assert settled.take is Take.NONE


def test_an_id_that_a_term_gets_later_does_not_change_the_conflict() -> None:
    first, again = (
        compared(changed(subject=(Term("Wood", name),)), asset(EDITS["fields.subject"][1])) for name in "ab"
    )
    assert [one.state for one in first.conflicts()] == [one.state for one in again.conflicts()]


def test_rights_are_written_with_what_others_changed_at_the_target() -> None:
    rights = BEFORE.rights
    source = replace(BEFORE, rights=replace(rights, release_at=NOW + timedelta(days=1)))
    theirs = replace(rights, expires_at=NOW + timedelta(days=5), groups=frozenset({"staff", "board"}))
    three = compared(source, asset(replace(BEFORE, rights=theirs)))
    assert three.conflicts() == []
    expected = Rights(NOW + timedelta(days=1), NOW + timedelta(days=5), frozenset({"staff", "board"}))
    assert three.settled({}).rights == expected
    assert [one.path for one in three.set_back()] == ["expiry"]


def test_a_release_date_that_a_killed_attempt_took_away_is_written_again() -> None:
    """It hid the asset while it changed several of its parts."""
    schema = replace(SCHEMA, always_released=True)
    meant = replace(BEFORE, rights=replace(BEFORE.rights, groups=frozenset({"staff"})))
    hidden = replace(asset(BEFORE), rights=replace(BEFORE.rights, release_at=None))
    before = [draft_to_json(BEFORE), draft_to_json(meant)]
    shown = as_not_hidden(before, hidden, schema)
    three = compared(meant, shown, meant)
    assert (three.conflicts(), three.settled({}).rights) == ([], meant.rights)
    for others in (as_not_hidden(before, hidden, SCHEMA), as_not_hidden(before[:1], hidden, schema)):
        assert others == hidden, "somebody else took it away"


def test_groups_are_merged_element_by_element_but_never_to_nobody() -> None:
    rights = BEFORE.rights
    source = replace(BEFORE, rights=replace(rights, groups=frozenset({"staff", "press", "board"})))
    three = compared(source, asset(replace(BEFORE, rights=replace(rights, groups=frozenset({"press"})))))
    assert three.conflicts() == []
    assert three.settled({}).rights.groups == {"press", "board"}  # type: ignore[union-attr]
    open_to_all = asset(replace(BEFORE, rights=replace(rights, groups=frozenset())))
    assert [one.path for one in compared(source, open_to_all).conflicts()] == ["groups"]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [("staff board", "all"), ("staff board", "all staff"), ("all", "press")],
    ids=["others opened it", "others added everybody", "the source opened it, others took a group"],
)
def test_groups_are_compared_as_one_as_soon_as_a_side_is_open_to_everybody(ours: str, theirs: str) -> None:
    """Merged by member, an asset that the source limits now would stay open to everybody."""
    source, there = (
        replace(BEFORE, rights=replace(BEFORE.rights, groups=frozenset(one.split()))) for one in (ours, theirs)
    )

    def audience(draft: Draft) -> Audience:
        return Audience(groups=None if "all" in draft.rights.groups else draft.rights.groups)

    three = replace(compared(source, asset(there)), facts=replace(FACTS, audience=audience))
    (found,) = three.conflicts()
    assert (found.path, found.source, found.target) == ("groups", sorted(ours.split()), sorted(theirs.split()))


def test_a_name_that_no_call_changes_is_no_conflict() -> None:
    """A repair meets it, too, which asks what can be written only afterwards."""
    ours, theirs = EDITS["filename"]
    able = replace(ABLE, features={**ABLE.features, Feature.FILENAME: Support("no")})
    assert replace(compared(ours, asset(theirs)), facts=replace(FACTS, capabilities=able)).conflicts() == []


def test_an_asset_that_a_killed_attempt_hid_is_open_to_its_groups() -> None:
    schema = replace(SCHEMA, always_released=True)
    unreleased = Rights(restrictions=frozenset({Restriction(RestrictionKind.UNRELEASED)}))
    meant = replace(BEFORE, rights=replace(BEFORE.rights, groups=frozenset({"staff"})))
    before = [draft_to_json(BEFORE), draft_to_json(meant)]
    assert as_not_hidden(before, replace(asset(BEFORE), rights=unreleased), schema).rights == Rights(
        BEFORE.rights.release_at
    )


def test_status_and_rights_of_a_hidden_asset_are_not_compared() -> None:
    ours, theirs = replace(EDITS["status"][0], closed=True), EDITS["status"][1]
    assert compared(ours, asset(theirs)).conflicts() == []


def test_groups_that_a_killed_attempt_took_away_return_though_a_date_of_the_target_stands() -> None:
    """A service takes an asset from its groups before it gives it others."""
    schema = replace(SCHEMA, group_staging=frozenset({"staging"}))
    began = replace(BEFORE, rights=replace(BEFORE.rights, groups=frozenset({"press"})))
    source = replace(BEFORE, rights=replace(BEFORE.rights, expires_at=NOW + timedelta(days=7)))
    by_hand = Rights(NOW, NOW + timedelta(days=60), frozenset({"staging"}))
    before = [draft_to_json(each) for each in (BEFORE, began)]
    shown = as_not_hidden(before, replace(asset(BEFORE), rights=by_hand), schema)
    three = ThreeWay(before, source, merge_patches(before, source), shown, Files(link()), replace(FACTS, schema=schema))
    (conflict,) = three.conflicts()
    written = three.settled({conflict.path: conflict.target}).rights
    assert written == replace(by_hand, groups=BEFORE.rights.groups)


FILE_OF = {"same digest": OLD, "digest changed": FOREIGN, "size changed": replace(OLD, size=7, digests={})}


@pytest.mark.parametrize("case", FILE_OF)
def test_a_file_that_somebody_replaced_is_a_conflict_if_the_source_has_another_too(case: str) -> None:
    files = files_of(link(), NEW, OLD, NEW)
    found = compared(BEFORE, asset(BEFORE, FILE_OF[case]), files=files).conflicts()
    assert [one.path for one in found] == ([] if case == "same digest" else ["file"])
    assert compared(BEFORE, asset(BEFORE, FILE_OF[case]), files=replace(files, fresh=False)).conflicts() == []


def test_a_file_of_the_same_size_without_digests_is_known_by_the_number_of_versions() -> None:
    files = files_of(link(digests={}), replace(NEW, digests={}), replace(NEW, digests={}))
    target = asset(BEFORE, replace(OLD, digests={}))
    assert compared(BEFORE, target, files=files).conflicts() == []
    twice = replace(target, versions=target.versions * 2)
    assert [one.path for one in compared(BEFORE, twice, files=files).conflicts()] == ["file"]
    hidden = replace(twice, losses=(Loss("versions", "not returned"),))
    assert compared(BEFORE, hidden, files=files).conflicts() == []


def test_a_file_that_somebody_uploaded_to_an_asset_without_one_is_not_ours() -> None:
    bare = replace(link(), versions=(), size=None, digests={})
    files = files_of(bare, OLD, OLD)
    (found,) = compared(BEFORE, asset(BEFORE, FOREIGN), files=files).conflicts()
    assert (found.path, found.written) == ("file", None)
    assert compared(BEFORE, asset(BEFORE, OLD), files=files).conflicts() == []
    kept = replace(bare, versions=LINK_VERSIONS, kept={"file": file_facts(FOREIGN)})
    again = files_of(kept, NEW, OLD, NEW)
    assert [one.path for one in compared(BEFORE, asset(BEFORE, FOREIGN), files=again).conflicts()] == ["file"]


def test_our_new_version_that_arrived_before_a_crash_is_no_conflict() -> None:
    files = files_of(link(), NEW, OLD, NEW)
    assert compared(BEFORE, asset(BEFORE, NEW), files=files).conflicts() == []


def paths_of_two(files: Files, theirs: FileRef) -> list[str]:
    """The conflicts of an asset with a second version."""
    twice = replace(asset(BEFORE, theirs), versions=(OLD, theirs))
    return [one.path for one in compared(BEFORE, twice, files=files).conflicts()]


@pytest.mark.parametrize(("begun", "paths"), [(True, []), (False, ["file"])])
def test_a_file_that_only_has_the_size_of_ours_is_ours_if_it_may_have_been_sent(begun: bool, paths: list[str]) -> None:
    """Others may have replaced it by one of the same size: an image without compression keeps it."""
    ours = replace(NEW, digests={})
    assert paths_of_two(files_of(link(), ours, OLD, ours, sent=[ours] if begun else ()), ours) == paths


def test_what_a_killed_attempt_sent_is_ours_though_the_source_has_another_file_by_now() -> None:
    third = FileRef("f3", "3.jpg", 103, digests={"md5": "3"})
    assert paths_of_two(files_of(link(), third, third, sent=[NEW]), replace(NEW, digests={})) == []
    assert paths_of_two(files_of(link(), third, third, sent=[NEW]), FOREIGN) == ["file"]


def test_a_file_of_the_size_of_one_that_no_attempt_sent_is_somebodys() -> None:
    """The source got that file after the attempt that was killed."""
    third = FileRef("f3", "3.jpg", 103)
    assert paths_of_two(files_of(link(), third, third, sent=[NEW]), third) == ["file"]


def test_one_more_version_of_the_size_that_was_written_last_is_somebodys_though_an_attempt_was_killed() -> None:
    """That of the attempt would be the current one."""
    known = link(digests={})
    assert paths_of_two(files_of(known, NEW, NEW, sent=[NEW]), replace(OLD, digests={})) == ["file"]


def test_any_file_of_the_source_may_be_what_an_attempt_of_an_older_release_sent() -> None:
    ours = replace(NEW, digests={})
    files = replace(files_of(link(), ours, OLD, ours), expected=expected_files(link(), [link().draft], (OLD, ours)))
    assert (paths_of_two(files, ours), paths_of_two(files, FOREIGN)) == ([], ["file"])


@pytest.mark.parametrize(("digests", "paths"), [({}, ["file"]), (OLD.digests, [])])
def test_a_file_that_a_verification_read_is_somebodys_until_a_digest_says_that_ours_is_back(
    digests: Mapping[str, str], paths: list[str]
) -> None:
    known = link(proofs={LINK_VERSIONS[0]: "V0"})
    found = compared(BEFORE, asset(BEFORE, replace(OLD, digests=digests)), files=files_of(known, NEW, NEW)).conflicts()
    assert [one.path for one in found] == paths


def test_the_first_attachment_of_an_asset_without_a_file_is_nobodys_file() -> None:
    """Some services return it as one."""
    attached = {"k": {"name": FOREIGN.name, "size": FOREIGN.size, "digests": dict(FOREIGN.digests)}}
    bare = replace(link(), versions=(), size=None, digests={}, attachments=("k",), attached=attached)
    for sent in ((), (OLD,)):  # an attempt may have been killed before it sent the first file
        files = files_of(bare, OLD, OLD, sent=sent)
        assert compared(BEFORE, asset(BEFORE, FOREIGN), files=files).conflicts() == []


def test_only_what_replaces_a_value_needs_a_look_at_the_target() -> None:
    folder, label = PLACES[0], Placement("label", ("red",))
    sets = Patch(tags_add=frozenset({"a"}), placements_add=frozenset({label}), placements_remove=frozenset({folder}))
    assert not may_overwrite(sets, fresh=False, schema=SCHEMA)
    assert may_overwrite(sets, fresh=True, schema=SCHEMA)
    assert may_overwrite(replace(sets, placements_add=frozenset({folder})), fresh=False, schema=SCHEMA)
    for patch in (Patch(fields={"note": None}), Patch(filename="b"), Patch(status="x"), Patch(rights=Rights())):
        assert may_overwrite(patch, fresh=False, schema=SCHEMA)


@pytest.mark.parametrize("path", EDITS)
def test_an_override_lasts_until_the_source_changes_the_value_again(path: str) -> None:
    ours, theirs = EDITS[path]
    (conflict,) = compared(ours, asset(theirs)).conflicts()
    after = link(ours, kept={path: conflict.target, "fields.other": "x"})
    kept = kept_values(after, ours, OLD)
    assert kept.keys() == {path, "fields.other"}
    target = asset(theirs)
    assert patch_between(after.draft, ours).empty, "the next run does not report it again"
    wanted = overlay(ours, {path: conflict.target})
    assert (wanted.fields, wanted.filename, wanted.status) == (target.fields, target.filename, target.status)
    assert (wanted.placements, wanted.rights) == (target.placements, target.rights)
    assert path not in kept_values(after, BEFORE, OLD), "the source changed it again"


def test_an_overriding_file_lasts_until_the_source_has_another() -> None:
    after = link(
        kept={"file": {"name": "x", "size": 5, "digests": {}}},
    )
    assert "file" in kept_values(after, BEFORE, OLD)
    assert kept_values(after, BEFORE, NEW) == {}
    assert kept_values(after, BEFORE, None) == {}


async def test_the_name_of_an_overriding_file_lasts_as_long_as_the_file() -> None:
    theirs = replace(asset(BEFORE, FOREIGN), filename=FOREIGN.name)
    three = compared(changed(note="ours"), theirs, files=files_of(link(), NEW, OLD, NEW))
    rules = ConflictRules(ConflictPolicy.TARGET)
    made = settlement_of(three, settle(three.conflicts(), rules, UNKNOWN, {}))
    assert (made.values["file"]["name"], made.values["filename"]) == (FOREIGN.name, FOREIGN.name)
    after = link(kept=dict(made.values))
    assert kept_values(after, BEFORE, OLD)["filename"] == FOREIGN.name
    assert kept_values(after, BEFORE, NEW) == {}, "the source has another file, which brings its own name"


async def test_the_name_of_a_file_that_is_replaced_by_the_sources_goes_with_it() -> None:
    """A new version brings the name that the source gives it, unless only the name was changed at the target."""
    theirs = replace(asset(BEFORE, FOREIGN), filename=FOREIGN.name)
    three = compared(changed(note="ours"), theirs, files=files_of(link(), NEW, OLD, NEW))
    made = settlement_of(three, settle(three.conflicts(), ConflictRules(ConflictPolicy.SOURCE), UNKNOWN, {}))
    assert ([one.conflict.path for one in made.settled], made.filename) == (["file"], "")
    renamed = replace(asset(BEFORE, OLD), filename="theirs.jpg")
    three = compared(changed(note="ours"), renamed, files=files_of(link(), NEW, OLD, NEW))
    made = settlement_of(three, settle(three.conflicts(), ConflictRules(ConflictPolicy.SOURCE), UNKNOWN, {}))
    assert (made.settled, made.filename) == ((), "theirs.jpg")


# -- properties --------------------------------------------------------------------------------------------------------

NAMES = st.frozensets(st.sampled_from("abcd"))
TEXTS = st.dictionaries(st.sampled_from(["en", "fr", "de"]), st.sampled_from("xyz"))


def both(before: Draft, source: Draft, target: Draft) -> ThreeWay:
    wrote, there = draft_to_json(before), asset(target)
    return ThreeWay([wrote], source, patch_between(wrote, source), there, Files(link(before)), FACTS)


def with_field(key: str, value: Any) -> Draft:
    return replace(BEFORE, fields={key: value} if value else {})


@given(NAMES, NAMES, NAMES)
def test_sets_are_merged_element_by_element(
    before: frozenset[str], ours: frozenset[str], theirs: frozenset[str]
) -> None:
    sides = [with_field("subject", terms(*sorted(each))) for each in (before, ours, theirs)]
    for conflict in both(*sides).conflicts():
        rows = value_from_json(conflict.merged) if conflict.merged is not None else ()
        labels = [row.label for row in rows if isinstance(row, Term)] if isinstance(rows, tuple) else []
        assert labels == [*sorted({*labels} & ours), *sorted({*labels} - ours)]
        assert frozenset(labels) == merged_names(before, ours, theirs)


def merged_names(before: frozenset[str], ours: frozenset[str], theirs: frozenset[str]) -> frozenset[str]:
    """Each as the side has it that changed it."""
    sides = {name: [name in each for each in (before, ours, theirs)] for name in before | ours | theirs}
    return frozenset(name for name, (was, our, their) in sides.items() if (our if their == was else their))


@given(TEXTS, TEXTS, TEXTS)
def test_languages_are_merged_unless_one_changed_at_both(
    before: Mapping[str, str], ours: Mapping[str, str], theirs: Mapping[str, str]
) -> None:
    sides = [with_field("title", Localized(each) if each else None) for each in (before, ours, theirs)]
    pairs = {key: (before.get(key), ours.get(key), theirs.get(key)) for key in ("en", "fr", "de")}
    clash = any(len({*sides}) == 3 or (sides[0] not in sides[1:] and sides[1] != sides[2]) for sides in pairs.values())
    wanted = {key: ours.get(key) if theirs.get(key) == was else theirs.get(key) for key, (was, *_) in pairs.items()}
    wanted = {key: text for key, text in wanted.items() if text}
    for conflict in both(*sides).conflicts():
        assert conflict.merged == (None if clash or not wanted else value_to_json(Localized(wanted)))


DRAFTS = st.builds(
    lambda note, subject, name, status, tags, groups, release: Draft(
        None,
        name,
        status=status,
        fields={
            **({"note": note} if note else {}),
            **({"subject": terms(*sorted(subject))} if subject else {}),
        },
        tags=tags,
        rights=Rights(NOW + timedelta(days=release) if release else None, None, groups),
    ),
    st.sampled_from(["", "x", "y", "z"]),
    NAMES,
    st.sampled_from(["a.jpg", "b.jpg", "c.jpg"]),
    st.sampled_from(["published", "archived", "draft"]),
    NAMES,
    NAMES,
    st.integers(0, 3),
)


@given(DRAFTS, DRAFTS, DRAFTS, st.sampled_from(ConflictPolicy), st.sampled_from([Take.SOURCE, Take.TARGET]))
@settings(max_examples=300)
def test_no_edit_is_lost_silently(
    before: Draft, source: Draft, target: Draft, policy: ConflictPolicy, newer: Take
) -> None:
    """Under every policy: what somebody changed at the target stands, or its conflict is named."""
    there, three = asset(target), both(before, source, target)
    settled = taken(three, policy, Newer(newer))
    if any(one.take is Take.NONE for one in settled):
        return  # nothing is written
    after = applied(three.settled(values(settled)), there)
    named = {one.conflict.path for one in settled}
    for path, get in PARTS.items():
        was, our, their, now = (get(each) for each in (before, source, target, after))
        if path not in named:
            assert now == (our if their == was else their), path
        took = next((one.take for one in settled if one.conflict.path == path), None)
        if took is Take.TARGET:
            assert now == their, path
        if took is Take.SOURCE:
            assert now == our, path
    assert after.tags == merged_names(before.tags, source.tags, target.tags)


PARTS: Mapping[str, Any] = {
    "fields.note": lambda one: one.fields.get("note"),
    "filename": lambda one: one.filename,
    "status": lambda one: one.status,
    "release": lambda one: one.rights.release_at,
}


def test_the_container_of_an_asset_is_the_same_under_the_name_that_it_keeps_at_the_target() -> None:
    """A section of service C, whose container was renamed at the source while the asset was created."""
    draft = replace(BEFORE, placements=frozenset({Placement("folder", ("New",), "f1")}))
    there = Asset(AssetId("1"), Revision("r"), placements=frozenset({Placement("folder", ("Old",), "f1")}))
    patch = Patch(placements_add=draft.placements)
    three = ThreeWay([draft_to_json(draft)], draft, patch, there, Files(link()), FACTS)
    assert [each.path for each in three.conflicts() if each.path.startswith("placements")] == []
