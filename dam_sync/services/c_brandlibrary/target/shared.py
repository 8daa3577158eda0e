"""Creates of several assets by one call (wire C 6.3): who shares a call, what each has to remember before it is sent,
and which of the created assets is whose."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import datetime

from dam_sync.aio.coalescing import TIMEOUT, CallParticipant, RequestCoalescer
from dam_sync.aio.single_flight import KeyedLock, gather_or_raise
from dam_sync.http.dates import parse_timestamp
from dam_sync.http.interpreting import interprets_response
from dam_sync.model.errors import (
    ContractBroken,
    DamSyncError,
    Denied,
    IntegrityError,
    Rejected,
    Throttled,
    Transient,
)
from dam_sync.model.journal import note_fact
from dam_sync.model.ports import Journal
from dam_sync.model.values import Json, instant_text, parse_instant
from dam_sync.services.c_brandlibrary import facts
from dam_sync.services.c_brandlibrary.api import BrandLibraryApi, newest_first
from dam_sync.services.c_brandlibrary.codec import marks, wire
from dam_sync.services.c_brandlibrary.codec.envelope import document_of
from dam_sync.services.c_brandlibrary.codec.values import composed

CALL = "call"  # the journal entry of an asset that a shared call creates without a token of its own
SHORTENED = 20  # characters, from which on a name that begins like ours may be ours, cut by the service
MOST_REFUSED = 2  # shared calls, before assets are created one by one for the rest of the run
READ_BACK = (("include", "attachments"),)


@dataclass(slots=True)
class CallPlan:
    """Which of the assets that are created at the same time share a call: those of one place, no two of one name."""

    calls: dict[Hashable, list[set[str]]] = field(default_factory=dict)

    def number(self, place: Hashable, name: str) -> tuple[int, int]:
        """The number of its call among those of this place, and how many assets that call had before."""
        calls, known = self.calls.setdefault(place, []), known_as(name)
        for number, names in enumerate(calls):
            if known not in names and len(names) < facts.CREATE_BATCH:
                names.add(known)
                return number, len(names) - 1
        calls.append({known})
        return len(calls) - 1, 0


def known_as(name: str) -> str:
    """A name as far as it distinguishes assets, whatever the service composes, trims and cuts."""
    return composed(name).strip().casefold()[: 2 * SHORTENED]


@dataclass(frozen=True, slots=True)
class Creation:
    """An asset that is to be created. home: the collection or the library to whose assets it is added; size: of its
    file, None without one and where the service fetches it."""

    new: wire.NewAsset
    operation: str
    home: str
    section: str
    size: int | None
    journal: Journal

    @property
    def owner(self) -> str:
        """The value of its marker."""
        return self.new.draft.marker.value if self.new.draft.marker else ""

    @property
    def name(self) -> str:
        """The name that is sent."""
        return wire.name_of(self.new.draft) or self.owner

    @property
    def file(self) -> str:
        """The name of its file; empty without one."""
        return self.new.upload.filename if self.new.upload else ""

    @property
    def has_link(self) -> bool:
        """Whether the service fetches its file."""
        return self.new.upload is not None and self.size is None

    @property
    def place(self) -> tuple[str, str, str]:
        """What assets that share a call have in common."""
        return self.operation, self.home, self.section

    @property
    def likeness(self) -> tuple[str, str, str]:
        """What it is recognized by until it has its marker."""
        return self.section, known_as(self.name), composed(self.file)


@dataclass(frozen=True, slots=True)
class SharedCall:
    """What an asset without a token remembers of the call that may have created it. lead: the marker of the asset that
    carries the token of the call; size: as in `Creation`; only: whether no other asset without a marker had a file of
    this name."""

    at: datetime
    lead: str
    section: str
    name: str
    file: str
    size: int | None
    only: bool

    @classmethod
    def of(cls, fact: Json) -> SharedCall | None:
        """From the journal; None if there is none."""
        if not isinstance(fact, dict):
            return None
        named = fact["section"], fact["name"], fact["file"]
        return cls(parse_instant(fact["at"]), fact["lead"], *named, fact["size"], fact["only"])

    @interprets_response
    def fits(self, row: Json, marker: str, lead: Json) -> bool:
        """Whether this may be the asset: with its file, without any marker, created by this call.

        lead: the asset with the token of the call, if it was found.
        """
        attributes, files = row["attributes"], wire.attachments_of(row)
        if marks.token_in(attributes.get("description")) or wire.values_of(row).get(marker):
            return False
        if len(files) > 1 or not self._has_file(files[0]["attributes"] if files else {}):
            return False
        return self._is_of_then(parse_timestamp(attributes.get("created_at")), lead)

    @interprets_response
    def is_named(self, row: Json) -> bool:
        """Whether it has the name that was sent."""
        return same_name(str(row["attributes"].get("name") or ""), self.name)

    def _has_file(self, attributes: Mapping[str, Json]) -> bool:
        size = attributes.get("size")
        named = composed(str(attributes.get("filename") or "")) == composed(self.file)
        return named and (None in (size, self.size) or size == self.size)

    def _is_of_then(self, created: datetime | None, lead: Json) -> bool:
        """By the clock of the service if the token was found, otherwise by ours."""
        first = parse_timestamp(lead["attributes"].get("created_at")) if lead is not None else None
        if created is None:
            return True
        if first is not None:
            return abs(created - first) <= facts.CALL_SPAN
        return abs(created - self.at) <= facts.EARLIER + facts.CALL_SPAN


def same_name(shown: str, sent: str) -> bool:
    """Whether the service shows this name for the one that was sent; it may trim it, or cut it."""
    here, there = composed(shown).strip(), composed(sent).strip()
    return here == there or (len(here) >= SHORTENED and there.startswith(here))


class SharedCallFailed(Exception):
    """A call shared with other assets failed: what it created is unknown, and only some may be to blame."""

    def __init__(self, error: Rejected | Denied | Transient) -> None:
        super().__init__(error.message)
        self.error = error


Result = str | Exception | None
"""The id of the created asset, why it was not created, or None: it needs a call of its own."""


class SharedCreates:
    """Creates the assets of one library that are written at the same time. One asset of each call carries its token;
    the others are known by their names until they have their markers, so that no two of one name are without."""

    def __init__(self, api: BrandLibraryApi) -> None:
        self._api = api
        self._enabled = api.options.tokens == "call"
        self._proven = False
        self._turns = KeyedLock()
        self._refused = 0  # shared calls before one was accepted
        self._unmarked: dict[tuple[str, str, str], str] = {}  # owners by likeness
        look = api.options.first_look
        timeout, join_seconds = max(TIMEOUT, look), max(facts.CREATE_JOIN_SECONDS, facts.JOIN_PART * look)
        self._calls = RequestCoalescer[Creation, Result](api.clock, self._send, api.made_at_once, join_seconds, timeout)

    @contextmanager
    def participant(self) -> Iterator[CallParticipant]:
        """While an asset is created, until it is complete."""
        with self._calls.participant() as participant:
            yield participant

    def progressed(self) -> None:
        """An asset that was created is being completed: the next calls wait for those that follow it."""
        self._calls.progressed()

    async def created(self, creation: Creation, participant: CallParticipant) -> str | None:
        """The id of the asset; None if it is to be created by a call of its own. Raises SharedCallFailed, and what its
        call raises if it turned out to have no other."""
        if not self._enabled or not creation.owner:
            return None
        result = await self._calls.ask(creation, participant)
        if isinstance(result, Exception):
            raise result
        return result

    def release(self, creation: Creation) -> None:
        """It has its marker, or a token of its own: nothing else need distinguish it."""
        if self._unmarked.get(creation.likeness) == creation.owner:
            del self._unmarked[creation.likeness]

    async def _send(self, several: Sequence[Creation]) -> Sequence[Result]:
        plan, calls = CallPlan(), dict[Hashable, list[int]]()
        for index, creation in enumerate(several):
            place = creation.place
            calls.setdefault((place, plan.number(place, creation.name)[0]), []).append(index)
        sent = [self._with_tokens([several[index] for index in indices]) for indices in calls.values()]
        found: dict[int, Result] = {}

        async def create(indices: Sequence[int], call: Sequence[Creation]) -> None:
            try:
                results = await self._checked(call)
            except DamSyncError as error:  # says nothing of the calls that are sent at the same time
                results = [copy(error) for _ in call]
            found.update(zip(indices, results, strict=True))

        await gather_or_raise([create(*each) for each in zip(calls.values(), sent, strict=True)])
        return [found[index] for index in range(len(several))]

    def _with_tokens(self, call: Sequence[Creation]) -> list[Creation]:
        """The first asset gets a token, and those that nothing else would distinguish from another one."""
        marked = [call[0]]
        for creation in call[1:]:
            free = self._unmarked.setdefault(creation.likeness, creation.owner) == creation.owner
            token = self._api.options.keep_marker or not free
            marked.append(replace(creation, new=replace(creation.new, token=token)))
        return marked

    async def _checked(self, call: Sequence[Creation]) -> Sequence[Result]:
        """The first shared call of a run is read back before another one is sent."""
        if self._proven or len(call) == 1:
            return await self._created(call)
        async with self._turns.of(""):
            if not self._enabled:
                return [None] * len(call)
            results = await self._created(call)
            if not self._proven and any(isinstance(result, str) for result in results):
                with suppress(DamSyncError):  # the assets exist whatever it says: the next call is read back
                    return await self._verified(call, results)
            return results

    async def _created(self, call: Sequence[Creation]) -> Sequence[Result]:
        lead = call[0]
        try:
            await gather_or_raise([self._note(creation, lead.owner) for creation in call])
            body = wire.create_body([creation.new for creation in call], lead.section)
            reply = await self._api.write(lead.operation, (lead.home,), body)
            rows = document_of(reply.json(), lead.operation).rows
        except (Rejected, Denied, Transient) as error:
            if isinstance(error, Denied) and not any(creation.has_link for creation in call):
                raise  # it is the key
            if len(call) == 1 or isinstance(error, Throttled):  # nothing was created, or nobody else is to blame
                return [copy(error) for _ in call]
            self._refused += not isinstance(error, Transient) and not self._proven
            self._enabled = self._enabled and self._refused < MOST_REFUSED
            return [SharedCallFailed(copy(error)) for _ in call]
        return self._assigned(call, rows)

    async def _note(self, creation: Creation, lead: str) -> None:
        """Durably, before the call is sent: what an asset without a token is recognized by."""
        if await creation.journal.get(CALL) is not None:
            await creation.journal.discard(CALL)
        if creation.new.token:
            return
        alike = [key for key in self._unmarked if (key[0], key[2]) == (creation.section, creation.likeness[2])]
        fact = {
            "at": instant_text(self._api.clock.now()),
            "lead": lead,
            "section": creation.section,
            "name": creation.name,
            "file": creation.file,
            "size": creation.size,
            "only": len(alike) == 1,
        }
        await note_fact(creation.journal, CALL, fact)

    def _assigned(self, call: Sequence[Creation], rows: Sequence[Json]) -> Sequence[Result]:
        """By name, and by position where the service spells a name its own way but keeps the order. An asset that the
        response does not name may exist or not."""
        ids = assigned([creation.name for creation in call], rows)
        if None not in ids:
            return ids
        text = f"{len(call)} assets were to be created but the response names {len(rows)}"
        if len(call) == 1:
            raise ContractBroken(text, operation=call[0].operation)
        self._enabled = False
        error = Transient(text, operation=call[0].operation)
        return [identity or SharedCallFailed(copy(error)) for identity in ids]

    async def _verified(self, call: Sequence[Creation], results: Sequence[Result]) -> Sequence[Result]:
        """Each asset must have its own name, file and section; one that has not is not used, and no further calls are
        shared."""
        asked = (*newest_first(1, facts.RECENT_PAGE), *READ_BACK)
        document = await self._api.listed(facts.SECTION_ASSETS, (call[0].section,), asked)
        rows = {row["id"]: row for row in document.rows}
        seen = [rows.get(result) if isinstance(result, str) else None for result in results]
        wrong = [row is not None and not is_as_sent(row, one) for row, one in zip(seen, call, strict=True)]
        self._proven = not any(wrong) and all(row is not None for row in seen)
        self._enabled = self._enabled and not any(wrong)
        return [_mixed_up(one, at) if bad else at for bad, one, at in zip(wrong, call, results, strict=True)]


@interprets_response
def assigned(names: Sequence[str], rows: Sequence[Json]) -> list[str | None]:
    """The ids of assets that were created with these names, no two of them equal."""
    shown = [composed(str(row["attributes"].get("name") or "")).strip() for row in rows]
    known = {name: str(row["id"]) for name, row in zip(shown, rows, strict=True) if shown.count(name) == 1}
    found = [known.get(composed(name).strip()) for name in names]
    in_order = len(rows) == len(names) and all(
        identity in (None, str(row["id"])) for identity, row in zip(found, rows, strict=True)
    )
    if not in_order:
        return found
    return [str(row["id"]) for row in rows]


@interprets_response
def is_as_sent(row: Json, creation: Creation) -> bool:
    """Whether an asset has the name and the file of this creation."""
    files = wire.attachments_of(row)
    file = composed(str(files[0]["attributes"].get("filename") or "")) if files else ""
    named = same_name(str(row["attributes"].get("name") or ""), creation.name)
    return named and (file == composed(creation.file) if "attachments" in row["related"] else True)


def _mixed_up(creation: Creation, made: Result) -> DamSyncError:
    return IntegrityError(
        f"several assets were created by one call, and {made} has the name or the file of another",
        operation=creation.operation,
        hint="delete it, set `options: {tokens: asset}`, then `errors JOB --retry`",
    )
