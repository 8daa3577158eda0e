"""Libraries of any size that were moved already: what a real run over a few assets left at both services and in the
state is repeated for as many assets as are asked for, without a call.

Assets repeat after `Kinds.classes`: each has the folder, the number of versions and the shape of one of the first.
Everything in which the emulator's own account of an asset differs from that of its first (ids, names, digests, dates)
is replaced in the rows that the real run wrote; digests that the product makes of an asset are made by the product.
"""

from __future__ import annotations

import gc
import json
import marshal
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from dam_sync.api.emulation.sandbox import Emulated, write_job
from dam_sync.api.jobs import run_job
from dam_sync.emulators.kit.catalogue import Catalogue, catalogue_of
from dam_sync.engine.decide.change import AssetChange, AssetCreate
from dam_sync.engine.decide.operations import digest_of_change
from dam_sync.model.asset import Asset, AssetId, digest_of
from dam_sync.model.capabilities import Operation
from dam_sync.model.codec import (
    asset_from_json,
    asset_to_json,
    draft_from_json,
    fingerprint,
    placements_from_json,
)
from dam_sync.model.values import Json
from dam_sync.store.base import to_text
from dam_sync.store.note_keys import PLACE, ROW_COUNTS
from dam_sync.store.store import SqlStore
from tests.support.jobs.accepted_exposure import ACCEPTED
from tests.support.jobs.bulk_jobs import Bulk
from tests.support.measuring.counted_calls import Side, library_of, mapping_of, schema_of
from tests.support.virtual.moves import options_of
from tests.support.virtual.scale.text_patterns import Pairs, Pattern, Row, any_of, digests_of, leaves_of, pairs_of
from tests.support.virtual.universe import PORT, Tenant, Universe

CLASSES = 40  # so that a collection of service D has room for its share of 100,000 (4,999 files)
VERSIONED = 10  # every tenth asset has an older version
OWNERS = {"work": "asset", "link": "source", "seen": "source", "name": "owner", "member": "asset", "ledger": "asset"}
"""Tables with rows of assets, and the column that says whose a row is."""
ONCE = frozenset({"container", "place"})  # operations that are not of one asset
NUMBER = re.compile(r"of number (\d+)")
NOT_DUMPED: Mapping[str, Callable[[Any, str], str]] = {
    "e_profiles": lambda state, asset: str(state.tenant.assets[asset].external_id)
}
"""What else is made up for an asset and shown to the product."""

SIDES = (
    Side("a_hypermedia", "folder", options={"locales": "en"}),
    Side("b_documents", "folder", options={"relations": ""}, emulated={"direct": False}, profile="Images"),
    Side("c_brandlibrary", "section", options={"readiness": "later", "first_look": 1.0}, emulated={"processing": 0.2}),
    Side("d_templates", "collection", options={"relations": "off"}, profile="Images", groups=True),
    Side("e_profiles", "category", options={"version_policy": "file_only", "attachments": "off"}, profile="Images"),
)
"""Parts that cost a call an asset wherever they are read, changed or not, are left out."""


@dataclass(frozen=True, slots=True)
class Kinds:
    """Which service is moved to which; port: of the first origin; classes: after how many assets they repeat."""

    source: Side
    target: Side
    port: int = PORT
    classes: int = CLASSES

    def bulk(self, size: int) -> Bulk:
        """What a library of so many assets is like."""
        return Bulk(size, folders=self.classes, versioned=VERSIONED)


@dataclass
class Moved:
    """Two tenants that were brought in step, and the job between them."""

    universe: Universe
    source: Tenant
    target: Tenant
    job: Path
    size: int

    @property
    def state(self) -> Path:
        """The state file."""
        return self.job.parent / "state" / "job.db"

    def settle(self) -> None:
        """Let indexes catch up and files be processed."""
        self.universe.do(self.universe.settle(self.job, "source", "target"))


@dataclass
class Model:
    """What a real run left. fixed: rows that are not of one asset."""

    kinds: Kinds
    patterns: list[Pattern]
    fixed: dict[str, list[Row]]

    def pattern_of(self, number: int) -> Pattern:
        """The one that an asset repeats."""
        return self.patterns[(number - 1) % len(self.patterns)]


class Differences:
    """The assets of the source, each as its number and the texts in which it differs from its pattern. They are kept in
    a file, because to ask an emulator for the truth about an asset takes it longer than to load the asset."""

    def __init__(self, model: Model, source: Tenant, path: Path) -> None:
        self._path, self.size = path, 0
        with path.open("wb") as file:
            for row in truths(source):
                number = number_of(row)
                marshal.dump((number, pairs_of(model.pattern_of(number).leaves[0], row)), file)
                self.size += 1

    def __iter__(self) -> Iterator[tuple[int, dict[str, str]]]:
        """In the order of the source."""
        with self._path.open("rb") as file:
            for _ in range(self.size):
                yield marshal.load(file)


@contextmanager
def really_moved(folder: Path, kinds: Kinds, size: int, **policy: Any) -> Iterator[Moved]:
    """By a run."""
    bulk = kinds.bulk(size)
    with Universe(1, port=kinds.port) as universe:
        source = universe.tenant(kinds.source.kind, list(library_of(kinds.source, bulk)), **_options(kinds.source))
        target = universe.tenant(kinds.target.kind, list(schema_of()), **_options(kinds.target))
        made = Moved(universe, source, target, _write(folder, kinds, source, target, policy), size)
        report = universe.do(run_job(made.job, universe.options()))
        assert (report.counts["created"], report.parked) == (size, [])
        made.settle()
        yield made


@contextmanager
def uncollected() -> Iterator[None]:
    """Without looks for garbage: they would look at all assets again and again."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextmanager
def planted(folder: Path, model: Model, size: int, **policy: Any) -> Iterator[Moved]:
    """As a run would have left it; `size` is a multiple of `Kinds.classes`."""
    kinds, bulk = model.kinds, model.kinds.bulk(size)
    assert size % kinds.classes == 0
    folder.mkdir(parents=True, exist_ok=True)
    with Universe(1, port=kinds.port) as universe, uncollected():
        source = universe.tenant(kinds.source.kind, _lazily(kinds.source, bulk), **_options(kinds.source))
        differences = Differences(model, source, folder / "differences")
        target = universe.tenant(
            kinds.target.kind, _catalogue(model, kinds.target, differences), **_options(kinds.target)
        )
        made = Moved(universe, source, target, _write(folder, kinds, source, target, policy), size)
        universe.do(_empty_state(made))
        _plant(model, made, differences)
        made.settle()
        yield made


def learn(folder: Path, kinds: Kinds, size: int = 0, **policy: Any) -> Model:
    """Run it once for real, and keep what it left; with an asset of each class if no size is given."""
    with really_moved(folder, kinds, size or kinds.classes, **policy) as moved:
        sources, targets = (by_number(each) for each in (moved.source, moved.target))
        tables = tables_of(moved.state)
        assets = moved.universe.do(_fetched(moved, [sources[number] for number in sorted(sources)]))
    patterns, owned = [], set[int]()
    for number, asset in zip(sorted(sources), assets, strict=True):
        rows = {table: [row for row in tables[table] if row[owner] == asset["id"]] for table, owner in OWNERS.items()}
        owned |= {id(row) for found in rows.values() for row in found}
        assert [row["source_fingerprint"] for row in rows["link"]] == [fingerprint(asset_from_json(asset))]
        patterns.append(Pattern(sources[number], targets[number], asset, rows))
    fixed = {table: [row for row in rows if id(row) not in owned] for table, rows in tables.items()}
    return Model(kinds, patterns, fixed)


def truths(tenant: Tenant) -> Iterator[Row]:
    """The truth about each asset, one after another."""
    more = NOT_DUMPED.get(tenant.kind)
    for row in tenant.app.state.dump():
        yield {**row, "more": more(tenant.app.state, row["id"])} if more else dict(row)


def by_number(tenant: Tenant) -> dict[int, Row]:
    """The truth about each asset by the number in its title."""
    return {number_of(row): row for row in truths(tenant)}


def number_of(row: Mapping[str, Any]) -> int:
    """The number in the title of an asset."""
    found = NUMBER.search(json.dumps(row["fields"]))
    assert found is not None, row
    return int(found[1])


def has_several(number: int) -> bool:
    """Whether an asset has several file versions from the start."""
    return number % VERSIONED == 0


def tables_of(path: Path) -> dict[str, list[Row]]:
    """Every row of a state file."""
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: [dict(row) for row in connection.execute(f"SELECT * FROM {name}")] for name in names}


# -- the two services --------------------------------------------------------------------------------------------------


def _options(side: Side) -> dict[str, Any]:
    return {**options_of(side.kind), "rate": None, **side.emulated}


def _write(folder: Path, kinds: Kinds, source: Tenant, target: Tenant, policy: Row) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    mapping = folder / "mapping.yaml"
    mapping.write_text(mapping_of(kinds.source, kinds.target, kinds.bulk(kinds.classes)), encoding="utf-8")
    here, there = (
        Emulated(side.kind, at.url, side.options) for side, at in ((kinds.source, source), (kinds.target, target))
    )
    return write_job(folder / "job.yaml", "delta", here, there, mapping, policy={**ACCEPTED, **policy})


@dataclass(frozen=True)
class _Assets:
    """Records of assets, made while they are read."""

    make: Any

    def __iter__(self) -> Iterator[Row]:
        return iter(self.make())


def _lazily(side: Side, bulk: Bulk) -> Catalogue:
    """A library as a catalogue of which nothing is in memory."""
    catalogue = catalogue_of(row for row in library_of(side, Bulk(0, folders=bulk.folders)))
    catalogue.assets = _Assets(lambda: (row for row in library_of(side, bulk) if row["record"] == "asset"))
    return catalogue


def _catalogue(model: Model, side: Side, differences: Differences) -> Catalogue:
    """The target as a run would have left it."""
    catalogue = catalogue_of([*schema_of(), *_containers(model, side)])
    catalogue.assets = _Assets(lambda: (_record(model, side, number, here) for number, here in differences))
    return catalogue


def _containers(model: Model, side: Side) -> Iterator[Row]:
    seen = {tuple(place["path"]): place for pattern in model.patterns for place in pattern.target["placements"]}
    return ({"record": "container", "kind": side.container, "path": list(path)} for path in seen)


def _record(model: Model, side: Side, number: int, here: Pairs) -> Row:
    record: Row = json.loads(model.pattern_of(number).of_target.filled(here))
    record["fields"] = {key.removeprefix(side.prefix): value for key, value in record["fields"].items()}
    kept = model.kinds.bulk(0).kept_versions(number)  # a source that keeps older ones to itself has sent the last
    for place, version in enumerate(record["versions"], kept - len(record["versions"])):
        version["generate"] = {"size": version["size"], "seed": 10 * number + place}
    return {**record, "record": "asset", "id": str(number)}


# -- the state ---------------------------------------------------------------------------------------------------------


async def _empty_state(made: Moved) -> None:
    await (await SqlStore.open(made.state, made.universe.clock)).close()


def _plant(model: Model, made: Moved, differences: Differences) -> None:
    with closing(sqlite3.connect(made.state)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA journal_mode = MEMORY")
        for table, rows in _grouped(chain(_rows(model, made, differences), _fixed(model, made))):
            names = ", ".join(rows[0])
            marks = ", ".join(f":{name}" for name in rows[0])
            connection.executemany(f"INSERT OR REPLACE INTO {table} ({names}) VALUES ({marks})", rows)
        connection.execute(
            "UPDATE run SET outcome = json_set(outcome, '$.ledger', (SELECT max(seq) FROM ledger))"  # read up to there
        )
        _recount(connection)
        connection.commit()
        connection.execute("PRAGMA journal_mode = WAL")


def _recount(connection: sqlite3.Connection) -> None:
    """The numbers of rows as the run would have noted them at its end."""
    (text,) = connection.execute("SELECT value FROM note WHERE key = ?", [ROW_COUNTS]).fetchone()
    noted = json.loads(text)
    for table in noted["rows"]:
        (noted["rows"][table],) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
    connection.execute("UPDATE note SET value = ? WHERE key = ?", [to_text(noted), ROW_COUNTS])


def _grouped(rows: Iterable[tuple[str, Row]]) -> Iterator[tuple[str, list[Row]]]:
    waiting: dict[str, list[Row]] = {}
    for table, row in rows:
        of_table = waiting.setdefault(table, [])
        of_table.append(row)
        if len(of_table) == 5_000:
            yield table, waiting.pop(table)
    yield from waiting.items()


def _rows(model: Model, made: Moved, differences: Differences) -> Iterator[tuple[str, Row]]:
    """Those of assets."""
    for (number, here), target in zip(differences, truths(made.target), strict=True):
        assert number == number_of(target)
        pattern = model.pattern_of(number)
        there = pairs_of(pattern.leaves[1], target)
        asset = asset_from_json(json.loads(pattern.of_asset.filled(here)))
        both = {**there, **here, **dict(zip(pattern.digests, digests_of(asset), strict=True))}
        rows = list(pattern.rows_with(both, there))
        link = next((row for table, row in rows if table == "link"), None)
        draft = json.loads(link["draft"]) if link else None
        for table, row in rows:
            match table:
                case "work":
                    row["seq"] = number
                    row["digest"] = _digest_of_create(link, draft, asset) if link and row["digest"] else ""
                case "link":
                    row["draft_fingerprint"] = digest_of(draft)
                case "ledger":
                    del row["seq"]
            yield table, row


def _digest_of_create(link: Row, draft: Json, asset: Asset) -> str:
    """What the run recorded of the creation of an asset that it linked so."""
    attachments = asset.attachments if json.loads(link["attachments"]) else ()
    relations = asset.relations if json.loads(link["relations"]) else frozenset()
    versions = asset.versions[-len(json.loads(link["versions"])) :]
    new = AssetCreate(draft_from_json(draft), versions[0])
    return digest_of_change(AssetChange(new, versions=versions[1:], attachments=attachments, relations=relations))


def _fixed(model: Model, made: Moved) -> Iterator[tuple[str, Row]]:
    """Those of the job, of runs and of containers. The rows of assets have counted themselves."""
    here, there = (
        _pairs_of_containers(model, role, tenant) for role, tenant in (("source", made.source), ("target", made.target))
    )
    tokens = any_of([*here, *there]) if here or there else None
    for table, fixed in model.fixed.items():
        for row in fixed:
            if table == "tally" and row["label"] == "created":
                continue
            if table == "note" and row["key"] == PLACE:
                continue  # where the file of the model is: a state with another place counts as restored from a backup
            scaled = _scaled(table, row, made.size / len(model.patterns)).items()
            known = {key: value for key, value in scaled if (table, key) != ("ledger", "seq")}
            yield table, {key: _with_ids(value, tokens, here, there, key) for key, value in known.items()}


def _with_ids(value: Any, tokens: re.Pattern[str] | None, here: Pairs, there: Pairs, column: str) -> Any:
    """The value of a column with the ids of containers. Those of the two services may be the same texts."""
    if tokens is None or not isinstance(value, str):
        return value
    pairs = {"target": {**here, **there}, "source": here}.get(column, {**there, **here})
    return tokens.sub(lambda found: pairs.get(found[0], found[0]), value)


def _pairs_of_containers(model: Model, role: str, tenant: Tenant) -> Pairs:
    """The first assets of a library are those of its patterns."""
    pairs: dict[str, str] = {}
    for row in islice(truths(tenant), len(model.patterns)):
        old: Row = getattr(model.pattern_of(number_of(row)), role)
        pairs |= pairs_of(leaves_of({"of": old["placements"]}), {"of": row["placements"]})
    return pairs


def _scaled(table: str, row: Row, times: float) -> Row:
    """A row of a run counts the assets of the whole library."""
    if table == "shard":
        expected, params = row["expected"], json.loads(row["params"])
        params |= {key: round(params[key] * times) for key in params.keys() & {"total"}}
        return {**row, "expected": expected and round(expected * times), "params": json.dumps(params)}
    if table != "run":
        return row
    outcome = json.loads(row["outcome"])
    for counted in (outcome["counts"], *outcome["losses"], outcome["operations"]):
        scaled = (key for key, value in counted.items() if isinstance(value, int) and key not in ONCE)
        counted |= {key: round(counted[key] * times) for key in list(scaled)}
    return {**row, "listed": round(row["listed"] * times), "outcome": json.dumps(outcome)}


async def _fetched(moved: Moved, rows: Sequence[Row]) -> list[Row]:
    """As a run reads them, with the memberships that only their containers know."""
    found = []
    async with moved.universe.service(moved.job, "source", read_only=True) as service:
        await service.schema()
        for row in rows:
            asset = await service.fetch(AssetId(row["id"]))
            if Operation.MEMBERS in service.capabilities:
                asset = replace(asset, placements=asset.placements | placements_from_json(row["placements"]))
            found.append(asset_to_json(asset))
    return found
