"""The live page: what it sends, to whom, and what it never sends."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from yarl import URL

from dam_sync.api.history import LONGEST, cleaned, history_of
from dam_sync.http import redaction
from dam_sync.http.redaction import hide
from dam_sync.model.errors import SafetyStop, Transient
from dam_sync.model.run_options import MOVING, Progress, RunOptions
from dam_sync.store.store import SqlStore
from dam_sync.watch.live import LiveState, ShownWatchedJob, SingleRun
from dam_sync.watch.page import MOST_READERS, STATIC, LivePage, kept, page_application, page_of_watch
from dam_sync.watch.scheduler import RunResult
from dam_sync.watch.server import ListenAddress, application, serving
from dam_sync.watch.watcher import Watcher
from tests.support.reporting.live_page import PASSWORD, MadeUp, at, config_of, events_of, moving, served
from tests.support.stepped_clock import SteppedClock
from tests.unit.watch.test_watch_loop import write

SIGNED = "https://storage.example/objects/7?X-Amz-Signature=0123456789abcdef&Expires=1"


@pytest.mark.parametrize("result", sorted(set(RunResult) - {RunResult.BLOCKED}))
def test_the_page_has_words_for_every_result(result: RunResult) -> None:
    assert re.search(rf'\b{result.value}: \["', (STATIC / "page.js").read_text(encoding="utf-8"))


@pytest.fixture
async def url(tmp_path: Path) -> AsyncIterator[str]:
    async with served([MadeUp(config_of(tmp_path), moving())]) as (url, _):
        yield url


async def ask(url: str, method: str = "GET", **headers: str) -> tuple[int, Any, str]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    async with aiohttp.ClientSession() as session, session.request(method, url, headers=named) as response:
        return response.status, response.headers, await response.text()


async def first_events(url: str, number: int = 2) -> dict[str, Any]:
    async with aiohttp.ClientSession() as session, session.get(at(url, "/events")) as response:
        assert response.content_type == "text/event-stream"
        found: dict[str, Any] = {}
        lines: list[str] = []
        async for line in response.content:
            lines.append(line.decode())
            found = dict(events_of(lines))
            if len(found) == number:
                return found
        return found


# -- who gets a response -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", "/page.css", "/page.js"])
async def test_every_file_is_protected_by_its_headers(url: str, path: str) -> None:
    status, headers, text = await ask(at(url, path))
    assert (status, bool(text)) == (200, True)
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "*" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert headers["Cache-Control"] == "no-store"
    assert "Access-Control-Allow-Origin" not in headers


@pytest.mark.parametrize("host", ["museum.example", "127.0.0.1.museum.example", "localhost.museum.example", "10.0.0.1"])
@pytest.mark.parametrize("path", ["/", "/events", "/page.js"])
async def test_a_name_that_somebody_else_points_here_is_refused(url: str, path: str, host: str) -> None:
    status, headers, _ = await ask(at(url, path), Host=host)
    assert status == 403
    assert "Content-Security-Policy" in headers


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_pages_of_others_get_no_events(url: str, site: str) -> None:
    assert (await ask(at(url, "/events"), Sec_Fetch_Site=site))[0] == 403


@pytest.mark.parametrize("path", ["/", "/events"])
@pytest.mark.parametrize("query", ["", "?key=", "?key=0123456789abcdef0123456789abcdef", "?key=%ff%00", "?KEY=x"])
async def test_who_does_not_have_the_key_is_shown_nothing(url: str, path: str, query: str) -> None:
    bare = str(URL(url).origin()) + path + query
    for cookie in ("", "dam-sync=x", f"dam-sync-{URL(url).port}=x", f"dam-sync-{URL(url).port}="):
        status, headers, text = await ask(bare, Cookie=cookie)
        assert status == 401
        assert "open the whole URL" in text
        assert "Set-Cookie" not in headers
        assert "Content-Security-Policy" in headers


async def test_a_browser_keeps_the_key_in_a_cookie_of_this_page_alone(url: str) -> None:
    _, headers, text = await ask(url)
    key, cookie = URL(url).query["key"], SimpleCookie(headers["Set-Cookie"])[f"dam-sync-{URL(url).port}"]
    assert len(key) >= 32
    assert key not in text
    assert (cookie.value, cookie["samesite"], cookie["httponly"], cookie["domain"]) == (key, "Strict", True, "")
    given = f"other=1; {cookie.key}={cookie.value}"
    assert (await ask(str(URL(url).origin()), Cookie=given))[0] == 200
    async with served([]) as (other, _):
        assert URL(other).query["key"] != key
        assert (await ask(str(URL(other).origin()), Cookie=given))[0] == 401


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
async def test_it_is_read_only(url: str, method: str) -> None:
    for path in ("/", "/events"):
        assert (await ask(at(url, path), method))[0] == 405
    assert (await ask(at(url, "/events"), "HEAD"))[0] == 405
    assert (await ask(at(url, "/../page.py")))[0] == 404


def test_the_files_name_nothing_of_other_hosts_and_run_nothing_inline() -> None:
    page, style, script = ((STATIC / f"page.{kind}").read_text(encoding="utf-8") for kind in ("html", "css", "js"))
    assert re.findall(r"https?:|//\w+\.|@import|url\(", page + style) == []
    assert re.findall(r"https?:|innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|import\(", script) == []
    assert re.findall(r"<style|style=|\son\w+=|<script>", page) == []
    assert sorted(path.name for path in STATIC.iterdir()) == ["page.css", "page.html", "page.js"]


async def test_so_many_pages_and_no_more(tmp_path: Path) -> None:
    async with served([MadeUp(config_of(tmp_path), moving())]) as (url, page):
        page._readers = MOST_READERS
        assert (await ask(at(url, "/events")))[0] == 503
        page._readers = 0


# -- what is sent ------------------------------------------------------------------------------------------------------


async def test_the_events_show_the_run_and_the_history(url: str) -> None:
    found = await first_events(url)
    (job,) = found["state"]["jobs"]
    run = job["run"]
    assert (job["source"], job["target"]) == ("a_hypermedia", "b_documents")
    assert (run["phase"], run["done"], run["total"], run["at_most"]) == (MOVING, 1646, None, 52_000)
    assert run["sides"][1] == {
        "role": "target",
        "kind": "b_documents",
        "calls": 23_991,
        "rate": 0.0,
        "allowed": 4.2,
        "limit": 15.0,
        "today": 180_000,
    }
    assert found["history"]["jobs"] == [{"runs": [], "parked": []}]


async def test_the_last_event_says_how_the_run_ended(tmp_path: Path) -> None:
    options = RunOptions()
    run = SingleRun(config_of(tmp_path), options)
    page = LivePage([run], options)
    async with (
        serving(page_application(page), ListenAddress("127.0.0.1", 0)) as url,
        aiohttp.ClientSession() as session,
        kept(page),
        session.get(at(page.key.address(url), "/events")) as response,
    ):
        await response.content.readline()
        run.end(SafetyStop("the mapping changed", hint="accept it"))
        await page.end()
        lines = (await response.text()).splitlines()
    name, last = list(events_of(["event: state", *lines]))[-1]
    (job,) = last["jobs"]
    assert name == "state"
    assert (job["ended_run"], job["running"], job["run"]) == (True, False, None)
    assert job["error"] == {"message": "the mapping changed", "hint": "accept it"}


async def test_a_state_that_cannot_be_read_is_reported_and_ends_nothing(tmp_path: Path) -> None:
    (tmp_path / "museum.db").write_bytes(b"no database at all, and long enough to be looked at as one" * 20)
    async with served([MadeUp(config_of(tmp_path), moving())]) as (url, _):
        (history,) = (await first_events(url))["history"]["jobs"]
        assert history["problem"]
        assert (await first_events(url))["state"]["jobs"][0]["running"]


async def test_nobody_looks_and_nothing_is_read(tmp_path: Path) -> None:
    async with served([MadeUp(config_of(tmp_path), moving())]) as (_, page):
        await asyncio.sleep(0.6)
        assert page._messages == {}


async def test_rates_and_phases_are_those_of_the_last_seconds(tmp_path: Path) -> None:
    clock, calls, progress = SteppedClock(), [0], Progress(phase="connecting")
    progress.source_calls = lambda: calls[0]
    live = LiveState([MadeUp(config_of(tmp_path), progress)], clock)
    for step in range(60):
        if step == 20:
            progress.phase, progress.expected = MOVING, 10_000
        calls[0] += 2 if step < 40 else 6
        progress.created += 5 * (step >= 20)
        progress.listed = 4000
        live.sample()
        await clock.advance(1)
    run = live.as_json()[0]["run"]
    assert [phase["name"] for phase in run["phases"]] == ["connecting", MOVING]
    assert run["sides"][0]["rate"] == pytest.approx(6, abs=0.5)
    assert run["left"]["least"] == pytest.approx((4000 - 200) / 5, rel=0.1)
    assert run["left"]["most"] == pytest.approx((10_000 - 200) / 5, rel=0.1)
    progress.total = 4000
    assert live.as_json()[0]["run"]["left"]["most"] == pytest.approx((4000 - 200) / 5, rel=0.1)
    progress.begin("closing")
    live.sample()
    assert live.as_json()[0]["run"]["left"] is None


async def test_the_page_of_watch_shows_the_next_runs(tmp_path: Path) -> None:
    clock = SteppedClock()
    watcher = Watcher([write(tmp_path, '{cron: "0 3 * * *"}', name="museum")], RunOptions(clock=clock), print)
    job = watcher.jobs[0]
    shown = ShownWatchedJob(job, clock)
    assert [moment[11:16] for moment in shown.situation()["next_runs"]] == ["03:00"] * 3
    job.progress = Progress()
    assert [moment[8:10] for moment in shown.situation()["next_runs"]] == ["02", "03", "04"]
    job.progress = None
    now = clock.now()
    job.record = job.record.begun(now).ended_with(RunResult.BLOCKED, now, 0.5, SafetyStop("the mapping changed"))
    assert shown.situation()["next_runs"] == []


async def test_one_server_has_the_page_and_the_metrics(tmp_path: Path) -> None:
    options = RunOptions()
    watcher = Watcher([write(tmp_path, "{every: 1h}", name="museum")], options, print)
    page = page_of_watch(watcher, options)
    async with serving(application(watcher, page), ListenAddress("127.0.0.1", 0)) as url, kept(page):
        assert (await ask(f"{url}/health"))[0] == 200
        assert (await first_events(page.key.address(url)))["state"]["jobs"][0]["reason"] == "first run"


# -- what is never sent ------------------------------------------------------------------------------------------------

TEXTS = st.text(max_size=30)
secrets = st.text(st.characters(min_codepoint=33, max_codepoint=0x2FF), min_size=8, max_size=40)


@given(secrets, TEXTS, TEXTS)
@example('quote"back\\slash', "password: ", "")
@example("line\\u0041feed8", "", " ")
@example("p%20ss+w&rd=", "?token=", "&x")
def test_no_event_contains_a_secret(secret: str, before: str, after: str) -> None:
    text, known = f"{before}{secret}{after}", set(redaction._hidden)
    hide(secret)
    try:
        sent = json.dumps(cleaned({"jobs": [{"error": {"message": text, "hint": f"see {SIGNED}"}, text: [text]}]}))
    finally:
        redaction._hidden.intersection_update(known)
    everything = "\n".join(_texts(json.loads(sent)))
    assert secret not in everything
    assert secret not in sent
    assert "0123456789abcdef" not in sent
    assert "X-Amz-Signature" not in sent
    assert "\n" not in sent


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for pair in value.items() for part in pair for text in _texts(part)]
    return [text for part in value for text in _texts(part)] if isinstance(value, list) else [str(value)]


def test_long_texts_are_cut_and_control_characters_shown() -> None:
    assert len(cleaned("x" * 5000)) == LONGEST
    assert cleaned("a\x1b[31m\u202eb") == "a\\x1b[31m\\u202eb"
    assert cleaned([1, None, True, 2.5]) == [1, None, True, 2.5]


async def test_the_history_of_a_state_names_no_secret(tmp_path: Path) -> None:
    config, options = config_of(tmp_path), RunOptions()
    hide(PASSWORD)
    store = await SqlStore.open(config.state_path, options.clock)
    run = await store.begin("museum", "run")
    await store.stop(run.id, f"refused {PASSWORD} at {SIGNED}")
    await store.close()
    found = cleaned(await history_of(config, options))
    assert found["runs"][0]["result"] == "stopped"
    assert found["runs"][0]["reason"].startswith("refused ***")
    assert PASSWORD not in json.dumps(found)
    assert "Signature" not in json.dumps(found)
    job = MadeUp(config, moving(), {"error": Transient(f"no {PASSWORD}").as_json(), "result": f"{SIGNED}"})
    async with served([job]) as (url, _):
        sent = json.dumps(await first_events(url))
    assert PASSWORD not in sent
    assert "Signature" not in sent
