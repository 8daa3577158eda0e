"""A browser without a screen, and what is looked at in a page."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]
SIZES = {"desktop": (1280, 900), "phone": (360, 800)}
PATIENCE = 120_000.0  # milliseconds; the host may be busy
LOOK = """() => {
  const parts = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (color) => {
    const [r, g, b] = color.slice(0, 3).map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (node) => {
    for (; node; node = node.parentElement) {
      const color = parts(getComputedStyle(node).backgroundColor);
      if (color.length < 4 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), faint = [];
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement, box = node.getBoundingClientRect();
    if (!walker.currentNode.textContent.trim() || !box.width || node.closest("template, noscript, .skip")) continue;
    const [one, two] = [light(parts(getComputedStyle(node).color)), light(ground(node))].sort((a, b) => b - a);
    if ((one + 0.05) / (two + 0.05) < 4.5) faint.push(walker.currentNode.textContent.trim());
  }
  const levels = [...document.querySelectorAll("h1,h2,h3,h4")].filter((h) => h.offsetParent).map((h) => +h.tagName[1]);
  const bars = [...document.querySelectorAll("progress, [role=meter]")].filter((b) => b.offsetParent);
  return {
    faint,
    levels,
    unnamed: bars.filter((bar) => !bar.getAttribute("aria-label")).length,
    mains: document.querySelectorAll("main").length,
    headers: document.querySelectorAll("body > header").length,
    live: document.querySelectorAll("[aria-live=polite]").length,
    beyond: document.documentElement.scrollWidth - innerWidth,
  };
}"""
"""The smallest contrast of a text with its background, what is wrong with headings and landmarks, and how far the page
reaches beyond its width."""


@asynccontextmanager
async def browser() -> AsyncIterator[Any]:
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        opened = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS, timeout=PATIENCE)
        try:
            yield opened
        finally:
            await opened.close()
