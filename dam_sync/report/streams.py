"""Streams that whoever reads them, or a full disk, may take away while a command works."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any, TextIO


class _Wrapped:
    """All of a stream but how it is written."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class MessageStream(_Wrapped):
    """For messages and logs: what cannot be written is dropped, because a command does not fail for a message."""

    def write(self, text: str) -> int:
        with suppress(OSError, ValueError):
            return self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            self._stream.flush()


class ResultStream(_Wrapped):
    """For results: a reader that has read enough (`| head`) is no error, a full disk is."""

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except BrokenPipeError:
            let_go_of(self._stream)
        return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except BrokenPipeError:
            let_go_of(self._stream)


def let_go_of(stream: TextIO) -> None:
    """Discard everything that is still written to it, including at the end of the process."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
