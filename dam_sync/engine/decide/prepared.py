"""The one decision about an asset: what is written of it, and what its link says from then on. Pure.

A run, a repair and a create that was begun find what the target has by their own means, and are answered alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from dam_sync.engine.compare.file_keys import VERSIONS, version_key
from dam_sync.engine.compare.files import as_sent
from dam_sync.engine.decide.change import AssetChange, Sent
from dam_sync.engine.decide.conflicts import Settlement
from dam_sync.engine.decide.patches import overlay
from dam_sync.engine.decide.removals import with_relations
from dam_sync.engine.decide.three_way import kept_values
from dam_sync.engine.decide.update import Write, fixed_among, fixed_values, not_carried
from dam_sync.model.asset import Asset, Draft, FileRef, Loss, Relation, digest_of
from dam_sync.model.conflict import FILE
from dam_sync.model.link import LinkRow
from dam_sync.model.schema import Schema
from dam_sync.model.values import Json


@dataclass(frozen=True, slots=True)
class Remainder:
    """What is left to write beside what the target has.

    settlement: the update that remains, and what stands after conflicts. link: as if only what is at the target had
    been written; None for a new asset. before: the values that an update changes, in the form of a draft, for the
    ledger. paths: what a repair restores, beyond what changed at the source. losses: what it cannot or may not restore.
    fixed: what an interrupted attempt gave a new asset and no call changes since, by path."""

    settlement: Settlement
    link: LinkRow | None = None
    before: Json = None
    paths: tuple[str, ...] = ()
    losses: tuple[Loss, ...] = ()
    fixed: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Basis:
    """An asset of the source with its draft, and what was last written of it, for a target with this schema. versions:
    those that move."""

    asset: Asset
    draft: Draft
    link: LinkRow | None
    schema: Schema
    versions: tuple[FileRef, ...]


@dataclass(frozen=True, slots=True)
class RecordChange:
    """What changes in the link of an asset. before: without what left the source; None for a new asset. versions: those
    that count as written, also if the file of the target stands. kept: what the target has instead of values of the
    draft; theirs: its file stands."""

    before: LinkRow | None
    versions: tuple[FileRef, ...]
    kept: Mapping[str, Json] = field(default_factory=dict)
    theirs: bool = False


@dataclass(frozen=True, slots=True)
class PreparedWrite:
    """What is done to one asset. intent: what is to become of it, of which the plan and the recorded intent are made;
    change: what is left of that to write; they differ for a create that was begun. action: of the outcome. before: see
    `Remainder`; filename: the name of the file that stands at the target, empty for that of the draft."""

    intent: AssetChange
    change: AssetChange
    record: RecordChange
    action: str
    losses: tuple[Loss, ...]
    before: Json
    filename: str = ""


def prepared(decided: Write, found: Remainder, basis: Basis) -> PreparedWrite:
    """What was decided by what was last written, as far as it is left after a look at the target."""
    wanted, change = decided.change, _left(decided.change, found)
    return PreparedWrite(
        intent=change if wanted.create is None else wanted,
        change=change,
        record=_recorded(decided, found, basis, replaced=bool(change.versions)),
        action=_action(decided, change),
        losses=(*decided.losses, *found.losses, *found.settlement.losses),
        before=found.before,
        filename=found.settlement.filename,
    )


def _left(wanted: AssetChange, found: Remainder) -> AssetChange:
    """Without what the target has already, and with what stands there."""
    stands, new = found.settlement.values, wanted.create
    return replace(
        wanted,
        create=None if new is None else replace(new, draft=overlay(new.draft, stands)),
        patch=found.settlement.patch,
        versions=() if FILE in stands else wanted.versions,
        paths=found.paths,
    )


def _recorded(decided: Write, found: Remainder, basis: Basis, *, replaced: bool) -> RecordChange:
    """replaced: the current file of an asset that exists is replaced by one that brings its name."""
    files, stands = decided.change.files, found.settlement.values
    if basis.link is None:
        return RecordChange(None, files, {**found.fixed, **stands}, theirs=FILE in stands)
    before = decided.removals.applied(basis.link)
    kept = _kept(before, found.settlement, basis, replaced=replaced)
    return RecordChange(before, files, kept, theirs=FILE in stands)


def _action(decided: Write, change: AssetChange) -> str:
    if change.create is not None:
        return "created"
    nothing = change.patch.empty and decided.removals.gone.empty and not (change.adds or decided.losses)
    return "unchanged" if nothing else "updated"


def _kept(link: LinkRow, settlement: Settlement, basis: Basis, *, replaced: bool) -> dict[str, Json]:
    """What the target has instead of the draft: after conflicts, and because no call changes it; and the versions that
    it does not get."""
    held = kept_values(link, basis.draft, basis.asset.file)
    held = {path: held[path] for path in held.keys() - fixed_among(held, basis.schema)}
    fixed = fixed_values(link, basis.draft, basis.schema, replaced=replaced)
    missing = not_carried(basis.versions, link)
    return {**held, **fixed, **settlement.values, **({VERSIONS: list(missing)} if missing else {})}


def link_after(decision: PreparedWrite, asset: Asset, draft: Json, sent: Sent, made_at: datetime | None) -> LinkRow:
    """The link of an asset that was written. draft: as JSON; made_at: since when it is open whether the asset stays.
    What is known of the current file is what was sent, where the source reports no size or no digest."""
    record, change = decision.record, decision.change
    before = record.before or LinkRow(asset.id, sent.asset)
    linked = FileRef("", before.filename, before.size, digests=before.digests)
    file = sent.current if record.versions else linked
    current = asset.file if file is None or asset.file is None else as_sent(asset.file, file)
    written = {*_keys(change.versions), *_keys(change.attachments)}
    return replace(
        before,
        target=sent.asset,
        draft_fingerprint=digest_of(draft),
        filename=draft["filename"],
        evidence="V1",
        digests=before.digests if record.theirs else dict(current.digests) if current else {},
        size=before.size if record.theirs else current.size if current else None,
        versions=(*before.versions, *_keys(record.versions)),
        attachments=tuple(dict.fromkeys((*before.attachments, *_keys(change.attachments)))),
        attached={**before.attached, **sent.attached},
        relations=with_relations(before.relations, _pairs(change.relations)),
        draft=draft,
        made_at=made_at,
        proofs={key: proof for key, proof in before.proofs.items() if key not in written},
        kept=record.kept,
    )


def _keys(files: Iterable[FileRef]) -> tuple[str, ...]:
    return tuple(version_key(file) for file in files)


def _pairs(relations: Iterable[Relation]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((relation.kind, str(relation.target)) for relation in relations))
