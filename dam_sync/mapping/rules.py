"""A compiled rule: reads values, sends them through its pipe, coerces them, and accounts for every one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from dam_sync.config.diagnostics import KeyPath, dotted
from dam_sync.mapping.accounts import ReadValue
from dam_sync.mapping.coercion import Fit
from dam_sync.mapping.expressions import Evaluated, Expression
from dam_sync.mapping.paths import AssetPath, PathValue
from dam_sync.mapping.reading_advice import STEPS, advised
from dam_sync.mapping.results import LanguagePreference, Note, Result, ValueOutcome, empty, shape_of, shown
from dam_sync.mapping.transforms.base import EachTransform, ListTransform, Transform, TransformContext
from dam_sync.mapping.transforms.values import MatchTerm
from dam_sync.mapping.value_text import with_values
from dam_sync.model.account import DEFAULTED, DROPPED, LOST, PARKED, TRANSFORMED, WRITTEN
from dam_sync.model.asset import Asset, Loss
from dam_sync.model.correction import CORRECTED, WHOLE, FailedValue, failed_text
from dam_sync.model.loss_rules import LossRule
from dam_sync.model.unicode_forms import nfc
from dam_sync.model.values import Localized, Scalar, Term


@dataclass(slots=True)
class RuleResult:
    """The result of one rule for one asset. outcomes: of each value that was read; origins: for each of `values` the
    outcomes it was made of; read: the values that `values` were made of. skipped: names of the values that it did not
    read because its `when` is false. failed: the values of the rejections."""

    values: tuple[Scalar, ...] = ()
    losses: list[Loss] = field(default_factory=list)
    rejections: list[Loss] = field(default_factory=list)
    new_terms: list[tuple[str, Term]] = field(default_factory=list)
    outcomes: list[ReadValue] = field(default_factory=list)
    origins: list[tuple[int, ...]] = field(default_factory=list)
    read: tuple[Scalar, ...] = ()
    emptied: bool = False
    skipped: frozenset[str] = frozenset()
    failed: list[FailedValue] = field(default_factory=list)

    def reject(self, line: str, rule: str, detail: str) -> None:
        """The line as a whole gives nothing that can be written."""
        self.rejections.append(Loss(line, rule, detail))
        self.failed.append(FailedValue(line, rule, WHOLE))

    def keep_only(self, kept: Collection[Scalar], rule: str) -> None:
        """Drop the other values, each a loss with this rule; values read only for them count as lost."""
        pairs = list(zip(self.values, self.origins, strict=True))
        left = [(value, indices) for value, indices in pairs if value in kept]
        used = {index for _, indices in left for index in indices}
        for value, indices in pairs:
            if value in kept:
                continue
            names = [self.outcomes[index].path for index in indices]
            self.losses.append(Loss(names[0] if names else "placements", rule, str(value)))
            for index in set(indices) - used:
                if self.outcomes[index].outcome != PARKED:
                    self.outcomes[index] = replace(self.outcomes[index], outcome=LOST, rule=rule)
        self.values, self.origins = tuple(value for value, _ in left), [indices for _, indices in left]


@dataclass(frozen=True, slots=True)
class FieldRule:
    """A compiled rule. target: key of what it writes; all_languages: every language of a text is kept. when: it is used
    only where this holds; cel: the expression that makes its value, of what `paths` read."""

    place: KeyPath
    target: str
    fit: Fit
    paths: tuple[AssetPath, ...] = ()
    transforms: tuple[Transform, ...] = ()
    const: tuple[Scalar, ...] = ()
    default: tuple[Scalar, ...] = ()
    required: bool = False
    on_error: ValueOutcome = ValueOutcome.PARKED
    all_languages: bool = False
    when: Expression | None = None
    cel: Expression | None = None

    @property
    def looks_up_terms(self) -> bool:
        """Whether its result depends on the terms of the target."""
        return self.fit.rule is not None or any(isinstance(transform, MatchTerm) for transform in self.transforms)

    def reads_only(self, roots: Collection[str]) -> bool:
        """Whether its values are made of these parts of an asset, and of nothing else."""
        alone = self.when is None and self.cel is None and not self.const and not self.default
        return alone and bool(self.paths) and all(path.root in roots for path in self.paths)

    def run(self, asset: Asset, context: TransformContext, required: bool = False) -> RuleResult:
        """Apply the rule to one asset; never raises. required: the target requires a value."""
        ran = RuleResult()
        if self._applies(asset, context, ran):
            self._fill(asset, context, ran)
            required = required or self.required
        if not ran.values and not ran.rejections and required:
            ran.reject(dotted(self.place), LossRule.REQUIRED, "there is no value")
        return ran

    def _applies(self, asset: Asset, context: TransformContext, ran: RuleResult) -> bool:
        """Whether the condition of the rule holds; what it would have read is skipped otherwise."""
        held = True if self.when is None else self.when.holds(asset, context.languages)
        if held is True:
            return True
        ran.skipped = frozenset(self.reads(asset, context))
        if isinstance(held, str):
            path = dotted((*self.place, LossRule.WHEN))
            (ran.rejections if self.on_error is ValueOutcome.PARKED else ran.losses).append(
                Loss(path, LossRule.WHEN, held)
            )
        return False

    def _fill(self, asset: Asset, context: TransformContext, ran: RuleResult) -> None:
        """The values of the first path that has some, or of the expression, or the constant; or what a person gave."""
        given = context.corrections.whole(dotted(self.place))
        if given:
            self._give(given, asset, context, ran)
        elif self.cel is not None:
            self._computed(self.cel, asset, context, ran)
        else:
            self._read(asset, context, ran)
        if not ran.values and not ran.rejections and not ran.emptied:
            self._fall_back(context, ran)

    def _give(self, given: Sequence[str], asset: Asset, context: TransformContext, ran: RuleResult) -> None:
        """The values that a person gave; those that would have been read are dropped."""
        paths = (path.read(asset, context.languages, all_languages=self.all_languages) for path in self.paths)
        passage = _Evaluation(self, context, next(filter(None, paths), ()))
        passage.give(given)
        passage.account(ran)

    def _read(self, asset: Asset, context: TransformContext, ran: RuleResult) -> None:
        found = False
        for path in self.paths:
            values = path.read(asset, context.languages, all_languages=self.all_languages)
            if values:
                found = True
                if self._sent(values, context, ran):
                    break
        if self.paths and not found:
            self._sent((), context, ran)

    def _computed(self, cel: Expression, asset: Asset, context: TransformContext, ran: RuleResult) -> None:
        """The values of the expression, each made of everything that it read."""
        paths = (path.read(asset, context.languages, all_languages=True) for path in self.paths)
        passage = _Evaluation(self, context, tuple(value for found in paths for value in found))
        passage.flow(cel.evaluate(asset, context.languages))
        passage.account(ran)

    def reads(self, asset: Asset, context: TransformContext) -> set[str]:
        """Names of the values that this rule would read."""
        return {
            name
            for path in self.paths
            for found in path.read(asset, context.languages, all_languages=self.all_languages)
            for name in _names(found)
        }

    def _sent(self, found: tuple[PathValue, ...], context: TransformContext, ran: RuleResult) -> bool:
        """Send the values of one path through the pipe; whether that completes the rule."""
        passage = _Evaluation(self, context, found)
        passage.flow()
        passage.account(ran)
        return bool(ran.values or ran.rejections or ran.emptied)

    def _fall_back(self, context: TransformContext, ran: RuleResult) -> None:
        for value in self.const or self.default:
            made = self.fit.each(value, context)
            ran.new_terms.extend(made.new_terms)
            ran.values += made.values
            ran.origins += [()] * len(made.values)
            if made.note is not None and made.note.outcome is not ValueOutcome.KEPT:
                ran.reject(dotted(self.place), made.note.rule, made.note.detail)
        if ran.values:
            ran.outcomes = [
                replace(each, outcome=DEFAULTED) if each.outcome == DROPPED else each for each in ran.outcomes
            ]


@dataclass(slots=True)
class _Item:
    value: Scalar
    origins: tuple[int, ...]


@dataclass(slots=True)
class _Origin:
    """A single value as read; `locale` if it is one language of a text."""

    label: str
    value: Scalar
    locale: str = ""
    index: int = 0


@dataclass(slots=True)
class _Evaluation:
    """The values of one path on their way through one rule."""

    rule: FieldRule
    context: TransformContext
    found: tuple[PathValue, ...]
    origins: list[_Origin] = field(default_factory=list)
    items: list[_Item] = field(default_factory=list)
    parked: set[int] = field(default_factory=set)
    reasons: dict[int, str] = field(default_factory=dict)  # by origin: the last rule that said something about it
    losses: list[Loss] = field(default_factory=list)
    rejections: list[Loss] = field(default_factory=list)
    new_terms: list[tuple[str, Term]] = field(default_factory=list)
    failed: list[FailedValue] = field(default_factory=list)
    emptied: bool = False

    def give(self, texts: Sequence[str]) -> None:
        """Texts that a person gave stand for everything that was read."""
        for found in self.found:
            self._take(found)
        self.reasons = dict.fromkeys(range(len(self.origins)), CORRECTED)
        self.losses += [Loss(label, CORRECTED) for label in dict.fromkeys(origin.label for origin in self.origins)]
        self.items = [_Item(self.rule.fit.typed(text), ()) for text in texts]
        self._fit()

    def flow(self, made: Evaluated | None = None) -> None:
        """Read, pipe, fit, count. made: what an expression made of the values that were read."""
        for found in self.found:
            self._take(found)
        if made is not None:
            self._replace(made)
        corrected = self._correct()
        for transform in self.rule.transforms:
            if isinstance(transform, ListTransform):
                self._whole(transform)
            elif isinstance(transform, EachTransform):
                self._each(transform)
        self.items = [*corrected, *self.items]
        self._fit()
        if self.emptied:
            self.items = []

    def account(self, ran: RuleResult) -> None:
        """Add the outcome to the result of the rule."""
        before = len(ran.outcomes)
        ran.values += tuple(item.value for item in self.items)
        ran.origins += [tuple(before + index for index in item.origins) for item in self.items]
        ran.losses += self.losses
        ran.rejections += self.rejections
        ran.failed += self.failed
        ran.new_terms += self.new_terms
        ran.emptied = ran.emptied or self.emptied
        kept = self._kept()
        ran.outcomes += [self._outcome(index, origin, kept[index]) for index, origin in enumerate(self.origins)]
        if self.items:
            ran.read += tuple(found.value for found in self.found)

    def _take(self, found: PathValue) -> None:
        start = len(self.origins)
        if found.texts:
            self.origins.extend(_Origin(label, text, locale, found.index) for label, locale, text in found.texts)
        else:
            self.origins.append(_Origin(found.label, found.value, "", found.index))
        self.items.append(_Item(found.value, tuple(range(start, len(self.origins)))))

    def _replace(self, made: Evaluated) -> None:
        every = tuple(range(len(self.origins)))
        self.items = [_Item(value, every) for value in made.values if not empty(value)]
        if made.fault:
            self._note(Note(LossRule.CEL, made.fault), every)
        elif not self.items and every:
            self._note(Note(LossRule.CEL, "gives no value", ValueOutcome.DROPPED), every)

    def _correct(self) -> list[_Item]:
        """What a person gave in place of values, which leave the pipe; a text of one language is replaced in it."""
        given, corrected = self.context.corrections.of(dotted(self.rule.place)), list[_Item]()
        before, self.items = (self.items, []) if given else ((), self.items)
        for item in before:
            texts = given.get(failed_text(item.value))
            if texts is not None:
                corrected += [_Item(self.rule.fit.typed(text), item.origins) for text in texts]
                self.reasons.update(dict.fromkeys(item.origins, CORRECTED))
            elif isinstance(item.value, Localized):
                texts_by = item.value.texts.items()
                kept = {locale: given.get(failed_text(text), (text,))[0] for locale, text in texts_by}
                self.items.append(_Item(Localized(kept), item.origins))
            else:
                self.items.append(item)
        return corrected

    def _each(self, transform: EachTransform) -> None:
        before, self.items = self.items, []
        for item in before:
            if isinstance(item.value, Localized) and transform.each_language:
                self._each_language(transform, item, item.value)
            else:
                made = advised(transform.name, item.value, transform.each(item.value, self.context))
                self._settle(transform.name, item.origins, made)

    def _each_language(self, transform: EachTransform, item: _Item, value: Localized) -> None:
        texts: dict[str, str] = {}
        for locale, text in value.texts.items():
            origins = tuple(index for index in item.origins if self.origins[index].locale in ("", locale))
            made = transform.each(text, self.context)
            kept = made.values[0] if made.values else ""
            if isinstance(kept, str) and not empty(kept):
                texts[locale] = kept
            self._noted(transform.name, origins, made, gone=locale not in texts)
        if texts:
            self.items.append(_Item(Localized(texts), item.origins))

    def _settle(self, rule: str, origins: tuple[int, ...], made: Result) -> None:
        values = [value for value in made.values if not empty(value)]
        self.items.extend(_Item(value, origins) for value in values)
        self.new_terms.extend(made.new_terms)
        self._noted(rule, origins, made, gone=not values)

    def _noted(self, rule: str, origins: tuple[int, ...], made: Result, *, gone: bool) -> None:
        if made.note is not None:
            self._note(made.note, origins)
        elif gone:
            self._note(Note(rule, "nothing is left", ValueOutcome.DROPPED), origins)

    def _note(self, note: Note, origins: tuple[int, ...]) -> None:
        outcome = self.rule.on_error if note.outcome is ValueOutcome.FAILED else note.outcome
        label = self.origins[origins[0]].label if origins else ""
        self.reasons.update(dict.fromkeys(origins, note.rule))
        if outcome is ValueOutcome.PARKED:
            self.parked.update(origins)
            source = f" (from {label})" if label else ""
            self.rejections.append(Loss(dotted(self.rule.place), note.rule, f"{note.detail}{source}"))
            self._fail(note.rule, origins)
            return
        self.emptied = self.emptied or outcome is ValueOutcome.EMPTY
        lost = [self.origins[index].value for index in origins]
        self.losses.append(Loss(label or dotted(self.rule.place), note.rule, with_values(note.detail, lost)))

    def _fail(self, rule: str, origins: tuple[int, ...]) -> None:
        """The values as read; the line as a whole if no single value is to blame."""
        single = self.rule.cel is None and rule != LossRule.SEVERAL
        texts = [failed_text(self.origins[index].value) for index in origins] if single else []
        self.failed += [FailedValue(dotted(self.rule.place), rule, text) for text in texts or [WHOLE]]

    def _whole(self, transform: ListTransform) -> None:
        before = self.items
        kept = transform.whole([item.value for item in before], self.context)
        self.items = [
            _Item(value, tuple(origin for index in indices for origin in before[index].origins))
            for value, indices in kept.items
            if not empty(value)
        ]
        if kept.note is not None:
            used = {origin for item in self.items for origin in item.origins}
            gone = tuple(origin for item in before for origin in item.origins if origin not in used)
            self._note(kept.note, gone)

    def _fit(self) -> None:
        before, self.items, step = self.items, [], STEPS.get(self.rule.fit.shape, "")
        for item in before:
            made = advised(step, item.value, self.rule.fit.each(item.value, self.context))
            self._settle(self.rule.target, item.origins, made)
        if self.rule.fit.folds:
            self._fold()
        if len(self.items) > 1 and not self.rule.fit.field.multiple:
            note = Note(LossRule.SEVERAL, f"{len(self.items)} values, the target accepts one")
            extra, self.items = self.items[1:], self.items[:1]
            self._note(note, tuple(origin for item in extra for origin in item.origins))

    def _fold(self) -> None:
        """Leave out what the target takes for the same as a value before."""
        before, self.items = self.items, []
        known: dict[str, str] = {}
        for item in before:
            text = str(item.value)
            first = known.setdefault(nfc(text).casefold(), text)
            if nfc(first) == nfc(text):
                self.items.append(item)
            else:
                self._note(Note(LossRule.FOLDED, f"{shown(text)}, {shown(first)}", ValueOutcome.DROPPED), item.origins)

    def _kept(self) -> dict[int, list[_Item]]:
        """What became of each value that was read; an asset may have very many."""
        kept: dict[int, list[_Item]] = {index: [] for index in range(len(self.origins))}
        for item in self.items:
            for index in dict.fromkeys(item.origins):
                kept[index].append(item)
        return kept

    def _outcome(self, index: int, origin: _Origin, kept: Sequence[_Item]) -> ReadValue:
        reason = self.reasons.get(index, "")
        if index in self.parked:
            return ReadValue(origin.label, origin.index, PARKED, reason)
        texts = [_language(item.value, origin.locale) for item in kept]
        if all(text is None for text in texts):
            return ReadValue(
                origin.label, origin.index, DROPPED, reason or ("null" if self.emptied else self.rule.target)
            )
        same = len(kept) == 1 and (len(kept[0].origins) == 1 or bool(origin.locale))
        if same and _same(origin.value, texts[0], self.context.languages):
            return ReadValue(origin.label, origin.index, WRITTEN)
        return ReadValue(origin.label, origin.index, TRANSFORMED, reason)


def _language(value: Scalar, locale: str) -> Scalar | None:
    return value.texts.get(locale) if locale and isinstance(value, Localized) else value


def _same(before: Scalar, after: Scalar | None, languages: LanguagePreference) -> bool:
    """Whether a value arrived unchanged: equal, or the same text."""
    if after is None:
        return False
    if shape_of(before) is shape_of(after) and before == after:
        return True
    text = languages.text(before)
    return text is not None and text == languages.text(after)


def _names(found: PathValue) -> list[str]:
    return [label for label, _, _ in found.texts] or [found.label]
