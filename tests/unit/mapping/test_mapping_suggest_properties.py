"""Suggested mappings: required fields, and properties over any schemas and assets."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dam_sync.mapping.crosswalk import Crosswalk
from dam_sync.mapping.results import empty
from dam_sync.mapping.suggest import suggest
from dam_sync.model.asset import Asset
from dam_sync.model.schema import AssetType, Field, FieldKind, Schema, Vocabulary
from tests.support.libraries.value_strategies import assets
from tests.support.mapping.drafts import tally_of
from tests.support.mapping.service_schemas import (
    NUMBER,
    PICTURE,
    SERVICES,
    A,
    B,
    D,
    E,
    by_target,
    walked,
)
from tests.support.mapping.tenant_schemas import able, schema


def test_what_a_target_requires_gets_something(tmp_path: Path) -> None:
    lines = by_target(suggest(B, D))
    assert lines["title"].sources[-1] == "filename"
    assert lines["channels"].written == {"cel": "null", "required": True}
    target = schema(
        *(Field(f"x_{kind.value}", kind, required=True, max_length=20, vocabulary="v") for kind in FieldKind),
        vocabularies={"v": Vocabulary("v")},
    )
    nothing = schema(Field("y", NUMBER))
    found = suggest(nothing, target)
    crosswalk = walked(tmp_path, found, nothing, target)
    assert crosswalk.writes == set(target.fields)
    assert all(line.score == 0.1 for line in by_target(found).values())


@pytest.mark.parametrize("key", ["k" * 1500, "\x1b " * 600, '"}]\n: !!python/object ' * 60])
def test_a_suggestion_with_names_of_any_length_can_be_read(tmp_path: Path, key: str) -> None:
    """A parser of YAML takes a key of more than 1,024 characters only with a question mark before it."""
    both = schema(
        Field(key, FieldKind.TEXT), Field("t", FieldKind.TERM, vocabulary=key), vocabularies={key: Vocabulary(key)}
    )
    assert key in walked(tmp_path, suggest(both, both), both, both).writes


def test_of_what_is_required_only_a_title_is_filled_without_a_value(tmp_path: Path) -> None:
    kinds = {f"x_{kind.value}": kind for kind in FieldKind} | {"title": FieldKind.TEXT}
    lists = {"v": Vocabulary("v")}
    source = schema(*(Field(key, kind, vocabulary="v") for key, kind in kinds.items()), vocabularies=lists)
    target = schema(
        *(Field(key, kind, required=True, vocabulary="v") for key, kind in kinds.items()), vocabularies=lists
    )
    lines = by_target(suggest(source, target))
    walked(tmp_path, suggest(source, target), source, target)
    assert lines["title"].sources == ("fields.title", "filename")
    assert lines["x_term"].pipe == ({"vocabulary": "v"},)
    assert all(line.sources == (f"fields.{key}",) for key, line in lines.items() if key != "title")
    assert not any(line.more.keys() & {"default", "const"} for line in lines.values())


@pytest.mark.parametrize("kind", list(FieldKind))
def test_any_kind_into_any_required_one(tmp_path: Path, kind: FieldKind) -> None:
    for wanted, multiple in product(FieldKind, (False, True)):
        source, target = (
            schema(
                Field("x", one, required=True, multiple=several, vocabulary="v"), vocabularies={"v": Vocabulary("v")}
            )
            for one, several in ((kind, not multiple), (wanted, multiple))
        )
        assert walked(tmp_path, suggest(source, target), source, target).writes == {"x"}


def test_what_the_source_uses_internally_is_ignored_and_the_rest_reported() -> None:
    found = suggest(A, E)
    assert found.ignore == ("stat_views", "width")
    assert any(note.startswith("no line reads contact, dims") for note in found.notes)


def test_names_that_differ_in_whitespace_alone_are_distinguished() -> None:
    names = ("a note", "a  note", "a\u00a0note", "a\u2003note", " a note", "a note ", "a\u200bnote")
    (note,) = [
        note
        for note in suggest(
            schema(*(Field(name, FieldKind.TEXT) for name in names)), schema(Field("z", FieldKind.TEXT))
        ).notes
        if note.startswith("no line reads")
    ]
    shown = [r'"\u0020a note"', r'"a \u0020note"', "a note", r'"a note\u0020"']
    shown += [r'"a\u00a0note"', r'"a\u2003note"', r'"a\u200bnote"']
    assert sorted(note.removeprefix("no line reads ").partition(":")[0].split(", ")) == sorted(shown)


def test_texts_too_long_for_the_target_are_cut_with_a_note() -> None:
    assert by_target(suggest(A, E))["credit"].pipe == ("strip_html", {"truncate": {"max": 80, "on_cut": "note"}})
    filename = by_target(suggest(A, E, filename=128), "asset")["filename"]
    assert filename.pipe[1] == {"safe_name": {"max": 128}}


keys = st.one_of(
    st.sampled_from(("title", "lib:title", "titleFr", "tags", "keywords", "srckey", "a.b", "Release Date", "status")),
    st.text(max_size=6),
)


types = st.frozensets(st.sampled_from(("Image", "File", "Film")), max_size=2)


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    """Any schema there may be, sensible or not."""
    vocabularies = draw(st.lists(st.builds(Vocabulary, keys, keys, st.booleans(), st.booleans()), max_size=2))
    field = st.builds(
        Field,
        key=keys,
        kind=st.sampled_from(list(FieldKind)),
        label=st.one_of(st.just(""), keys),
        multiple=st.booleans(),
        localized=st.booleans(),
        required=st.booleans(),
        editable=st.sampled_from((True, True, False)),
        indexed=st.booleans(),
        max_length=st.sampled_from((None, 0, 3, 64, 255)),
        vocabulary=st.sampled_from(("", "nowhere", *(one.key for one in vocabularies))),
        types=types,
        system=st.sampled_from((False, False, True)),
        derived=st.sampled_from((False, False, True)),
    )
    names = st.sampled_from(("Image", "File", "Film", "x: y"))
    kind = st.builds(
        AssetType, names, st.sampled_from(("", "images", "files")), st.sampled_from((frozenset(), PICTURE))
    )
    closed = st.one_of(st.none(), st.frozensets(keys, max_size=2))
    words = ("tags", "status", "release", "expiry", "groups", "versions")
    containers = st.sampled_from(("folder", "category", "section", "collection", "label"))
    number = st.dictionaries(containers, st.integers(1, 3), max_size=2)
    return Schema(
        fields={one.key: one for one in draw(st.lists(field, max_size=6))},
        vocabularies={one.key: one for one in vocabularies},
        types=tuple(draw(st.lists(kind, max_size=3))),
        statuses=draw(closed),
        groups=draw(closed),
        labels=draw(closed),
        locales=tuple(draw(st.lists(st.sampled_from(("en", "fr", "pt-BR")), max_size=2))),
        container_kinds=draw(st.frozensets(containers, max_size=3)),
        container_depth=draw(number),
        container_most=draw(number),
        capabilities=able(*draw(st.frozensets(st.sampled_from(words), max_size=4))),
    )


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(schemas(), schemas(), st.lists(st.sampled_from(("en", "FR", " ")), max_size=2), keys)
def test_whatever_the_schemas_the_suggestion_compiles(
    tmp_path: Path, source: Schema, target: Schema, locales: list[str], wish: str
) -> None:
    found = suggest(source, target, locales=locales, marker=wish)
    crosswalk = walked(tmp_path, found, source, target)
    assert crosswalk.writes == set(by_target(found))
    shuffled = replace(source, fields=dict(reversed(list(source.fields.items()))))
    assert suggest(shuffled, target, locales=locales, marker=wish).text() == found.text()


@pytest.fixture(scope="module")
def crosswalks(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], list[Crosswalk]]:
    folder = tmp_path_factory.mktemp("pairs")
    made = [walked(folder, suggest(A, target), A, target) for target in SERVICES.values()]
    return lambda: made


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(asset=assets())
def test_any_asset_goes_through(crosswalks: Callable[[], list[Crosswalk]], asset: Asset) -> None:
    for crosswalk in crosswalks():
        drafted = crosswalk.draft(asset, "mark", {})
        counted = {path for path, _ in tally_of(drafted)}
        assert all(key == "width" or empty_field(asset, key) or named(key, counted) for key in asset.fields)
        assert crosswalk.marker is None or drafted.draft.fields[crosswalk.marker] == "mark"


def empty_field(asset: Asset, key: str) -> bool:
    value = asset.fields[key]
    return all(empty(one) for one in (value if isinstance(value, tuple) else (value,)))


def named(key: str, counted: set[str]) -> bool:
    return any(re.match(rf"fields\.{key}(\[\])?(\.|$)", path) for path in counted)
