"""Compiles `vocabularies` against both schemas."""

from __future__ import annotations

from collections.abc import Iterator

from dam_sync.mapping.rule_compiler import Builder
from dam_sync.mapping.spec import VocabularyMap
from dam_sync.mapping.tables import folded
from dam_sync.mapping.vocabulary import Matching, VocabularyRule
from dam_sync.model.diagnostic import Similar
from dam_sync.model.schema import Vocabulary


def vocabulary_rules(builder: Builder) -> Iterator[tuple[str, VocabularyRule]]:
    """The rules by name; what is wrong with them is in the builder's `diagnostics` afterwards."""
    for place in builder.document.unreadable:
        if len(place) > 1 and place[0] == "vocabularies":
            yield str(place[1]), VocabularyRule(str(place[1]), "")  # reported by itself, not by each line that uses it
    for name, spec in builder.document.body.vocabularies.items():
        _check_source(builder, name, spec)
        yield name, _rule(builder, name, spec)


def _check_source(builder: Builder, name: str, spec: VocabularyMap) -> None:
    known = builder.source.vocabularies
    if spec.source and spec.source not in known:
        message = f"the source has no vocabulary {spec.source}"
        builder.fault(("vocabularies", name, "source"), message, Similar(spec.source, known))


def _rule(builder: Builder, name: str, spec: VocabularyMap) -> VocabularyRule:
    source, target = builder.source.vocabularies, builder.target.vocabularies
    known = target.get(spec.target)
    if known is None:
        message = f"the target has no vocabulary {spec.target}"
        builder.fault(("vocabularies", name, "target"), message, Similar(spec.target, target))
        return VocabularyRule(name, spec.target)
    _check_use(builder, name, spec, known)
    trees = [source[spec.source]] if spec.source in source else list(source.values())
    from_tree = any(tree.hierarchical for tree in trees)
    _check_depth(builder, name, spec, known, from_tree=from_tree)
    if spec.source in source:
        builder.notes.extend(f"vocabularies.{name}: {text}" for text in _not_carried(source[spec.source], known))
    return VocabularyRule(
        name=name,
        target=spec.target,
        source=spec.source,
        ways=Matching(
            order=spec.order,
            pins={folded(left): right for left, right in builder.document.pins.get(name, {}).items()},
            synonyms=builder.document.synonyms.get(name, {}),
            by_path=from_tree and known.hierarchical,
            fuzzy=spec.fuzzy,
            locales=tuple(dict.fromkeys((*builder.languages.locales, *builder.source.locales))),
        ),
        unmatched=spec.unmatched,
        whole=known.hierarchical or known.localized,
        max_length=known.max_length,
        least_depth=known.least_depth,
    )


def _check_use(builder: Builder, name: str, spec: VocabularyMap, known: Vocabulary) -> None:
    place = ("vocabularies", name)
    if known.closed and spec.unmatched == "create":
        message = f"the target's {spec.target} accepts no new terms"
        builder.fault((*place, "unmatched"), message, "use suggest, park, drop or keep")
    for key, way, given in (("pins", "pin", spec.pins), ("synonyms", "synonym", spec.synonyms)):
        if given and way not in spec.match:
            message = f"{key} are given, but `match` does not contain {way}"
            builder.fault((*place, "match"), message, f"write [{way}, exact]")


def _check_depth(builder: Builder, name: str, spec: VocabularyMap, known: Vocabulary, *, from_tree: bool) -> None:
    """Warn where no term of the source can be created at the level that fields of the target need."""
    if known.least_depth > 1 and not from_tree and not spec.pins:
        builder.warnings.append(
            f"vocabularies.{name}: terms of {spec.target} are values only from level {known.least_depth} down, and "
            "those of the source have no parents: `map sheet JOB` takes a pin for each of them, or write another field"
        )


def _not_carried(source: Vocabulary, target: Vocabulary) -> Iterator[str]:
    """What terms have at the source but cannot have at the target."""
    if source.hierarchical and not target.hierarchical:
        yield "the target's list is flat; the paths of terms are not carried"
    if source.localized and not target.localized:
        yield "the target's list has one language; other languages of terms are not carried"
    if source.synonyms and not target.synonyms:
        yield "the target's list has no synonyms; synonyms of terms are not carried"
