"""Waves as they are typed: one after another, with a relation between them, kills, sign-offs and freeze windows."""

from __future__ import annotations

import csv
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.support.jobs.library_edits import retitle_at_target
from tests.support.jobs.small_jobs import Record, Small, photo, small
from tests.support.jobs.tenants import duplicates
from tests.support.sample.cases import only_in_full

REFUSED, LIMIT, PARKED = 6, 8, 4  # exit codes
PRESS, REST = "{name: press, select: {containers: [/Library/Press]}", "{name: rest, select: {}, after: [press]"


def pictures(number: int = 8) -> list[Record]:
    """Those with an odd number are in the folder Press, the others in the folder Archive."""
    rows = [photo(each) for each in range(1, number + 1)]
    for row in rows:
        folder = "Press" if int(row["id"]) % 2 else "Archive"
        row["placements"] = [{"kind": "folder", "path": ["Library", folder]}]
    return rows


def in_waves(desk: Small, *waves: str) -> None:
    desk.edit("name: test\n", "name: test\nwaves:\n" + "".join(f"- {wave}\n" for wave in waves))


def waves_of(desk: Small) -> dict[str, dict[str, Any]]:
    return {row["wave"]: row for row in desk.ran("status", "--json", code=0).data["waves"]}


def names(desk: Small) -> list[str]:
    return sorted(row["fields"]["title"] for row in desk.pair.target.assets)


def ids_of(desk: Small, *numbers: int) -> list[str]:
    """What the source calls these pictures."""
    known = {str(row["filename"]): str(row["id"]) for row in desk.pair.source.assets}
    return [known[f"photo-{number}.jpg"] for number in numbers]


def sorted_into(desk: Small) -> dict[str, str]:
    with closing(sqlite3.connect(desk.state)) as connection:
        return dict(connection.execute("SELECT asset, wave FROM wave").fetchall())


def signed(desk: Small, wave: str) -> None:
    desk.ran("verify", "--wave", wave, "--level", "fields", code=0).says(f"signoff {desk.pair.job} --wave {wave}")
    desk.ran("signoff", "--wave", wave, "--by", "Jane", code=0)


def test_waves_run_in_their_order_once_signed_off(tmp_path: Path) -> None:
    with small(tmp_path, pictures()) as desk:
        in_waves(desk, f"{PRESS}}}", f"{REST}}}")
        plan = desk.ran("plan", "--wave", "rest", "--json", "--no-progress", code=0).data
        assert plan["counts"]["created"] == 4
        assert "wave rest; assets of each wave: press 4, rest 4; in no wave: 0" in plan["notes"]
        assert "a run of wave rest would be refused now: wave press was not moved yet" in plan["notes"]
        desk.run("--wave", "rest", code=REFUSED).says("wave press was not moved yet")
        desk.run("--wave", "pres", code=2).says("there is no wave pres", "did you mean press?")
        assert desk.run().data["wave"] == "press"
        assert len(desk.pair.target.assets) == 4
        desk.run("--wave", "rest", code=REFUSED).says("wave press is not signed off")
        desk.ran("signoff", "--wave", "press", code=REFUSED).says("was not verified since run 1")
        desk.ran("status", code=0).says("verify", "--wave press")
        shown = waves_of(desk)
        assert (shown["press"]["moved"], shown["press"]["open"], shown["rest"]["open"]) == (4, 0, 4)
        signed(desk, "press")
        desk.ran("status", code=0).says("run", "--wave rest")
        report = desk.run().data
        assert (report["wave"], report["counts"]["created"], report["counts"]["of other waves"]) == ("rest", 4, 4)
        assert duplicates(desk.pair.target.assets) == []
        desk.ran("signoff", "--wave", "rest", code=REFUSED).says("was not verified since run 2")
        assert desk.ran("verify", "--json", "--no-progress", code=0).data["verdict"]["equal"] == 8
        desk.ran("signoff", "--wave", "rest", "--by", "Jane", code=0)  # a verification of everything counts
        assert waves_of(desk)["rest"]["signed"]["by"] == "Jane"
        desk.ran("signoff", "--wave", "press", "--revoke", code=0).says("not signed off any more")
        assert waves_of(desk)["press"]["signed"] is None
        desk.edit("name: rest", "name: remainder")
        renamed = waves_of(desk)["remainder"]
        assert (renamed["selected"], renamed["moved"], renamed["run"]) == (None, None, None)
        desk.ran("status", code=0).says("does not have any more (rest)", "the next run sorts")


def test_a_verification_of_everything_counts_for_each_wave_with_what_it_found_there(tmp_path: Path) -> None:
    with small(tmp_path, pictures()) as desk:
        in_waves(desk, "{name: press, select: {containers: [/Library/Press]}}", "{name: rest}")
        desk.run("--wave", "press")
        desk.run("--wave", "rest")
        retitle_at_target(desk, 2, "By hand")  # of the wave rest
        desk.ran("verify", "--level", "fields", code=3)
        found = {name: row["verified"]["clean"] for name, row in waves_of(desk).items()}
        assert found == {"press": True, "rest": False}
        desk.ran("signoff", "--wave", "press", "--by", "Jane", code=0)
        desk.ran("signoff", "--wave", "rest", code=REFUSED).says("found differences")


def test_a_sign_off_is_shown_in_words(tmp_path: Path) -> None:
    with small(tmp_path, pictures()) as desk:
        in_waves(desk, f"{PRESS}}}", f"{REST}}}")
        desk.run()
        desk.ran("verify", "--wave", "press", "--level", "fields", "--sample", "50%", code=0)
        shown = desk.ran("signoff", "--wave", "press", "--by", "Jane", "--note", "as agreed", code=0)
        shown.says("signed by Jane", "for run 1 of the wave", "assets 4 selected, 4 moved, 0 parked")
        shown.says("verification level fields, 50% of the assets: no differences", "note as agreed")
        assert [token for token in "{}[]'" if token in shown.out] == []
        desk.ran("signoff", "--wave", "press", "--by", "Jane", "--note", "as agreed", code=0)
        refused = desk.ran("signoff", "--wave", "press", "--by", "Joe", code=REFUSED)
        refused.says("wave press is signed off already: by Jane, ", "with the note “as agreed”", "--revoke")
        desk.ran("status", code=0).says("signed off after run 1 by Jane")
        desk.ran("signoff", "--wave", "press", "--by", "Joe", "--accept-changes", code=0).says("signed by Joe")
        desk.run()
        desk.ran("signoff", "--wave", "rest", "--accept-changes", code=0).says(
            "verification none since that run", "accepted wave rest was not verified since run 2"
        )


def test_what_was_rolled_back_is_open_and_not_left_out(tmp_path: Path) -> None:
    with small(tmp_path, pictures()) as desk:
        in_waves(desk, f"{PRESS}}}", f"{REST}}}")
        desk.run()
        desk.ran("rollback", "--run", "1", "--yes", "--max-deletes", "100%", "--no-progress", code=0)
        counts = {key: waves_of(desk)["press"][key] for key in ("selected", "moved", "open", "left")}
        assert counts == {"selected": 4, "moved": 0, "open": 4, "left": 0}
        assert desk.run("--wave", "press").data["counts"]["created"] == 4
        assert waves_of(desk)["press"]["open"] == 0


@only_in_full
def test_a_change_is_moved_by_its_own_wave_alone(tmp_path: Path) -> None:
    with small(tmp_path, pictures()) as desk:
        in_waves(desk, f"{PRESS}}}", "{name: rest}")
        desk.run("--wave", "press")
        desk.run("--wave", "rest")
        for asset in ids_of(desk, 1, 2):
            desk.source_call("PUT", f"/api/dam/medias/{asset}/metadatas/inventory", {"value": "MU.NEW"})
        desk.run("--wave", "press")
        assert sum("MU.NEW" in str(row) for row in desk.pair.target.assets) == 1
        assert desk.ran("verify", "--wave", "press", "--level", "fields", code=0)
        desk.ran("verify", "--wave", "rest", "--level", "fields", code=3)
        desk.run("--only", *ids_of(desk, 2), "--wave", "press", code=2).says("of wave rest, not of wave press")
        desk.run("--wave", "rest")
        assert sum("MU.NEW" in str(row) for row in desk.pair.target.assets) == 2


@only_in_full
def test_what_one_wave_parked_stays_parked_when_another_runs(tmp_path: Path) -> None:
    with small(tmp_path, pictures()) as desk:
        in_waves(desk, f"{PRESS}}}", "{name: rest}")
        desk.faulty({"match": "POST /v2/uploads", "do": "status:400", "nth": 1}, side="target")
        desk.run("--wave", "press", code=PARKED)
        desk.mend()
        (parked,) = desk.parked()
        desk.ran("verify", "--wave", "press", "--level", "count", code=0)
        desk.ran("signoff", "--wave", "press", code=REFUSED).says("1 asset is parked in wave press")
        assert desk.run("--wave", "rest", code=PARKED).data["counts"]["created"] == 4
        assert desk.parked() == [parked]
        desk.ran("errors", "--retry", code=0)
        assert desk.run("--wave", "rest").data["counts"]["created"] == 0
        assert waves_of(desk)["press"]["open"] == 1
        desk.ran("signoff", "--wave", "press", code=REFUSED).says("1 asset waits for the next run of wave press")
        assert desk.run("--wave", "press").data["counts"]["created"] == 1
        assert duplicates(desk.pair.target.assets) == []
        assert len(desk.pair.target.assets) == 8


@only_in_full
def test_an_asset_belongs_to_the_first_wave_and_what_is_in_none_is_reported(tmp_path: Path) -> None:
    with small(tmp_path, pictures()) as desk:
        (tmp_path / "pilot.csv").write_text("id\n" + "\n".join(ids_of(desk, 1, 2)), encoding="utf-8")
        in_waves(desk, "{name: pilot, select: {ids: {csv: pilot.csv}}}", f"{PRESS}}}")
        listed = tmp_path / "rows.csv"
        report = desk.run("--wave", "pilot", "--csv", str(listed)).data
        assert report["counts"]["created"] == 2
        assert report["left_out"] == {"in no wave": 3, "of wave press": 3}
        rows = list(csv.DictReader(listed.read_text(encoding="utf-8-sig").splitlines()))
        assert sum("in no wave" in str(row) for row in rows) == 3
        desk.run("--wave", "press")
        assert len(desk.pair.target.assets) == 5
        assert desk.ran("status", code=0).says("3 assets are in no wave")
        desk.edit("{name: pilot,", "{name: rest}\n- {name: pilot,")  # now the first wave takes everything
        assert desk.run("--wave", "rest").data["counts"]["created"] == 3
        assert sorted(sorted_into(desk).values()) == ["pilot"] * 2 + ["press"] * 3 + ["rest"] * 3


@only_in_full
def test_a_wave_added_later_sorts_what_was_moved_without_waves(tmp_path: Path) -> None:
    with small(tmp_path, pictures()) as desk:
        desk.run()
        in_waves(desk, f"{PRESS}}}", "{name: rest}")
        report = desk.run("--wave", "press").data
        assert (report["operations"], report["counts"]["unchanged"]) == ({}, 4)
        assert waves_of(desk)["rest"]["moved"] == 4
        assert desk.run("--wave", "rest").data["operations"] == {}
        assert len(desk.pair.target.assets) == 8


@only_in_full
def test_a_freeze_window_keeps_runs_out(tmp_path: Path) -> None:
    with small(tmp_path, pictures()) as desk:
        window = "freeze: {from: 2020-03-01 18:00, to: 2020-03-02 06:00, zone: Europe/Paris}"
        in_waves(desk, f"{PRESS}, {window}}}", f"{REST}}}")
        desk.run("--wave", "press", code=REFUSED).says("ended at 2020-03-02 06:00+01:00 (Europe/Paris)")
        desk.ran("plan", "--wave", "press", code=0).says("would be refused now: its freeze window ended")
        desk.edit("2020-03-01 18:00, to: 2020", "2020-03-01 18:00, to: 2920")
        assert desk.run("--wave", "press").data["counts"]["created"] == 4
        desk.edit("from: 2020", "from: 2900")
        desk.run("--wave", "press", code=REFUSED).says("begins at 2900-03-01 18:00+01:00 (Europe/Paris)")
        desk.ran("verify", "--wave", "press", "--level", "fields", code=0)


@only_in_full
def test_a_plan_of_a_wave_is_followed(tmp_path: Path) -> None:
    with small(tmp_path, pictures()) as desk:
        in_waves(desk, f"{PRESS}}}", "{name: rest}")
        file = str(tmp_path / "plan.json")
        plan = desk.ran("plan", "--wave", "rest", "-o", file, "--json", "--no-progress", code=0).data
        desk.run("--plan", file, "--wave", "press", code=2).says("is a plan of wave rest, not of wave press")
        report = desk.run("--plan", file).data
        assert (report["wave"], report["operations"]) == ("rest", plan["operations"])
        assert "the run did exactly what its plan lists, operation by operation" in report["notes"]
        assert len(desk.pair.target.assets) == 4


@only_in_full
def test_killed_runs_of_two_waves_leave_no_trace(tmp_path: Path) -> None:
    with small(tmp_path, pictures()) as desk:
        in_waves(desk, f"{PRESS}}}", f"{REST}}}")
        killed(desk, 2)
        desk.run("--wave", "rest", code=REFUSED).says("of wave press is not finished")
        desk.ran("signoff", "--wave", "press", code=REFUSED).says("of it is not finished")
        assert desk.run().data["wave"] == "press"
        assert len(desk.pair.target.assets) == 4
        signed(desk, "press")
        killed(desk, 6)
        assert desk.run().data["wave"] == "rest"
        assert len(desk.pair.target.assets) == 8
        assert duplicates(desk.pair.target.assets) == []
        assert desk.ran("verify", "--json", "--no-progress", code=0).data["verdict"]["equal"] == 8


def killed(desk: Small, number: int) -> None:
    """A run that is killed once the target has so many assets."""
    words: Sequence[str] = ("run", str(desk.pair.job), "--no-progress")
    process = desk.pair.start_until(lambda: len(desk.pair.target.assets) >= number, *words)
    process.kill()
    process.wait()
