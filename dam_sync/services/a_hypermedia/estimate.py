"""What a write has of the parts whose costs are in `facts.COSTS`, at service A (wire A 6.13)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dam_sync.model.asset import Draft, Patch, Placement, Relation
from dam_sync.model.costs import Amounts, CostPart, PlanMemory
from dam_sync.model.errors import NotFound, TooLarge
from dam_sync.model.values import Term, Value
from dam_sync.model.writes import Attachment, Change, Opening, PartRemoval, Renaming, TrashMove, VersionReturn
from dam_sync.services.a_hypermedia import facts
from dam_sync.services.a_hypermedia.api.hal import embedded
from dam_sync.services.a_hypermedia.codec.forms import MediaForms
from dam_sync.services.a_hypermedia.codec.wire import Status
from dam_sync.services.a_hypermedia.codec.writes import Writes, other_titles, writes_of
from dam_sync.services.a_hypermedia.source.open import MediaOpener
from dam_sync.services.a_hypermedia.target.create import (
    HIDDEN,
    hidden_form,
    home_of,
    is_hidden,
    placed_later,
    untitled_form,
)
from dam_sync.services.a_hypermedia.target.create import planned as media_plan
from dam_sync.services.a_hypermedia.target.find import MediaFinder
from dam_sync.services.a_hypermedia.target.members import in_order, membership_form
from dam_sync.services.a_hypermedia.target.proofs import SINGLE, first_of_each
from dam_sync.services.a_hypermedia.target.relate import ATTACHMENT, LINK, UNLINK
from dam_sync.services.a_hypermedia.target.update import (
    ALONE,
    BULK_STATUS,
    CURRENT,
    STATUS,
    TRASH,
    bulk_forms,
    out_of_trash,
    status_to_write,
)
from dam_sync.services.a_hypermedia.taxonomy import FOLDER, RENAMED, TERM, TITLES, language_of, needs_more
from dam_sync.services.a_hypermedia.uploads import largest

READ_BACK: Mapping[str, str] = {
    **dict.fromkeys((TRASH, STATUS, BULK_STATUS), facts.MEDIA_SEEN),
    **{membership_form("folder", inside=inside): facts.FOLDERS_SEEN for inside in (True, False)},
    **{membership_form("label", inside=inside): facts.LABELS_SEEN for inside in (True, False)},
    ALONE: facts.SELECTION_SEEN,
    CURRENT: facts.VERSIONS_SEEN,
    ATTACHMENT: facts.ATTACHMENTS_SEEN,
    **dict.fromkeys((LINK, UNLINK), facts.RELATED_SEEN),
    TERM: facts.PLACE_IN_TREE_SEEN,
    TITLES: facts.TERM_SEEN,
    **dict.fromkeys((FOLDER, RENAMED), facts.FOLDER_SEEN),
}
"""By the form whose first use in a run is read back; forms of values are not among them."""
FORMS: Mapping[type, frozenset[str]] = {
    TrashMove: frozenset({TRASH}),
    Attachment: frozenset({ATTACHMENT}),
    VersionReturn: frozenset({CURRENT}),
}


@dataclass(slots=True)
class _Found:
    """What a write has. forms: those that it uses."""

    amounts: Amounts = field(default_factory=Counter)
    forms: set[str] = field(default_factory=set)

    def add(self, part: str, number: int = 1, *forms: str) -> None:
        self.amounts[part] += number
        self.forms.update(forms)


class HypermediaEstimate(MediaOpener, MediaFinder):
    """Needs `schema()` to have been read."""

    def amounts(self, change: Change, counted: Amounts, planned: PlanMemory) -> Amounts:
        if isinstance(change, Attachment):
            counted = Counter({CostPart.ATTACHMENT: 1})  # its file goes to a link
        if counted[CostPart.BYTES] > self._largest:
            raise TooLarge(f"the service does not accept files of {counted[CostPart.BYTES]} bytes")
        found = self._found(change, bool(counted[CostPart.FILE]), planned)
        new = planned.new(self._proofs.unproven(found.forms))
        return counted + found.amounts + Counter(_read_back(form) for form in new)

    def _found(self, change: Change, has_file: bool, planned: PlanMemory) -> _Found:
        found = _Found()
        match change:
            case Draft():
                self._find_draft(found, change, has_file, planned)
            case Patch():
                self._find_patch(found, change)
            case TrashMove(restored=Draft() as draft):
                self._find_fields(found, out_of_trash(draft))
            case Term() | Placement():
                _find_name(found, change, self._tenant.locales.now or ("en",))
            case Relation() | PartRemoval(part=Relation()):
                self._find_relation(found, change, planned)
            case Opening():
                self._refuse_opening(change)
            case _:
                found.forms |= FORMS.get(type(change), frozenset())
                if isinstance(change, Renaming):
                    found.forms.add(TITLES if isinstance(change.part, Term) else RENAMED)
        return found

    @property
    def _largest(self) -> int:
        entry = self._api.entry.now
        return largest(entry is None or entry.has(facts.CHUNKS))

    def _refuse_opening(self, opening: Opening) -> None:
        self.refuse_withheld(opening.file)
        if opening.link and not self.is_static(opening.file):
            raise NotFound("the service gives no link to this file that others can open")

    def _find_draft(self, found: _Found, draft: Draft, has_file: bool, planned: PlanMemory) -> None:
        plan = media_plan(draft, self._writes(draft.fields, draft.status, closed=draft.closed), None)
        if has_file:  # the first media without a title of ours in a language is asked for it
            forms, locales = self._tenant.forms.now or MediaForms(), self._tenant.locales.now or ("en",)
            found.forms.update(map(untitled_form, other_titles(draft.fields, forms, locales)))
        entry, home = self._api.entry.now, home_of(draft)
        by_folder = entry is None or entry.has(facts.FOLDER_CREATE)
        found.add(facts.MADE_IN_FOLDER if by_folder else facts.MADE)
        if is_hidden(plan.writes, self._statuses):
            found.forms.add(hidden_form(home))
        if home and self._selectable_now(plan.marked_writes).bulked:
            self._find_fields(found, plan.marked_writes)
        else:
            found.add(facts.VALUE, 1 if plan.marker else 0)
            self._find_fields(found, plan.writes)
        _find_places(found, placed_later(draft.placements, home if by_folder else ""), inside=True)
        if by_folder and not home:
            self._find_staging(found, planned)
            _find_places(found, [Placement("folder", (), "staging")], inside=False)

    def _find_staging(self, found: _Found, planned: PlanMemory) -> None:
        """Making the staging folder if the top of the tree, read with the schema, has none."""
        if self._staging.now is not None or not planned.first("staging"):
            return
        top = self._tenant.top.now
        known = top is not None and any(
            child.get("title") == self._options.staging_folder for child in embedded(top, "child")
        )
        found.add(facts.STAGING_SOUGHT, int(top is None))
        found.add(facts.STAGING_MADE, int(not known))

    def _find_relation(self, found: _Found, change: Relation | PartRemoval, planned: PlanMemory) -> None:
        relation = change.part if isinstance(change, PartRemoval) else change
        assert isinstance(relation, Relation)
        new = relation.kind not in self._options.link_types and planned.first(("links", relation.kind))
        found.add(facts.NEW_LINK_TYPE, int(new), LINK if relation is change else UNLINK)

    def _find_patch(self, found: _Found, patch: Patch) -> None:
        if patch.closed:
            self._find_fields(found, Writes(closed=True))
        self._find_fields(found, self._writes(patch.fields, "" if patch.closed else patch.status or "", whole=True))
        _find_places(found, patch.placements_add, inside=True)
        _find_places(found, patch.placements_remove, inside=False)

    def _writes(
        self, fields: Mapping[str, Value | None], status: str, *, closed: bool = False, whole: bool = False
    ) -> Writes:
        forms, locales = self._tenant.forms.now or MediaForms(), self._tenant.locales.now or ("en",)
        return writes_of(fields, forms, locales, status, closed=closed, whole=whole)

    @property
    def _statuses(self) -> Mapping[str, Status]:
        return self._tenant.statuses.now or {}

    def _find_fields(self, found: _Found, writes: Writes) -> None:
        """The fields, and the status written with them."""
        writes = self._selectable_now(writes)
        rides = writes.bulked and bool(status_to_write(writes, self._statuses).id) and not writes.own
        if writes.bulked:
            found.add(facts.BULK, 1, *bulk_forms(writes, rides))
            found.add(facts.BULK_LANGUAGE, len(writes.languages))
        else:
            found.add(facts.VALUE, len(writes.puts), *first_of_each(writes.puts, SINGLE))
        if (writes.sets_status or writes.own) and not rides:
            found.add(facts.STATUS, 1, *([STATUS] if writes.sets_status else []))

    def _selectable_now(self, writes: Writes) -> Writes:
        entry = self._api.entry.now
        return replace(writes, selectable=self._proofs.bulk and (entry is None or bool(entry.user)))


def _find_name(found: _Found, made: Term | Placement, locales: Sequence[str]) -> None:
    """A term, or one missing folder: its siblings are read, then it is created. A label is never created."""
    if isinstance(made, Term):
        more = needs_more(made, language_of(made, locales))
        found.add(facts.TERM_TITLES, int(more), TERM, *([TITLES] if more else []))
    elif made.kind == "folder" and len(made.path) == 1:
        found.add(facts.TOP_FOLDER)
    elif made.kind == "folder":
        found.add(facts.SUBFOLDER, 1, FOLDER)


def _find_places(found: _Found, placements: Iterable[Placement], *, inside: bool) -> None:
    """The first membership of each kind is read back."""
    parts = (facts.LABELLED, facts.IN_FOLDER) if inside else (facts.UNLABELLED, facts.OUT_OF_FOLDER)
    for place in in_order(placements):
        found.add(parts[place.kind != "label"], 1, membership_form(place.kind, inside=inside))


def _read_back(form: str) -> str:
    return facts.MEDIA_SEEN if form.startswith(HIDDEN) else READ_BACK.get(form, facts.VALUE_SEEN)
