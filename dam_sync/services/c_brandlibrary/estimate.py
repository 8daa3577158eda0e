"""Estimates the API calls of writes at service C, if no response is lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from dam_sync.model.asset import Draft, FileRef, Patch, Placement
from dam_sync.model.errors import Rejected
from dam_sync.model.service import Attachment, Calls, Change, Context, Renaming, TrashMove
from dam_sync.model.values import Term
from dam_sync.services.c_brandlibrary import facts
from dam_sync.services.c_brandlibrary.codec import wire
from dam_sync.services.c_brandlibrary.codec.fields import Keys
from dam_sync.services.c_brandlibrary.target.create import DATED, cleans, hiding_form
from dam_sync.services.c_brandlibrary.target.plan import one_of, values_of
from dam_sync.services.c_brandlibrary.taxonomy import BrandLibraryTaxonomy, place_key

KINDS = {"section": facts.ADD_SECTION, "collection": facts.ADD_COLLECTION, "label": facts.ADD_LABEL}


class BrandLibraryEstimate(BrandLibraryTaxonomy):
    """Needs `schema()` to have been read. What is created once for all assets is counted once."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._counted_once: set[str] = set()
        self._made_together = 0  # of those made at the same time, who share calls
        self._values_together: Counter[str] = Counter()  # their values by key
        self._extended = False  # a plan has counted terms that no list has yet

    def estimate_saved(self, change: Change) -> Calls:
        """See `Service.estimate_saved`."""
        if isinstance(change, Patch):
            return {facts.ASSET: self.estimate(change).get(facts.ASSET, 0)}
        return {facts.ASSET: 1} if isinstance(change, FileRef) else {}

    def estimate(self, change: Change, size: int = 0) -> Calls:
        """Exact once `schema()` was read, except for patches, whose calls depend on existing values, and for files
        that the service processes slowly; what would be refused before its first call costs nothing."""
        try:
            return +self._calls_of(change, size)
        except Rejected:
            return {}

    def _calls_of(self, change: Change, size: int) -> Counter[str]:
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

    def _draft_calls(self, draft: Draft, size: int) -> Counter[str]:
        marker = draft.marker
        fields = {**draft.fields, **({marker.field: marker.value} if marker else {})}
        texts = values_of(fields, self._known_keys, marker.field if marker else "")
        shared, self._made_together = self._made_together, (self._made_together + 1) % self._api.made_at_once
        if shared == 0:
            self._values_together.clear()
        form = hiding_form(draft, self._api.clock.now())
        looked = {form} - {""}
        collected = bool(one_of(draft.placements, "collection"))
        calls = Counter(
            {
                facts.UPLOAD_REQUEST: int(size > 0),
                facts.ADD_TO_COLLECTION if collected else facts.ADD_TO_LIBRARY: 1,
                facts.ADD_VALUES: self._value_calls(texts),
                facts.ADD_TAGS: int(bool(draft.tags)),
                facts.PUT_ASSET: int(cleans(draft, self._api.options) or form == DATED),
                facts.ASSET: int(shared == 0 or bool(wire.availability(draft.rights))) + len(self._proven.new(looked)),
            }
        )
        return calls + self._once_calls(draft, marker.field if marker else "")

    def _value_calls(self, texts: Mapping[str, tuple[str, ...]]) -> int:
        """Calls for values; those of assets created at the same time are combined, key by key."""
        calls = 0
        for key, some in texts.items():
            before = self._values_together[key]
            self._values_together[key] += len(some)
            calls += -(-self._values_together[key] // facts.VALUE_BATCH) - -(-before // facts.VALUE_BATCH)
        return calls

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
        return Counter(
            {
                facts.ASSET: int(reads),
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
