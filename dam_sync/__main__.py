"""The `dam-sync` command, also as `python -m dam_sync`."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """Load the commands and run the one that was typed. Exits with 5 if Ctrl-C comes while they are loaded."""
    if sys.argv[1:2] == ["watch"]:
        _outlive_reload()
    try:
        from dam_sync.cli import main as run  # takes most of a second

        run()
    except KeyboardInterrupt:
        sys.stderr.write("error: stopped by Ctrl-C before anything was done\nhint: run the same command again\n")
        sys.exit(5)


def _outlive_reload() -> None:
    """A SIGHUP that asks `watch` to read its files again comes too early to matter, and must not end it: systemd takes
    that for a clean end, and does not restart it. One that is ignored (`nohup`) stays ignored."""
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
        signal.signal(signal.SIGHUP, lambda *_: None)


if __name__ == "__main__":
    main()
