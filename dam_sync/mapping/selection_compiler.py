"""Compiles `select` against the schema of the source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dam_sync.mapping.paths import AssetPath, PathFault, parse_path, spelt
from dam_sync.mapping.results import ValueType
from dam_sync.mapping.rule_compiler import Builder
from dam_sync.mapping.selection import Selection
from dam_sync.mapping.spec import Period
from dam_sync.mapping.vocabulary import normal, path_of
from dam_sync.model.diagnostic import Similar

DATED = frozenset({ValueType.DATE, ValueType.INSTANT})
UNNAMED = frozenset({ValueType.PLACE, ValueType.ROW})


def compile_selection(builder: Builder) -> Selection:
    """The conditions of `select`; what is wrong with them is in the builder's `diagnostics` afterwards."""
    select = builder.document.body.select
    _check_lists(builder)
    for index, text in enumerate(select.containers):
        if not path_of(text):
            builder.fault(("select", "containers", index), "is not a path; write /Press/2024")
    return Selection(
        ids=builder.document.ids,
        statuses=frozenset(select.status),
        types=frozenset(select.types),
        containers=tuple(path_of(text) for text in select.containers),
        dates=_dates(builder, select.dates),
        values=dict(_values(builder, select.fields)),
        where=builder.condition(("select", "where"), select.where) if select.where else None,
    )


def _check_lists(builder: Builder) -> None:
    select, source = builder.document.body.select, builder.source
    for index, status in enumerate(select.status):
        if source.statuses is not None and status not in source.statuses:
            place = ("select", "status", index)
            builder.fault(place, f"the source has no status {status}", Similar(status, source.statuses))
    known = {known.name for known in source.types} | {media for known in source.types for media in known.media}
    for kind in select.types:
        if known and kind not in known:  # a class of record need not be part of the schema
            hint = builder.looked_up(Similar(kind, known))
            builder.warnings.append(f"select.types: the source shows no type {kind}" + (f"; {hint}" if hint else ""))


def _dates(builder: Builder, periods: Mapping[str, Period]) -> dict[AssetPath, Period]:
    found: dict[AssetPath, Period] = {}
    for text, period in periods.items():
        place = ("select", "dates", text)
        path = _path(builder, place, text)
        if path is not None and path.shape not in DATED:
            builder.fault(place, f"{text} is a {path.shape.value}, not a date", "write created_at or fields.KEY")
        elif path is not None:
            found[path] = period
    return found


def _values(builder: Builder, wanted: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[AssetPath, frozenset[str]]]:
    for key, words in wanted.items():
        place = ("select", "fields", key)
        path = _path(builder, place, f"fields.{spelt(key)}", key)
        if path is not None and path.shape in UNNAMED:
            builder.fault(place, f"values of kind {path.shape.value} have no name", "use `where`")
        elif path is not None:
            yield path, frozenset(map(normal, words))


def _path(builder: Builder, place: tuple[str, ...], text: str, key: str = "") -> AssetPath | None:
    if key and key not in builder.source.fields:
        builder.fault(place, f"the source has no field {key}", Similar(key, builder.source.fields))
        return None
    try:
        path = parse_path(text, builder.source)
    except PathFault as fault:
        builder.fault(place, str(fault), fault.hint)
        return None
    builder.reads.add(text)
    if path.root == "fields":
        builder.fields_tested.add(path.key)
    return path
