"""What keeps an asset closed that more people would see: the remedy by its cause, for hints and reports. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from dam_sync.engine.compare.at_source import carries
from dam_sync.model.asset import Asset, Draft
from dam_sync.model.exposure import Decided, ExposureRule, Widening
from dam_sync.model.exposure_advice import OR, SELECT, closing, remedy_text, waiver
from dam_sync.model.exposure_options import ExposureOption, ExposureOptions, some
from dam_sync.model.schema import Schema
from dam_sync.model.service import Service
from dam_sync.model.values import Json
from dam_sync.model.wording import counted

MOST = 3  # different remedies of one rule in a report
SHARED = 0.5  # a group of more of the assets than this may stand for everybody
LOOKUP = "pipe: [{lookup: groups}]}}` with `lookups: {groups: {values: {NAME AT THE SOURCE: NAME AT THE TARGET}}}`"
KEPT = "the target keeps it, and nothing is hidden by it there"
DATES = frozenset({ExposureRule.UNRELEASED, ExposureRule.EXPIRY})
STATUSES = frozenset({ExposureRule.ARCHIVED, ExposureRule.UNPUBLISHED})


@dataclass(frozen=True, slots=True)
class ExposedDraft:
    """An asset that more people would see as drafted. option: see `Service.closing_option`; closable: whether the
    target can hide it now."""

    asset: Asset
    draft: Draft
    decided: Decided
    target: Service
    schema: Schema
    option: ExposureOption | None
    closable: bool

    def remedies(self, rule: ExposureRule) -> tuple[str, ...]:
        """What to write so that nobody else sees it, for one rule; `close` and the waiver are not among them."""
        if self.shown_first(rule):
            return (self._by_option(),)
        line = self._by_mapping(rule)
        option = "" if self.closable or (line and rule is ExposureRule.GROUPS) else self._by_option()
        return tuple(text for text in (line, option) if text)

    def detail_of(self, found: Widening) -> str:
        """What is wider; also that a date or status arrives and hides nothing, so that no line is looked for."""
        status = found.rule in STATUSES and carries(self.draft, self.asset, "status")
        dated = found.rule in DATES and self._is_carried(found.rule)
        kept = self.option is None and (status or dated)
        return f"{found.detail}; {KEPT}" if kept else found.detail

    def closes(self, rule: ExposureRule) -> bool:
        """Whether `close` helps: now, or once the option is set."""
        return self.closable or (not self.shown_first(rule) and self._by_option() in self.remedies(rule))

    def shown_first(self, rule: ExposureRule) -> bool:
        """Whether more people would see it only until its rights are written."""
        return self.option is not None and self._is_carried(rule)

    def _is_carried(self, rule: ExposureRule) -> bool:
        """Whether the draft says of this what the source says, so that only the way in which it is created shows it."""
        if rule is ExposureRule.GROUPS:
            by_mapping = self.decided.groups and bool(self.draft.rights.groups)
            return by_mapping or carries(self.draft, self.asset, "groups")
        if rule is ExposureRule.UNRELEASED:
            return self.asset.rights.release_at is not None and carries(self.draft, self.asset, "release")
        return rule is ExposureRule.EXPIRY and carries(self.draft, self.asset, "expiry")

    def _by_option(self) -> str:
        return "" if self.option is None else f"{self.option.why}: {self.option.remedy}"

    def _by_mapping(self, rule: ExposureRule) -> str:
        """The line of the mapping that carries what the source says; empty if the target has no place for it."""
        parts, ours = self.schema.capabilities.parts, self.asset.rights
        if rule is ExposureRule.GROUPS and "groups" in parts:
            return self._of_groups("groups[]")
        if rule is ExposureRule.CONTAINER and "groups" in parts:
            return self._of_groups("placements[].path")
        if rule is ExposureRule.UNRELEASED and "release" in parts and self.draft.rights.release_at is None:
            carried = replace(self.draft, rights=replace(self.draft.rights, release_at=ours.release_at))
            hides = ours.release_at is not None and self.target.audience(carried).release_at is not None
            return "`security: {release: {from: release_at}}` in the mapping file carries the date" if hides else ""
        if rule is ExposureRule.EXPIRY and "expiry" in parts and self.draft.rights.expires_at is None:
            carried = replace(self.draft, rights=replace(self.draft.rights, expires_at=ours.expires_at))
            hides = self.target.audience(carried).expires_at is not None
            return "`security: {expiry: {from: expires_at}}` in the mapping file carries the date" if hides else ""
        return self._of_status() if rule in STATUSES and "status" in parts else ""

    def _of_groups(self, path: str) -> str:
        known = self.schema.groups
        there = "that it has" if known is None else some(known) or "none yet"
        line = f'`security: {{groups: {{from: "{path}", {LOOKUP}'
        return f"{line} in the mapping file gives it groups of the target ({there})"

    def _of_status(self) -> str:
        status = self.asset.status
        known = self.schema.statuses
        there = known is None or status.casefold() in {name.casefold() for name in known}
        hides = there and self.target.audience(replace(self.draft, status=status)).hidden
        return "`asset: {status: {from: status}}` in the mapping file carries the status" if hides else ""


@dataclass(frozen=True, slots=True)
class HeldBack:
    """Assets that are set aside by one rule, with the same remedies. groups: those of the source that are in the way,
    the same of all of them; closes: whether `close` helps."""

    rule: ExposureRule
    remedies: tuple[str, ...]
    groups: frozenset[str]
    assets: int
    closes: bool = False


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do about the assets of one rule: see `model.exposure_advice`."""

    remedies: tuple[str, ...] = ()
    closes: bool = False

    def as_json(self, rule: ExposureRule) -> dict[str, Json]:
        """For a row of a report."""
        text = remedy_text(rule, self.remedies, closes=self.closes)
        return {"rule": rule.value, "remedy": text, "remedies": list(self.remedies), "closes": self.closes}


def advice_of(held: Iterable[HeldBack], source: ExposureOptions, library: int) -> dict[ExposureRule, Advice]:
    """What to do about the assets of each rule, what concerns most of them first. library: the number of all assets,
    because a group of most of those that are held back may be any group."""
    by_rule: dict[ExposureRule, list[HeldBack]] = {}
    for each in held:
        by_rule.setdefault(each.rule, []).append(each)
    return {rule: _advice(rule, some_of, source, library) for rule, some_of in by_rule.items()}


def _advice(rule: ExposureRule, held: Sequence[HeldBack], source: ExposureOptions, library: int) -> Advice:
    shared = _about_everybody(held, source, library) if rule is ExposureRule.GROUPS else ""
    weights = Counter[str]()
    for each in held:
        weights.update(dict.fromkeys(each.remedies, each.assets))
    found = (shared, *(text for text, _ in weights.most_common(MOST)))
    return Advice(tuple(text for text in found if text), any(each.closes for each in held))


def _about_everybody(held: Sequence[HeldBack], source: ExposureOptions, library: int) -> str:
    """The group that most of the library is limited to, as one that may stand for everybody; empty if there is none,
    or no option for it."""
    number = Counter[str]()
    for each in held:
        number.update(dict.fromkeys(each.groups, each.assets))
    name = max(sorted(number), key=lambda group: number[group], default="")
    return shared_group(name, number[name], max(library, number[name]), source) if name else ""


def shared_group(name: str, assets: int, total: int, source: ExposureOptions) -> str:
    """That so many of the assets have this group, and the option for it; empty if they are too few."""
    if not source.everybody or name in source.named or assets <= total * SHARED:
        return ""
    many = f"all {counted(total, 'asset')} have" if assets == total else f"{assets:,} of {counted(total, 'asset')} have"
    if total == 1:
        many = "the asset has"
    says = f"{source.with_everybody(name)} of the source says so, and everybody at the target sees them"
    return f"{many} the group {name}: if everybody who can use the source is in it, {says}"


def asset_hint(case: ExposedDraft, rules: Sequence[ExposureRule], everybody: str) -> str:
    """What to do about one asset. everybody: the name of the option of the source, empty without one or where no group
    is in the way."""
    told = f"if a group that it is limited to has everybody who can use the source, name it there in `{everybody}`"
    found = [told] if everybody else []
    found += [text for rule in rules for text in case.remedies(rule)]
    hidden = [rule for rule in rules if case.closes(rule)]
    found += [closing(hidden)] if hidden else []
    return f"{OR.join(dict.fromkeys((*found, SELECT)))}. {waiver(rules)}"
