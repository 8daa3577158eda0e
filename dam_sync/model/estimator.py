"""Estimates the API calls of writes, and of opening files, from what a service states about its costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dam_sync.model.asset import Draft, FileRef
from dam_sync.model.costs import Amounts, Cost, CostPart, PlanMemory, counted, kind_of
from dam_sync.model.errors import Rejected
from dam_sync.model.service import Calls, Service
from dam_sync.model.values import Term
from dam_sync.model.writes import Change, Opening


class Estimator:
    """Estimates what is done at one service, in the order in which it will be done: what happens once in a run is
    counted with the first that needs it. Sends no call. Without costs everything is estimated to take none."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._lines: dict[str, list[Cost]] = {}
        for line in service.capabilities.costs or ():
            self._lines.setdefault(line.part, []).append(line)
        self._planned = PlanMemory()
        self._together = self._away = 0  # assets created at the same time; those before that are not complete
        self._growing = 0  # of those created at the same time, how many get versions

    def write(self, change: Change, size: int | None = None, *, just_read: bool = False) -> Calls:
        """Calls of a write; called after `schema()`. size: bytes of the file of a draft or an attachment, None without
        one. A write that would be refused before its first call takes none."""
        if isinstance(change, Term):
            return self.terms((change,))
        amounts = counted(change, size, self._service.limits)
        if isinstance(change, Draft):
            return self._created(change, amounts)
        return self._unless_refused(change, amounts, just_read=just_read) or {}

    def fetched(self, draft: Draft) -> Calls:
        """Calls of a `create` whose file the target fetches itself."""
        amounts = counted(draft, None, self._service.limits)
        amounts[CostPart.FETCHED] = 1
        return self._created(draft, amounts)

    def first_version(self, file: FileRef) -> Calls:
        """Calls of the first `replace` of an asset, right after its `create`."""
        self._growing += 1
        amounts = counted(file, None, self._service.limits)
        amounts[CostPart.FIRST_VERSION] = 1
        return self._unless_refused(file, amounts) or {}

    def terms(self, terms: Sequence[Term]) -> Calls:
        """Calls of `ensure_terms` for missing terms."""
        levels: Amounts = Counter({CostPart.TERM_LEVEL: len({max(1, len(term.path)) for term in terms})})
        calls = Counter[str]()
        for term in terms:
            calls.update(self._calls(term, counted(term, None, self._service.limits) + levels))
            levels = Counter()
        return calls

    def open(self, file: FileRef) -> Calls:
        """Calls of `open` from the first byte. Raises Rejected where the asset as read says that `open` will."""
        return self._calls(Opening(file), Counter({CostPart.OPENED: 1}))

    def link(self, file: FileRef) -> Calls | None:
        """Calls of `download_link`; None if there will be no link to this file."""
        try:
            return self._calls(Opening(file, link=True), Counter({CostPart.LINKED: 1}))
        except Rejected:
            return None

    def _created(self, draft: Draft, amounts: Amounts) -> Calls:
        """Assets that get further versions are not complete when the next ones begin: so many fewer are created with
        those."""
        if self._together >= self._service.capabilities.writers - self._away:
            self._together, self._away, self._growing = 0, self._growing, 0
            self._planned.together = PlanMemory()
        calls = self._unless_refused(draft, amounts)
        self._together += calls is not None
        return calls or {}

    def _unless_refused(self, change: Change, amounts: Amounts, *, just_read: bool = False) -> Calls | None:
        try:
            return self._calls(change, amounts, just_read=just_read)
        except Rejected:
            return None

    def _calls(self, change: Change, amounts: Amounts, *, just_read: bool = False) -> Calls:
        kind, calls = kind_of(change), Counter[str]()
        for part, number in self._service.amounts(change, amounts, self._planned).items():
            for line in self._lines.get(part, ()):
                if line.kind in ("", kind) and not (line.unread and just_read):
                    calls[line.call] += line.times * number
        return {call: number for call, number in calls.items() if number}
