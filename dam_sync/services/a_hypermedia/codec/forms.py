"""Forms, fields and vocabularies of one instance, as read (wire A 5.2). Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from dam_sync.http.interpreting import interprets_response, member_text
from dam_sync.model.schema import FieldKind
from dam_sync.model.values import Json

KINDS: Mapping[str, FieldKind] = {  # spec 000, Metadata: the 16 types
    "TEXT": FieldKind.TEXT,
    "TEXT_AREA": FieldKind.LONG_TEXT,
    "HTML": FieldKind.HTML,
    "HTML_AREA": FieldKind.HTML,
    "DATE": FieldKind.DATE,
    "DATETIME": FieldKind.INSTANT,
    "NUMBER": FieldKind.NUMBER,
    "EMAIL": FieldKind.EMAIL,
    "URL": FieldKind.URL,
    "CHECK_BOX": FieldKind.FLAG,
    "SIMPLE_LIST": FieldKind.TEXT,
    "MULTIPLE_LIST": FieldKind.TEXT,
    "PERSON_LIST": FieldKind.PERSON,
    "THESAURUS": FieldKind.TERM,
    "GEO": FieldKind.PLACE,
    "FIELD_SET": FieldKind.ROWS,
}
WRITABLE_OWN = frozenset({"point_of_interest", "annotation"})  # wire A 6.6
_MULTIPLE = frozenset({"MULTIPLE_LIST", "PERSON_LIST", "THESAURUS", "FIELD_SET"})
_LANGUAGE_TYPES = frozenset({"TEXT", "TEXT_AREA", "HTML", "HTML_AREA"})
_TEXTS = _LANGUAGE_TYPES | {"EMAIL", "URL", "SIMPLE_LIST", "MULTIPLE_LIST"}


@dataclass(frozen=True, slots=True)
class FormField:
    """One field of a form. name: internal name, the service's key in calls; key: ours, which differs from the name only
    if another form has a different field of the same name. source: thesaurus or lookup as (kind, id).
    """

    name: str
    type: str = "TEXT"
    key: str = ""
    title: str = ""
    mandatory: bool = False
    editable: bool = True
    indexed: bool = False
    force_selection: bool = False
    localized: bool = False
    guessed: bool = False  # that it is localized: not stated by any response (wire A 5.6)
    max_length: int | None = None
    source: tuple[str, str] | None = None
    vocabulary: str = ""
    choices: Mapping[str, str] = field(default_factory=dict)  # title -> id, for lists whose values are bare titles

    @property
    def multiple(self) -> bool:
        """Whether the type holds several values."""
        return self.type in _MULTIPLE

    @property
    def kind(self) -> FieldKind:
        """The neutral kind; a list is a vocabulary only if it is bound to a lookup."""
        return FieldKind.TERM if self.vocabulary else KINDS.get(self.type, FieldKind.TEXT)

    @property
    def nature(self) -> tuple[object, ...]:
        """What must agree for two fields of one name to be the same field."""
        return (self.type, self.source, self.localized)


@dataclass(frozen=True, slots=True)
class MediaForm:
    """A metadata form; `name` is its title, made unique."""

    id: str
    name: str
    media: str = ""
    fields: Mapping[str, FormField] = field(default_factory=dict)  # by internal name


@dataclass(frozen=True)
class MediaForms:
    """Every form, and where vocabularies come from: key -> (`thesaurus` or `lookup`, id)."""

    by_id: Mapping[str, MediaForm] = field(default_factory=dict)
    sources: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @cached_property
    def by_name(self) -> Mapping[str, MediaForm]:
        """Forms by their unique name."""
        return {form.name: form for form in self.by_id.values()}

    @cached_property
    def by_key(self) -> Mapping[str, FormField]:
        """Fields by our key; that of the first form if several share one."""
        found: dict[str, FormField] = {}
        for form in self.by_id.values():
            for item in form.fields.values():
                found.setdefault(item.key, item)
        return found

    def own_key(self, key: str) -> str:
        """The key of a property of the media itself; a tenant's field of that name comes first."""
        return f"media_{key}" if key in self.by_key else key


@interprets_response
def field_of(item: Json, sheet: Mapping[str, Json], prefix: str, several_languages: bool) -> FormField:
    """One field as read; missing parts are taken from the instance-wide sheet field of the same name."""
    name = str(item.get("internalName") or item.get("name") or item.get("id"))
    full = {**sheet.get(name, {}), **item}
    links = {**sheet.get(name, {}).get("_links", {}), **item.get("_links", {})}
    kind = str(full.get("type") or "TEXT")
    flag = full.get("localized")
    source = _source(links, prefix, kind, bool(full.get("forceSelection")))
    guess = several_languages and kind in _LANGUAGE_TYPES
    length = full.get("maxLength")
    return FormField(
        name=name,
        type=kind,
        title=(member_text(full, "title") or name),
        mandatory=bool(full.get("mandatory")),
        editable=full.get("editable") is not False,
        indexed=full.get("indexed") is not False,
        force_selection=bool(full.get("forceSelection")),
        localized=guess if flag is None else bool(flag) and source is None and kind in _TEXTS,
        guessed=flag is None and guess,
        max_length=int(length) if length else None,
        source=source,
    )


def _source(links: Mapping[str, Json], prefix: str, kind: str, forced: bool) -> tuple[str, str] | None:
    """A thesaurus, or a lookup the field is bound to; suggestions for a free list are not a vocabulary (wire A 5.2)."""
    for word in ("thesaurus", "lookup"):
        found = links.get(f"{prefix}:{word}")
        href = found.get("href", "") if isinstance(found, dict) else found
        if isinstance(href, str) and href and (kind != "MULTIPLE_LIST" or forced):
            return (word, href.rstrip("/").rpartition("/")[2])
    return None


@interprets_response
def forms_of(items: Sequence[tuple[Json, Sequence[FormField]]]) -> MediaForms:
    """Forms as read, in order of id, with unique names, field keys and vocabulary keys.

    A vocabulary is named after the first field that uses it, because that name never changes.
    """
    names: set[str] = set()
    natures: dict[str, tuple[object, ...]] = {}
    keys: dict[tuple[str, str], str] = {}
    by_id: dict[str, MediaForm] = {}
    for item, fields in sorted(items, key=lambda pair: _order(pair[0])):
        identity, title = str(item["id"]), (member_text(item, "title") or str(item["id"]))
        name = title if title not in names else f"{title}#{identity}"
        names.add(name)
        known: dict[str, FormField] = {}
        for one in fields:
            key = one.name if natures.setdefault(one.name, one.nature) == one.nature else f"{one.name}@{name}"
            vocabulary = keys.setdefault(one.source, key) if one.source else key if one.type == "THESAURUS" else ""
            known[one.name] = replace(one, key=key, vocabulary=vocabulary)
        by_id[identity] = MediaForm(identity, name, member_text(item, "type"), known)
    return MediaForms(by_id, {key: source for source, key in keys.items()})


def with_choices(forms: MediaForms, choices: Mapping[str, Mapping[str, str]]) -> MediaForms:
    """A copy with the values of lookups, lookup id -> title -> id, in the lists whose values are bare titles."""

    def filled(one: FormField) -> FormField:
        bare = one.type == "MULTIPLE_LIST" and one.source is not None
        return replace(one, choices=choices.get(one.source[1], {})) if bare and one.source else one

    return MediaForms(
        {
            identity: replace(form, fields={name: filled(one) for name, one in form.fields.items()})
            for identity, form in forms.by_id.items()
        },
        forms.sources,
    )


def bare_lists(forms: MediaForms) -> list[str]:
    """Lookup ids whose titles are needed to read values."""
    fields = [one for form in forms.by_id.values() for one in form.fields.values()]
    return sorted({one.source[1] for one in fields if one.type == "MULTIPLE_LIST" and one.source})


def _order(item: Json) -> tuple[int, str]:
    identity = str(item["id"])
    return (int(identity) if identity.isdigit() else 0, identity)
