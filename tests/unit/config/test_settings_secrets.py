"""Secrets in a job file: references to the environment, files, commands and the keyring."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

import keyring
import pytest
from hypothesis import given
from hypothesis import strategies as st
from keyring.backend import KeyringBackend
from keyring.backends.fail import Keyring as FailKeyring

from dam_sync.api.reachability import _refused
from dam_sync.config.secrets import LONGEST, Reference, open_secret_file, resolve_secret, slips_in
from dam_sync.config.side import Auth, SideConfig
from dam_sync.model.errors import ConfigError, Denied


def reference(folder: Path, text: str) -> Reference:
    return Reference.at(text, "job.yaml:3: source.auth.token", folder)


def refused(folder: Path, text: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        resolve_secret(reference(folder, text))
    assert caught.value.message.startswith("job.yaml:3: source.auth.token: ")
    return caught.value


def test_plain_words_stand_for_themselves() -> None:
    assert resolve_secret("dam-sync") == "dam-sync"
    assert type(resolve_secret(reference(Path(), "dam-sync"))) is str


def test_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAM_TEST_SECRET", " s3cret ")
    assert resolve_secret("${env:DAM_TEST_SECRET}") == " s3cret "
    monkeypatch.setenv("DAM_TEST_SECRET", "")
    assert "${env:DAM_TEST_SECRET} is empty" in refused(tmp_path, "${env:DAM_TEST_SECRET}").message
    monkeypatch.delenv("DAM_TEST_SECRET")
    error = refused(tmp_path, "${env:DAM_TEST_SECRET}")
    assert "is not set" in error.message
    assert "export DAM_TEST_SECRET" in error.hint


@pytest.mark.parametrize(
    ("secret", "told"),
    [
        ("s3cret ", "ends with whitespace"),
        (" s3cret", "begins with whitespace"),
        ("s3cret\n", "ends with a line break"),
        ("s3cret\t", "ends with an invisible character"),
        ("\ufeffs3cret", "begins with an invisible character"),
        ('"s3cret"', "is in quotes"),
        ("\u201cs3cret\u201d", "is in quotes"),
        ("Bearer s3cret", "begins with the word Bearer"),
        (' "s3cret', "begins with whitespace"),
        ("s3 'cret", ""),
        ("'s3cret", ""),
        ('"', ""),
    ],
)
def test_what_is_around_a_secret_is_named_without_showing_it(
    monkeypatch: pytest.MonkeyPatch, secret: str, told: str
) -> None:
    monkeypatch.setenv("DAM_TEST_SECRET", secret)
    found = slips_in({"login": "dam-sync", "password": "${env:DAM_TEST_SECRET}", "key": "${env:DAM_TEST_NO_SUCH}"})
    assert found == ([f"${{env:DAM_TEST_SECRET}} {told}"] if told else [])
    assert slips_in({"login": "dam-sync "}) == ["auth.login ends with whitespace"]
    side = SideConfig(kind="x", auth=Auth(flow="basic", password="${env:DAM_TEST_SECRET}"))  # type: ignore[call-arg]
    refusal = Denied("the login was refused (401)")
    assert _refused(refusal, side) is None, "the status says it, not the message"
    refusal.status = 401
    refused_by_service = _refused(refusal, side)
    assert refused_by_service is not None
    assert told in refused_by_service.hint
    assert "s3cret" not in f"{refused_by_service} {refused_by_service.hint}"
    assert ("leave only the secret there" in refused_by_service.hint) == bool(told)


def test_a_secret_is_read_from_a_file_next_to_the_job(tmp_path: Path) -> None:
    (tmp_path / "token.txt").write_text("s3cret\n")
    assert resolve_secret(reference(tmp_path, "${file:token.txt}")) == "s3cret"
    assert resolve_secret(f"${{file:{tmp_path}/token.txt}}") == "s3cret"
    assert "No such file" in refused(tmp_path, "${file:none.txt}").message
    assert refused(tmp_path, r"${file:C:\token.txt}").hint.startswith("folders are separated by / here")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    assert "is not text" in refused(tmp_path, "${file:bytes}").message


def test_from_a_command(tmp_path: Path) -> None:
    script = tmp_path / "give.py"
    script.write_text("import sys\nprint('s3cret')\nsys.exit(int(sys.argv[1]))\n")
    assert resolve_secret(f"${{command:{sys.executable} '{script}' 0}}") == "s3cret"
    error = refused(tmp_path, f"${{command:{sys.executable} {script} 3}}")
    assert "ended with exit code 3" in error.message
    assert "s3cret" not in str(error) + error.hint
    assert "No such file" in refused(tmp_path, "${command:/no/such/program}").message
    assert "quotes" in refused(tmp_path, "${command:say 'x}").message


def test_a_command_is_found_from_the_folder_of_the_job_file(tmp_path: Path) -> None:
    (tmp_path / "give").write_text("#!/bin/sh\necho s3cret\n", encoding="utf-8")
    (tmp_path / "give").chmod(0o755)
    assert resolve_secret(reference(tmp_path, "${command:./give}")) == "s3cret"


def test_a_command_goes_through_no_shell(tmp_path: Path) -> None:
    assert resolve_secret("${command:echo a;touch x $HOME}") == "a;touch x $HOME"
    assert not (tmp_path / "x").exists()


@contextmanager
def keyring_of(backend: KeyringBackend) -> Iterator[None]:
    """It is the one of this process while the block runs."""
    before = keyring.get_keyring()
    keyring.set_keyring(backend)
    try:
        yield
    finally:
        keyring.set_keyring(before)


class MemoryKeyring(KeyringBackend):
    priority: ClassVar[float] = 1.0

    def get_password(self, service: str, username: str) -> str | None:
        return "s3cret" if (service, username) == ("dam/sync", "ann") else None

    def set_password(self, service: str, username: str, password: str) -> None:
        raise AssertionError

    def delete_password(self, service: str, username: str) -> None:
        raise AssertionError


@pytest.mark.parametrize("text", ["s3cret\nlogin: dam-sync\n", "s3cret\r\nsecond", "s3cret\u2028second"])
def test_more_than_one_line_is_refused_without_being_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    (tmp_path / "two").write_text(text, encoding="utf-8", newline="")
    monkeypatch.setenv("DAM_TEST_SECRET", text)
    for written, hint in (
        ("${file:two}", "in the file"),
        (f"${{command:cat {tmp_path}/two}}", "head -n 1"),
        ("${env:DAM_TEST_SECRET}", "in the variable"),
    ):
        error = refused(tmp_path, written)
        assert f"{written} gives more than one line" in error.message
        assert hint in error.hint
        assert "s3cret" not in f"{error.message} {error.hint}"


def test_a_key_in_pem_form_has_several_lines(tmp_path: Path) -> None:
    key = "-----BEGIN PRIVATE KEY-----\nMIIEvQ\n-----END PRIVATE KEY-----"
    (tmp_path / "key.pem").write_text(f"{key}\n", encoding="utf-8")
    assert resolve_secret(reference(tmp_path, "${file:key.pem}")) == key
    assert resolve_secret(reference(tmp_path, f"${{command:cat {tmp_path}/key.pem}}")) == key


def test_a_file_that_every_user_can_read_is_found() -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "token"
        file.write_text("s3cret\n", encoding="utf-8")
        for mode, above, found in ((0o644, 0o755, True), (0o640, 0o755, False), (0o644, 0o700, False)):
            file.chmod(mode)
            folder.chmod(above)
            assert open_secret_file("${file:token}", folder) == (file if found else None), (mode, above)
        assert open_secret_file("${file:none}", folder) is None
        assert open_secret_file("${file:/}", folder) is None
        assert open_secret_file("${env:HOME}", folder) is None


def test_a_file_without_end_is_not_read_whole(tmp_path: Path) -> None:
    """A job file that somebody else wrote may name a device."""
    (tmp_path / "huge").write_bytes(b"x" * (LONGEST + 1))
    for name in ("/dev/zero", "huge"):
        error = refused(tmp_path, f"${{file:{name}}}")
        assert "has more than" in error.message
        assert "xxx" not in error.message
    (tmp_path / "large").write_bytes(b"y" * LONGEST)
    assert len(resolve_secret(reference(tmp_path, "${file:large}"))) == LONGEST


def test_from_the_keyring(tmp_path: Path) -> None:
    with keyring_of(MemoryKeyring()):  # type: ignore[no-untyped-call]
        assert resolve_secret("${keyring:dam/sync/ann}") == "s3cret"
        assert "is not in the keyring" in refused(tmp_path, "${keyring:dam/sync/bob}").message
        assert "names no user" in refused(tmp_path, "${keyring:dam}").message


class UnlockedElsewhere(MemoryKeyring):
    """Raises what the library behind a backend raises."""

    def get_password(self, service: str, username: str) -> str | None:
        raise RuntimeError("org.freedesktop.DBus: s3cret")


@pytest.mark.parametrize(
    ("backend", "message", "hint"),
    [
        pytest.param(UnlockedElsewhere, "the keyring failed with RuntimeError", "keyring diagnose", id="it fails"),
        pytest.param(FailKeyring, "there is no keyring here", "another reference", id="there is none to unlock"),
    ],
)
def test_a_keyring_that_cannot_be_read_is_a_configuration_error(
    tmp_path: Path, backend: Callable[[], KeyringBackend], message: str, hint: str
) -> None:
    with keyring_of(backend()):
        error = refused(tmp_path, "${keyring:dam/sync}")
    assert message in error.message
    assert "s3cret" not in error.message
    assert hint in error.hint


def test_without_the_keyring_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    assert "pip install '.[keyring]'" in refused(tmp_path, "${keyring:a/b}").hint


def test_a_part_of_a_value_is_no_reference(tmp_path: Path) -> None:
    error = refused(tmp_path, "Bearer s3cret${env:HOME}")
    assert "s3cret" not in str(error) + error.hint


@given(st.text(alphabet=st.characters(exclude_characters="}"), max_size=30))
def test_a_value_around_a_broken_reference_is_never_shown(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve_secret(f"s3cret${{{text}")
    assert "s3cret" not in str(caught.value) + caught.value.hint


def test_a_secret_from_an_editor_that_marks_its_files_is_read(tmp_path: Path) -> None:
    (tmp_path / "token").write_bytes(b"\xef\xbb\xbfs3cret-token\r\n")
    assert resolve_secret(Reference.at("${file:token}", "auth.token", tmp_path)) == "s3cret-token"
