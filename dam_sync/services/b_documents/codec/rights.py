"""Who may read a document of service B: its access entries, inherited ones included. Pure functions.

Entries are heeded in order, those of the document before inherited ones, and the first that names somebody decides;
`Everyone / Everything / denied` ends the list: inheritance is blocked (wire B 5.3, assumption 25).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from dam_sync.http.interpreting import interprets_response
from dam_sync.model.asset import Loss, digest_of
from dam_sync.model.audience import Restriction, RestrictionKind
from dam_sync.model.values import Json
from dam_sync.services.b_documents import facts

HIDDEN = "the service does not return who may read it"
UNREADABLE = "an access entry that cannot be read"


@dataclass(frozen=True, slots=True)
class Access:
    """The result of the entries. readers: who may read without a time limit; empty: everybody. for_a_time: who may from
    a day on, or until one. changers: who may do more than read. denied: who is refused before others are admitted.
    inherited: readers whom only the folder admits."""

    readers: frozenset[str] = frozenset()
    for_a_time: frozenset[str] = frozenset()
    changers: Mapping[str, str] = field(default_factory=dict)
    denied: frozenset[str] = frozenset()
    inherited: frozenset[str] = frozenset()

    @property
    def restrictions(self) -> frozenset[Restriction]:
        """Restrictions besides groups. Somebody who may read for a limited time does not count as a reader."""
        return frozenset(Restriction(RestrictionKind.DENIED, name) for name in self.denied)

    def losses(self) -> Iterator[Loss]:
        """Rights that an asset cannot carry."""
        if self.for_a_time:
            yield Loss("groups", "for a time only", ", ".join(sorted(self.for_a_time)))
        if self.changers:
            changers = (f"{name}: {permission}" for name, permission in sorted(self.changers.items()))
            yield Loss("groups", "right to change not carried", ", ".join(changers))


@dataclass(slots=True)
class _Reading:
    """Processes entries in order."""

    everybody: frozenset[str]
    readers: set[str] = field(default_factory=set)
    for_a_time: set[str] = field(default_factory=set)
    changers: dict[str, str] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    denied: set[str] = field(default_factory=set)  # those of `refused` behind whom somebody is let in

    @interprets_response
    def take(self, ace: Json) -> bool:
        """Process an entry; whether the entries after it count."""
        name, permission = (ace.get("username"), ace.get("permission")) if isinstance(ace, dict) else (None, None)
        if not (isinstance(name, str) and isinstance(permission, str)) or not isinstance(ace.get("granted"), bool):
            self.denied.add(UNREADABLE)
            return True
        if ace.get("status") == "archived" or name in self.refused:
            return True
        if not ace["granted"]:
            return self._refuse(name, permission)
        if permission in facts.CHANGES:
            self.changers.setdefault(name, permission)
        if permission in facts.READS:
            self.denied.update(self.refused)
            timed = bool(ace.get("begin") or ace.get("end")) or ace.get("status") == "pending"
            (self.for_a_time if timed else self.readers).add(name)
        return True

    def _refuse(self, name: str, permission: str) -> bool:
        if permission not in facts.READS:
            return True
        if name in self.everybody:
            return False
        if name not in self.readers:
            self.refused.append(name)
        return True


@interprets_response
def access_of(row: Json, everybody: frozenset[str], user: str) -> Access:
    """Who may read a document. everybody: names that stand for all users. user: of the job, who is left out together
    with administrators, unless nobody else may read."""
    lists = lists_of(row)
    if lists is None:
        return Access(denied=frozenset({HIDDEN}))
    reading = _Reading(everybody)
    all(reading.take(ace) for aces in lists for ace in aces)
    ours = {facts.ADMINISTRATORS, user}
    named = reading.readers - ours
    if named & everybody:
        named = set()
    elif not named:
        named = reading.readers or {facts.ADMINISTRATORS}
    return Access(
        frozenset(named),
        frozenset(reading.for_a_time - reading.readers - ours),
        {name: permission for name, permission in reading.changers.items() if name not in ours},
        frozenset(reading.denied - ours),
        frozenset(named - set(_names(_local(row)))),
    )


def _names(aces: Iterable[Json]) -> Iterator[str]:
    return (ace["username"] for ace in aces if isinstance(ace, dict) and isinstance(ace.get("username"), str))


@interprets_response
def strangers(row: Json, known: frozenset[str]) -> frozenset[str]:
    """Who may read, now or at some time, besides these and administrators; `HIDDEN` where that is unknown."""
    lists = lists_of(row)
    if lists is None:
        return frozenset({HIDDEN})
    reading = _Reading(frozenset({facts.EVERYONE}))
    all(reading.take(ace) for aces in lists for ace in aces)
    unread = {UNREADABLE} & reading.denied
    return frozenset(reading.readers | reading.for_a_time | unread) - known - {facts.ADMINISTRATORS}


@interprets_response
def inherited_from(row: Json) -> str:
    """A digest of what documents in a folder inherit; empty if the service does not return it."""
    lists = lists_of(row)
    if lists is None:
        return ""
    parts = ("username", "permission", "granted", "begin", "end", "status")
    return digest_of(
        [[ace.get(part) if isinstance(ace, dict) else "" for part in parts] for aces in lists for ace in aces]
    )


@interprets_response
def lists_of(row: Json) -> list[list[Json]] | None:
    """The entries by list, inherited ones last; None if the service returns none. The enricher writes `acls` and
    `aces`, `@acl` writes `acl` and `ace` (wire B 3)."""
    lists = _lists(row)
    return None if lists is None else [_entries(acl) for acl in sorted(lists, key=_is_inherited)]


@interprets_response
def local_grants(row: Json) -> list[Json]:
    """The granting entries of the document's own list; inherited ones are computed and never written (wire B 5.3)."""
    return [ace for ace in _local(row) if isinstance(ace, dict) and ace.get("granted") is True and ace.get("id")]


@interprets_response
def is_blocked(row: Json) -> bool:
    """Whether the document inherits nothing."""
    blocked = (facts.EVERYONE, "Everything", False)
    grants = [ace for ace in _local(row) if isinstance(ace, dict)]
    return any((ace.get("username"), ace.get("permission"), ace.get("granted")) == blocked for ace in grants)


def _local(row: Json) -> list[Json]:
    return [ace for acl in _lists(row) or () if not _is_inherited(acl) for ace in _entries(acl)]


def _lists(row: Json) -> list[Json] | None:
    parameters = row.get("contextParameters")
    rows = parameters.get("acls") if isinstance(parameters, dict) else row.get("acl")
    return rows if isinstance(rows, list) else None


def _is_inherited(acl: Json) -> bool:
    return isinstance(acl, dict) and acl.get("name") == "inherited"


def _entries(acl: Json) -> list[Json]:
    entries = acl.get("aces", acl.get("ace")) if isinstance(acl, dict) else None
    return entries if isinstance(entries, list) else [acl]
