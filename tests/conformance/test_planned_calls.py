"""What a plan says that each of many writes costs at each service, kept as tables that a person can read.

`planned/NAME.txt` has a line for each write that costs calls: what it is, and its calls. All writes of a block belong
to one plan, so that what happens once in a run is in the line of its first. The second reading of a contract has a
table of its own only where it differs. A table that is missing is written, and the test fails.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from dam_sync.model.asset import AssetId, Draft, FileRef, Patch, Placement, Relation, Rights
from dam_sync.model.capabilities import MembershipWrite, Operation
from dam_sync.model.errors import Rejected
from dam_sync.model.estimator import Estimator
from dam_sync.model.schema import Schema
from dam_sync.model.service import Service
from dam_sync.model.values import Term
from dam_sync.model.writes import (
    Attachment,
    CarriedMemberships,
    Membership,
    PartRemoval,
    Renaming,
    TrashMove,
    VersionReturn,
)
from tests.conformance.drafts import (
    full_draft,
    names_in,
    places,
    plain_draft,
    spell,
    values_for,
    vocabulary_of,
)
from tests.conformance.tenant import Tenant
from tests.support.services.connections import entries

TABLES = Path(__file__).parent / "planned"
SMALL, LARGE, HUGE = 700, 21_000_000, 250_000_000
GROUPS = Rights(groups=frozenset({"staff"}))
CROWD = 150  # assets, more than share one call anywhere

Work = tuple[str, str, tuple[Any, ...]]
"""What it is, how it is asked for, and of what."""


class Planner:
    """One plan."""

    def __init__(self, service: Service) -> None:
        self._estimator = Estimator(service)

    def ask(self, how: str, *what: Any) -> Mapping[str, int] | None:
        match how:
            case "write":
                return self._estimator.write(*what)
            case "just read":
                return self._estimator.write(*what, just_read=True)
            case "fetched":
                return self._estimator.fetched(what[0])
            case "grown":
                return self._estimator.first_version(what[0])
            case "terms":
                return self._estimator.terms(*what)
            case "open":
                return self._estimator.open(*what)
            case _:
                return self._estimator.link(*what)


@dataclass(frozen=True, slots=True)
class Material:
    """What writes of one service are made of."""

    service: Service
    schema: Schema
    plain: Draft
    full: Draft
    values: Mapping[str, Any]
    others: Mapping[str, Any]
    places: tuple[Placement, ...]
    terms: tuple[Term, ...]
    files: tuple[FileRef, ...]
    relation: str
    kinds: tuple[str, ...]

    @classmethod
    async def of(cls, tenant: Tenant) -> Material:
        service = tenant.connect()
        schema = await service.schema()
        plain, full = await plain_draft(service, "m-plain"), await full_draft(tenant, service)
        assert plain.marker is not None
        full = replace(full, marker=plain.marker, filename=plain.filename)
        key = vocabulary_of(service, schema, "subject")
        given = {term.label: term async for term in service.terms(key)} if key else {}
        known = await places(tenant, service)
        read = [await service.fetch(entry.id) for entry in await entries(service)]
        return cls(
            service=service,
            schema=schema,
            plain=plain,
            full=full,
            values=await values_for(service, schema, names_in(service, schema)),
            others=await values_for(service, schema, names_in(service, schema), other=True),
            places=tuple(known[name] for name in sorted(known)),
            terms=tuple(given[label] for label in sorted(given)),
            files=tuple(file for asset in sorted(read, key=lambda one: one.id) for file in asset.versions),
            relation=tenant.relation,
            kinds=tuple(sorted(set(tenant.wired.containers.values()))),
        )

    def draft(self, number: int, **more: Any) -> Draft:
        """Of a crowd of assets: each has a name of its own, some share values and places."""
        marker = replace(self.plain.marker, value=f"n-{number}") if self.plain.marker else None
        assert marker is not None
        title = spell(self.service, "title")
        fields = {**self.plain.fields, title: self.values[title], marker.field: marker.value}
        place = frozenset({self.places[number % len(self.places)]}) if number % 3 else frozenset()
        given = {"filename": f"n-{number % 120}.jpg", "fields": fields, "placements": place, **more}
        return replace(self.plain, marker=marker, **given)


def creates(of: Material) -> Iterator[Work]:
    for name, size in (("small", SMALL), ("empty", 0), ("large", LARGE), ("huge", HUGE)):
        yield f"create, {name} file", "write", (of.plain, size)
    yield "create, without a file", "write", (of.plain, None)
    yield "create, all that it can have", "write", (of.full, SMALL)
    yield "create, all that it can have, large file", "write", (of.full, LARGE)
    yield "create, in no container", "write", (replace(of.full, placements=frozenset()), SMALL)
    yield "create, no tags", "write", (replace(of.full, tags=frozenset()), SMALL)
    yield "create, other tags", "write", (replace(of.full, tags=frozenset({"fresh", "sea"})), SMALL)
    yield "create, no rights", "write", (replace(of.full, rights=Rights()), SMALL)
    yield "create, in groups", "write", (replace(of.plain, rights=GROUPS), SMALL)
    yield "create, hidden", "write", (replace(of.plain, closed=True), SMALL)
    yield "create, hidden with everything", "write", (replace(of.full, closed=True), SMALL)
    yield "create, without a marker", "write", (replace(of.plain, marker=None), SMALL)
    for status in sorted(of.schema.statuses or ("published", "archived")):
        yield f"create, status {status}", "write", (replace(of.plain, status=status), SMALL)
    for number in range(len(of.values) + 1):
        fields = {**of.plain.fields, **dict(list(of.values.items())[:number])}
        yield f"create, {number} fields", "write", (replace(of.plain, fields=fields), SMALL)
    planned = {spell(of.service, "subject"): (Term("Moor", "planned-1", path=("Moor",)),)}
    yield "create, a term that is still to be made", "write", (replace(of.plain, fields=planned), SMALL)
    if of.service.capabilities.fetches is not None:
        yield "create, the target fetches the file", "fetched", (of.plain, SMALL)
        yield "create, the target fetches a large file", "fetched", (of.full, LARGE)
    for place in of.places:
        if of.service.capabilities.membership(place.kind) is not MembershipWrite.IN_BULK:
            yield f"create, in {place.kind} {place.text}", "write", (replace(of.plain, placements={place}), SMALL)


def crowd(of: Material) -> Iterator[Work]:
    for number in range(CROWD):
        yield "create, crowd", "write", (of.draft(number), (number % 7) * 1_000_000)
        if number % 10 == 3:
            yield "version, crowd", "grown", (FileRef("", "two.jpg", 600), 600)


def same_crowd(of: Material) -> Iterator[Work]:
    """Assets without a difference but for their marker, half of them with all values."""
    for number in range(CROWD):
        fields = dict(of.values) if number % 2 else {}
        draft = of.draft(number, placements=frozenset(), filename=f"{number % 90}.jpg")
        yield "create, alike", "write", (replace(draft, fields={**draft.fields, **fields}), SMALL)


def versions(of: Material) -> Iterator[Work]:
    for how in ("grown", "write", "just read"):
        for name, size in (("small", SMALL), ("empty", 0), ("large", LARGE), ("huge", HUGE)):
            yield (
                f"version, {name}, {how}",
                how,
                (FileRef("", "new.jpg", size), *((size,) if how != "just read" else ())),
            )
    yield "version, of unknown size", "write", (FileRef("", "new.jpg"),)
    yield "version, current again", "write", (VersionReturn(FileRef("1/1", "old.jpg")),)
    yield "version, another current again", "write", (VersionReturn(FileRef("1/1", "old.jpg")),)


def updates(of: Material) -> Iterator[Work]:
    yield from ((f"update, {name}", "write", (patch,)) for name, patch in patches(of))


def updates_just_read(of: Material) -> Iterator[Work]:
    for name, patch in patches(of):
        if name != "nothing":
            yield f"update, just read, {name}", "just read", (patch,)


def patches(of: Material) -> Iterator[tuple[str, Patch]]:
    yield "nothing", Patch()
    for number in range(1, len(of.values) + 1):
        yield f"{number} fields", Patch(fields=dict(list(of.others.items())[:number]))
    for key in of.values:
        yield f"clears {key}", Patch(fields={key: None})
    yield "clears all", Patch(fields=dict.fromkeys(of.values))
    yield "tags added", Patch(tags_add=frozenset({"sea", "late"}))
    yield "the same tags added", Patch(tags_add=frozenset({"late"}))
    yield "tags removed", Patch(tags_remove=frozenset({"sea"}))
    yield "tags both", Patch(tags_add=frozenset({"x"}), tags_remove=frozenset({"sea"}))
    yield "file name", Patch(filename="new name.jpg")
    yield "rights", Patch(rights=of.full.rights)
    yield "groups", Patch(rights=GROUPS)
    yield "dates", Patch(rights=replace(of.full.rights, groups=frozenset()))
    yield "hidden", Patch(closed=True)
    yield "shown", Patch(closed=False)
    yield "shown to groups", Patch(closed=False, rights=GROUPS)
    for part in ("release_at", "expires_at", "groups"):
        yield f"no {part}", Patch(cleared=frozenset({part}))
    for status in sorted(of.schema.statuses or ("published", "archived")):
        yield f"status {status}", Patch(status=status)
        yield f"status {status} again", Patch(status=status)
    for place in of.places:
        if of.service.capabilities.membership(place.kind) is not MembershipWrite.WITH_ASSET:
            continue
        yield f"into {place.kind} {place.text}", Patch(placements_add=frozenset({place}))
        yield f"out of {place.kind} {place.text}", Patch(placements_remove=frozenset({place}))
    yield "moved", Patch(placements_add=frozenset(of.places[:1]), placements_remove=frozenset(of.places[1:2]))
    yield (
        "mixed",
        Patch(
            fields=dict(list(of.others.items())[:3]),
            tags_add=frozenset({"x"}),
            tags_remove=frozenset({"sea"}),
            rights=of.full.rights,
            status=of.full.status or None,
            placements_remove=of.full.placements,
        ),
    )


def taxonomy(of: Material) -> Iterator[Work]:
    one, two = Term("One"), Term("Two", labels={"en": "Two", "fr": "Deux"})
    below = Term("Below", path=("One", "Below"))
    for name, term in (("plain", one), ("in two languages", two), ("below another", below), ("one more", Term("Six"))):
        yield f"term, {name}", "write", (term,)
    yield "terms, three", "terms", ((Term("Three"), Term("Four"), Term("Five")),)
    yield "terms, of two levels", "terms", ((one, below),)
    yield "terms, in two languages", "terms", ((two, two),)
    for kind in of.kinds:
        for depth in range(1, 4):
            yield f"container, {kind} {depth}", "write", (Placement(kind, ("One", "Two", "Three")[:depth]),)
    for term in of.terms[:3]:
        yield f"renamed term {term.label}", "write", (Renaming(term),)
    for place in of.places:
        yield f"renamed {place.kind} {place.text}", "write", (Renaming(place),)
    planned = {spell(of.service, "subject"): (Term("One", "planned-1", path=("One",)),)}
    yield "create, with the term", "write", (replace(of.plain, fields=planned), SMALL)
    yield "update, with the term", "write", (Patch(fields=planned),)


def members(of: Material) -> Iterator[Work]:
    ids = tuple(AssetId(f"planned-{number}") for number in range(1_001))
    for number in (1, 5, 501, 1_001):
        for place in (*of.places, *(Placement(kind, ("New",), "planned-7") for kind in of.kinds)):
            made = "made by the run, " if place.id.startswith("planned-") else ""
            yield f"{number} members of {place.kind} {made}{place.text}", "write", (Membership(place, ids[:number]),)
    known = tuple(AssetId(name) for name in ("unknown-1", "unknown-2"))
    for place in of.places:
        yield f"members that exist, of {place.kind} {place.text}", "write", (Membership(place, known),)
    for number in (0, 1, 2):
        yield f"memberships carried, {number}", "write", (CarriedMemberships(of.places[:number]),)


def carried_first(of: Material) -> Iterator[Work]:
    yield "memberships carried first", "write", (CarriedMemberships(of.places[:1]),)
    for place in of.places:
        yield f"then a member of {place.kind} {place.text}", "write", (Membership(place, (AssetId("planned-1"),)),)


def parts(of: Material) -> Iterator[Work]:
    for name, size in (("small", 500), ("large", LARGE), ("small again", 500)):
        yield f"attachment, {name}", "write", (Attachment("paper.pdf"), size)
    planned, other = Relation(of.relation, AssetId("planned-1")), Relation(of.relation, AssetId("other"))
    for name, relation in (("to a new asset", planned), ("to an old one", other), ("to a new asset again", planned)):
        yield f"relation, {name}", "write", (relation,)
    yield "relation, of another kind", "write", (Relation("sibling", AssetId("planned-1")),)
    yield "attachment removed", "write", (PartRemoval(FileRef("", "paper.pdf", 500)),)
    yield "relation removed", "write", (PartRemoval(other),)
    yield "relation removed again", "write", (PartRemoval(other),)
    yield "to the trash", "write", (TrashMove(AssetId("1")),)
    yield "to the trash again", "write", (TrashMove(AssetId("1")),)
    for name, draft in (("plain", of.plain), ("with a status", replace(of.plain, status="published"))):
        yield f"out of the trash, {name}", "write", (TrashMove(AssetId("1"), draft),)


def opens(of: Material) -> Iterator[Work]:
    for number, file in enumerate((*of.files, replace(of.files[0], size=3 << 30), replace(of.files[0], withheld="x"))):
        yield f"file {number} opened", "open", (file,)
        yield f"file {number} opened again", "open", (file,)


def links(of: Material) -> Iterator[Work]:
    for number, file in enumerate(of.files):
        yield f"link to file {number}", "link", (file,)
        yield f"link to file {number} again", "link", (file,)


BLOCKS = (creates, crowd, same_crowd, versions, updates, updates_just_read, taxonomy, members, carried_first, parts)
READS = (opens, links)


@pytest.mark.calls(4_000)
async def test_a_plan_says_what_it_said(which: tuple[str, str], fresh: Any) -> None:
    tenant, lines = fresh(), list[str]()
    made = await Material.of(tenant)
    for block in (*BLOCKS, *READS):
        service = tenant.connect()
        await service.schema()
        await places(tenant, service)
        if block in READS:
            await entries(service)
        works = [work for work in block(made) if reached(service, work)]
        told = [line for line in told_by(Planner(service), works) if not line.endswith(": no calls")]
        lines += [f"# {block.__name__}", *told, ""] if told else []
    table = TABLES / f"{'-'.join(part for part in which if part)}.txt"
    table = table if table.exists() else TABLES / f"{which[0]}.txt"
    if not table.exists():
        table.write_text("\n".join(lines), encoding="utf-8")
        pytest.fail(f"{table.name} is new: read it")
    assert "\n".join(lines) == table.read_text(encoding="utf-8")


def told_by(planner: Planner, works: list[Work]) -> Iterator[str]:
    """A line for each, and one for all of those that follow each other under the same name."""
    while works:
        name, several = works[0][0], Counter[str]()
        repeated = sum(work[0] == name for work in works) > 1
        if not repeated:
            yield f"{name}: {asked(planner, *works.pop(0)[1:])}"
            continue
        calls: list[Mapping[str, int]] = []
        while works and repeated:
            _, how, what = works.pop(0)
            calls.append(planner.ask(how, *what) or {})
            several.update(calls[-1])
        yield f"{name}: {text_of(several)}"
        if several:
            yield f"{name}, one by one: {' '.join(str(sum(one.values())) for one in calls)}"


NEEDS: Mapping[type, Operation] = {
    Draft: Operation.CREATE,
    FileRef: Operation.REPLACE,
    Patch: Operation.UPDATE,
    Term: Operation.ENSURE_TERM,
    Placement: Operation.ENSURE_CONTAINER,
    Membership: Operation.PLACE,
    Attachment: Operation.ATTACH,
    Relation: Operation.RELATE,
    VersionReturn: Operation.RESTORE_VERSION,
}


def reached(service: Service, work: Work) -> bool:
    """Whether the engine asks this service for it."""
    _, how, (change, *_) = work
    can = service.capabilities
    if isinstance(change, Membership) and can.membership(change.placement.kind) is not MembershipWrite.IN_BULK:
        return False
    if isinstance(change, Renaming) and isinstance(change.part, Placement) and change.part.kind not in can.renames:
        return False
    needed = needed_for(how, change)
    return needed is None or needed in can


def needed_for(how: str, change: Any) -> Operation | None:
    match how, change:
        case "open" | "link" | "terms", _:
            return {"open": None, "link": Operation.DOWNLOAD_LINK, "terms": Operation.ENSURE_TERM}[how]
        case _, TrashMove():
            return Operation.REMOVE if change.restored is None else Operation.RESTORE
        case _, PartRemoval():
            return Operation.DETACH if isinstance(change.part, FileRef) else Operation.UNRELATE
        case _, Renaming():
            return Operation.RENAME_TERM if isinstance(change.part, Term) else Operation.RENAME_CONTAINER
        case _:
            return NEEDS.get(type(change))


def asked(planner: Planner, how: str, what: tuple[Any, ...]) -> str:
    try:
        told = planner.ask(how, *what)
    except Rejected as refused:
        return f"refused, {type(refused).__name__}"
    return "none" if told is None else text_of(told)


def text_of(calls: Mapping[str, int]) -> str:
    """Calls by endpoint."""
    return ", ".join(f"{number} x {call}" for call, number in sorted(calls.items()) if number) or "no calls"
