"""The `dam-sync` command, also as `python -m dam_sync`."""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    """Load the commands and run the one that was typed. Exits with 5 if Ctrl-C comes while they are loaded."""
    if sys.getfilesystemencoding() != "utf-8" and not sys.flags.utf8_mode:
        _begin_in_utf_8()
    if sys.argv[1:2] == ["watch"]:
        _outlive_reload()
    try:
        from dam_sync.cli import main as run  # takes most of a second

        run()
    except KeyboardInterrupt:
        sys.stderr.write("error: stopped by Ctrl-C before anything was done\nhint: run the same command again\n")
        sys.exit(5)


def _begin_in_utf_8() -> None:
    """Begin again with names of files in UTF-8, as they are on disk: in an ASCII or Latin-1 locale Python would take
    other names for them, or fail. What is printed stays in the encoding of the locale, with escapes."""
    encoding = sys.stdout.encoding if sys.stdout is not None else "ascii"
    environment = {"PYTHONIOENCODING": f"{encoding}:backslashreplace", **os.environ, "PYTHONUTF8": "1"}
    os.execve(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]], environment)


def _outlive_reload() -> None:
    """A SIGHUP that asks `watch` to read its files again comes too early to matter, and must not end it: systemd takes
    that for a clean end, and does not restart it. One that is ignored (`nohup`) stays ignored."""
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
        signal.signal(signal.SIGHUP, lambda *_: None)


if __name__ == "__main__":
    main()
