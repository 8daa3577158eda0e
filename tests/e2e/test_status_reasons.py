"""`status` says why the last run is not complete, and what to type next."""

from __future__ import annotations

from pathlib import Path

from tests.support.small import TARGET, TOKEN, Small, photos, small


def stopped(job: Small) -> dict[str, object]:
    """What `status` says of the last run; its text says the same."""
    found = job.ran("status", "--json", code=0).data["stopped"]
    shown = job.ran("status", code=0)
    shown.says("stopped: " + " ".join(found["reason"].split()), f"hint: {found['hint']}" if found["hint"] else "next: ")
    return dict(found)


def test_the_reason_of_each_stop_is_kept_until_the_next_run(tmp_path: Path) -> None:
    with small(tmp_path, photos(20)) as job:
        job.credential(TARGET, TOKEN[:-1] + "0")
        job.run(code=7)
        refused = stopped(job)
        assert (refused["run"], refused["command"], refused["exit code"]) == (None, "run", 7)
        assert "e_profiles" in str(refused["reason"])
        job.ran("status", code=0).says(f"next: dam-sync check {job.pair.job}", f"next: dam-sync run {job.pair.job}")
        job.credential(TARGET, TOKEN)
        job.run("--max-calls", "40", code=8)
        limited = stopped(job)
        assert (limited["run"], limited["exit code"]) == (1, 8)
        assert "the limit of 40 calls is reached" in str(limited["reason"])
        job.run(code=0)
        done = job.ran("status", "--json", code=0).data
        assert "stopped" not in done
        assert [row["result"] for row in done["runs"]] == ["done"]
