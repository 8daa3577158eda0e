"""The `dam-sync` command, also as `python -m dam_sync`."""

from __future__ import annotations

import sys


def main() -> None:
    """Load the commands and run the one that was typed. Exits with 5 if Ctrl-C comes while they are loaded."""
    try:
        from dam_sync.cli import main as run  # takes most of a second

        run()
    except KeyboardInterrupt:
        sys.stderr.write("error: stopped by Ctrl-C before anything was done\nhint: run the same command again\n")
        sys.exit(5)


if __name__ == "__main__":
    main()
