"""People who edit a library of any service, one random edit at a time: by the calls of the service, and in the records
of its emulator where the product has no call for it."""

from __future__ import annotations

import itertools
import random
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, TypeAlias

from dam_sync.emulators.b_documents import acts
from dam_sync.model.asset import Asset, AssetId, Draft, Patch, Placement, Relation
from dam_sync.model.capabilities import Feature, MembershipWrite, Operation
from dam_sync.model.schema import Field, FieldKind
from dam_sync.model.service import TRASH, Service
from dam_sync.model.values import GeoPoint, Localized, Person, Row, Scalar, Term, Value
from tests.conformance.catalogue import GROUPS, LINK
from tests.support.libraries.every_feature import NAMES, PEOPLE
from tests.support.services.connections import Bytes
from tests.support.services.profiles import profile_of
from tests.support.state.memory_journal import MemoryJournal
from tests.support.virtual.source_edits import PURGES, RENAMES
from tests.support.virtual.target_edits import DETACH, DROP_VERSION, UNRELATE, Hand
from tests.support.virtual.universe import Tenant

DAYS = tuple(datetime(year, 1, 1, tzinfo=UTC) for year in (2015, 2020, 2040, 2050, 2060))
TEXTS = {  # what all services take, also where the field of one is any text
    "mail": "desk{}@example.org",
    "web": "https://example.org/{}",
    "shot": "20{:02}-05-06",
    "seen": "20{:02}-05-06T07:08:00Z",
    "rating": "{}",
}
WORDS = ("sea", "harbour", "dawn", "boat", "storm", "gull")
FEWEST, MOST = 8, 3  # living assets that are left; values of a list that is rewritten
PART_SIZES = (40, 700)  # bytes of new files


@dataclass
class Crowd:
    """Everybody who edits one library. rng: chooses what they do; numbers: of what they wrote so far, so that no two
    texts, names or files are the same; sizes: of files so far, because some services report nothing else of one (wire C
    4, E 4); named: names that they gave to terms and containers."""

    service: Service
    tenant: Tenant
    rng: random.Random
    numbers: Iterator[int]
    sizes: set[int]
    named: set[str]
    rows: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """The service."""
        return self.tenant.kind

    @property
    def state(self) -> Any:
        """The records of its emulator."""
        return self.tenant.app.state

    def key(self, name: str) -> str:
        """A field of the catalogue as this service calls it."""
        return f"{profile_of(self.kind).prefix}{name}"

    def look(self) -> None:
        """See the library as it is."""
        self.rows = {row["id"]: row for row in self.tenant.assets}

    def living(self) -> list[str]:
        """Ids of assets outside the trash."""
        return [key for key, row in self.rows.items() if row["status"] != TRASH]

    def trashed(self) -> list[str]:
        """Ids of assets in the trash."""
        return [key for key, row in self.rows.items() if row["status"] == TRASH]

    def weighed(self, weights: Mapping[str, int], most: int) -> dict[str, int]:
        """How often edits are made in the library as it is, so that at most about so many assets live in it, and are in
        its trash."""
        changed = {"create": 0, "trash": weights.get("create", 0)} if len(self.living()) > most else {}
        emptied = {"purge": weights.get("create", 0)} if len(self.trashed()) > most else {}
        return {**weights, **{name: one for name, one in (changed | emptied).items() if name in weights}}

    def text(self, words: str = "text") -> str:
        """A text that nobody wrote before."""
        return f"{words} {next(self.numbers)}"

    def bytes_for(self, name: str) -> Bytes:
        """A file that nobody has, nor one of its size."""
        size = self.rng.randint(*PART_SIZES)
        size = next(each for each in itertools.count(size) if each not in self.sizes)
        self.sizes.add(size)
        return Bytes(name, f"file {next(self.numbers)} ".encode().ljust(size, b"."), known=True)

    def hand(self, *others: AssetId) -> Hand:
        """As the tests of single edits have it."""
        return Hand(self.service, self.kind, self.state, others)


Act: TypeAlias = Callable[[Crowd, Asset], Awaitable[None]]


# -- values ------------------------------------------------------------------------------------------------------------


async def fields_edited(crowd: Crowd, asset: Asset) -> None:
    """Another value of a field, or none."""
    schema = await crowd.service.schema()
    known = [schema.fields[crowd.key(name)] for name in NAMES if crowd.key(name) in schema.fields]
    chosen = crowd.rng.choice([each for each in known if each.editable and not each.system])
    gone = not chosen.required and crowd.rng.random() < 0.15
    value = None if gone else await _value(crowd, chosen, asset.fields.get(chosen.key))
    await crowd.service.update(asset.id, Patch(fields={chosen.key: value}))


async def _value(crowd: Crowd, known: Field, now: Value | None) -> Value:
    """A value of this kind; of a list a few, some of them as before."""
    schema = await crowd.service.schema()
    if known.localized:
        texts = dict(now.texts) if isinstance(now, Localized) else {}
        locale = crowd.rng.choice(schema.locales[:2])
        texts = {**texts, locale: crowd.text(known.key)}
        return Localized({schema.locales[0]: crowd.text(known.key), **texts})
    if not known.multiple:
        return await _scalar(crowd, known)
    kept = list(now) if isinstance(now, tuple) else []
    crowd.rng.shuffle(kept)
    fresh = [await _scalar(crowd, known) for _ in range(crowd.rng.randint(1, MOST))]
    rows = [*kept[: crowd.rng.randint(0, MOST)], *fresh]
    return tuple(row for at, row in enumerate(rows) if row not in rows[:at])


async def _scalar(crowd: Crowd, known: Field) -> Scalar:
    if known.kind is FieldKind.TERM:
        return await _term(crowd, known)
    rng, name = crowd.rng, known.key.removeprefix(profile_of(crowd.kind).prefix)
    if name in TEXTS and known.kind in (FieldKind.TEXT, FieldKind.EMAIL, FieldKind.URL):
        return TEXTS[name].format(next(crowd.numbers) % 100)
    day = date(2000, 1, 1) + timedelta(days=rng.randint(0, 9_000))
    made: Mapping[FieldKind, Callable[[], Scalar]] = {
        FieldKind.TEXT: lambda: rng.choice(PEOPLE) if name == "artist" else crowd.text(),
        FieldKind.LONG_TEXT: lambda: f"{crowd.text()}\nand more",
        FieldKind.HTML: lambda: f"<p>{crowd.text()} <b>bold</b></p>",
        FieldKind.NUMBER: lambda: rng.randint(1, 99),
        FieldKind.FLAG: lambda: rng.random() < 0.5,
        FieldKind.DATE: lambda: day,
        FieldKind.INSTANT: lambda: datetime(day.year, day.month, day.day, rng.randint(0, 23), tzinfo=UTC),
        FieldKind.PLACE: lambda: GeoPoint(rng.randint(-80, 80), rng.randint(-170, 170), crowd.text("quay")),
        FieldKind.PERSON: lambda: Person(rng.choice(PEOPLE)),
        FieldKind.ROWS: lambda: Row({"part": rng.choice(("frame", "glass", "box")), "length": rng.randint(1, 30)}),
    }
    return made[known.kind]()


async def _term(crowd: Crowd, known: Field) -> Term:
    """One that is there, now and then a new one."""
    service, schema = crowd.service, await crowd.service.schema()
    fixed = schema.vocabularies[known.vocabulary].closed or Operation.ENSURE_TERM not in service.capabilities
    fixed = fixed or known.key != crowd.key("subject")  # elsewhere the other service may have a closed list
    if not fixed and crowd.rng.random() < 0.1:
        return await service.ensure_term(known.vocabulary, Term(crowd.text("term")))
    return crowd.rng.choice([term async for term in service.terms(known.vocabulary)])


async def tagged(crowd: Crowd, asset: Asset) -> None:
    """A tag more, or one less, or both."""
    add = frozenset({crowd.rng.choice(WORDS)}) if crowd.rng.random() < 0.6 else frozenset()
    gone = crowd.rng.sample(sorted(asset.tags), 1) if asset.tags and (not add or crowd.rng.random() < 0.4) else ()
    await crowd.service.update(asset.id, Patch(tags_add=add - asset.tags, tags_remove=frozenset(gone) - add))


async def dated(crowd: Crowd, asset: Asset) -> None:
    """Another release or expiry date, or none."""
    name = crowd.rng.choice(("release_at", "expires_at"))
    await crowd.hand().rights(asset, **{name: crowd.rng.choice((None, *DAYS))})


async def shared(crowd: Crowd, asset: Asset) -> None:
    """Other groups."""
    chosen = crowd.rng.sample(GROUPS, crowd.rng.randint(1, len(GROUPS)))
    await crowd.hand().rights(asset, groups=frozenset(chosen))


async def restated(crowd: Crowd, asset: Asset) -> None:
    """Another status."""
    known = {"c_brandlibrary": ("published", "pending")}.get(crowd.kind, ("published", "archived", "draft"))
    await crowd.service.update(asset.id, Patch(status=crowd.rng.choice(known)))


async def renamed(crowd: Crowd, asset: Asset) -> None:
    """Another file name."""
    await crowd.service.update(asset.id, Patch(filename=f"{crowd.text('renamed')}.jpg"))


# -- containers --------------------------------------------------------------------------------------------------------


async def moved(crowd: Crowd, asset: Asset) -> None:
    """Into a container, out of one, or both."""
    service, rng = crowd.service, crowd.rng
    there = [each async for each in service.containers()]
    schema = await service.schema()
    there = [each for each in there if each.kind in schema.container_kinds]
    if not there:
        return
    into = rng.choice(there)
    held = [row for row in crowd.rows[asset.id]["placements"] if row["kind"] == into.kind]
    here = {tuple(row["path"]) for row in held}
    others = [each for each in there if each.kind == into.kind and each.path in here and each != into]
    add = [] if into.path in here or (others and rng.random() < 0.3) else [into]
    gone = [rng.choice(others)] if others and (not add or rng.random() < 0.5) else []
    await _move(crowd, asset.id, add, gone)


async def _move(crowd: Crowd, asset: AssetId, add: list[Placement], gone: list[Placement]) -> None:
    service = crowd.service
    kind = next((each.kind for each in (*add, *gone)), "")
    if crowd.kind == "c_brandlibrary":  # wire C: its calls put no asset elsewhere, its people do
        _rehome(crowd.state.tenant, asset, kind, add, gone)
    elif kind and service.capabilities.membership(kind) is MembershipWrite.IN_BULK:
        for each in gone:
            await service.place(each, [], [asset])
        for each in add:
            await service.place(each, [asset], [])
    elif kind:
        single = (await service.schema()).container_most.get(kind) == 1
        patch = Patch(placements_add=frozenset(add), placements_remove=frozenset() if single else frozenset(gone))
        if not patch.empty:
            await service.update(asset, patch)


def _rehome(tenant: Any, asset: str, kind: str, add: list[Placement], gone: list[Placement]) -> None:
    row = tenant.assets[asset]
    if kind == "section":
        section = next((each.id for each in add), row.section)
        tenant.edit(replace(row, section=section), "section")
    elif kind:
        held = getattr(row, f"{kind}s")
        out = {each.id for each in gone}
        fresh = tuple(each for each in held if each not in out) + tuple(each.id for each in add if each.id not in held)
        tenant.edit(replace(row, **{f"{kind}s": fresh}), f"{kind}s")


async def container_renamed(crowd: Crowd, asset: Asset) -> None:
    """Another name of a container that somebody uses."""
    _rename(crowd, asset, 0)


async def term_renamed(crowd: Crowd, asset: Asset) -> None:
    """Another name of a term."""
    _rename(crowd, asset, 1)


def _rename(crowd: Crowd, asset: Asset, which: int) -> None:
    rename, to = RENAMES[crowd.kind][which], crowd.text("Box" if not which else "Word")
    if which:
        values = crowd.rows[asset.id]["fields"].get(crowd.key("subject")) or ()
        names = [value["label"] for value in values if isinstance(value, Mapping) and value.get("label")]
    else:
        kinds = {"a_hypermedia": "folder", "b_documents": "folder", "e_profiles": "category"}
        kind = kinds.get(crowd.kind, "collection")
        names = [row["path"][-1] for row in crowd.rows[asset.id]["placements"] if row["kind"] == kind]
    if names:
        rename(crowd.state, crowd.rng.choice(names), to)
        crowd.named.add(to)


# -- files, relations --------------------------------------------------------------------------------------------------


async def versioned(crowd: Crowd, asset: Asset) -> None:
    """A new version."""
    await crowd.service.replace(asset.id, crowd.bytes_for(asset.filename or "file.jpg"), MemoryJournal())


async def version_dropped(crowd: Crowd, asset: Asset) -> None:
    """An older version less."""
    versions = [each for each in crowd.rows[asset.id]["versions"] if each.get("status") != TRASH]
    if len(versions) > 1:
        DROP_VERSION[crowd.kind[0]](crowd.state, asset)


async def attached(crowd: Crowd, asset: Asset) -> None:
    """An attachment more."""
    await crowd.service.attach(asset.id, crowd.bytes_for(f"{crowd.text('paper')}.pdf"), MemoryJournal())


async def detached(crowd: Crowd, asset: Asset) -> None:
    """An attachment less."""
    if crowd.rows[asset.id]["attachments"]:
        DETACH[crowd.kind[0]](crowd.state, asset)


async def related(crowd: Crowd, asset: Asset) -> None:
    """A relation more."""
    kind = profile_of(crowd.kind).relation or LINK
    others = sorted(set(crowd.living()) - {asset.id} - {row["target"] for row in crowd.rows[asset.id]["relations"]})
    later = [each for each in others if each > asset.id]  # some services refuse circles
    if later:
        await crowd.service.relate(asset.id, Relation(kind, AssetId(crowd.rng.choice(later))))


async def unrelated(crowd: Crowd, asset: Asset) -> None:
    """Remove its relations."""
    if asset.relations:
        UNRELATE[crowd.kind[0]](crowd.state, asset)


# -- whole assets ------------------------------------------------------------------------------------------------------


async def created(crowd: Crowd, asset: Asset) -> None:
    """A new asset, like this one in little."""
    service, schema = crowd.service, await crowd.service.schema()
    name, title = f"{crowd.text('photo')}.jpg", schema.fields[crowd.key("title")]
    text = crowd.text("title")
    value = Localized({schema.locales[0]: text}) if title.localized else text
    profile = next((each.profile for each in schema.types if each.name == "Photo"), "")
    able = service.capabilities
    draft = Draft(
        None,
        name,
        profile=profile,
        status="published" if able.writes(Feature.STATUS) else "",
        fields={title.key: value},
        rights=replace(asset.rights, restrictions=frozenset()),
        placements=frozenset(
            each
            for each in asset.placements
            if each.kind in schema.container_kinds and able.membership(each.kind) is not MembershipWrite.IN_BULK
        ),
    )
    await service.create(draft, crowd.bytes_for(name), MemoryJournal())


async def removed(crowd: Crowd, asset: Asset) -> None:
    """To the trash."""
    if len(crowd.living()) > FEWEST:
        await crowd.service.remove(asset.id)


async def restored(crowd: Crowd, asset: Asset) -> None:
    """Another one out of the trash."""
    trashed = crowd.trashed()
    if not trashed or crowd.kind == "c_brandlibrary":  # wire C: nobody sees what was deleted
        return
    gone = AssetId(crowd.rng.choice(trashed))
    if Operation.RESTORE in crowd.service.capabilities:
        await crowd.service.restore(gone, Draft(None, "", status="published"))
    else:
        tenant = crowd.state.tenant
        tenant.touched(replace(tenant.assets[gone], deleted=None))


async def purged(crowd: Crowd, asset: Asset) -> None:
    """One that is in the trash is deleted permanently."""
    trashed = crowd.trashed()
    if trashed and crowd.kind != "c_brandlibrary":
        purge(crowd, crowd.rng.choice(trashed))


def purge(crowd: Crowd, asset: str) -> None:
    """Delete it permanently."""
    if crowd.kind == "b_documents":
        repository = crowd.state.server.repository
        with repository.transaction():
            acts.delete(repository, repository.get(asset), next(iter(repository.people.users.values())))
    elif crowd.kind == "a_hypermedia":
        library = crowd.state.instance.library
        library.delete(library.medias[int(asset)], next(iter(library.users.values())))
    else:
        PURGES[crowd.kind](crowd.state, asset)


ACTS: Mapping[str, tuple[int, Act, str]] = {
    "field": (24, fields_edited, ""),
    "tag": (6, tagged, "TAGS"),
    "date": (4, dated, "EXPIRY"),
    "groups": (3, shared, "GROUPS"),
    "status": (3, restated, "STATUS"),
    "filename": (3, renamed, "FILENAME"),
    "move": (9, moved, ""),
    "version": (5, versioned, ""),
    "older version removed": (2, version_dropped, "drop"),
    "attach": (3, attached, "attach"),
    "detach": (3, detached, "detach"),
    "relate": (3, related, "relate"),
    "unrelate": (3, unrelated, "unrelate"),
    "create": (4, created, ""),
    "trash": (2, removed, ""),
    "restore": (2, restored, ""),
    "purge": (1, purged, ""),
    "container renamed": (1, container_renamed, "rename"),
    "term renamed": (1, term_renamed, "rename"),
}
"""By name: how often of all, what is done, and what the service must have for it."""
IN_RECORDS = {"drop": DROP_VERSION, "detach": DETACH, "unrelate": UNRELATE}


def acts_of(service: Service) -> dict[str, int]:
    """The edits that people of this service can make, and how often they do."""
    return {name: weight for name, (weight, _, needs) in ACTS.items() if _able(service, needs)}


def _able(service: Service, needs: str) -> bool:
    if needs in IN_RECORDS:
        return service.kind[0] in IN_RECORDS[needs]
    if needs == "rename":
        return service.kind in RENAMES
    if needs in Feature.__members__:
        return service.capabilities.writes(Feature[needs])
    return not needs or Operation(needs) in service.capabilities
