"""An inventory says what it could not see, and stops only for what no note can replace."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import ClassVar

import pytest

from dam_sync.engine.inventory.gather import Inspection
from dam_sync.engine.inventory.reading import Sampling
from dam_sync.model.asset import Asset, AssetId, Entry, FileRef, Loss, Placement, Revision
from dam_sync.model.capabilities import Operation
from dam_sync.model.costs import Amounts, PlanMemory
from dam_sync.model.counts import Counts
from dam_sync.model.errors import (
    DamSyncError,
    Denied,
    InternalError,
    NotFound,
    Rejected,
    StopRequested,
    Transient,
    TruncatedListing,
)
from dam_sync.model.inventory import SideInventory
from dam_sync.model.not_moved import NotMoved
from dam_sync.model.ports import Stream
from dam_sync.model.probed import Account
from dam_sync.model.run_options import RunOptions
from dam_sync.model.schema import AssetType, Field, FieldKind, Schema, Vocabulary
from dam_sync.model.service import TRASH, Batch, Calls, Cursor, Service, Shard, Window
from dam_sync.model.validator import NO_VALIDATOR, Validator
from dam_sync.model.values import Term, Value
from dam_sync.model.writes import Change, Opening

NATURE, SEA, CITY = Term("Nature", "1"), Term("Sea", "2", ("Nature", "Sea"), "1"), Term("City", "3")
FIELDS = {
    "subject": Field("subject", FieldKind.TERM, multiple=True, vocabulary="subjects", types=frozenset({"Photo"})),
    "mood": Field("mood", FieldKind.TERM, vocabulary="moods"),
    "width": Field("width", FieldKind.NUMBER, derived=True),
}
VOCABULARIES = {key: Vocabulary(key) for key in ("subjects", "moods", "orphans")}
SCHEMA = Schema(FIELDS, VOCABULARIES, (AssetType("Photo"), AssetType("Plan")), container_kinds=frozenset({"folder"}))
LEFT = (
    NotMoved("boards", "nobody else has them", "Boards", counted="boards"),
    NotMoved("dates", "no call sets them", "Assets", "target"),
)


NOTHING = Counts()


def asset(number: int, **fields: Value) -> Asset:
    return Asset(AssetId(str(number)), Revision("1"), f"{number}.jpg", "published", type="Photo", fields=fields)


class Shelf(Service):
    """Some assets in memory; what a test names raises."""

    kind: ClassVar[str] = "shelf"

    def __init__(self, *assets: Asset, counted: Counts = NOTHING, **raises: DamSyncError) -> None:
        self.assets, self.counted, self.raises = {each.id: each for each in assets}, counted, raises
        self.asked: list[str] = []
        self.fields: Sequence[str] = ()

    def _ask(self, what: str) -> None:
        self.asked.append(what)
        if what in self.raises:
            raise self.raises[what]

    @property
    def calls(self) -> Calls:
        return {"GET /": len(self.asked)}

    async def probe(self) -> Account:
        self._ask("probe")
        return Account("shelf", notes=("sections are not read",))

    async def schema(self) -> Schema:
        return SCHEMA

    async def shards(self, window: Window) -> AsyncIterator[Shard]:
        yield Shard("all")

    async def crawl(self, shard: Shard, cursor: Cursor | None) -> AsyncIterator[Batch]:
        ids = list(self.assets)
        for start in range(0, len(ids), 2):
            self._ask("crawl")
            rows = (Entry(each, Revision("1")) for each in ids[start : start + 2])
            yield Batch(tuple(rows), {"at": start})
        self._ask("end")

    async def fetch(self, asset: AssetId) -> Asset:
        self._ask(f"fetch {asset}")
        return self.assets[asset]

    async def open(self, file: FileRef, offset: int = 0, validator: Validator = NO_VALIDATOR) -> Stream:
        raise NotFound("no file is read")

    async def close(self) -> None:
        return

    async def terms(self, vocabulary: str) -> AsyncIterator[Term]:
        self._ask(f"terms {vocabulary}")
        for term in (NATURE, SEA, CITY):
            yield term

    async def containers(self) -> AsyncIterator[Placement]:
        self._ask("containers")
        yield Placement("folder", ("Press",), "7")

    async def counts(self, fields: Sequence[str]) -> Counts:
        self._ask("counts")
        self.fields = fields
        return self.counted


async def inventory(shelf: Shelf, sample: str = "100%", role: str = "source", **options: object) -> SideInventory:
    given = RunOptions(**options)  # type: ignore[arg-type]
    return await Inspection(role, "shelf", shelf, LEFT, Sampling.of(sample), given).run()


def unseen(side: SideInventory) -> dict[str, int | None]:
    return {risk.what: risk.assets for risk in side.unseen}


async def test_what_cannot_be_seen_is_listed() -> None:
    hidden = Asset(AssetId("3"), Revision("1"), losses=(Loss("versions", "not returned"),))
    files = (FileRef("f", "a.jpg", None),)
    unsized = Asset(AssetId("4"), Revision("1"), versions=files)
    shelf = Shelf(asset(1), asset(2), hidden, unsized, counted=Counts(assets=6), **{"fetch 2": Rejected("not yours")})
    side = await inventory(shelf)
    assert side.notes[-1] == "sections are not read", "what a service has to say is not about the credential"
    assert unseen(side) == {
        "assets that are listed but cannot be read": 1,
        "assets that the service counts but does not list": 2,
        "versions: held by the source, but not returned": 1,
        "files without a published size": 1,
    }


class Locked(Shelf):
    """The file `f` is not there, and `g` is withheld."""

    def amounts(self, change: Change, counted: Amounts, planned: PlanMemory) -> Amounts:
        if isinstance(change, Opening) and change.file.id in ("f", "g"):
            raise NotFound("there is no such file")
        return counted


@pytest.mark.parametrize(("role", "missing", "unsized"), [("source", 2, 1), ("target", None, 2)])
async def test_files_that_are_missing_are_not_called_without_a_size(
    role: str, missing: int | None, unsized: int
) -> None:
    files = FileRef("f", "a.jpg"), FileRef("g", "b.jpg", 700, withheld="not for you"), FileRef("h", "c.jpg")
    given = [Asset(AssetId(file.id), Revision("1"), versions=(file,)) for file in files]
    side = await inventory(Locked(*given), role=role)
    assert unseen(side).get("assets with files that are missing, or that the service does not return") == missing
    assert unseen(side)["files without a published size"] == unsized


async def test_an_asset_that_left_in_between_or_is_in_the_trash_is_not_counted() -> None:
    trashed = Asset(AssetId("2"), Revision("1"), status=TRASH)
    side = await inventory(Shelf(asset(1), trashed, asset(3), **{"fetch 3": NotFound("gone")}))
    assert (side.read, side.trashed, side.whole) == (1, 1, True)


@pytest.mark.parametrize("what", ["terms moods", "containers", "counts"])
async def test_a_refusal_that_concerns_no_asset_becomes_a_note(what: str) -> None:
    side = await inventory(Shelf(asset(1), **{what: Denied("not for you")}))
    note, _ = side.notes
    assert "could not be read" in note
    assert "not for you" in note
    assert [one.key for one in side.vocabularies] == ["moods", "orphans", "subjects"][what == "terms moods" :]


@pytest.mark.parametrize(
    ("what", "error"),
    [("probe", Denied("wrong key")), ("fetch 1", Transient("down")), ("counts", InternalError("a bug"))],
)
async def test_what_stops_a_command_stops_an_inventory(what: str, error: DamSyncError) -> None:
    with pytest.raises(type(error)):
        await inventory(Shelf(asset(1), **{what: error}))


async def test_an_incomplete_listing_is_reported_and_is_not_the_whole_library() -> None:
    side = await inventory(Shelf(asset(1), end=TruncatedListing("two rows are missing")))
    assert not side.whole
    assert "the listing is incomplete" in side.notes[0]
    assert "two rows are missing" in side.notes[0]


async def test_ctrl_c_stops_it() -> None:
    options = RunOptions()
    options.stop("stopped by Ctrl-C")
    with pytest.raises(StopRequested):
        await Inspection("source", "shelf", Shelf(asset(1)), LEFT, Sampling(), options).run()


async def test_a_number_of_assets_is_read_and_no_more() -> None:
    shelf = Shelf(*map(asset, range(1, 10)), counted=Counts(assets=9))
    side = await inventory(shelf, "3")
    assert (side.read, side.whole, side.total) == (3, False, 9)
    assert sum(call.startswith("fetch") for call in shelf.asked) == 3
    assert shelf.asked.count("crawl") == 2
    exactly = Shelf(*map(asset, range(1, 4)))
    assert (await inventory(exactly, "3")).whole


async def test_counts_of_fields_are_asked_for_only_if_not_all_assets_were_read() -> None:
    whole, part = Shelf(asset(1)), Shelf(asset(1), asset(2))
    await inventory(whole)
    await inventory(part, "1")
    assert whole.fields == ()
    assert part.fields == ("subject", "mood")


async def test_unused_terms_keep_the_parents_of_used_ones() -> None:
    side = await inventory(Shelf(asset(1, subject=(SEA,))))
    found = {one.key: one for one in side.vocabularies}
    assert (found["subjects"].unused_number, found["subjects"].unused) == (1, ("City",))
    assert found["moods"].unused_number == 3
    assert found["orphans"].unused_number is None  # no field has its terms


async def test_in_a_sample_use_is_known_only_from_counts() -> None:
    counts = Counts(assets=2, types={"Photo": 2}, filled={"subject": 2}, terms={"subject": [(Term("Sea"), 2)]})
    side = await inventory(Shelf(asset(1), asset(2), counted=counts), "1")
    found = {one.key: one for one in side.vocabularies}
    assert (found["subjects"].unused, found["moods"].unused_number) == (("City",), None)
    (subject,) = (one for one in side.fields if one.key == "subject")
    assert (subject.filled, subject.assets, subject.counted) == (2, 2, True)
    assert [(one.path, one.assets) for one in side.containers] == [("/Press", None)]


async def test_values_that_no_list_has_and_fields_that_no_schema_has_are_reported() -> None:
    side = await inventory(Shelf(asset(1, subject=(Term("Fog", "9"),), extra="x")))
    assert [one.unlisted for one in side.vocabularies if one.key == "subjects"] == [("9",)]
    assert side.notes[:-1] == ("assets have values in fields that the schema does not list: extra",)


async def test_what_is_not_moved_depends_on_the_role() -> None:
    counts = Counts(not_moved={"boards": 4})
    told = [(one.what, one.number) for one in (await inventory(Shelf(counted=counts))).not_moved]
    assert told == [("boards", 4)]
    as_target = (await inventory(Shelf(counted=counts), role="target")).not_moved
    assert [(one.what, one.number) for one in as_target] == [("boards", 4), ("dates", None)]


def test_a_service_that_counts_declares_it() -> None:
    assert Operation.COUNTS in Shelf().capabilities
