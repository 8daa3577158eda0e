"""Where a command prints: results to stdout, everything else to stderr."""

from __future__ import annotations

import codecs
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console

from dam_sync.model.errors import NO_ROOM, ConfigError, DamSyncError, SafetyStop
from dam_sync.model.safe_text import visible, visible_json, visible_lines
from dam_sync.report.progress import ProgressLine, Snapshot
from dam_sync.report.streams import let_go_of
from dam_sync.report.terminal import print_report, print_table

PIPE_WIDTH = 400  # lines written to a pipe are not wrapped


class Piped(Console):
    """A console whose reader may go away (`| head`): the rest is dropped without an error. plain: stdout is not a
    terminal, so tables are plain lines. No `:name:` becomes an emoji: keys of fields look like that."""

    def __init__(self) -> None:
        self.plain = not sys.stdout.isatty()
        width = PIPE_WIDTH if self.plain else None
        super().__init__(highlight=False, emoji=False, width=width, soft_wrap=self.plain)

    def on_broken_pipe(self) -> None:
        let_go_of_stdout()

    def print(self, *objects: Any, **how: Any) -> None:
        """See `Console`. Raises StdoutFull."""
        with writing_stdout():
            super().print(*objects, **how)


class StdoutFull(OSError):
    """Standard output cannot be written, for example to a full disk: no bug, and no error of the command that
    printed."""


@contextmanager
def writing_stdout() -> Iterator[None]:
    """Raise StdoutFull where it cannot be written, and discard all further output if the reader is gone."""
    try:
        yield
    except BrokenPipeError:
        let_go_of_stdout()
    except StdoutFull:
        raise
    except OSError as problem:
        raise StdoutFull(problem.errno, problem.strerror) from problem


def shows_everything(stream: TextIO) -> bool:
    """Whether every character can be written to it."""
    with suppress(LookupError):
        return codecs.lookup(stream.encoding or "utf-8").name.startswith("utf")
    return True


def escape_what_stdout_lacks() -> None:
    """Write characters that the encoding of stdout lacks as escapes, as stderr does, rather than fail at them."""
    if isinstance(sys.stdout, TextIOWrapper) and not shows_everything(sys.stdout):
        sys.stdout.reconfigure(errors="backslashreplace")


def let_go_of_stdout() -> None:
    """The reader has closed the pipe: discard all further output, including at the end of the process."""
    let_go_of(sys.stdout)


def unwritten(problem: OSError) -> str:
    """The message for output that cannot be written."""
    why = "no space is left" if problem.errno in NO_ROOM else problem.strerror
    return f"error: standard output cannot be written: {why}"


class Output:
    """Results and messages of one command, and the `RunOptions` that were given. yes: what a command asks is confirmed.
    log_file: where its log goes, if not to stderr. The progress line is hidden whenever something is printed."""

    def __init__(
        self,
        as_json: bool = False,
        no_progress: bool = False,
        verbose: int = 0,
        run_options: Mapping[str, Any] | None = None,
        *,
        yes: bool = False,
        log_file: Path | None = None,
    ) -> None:
        self.as_json = as_json
        self.verbose = verbose
        self.run_options = run_options or {}
        self.progress = not no_progress
        self.yes = yes
        self.log_file = log_file
        self.out = Piped()
        self.err = Console(stderr=True, highlight=False, emoji=False, soft_wrap=True)
        self.line = ProgressLine(dict, enabled=False)
        self.lost = False  # a result could not be printed
        self._keeps_on = False

    def keep_on(self) -> None:
        """From now on a result that cannot be printed ends nothing: it is reported once, and `lost` is set."""
        self._keeps_on = True

    @contextmanager
    def _results(self) -> Iterator[None]:
        """While results are printed. Raises StdoutFull unless `keep_on` was called."""
        with self.line.hidden():
            try:
                yield
                with writing_stdout():
                    sys.stdout.flush()
            except StdoutFull as problem:
                if not self._keeps_on:
                    raise
                let_go_of_stdout()
                if not self.lost:
                    self.lost = True
                    self.note(unwritten(problem), style="red")

    def show_progress(self, snapshot: Snapshot) -> ProgressLine:
        """The line that shows this snapshot, unless the operator turned it off."""
        self.line = ProgressLine(snapshot, enabled=self.progress)
        return self.line

    def report(self, report: Mapping[str, Any], everything: str = "", *, ids: bool = False) -> None:
        """Print a plan, run or verification. everything: where the rows are that its tables leave out, if the report is
        not kept; ids: also those of assets."""
        if self.as_json:
            self.data(report)
            return
        with self._results():
            print_report(self.out, report, everything, ids=ids)

    def table(
        self,
        title: str,
        columns: Sequence[str],
        rows: Sequence[Sequence[str]],
        shown: int | None = None,
        more: str = "",
        total: int | None = None,
    ) -> None:
        """Print one table: in full, or its first rows and where the others are. total: the number of all rows, if
        `rows` are only those that are shown."""
        with self._results():
            print_table(self.out, title, columns, rows, shown, more, total)

    def data(self, data: Any) -> None:
        """Print JSON on stdout."""
        with self._results():
            ascii_only = not shows_everything(sys.stdout)
            text = visible_json(json.dumps(data, ensure_ascii=ascii_only, indent=2, default=str))
            with writing_stdout():
                sys.stdout.write(text + "\n")
                sys.stdout.flush()

    def say(self, text: str) -> None:
        """Print a result as text."""
        with self._results():
            self.out.print(visible_lines(text), markup=False)

    def markdown(self, text: str) -> None:
        """Print a Markdown document: rendered on a terminal, page by page if it is longer, as it is in a pipe."""
        if self.out.plain:
            self.say(text.rstrip())
            return
        from rich.markdown import Markdown  # takes longer to import than all other output

        with self._results(), self._pages(len(text.splitlines())):
            self.out.print(Markdown(text))

    @contextmanager
    def _pages(self, lines: int) -> Iterator[None]:
        """Show what is printed in `$PAGER`, by default `less`, if it has more lines than the terminal."""
        if lines < self.out.height or not sys.stdin.isatty():
            yield
            return
        os.environ.setdefault("LESS", "FRX")  # colours, and no pager for one screen, as version control systems do
        with self.out.pager(styles=True):
            yield

    def error(self, error: DamSyncError) -> None:
        """Print what went wrong and what to do about it."""
        if self.as_json:
            self.data(error.as_json())
        self.error_note(error)

    def error_note(self, error: DamSyncError) -> None:
        """Print an error without adding to stdout, which holds only the report."""
        own_lines = isinstance(error, ConfigError | SafetyStop)  # one reason, diagnostic or hint per line
        self.note(f"error: {error}" if own_lines else f"error: {visible(str(error))}", style="red")
        if error.hint:
            self.note(f"hint: {error.hint}" if own_lines else f"hint: {visible(error.hint)}")

    def written(self, *files: Path | None) -> None:
        """Say which of the files that were named are there now; not with JSON, which programs read."""
        for file in files:
            if file is not None and not self.as_json and file.exists():
                self.note(f"written: {file}")

    def next(self, *commands: str) -> None:
        """Suggest the next commands; not with JSON, which programs read."""
        if not self.as_json:
            for command in commands:
                self.note(f"next: dam-sync {command}")

    def note(self, text: str, style: str = "") -> None:
        """Print a message on stderr, with control characters escaped."""
        with self.line.hidden():
            self.err.print(visible_lines(text), markup=False, style=style or None)
