"""What must be true of a mapping as a whole: the marker, required fields, unread fields, profiles and types."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dam_sync.mapping.doubts import about_doubted, doubted_lines
from dam_sync.mapping.rule_compiler import Builder
from dam_sync.mapping.yaml_writer import flow
from dam_sync.model.diagnostic import Similar
from dam_sync.model.safe_text import shown_name
from dam_sync.model.schema import Field, FieldKind, Schema
from dam_sync.model.wording import counted

MARKER_LETTERS = 64
MARKER_HINT = "choose a text field for one value that can be searched, or write `marker: none`"


@dataclass(frozen=True, slots=True)
class Makes:
    """The types of the target that this mapping can create, by profile; empty if the target chooses."""

    by_profile: dict[str, frozenset[str]]

    @property
    def types(self) -> frozenset[str]:
        """All types."""
        return frozenset(name for names in self.by_profile.values() for name in names)


def profiles_of(target: Schema) -> dict[str, frozenset[str]]:
    """Profiles by name with their types; the types themselves if the target has no profiles."""
    named = any(known.profile for known in target.types)
    found: dict[str, frozenset[str]] = {}
    for known in target.types:
        name = known.profile if named else known.name
        if name:
            found[name] = found.get(name, frozenset()) | {known.name}
    return found


def check_profile(builder: Builder) -> Makes:
    """The profiles that this mapping uses; without any, the target chooses."""
    spec, known = builder.document.body.profile, profiles_of(builder.target)
    if spec is None:
        if known and not any(kind.media for kind in builder.target.types):
            names = ", ".join(sorted(known))
            builder.notes.append(f"no profile is given: the target chooses between {names}")
        return Makes({})
    given = {("profile", "cases", case): name for case, name in spec.cases.items()}
    if spec.default:
        given["profile", "default"] = spec.default  # type: ignore[index]
    for place, name in given.items():
        if name not in known:
            builder.fault(place, f"the target has no profile {name}", Similar(name, known))
    return Makes({name: known[name] for name in given.values() if name in known})


def check_needs(builder: Builder) -> None:
    """Check that a rule always provides what the target needs for each asset, or that the operator chose to park assets
    without it."""
    body, target = builder.document.body, builder.target
    if "profile" in target.needs and body.profile is None:
        known = sorted(profiles_of(target))
        hint = (
            f"write profile: {{default: {known[0]}}}" if known else "check the permissions of the target's credential"
        )
        builder.fault(("profile",), f"the target needs a profile for each asset: {_some(known)}", hint)
    groups, line = target.groups or frozenset(), body.security.groups
    if "groups" not in target.needs or len(groups) == 1:
        return
    if line is not None and (line.const or line.default or line.required):
        return
    hint = (
        "add a `default` to the line, write `required: true` to park assets without one, or name the target's default"
    )
    place = ("security",) if line is None else ("security", "groups")
    builder.fault(place, f"the target needs a group for each asset: {_some(sorted(groups))}", hint)


def _some(names: list[str]) -> str:
    """The first of many names."""
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return (", ".join(names[:5]) or "none is visible") + more


def check_marker(builder: Builder, makes: Makes) -> str | None:
    """The field that holds the marker, if the mapping has a suitable one."""
    lines = [key for key, line in builder.document.body.fields.items() if line.marker]
    for key in lines[1:]:
        builder.fault(("fields", key, "marker"), f"{lines[0]} is already the marker", "keep one of the two")
    if not lines and body_marker(builder) != "none":
        builder.about_marker = (
            "no field is the marker: if the response to a create is lost, the asset is parked; declare a field "
            "by `{marker: true}`, or write `marker: none`"
        )
        builder.warnings.append(builder.about_marker)
    if not lines:
        return None
    if body_marker(builder) == "none":
        builder.fault(("marker",), f"`marker: none` contradicts {lines[0]}, which is the marker", "remove one")
    known = builder.target.fields.get(lines[0])
    for reason in unfit_for_marker(known, makes) if known else ():
        builder.fault(("fields", lines[0], "marker"), f"{lines[0]} cannot be the marker: {reason}", MARKER_HINT)
    return lines[0]


def body_marker(builder: Builder) -> str:
    """Whether the file says that there is no marker."""
    return builder.document.body.marker or ""


NO_LANGUAGES = "neither lists any, so that it matters only for texts that are marked with it"


def check_locales(builder: Builder) -> None:
    """Check that preferred languages exist at one of the services."""
    known = {*builder.source.locales, *builder.target.locales}
    for locale in builder.document.body.locales:
        if locale.lower() not in {one.lower() for one in known}:
            hint = builder.looked_up(Similar(locale, known)) if known else NO_LANGUAGES
            builder.warnings.append(
                f"locales: neither service has the language {locale}" + (f"; {hint}" if hint else "")
            )


def unfit_for_marker(known: Field, makes: Makes) -> Iterator[str]:
    """Why this field cannot hold the marker of everything that the mapping creates."""
    if known.kind not in (FieldKind.TEXT, FieldKind.LONG_TEXT):
        yield f"it is not a text field but {known.kind.value}"
    if known.multiple or known.localized:
        yield "it must hold one value in one language"
    if not known.indexed:
        yield "it cannot be searched, so an asset could not be found again by it"
    if known.max_length is not None and known.max_length < MARKER_LETTERS:
        yield f"it holds {counted(known.max_length, 'character')} and a marker may have {MARKER_LETTERS}"
    missing = sorted(makes.types - known.types) if known.types else []
    if missing:
        yield f"it is not in {', '.join(missing)}"


def writable(known: Field) -> bool:
    """Whether a field can be written."""
    return known.editable and not known.system and not known.derived


def check_written(builder: Builder, makes: Makes) -> None:
    """Check that every line writes an existing, writable field of a type that some asset gets."""
    target = builder.target
    for key, line in builder.document.body.fields.items():
        place, known = ("fields", key), target.fields.get(key)
        if known is None:
            builder.fault(place, "the target has no such field", Similar(key, target.fields))
        elif not writable(known):
            builder.fault(place, "the field is read-only at the target", "remove the line")
        elif known.types and makes.types and not known.types & makes.types and not line.marker:
            wrong = f"the field is only in {', '.join(sorted(known.types))}, which no profile of this mapping creates"
            builder.fault(place, wrong, "name such a profile under `profile`, or remove the line")


def check_required(builder: Builder, makes: Makes) -> None:
    """Check that every field required by the target has a line."""
    every = frozenset(known.name for known in builder.target.types)
    for key, known in builder.target.fields.items():
        if not known.required or key in builder.document.body.fields or not writable(known):
            continue
        concerned = known.types & makes.types if makes.types else known.types
        if not known.types or (concerned if makes.types else known.types >= every):
            where = f" in {', '.join(sorted(concerned))}" if concerned else ""
            builder.fault(("fields",), f"the target requires {key}{where} but no line writes it", "add a line")


def check_doubted(builder: Builder) -> None:
    """Report lines of a suggestion that are guesses, and that nobody has edited."""
    doubted = [*doubted_lines(builder.document.written)]
    if doubted:
        builder.warnings.append(about_doubted(doubted))


IGNORABLE = frozenset({"created_at"})  # what an asset has besides its fields and may be left out without a loss


def check_unread(builder: Builder) -> frozenset[str]:
    """Report fields of the source that no line reads or ignores."""
    body, source = builder.document.body, builder.source
    for index, key in enumerate(body.ignore):
        if key not in source.fields and key not in IGNORABLE:
            builder.fault(("ignore", index), f"the source has no field {key}", Similar(key, source.fields))
        elif key in builder.fields_read:
            builder.fault(("ignore", index), f"{key} is ignored here and read by a line", "remove it here")
    known = {key for key, field in source.fields.items() if not field.derived}
    unread = sorted(known - builder.fields_read - builder.fields_tested - set(body.ignore))
    if body.unmapped == "fail":
        if unread:
            number = f"{len(unread)} fields" if len(unread) > 1 else "a field"
            hint = f"write lines for what you need, and the rest as `ignore: {flow(sorted({*body.ignore, *unread}))}`"
            builder.fault(("unmapped",), f"no line reads {number} of the source", hint, rank=1)
    elif unread and body.unmapped == "report":
        fields = counted(len(unread), "field of the source is", "fields of the source are")
        builder.about_unread = f"{fields} read by no line: {', '.join(map(shown_name, unread))}"
        builder.notes.append(builder.about_unread)
    return frozenset(unread)


def check_held(builder: Builder) -> None:
    """Check that the target can store what the lines for status, tags and rights write."""
    body, holds = builder.document.body, builder.target.capabilities.parts
    blocks = (
        (("asset", "status"), body.asset.status, "status"),
        (("tags",), body.tags, "tags"),
        (("security", "groups"), body.security.groups, "groups"),
        (("security", "release"), body.security.release, "release"),
        (("security", "expiry"), body.security.expiry, "expiry"),
    )
    for place, line, feature in blocks:
        if line is not None and feature not in holds:
            builder.fault(place, f"the target cannot store {feature}", "remove the line; it becomes a named loss")
    _check_relations(builder)


def _check_relations(builder: Builder) -> None:
    """Check that the target has every named kind of relation."""
    kinds, target = builder.document.body.relations.kinds, builder.target
    if kinds and "relations" not in target.capabilities.parts:
        hint = "remove the block; relations become named losses"
        builder.fault(("relations",), "the target cannot store relations", hint)
        return
    known = target.relation_kinds
    for kind, theirs in kinds.items():
        if known is not None and theirs not in known:
            message = f"the target has no kind of relation {theirs}"
            builder.fault(("relations", "kinds", kind), message, Similar(theirs, known))
