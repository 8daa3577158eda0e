"""The assets of a catalogue as CSV, one row for each, for people who use a spreadsheet program.

A cell that such a program would take for a formula begins with an apostrophe, and so does a part of one after a
semicolon, a tab or a line break; it is taken off again when the cell is read.
"""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from typing import BinaryIO, Final

from dam_sync.http.parsing import parsed_text
from dam_sync.model import joined_names
from dam_sync.model.asset import path_text
from dam_sync.model.csv_cells import rows_of, separator_of
from dam_sync.model.errors import ContractBroken, InvalidValue, NotFound
from dam_sync.model.joined_names import escaped, unescaped
from dam_sync.model.limits import MIB
from dam_sync.model.other_formats import HEAD, SAVE_AS, other_format
from dam_sync.model.safe_text import guarded, unguarded
from dam_sync.model.schema import Field, FieldKind
from dam_sync.model.values import Json
from dam_sync.services.folder.api.catalogue import LONGEST_LINE, SCRATCH, Catalogue, Record
from dam_sync.services.folder.api.columns import (
    DATES,
    ESCAPED,
    FILES,
    FIXED,
    LOCALE,
    MARK,
    TEXTS,
    column_of,
    delimiter_for,
    remedies,
    what_is_wrong,
)
from dam_sync.services.folder.api.disk import Disk, shortened

NUMBER = re.compile(r"-?\d+(\.\d+)?\Z")
YES, NO = "yes", "no"
FLAGS: Final = {YES: True, NO: False, "true": True, "false": False, "1": True, "0": False}
TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT.*(?:Z|[+-]\d\d:\d\d)")
WRITTEN = f"{SCRATCH}/catalogue.csv.new"
FIELD_OF: Final = {"created": "created_at"}  # the column of an asset that is a field as well
_FORM: Final = "save it as CSV in UTF-8; `dam-sync help folder` describes the columns"
_CELL: Final = "correct the cell, then `errors JOB --retry`; `dam-sync help folder` describes the columns"
Cells = Mapping[str, str]


def safe(text: str) -> str:
    """A cell that no program takes for a formula; a number stays one. `unguarded` is the inverse."""
    return text if NUMBER.match(text) else guarded(text)


def joined(texts: Iterable[str]) -> str:
    """Several texts in one cell."""
    return joined_names.joined(texts, ";")


def parted(cell: str) -> list[str]:
    """The inverse of `joined`; nothing between two separators is no text."""
    return [part for part in joined_names.parted(cell, ";") if part]


def _paired(kind: str, text: str) -> str:
    return f"{escaped(kind, ':')}:{text}"


def _pair(text: str) -> tuple[str, str]:
    found = joined_names.parted(text, ":", 2)
    if len(found) < 2:
        raise InvalidValue(f"“{shortened(text)}” has no colon", hint="`dam-sync help folder` describes the columns")
    return found[0], found[1]


def _levels(text: str) -> list[str]:
    """The names of a path, with or without a slash before the first one."""
    return [level for level in joined_names.parted(text, "/") if level]


# -- a record as cells -----------------------------------------------------------------------------------------------


def cells_of(record: Record, fields: Mapping[str, Field]) -> dict[str, str]:
    """The cells of an asset that are not empty, by column."""
    rights = record.get("rights") or {}
    lists = {
        "groups": rights.get("groups") or (),
        "restrictions": [_paired(row["kind"], row.get("detail", "")) for row in rights.get("restrictions") or ()],
        "tags": record.get("tags") or (),
        "placements": [_paired(row["kind"], path_text(row["path"])) for row in record.get("placements") or ()],
        "relations": [_paired(row["kind"], row["target"]) for row in record.get("relations") or ()],
        **{part: [str(row.get("file") or "") for row in record.get(part) or ()] for part in FILES},
    }
    cells = {name: str(record.get(name) or "") for name in TEXTS} | {
        name: str(rights.get(name) or "") for name in DATES
    }
    cells |= {name: joined(texts) for name, texts in lists.items()}
    for key, value in (record.get("fields") or {}).items():
        cells |= _field_cells(f"fields.{escaped(key, ESCAPED)}", value, fields.get(key))
    return {name: cell for name, cell in cells.items() if cell}


def _field_cells(column: str, value: Json, known: Field | None) -> dict[str, str]:
    if isinstance(value, dict) and "texts" in value and all(map(LOCALE.fullmatch, value["texts"])):
        return {f"{column}[{locale}]": text for locale, text in value["texts"].items()}
    kind = known.kind if known is not None else FieldKind.TEXT
    values = value if isinstance(value, list) else [value]
    texts = [_text(kind, each) for each in values]
    several = known is not None and known.multiple
    trimmed = column != column.rstrip()  # what is around the name of a column does not count
    if trimmed or any(text is None for text in texts) or isinstance(value, list) != several:
        return {f"{column}{{}}": json.dumps(value, ensure_ascii=False)}
    return {column: joined(map(str, texts)) if several else str(texts[0])}


def _text(kind: FieldKind, value: Json) -> str | None:
    """One value as text; None for what no text says."""
    match kind, value:
        case FieldKind.FLAG, bool():
            return YES if value else NO
        case FieldKind.NUMBER, int() | float() if not isinstance(value, bool):
            return repr(value)
        case FieldKind.DATE, {"date": text}:
            return str(text)
        case FieldKind.INSTANT, {"instant": text}:
            return str(text)
        case FieldKind.PERSON, {"person": text}:
            return str(text)
        case FieldKind.TERM, {"label": str(label)}:
            path = value.get("path") or [label]
            return path_text(path) if len(path) > 1 or label.startswith("/") else label
        case _, str() if kind not in NOT_TEXT:
            return value
    return None


NOT_TEXT = frozenset({FieldKind.FLAG, FieldKind.NUMBER, FieldKind.DATE, FieldKind.INSTANT, FieldKind.TERM})


# -- cells as a record -----------------------------------------------------------------------------------------------


def record_of(cells: Cells, before: Record, fields: Mapping[str, Field]) -> Record:
    """An asset: what its cells say; `before` keeps what they do not change. Raises InvalidValue naming the column."""
    known = cells_of(before, fields)
    made: dict[str, Json] = {"record": "asset", **before}
    rights, values = dict(before.get("rights") or {}), dict(before.get("fields") or {})
    for name in sorted({*cells, *known}):
        text = cells.get(name, "")
        if text == known.get(name, ""):
            continue
        with _named(name):
            if name.startswith("fields."):
                _set_field(values, name, text, fields)
            elif name in (*DATES, "groups", "restrictions"):
                rights[name] = READ[name](text)
            elif name in FILES:
                made[name] = _files(text, before.get(name) or ())
            else:
                made[name] = READ.get(name, str)(text)
    return {**made, "rights": rights, "fields": values}


class _Unreadable(ValueError):
    """A cell that says no value of its column; the message says what would."""


@contextmanager
def _named(column: str) -> Iterator[None]:
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError) as problem:
        why = f": {problem}" if isinstance(problem, _Unreadable) else ""
        raise InvalidValue(f"the cell of {column} cannot be read{why}", hint=_CELL) from None


def _timestamp(text: str) -> str | None:
    if text and not TIMESTAMP.fullmatch(text):
        raise _Unreadable(f"“{shortened(text)}” is not a timestamp; write it as 2025-02-06T10:30:00Z")
    return text or None


def _restriction(text: str) -> Record:
    kind, detail = _pair(text)
    return {"kind": kind, "detail": detail}


def _membership(text: str) -> Record:
    kind, path = _pair(text)
    return {"kind": kind, "path": _levels(path)}


def _relation(text: str) -> Record:
    kind, target = _pair(text)
    return {"kind": kind, "target": target}


READ: Mapping[str, Callable[[str], Json]] = {
    "groups": parted,
    "tags": parted,
    "restrictions": lambda text: [_restriction(each) for each in parted(text)],
    "placements": lambda text: [_membership(each) for each in parted(text)],
    "relations": lambda text: [_relation(each) for each in parted(text)],
    "created_at": _timestamp,
    "changed_at": _timestamp,
    "release_at": _timestamp,
    "expires_at": _timestamp,
}


def _files(text: str, before: Sequence[Record]) -> list[Record]:
    known = {row.get("file"): row for row in before}
    return [known.get(path, {"file": path, "name": path.rpartition("/")[2]}) for path in parted(text)]


def _set_field(values: dict[str, Json], column: str, text: str, fields: Mapping[str, Field]) -> None:
    found = column_of(column)
    assert found is not None  # the columns were checked
    key = unescaped(found["key"], ESCAPED)
    field = fields.get(key)
    if found["locale"]:
        before = values.get(key)
        texts = dict(before["texts"]) if isinstance(before, dict) and "texts" in before else {}
        texts.pop(found["locale"], None)
        values[key] = {"texts": texts | ({found["locale"]: text} if text else {})}
    elif not text:
        values.pop(key, None)
    elif found["json"]:
        values[key] = parsed_text(text)
    else:
        kind = field.kind if field is not None else FieldKind.TEXT
        several = field is not None and field.multiple
        values[key] = [_value(kind, each) for each in parted(text)] if several else _value(kind, text)


def _value(kind: FieldKind, text: str) -> Json:
    match kind:
        case FieldKind.FLAG:
            return _flag(text.strip())
        case FieldKind.NUMBER:
            return _number(text.strip())
        case FieldKind.DATE:
            return {"date": _date(text.strip())}
        case FieldKind.INSTANT:
            return {"instant": _timestamp(text.strip())}
        case FieldKind.PERSON:
            return {"person": text}
        case FieldKind.TERM:
            path = _levels(text) if text.startswith("/") else [text]
            return {"id": "", "label": path[-1], "path": path}
    return text


def _flag(text: str) -> bool:
    if text.casefold() not in FLAGS:
        raise _Unreadable(f"“{shortened(text)}” is neither yes nor no; write one of them")
    return FLAGS[text.casefold()]


def _number(text: str) -> float | int:
    try:
        number = float(text)
        return int(number) if number.is_integer() else number
    except (ValueError, OverflowError):
        raise _Unreadable(f"“{shortened(text)}” is not a number; write it with a decimal point, 12.5") from None


def _date(text: str) -> str:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise _Unreadable(f"“{shortened(text)}” is not a date; write it as 2025-02-06") from None


# -- the file --------------------------------------------------------------------------------------------------------


def write(disk: Disk, path: str, catalogue: Catalogue, fields: Mapping[str, Field]) -> None:
    """The assets as they are in the catalogue now. Raises DiskFull, Denied."""
    found = {column for each in catalogue.asset_ids() for column in cells_of(catalogue.asset(each), fields)}
    columns = [*FIXED, *sorted(found.difference(FIXED))]
    writer = csv.writer(_Echo())

    def lines() -> Iterator[bytes]:
        yield f"{MARK}{writer.writerow([safe(column) for column in columns])}".encode("utf-8", "replace")
        for identity in catalogue.asset_ids():
            cells = cells_of(catalogue.asset(identity), fields)
            line: str = writer.writerow([safe(cells.get(column, "")) for column in columns])
            yield line.encode("utf-8", "replace")

    disk.write(path, lines(), WRITTEN)


class _Echo:
    """A file that gives back what is written to it."""

    def write(self, text: str) -> str:
        return text


class Sheet:
    """Reads like `Catalogue`: the assets of a CSV file; all else, and what the file does not say, is of the catalogue
    next to it, if there is one. Methods block, and raise ContractBroken for what is not a sheet."""

    def __init__(
        self, disk: Disk, path: str, beside: Catalogue, field_of: Callable[[Record], Field], own: Sequence[Field]
    ) -> None:
        """own: fields that every folder has, declared or not."""
        self._disk, self._path, self._beside, self._field_of = disk, path, beside, field_of
        self._own = {each.key: each for each in own}
        self._stamp = (0, 0)
        self._columns: list[str] = []
        self._delimiter = ","
        self._at: dict[str, int] = {}

    def asset_ids(self) -> list[str]:
        """Ids of all rows, in order."""
        with self._opened():
            return sorted(self._at)

    def asset(self, identity: str) -> Record:
        """The record of one row. Raises NotFound, InvalidValue."""
        with self._opened() as file:
            if identity not in self._at:
                raise NotFound(f"there is no row {identity}", asset=identity)
            file.seek(self._at[identity])
            _, row = next(self._rows(file))
        try:
            before = self._beside.asset(identity)
        except NotFound:
            before = {"id": identity}
        return record_of(self._cells(row), before, self._fields())

    def records(self, kind: str) -> list[Record]:
        """Records of the catalogue next to it, and the fields and containers that only the sheet names."""
        known = self._beside.records(kind)
        if kind == "field":
            with self._opened():
                return [*known, *self._undeclared({*self._own, *(str(record["key"]) for record in known)})]
        if kind == "container":
            paths = {tuple(record["path"]) for record in known if record["kind"] == "folder"}
            folders = {path[:n] for path in self._folders() for n in range(1, len(path) + 1)} - paths
            known = [*known, *({"record": kind, "kind": "folder", "path": list(path)} for path in sorted(folders))]
        return known

    def names(self, key: str) -> bool:
        """Whether a column is about this field."""
        with self._opened():
            found = filter(None, map(column_of, self._columns))
            return key in {unescaped(column["key"], ESCAPED) for column in found} or FIELD_OF.get(key) in self._columns

    def close(self) -> None:
        """Nothing is held open."""

    def _folders(self) -> Iterator[tuple[str, ...]]:
        for identity in self.asset_ids():
            for place in self.asset(identity).get("placements") or ():
                if place["kind"] == "folder":
                    yield tuple(place["path"])

    def _undeclared(self, known: set[str]) -> Iterator[Record]:
        made: dict[str, Record] = {}
        for found in filter(None, map(column_of, self._columns)):
            key = unescaped(found["key"], ESCAPED)
            if key not in known:
                more = {"localized": True} if found["locale"] else {}
                made[key] = {"record": "field", "key": key, "kind": "text", **more}
        yield from made.values()

    def _fields(self) -> dict[str, Field]:
        return self._own | {str(record["key"]): self._field_of(record) for record in self._beside.records("field")}

    def _cells(self, row: Sequence[str]) -> Cells:
        return {name: unguarded(cell) for name, cell in zip(self._columns, row, strict=False) if cell}

    @contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        """The file, its rows known."""
        with os.fdopen(self._disk.open(self._path), "rb") as file:
            now = os.fstat(file.fileno())
            if (now.st_mtime_ns, now.st_size) != self._stamp:
                self._index(file)
                self._stamp = now.st_mtime_ns, now.st_size
            yield file

    def _index(self, file: BinaryIO) -> None:
        other = other_format(file.read(HEAD))
        if other is not None:
            raise ContractBroken(f"{self._path} {other.instead_of('a CSV file')}", hint=other.remedy)
        file.seek(0)
        first = file.readline(LONGEST_LINE).decode("utf-8", "replace")
        named = separator_of(first)
        self._delimiter = named or delimiter_for(first)
        if not named:
            file.seek(0)
        rows = self._rows(file)
        _, header = next(rows, (0, []))
        self._columns = [unguarded(name.removeprefix(MARK).strip()) for name in header]
        self._check(self._columns)
        place = self._columns.index("id")
        self._at.clear()
        for at, row in rows:
            identity = unguarded(row[place]) if len(row) > place else ""
            if not identity and not any(row):
                continue
            if not identity:
                raise self._broken("the row has no id", file, at)
            if identity in self._at:
                raise self._broken(f"the row has the id {shortened(identity)} of a row above", file, at)
            if len(row) > len(self._columns):
                raise self._broken("the row has more cells than the header", file, at)
            self._at[identity] = at

    def _check(self, columns: Sequence[str]) -> None:
        unknown = [name for name in columns if name not in FIXED and not column_of(name)]
        if unknown or "id" not in columns or len(set(columns)) < len(columns):
            lacking = "" if "id" in columns else "there is no column id. "
            hint = "; ".join(remedies(columns, unknown))
            raise ContractBroken(f"{self._path}: {lacking}{what_is_wrong(columns, unknown)}", hint=hint)

    def _rows(self, file: BinaryIO) -> Iterator[tuple[int, list[str]]]:
        """Rows with the byte at which each begins."""
        lines = (_bounded(line).decode("utf-8") for line in iter(lambda: file.readline(LONGEST_LINE), b""))
        reader = rows_of(lines, self._delimiter)
        while True:
            at = file.tell()
            try:
                row = next(reader, None)
            except UnicodeDecodeError:
                raise self._broken("the row is not in UTF-8", file, at, SAVE_AS) from None
            except csv.Error as problem:
                raise self._broken(str(problem), file, at) from None
            if row is None:
                return
            yield at, row

    def _broken(self, what: str, file: BinaryIO, at: int, hint: str = _FORM) -> ContractBroken:
        """at: the byte at which the row begins, of which people see the line."""
        file.seek(0)
        line, left = 1, at
        while left and (block := file.read(min(left, MIB))):
            line, left = line + block.count(b"\n"), left - len(block)
        return ContractBroken(f"{self._path}:{line}: {what}", hint=hint)


def _bounded(line: bytes) -> bytes:
    """Raises csv.Error for the beginning of a longer line, which is no line."""
    if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
        raise csv.Error(f"the line has more than {LONGEST_LINE:,} bytes")
    return line
