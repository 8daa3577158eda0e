"""What an adoption records of an original: an asset of the target from which another job made the asset of the source.

The copy differs from it by what its service gave it, cannot hold or keeps less exactly. None of that may be written
into the original: it keeps what it has, value by value, until the source changes the value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dam_sync.engine.compare.at_source import containers_not_made
from dam_sync.engine.compare.comparison import compare
from dam_sync.engine.compare.expected import NOTHING_EXPECTED, FileMatch, file_match
from dam_sync.engine.compare.facts import Members, scope_of
from dam_sync.engine.compare.file_keys import version_key
from dam_sync.engine.compare.files import file_facts
from dam_sync.engine.compare.parts import STATUS, PartKind, part_of
from dam_sync.engine.context.libraries import Target
from dam_sync.engine.decide.part_patches import patch_of
from dam_sync.engine.decide.three_way import kept_values
from dam_sync.engine.read.compared import with_everybody, with_names
from dam_sync.engine.read.facts import differing, facts_of
from dam_sync.engine.run.dry_run import INVENTED
from dam_sync.mapping.crosswalk import Crosswalk, Drafted
from dam_sync.model.asset import Asset, Draft, Placement
from dam_sync.model.capabilities import Operation
from dam_sync.model.codec import draft_from_json, placements_to_json
from dam_sync.model.conflict import DATES, FIELDS, FILE, PLACEMENTS, RIGHTS
from dam_sync.model.link import LinkRow
from dam_sync.model.values import Json, Row, Scalar, Term, Value, instant_text, value_from_json

NOWHERE: frozenset[Placement] = frozenset()


def kept_of_original(target: Target, crosswalk: Crosswalk, draft: Draft, seen: Draft, actual: Asset) -> dict[str, Json]:
    """What the original has instead of values of the draft, by path (see `LinkRow.kept`). seen: the draft with what
    more people see (`as_seen`): the next run hides or limits that, so it is not kept."""
    schema, open_to = target.schema, with_everybody(target, actual, draft)
    found = differing(target, crosswalk, draft, open_to)
    there, kept = with_names(actual, schema, draft.tags), dict[str, Json]()
    for path in dict.fromkeys(one.path for one in found):
        part = part_of(path)
        if part is None or part.shows:
            if path in (STATUS, *RIGHTS) and not draft.closed and _decides(seen, path) == _decides(draft, path):
                kept[path] = _seen(actual, path)
        elif part.kind is PartKind.CONTAINERS:
            kept.update(_places(target, crosswalk, draft, there))
        else:
            kept[path] = patch_of(part).held(there, path)
    return kept


def _places(target: Target, crosswalk: Crosswalk, draft: Draft, there: Asset) -> Iterator[tuple[str, Json]]:
    """By kind, where the containers differ. Of a target whose assets do not carry all memberships, the original counts
    as in each container of the draft that exists."""
    if Operation.MEMBERS in target.service.capabilities:
        made = frozenset(place for place in draft.placements if not place.id.startswith(INVENTED))
        there = replace(there, placements=there.placements | made)
    facts, scope = facts_of(target, members=Members.ALL), scope_of(crosswalk)
    for path, part in compare(NOTHING_EXPECTED, there, facts, scope, draft).parts.items():
        if path.startswith(PLACEMENTS) and not part.same:
            held = (place for place in there.placements if place.kind == path.removeprefix(PLACEMENTS))
            yield path, placements_to_json(held)


def _decides(draft: Draft, path: str) -> object:
    return draft.status if path == STATUS else getattr(draft.rights, DATES.get(path, path))


def _seen(actual: Asset, path: str) -> Json:
    if path == STATUS:
        return actual.substatus or actual.status
    if path == "groups":
        return sorted(actual.rights.groups)
    date = getattr(actual.rights, DATES[path])
    return None if date is None else instant_text(date)


def kept_file(asset: Asset, actual: Asset, link: LinkRow) -> dict[str, Json]:
    """The file of the original, if it is another than that of the copy."""
    ours, theirs = asset.file, actual.file
    if ours is None or theirs is None or link.versions[-1:] != (version_key(ours),):
        return {}
    return {FILE: file_facts(theirs)} if file_match(theirs, [ours]) is FileMatch.OTHER else {}


def unmade(draft: Draft) -> Draft:
    """The draft, with terms and containers that exist in the dry run only as ones without an id: nothing was made."""
    return replace(
        draft,
        fields={key: _unmade(value) for key, value in draft.fields.items()},
        placements=frozenset(replace(place, id=_made_id(place.id)) for place in draft.placements),
    )


def _unmade(value: Value) -> Value:
    return tuple(map(_unmade_scalar, value)) if isinstance(value, tuple) else _unmade_scalar(value)


def _unmade_scalar(value: Scalar) -> Scalar:
    if isinstance(value, Row):
        return replace(value, cells={key: _unmade(cell) for key, cell in value.cells.items()})
    return replace(value, id=_made_id(value.id)) if isinstance(value, Term) else value


def _made_id(identity: str) -> str:
    return "" if identity.startswith(INVENTED) else identity


def as_adopted(target: Target, drafted: Drafted, link: LinkRow | None) -> tuple[Drafted, frozenset[Placement]]:
    """The draft without what an adoption recorded although the target lacks it, and these containers: terms of values
    that the original keeps, and containers, are not created for it as long as the source has them."""
    if link is None or not link.kept:
        return drafted, NOWHERE
    before = target.counterparts.present(link.draft, target.schema)
    held = containers_not_made(draft_from_json(before), drafted.draft)
    unmade_fields = {key for key, _ in drafted.unmade} & {path.removeprefix(FIELDS) for path in link.kept}
    if not (held or unmade_fields):
        return drafted, NOWHERE
    stays = kept_values(replace(link, draft=before), drafted.draft, None)
    kept = {key for key in unmade_fields if f"{FIELDS}{key}" in stays and key in before["fields"]}
    fields = {**drafted.draft.fields, **{key: value_from_json(before["fields"][key]) for key in kept}}
    left = {place: name for place, name in drafted.unmade.items() if place[0] not in kept}
    dropped = {name for place, name in drafted.unmade.items() if place[0] in kept} - set(left.values())
    terms = tuple((key, term) for key, term in drafted.new_terms if (key, term.path) not in dropped)
    draft = replace(drafted.draft, fields=fields, placements=drafted.draft.placements - held)
    return replace(drafted, draft=draft, unmade=left, new_terms=terms), held
