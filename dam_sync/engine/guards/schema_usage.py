"""The parts of two schemas that a mapping uses, as plain data, and where they became narrower. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from dam_sync.mapping.crosswalk import Crosswalk
from dam_sync.mapping.paths import LABEL, AssetPath
from dam_sync.model.schema import Field, Schema, Vocabulary
from dam_sync.model.values import Json

LISTS = {
    "locales": "languages",
    "statuses": "statuses",
    "groups": "groups",
    "labels": "labels",
    "types": "types",
    "containers": "containers",
}


def used_of(crosswalk: Crosswalk, source: Schema, target: Schema) -> Json:
    """By side: `fields` and `vocabularies` with what decides whether a value means the same and still fits; `lists`:
    the closed lists that lines refer to. A list the service does not close is absent."""
    paths = [path for rule in crosswalk.plan.rules() for path in rule.paths]
    rules = crosswalk.vocabularies.values()
    return {
        "source": {
            "fields": _fields(crosswalk.coverage.needed, source, _read),
            "vocabularies": _vocabularies({rule.source for rule in rules if rule.source}, source),
            "lists": _source_lists(crosswalk, paths, source),
        },
        "target": {
            "fields": _fields(crosswalk.writes, target, _written),
            "vocabularies": _vocabularies(crosswalk.vocabularies, target),
            "lists": _target_lists(crosswalk, target),
        },
    }


def changes_between(known: Mapping[str, Json], now: Mapping[str, Json], *, lists: bool = True) -> Iterator[str]:
    """Sentences about what is gone, changed its meaning, or accepts less. A field that only one of both uses is a
    mapping change; what became wider is not reported. lists: compare them too, because both are of the same mapping."""
    for side in ("source", "target"):
        before, after = known.get(side, {}), now[side]
        for kind, part, compare in KINDS:
            for key, facts in sorted(before.get(part, {}).items()):
                if key in after[part]:
                    yield from (f"{side} {kind} {key}{change}" for change in compare(facts, after[part][key]))
        if lists:
            yield from _list_changes(side, before.get("lists", {}), after["lists"])


def _read(field: Field) -> Json:
    return {"kind": field.kind.value, "localized": field.localized, "vocabulary": field.vocabulary}


def _written(field: Field) -> Json:
    return {
        **_read(field),
        "required": field.required,
        "max_length": field.max_length,
        "types": sorted(field.types),
    }


def _fields(keys: Collection[str], schema: Schema, tell: Callable[[Field], Json]) -> dict[str, Json]:
    return {key: tell(schema.fields[key]) for key in sorted(keys) if key in schema.fields}


def _vocabularies(keys: Collection[str], schema: Schema) -> dict[str, Json]:
    return {key: _vocabulary(schema.vocabularies[key]) for key in sorted(keys) if key in schema.vocabularies}


def _vocabulary(known: Vocabulary) -> Json:
    return {"closed": known.closed, "hierarchical": known.hierarchical, "max_length": known.max_length}


def _source_lists(crosswalk: Crosswalk, paths: Collection[AssetPath], source: Schema) -> dict[str, list[str]]:
    localized = [path for path in paths if path.localized]
    named = {path.locale for path in localized}
    spoken = [locale for locale in source.locales if "" in named or locale in named]
    containers = {path.key for path in paths if path.root == "placements"}
    kinds = source.container_kinds if "" in containers else source.container_kinds & containers
    lists = {"locales": spoken if localized else [], "containers": sorted(kinds)}
    if source.statuses is not None:
        lists["statuses"] = sorted(source.statuses & crosswalk.selection.statuses)
    return {key: rows for key, rows in lists.items() if rows}


def _target_lists(crosswalk: Crosswalk, target: Schema) -> dict[str, list[str]]:
    plan = crosswalk.plan
    kinds = {kind for _, kind in plan.placements}
    lists: dict[str, Collection[str]] = {"containers": target.container_kinds & kinds}
    if any(target.fields[key].localized for key in crosswalk.writes if key in target.fields):
        lists["locales"] = target.locales
    closed = (
        ("statuses", plan.status is not None, target.statuses),
        ("groups", plan.groups is not None, target.groups),
        ("labels", LABEL in kinds, target.labels),
    )
    lists |= {key: rows for key, used, rows in closed if used and rows is not None}
    if plan.profiles.rule is not None:
        lists["types"] = {name for names in plan.profiles.types.values() for name in names}
    return {key: sorted(rows) for key, rows in lists.items() if rows}


def _field_changes(before: Mapping[str, Json], after: Mapping[str, Json]) -> Iterator[str]:
    if before["kind"] != after["kind"]:
        yield f" is {after['kind']}, previously {before['kind']}"
    if before["vocabulary"] != after["vocabulary"]:
        now, was = after["vocabulary"] or "no vocabulary", before["vocabulary"] or "none"
        yield f" accepts terms of {now}, previously of {was}"
    if before["localized"] and not after["localized"]:
        yield " has one language, previously several"
    if after.get("required") and not before.get("required"):
        yield " became required"
    yield from _shorter(before, after)
    lost = sorted(set(before.get("types", ())) - set(after.get("types", ()))) if after.get("types") else []
    if lost:
        yield f" is gone from {', '.join(lost)}"


def _vocabulary_changes(before: Mapping[str, Json], after: Mapping[str, Json]) -> Iterator[str]:
    if after["closed"] and not before["closed"]:
        yield " no longer accepts new terms"
    if before["hierarchical"] and not after["hierarchical"]:
        yield " is flat, previously a tree"
    yield from _shorter(before, after)


def _list_changes(side: str, before: Mapping[str, Json], after: Mapping[str, Json]) -> Iterator[str]:
    for key, rows in sorted(before.items()):
        gone = sorted(set(rows) - set(after.get(key, ())))
        if gone:
            yield f"the {side} lost {LISTS[key]}: {', '.join(gone)}"


def _shorter(before: Mapping[str, Json], after: Mapping[str, Json]) -> Iterator[str]:
    most, was = after.get("max_length"), before.get("max_length")
    if most is not None and (was is None or most < was):
        yield f" accepts {most} characters, previously {was if was is not None else 'any number'}"


KINDS = (("field", "fields", _field_changes), ("vocabulary", "vocabularies", _vocabulary_changes))
