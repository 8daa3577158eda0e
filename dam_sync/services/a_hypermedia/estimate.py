"""Estimates the calls of writes from what is already known about the instance; no call is made (wire A 6.13)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from dam_sync.model.asset import Draft, FileRef, Patch, Placement, Relation
from dam_sync.model.connector import Context
from dam_sync.model.errors import InvalidValue, TooLarge
from dam_sync.model.service import Calls
from dam_sync.model.values import Term, Value
from dam_sync.model.writes import Attachment, Change, PartRemoval, Renaming, TrashMove, VersionReturn
from dam_sync.services.a_hypermedia import facts
from dam_sync.services.a_hypermedia.api.connection import HalRequest
from dam_sync.services.a_hypermedia.api.hal import embedded
from dam_sync.services.a_hypermedia.codec.forms import MediaForms
from dam_sync.services.a_hypermedia.codec.wire import Status
from dam_sync.services.a_hypermedia.codec.writes import Writes, other_titles, writes_of
from dam_sync.services.a_hypermedia.target.create import (
    hidden_form,
    home_of,
    is_hidden,
    placed_later,
    planned,
    untitled_form,
)
from dam_sync.services.a_hypermedia.target.find import MediaFinder
from dam_sync.services.a_hypermedia.target.members import (
    FOLDER_MEDIA,
    FOLDER_MEDIAS,
    LABEL,
    LABELS,
    MEDIA,
    WITHIN,
    in_order,
    membership_form,
)
from dam_sync.services.a_hypermedia.target.proofs import SINGLE, first_of_each
from dam_sync.services.a_hypermedia.target.relate import (
    ATTACHMENT,
    ATTACHMENTS,
    LINK,
    LINKED,
    LINKS,
    ONE_LINKED,
    UNLINK,
)
from dam_sync.services.a_hypermedia.target.update import (
    ALONE,
    BULK_STATUS,
    BULKS,
    CURRENT,
    METADATA,
    ONE_VERSION,
    SELECTED,
    SELECTIONS,
    STATUS,
    TRASH,
    VERSIONS,
    bulk_forms,
    out_of_trash,
    status_to_write,
)
from dam_sync.services.a_hypermedia.taxonomy import (
    FOLDER,
    FOLDER_CHILDREN,
    RENAMED,
    TERM,
    TERM_CHILDREN,
    TITLES,
    language_of,
    needs_more,
)
from dam_sync.services.a_hypermedia.uploads import largest


class HypermediaEstimate(MediaFinder):
    """Counts calls; needs `schema()` to have been read. A write that would be refused before its first call costs
    nothing."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._staging_counted = False
        self._links_counted = set(self._options.link_types)

    def estimate(self, change: Change, size: int | None = None) -> Calls:
        """The calls of one write.

        What happens once per run (finding the staging folder, learning a link type) is counted once.
        """
        try:
            return self._trash_calls(change) if isinstance(change, TrashMove) else self._calls_of(change, size)
        except (InvalidValue, TooLarge):
            return {}

    def _calls_of(self, change: Change, size: int | None) -> Calls:
        match change:
            case Draft():
                return self._create_calls(change, size)
            case Patch():
                return self._update_calls(change)
            case FileRef():
                return self._upload_calls(change.size or size or 0) + one("POST", "medias", VERSIONS)
            case Term() | Placement():
                return self._term_calls(change) if isinstance(change, Term) else self._container_calls(change)
            case Relation() | PartRemoval():
                return self._link_calls(change)
            case Renaming():
                return self._renaming_calls(change)
            case Attachment() | VersionReturn():
                return self._attachment_calls() if isinstance(change, Attachment) else self._return_calls()
            case _:
                return Counter()

    def _trash_calls(self, move: TrashMove) -> Calls:
        if move.restored is not None:
            return one("GET", "medias", MEDIA) + self._field_calls(out_of_trash(move.restored))
        return one("GET", "medias", MEDIA, 1 + len(self._proofs.new([TRASH]))) + one("DELETE", "medias", MEDIA)

    def _create_calls(self, draft: Draft, size: int | None) -> Calls:
        plan = planned(draft, self._writes(draft.fields, draft.status, closed=draft.closed), None)
        calls = Counter[str]() if size is None else self._upload_calls(size) + self._title_calls(draft)
        entry, home = self._api.entry.now, home_of(draft)
        by_folder = entry is None or entry.has(facts.FOLDER_CREATE)
        calls += one("POST", "folders", FOLDER_MEDIAS) if by_folder else one("POST", "medias")
        if is_hidden(plan.writes, self._statuses):
            calls += one("GET", "medias", MEDIA, len(self._proofs.new([hidden_form(home)])))
        if home and self._selectable_now(plan.marked_writes).bulked:
            calls += self._field_calls(plan.marked_writes)
        else:
            calls += one("PUT", "medias", METADATA, 1 if plan.marker else 0) + self._field_calls(plan.writes)
        calls += self._placed_calls(placed_later(draft.placements, home if by_folder else ""))
        if home or not by_folder:
            return calls
        return calls + self._staging_calls() + self._displaced_calls([Placement("folder", (), "staging")])

    def _title_calls(self, draft: Draft) -> Counter[str]:
        """The first media without a title of ours in a language is asked for it."""
        others = other_titles(draft.fields, self._tenant.forms.now or MediaForms(), self._tenant.locales.now or ("en",))
        return one("GET", "medias", METADATA, len(self._proofs.new(map(untitled_form, others))))

    def _staging_calls(self) -> Counter[str]:
        """Making the staging folder if the top of the tree, read with the schema, has none."""
        if self._staging_counted or self._staging.now is not None:
            return Counter()
        self._staging_counted = True
        top = self._tenant.top.now
        if top is None:
            return one("GET", "folder-tree") + one("POST", "folder-tree")
        known = any(child.get("title") == self._options.staging_folder for child in embedded(top, "child"))
        return one("POST", "folder-tree", times=0 if known else 1)

    def _return_calls(self) -> Calls:
        """An older version that becomes the current one."""
        looks = 2 * len(self._proofs.new([CURRENT]))
        return one("PUT", "medias", ONE_VERSION) + one("GET", "medias", VERSIONS, looks)

    def _attachment_calls(self) -> Calls:
        looks = len(self._proofs.new([ATTACHMENT]))
        return one("POST", "medias", ATTACHMENTS) + one("GET", "medias", ATTACHMENTS, looks)

    def _link_calls(self, change: Relation | PartRemoval) -> Calls:
        relation = change.part if isinstance(change, PartRemoval) else change
        if not isinstance(relation, Relation):
            return {}  # attachments cannot be removed
        new = relation.kind not in self._links_counted
        self._links_counted.add(relation.kind)
        form = LINK if relation is change else UNLINK
        written = one("POST", "medias", LINKED) if relation is change else one("DELETE", "medias", ONE_LINKED)
        looks = len(self._proofs.new([form]))
        return one("GET", "medias", LINKS, int(new)) + written + one("GET", "medias", LINKED, looks)

    def _update_calls(self, patch: Patch) -> Calls:
        writes = self._writes(patch.fields, "" if patch.closed else patch.status or "", whole=True)
        hiding = self._field_calls(Writes(closed=True)) if patch.closed else Counter[str]()
        return (
            hiding
            + self._field_calls(writes)
            + self._placed_calls(patch.placements_add)
            + self._displaced_calls(patch.placements_remove)
        )

    def _placed_calls(self, placements: Iterable[Placement]) -> Counter[str]:
        return _moved(placements, "POST", LABELS, FOLDER_MEDIAS) + self._looks_calls(placements, inside=True)

    def _displaced_calls(self, placements: Iterable[Placement]) -> Counter[str]:
        return _moved(placements, "DELETE", LABEL, FOLDER_MEDIA) + self._looks_calls(placements, inside=False)

    def _looks_calls(self, placements: Iterable[Placement], *, inside: bool) -> Counter[str]:
        """The first membership of each kind is read back."""
        kinds = {membership_form(place.kind, inside=inside): place.kind for place in placements}
        new = [kinds[form] for form in self._proofs.new(kinds)]
        return sum((one("GET", "medias", WITHIN[kind]) for kind in new), Counter())

    def _writes(
        self, fields: Mapping[str, Value | None], status: str, *, closed: bool = False, whole: bool = False
    ) -> Writes:
        forms, locales = self._tenant.forms.now or MediaForms(), self._tenant.locales.now or ("en",)
        return writes_of(fields, forms, locales, status, closed=closed, whole=whole)

    @property
    def _statuses(self) -> Mapping[str, Status]:
        return self._tenant.statuses.now or {}

    def _field_calls(self, writes: Writes) -> Counter[str]:
        """The fields, and the status written with them."""
        writes = self._selectable_now(writes)
        rides = writes.bulked and bool(status_to_write(writes, self._statuses).id) and not writes.own
        calls = self._value_calls(writes, rides)
        if (writes.sets_status or writes.own) and not rides:
            calls += one("GET", "medias", MEDIA) + one("PUT", "medias", MEDIA)
            calls += one("GET", "medias", MEDIA, len(self._proofs.new([STATUS] if writes.sets_status else [])))
        return calls

    def _selectable_now(self, writes: Writes) -> Writes:
        entry = self._api.entry.now
        return replace(writes, selectable=self._proofs.bulk and (entry is None or bool(entry.user)))

    def _value_calls(self, writes: Writes, rides: bool) -> Counter[str]:
        """Includes reading back the first use of each form."""
        if not writes.bulked:
            new = self._proofs.new(first_of_each(writes.puts, SINGLE))
            return one("PUT", "medias", METADATA, len(writes.puts)) + one("GET", "medias", METADATA, len(new))
        new = self._proofs.new(bulk_forms(writes, rides))
        calls = one("POST", "users", SELECTIONS) + one("POST", "users", SELECTED)
        calls += one("POST", "users", BULKS, len(writes.languages))
        calls += one("GET", "medias", MEDIA, int(BULK_STATUS in new)) + one("GET", "users", SELECTED, int(ALONE in new))
        return calls + one("GET", "medias", METADATA, len(new - {BULK_STATUS, ALONE}))

    def _upload_calls(self, size: int) -> Counter[str]:
        entry = self._api.entry.now
        chunks = entry is None or entry.has(facts.CHUNKS)
        if size > largest(chunks):
            raise TooLarge(f"the service does not accept files of {size} bytes")
        bounds = self._api.limits.parts_for(size) if chunks else None
        parts = bounds.split(size) if bounds else ()
        return one("POST", "files") + one("PUT", "files", "/{fileId}", len(parts))

    def _term_calls(self, term: Term) -> Calls:
        locales = self._tenant.locales.now or ("en",)
        language = language_of(term, locales)
        more = 1 if needs_more(term, language) else 0
        calls = one("GET", "thesaurus-tree", "/{id}", 1 + len(self._proofs.new([TERM])))
        calls += one("POST", "thesaurus-tree", TERM_CHILDREN) + one("PUT", "thesauruses", "/{id}", more)
        return calls + one("GET", "thesauruses", "/{id}", more + len(self._proofs.new([TITLES][:more])))

    def _renaming_calls(self, change: Renaming) -> Calls:
        """A term or a folder is read, then written; the first of each is read back."""
        if isinstance(change.part, Term):
            looks = 1 + len(self._proofs.new([TITLES]))
            return one("GET", "thesauruses", "/{id}", looks) + one("PUT", "thesauruses", "/{id}")
        looks = 1 + len(self._proofs.new([RENAMED]))
        return one("GET", "folder-tree", "/{nodeId}", looks) + one("PUT", "folders", "/{id}")

    def _container_calls(self, place: Placement) -> Calls:
        """One missing folder: its siblings are read, then it is created. A label is never created."""
        if place.kind != "folder":
            return {}
        if len(place.path) == 1:
            return one("GET", "folder-tree") + one("POST", "folder-tree")
        looks = 1 + len(self._proofs.new([FOLDER]))
        return one("GET", "folder-tree", "/{nodeId}", looks) + one("POST", "folder-tree", FOLDER_CHILDREN)


def one(method: str, endpoint: str, template: str = "", times: int = 1) -> Counter[str]:
    """A number of calls of one endpoint."""
    return Counter({HalRequest(method, endpoint, template).operation: times}) if times else Counter()


def _moved(placements: Iterable[Placement], method: str, label: str, folder: str) -> Counter[str]:
    places = in_order(placements)
    labels = sum(place.kind == "label" for place in places)
    return one(method, "medias", label, labels) + one(method, "folders", folder, len(places) - labels)
