"""Guards against exposure: compares who would see a draft at the target with who sees its asset at the source.

A rule that the job does not accept sets a new asset aside before anything is written for it. An asset that is already
at the target is hidden there if the target can do that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from dam_sync.engine.compare.differences import Difference
from dam_sync.engine.compare.facts import SECOND, is_seen_by_nobody
from dam_sync.engine.compare.name_paths import Known
from dam_sync.engine.context.libraries import Source, Target
from dam_sync.engine.context.run_state import RunState
from dam_sync.engine.context.run_task import RunTask
from dam_sync.engine.guards.finding import EXAMPLES
from dam_sync.engine.guards.remedies import Advice, ExposedDraft, HeldBack, advice_of, asset_hint
from dam_sync.mapping.crosswalk import Crosswalk, Drafted
from dam_sync.model.asset import Asset, Draft, Loss, Rights, digest_of
from dam_sync.model.audience import Audience
from dam_sync.model.capabilities import Feature, Operation
from dam_sync.model.codec import placements_from_json
from dam_sync.model.errors import SafetyStop
from dam_sync.model.exposure import (
    EXPOSURE,
    ExposureResult,
    ExposureRule,
    ExposureRuling,
    Purpose,
    Waiver,
    Waivers,
    Widening,
    audience_of,
    groups_text,
    is_wider,
    meaning_of,
    widenings,
)
from dam_sync.model.exposure_advice import what_to_do
from dam_sync.model.link import LinkRow, profile_of
from dam_sync.model.loss_rules import LossRule
from dam_sync.model.outcome import Outcome
from dam_sync.model.parking import ExposureCause
from dam_sync.model.policy import Policy
from dam_sync.model.safe_text import visible
from dam_sync.model.schema import Schema
from dam_sync.model.service import Service
from dam_sync.model.values import Json, Term, instant_text, parse_instant
from dam_sync.model.wording import such_as
from dam_sync.store.note_keys import EXPOSURE_DUE, EXPOSURE_POLICY
from dam_sync.store.store import SqlStore

NO_RELEASE = "no release date"
SEEN_BY_MORE = "seen by more people"  # the pattern of such a difference
VISIBLE_TO_ALL = "published"
TERMS = "names of terms"
MOST_GROUPS = 50  # names of groups kept of one asset that is set aside
MOST_HELD = 500  # different sets of groups and remedies of them that a report looks at
REFUSES = "more people would see these assets at the target than at the source, so they are not written: "


@dataclass(frozen=True, slots=True)
class ExposureJudgement:
    """What was decided for one asset. `losses` name what the operator accepted, and why it is written closed; `parked`
    is set if it must not be written. status: that of the draft, or that of the asset at the target if the draft
    does not change it."""

    losses: tuple[Loss, ...] = ()
    closed: bool = False
    parked: Outcome | None = None
    status: str = ""

    def applied(self, drafted: Drafted) -> Drafted:
        """The draft as it may be written."""
        if not self.losses and (drafted.draft.closed, drafted.draft.status) == (self.closed, self.status):
            return drafted
        draft = replace(drafted.draft, closed=self.closed, status=self.status)
        return replace(drafted, draft=draft, losses=(*drafted.losses, *self.losses))


@dataclass(frozen=True, slots=True)
class ExposureGate:
    """What a judgement depends on besides the asset, so that a check judges by the same code as a plan and a run.
    alike: both sides are services of one kind."""

    source: Service
    target: Service
    schema: Schema
    waivers: Waivers
    earliest: Callable[[], datetime]
    alike: bool = False

    @classmethod
    def of(cls, source: Source, target: Target, policy: Policy) -> ExposureGate:
        """That of a run."""
        waivers, earliest = policy.exposure, target.time.earliest
        return cls(
            source.service,
            target.service,
            target.schema,
            waivers,
            earliest,
            target.alike,
        )

    def judge(
        self, asset: Asset, drafted: Drafted, link: LinkRow | None, known: Known, purpose: Purpose = Purpose.MOVE
    ) -> ExposureJudgement:
        """Whether the asset may be written as drafted. known: the target's containers; others will be created."""
        placements = frozenset(replace(p, id=known.get((p.kind, p.path), "")) for p in drafted.draft.placements)
        status = drafted.draft.status or (str(link.draft["status"]) if link is not None else "")
        profile = profile_of(link, drafted.draft) if link is not None else drafted.draft.profile
        draft = replace(drafted.draft, placements=placements, status=status, profile=profile)
        found = self._found(asset, drafted, draft)
        refused = [one for one in found if not self.waivers.accepts(one.rule, purpose)]
        losses = tuple(_loss(one, ExposureResult.ACCEPTED) for one in found if one not in refused)
        if not refused:
            return ExposureJudgement(losses, status=status)
        willing = link is not None or all(self.waivers.of(one.rule, purpose) is Waiver.CLOSE for one in refused)
        if willing and self._can_close(draft, link):
            return ExposureJudgement(
                (*losses, *(_loss(one, ExposureResult.CLOSED) for one in refused)), closed=True, status=status
            )
        return ExposureJudgement(parked=self._parked(asset, replace(drafted, draft=draft), refused, link))

    def _found(self, asset: Asset, drafted: Drafted, draft: Draft) -> tuple[Widening, ...]:
        decided = replace(drafted.decided, same=self.target.capabilities.parts) if self.alike else drafted.decided
        visible = replace(draft, closed=False) if draft.closed else draft
        audience = self.target.audience(visible)
        return widenings(asset, draft, audience, decided, self.earliest(), self.target.limits.precision)

    def _can_close(self, draft: Draft, link: LinkRow | None) -> bool:
        """Whether the target can hide this asset: one that exists, or a new one at no moment seen."""
        return hides_existing(self.target) and (link is not None or self.target.closing_option(draft) is None)

    def _parked(self, asset: Asset, drafted: Drafted, refused: Sequence[Widening], link: LinkRow | None) -> Outcome:
        option, closable = self.target.closing_option(drafted.draft), self._can_close(drafted.draft, link)
        case = ExposedDraft(asset, drafted.draft, drafted.decided, self.target, self.schema, option, closable)
        rules = [one.rule for one in refused]
        limited = ExposureRule.GROUPS in rules and not case.shown_first(ExposureRule.GROUPS)
        everybody = self.source.exposure_options().everybody if limited else ""
        hint = asset_hint(case, rules, everybody)
        told = [(one.rule.value, case.detail_of(one)) for one in refused]
        reasons = "; ".join(f"{rule} ({detail})" if detail else rule for rule, detail in told)
        message = f"more people would see it at the target: {reasons}"
        if link is not None:
            message = f"{message}; it was moved before as {link.target} and stays visible there"
            hint = f"hide it at the target by hand, or {hint}"
        return Outcome(
            action="parked",
            cause=ExposureCause(tuple(rules)),
            message=message,
            hint=hint,
            losses=[_held(one, case, limited=limited) for one in refused],
        )


def expected(
    gate: ExposureGate, target: Target, asset: Asset, drafted: Drafted, link: LinkRow
) -> tuple[Drafted, list[Difference]]:
    """For a verification: what the target should have of a moved asset, and what is visible though it must not be."""
    before = target.counterparts.present(link.draft, target.schema)
    known = {(p.kind, p.path): p.id for p in placements_from_json(before["placements"])}
    exposure = gate.judge(asset, drafted, link, known, Purpose.VERIFY)
    if exposure.parked is not None:
        seen = "seen by no more people than at the source"
        return drafted, [Difference(EXPOSURE, seen, exposure.parked.message, pattern=SEEN_BY_MORE)]
    return exposure.applied(drafted), []


def seen_though_closed(target: Target, draft: Draft, actual: Asset) -> list[Difference]:
    """Differences that show that ordinary users can see an asset that should be hidden: it is open to others than the
    groups that the target leaves a hidden one, which its audience names (None: it names none)."""
    if not draft.closed:
        return []
    moment, there = target.time.earliest(), seen_audience(target, draft, actual)
    allowed = Audience(groups=target.service.audience(draft).groups or frozenset())
    if (there.release_at and there.release_at > moment) or not is_wider(allowed, there, moment, SECOND):
        return []
    seen = groups_text(there.groups)
    return [Difference(EXPOSURE, "hidden from ordinary users", seen, pattern="not hidden")]


def seen_audience(target: Target, draft: Draft, actual: Asset) -> Audience:
    """Who sees an asset of the target, as it was read. What hides an asset elsewhere counts only where it does so at
    this target: statuses and dates are plain values at some."""
    as_draft = replace(draft, closed=False, rights=actual.rights)
    dated, there = target.service.audience(as_draft), audience_of(actual)
    hidden = there.hidden if target.schema.status_hides else ""
    if not hidden and is_seen_by_nobody(actual):
        hidden = NO_RELEASE
    return replace(
        there,
        hidden=hidden,
        release_at=there.release_at if dated.release_at is not None else None,
        expires_at=there.expires_at if dated.expires_at is not None else None,
    )


def as_seen(source: Source, target: Target, draft: Draft, actual: Asset, copy: Asset | None = None) -> Draft:
    """The draft with what is seen at the target in each part that decides who sees an asset, where more people see it
    than the draft says: what a link may record of an asset that nothing was written to. Where fewer do, the draft.
    copy: the asset of the source, if another job made it from this one; then the draft says less (`_says_of_original`),
    and dates are as exact as both services keep them."""
    if draft.closed:
        return replace(draft, closed=not seen_though_closed(target, draft, actual))
    wanted, there, rights = (
        target.service.audience(draft),
        seen_audience(target, draft, actual),
        draft.rights,
    )
    if there.hidden:
        return draft
    status = (actual.substatus or actual.status) if wanted.hidden and draft.status else draft.status
    groups = rights.groups if rights.groups and wanted.groups is not None else wanted.groups  # once they are written
    wanted = replace(wanted, hidden="", groups=groups)
    precision = target.service.limits.precision
    if copy is not None:
        precision = max(precision, source.service.limits.precision)

    def wider(shown: Audience) -> bool:
        return is_wider(wanted, shown, target.time.earliest(), precision)

    if wider(replace(wanted, groups=there.groups)) and (
        copy is None or _says_of_original(source, target, copy, draft, wanted, there)
    ):
        rights = replace(rights, groups=actual.rights.groups)
    if rights.release_at is not None and wider(replace(wanted, release_at=there.release_at)):
        rights = replace(rights, release_at=actual.rights.release_at)
    if rights.expires_at is not None and wider(replace(wanted, expires_at=there.expires_at)):
        rights = replace(rights, expires_at=actual.rights.expires_at)
    return replace(draft, rights=rights, status=status)


def _says_of_original(
    source: Source, target: Target, copy: Asset, draft: Draft, wanted: Audience, there: Audience
) -> bool:
    """Whether the groups of a copy say by whom its original may be seen: it has some, its service did not give them to
    it by default, and written into the original they let nobody in who does not see it."""
    moment, precision = target.time.earliest(), target.service.limits.precision
    opens = is_wider(replace(wanted, groups=there.groups), wanted, moment, precision)
    return bool(draft.rights.groups) and copy.rights.groups not in _given(source, copy) and not opens


def _given(source: Source, copy: Asset) -> set[frozenset[str] | None]:
    """The groups that assets of the source have by default, by profile."""
    profiles = {"", *(kind.profile for kind in source.schema.types)}
    return {source.service.audience(Draft(None, copy.filename, profile=profile)).groups for profile in profiles}


def listed_terms(target: Target, asset: Asset, draft: Draft, new: Sequence[tuple[str, Term]]) -> tuple[Loss, ...]:
    """The new terms of an asset that not everybody sees, at either service: whoever sees the lists of the target reads
    their names there. new: with their vocabularies."""
    there, release = audience_of(asset), asset.rights.release_at
    limited = there.hidden or there.groups or (release is not None and release > target.time.earliest())
    if not new or not limited:
        return ()
    shown = target.service.audience(replace(draft, closed=False, status=VISIBLE_TO_ALL, rights=Rights()))
    if shown.hidden or target.service.audience(draft) == shown:
        return ()  # a target that shows nothing, or this asset to everybody
    names = [f"{term.label} in {vocabulary}" for vocabulary, term in new[:EXAMPLES]]
    more = [f"{len(new) - EXAMPLES} more"] if len(new) > EXAMPLES else []
    return (Loss(TERMS, LossRule.LISTED_TERMS, "; ".join((*names, *more))),)


def hides_existing(target: Service) -> bool:
    """Whether the target can hide an asset that exists."""
    return target.capabilities.writes(Feature.CLOSED) and Operation.UPDATE in target.capabilities


async def remember_release(target: Target, store: SqlStore, asset: Asset, parked: Outcome) -> None:
    """Remember the first release date for which assets are set aside, so that they are tried again by then."""
    release = asset.rights.release_at
    unreleased = isinstance(parked.cause, ExposureCause) and ExposureRule.UNRELEASED in parked.cause.rules
    if release is None or release <= target.time.earliest() or not unreleased:
        return
    known = await store.get_meta(EXPOSURE_DUE)
    if not known or release < parse_instant(known):
        await store.set_meta(EXPOSURE_DUE, instant_text(release))


async def retry_exposed(source: Source, target: Target, crosswalk: Crosswalk, store: SqlStore, task: RunTask) -> None:
    """Requeue what was set aside by another policy or mapping, by other options that decide who sees assets, or until a
    release date that has passed; safe to repeat."""
    if task.options.only:
        return
    now = digest_of(_decided_by(source, target, crosswalk, task.policy))
    before, due = await store.get_meta(EXPOSURE_POLICY), await store.get_meta(EXPOSURE_DUE)
    come = bool(due) and parse_instant(due) <= target.time.earliest()
    if before != now or come:
        causes = [row.cause for row in await store.parked_causes() if isinstance(row.cause, ExposureCause)]
        if causes:
            await store.unpark(causes)
    if before != now:
        await store.set_meta(EXPOSURE_POLICY, now)
    if come:
        await store.set_meta(EXPOSURE_DUE, "")


def _decided_by(source: Source, target: Target, crosswalk: Crosswalk, policy: Policy) -> list[Json]:
    """What decides besides the asset whether one is set aside."""
    ours, theirs = source.service.exposure_options(), target.service.exposure_options()
    return [
        crosswalk.digest,
        sorted(policy.exposure.given.items()),
        hides_existing(target.service),
        sorted(ours.named),
        sorted(theirs.named),
        [[one.name, one.key, *one.candidates] for one in theirs.closing],
    ]


async def report_exposure(
    source: Source, state: RunState, losses: Iterable[Mapping[str, Json]]
) -> list[dict[str, Json]]:
    """For the report: by rule, what was set aside, by this run or an earlier one, with what to do about it, and what of
    `losses` (the run's, by path and rule) was written because the operator accepted it, or hidden."""
    counted = {loss["rule"]: loss["assets"] for loss in losses if loss["path"] == EXPOSURE}
    advice = await _advice(source, state)
    rows = []
    for stored, parked, assets, examples in await state.store.losses_of(EXPOSURE, state.run.id, EXAMPLES):
        ruling = ExposureRuling.read(stored)
        number = assets if parked else counted.get(stored, 0)
        if number:
            fate, rule = ExposureResult.REFUSED if parked else ruling.result or "", ExposureRule(ruling.rule)
            meaning = meaning_of(rule, fate)
            told = (advice.get(rule, Advice()) if parked else Advice()).as_json(rule)
            rows.append({**told, "fate": str(fate), "assets": number, "examples": examples, "meaning": meaning})
    return rows


async def _advice(source: Source, state: RunState) -> dict[ExposureRule, Advice]:
    """What to do about everything that is set aside now."""
    rows = await state.store.held_back(EXPOSURE, MOST_HELD)
    held = [
        HeldBack(ExposureRule(row.rule), tuple(row.remedies), frozenset(row.groups), row.assets, row.closes)
        for row in rows
    ]
    library = source.account.total
    if library is None:
        library = await state.store.link_count() + (await state.store.tally(state.run.id))["listed"]
    return advice_of(held, source.service.exposure_options(), library)


def held_back_of(outcome: Outcome) -> list[HeldBack]:
    """One asset that was set aside, by rule."""
    return [
        HeldBack(
            ExposureRule(loss["rule"]), tuple(loss["remedies"]), frozenset(loss["groups"]), 1, bool(loss["closes"])
        )
        for loss in outcome.losses
    ]


def exposure_stop(rows: Iterable[Mapping[str, Json]]) -> SafetyStop | None:
    """The stop at the end of a run that set assets aside: which, by which rule, what to do about each, and as the last
    resort the line for the job file that lets these people see them."""
    refused = [row for row in rows if row["fate"] == ExposureResult.REFUSED]
    if not refused:
        return None
    counted = [f"{row['rule']} {row['assets']:,}" for row in refused]
    named = [f"{text}{such_as(row['examples'], row['assets'])}" for text, row in zip(counted, refused, strict=True)]
    told = ("every run ends with exit code 6 until you decide:", *map(visible, what_to_do(refused)), "then run again")
    stop = SafetyStop(REFUSES + "; ".join(named), hint="\n".join(told))
    stop.public = REFUSES + "; ".join(counted)
    return stop


def accepted_rules(losses: Iterable[Loss]) -> list[str]:
    """The rules that the operator accepted for an asset with these losses."""
    rulings = (ExposureRuling.read(loss.rule) for loss in losses if loss.path == EXPOSURE)
    return [each.rule for each in rulings if each.result is ExposureResult.ACCEPTED]


def _loss(found: Widening, fate: ExposureResult) -> Loss:
    return Loss(EXPOSURE, str(ExposureRuling(found.rule, fate)), found.detail)


def _held(found: Widening, case: ExposedDraft, *, limited: bool) -> dict[str, Json]:
    """The loss of an asset that is set aside. limited: whether its groups at the source are what is in the way."""
    rule, groups = found.rule, case.asset.rights.groups if limited and found.rule is ExposureRule.GROUPS else ()
    known: dict[str, Json] = {"path": EXPOSURE, "rule": rule.value, "detail": case.detail_of(found)}
    advice: dict[str, Json] = {"remedies": list(case.remedies(rule)), "closes": int(case.closes(rule))}
    return {**known, **advice, "groups": sorted(groups)[:MOST_GROUPS]}
