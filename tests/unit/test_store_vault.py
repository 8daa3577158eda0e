"""The vault: durable before it returns, for its owner alone, never half a file."""

from __future__ import annotations

import asyncio
import os
import stat
from pathlib import Path

import pytest

from dam_sync.model.errors import ConfigError
from dam_sync.store.vault import FileVault


async def test_a_secret_comes_back_in_the_next_process(tmp_path: Path) -> None:
    path = tmp_path / "new" / "job.vault"
    assert await FileVault(path).load("e") is None
    await FileVault(path).save("e", "wrt_demo_1")
    await FileVault(path).save("e", "wrt_demo_2")
    await FileVault(path).save("b", "other")
    vault = FileVault(path)
    assert (await vault.load("e"), await vault.load("b"), await vault.load("x")) == ("wrt_demo_2", "other", None)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert "wrt_demo" not in repr(vault)


async def test_saves_at_once_lose_nothing(tmp_path: Path) -> None:
    vaults = [FileVault(tmp_path / "job.vault") for _ in range(8)]
    await asyncio.gather(*(vault.save(f"k{number}", str(number)) for number, vault in enumerate(vaults)))
    assert [await vaults[0].load(f"k{number}") for number in range(8)] == [str(number) for number in range(8)]


async def test_a_crash_while_saving_leaves_the_old_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vault = FileVault(tmp_path / "job.vault")
    await vault.save("e", "old")

    def no_power(*_: object) -> None:
        raise KeyError("no power")

    monkeypatch.setattr(os, "replace", no_power)
    with pytest.raises(KeyError):
        await vault.save("e", "new")
    monkeypatch.undo()
    assert await vault.load("e") == "old"
    await vault.save("e", "new")
    assert await vault.load("e") == "new"


async def test_a_file_others_may_read_is_refused(tmp_path: Path) -> None:
    vault = FileVault(tmp_path / "job.vault")
    await vault.save("e", "wrt_demo_1")
    vault.path.chmod(0o644)
    with pytest.raises(ConfigError, match="others may have read") as told:
        await vault.load("e")
    assert "wrt_demo" not in str(told.value)
    assert "chmod 600" in told.value.hint


@pytest.mark.parametrize("text", ["", "{", "[]", '{"e": 1}', '{"e": "wrt_demo_1"'])
async def test_a_damaged_file_is_told_without_its_content(tmp_path: Path, text: str) -> None:
    vault = FileVault(tmp_path / "job.vault")
    vault.path.write_text(text)
    vault.path.chmod(0o600)
    with pytest.raises(ConfigError, match="damaged") as told:
        await vault.load("e")
    assert "wrt_demo" not in str(told.value)
