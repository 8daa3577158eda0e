"""Any two emulated services with a suggested mapping between them, and what a migration must have brought over."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from html import unescape
from pathlib import Path
from typing import Any

from dam_sync.app.jobs import plan_job, run_job
from dam_sync.app.trial import Emulated, write_job, write_suggested_mapping
from dam_sync.app.wish import Wish
from dam_sync.emulation.trial import Trial
from dam_sync.services import discover, trial_of
from tests.support.tenants import Pair, Tenant, emulated

Row = Mapping[str, Any]
TAG = re.compile(r"</?[a-z]+/?>")
NOTHING = frozenset({"false", "no"})  # a flag that is down is no flag at some services
DAY = re.compile(r"(\d{4}-\d\d-\d\d)(T[\d:.]+(Z|\+00:00))?$")
QUICK = {"lag": 0.2}


@contextmanager
def any_pair(
    folder: Path, source: str, target: str, library: Sequence[Row], empty: Sequence[Row], marker: str, **more: Any
) -> Iterator[Pair]:
    """Both tenants for as long as the block runs, with a job between them."""
    with tenant_of(source, library) as first, tenant_of(target, empty) as second:
        yield joined(folder, Emulated(source, first.url), Emulated(target, second.url), (first, second), marker, **more)


@contextmanager
def tenant_of(kind: str, records: Sequence[Row]) -> Iterator[Tenant]:
    """One emulated tenant, quick."""
    trial: Trial = trial_of(kind)
    options = {**trial.emulated, **trial.demo_emulated, **QUICK}
    if discover()[kind].limits.pace.per_second is not None:
        del options["rate"]  # as documented: a run must keep to it without being told
    tenant = emulated(kind, records, None, **options)
    try:
        yield tenant
    finally:
        if tenant.served is not None:
            tenant.served.stop()


def joined(
    folder: Path, source: Emulated, target: Emulated, tenants: tuple[Tenant, Tenant], marker: str, **more: Any
) -> Pair:
    """A job between two tenants, with a suggested mapping."""
    folder.mkdir(parents=True, exist_ok=True)
    mapping = folder / "mapping.yaml"
    job = write_job(folder / "job.yaml", "pair", source, target, mapping, **more)
    asyncio.run(write_suggested_mapping(job, mapping, trial_of(target.kind).prefix + marker))
    return Pair(*tenants, job, folder)


def planned(pair: Pair) -> dict[str, Any]:
    """The report of a plan, made in this process."""
    return asyncio.run(plan_job(pair.job, Wish())).as_json()


def ran(pair: Pair) -> dict[str, Any]:
    """The report of a run, made in this process."""
    return asyncio.run(run_job(pair.job, Wish())).as_json()


def losses_by_asset(pair: Pair) -> dict[str, list[str]]:
    """Paths of the losses that were told of each source asset, as the state has them."""
    with closing(sqlite3.connect(pair.folder / "state" / "job.db")) as connection:
        rows = connection.execute("SELECT asset, losses FROM work").fetchall()
    return {asset: [loss["path"] for loss in json.loads(losses) or ()] for asset, losses in rows}


def by_bytes(tenant: Tenant) -> dict[str, Row]:
    """Living assets by the digest of their current file."""
    return {row["versions"][-1]["digests"]["sha256"]: row for row in tenant.assets if row["status"] != "trash"}


def lost_silently(
    source: Row, target: Row, losses: Iterable[str], names: Iterable[str], prefixes: tuple[str, str]
) -> list[str]:
    """What the target's row has not, has otherwise or has too much, and no named loss tells."""
    told = frozenset(losses)
    found = []
    for name in names:
        path = f"fields.{prefixes[0]}{name}"
        have = texts(target["fields"].get(prefixes[1] + name))
        want = texts(_but_for(source["fields"].get(prefixes[0] + name), path, told))
        if not _same(want, have) and path not in told and f"{path}[]" not in told:
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


def _but_for(value: Any, path: str, told: frozenset[str]) -> Any:
    """A value without the languages of which a loss was told."""
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
