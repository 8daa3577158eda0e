"""What people changed of an asset whose create a killed run left incomplete."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from typing import TypeVar

from dam_sync.engine.differences import (
    Extras,
    Scope,
    date_differs,
    date_is_extra,
    defaults_of,
    field_differs,
    field_is_extra,
    foreign_edits,
    scope_of,
    status_differs,
    statuses_between,
    with_names,
)
from dam_sync.engine.recovery.intents import ATTACHED, FILES, files_sent
from dam_sync.engine.recovery.resumed_creates import without_arrival, without_file_names
from dam_sync.engine.run_context import RunContext
from dam_sync.model.asset import Asset, Draft, FileRef
from dam_sync.model.capabilities import Feature
from dam_sync.model.codec import draft_from_json, draft_to_json
from dam_sync.model.conflict import DATES, FIELDS, FILE, PLACEMENTS
from dam_sync.model.values import Json, Value

T = TypeVar("T")


def edited_parts(context: RunContext, meant: Sequence[Json], actual: Asset, *, complete: bool) -> list[str]:
    """Paths at which the asset has what none of these drafts says. meant: drafts that attempts may have written in
    part, with their files; complete: whether the create itself was completed, so that nothing of it may be missing."""
    if not meant:
        return []
    known, schema = context.counterparts, context.target_schema
    drafts = tuple(draft_from_json(known.present(state, schema)) for state in meant)
    tags = frozenset().union(*(draft.tags for draft in drafts))
    actual = with_names(known.as_known(actual, schema), schema, tags)
    if not complete:
        actual = without_file_names(actual)
    files = files_sent(meant)
    edits = _Edits(context, drafts, actual, complete, scope_of(context.crosswalk), {file.name for file in files})
    return sorted({*edits, *_files(meant, files, actual)})


@dataclass(frozen=True, slots=True)
class _Edits:
    """The comparison of everything but files. names: of the files, which the target may have until it is complete."""

    context: RunContext
    drafts: tuple[Draft, ...]
    actual: Asset
    complete: bool
    scope: Scope
    names: Set[str]

    def __iter__(self) -> Iterator[str]:
        yield from self._fields()
        yield from self._sets()
        if self._is_renamed():
            yield "filename"
        if any(draft.closed for draft in self.drafts):
            return  # with another status and other rights
        if self.complete and self._is_other_status():
            yield "status"
        yield from (path for path in DATES if path in self.scope.dates and self._is_other_date(path))

    def _is_other_status(self) -> bool:
        wanted = [draft.status for draft in self.drafts]
        passed = statuses_between(wanted, self.context.target_schema)
        return all(status_differs(each, self.actual) for each in (*wanted, *passed))

    def _fields(self) -> Iterator[str]:
        last, schema = self.drafts[-1], self.context.target_schema
        marker = {last.marker.field} if last.marker is not None else set()
        given = self.actual.fields.keys() - without_arrival(self.actual).fields.keys()
        keys = self.scope.fields.union(*(draft.fields for draft in self.drafts)) - marker - given
        before = [draft_to_json(draft)["fields"] for draft in self.drafts]
        wanted = {key: last.fields.get(key) for key in keys}
        for key in foreign_edits([*before, *([] if self.complete else [{}])], wanted, self.actual, schema):
            if all(self._is_other(key, draft.fields.get(key)) for draft in self.drafts):
                yield f"{FIELDS}{key}"

    def _is_other(self, key: str, wanted: Value | None) -> bool:
        schema, now = self.context.target_schema, self.actual.fields.get(key)
        field = schema.fields.get(key)
        differs = wanted is not None and field_differs(wanted, now, field, schema)
        return differs or field_is_extra(wanted, now, field, schema)

    def _sets(self) -> Iterator[str]:
        """Members that no attempt added. Whether one is missing is not compared: some are added last."""
        drafts, schema = self.drafts, self.context.target_schema
        together = replace(
            drafts[-1],
            tags=_union(draft.tags for draft in drafts),
            placements=_union(draft.placements for draft in drafts) | schema.container_staging,
            rights=replace(
                drafts[-1].rights, groups=_union(draft.rights.groups for draft in drafts) | schema.group_staging
            ),
            closed=any(draft.closed for draft in drafts),
        )
        more = Extras.of(together, self.actual, self.scope, defaults_of(self.context, together))
        yield from ("tags" for _ in more.tags)
        yield from (f"{PLACEMENTS}{place.kind}" for place in more.placements)
        yield from ("groups" for _ in more.groups)

    def _is_renamed(self) -> bool:
        known = {"", *self.names, *(draft.filename for draft in self.drafts)}
        writes = self.context.target.capabilities.writes(Feature.FILENAME)
        return writes and self.complete and self.actual.filename not in known

    def _is_other_date(self, path: str) -> bool:
        have = getattr(without_arrival(self.actual).rights, DATES[path])
        if have is None and not self.complete:
            return False
        precision = self.context.target.limits.precision
        wanted = [getattr(draft.rights, DATES[path]) for draft in self.drafts]
        same = (
            not date_is_extra(path, None, self.actual) if want is None else not date_differs(want, have, precision)
            for want in wanted
        )
        return not any(same)


def _union(sets: Iterable[frozenset[T]]) -> frozenset[T]:
    return frozenset().union(*sets)


def _files(meant: Sequence[Json], sent: Sequence[FileRef], actual: Asset) -> Iterator[str]:
    """Files that no attempt sent. What the target hides, or a state of an older release does not say, cannot be
    compared."""
    known = [state for state in meant if FILES in state]
    if not known:
        return
    hidden = {loss.path for loss in actual.losses}
    if actual.file is not None and not any(each.agrees(actual.file) for each in sent):
        yield FILE
    if "versions" not in hidden and len(actual.versions) > max(len(row[FILES]) for row in known):
        yield "versions"
    if "attachments" not in hidden and len(actual.attachments) > max(row[ATTACHED] for row in known):
        yield "attachments"
