"""Names of files and containers at a service that forbids some characters. Pure functions."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache

from dam_sync.model.asset import Placement
from dam_sync.model.unicode_forms import CharacterTable

LONGEST_EXTENSION = 16
DEVICES = frozenset({"CON", "PRN", "AUX", "NUL"} | {f"{port}{n}" for port in ("COM", "LPT") for n in range(1, 10)})
_WIDE = 0xFEE0  # from a printable ASCII character to its full-width form
_MARK = 8  # characters of the digest after a truncated name


@dataclass(frozen=True, slots=True)
class Naming:
    """avoided: printable ASCII characters that are forbidden. longest: characters of a name, with its extension."""

    avoided: frozenset[str]
    longest: int

    def filename(self, name: str) -> str:
        """The name with `_` for forbidden characters, without whitespace or dots at the ends of its parts, not a device
        name, truncated before the extension. Different names may become equal."""
        if not self._is_plain(name):
            name = name.translate(_avoiding(self.avoided))
        stem, extension = parted(name)
        stem, extension = stem.strip(" .\t"), extension.strip(" .\t")
        stem = f"{stem}_" if stem.upper() in DEVICES or not stem else stem
        tail = f".{extension}" if extension else ""
        return stem[: max(1, self.longest - len(tail))].rstrip(" .") + tail

    def container(self, name: str) -> str:
        """The name with full-width forms of forbidden characters, so that different names stay different and readable;
        a truncated one ends with a digest."""
        wide = name
        if not self._is_plain(name):
            wide = name.translate(_widening(self.avoided))
        wide = wide.strip() or "_"
        if len(wide) <= self.longest:
            return wide
        mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_MARK]
        return f"{wide[: self.longest - _MARK - 1]}~{mark}"

    def path(self, path: tuple[str, ...]) -> tuple[str, ...]:
        """The path with each level renamed."""
        return tuple(self.container(name) for name in path)

    def place(self, place: Placement) -> Placement:
        """The placement with each level renamed."""
        return Placement(place.kind, self.path(place.path), place.id)

    def _is_plain(self, name: str) -> bool:
        """Whether every character of the name is allowed, as in nearly all names."""
        return name.isprintable() and self.avoided.isdisjoint(name)


@cache
def _avoiding(avoided: frozenset[str]) -> CharacterTable:
    return CharacterTable(lambda each: "_" if each in avoided or not each.isprintable() else each)


@cache
def _widening(avoided: frozenset[str]) -> CharacterTable:
    def widened(each: str) -> str | None:
        if each in avoided:
            return chr(ord(each) + _WIDE)
        return each if each.isprintable() else None

    return CharacterTable(widened)


def parted(name: str) -> tuple[str, str]:
    """A file name's stem and extension; no extension if the part after the last dot is too long."""
    stem, dot, extension = name.rpartition(".")
    return (stem, extension) if dot and stem and len(extension) <= LONGEST_EXTENSION else (name, "")
