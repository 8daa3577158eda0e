"""The systemd unit that keeps `watch` running."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from dam_sync.api.system_user import user_name
from dam_sync.model.errors import ConfigError

STOP_SECONDS = 300  # for writes in progress
BREAKING = re.compile(r"[\0\r\n]")  # each ends a line of a unit
UNIT = """\
[Unit]
Description=dam-sync: keeps {names} in sync
Wants=network-online.target
After=network-online.target

[Service]
Type=exec
User={user}
WorkingDirectory={folder}
ExecStart={command}
ExecReload=/bin/kill -HUP $MAINPID
KillSignal=SIGTERM
KillMode=mixed
TimeoutStopSec={stop}
Restart=on-failure
RestartSec=30
# secrets that job files take from the environment, one NAME=value per line:
EnvironmentFile=-/etc/dam-sync/environment
UMask=0077
NoNewPrivileges=yes
PrivateTmp=yes
ProtectSystem=full

[Install]
WantedBy=multi-user.target
"""


def unit_of(jobs: Sequence[Path], names: Sequence[str], options: Sequence[str] = ()) -> str:
    """The unit for these job files and options of `watch`, run by the current user from the current folder. Raises
    ConfigError for a path that a unit cannot contain, and for a user without a name."""
    words = [sys.executable, "-m", "dam_sync", "watch", *(str(job.absolute()) for job in jobs)]
    words += [*options, "--no-progress", "--log-format", "json"]
    folder = str(Path.cwd())
    if any(BREAKING.search(word) for word in (*words, *names, folder)) or folder.endswith("\\"):
        raise ConfigError("a systemd unit cannot name a file or folder with a line break in its name")
    user = user_name()
    if not user:
        raise ConfigError(
            "this user has no name, which the unit needs", hint="run the command as the user that is to run `watch`"
        )
    return UNIT.format(
        names=", ".join(names),
        user=user,
        folder=_escaped(folder),
        command=" ".join(_quoted(word) for word in words),
        stop=STOP_SECONDS,
    )


def _escaped(word: str) -> str:
    return word.replace("%", "%%")


def _quoted(word: str) -> str:
    """A word of ExecStart: specifiers and variables escaped, quoted if need be."""
    plain = _escaped(word).replace("$", "$$")
    if shlex.quote(word) == word:
        return plain
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'
