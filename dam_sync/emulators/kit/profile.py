"""How an emulated service is tried: credentials, options, and what must not be expected of it.

Every service exports one as `emulator/trial.py: TRIAL`; the conformance and end-to-end suites and the demo read it, so
a new service needs no line outside its folder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Auth = Mapping[str, str]
PUBLIC = frozenset({"flow", "login", "username", "user", "algorithm", "client_id", "token_url", "form", "grant"})


@dataclass(frozen=True)
class Profile:
    """One service. auth: ways in that the emulator opens to, the first is the usual one; denied: one it does not.
    `{url}` in a credential is the emulator's address.

    options, emulated: of the adapter and of its emulator. prefix: what the emulator puts before a catalogue's field
    keys. containers: which kind of container holds the catalogue's folders, labels and collections, by those words.
    fixed: kinds of container and vocabularies that no call adds to. refuses: what the contract lets it refuse as
    Unsupported (`fileless`: an asset without a file; `names`: characters to avoid in one reading of its contract), or
    as Rejected (`empty`: a file of no bytes in one reading).
    quiet: what it does not publish (`digests`; `values`: how many a field has, so that the cost of other values is not
    known; `order`: in which order several values of a field were written).
    undigested: calls that download files whose digests it does not publish, though it does those of others.
    overlaps: its shards share the rows at their borders, which come twice (runs keep rows by id). listing: the
    calls that list assets, as faults match them. reads: calls that only read, though their method is that of a write.
    relation: a kind of relation it has, where not any will do. opening: API calls that opening a file costs. second:
    options of the adapter under the second reading. readings: variants of the emulator that are not part of `second`
    and that the adapter must pass as well. fitting: options of the adapter that fit the emulator whatever it holds.
    lean: options that leave out calls for each row. limits: those of a connection made small, so that a listing's reach
    can be met in a test; narrow, narrow_emulated: options that go with them. demo: options of the adapter and of the
    emulator (`demo_emulated`) for `make demo`. part: bytes of a part, where tests upload a file in parts that are made
    small; parted, parted_emulated: options that go with it. uses_up: the step that records which uploaded file a create
    may have used up, so that another sends it again. plays: what the emulator plays of its own (`play:WORD`) with calls
    of a target, by globs on `METHOD /template`. appends: PUTs that add something each time which no call takes away, so
    that a network that delivers one twice doubles it. optional: calls whose refusal (403, 404) means by its contract
    that the account lacks the feature, so that only the next run moves what was refused for a while. naming: options
    that name parts of a tenant, and that adapter and emulator have both, with what the adapter takes where a job says
    nothing.
    """

    auth: tuple[Auth, ...]
    denied: Auth
    containers: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    emulated: Mapping[str, Any] = field(default_factory=dict)
    prefix: str = ""
    fixed: frozenset[str] = frozenset()
    refuses: frozenset[str] = frozenset()
    quiet: frozenset[str] = frozenset()
    undigested: frozenset[str] = frozenset()
    overlaps: bool = False
    listing: str = "GET *search*"
    reads: frozenset[str] = frozenset()
    relation: str = ""
    opening: int = 0
    second: Mapping[str, Any] = field(default_factory=dict)
    readings: Sequence[str] = ()
    fitting: Mapping[str, Any] = field(default_factory=dict)
    lean: Mapping[str, Any] = field(default_factory=dict)
    limits: Mapping[str, int] = field(default_factory=dict)
    narrow: Mapping[str, Any] = field(default_factory=dict)
    narrow_emulated: Mapping[str, Any] = field(default_factory=dict)
    demo: Mapping[str, Any] = field(default_factory=dict)
    demo_emulated: Mapping[str, Any] = field(default_factory=dict)
    part: int = 50_000
    parted: Mapping[str, Any] = field(default_factory=dict)
    parted_emulated: Mapping[str, Any] = field(default_factory=dict)
    uses_up: str = ""
    appends: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()
    plays: Mapping[str, Sequence[str]] = field(default_factory=dict)
    naming: Mapping[str, Any] = field(default_factory=dict)

    @property
    def secrets(self) -> frozenset[str]:
        """Texts that must never be shown."""
        ways = (*self.auth, self.denied)
        return frozenset(text for way in ways for key, text in way.items() if key not in PUBLIC)
