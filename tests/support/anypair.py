"""Any two emulated services with a suggested mapping between them, and what a migration must have brought over."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from typing import Any

from dam_sync.app.trial import Emulated, write_job, write_suggested_mapping
from dam_sync.emulation.trial import Trial
from dam_sync.services import trial_of
from tests.support.tenants import Pair, emulated

Row = Mapping[str, Any]
TAG = re.compile(r"</?[a-z]+/?>")
NOTHING = frozenset({"false", "no"})  # a flag that is down is no flag at some services
DAY = re.compile(r"(\d{4}-\d\d-\d\d)(T[\d:.]+(Z|\+00:00))?$")
QUICK = {"lag": 0.2, "rate": None}


@contextmanager
def any_pair(
    folder: Path, source: str, target: str, library: Sequence[Row], empty: Sequence[Row], marker: str, **more: Any
) -> Iterator[Pair]:
    """Both tenants for as long as the block runs, with a job between them."""
    folder.mkdir(parents=True, exist_ok=True)
    tenants = []
    try:
        for kind, records in ((source, library), (target, empty)):
            trial: Trial = trial_of(kind)
            options = {**trial.emulated, **trial.demo_emulated, **QUICK}
            tenants.append(emulated(kind, records, None, **options))
        sides = [Emulated(kind, tenant.url) for kind, tenant in zip((source, target), tenants, strict=True)]
        mapping = folder / "mapping.yaml"
        job = write_job(folder / "job.yaml", "pair", *sides, mapping, **more)
        own = trial_of(target).prefix + marker
        asyncio.run(write_suggested_mapping(job, mapping, own))
        yield Pair(tenants[0], tenants[1], job, folder)
    finally:
        for tenant in tenants:
            if tenant.served is not None:
                tenant.served.stop()


def lost_silently(
    source: Row, target: Row, losses: Iterable[str], names: Iterable[str], prefixes: tuple[str, str]
) -> list[str]:
    """What the target's row has not, has otherwise or has too much, and no named loss tells."""
    told = frozenset(losses)
    found = []
    for name in names:
        have, want = texts(target["fields"].get(prefixes[1] + name)), texts(source["fields"].get(prefixes[0] + name))
        if not _same(want, have) and not _told(f"fields.{prefixes[0]}{name}", told):
            found.append(f"{name}: {sorted(want)} became {sorted(have)}")
    found += _files(source, target, told)
    for part in ("tags", "relations"):
        want, have = _set(source, part), _set(target, part)
        if (len(want) if part == "relations" else want) != (len(have) if part == "relations" else have) and not _told(
            part, told
        ):
            found.append(f"{part}: {sorted(want)} became {sorted(have)}")
    for part in ("release_at", "expires_at"):
        word = {"release_at": "release", "expires_at": "expiry"}[part]
        want = source["rights"].get(part)
        if want and want != target["rights"].get(part) and not _told(word, told):
            found.append(f"{part}: {want} became {target['rights'].get(part)}")
    places = [frozenset(_place(row) for row in side["placements"]) for side in (source, target)]
    if not places[0] <= places[1] and not any(_told(f"placements.{r['kind']}", told) for r in source["placements"]):
        found.append(f"placements: {sorted(places[0])} became {sorted(places[1])}")
    return found


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
        case {"label": text} | {"date": text} | {"instant": text}:
            yield text
        case {"latitude": latitude, "longitude": longitude, **more}:
            yield ", ".join(str(part) for part in (latitude, longitude, more.get("address")) if part)
        case _:
            yield str(value)


def _same(want: frozenset[str], have: frozenset[str]) -> bool:
    """Equal in meaning: what a kind of field is written as differs, and a list may be one text."""
    plain = [frozenset(_plain(text) for text in side) - NOTHING for side in (want, have)]
    joined = ["; ".join(sorted(side)) for side in plain]
    return plain[0] == plain[1] or joined[0] == joined[1]


def _plain(text: str) -> str:
    """Without markup; a day of an instant; yes for true."""
    text = " ".join(unescape(TAG.sub("", unescape(text))).split())
    day = DAY.match(text)
    return day[1] if day else {"true": "yes", "1": "yes"}.get(text.casefold(), text.casefold())


def _files(source: Row, target: Row, told: frozenset[str]) -> list[str]:
    found = []
    for part in ("versions", "attachments"):
        want, have = [[file["digests"]["sha256"] for file in side[part]] for side in (source, target)]
        whole = want[-1:] == have[-1:] or part == "attachments"
        if want != have and not (_told(part, told) and whole):
            found.append(f"{part}: {len(want)} files became {len(have)}")
    if source["filename"] != target["filename"] and not _told("filename", told):
        found.append(f"filename: {source['filename']} became {target['filename']}")
    return found


def _set(row: Row, part: str) -> frozenset[str]:
    return frozenset(str(each.get("kind") if isinstance(each, dict) else each) for each in row[part])


def _place(row: Row) -> str:
    return " / ".join(row["path"])


def _told(path: str, told: frozenset[str]) -> bool:
    return any(each == path or each.startswith((f"{path}.", f"{path}[")) for each in told)
