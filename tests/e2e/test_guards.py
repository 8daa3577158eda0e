"""What stops a run with exit 6 rather than let it go on: each with a sentence that says why and which flag goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.jobs.small_jobs import SOURCE, TARGET, TOKEN, Ran, Small, hurry, photo, photos, small
from tests.support.jobs.tenants import CREDENTIALS
from tests.support.services.small_limits import changed

TWIN: dict[str, Any] = {"login": "twin", "password": "secret-twin", "permission": "ADMIN"}
OTHER: dict[str, Any] = {"name": "other", "token": "wat_demo_otherother"}
VERBS = ("plan", "run", "verify")
ASSETS = 24


@pytest.fixture(scope="module", autouse=True)
def _fast() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        hurry(patch)
        yield


@pytest.fixture(scope="module")
def moved(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Small]:
    """A library that was moved; the tests that share it change something and put it back."""
    spare = {"record": "field", "key": "spare", "label": "Spare", "kind": "text", "types": ["Images", "Documents"]}
    with small(
        tmp_path_factory.mktemp("moved"),
        photos(4),
        target=[spare],
        source_options={"lag": 0.0, "users": [TWIN]},
        target_options={"lag": 0.0, "users": [OTHER]},
    ) as job:
        job.secrets += (TWIN["password"], "otherother", "secret-new")
        job.run()
        yield job


def stopped(job: Small, *words: str, verbs: Sequence[str] = VERBS) -> Ran:
    """Each command ends with 6 and these words, and nothing is written to the target."""
    job.pair.target.forget_calls()
    told = [job.ran(verb, "--no-progress", code=6).says(*words) for verb in verbs]
    assert job.pair.target.writes == 0
    return told[-1]


@contextmanager
def edited(job: Small, *pairs: tuple[str, str]) -> Iterator[None]:
    """The job file with these replaced, for a while."""
    good = job.pair.job.read_text(encoding="utf-8")
    for old, new in pairs:
        job.edit(old, new)
    try:
        yield
    finally:
        job.pair.job.write_text(good, encoding="utf-8")


@contextmanager
def credential(job: Small, name: str, secret: str) -> Iterator[None]:
    """Another secret, for a while."""
    job.credential(name, secret)
    try:
        yield
    finally:
        job.credential(name, CREDENTIALS[name])


def state_of(tenant: Any) -> Any:
    """What the emulated service keeps."""
    assert tenant.served is not None
    return tenant.served.app.state


def thrown_away(job: Small, numbers: Sequence[int]) -> None:
    """Somebody moves these into the source's trash."""
    for number in numbers:
        job.source_call("DELETE", f"/api/dam/medias/{8800 + number}")


def renamed(job: Small, *numbers: int) -> None:
    """Somebody changes these at the source."""
    for number in numbers:
        job.source_call("PUT", f"/api/dam/medias/{8800 + number}/metadatas/inventory", {"value": f"NEW.{number}"})


def purged(job: Small, keep: Callable[[Mapping[str, Any]], bool] = lambda _: False, *, bin: bool = False) -> None:
    """Somebody empties the target: into its trash, and out of it."""
    for asset in job.pair.target.assets:
        if keep(asset):
            continue
        for times in range(1 if bin else 2):
            path = f"/v2/assets/{asset['id']}" + ("/permanent" if times else "")
            gone = httpx.delete(job.pair.target.url + path, headers={"Authorization": f"Bearer {TOKEN}"}, verify=False)
            assert gone.status_code < 300, gone.text


# -- who and where -----------------------------------------------------------------------------------------------------


def test_another_user_of_the_source(moved: Small) -> None:
    with edited(moved, ("login: dam-sync", "login: twin")), credential(moved, SOURCE, TWIN["password"]):
        stopped(moved, "now read as twin, previously as dam-sync", "--accept-changes")
        moved.ran("run", "--no-progress", code=6).says("--full reads and maps everything this one sees")
        report = moved.run("--full").data
        assert any(
            "continued because changes are accepted: the source is now read as twin" in note for note in report["notes"]
        )
        moved.run()
    moved.run("--accept-changes")
    moved.run()


def test_another_user_of_the_target(moved: Small) -> None:
    with credential(moved, TARGET, OTHER["token"]):
        stopped(moved, "the target is now written as other", "same rights", "--accept-changes")
        moved.ran("run", "--full", "--no-progress", code=6)


def test_a_new_secret_of_the_same_user(moved: Small) -> None:
    users = state_of(moved.pair.source).instance.library.users
    good = users["dam-sync"]
    users["dam-sync"] = replace(good, password="secret-new")
    with credential(moved, SOURCE, "secret-new"):
        moved.run()
        moved.ran("verify", "--no-progress", code=0)
    users["dam-sync"] = good


def test_another_tenant_stops_a_run_and_another_url_of_the_same_does_not(moved: Small) -> None:
    """One service is known by its URL, the other by the name in its token."""
    source, target = moved.pair.source.url, moved.pair.target.url
    with edited(moved, (f"base_url: {target}", f"base_url: {target.replace('127.0.0.1', 'localhost')}")):
        moved.run()
    with edited(moved, (f"base_url: {source}", f"base_url: {source.replace('127.0.0.1', 'localhost')}")):
        stopped(moved, "belongs to a source called 127.0.0.1", "leads to localhost", "--accept-changes")
        renamed(moved, 1)
        assert moved.run("--accept-changes").data["counts"]["updated"] == 1
        marks = {asset["fields"]["srckey"].partition("-")[0] for asset in moved.pair.target.assets}
        assert len(marks) == 1  # assets are still known by the name they were made under
        moved.ran("verify", "--no-progress", code=0)
    moved.run("--accept-changes")


# -- what it means -----------------------------------------------------------------------------------------------------


@contextmanager
def changed_field(fields: dict[str, Any], key: str, **facts: Any) -> Iterator[None]:
    """A field that an administrator changed, for a while."""
    good = fields[key]
    fields[key] = replace(good, **facts)
    try:
        yield
    finally:
        fields[key] = good


def test_a_changed_schema_of_the_target(moved: Small) -> None:
    fields = state_of(moved.pair.target).tenant.metadata.fields
    with changed_field(fields, "spare", required=False, field_type="text_short"):
        moved.run()  # no line writes it
    with changed_field(fields, "inventory", required=True), changed_field(fields, "credit", field_type="text_short"):
        told = ("target field inventory became required", "target field credit accepts 255 characters, previously 1280")
        stopped(moved, *told, "--accept-changes")
        moved.ran("run", "--no-progress", code=6).says("--full reads and maps every asset again")
        moved.run("--accept-changes")
        moved.run()
    moved.run()  # what became wider is no reason to stop


def test_a_changed_schema_of_the_source(moved: Small) -> None:
    forms = state_of(moved.pair.source).instance.library.schema.forms.values()
    fields = next(form.fields for form in forms if "inventory" in form.fields)
    with changed_field(fields, "inventory", type="TEXT_AREA"):
        stopped(moved, "source field inventory is long_text, previously text")
    moved.run()


def test_a_mapping_that_cannot_be_compiled_against_a_schema_is_the_error_reported(moved: Small) -> None:
    fields = state_of(moved.pair.target).tenant.metadata.fields
    with changed_field(fields, "heightCm", field_type="date"):
        moved.ran("run", "--no-progress", code=2).says("heightCm", "do not fit a field of kind date")


def test_changed_tables_of_the_mapping(tmp_path: Path) -> None:
    """Tables that the mapping looks things up in belong to it; those it took into account need no second word."""
    pins, codes = tmp_path / "pins.csv", tmp_path / "codes.csv"
    pins.write_text("source,target\nFrance,Italy\n", encoding="utf-8")
    codes.write_text("key,value\nMU.00001,ONE\n", encoding="utf-8")
    mapping = (
        ("match: [exact, casefold], unmatched: park}", "match: [pin, exact], unmatched: park, pins: pins.csv}"),
        (
            "vocabularies:\n",
            "lookups:\n  codes: {csv: codes.csv, key: key, value: value, unmatched: keep}\nvocabularies:\n",
        ),
        ("inventory: {from: fields.inventory}", "inventory: {from: fields.inventory, pipe: [{lookup: codes}]}"),
    )
    with small(tmp_path, photos(2), mapping=mapping) as job:
        job.run()
        job.run()
        for path, text in ((pins, "source,target\nFrance,Spain\n"), (codes, "key,value\nMU.00001,FIRST\n")):
            path.write_text(text, encoding="utf-8")
            stopped(job, "the mapping changed since assets were written with it", "--accept-changes")
            job.run("--full")
            job.run()
        assert {asset["fields"]["inventory"] for asset in job.pair.target.assets} == {"FIRST", "MU.00002"}


def test_a_mapping_that_changes_in_the_middle_of_a_run(tmp_path: Path) -> None:
    """What was written before is written again, also by a run that was begun without --full and is killed again."""
    with small(tmp_path, photos(6)) as job:
        job.run("--limit", "3", code=8)
        path = job.pair.folder / "mapping.yaml"
        good = path.read_text(encoding="utf-8")
        path.write_text(
            good.replace("inventory: {from: fields.inventory}", "inventory: {const: same}"), encoding="utf-8"
        )
        stopped(job, "the mapping changed")
        job.run("--full", "--limit", "2", code=8)
        job.run()
        assert {asset["fields"]["inventory"] for asset in job.pair.target.assets} == {"same"}
        job.ran("verify", "--no-progress", code=0)


# -- what the source shows ---------------------------------------------------------------------------------------------


def test_assets_removed_from_the_source(tmp_path: Path) -> None:
    """A few are reported, many stop a delta, most stop it before a listing; nothing is removed at the target."""
    with small(tmp_path, photos(ASSETS)) as job:
        job.run()
        thrown_away(job, (1, 2))
        (note,) = [note for note in job.run().data["notes"] if "gone from the source" in note]
        assert note.startswith("2 assets moved before are gone from the source (8801, 8802), 2 of them since")
        assert not [note for note in job.run().data["notes"] if "gone from the source" in note]
        thrown_away(job, range(3, 14))
        words = ("11 of 22 assets moved before are gone from the source or in its trash", "--accept-changes")
        stopped(job, *words, "nothing is removed at the target")
        job.ran("run", "--no-progress", "--full", code=6).says(*words)
        job.run("--accept-changes")
        job.run()
        job.ran("verify", "--no-progress", code=0)
        thrown_away(job, range(14, 21))
        stopped(job, "the source has 4 assets, but 24 were moved from it before", "--accept-changes")
        job.ran("verify", "--accept-changes", "--no-progress", code=0)
        job.run("--accept-changes")
        job.run("--full")
        assert len(job.pair.target.assets) == ASSETS


def test_assets_that_vanish_while_a_run_reads_them(tmp_path: Path) -> None:
    """Many of them are no accident of single assets: the run stops, and none of them stays parked for it."""
    with small(tmp_path, photos(ASSETS)) as job:
        job.faulty({"match": "GET /api/dam/medias/88*", "do": "status:404"})
        for verb in ("plan", "run"):
            told = job.ran(verb, "--no-progress", code=6)
            told.says("11 of 11 assets that the source listed cannot be found there", "--accept-changes")
        assert job.parked() == []
        job.mend()
        assert len(job.ends_complete()) == ASSETS


def deleting(job: Small, at: Sequence[int]) -> None:
    """Somebody deletes an asset whenever so many pages were asked for."""
    seen: list[int] = []

    def act() -> None:
        seen.append(1)
        if len(seen) in at:
            library = state_of(job.pair.source).instance.library
            for _ in range(2):  # into the trash, and out of it
                library.delete(library.medias[max(library.medias)], library.users["dam-sync"])

    job.meanwhile("GET /api/dam/search/media", 0, act)
    assert job.pair.source.served is not None
    job.pair.source.served.app.faults.lines[-1].nth = None


@pytest.mark.parametrize("deleted", [1, 2])
def test_a_listing_that_lacks_rows(tmp_path: Path, deleted: int) -> None:
    """It is read again; when it still lacks rows the run stops, and the next one starts the listing again."""
    with small(tmp_path, photos(16), limits={"a_hypermedia": changed("a_hypermedia", page=5)}) as job:
        job.edit("target:\n", '  options: {keyset: "off"}\ntarget:\n')
        deleting(job, (6, 9)[:deleted])
        if deleted == 2:
            told = job.ran("run", "--no-progress", code=6)
            told.says("the listing shrank from 15 to 14 rows", "run the same command again")
        there = job.ends_complete()
        assert len(there) == 16 - deleted


# -- what the target shows ---------------------------------------------------------------------------------------------


def test_an_emptied_target(tmp_path: Path) -> None:
    """Nothing is created again or parked; if the operator allows it, what changed is parked, with the reason."""
    with small(tmp_path, photos(12)) as job:
        job.run()
        purged(job)
        renamed(job, 1)
        words = ("the target has 0 assets, 12 were moved to it", "a new `state:` file", "--accept-changes")
        stopped(job, *words)
        assert job.run("--accept-changes", code=4).data["counts"]["parked"] == 1
        (row,) = job.parked()
        assert row["cause"] == "gone"
        assert "is no longer at the target" in row["message"]
        assert job.ran("verify", "--accept-changes", "--json", code=3).data["verdict"]["missing"] == 12


@pytest.mark.parametrize("bin", [False, True])
def test_an_emptied_target_that_still_counts(tmp_path: Path, bin: bool) -> None:
    """Its trash, or the assets of others, hide that ours are missing; the first miss shows it. One alone is parked."""
    others = [{**photo(number, name=f"theirs-{number}.jpg"), "type": "Images"} for number in range(40, 49)]
    for other in others:
        other["fields"], other["placements"] = {"title": "Theirs"}, []
    with small(tmp_path, photos(8), target=[] if bin else others) as job:
        job.run()
        ours = {
            str(asset["fields"]["inventory"]): asset["id"]
            for asset in job.pair.target.assets
            if asset["fields"].get("inventory")
        }
        purged(job, lambda asset: asset["id"] != ours["MU.00001"], bin=bin)
        renamed(job, 1)
        job.run(code=4)
        assert [row["cause"] for row in job.parked()] == ["gone"]
        purged(job, lambda asset: asset["id"] not in ours.values() or asset["id"] == ours["MU.00001"], bin=bin)
        renamed(job, 2, 3)
        words = ("the assets moved to the target before are gone from it", "--accept-changes")
        stopped(job, *words, verbs=("run", "plan"))
        job.run("--accept-changes", code=4)
