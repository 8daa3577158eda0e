"""The stored spelling of journal entries: a state file of an earlier version is resumed by it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dam_sync.model import journal_names as names
from dam_sync.model.journal_names import WriteKind

STORED = {
    names.CREATE: "create",
    names.HIDE: "hide",
    names.PARTIAL_CREATE: "note: half made",
    names.silent("draft 1"): "note: draft 1",
    names.inside(names.CREATE): "in create: ",
    names.inside(names.version("k", 7)): "in version:k@7: ",
    names.version("k"): "version:k",
    names.attachment("k"): "attach:k",
    names.attachment("k", 7): "attach:k@7",
    names.update(2): "update:2",
    names.repair(7): "repair:7",
    names.term("subjects", ("Nature", "Sea")): "term:subjects:Nature/Sea",
    names.renamed_term("subjects", ("Nature", "Sea"), "Ocean"): "rename_term:subjects:Nature/Sea:Ocean",
    names.container("folder", ("Press", "24")): "container:folder:/Press/24",
    names.renamed_container("folder", ("Press",), ("News",)): "rename_container:folder:/Press:/News",
    names.relation("1", "part of", "2"): "relate:1:part of:2",
    names.relation("1", "part of", "2", adds=False): "unrelate:1:part of:2",
    names.place("folder", ("Press",), "digest"): "place:folder:/Press:digest",
}


@pytest.mark.parametrize(("name", "stored"), STORED.items())
def test_names_keep_their_spelling(name: str, stored: str) -> None:
    assert name == stored


def test_what_a_name_says_of_its_entry() -> None:
    assert names.is_silent(names.PARTIAL_CREATE)
    assert names.is_silent(names.inside(names.CREATE) + names.silent("sent 1"))
    assert names.is_inner(names.inside(names.CREATE) + "file")
    assert names.is_repair(names.repair(7))
    assert not any(is_one(names.CREATE) for is_one in (names.is_silent, names.is_inner, names.is_repair))
    assert [names.kind_of(name) for name in ("create", "version:k", "place:folder:A")] == ["create", "version", "place"]


NAME = st.text(alphabet=st.sampled_from("ab/\\:@ "), min_size=1, max_size=4)
PATH = st.lists(NAME, min_size=1, max_size=3).map(tuple)
WRITES = st.one_of(
    st.tuples(st.just(names.term), NAME, PATH),
    st.tuples(st.just(names.renamed_term), NAME, PATH, NAME),
    st.tuples(st.just(names.container), NAME, PATH),
    st.tuples(st.just(names.renamed_container), NAME, PATH, PATH),
    st.tuples(st.just(names.place), NAME, PATH, st.just("digest")),
    st.tuples(st.just(names.relation), NAME, NAME, NAME),
)


@given(WRITES, WRITES)
def test_other_writes_have_another_name(one: tuple[Any, ...], other: tuple[Any, ...]) -> None:
    names_of = [write(*of) for write, *of in (one, other)]
    assert (names_of[0] == names_of[1]) == (one == other)


@given(NAME, PATH, NAME)
def test_a_name_says_what_it_is_of(vocabulary: str, path: tuple[str, ...], new: str) -> None:
    assert names.path_of_term(names.term(vocabulary, path)) == path
    assert names.vocabulary_of(names.term(vocabulary, path), path) == vocabulary
    assert names.vocabulary_of(names.renamed_term(vocabulary, path, new), path, new) == vocabulary
    assert names.other_of(names.relation(vocabulary, new, "/".join(path)), vocabulary, new) == "/".join(path)
    assert names.relation(vocabulary, new, "x").startswith(names.of_owner(vocabulary))


def test_names_of_earlier_releases_are_read() -> None:
    assert names.vocabulary_of("term:dc:subject:Arts/Crafts", ("Arts/Crafts",)) == "dc:subject"
    assert names.vocabulary_of("term:subject:Arts/Crafts", ("Arts", "Crafts")) == "subject"
    assert names.vocabulary_of("rename_term:a:b:Arts/Crafts:Art: all", ("Arts/Crafts",), "Art: all") == "a:b"
    assert names.other_of("relate:a:b:c:d", "a:b", "c") == "d"
    assert "rename_term:v:A/B:C" in names.renamed_term_names("v", ("A/B",), "C")
    assert "rename_container:folder:/A:/B:C" in names.renamed_container_names("folder", ("A",), ("B:C",))
    assert "relate:a:b:" in names.of_owner("a:b")


@pytest.mark.parametrize(
    ("name", "former"),
    [
        ("term:v:Arts", False),
        ("term:v:Arts/Crafts", True),
        ("term:v:A\\B", True),
        ("term:a:b:c", True),
        ("create", False),
    ],
)
def test_which_names_of_terms_an_earlier_release_may_have_given_to_others(name: str, *, former: bool) -> None:
    assert names.is_former_term(name) == former


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (names.CREATE, WriteKind.CREATE),
        (names.update(3), WriteKind.UPDATE),
        (names.repair(7), WriteKind.REPAIR),
        (names.HIDE, WriteKind.HIDE),
        (names.REMOVE, WriteKind.REMOVE),
        (names.RESTORE, WriteKind.RESTORE),
        (names.version("md5:0", 4), WriteKind.VERSION),
        (names.attachment("k"), WriteKind.ATTACH),
        (names.removed_attachment("k"), WriteKind.DETACH),
        (names.relation("a:b", "c", "d"), WriteKind.RELATE),
        (names.relation("a", "c", "d", adds=False), WriteKind.UNRELATE),
        (names.term("v:w", ("Arts",)), WriteKind.TERM),
        (names.container("folder", ("A",)), WriteKind.CONTAINER),
        (names.renamed_term("v", ("A",), "B"), WriteKind.RENAME_TERM),
        (names.renamed_container("folder", ("A",), ("B",)), WriteKind.RENAME_CONTAINER),
        (names.place("folder", ("A",), "digest"), WriteKind.PLACE),
        (names.conflict(1), WriteKind.CONFLICT),
        (names.correction("fields.title"), WriteKind.CORRECTION),
        (names.UNDONE, WriteKind.UNDONE),
    ],
)
def test_each_write_has_its_kind(name: str, kind: WriteKind) -> None:
    assert names.kind_of(name) is kind
    assert not isinstance(names.kind_of(names.undo(name)), WriteKind)


def test_the_key_of_a_file_is_the_same_in_each_run() -> None:
    assert names.file_key_of(names.version("key")) == names.file_key_of(names.version("key", 4)) == "key"
