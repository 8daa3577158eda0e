"""Compiles a line of the mapping to a rule: paths, pipe and constants checked against both schemas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from dam_sync.config.diagnostics import KeyPath, dotted
from dam_sync.config.spelling import Spelt, settled
from dam_sync.mapping.coercion import Fit
from dam_sync.mapping.document import MappingDocument
from dam_sync.mapping.expressions import Expression, ExpressionFault, compile_expression
from dam_sync.mapping.paths import AssetPath, PathFault, parse_path
from dam_sync.mapping.results import LanguagePreference, ValueType, shape_of
from dam_sync.mapping.rules import FieldRule
from dam_sync.mapping.spec import RuleSpec as WrittenLine
from dam_sync.mapping.transforms.base import OUTCOMES, Problem, Transform, TransformContext
from dam_sync.mapping.transforms.kinds import Language
from dam_sync.mapping.transforms.lists import Default, First, Unique
from dam_sync.mapping.transforms.text import Escape, StripHtml, Truncate
from dam_sync.mapping.transforms.values import MatchTerm
from dam_sync.mapping.vocabulary import VocabularyRule
from dam_sync.model.diagnostic import Diagnostic, Hint, Similar
from dam_sync.model.schema import FieldKind, Schema
from dam_sync.model.values import Scalar

PASSING = (Unique, First, Default)
MOST_COMPARED = 100_000  # words, to find similar ones for all faults of a file: a second


@dataclass(slots=True)
class Builder:
    """Builds the rules of one mapping; collects diagnostics, notes, and the vocabularies that rules write to.
    about_unread: the note on fields that no line reads; about_marker: the one on a marker that is missing."""

    document: MappingDocument
    source: Schema
    target: Schema
    languages: LanguagePreference
    rules: Mapping[str, VocabularyRule]
    diagnostics: list[Diagnostic] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    about_unread: str = ""
    about_marker: str = ""
    vocabularies: dict[str, VocabularyRule] = field(default_factory=dict)
    reads: set[str] = field(default_factory=set)
    fields_read: set[str] = field(default_factory=set)
    fields_tested: set[str] = field(default_factory=set)
    compared: int = 0  # words, to find similar ones
    added: set[Diagnostic] = field(default_factory=set)

    def fault(self, place: KeyPath, message: str, hint: Hint = "", rank: int = 0) -> None:
        """Add a diagnostic; repeated ones are reported once."""
        self._add(replace(self.document.written.diagnostic(place, message, self.looked_up(hint)), rank=rank))

    def looked_up(self, hint: Hint) -> str:
        """The text of a hint. Of a file with very many unknown words, only the first ones are compared with the known
        ones; the others get the hint that stands if nothing is similar."""
        if isinstance(hint, str):
            return hint
        if self.compared >= MOST_COMPARED:
            return hint.otherwise
        self.compared += len(hint.known)
        return str(hint)

    def _add(self, fault: Diagnostic) -> None:
        if fault not in self.added:
            self.added.add(fault)
            self.diagnostics.append(fault)

    @property
    def context(self) -> TransformContext:
        """The context of transforms while the target's terms are unknown."""
        return TransformContext(self.languages, self.document.lookups, self.rules)

    def build(self, place: KeyPath, spec: WrittenLine, fit: Fit) -> FieldRule:
        """One line; what is wrong with it is in `diagnostics` afterwards."""
        cel = self.expression((*place, "cel"), spec.cel, self.fields_read) if spec.cel else None
        paths = cel.paths if cel else tuple(self.paths(place, spec.from_))
        transforms = self.document.pipes.get(place, ())
        fit = self._with_rule(fit, transforms)
        for index, transform in enumerate(transforms):
            for message, hint in (*transform.problems(self.context), *self._astray(transform, fit)):
                self.fault((*place, "pipe", index), message, hint)
        for path in () if spec.cel else paths:
            self._check_pipe(place, path, transforms, fit)
        self._check_length(place, transforms, fit)
        self._warn_of_language(place, paths, transforms, fit, spec)
        return FieldRule(
            place=place,
            target=str(place[-1] if isinstance(place[-1], str) else place[0]),
            fit=fit,
            paths=paths,
            transforms=transforms,
            const=self._constants((*place, "const"), spec.const, fit),
            default=self._constants((*place, "default"), spec.default, fit),
            required=spec.required,
            on_error=OUTCOMES[spec.on_error],
            all_languages=bool(spec.cel) or _speaks_all(fit, paths, transforms),
            when=self.condition((*place, "when"), spec.when) if spec.when else None,
            cel=cel,
        )

    def condition(self, place: KeyPath, text: str) -> Expression | None:
        """A condition; fields that only conditions read are not carried."""
        return self.expression(place, text, self.fields_tested, condition=True)

    def expression(self, place: KeyPath, text: str, fields: set[str], *, condition: bool = False) -> Expression | None:
        """A compiled expression; the keys of the fields that it reads are added to `fields`."""
        try:
            made = compile_expression(text, self.source, condition=condition)
        except ExpressionFault as fault:
            hint = self.looked_up(fault.hint)
            self._add(self.document.written.diagnostic_within(place, fault.line, fault.column, str(fault), hint))
            return None
        self.reads.update(path.text for path in made.paths)
        fields.update(path.key for path in made.paths if path.root == "fields")
        return made

    def _astray(self, transform: Transform, fit: Fit) -> Iterator[Problem]:
        """A vocabulary rule whose terms do not belong to the field."""
        rule = self.rules.get(transform.rule) if isinstance(transform, MatchTerm) else None
        own = fit.field.vocabulary if fit.shape is ValueType.TERM else ""
        if rule is not None and own and rule.target != own and rule.target in self.target.vocabularies:
            message = f"writes terms of {rule.target} into a field of {own}"
            yield Problem(message, f"use a vocabulary whose target is {own}")

    def paths(self, place: KeyPath, texts: tuple[str, ...]) -> Iterator[AssetPath]:
        """The paths of a `from`."""
        for index, text in enumerate(texts):
            try:
                path = parse_path(text, self.source)
            except PathFault as fault:
                inner = (*place, "from", index) if len(texts) > 1 else (*place, "from")
                self.fault(inner, str(fault), fault.hint)
                continue
            self.reads.add(text)
            if path.root == "fields":
                self.fields_read.add(path.key)
            yield path

    def _check_pipe(self, place: KeyPath, path: AssetPath, transforms: tuple[Transform, ...], fit: Fit) -> None:
        shape, many = path.shape, path.many
        for index, transform in enumerate(transforms):
            misfit = transform.reject_reason(shape)
            if misfit:
                self.fault((*place, "pipe", index), f"{misfit} ({path.text})")
                return
            shape, many = transform.output_type(shape), transform.is_multi(many)
        misfit, hint = fit.reject_reason(shape)
        if misfit:
            self.fault(place, f"{misfit} ({path.text})", hint)
        if many and not fit.field.multiple:
            hint = "the pipe needs first or join"
            self.fault(place, f"{path.text} may return several values but the target accepts one", hint)
        self._note_html(place, path, transforms, fit)

    def _check_length(self, place: KeyPath, transforms: tuple[Transform, ...], fit: Fit) -> None:
        """Check that text is not cut to more than the field accepts."""
        cuts = [(transform.max, index) for index, transform in enumerate(transforms) if isinstance(transform, Truncate)]
        most = fit.field.max_length
        if cuts and most is not None and fit.shape is ValueType.TEXT and min(cuts)[0] > most:
            cut, index = min(cuts)
            hint = f"write {{truncate: {{max: {most}}}}}"
            self.fault((*place, "pipe", index), f"cuts to {cut} characters but the field accepts {most}", hint)

    def _warn_of_language(
        self,
        place: KeyPath,
        paths: tuple[AssetPath, ...],
        transforms: tuple[Transform, ...],
        fit: Fit,
        spec: WrittenLine,
    ) -> None:
        """Plain text for a localized field is assumed to be in the first language."""
        if not fit.field.localized or fit.shape is not ValueType.TEXT or _has(transforms, Language):
            return
        plain = ["the expression"] if spec.cel else [path.text for path in paths if not path.localized]
        plain += [] if spec.const is None and spec.default is None else ["the constant"]
        if plain:
            locale = next(iter(self.languages.locales), "") or next(iter(self.target.locales), "en")
            where = self.document.written.diagnostic(place, "").key
            self.warnings.append(
                f"{where}: the field has several languages but {', '.join(plain)} has none: {locale} is assumed; "
                f"write {{language: {locale}}} into its pipe"
            )

    def _note_html(self, place: KeyPath, path: AssetPath, transforms: tuple[Transform, ...], fit: Fit) -> None:
        known = self.source.fields.get(path.key) if path.root == "fields" else None
        from_html = known is not None and known.kind is FieldKind.HTML
        to_html = fit.field.kind is FieldKind.HTML
        where = dotted(place)
        if from_html and fit.shape is ValueType.TEXT and not to_html and not _has(transforms, StripHtml):
            self.notes.append(f"{where}: HTML is written to a plain field unchanged; use strip_html to get its text")
        if to_html and not from_html and path.shape is ValueType.TEXT and not _has(transforms, Escape):
            self.notes.append(
                f"{where}: text is written to an HTML field unchanged; use escape to keep its special characters"
            )

    def _with_rule(self, fit: Fit, transforms: tuple[Transform, ...]) -> Fit:
        """How the rule's values become terms of the target, and which vocabularies that needs."""
        for transform in transforms:
            if isinstance(transform, MatchTerm) and transform.rule in self.rules:
                rule = self.rules[transform.rule]
                self.vocabularies[rule.target] = rule
        if fit.shape is not ValueType.TERM or not fit.field.vocabulary:
            return fit
        key = fit.field.vocabulary
        known = self.target.vocabularies.get(key)
        implied = VocabularyRule(key, key, max_length=known.max_length if known else None)
        self.vocabularies.setdefault(key, implied)
        return replace(fit, rule=implied, matched=_has(transforms, MatchTerm))

    def _constants(self, place: KeyPath, given: tuple[Scalar, ...] | None, fit: Fit) -> tuple[Scalar, ...]:
        if given is None:
            return ()
        given = tuple(_meant(value, fit) for value in given)
        if len(given) > 1 and not fit.field.multiple:
            self.fault(place, "several values, but the target accepts one", "keep one of them")
        if fit.rule is not None:
            return given  # whether the target has the term is known once its terms are read
        for value in given:
            made = fit.each(value, self.context)
            if made.note is not None:
                self.fault(
                    place, f"{made.note.rule}: {made.note.detail}", _other_choice(value, fit) or _quoted(value, fit)
                )
        return given


def _meant(value: Scalar, fit: Fit) -> Scalar:
    """A constant as the field takes it: what stands in the file as text, unless a number, a flag or a date belongs
    there."""
    if not isinstance(value, Spelt):
        return value
    taken = settled(value)
    return taken if fit.shape is shape_of(taken) else str(value)


def _quoted(value: Scalar, fit: Fit) -> str:
    """A hint for a word that YAML takes for a flag or a date where a text belongs."""
    return "put it in quotes" if fit.shape is ValueType.TEXT and not isinstance(value, str) else ""


def _other_choice(value: Scalar, fit: Fit) -> Hint:
    """A hint for a value that is not in a closed list."""
    if fit.choices is None or value in fit.choices:
        return ""
    none = "" if fit.choices else "the target returns none: check the permissions of its credential"
    return Similar(str(value), fit.choices, none)


def _has(transforms: tuple[Transform, ...], kind: type[Transform]) -> bool:
    return any(isinstance(transform, kind) for transform in transforms)


def _speaks_all(fit: Fit, paths: tuple[AssetPath, ...], transforms: tuple[Transform, ...]) -> bool:
    """Whether every language of a text is kept: both sides are localized and no transform needs a single one."""
    pass_through = all(transform.each_language or isinstance(transform, PASSING) for transform in transforms)
    return (
        fit.field.localized and fit.shape is ValueType.TEXT and pass_through and any(path.localized for path in paths)
    )
