"""The help topics: one Markdown file of this package for each; `dam-sync help TOPIC` prints it.

A file begins with its title (`# Jobs`) and a paragraph of one line, which stands for it in lists of topics.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files

from dam_sync.model.diagnostic import nearest
from dam_sync.model.errors import ConfigError

ORDER = (
    "jobs",
    "commands",
    "init",
    "inspect",
    "mapping",
    "map",
    "services",
    "rate-limits",
    "scale",
    "guarantees",
    "safety-stops",
    "parking",
    "exposure",
    "adopt",
    "rehearse",
    "waves",
    "verify",
    "reports",
    "operations",
    "rollback",
    "redirects",
    "cutover",
    "watch",
    "webhooks",
    "emulate",
    "catalogue",
    "api",
    "adding-a-service",
    "design",
    "decisions",
    "changes",
    "testing",
    "glossary",
)
COMMENT = re.compile(r"^<!--.*-->\n", re.MULTILINE)
SHOWN_FILE = re.compile(r"^<!-- file: (\S+\.json) -->$", re.MULTILINE)  # of this package, shown in its place


def topics() -> Mapping[str, str]:
    """The topics in the order to read them, with a line about each; after them those of the services."""
    names = sorted(path.name.removesuffix(".md") for path in files(__name__).iterdir() if path.name.endswith(".md"))
    ordered = [*(name for name in ORDER if name in names), *(name for name in names if name not in ORDER)]
    return {name: _source(name).split("\n")[2] for name in ordered}


def text_of(topic: str) -> str:
    """The Markdown of a topic. Raises ConfigError naming the nearest topic if there is none of this name."""
    known = topics()
    if topic not in known:
        hint = nearest(topic, known) or "`dam-sync help` lists the topics"
        raise ConfigError(f"there is no help topic {topic}", hint=hint)
    text = SHOWN_FILE.sub(lambda found: f"```json\n{_read(found[1])}```", _source(topic))
    return COMMENT.sub("", text)


def _source(topic: str) -> str:
    return _read(f"{topic}.md")


def _read(name: str) -> str:
    return files(__name__).joinpath(name).read_text(encoding="utf-8")
