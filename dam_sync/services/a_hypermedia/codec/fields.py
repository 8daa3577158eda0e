"""The neutral schema built from the forms, thesauri, statuses and labels of one instance. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from dam_sync.model.schema import AssetType, Field, FieldKind, Schema, Vocabulary
from dam_sync.services.a_hypermedia import facts
from dam_sync.services.a_hypermedia.codec.forms import FormField, MediaForm, MediaForms

_ALWAYS = frozenset({"draft", "published", "archived"})  # spec 000, Media: part of the enumeration everywhere
_MARKER_TYPES = frozenset({"TEXT", "TEXT_AREA", "EMAIL", "URL", "NUMBER"})

# spec 000, Media: properties of the media itself, shown as fields
OWN_FIELDS = (
    Field("stat_views", FieldKind.NUMBER, "Views", editable=False, system=True),
    Field("stat_downloads", FieldKind.NUMBER, "Downloads", editable=False, system=True),
    Field("width", FieldKind.NUMBER, "Width, pixels", editable=False, derived=True),
    Field("height", FieldKind.NUMBER, "Height, pixels", editable=False, derived=True),
    Field("resolution", FieldKind.NUMBER, "Resolution, dpi", editable=False, derived=True),
    Field("orientation", FieldKind.TEXT, "Orientation", editable=False, derived=True),
    Field("color_space", FieldKind.TEXT, "Colour space", editable=False, derived=True),
    Field("page_count", FieldKind.NUMBER, "Pages", editable=False, derived=True),
    Field("duration", FieldKind.NUMBER, "Duration, seconds", editable=False, derived=True),
    Field("latitude", FieldKind.NUMBER, "Latitude, degrees", editable=False),
    Field("longitude", FieldKind.NUMBER, "Longitude, degrees", editable=False),
    Field("address", FieldKind.TEXT, "Address", editable=False),
    Field("point_of_interest", FieldKind.TEXT, "Point of interest, percent `x,y`", indexed=False),
    Field("annotation", FieldKind.TEXT, "Annotation", indexed=False),
)


@dataclass(frozen=True, slots=True)
class Offer:
    """What an instance has besides forms: titles of thesaurus roots by id, label titles, status names, content
    languages, and titles of link types that the operator named."""

    roots: Mapping[str, str] = field(default_factory=dict)
    labels: frozenset[str] = frozenset()
    statuses: frozenset[str] = frozenset()
    locales: tuple[str, ...] = ()
    link_types: frozenset[str] = frozenset()


def schema_of(forms: MediaForms, offer: Offer) -> Schema:
    """The neutral schema. Tags, release, expiry and groups cannot be stored (wire A 3.1)."""
    return Schema(
        fields=_fields(forms),
        vocabularies=_vocabularies(forms, offer),
        types=tuple(AssetType(form.name, form.name, _media(form)) for form in forms.by_id.values()),
        statuses=offer.statuses,
        groups=frozenset(),
        labels=offer.labels,
        locales=offer.locales,
        container_kinds=frozenset({"folder", "label"}),
        relation_kinds=offer.link_types,  # no call lists them (wire A 14)
    )


def _media(form: MediaForm) -> frozenset[str]:
    return frozenset({form.media}) if form.media else frozenset()


def _fields(forms: MediaForms) -> dict[str, Field]:
    fields: dict[str, Field] = {}
    for form in forms.by_id.values():
        for one in form.fields.values():
            fields[one.key] = _merged(fields.get(one.key), _field(one, form.name))
    for own in OWN_FIELDS:
        key = forms.own_key(own.key)
        fields[key] = replace(own, key=key)
    return fields


def _field(one: FormField, form: str) -> Field:
    return Field(
        key=one.key,
        kind=one.kind,
        label=one.title,
        multiple=one.multiple,
        localized=one.localized,
        required=one.mandatory,
        editable=one.editable,
        indexed=one.indexed and one.type in _MARKER_TYPES,
        max_length=one.max_length,
        vocabulary=one.vocabulary,
        types=frozenset({form}),
        coordinates=one.kind is FieldKind.PLACE,  # wire A 6.5: a postal address alone is refused
    )


def _merged(before: Field | None, more: Field) -> Field:
    """One field in several forms: required if any form requires it, the shortest length, editable if it is so in
    all."""
    if before is None:
        return more
    lengths = [length for length in (before.max_length, more.max_length) if length is not None]
    return replace(
        before,
        types=before.types | more.types,
        required=before.required or more.required,
        editable=before.editable and more.editable,
        indexed=before.indexed and more.indexed,
        max_length=min(lengths) if lengths else None,
    )


def _vocabularies(forms: MediaForms, offer: Offer) -> dict[str, Vocabulary]:
    """Thesauri grow, lookups are closed (wire A 5.1); a thesaurus that no field uses is named by its id."""
    found: dict[str, Vocabulary] = {}
    for key, (word, identity) in forms.sources.items():
        tree = word == "thesaurus"
        label = offer.roots.get(identity, "") or _label(forms, key)
        length = facts.TERM_LETTERS if tree else None
        found[key] = Vocabulary(key, label, not tree, tree, tree, max_length=length, synonyms=tree)
    used = {identity for word, identity in forms.sources.values() if word == "thesaurus"}
    for identity, title in offer.roots.items():
        if identity not in used:
            found[identity] = Vocabulary(identity, title, False, True, True, facts.TERM_LETTERS, synonyms=True)
    return found


def _label(forms: MediaForms, key: str) -> str:
    known = forms.by_key.get(key)
    return known.title if known else key


def status_names(statuses: Iterable[tuple[str, str]]) -> frozenset[str]:
    """Names that a draft may use as status: base statuses, listed or not, and the tenant's own, as (base, title)."""
    names = {name for base, title in statuses for name in (base, title if title.casefold() != base else base) if name}
    return frozenset(names | _ALWAYS) - {"trash"}
