"""`run --page` and `watch --page` in processes of their own: the stream of events of a run between two services."""

from __future__ import annotations

import json
import re
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.support.jobs.small_jobs import SECRETS, SIGNED, Small, photo, photos, small
from tests.support.programs import PIPE, Program
from tests.support.reporting.live_page import at, events_of
from tests.support.sample.cases import only_in_full

PATIENCE = 240.0  # seconds; the host may be busy


class Shown:
    """A process that serves a page, and its URL."""

    def __init__(self, job: Small, verb: str, *options: str) -> None:
        command = [verb, str(job.pair.job), "--page", "--no-progress", *options]
        self.process = Program("dam_sync", *command, err=PIPE)
        assert self.process.stderr is not None
        self.said: list[str] = []
        for line in self.process.stderr:
            self.said.append(line)
            if found := re.match(r"page: (http://127\.0\.0\.1:\d+/\?key=\w{32,})$", line):
                self.url = found[1]
                break
        assert self.said[-1].startswith("page: "), self.said
        self._rest = threading.Thread(target=self.said.extend, args=(self.process.stderr,), daemon=True)
        self._rest.start()

    def ended(self) -> int:
        """Its exit code."""
        code = self.process.wait(PATIENCE)
        self._rest.join(PATIENCE)
        assert self.process.stderr is not None
        self.process.stderr.close()
        return code


@contextmanager
def shown(job: Small, verb: str, *options: str) -> Iterator[Shown]:
    made = Shown(job, verb, *options)
    try:
        yield made
    finally:
        if made.process.poll() is None:
            made.process.kill()
        made.ended()


def stream(url: str) -> Iterator[tuple[str, Any]]:
    """The events until the stream ends, looked through for what no event may hold."""
    with httpx.Client(timeout=PATIENCE, verify=False) as client, client.stream("GET", at(url, "/events")) as response:
        assert response.status_code == 200
        for name, data in events_of(response.iter_lines()):
            text = json.dumps(data, ensure_ascii=False)
            assert [word[:4] for word in (*SECRETS, *SIGNED) if word in text] == []
            yield name, data


def test_a_run_is_shown_from_its_first_phase_to_its_end(tmp_path: Path) -> None:
    assets = [*photos(11), photo(12, credit="x" * 5000)]
    with small(tmp_path, assets, target_options={"rate": 6.0, "lag": 0.0}) as job:
        with shown(job, "run") as page:
            assert "<main" in httpx.get(page.url, verify=False).text
            assert httpx.get(page.url, headers={"Host": "museum.example"}, verify=False).status_code == 403
            assert httpx.get(page.url.partition("?")[0], verify=False).status_code == 401
            seen = list(stream(page.url))
            assert page.ended() == 4, page.said
        states = [data["jobs"][0] for name, data in seen if name == "state"]
        runs = [state["run"] for state in states if state["run"]]
        assert {"moving assets"} < {phase["name"] for run in runs for phase in run["phases"]}
        assert [run["done"] for run in runs] == sorted(run["done"] for run in runs)
        assert max(run["sides"][1]["rate"] for run in runs) > 0
        assert runs[-1]["sides"][1]["limit"] is not None
        assert runs[-1]["total"] == 12
        assert (states[-1]["ended_run"], states[-1]["result"]) == (True, "done")
        history = [data["jobs"][0] for name, data in seen if name == "history"][-1]
        assert history["runs"][0]["result"] == "done"
        assert history["runs"][0]["counts"]["created"] == 11
        assert [(group["cause"], group["count"]) for group in history["parked"]] == [
            (row["cause"], row["count"]) for row in job.ran("errors", "--json", code=0).data["causes"]
        ]


@only_in_full
def test_watch_shows_what_comes_next(tmp_path: Path) -> None:
    with small(tmp_path, photos(2), more="schedule: {every: 1h}\n") as job, shown(job, "watch") as page:
        ends = time.monotonic() + PATIENCE
        for name, data in stream(page.url):
            assert time.monotonic() < ends
            if name == "state" and data["jobs"][0]["result"] == "done":
                break
        (state,) = data["jobs"]
        assert len(state["next_runs"]) == 3
        assert state["reason"] == "on schedule"
        page.process.send_signal(signal.SIGTERM)
        assert page.ended() == 0, page.said


def test_a_url_that_others_reach_is_refused(tmp_path: Path) -> None:
    with small(tmp_path, photos(1)) as job:
        job.ran("run", "--page", "--listen", "0.0.0.0:8088", code=2).says("can be reached from other hosts")
        assert not job.state.exists()
