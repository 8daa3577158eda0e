"""The HTML report in a browser without a screen: at two widths, light, dark and printed, alone, and readable."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from dam_sync.report.html import render_html
from tests.support.reporting.browser import CHROMIUM, LOOK, PATIENCE, SIZES, browser
from tests.support.reporting.large_report import large_report

pytest.importorskip("playwright.async_api", reason="playwright is not installed: the report is not tried")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium is installed: the report is not tried in a browser"
)


async def looked_at(path: Path, size: str, scheme: str) -> tuple[dict[str, Any], list[str], bytes]:
    """What the page shows, what it asked for besides itself or complained of, and its print."""
    width, height = SIZES[size]
    async with browser() as opened:
        context = await opened.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        page, complaints = await context.new_page(), []
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("request", lambda request: complaints.append(request.url) if request.url != path.as_uri() else 0)
        await page.goto(path.as_uri())
        seen = await page.evaluate(LOOK)
        return seen, complaints, await page.pdf(prefer_css_page_size=True)


@pytest.mark.parametrize(("size", "scheme"), [("desktop", "light"), ("phone", "dark")])
def test_a_report_is_readable_alone(tmp_path: Path, size: str, scheme: str) -> None:
    path = tmp_path / "report.html"
    path.write_text(render_html(large_report(100)), encoding="utf-8")
    seen, complaints, printed = asyncio.run(looked_at(path, size, scheme))
    assert complaints == []
    assert seen["faint"] == []
    assert seen["beyond"] <= 0
    assert (seen["mains"], seen["headers"]) == (1, 1)
    assert seen["levels"][0] == 1
    assert all(after - before <= 1 for before, after in zip(seen["levels"], seen["levels"][1:], strict=False))
    assert printed.startswith(b"%PDF")
