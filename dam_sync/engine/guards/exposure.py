"""Guards against exposure: compares who would see a draft at the target with who sees its asset at the source.

A rule that the job does not accept sets a new asset aside before anything is written for it. An asset that is already
at the target is hidden there if the target can do that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from dam_sync.engine.compare import Difference, is_seen_by_nobody
from dam_sync.engine.guards.finding import EXAMPLES
from dam_sync.engine.run_context import RunContext
from dam_sync.engine.target_containers import Known
from dam_sync.mapping.crosswalk import Drafted
from dam_sync.model.asset import Asset, Draft, Loss, digest_of
from dam_sync.model.audience import Audience
from dam_sync.model.capabilities import Feature, Operation
from dam_sync.model.codec import placements_from_json
from dam_sync.model.errors import SafetyStop
from dam_sync.model.exposure import (
    ACCEPTED,
    CLOSED,
    EXPOSURE,
    REFUSED,
    ExposureRule,
    Purpose,
    Waiver,
    Widening,
    audience_of,
    groups_text,
    is_wider,
    meaning_of,
    widenings,
)
from dam_sync.model.values import Json, instant_text, parse_instant
from dam_sync.model.wording import such_as
from dam_sync.store.note_keys import EXPOSURE_DUE, EXPOSURE_POLICY
from dam_sync.store.rows import LinkRow, Outcome

NO_RELEASE = "no release date"
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


def judge(
    context: RunContext,
    asset: Asset,
    drafted: Drafted,
    link: LinkRow | None,
    known: Known,
    purpose: Purpose = Purpose.MOVE,
) -> ExposureJudgement:
    """Whether the asset may be written as drafted. known: the target's containers; others will be created."""
    placements = frozenset(replace(p, id=known.get((p.kind, p.path), "")) for p in drafted.draft.placements)
    status = drafted.draft.status or (str(link.draft["status"]) if link is not None else "")
    draft = replace(drafted.draft, placements=placements, status=status)
    found = _found(context, asset, drafted, draft)
    waivers = context.policy.exposure
    refused = [one for one in found if not waivers.accepts(one.rule, purpose)]
    losses = tuple(_loss(one, ACCEPTED) for one in found if one not in refused)
    if not refused:
        return ExposureJudgement(losses, status=status)
    willing = link is not None or all(waivers.of(one.rule, purpose) is Waiver.CLOSE for one in refused)
    if willing and can_close(context):
        return ExposureJudgement((*losses, *(_loss(one, CLOSED) for one in refused)), closed=True, status=status)
    return ExposureJudgement(parked=_parked(refused, link, can_close(context)))


def expected(context: RunContext, asset: Asset, drafted: Drafted, link: LinkRow) -> tuple[Drafted, list[Difference]]:
    """For a verification: what the target should have of a moved asset, and what is visible though it must not be."""
    before = context.counterparts.present(link.draft, context.target_schema)
    known = {(p.kind, p.path): p.id for p in placements_from_json(before["placements"])}
    exposure = judge(context, asset, drafted, link, known, Purpose.VERIFY)
    if exposure.parked is not None:
        seen = "seen by no more people than at the source"
        return drafted, [Difference(EXPOSURE, seen, exposure.parked.message, pattern="seen by more people")]
    return exposure.applied(drafted), []


def seen_though_closed(context: RunContext, draft: Draft, actual: Asset) -> list[Difference]:
    """Differences that show that ordinary users can see an asset that should be hidden: it is open to others than the
    groups that the target leaves a hidden one, which its audience names (None: it names none)."""
    if not draft.closed:
        return []
    allowed, there = context.target.audience(draft).groups, seen_audience(context, draft, actual)
    limited = there.groups is not None and allowed is not None and there.groups <= allowed
    if there.hidden or limited or (there.release_at and there.release_at > context.time.earliest()):
        return []
    seen = groups_text(there.groups)
    return [Difference(EXPOSURE, "hidden from ordinary users", seen, pattern="not hidden")]


def seen_audience(context: RunContext, draft: Draft, actual: Asset) -> Audience:
    """Who sees an asset of the target, as it was read. What hides an asset elsewhere counts only where it does so at
    this target: statuses and dates are plain values at some."""
    as_draft = replace(draft, closed=False, rights=actual.rights)
    dated, there = context.target.audience(as_draft), audience_of(actual)
    hidden = there.hidden if context.target_schema.status_hides else ""
    if not hidden and is_seen_by_nobody(actual):
        hidden = NO_RELEASE
    return replace(
        there,
        hidden=hidden,
        release_at=there.release_at if dated.release_at is not None else None,
        expires_at=there.expires_at if dated.expires_at is not None else None,
    )


def as_seen(context: RunContext, draft: Draft, actual: Asset) -> Draft:
    """The draft with what is seen at the target in each part that decides who sees an asset, where more people see it
    than the draft says: what a link may record of an asset that nothing was written to. Where fewer do, the draft."""
    if draft.closed:
        return replace(draft, closed=not seen_though_closed(context, draft, actual))
    wanted, there, rights = context.target.audience(draft), seen_audience(context, draft, actual), draft.rights
    if there.hidden:
        return draft
    status = (actual.substatus or actual.status) if wanted.hidden and draft.status else draft.status
    groups = rights.groups if rights.groups and wanted.groups is not None else wanted.groups  # once they are written
    wanted = replace(wanted, hidden="", groups=groups)

    def wider(shown: Audience) -> bool:
        return is_wider(wanted, shown, context.time.earliest(), context.target.limits.precision)

    if wider(replace(wanted, groups=there.groups)):
        rights = replace(rights, groups=actual.rights.groups)
    if rights.release_at is not None and wider(replace(wanted, release_at=there.release_at)):
        rights = replace(rights, release_at=actual.rights.release_at)
    if rights.expires_at is not None and wider(replace(wanted, expires_at=there.expires_at)):
        rights = replace(rights, expires_at=actual.rights.expires_at)
    return replace(draft, rights=rights, status=status)


def can_close(context: RunContext) -> bool:
    """Whether the target can hide an asset, including an existing one."""
    target = context.target.capabilities
    return target.writes(Feature.CLOSED) and Operation.UPDATE in target


def job_line(rules: Sequence[ExposureRule]) -> str:
    """The line to add to the job file."""
    return f"policy: {{exposure: {{{', '.join(f'{rule.value}: accept' for rule in rules)}}}}}"


async def remember_release(context: RunContext, asset: Asset, parked: Outcome) -> None:
    """Remember the first release date for which assets are set aside, so that they are tried again by then."""
    release = asset.rights.release_at
    if release is None or release <= context.time.earliest() or ExposureRule.UNRELEASED.value not in parked.cause:
        return
    known = await context.store.get_meta(EXPOSURE_DUE)
    if not known or release < parse_instant(known):
        await context.store.set_meta(EXPOSURE_DUE, instant_text(release))


async def retry_exposed(context: RunContext) -> None:
    """Requeue what was set aside by another policy or mapping, or until a release date that has passed; safe to
    repeat."""
    if context.options.only:
        return
    store = context.store
    now = digest_of([context.crosswalk.digest, sorted(context.policy.exposure.given.items()), can_close(context)])
    before, due = await store.get_meta(EXPOSURE_POLICY), await store.get_meta(EXPOSURE_DUE)
    come = bool(due) and parse_instant(due) <= context.time.earliest()
    if before != now or come:
        causes = [cause for cause, *_ in await store.parked_causes() if cause.startswith(f"{EXPOSURE}: ")]
        if causes:
            await store.unpark(causes)
    if before != now:
        await store.set_meta(EXPOSURE_POLICY, now)
    if come:
        await store.set_meta(EXPOSURE_DUE, "")


async def report_exposure(context: RunContext, losses: Iterable[Mapping[str, Json]]) -> list[dict[str, Json]]:
    """For the report: by rule, what was set aside, by this run or an earlier one, and what of `losses` (the run's, by
    path and rule) was written because the operator accepted it, or hidden."""
    counted = {loss["rule"]: loss["assets"] for loss in losses if loss["path"] == EXPOSURE}
    rows = []
    for stored, parked, assets, examples in await context.store.losses_of(EXPOSURE, context.run.id, EXAMPLES):
        rule, _, fate = stored.partition(" ")
        number = assets if parked else counted.get(stored, 0)
        if number:
            fate = REFUSED if parked else fate
            meaning = meaning_of(rule, fate)
            rows.append({"rule": rule, "fate": fate, "assets": number, "examples": examples, "meaning": meaning})
    return rows


def exposure_stop(rows: Iterable[Mapping[str, Json]]) -> SafetyStop | None:
    """The stop at the end of a run that set assets aside: which, by which rule, and the line for the job file."""
    refused = [row for row in rows if row["fate"] == REFUSED]
    if not refused:
        return None
    counted = [f"{row['rule']} {row['assets']:,}" for row in refused]
    named = [f"{text}{such_as(row['examples'], row['assets'])}" for text, row in zip(counted, refused, strict=True)]
    line = job_line([ExposureRule(row["rule"]) for row in refused])
    stop = SafetyStop(
        REFUSES + "; ".join(named),
        hint=(
            f"every run ends with exit code 6 until you decide. To let these people see them, write `{line}` into the "
            "job file (only the rules that you accept). To move them without that, change the lines of the mapping "
            "that the rules are about. To leave them out, exclude them by `select` in the mapping file. Then run again"
        ),
    )
    stop.public = REFUSES + "; ".join(counted)
    return stop


def accepted_rules(losses: Iterable[Loss]) -> list[str]:
    """The rules that the operator accepted for an asset with these losses."""
    rules = (loss.rule.partition(" ") for loss in losses if loss.path == EXPOSURE)
    return [rule for rule, _, fate in rules if fate == ACCEPTED]


def _found(context: RunContext, asset: Asset, drafted: Drafted, draft: Draft) -> tuple[Widening, ...]:
    decided = replace(drafted.decided, same=context.target.capabilities.parts) if context.alike else drafted.decided
    visible = replace(draft, closed=False) if draft.closed else draft
    audience, limits = context.target.audience(visible), context.target.limits
    return widenings(asset, draft, audience, decided, context.time.earliest(), limits.precision)


def _loss(found: Widening, fate: str) -> Loss:
    return Loss(EXPOSURE, f"{found.rule.value} {fate}", found.detail)


def _parked(refused: Sequence[Widening], link: LinkRow | None, closes: bool) -> Outcome:
    rules = [one.rule for one in refused]
    reasons = "; ".join(f"{one.rule.value} ({one.detail})" if one.detail else one.rule.value for one in refused)
    hint = f"accept it in the job file, `{job_line(rules)}`, or change the mapping"
    if closes:
        hint = f"{hint}; `close` instead of `accept` writes it hidden"
    message = f"more people would see it at the target: {reasons}"
    if link is not None:
        message = f"{message}; it was moved before as {link.target} and stays visible there"
        hint = f"hide it at the target by hand, or {hint}"
    return Outcome(
        action="parked",
        cause=f"{EXPOSURE}: {', '.join(rule.value for rule in rules)}",
        message=message,
        hint=hint,
        losses=[{"path": EXPOSURE, "rule": one.rule.value, "detail": one.detail} for one in refused],
    )
