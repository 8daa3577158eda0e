"""Parts that left the source: only what we wrote, only what the source would have returned, and each reported once."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from dam_sync.engine.compare.file_keys import version_key, with_current_keys, with_known_versions
from dam_sync.engine.decide.removals import removals, with_relations
from dam_sync.engine.decide.update import Skip, Write, decide, fresh_versions
from dam_sync.model.asset import Asset, AssetId, Draft, FileRef, Loss, Patch, Relation, Revision
from dam_sync.model.capabilities import YES, Capabilities, Feature, Operation
from dam_sync.model.codec import draft_to_json
from dam_sync.model.link import LEFT, LinkRow
from dam_sync.model.policy import Policy
from dam_sync.model.schema import Schema
from tests.support.mapping.tenant_schemas import able

READS = Capabilities(features=dict.fromkeys((Feature.ATTACHMENTS, Feature.RELATIONS, Feature.VERSIONS), YES))
PAPER, PLAN = FileRef("p", "paper.pdf", 5), FileRef("q", "plan.pdf", 6)
OLD, NEW = FileRef("1", "a.jpg", 1, digests={"md5": "1" * 32}), FileRef("2", "a.jpg", 2, digests={"md5": "2" * 32})
DRAFT = Draft(None, "a.jpg")
VIEW = Relation("view", AssetId("8"))
WHOLE = Asset(AssetId("7"), Revision("r"), versions=(OLD, NEW), attachments=(PAPER, PLAN), relations=frozenset({VIEW}))
KEYS = tuple(version_key(file) for file in (PAPER, PLAN))
LINK = LinkRow(
    "7",
    "t7",
    versions=(version_key(OLD), version_key(NEW)),
    attachments=KEYS,
    attached={version_key(file): {"name": file.name, "size": file.size, "digests": {}} for file in (PAPER, PLAN)},
    relations=(("view", "8"),),
    draft=draft_to_json(DRAFT),
)
BARE = replace(WHOLE, versions=(NEW,), attachments=(PLAN,), relations=frozenset())


def test_what_left_the_source_is_removed_or_reported_and_forgotten() -> None:
    found = removals(BARE, LINK, READS, able())
    assert dict(found.attachments) == {KEYS[0]: LINK.attached[KEYS[0]]}
    assert found.relations == {VIEW}
    assert [loss.path for loss in found.losses] == ["versions"]
    left = found.applied(LINK)
    assert (left.attachments, set(left.attached), left.relations) == (KEYS[1:], {KEYS[1]}, ())
    assert left.versions == (LEFT + version_key(OLD), version_key(NEW))
    assert removals(BARE, left, READS, able()).gone.empty


def test_a_target_that_cannot_remove_keeps_it_and_that_is_a_loss() -> None:
    found = removals(BARE, LINK, READS, able().without(Operation.DETACH, Operation.UNRELATE))
    assert (dict(found.attachments), found.relations) == ({}, frozenset())
    assert [(loss.path, loss.detail) for loss in found.losses] == [
        ("relations", "view to 8: the target cannot remove relations"),
        ("attachments", "paper.pdf: the target has no trash for attachments"),
        ("versions", "1: the target has no trash for versions"),
    ]
    left = found.applied(LINK)
    assert left.relations == ((f"{LEFT}view", "8"),)
    assert removals(BARE, left, READS, able().without(Operation.DETACH, Operation.UNRELATE)).gone.empty
    assert with_relations(left.relations, [("view", "8"), ("view", "9")]) == (("view", "8"), ("view", "9"))


@pytest.mark.parametrize("back", [PAPER, replace(PAPER, id="p2")], ids=["the same", "with another id"])
def test_an_attachment_that_stayed_and_comes_back_is_not_sent_again(back: FileRef) -> None:
    able_to = able().without(Operation.DETACH)
    left = removals(BARE, LINK, READS, able_to).applied(LINK)
    assert left.attachments == (LEFT + KEYS[0], KEYS[1])
    asset = replace(BARE, attachments=(back, PLAN))
    link = with_current_keys(asset, left)
    assert link.attachments == (version_key(back), KEYS[1])
    assert decide(asset, DRAFT, link, Schema({}, capabilities=able_to), Policy(), source=READS) == Skip()


def test_an_attachment_of_which_nothing_is_known_stays() -> None:
    """It was adopted, or written by an older release."""
    found = removals(BARE, replace(LINK, attached={}), READS, able())
    assert dict(found.attachments) == {}
    assert [loss.path for loss in found.losses] == ["attachments", "versions"]


@pytest.mark.parametrize("part", ["attachments", "relations", "versions"])
def test_what_the_source_does_not_return_is_not_missing(part: str) -> None:
    for source, asset in (
        (READS.without(reads=[Feature[part.upper()]]), BARE),
        (READS, replace(BARE, losses=(Loss(part, "cannot be read"),))),
    ):
        assert not getattr(removals(asset, LINK, source, able()).gone, part)


def test_the_decision_is_an_update_once() -> None:
    schema = Schema({}, capabilities=able())
    action = decide(BARE, DRAFT, LINK, schema, Policy(), source=READS)
    assert isinstance(action, Write)
    assert action.change.patch == Patch()
    assert action.losses == action.removals.losses
    left = action.removals.applied(LINK)
    assert decide(BARE, DRAFT, left, schema, Policy(), source=READS) == Skip()
    assert decide(WHOLE, DRAFT, LINK, schema, Policy(), source=READS) == Skip()


def test_files_that_moved_up_in_the_list_are_the_same_files() -> None:
    """The first one was removed at a source that names files by their places."""
    moved = replace(PLAN, id="p")
    link = with_current_keys(replace(BARE, attachments=(moved,)), LINK)
    assert link.attachments == (KEYS[0], version_key(moved))
    assert set(link.attached) == {KEYS[0], version_key(moved)}
    assert with_current_keys(WHOLE, LINK) is LINK


@pytest.mark.parametrize("unread", [{"digests": {}}, {"digests": {}, "size": None}], ids=["no digest", "no size"])
def test_a_version_whose_size_and_digest_became_known_is_no_new_one(unread: dict[str, object]) -> None:
    dated = replace(NEW, created_at=datetime(2026, 1, 2, tzinfo=UTC))
    asset, unread_file = replace(WHOLE, versions=(OLD, dated)), replace(dated, **unread)
    link = replace(LINK, versions=(version_key(OLD), version_key(unread_file)))
    assert with_current_keys(asset, link).versions == (version_key(OLD), version_key(dated))
    later = replace(dated, created_at=datetime(2026, 1, 3, tzinfo=UTC))
    other = replace(WHOLE, versions=(OLD, later))
    assert with_current_keys(other, link) is link, "another file under the same id"


def test_what_is_known_of_a_file_goes_with_its_key() -> None:
    """What a verification proved of it, and that it is not carried, which is reported once."""
    dated, moved = replace(NEW, created_at=datetime(2026, 1, 2, tzinfo=UTC)), replace(PLAN, id="p")
    unread, older = replace(dated, digests={}), replace(OLD, created_at=datetime(2026, 1, 1, tzinfo=UTC))
    proofs = {version_key(unread): "V0", version_key(PLAN): "V4"}
    left = {"versions": [version_key(replace(older, digests={}))]}
    asset = replace(WHOLE, versions=(older, dated), attachments=(PAPER, moved))
    link = with_current_keys(asset, replace(LINK, versions=(version_key(unread),), proofs=proofs, kept=left))
    assert (link.versions, link.proofs) == (
        (version_key(dated),),
        {version_key(dated): "V0", version_key(moved): "V4"},
    )
    assert link.kept == {"versions": [version_key(older)]}


@pytest.mark.parametrize("name", ["md5", "sha1", "sha256", "sha384", "sha512"])
def test_a_file_is_known_by_its_digest_whenever_it_was_changed(name: str) -> None:
    """A service may date a file by the last change of its asset."""
    file = replace(NEW, digests={name: "a" * 32}, created_at=datetime(2026, 1, 2, tzinfo=UTC))
    assert version_key(file) == version_key(replace(file, created_at=datetime(2026, 1, 3, tzinfo=UTC)))
    assert version_key(file) != version_key(replace(file, digests={name: "b" * 32}))
    bare = replace(file, digests={})
    assert version_key(bare) != version_key(replace(bare, created_at=datetime(2026, 1, 3, tzinfo=UTC)))


SENT = {"sha256": "a" * 64}


def current(of: FileRef, *, repeats: tuple[str, ...] = ()) -> FileRef:
    """As the current file of a service that gives it the id of its asset."""
    return replace(of, id="7", repeats=repeats)


def test_the_current_file_may_be_a_new_version_though_it_has_the_key_of_the_one_before() -> None:
    link = replace(LINK, versions=(version_key(current(OLD)),))
    again = replace(WHOLE, versions=(OLD, current(OLD)))
    known = with_current_keys(again, link)
    assert known.versions == (version_key(OLD),)
    assert fresh_versions(again.versions, known) == (current(OLD),)
    assert with_current_keys(again, replace(link, versions=(version_key(OLD), version_key(current(OLD))))).versions == (
        version_key(OLD),
        version_key(current(OLD)),
    )
    assert with_current_keys(again, link, again.versions[-1:]).versions == link.versions  # older ones do not move
    left = replace(link, kept={"versions": [version_key(OLD)]})
    assert with_current_keys(again, left).versions == link.versions  # reported as not carried


def test_a_version_that_was_written_stays_one_when_values_change() -> None:
    """Its service shows it as one with the next from then on."""
    shown = replace(WHOLE, versions=(current(OLD, repeats=("1",)),))
    both = replace(LINK, versions=(version_key(OLD), version_key(current(OLD))))
    assert with_known_versions(shown, both).versions == (OLD, current(OLD))
    assert with_known_versions(shown, replace(both, versions=both.versions[1:])) == shown
    assert removals(with_known_versions(shown, both), both, READS, able()).gone.versions == frozenset()


def test_a_version_with_the_bytes_that_were_sent_last_is_no_new_one() -> None:
    """Its digest became known together with another change of the asset, which moved the time of the file."""
    unread = replace(NEW, created_at=datetime(2026, 1, 2, tzinfo=UTC), digests={})
    link = replace(LINK, versions=(version_key(OLD), version_key(unread)), size=NEW.size, digests=SENT)
    read = replace(unread, created_at=datetime(2026, 1, 3, tzinfo=UTC), digests=SENT)
    assert with_current_keys(replace(WHOLE, versions=(OLD, read)), link).versions == (
        version_key(OLD),
        version_key(read),
    )
    for other in (replace(read, digests={"sha256": "b" * 64}), replace(read, digests={"md5": "b" * 32})):
        assert with_current_keys(replace(WHOLE, versions=(OLD, other)), link) is link
    twice = replace(WHOLE, versions=(OLD, unread, read))
    assert with_current_keys(twice, link) is link, "the source has both"
    left = replace(link, versions=(version_key(OLD), LEFT + version_key(unread)))
    assert with_current_keys(replace(WHOLE, versions=(OLD, read)), left) is left


@pytest.mark.parametrize("detaches", [True, False])
def test_a_new_name_of_an_attachment_is_a_loss_once(detaches: bool) -> None:
    """No operation renames one; it is the same file, so it is not sent again either."""
    target = able() if detaches else able().without(Operation.DETACH)
    asset = replace(WHOLE, attachments=(replace(PAPER, name="essay.pdf"), PLAN))
    schema = Schema({}, capabilities=target)
    action = decide(asset, DRAFT, LINK, schema, Policy(), source=READS)
    assert isinstance(action, Write)
    assert (action.change.attachments, dict(action.change.detach)) == ((), {})
    assert [(loss.path, loss.rule, loss.detail) for loss in action.losses] == [
        ("attachments", "renamed at the source, keeps its name", "paper.pdf (now essay.pdf)")
    ]
    link = action.removals.applied(LINK)
    assert decide(asset, DRAFT, link, schema, Policy(), source=READS) == Skip()
    assert removals(replace(asset, attachments=(PLAN,)), link, READS, target).gone.attachments == {KEYS[0]}
