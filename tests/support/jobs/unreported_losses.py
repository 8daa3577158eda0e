"""What a migration did not bring over and did not report: two rows of the ground truth, of source and target."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from typing import Any

Row = Mapping[str, Any]
TAG = re.compile(r"</?[a-z]+/?>")
NOTHING = frozenset({"false", "no"})  # a flag that is down is no flag at some services
DAY = re.compile(r"(\d{4}-\d\d-\d\d)(T[\d:.]+(Z|\+00:00))?$")
RIGHTS = {"release_at": "release", "expires_at": "expiry"}
BETWEEN = "; "  # what a suggested mapping joins several values with


@dataclass(frozen=True, slots=True)
class Comparison:
    """What to compare. names: of fields; dates: fields of the target alone, by what of an asset they take; prefixes:
    before the names at source and target; twins: ids at the target by ids at the source; kinds: of relations likewise,
    where they differ."""

    names: Sequence[str]
    dates: Mapping[str, str]
    prefixes: tuple[str, str] = ("", "")
    twins: Mapping[str, str] | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)

    def lost_silently(self, source: Row, target: Row, losses: Iterable[str]) -> list[str]:
        """What the target's row has not, has otherwise or has too much, and no named loss reports."""
        told = frozenset(losses)
        found = [*self._fields(source, target, told), *self._terms(source, target, told), *self._dates(source, target)]
        found += [*_files(source, target, told), *_sets(source, target, told), *_rights(source, target, told)]
        return [*found, *_placements(source, target, told), *self._relations(source, target, told)]

    def _fields(self, source: Row, target: Row, told: frozenset[str]) -> Iterator[str]:
        for name in self.names:
            path = f"fields.{self.prefixes[0]}{name}"
            have = texts(target["fields"].get(self.prefixes[1] + name))
            want = texts(_but_for(source["fields"].get(self.prefixes[0] + name), path, told))
            if not _same(want, have) and path not in told and f"{path}[]" not in told:
                yield f"{name}: {sorted(want)} became {sorted(have)}"

    def _terms(self, source: Row, target: Row, told: frozenset[str]) -> Iterator[str]:
        """What terms have besides their label: languages, synonyms, and the way from the root."""
        for name in self.names:
            sides = [
                _many(row["fields"].get(prefix + name))
                for row, prefix in zip((source, target), self.prefixes, strict=True)
            ]
            for part, gather in TERM_PARTS.items():
                want, have = [frozenset(text for term in side for text in gather(term)) for side in sides]
                if not want <= have and not told & {f"terms.{part}", f"fields.{self.prefixes[0]}{name}[]"}:
                    yield f"{name}: {part} {sorted(want)} became {sorted(have)}"

    def _dates(self, source: Row, target: Row) -> Iterator[str]:
        for name, part in self.dates.items():
            want, kept = texts(source[part]), (target[part], target["fields"].get(self.prefixes[1] + name))
            if not any(_same(want, texts(have)) for have in kept):
                yield f"{part}: {sorted(want)} became {kept} in {name}"

    def _relations(self, source: Row, target: Row, told: frozenset[str]) -> Iterator[str]:
        have = {(each["kind"], each["target"]) for each in target["relations"]}
        for each in source["relations"]:
            twin = self.twins[each["target"]] if self.twins is not None else each["target"]
            kind = self.kinds.get(each["kind"], each["kind"])
            named = {"relations", f"relations.{each['kind']}", f"relations.{kind}"}
            if (kind, twin) not in have and not told & named:
                yield f"relations: {each['kind']} to {each['target']} is not among {sorted(have)}"


def _many(value: Any) -> list[Row]:
    values = value if isinstance(value, list) else [value]
    return [each for each in values if isinstance(each, dict) and "label" in each]


TERM_PARTS: Mapping[str, Callable[[Row], Iterable[str]]] = {
    "languages": lambda term: term.get("labels", {}).values(),
    "synonyms": lambda term: (word for words in term.get("synonyms", {}).values() for word in words),
    "paths": lambda term: [" / ".join(term["path"])] if len(term.get("path", ())) > 1 else [],
}
"""What a term has besides its label, as texts."""


def _files(source: Row, target: Row, told: frozenset[str]) -> Iterator[str]:
    for part in ("versions", "attachments"):
        want, have = [[file["digests"]["sha256"] for file in side[part]] for side in (source, target)]
        whole = want[-1:] == have[-1:] or part == "attachments"
        if want != have and not (_told((part,), told) and whole):
            yield f"{part}: {len(want)} files became {len(have)}"
        names = [[file["name"] for file in side[part]] for side in (source, target)]
        if want == have and names[0] != names[1] and not _told(("filename", f"{part}.name"), told):
            yield f"{part}: {names[0]} became {names[1]}"
    named = source["filename"] and source["versions"]  # what has no file needs no name, and some give it one
    if named and source["filename"] != target["filename"] and not _told(("filename",), told):
        yield f"filename: {source['filename']} became {target['filename']}"


def _sets(source: Row, target: Row, told: frozenset[str]) -> Iterator[str]:
    for part in ("tags", "machine_tags"):
        want, have = sorted(source[part]), sorted(target[part])
        if want != have and not _told((part,), told):
            yield f"{part}: {want} became {have}"
    for part in ("status", "substatus"):
        if source.get(part, "") != target.get(part, "") and source.get(part) and not _told((part,), told):
            yield f"{part}: {source[part]} became {target.get(part, '')}"


def _rights(source: Row, target: Row, told: frozenset[str]) -> Iterator[str]:
    for part, word in RIGHTS.items():
        want, have = source["rights"].get(part), target["rights"].get(part)
        if want and want != have and not _told((word,), told):
            yield f"{part}: {want} became {have}"
    groups = [frozenset(side["rights"].get("groups") or ()) for side in (source, target)]
    if not groups[0] <= groups[1] and not _told(("groups",), told):
        yield f"groups: {sorted(groups[0])} became {sorted(groups[1])}"


def _placements(source: Row, target: Row, told: frozenset[str]) -> Iterator[str]:
    have = {_place(row) for row in target["placements"]}
    for row in source["placements"]:
        named = "placements" in told or _told((f"placements.{row['kind']}", f"{row['kind']}s"), told)
        if _place(row) not in have and not named:
            yield f"placements: {row['kind']} {_place(row)} is not among {sorted(have)}"


def _but_for(value: Any, path: str, told: frozenset[str]) -> Any:
    """A value without the languages of which a loss was reported."""
    match value:
        case {"texts": by_locale}:
            return {"texts": {locale: text for locale, text in by_locale.items() if f"{path}.{locale}" not in told}}
    return value


def texts(value: Any) -> frozenset[str]:
    """A value as texts that mean the same at every service."""
    if isinstance(value, list):
        return frozenset(text for each in value for text in texts(each))
    if isinstance(value, dict):
        return frozenset(_texts(value))
    if value in (None, "", False):
        return frozenset()
    return frozenset({"true" if value is True else f"{value:g}" if isinstance(value, int | float) else str(value)})


def _texts(value: Row) -> Iterator[str]:
    match value:
        case {"texts": by_locale}:
            yield from filter(None, by_locale.values())
        case {"label": text} | {"date": text} | {"instant": text} | {"person": text}:
            yield text
        case {"row": cells}:
            yield _row(cells)
        case {"latitude": latitude, "longitude": longitude, **more}:
            yield ", ".join(str(part) for part in (latitude, longitude, more.get("address")) if part)
        case _:
            yield str(value)


def _row(cells: Row) -> str:
    """A row of a field set, whether its numbers are numbers or texts."""
    return ", ".join(f"{key} {'|'.join(sorted(texts(cell)))}" for key, cell in sorted(cells.items()))


def _same(want: frozenset[str], have: frozenset[str]) -> bool:
    """Equal in meaning: what a kind of field is written as differs, and a list may be one text."""
    plain = [frozenset(_plain(text) for text in side) - NOTHING for side in (want, have)]
    return plain[0] == plain[1] or any(_joined(*pair) for pair in (plain, plain[::-1]))


def _joined(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one) == 1 and len(other) > 1 and frozenset(next(iter(one)).split(BETWEEN)) == other


def _plain(text: str) -> str:
    """Without markup; a day of a timestamp; yes for true; a row as such."""
    text = BETWEEN.join(_of_json(part) for part in text.split(BETWEEN))
    text = " ".join(unescape(TAG.sub("", unescape(text))).split())
    day = DAY.match(text)
    return day[1] if day else {"true": "yes", "1": "yes"}.get(text.casefold(), text.casefold())


def _of_json(text: str) -> str:
    if not text.startswith("{"):
        return text
    try:
        data = json.loads(text)
    except ValueError:
        return text
    return next(iter(_texts(data if "row" in data or "latitude" in data else {"row": data})))


def _place(row: Row) -> str:
    return " / ".join(row["path"])


def _told(paths: Iterable[str], told: frozenset[str]) -> bool:
    return any(each == path or each.startswith((f"{path}.", f"{path}[")) for path in paths for each in told)
