"""Options of a folder in the job file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from dam_sync.model import options
from dam_sync.model.errors import ConfigError
from dam_sync.model.options import Option
from dam_sync.model.service import Context

OPTIONS: Final[Mapping[str, Option]] = {
    "path": options.text("the folder, relative to the folder of the job file; instead of `base_url: file:///…`"),
    "bag": options.switch(
        "on (default: after a run that wrote, the folder is a BagIt bag with the SHA-256 of every file) or off"
    ),
}


@dataclass(frozen=True, slots=True)
class FolderOptions:
    """The options, checked."""

    root: Path
    bag: bool

    @classmethod
    def of(cls, context: Context) -> FolderOptions:
        """Raises ConfigError where the job names no folder, or two."""
        path = str(context.options.get("path") or "")
        if bool(path) == bool(context.base_url):
            wrong = "is named twice" if path else "is not named"
            raise ConfigError(
                f"the folder {wrong}", hint="write either `options: {path: FOLDER}` or `base_url: file:///FOLDER`"
            )
        root = context.folder / Path(path).expanduser() if path else Path(unquote(urlsplit(context.base_url).path))
        return cls(root.absolute(), context.options.get("bag", "on") in ("on", True))
