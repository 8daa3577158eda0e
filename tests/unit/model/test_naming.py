"""Names of files and containers where the target asks for some characters to be avoided."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dam_sync.engine.compare.facts import Scope
from dam_sync.engine.differences import Defaults, differences, extras
from dam_sync.engine.target_containers import TargetContainers
from dam_sync.model.asset import Asset, AssetId, Draft, Placement, Revision
from dam_sync.model.capabilities import Capabilities, Operation
from dam_sync.model.naming import Naming
from dam_sync.services.e_profiles.facts import LIMITS, NAMING
from tests.support.mapping.tenant_schemas import LEAST, TARGET, compiled

NAMED = replace(TARGET, naming=NAMING)


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("plain name.jpg", "plain name.jpg"),
        ("it's _100% sure_ #1; a+b.jpg", "it's _100_ sure_ _1_ a_b.jpg"),
        ("percent%20encoded.jpg", "percent_20encoded.jpg"),
        ("blanks around .jpg", "blanks around.jpg"),
        ("  two  .  jpg ", "two.jpg"),
        ("IMG (1).JPG", "IMG _1_.JPG"),
        ("..dots...tar.gz", "dots...tar.gz"),
        ("con.txt", "con_.txt"),
        ("%%%.jpg", "___.jpg"),
        ("...", "_"),
        ("a\nb\u202ec.jpg", "a_b_c.jpg"),
        ("été — 日本.jpg", "été — 日本.jpg"),
        ("x" * 200 + ".jpeg", "x" * 123 + ".jpeg"),
    ],
)  # fmt: skip
def test_file_names(name: str, made: str) -> None:
    assert NAMING.filename(name) == made


def test_containers_stay_different_and_readable() -> None:
    names = ["Boxes; 50% #1", "Box 1/2", "Box 1\\2", "Café ☕ 100%", "a,b", "a+b", "a_b", "(a)"]
    made = [NAMING.container(name) for name in names]
    assert made[0] == "Boxes； 50％ ＃1"
    assert len(set(made)) == len(names)
    assert NAMING.container("x" * 130) != NAMING.container("x" * 131)
    assert NAMING.container(" \t ") == "_"


@given(st.text(max_size=300))
def test_every_name_is_one_that_the_target_takes(name: str) -> None:
    for made in (NAMING.filename(name), NAMING.container(name)):
        assert made
        assert made == made.strip()
        assert len(made) <= 128
        assert not NAMING.avoided & set(made)
        assert made.isprintable()
    assert NAMING.filename(NAMING.filename(name)) == NAMING.filename(name)
    assert NAMING.container(NAMING.container(name)) == NAMING.container(name)


# -- in a mapping ------------------------------------------------------------------------------------------------------


def asset(filename: str = "a.jpg", *paths: tuple[str, ...]) -> Asset:
    return Asset(
        AssetId("7"),
        Revision("1"),
        filename,
        form_type="PICTURE",
        placements=frozenset(Placement("folder", p) for p in paths),
    )


PLACED = 'placements: {from: "placements[].path", as: category}\n'


@pytest.mark.parametrize("line", ["", "asset: {filename: {from: filename}}\n"])
def test_a_changed_file_name_is_reported(tmp_path: Path, line: str) -> None:
    crosswalk = compiled(tmp_path, LEAST + line, target=NAMED)
    made = crosswalk.draft(asset("50%.jpg"), "mark", {})
    assert made.draft.filename == "50_.jpg"
    assert [(loss.path, loss.rule) for loss in made.losses] == [("filename", "characters that the target avoids")]
    plain = crosswalk.draft(asset("50.jpg"), "mark", {})
    assert (plain.draft.filename, plain.losses) == ("50.jpg", ())


def test_changed_names_of_containers_are_reported(tmp_path: Path) -> None:
    crosswalk = compiled(tmp_path, LEAST + PLACED, target=NAMED)
    made = crosswalk.draft(asset("a.jpg", ("Press", "Box 1/2"), ("Plain",)), "mark", {})
    assert {place.path for place in made.draft.placements} == {("Press", "Box 1／2"), ("Plain",)}
    (loss,) = [loss for loss in made.losses if loss.rule == "characters that the target avoids"]
    assert "Box 1" in loss.detail


def test_whitespace_at_the_ends_of_names_of_containers_is_reported(tmp_path: Path) -> None:
    crosswalk = compiled(tmp_path, LEAST + PLACED)
    made = crosswalk.draft(asset("a.jpg", ("Press", " Red ")), "mark", {})
    assert {place.path for place in made.draft.placements} == {("Press", "Red")}
    assert "whitespace trimmed" in [loss.rule for loss in made.losses]


def test_a_container_that_people_called_otherwise_is_the_same() -> None:
    there = replace(asset(), placements=frozenset({Placement("category", ("Press", "50%"))}))
    draft = Draft(None, "a.jpg", placements=frozenset({Placement("category", ("Press", "50％"))}))
    scope = Scope(containers=frozenset({"category"}))
    assert differences(draft, there, NAMED, LIMITS) == []
    assert extras(draft, there, NAMED, scope, Defaults()) == []
    assert differences(draft, there, TARGET, LIMITS)


class Target:
    """Containers as people called them."""

    capabilities = Capabilities(frozenset({Operation.CONTAINERS}))

    async def containers(self):  # type: ignore[no-untyped-def]
        for path, identity in ((("50%",), "1"), (("a＋b",), "2"), (("a+b",), "3")):
            yield Placement("category", path, identity)


async def test_containers_are_found_by_the_name_they_should_have() -> None:
    found = await TargetContainers(Target(), None, NAMING).known()  # type: ignore[arg-type]
    assert found["category", ("50％",)] == "1"
    assert found["category", ("a＋b",)] == "2"
    assert Naming(frozenset("%"), 128).path(("50%",)) == ("50％",)
