"""Lists of allowed values, sections, collections and labels of service C: read and extended."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import replace

from dam_sync.aio.single_flight import KeyedLock, SingleFlight
from dam_sync.http.interpreting import interprets_response, member_text
from dam_sync.model.asset import AssetId, Placement
from dam_sync.model.connector import Context
from dam_sync.model.errors import (
    Conflict,
    ContractBroken,
    DamSyncError,
    InvalidValue,
    NotFound,
    Rejected,
    Unsupported,
)
from dam_sync.model.trees import arranged
from dam_sync.model.values import Json, Term
from dam_sync.model.writes import Membership
from dam_sync.services.c_brandlibrary import facts
from dam_sync.services.c_brandlibrary.codec.envelope import made_of
from dam_sync.services.c_brandlibrary.codec.fields import Key, Keys, is_closed
from dam_sync.services.c_brandlibrary.codec.values import composed, term_of
from dam_sync.services.c_brandlibrary.source.listing import ListingQuery
from dam_sync.services.c_brandlibrary.tenant import BrandLibraryBase

NO_LABELS = frozenset({403, 404})  # wire C 10
LABEL_HINT = "check whether the user of the key may see this label, or remove the label, then run again"
_MOST_LEVELS = 100  # of labels, which nobody has; a longer chain is cut, so that paths are bounded
Places = dict[tuple[str, tuple[str, ...]], Placement]


class BrandLibraryTaxonomy(BrandLibraryBase):
    """Reads before it writes; keeps what it read, and discards it after a failed write."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._containers = SingleFlight(self._all_containers)
        self._turns = KeyedLock()

    # -- lists of allowed values -----------------------------------------------------------------------------------

    async def terms(self, vocabulary: str) -> AsyncIterator[Term]:
        """The list of a key, in its order."""
        key = await self._key(vocabulary, await self._tenant.refresh())
        for text in key.allowed:
            yield term_of(text)

    async def ensure_term(self, vocabulary: str, term: Term) -> Term:
        """The value as the list has it; lists are flat, so parents are ignored. Lists only grow (wire C 5.2)."""
        label = term.label.strip()
        if not label:
            raise InvalidValue(f"an empty value cannot be added to {vocabulary}")
        if label in (await self._key(vocabulary, await self._tenant.keys.get())).allowed:
            return term_of(label)
        async with self._turns.of(vocabulary):
            return await self._add_term(vocabulary, label)

    def learn_term(self, vocabulary: str, term: Term) -> None:
        keys = self._tenant.keys.now
        key = keys.named(vocabulary) if keys is not None else None
        if key is not None and term.label not in key.allowed:
            self._tenant.replace_key(replace(key, allowed=(*key.allowed, term.label)))

    async def _add_term(self, vocabulary: str, label: str) -> Term:
        """The list is read again before it is written: a PUT replaces all of it, including what others added
        meanwhile."""
        for read in (self._tenant.keys.get, self._tenant.refresh):
            key = await self._key(vocabulary, await read())
            if label in key.allowed:
                return term_of(label)
            self._refuse_closed(key, label)
        try:
            kept = await self._put_list(key, (*key.allowed, label))
        except DamSyncError:
            self._tenant.keys.forget()
            raise
        self._tenant.replace_key(replace(key, allowed=kept))
        return term_of(label)

    def _refuse_closed(self, key: Key, label: str) -> None:
        if is_closed(key, self._api.options.extend_lists):
            raise Unsupported(
                f"the list {key.name} is restricted and does not contain {label!r}",
                hint="map the value to one of the list, or set `options: {extend_lists: on}`",
            )

    async def _put_list(self, key: Key, allowed: tuple[str, ...]) -> tuple[str, ...]:
        """The whole list with the new value at its end; the response must have it."""
        body = {"data": {"attributes": {"name": key.name, "allowed_values": list(allowed)}}}
        reply = await self._api.write(facts.PUT_KEY, (key.id,), body, repeatable=True)
        reported = made_of(reply.json(), facts.PUT_KEY)["attributes"].get("allowed_values")
        kept = tuple(str(text) for text in reported) if isinstance(reported, list) else allowed
        if allowed[-1] not in kept:
            raise InvalidValue(f"the list {key.name} did not accept {allowed[-1]!r}", operation=facts.PUT_KEY)
        return kept

    async def _key(self, vocabulary: str, keys: Keys) -> Key:
        key = keys.named(vocabulary)
        if key is None or not key.is_list:
            raise NotFound(f"unknown list of allowed values: {vocabulary!r}")
        return key

    # -- containers ------------------------------------------------------------------------------------------------

    async def containers(self) -> AsyncIterator[Placement]:
        """Sections, collections, then labels, parents first."""
        for placement in list((await self._containers.again()).values()):
            yield placement

    async def ensure_container(self, kind: str, path: Sequence[str], parent: str = "") -> Placement:
        """The section or collection of that name, or the label below its parent."""
        wanted = tuple(path)
        if kind not in ("section", "collection", "label"):
            raise Unsupported(f"the service has no containers of kind {kind}", hint="place into section or collection")
        if kind != "label" and len(wanted) != 1:
            raise Unsupported(f"a {kind} has no levels", hint="map the placement to a path of one name")
        if len(wanted) > 1 and not parent:
            raise Unsupported(f"the {kind} above {wanted[-1]!r} has no id")
        if not wanted[-1].strip():
            raise InvalidValue(f"a {kind} needs a name")
        key = place_key(kind, wanted)
        known = await self._containers.get()
        if key in known:
            return known[key]
        async with self._turns.of(f"{key}"):
            known = await self._containers.get()
            if key not in known:
                known[key] = await self._make(kind, wanted, parent)
            return known[key]

    def learn_container(self, container: Placement) -> None:
        if (known := self._containers.now) is not None:
            known[place_key(container.kind, container.path)] = container

    async def _make(self, kind: str, path: tuple[str, ...], parent: str) -> Placement:
        try:
            made = await self._added(kind, path[-1], parent)
        except DamSyncError:
            self._containers.forget()  # nobody knows whether it is there now
            raise
        return Placement(kind, path, made["id"])

    async def rename_container(self, container: Placement, path: Sequence[str], parent: str | None = None) -> Placement:
        """PUT of the name; the slug stays, and with it every URL."""
        wanted = Placement(container.kind, tuple(path), container.id)
        if container.kind != "collection" or len(wanted.path) != 1 or parent is not None:
            raise Unsupported(f"a {container.kind} cannot be renamed", hint="let an administrator rename it")
        name = wanted.path[0]
        if not name.strip():
            raise InvalidValue("a collection needs a name")
        reply = await self._api.write(
            facts.PUT_COLLECTION, (container.id,), {"data": {"attributes": {"name": name}}}, repeatable=True
        )
        reported = made_of(reply.json(), facts.PUT_COLLECTION)["attributes"].get("name")
        if reported is not None and composed(str(reported)) != composed(name):
            raise Rejected(f"the collection was renamed to {str(reported)[:60]!r} instead of {name!r}")
        known = await self._containers.get()
        known.pop(place_key(container.kind, container.path), None)
        known[place_key(container.kind, wanted.path)] = wanted
        return wanted

    async def _added(self, kind: str, name: str, parent: str) -> Json:
        library = await self._tenant.id()
        operation, attributes = _new(kind, name, parent)
        try:
            reply = await self._api.write(operation, (library,), {"data": {"attributes": attributes}})
        except (InvalidValue, Conflict):
            if kind != "collection":
                raise
            attributes["slug"] = _slug(name, self._api.clock.token())  # the name's own slug is in use (wire C 13)
            reply = await self._api.write(operation, (library,), {"data": {"attributes": attributes}})
        made = made_of(reply.json(), operation)
        if made["attributes"].get("public") is True:
            raise Rejected(
                f"the new {kind} {name!r} is public: anyone with its URL would see its assets",
                operation=operation,
                code="public",
                hint="let an administrator make it private, and new ones by default, then run again",
            )
        reported = made["attributes"].get("name")
        if reported is not None and composed(str(reported)) != composed(name):
            raise ContractBroken(f"the {kind} {name!r} was created as {reported!r}", operation=operation)
        return made

    async def _all_containers(self) -> Places:
        library = await self._tenant.id()
        found: Places = {}
        for kind, operation in (("section", facts.SECTIONS), ("collection", facts.COLLECTIONS)):
            for row in await self._api.everything(operation, (library,)):
                path = (member_text(row["attributes"], "name"),)
                found.setdefault(place_key(kind, path), Placement(kind, path, row["id"]))
        for placement in await self._labels():
            found.setdefault(place_key(placement.kind, placement.path), placement)
        return found

    async def _labels(self) -> list[Placement]:
        """Labels, parents first; none if the account lacks the feature (wire C 10)."""
        rows = await self._api.everything(facts.LABELS, (await self._tenant.id(),), accept=NO_LABELS)
        names = {row["id"]: member_text(row["attributes"], "name") for row in rows}
        tree = arranged({row["id"]: _parent(row) for row in rows})  # a parent may be missing, or its own child
        paths: dict[str, tuple[str, ...]] = {}
        for label in tree.order:
            paths[label] = (*paths.get(tree.parent(label), ()), names[label])[-_MOST_LEVELS:]
        found = [Placement("label", paths[row["id"]], row["id"]) for row in rows]
        return sorted(found, key=lambda placement: len(placement.path))

    # -- memberships -----------------------------------------------------------------------------------------------

    async def members(self) -> AsyncIterator[Membership]:
        """Members of labels, which assets do not contain, unlike sections and collections (wire C 2.2)."""
        for label in await self._labels():
            async with aclosing(self._members_of(label)) as memberships:
                async for membership in memberships:
                    yield membership

    async def _members_of(self, label: Placement) -> AsyncGenerator[Membership, None]:
        """Those of one label; none of one that was deleted since the labels were listed. Raises NotFound if it still
        exists."""
        wanted = ListingQuery(facts.LABEL_ASSETS, (label.id,), size=facts.LONG_PAGE, thin=True)
        try:
            async with aclosing(self._listing.rows(wanted)) as pages:
                async for rows, _ in pages:
                    if rows:
                        yield Membership(label, tuple(AssetId(row["id"]) for row in rows))
        except NotFound as error:
            await self._api.prove()
            if label.id in {each.id for each in await self._labels()}:
                message = f"the service lists the label {label.text}, but refused its assets"
                raise NotFound(message, operation=error.operation, hint=LABEL_HINT) from error


def place_key(kind: str, path: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The key of a container; the service may compose characters and trim whitespace of a name."""
    return kind, tuple(composed(name) for name in path)


def _new(kind: str, name: str, parent: str) -> tuple[str, dict[str, Json]]:
    """Operation and attributes of a new container; a slug is never sent (wire C 5.2)."""
    if kind == "section":
        return facts.ADD_SECTION, {"name": name, "default_asset_type": facts.FILE_TYPE}
    if kind == "collection":
        return facts.ADD_COLLECTION, {"name": name}
    return facts.ADD_LABEL, {"name": name, **({"parent_key": parent} if parent else {})}


def _slug(name: str, token: str) -> str:
    plain = re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")
    return f"{plain[:40] or 'collection'}-{token[:6]}"


@interprets_response
def _parent(row: Json) -> str:
    """The neighbor of the label's own id, at either end of the path (wire C 5.1)."""
    path = [str(each) for each in row["attributes"].get("path") or ()]
    if len(path) < 2 or row["id"] not in (path[0], path[-1]):
        return ""
    return path[-2] if path[-1] == row["id"] else path[1]
