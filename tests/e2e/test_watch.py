"""`watch` in a process of its own: runs on schedule, brings changes over, ends cleanly and catches up."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

from tests.support.jobs.small_jobs import Small, photos, small
from tests.support.jobs.tenants import duplicates
from tests.support.network.raw_server import free_port
from tests.support.programs import PIPE, Program
from tests.support.sample.cases import only_in_full

PATIENCE = 240.0  # seconds; the host may be busy
SCHEDULE = (
    "schedule: {{every: {every}}}\nnotify: {{command: [sh, -c, 'cat >> {events}; echo >> {events}'], on: [finished]}}\n"
)


class Watching:
    """A process of `watch`, and what its pages say."""

    def __init__(self, job: Path) -> None:
        self._url = f"http://127.0.0.1:{free_port()}"
        listen = self._url.removeprefix("http://")
        self.process = Program("dam_sync", "watch", str(job), "--listen", listen, err=PIPE)

    def page(self, path: str) -> str:
        try:
            with urlopen(self._url + path) as response:
                return str(response.read().decode())
        except HTTPError as error:
            with error:
                return error.read().decode()
        except OSError:
            return ""

    @property
    def job(self) -> dict[str, Any]:
        text = self.page("/health")
        return dict(json.loads(text)["jobs"][0]) if text else {}

    def until(self, reached: Callable[[], bool]) -> None:
        ends = time.monotonic() + PATIENCE
        while not reached():
            assert self.process.poll() is None, self.process.stderr and self.process.stderr.read()
            assert time.monotonic() < ends, self.page("/health")
            time.sleep(0.2)

    def runs(self) -> float:
        """Complete runs of this process."""
        lines = (line.split() for line in self.page("/metrics").splitlines())
        return sum(
            float(words[1]) for words in lines if words[0].startswith('dam_sync_runs_total{job="test",result="done"')
        )

    def ends(self, number: signal.Signals = signal.SIGTERM) -> str:
        """Its messages, once it ended cleanly."""
        self.process.send_signal(number)
        _, messages = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0, messages
        return messages


@contextmanager
def watching(job: Small) -> Iterator[Watching]:
    made = Watching(job.pair.job)
    try:
        yield made
    finally:
        if made.process.poll() is None:
            made.process.kill()
        made.process.communicate()


def titles(job: Small) -> set[str]:
    return {str(asset["fields"].get("title")) for asset in job.pair.target.assets}


@only_in_full
def test_changes_arrive_without_anybody_and_nothing_is_missed(tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"
    with small(tmp_path, photos(3), more=SCHEDULE.format(every="10s", events=events)) as job:
        with watching(job) as watch:
            watch.until(lambda: watch.runs() >= 1)
            assert len(job.pair.target.assets) == 3
            first = job.pair.source.assets[0]["id"]
            job.source_call("PUT", f"/api/dam/medias/{first}/metadatas/inventory", {"value": "NEW.1"})
            before = watch.runs()
            watch.until(lambda: watch.runs() >= before + 2)
            assert "NEW.1" in json.dumps(job.pair.target.assets)
            assert watch.job["ok"]
            assert watch.ends().count("is done") >= 3
        kinds = [json.loads(line)["type"] for line in events.read_text(encoding="utf-8").splitlines() if line]
        assert len(kinds) >= 3
        assert set(kinds) == {"run.finished"}
        assert job.pair.json("status", str(job.pair.job))["runs"][0]["result"] == "done"
        job.edit("every: 10s", "every: 1h")
        job.source_call("PUT", f"/api/dam/medias/{first}/metadatas/inventory", {"value": "NEW.2"})
        with watching(job) as watch:  # the interval has not passed: nothing is due
            watch.until(lambda: watch.job != {})
            assert (watch.job["running"], watch.runs()) == (False, 0)
            assert watch.job["result"] == "done"
            watch.ends(signal.SIGINT)
        job.edit("every: 1h", "every: 10s")
        time.sleep(10)
        with watching(job) as watch:  # it was missed meanwhile, more than once
            watch.until(lambda: watch.runs() >= 1)
            assert "NEW.2" in json.dumps(job.pair.target.assets)
            job.edit("every: 10s", "every: 1h")
            watch.process.send_signal(signal.SIGHUP)
            watch.until(lambda: not watch.job["running"] and watch.job["next"] > watch.job["ended"][:14] + "59")
            watch.ends()
        assert duplicates(job.pair.target.assets) == []


def test_a_run_that_is_killed_is_resumed_by_the_next_watch(tmp_path: Path) -> None:
    more = SCHEDULE.format(every="7d", events=tmp_path / "events.jsonl")
    with small(tmp_path, photos(8), more=more, target_options={"rate": 8.0, "lag": 0.0}) as job:
        with watching(job) as watch:
            watch.until(lambda: len(job.pair.target.assets) >= 2)
            watch.process.kill()
        with watching(job) as watch:
            watch.until(lambda: watch.runs() >= 1)
            watch.ends()
        assert len(job.pair.target.assets) == 8
        assert duplicates(job.pair.target.assets) == []
        assert len(job.pair.json("status", str(job.pair.job))["runs"]) == 1
