"""The live page in a browser without a screen: at two widths, light and dark, and readable by everybody."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from yarl import URL

from dam_sync.model.outcome import Outcome
from dam_sync.model.parking import ParkReason
from dam_sync.model.run_options import Progress
from tests.support.reporting.browser import CHROMIUM, LOOK, PATIENCE, SIZES, browser
from tests.support.reporting.live_page import MadeUp, config_of, moving, parked_state, served
from tests.support.sample.cases import only_in_full

pytest.importorskip("playwright.async_api", reason="playwright is not installed: the page is not tried")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed: the page is not tried in a browser")
SHOTS = os.environ.get("DAM_SYNC_SCREENSHOTS")  # a folder for pictures of the page


async def tab(opened: Any, url: str, size: str, scheme: str) -> tuple[Any, list[str]]:
    """The page, once it shows what it received, and its complaints."""
    width, height = SIZES[size]
    context = await opened.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
    )
    page, complaints = await context.new_page(), []
    page.set_default_timeout(PATIENCE)
    page.on("console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else 0)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: complaints.append(request.url) if not ours(request.url, url) else 0)
    await page.goto(url, wait_until="commit")
    await page.wait_for_selector("[data-list=runs] tr")
    await page.wait_for_selector("[data-list=sides] tr")
    assert page.url == f"{URL(url).origin()}/"  # the key is not left in the URL and the history
    return page, complaints


def ours(requested: str, url: str) -> bool:
    return requested.startswith((f"{URL(url).origin()}/", "data:"))


async def jobs(folder: Path) -> list[MadeUp]:
    outcome = Outcome(
        "parked",
        cause=ParkReason.INVALID_VALUE,
        message="the value of copyright_owner is longer than the 255 characters of the target",
        hint="shorten it with `| truncate 255` in the mapping",
    )
    config = config_of(folder, schedule={"every": "15m"}, limits={"calls_per_day": 200_000})
    await parked_state(config, outcome, 3)
    waiting = {
        "result": "blocked",
        "error": {"message": "the mapping changed since the last run", "hint": "run the job with --accept-changes"},
        "next_runs": [],
    }
    planned = {"next_runs": ["2031-03-01T03:00:00+00:00", "2031-03-02T03:00:00+00:00"], "reason": "on schedule"}
    second = config_of(folder, name="archive", schedule={"every": "15m"})
    return [MadeUp(config, moving(), planned), MadeUp(second, None, waiting)]


@asynccontextmanager
async def under_way(progress: Progress) -> AsyncIterator[None]:
    """Assets are moved meanwhile."""

    async def move() -> None:
        while True:
            progress.created += 3
            progress.bytes += 700_000
            await asyncio.sleep(0.1)

    progress.source_calls, progress.target_calls = lambda: progress.created // 3, lambda: progress.created
    moved = asyncio.ensure_future(move())
    yield
    moved.cancel()


async def test_the_page_is_readable_by_everybody_at_every_size(tmp_path: Path) -> None:
    made = await jobs(tmp_path)
    async with served(made) as (url, _), under_way(made[0].progress or Progress()), browser() as opened:
        for size in SIZES:
            for scheme in ("light", "dark"):
                page, complaints = await tab(opened, url, size, scheme)
                found = await page.evaluate(LOOK)
                if SHOTS:
                    await page.screenshot(path=f"{SHOTS}/{size}-{scheme}.png", full_page=True)
                assert complaints == []
                assert found["faint"] == []
                assert found["beyond"] <= 0, (size, found)
                assert found["levels"][0] == 1
                assert all(
                    after - before <= 1 for before, after in zip(found["levels"], found["levels"][1:], strict=False)
                )
                assert (found["mains"], found["headers"], found["live"], found["unnamed"]) == (1, 1, 1, 0)
                await page.context.close()


async def test_a_word_without_end_stays_within_the_page(tmp_path: Path) -> None:
    made, word = await jobs(tmp_path), "x" * 600
    made[0].said |= {"reason": word, "error": {"message": word, "hint": word}}
    async with served(made) as (url, _), browser() as opened:
        for size in SIZES:
            page, _ = await tab(opened, url, size, "light")
            assert (await page.evaluate(LOOK))["beyond"] <= 0, size
            await page.context.close()


@only_in_full
async def test_the_page_follows_the_run_and_says_when_it_is_over(tmp_path: Path) -> None:
    made = await jobs(tmp_path)
    async with browser() as opened:
        async with served(made) as (url, _):
            page, complaints = await tab(opened, url, "desktop", "light")
            text = await page.inner_text("main")
            for words in (
                "1,646 of at most 52,000 assets",
                "slowed down to 4.2",
                "180,000 of 200,000 today",
                "12",
                "48.3 GB",
                "InvalidValue",
                "truncate 255",
                "on schedule",
                "Waits for you",
                "--accept-changes",
                "stopped by a test",
            ):
                assert words in text, words
            assert await page.inner_text("#connection") == "Live"
            await page.keyboard.press("Tab")
            assert await page.evaluate("document.activeElement.textContent") == "Skip to the jobs"
            await page.keyboard.press("Enter")
            assert await page.evaluate("document.activeElement.id") == "jobs"
            progress = made[0].progress
            assert progress is not None
            progress.created, progress.total, progress.phase = 4988, 5200, "closing"
            await page.wait_for_selector("text=5,400 of 5,400 assets")
            await page.wait_for_selector("#news:text-is('museum: closing')", state="attached")
            assert await page.get_attribute("ol.phases li:last-child", "aria-current") == "step"
            evil = "<img src=x onerror=alert(1)><script>alert(2)</script>"
            made[1].said["error"] = {"message": evil, "hint": ""}
            await page.wait_for_selector("p:has-text('<img src=x onerror=alert(1)><script>')")
            assert complaints == []
            for each in made:
                each.progress, each.said = None, {"result": "done", "ended_run": True}
        await page.wait_for_selector("#connection:text-is('The run has ended')")
        assert await page.inner_text(".job >> nth=0 >> .chip") == "Complete"
        assert complaints == []


@only_in_full
async def test_a_lost_connection_is_said_and_found_again(tmp_path: Path) -> None:
    made = await jobs(tmp_path)
    async with browser() as opened:
        async with served(made) as (url, first):
            page, _ = await tab(opened, url, "phone", "dark")
        port = URL(url).port or 0
        await page.wait_for_selector("#connection:has-text('Connection lost')")
        async with served(made, port, first.key):
            await page.wait_for_selector("#connection:text-is('Live')")
            await page.reload(wait_until="commit")
            await page.wait_for_selector("#connection:text-is('Live')")
        await page.wait_for_selector("#connection:has-text('Connection lost')")
        async with served(made, port):
            await page.wait_for_selector("#connection:has-text('open the URL that the command printed last')")
