"""Containers of the target: their levels, their number, and what the source itself does not return."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dam_sync.mapping.containers import flattened
from dam_sync.mapping.crosswalk import Drafted
from dam_sync.model.asset import Asset, AssetId, Loss, Placement, Revision
from dam_sync.model.errors import MappingError
from dam_sync.model.schema import Schema
from tests.support.libraries.value_strategies import words
from tests.support.mapping.drafts import tally_of
from tests.support.mapping.tenant_schemas import LEAST, SOURCE, TARGET, compiled

ALL = ("folder", "category", "section", "collection", "label")
ANYTHING = replace(SOURCE, container_kinds=frozenset(ALL))
BOTH = """\
placements:
  - {from: "placements.folder[].path", as: section}
  - {from: "placements.collection[].path", as: collection}
"""


def target(
    depth: Mapping[str, int] | None = None,
    most: Mapping[str, int] | None = None,
    kinds: Collection[str] = ALL,
    labels: frozenset[str] | None = None,
) -> Schema:
    limited = replace(TARGET, container_depth=depth or {}, container_most=most or {})
    return replace(limited, container_kinds=frozenset(kinds), labels=labels)


def asset(*placements: tuple[str, str], **more: object) -> Asset:
    placed = frozenset(Placement(kind, tuple(path.split("/"))) for kind, path in placements)
    return Asset(AssetId("7"), Revision("1"), filename="a.jpg", placements=placed, **more)  # type: ignore[arg-type]


def draft(folder: Path, text: str, given_: Asset, to: Schema) -> Drafted:
    return compiled(folder, LEAST + text, ANYTHING, to).draft(given_, "mark", {})


@pytest.mark.parametrize("kind", ALL)
def test_every_kind_of_container_is_reached_by_name(tmp_path: Path, kind: str) -> None:
    text = f'placements: {{from: "placements.folder[].path", as: {kind}}}\n'
    drafted = draft(tmp_path, text, asset(("folder", "Press")), target(kinds=[kind]))
    assert drafted.draft.placements == {Placement(kind, ("Press",))}
    assert drafted.losses == ()


def test_deeper_levels_are_joined_into_the_last_and_reported(tmp_path: Path) -> None:
    given_ = asset(("folder", "Press/2024/May/Fair"), ("folder", "Archive"))
    drafted = draft(tmp_path, BOTH, given_, target({"section": 2}))
    assert drafted.draft.placements == {
        Placement("section", ("Press", "2024 / May / Fair")),
        Placement("section", ("Archive",)),
    }
    assert drafted.losses == (Loss("placements.folder[]", "flattened", "/Press/2024/May/Fair"),)
    assert tally_of(drafted)["placements.folder[]", "transformed"] == 1
    assert tally_of(drafted)["placements.folder[]", "written"] == 1


@pytest.mark.parametrize("limits", [{}, {"section": 5000}])
def test_a_path_of_thousands_of_levels_is_flattened_whatever_the_target_takes(
    tmp_path: Path, limits: Mapping[str, int]
) -> None:
    """Each level is made by a call of its own, inside another; nobody has so many."""
    levels = [f"level {number}" for number in range(3000)]
    drafted = draft(tmp_path, BOTH, asset(("folder", "/".join(levels))), target(limits))
    (placed,) = drafted.draft.placements
    assert len(placed.path) == 100
    assert placed.path[-1].endswith("level 2998 / level 2999")
    assert [loss.rule for loss in drafted.losses] == ["flattened"]


def test_a_path_that_two_field_rules_flatten_is_reported_once(tmp_path: Path) -> None:
    text = BOTH.replace("placements.collection[]", "placements.folder[]")
    drafted = draft(tmp_path, text, asset(("folder", "a/b")), target({"section": 1, "collection": 1}))
    assert drafted.draft.placements == {Placement("section", ("a / b",)), Placement("collection", ("a / b",))}
    assert drafted.losses == (Loss("placements.folder[]", "flattened", "/a/b"),)


def test_one_container_too_many_is_a_named_loss_and_the_first_stays(tmp_path: Path) -> None:
    given_ = asset(("folder", "b"), ("folder", "a"), ("folder", "c"), ("collection", "z"))
    drafted = draft(tmp_path, BOTH, given_, target({"section": 1}, {"section": 1, "collection": 1}))
    assert drafted.draft.placements == {Placement("section", ("a",)), Placement("collection", ("z",))}
    rule = "the target takes one section for each asset"
    assert drafted.losses == (Loss("placements.folder[]", rule, "/b"), Loss("placements.folder[]", rule, "/c"))
    assert tally_of(drafted)["placements.folder[]", "written"] == 1
    assert tally_of(drafted)["placements.folder[]", "lost"] == 2


def test_the_number_counts_over_all_field_rules_of_a_kind(tmp_path: Path) -> None:
    text = BOTH.replace("as: collection", "as: section")
    given_ = asset(("folder", "b"), ("folder", "c"), ("collection", "a"))
    drafted = draft(tmp_path, text, given_, target(most={"section": 2}))
    assert drafted.draft.placements == {Placement("section", ("a",)), Placement("section", ("b",))}
    assert drafted.losses == (
        Loss("placements.folder[]", "the target takes at most 2 of kind section for each asset", "/c"),
    )


def test_paths_that_become_the_same_container_are_one(tmp_path: Path) -> None:
    both = frozenset((Placement("folder", ("a", "b")), Placement("folder", ("a ", " b"))))
    given_ = replace(asset(), placements=both)
    drafted = draft(tmp_path, BOTH, given_, target({"section": 1}, {"section": 1}))
    assert drafted.draft.placements == {Placement("section", ("a / b",))}
    assert {loss.rule for loss in drafted.losses} == {"flattened"}


def test_a_constant_too_many_is_reported_at_its_line(tmp_path: Path) -> None:
    text = 'placements:\n  - {const: /z, as: section}\n  - {from: "placements.folder[].path", as: section}\n'
    drafted = draft(tmp_path, text, asset(("folder", "a")), target(most={"section": 1}))
    assert drafted.draft.placements == {Placement("section", ("a",))}
    assert drafted.losses == (Loss("placements", "the target takes one section for each asset", "/z"),)


def test_a_path_without_a_name_is_no_container_and_counts_as_dropped(tmp_path: Path) -> None:
    given_ = replace(asset(), placements=frozenset((Placement("folder", (" ",)),)))
    drafted = draft(tmp_path, BOTH, given_, target())
    assert drafted.draft.placements == frozenset()
    assert drafted.losses == (Loss("placements.folder[]", "placements", "/  (nothing is left)"),)
    assert tally_of(drafted) == {("placements.folder[]", "dropped"): 1, ("filename", "written"): 1}


LABELS = {Placement("label", ("a/b",)), Placement("label", ("c", "d")), Placement("label", (r"e\/f",))}


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("path", ["labels[]", "placements.label[].path"])
def test_a_slash_in_the_name_of_a_label_is_no_level(tmp_path: Path, path: str, kind: str) -> None:
    text = f'placements: {{from: "{path}", as: {kind}}}\n'
    drafted = draft(tmp_path, text, replace(asset(), placements=frozenset(LABELS)), target())
    assert drafted.draft.placements == {Placement(kind, each.path) for each in LABELS}
    assert drafted.losses == ()


def test_labels_that_are_read_as_texts_stay_apart(tmp_path: Path) -> None:
    """A slash in a name is no level, and a level no slash in a name."""
    labels = {Placement("label", path) for path in (("a", "b"), ("a/b",), ("a / b",))}
    drafted = draft(tmp_path, 'tags: {from: "labels[]"}\n', replace(asset(), placements=frozenset(labels)), target())
    assert drafted.draft.tags == {"a / b", "a/b", "a // b"}


def test_a_text_is_the_name_of_a_label_whatever_it_contains(tmp_path: Path) -> None:
    text = 'placements: {from: "tags[]", as: label}\n'
    drafted = draft(tmp_path, text, asset(tags=frozenset(("a/b", r"c\d", " e "))), target())
    assert drafted.draft.placements == {Placement("label", (name,)) for name in ("a/b", r"c\d", "e")}


def test_labels_that_the_target_does_not_add_to_have_their_names_and_no_levels(tmp_path: Path) -> None:
    text = 'placements: {from: "labels[]", as: label, on_error: drop}\n'
    listed = frozenset(("a/b", "c / d", "e"))
    names = ("a/b", "e", "f")
    placed = frozenset((*(Placement("label", (name,)) for name in names), Placement("label", ("c", "d"))))
    drafted = draft(tmp_path, text, replace(asset(), placements=placed), target(labels=listed))
    assert drafted.draft.placements == {Placement("label", ("a/b",)), Placement("label", ("e",))}
    assert sorted(loss.detail for loss in drafted.losses) == [
        "“c/d” has 2 levels, and those of the target have no levels: a table of `lookups` can give each its name there",
        "“f” is not one of the target's",
    ]


def test_a_constant_label_that_the_target_lacks_is_an_error_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(MappingError, match="not in the list"):
        draft(tmp_path, "placements: {const: z, as: label}\n", asset(), target(labels=frozenset(("e",))))
    drafted = draft(tmp_path, "placements: {const: a/b, as: label}\n", asset(), target(labels=frozenset(("a/b",))))
    assert drafted.draft.placements == {Placement("label", ("a/b",))}


def test_a_name_with_the_separator_of_joined_levels_is_not_those_levels(tmp_path: Path) -> None:
    placed = {Placement("folder", path) for path in (("a", "b"), ("a / b",), ("a // b",), ("a", "/ b"), ("a /", "b"))}
    drafted = draft(tmp_path, BOTH, replace(asset(), placements=frozenset(placed)), target({"section": 1}))
    names = ("a / b", "a // b", "a /// b", "a / // b", "a // / b")
    assert drafted.draft.placements == {Placement("section", (name,)) for name in names}


def test_a_name_stays_where_the_source_has_no_more_levels_than_the_target(tmp_path: Path) -> None:
    source = replace(ANYTHING, container_depth={"collection": 1})
    given_ = replace(asset(), placements=frozenset((Placement("collection", ("a / b",)),)))
    drafted = compiled(tmp_path, LEAST + BOTH, source, target({"section": 1, "collection": 1})).draft(given_, "m", {})
    assert drafted.draft.placements == {Placement("collection", ("a / b",))}
    assert drafted.losses == ()


def test_what_the_source_does_not_return_is_among_the_losses(tmp_path: Path) -> None:
    loss = Loss("versions", "not given out", "2 older")
    drafted = draft(tmp_path, "", asset(losses=(loss, loss)), target())
    assert drafted.losses == (loss,)


@given(st.lists(st.text("ab:;,", max_size=5), max_size=6), st.integers(0, 4))
def test_flattening_keeps_the_names_and_the_depth(path: list[str], depth: int) -> None:
    flat = flattened(path, depth)
    assert len(flat) <= max(depth, 1) or not path
    assert " / ".join(flat) == " / ".join(path)


SEPARATORS = ("/", "\\", " / ", "//", ":", ";", ",", "|", "%2F", ".", "~", "\n", "a", "b")
odd_names = st.lists(st.sampled_from(SEPARATORS), min_size=1, max_size=4).map("".join).filter(str.strip).map(str.strip)
odd_paths = st.lists(odd_names, min_size=1, max_size=4).map(tuple)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.frozensets(odd_paths, min_size=2, max_size=8), st.integers(1, 5), st.sampled_from(ALL))
def test_different_containers_of_a_kind_stay_different_whatever_their_names_contain(
    tmp_path: Path, paths: frozenset[tuple[str, ...]], depth: int, kind: str
) -> None:
    to = target({"category": depth, "collection": depth})
    for line, as_kind in ((kind, "category"), (kind, "collection"), ("label", "label"), ("folder", "folder")):
        text = f'placements: {{from: "placements.{line}[].path", as: {as_kind}}}\n'
        given_ = replace(asset(), placements=frozenset(Placement(line, path) for path in paths))
        made = draft(tmp_path, text, given_, to).draft.placements
        assert len(made) == len(paths)
        assert as_kind in to.container_depth or {each.path for each in made} == paths


placed = st.builds(
    Placement, st.sampled_from(("folder", "collection", "label")), st.lists(words, min_size=1, max_size=4).map(tuple)
)
limits = st.dictionaries(st.sampled_from(("section", "collection")), st.integers(1, 2))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.frozensets(placed, max_size=6), limits, limits)
def test_every_container_is_accounted_for(
    tmp_path: Path, placements: frozenset[Placement], depth: dict[str, int], most: dict[str, int]
) -> None:
    text = BOTH + '  - {from: "labels[]", as: collection}\n'
    drafted = draft(tmp_path, text, replace(asset(), placements=placements), target(depth, most))
    counted: Counter[str] = Counter()
    for (name, _), times in tally_of(drafted).items():
        counted[name] += times
    del counted["filename"]
    assert counted == Counter(
        "labels[]" if placement.kind == "label" else f"placements.{placement.kind}[]" for placement in placements
    )
    for kind in ("section", "collection"):
        found = [placement for placement in drafted.draft.placements if placement.kind == kind]
        assert len(found) <= most.get(kind, len(found))
        assert all(len(placement.path) <= depth.get(kind, 9) for placement in found)
    dropped = sum(times for (_, outcome), times in tally_of(drafted).items() if outcome in ("dropped", "lost"))
    assert dropped <= sum("the target takes" in loss.rule for loss in drafted.losses)
