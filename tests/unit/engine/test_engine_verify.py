"""Which file of the target is which of the source, and which are there in addition."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dam_sync.engine.compare.differences import Difference
from dam_sync.engine.compare.file_keys import VERSIONS, version_key
from dam_sync.engine.compare.files import PairedFiles, pair_files, paired_by_name
from dam_sync.engine.run.adopt import held_versions
from dam_sync.engine.verification.verdict import FileProof, Judgement, Verdict, proofs_by_key
from dam_sync.model.asset import Asset, AssetId, FileRef, Loss, Revision
from dam_sync.model.link import LEFT, LinkRow


def file(identity: str, name: str, size: int | None, md5: str = "") -> FileRef:
    return FileRef(identity, name, size, "application/pdf", {"md5": md5} if md5 else {})


def test_a_name_still_in_use_is_not_paired_with_a_renamed_file() -> None:
    renamed, kept = file("1", "old name.pdf", 400), file("2", "a.pdf", 400)
    same, other = file("7", "a.pdf", 400), file("8", "new name.pdf", 400)
    pairs, missing, extra = paired_by_name([renamed, kept], [same, other])
    assert (dict(pairs_by_id(pairs)), missing, extra) == ({"1": "8", "2": "7"}, [], [])


def test_what_has_no_other_is_missing_or_there_in_addition() -> None:
    there, gone = file("1", "a.pdf", 400), file("2", "a.pdf", 500)
    same, more = file("7", "a.pdf", 400), file("8", "b.pdf", 300)
    pairs, missing, extra = paired_by_name([gone, there], [same, more])
    assert (dict(pairs_by_id(pairs)), missing, extra) == ({"1": "7"}, [gone], [more])


def test_of_files_of_one_name_and_size_those_with_the_same_digest_belong_together() -> None:
    left = file("2", "a.pdf", 400, "bb")
    first, second = file("7", "a.pdf", 400, "aa"), file("8", "a.pdf", 400, "bb")
    pairs, missing, extra = paired_by_name([left], [first, second])
    assert (dict(pairs_by_id(pairs)), missing, extra) == ({"2": "8"}, [], [first])


def test_a_file_of_other_bytes_under_the_same_name_is_still_its_counterpart() -> None:
    ours, kept = file("1", "a.pdf", 400, "aa"), file("2", "a.pdf", 400, "bb")
    replaced, same = file("7", "a.pdf", 400, "cc"), file("8", "a.pdf", 400, "bb")
    pairs, missing, extra = paired_by_name([ours, kept], [replaced, same])
    assert (dict(pairs_by_id(pairs)), missing, extra) == ({"1": "7", "2": "8"}, [], [])


def pairs_by_id(pairs: list[tuple[FileRef, FileRef]]) -> list[tuple[str, str]]:
    return [(one.id, other.id) for one, other in pairs]


ONE, TWO = file("1", "a.jpg", 100, "aa"), file("2", "a.jpg", 200, "bb")
STRANGE = file("9", "a.jpg", 150, "ff")


def asset(*versions: FileRef, hidden: bool = False) -> Asset:
    losses = (Loss("versions", "unreadable"),) if hidden else ()
    return Asset(AssetId("1"), Revision("r"), versions=versions, losses=losses)


def of_versions(source: Asset, target: Asset, kept: int = 2, written: int = 2) -> PairedFiles:
    link = LinkRow("1", "t1", versions=tuple(version_key(each) for each in source.versions)[-written:])
    return pair_files(source, target, source.versions[-kept:], link)


def seen(found: PairedFiles) -> tuple[list[tuple[str, str]], list[str], list[str]]:
    pairs = sorted((pair.ours.id, pair.theirs.id) for pair in found.pairs)
    return pairs, [each.id for _, each in found.missing], [each.id for _, each in found.extra]


def copy(of: FileRef, identity: str) -> FileRef:
    return FileRef(identity, of.name, of.size, of.media_type, of.digests)


def test_the_first_attachment_of_an_asset_without_a_file_may_come_back_as_its_file() -> None:
    first, second = file("1", "release.pdf", 900, "aa"), file("2", "release.pdf", 900, "bb")
    source = replace(asset(), attachments=(first, second))
    link = LinkRow("1", "t1", attachments=(version_key(first), version_key(second)))
    there = file("7", "release.pdf", 900), file("8", "release.pdf", 900)
    target = replace(asset(there[0]), attachments=there[1:])
    assert seen(pair_files(source, target, (), link)) == ([("1", "7"), ("2", "8")], [], [])
    more = replace(asset(STRANGE), attachments=there)
    assert seen(pair_files(source, more, (), link)) == ([("1", "7"), ("2", "8")], [], ["9"])


def test_versions_belong_together_in_their_order() -> None:
    found = of_versions(asset(ONE, TWO), asset(copy(ONE, "7"), copy(TWO, "8")))
    assert seen(found) == ([("1", "7"), ("2", "8")], [], [])


def test_versions_that_a_service_shows_as_one_are_as_many_as_were_written() -> None:
    again = replace(copy(ONE, "6"), id="6")
    source = asset(ONE, copy(ONE, "3"), TWO)
    for shown in (
        asset(replace(copy(ONE, "7"), repeats=("6",)), copy(TWO, "8")),
        asset(replace(copy(ONE, "7"), repeats=("6",)), replace(copy(TWO, "8"), repeats=("5",))),  # somebody's values
        asset(again, copy(ONE, "7"), copy(TWO, "8")),
    ):
        found = seen(of_versions(source, shown, kept=3, written=3))
        assert found == ([("1", "6"), ("2", "8"), ("3", "7")], [], [])
    found = of_versions(asset(ONE, TWO), asset(replace(copy(ONE, "7"), repeats=("6",)), copy(TWO, "8")))
    assert seen(found) == ([("1", "7"), ("2", "8")], [], [])
    missing = of_versions(source, asset(copy(ONE, "7"), copy(TWO, "8")), kept=3, written=3)
    assert len(seen(missing)[1]) == 1


@pytest.mark.parametrize(
    ("kept", "there", "held"),
    [
        ((ONE, TWO), (ONE,), 1),
        ((ONE, TWO), (ONE, TWO), 2),
        ((ONE, ONE, ONE), (ONE,), 1),
        ((ONE, ONE, TWO, TWO), (ONE, TWO), 3),
        ((ONE, ONE), (ONE, ONE), 2),
        ((ONE, ONE), (replace(ONE, repeats=("6",)),), 2),
        ((ONE, TWO), (STRANGE,), 2),
        ((ONE,), (), 0),
    ],
    ids=["behind", "equal", "twice behind", "last behind", "twice", "perhaps twice", "another", "none"],
)
def test_an_adoption_counts_versions_with_the_same_file(
    kept: tuple[FileRef, ...], there: tuple[FileRef, ...], held: int
) -> None:
    assert len(held_versions(kept, asset(*there))) == held


def test_a_version_that_somebody_uploaded_is_the_current_file_and_an_extra_once_ours_is_back() -> None:
    source = asset(ONE, TWO)
    replaced = of_versions(source, asset(copy(ONE, "7"), copy(TWO, "8"), STRANGE))
    assert seen(replaced) == ([("1", "7"), ("2", "9")], [], [])
    restored = of_versions(source, asset(copy(ONE, "7"), copy(TWO, "8"), STRANGE, copy(TWO, "10")))
    assert seen(restored) == ([("1", "7"), ("2", "10")], [], ["9"])


def test_a_version_that_was_deleted_is_missing() -> None:
    found = of_versions(asset(ONE, TWO), asset(copy(TWO, "8")))
    assert seen(found) == ([("2", "8")], ["1"], [])


def test_versions_written_before_are_no_extras_where_only_the_current_one_travels() -> None:
    source, target = asset(ONE, TWO), asset(copy(ONE, "7"), copy(TWO, "8"))
    assert seen(of_versions(source, target, kept=1)) == ([("2", "8")], [], [])
    forgotten = asset(TWO)  # the source has its first version no more
    link = LinkRow("1", "t1", versions=(version_key(ONE), version_key(TWO)))
    assert seen(pair_files(forgotten, target, forgotten.versions, link)) == ([("2", "8")], [], [])


def test_versions_that_the_target_does_not_return_are_not_compared() -> None:
    found = of_versions(asset(ONE, TWO), asset(copy(TWO, "8"), hidden=True))
    assert (seen(found), found.unread) == (([("2", "8")], [], []), {"versions"})


def of_one_size(*identities: str, digest: str = "sha256") -> list[FileRef]:
    return [FileRef(each, "a.jpg", 100, digests={digest: each * 32}) for each in identities]


def test_a_version_that_left_the_source_keeps_its_position_where_no_digest_is_common() -> None:
    one, two, three = of_one_size("1", "2", "3")
    target = asset(*of_one_size("7", "8", "9", digest="md5"))
    keys = [version_key(file) for file in (one, two, three)]
    for gone in (f"{LEFT}{keys[1]}", keys[1]):  # before and after a run saw it
        link = LinkRow("1", "t1", versions=(keys[0], gone, keys[2]))
        source = asset(one, three)
        assert seen(pair_files(source, target, source.versions, link)) == ([("1", "7"), ("3", "9")], [], [])


def test_a_version_that_is_not_carried_is_not_taken_for_another_of_its_size() -> None:
    one, between, three = of_one_size("1", "2", "3")
    source, target = asset(one, between, three), asset(*of_one_size("7", "9", digest="md5"))
    link = LinkRow("1", "t1", versions=(version_key(one), version_key(three)), kept={VERSIONS: [version_key(between)]})
    found = pair_files(source, target, source.versions, link)
    assert seen(found) == ([("1", "7"), ("3", "9")], [], [])
    assert found.left == [between]


def test_an_attachment_of_which_the_source_reports_no_size_is_not_taken_for_that_of_somebody_else() -> None:
    ours, theirs = file("1", "a.pdf", None), file("9", "paper.pdf", 475)
    key = version_key(ours)
    link = LinkRow("1", "t1", attachments=(key,), attached={key: {"name": "a.pdf", "size": 300, "digests": {}}})
    source, target = replace(asset(), attachments=(ours,)), replace(asset(), attachments=(theirs,))
    found = pair_files(source, target, (), link)
    assert (seen(found), found.missing) == (([], ["1"], ["9"]), [("attachments", ours)])  # known by its key
    renamed = replace(target, attachments=(theirs, file("8", "a-1.pdf", 300)))
    assert seen(pair_files(source, renamed, (), link)) == ([("1", "8")], [], ["9"])


def test_a_file_that_is_lost_or_was_added() -> None:
    assert seen(of_versions(asset(ONE), asset(), kept=1)) == ([], ["1"], [])
    assert seen(of_versions(asset(), asset(STRANGE), kept=1)) == ([], [], ["9"])


def test_the_evidence_of_an_asset_is_the_weakest_of_its_files() -> None:
    verdict = Verdict("digest")
    verdict.count(
        "1", "t1", Judgement("equal", proofs=[FileProof("file", "a", "V4"), FileProof("attachments", "b", "V3")])
    )
    verdict.count("2", "t2", Judgement("equal"))
    assert verdict.evidence == {"V3": 1, "V2": 1}
    assert verdict.files == {"file": {"V4": 1}, "attachments": {"V3": 1}}
    assert proofs_by_key([FileProof("file", "a", "V4"), FileProof("versions", "a", "V0")]) == {"a": "V0"}


def test_extras_are_reported_and_count_as_different_only_where_the_policy_says_so() -> None:
    more = Difference("tags", "", "by hand", extra=True)
    told, failed = Verdict("fields"), Verdict("fields", "fail")
    for verdict in (told, failed):
        verdict.count("1", "t1", Judgement("equal", [more]))
    assert (told.clean, told.equal, told.different, told.extra) == (True, 1, 0, 1)
    assert (failed.clean, failed.equal, failed.different, failed.extra) == (False, 0, 1, 1)
    assert told.extras == failed.extras == [("1", "t1", more)]
    assert told.differences == []
