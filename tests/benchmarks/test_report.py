"""The HTML report of a large plan: its bytes, and how long a browser takes to open it."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from dam_sync.report.html import render_html
from tests.support.reporting.browser import CHROMIUM, PATIENCE, browser
from tests.support.reporting.large_report import large_report

pytest.importorskip("playwright.async_api", reason="playwright is not installed: the report is not opened")
pytestmark = [
    pytest.mark.bench,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed: the report is not opened"),
]
SECONDS = 2.0
OPENED = "performance.getEntriesByType('navigation')[0].loadEventEnd / 1000"


def test_a_report_of_a_hundred_thousand_assets_opens_at_once(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(render_html(large_report(100_000)), encoding="utf-8")

    async def opened() -> float:
        async with browser() as process:
            page = await process.new_page()
            page.set_default_timeout(PATIENCE)
            await page.goto(path.as_uri())
            return float(await page.evaluate(OPENED))

    taken = min(asyncio.run(opened()) for _ in range(3))
    sys.stdout.write(f"a report of 100,000 assets: {path.stat().st_size:,} bytes, opens in {taken:.2f} s\n")
    assert taken < SECONDS
