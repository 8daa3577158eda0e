"""The inventory of one side of a job: what the service counts itself, and what the assets that were read hold."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dam_sync.aio.closing import closing
from dam_sync.engine.context.sampling import CONFIDENCE, most_different
from dam_sync.engine.inventory.duplicates import DIGEST, NAME_AND_SIZE
from dam_sync.engine.inventory.library import MOST_TERMS, AmountTally, FieldTally, LibraryTally, term_key
from dam_sync.engine.inventory.reading import SampleReader, Sampling
from dam_sync.engine.inventory.rights import RiskCounter
from dam_sync.engine.inventory.vocabularies import VocabularyTally
from dam_sync.model.asset import Asset, FileRef
from dam_sync.model.capabilities import Feature, Operation
from dam_sync.model.counts import Counts
from dam_sync.model.errors import ConfigError, DamSyncError, InternalError, Rejected, StopRequested
from dam_sync.model.estimator import Estimator
from dam_sync.model.inventory import (
    Amount,
    ContainerInventory,
    Distinct,
    FieldInventory,
    LeftOut,
    Risk,
    SideInventory,
    VocabularyInventory,
)
from dam_sync.model.not_moved import NotMoved, NotUsed
from dam_sync.model.probed import Account, Undecided
from dam_sync.model.run_options import RunOptions
from dam_sync.model.schema import Field, Schema
from dam_sync.model.service import Service

READING, LISTING = "reading the {}", "reading vocabularies and containers of the {}"


@dataclass(slots=True)
class Inspection:
    """Reads one side. kind: of its connector; not_moved, not_used: what that says."""

    role: str
    kind: str
    service: Service
    not_moved: Sequence[NotMoved]
    sampling: Sampling
    options: RunOptions
    notes: list[str] = field(default_factory=list)
    not_used: Sequence[NotUsed] = ()

    async def run(self) -> SideInventory:
        """The inventory. Raises what the service raises for its account, its schema and its listing; vocabularies,
        containers and counts that it refuses become notes."""
        account = await self.service.probe()
        schema = await self.service.schema()
        reader = SampleReader(self.service, self.sampling, self.options)
        by = DIGEST if self.service.capabilities.reads(Feature.DIGESTS) else NAME_AND_SIZE
        tally = LibraryTally.of(schema, self.options.clock.now(), by)
        self._begin(READING, account.total)
        async with closing(reader.assets()) as assets:
            async for asset in assets:
                tally.add(asset, self._refused(asset))
        self._begin(LISTING, None)
        counts = await self._counts(schema, whole=reader.whole)
        if reader.whole:
            await self._members(tally)
        vocabularies = [one async for one in self._vocabularies(schema, tally, counts, whole=reader.whole)]
        containers, number = await self._containers(tally, counts, whole=reader.whole)
        total = counts.assets if counts.assets is not None else account.total
        made = CountedLibrary(schema, tally, counts, reader.whole, total)
        return SideInventory(
            role=self.role,
            kind=self.kind,
            tenant=account.tenant,
            user=account.user,
            release=account.release,
            reading=self._statement(reader, total),
            whole=reader.whole,
            total=reader.listed if reader.complete else total,
            read=reader.read,
            trashed=reader.trashed,
            bytes=tally.assets.bytes if reader.whole else counts.bytes,
            fields=tuple(made.fields()),
            vocabularies=tuple(vocabularies),
            containers=containers,
            containers_number=number,
            by_type=made.amounts(tally.types, counts.types),
            by_status=made.amounts(tally.statuses, counts.statuses),
            by_year=made.amounts(tally.years, counts.years),
            duplicates=tally.duplicates.result(),
            rights=tally.rights.risks(),
            unseen=tuple(self._unseen(reader, tally, total)),
            not_moved=tuple(self._left_out(counts)),
            not_used=tuple(LeftOut(one.what, one.why, one.where) for one in self.not_used),
            notes=(*self.notes, *reader.notes, *counts.notes, *made.notes(), *account.notes_as(self.role)),
            undecided=tuple((one.text, one.hint) for one in self._undecided(account, schema)),
            calls=dict(self.service.calls),
        )

    def _refused(self, asset: Asset) -> list[FileRef]:
        """Those of its files that are missing, or that the service will not return, as far as it shows without a
        call."""
        files = (*asset.versions, *asset.attachments) if self.role == "source" else ()
        return [file for file in files if (file.withheld or file.size is None) and not self._opens(file)]

    def _opens(self, file: FileRef) -> bool:
        try:
            Estimator(self.service).open(file)
        except Rejected:
            return False
        return True

    def _begin(self, phase: str, expected: int | None) -> None:
        self.options.progress.begin(phase.format(self.role))
        self.options.progress.expected = expected

    def _undecided(self, account: Account, schema: Schema) -> Iterator[Undecided]:
        yield from (one.among(schema.fields.values()) for one in account.undecided_as(self.role))

    async def _counts(self, schema: Schema, *, whole: bool) -> Counts:
        """What the service counts. Values of fields are counted only if not all assets were read."""
        if Operation.COUNTS not in self.service.capabilities:
            return Counts()
        try:
            fields = () if whole else tuple(key for key, known in schema.fields.items() if not _maintained(known))
            return await self.service.counts(fields)
        except DamSyncError as error:
            self._note("counts", error)
            return Counts()

    async def _members(self, tally: LibraryTally) -> None:
        if Operation.MEMBERS not in self.service.capabilities:
            return
        try:
            async with closing(self.service.members()) as members:
                async for one in members:
                    if one.unread:
                        self.notes.append(f"the members of {one.placement.text} could not be read: {one.unread}")
                    if one.unsure:
                        continue
                    tally.place(one.placement.kind, one.placement.text, len(one.assets))
        except DamSyncError as error:
            self._note("memberships", error)

    async def _vocabularies(
        self, schema: Schema, tally: LibraryTally, counts: Counts, *, whole: bool
    ) -> AsyncIterator[VocabularyInventory]:
        if Operation.TERMS not in self.service.capabilities:
            return
        for key, known in sorted(schema.vocabularies.items()):
            holders = [one for one in schema.fields.values() if one.vocabulary == key]
            fields = tuple(sorted(one.key for one in holders if not _maintained(one)))
            used = tally.used[key].counts if key in tally.used else {}
            known_use = (used if whole else _counted(counts, fields)) if fields and tally.assets.assets else None
            read = VocabularyTally(known, fields, known_use)
            try:
                await read.read(self.service)
            except DamSyncError as error:
                self._note(f"the vocabulary {key}", error)
                continue
            yield read.result()

    async def _containers(
        self, tally: LibraryTally, counts: Counts, *, whole: bool
    ) -> tuple[tuple[ContainerInventory, ...], Distinct]:
        """Containers with the assets directly in them."""
        known: dict[tuple[str, str], int | None] = {}
        exceeded = False
        try:
            if Operation.CONTAINERS in self.service.capabilities:
                async with closing(self.service.containers()) as containers:
                    async for one in containers:
                        if len(known) >= MOST_TERMS:
                            exceeded = True
                            break
                        known[one.kind, one.text] = 0 if whole else None
        except DamSyncError as error:
            self._note("containers", error)
        known |= tally.containers if whole else {}
        known |= {(one.kind, one.text): number for one, number in counts.containers.items()}
        rows = tuple(ContainerInventory(kind, path, number) for (kind, path), number in sorted(known.items()))
        return rows, Distinct(len(rows), exceeded)

    def _note(self, what: str, error: DamSyncError) -> None:
        """A refusal becomes a note; a bug and a wrong option stop the command."""
        if isinstance(error, InternalError | ConfigError | StopRequested):
            raise error
        self.notes.append(f"{what} could not be read: {error}")

    def _statement(self, reader: SampleReader, total: int | None) -> str:
        """How the assets that were read were chosen."""
        if reader.whole:
            few = {0: "there is no asset to read", 1: "the only asset was read"}
            return few.get(reader.read, f"all {reader.read:,} assets were read")
        if self.sampling.number is not None:
            of = f" of {total:,}" if total is not None else ""
            return (
                f"the first {reader.read:,}{of} assets of the listing were read; they are no random sample: values of "
                "other assets may differ"
            )
        return (
            f"{reader.read:,} of the {reader.listed:,} listed assets were read, chosen by a hash of their ids; what "
            f"none of them has, at most {most_different(reader.listed, reader.read, 0):,} of all have (with "
            f"{CONFIDENCE:.0%} confidence)"
        )

    def _unseen(self, reader: SampleReader, tally: LibraryTally, total: int | None) -> Iterator[Risk]:
        if reader.refused.number:
            yield _risk("assets that are listed but cannot be read", reader.refused)
        if reader.complete and total is not None and total > reader.listed + reader.trashed:
            yield Risk("assets that the service counts but does not list", total - reader.listed - reader.trashed)
        for path, counter in sorted(tally.hidden.items()):
            yield _risk(f"{path}: held by the source, but not returned", counter)
        if tally.unopenable.number:
            yield _risk("assets with files that are missing, or that the service does not return", tally.unopenable)
        if tally.unsized:
            yield Risk("files without a published size", tally.unsized)

    def _left_out(self, counts: Counts) -> Iterator[LeftOut]:
        for one in self.not_moved:
            if one.concerns(self.role):
                yield LeftOut(one.what, one.why, one.where, counts.not_moved.get(one.counted))


@dataclass(frozen=True, slots=True)
class CountedLibrary:
    """What was counted, brought together: numbers of the whole library where there are any."""

    schema: Schema
    tally: LibraryTally
    counts: Counts
    whole: bool
    total: int | None

    def fields(self) -> Iterator[FieldInventory]:
        """Every field of the schema, by key."""
        for key, known in sorted(self.schema.fields.items()):
            found = self.tally.fields.get(key, FieldTally())
            counted = not self.whole and key in self.counts.filled
            yield FieldInventory(
                key=key,
                label=known.label,
                kind=known.kind.value,
                vocabulary=known.vocabulary,
                multiple=known.multiple,
                localized=known.localized,
                required=known.required,
                editable=known.editable and not _maintained(known),
                max_length=known.max_length,
                types=tuple(sorted(known.types)),
                assets=self._holders(known) if counted else self.tally.holders(known),
                filled=self.counts.filled[key] if counted else found.filled,
                counted=counted or self.whole,
                distinct=found.values.distinct,
                most=found.most,
                longest=found.longest,
                languages=dict(sorted(found.languages.items())),
                common=found.values.common(),
                samples=tuple(found.samples),
            )

    def amounts(self, read: Mapping[str, AmountTally], counted: Mapping[str, int]) -> dict[str, Amount]:
        """Assets by a name, with the bytes of their files if all were read."""
        if counted and not self.whole:
            return {name: Amount(number, None, counted=True) for name, number in sorted(counted.items())}
        return {name: Amount(one.assets, one.bytes, counted=self.whole) for name, one in sorted(read.items())}

    def notes(self) -> Iterator[str]:
        """What does not fit the schema, and which counter was too small."""
        if strange := sorted(self.tally.fields.keys() - self.schema.fields.keys()):
            yield f"assets have values in fields that the schema does not list: {', '.join(strange)}"

    def _holders(self, known: Field) -> int:
        """Assets of a type that has a field, of the whole library."""
        if not known.types or not known.types <= self.counts.types.keys():
            return self.total or 0
        return sum(self.counts.types[name] for name in known.types)


def _maintained(known: Field) -> bool:
    return known.system or known.derived


def _counted(counts: Counts, fields: Sequence[str]) -> Mapping[str, int] | None:
    """Assets by term, if the service counted them for every field that holds the terms."""
    if not fields or not all(key in counts.terms for key in fields):
        return None
    found: dict[str, int] = {}
    for key in fields:
        for term, number in counts.terms[key]:
            found[term_key(term)] = max(found.get(term_key(term), 0), number)
    return found


def _risk(what: str, counter: RiskCounter) -> Risk:
    return Risk(what, counter.number, tuple(counter.examples))
