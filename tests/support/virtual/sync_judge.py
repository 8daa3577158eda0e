"""Whether a job kept two edited libraries in step: by the ground truth of both services and what the job says."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from dam_sync.model.capabilities import MembershipWrite
from dam_sync.model.conflict import CONFLICT
from dam_sync.model.journal_names import is_repair
from dam_sync.model.service import TRASH
from dam_sync.services import discover
from tests.support.jobs.tenants import duplicates
from tests.support.jobs.unreported_losses import texts
from tests.support.virtual.state_location import ask, is_there
from tests.support.virtual.universe import Tenant

Row: TypeAlias = Mapping[str, Any]
Flat: TypeAlias = Mapping[str, frozenset[str]]
Names: TypeAlias = Mapping[tuple[str, str], str]
SETS = frozenset({"tags", "groups", "placements", "relations", "attachments", "versions"})
RIGHTS = frozenset({"release", "expiry", "groups"})
CAUSES = frozenset({"conflict", "changed at the target", "gone", "in the trash of the target"})
"""What people did that a run does not undo by itself."""
DRIFT, RENAMED = "changed at the target", "renamed at the target"


def flat(row: Row, *, ids: bool = True) -> Flat:
    """An asset by paths as reports name them, values as texts. ids: terms and containers by theirs, so that one with
    another name is the same. One in the trash has the files that it will have again."""
    rights, gone = row["rights"], row["status"] == TRASH
    versions = [each for each in row["versions"] if gone or each.get("status") != TRASH]
    return {
        **_fields(row, ids=ids),
        "tags": frozenset(row["tags"]),
        "groups": frozenset(rights.get("groups") or ()),
        "placements": frozenset(map(_place, row["placements"])),
        "relations": frozenset(f"{each['kind']} {each['target']}" for each in row["relations"]),
        "attachments": frozenset(each["digests"].get("sha256", "") for each in row["attachments"]),
        "file": frozenset({versions[-1]["digests"]["sha256"]} if versions else ()),
        "versions": frozenset(each["digests"]["sha256"] for each in versions[:-1]),
        "filename": frozenset({row["filename"]}),
        "status": frozenset({row["status"]}),
        "release": texts(rights.get("release_at")),
        "expiry": texts(rights.get("expires_at")),
    }


def flat_draft(draft: Row, *, ids: bool = True) -> Flat:
    """What a run wants at the target, in the same form, without memberships, which are by id."""
    rights = draft["rights"]
    return {
        **_fields(draft, ids=ids),
        "filename": frozenset({draft["filename"]}),
        "status": frozenset({draft["status"]}),
        "release": texts(rights.get("release_at")),
        "expiry": texts(rights.get("expires_at")),
    }


def written_by(draft: Row) -> tuple[Flat, Flat]:
    """What a run wants at the target, terms by id and by name. Whoever puts back what somebody else took away changes
    nothing for the job, and adds nothing."""
    by_id, by_name = ({**flat_draft(draft, ids=ids), **sets_of_draft(draft)} for ids in (True, False))
    return by_id, by_name


def sets_of_draft(draft: Row) -> Flat:
    """Members of sets that a run wants at the target."""
    return {
        "tags": frozenset(draft["tags"]),
        "groups": frozenset(draft["rights"].get("groups") or ()),
        "placements": frozenset(map(_place, draft["placements"])),
    }


def _place(row: Row) -> str:
    return f"{row['kind']} {row.get('id') or row['path']}"


def _fields(row: Row, *, ids: bool) -> Flat:
    fields = {f"fields.{key}": _values(_by_id(value) if ids else value) for key, value in row["fields"].items()}
    return {path: values for path, values in fields.items() if values}


def _values(value: Any) -> frozenset[str]:
    """As texts; unlike in a comparison of two services, `false` is a value that people can take away."""
    return frozenset({"false"}) if value is False else texts(value)


def _by_id(value: Any) -> Any:
    """A value with the ids of its terms instead of their names."""
    if isinstance(value, list):
        return [_by_id(each) for each in value]
    named = isinstance(value, Mapping) and "label" in value and value.get("id")
    return str(value["id"]) if named else value


def names_of(rows: Mapping[str, Row]) -> Names:
    """The names of terms and containers that have ids, by the field or kind and the id, as far as assets have them."""
    found: dict[tuple[str, str], str] = {}
    for row in rows.values():
        found |= {(each["kind"], str(each["id"])): each["path"][-1] for each in row["placements"] if each.get("id")}
        for key, value in row["fields"].items():
            terms = value if isinstance(value, list) else [value]
            held = (each for each in terms if isinstance(each, Mapping) and "label" in each and each.get("id"))
            found |= {(key, str(each["id"])): each["label"] for each in held}
    return found


def by_new_names(asset: Flat, names: Mapping[str, str]) -> Flat:
    """An asset as it is after terms got these names, which changes no asset."""
    return {
        path: frozenset(names.get(text, text) for text in values) if path.startswith("fields.") else values
        for path, values in asset.items()
    }


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
    """What there was when a run began. links: source ids by target id; wrote: what the job had written, by
    source asset; known: ids of terms and containers of the target that stand for some of the source; partial: source
    assets whose create was begun."""

    source: Mapping[str, Row]
    target: Mapping[str, Row]
    links: Mapping[str, str]
    wrote: Mapping[str, tuple[Flat, Flat]]
    known: frozenset[str]
    partial: frozenset[str]
    ledger: int


@dataclass
class Judge:
    """Looks on. left: the target as the last run left it, names: of its terms and containers; given: names that people
    gave them there, after the former one, as far as assets show it; renamed: all such names; drafts: what it wanted
    there, by source asset. touched: parts of target assets that people changed and no run wrote since; ever: the same
    without that. both: those of them that the source changed afterwards, by source asset. restored: target assets that
    people took out of the trash. named: what the state said of source assets, as paths and rules. wrong: what must not
    be; seen: what else was found."""

    source: Tenant
    target: Tenant
    job: Path
    marker: str
    drift: str = "tell"  # the policies
    conflicts: str = "park"
    links: Mapping[str, str] = field(default_factory=dict)
    drafts: dict[str, Flat] = field(default_factory=dict)
    ever: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    both: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    left: dict[str, Flat] = field(default_factory=dict)
    names: Names = field(default_factory=dict)
    given: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    renamed: set[str] = field(default_factory=set)
    touched: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    restored: set[str] = field(default_factory=set)
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
                self.ever[key] |= self.touched[key]
                self._note_restored(key, last, now)
        for key in self.left.keys() - target.keys():
            self.touched[key].add("status")  # people deleted it permanently
        names = names_of(target)
        for named in names.keys() & self.names.keys():
            if names[named] != self.names[named]:
                former, _ = self.given.get(named, (self.names[named], ""))
                self.given[named] = (former, names[named])
        drafts = self._ask("SELECT source, draft FROM link")
        wrote = {asset: written_by(json.loads(draft)) for asset, draft in drafts}
        known = frozenset(key for (key,) in self._ask("SELECT target FROM counterpart"))
        begun = self._ask("SELECT asset FROM work WHERE EXISTS (SELECT 1 FROM step WHERE scope = 'asset:' || asset)")
        partial = frozenset(asset for (asset,) in begun) - wrote.keys()
        ledger = self._ask("SELECT coalesce(max(seq), 0) FROM ledger")[0][0]
        return Before(source, target, links, wrote, known, partial, ledger)

    def _note_restored(self, key: str, last: Flat, now: Flat) -> None:
        """An asset that the job had removed, or people themselves, and that people took out of the trash."""
        if TRASH in last["status"] and TRASH not in now["status"]:
            self.restored.add(key)

    def _note_both(self, target: Mapping[str, Row]) -> None:
        """Parts that the source changed although people had changed them at the target. A term with another name is the
        same one; that of a service without ids has another name long before a draft says so."""
        names = self._renamed_terms(0)
        for asset, key, draft in self._ask("SELECT source, target, draft FROM link"):
            wanted, last = json.loads(draft), by_new_names(self.drafts.get(asset, {}), names)
            now = by_new_names(flat_draft(wanted), names)
            changed = {path for path in {*now, *last} if now.get(path) != last.get(path)} if last else set()
            self.both[asset] |= changed & self.touched[key]
            for ids in (True, False):
                there, shown = flat(target[key], ids=ids) if key in target else {}, flat_draft(wanted, ids=ids)
                self.both[asset] -= {path for path in self.both[asset] if there.get(path) == shown.get(path)}
            self.drafts[asset] = now

    def after(self, before: Before, cap: str, *, lifted: bool) -> None:
        """To be called when a run is through."""
        self.links = {**dict(self._ask("SELECT target, source FROM link")), **before.links}
        target = {row["id"]: row for row in self.target.assets}
        if {row["id"]: row for row in self.source.assets} != before.source:
            self.wrong.append("the source was written to")
        self.wrong += [f"{key} is no longer at the target" for key in before.target.keys() - target.keys()]
        gone = [key for key in _living(before.target) if target.get(key, {}).get("status") == TRASH]
        most = len(before.links) * float(cap.rstrip("%")) / 100
        if len(gone) > most and not lifted:
            self.wrong.append(f"{len(gone)} of {len(before.links)} were removed, more than {cap}")
        self.seen["removed"] += len(gone)
        told, names = self._told(before.ledger), self._renamed_terms(before.ledger)
        self._note_both(target)
        for key, row in target.items():
            if key in self.left and key in before.target:
                last, found = (by_new_names(each, names) for each in (self.left[key], flat(before.target[key])))
                self._look(key, (last, found, flat(row)), before, told)
        self._look_at_names(names_of(before.target), names_of(target), before)
        self.left = {key: flat(row) for key, row in target.items()}
        self.wrong += [f"twice at the target: {key}" for key in self._duplicates(target)]
        for asset, losses in self._ask("SELECT asset, losses FROM work"):
            self.named[asset] |= {(loss["path"], loss["rule"]) for loss in json.loads(losses) or ()}

    def _look(self, key: str, states: tuple[Flat, Flat, Flat], before: Before, told: Mapping[str, set[str]]) -> None:
        """Nothing that people changed at the target is written over silently."""
        last, found, now = states
        asset = before.links.get(key) or self.links.get(key, key)
        ours = before.wrote.get(asset, ({}, {}))
        edited = {path for path in {*found, *last} if found.get(path) != last.get(path)}
        edited -= {"status"} if {TRASH} in (last["status"], found["status"]) or asset in before.partial else set()
        if now["status"] == {TRASH} != found["status"] and edited:
            kept = {path for path in edited if self._counts(last, found, path)}
            seen = {path for path in kept if not self._is_ours(found, ours, path)}
            self.wrong += [f"{key} was changed at the target and removed: {sorted(seen)}"] if seen else []
            return
        for path in {*found, *now} - SETS:
            if found.get(path) != now.get(path):  # what stands there now is the job's again
                self.touched[key].discard(path)
                self.both[asset].discard(path)
        for path in sorted(edited):
            was, theirs, then = (each.get(path, frozenset()) for each in (last, found, now))
            wrote = [each.get(path, frozenset()) for each in ours]
            lost = theirs - was.union(*wrote) - then if path in SETS else theirs not in wrote
            if lost and theirs != then and path not in told.get(asset, ()):
                self.wrong.append(
                    f"{asset} -> {key} {path}: {sorted(was)}, changed at the target to {sorted(theirs)}, "
                    f"became {sorted(then)} silently: {self._writes(asset, before.ledger)}"
                )

    @staticmethod
    def _is_ours(found: Flat, ours: tuple[Flat, Flat], path: str) -> bool:
        """Whether people gave it the value that the job wrote there last."""
        return path not in SETS and found.get(path) in [each.get(path, frozenset()) for each in ours]

    def _counts(self, last: Flat, found: Flat, path: str) -> bool:
        """Whether a change there keeps an asset from being removed (see `help jobs`): of relations, and of containers
        that list their members themselves, additions do, if any run reads them; of containers that an asset cannot
        leave, nothing."""
        was, theirs = (each.get(path, frozenset()) for each in (last, found))
        if path == "relations":
            return bool(theirs - was)
        if path != "placements":
            return True
        able = discover()[self.target.kind].capabilities
        how = {each: able.membership(each.partition(" ")[0]) for each in was ^ theirs}
        more = {each for each in theirs - was if how[each] is MembershipWrite.IN_BULK and able.members_by_asset}
        return bool(more) or MembershipWrite.WITH_ASSET in how.values()

    def _told(self, after: int) -> dict[str, set[str]]:
        """Parts of which conflicts were resolved or values repaired, by asset, since that row of the ledger."""
        found = defaultdict[str, set[str]](set)
        for asset, operation, detail in self._ask(
            "SELECT asset, operation, detail FROM ledger WHERE seq > ? AND "
            "(operation LIKE 'conflict:%' OR operation LIKE '%repair:%')",
            after,
        ):
            data = json.loads(detail)
            paths = data.get("repaired", ()) if is_repair(operation) else data
            found[asset] |= {part_of(path) for path in paths}
            found[asset] |= RIGHTS if "rights" in found[asset] else frozenset()
        return found

    def _renamed_terms(self, after: int) -> dict[str, str]:
        """New names by old ones, of terms that the job renamed since that row of the ledger."""
        asked = "SELECT changes FROM ledger WHERE seq > ? AND operation LIKE 'rename_term:%' ORDER BY seq"
        rows = self._ask(asked, after)
        renamed = [json.loads(changes).get("term") for (changes,) in rows]
        found: dict[str, str] = {}
        for old, new in ((each[0]["label"], each[1]["label"]) for each in renamed if each):
            found = {**{first: new if last == old else last for first, last in found.items()}, old: new}
        return {old: new for old, new in found.items() if old != new}

    def _look_at_names(self, found: Names, now: Names, before: Before) -> None:
        """A name that people gave at the target stays, unless the policy has that of the source; nothing else is made
        with the former name for what the job knows to have had it."""
        for key in found.keys() & now.keys() & self.given.keys():
            if now[key] != found[key]:
                if self.conflicts != "source" and self.drift != "repair":
                    self.wrong.append(f"{key} was renamed at the target to {found[key]}, and became {now[key]}")
                del self.given[key]
        former = {name: key for key, (name, _) in self.given.items() if key in now and key[1] in before.known}
        made = (
            "SELECT operation FROM ledger WHERE seq > ? AND (operation LIKE 'container:%' OR operation LIKE 'term:%')"
        )
        for (operation,) in self._ask(made, before.ledger):
            first, kind, path = operation.split(":", 2)
            same = former.get(path.rpartition("/")[2])
            if same is not None and (first == "term" or same[0] == kind) and not self._stands(same[1]):
                self.wrong.append(f"{operation} was made beside {same}, which people renamed to {self.given[same][1]}")
        self.names = now

    def _stands(self, target: str) -> bool:
        """Whether it still stands for something of the source: what is made for another with its name is not it."""
        return bool(self._ask("SELECT 1 FROM counterpart WHERE target = ?", target))

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
                if why := self._reason(source, target, difference, causes, gone):
                    self.seen[f"{part} {part_of(difference['path']).partition('.')[0]}: {why}"] += 1
                else:
                    told = f"{part}: {source} -> {target} {difference}, named: {sorted(self.named[source])}"
                    touched = f"touched: {sorted(self.touched[target])}, both: {sorted(self.both[source])}"
                    self.wrong.append(f"{told}, {touched}")
        if verdict["unaccounted"]:
            self.wrong.append(f"{verdict['unaccounted']} assets are neither moved nor parked")

    def _is_about_the_gone(self, row: Row) -> bool:
        """Whether a membership or relation cannot be written because somebody removed the asset at the target."""
        if not row["cause"].endswith(" refused"):
            return False
        living = {each["id"] for each in self.target.assets if each["status"] != TRASH}
        twins = {source: target for target, source in self.links.items()}
        others = [other for (other,) in self._ask("SELECT other FROM relation WHERE owner = ?", row["asset"])]
        return any(twins.get(each) not in living for each in (row["asset"], *others))

    def _reason(self, source: str, target: str, found: Row, causes: Mapping[str, set[str]], gone: set[str]) -> str:
        """Why source and target may differ there; empty for no reason."""
        path = part_of(found["path"])
        if found["pattern"] == RENAMED and self._is_renamed(found["found"]):
            return RENAMED
        if causes.get(source):
            return f"parked: {', '.join(sorted(causes[source]))}"
        if source in gone:
            return "in its grace period"
        return self._extra(target, path) if found["extra"] else self._lack(source, target, path, found["expected"])

    def _is_renamed(self, name: str) -> bool:
        """Whether people gave something at the target this name, or what is above it."""
        return bool(self.renamed.intersection(name.split("/")))

    def _extra(self, target: str, path: str) -> str:
        """Why the target may have more."""
        if path in self.ever[target]:
            return "added"
        if path == "asset" and target in self.restored:
            return "taken out of the trash"
        if path == "release" and self.target.kind == "e_profiles":
            return "wire E 6.5: without a release date nobody sees it, so the job releases it now"
        if path == "groups" and "placements" in self.ever[target] and self.target.kind == "b_documents":
            return "wire B 5.3: permissions come from the folder, too, and people moved it to another one"
        return ", ".join(sorted(self._rules(self.links.get(target, ""), path) - {DRIFT}))

    def _lack(self, source: str, target: str, path: str, expected: str) -> str:
        """Why the target may lack something or have something else."""
        if path == "asset" and "status" in self.touched[target]:
            return "moved to the trash"
        if path == "relations" and self._gone_in(expected):
            return "its other end was removed at the target"
        rules = self._rules(source, path)
        if path in self.touched[target]:
            lost = path in self.both[source] and path not in SETS and not rules
            return "" if lost or not (rules or self.drift == "ignore") else "touched"
        return ", ".join(sorted(rules - {DRIFT}))

    def _gone_in(self, text: str) -> bool:
        living = {row["id"] for row in self.target.assets if row["status"] != TRASH}
        return any(key in text for key in self.links.keys() - living)

    def _rules(self, source: str, path: str) -> set[str]:
        """What the state said of this part: losses, drift, and conflicts that were resolved."""
        found = set()
        for told, rule in self.named[source]:
            about, said = rule.split(" ")[0] if told == CONFLICT else told, CONFLICT if told == CONFLICT else rule
            part = part_of(about)
            if part == path or (part == "rights" and path in RIGHTS) or (part == "file" and path == "versions"):
                found.add(said)
        return found

    def _ask(self, question: str, *values: Any) -> list[tuple[Any, ...]]:
        if not is_there(self.job):
            return [(0,)] if "ledger" in question and "max" in question else []
        return ask(self.job, question, *values)


def _living(rows: Mapping[str, Row]) -> Iterator[str]:
    return (key for key, row in rows.items() if row["status"] != TRASH)
