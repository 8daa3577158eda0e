"""Options are written into a job file that a person wrote; everything else in it stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from dam_sync.api.job_options import set_option
from dam_sync.api.mapping_tools.exposure_questions import OptionQuestion, exposure_questions
from dam_sync.api.new_job import Initialized, decide_options
from dam_sync.config.job import JobConfig, load_job
from dam_sync.mapping.sample import Sample
from dam_sync.model.asset import Asset, AssetId, Revision, Rights
from dam_sync.model.capabilities import YES, Capabilities, Feature
from dam_sync.model.errors import ConfigError
from dam_sync.model.exposure_options import ExposureOption, ExposureOptions
from dam_sync.model.schema import Schema
from dam_sync.model.service import Service
from dam_sync.services import built_in

TEXT = """\
# of the museum
version: 1
name: museum
source:
  kind: b_documents
  base_url: https://b.example
  auth: {flow: basic, login: dam-sync, password: "${env:B}"}  # read-only
target:
  kind: e_profiles
  base_url: https://e.example
  tenant_url: https://t.example
  auth: {flow: token, token: "${env:E}"}
  options: {version_policy: none}
mapping: museum.mapping.yaml
"""


@pytest.fixture
def job(tmp_path: Path) -> Path:
    path = tmp_path / "museum.yaml"
    path.write_text(TEXT, encoding="utf-8")
    return path


def loaded(path: Path) -> JobConfig:
    return load_job(path, built_in())


def test_an_option_is_added_and_comments_stay(job: Path) -> None:
    set_option(job, "source", "everybody", ["members"], built_in())
    set_option(job, "target", "closed_profile", "Image closed", built_in())
    assert loaded(job).source.options == {"everybody": ["members"]}
    assert loaded(job).target.options == {"version_policy": "none", "closed_profile": "Image closed"}
    text = job.read_text(encoding="utf-8")
    assert "# of the museum" in text
    assert '"${env:B}"}  # read-only' in text


def test_the_comment_that_stands_for_the_options_of_a_side_goes_with_the_first_of_them(job: Path) -> None:
    comment = "  # options: {}  # see dam-sync help b_documents\n"
    before = TEXT.replace("target:\n", f"{comment}target:\n").replace("mapping:", f"{comment}mapping:")
    job.write_text(before, encoding="utf-8")
    set_option(job, "source", "everybody", ["members"], built_in())
    source, target = job.read_text(encoding="utf-8").split("target:\n")
    assert (comment in source, comment in target) == (False, True)
    assert loaded(job).source.options == {"everybody": ["members"]}


def test_a_name_for_each_key_joins_those_that_are_there(job: Path) -> None:
    for value in ("Photo closed", {"Film": "Film closed"}, {"Logo": "Logo closed"}):
        set_option(job, "target", "closed_profile", value, built_in())
    assert loaded(job).target.options["closed_profile"] == {
        "": "Photo closed", "Film": "Film closed", "Logo": "Logo closed",
    }  # fmt: skip


def test_a_job_that_would_not_load_stays_as_it_was(job: Path) -> None:
    with pytest.raises(ConfigError):
        set_option(job, "target", "no_such_option", "x", built_in())
    assert job.read_text(encoding="utf-8") == TEXT


QUESTION = OptionQuestion("source", "everybody", "which of these (members, staff)", {"members": ["members"]}, "told")


def answered(job: Path, *answers: str) -> tuple[Initialized, list[str]]:
    told: list[str] = []
    given = list(answers)
    done = Initialized(job, job, (), review=("told", "more"), questions=(QUESTION,))
    return decide_options(done, lambda question, default: given.pop(0), told.append, built_in()), told


def test_a_person_chooses_which_group_has_everybody(job: Path) -> None:
    done, told = answered(job, "nobody", "members")
    assert told[0] == "it is none of members"
    assert (done.review, done.questions) == (("more",), ())
    assert loaded(job).source.options == {"everybody": ["members"]}


def test_nothing_is_written_if_nothing_is_chosen(job: Path) -> None:
    done, told = answered(job, "")
    assert (done.review, done.questions, told) == (("told", "more"), (QUESTION,), [])
    assert job.read_text(encoding="utf-8") == TEXT


# -- what is asked -----------------------------------------------------------------------------------------------------

CLOSING = ExposureOption("closed_profile", "why", "a profile without groups", "does it", ("shut",), "Photo")


class Told(Service):
    """A service that has these options."""

    kind = "told"

    def __init__(self, options: ExposureOptions) -> None:
        self.options = options

    def exposure_options(self) -> ExposureOptions:
        return self.options


Told.__abstractmethods__ = frozenset()


def asked(
    *groups: str, known: frozenset[str] | None = None, named: str = "", **options: object
) -> list[OptionQuestion]:
    """The questions about a library with assets of these groups."""
    rights = [Rights(groups=frozenset(name.split("+"))) if name else Rights() for name in groups]
    assets = [Asset(AssetId(str(n)), Revision("r"), rights=each) for n, each in enumerate(rights)]
    abilities = Capabilities(features={Feature.GROUPS: YES})
    source = ExposureOptions("everybody", frozenset({named} if named else ()))
    closing = (CLOSING,) if options.get("closing") else ()
    schema = Schema({}, groups=known, capabilities=abilities)
    return list(exposure_questions(Told(source), Told(ExposureOptions(closing=closing)), schema, Sample.of(assets)))


def test_the_group_of_most_assets_is_asked_about_with_their_number() -> None:
    (question,) = asked("members", "members+staff", "staff", known=frozenset({"public"}))
    assert question.values == {"members": ["members"], "staff": ["staff"]}
    assert "2 of 3 assets have the group members" in question.told
    (question,) = asked("members", "members", named="all")
    assert question.values == {"members": ["all", "members"]}


@pytest.mark.parametrize(
    ("groups", "known", "named"),
    [
        (("members", "staff", "", ""), frozenset[str](), ""),
        (("members", "members"), frozenset({"Members"}), ""),
        (("members", "members"), None, "members"),
    ],
)
def test_nothing_is_asked_about_few_assets_or_a_group_that_arrives_or_is_named(
    groups: tuple[str, ...], known: frozenset[str] | None, named: str
) -> None:
    assert asked(*groups, known=known, named=named) == []


def test_what_may_keep_assets_closed_is_asked_about_with_what_the_tenant_has() -> None:
    (question,) = asked("", closing=True)
    assert (question.role, question.name, question.values) == ("target", "closed_profile", {"shut": {"Photo": "shut"}})
    assert "a profile without groups (shut; empty: none)" in question.text
