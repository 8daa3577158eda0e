"""Reading a file that people write: its text, its syntax, and what is reported when either is broken."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from dam_sync.config.diagnostics import SourceMap, source_map_of
from dam_sync.config.syntax import explained
from dam_sync.model.diagnostic import Diagnostic
from dam_sync.model.errors import ConfigError, TooLarge
from dam_sync.model.other_formats import HEAD, other_format
from dam_sync.model.values import Json
from dam_sync.model.wording import path_hint

_VALUES = re.compile(r"( with value |(?<=undefined alias)).*")  # parser messages quote values, which may be secrets


DEEPEST = 200  # brackets inside each other
MOST_ITEMS = 60_000  # a parser that keeps line numbers reads about 10,000 per second


def bounded_file(path: Path, largest: int) -> bytes:
    """The bytes of a regular file. Raises OSError, and TooLarge for more than `largest` bytes or if it is not a
    regular file."""
    with os.fdopen(regular_file(path), "rb") as file:
        found = file.read(largest + 1)
    if len(found) > largest:
        raise TooLarge(f"is larger than {largest:,} bytes")
    return found


def regular_file(path: Path) -> int:
    """A handle to read a regular file. Raises OSError, and TooLarge for anything else: a device may never end, a pipe
    may never begin."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode):
        os.close(handle)
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        raise TooLarge("is a device or a pipe, not a file")
    return handle


@dataclass(frozen=True, slots=True)
class Syntax:
    """A parser whose nodes have their position in `lc`, and the error that it raises.

    Such an error may say what is wrong as `problem`, and where as `line` and `column` of `problem_mark`, from 0.
    """

    name: str
    nodes: Callable[[str], Json]
    broken: type[Exception]


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A kind of file. name: as shown in messages. missing: hint if there is none. largest: in bytes."""

    name: str
    missing: str
    largest: int
    error: type[ConfigError]

    def read(self, path: Path, syntax: Syntax) -> SourceMap:
        """The keys and values of a file, with lines. Raises `error` with the line of a syntax error."""
        try:
            data = bounded_file(path, self.largest)
            self._refuse_other(path, data)
            return self.parse(path, data.decode("utf-8-sig"), syntax)
        except FileNotFoundError:
            raise self.error(f"there is no {self.name} {path}", hint=path_hint(str(path), self.missing)) from None
        except IsADirectoryError:
            raise self.error(f"{path} is a folder, not a {self.name}", hint=self.missing) from None
        except OSError as error:
            raise self.error(f"{path} cannot be read: {error.strerror}") from None
        except TooLarge as error:
            raise self._error(path, "file", error.message) from None
        except UnicodeDecodeError as error:
            line = error.object[: error.start].count(b"\n") + 1
            wrong = f"is not UTF-8 text: byte {error.object[error.start]:#04x}"
            raise self._error(path, "file", wrong, line, hint="save it as UTF-8") from None

    def parse(self, path: Path, text: str, syntax: Syntax) -> SourceMap:
        """Like `read`, from text instead of the file at this path."""
        try:
            if text.count("\n") + text.count(",") > MOST_ITEMS:
                raise self._error(
                    path, "file", f"has more than {MOST_ITEMS:,} lines and items; keep long tables in CSV files"
                )
            if _depth_of(text) > DEEPEST:  # the parser takes time by the square of it
                raise ValueError("nested too deeply")
            written = source_map_of(resolve_beside(path), syntax.nodes(text), text)
        except (syntax.broken, ValueError, RecursionError) as error:
            mark = getattr(error, "problem_mark", None)
            problem = str(getattr(error, "problem", None) or getattr(error, "context", None) or error)
            reported, hint = explained(_VALUES.sub("", problem.split("\n")[0]))
            line, column = (mark.line + 1, mark.column + 1) if mark else (1, 0)
            raise self._error(path, syntax.name, reported, line, column, hint) from None
        if not isinstance(written.data, dict):
            hint = "it begins with `version: 1`, then a key on each line"
            raise self._error(path, "file", f"is not a {self.name}: it has no keys", hint=hint)
        return written

    def _refuse_other(self, path: Path, data: bytes) -> None:
        other = other_format(data[:HEAD])
        if other is not None:
            raise self._error(path, "file", other.instead_of(f"a {self.name}"), hint=other.remedy)

    def _error(self, path: Path, key: str, message: str, line: int = 1, column: int = 0, hint: str = "") -> ConfigError:
        return self.error.of([Diagnostic(resolve_beside(path), line, key, message, hint, column=column)])


def _depth_of(text: str) -> int:
    """How many brackets are open at once, at most; those in texts and comments count as well."""
    steps = (1 if found[0] in "[{" else -1 for found in re.finditer(r"[][{}]", text))
    return max(accumulate(steps), default=0)


def resolve_beside(path: Path) -> str:
    """A path relative to the current directory, if it is below it."""
    try:
        relative = os.path.relpath(path)
    except ValueError:  # on another drive
        return str(path)
    return relative if len(relative) < len(str(path)) and not relative.startswith(os.pardir) else str(path)
