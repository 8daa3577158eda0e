"""What a process of many tests does once instead of for each command: parse a file of the same text, build the command
line. Importing it makes it so."""

from __future__ import annotations

from functools import cache, lru_cache

import typer.testing

from dam_sync.config import job
from dam_sync.config.syntax import positioned
from dam_sync.mapping.document import MAPPING_SYNTAX

KEPT = lru_cache(maxsize=8)(positioned)  # nobody changes what it gives

job.positioned = KEPT
object.__setattr__(MAPPING_SYNTAX, "nodes", KEPT)
typer.testing._get_command = cache(typer.testing._get_command)
