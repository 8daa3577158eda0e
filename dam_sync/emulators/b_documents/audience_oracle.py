"""Who sees the documents of a server.

Readings: an ordinary user is in the group `members` and no other, and sees what the effective rights let them read
(wire B 5.3), on the document itself or through a proxy of it. Life cycle states, `dc:issued` and `dc:expired` hide
nothing ("no built-in effect on access", wire B 6.5); what is in the trash is seen by nobody. Nothing is public, since
every way to the bytes asks who calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from dam_sync.emulators.b_documents.dump import is_asset, proxies_of
from dam_sync.emulators.b_documents.records import Document, instant, moment_of
from dam_sync.emulators.b_documents.repository import Repository
from dam_sync.emulators.b_documents.security import entries, granted
from dam_sync.emulators.kit.audience import NOBODY, USER, Audience, group

ORDINARY = frozenset({"Everyone", "members"})
BUILT_IN = frozenset({"administrators", "members", "powerusers"})
_INSTANT_AFTER = timedelta(milliseconds=1)  # an entry still holds at its end


class AudienceOracle:
    """Viewers `user`, `group:NAME` of each group of the tenant's own, `person:NAME` of each user named in a right."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository

    def assets(self) -> Iterable[str]:
        """The ids of all assets."""
        return [doc.uid for doc in self._repository.docs.values() if is_asset(self._repository, doc)]

    def viewers(self, asset: str, at: datetime) -> frozenset[str]:
        """Those who may read the document or a proxy of it."""
        doc = self._repository.docs.get(asset)
        if doc is None or doc.trashed or not is_asset(self._repository, doc):
            return NOBODY
        shown, now = [each for each in self._shown(doc) if not each.trashed], instant(at)
        return frozenset(
            viewer
            for viewer, principals in self._people(shown)
            if any(granted(self._repository, principals, each, "Read", now) for each in shown)
        )

    def turns(self, asset: str) -> Iterable[datetime]:
        """Where rights begin and end."""
        doc = self._repository.docs.get(asset)
        if doc is None:
            return
        for shown in self._shown(doc):
            for _, ace in entries(self._repository, shown):
                if ace.begin:
                    yield moment_of(ace.begin)
                if ace.end:
                    yield moment_of(ace.end) + _INSTANT_AFTER

    def _shown(self, doc: Document) -> list[Document]:
        return [doc, *(each for each in proxies_of(self._repository, doc) if each.parent)]

    def _people(self, shown: list[Document]) -> Iterator[tuple[str, frozenset[str]]]:
        people = self._repository.people
        named = {ace.username for each in shown for _, ace in entries(self._repository, each)}
        yield USER, ORDINARY
        for name in people.groups:
            if name not in BUILT_IN or (name == "powerusers" and name in named):
                yield group(name), ORDINARY | {name}
        for name in named - people.groups.keys():
            user = people.users.get(name)
            if user is not None and not user.administrator:
                yield f"person:{name}", user.principals


class Watch:
    """Says which assets a commit may have opened or closed."""

    def __init__(self, repository: Repository, audience: Audience) -> None:
        self._repository, self._audience = repository, audience
        self._proxied: dict[str, str] = {}  # the live document of each proxy, even after it is gone

    def committed(self, uid: str) -> None:
        """The document itself, all below it, or what it is a proxy of."""
        doc = self._repository.docs.get(uid)
        if doc is not None and doc.is_proxy:
            self._proxied[uid] = doc.live
        self._audience.changed(self._proxied.get(uid, uid))
        if doc is not None and uid in self._repository.children:
            below = self._repository.below(doc)
            self._audience.changed(*(self._proxied.get(each.uid, each.uid) for each in below))
