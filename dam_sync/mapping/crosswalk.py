"""A compiled mapping: from any asset of one source to the draft of an asset for one target. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, time, timedelta
from typing import TypeAlias

from dam_sync.config.diagnostics import dotted
from dam_sync.mapping.accounts import ReadValue, best_of, count_values
from dam_sync.mapping.coercion import NameFit, text_field
from dam_sync.mapping.containers import CONTAINER_ROOTS, container_of, deduplicated, limit_containers
from dam_sync.mapping.coverage import Coverage
from dam_sync.mapping.document import MappingDocument
from dam_sync.mapping.examples import NOT_JSON, given_asset, mismatches
from dam_sync.mapping.results import LanguagePreference
from dam_sync.mapping.rules import FieldRule, RuleResult
from dam_sync.mapping.selection import Selection, SelectionVerdict
from dam_sync.mapping.tables import Lookup
from dam_sync.mapping.transforms.base import TransformContext
from dam_sync.mapping.vocabulary import TermIndex, VocabularyRule, slim
from dam_sync.model.account import BY_DEFAULT, EMPTY, FILLED, READ, TRANSFORMED, WRITTEN, Account, AccountKey
from dam_sync.model.asset import Asset, AssetId, Draft, Loss, Marker, Placement, Revision, Rights
from dam_sync.model.carried import with_carried
from dam_sync.model.correction import Corrections, FailedValue
from dam_sync.model.diagnostic import Diagnostic
from dam_sync.model.exposure import Decided
from dam_sync.model.loss_rules import LossRule
from dam_sync.model.schema import Field, Schema
from dam_sync.model.values import Scalar, Term, Value

TermKey: TypeAlias = tuple[str, tuple[str, ...]]
"""A term of the target by vocabulary and path."""


@dataclass(frozen=True, slots=True)
class Drafted:
    """The result of mapping one asset. Any rejection parks it; new terms have to be created before it is written.

    new_terms: (vocabulary of the target, term), parents before children; unmade: which of them is at (field,
    position) of the draft. account: what becomes of every value if the asset is written; a value read by several rules
    counts once. filled: by rule, whether it gave a value from the source, its default, or nothing; shown: by rule, the
    values that it read and those that it made of them. losses begin with what the source has but does not return.
    decided: what the mapping decided about its audience. failed: the values of the rejections.
    """

    draft: Draft
    losses: tuple[Loss, ...] = ()
    rejections: tuple[Loss, ...] = ()
    new_terms: tuple[tuple[str, Term], ...] = ()
    unmade: Mapping[tuple[str, int], TermKey] = field(default_factory=dict)
    account: Mapping[AccountKey, int] = field(default_factory=dict)
    filled: Mapping[str, str] = field(default_factory=dict)
    shown: Mapping[str, tuple[tuple[Scalar, ...], tuple[Scalar, ...]]] = field(default_factory=dict, compare=False)
    decided: Decided = field(default_factory=Decided)
    failed: tuple[FailedValue, ...] = ()

    def with_terms(self, created: Mapping[TermKey, Term]) -> Drafted:
        """A copy with the target's ids of its new terms."""
        if not (self.unmade or self.new_terms):
            return self
        fields = dict(self.draft.fields)
        for (key, position), name in self.unmade.items():
            value, term = fields[key], slim(created[name])
            fields[key] = (*value[:position], term, *value[position + 1 :]) if isinstance(value, tuple) else term
        return replace(self, draft=replace(self.draft, fields=fields), new_terms=(), unmade={})


@dataclass(frozen=True, slots=True)
class Profiles:
    """Which profile an asset gets; `types` are the type names that a profile makes."""

    rule: FieldRule | None = None
    types: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plan:
    """The rules of a mapping by what they write."""

    fields: Mapping[str, FieldRule] = field(default_factory=dict)
    filename: FieldRule | None = None
    status: FieldRule | None = None
    tags: FieldRule | None = None
    placements: tuple[tuple[FieldRule, str], ...] = ()  # with the kind of container
    container_most: Mapping[str, int] = field(default_factory=dict)
    groups: FieldRule | None = None
    release: FieldRule | None = None
    expiry: FieldRule | None = None
    rights_by_day: bool = False
    held_by: Mapping[str, frozenset[str]] = field(default_factory=dict)  # types by what they alone hold
    profiles: Profiles = field(default_factory=Profiles)
    relations: Mapping[str, str] = field(default_factory=dict)  # kinds at the target by kinds at the source
    own_name: NameFit = field(default_factory=lambda: NameFit(text_field("filename")))  # without a line for the name

    def rules(self) -> Iterator[FieldRule]:
        """Every rule."""
        singles = (self.filename, self.status, self.tags, self.groups, self.release, self.expiry, self.profiles.rule)
        yield from (rule for rule in singles if rule is not None)
        yield from (rule for rule, _ in self.placements)
        yield from self.fields.values()


@dataclass(frozen=True, slots=True)
class Crosswalk:
    """A mapping compiled against both schemas.

    reads: paths into the source's assets; writes: keys of the target's fields. digest: changes if the meaning of the
    mapping file may have changed. marker: key of the marker field. unread: fields of the source that no
    line reads or ignores. notes: what the operator should know; `warnings`: those that hint at a mistake;
    about_unread: the one about unread fields, if the mapping reports them; about_marker: that a marker is missing.
    marked: there is a marker, or the file says `marker: none`. vocabularies: by the target's vocabulary key;
    `draft` needs a TermIndex of each. corrections: of the asset that is drafted, if there are any.
    """

    reads: frozenset[str]
    writes: frozenset[str]
    digest: str
    marker: str | None
    unread: frozenset[str]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    marked: bool
    vocabularies: Mapping[str, VocabularyRule]
    plan: Plan = field(repr=False)
    coverage: Coverage = field(repr=False)
    selection: Selection = field(repr=False)
    languages: LanguagePreference = field(repr=False)
    lookups: Mapping[str, Lookup] = field(repr=False)
    rules: Mapping[str, VocabularyRule] = field(repr=False)
    target_fields: Mapping[str, Field] = field(repr=False)
    corrections: Corrections = field(default_factory=Corrections, repr=False)
    about_unread: str = ""
    about_marker: str = ""

    def selects(self, asset: Asset) -> SelectionVerdict:
        """Whether the asset is selected, or which condition leaves it out."""
        return self.selection.judge(asset, self.languages)

    def related(self, asset: Asset) -> Asset:
        """The asset with its relation kinds renamed for the target."""
        kinds = self.plan.relations
        if not (kinds and asset.relations):
            return asset
        return replace(
            asset, relations=frozenset(replace(each, kind=kinds.get(each.kind, each.kind)) for each in asset.relations)
        )

    def placed(self, container: Placement) -> tuple[Placement, ...]:
        """What an asset's being in this container of the source alone makes it be in at the target. Lines that depend
        on more than containers are left out."""
        asset, context = Asset(AssetId(""), Revision(""), placements=frozenset({container})), self._context({})
        rules = [(rule, kind) for rule, kind in self.plan.placements if rule.reads_only(CONTAINER_ROOTS)]
        made = [(value, kind) for rule, kind in rules for value in rule.run(asset, context).values]
        return tuple({Placement(kind, container_of(value)) for value, kind in made})

    def look_up(self, asset: Asset, terms: Mapping[str, TermIndex]) -> bool:
        """Look up the terms that `draft` will look up, with only the rules that write terms: each index then knows
        what it lacks. Returns whether some would have to be created."""
        return _Drafting(self, asset, self._context(terms)).looked_up()

    def groups_of(self, asset: Asset, terms: Mapping[str, TermIndex]) -> frozenset[str]:
        """The names of groups that the draft will have, provided that the target has them."""
        rule = self.plan.groups
        return frozenset(map(str, rule.run(asset, self._context(terms)).values)) if rule is not None else frozenset()

    def _context(
        self,
        terms: Mapping[str, TermIndex],
        unknown_groups: frozenset[str] = frozenset(),
        unknown_people: frozenset[str] = frozenset(),
    ) -> TransformContext:
        unknown = unknown_groups, unknown_people
        return TransformContext(self.languages, self.lookups, self.rules, terms, *unknown, self.corrections)

    def draft(
        self,
        asset: Asset,
        marker_value: str,
        terms: Mapping[str, TermIndex],
        unknown_groups: frozenset[str] = frozenset(),
        unknown_people: frozenset[str] = frozenset(),
    ) -> Drafted:
        """Draft one asset; never raises, safe to repeat. terms: the target's, by vocabulary key. unknown_groups,
        unknown_people: names that the target was found not to have."""
        return _Drafting(self, asset, self._context(terms, unknown_groups, unknown_people)).done(marker_value)


@dataclass(slots=True)
class _Drafting:
    """One asset on its way to a draft."""

    crosswalk: Crosswalk
    asset: Asset
    context: TransformContext
    losses: list[Loss] = field(default_factory=list)
    rejections: list[Loss] = field(default_factory=list)
    failed: list[FailedValue] = field(default_factory=list)
    new_terms: dict[TermKey, tuple[str, Term]] = field(default_factory=dict)
    unmade: dict[tuple[str, int], TermKey] = field(default_factory=dict)
    known: dict[tuple[str, int], ReadValue] = field(default_factory=dict)
    filled: dict[str, str] = field(default_factory=dict)
    shown: dict[str, tuple[tuple[Scalar, ...], tuple[Scalar, ...]]] = field(default_factory=dict)
    skipped: dict[str, tuple[str, str]] = field(default_factory=dict)
    decided: Decided = field(default_factory=Decided)

    def done(self, marker_value: str) -> Drafted:
        """Run every rule and account for all values."""
        crosswalk, plan = self.crosswalk, self.crosswalk.plan
        profile = self._text(plan.profiles.rule)
        plan = self._held(plan, plan.profiles.types.get(profile))
        draft = Draft(
            marker=Marker(crosswalk.marker, marker_value) if crosswalk.marker else None,
            filename=self._text(plan.filename) or self._own_name(),
            profile=profile,
            status=self._text(plan.status),
            fields=self._fields(plan.profiles.types.get(profile), marker_value),
            placements=self._placements(),
            tags=frozenset(str(value) for value in self._values(plan.tags)),
            rights=self._rights(plan),
        )
        draft = with_carried(draft, self.asset, crosswalk.coverage.holds)
        consumed = Counter(path for path, _ in self.known)
        losses, left = crosswalk.coverage.close(self.asset, self.known.keys(), self.skipped, self._within_reach)
        return Drafted(
            draft,
            (*dict.fromkeys(self.asset.losses), *self.losses, *losses),
            tuple(self.rejections),
            tuple(self.new_terms.values()),
            self.unmade,
            self._account(consumed, left),
            self.filled,
            self.shown,
            self.decided,
            tuple(dict.fromkeys(self.failed)),
        )

    def _account(self, consumed: Mapping[str, int], left: Mapping[tuple[str, str, str], int]) -> Account:
        """Values as counted from the asset, and what the rules, or their absence, made of them."""
        read = count_values(self.asset, self.crosswalk.coverage.unread, consumed.keys())
        account: Account = Counter({AccountKey(path, READ): number for path, number in read.items()})
        account.update(AccountKey(each.path, each.outcome, each.rule) for each in self.known.values())
        account.update({AccountKey(*key): number for key, number in left.items()})
        return account

    def looked_up(self) -> bool:
        """Run the rules that look up terms, as `done` would; whether some terms are new and none is refused."""
        plan = self.crosswalk.plan
        types = plan.profiles.types.get(self._text(plan.profiles.rule))
        fields = {key: rule for key, rule in plan.fields.items() if self._in_types(key, types)}
        for rule in replace(self._held(plan, types), fields=fields).rules():
            if rule.looks_up_terms:
                self._keep(rule, rule.run(self.asset, self.context))
        return bool(self.new_terms) and not self.rejections

    def _held(self, plan: Plan, types: frozenset[str] | None) -> Plan:
        """The plan without rules for what these types of the target lack; what they would read is a loss."""
        rules = {"status": plan.status, "tags": plan.tags, "release": plan.release, "expiry": plan.expiry}
        kept = True
        for feature, rule in rules.items():
            held = plan.held_by.get(feature)
            if rule is None or held is None or types is None or held & types:
                continue
            names = rule.reads(self.asset, self.context)
            detail = f"{', '.join(sorted(types))} holds no {feature}"
            self.skipped.update(dict.fromkeys(names, (LossRule.OTHER_TYPE, detail)))
            rules[feature] = None
            kept = False
        if kept:
            return plan
        return replace(
            plan, status=rules["status"], tags=rules["tags"], release=rules["release"], expiry=rules["expiry"]
        )

    def _within_reach(self) -> set[str]:
        """Names of the values of every path of every rule, tried or not."""
        return {name for rule in self.crosswalk.plan.rules() for name in rule.reads(self.asset, self.context)}

    def _own_name(self) -> str:
        name = self.asset.filename or (self.asset.file.name if self.asset.file else "")
        made = self.crosswalk.plan.own_name.each(name, self.context)
        changed = made.note.rule if made.note is not None else ""
        if self.crosswalk.plan.filename is None and self.asset.filename.strip():
            outcome = TRANSFORMED if changed else WRITTEN
            self.known["filename", 0] = ReadValue("filename", 0, outcome, changed)
        if not name or made.note is None:
            return name
        self.losses.append(Loss("filename", made.note.rule, made.note.detail))
        return str(made.values[0])

    def _text(self, rule: FieldRule | None) -> str:
        return next((str(value) for value in self._values(rule)), "")

    def _values(self, rule: FieldRule | None, required: bool = False) -> tuple[Scalar, ...]:
        if rule is None:
            return ()
        ran = rule.run(self.asset, self.context, required)
        self._keep(rule, ran)
        return ran.values

    def _keep(self, rule: FieldRule, ran: RuleResult) -> None:
        self.losses += ran.losses
        self.rejections += ran.rejections
        self.failed += ran.failed
        for each in ran.outcomes:
            key = each.path, each.index
            self.known[key] = best_of(self.known.get(key), each)
        name = dotted(rule.place)
        self.filled[name] = FILLED if any(ran.origins) else BY_DEFAULT if ran.values else EMPTY
        if ran.read:
            self.shown[name] = ran.read, ran.values
        self.skipped.update(dict.fromkeys(ran.skipped, (LossRule.WHEN, "")))
        for vocabulary, term in ran.new_terms:
            self.new_terms.setdefault((vocabulary, term.path), (vocabulary, term))

    def _fields(self, types: frozenset[str] | None, marker_value: str) -> dict[str, Value]:
        crosswalk, made = self.crosswalk, dict[str, Value]()
        if crosswalk.marker:
            made[crosswalk.marker] = marker_value
        for key, rule in crosswalk.plan.fields.items():
            field = crosswalk.target_fields[key]
            if types is not None and not self._in_types(key, types):
                names = rule.reads(self.asset, self.context)
                detail = f"{key} is not in {', '.join(sorted(types))}"
                self.skipped.update(dict.fromkeys(names, (LossRule.OTHER_TYPE, detail)))
                continue
            values = self._known_terms(key, rule, rule.run(self.asset, self.context, field.required))
            if values:
                made[key] = values if field.multiple else values[0]
        return made

    def _in_types(self, key: str, types: frozenset[str] | None) -> bool:
        own = self.crosswalk.target_fields[key].types
        return types is None or not own or bool(types & own)

    def _known_terms(self, key: str, rule: FieldRule, ran: RuleResult) -> tuple[Scalar, ...]:
        """The values of a field; new terms among them are recorded in `unmade`."""
        self._keep(rule, ran)
        values, new = list(ran.values), {term.path: vocabulary for vocabulary, term in ran.new_terms}
        for position, value in enumerate(values):
            if isinstance(value, Term) and not value.id and value.path in new:
                self.unmade[key, position] = (new[value.path], value.path)
                values[position] = slim(value)
        return tuple(values)

    def _placements(self) -> frozenset[Placement]:
        plan = self.crosswalk.plan
        made = [(rule.run(self.asset, self.context), kind) for rule, kind in plan.placements]
        limit_containers(made, plan.container_most)
        start = len(self.losses)
        for (rule, _), (ran, _) in zip(plan.placements, made, strict=True):
            self._keep(rule, ran)
        self.losses[start:] = deduplicated(self.losses[start:])
        return frozenset(Placement(kind, container_of(value)) for ran, kind in made for value in ran.values)

    def _rights(self, plan: Plan) -> Rights:
        release = next((value for value in self._values(plan.release)), None)
        expiry = next((value for value in self._values(plan.expiry)), None)
        groups = frozenset(self._groups(plan.groups))
        rights = Rights(_instant(release), _instant(expiry), groups)
        return self._in_days(rights) if plan.rights_by_day else rights

    def _groups(self, rule: FieldRule | None) -> list[str]:
        """Names of groups, and whether all were derived from groups, or from containers, of the source."""
        if rule is None:
            return []
        ran = rule.run(self.asset, self.context)
        self._keep(rule, ran)
        made_of = [{ran.outcomes[index].path for index in indices} for indices in ran.origins]
        self.decided = Decided(
            groups=_all_from(made_of, "groups[]"),
            containers=_all_from(made_of, "placements."),
        )
        return [str(value) for value in ran.values]

    def _in_days(self, rights: Rights) -> Rights:
        """Released no sooner and expired no later than the source says."""
        release, expiry = _midnight_after(rights.release_at), _midnight_before(rights.expires_at)
        pairs = (("release", rights.release_at, release), ("expiry", rights.expires_at, expiry))
        for name, given, kept in pairs:
            if given != kept and kept is not None:
                self.losses.append(Loss(name, LossRule.DAYS_ONLY, f"moved to {kept.date().isoformat()}"))
        return replace(rights, release_at=release, expires_at=expiry)


def _all_from(made_of: Sequence[set[str]], beginning: str) -> bool:
    """Whether there are values, each derived from at least one value with such a name."""
    return bool(made_of) and all(any(name.startswith(beginning) for name in names) for names in made_of)


def _midnight_before(moment: datetime | None) -> datetime | None:
    return moment and datetime.combine(moment.astimezone(UTC).date(), time(), UTC)


def _midnight_after(moment: datetime | None) -> datetime | None:
    before = _midnight_before(moment)
    return before if before == moment or before is None else before + timedelta(days=1)


def groups_written(crosswalk: Crosswalk, source: Schema) -> frozenset[str]:
    """The names of groups that the mapping would write, as far as known from the mapping file and the
    groups that the source lists."""
    rule = crosswalk.plan.groups
    if rule is None:
        return frozenset()
    context = TransformContext(crosswalk.languages, crosswalk.lookups, crosswalk.rules)
    named = [Asset(AssetId(""), Revision(""), rights=Rights(groups=frozenset({name}))) for name in source.groups or ()]
    made = (value for asset in named for value in rule.run(asset, context).values)
    return frozenset(str(value) for value in (*rule.const, *rule.default, *made))


def run_tests(document: MappingDocument, crosswalk: Crosswalk) -> list[Diagnostic]:
    """The examples of the mapping file that fail, with their lines.

    Terms of the target are not read: all are assumed to exist.
    """
    terms = {key: TermIndex(open_ended=True) for key in crosswalk.vocabularies}
    failures: list[Diagnostic] = []
    for index, example in enumerate(document.body.tests):
        place = ("tests", index)
        try:
            asset = given_asset(example.given)
        except NOT_JSON as error:
            hint = "`dam-sync help catalogue` describes the parts of an asset"
            failures.append(document.written.diagnostic((*place, "given"), f"is not an asset: {error}", hint))
            continue
        drafted = crosswalk.draft(asset, "example", terms)
        found = mismatches(example.expect, drafted.draft, drafted.rejections, crosswalk.target_fields)
        failures.extend(document.written.diagnostic((*place, "expect", key), message) for key, message in found)
    return failures


def _instant(value: Scalar | None) -> datetime | None:
    return value if isinstance(value, datetime) else None
