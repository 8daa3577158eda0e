"""Whether a job kept two edited libraries in step: by the ground truth of both services and what the job says."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from dam_sync.model.service import TRASH
from dam_sync.report.report import Report
from tests.support.compared import texts
from tests.support.tenants import duplicates
from tests.support.virtual.universe import Tenant

Row: TypeAlias = Mapping[str, Any]
Flat: TypeAlias = Mapping[str, frozenset[str]]
SETS = frozenset({"tags", "groups", "placements", "relations", "attachments", "versions"})
RIGHTS = frozenset({"release", "expiry", "groups"})
CAUSES = frozenset({"conflict", "changed at the target", "gone", "in the trash of the target"})
"""What people did that a run does not undo by itself."""
DRIFT = "changed at the target"


def flat(row: Row) -> Flat:
    """An asset by paths as reports name them; each value as texts."""
    rights, versions = row["rights"], [each for each in row["versions"] if each.get("status") != TRASH]
    return {
        **{f"fields.{key}": texts(value) for key, value in row["fields"].items() if texts(value)},
        "tags": frozenset(row["tags"]),
        "groups": frozenset(rights.get("groups") or ()),
        "placements": frozenset(_place(each) for each in row["placements"]),
        "relations": frozenset(f"{each['kind']} {each['target']}" for each in row["relations"]),
        "attachments": frozenset(each["digests"].get("sha256", "") for each in row["attachments"]),
        "file": frozenset({versions[-1]["digests"]["sha256"]} if versions else ()),
        "versions": frozenset(each["digests"]["sha256"] for each in versions[:-1]),
        "filename": frozenset({row["filename"]}),
        "status": frozenset({row["status"]}),
        "release": texts(rights.get("release_at")),
        "expiry": texts(rights.get("expires_at")),
    }


def _place(row: Row) -> str:
    return f"{row['kind']} {' / '.join(row['path'])} #{row.get('id', '')}"


def added(path: str, was: frozenset[str], theirs: frozenset[str]) -> frozenset[str]:
    """What people added to a set; a container with another name is the same one."""
    if path != "placements":
        return theirs - was
    known = {each.rpartition("#")[2] for each in was}
    return frozenset(each for each in theirs if each.rpartition("#")[2] not in known)


def part_of(path: str) -> str:
    """What a path of a report is about, as `flat` names it."""
    first, _, rest = path.partition(".")
    for kind in ("version", "attachment"):
        if first.startswith(f"{kind} "):  # one file among several, by its number or name
            return f"{kind}s"
    if first == "fields":
        return f"fields.{rest.partition('.')[0].removesuffix('[]')}"
    return first.removesuffix("[]")


@dataclass(frozen=True, slots=True)
class Before:
    """What there was when a run began. links: source ids by target id."""

    source: Mapping[str, Row]
    target: Mapping[str, Row]
    links: Mapping[str, str]
    ledger: int


@dataclass
class Judge:
    """Looks on. left: the target as the last run left it; touched: parts of target assets that people changed since
    they were linked; wrong: what must not be."""

    source: Tenant
    target: Tenant
    state: Path
    marker: str
    links: Mapping[str, str] = field(default_factory=dict)
    left: dict[str, Flat] = field(default_factory=dict)
    touched: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    named: dict[str, set[tuple[str, str]]] = field(default_factory=lambda: defaultdict(set))
    wrong: list[str] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)

    def before(self, links: Mapping[str, str]) -> Before:
        """To be called when a run begins; notes what people did at the target."""
        source, target = ({row["id"]: row for row in side.assets} for side in (self.source, self.target))
        for key, row in target.items():
            now, last = flat(row), self.left.get(key)
            if last is not None:
                self.touched[key] |= {path for path in {*now, *last} if now.get(path) != last.get(path)}
        return Before(source, target, links, self._ask("SELECT coalesce(max(seq), 0) FROM ledger")[0][0])

    def after(self, before: Before, report: Report | None, cap: str, *, lifted: bool) -> None:
        """To be called when a run is through."""
        self.links = before.links
        target = {row["id"]: row for row in self.target.assets}
        if {row["id"]: row for row in self.source.assets} != before.source:
            self.wrong.append("the source was written to")
        self.wrong += [f"{key} is no longer at the target" for key in before.target.keys() - target.keys()]
        gone = [key for key in _living(before.target) if target.get(key, {}).get("status") == TRASH]
        most = len(before.links) * float(cap.rstrip("%")) / 100
        if len(gone) > most and not lifted:
            self.wrong.append(f"{len(gone)} of {len(before.links)} were removed, more than {cap}")
        self.seen["removed"] += len(gone)
        told = self._told(before.ledger)
        for key, row in target.items():
            if key in self.left and key in before.target:
                self._look(key, (self.left[key], flat(before.target[key]), flat(row)), before, told)
        self.left = {key: flat(row) for key, row in target.items()}
        self.wrong += [f"twice at the target: {key}" for key in self._duplicates(target)]
        for asset, losses in self._ask("SELECT asset, losses FROM work"):
            self.named[asset] |= {(loss["path"], loss["rule"]) for loss in json.loads(losses) or ()}

    def _look(self, key: str, states: tuple[Flat, Flat, Flat], before: Before, told: Mapping[str, set[str]]) -> None:
        """Nothing that people changed at the target is written over without a word."""
        last, found, now = states
        asset = before.links.get(key, key)
        edited = {path for path in {*found, *last} if found.get(path) != last.get(path)}
        if now["status"] == {TRASH} != found["status"] and edited:
            self.wrong.append(f"{key} was changed at the target and removed: {sorted(edited)}")
            return
        for path in sorted(edited):
            was, theirs, then = (each.get(path, frozenset()) for each in (last, found, now))
            lost = added(path, was, theirs) - then if path in SETS else theirs != then
            if lost and theirs != then and path not in told.get(asset, ()):
                self.wrong.append(
                    f"{asset} -> {key} {path}: {sorted(was)}, changed at the target to {sorted(theirs)}, "
                    f"became {sorted(then)} without a word: {self._writes(asset, before.ledger)}"
                )

    def _told(self, after: int) -> dict[str, set[str]]:
        """Parts of which conflicts were settled or values repaired, by asset, since that row of the ledger."""
        found = defaultdict[str, set[str]](set)
        for asset, operation, detail in self._ask(
            "SELECT asset, operation, detail FROM ledger WHERE seq > ? AND "
            "(operation LIKE 'conflict:%' OR operation LIKE 'repair:%')",
            after,
        ):
            data = json.loads(detail)
            paths = data.get("repaired", ()) if operation.startswith("repair:") else data
            found[asset] |= {part_of(path) for path in paths}
            found[asset] |= RIGHTS if "rights" in found[asset] else frozenset()
        return found

    def last_writes(self) -> list[tuple[Any, ...]]:
        """The end of the ledger."""
        return self._ask("SELECT run, asset, operation, changes, detail FROM ledger ORDER BY seq DESC LIMIT 5")

    def _writes(self, asset: str, after: int) -> list[tuple[Any, ...]]:
        question = "SELECT operation, changes FROM ledger WHERE seq > ? AND asset = ?"
        return self._ask(question, after, asset)

    def _duplicates(self, target: Mapping[str, Row]) -> Iterable[str]:
        marked = [row for row in target.values() if row["status"] != TRASH and row["fields"].get(self.marker)]
        return duplicates(marked, self.marker)

    # -- at the end ----------------------------------------------------------------------------------------------------

    def at_rest(self, verdict: Mapping[str, Any], parked: Sequence[Row], conflicts: Sequence[Row]) -> None:
        """Each difference between the two libraries has a name, and a cause that is not the job itself."""
        causes = defaultdict[str, set[str]](set)
        for row in parked:
            causes[row["asset"]].add(row["cause"])
            if row["cause"] not in CAUSES and not self._is_about_the_gone(row):
                self.wrong.append(f"parked: {row}")
            self.seen[f"parked: {row['cause']}"] += 1
        gone = {asset for (asset,) in self._ask("SELECT source FROM deletion")}
        self.seen["conflicts"] += len(conflicts)
        for part in ("differences", "extras"):
            for source, target, difference in verdict[part]:
                path = part_of(difference["path"])
                if why := self._reason(source, target, path, causes, gone):
                    self.seen[f"{part} {path.partition('.')[0]}: {why}"] += 1
                else:
                    self.wrong.append(f"{part}: {source} -> {target} {difference}, named: {self.named[source]}")
        if verdict["unaccounted"]:
            self.wrong.append(f"{verdict['unaccounted']} assets are neither moved nor parked")

    def _is_about_the_gone(self, row: Row) -> bool:
        """Whether a membership or relation cannot be written because somebody removed the asset at the target."""
        if not row["cause"].endswith(" refused"):
            return False
        living = {each["id"] for each in self.target.assets if each["status"] != TRASH}
        return not {target for target, source in self.links.items() if source == row["asset"]} <= living

    def _reason(self, source: str, target: str, path: str, causes: Mapping[str, set[str]], gone: set[str]) -> str:
        """Why both sides may differ there; empty for no reason."""
        if causes.get(source):
            return f"parked: {', '.join(sorted(causes[source]))}"
        if source in gone:
            return "in its grace period"
        if path in self.touched[target]:
            return "touched"
        if path == "asset" and "status" in self.touched[target]:
            return "moved to the trash"
        rules = {rule for told, rule in self.named[source] if part_of(told) == path and rule != DRIFT}
        return ", ".join(sorted(rules))

    def _ask(self, question: str, *values: Any) -> list[tuple[Any, ...]]:
        if not self.state.exists():
            return [(0,)] if "ledger" in question and "max" in question else []
        with closing(sqlite3.connect(self.state)) as connection:
            return connection.execute(question, values).fetchall()


def _living(rows: Mapping[str, Row]) -> Iterator[str]:
    return (key for key, row in rows.items() if row["status"] != TRASH)
