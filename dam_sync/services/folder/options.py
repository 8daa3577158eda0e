"""Options of a folder in the job file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

from pydantic import Field, field_validator

from dam_sync.config.options import Options, Switch, WordSet
from dam_sync.model.connector import Context
from dam_sync.model.errors import ConfigError
from dam_sync.services.folder.api.code_pages import code_page_of


class FolderOptions(Options):
    """What a job says about a folder."""

    path: str = Field(
        "",
        description="the folder or archive, relative to the folder of the job file; instead of `base_url: file:///…`",
    )
    format: Literal["jsonl", "csv"] = Field(
        "jsonl",
        description="jsonl (default), or csv: assets are also written as a CSV file; a source reads them from it",
    )
    bag: Switch = Field(
        True,
        description="on (default: after a run that wrote, the folder is a BagIt bag with the SHA-256 of every file) or "
        "off",
    )
    sidecars: Literal["left_out", "assets"] = Field(
        "left_out",
        description="left_out (default), or assets: what becomes of sidecars (`.xmp`, `.aae`, `.thm`, …) beside the "
        "file that they are about, in a folder without a catalogue",
    )
    everybody: WordSet = Field(
        frozenset(),
        description="of a source: groups of its catalogue that stand for everybody who could use the library (default "
        "none)",
    )
    code_page: str = Field(
        "",
        description="of the names in an archive that do not say theirs, cp850, cp1252, cp866 or cp932 for one; "
        "default: UTF-8 where that fits, else CP437, and `check` says how many names are a guess",
    )

    @field_validator("code_page")
    @classmethod
    def _code_page(cls, text: str) -> str:
        return code_page_of(text)

    def root_of(self, context: Context) -> Path:
        """The folder. Raises ConfigError if the job names none, or two."""
        if bool(self.path) == bool(context.base_url):
            wrong = "is named twice" if self.path else "is not named"
            raise ConfigError(
                f"the folder {wrong}", hint="write either `options: {path: FOLDER}` or `base_url: file:///FOLDER`"
            )
        if self.path:
            return (context.folder / Path(self.path).expanduser()).absolute()
        return Path(unquote(urlsplit(context.base_url).path)).absolute()

    def where_it_begins(self, context: Context) -> str:
        """A hint for a folder that does not exist: a relative path may have been meant from where the command runs."""
        meant = Path(self.path).expanduser().absolute()
        if not self.path or not meant.exists():
            return "correct `path`, which begins at the folder of the job file, or `base_url`"
        right = os.path.relpath(meant, context.folder.absolute())
        return f"`path` begins at the folder of the job file, {context.folder.absolute()}: write `path: {right}`"
