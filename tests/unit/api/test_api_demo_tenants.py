"""The job that a demo wrote, with the library of the same folder emulated again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import dam_sync
from dam_sync.api.emulation.emulate import Emulation, serve_emulation
from dam_sync.api.emulation.emulator_process import emulated
from dam_sync.api.emulation.sandbox import Emulated
from dam_sync.api.emulation.tenant_options import TENANT_OPTIONS, write_tenant_options
from dam_sync.emulators import emulated_kinds
from dam_sync.emulators.kit.library import write_empty_tenant, write_library
from dam_sync.model.errors import ConfigError


@pytest.mark.parametrize("kind", sorted(emulated_kinds()))
async def test_the_side_of_a_demo_fits_its_library_emulated_again(tmp_path: Path, kind: str) -> None:
    catalogue, empty = write_library(tmp_path, 3), write_empty_tenant(tmp_path)
    write_tenant_options(catalogue, emulated_kinds())
    for loaded in (["--load", str(catalogue), "--files", str(tmp_path / "files")], ["--load", str(empty)]):
        async with emulated([kind, *loaded]) as url:
            side = Emulated(kind, url).as_job()
            async with dam_sync.connect(**side) as service:
                account = await service.probe()
                schema = await service.schema()
    assert account.tenant
    assert schema.fields


def test_what_a_tenant_names_itself_is_written_for_the_kinds_of_the_demo(tmp_path: Path) -> None:
    write_tenant_options(tmp_path / "catalogue.jsonl", ("d_templates", "a_hypermedia"))
    written = json.loads((tmp_path / TENANT_OPTIONS).read_text())
    assert written == {"a_hypermedia": {}, "d_templates": {"release_field": "released", "expiry_field": "expires"}}


@pytest.mark.parametrize("text", ["[]", "{", '{"d_templates": 7}', "\x00"])
def test_damaged_names_are_refused_with_their_file(tmp_path: Path, text: str) -> None:
    (tmp_path / TENANT_OPTIONS).write_text(text)
    never: Callable[[object], None] = pytest.fail
    with pytest.raises(ConfigError, match=TENANT_OPTIONS):
        serve_emulation(Emulation("d_templates", load=tmp_path / "catalogue.jsonl"), never)
