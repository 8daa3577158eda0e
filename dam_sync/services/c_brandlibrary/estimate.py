"""Estimates the API calls of writes at service C, if no response is lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from dam_sync.model.asset import Draft, FileRef, Patch, Placement
from dam_sync.model.connector import Context
from dam_sync.model.errors import Rejected
from dam_sync.model.service import Calls
from dam_sync.model.values import Term
from dam_sync.model.writes import Attachment, Change, Renaming, TrashMove
from dam_sync.services.c_brandlibrary import facts
from dam_sync.services.c_brandlibrary.codec import wire
from dam_sync.services.c_brandlibrary.codec.fields import Keys
from dam_sync.services.c_brandlibrary.target.create import DATED, cleans, hiding_form
from dam_sync.services.c_brandlibrary.target.plan import one_of, values_of
from dam_sync.services.c_brandlibrary.target.shared import CALL, CallPlan, known_as
from dam_sync.services.c_brandlibrary.target.update import CHANGED_DATES
from dam_sync.services.c_brandlibrary.taxonomy import BrandLibraryTaxonomy, place_key

KINDS = {"section": facts.ADD_SECTION, "collection": facts.ADD_COLLECTION, "label": facts.ADD_LABEL}


class BrandLibraryEstimate(BrandLibraryTaxonomy):
    """Needs `schema()` to have been read. What is created once for all assets is counted once."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._counted_once: set[str] = set()
        self._together = _Together()
        self._away = 0  # of those made last: still at work on further versions when the next ones begin
        self._extended = False  # a plan has counted terms that no list has yet

    def estimate_grown(self, file: FileRef, size: int = 0) -> Calls:
        """See `Service.estimate_grown`: one look for all that were created at the same time."""
        self._away += 1
        return +(Counter(self.estimate(file, size)) - Counter({facts.ASSET: int(self._away > 1), facts.ATTACHMENT: 1}))

    def estimate_fetched(self, draft: Draft, size: int) -> Calls:
        """See `Service.estimate_fetched`: nothing is uploaded; the file is there at the second look, if not later."""
        calls = Counter(self.estimate(draft, size))
        return calls - Counter({facts.UPLOAD_REQUEST: 1}) + Counter({facts.ASSET: 1}) if calls else calls

    def estimate_saved(self, change: Change) -> Calls:
        if isinstance(change, Patch):
            return {facts.ASSET: self.estimate(change).get(facts.ASSET, 0)}
        return {facts.ASSET: 1} if isinstance(change, FileRef) else {}

    def estimate(self, change: Change, size: int | None = None) -> Calls:
        """Exact once `schema()` was read, except for patches, whose calls depend on existing values, and for files
        that the service processes slowly; what would be refused before its first call costs nothing."""
        try:
            return +self._calls_of(change, size)
        except Rejected:
            return {}

    def _calls_of(self, change: Change, size: int | None) -> Counter[str]:
        match change:
            case Draft():
                return self._draft_calls(change, size)
            case Patch():
                return self._patch_calls(change)
            case FileRef():
                return Counter({facts.ASSET: 1, facts.ATTACHMENT: 2, facts.UPLOAD_REQUEST: 1, facts.PUT_ATTACHMENT: 1})
            case Term():
                self._extended = True
                return Counter({facts.KEYS: 1, facts.PUT_KEY: 1})
            case Placement():
                return Counter({KINDS[change.kind]: 1} if change.kind in KINDS else {})
            case Attachment():
                return Counter({facts.ASSET: 2, facts.UPLOAD_REQUEST: 1, facts.PUT_ASSET: 1})
            case TrashMove() | Renaming():
                return Counter({facts.DELETE_ASSET if isinstance(change, TrashMove) else facts.PUT_COLLECTION: 1})
            case _:
                return Counter()

    def _draft_calls(self, draft: Draft, size: int | None) -> Counter[str]:
        marker = draft.marker
        fields = {**draft.fields, **({marker.field: marker.value} if marker else {})}
        texts = values_of(fields, self._known_keys, marker.field if marker else "")
        if self._together.assets >= self._api.made_at_once - self._together.away:
            self._together, self._away = _Together(self._away), 0
        together = self._together
        together.assets += 1
        form = hiding_form(draft, self._api.client.decision_time())
        fresh = self._proven.new({form} - {""})
        collected = one_of(draft.placements, "collection")
        creates, looks, token = self._create_calls(draft, alone=bool(fresh))
        calls = Counter(
            {
                facts.UPLOAD_REQUEST: int(size is not None),
                facts.ADD_TO_COLLECTION if collected else facts.ADD_TO_LIBRARY: creates,
                facts.SECTION_ASSETS: looks,
                facts.ADD_VALUES: together.value_calls(texts),
                facts.ADD_TAGS: int(bool(draft.tags)),
                facts.PUT_ASSET: int((token and cleans(draft, self._api.options)) or form == DATED),
                facts.ASSET: int(together.assets == 1 or bool(wire.availability(draft.rights))) + len(fresh),
            }
        )
        return calls + self._once_calls(draft, marker.field if marker else "")

    def _create_calls(self, draft: Draft, *, alone: bool) -> tuple[int, int, bool]:
        """Creates, looks at the first shared one, and whether the asset carries a token."""
        if alone or draft.marker is None or self._api.options.tokens != "call":
            return 1, 0, True
        place = one_of(draft.placements, "collection"), one_of(draft.placements, "section")
        name, together = wire.name_of(draft) or draft.marker.value, self._together
        _, before = together.plan.number(place, name)
        alike = (place[1], known_as(name), draft.filename)
        token = before == 0 or alike in together.alike
        if before:
            together.alike.add(alike)
        return int(before == 0), len(self._proven.new({CALL}) if before else ()), token

    def _once_calls(self, draft: Draft, marker: str) -> Counter[str]:
        """The key of our marker, and the section for assets without one, if they are missing."""
        calls: Counter[str] = Counter()
        if marker and self._known_keys.named(marker) is None and marker not in self._counted_once:
            self._counted_once.add(marker)
            calls += Counter({facts.KEYS: 2, facts.ADD_KEY: 1})
        if not one_of(draft.placements, "section") and "section" not in self._counted_once:
            self._counted_once.add("section")
            places = self._containers.now
            if places is None:
                calls += Counter({facts.SECTIONS: 1, facts.COLLECTIONS: 1, facts.LABELS: 1})
            if place_key("section", (self._api.options.section,)) not in (places or {}):
                calls += Counter({facts.ADD_SECTION: 1})
        return calls

    def _patch_calls(self, patch: Patch) -> Counter[str]:
        """An existing value is replaced; how many there are is unknown before the asset is read."""
        wanted = values_of(patch.fields, self._known_keys)
        reads = bool(wanted or patch.tags_add or patch.tags_remove or patch.filename is not None)
        removes = int(bool(patch.tags_remove))
        dated = patch.rights is not None and wire.availability(patch.rights)
        seen = len(self._proven.new({CHANGED_DATES})) if dated else 0
        return Counter(
            {
                facts.ASSET: int(reads) + seen,
                facts.PUT_ASSET: int(bool(wire.patch_attributes(patch))) + int(bool(wire.opening(patch))),
                facts.PUT_VALUE: sum(len(texts) for texts in wanted.values()),
                facts.DELETE_VALUE: sum(not texts for texts in wanted.values()),
                facts.ADD_TAGS: int(bool(patch.tags_add)),
                facts.DELETE_TAGS: removes,
                facts.ASSET_TAGS: removes,
                facts.PUT_ATTACHMENT: int(patch.filename is not None),
            }
        )

    @property
    def _known_keys(self) -> Keys:
        """The keys; lists refuse nothing that a plan would only have added."""
        known = self._tenant.keys.now or Keys()
        if not self._extended:
            return known
        return replace(known, rows=tuple(replace(row, restricted=False) for row in known.rows))


@dataclass(slots=True)
class _Together:
    """Assets that are created at the same time and share calls. away: how many fewer these are, because those created
    before them are not complete; alike: those without a token; values: their number by key."""

    away: int = 0
    assets: int = 0
    plan: CallPlan = field(default_factory=CallPlan)
    alike: set[tuple[str, str, str]] = field(default_factory=set)
    values: Counter[str] = field(default_factory=Counter)

    def value_calls(self, texts: Mapping[str, tuple[str, ...]]) -> int:
        """Calls for values, which are combined key by key."""
        calls = 0
        for key, some in texts.items():
            before = self.values[key]
            self.values[key] += len(some)
            calls += -(-self.values[key] // facts.VALUE_BATCH) - -(-before // facts.VALUE_BATCH)
        return calls
