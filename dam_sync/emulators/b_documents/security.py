"""Rights: local and inherited entries, and who may do what (wire B 5.3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dam_sync.emulators.b_documents.records import Ace, Document, Refusal, User
from dam_sync.emulators.b_documents.repository import Repository
from dam_sync.emulators.kit.environment import Json

_READ = frozenset(
    {"Read", "Browse", "ReadProperties", "ReadChildren", "ReadLifeCycle", "ReadVersion", "RestrictedRead"}
)
_WRITE = frozenset({"Write", "WriteProperties", "AddChildren", "RemoveChildren", "WriteLifeCycle", "WriteVersion"})
_REMOVE = frozenset({"Remove", "RemoveChildren"})
IMPLIES: Mapping[str, frozenset[str]] = {
    "Browse": frozenset({"Browse"}),
    "RestrictedRead": frozenset({"RestrictedRead", "Browse"}),
    "Read": _READ,
    "ReadCanCollect": _READ | {"ReadCanCollect"},
    "ReadRemove": _READ | _REMOVE | {"ReadRemove"},
    "Write": _WRITE,
    "ReadWrite": _READ | _WRITE | _REMOVE | {"ReadWrite", "Version", "ReadCanCollect"},
    "Version": frozenset({"Version", "WriteVersion"}),
    "Remove": _REMOVE,
    "AddChildren": frozenset({"AddChildren"}),
    "WriteSecurity": frozenset({"WriteSecurity"}),
    "WriteProperties": frozenset({"WriteProperties"}),
    "CanAskForPublishing": frozenset({"CanAskForPublishing"}),
}


def known_permission(name: str) -> bool:
    """Whether a permission of that name exists."""
    return name == "Everything" or name in IMPLIES


def entries(repository: Repository, doc: Document) -> Iterator[tuple[str, Ace]]:
    """(list, entry) in the order they are heeded: own ones, then those above as `inherited`."""
    live = repository.live_of(doc)
    if live is None:
        return
    for name, aces in live.acls.items():
        for ace in aces:
            yield name, ace
    for parent in repository.above(live):
        for aces in parent.acls.values():
            for ace in aces:
                yield "inherited", ace


def may(repository: Repository, user: User, doc: Document, permission: str) -> bool:
    """Whether a user holds a right on a document; the first entry that speaks of it decides."""
    return user.administrator or granted(repository, user.principals, doc, permission, repository.stamp())


def granted(repository: Repository, principals: frozenset[str], doc: Document, permission: str, now: str) -> bool:
    """Whether somebody with these names holds a right at that moment."""
    for _, ace in entries(repository, doc):
        heeded = ace.username in principals and ace.status(now) == "effective"
        if heeded and (ace.permission == "Everything" or permission in IMPLIES.get(ace.permission, ())):
            return ace.granted
    return False


def require(repository: Repository, user: User, doc: Document, permission: str) -> None:
    """Raises 403."""
    if not may(repository, user, doc, permission):
        raise Refusal(403, f"Privilege '{permission}' is not granted to '{user.name}'")


def lists(repository: Repository, doc: Document, key: str) -> list[Json]:
    """All lists as JSON; `key` is `aces` in the enricher and `ace` in `@acl` (wire B 3)."""
    now = repository.stamp()
    found: dict[str, list[Json]] = {}
    for name, ace in entries(repository, doc):
        found.setdefault(name, []).append(_ace(ace, now, external=key == "aces"))
    return [{"name": name, key: aces} for name, aces in found.items()]


def _ace(ace: Ace, now: str, *, external: bool) -> Json:
    more: dict[str, Json] = {"externalUser": False} if external else {}
    return {
        "id": ace.id, "username": ace.username, **more, "permission": ace.permission, "granted": ace.granted,
        "creator": ace.creator, "begin": ace.begin, "end": ace.end, "status": ace.status(now),
    }  # fmt: skip
