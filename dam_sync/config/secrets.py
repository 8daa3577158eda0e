"""Secrets in a job file: references to an environment variable, a file, a command or the keyring, never values."""

from __future__ import annotations

import os
import re
import shlex
import stat
import subprocess
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from dam_sync.model.errors import ConfigError
from dam_sync.model.extras import install_hint
from dam_sync.model.wording import path_hint

COMMAND_SECONDS = 30
SECRET = re.compile(r"(^|_)(password|passphrase|token|key|secret)$")
SOURCES = ("env", "file", "command", "keyring")
REFERENCE = re.compile(rf"\$\{{({'|'.join(SOURCES)}):([^}}]+)\}}")
OPENING = "${"
PROGRAM = "name a program that this user may run, by its name or by a path from the folder of the job file"
ELSEWHERE = (
    "see what `keyring diagnose` says about the keyring of this user, or use another reference, such as ${file:PATH}"
)
LONGEST = 64 * 1024  # bytes of a file with a secret
PEM = "-----BEGIN "  # a key of several lines
ONE_LINE = {
    "env": "leave only the secret in the variable",
    "file": "leave only the secret in the file",
    "command": "let the command print only the secret, for example through `head -n 1`",
    "keyring": "leave only the secret in the entry",
}
QUOTES = ('""', "''", "``", "\u201c\u201d", "\u2018\u2019", "\u201e\u201c", "\u00ab\u00bb")
SCHEMES = ("bearer", "basic", "token")  # of the header in which a secret is sent
FORMS = "${env:NAME}, ${file:PATH}, ${command:ARGS} or ${keyring:service/user}"


class Reference(str):
    """A value of `auth` as written: a plain word, or a reference to a secret. It knows its place in the file."""

    place: str = ""
    folder: Path = Path()

    @classmethod
    def at(cls, text: str, place: str, folder: Path) -> Reference:
        """Text at the place `file:line:column: key`; relative paths in it are resolved against `folder`."""
        made = cls(text)
        made.place, made.folder = place, folder
        return made


def is_secret(key: str) -> bool:
    """Whether a parameter of `auth` is a secret."""
    return SECRET.search(key) is not None


def may_wait(text: str) -> bool:
    """Whether resolving it runs a command or opens a keyring, which may block for seconds."""
    match = REFERENCE.fullmatch(text)
    return match is not None and match[1] in ("command", "keyring")


def resolve_secret(text: str) -> str:
    """The secret behind a reference; any other text unchanged. Raises ConfigError naming the reference."""
    match = REFERENCE.fullmatch(text)
    if match is None:
        if OPENING in text:
            raise _unresolved(
                text, "is not a reference", "write the whole value as a reference: ${env:NAME} or ${file:PATH}"
            )
        return str(text)
    secret = RESOLVERS[match[1]](text, match[2].strip())
    if not secret:
        raise _unresolved(text, "is empty", "store the secret there")
    if len(secret.splitlines()) > 1 and not secret.startswith(PEM):
        raise _unresolved(text, "gives more than one line", ONE_LINE[match[1]])
    return secret


def slips_in(parameters: Mapping[str, str]) -> list[str]:
    """What is around the values of these parameters by mistake, without showing any. What cannot be resolved has
    none."""
    found = []
    for key, text in parameters.items():
        is_reference = REFERENCE.fullmatch(text) is not None
        with suppress(ConfigError):
            slip = slip_around(resolve_secret(text))
            found += [f"{text if is_reference else f'auth.{key}'} {slip}"] if slip else []
    return found


def slip_around(secret: str) -> str:
    """What is around a secret that seldom belongs to it, in words that do not show it; empty if there is nothing."""
    ends = [f"begins with {_named(secret[:1])}"] if _named(secret[:1]) else []
    ends += [f"ends with {_named(secret[-1:])}"] if _named(secret[-1:]) else []
    if len(secret) > 1 and secret[0] + secret[-1] in QUOTES:
        ends.append("is in quotes")
    scheme = secret.partition(" ")[0]
    return " and ".join([*ends, *([f"begins with the word {scheme}"] if scheme.casefold() in SCHEMES else [])])


def _named(character: str) -> str:
    if character in ("\r", "\n"):
        return "a line break"
    if unicodedata.category(character or "x") in ("Cc", "Cf"):
        return "an invisible character"
    return "whitespace" if character.isspace() else ""


def open_secret_file(text: str, folder: Path) -> Path | None:
    """The file of a reference if every user of this computer can read it; None for any other text. folder: of the job
    file."""
    match = REFERENCE.fullmatch(text)
    if match is None or match[1] != "file":
        return None
    try:
        path = (folder / Path(match[2].strip()).expanduser()).resolve()
        mode = path.stat().st_mode
        readable = stat.S_ISREG(mode) and bool(mode & stat.S_IROTH)
        return path if readable and all(each.stat().st_mode & stat.S_IXOTH for each in path.parents) else None
    except (OSError, RuntimeError):
        return None


def _unresolved(text: str, message: str, hint: str = "") -> ConfigError:
    """An error that names the reference, never the value."""
    place = f"{text.place}: " if isinstance(text, Reference) and text.place else ""
    named = str(text) if REFERENCE.fullmatch(text) else "the value"
    return ConfigError(f"{place}{named} {message}", hint=hint)


def _from_environment(text: str, name: str) -> str:
    secret = os.environ.get(name)
    if secret is None:
        raise _unresolved(text, "is not set", f"export {name}=… before the command")
    return secret


def _from_file(text: str, name: str) -> str:
    folder = text.folder if isinstance(text, Reference) else Path()
    try:
        with (folder / Path(name).expanduser()).open("rb") as file:
            found = file.read(LONGEST + 1)
        if len(found) > LONGEST:
            raise _unresolved(text, f"has more than {LONGEST:,} bytes", ONE_LINE["file"])
        return found.decode("utf-8-sig").strip("\r\n")
    except UnicodeDecodeError:
        raise _unresolved(text, "is not text") from None
    except (OSError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "unknown home"
        raise _unresolved(
            text, f"cannot be read: {reason}", path_hint(name, "correct the path or its permissions")
        ) from None


def located(words: Sequence[str], folder: Path) -> list[str]:
    """The words of a command; a program that is named by a relative path is the one below `folder`."""
    program, *rest = words or ("",)
    return [str(folder / program) if os.sep in program else program, *rest]


def _from_command(text: str, name: str) -> str:
    folder = text.folder if isinstance(text, Reference) else Path()
    try:
        ran = subprocess.run(
            located(shlex.split(name), folder), capture_output=True, timeout=COMMAND_SECONDS, check=False
        )
        if ran.returncode:
            raise _unresolved(text, f"ended with exit code {ran.returncode}", "run the command yourself to see why")
        return ran.stdout.decode("utf-8").strip("\r\n")
    except subprocess.TimeoutExpired:
        raise _unresolved(text, f"did not end within {COMMAND_SECONDS} s", "run the command by hand") from None
    except UnicodeDecodeError:
        raise _unresolved(text, "does not print text") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "its quotes do not match"
        raise _unresolved(text, f"cannot be run: {reason}", "correct the command") from None


def _from_keyring(text: str, name: str) -> str:
    try:
        import keyring
        from keyring.errors import KeyringError, NoKeyringError
    except ImportError:
        raise _unresolved(text, "needs the keyring", install_hint("keyring")) from None
    service, _, user = name.rpartition("/")
    if not service or not user:
        raise _unresolved(text, "names no user", "write ${keyring:service/user}")
    try:
        secret = keyring.get_password(service, user)
    except NoKeyringError:
        raise _unresolved(text, "cannot be read: there is no keyring here", ELSEWHERE) from None
    except KeyringError as error:
        raise _unresolved(text, f"cannot be read: {type(error).__name__}", "unlock the keyring") from None
    except Exception as error:  # noqa: BLE001 -- backends raise errors of their own; what they say may be a secret
        raise _unresolved(text, f"cannot be read: the keyring failed with {type(error).__name__}", ELSEWHERE) from None
    if secret is None:
        raise _unresolved(text, "is not in the keyring", f"keyring set {service} {user}")
    return secret


RESOLVERS: Mapping[str, Callable[[str, str], str]] = {
    "env": _from_environment,
    "file": _from_file,
    "command": _from_command,
    "keyring": _from_keyring,
}
