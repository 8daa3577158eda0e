"""Changes that people make in a target by hand, one asset each: through the service's own calls, and, where the product
never takes anything away, in the records of its emulator."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Any

from dam_sync.emulators import profile_of
from dam_sync.model.asset import Asset, AssetId, Patch, Placement, Relation
from dam_sync.model.capabilities import MembershipWrite
from dam_sync.model.service import Service
from dam_sync.model.values import GeoPoint, Json, Localized, Row, Scalar, Term, Value
from tests.conformance.catalogue import LINK, SCHEMA, asset
from tests.support.libraries.every_feature import MORE_SCHEMA, PEOPLE, PLACES
from tests.support.services.connections import Bytes
from tests.support.state.memory_journal import MemoryJournal

BY_HAND = "by hand"
RELEASED, EXPIRES = datetime(2020, 1, 1, tzinfo=UTC), datetime(2050, 1, 1, tzinfo=UTC)
LATER = datetime(2060, 1, 1, tzinfo=UTC)
CONTAINERS = ("folder", "category", "collection", "label")


@dataclass(frozen=True, slots=True)
class Hand:
    """Somebody with all rights at the target. others: assets that are not edited otherwise."""

    service: Service
    kind: str
    state: Any
    others: tuple[AssetId, ...]

    def key(self, name: str) -> str:
        """A field of the catalogue as this service calls it."""
        return f"{profile_of(self.kind).prefix}{name}"

    async def container(self, kind: str, name: str) -> Placement:
        """The container of that name."""
        return await anext(
            each async for each in self.service.containers() if (each.kind, each.path[-1]) == (kind, name)
        )

    async def move(self, asset: Asset, kind: str, *, into: str = "", out_of: str = "") -> None:
        """Put it into a container, take it out of another."""
        add = frozenset({await self.container(kind, into)}) if into else frozenset()
        gone = frozenset({await self.container(kind, out_of)}) if out_of else frozenset()
        if self.service.capabilities.membership(kind) is not MembershipWrite.IN_BULK:
            await self.service.update(asset.id, Patch(placements_add=add, placements_remove=gone))
            return
        for place in gone:
            await self.service.place(place, [], [asset.id])
        for place in add:
            await self.service.place(place, [asset.id], [])

    async def rights(self, asset: Asset, **changed: Any) -> None:
        """Write all rights, some of them changed; a date that becomes None is cleared."""
        names = {"release_at": "release", "expires_at": "expiry"}
        cleared = frozenset(names[key] for key, value in changed.items() if value is None)
        await self.service.update(asset.id, Patch(rights=replace(asset.rights, **changed), cleared=cleared))


Change = Callable[[Hand, Asset], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Edit:
    """One kind of change. path: where a verification reports it; extra: as an addition, which stays; rule: it hides the
    asset, and is undone only where the job accepts that; lost: nothing can undo it."""

    name: str
    path: str
    change: Change
    extra: bool = False
    hides: bool = False
    lost: bool = False


def library(size: int, *, without: frozenset[str] = frozenset()) -> list[Json]:
    """So many assets with a value in everything that can be edited; each leads to the next."""
    return [*SCHEMA, *MORE_SCHEMA, *PLACES, *_spare_containers(), *(_rich(n, size) for n in range(1, size + 1))]


def receiving() -> list[Json]:
    """The tenant to be filled, with containers that nothing of ours goes to."""
    return [*SCHEMA, *MORE_SCHEMA, *PLACES, *_spare_containers()]


def _spare_containers() -> Iterator[Json]:
    for kind in CONTAINERS:
        for name in ("Ours", "Spare"):
            yield {"record": "container", "kind": kind, "path": [name]}


def _rich(number: int, size: int) -> Json:
    name = f"photo {number}.jpg"
    texts = {"en": f"Picture {number}", "fr": f"Image {number}"}
    fields: Json = {
        "title": {"texts": texts},
        "legend": {"texts": {"en": "First light"}},
        "note": "as it was",
        "body": "<p>A <b>bold</b> text</p>",
        "shot": {"date": "2025-02-06"},
        "seen": {"instant": "2025-02-06T10:30:00Z"},
        "rating": 12,
        "cleared": True,
        "keywords": ["harbour", "dawn"],
        "subject": [{"id": "2", "label": "Sea"}, {"id": "4", "label": "City"}],
        "country": {"id": "11", "label": "France"},
        "spot": {"latitude": 48.382, "longitude": -4.495, "address": "Brest, France"},
        "mail": "desk@example.org",
        "artist": [{"person": person} for person in PEOPLE],
        "sizes": [{"row": {"part": "frame", "length": 12.5}}, {"row": {"part": "glass", "length": 3}}],
    }
    return asset(
        number,
        fields=fields,
        filename=name,
        versions=[{"name": name, "generate": {"size": 900 + n, "seed": 1000 * number + n}} for n in range(2)],
        attachments=[
            {"name": f"{letter}.pdf", "generate": {"size": 300 + n, "seed": 1000 * number + 10 + n}}
            for n, letter in enumerate("ab")
        ],
        placements=[{"kind": kind, "path": ["Ours"]} for kind in CONTAINERS],
        tags=["sea", "harbour"],
        rights={"groups": ["staff"], "release_at": "2020-01-01T00:00:00Z", "expires_at": "2050-01-01T00:00:00Z"},
        relations=[{"kind": LINK, "target": str(number + 1)}] if number < size else [],
    )


# -- fields, tags, rights, names ---------------------------------------------------------------------------------------


def field(name: str, value: Value | None) -> Change:
    """Write one field."""
    return lambda hand, asset: hand.service.update(asset.id, Patch(fields={hand.key(name): value}))


def member(name: str, *, add: Scalar = "", drop: int | None = None) -> Change:
    """Give a field of several values one more, or take one away, or both."""

    async def change(hand: Hand, asset: Asset) -> None:
        several = asset.fields[hand.key(name)]
        assert isinstance(several, tuple)
        rows = list(several)
        if drop is not None:
            del rows[drop]
        await hand.service.update(asset.id, Patch(fields={hand.key(name): (*rows, *([add] if add else []))}))

    return change


def tags(*, add: str = "", drop: str = "") -> Change:
    """Tag it, untag it."""
    more, gone = frozenset({add} if add else ()), frozenset({drop} if drop else ())
    return lambda hand, asset: hand.service.update(asset.id, Patch(tags_add=more, tags_remove=gone))


def rights(**changed: Any) -> Change:
    """Change groups or dates."""
    return lambda hand, asset: hand.rights(asset, **changed)


def status(name: str) -> Change:
    """Give it another status."""
    return lambda hand, asset: hand.service.update(asset.id, Patch(status=name))


def renamed(hand: Hand, asset: Asset) -> Awaitable[None]:
    """Give it another file name."""
    return hand.service.update(asset.id, Patch(filename="renamed by hand.jpg"))


def place(kind: str, *, into: str = "", out_of: str = "") -> Change:
    """Change where it is."""
    return lambda hand, asset: hand.move(asset, kind, into=into, out_of=out_of)


# -- files and relations -----------------------------------------------------------------------------------------------


def bytes_of(asset: Asset, *, like: str = "") -> Bytes:
    """A file that nobody has."""
    return Bytes(like or asset.filename, f"somebody else's file of {asset.id}".encode() * 40, known=True)


async def replaced(hand: Hand, asset: Asset) -> None:
    """Upload another file over it."""
    await hand.service.replace(asset.id, bytes_of(asset), MemoryJournal())


async def attached(hand: Hand, asset: Asset) -> None:
    """Attach one more file."""
    await hand.service.attach(asset.id, bytes_of(asset, like="more.pdf"), MemoryJournal())


async def related(hand: Hand, asset: Asset) -> None:
    """Relate it to one more asset."""
    kind = next(iter(asset.relations)).kind
    other = next(one for one in hand.others if all(one != each.target for each in asset.relations))
    await hand.service.relate(asset.id, Relation(kind, other))


async def unrelated(hand: Hand, asset: Asset) -> None:
    """Take its relations away."""
    UNRELATE[hand.kind[0]](hand.state, asset)


async def related_elsewhere(hand: Hand, asset: Asset) -> None:
    """Relate it to another asset instead."""
    await related(hand, asset)
    kept = await hand.service.fetch(asset.id)
    UNRELATE[hand.kind[0]](hand.state, replace(kept, relations=asset.relations))


async def detached(hand: Hand, asset: Asset) -> None:
    """Take an attachment away."""
    DETACH[hand.kind[0]](hand.state, asset)


async def attachment_swapped(hand: Hand, asset: Asset) -> None:
    """Another file in place of an attachment."""
    await attached(hand, asset)
    DETACH[hand.kind[0]](hand.state, asset)


async def version_dropped(hand: Hand, asset: Asset) -> None:
    """Delete an older version."""
    DROP_VERSION[hand.kind[0]](hand.state, asset)


def _unrelate_a(state: Any, asset: Asset) -> None:
    library = state.instance.library
    media = library.medias[int(asset.id)]
    gone = {int(relation.target) for relation in asset.relations}
    links = {kind: tuple(one for one in others if one not in gone) for kind, others in media.links.items()}
    library.store(replace(media, links=links))


def _unrelate_b(state: Any, asset: Asset) -> None:
    relations = state.server.repository.relations
    gone = {str(relation.target) for relation in asset.relations}
    relations[:] = [row for row in relations if row[0] != asset.id or row[2] not in gone]


def _unrelate_d(state: Any, asset: Asset) -> None:
    tenant, gone = state.tenant, {str(relation.target) for relation in asset.relations}
    for record in tenant.families[asset.id]:
        for link in tenant.relations.of(record):
            if link.primary == record and tenant.records[link.secondary].original in gone:
                tenant.relations.remove(link.id)


def _detach_a(state: Any, asset: Asset) -> None:
    library = state.instance.library
    media = library.medias[int(asset.id)]
    library.store(replace(media, attachments=media.attachments[1:]))


def _detach_b(state: Any, asset: Asset) -> None:
    repository = state.server.repository
    with repository.transaction():
        document = repository.change(repository.get(asset.id))
        document.props["files:files"] = document.props["files:files"][1:]


def _detach_c(state: Any, asset: Asset) -> None:
    tenant = state.tenant
    row = tenant.assets[asset.id]
    tenant.keep(replace(row, attachments=(row.attachments[0], *row.attachments[2:])))


def _drop_version_a(state: Any, asset: Asset) -> None:
    library = state.instance.library
    media = library.medias[int(asset.id)]
    library.store(replace(media, versions=media.versions[1:]))


def _drop_version_d(state: Any, asset: Asset) -> None:
    tenant = state.tenant
    records = [tenant.records[each] for each in tenant.families[asset.id]]
    tenant.keep(replace(next(each for each in records if each.deleted is None), deleted=tenant.now()))


def _drop_version_e(state: Any, asset: Asset) -> None:
    tenant = state.tenant
    row = tenant.assets[asset.id]
    tenant.keep(replace(row, versions=row.versions[1:]))


UNRELATE = {"a": _unrelate_a, "b": _unrelate_b, "d": _unrelate_d}
DETACH = {"a": _detach_a, "b": _detach_b, "c": _detach_c}
DROP_VERSION = {"a": _drop_version_a, "d": _drop_version_d, "e": _drop_version_e}


# -- what is edited where ----------------------------------------------------------------------------------------------

FIELDS_OF_A = (
    Edit("text changed", "fields.note", field("note", BY_HAND)),
    Edit("text removed", "fields.note", field("note", None)),
    Edit("whitespace added to a text", "fields.note", field("note", "as it was ")),
    Edit("text added", "fields.web", field("web", "https://example.org/by-hand"), extra=True),
    Edit("a language changed", "fields.title", field("title", Localized({"en": BY_HAND, "fr": "Image"}))),
    Edit("a language removed", "fields.title", field("title", Localized({"en": BY_HAND}))),
    Edit(
        "a language added", "fields.legend", field("legend", Localized({"en": "First light", "fr": "Aube"})), extra=True
    ),
    Edit("number changed", "fields.rating", field("rating", 13)),
    Edit("flag changed", "fields.cleared", field("cleared", False)),
    Edit("date changed", "fields.shot", field("shot", date(2025, 2, 7))),
    Edit("instant changed", "fields.seen", field("seen", datetime(2025, 2, 6, 10, 31, tzinfo=UTC))),
    Edit("formatted text changed", "fields.body", field("body", "<p>A bold text</p>")),
    Edit("place changed", "fields.spot", field("spot", GeoPoint(48.0, -4.0, "Quimper"))),
    Edit("mail address changed", "fields.mail", field("mail", "hand@example.org")),
    Edit("value added to a list", "fields.keywords", member("keywords", add=BY_HAND), extra=True),
    Edit("value removed from a list", "fields.keywords", member("keywords", drop=0)),
    Edit("value of a list swapped", "fields.keywords", member("keywords", add=BY_HAND, drop=0)),
    Edit("person removed", "fields.artist", member("artist", drop=0)),
    Edit("row changed", "fields.sizes", field("sizes", (Row({"part": "frame", "length": 13}),))),
)


async def term_added(hand: Hand, asset: Asset) -> None:
    """One more subject."""
    await member("subject", add=await _term(hand, "Wood"))(hand, asset)


async def term_swapped(hand: Hand, asset: Asset) -> None:
    """Another subject in place of one."""
    await member("subject", add=await _term(hand, "Wood"), drop=0)(hand, asset)


async def _term(hand: Hand, label: str) -> Term:
    schema = await hand.service.schema()
    vocabulary = schema.fields[hand.key("subject")].vocabulary
    return await anext(term async for term in hand.service.terms(vocabulary) if term.label == label)


TERMS = (
    Edit("term added", "fields.{}subject", term_added, extra=True),
    Edit("term removed", "fields.{}subject", member("subject", drop=0)),
    Edit("term swapped", "fields.{}subject", term_swapped),
)
TAGS = (
    Edit("tag added", "tags", tags(add="handmade"), extra=True),
    Edit("tag removed", "tags", tags(drop="sea")),
    Edit("tag swapped", "tags", tags(add="handmade", drop="sea")),
)
DATES = (
    Edit("release changed", "release", rights(release_at=LATER), hides=True),
    Edit("expiry changed", "expiry", rights(expires_at=datetime(2030, 1, 1, tzinfo=UTC)), hides=True),
    Edit("expiry removed", "expiry", rights(expires_at=None)),
)
GROUPS = (
    Edit("group added", "groups", rights(groups=frozenset({"staff", "public"})), extra=True),
    Edit("group swapped", "groups", rights(groups=frozenset({"public"})), hides=True),
)
RELATIONS = (
    Edit("relation added", "relations", related, extra=True),
    Edit("relation removed", "relations", unrelated),
    Edit("relation swapped", "relations", related_elsewhere),
)
ATTACHMENTS = (
    Edit("attachment added", "attachments", attached, extra=True),
    Edit("attachment removed", "attachments", detached),
    Edit("attachment swapped", "attachments", attachment_swapped),
)
REPLACED = Edit("file replaced", "file.size", replaced)
VERSION_DROPPED = Edit("older version removed", "versions", version_dropped, lost=True)


def memberships(kind: str) -> tuple[Edit, ...]:
    """Added, removed, moved."""
    return (
        Edit(f"{kind} added", "placements", place(kind, into="Spare"), extra=True),
        Edit(f"{kind} removed", "placements", place(kind, out_of="Ours")),
        Edit(f"{kind} swapped", "placements", place(kind, into="Spare", out_of="Ours")),
    )


EDITS: dict[str, tuple[Edit, ...]] = {
    "a_hypermedia": (
        *FIELDS_OF_A,
        *TERMS,
        Edit("status changed", "status", status("archived"), hides=True),
        *memberships("folder"),
        *memberships("label"),
        *RELATIONS,
        *ATTACHMENTS,
        REPLACED,
        VERSION_DROPPED,
    ),
    "b_documents": (
        *TERMS,
        *TAGS,
        *DATES,
        Edit("release removed", "release", rights(release_at=None)),
        *GROUPS,
        Edit("status changed", "status", status("archived"), hides=True),
        Edit("moved to another folder", "placements", place("folder", into="Spare", out_of="Ours")),
        *memberships("collection"),
        *RELATIONS,
        *ATTACHMENTS,
        REPLACED,
    ),
    "c_brandlibrary": (
        Edit("value of a custom field changed", "fields.note", field("note", BY_HAND)),
        Edit("value of a custom field removed", "fields.note", field("note", None)),
        *TAGS,
        *DATES,
        Edit("file renamed", "filename", renamed),
        Edit("status changed", "status", status("pending"), hides=True),
        *ATTACHMENTS,
        REPLACED,
    ),
    "d_templates": (
        *TERMS,
        *GROUPS,
        *DATES,
        Edit("dropdown changed", "fields.note", field("note", BY_HAND)),
        *memberships("collection"),
        *RELATIONS,
        REPLACED,
        VERSION_DROPPED,
    ),
    "e_profiles": (
        *TERMS,
        *TAGS,
        *GROUPS,
        *DATES,
        Edit("file renamed", "filename", renamed),
        *memberships("category"),
        *memberships("collection"),
        REPLACED,
        VERSION_DROPPED,
    ),
}
