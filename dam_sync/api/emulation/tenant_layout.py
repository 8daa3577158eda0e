"""A tenant without its assets: read from a service, written as records of a catalogue, compared with another one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace

from dam_sync.model.asset import Placement
from dam_sync.model.schema import AssetType, Field, FieldKind, Schema, Vocabulary
from dam_sync.model.service import Service
from dam_sync.model.values import Json, Term
from dam_sync.model.wording import counted
from dam_sync.services.folder.codec import term_record

Record = Mapping[str, Json]
CLOSED_LISTS = {"statuses": "status", "groups": "group", "relation_kinds": "relation_kind"}
"""Closed lists of a schema, and the records that declare their entries."""
LEVELS = 3  # of a tree of terms, for an emulator that has to know: no schema says how many the service has


@dataclass(frozen=True, slots=True)
class TenantLayout:
    """Schema, terms by vocabulary, and containers."""

    schema: Schema
    terms: Mapping[str, tuple[Term, ...]]
    containers: tuple[Placement, ...]


async def layout_of(service: Service) -> TenantLayout:
    """Read it from a probed connection. Raises what the service raises; safe to repeat."""
    schema = await service.schema()
    terms = {key: tuple([term async for term in service.terms(key)]) for key in _used(schema)}
    return TenantLayout(schema, terms, tuple([place async for place in service.containers()]))


def records_of(layout: TenantLayout, bare: Schema, prefix: str) -> Iterator[Record]:
    """What an emulated tenant needs to have this layout. bare: the schema it has without a catalogue; prefix: what it
    puts before the field keys of a catalogue."""
    own = _own_fields(layout.schema)
    wanted = {key: field for key, field in own.items() if not _is_built_in(field, bare.fields.get(key))}
    for kind in _types(layout.schema, bare, wanted):
        yield {"record": "type", "name": kind.name, "media": sorted(kind.media)}
        if kind.profile:
            yield _profile_record(kind)
    yield from map(_profile_record, layout.schema.closing_types)
    for key in dict.fromkeys(field.vocabulary for field in wanted.values()):
        if key in layout.schema.vocabularies:
            yield _vocabulary_record(layout.schema.vocabularies[key])
            yield from (term_record(key, term) for term in layout.terms[key])
    for field in wanted.values():
        known = layout.schema.vocabularies.get(field.vocabulary)
        levels = {"levels": LEVELS} if known is not None and known.hierarchical else {}
        yield {**_field_record(field), **levels, "key": field.key.removeprefix(prefix)}
    for name, record in CLOSED_LISTS.items():
        yield from ({"record": record, "name": entry} for entry in sorted(getattr(layout.schema, name) or ()))
    yield from ({"record": "container", "kind": each.kind, "path": list(each.path)} for each in layout.containers)


def compare_layouts(wanted: TenantLayout, found: TenantLayout) -> list[str]:
    """What the second one has in another way, a line for each part."""
    lines = [*_compare_fields(wanted.schema, found.schema), *_compare_terms(wanted, found)]
    for name in (*CLOSED_LISTS, "locales", "container_kinds", "needs"):
        ours, theirs = getattr(wanted.schema, name), getattr(found.schema, name)
        if ours != theirs:
            lines.append(f"{name}: {_listed(ours)} became {_listed(theirs)}")
    places = {(place.kind, place.path) for place in found.containers}
    lines += [
        f"{each.kind} {each.text} is missing" for each in wanted.containers if (each.kind, each.path) not in places
    ]
    return lines


def _compare_fields(wanted: Schema, found: Schema) -> Iterator[str]:
    for key, ours in _own_fields(wanted).items():
        theirs = found.fields.get(key)
        if theirs is None:
            yield f"field {key} is missing"
            continue
        for part in fields(Field):
            one, other = getattr(ours, part.name), getattr(theirs, part.name)
            if one != other and part.name != "label":
                yield f"field {key}: {part.name} {_listed(one)} became {_listed(other)}"


def _compare_terms(wanted: TenantLayout, found: TenantLayout) -> Iterator[str]:
    for key, terms in wanted.terms.items():
        there = {term.path or (term.label,) for term in found.terms.get(key, ())}
        missing = [term.label for term in terms if (term.path or (term.label,)) not in there]
        if missing:
            number = counted(len(missing), "term is", "terms are")
            yield f"vocabulary {key}: {number} missing, for example {missing[0]}"


def _own_fields(schema: Schema) -> dict[str, Field]:
    """Those that people write: not what the service maintains or derives from the file."""
    return {key: field for key, field in schema.fields.items() if not (field.system or field.derived)}


def _is_built_in(field: Field, bare: Field | None) -> bool:
    """Whether a tenant has it from the start; more types of asset may have it."""
    return bare is not None and field.types >= bare.types and replace(field, types=bare.types) == bare


def _used(schema: Schema) -> list[str]:
    """Vocabularies of fields that people write."""
    named = dict.fromkeys(field.vocabulary for field in _own_fields(schema).values())
    return [key for key in named if key in schema.vocabularies]


def _types(schema: Schema, bare: Schema, wanted: Mapping[str, Field]) -> list[AssetType]:
    """All if the tenant lacks one that a bare one has; else those that a bare one lacks, or that have such a field."""
    known = {kind.name for kind in bare.types}
    if known - {kind.name for kind in schema.types}:
        return list(schema.types)
    used = {name for field in wanted.values() for name in field.types}
    return [kind for kind in schema.types if kind.name not in known or kind.name in used]


def _profile_record(kind: AssetType) -> Record:
    shown = {} if kind.groups is None else {"groups": sorted(kind.groups), "immediate_release": kind.releases}
    return {"record": "profile", "name": kind.profile, "type": kind.name, **shown}


def _vocabulary_record(known: Vocabulary) -> Record:
    flags = {name: getattr(known, name) for name in ("closed", "hierarchical", "localized")}
    return {"record": "vocabulary", "key": known.key, "label": known.label, **flags}


def _field_record(known: Field) -> Record:
    flags = {name: getattr(known, name) for name in ("multiple", "localized", "required", "editable")}
    record = {"record": "field", "key": known.key, "kind": known.kind.value, "label": known.label, **flags}
    record |= {"types": sorted(known.types), "max_length": known.max_length, "vocabulary": known.vocabulary}
    cells = [
        {"key": cell, "kind": _cell_kind(known, cell).value, "types": sorted(known.types)}
        for cell in sorted(known.cells)
    ]
    return record | ({"fields": cells, "columns": cells} if cells else {})


def _cell_kind(known: Field, cell: str) -> FieldKind:
    """A cell with a vocabulary is a text: no record of a cell names one."""
    kind = known.cell_kinds.get(cell, FieldKind.TEXT)
    return FieldKind.TEXT if kind is FieldKind.TERM else kind


def _listed(value: object) -> str:
    return ", ".join(map(str, sorted(value))) or "none" if isinstance(value, frozenset) else str(value)
