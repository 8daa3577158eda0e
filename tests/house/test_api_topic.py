"""The help topic `api` names what exists, and its example of a service works."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import dam_sync
from dam_sync.help import text_of

TEXT = text_of("api")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


def test_every_name_exists() -> None:
    assert set(re.findall(r"dam_sync\.([A-Za-z]\w*)", TEXT)) <= set(dam_sync.__all__)
    methods = re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE) + re.findall(r"\bjob\.(\w+)", TEXT)
    assert [name for name in methods if not hasattr(dam_sync.Job, name)] == []
    assert [name for name in re.findall(r"service\.(\w+)", TEXT) if not hasattr(dam_sync.ConnectedService, name)] == []
    options = set(re.findall(r"RunOptions\((\w+)=", TEXT))
    assert options <= {field.name for field in fields(dam_sync.RunOptions)}
    assert hasattr(dam_sync.RunOptions, "stop")


def test_the_example_of_a_service_works(tmp_path: Path) -> None:
    asset = {"record": "asset", "id": "7", "filename": "sea.jpg", "status": "published", "fields": {}}
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "sea.jpg").write_bytes(b"sea")
    asset["versions"] = [{"name": "sea.jpg", "file": "sea.jpg"}]
    (tmp_path / "catalogue.jsonl").write_text(json.dumps(asset) + "\n", encoding="utf-8")
    names: dict[str, Any] = {}
    exec(BLOCKS[1], names)
    assert asyncio.run(names["titles"](str(tmp_path))) == ["sea.jpg"]


def test_the_example_of_a_job_compiles() -> None:
    compile(BLOCKS[0], "api.md", "exec")
