"""Links source assets to target assets that already exist; neither service is written to.

An asset is matched by our marker, by the marker that a job in the other direction gave it, by a field of the target
that holds its id, or by name, size and digest of its file.
A link records the draft of the source asset as if it had been written, so that the next run has nothing to do;
where the target asset differs from that draft, the paths are reported and `run --repair` brings them in line. Terms and
containers that the target lacks are not recorded: their ids are not known before a run creates them. Attachments, newer
versions and relations that it lacks are not recorded either: the next run adds them. Of what decides who sees the
asset, a link records what was seen wherever more people see it than the draft says: the next run hides or limits it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, takewhile

from dam_sync.engine.compare.comparison import hides
from dam_sync.engine.compare.differences import hidden_instead
from dam_sync.engine.compare.file_keys import (
    ATTACHMENTS,
    RELATIONS,
    VERSIONS,
    fresh_relations,
    kept_versions,
    version_key,
    without_attachments,
)
from dam_sync.engine.compare.files import pair_files
from dam_sync.engine.context.asset_labels import plain_text
from dam_sync.engine.context.run_context import RunContext
from dam_sync.engine.context.run_state import RunState
from dam_sync.engine.context.stages import Concluded, DraftedAsset, Failed, ReadAsset, Written
from dam_sync.engine.decide.patches import overlay
from dam_sync.engine.decide.update import fresh_attachments, fresh_versions
from dam_sync.engine.guards.exposure import accepted_rules, as_seen
from dam_sync.engine.guards.lost_state import everything_in, is_marked
from dam_sync.engine.guards.way_back import marks_of, may_be_copy, origins_of
from dam_sync.engine.names.containers import CONTAINERS, TargetContainers
from dam_sync.engine.names.terms import TERMS, TargetTerms
from dam_sync.engine.read.compared import with_everybody
from dam_sync.engine.read.facts import differing, facts_of
from dam_sync.engine.read.index import wait_for_any_index
from dam_sync.engine.run.dry_run import INVENTED
from dam_sync.engine.run.execute import list_everything, move
from dam_sync.engine.run.originals import kept_file, kept_of_original, unmade
from dam_sync.engine.run.pipeline import Pipeline
from dam_sync.engine.run.worker import Worker
from dam_sync.engine.write.filenames import FilenameAllocator, names_beside
from dam_sync.mapping.compile import marker_value
from dam_sync.model.adoption import MatchedBy
from dam_sync.model.asset import Asset, AssetId, Draft, FileRef, digest_of
from dam_sync.model.canonical import canonical
from dam_sync.model.codec import draft_to_json, fingerprint
from dam_sync.model.exposure import EXPOSURE, Purpose
from dam_sync.model.link import LinkRow
from dam_sync.model.outcome import Outcome
from dam_sync.model.parking import Cause, ExposureCause, SkipReason
from dam_sync.model.run_options import MATCHING
from dam_sync.model.values import Row, Term, Value
from dam_sync.store.candidates import CandidateMatch, Candidates
from dam_sync.store.rows import Work
from dam_sync.store.store import SqlStore

AT_ONCE = 500  # target assets whose links are looked up together
TO_HIDE, TO_LIMIT = f"{EXPOSURE}: to be hidden", f"{EXPOSURE}: to be limited"
"""Among the paths that differ: more people see the asset than the job says."""
KEPT, KEPT_OPEN = "kept", "kept open"
SEVERAL, NO_DIGEST = "several target assets match", "name and size agree, no digest to compare"


@dataclass(frozen=True, slots=True)
class Decisions:
    """What a person decided. links: source ids to target ids; skipped: source assets that are none of those at the
    target; left: source assets of rows without a decision."""

    links: Mapping[str, str] = field(default_factory=dict)
    skipped: frozenset[str] = frozenset()
    left: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class MatchOptions:
    """How to match, besides by marker. id_field: the target's field that holds source ids; file: by name, size and
    digest; decisions: what a person decided."""

    id_field: str = ""
    file: bool = False
    decisions: Decisions = Decisions()


@dataclass(frozen=True, slots=True)
class MatchSummary:
    """The result of matching. to_hide, to_limit: matched assets that more people see at the target than the job says,
    which the next run changes; uncompared: matched assets of which a file has the size of ours and no digest in common
    with it; originals: how many originals of assets of the source keep what they have where the job says something else
    (KEPT), and how many of these more people see than the job says (KEPT_OPEN);
    accepted: assets by exposure rules by which the job accepts that; held: matched assets that are not linked, because
    an exposure rule holds them back; unmatched: source assets without a counterpart, by reason; linked_before,
    linked_targets: assets of the source and marked ones of the target that have a link from before; unclaimed: target
    assets with our marker that have no link and that no source asset matches."""

    certain: Mapping[MatchedBy, int]
    differing: int
    to_hide: int
    to_limit: int
    uncompared: int
    originals: Mapping[str, int]
    accepted: Mapping[str, int]
    ambiguous: int
    held: int
    unmatched: Mapping[str, int]
    linked_before: int
    linked_targets: int
    unclaimed: int
    unclaimed_examples: tuple[str, ...] = ()


async def match_all(context: RunContext, candidates: Candidates, ways: MatchOptions) -> MatchSummary:
    """Reads both libraries and matches them; the links of certain matches are then in the run's store.
    The target of the run must be a dry one. If the state is lost, nobody knows when a run wrote last: what the index of
    the target does not show yet would be sent again."""
    await wait_for_any_index(context.target, context.stopping, context.phases)
    context.phases.progress.phase, context.phases.moving = "reading the target", MATCHING
    await _gather(context, candidates, ways)
    await list_everything(context.state)
    terms = TargetTerms(
        context.target.service,
        context.state.store.run_journal(TERMS),
        tuple(context.mapping.crosswalk.vocabularies),
    )
    containers = TargetContainers(
        context.target.service, context.state.store.run_journal(CONTAINERS), context.target.schema.naming
    )
    worker = MatchingWorker(
        context,
        terms,
        containers,
        KeepFilenames(context.source, context.target, context.mapping.crosswalk, context.state.store, context.accepted),
        candidates=candidates,
        ways=ways,
    )
    await move(context, Pipeline(context, worker))
    candidates.resolve_conflicts()
    await _record_relations(context.state, candidates)
    await _find_linked(context.state.store, candidates)
    undecided, held = (
        await _undecided(context.state.store, candidates, ways.decisions),
        candidates.sources_because_of(EXPOSURE),
    )
    differs = Counter(path for match in candidates.matches(certain=True) for path in match.differs)
    return MatchSummary(
        certain=candidates.counts(),
        differing=sum(bool(match.differs) for match in candidates.matches(certain=True)),
        to_hide=differs[TO_HIDE],
        to_limit=differs[TO_LIMIT],
        uncompared=worker.uncompared,
        originals=dict(worker.originals),
        accepted=dict(sorted(worker.accepted.items())),
        ambiguous=len(undecided - held),
        held=len(undecided & held),
        unmatched=dict(worker.unmatched.most_common()),
        linked_before=worker.linked_before + context.phases.progress.unchanged,
        linked_targets=candidates.linked(),
        unclaimed=candidates.unclaimed_count(),
        unclaimed_examples=tuple(candidates.unclaimed()),
    )


async def _undecided(store: SqlStore, candidates: Candidates, decisions: Decisions) -> set[str]:
    """Source assets without a link that match assets of the target, and that nobody decided about."""
    found = {match.source for match in candidates.matches(certain=False)} | decisions.left
    return found - decisions.skipped - (await store.links(sorted(decisions.left))).keys()


async def _record_relations(state: RunState, candidates: Candidates) -> None:
    """Leave out of the links the relations that are not at the target: both ends are known now."""
    matches, lacking = candidates.matches(certain=True), list[CandidateMatch]()
    while batch := list(islice(matches, AT_ONCE)):
        links = await state.store.links([match.source for match in batch])
        for match in batch:
            link, actual = links.get(AssetId(match.source)), candidates.by_id(match.target)
            if link is None or actual is None or not link.relations or hides(actual, RELATIONS):
                continue
            others = await state.store.links([AssetId(other) for _, other in link.relations])
            there = {(relation.kind, str(relation.target)) for relation in actual.relations}
            targets = {source: other.target for source, other in others.items()}
            held = tuple(pair for pair in link.relations if (pair[0], targets.get(AssetId(pair[1]))) in there)
            if held != link.relations:
                await state.store.put_link(replace(link, relations=held, source_revision=""), state.run.id)
                lacking.append(replace(match, differs=(*match.differs, RELATIONS)))
    for match in lacking:  # once nothing is read any more
        candidates.put(match)


async def _find_linked(store: SqlStore, candidates: Candidates) -> None:
    """Of the target assets that no source asset was matched with, those that have a link from before."""
    after = ""
    while page := candidates.unclaimed(after, AT_ONCE):
        after = page[-1]
        candidates.mark_linked(await store.links_by_target(page))


async def _gather(context: RunContext, candidates: Candidates, ways: MatchOptions) -> None:
    marker, tenant = context.mapping.crosswalk.marker, context.source.account.tenant
    async for asset in everything_in(context.target.service):
        marked = marker is not None and is_marked(asset, marker, tenant)
        value = plain_text(asset.fields.get(marker)) if marker is not None and marked else ""
        candidates.add(asset, value, plain_text(asset.fields.get(ways.id_field)) if ways.id_field else "")
        context.phases.progress.listed += 1


class KeepFilenames(FilenameAllocator):
    """Keeps every file name: matched assets already have one."""

    async def allocate(self, asset: Asset, draft: Draft, marker: str, *, new: bool) -> Draft:
        return draft


@dataclass(slots=True)
class MatchingWorker(Worker):
    """Reads and drafts as a run does; instead of writing it looks for the asset's counterpart."""

    purpose: Purpose = Purpose.ADOPT
    candidates: Candidates = field(kw_only=True)
    ways: MatchOptions = field(kw_only=True)
    unmatched: Counter[str] = field(default_factory=Counter)
    accepted: Counter[str] = field(default_factory=Counter)
    linked_before: int = 0
    uncompared: int = 0
    originals: Counter[str] = field(default_factory=Counter)

    async def draft(self, item: ReadAsset) -> DraftedAsset | Concluded | Failed:
        """Nothing is drafted for an asset without a counterpart."""
        work, asset = item.work, item.asset
        if item.link is not None:
            self.linked_before += 1
            return Concluded(work, Outcome(action="skipped", cause=SkipReason.LINKED, message="linked before"), asset)
        if not self.context.mapping.crosswalk.selects(asset):
            return Concluded(work, self._unmatched(SkipReason.NOT_SELECTED), asset)
        matches = self._matches(asset)
        for match in matches:
            if not match.certain or len(matches) > 1:
                self.candidates.put(replace(match, certain=False, reason=match.reason or SEVERAL))
        if len(matches) != 1 or not matches[0].certain:
            found = SkipReason.AMBIGUOUS if matches else SkipReason.NO_COUNTERPART
            return Concluded(work, self._unmatched(found), asset)
        self.candidates.put(matches[0])
        return await Worker.draft(self, item)

    async def _refuse_double(self, asset: Asset, marker: str) -> None:
        """What the target has already is what an adoption looks for."""

    async def _back(self, work: Work, asset: Asset) -> Concluded | None:
        """What came from the target is matched with what it was made from."""
        return None

    async def write(self, item: DraftedAsset | Concluded) -> Written | Failed:
        """The link of the one counterpart."""
        if isinstance(item, Concluded):
            if item.outcome.action == "parked" and item.outcome.cause is not None:
                self._set_aside(item.work.asset, item.outcome.cause)
            return Written(item.work, item.outcome, item.asset)
        asset, drafted = item.asset, item.drafted
        (match,) = self._matches(asset)
        actual = self.candidates.by_id(match.target)
        assert actual is not None
        draft = self._named(drafted.draft, actual, asset)
        own = any(one.target == actual.id for one in self._by_way_back(asset))
        seen = as_seen(self.context.source, self.context.target, draft, actual, asset if own else None)
        link = self._original(asset, draft, seen, actual) if own else self._link(asset, recorded(seen, actual), actual)
        link, parts = self._compared_files(asset, actual, link)
        paths = dict.fromkeys([*self._differing(asset, draft, actual, link), *parts])
        if seen != draft:  # the next run reads it again, and hides or limits it
            link, paths = replace(link, source_revision=""), {**paths, TO_HIDE if draft.closed else TO_LIMIT: None}
        self.accepted.update(accepted_rules(drafted.losses))
        self.candidates.put(replace(match, filename=draft.filename, differs=tuple(paths)))
        return Written(item.work, Outcome(action="created", link=link, evidence="V0"), asset)

    def _set_aside(self, asset: AssetId, cause: Cause) -> None:
        """It cannot be written. What an exposure rule holds back keeps its match: it is at the target."""
        held = [match for match in self.candidates.of(asset) if isinstance(cause, ExposureCause)]
        self.candidates.drop(asset)
        for match in held:
            self.candidates.put(replace(match, certain=False, reason=str(cause)))
        self._unmatched(cause)

    def _differing(self, asset: Asset, draft: Draft, actual: Asset, link: LinkRow) -> list[str]:
        """Paths at which the target asset differs from the draft and does not keep what it has. The name of an asset
        without a file is not compared: some services invent one."""
        context, stands = self.context, overlay(draft, link.kept)
        actual = context.target.counterparts.as_known(actual, context.target.schema)
        open_to = with_everybody(context.target, actual, draft)
        placed = self._reads_placements(stands if asset.file is not None else replace(stands, filename=""), actual)
        found = [one for one in differing(context.target, context.mapping.crosswalk, placed, open_to) if not one.extra]
        found += [] if draft.closed else hidden_instead(facts_of(context.target), draft, actual)
        return [one.path for one in found if one.path not in link.kept]

    def _compared_files(self, asset: Asset, actual: Asset, link: LinkRow) -> tuple[LinkRow, list[str]]:
        """The link without attachments of which the target has none with that name, and the parts in which files
        differ. Without a revision if files are still to be written: the next run reads the asset again."""
        kept = [file for file in asset.versions if version_key(file) in link.versions]
        files, names = pair_files(asset, actual, kept, link), {file.name for file in actual.attachments}
        self.uncompared += any(pair.agrees and not pair.compared for pair in files.pairs)
        parts = [pair.part for pair in files.pairs if not pair.agrees] + [part for part, _ in files.missing]
        lacking = [file for part, file in files.missing if part == ATTACHMENTS and file.name not in names]
        behind = fresh_versions(
            kept_versions(asset, self.context.target.service.capabilities, self.context.task.policy), link
        )
        link = without_attachments(link, map(version_key, lacking))
        return (replace(link, source_revision="") if lacking or behind else link), parts

    def _reads_placements(self, draft: Draft, actual: Asset) -> Draft:
        """If assets of the target do not carry their memberships, these are left to `verify`."""
        return draft if actual.placements else replace(draft, placements=frozenset())

    def _unmatched(self, reason: Cause) -> Outcome:
        if reason is not SkipReason.AMBIGUOUS:
            self.unmatched[str(reason)] += 1
        return Outcome(action="skipped", cause=reason, message=str(reason))

    def _matches(self, asset: Asset) -> list[CandidateMatch]:
        """Matches by the first method that finds any."""
        for look in (self._decided, self._by_marker, self._by_way_back, self._by_field, self._by_file):
            if matches := look(asset):
                return matches
        return []

    def _decided(self, asset: Asset) -> list[CandidateMatch]:
        target = self.ways.decisions.links.get(asset.id)
        found = self.candidates.by_id(target) if target else None
        return [CandidateMatch(asset.id, found.id, MatchedBy.DECISION, True)] if found is not None else []

    def _by_marker(self, asset: Asset) -> list[CandidateMatch]:
        marker = marker_value(self.context.source.account.tenant, asset.id)
        return self._each(asset, MatchedBy.MARKER, self.candidates.by_marker(marker))

    def _by_way_back(self, asset: Asset) -> list[CandidateMatch]:
        for mark in marks_of(asset):
            found = self.candidates.by_id(mark.asset) if mark.asset is not None else None
            known = mark.origin in origins_of(self.context.target.account)
            if found is not None and (known or may_be_copy(asset, found)):
                return self._each(asset, MatchedBy.WAY_BACK, [found])
        return []

    def _by_field(self, asset: Asset) -> list[CandidateMatch]:
        return self._each(asset, MatchedBy.FIELD, self.candidates.by_key(asset.id) if self.ways.id_field else [])

    def _by_file(self, asset: Asset) -> list[CandidateMatch]:
        file = asset.file
        if not self.ways.file or file is None or file.size is None:
            return []
        same = [
            (found, found.file and file.has_bytes_of(found.file))
            for found in self.candidates.by_file(asset.filename, file.size)
        ]
        sure = [found for found, agrees in same if agrees]
        if sure:
            return self._each(asset, MatchedBy.FILE, sure)
        return [
            CandidateMatch(asset.id, one.id, MatchedBy.FILE, False, NO_DIGEST) for one, agrees in same if agrees is None
        ]

    def _each(self, asset: Asset, how: MatchedBy, found: list[Asset]) -> list[CandidateMatch]:
        return [CandidateMatch(asset.id, one.id, how, True) for one in found]

    def _named(self, draft: Draft, actual: Asset, asset: Asset) -> Draft:
        """Matches by the file name that a run would have used at the target."""
        marker = marker_value(self.context.source.account.tenant, asset.id)
        beside = names_beside(draft.filename, marker, self.context.target.service.limits.filename)
        given = next((name for name in beside if name.casefold() == actual.filename.casefold()), draft.filename)
        return replace(draft, filename=given)

    def _original(self, asset: Asset, draft: Draft, seen: Draft, actual: Asset) -> LinkRow:
        """The link of an asset with its original, which keeps what it has."""
        link = self._link(asset, unmade(seen), actual)
        kept = kept_of_original(self.context.target, self.context.mapping.crosswalk, draft, seen, actual) | kept_file(
            asset, actual, link
        )
        self.originals[KEPT] += bool(kept)
        self.originals[KEPT_OPEN] += as_seen(self.context.source, self.context.target, draft, actual) != seen
        return replace(link, kept=kept)

    def _link(self, asset: Asset, draft: Draft, actual: Asset) -> LinkRow:
        """draft: as it counts as written."""
        target, policy, meant = self.context.target.service, self.context.task.policy, draft_to_json(draft)
        kept = kept_versions(asset, target.capabilities, policy)
        relations = fresh_relations(asset, None, self.context.target.schema)
        return LinkRow(
            source=asset.id,
            target=actual.id,
            source_revision=asset.revision,
            source_fingerprint=fingerprint(asset),
            draft_fingerprint=digest_of(meant),
            filename=draft.filename,
            evidence="V0",
            digests=dict(asset.file.digests) if asset.file else {},
            size=asset.file.size if asset.file else None,
            versions=tuple(version_key(file) for file in held_versions(kept, actual)),
            attachments=tuple(version_key(file) for file in fresh_attachments(asset, None, target.capabilities)),
            relations=tuple(sorted((one.kind, str(one.target)) for one in relations)),
            draft=meant,
        )


def recorded(draft: Draft, actual: Asset) -> Draft:
    """The draft without terms and containers that exist in the dry run only. Of a value with such a term, what the
    target asset has."""
    fields = {key: _recorded(value, actual.fields.get(key)) for key, value in draft.fields.items()}
    return replace(
        draft,
        fields={key: value for key, value in fields.items() if value is not None},
        placements=frozenset(place for place in draft.placements if not place.id.startswith(INVENTED)),
    )


def _recorded(value: Value, actual: Value | None) -> Value | None:
    if not _is_invented(value):
        return value
    wanted, there = set(canonical(value)), actual if isinstance(actual, tuple) else (actual,)
    held = tuple(one for one in there if one is not None and wanted.issuperset(canonical(one)))
    if not held:
        return None
    return held if isinstance(value, tuple) else held[0]


def _is_invented(value: Value) -> bool:
    """Whether a value is a term of the dry run, or has one."""
    if isinstance(value, tuple):
        return any(map(_is_invented, value))
    if isinstance(value, Row):
        return any(map(_is_invented, value.cells.values()))
    return isinstance(value, Term) and value.id.startswith(INVENTED)


def held_versions(kept: tuple[FileRef, ...], actual: Asset) -> tuple[FileRef, ...]:
    """The versions up to the one that the target has as its current file; of several with that file side by side, as
    many as it has. All of them if its file is not one of these: it was changed there, or cannot be compared; none if it
    has no file."""
    current = actual.file
    if current is None:
        return ()
    for number in range(len(kept), 0, -1):
        if _same_file(kept[number - 1], current):
            counted = not any(loss.path == VERSIONS for loss in actual.losses)
            more = _at_end(kept[:number], current) - _at_end(actual.versions, current) if counted else 0
            return kept[: number - max(0, more - len(current.repeats))]
    return kept


def _at_end(files: Sequence[FileRef], current: FileRef) -> int:
    """How many of the last files are surely the current one."""
    same = takewhile(lambda file: file is current or file.has_bytes_of(current), reversed(files))
    return sum(1 for _ in same)


def _same_file(file: FileRef, actual: FileRef) -> bool:
    agrees = file.has_bytes_of(actual)
    return agrees if agrees is not None else file.size is not None and file.size == actual.size
