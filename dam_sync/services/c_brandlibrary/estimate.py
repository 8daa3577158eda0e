"""What a write has of the parts whose costs are in `facts.COSTS`, at service C."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from dam_sync.model.asset import Draft, FileRef, Patch
from dam_sync.model.costs import Amounts, CostPart, PlanMemory
from dam_sync.model.values import Term
from dam_sync.model.writes import Change
from dam_sync.services.c_brandlibrary import facts
from dam_sync.services.c_brandlibrary.codec import wire
from dam_sync.services.c_brandlibrary.codec.fields import Keys
from dam_sync.services.c_brandlibrary.target.create import DATED, cleans, hiding_form
from dam_sync.services.c_brandlibrary.target.plan import one_of, values_of
from dam_sync.services.c_brandlibrary.target.shared import CALL, known_as
from dam_sync.services.c_brandlibrary.target.update import CHANGED_DATES
from dam_sync.services.c_brandlibrary.taxonomy import BrandLibraryTaxonomy, place_key

LISTS = "lists"  # a plan has counted terms that no list has yet


class BrandLibraryEstimate(BrandLibraryTaxonomy):
    """Exact once `schema()` was read and if no response is lost, but for patches, whose calls depend on the values that
    are there, and for files that the service processes slowly."""

    def amounts(self, change: Change, counted: Amounts, planned: PlanMemory) -> Amounts:
        match change:
            case Draft():
                return counted + self._draft_amounts(change, planned)
            case Patch():
                return counted + self._patch_amounts(change, planned)
            case FileRef():
                grows = counted[CostPart.FIRST_VERSION]
                return counted + (_looks("versions", planned.together) if grows else Counter({facts.OLD_VERSION: 1}))
            case Term():
                planned.first(LISTS)
                return counted
            case _:
                return counted

    def _draft_amounts(self, draft: Draft, planned: PlanMemory) -> Amounts:
        marker = draft.marker
        fields = {**draft.fields, **({marker.field: marker.value} if marker else {})}
        texts = values_of(fields, self._keys_of(planned), marker.field if marker else "")
        form = hiding_form(draft, self._api.client.decision_time())
        fresh = planned.new(self._proven.unproven({form} - {""}))
        found, token = _create_amounts(draft, planned) if self._shares(draft) and not fresh else (_call(draft), True)
        cleaned = (token and cleans(draft, self._api.options)) or form == DATED
        found += Counter({facts.PUT: int(cleaned), facts.PROOF: len(fresh)})
        found += _looks("created", planned.together, dated=bool(wire.availability(draft.rights)))
        found[facts.VALUE_CALL] = sum(
            not planned.together.join(key, facts.VALUE_BATCH) for key, some in texts.items() for _ in some
        )
        if found[facts.SHARED_SEEN]:
            found[facts.SHARED_SEEN] = len(planned.new(self._proven.unproven({CALL})))
        return found + self._once_amounts(draft, marker.field if marker else "", planned)

    def _shares(self, draft: Draft) -> bool:
        return draft.marker is not None and self._api.options.tokens == "call"

    def _once_amounts(self, draft: Draft, marker: str, planned: PlanMemory) -> Amounts:
        """The key of our marker, and the section for assets without one, if they are missing."""
        found = Counter[str]()
        if marker and self._known_keys.named(marker) is None and planned.first(("marker", marker)):
            found[facts.NEW_MARKER] = 1
        if not one_of(draft.placements, "section") and planned.first("section"):
            places = self._containers.now
            found[facts.CONTAINERS_UNREAD] = int(places is None)
            found[facts.NEW_SECTION] = place_key("section", (self._api.options.section,)) not in (places or {})
        return found

    def _patch_amounts(self, patch: Patch, planned: PlanMemory) -> Amounts:
        """An existing value is replaced; how many there are is unknown before the asset is read."""
        wanted = values_of(patch.fields, self._keys_of(planned))
        reads = bool(wanted or patch.tags_add or patch.tags_remove or patch.filename is not None)
        dated = patch.rights is not None and wire.availability(patch.rights)
        proofs = planned.new(self._proven.unproven({CHANGED_DATES})) if dated else ()
        return Counter(
            {
                facts.READ: int(reads),
                facts.PROOF: len(proofs),
                facts.ATTRIBUTES: int(bool(wire.patch_attributes(patch))) + int(bool(wire.opening(patch))),
                facts.VALUE_SET: sum(len(texts) for texts in wanted.values()),
                facts.VALUE_CLEARED: sum(not texts for texts in wanted.values()),
            }
        )

    def _keys_of(self, planned: PlanMemory) -> Keys:
        """The keys; lists refuse nothing that a plan would only have added."""
        if LISTS not in planned:
            return self._known_keys
        known = self._known_keys
        return replace(known, rows=tuple(replace(row, restricted=False) for row in known.rows))

    @property
    def _known_keys(self) -> Keys:
        return self._tenant.keys.now or Keys()


def _looks(what: str, together: PlanMemory, *, dated: bool = False) -> Amounts:
    """One asset is looked at; of several a list is read, which may lack dates, so that those with dates are looked at
    as well."""
    if together.first((what, "one")):
        together.new([(what, "dated")] if dated else [])
        return Counter({facts.SEEN: 1})
    listed = together.first((what, "several"))
    return Counter({facts.SEEN: int(dated) + int(listed and (what, "dated") in together), facts.LISTED: int(listed)})


def _call(draft: Draft) -> Amounts:
    return Counter({facts.CREATE_CALL_IN if one_of(draft.placements, "collection") else facts.CREATE_CALL: 1})


def _create_amounts(draft: Draft, planned: PlanMemory) -> tuple[Amounts, bool]:
    """A create that it shares with others of its place, and whether the asset carries a token."""
    assert draft.marker is not None
    place = one_of(draft.placements, "collection"), one_of(draft.placements, "section")
    name = known_as(wire.name_of(draft) or draft.marker.value)
    if not planned.together.join(("create", place), facts.CREATE_BATCH, name=name):
        return _call(draft), True
    alike = planned.together.first(("alike", place[1], name, draft.filename))
    return Counter({facts.SHARED_SEEN: 1}), not alike
