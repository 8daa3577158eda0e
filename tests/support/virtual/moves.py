"""One small library moved between any two services in virtual time, as often as asked, and how it ended."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dam_sync.api.emulation.sandbox import Emulated, write_job, write_suggested_mapping
from dam_sync.model.asset import Asset, AssetId, Patch
from dam_sync.model.capabilities import Operation
from dam_sync.model.errors import DamSyncError
from dam_sync.model.service import Service
from dam_sync.model.values import Json, Localized
from dam_sync.services import discover
from tests.support.jobs.accepted_exposure import ACCEPTED
from tests.support.jobs.folder_jobs import InFolder, Side
from tests.support.libraries.every_feature import OWN_MARKS
from tests.support.services.profiles import FOLDER, marker_in, profile_of
from tests.support.services.small_limits import small_parts
from tests.support.virtual.clock import EPOCH
from tests.support.virtual.fuse import Fuse
from tests.support.virtual.orphans import Orphans, orphans_in
from tests.support.virtual.small_library import library, receiving
from tests.support.virtual.state_location import ask, beside, forget, job_in, state_for
from tests.support.virtual.target_edits import DETACH, UNRELATE
from tests.support.virtual.universe import LAGS, Tenant, Universe
from tests.support.virtual.wire import Network

LIVES = 6  # runs in which a library must be moved
LEFT = (
    ("run", "state <> 'done'"),
    ("work", "state <> 'settled' OR action = 'parked'"),
    ("step", "true"),
    ("placement", "true"),
    ("shard", "NOT done"),
)
NOW = re.compile(rf"{EPOCH.year}-(0[1-9]|1[0-2])-\d\dT[\d:.]+(Z|\+00:00)")
FORGOTTEN = frozenset({"id", "catalogue_id", "changed_at", "imported_at", "current", "object_id", "records"})
MADE_UP = frozenset({"name", "path"})  # of an asset itself: ids by another name
OF_IDS = re.compile("-[0-9a-f]{12}(?=:|$)")  # in the names of operations: digests made of ids of the target
FINDABLE = re.compile("^(term|container|in )")  # operations whose outcome is looked for when its record was lost
BY_TURNS = {"in create: call": "in create: clean", "in create: clean": "in create: call"}
"""Of the assets of one call the first has the one step and the others the other; after a crash another may be first."""
TWINS = (
    "SELECT one.asset FROM ledger AS one JOIN ledger AS other ON one.operation = other.operation"
    " AND CAST(one.detail AS TEXT) = CAST(other.detail AS TEXT) AND one.asset <> other.asset"
    " WHERE one.operation = 'in create: create'"
)
OF_TWINS = ("in create: file", "in create: create")  # are recorded again for the one that does not get it
UPLOAD, GIVEN_UP = "in create: upload", "in create: given up"
PULLED, FILE = "in create: pull", "in create: file"
IN_VAIN = {"in create: sent instead", GIVEN_UP}
OF_LINKS = {PULLED, *IN_VAIN}
TITLE = "title"
BEHIND = 0.9  # of the lag that is waited out
CHANGED = 3  # assets that get another title, and that lose parts


@dataclass
class State:
    """What can be seen of source, target and state file once a library is moved.

    journal: the operations of every source asset; left: what is not complete; orphans: what is left over besides;
    twins: assets that were found to be created by what was created for another, with the same content. The trash of the
    target is not looked at: a partial create that a crash left is brought there.
    """

    source: Any
    assets: Any
    terms: Any
    containers: Any
    links: Any
    journal: Counter[tuple[str, str]]
    left: dict[str, int]
    orphans: Orphans
    twins: frozenset[str] = frozenset()


@dataclass
class Move:
    """A source, an empty target and no state yet, in a universe of their own."""

    universe: Universe
    source: Tenant
    target: Tenant
    job: Path
    full: bool = False
    stops: list[str] = field(default_factory=list)

    @property
    def folders(self) -> Sequence[Path]:
        """All that is written to in this world."""
        return [beside(self.job), self.source.folder, self.target.folder]

    def live(self, fuse: Fuse | None = None) -> Fuse:
        """One run behind `fuse`, or one that never blows; that fuse."""
        return self.universe.live(self.job, fuse, full=self.full)

    def live_to_the_end(self) -> Fuse:
        """Runs until one goes through, so many at most; what stopped the others is in `stops`."""
        for _ in range(LIVES):
            try:
                return self.live()
            except DamSyncError as error:
                self.stops.append(f"{error.cause}: {error.message} ({error.operation})")
        raise AssertionError(f"not moved in {LIVES} runs: {self.stops}")

    def change(self) -> None:
        """At the source, some assets get other titles, some lose an attachment and their relations; from now on every
        asset is looked at."""
        self.full = True
        self.universe.do(self._change())
        self.universe.do(self.universe.clock.sleep(LAGS))  # its index has them by then

    def edit(self, change: Callable[[Service, Any, Asset], Awaitable[None]]) -> None:
        """Somebody changes every asset of the source that has attachments and relations; from now on every asset is
        looked at."""
        self.full = True
        self.universe.do(self._edit(change))
        self.universe.do(self.universe.clock.sleep(LAGS))

    async def _edit(self, change: Callable[[Service, Any, Asset], Awaitable[None]]) -> None:
        async with self.service("source") as service:
            await service.schema()
            for row in [row for row in self.source.assets if row["attachments"] or row["relations"]]:
                await change(service, self.source.app.state, await service.fetch(AssetId(row["id"])))

    def state(self) -> State:
        """Source and target as they are now; nothing more happens in this universe after it."""
        links = ask(self.job, "SELECT source, filename, versions, evidence FROM link ORDER BY source")
        journal = ask(self.job, "SELECT asset, operation FROM ledger")
        left = ask(
            self.job, "SELECT " + ", ".join(f"(SELECT count(*) FROM {table} WHERE {rows})" for table, rows in LEFT)
        )
        terms, containers = self.universe.do(self._taxonomy())
        return State(
            source=known(self.source.assets),
            assets=known([row for row in self.target.assets if row["status"] != "trash"]),
            terms=terms,
            containers=containers,
            links=links,
            journal=Counter((asset, nameless(name)) for asset, name in journal),
            left=dict(zip((table for table, _ in LEFT), left[0], strict=True)),
            orphans=orphans_in(self.universe, self.target, beside(self.job)),
            twins=frozenset(asset for (asset,) in ask(self.job, TWINS)),
        )

    async def _change(self) -> None:
        async with self.service("source") as service:
            schema = await service.schema()
            key = profile_of(self.source.kind).prefix + TITLE
            assert key in schema.fields
            rows = sorted((row for row in self.source.assets if row["status"] != "trash"), key=lambda row: row["id"])
            for row in rows[:CHANGED]:
                asset = await service.fetch(AssetId(row["id"]))
                await service.update(asset.id, Patch(fields={key: retitled(asset.fields[key])}))
            for row in [row for row in rows if row["attachments"] or row["relations"]][:CHANGED]:
                self._strip(await service.fetch(AssetId(row["id"])))

    def _strip(self, asset: Asset) -> None:
        kind, state = self.source.kind[0], self.source.app.state
        for remove in (DETACH, UNRELATE):
            if kind in remove:
                remove[kind](state, asset)

    async def _taxonomy(self) -> tuple[Any, Any]:
        """Terms by vocabulary and containers by kind, as the target's own listings give them."""
        async with self.service("target") as service:
            schema = await service.schema()
            terms, containers = [], []
            if Operation.TERMS in service.capabilities:
                for name in schema.vocabularies:
                    terms += [(name, tuple(term.path)) async for term in service.terms(name)]
            if Operation.CONTAINERS in service.capabilities:
                containers = [(each.kind, tuple(each.path)) async for each in service.containers()]
            return sorted(terms), sorted(containers)

    def service(self, role: str) -> AbstractAsyncContextManager[Service]:
        """The service of this role, for somebody who works there."""
        return self.universe.service(self.job, role)


def retitled(value: Any) -> Any:
    """Another title of the same kind."""
    if isinstance(value, Localized):
        return Localized({locale: f"{text} anew" for locale, text in value.texts.items()})
    return f"{value} anew"


@dataclass
class Simulation:
    """Moves a library from one service to another, each time in a universe of its own. options: of the target; policy:
    besides the usual one; network: between the job and both."""

    folder: Path
    kinds: tuple[str, str]
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    policy: Mapping[str, Any] = field(default_factory=dict)
    network: type[Network] = Network

    @contextmanager
    def moving(self, *, seed: int | None = None) -> Iterator[Move]:
        """One library to be moved."""
        if not self._job.exists():
            with self._universe(0) as (universe, tenants):
                self._write(universe, tenants)
        forget(self._job)
        with self._universe(self.seed if seed is None else seed) as (universe, tenants):
            yield Move(universe, *tenants, self._job)

    def reference(self, *, later: bool = False) -> tuple[State, Fuse]:
        """How it ends, and how much happens, when nothing goes wrong: with the move, or `later` with the changes."""
        with self.moving() as move:
            fuse = move.live()
            if later:
                move.change()
                fuse = move.live()
            return move.state(), fuse

    @property
    def _job(self) -> Path:
        return job_in(self.folder)

    @contextmanager
    def _universe(self, seed: int) -> Iterator[tuple[Universe, tuple[Tenant, Tenant]]]:
        with ExitStack() as stack:
            universe = stack.enter_context(Universe(seed, self.network))
            universe.limits = {kind: small_parts(kind) for kind in self.kinds}
            source, target = self.kinds
            wanted = [] if target == FOLDER else self.receiving()
            filled = self._tenant(universe, "from", source, self.filled())
            yield universe, (filled, self._tenant(universe, "to", target, wanted))

    def filled(self) -> list[Json]:
        """Records of the source."""
        return library(max(profile_of(kind).part for kind in self.kinds))

    def receiving(self) -> list[Json]:
        """Records of the target."""
        return receiving()

    def _tenant(self, universe: Universe, role: str, kind: str, rows: Sequence[Any]) -> Tenant:
        if kind == FOLDER:
            return universe.folder(self.folder / role, rows)
        return universe.tenant(kind, rows, **options_of(kind))

    def _write(self, universe: Universe, tenants: Sequence[Tenant]) -> None:
        """The job file and a suggested mapping, the same for every move: origins are."""
        mapping, state = self._job.with_name("mapping.yaml"), state_for(self._job)
        source, target = (side_of(each) for each in tenants)
        target = replace(target, options={**target.options, **self.options})
        policy = {**ACCEPTED, **self.policy}
        job = write_job(self._job, "move", source, target, mapping, policy=policy, state=state)
        given = f"{type(self)} {replace(self, folder=Path(), seed=0)} {self.filled()} {self.receiving()}"
        if given not in _SUGGESTED:
            marker = marker_in(self.kinds[1], OWN_MARKS)
            universe.do(write_suggested_mapping(job, mapping, marker, universe.options()))
            _SUGGESTED[given] = mapping.read_text(encoding="utf-8")
        mapping.write_text(_SUGGESTED[given], encoding="utf-8")


_SUGGESTED: dict[str, str] = {}  # mappings, by all that they are made of


def suggested(
    kinds: tuple[str, str], libraries: Sequence[Sequence[Any]], asked: Sequence[Mapping[str, Any]] | None = None
) -> str:
    """The mapping that is suggested between services of these kinds with these records, made once in a universe of its
    own: what happens in that of a test does not depend on the tests before. asked: see `sides_of`."""
    given = f"{kinds} {libraries} {asked}"
    if given not in _SUGGESTED:
        with TemporaryDirectory() as name, Universe(1) as universe:
            job = job_in(Path(name))
            mapping = job.with_name("mapping.yaml")
            sides = sides_of(served(universe, Path(name), kinds, libraries), asked)
            write_job(job, "suggested", *sides, mapping, state=str(beside(job) / "job.db"))
            universe.do(write_suggested_mapping(job, mapping, marker_in(kinds[1], OWN_MARKS), universe.options()))
            _SUGGESTED[given] = mapping.read_text(encoding="utf-8")
    return _SUGGESTED[given]


def served(
    universe: Universe,
    folder: Path,
    kinds: tuple[str, str],
    libraries: Sequence[Sequence[Any]],
    variant: str = "",
) -> tuple[Tenant, Tenant]:
    """A source and a target with these records; folders are made in `folder`. variant: that the target plays."""
    source, target = (
        universe.folder(folder / role, rows)
        if kind == FOLDER
        else universe.tenant(
            kind, rows, **options_of(kind), **({"variant": variant} if variant and role == "to" else {})
        )
        for role, kind, rows in zip(("from", "to"), kinds, libraries, strict=True)
    )
    return source, target


def sides_of(tenants: tuple[Tenant, Tenant], asked: Sequence[Mapping[str, Any]] | None = None) -> tuple[Side, Side]:
    """Source and target of a job. asked: their options in it, those of `side_of` without."""
    if asked is None:
        return side_of(tenants[0]), side_of(tenants[1])
    source, target = (Emulated(each.kind, each.url, options) for each, options in zip(tenants, asked, strict=True))
    return source, target


def side_of(tenant: Tenant) -> Side:
    """A tenant as source or target of a job."""
    if tenant.kind == FOLDER:
        return InFolder(tenant.folder, {"bag": "off"} if tenant.assets else {})
    return Emulated(tenant.kind, tenant.url, profile_of(tenant.kind).parted)


def options_of(kind: str) -> dict[str, Any]:
    """How its emulator is set up: rate and lives as documented, an index nearly as far behind as is waited for."""
    trial, lag = profile_of(kind), discover()[kind].capabilities.limits.lag.total_seconds() * BEHIND
    found = {key: value for key, value in {**trial.emulated, **trial.parted_emulated}.items() if key != "rate"}
    return {**found, "lag": lag} if lag else found


def known(assets: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Everything of assets but their ids and the timestamps of writing; relations by the file they lead to."""
    names = {row["id"]: digest(row) for row in assets}
    rows = ({key: value for key, value in row.items() if key not in MADE_UP} for row in assets)
    return sorted((plain(row, names) for row in rows), key=repr)


def digest(row: Mapping[str, Any]) -> str:
    """Its current file, else its name."""
    return str(row["versions"][-1]["digests"]["sha256"] if row["versions"] else row["filename"])


def plain(value: Any, names: Mapping[str, str]) -> Any:
    """A value of a dump without ids, timestamps of writing as one word."""
    match value:
        case Mapping():
            return {key: plain(each, names) for key, each in sorted(value.items()) if key not in FORGOTTEN}
        case list() | tuple():
            return (
                sorted((plain(each, names) for each in value), key=repr)
                if _is_set(value)
                else [plain(each, names) for each in value]
            )
        case str():
            return NOW.sub("now", names.get(value, value))
    return value


def _is_set(values: Sequence[Any]) -> bool:
    return not any(isinstance(each, Mapping) and "digests" in each for each in values)


def nameless(step: str) -> str:
    """A step without ids of containers, and digests made of them, which differ from target to target."""
    return step.rpartition(":")[0] if step.startswith(("place:", "update:")) else OF_IDS.sub("-#", step)


def differences(got: State, want: State, *, in_doubt: int, uses_up: str = "") -> Iterator[str]:
    """What is not as in the reference. in_doubt: operations whose record was lost, so that they were found instead.
    uses_up: see `Trial`; the upload before such a step, once it was recorded, may be recorded again."""
    for name in ("source", "assets", "terms", "containers", "links", "left"):
        mine, other = getattr(got, name), getattr(want, name)
        if mine != other:
            yield f"{name}: {first_difference(mine, other)}"
    yield from got.orphans.differences(want.orphans)
    yield from of_links(got.journal, want.journal)
    ours, theirs = without_links(got.journal), without_links(want.journal)
    again = Counter({step: n - (step[1] in BY_TURNS) for step, n in (ours - theirs).items()})
    lost = theirs - ours
    again, lost = +again, Counter({step: n for step, n in lost.items() if not _has_its_turn(*step, got.journal)})
    again = Counter({step: n for step, n in again.items() if step[0] not in got.twins or step[1] not in OF_TWINS})
    if uses_up:
        again = Counter({step: n for step, n in again.items() if not _is_sent_anew(*step, uses_up, got.journal)})
    if again:
        yield f"steps recorded again: {dict(again)}"
    if lost.total() > in_doubt or any(not FINDABLE.search(step) for _, step in lost):
        yield f"steps not recorded: {dict(lost)}"


def of_links(got: Counter[tuple[str, str]], want: Counter[tuple[str, str]]) -> Iterator[str]:
    """What became of links and should not have: a link was in vain twice, or without one, or links that brought every
    file do so no more. Which assets get one may differ only once some were in vain."""
    ours, theirs = assets_at(got, PULLED), assets_at(want, PULLED)
    for (asset, step), n in got.items():
        if step in IN_VAIN and (n > 1 or asset not in ours):
            yield f"links in vain: {asset} {step}, {n} times"
    if not theirs & assets_at(want, FILE, *IN_VAIN):
        if ours != theirs:
            yield f"links of {sorted(ours)} instead of {sorted(theirs)}"
        if ours & assets_at(got, FILE, *IN_VAIN):
            yield f"sent though they were fetched: {sorted(ours & assets_at(got, FILE, *IN_VAIN))}"


def assets_at(journal: Counter[tuple[str, str]], *steps: str) -> set[str]:
    """The assets that went through one of these steps."""
    return {asset for asset, step in journal if step in steps}


def without_links(journal: Counter[tuple[str, str]]) -> Counter[tuple[str, str]]:
    """Without what became of links, of which a process gives no more after some in vain: after a crash others may get
    one. An upload by a link that was given up is recorded besides that of the bytes."""
    given_up = {asset for asset, step in journal if step == GIVEN_UP}
    found = Counter({step: n for step, n in journal.items() if step[1] not in OF_LINKS})
    return found - Counter({(asset, UPLOAD): found[asset, UPLOAD] - 1 for asset in given_up if found[asset, UPLOAD]})


def _has_its_turn(asset: str, step: str, journal: Mapping[tuple[str, str], int]) -> bool:
    return (asset, BY_TURNS.get(step, "")) in journal


def _is_sent_anew(asset: str, step: str, uses_up: str, journal: Mapping[tuple[str, str], int]) -> bool:
    of_upload = re.fullmatch(f"(.*?)(file(:.*)?|{uses_up})", step)
    return of_upload is not None and (asset, of_upload[1] + uses_up) in journal


def first_difference(mine: Any, other: Any) -> str:
    """What differs first, in few words."""
    if not (isinstance(mine, list) and mine and isinstance(mine[0], Mapping)):
        return f"{mine} instead of {other}"
    here, there = ({digest(row): row for row in side} for side in (mine, other))
    if here.keys() != there.keys() or len(mine) != len(other):
        return f"{sorted(row['filename'] for row in mine)} instead of {sorted(row['filename'] for row in other)}"
    return "; ".join(
        f"{row['filename']} {key}: {row.get(key)} instead of {there[name].get(key)}"
        for name, row in here.items()
        for key in row
        if row.get(key) != there[name].get(key)
    )
