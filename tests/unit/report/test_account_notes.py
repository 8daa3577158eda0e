"""What a service has to report depends on whether a job reads it or writes to it, not on whether it may write now."""

from __future__ import annotations

from pathlib import Path

from dam_sync.model.capabilities import YES, Capabilities, Feature
from dam_sync.model.exposure_options import ExposureOption
from dam_sync.model.probed import Account, Undecided, undecided, with_fields
from dam_sync.model.schema import Field, FieldKind
from dam_sync.report.loss_words import UNLESS_ASKED, in_words
from tests.support.jobs.small_jobs import photos, small
from tests.support.mapping.tenant_schemas import schema

PRIVATE = "collections are made as private ones"


def test_notes_follow_the_role() -> None:
    account = Account("here", notes=("both",), as_source=("read",), as_target=("written",))
    assert account.notes_as("source") == ("both", "read")
    assert account.notes_as("target") == ("both", "written")


def test_a_plan_says_of_its_target_what_the_run_will_say(tmp_path: Path) -> None:
    page = tmp_path / "plan.html"
    with small(tmp_path, photos(1), options="index_lag: 1") as job:
        planned = job.ran("plan", "--json", "--no-progress", "--html", str(page), code=0).data
        done = job.run().data
    for report in (planned, done):
        assert any(PRIVATE in note for note in report["notes"])
        assert not any("version_policy" in note for note in report["notes"]), "a note needs no decision"
        (open_,) = [one for one in report["undecided"] if one["part"] == "versions"]
        assert (open_["side"], open_["assets"]) == ("target", 0)
        assert "version_policy of the target is not set" in open_["text"]
        (calls,) = [one for one in report["undecided"] if one["part"] == ""]
        assert (calls["side"], calls["assets"]) == ("target", 0)
        assert "monthly allowance" in calls["text"]
        levels = {risk["level"] for risk in report["risks"] if risk["kind"] == "option"}
        assert levels == {"low"}, "no asset has older versions"
        assert not [risk for risk in report["risks"] if risk["kind"] in ("time", "irreversible")], "nothing to decide"
    text = page.read_text("utf-8")
    decisions = text[text.index('id="decisions"') : text.index('id="mapping"')]
    assert "version_policy of the target is not set" in decisions
    assert PRIVATE not in text[: text.index('id="notes"')]


def test_what_the_source_lacks_or_the_policy_leaves_out_needs_no_decision() -> None:
    left = Undecided(Feature.VERSIONS, "older versions", "set it")
    source, target = Account("here"), Account("there", undecided_as_target=(left,))
    able = Capabilities(features={Feature.VERSIONS: YES})
    assert undecided(source, target, able, "all") == {"source": (), "target": (left,)}
    assert undecided(source, target, able, "current") == {"source": (), "target": ()}
    assert undecided(source, target, Capabilities(), "all") == {"source": (), "target": ()}


def test_an_option_that_names_a_field_is_asked_for_with_the_fields_that_it_can_name() -> None:
    fields = (
        Field("vrij", FieldKind.DATE),
        Field("tot", FieldKind.DATE),
        Field("dagen", FieldKind.DATE, multiple=True),
        Field("system_created", FieldKind.DATE, system=True),
        Field("staat", FieldKind.TERM),
    )
    left = Undecided(Feature.EXPIRY, "expiry dates are not read", "name it", FieldKind.DATE)
    found = with_fields({"source": (left,), "target": ()}, schema(*fields), schema())
    assert found["source"][0].hint == "name it; fields that it can name: tot, vrij"
    assert left.among(fields[3:]).hint == "name it; no field fits so far"
    assert Undecided(Feature.EXPIRY, "text", "hint").among(fields).hint == "hint"


def test_an_option_that_would_hide_assets_needs_a_decision_whatever_the_source_reads() -> None:
    option = ExposureOption("closed", "nothing can be hidden", "a profile", "hides", ("shut",))
    found = undecided(Account("here"), Account("there"), Capabilities(), "all", [option])["target"]
    assert [(one.part, one.text) for one in found] == [(Feature.CLOSED, "nothing can be hidden")]
    assert found[0].hint.startswith("`options: {closed: shut}` of the target hides; ")


def test_what_an_option_would_carry_is_not_called_impossible() -> None:
    assert in_words("versions", "target cannot hold", {"versions"}) == f"older versions of the file: {UNLESS_ASKED}"
    assert in_words("release_at", "target cannot hold", {"release"}) == f"the release date: {UNLESS_ASKED}"
    assert in_words("tags[]", "target cannot hold", {"tags"}) == f"tags: {UNLESS_ASKED}"
    assert in_words("status", "target cannot hold", {"tags"}) == "the status: the target has no place for it"
    assert in_words("created_at", "target cannot hold") == "the creation date: the target has no place for it"
    assert in_words("fields.keywords[]", "first") == "field keywords: only the first of several values is carried"
