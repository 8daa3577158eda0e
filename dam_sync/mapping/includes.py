"""Mapping files that include others: one file with all their parts, in which every part knows where it is written."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from dam_sync.config.diagnostics import KeyPath, SourceMap
from dam_sync.config.loader import FileFormat, Syntax
from dam_sync.model.diagnostic import Diagnostic
from dam_sync.model.errors import MappingError
from dam_sync.model.values import Json

INCLUDE = "include"
MERGED = frozenset({"select", "lookups", "vocabularies", "asset", "fields", "security"})
"""Blocks of named entries: an entry of a later file replaces one of the same name."""
ADDED = frozenset({"ignore"})
"""Lists to which a later file adds."""
TABLES: Mapping[str, tuple[str, ...]] = {"lookups": ("csv",), "vocabularies": ("pins", "synonyms"), "select": ("csv",)}
"""Keys inside the entries of a block that name a file."""
MOST_FILES, DEEPEST = 50, 10


@dataclass(slots=True)
class Including:
    """Reads the files that a mapping includes, directly or not, from its folder and below it."""

    folder: Path
    format: FileFormat
    syntax: Syntax
    diagnostics: list[Diagnostic]
    files: int = 0

    def whole(self, written: SourceMap, folder: Path | None = None, chain: Sequence[Path] = ()) -> SourceMap:
        """The mapping with what it includes; faults of the others are added to `diagnostics`. folder: of this file.
        chain: the files that lead to it."""
        names = named(written.data.get(INCLUDE))
        if not names:
            return written
        merged = _Merged(written)
        for place, name in names:
            other = self._included(written, place, (folder or self.folder) / name, chain)
            if other is not None:
                merged.take(other)
        merged.take(written)
        return merged.done()

    def _included(self, written: SourceMap, place: KeyPath, path: Path, chain: Sequence[Path]) -> SourceMap | None:
        refusal = self._refused(path, chain)
        if refusal:
            self.diagnostics.append(written.diagnostic(place, *refusal))
            return None
        self.files += 1
        try:
            found = self.format.read(path, self.syntax)
        except MappingError as error:
            own = (written.diagnostic(place, error.message, "correct the path; it is relative to this file"),)
            self.diagnostics.extend(error.diagnostics or own)
            return None
        if found.data.get("version") != 1:
            self.diagnostics.append(found.diagnostic(("version",), "should be 1", "every mapping file has a version"))
        inner = self.whole(found, path.parent, (*chain, path.resolve()))
        return replace(inner, data=_moved(inner.data, found.data, path.parent, self.folder))

    def _refused(self, path: Path, chain: Sequence[Path]) -> tuple[str, str] | None:
        """Why a file is not included, and what to do."""
        try:
            whole = path.resolve()
        except ValueError as error:
            return f"the path cannot be used: {error}", "correct the path; it is relative to this file"
        if not whole.is_relative_to(self.folder.resolve()):
            return f"{path.name} is not in the folder of the mapping file or below it", "move the shared file there"
        if whole in chain:
            names = " includes ".join(one.name for one in (*chain[chain.index(whole) :], whole))
            return f"the files include each other: {names}", "remove one of the lines"
        if len(chain) >= DEEPEST or self.files >= MOST_FILES:
            return f"more than {DEEPEST} files inside each other, or {MOST_FILES} in all", "include fewer files"
        return None


def named(given: Json) -> list[tuple[KeyPath, str]]:
    """The names in `include` with their places; none if it is neither a text nor a list of texts."""
    if isinstance(given, str):
        return [((INCLUDE,), given)]
    if isinstance(given, list) and all(isinstance(name, str) for name in given):
        return [((INCLUDE, index), name) for index, name in enumerate(given)]
    return []


@dataclass(slots=True)
class _Merged:
    """What was taken so far. own: the file that includes the others, whose name the result has."""

    own: SourceMap
    data: dict[str, Json] = field(default_factory=dict)
    lines: dict[KeyPath, tuple[int, int]] = field(default_factory=dict)
    values: dict[KeyPath, tuple[int, int]] = field(default_factory=dict)
    files: dict[KeyPath, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)

    def take(self, other: SourceMap) -> None:
        """Add a file; it wins over what was taken before."""
        self.texts.update(other.texts)
        parts = _parts(other)
        for key, value in other.data.items():
            if key == INCLUDE:
                continue
            before = self.data.get(key)
            if key in MERGED and isinstance(value, dict) and isinstance(before, dict):
                self._entries(other, parts, key, before, value)
            elif key in ADDED and isinstance(value, list) and isinstance(before, list):
                self.data[key] = [*before, *value]
                for index in range(len(value)):
                    self._place(other, parts, (key, index), (key, len(before) + index))
            else:
                self._forget((key,))
                places = [at for at in parts if at[0] == key]
                for at in [(key,), *places]:
                    self._place(other, parts, at, at)
                self.data[key] = dict(value) if isinstance(value, dict) else value

    def done(self) -> SourceMap:
        """One file of everything."""
        return replace(
            self.own, data=self.data, lines=self.lines, values=self.values, files=self.files, texts=self.texts
        )

    def _entries(
        self, other: SourceMap, parts: Parts, key: str, before: dict[str, Json], value: Mapping[str, Json]
    ) -> None:
        self.lines[key,], self.files[key,] = other.position((key,)), other.file_of((key,))
        for name, entry in value.items():
            if name in before:
                self._forget((key, name))
            if entry is None and name in before:
                del before[name]
                continue
            self._place(other, parts, (key, name), (key, name))
            before[name] = entry

    def _forget(self, place: KeyPath) -> None:
        """Nothing at or below this place counts any more: a later file replaces it."""
        if self.data.get(str(place[0])) is None:
            return
        for known in (self.lines, self.values, self.files):
            for old in [old for old in known if old[: len(place)] == place]:
                del known[old]

    def _place(self, other: SourceMap, parts: Parts, there: KeyPath, here: KeyPath) -> None:
        """Where this part of another file is written."""
        self.files[here] = other.file_of(there)
        for at in parts.get(there, ()):
            place = (*here, *at[len(there) :])
            self.lines[place] = other.lines[at]
            if at in other.values:
                self.values[place] = other.values[at]


Parts: TypeAlias = Mapping[KeyPath, Sequence[KeyPath]]


def _parts(written: SourceMap) -> Parts:
    """The places of a file by their first two steps, which are a block and an entry of it."""
    parts: dict[KeyPath, list[KeyPath]] = {}
    for place in written.lines:
        parts.setdefault(place[:2], []).append(place)
    return parts


def _moved(data: Mapping[str, Json], own: Mapping[str, Json], folder: Path, top: Path) -> dict[str, Json]:
    """The data with the tables that this file itself names as paths from the top folder."""
    way = os.path.relpath(folder, top)
    if way == os.curdir:
        return dict(data)
    return {
        key: _with_tables(key, block, own.get(key), way) if key in TABLES and isinstance(block, dict) else block
        for key, block in data.items()
    }


def _with_tables(key: str, block: Mapping[str, Json], own: Json, way: str) -> dict[str, Json]:
    mine = own if isinstance(own, dict) else {}
    return {name: dict(_entry(key, entry, way)) if entry is mine.get(name) and isinstance(entry, dict) else entry
            for name, entry in block.items()}  # fmt: skip


def _entry(key: str, entry: Mapping[str, Json], way: str) -> Iterator[tuple[str, Json]]:
    for name, value in entry.items():
        moves = name in TABLES[key] and isinstance(value, str) and value
        yield name, os.path.join(way, value) if moves else value
