"""Whatever is done after a run was killed, the library becomes what it would be if the run had not been killed, or what
differs is named. What a rollback does then is tried by `test_rollback_of_killed_runs.py`."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dam_sync.api.adopt import Adoption, adopt_job
from dam_sync.model.asset import Asset, AssetId
from dam_sync.model.values import GeoPoint, Localized, Row, Term
from tests.simulation.conftest import TRIED
from tests.support.pairs import EVERYTHING, KINDS, ids
from tests.support.sample.rotation import OfToday
from tests.support.services.profiles import FOLDER
from tests.support.virtual.branching import Branch, Plan, branches
from tests.support.virtual.crashes import POINTS, SEED
from tests.support.virtual.fuse import AFTER, BEFORE, COMMIT, Fuse, Point
from tests.support.virtual.moves import MADE_UP, plain
from tests.support.virtual.rollback_process import RunProcess, assets_of, differing
from tests.support.virtual.state_location import ask, forget
from tests.support.virtual.target_edits import (
    CONTAINERS,
    EDITS,
    EXPIRES,
    RELEASED,
    REPLACED,
    Change,
    Edit,
    Hand,
    field,
    member,
    place,
    rights,
    tags,
)
from tests.support.virtual.two_tenants import REOPENS, TwoTenants, scene

RUNS = 2
LISTED = ("added to a list", "removed from a list", "of a list swapped")
FIRST = KINDS.index("d_templates")  # the sample of the day has the first pair
ORDER = (*KINDS[FIRST:], *KINDS[:FIRST])
PAIRS = [(kind, kind) for kind in ORDER] + [(kind, FOLDER) for kind in ORDER]
EACH = max(2, POINTS // 12)  # crash points for each purpose
Purpose = Callable[[TwoTenants], Iterable[str]]
"""What is done after a run was killed; it gives the assets of the source of which it says that they differ."""


def run_again(job: TwoTenants) -> Iterable[str]:
    return run(job)


def repair(job: TwoTenants) -> Iterable[str]:
    return run(job, repair=True)


def run(job: TwoTenants, **options: Any) -> Iterable[str]:
    """One run that lists the source, after the killed one is finished, which listed it before."""
    for _ in range(RUNS):
        job.run(full=True, **options)
    return ()


def remove(job: TwoTenants) -> Iterable[str]:
    """What the run was to change leaves the source."""
    job.policy(deletes="trash", max_deletes="100%", grace="0d", exposure=REOPENS)
    job.universe.do(removed(job, [job.source_of(target) for target in job.edited]))
    run(job, accept_changes=True)
    job.run(full=True, accept_changes=True)  # gone is what two listings lack
    return ()


async def removed(job: TwoTenants, sources: Iterable[str]) -> None:
    async with job.service("source") as service:
        await service.schema()
        for each in sources:
            await service.remove(AssetId(each))
    await job.settle("source")


def adopt(job: TwoTenants) -> Iterable[str]:
    """The state is lost, and a new one gets its links from the marks at the target, whose index is behind what the
    killed run wrote."""
    forget(job.job)
    job.universe.do(adopt_job(job.job, job.universe.options(), Adoption()))
    run(job)
    return differing_by(job.verify())


def verify(job: TwoTenants) -> Iterable[str]:
    if job.target.kind == FOLDER:
        return verify_folder(job)
    there = assets_of(job.target)
    verdict = job.verify()
    if [*differing(there, assets_of(job.target))]:  # the target was not done with what the killed run sent
        job.universe.do(job.settle())
        there = assets_of(job.target)
        job.verify()
    assert [*differing(there, assets_of(job.target))] == []
    return differing_by(verdict)


def verify_folder(job: TwoTenants) -> Iterable[str]:
    """A torn last line, which a killed process may leave in the catalogue, counts for nothing: it is cut off for the
    comparison, once the verification met it and left it."""
    catalogue = job.target.folder / "data" / "catalogue.jsonl"
    there = catalogue.read_bytes()
    verdict = job.verify()
    assert catalogue.read_bytes() == there
    catalogue.write_bytes(there[: there.rfind(b"\n") + 1])
    return differing_by(verdict)


def differing_by(verdict: Any) -> set[str]:
    return {source for part in ("differences", "extras") for source, _, _ in verdict[part]}


def go_back_and_run(job: TwoTenants) -> Iterable[str]:
    job.edit_source(BACK)
    return run_again(job)


def go_back_and_repair(job: TwoTenants) -> Iterable[str]:
    job.edit_source(BACK)
    return repair(job)


async def terms_back(hand: Hand, asset: Asset) -> None:
    """The subjects of every asset."""
    key = hand.key("subject")
    vocabulary = (await hand.service.schema()).fields[key].vocabulary
    found: dict[str, Term] = {term.label: term async for term in hand.service.terms(vocabulary)}
    held = asset.fields.get(key)
    for _ in held if isinstance(held, tuple) else ():
        await member("subject", drop=0)(hand, await hand.service.fetch(asset.id))
    for label in ("Sea", "City"):
        now = await hand.service.fetch(asset.id)
        if now.fields.get(key) is None:
            await field("subject", (found[label],))(hand, now)
        else:
            await member("subject", add=found[label])(hand, now)


async def title_back(hand: Hand, asset: Asset) -> None:
    """Both languages of the title."""
    number = asset.filename.split()[1].partition(".")[0]
    texts = {"en": f"Picture {number}", "fr": f"Image {number}"}
    await field("title", Localized(texts))(hand, asset)


SIZES = (Row({"part": "frame", "length": 12.5}), Row({"part": "glass", "length": 3}))
BACK: Mapping[str, Change] = {
    **dict.fromkeys(
        (
            *("text changed", "text removed", "whitespace added to a text"),
            *("value of a custom field changed", "value of a custom field removed", "dropdown changed"),
        ),
        field("note", "as it was"),
    ),
    "text added": field("web", None),
    **dict.fromkeys(("a language changed", "a language removed"), title_back),
    "a language added": field("legend", Localized({"en": "First light"})),
    "flag changed": field("cleared", True),
    "number changed": field("rating", 12),
    "date changed": field("shot", date(2025, 2, 6)),
    "instant changed": field("seen", datetime(2025, 2, 6, 10, 30, tzinfo=UTC)),
    "formatted text changed": field("body", "<p>A <b>bold</b> text</p>"),
    "place changed": field("spot", GeoPoint(48.382, -4.495, "Brest, France")),
    "mail address changed": field("mail", "desk@example.org"),
    **{f"value {what}": field("keywords", ("harbour", "dawn")) for what in LISTED},
    "row changed": field("sizes", SIZES),
    "tag added": tags(drop="handmade"),
    "tag removed": tags(add="sea"),
    "tag swapped": tags(add="sea", drop="handmade"),
    **dict.fromkeys(("group added", "group swapped"), rights(groups=frozenset({"staff"}))),
    **dict.fromkeys(("release changed", "release removed"), rights(release_at=RELEASED)),
    **dict.fromkeys(("expiry changed", "expiry removed"), rights(expires_at=EXPIRES)),
    **dict.fromkeys(("term added", "term removed", "term swapped"), terms_back),
    "moved to another folder": place("folder", into="Ours", out_of="Spare"),
    **{f"{kind} added": place(kind, out_of="Spare") for kind in CONTAINERS},
    **{f"{kind} removed": place(kind, into="Ours") for kind in CONTAINERS},
    **{f"{kind} swapped": place(kind, into="Ours", out_of="Spare") for kind in CONTAINERS},
}
"""How an edit of the source is taken back, by its name."""

OF_ALL_EDITS: Sequence[Purpose] = (run_again, repair, remove, adopt, verify)
OF_EDITS_TAKEN_BACK: Sequence[Purpose] = (go_back_and_run, go_back_and_repair)


@pytest.mark.parametrize("kinds", PAIRS, ids=ids(PAIRS))
def test_what_follows_a_killed_run_makes_the_library_whole_or_names_what_differs(
    tmp_path: Path, kinds: tuple[str, str], record_property: Callable[[str, object], None], of_today: OfToday
) -> None:
    came = tried(tmp_path, kinds, EDITS[kinds[0]], OF_ALL_EDITS, of_today)
    record_property(TRIED, str(sum(each.crashes for each in came)))
    assert [fault for each in came for fault in each.faults] == []


@pytest.mark.parametrize("kinds", PAIRS, ids=ids(PAIRS))
def test_a_source_that_went_back_after_a_killed_run_has_its_library_back(
    tmp_path: Path, kinds: tuple[str, str], record_property: Callable[[str, object], None], of_today: OfToday
) -> None:
    edits = [edit for edit in EDITS[kinds[0]] if edit.name in BACK]
    came = tried(tmp_path, kinds, edits, OF_EDITS_TAKEN_BACK, of_today)
    record_property(TRIED, str(sum(each.crashes for each in came)))
    assert [fault for each in came for fault in each.faults] == []


def test_an_adoption_right_after_a_killed_run_does_not_send_a_file_again(tmp_path: Path) -> None:
    """The state is lost, and the index of the target is behind what the killed run sent."""
    with scene(tmp_path, "d_templates", [REPLACED], exposure=REOPENS) as job:
        job.edit("source")
        sent = Fuse(until=lambda: bool(ask(job.job, "SELECT 1 FROM work WHERE action = 'updated'")))
        assert job.universe.live(job.job, sent, full=True).blown
        adopt(job)
        sizes_of = {target: [file["size"] for file in row["versions"]] for target, row in assets_of(job.target).items()}
        assert [sizes for sizes in sizes_of.values() if len({*sizes}) < len(sizes)] == []
        assert max(map(len, sizes_of.values())) == 3


def tried(
    folder: Path, kinds: tuple[str, str], edits: Sequence[Edit], purposes: Sequence[Purpose], of_today: OfToday
) -> list[Branch]:
    """Crashes of a run that brings edits over, at other points for each purpose; and what each purpose makes of a run
    that was not killed."""
    source, target = kinds
    for name in ("reference", "crashed"):
        (folder / name).mkdir()
    by_name = {purpose.__name__: purpose for purpose in purposes}
    with scene(folder / "reference", source, edits, target, exposure=REOPENS) as job:
        before = by_source(job)
        job.edit("source")
        every = RunProcess(job).live().points()
        job.universe.do(job.settle())
        assert [*differing(before, by_source(job))] != []
        idle = [(Point(COMMIT, BEFORE, 1), named(name)) for name in by_name]
        came = list(branches(RunProcess(job), idle, partial(kept, job, by_name, folder)))
        assert [fault for each in came for fault in each.faults] == []
    plans = of_today([*chosen(every, by_name, f"{SEED} {kinds}")])
    with scene(folder / "crashed", source, edits, target, exposure=REOPENS) as job:
        job.edit("source")
        came = list(branches(RunProcess(job), plans, partial(survived, job, by_name, folder)))
    assert len(came) == len(plans)
    return came


def chosen(every: Sequence[Point], purposes: Iterable[str], seed: str) -> Iterator[Plan]:
    """What follows a crash at which point: each purpose after some of its own; with everything one of them after every
    point, so that with as many seeds as there are purposes each of them follows each point."""
    purposes = [*purposes]
    if EVERYTHING:
        yield from ((point, named(purposes[(at + SEED) % len(purposes)])) for at, point in enumerate(every))
        return
    number = min(EACH, len(every) // len(purposes))
    points = iter(random.Random(seed).sample(every, number * len(purposes)))
    yield from ((next(points), named(name)) for _ in range(number) for name in purposes)


def named(purpose: str) -> Point:
    """Behind the crash point of a plan: what follows."""
    return Point(purpose, AFTER, 0)


def kept(job: TwoTenants, by_name: Mapping[str, Purpose], folder: Path, plan: Plan) -> Branch:
    """Keep what a purpose makes of a run that was not killed."""
    name = plan[1].kind
    by_name[name](job)
    (folder / f"{name}.json").write_text(json.dumps(by_source(job)), encoding="utf-8")
    return Branch()


def survived(job: TwoTenants, by_name: Mapping[str, Purpose], folder: Path, plan: Plan) -> Branch:
    """Where the library differs then, but for assets that are named or parked."""
    point, name = plan[0], plan[1].kind
    but = {*by_name[name](job)}
    but |= {asset for (asset,) in ask(job.job, "SELECT asset FROM work WHERE action = 'parked'")}
    want = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    there = json.loads(json.dumps(by_source(job)))
    return Branch(1, [f"{name} {point}: {fault}" for fault in differing(want, there, but)])


def by_source(job: TwoTenants) -> Mapping[str, Any]:
    """Assets of the target by the ids of those at the source that they stand for, without ids of the target."""
    names = dict(ask(job.job, "SELECT target, source FROM link"))
    rows = {names.get(target, target): row for target, row in assets_of(job.target).items()}
    return {
        source: plain({key: value for key, value in row.items() if key not in MADE_UP}, names)
        for source, row in rows.items()
    }
