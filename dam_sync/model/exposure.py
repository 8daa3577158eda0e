"""Whether more people would see an asset at the target than at the source: named rules, compared without a call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum

from dam_sync.model.asset import Asset, Draft, Rights
from dam_sync.model.audience import Audience, Restriction, RestrictionKind

EXPOSURE = "exposure"
"""The path of such losses, and the first word of the cause by which such assets are parked."""
VISIBLE = frozenset({"", "published"})  # statuses in which ordinary users see an asset


class ExposureRule(StrEnum):
    """One way in which an asset can become more visible."""

    ARCHIVED = "archived_as_published"
    UNPUBLISHED = "unpublished_as_published"
    UNRELEASED = "unreleased_as_released"
    EXPIRY = "expiry_dropped"
    GROUPS = "groups_widened"
    DENIED = "denied_dropped"
    TIMED = "timed_dropped"
    DOWNLOAD = "download_widened"
    CONTAINER = "container_widened"
    SENSITIVE = "sensitive_widened"
    REOPENED = "reopened_by_repair"
    RETURNED = "reopened_by_rollback"
    LOGIN = "login_dropped"


class Purpose(StrEnum):
    """What for an asset is shown to people, or compared with who may see it."""

    MOVE = "move"
    REPAIR = "repair"
    ROLLBACK = "rollback"
    ADOPT = "adopt"
    VERIFY = "verify"
    CONFLICT = "conflict"
    PUBLISH = "publish"


COMMANDS: Mapping[Purpose, str] = {
    Purpose.MOVE: "`plan`, `run` (also `--full`, `--plan`, `--only`, and what `errors --retry` puts back), `watch`, "
    "`rehearse`: what the source says is written",
    Purpose.REPAIR: "`run --repair`, and a rotation with `drift: repair`: what was changed at the target is written "
    "again",
    Purpose.ROLLBACK: "`rollback`, its preview, and `run --accept-changes` where it completes a rollback that is given "
    "up: what a run wrote is taken back",
    Purpose.ADOPT: "`adopt`: an asset that is at the target is linked",
    Purpose.VERIFY: "`verify`: who sees an asset is compared",
    Purpose.CONFLICT: "`conflicts --take target`, and a policy that keeps the value of the target",
    Purpose.PUBLISH: "`redirects`: public links of moved assets are written",
}
"""The commands of each purpose, for the help."""


class Waiver(StrEnum):
    """What a job file may say about a rule."""

    ACCEPT = "accept"  # write the asset as the mapping says, more visible than it was
    CLOSE = "close"  # write it hidden from ordinary users if the target can do that, otherwise set it aside


MEANINGS: Mapping[ExposureRule, str] = {
    ExposureRule.ARCHIVED: "archived at the source, visible at the target",
    ExposureRule.UNPUBLISHED: "not published at the source (draft, pending, in import, …), visible at the target",
    ExposureRule.UNRELEASED: "not released yet at the source; visible at the target now, or earlier than at the source",
    ExposureRule.EXPIRY: "expired or due to expire at the source; the target would show it longer",
    ExposureRule.GROUPS: "restricted to some groups or users at the source, and to others or nobody in particular at "
    "the target; a field rule that reads `groups[]` and gives groups for the asset counts as your decision",
    ExposureRule.DENIED: "denied to some groups or users by name at the source, but not at the target",
    ExposureRule.TIMED: "open to some people only from or until a date at the source, but not at the target",
    ExposureRule.DOWNLOAD: "not downloadable as original at the source, but downloadable at the target",
    ExposureRule.CONTAINER: "in a container that only some can see at the source; the target does not restrict it like "
    "that. A field rule of `security: groups` that reads `placements` and gives groups counts as your decision",
    ExposureRule.SENSITIVE: "one with values that only some users see at the source; the target shows them to "
    "everybody who sees the asset",
    ExposureRule.REOPENED: "hidden or restricted at the target since this job wrote it; `run --repair` does not make "
    "it visible again unless this rule is accepted",
    ExposureRule.RETURNED: "hidden or restricted by the run that is rolled back; `rollback` does not make it visible "
    "to these people again unless this rule is accepted",
    ExposureRule.LOGIN: "one whose public link opened only after a login at the source, or not at all; its link at the "
    "target opens without one. `redirects` alone heeds this rule",
}
HIDDEN_BECAUSE: Mapping[ExposureRule, str] = {
    ExposureRule.ARCHIVED: "archived at the source",
    ExposureRule.UNPUBLISHED: "not published at the source (draft, pending, in import, …)",
    ExposureRule.UNRELEASED: "not released yet at the source",
    ExposureRule.EXPIRY: "expired at the source or due to expire, and the target would show it longer",
    ExposureRule.GROUPS: "restricted to some groups or users at the source",
    ExposureRule.DENIED: "denied to some groups or users by name at the source",
    ExposureRule.TIMED: "open to some people only from or until a date at the source",
    ExposureRule.DOWNLOAD: "not downloadable as original at the source",
    ExposureRule.CONTAINER: "in a container that only some can see at the source",
    ExposureRule.SENSITIVE: "with values that only some users see at the source",
    ExposureRule.REOPENED: "somebody hid or restricted it there by hand",
    ExposureRule.RETURNED: "the run that is rolled back hid or restricted it",
    ExposureRule.LOGIN: "one whose public link opened only after a login at the source, or not at all",
}
"""Of an asset that is hidden at the target, because it would fall under a rule otherwise."""
ACCEPTED, CLOSED, REFUSED, LEFT_CLOSED = "accepted", "closed", "set aside", "left closed"
"""What becomes of an asset that falls under a rule: shown to more people, as the job accepts; written hidden; not
written; left as it was hidden at the target."""
HIDING: Mapping[str, str] = {CLOSED: "hidden at the target", LEFT_CLOSED: "left hidden at the target"}
"""Fates of assets that nobody sees at the target, in words."""
ACCEPTED_ONLY = frozenset({ExposureRule.REOPENED, ExposureRule.RETURNED, ExposureRule.LOGIN})
"""Rules that are accepted or not: there is nothing to be hidden instead."""
OF_DRAFTS = frozenset({Purpose.MOVE, Purpose.ADOPT, Purpose.VERIFY, Purpose.PUBLISH})
"""What the source and the mapping say of an asset is judged."""
LIFTED_FOR: Mapping[ExposureRule, frozenset[Purpose]] = {
    **dict.fromkeys(ExposureRule, OF_DRAFTS),
    ExposureRule.REOPENED: frozenset({Purpose.REPAIR}),
    ExposureRule.RETURNED: frozenset({Purpose.ROLLBACK}),
    ExposureRule.LOGIN: frozenset({Purpose.PUBLISH}),
}
"""For which purposes a rule may be lifted: for no other does a waiver count. Nothing lifts a rule for a conflict: a
value of the target that shows an asset to more people than the source does is never kept."""
OF_RESTRICTION: Mapping[RestrictionKind, ExposureRule] = {
    RestrictionKind.UNRELEASED: ExposureRule.UNRELEASED,
    RestrictionKind.DENIED: ExposureRule.DENIED,
    RestrictionKind.TIMED: ExposureRule.TIMED,
    RestrictionKind.DOWNLOAD: ExposureRule.DOWNLOAD,
    RestrictionKind.CONTAINER: ExposureRule.CONTAINER,
    RestrictionKind.SENSITIVE: ExposureRule.SENSITIVE,
}
BY_NAME = frozenset({RestrictionKind.DENIED, RestrictionKind.TIMED})  # equal only if the same names are restricted


def meaning_of(rule: str, fate: str) -> str:
    """What a rule with this fate means for an asset: who would see it, or that it is hidden and why; an unknown rule as
    it is named."""
    if rule not in list(ExposureRule):
        return rule
    known = ExposureRule(rule)
    return f"{HIDING[fate]}, because {HIDDEN_BECAUSE[known]}" if fate in HIDING else MEANINGS[known]


@dataclass(frozen=True, slots=True)
class Waivers:
    """What a job says about the rules. The only way to learn whether a rule is lifted is to say what for."""

    given: Mapping[ExposureRule, Waiver] = field(default_factory=dict)

    def of(self, rule: ExposureRule, purpose: Purpose) -> Waiver | None:
        """What the job says of a rule, as far as that counts for this purpose."""
        return self.given.get(rule) if purpose in LIFTED_FOR[rule] else None

    def accepts(self, rule: ExposureRule, purpose: Purpose) -> bool:
        """Whether more people may see an asset by this rule and for this purpose."""
        return self.of(rule, purpose) is Waiver.ACCEPT


NOTHING_WAIVED = Waivers()


@dataclass(frozen=True, slots=True)
class Widening:
    """One rule that an asset falls under; `detail`: the state at the source and at the target."""

    rule: ExposureRule
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Decided:
    """What the mapping decided for one asset: whether its groups were made from the groups of the source, or from the
    containers that it is in. same: which of status, release and expiry mean the same at both services, because they
    are of the same kind."""

    groups: bool = False
    containers: bool = False
    same: frozenset[str] = frozenset()


IDLE = ": it keeps the date, which hides nothing there"


def audience_of(asset: Asset) -> Audience:
    """Who sees an asset at the source."""
    rights, status = asset.rights, asset.status
    hidden = "" if status.casefold() in VISIBLE else f"{status} ({asset.substatus})" if asset.substatus else status
    return Audience(hidden, rights.release_at, rights.expires_at, rights.groups or None, rights.restrictions)


def widenings(
    asset: Asset, draft: Draft, target: Audience, decided: Decided, now: datetime, precision: timedelta = timedelta(0)
) -> tuple[Widening, ...]:
    """The rules by which the audience of the draft at the target is wider than that of the asset.

    now: release dates before it have passed. precision: that of the target's timestamps; smaller differences are
    ignored.
    """
    if target.hidden:
        return ()
    source = audience_of(asset)
    return (
        *_status(asset, draft, source, decided),
        *_dates(source, _with_same_dates(target, draft, decided), draft.rights, now, precision),
        *_groups(source, draft, target, decided),
        *_restrictions(source, draft, target, decided),
    )


def _with_same_dates(target: Audience, draft: Draft, decided: Decided) -> Audience:
    """The target with the draft's dates if they mean the same: in some services dates hide nothing."""
    if "release" in decided.same and target.release_at is None:
        target = replace(target, release_at=draft.rights.release_at)
    if "expiry" in decided.same and target.expires_at is None:
        target = replace(target, expires_at=draft.rights.expires_at)
    return target


def link_widenings(
    asset: Asset, until: datetime | None, now: datetime, precision: timedelta = timedelta(0)
) -> tuple[Widening, ...]:
    """The rules by which a link that anybody can open, until a date (None: permanently), shows the asset to more people
    than see it in its library; none of an asset that everybody sees."""
    expires = until if until is not None and until > now else None
    return widenings(asset, Draft(None, ""), Audience(expires_at=expires), Decided(), now, precision)


def is_wider(now: Audience, then: Audience, moment: datetime, precision: timedelta) -> bool:
    """Whether somebody would see an asset `then` who does not see it `now`, by status, dates and groups."""
    if then.hidden:
        return False
    if now.hidden:
        return True
    release, earlier = now.release_at, then.release_at
    expiry, later = now.expires_at, then.expires_at
    sooner = release is not None and release > moment and (earlier is None or earlier < release - precision)
    longer = expiry is not None and (later is None or later > expiry + precision)
    groups = now.groups is not None and (then.groups is None or bool(then.groups - now.groups))
    return sooner or longer or groups


def _status(asset: Asset, draft: Draft, source: Audience, decided: Decided) -> Iterator[Widening]:
    kept = "status" in decided.same and draft.status.casefold() == asset.status.casefold()
    if source.hidden and not kept:
        archived = asset.status.casefold() == "archived"
        rule = ExposureRule.ARCHIVED if archived else ExposureRule.UNPUBLISHED
        yield Widening(rule, f"{source.hidden} at the source")


def _dates(
    source: Audience, target: Audience, written: Rights, now: datetime, precision: timedelta
) -> Iterator[Widening]:
    """written: the rights of the draft, whose dates may be stored where they hide nothing."""
    release, shown = source.release_at, target.release_at
    if release is not None and release > now and (shown is None or shown < release - precision):
        idle = IDLE if shown is None and written.release_at is not None else ""
        when = f"released on {_day(release)}, at the target {_day(shown, 'at once')}{idle}"
        yield Widening(ExposureRule.UNRELEASED, when)
    expiry, gone = source.expires_at, target.expires_at
    if expiry is not None and (gone is None or gone > expiry + precision):
        idle = IDLE if gone is None and written.expires_at is not None else ""
        yield Widening(ExposureRule.EXPIRY, f"expires on {_day(expiry)}, at the target {_day(gone, 'never')}{idle}")


def _groups(source: Audience, draft: Draft, target: Audience, decided: Decided) -> Iterator[Widening]:
    """Groups are kept if those of the target are among those of the source by name, or the mapping derived them."""
    if source.groups is None:
        return
    given = draft.rights.groups
    if target.groups is not None:
        ours = {name.casefold() for name in source.groups}
        if {name.casefold() for name in target.groups} <= ours or (decided.groups and target.groups <= given):
            return
    detail = f"limited to {groups_text(source.groups)}, at the target to {groups_text(target.groups)}"
    yield Widening(ExposureRule.GROUPS, detail)


def _restrictions(source: Audience, draft: Draft, target: Audience, decided: Decided) -> Iterator[Widening]:
    limited = decided.containers and target.groups is not None and target.groups <= draft.rights.groups
    for kind in sorted({one.kind for one in source.restrictions}):
        ours = {one for one in source.restrictions if one.kind is kind}
        theirs = {one for one in target.restrictions if one.kind is kind}
        held = ours <= theirs if kind in BY_NAME else bool(theirs)
        if not held and not (limited and kind is RestrictionKind.CONTAINER):
            yield Widening(OF_RESTRICTION[kind], _details(ours - theirs))


def groups_text(groups: frozenset[str] | None) -> str:
    """The first of them, for messages."""
    return "everybody" if groups is None else _some(groups)


def _details(restrictions: set[Restriction]) -> str:
    return _some({one.detail for one in restrictions if one.detail})


def _day(moment: datetime | None, never: str = "") -> str:
    return never if moment is None else f"{moment:%Y-%m-%d %H:%M}"


def _some(names: frozenset[str] | set[str]) -> str:
    ordered = sorted(names)
    return ", ".join(ordered[:3]) + (f" and {len(ordered) - 3} more" if len(ordered) > 3 else "")
