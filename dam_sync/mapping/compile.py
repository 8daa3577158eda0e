"""Compiles a mapping against both schemas: every diagnostic at once, or a Crosswalk."""

from __future__ import annotations

import hashlib
import re
import string
from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar, NamedTuple

from dam_sync.config.diagnostics import KeyPath
from dam_sync.mapping.checks import (
    Makes,
    check_doubted,
    check_held,
    check_locales,
    check_marker,
    check_needs,
    check_profile,
    check_required,
    check_unread,
    check_written,
)
from dam_sync.mapping.coercion import Fit, GroupFit, NameFit, text_field
from dam_sync.mapping.containers import ContainerFit
from dam_sync.mapping.coverage import Coverage
from dam_sync.mapping.crosswalk import Crosswalk, Plan, Profiles
from dam_sync.mapping.document import MappingDocument, MappingReading, placement_places
from dam_sync.mapping.paths import LABEL, as_container
from dam_sync.mapping.results import LanguagePreference, Result
from dam_sync.mapping.rule_compiler import Builder
from dam_sync.mapping.rules import FieldRule
from dam_sync.mapping.selection_compiler import compile_selection
from dam_sync.mapping.spec import PlacementLine
from dam_sync.mapping.spec import RuleSpec as WrittenLine
from dam_sync.mapping.transforms.base import EachTransform, TransformContext
from dam_sync.mapping.vocabulary import DEEPEST
from dam_sync.mapping.vocabulary_compiler import vocabulary_rules
from dam_sync.model.asset import AssetId, digest_of
from dam_sync.model.capabilities import Feature
from dam_sync.model.diagnostic import Diagnostic, Similar
from dam_sync.model.errors import MappingError
from dam_sync.model.schema import FieldKind, Schema
from dam_sync.model.values import Json, Scalar, Value

LONGEST_MARKER = 64
ESCAPED = re.compile("_([0-9a-f]{2})")
MARK = re.compile("([sh])([0-9a-f]{8})-([a-z0-9_-]+)")
DIGEST = re.compile("[0-9a-f]{48}")
PLAIN = frozenset(string.ascii_lowercase + string.digits + "-")


SEVERAL = 3  # diagnostics that are no slip of a key any more


def compile_reading(reading: MappingReading, source: Schema, target: Schema) -> tuple[MappingDocument, Crosswalk]:
    """Compile a mapping that was already read."""
    if reading.document is None:
        raise MappingError.of(reading.diagnostics)
    try:
        if reading.diagnostics:
            raise MappingError.of([*reading.diagnostics, *_diagnostics_of_rest(reading.document, source, target)])
        return reading.document, compile_mapping(reading.document, source, target)
    except MappingError as error:
        if not _is_swapped(reading.document, source, target, len(error.diagnostics)):
            raise
        message = "the mapping fits the other direction: are source and target of the job file swapped?"
        first = replace(reading.document.written.diagnostic((), message), rank=-1)
        raise MappingError.of([first, *error.diagnostics]) from None


def _is_swapped(document: MappingDocument, source: Schema, target: Schema, diagnostics: int) -> bool:
    """Whether nearly all of so many diagnostics would not be there if the services changed places."""
    return diagnostics >= SEVERAL and SEVERAL * len(_diagnostics_of_rest(document, target, source)) < diagnostics


def _diagnostics_of_rest(document: MappingDocument, source: Schema, target: Schema) -> list[Diagnostic]:
    """Diagnostics of the rest of a file without its unreadable entries; nothing is reported as missing."""
    builder = _builder(document, source, target)
    makes = check_profile(builder)
    _plan(builder, makes)
    check_written(builder, makes)
    check_held(builder)
    check_locales(builder)
    compile_selection(builder)
    return builder.diagnostics


def _builder(document: MappingDocument, source: Schema, target: Schema) -> Builder:
    builder = Builder(document, source, target, _tongue(document, target), {})
    builder.rules = dict(vocabulary_rules(builder))
    return builder


def compile_mapping(document: MappingDocument, source: Schema, target: Schema) -> Crosswalk:
    """Compile a mapping. Raises MappingError with every diagnostic."""
    builder = _builder(document, source, target)
    languages = builder.languages
    makes = check_profile(builder)
    plan = _plan(builder, makes)
    check_written(builder, makes)
    check_held(builder)
    check_required(builder, makes)
    check_needs(builder)
    check_locales(builder)
    marker = check_marker(builder, makes)
    selection = compile_selection(builder)
    unread = check_unread(builder)
    check_doubted(builder)
    if builder.diagnostics:
        raise MappingError.of(builder.diagnostics)
    if not target.capabilities.writes(Feature.SAME_NAMES):
        builder.notes.append("the target knows files by their names: the marker is added to names that are taken")
    return Crosswalk(
        reads=frozenset(builder.reads),
        writes=frozenset(document.body.fields),
        digest=_digest(document),
        marker=marker,
        unread=unread,
        about_unread=builder.about_unread,
        about_marker=builder.about_marker,
        warnings=tuple(dict.fromkeys(builder.warnings)),
        notes=tuple(dict.fromkeys([*builder.warnings, *builder.notes])),
        marked=marker is not None or document.body.marker == "none",
        vocabularies=dict(builder.vocabularies),
        plan=plan,
        coverage=_coverage(builder, source, target, plan),
        selection=selection,
        languages=languages,
        lookups=document.lookups,
        rules=builder.rules,
        target_fields=target.fields,
    )


def _coverage(builder: Builder, source: Schema, target: Schema, plan: Plan) -> Coverage:
    body = builder.document.body
    return Coverage(
        frozenset(builder.fields_read),
        frozenset(builder.fields_tested - builder.fields_read),
        frozenset(body.ignore),
        frozenset(key for key, known in source.fields.items() if known.derived),
        body.unmapped == "ignore",
        _held(target),
        target.relation_kinds,
        plan.relations,
    )


def marker_value(tenant: str, asset: AssetId) -> str:
    """The marker value for one asset of one source: at most 64 letters, digits, `-` and `_`; the same every time, and
    another for every other asset even if a search ignores case."""
    return _marker(origin_of(tenant), asset)


def _marker(origin: str, asset: AssetId) -> str:
    if len(asset) <= LONGEST_MARKER:  # it does not become shorter
        escaped = "".join(
            letter if letter in PLAIN else "".join(f"_{byte:02x}" for byte in letter.encode("utf-8", "surrogatepass"))
            for letter in asset
        )
        value = f"s{origin}-{escaped}"
        if len(value) <= LONGEST_MARKER:
            return value
    return f"h{origin}-{hashlib.sha256(asset.encode('utf-8', 'surrogatepass')).hexdigest()[:48]}"


def is_mark_of(tenant: str, value: Value | None) -> bool:
    """Whether a value is a marker for some asset of this source."""
    return isinstance(value, str) and value[:1] in ("s", "h") and value[1:].startswith(f"{origin_of(tenant)}-")


class Mark(NamedTuple):
    """What a marker says. origin: a digest of the name of its source; asset: of that source, None if its id is so long
    that the marker has only a digest of it."""

    origin: str
    asset: AssetId | None


def mark_in(value: Value | None) -> Mark | None:
    """What a value says if it is a marker, of whichever source."""
    found = MARK.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return None
    if found[1] == "h":
        return Mark(found[2], None) if DIGEST.fullmatch(found[3]) else None
    parts = ESCAPED.split(found[3])
    try:
        plain = "".join(bytes.fromhex(part).decode("latin-1") if at % 2 else part for at, part in enumerate(parts))
        asset = AssetId(plain.encode("latin-1").decode("utf-8", "surrogatepass"))
    except UnicodeError:
        return None
    return Mark(found[2], asset) if asset and _marker(found[2], asset) == value else None


def origin_of(tenant: str) -> str:
    """By what the markers for assets of a source are known."""
    return hashlib.sha256(tenant.encode("utf-8", "surrogatepass")).hexdigest()[:8]


class Cases(EachTransform):
    """The transform inside a profile line: a value's case, or the default."""

    name: ClassVar[str] = "cases"
    summary: ClassVar[str] = "the profile for a value"
    example: ClassVar[str] = "{cases: {PICTURE: images}}"
    table: dict[str, str]
    otherwise: str = ""

    def each(self, value: Scalar, context: TransformContext) -> Result:
        text = self.text_of(value, context)
        if isinstance(text, Result):
            return text
        found = self.table.get(text, self.otherwise)
        return Result((found,)) if found else self.fail(f"there is no case for {text}")


def _held(target: Schema) -> frozenset[str]:
    """What the target can store at all, to distinguish what it lacks from what no rule carries."""
    return target.capabilities.parts | ({"placements", "labels"} if target.container_kinds else frozenset())


def _tongue(document: MappingDocument, target: Schema) -> LanguagePreference:
    """The preferred languages: those of the mapping file, otherwise those of the target."""
    return LanguagePreference(tuple(locale.lower() for locale in document.body.locales or target.locales))


def _digest(document: MappingDocument) -> str:
    """A digest of everything that affects what is written: not of tests, comments and layout."""
    body: Json = document.body.model_dump(
        mode="json", by_alias=True, exclude_defaults=True, exclude={"tests", "include"}
    )
    tables = {name: dict(table.rows) for name, table in document.lookups.items()}
    pins = {name: dict(table) for name, table in document.pins.items()}
    synonyms = {name: dict(words) for name, words in document.synonyms.items()}
    return digest_of(
        [
            body,
            tables,
            pins,
            *([synonyms] if synonyms else []),
            *([sorted(document.ids)] if document.ids is not None else []),
        ]
    )


def _plan(builder: Builder, makes: Makes) -> Plan:
    body, target = builder.document.body, builder.target

    def single(place: KeyPath, spec: WrittenLine | None, fit: Fit) -> FieldRule | None:
        return builder.build(place, spec, fit) if spec is not None else None

    moment, own_name = FieldKind.INSTANT, NameFit(text_field("filename"), naming=target.naming)
    return Plan(
        fields=dict(_field_lines(builder)),
        filename=single(("asset", "filename"), body.asset.filename, own_name),
        status=single(("asset", "status"), body.asset.status, Fit(text_field("status"), target.statuses)),
        tags=single(("tags",), body.tags, Fit(text_field("tags", multiple=True), folds=target.folds_tags)),
        placements=tuple(_placement_lines(builder)),
        container_most=target.container_most,
        groups=single(
            ("security", "groups"), body.security.groups, GroupFit(text_field("groups", multiple=True), target.groups)
        ),
        release=single(("security", "release"), body.security.release, Fit(text_field("release", kind=moment))),
        expiry=single(("security", "expiry"), body.security.expiry, Fit(text_field("expiry", kind=moment))),
        rights_by_day=not target.capabilities.writes(Feature.TIME_OF_DAY),
        held_by=target.held_by,
        profiles=Profiles(_profile_line(builder), makes.by_profile),
        own_name=own_name,
        relations=body.relations.kinds,
    )


def _field_lines(builder: Builder) -> Iterator[tuple[str, FieldRule]]:
    trims = not builder.target.capabilities.writes(Feature.OUTER_WHITESPACE)
    for key, spec in builder.document.body.fields.items():
        known = builder.target.fields.get(key)
        if known is None:
            tuple(builder.paths(("fields", key), spec.from_))  # what it reads counts as read
        elif not spec.marker:
            yield (
                key,
                builder.build(("fields", key), spec, Fit(known, locales=builder.target.locales, trims=trims)),
            )


def _placement_lines(builder: Builder) -> Iterator[tuple[FieldRule, str]]:
    places = placement_places(builder.document.written.data)
    for place, spec in zip(places, builder.document.body.placements, strict=True):
        kind = _container_kind(builder, place, spec)
        line = builder.build(place, spec, _container_fit(builder, kind, _kinds_read(spec)))
        yield replace(line, paths=tuple(map(as_container, line.paths))), kind


def _container_fit(builder: Builder, kind: str, read: frozenset[str]) -> ContainerFit:
    """For containers of a kind, made of those of other kinds or of anything else."""
    source, target = builder.source, builder.target
    depth = target.container_depth.get(kind)
    most = DEEPEST if depth is None else depth
    return ContainerFit(
        text_field("placements", multiple=True),
        target.labels if kind == LABEL else None,
        kind=kind,
        depth=depth,
        naming=target.naming,
        deeper=not read or any(source.container_depth.get(one, DEEPEST + 1) > most for one in read),
        named=kind == LABEL and not read,
    )


def _kinds_read(spec: PlacementLine) -> frozenset[str]:
    """The kinds of containers of the source that a line reads; empty for those of any kind."""
    read = (text.partition("[]")[0] for text in spec.from_)
    return frozenset(
        LABEL if one == "labels" else one.removeprefix("placements").removeprefix(".")
        for one in read
        if one == "labels" or one == "placements" or one.startswith("placements.")
    )


def _container_kind(builder: Builder, place: KeyPath, spec: PlacementLine) -> str:
    known = builder.target.container_kinds
    if spec.as_:
        if spec.as_ not in known:
            builder.fault((*place, "as"), f"the target has no containers of kind {spec.as_}", Similar(spec.as_, known))
        return spec.as_
    read = {text.removeprefix("placements.").partition("[]")[0] for text in spec.from_}
    candidates = known & read if known & read else known - {LABEL}
    if len(candidates) == 1:
        return next(iter(candidates))
    hint = f"write as: {' or '.join(sorted(known))}" if known else "remove the line; it becomes a named loss"
    builder.fault(place, "the kind of container is ambiguous", hint)
    return ""


def _profile_line(builder: Builder) -> FieldRule | None:
    spec = builder.document.body.profile
    if spec is None:
        return None
    paths = tuple(builder.paths(("profile",), (spec.from_,) if spec.from_ else ()))
    transforms = (Cases(table=dict(spec.cases), otherwise=spec.default),) if spec.from_ else ()
    default = (spec.default,) if spec.default else ()
    fit = Fit(text_field("profile"))
    return FieldRule(("profile",), "profile", fit, paths, transforms, default=default, required=True)
