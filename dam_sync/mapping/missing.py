"""What a mapping writes and the target does not have, for the person who makes it there first. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from dam_sync.mapping.crosswalk import Crosswalk
from dam_sync.mapping.document import MappingDocument
from dam_sync.mapping.paths import PathFault, parse_path
from dam_sync.mapping.vocabulary import Matching, TermIndex, VocabularyRule, path_text
from dam_sync.model.asset import Asset, AssetId, Revision, Rights
from dam_sync.model.schema import Field, Schema
from dam_sync.model.values import Term

CREATE = "create"  # what `unmatched` says of terms that are made at the target


@dataclass(frozen=True, slots=True)
class MissingField:
    """A field of the target that a line of the mapping writes and that does not exist. like: the field of the source
    that the line reads first; marker: it is to hold the marker."""

    key: str
    like: Field | None = None
    marker: bool = False

    @property
    def text(self) -> str:
        """What to make."""
        if self.marker:
            return f"{self.key} (text that can be searched, for the marker)"
        if self.like is None:
            return self.key
        marks = [self.like.kind.value.replace("_", " ")]
        marks += ["several values"] if self.like.multiple else []
        marks += ["in several languages"] if self.like.localized else []
        return f"{self.key} ({', '.join(marks)}, as {self.like.key} of the source)"


def missing_fields(document: MappingDocument, source: Schema, target: Schema) -> list[MissingField]:
    """In the order of the mapping file."""
    return [
        MissingField(key, next(_read(spec.from_, source), None), spec.is_marker)
        for key, spec in document.body.fields.items()
        if key not in target.fields
    ]


def _read(paths: Iterable[str], source: Schema) -> Iterator[Field]:
    """The fields of the source that these paths name."""
    for text in paths:
        try:
            path = parse_path(text, source)
        except PathFault:
            continue
        if path.root == "fields" and path.key in source.fields:
            yield source.fields[path.key]


def missing_groups(crosswalk: Crosswalk, source: Schema, target: Schema) -> frozenset[str]:
    """Groups that the mapping would write, as far as the mapping file and the groups that the source lists show, and
    that are not among those of the target; none if it does not list its groups."""
    rule, known = crosswalk.plan.groups, target.groups
    if rule is None or known is None:
        return frozenset()
    anything = replace(rule, fit=replace(rule.fit, choices=None))
    plan = replace(crosswalk.plan, groups=anything)
    wanted = [*rule.const, *rule.default]
    for name in source.groups or ():
        asset = Asset(AssetId(""), Revision(""), rights=Rights(groups=frozenset({name})))
        wanted += replace(crosswalk, plan=plan).groups_of(asset, {})
    return frozenset(map(str, wanted)) - known


@dataclass(slots=True)
class SeekingIndex(TermIndex):
    """Terms of the target that remember what was not found, by the `Matching` that looked for it."""

    missed: dict[int, dict[str, None]] = field(default_factory=dict)

    def find(self, term: Term, ways: Matching) -> Term | None:
        found = TermIndex.find(self, term, ways)
        if found is None:
            name = path_text(term) if len(term.path) > 1 else term.label
            self.missed.setdefault(id(ways), {})[name] = None
        return found


def rules_to_seek(crosswalk: Crosswalk) -> list[VocabularyRule]:
    """The rules whose terms have to exist at the target, because none is made there."""
    found = {id(rule): rule for rule in (*crosswalk.rules.values(), *crosswalk.vocabularies.values())}
    return [rule for rule in found.values() if rule.unmatched != CREATE and rule.target in crosswalk.vocabularies]


def fields_to_seek(crosswalk: Crosswalk, source: Schema) -> list[Field]:
    """The fields of the source with terms that lines of the mapping look up at the target."""
    rules = [rule for rule in crosswalk.plan.fields.values() if rule.looks_up_terms]
    read = dict.fromkeys(path.key for rule in rules for path in rule.paths if path.root == "fields")
    known = [source.fields[key] for key in read if key in source.fields]
    return [one for one in known if one.vocabulary in source.vocabularies]


def seek(crosswalk: Crosswalk, known: Field | None, term: Term | None, indexes: dict[str, TermIndex]) -> None:
    """Look up what the mapping makes of an asset with this term alone, or of one without any value."""
    values = {known.key: (term,) if known.multiple else term} if known is not None and term is not None else {}
    crosswalk.look_up(Asset(AssetId(""), Revision(""), fields=values), indexes)
