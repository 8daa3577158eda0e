"""Writes options into a job file; everything else in it stays as a person wrote it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from io import StringIO
from pathlib import Path

from ruamel.yaml import YAML

from dam_sync.api.atomic_io import atomic_write
from dam_sync.api.job_file import job_of
from dam_sync.model.connector import Connector
from dam_sync.model.values import Json

WIDEST = 4096  # characters of a line that is not broken


def set_option(
    path: Path, role: str, name: str, value: Json, connectors: Mapping[str, Connector] | None = None
) -> None:
    """Set an option of one side; a mapping is added to the mapping that is there. Raises ConfigError, and leaves the
    file, if it cannot be read or would not load afterwards."""
    yaml = YAML(typ="rt")
    yaml.preserve_quotes, yaml.width = True, WIDEST
    before = path.read_text(encoding="utf-8")
    data = yaml.load(_without_template(before, role))
    options = data[role].setdefault("options", {})
    known = options.get(name)
    options[name] = {**_by_key(known), **value} if isinstance(value, dict) else value
    text = StringIO()
    yaml.dump(data, text)
    _write(path, text.getvalue())
    try:
        job_of(path, connectors)
    except BaseException:
        _write(path, before)
        raise


def _without_template(text: str, role: str) -> str:
    """A job file without the comment that stands for the options of one side, which `init` writes."""
    block = re.search(rf"^{role}:.*\n(?:[ #].*\n|\n)*", text, re.MULTILINE)
    if block is None:
        return text
    return text[: block.start()] + re.sub(r"(?m)^ +# options: \{\}.*\n", "", block[0]) + text[block.end() :]


def _by_key(known: Json) -> dict[str, Json]:
    """A value that is one for all keys, or has one for each."""
    return dict(known) if isinstance(known, dict) else {} if known is None else {"": known}


def _write(path: Path, text: str) -> None:
    with atomic_write(path, "the job file") as out:
        out.write(text)
