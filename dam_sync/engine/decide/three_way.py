"""The three-way comparison of an asset: what was last written, what the source wants now, what the target has. Pure.

A value is in conflict if an update is about to change it, and the target has neither a value that we wrote nor the one
that is about to be written. Tags, containers and groups are sets: what either side added is added, what either side
removed is removed, so that they conflict only where one value excludes another (the only folder of an asset), or where
the result would be an asset without groups, which everybody could see.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from dam_sync.engine.compare.atoms import value_of
from dam_sync.engine.compare.comparison import Comparison, compare
from dam_sync.engine.compare.expected import UNKNOWN_FILES, Expected, ExpectedFiles
from dam_sync.engine.compare.facts import Members, Scope, TargetFacts
from dam_sync.engine.compare.file_keys import VERSIONS, version_key
from dam_sync.engine.compare.files import file_facts
from dam_sync.engine.compare.parts import GROUPS, RESTRICTIONS, STATUS, VALUES
from dam_sync.engine.decide.patches import without
from dam_sync.engine.decide.update import fixed_among
from dam_sync.model.asset import Asset, Draft, FileRef, Patch, Placement, Rights, digest_of
from dam_sync.model.canonical import canonical
from dam_sync.model.codec import (
    draft_from_json,
    draft_to_json,
    placements_from_json,
    placements_to_json,
    rights_from_json,
)
from dam_sync.model.conflict import DATES, FIELDS, FILE, PLACEMENTS, RIGHTS
from dam_sync.model.link import LinkRow
from dam_sync.model.schema import Schema
from dam_sync.model.values import (
    Json,
    Value,
    instant_text,
    value_from_json,
    value_to_json,
)


@dataclass(frozen=True, slots=True)
class ValueConflict:
    """One value that changed at both services. written, source, target: in the form of a draft as JSON, None for no
    value; merged: both changes together, None if they exclude each other. state: a digest of both sides, by which a
    decision is recognized as one about these values."""

    path: str
    written: Json
    source: Json
    target: Json
    merged: Json = None
    state: str = ""


@dataclass(frozen=True, slots=True)
class Files:
    """The current file in a comparison. link: with what was uploaded; current: at the source; fresh: whether a version
    is about to be added; expected: what the target may have."""

    link: LinkRow
    current: FileRef | None = None
    fresh: bool = False
    expected: ExpectedFiles = UNKNOWN_FILES


@dataclass(frozen=True)
class ThreeWay:
    """One asset. before: drafts of which the target may hold any, as JSON; the first is what was last written.
    patch: the update from them to `draft`. actual: the asset at the target."""

    before: Sequence[Json]
    draft: Draft
    patch: Patch
    actual: Asset
    files: Files
    facts: TargetFacts

    def conflicts(self) -> list[ValueConflict]:
        """Every value in conflict. Status and rights of an asset that is or becomes hidden are not compared: hiding
        does not depend on what others did."""
        found = [*self._fields(), *self._values(), *self._folders(), *self._file()]
        if not self.guarded:
            found += [*self._status(), *self._dates(), *self._groups()]
        return [replace(one, state=digest_of([_plain(one.source), _plain(one.target)])) for one in found]

    @property
    def schema(self) -> Schema:
        """Of the target."""
        return self.facts.schema

    @cached_property
    def expected(self) -> Expected:
        """What the target may have."""
        states = [draft_from_json(state) for state in self.before]
        return Expected(states, self.files.expected, names=frozenset(self._name_kept))

    @cached_property
    def comparison(self) -> Comparison:
        """Of what the update may write."""
        kinds = frozenset(place.kind for place in self.patch.placements_add)
        scope = Scope(frozenset(self.patch.fields), kinds, dates=frozenset(DATES))
        facts = replace(self.facts, members=Members.ALL)
        return compare(self.expected, self.actual, facts, scope, self.draft)

    def _is_both(self, path: str) -> bool:
        """Whether others changed a part that is to be changed, to another value than is wanted."""
        part = self.comparison.parts.get(path)
        return part is not None and part.due and not part.allowed and not part.same

    def _is_theirs(self, path: str) -> bool:
        """Whether others alone changed a part."""
        part = self.comparison.parts.get(path)
        return part is not None and not (part.due or part.allowed or part.same)

    @property
    def guarded(self) -> bool:
        """Whether the asset is hidden, becomes hidden, or is opened again by this update."""
        return self.patch.closed is not None or self.draft.closed

    # -- fields ---------------------------------------------------------------------------------------------------

    def _fields(self) -> Iterator[ValueConflict]:
        wrote = self.before[0]["fields"]
        for key in sorted(key for key in self.patch.fields if self._is_both(f"{FIELDS}{key}")):
            ours, theirs = self.patch.fields[key], self.actual.fields.get(key)
            yield ValueConflict(f"{FIELDS}{key}", wrote.get(key), _json(ours), _json(theirs), _json(self._merged(key)))

    def _merged(self, key: str) -> Value | None:
        """Both changes of one field, None if they exclude each other or leave nothing."""
        merged, known = self.comparison.parts[f"{FIELDS}{key}"].merged, self.schema.fields[key]
        if merged is None or not (known.multiple or known.localized):
            return None
        sides: list[Draft | Asset] = [*self.expected.states, self.draft, self.actual]
        return value_of(merged, [side.fields.get(key) for side in sides], known, self.schema)

    # -- values, status, containers, file -------------------------------------------------------------------------

    def _values(self) -> Iterator[ValueConflict]:
        """Parts that are one value, such as the file name, and do not decide who sees the asset."""
        for part in VALUES:
            ours = getattr(self.patch, part.name)
            if not part.shows and ours is not None and self._is_both(part.name):
                wrote, there = self.before[0].get(part.name), getattr(self.actual, part.name)
                yield ValueConflict(part.name, wrote, ours, there)

    @property
    def renamed(self) -> str:
        """The file name that somebody gave the asset at the target only, which a new version keeps; else empty."""
        ours = (self.draft.filename, *(state["filename"] for state in self.before), *self._name_kept)
        return "" if self.patch.filename is not None or self._name_there in ours else self._name_there

    @property
    def _name_kept(self) -> tuple[str, ...]:
        """The name that a file has because no call changes it, though the source renamed it; a new version brings the
        other one. One that came with a file of the target is not of them."""
        kept = self.files.link.kept
        return (kept["filename"],) if "filename" in fixed_among(kept, self.schema) else ()

    @property
    def _name_there(self) -> str:
        """The file name at the target; empty without a file, for which some services invent a name."""
        return "" if self.actual.file is None else self.actual.filename

    def _status(self) -> Iterator[ValueConflict]:
        if self.patch.status is not None and self._is_both(STATUS):
            yield self._conflict_of_status

    @property
    def _conflict_of_status(self) -> ValueConflict:
        there = self.actual.substatus or self.actual.status
        return ValueConflict(STATUS, self.before[0]["status"], self.draft.status, there)

    def _folders(self) -> Iterator[ValueConflict]:
        """Kinds of which an asset has one container: it was moved to two different ones."""
        before = placements_from_json(self.before[0]["placements"])
        default = {(place.kind, place.path) for place in self.schema.container_default}
        for kind in sorted(kind for kind, most in self.schema.container_most.items() if most == 1):
            ours = {place for place in self.patch.placements_add if place.kind == kind}
            path = f"{PLACEMENTS}{kind}"
            part = self.comparison.parts.get(path) if ours else None
            added = part.foreign.added if part is not None else frozenset()
            if any((kind, key) not in default for key in added):
                wrote = placements_to_json(place for place in before if place.kind == kind)
                theirs = placements_to_json(place for place in self._placements() if place.kind == kind)
                yield ValueConflict(path, wrote, placements_to_json(ours), theirs)

    def _placements(self) -> frozenset[Placement]:
        naming = self.schema.naming
        return self.actual.placements if naming is None else frozenset(map(naming.place, self.actual.placements))

    def _file(self) -> Iterator[ValueConflict]:
        """The current file of the target is none that the source has or had."""
        files, theirs = self.files, self.actual.file
        if not files.fresh or theirs is None or files.current is None or not self._is_theirs(FILE):
            return
        link = files.link
        wrote = FileRef("", link.filename, link.size, digests=link.digests)
        facts = file_facts(wrote) if link.versions else None
        yield ValueConflict(FILE, facts, file_facts(files.current), file_facts(theirs))

    # -- rights ---------------------------------------------------------------------------------------------------

    def _dates(self) -> Iterator[ValueConflict]:
        return (self._conflict_of_date(path) for path in DATES if self.writes_rights and self._is_both(path))

    def _conflict_of_date(self, path: str) -> ValueConflict:
        ours, theirs, before = self._date(path)
        return ValueConflict(path, _when(before), _when(ours), _when(theirs))

    def _groups(self) -> Iterator[ValueConflict]:
        """Unless both changes can stand: by member, on an asset that all sides limit."""
        wanted = self.writes_rights and self.draft.rights.groups
        if wanted and self._is_both(GROUPS) and not self.merged_groups:
            yield self._conflict_of_groups

    @property
    def _conflict_of_groups(self) -> ValueConflict:
        before = rights_from_json(self.before[0]["rights"]).groups
        ours, theirs = self.draft.rights.groups, self.actual.rights.groups
        return ValueConflict(GROUPS, sorted(before), sorted(ours), sorted(theirs))

    @property
    def merged_groups(self) -> frozenset[str]:
        """The groups with both changes; empty if they exclude each other: somebody would see an asset that one side
        keeps from them."""
        part = self.comparison.parts.get(GROUPS)
        merged = part.merged if part is not None and part.is_limited else None
        return frozenset(map(str, merged or ()))

    @property
    def writes_rights(self) -> bool:
        """Whether the update writes rights."""
        return self.patch.rights is not None or bool(self.patch.cleared)

    def _date(self, path: str) -> tuple[datetime | None, datetime | None, datetime | None]:
        """A date of the draft, at the target, and as written before. A release date that the service gave the asset
        when it arrived is none."""
        name = DATES[path]
        before = [getattr(rights_from_json(state["rights"]), name) for state in self.before]
        theirs = getattr(self.actual.rights, name)
        if theirs is not None and not any(before) and path == "release":
            theirs = None if self.facts.is_arrival_of_release(theirs, self.actual) else theirs
        return getattr(self.draft.rights, name), theirs, before[0]

    def set_back(self) -> list[ValueConflict]:
        """What others alone changed that decides who sees the asset, which the values of the source set back. Groups
        by member are not of it: both changes stand."""
        found = [self._conflict_of_date(path) for path in DATES if self._is_theirs(path)]
        found += [self._conflict_of_status] if self._is_theirs(STATUS) else []
        return [*found, *([self._conflict_of_groups] if self._is_theirs(GROUPS) and not self.merged_groups else [])]

    # -- the update -----------------------------------------------------------------------------------------------

    def settled(self, values: Mapping[str, Json]) -> Patch:
        """The update with these values instead of the source's, by path: None of them is changed if it is what the
        target has. What changed only at the target stays as it is there."""
        patch = without(self.patch, values.keys() - RIGHTS)
        fields = dict(patch.fields)
        for path, value in values.items():
            key = path.removeprefix(FIELDS)
            if path != key and value != _json(self.actual.fields.get(key)):
                fields[key] = _value(value)
        patch = replace(patch, fields=fields)
        return patch if self.guarded or not self.writes_rights else self._with_rights(patch, values)

    def _with_rights(self, patch: Patch, values: Mapping[str, Json]) -> Patch:
        """Rights are written as a whole: with what others changed at the target and the source did not. Also where they
        are as they should be, if an attempt may have taken readers away (see `as_not_hidden`)."""
        rights = self.rights(values)
        cleared = frozenset(path for path in patch.cleared if getattr(rights, DATES[path]) is None)
        shown = not self.expected.may_be_hidden(self.schema)
        held = not self._is_due(RESTRICTIONS) and all(path in values or self._stands(path) for path in RIGHTS)
        if held and shown and values.keys() & RIGHTS:
            return replace(patch, rights=None, cleared=frozenset())
        return replace(patch, rights=rights, cleared=cleared)

    def _is_due(self, path: str) -> bool:
        part = self.comparison.parts.get(path)
        return part is not None and part.due

    def _stands(self, path: str) -> bool:
        """Whether the target has what an update without conflicts leaves here."""
        part = self.comparison.parts.get(path)
        silent = path == GROUPS and not self.draft.rights.groups
        return silent or part is None or part.stands or self._is_theirs(path)

    def rights(self, values: Mapping[str, Json]) -> Rights:
        """The rights that the asset will have, with these values instead of the source's. Without groups it keeps
        those that it has."""
        release, expiry = (self._date_with(path, path in values) for path in ("release", "expiry"))
        wanted, theirs = self.draft.rights, self.actual.rights.groups
        groups = self.merged_groups or wanted.groups
        if GROUPS in values or (wanted.groups and self._is_theirs(GROUPS) and not self.merged_groups):
            groups = theirs
        return Rights(release, expiry, groups, wanted.restrictions)

    def _date_with(self, path: str, kept: bool) -> datetime | None:
        ours, theirs, _ = self._date(path)
        return theirs if kept or self._is_theirs(path) else ours


def kept_values(link: LinkRow, draft: Draft, file: FileRef | None) -> dict[str, Json]:
    """What the target keeps instead of values of this draft: as long as the source does not change them again."""
    now = draft_to_json(draft)
    same = (path for path in link.kept if path not in (FILE, VERSIONS) and _part(now, path) == _part(link.draft, path))
    kept = {path: link.kept[path] for path in same}
    if FILE in link.kept and file is not None and link.versions[-1:] == (version_key(file),):
        kept[FILE] = link.kept[FILE]
    elif FILE in link.kept and kept.get("filename") == link.kept[FILE]["name"]:
        del kept["filename"]  # it went with the file
    return kept


def _part(draft: Json, path: str) -> Json:
    """A value of a draft, without what may change though the value does not."""
    if path.startswith(FIELDS):
        return _plain(draft["fields"].get(path.removeprefix(FIELDS)))
    if path.startswith(PLACEMENTS):
        return _plain([place for place in draft["placements"] if place["kind"] == path.removeprefix(PLACEMENTS)])
    return draft["rights"].get(DATES.get(path, path)) if path in RIGHTS else draft.get(path)


def _plain(value: Json) -> Json:
    """A side without what may change though the value does not, such as ids of terms and containers."""
    if isinstance(value, dict) and "digests" in value:
        return value
    rows = value if isinstance(value, list) else [value]
    if any(isinstance(row, dict) and "kind" in row for row in rows):
        return sorted([row["kind"], *row["path"]] for row in rows)
    return [] if value in (None, []) else canonical(value_from_json(value))


def _value(data: Json) -> Value | None:
    return None if data is None else value_from_json(data)


def _json(value: Value | None) -> Json:
    return None if value is None or value == () else value_to_json(value)


def _when(moment: datetime | None) -> str | None:
    return instant_text(moment) if moment else None
