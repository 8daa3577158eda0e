"""Names that somebody else gives, within a bound: those of terms, containers, tags, groups and files. What
makes one a part of our model cuts it here, so that no later step copies, splits or compares millions of characters."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache

LONGEST_NAME = 2_000
"""Characters. The services keep names in columns of 255; the longest label of a thesaurus that was seen has 700."""
LONGEST_ID = 2_000
"""Characters of an id: ours, of assets in a folder, are paths."""
CUT = f"is longer than {LONGEST_NAME:,} characters, and was cut"
_TAIL = 20  # characters that a file name keeps at its end: the extension
_DIGEST = 8
_STEP = 64 * 1024
_CUT = re.compile(f"~[0-9a-f]{{{_DIGEST}}}$")


def bounded(name: str) -> str:
    """The name; one that is too long is cut and ends with a digest, so that different names stay different. The same
    name is always cut in the same way."""
    return name if len(name) <= LONGEST_NAME else _cut(name, 0)


def bounded_filename(name: str) -> str:
    """Like `bounded`, but the digest stands before the extension."""
    return name if len(name) <= LONGEST_NAME else _cut(name, _TAIL)


def bounded_path(path: tuple[str, ...]) -> tuple[str, ...]:
    """The path with each name bounded."""
    return tuple(map(bounded, path)) if any(len(name) > LONGEST_NAME for name in path) else path


def bounded_names(names: frozenset[str]) -> frozenset[str]:
    """The names, each of them bounded."""
    return frozenset(map(bounded, names)) if any(len(name) > LONGEST_NAME for name in names) else names


def is_cut(name: str) -> bool:
    """Whether this is what `bounded` or `bounded_filename` made of a longer name."""
    return len(name) == LONGEST_NAME and bool(_CUT.search(name) or _CUT.search(name[:-_TAIL]))


@lru_cache(maxsize=4)  # every asset of a folder has its name; more of them would keep long names in memory
def _cut(name: str, tail: int) -> str:
    digest = hashlib.sha256()
    for start in range(0, len(name), _STEP):
        digest.update(name[start : start + _STEP].encode("utf-8", "surrogatepass"))
    kept = name[: LONGEST_NAME - tail - _DIGEST - 1]
    return f"{kept}~{digest.hexdigest()[:_DIGEST]}{name[len(name) - tail :]}"
