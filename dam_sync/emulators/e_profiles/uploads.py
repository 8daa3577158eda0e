"""Uploads to an emulated tenant: chunk sessions, profiles, and what happens when a file name exists (wire E 6)."""

from __future__ import annotations

import asyncio
import json
import math
from dataclasses import dataclass, field, replace

from dam_sync.emulators.e_profiles.metadata import Values
from dam_sync.emulators.e_profiles.records import Asset, Profile, Refusal, User, Version
from dam_sync.emulators.e_profiles.state import Tenant
from dam_sync.emulators.kit.environment import Json
from dam_sync.emulators.kit.fetching import UNREACHABLE
from dam_sync.emulators.kit.object_store import Blob, TooLong

SESSION_SECONDS = 7 * 86400
CHUNKS = 10_000
_SESSION = "eyJhbGciOiJIUzUxMiJ9."


@dataclass(slots=True)
class Session:
    """A chunk session: tag and bytes by chunk number; deadline in epoch seconds."""

    deadline: float
    chunks: dict[int, tuple[str, Blob]] = field(default_factory=dict)
    file_id: str = ""


@dataclass(frozen=True, slots=True)
class Draft:
    """What an upload asks for, checked."""

    profile: Profile
    filename: str
    values: Values
    blob: Blob


class Uploads:
    """Sessions and creations of one tenant."""

    def __init__(self, tenant: Tenant) -> None:
        self._tenant = tenant
        self._sessions: dict[str, Session] = {}
        self._files: dict[str, tuple[Blob, float]] = {}
        self._fetching: set[asyncio.Task[None]] = set()
        self.awaited = tenant.objects.generated(0, "awaited")  # stands for a file until it was fetched
        self.at_once = 0

    def begin(self) -> str:
        """A new session, good for 7 days. Raises Refusal 403 when the account has no chunked upload."""
        self._feature()
        now = self._now()
        for old in [key for key, session in self._sessions.items() if session.deadline < now]:
            ended = self._sessions.pop(old)
            for _, blob in () if ended.file_id else ended.chunks.values():  # else assets are made of them
                _give_up(blob)
        key = _SESSION + self._tenant.world.word(48)
        self._sessions[key] = Session(now + SESSION_SECONDS)
        return key

    def session(self, key: str) -> Session:
        """A session that lives. Raises Refusal 404."""
        self._feature()
        found = self._sessions.get(key)
        if found is None or found.deadline < self._now():
            raise Refusal(404, "session_not_found", "No such upload session, or it has expired")
        return found

    def open(self) -> dict[str, Session]:
        """Sessions that live and are not complete, by id."""
        now = self._now()
        return {key: one for key, one in self._sessions.items() if not one.file_id and now <= one.deadline}

    def files(self) -> dict[str, tuple[Blob, float]]:
        """Bytes and deadline of every file that may be named by an upload."""
        now = self._now()
        return {key: (blob, deadline) for key, (blob, deadline) in self._files.items() if now <= deadline}

    def enter(self) -> None:
        """One chunk operation more. Raises Refusal 429 for the 41st at once (spec 002, Limits, E)."""
        if self.at_once >= self._tenant.options.chunk_slots:
            raise Refusal(429, "too_many_chunks", "Too many chunk operations at once")
        self.at_once += 1

    def leave(self) -> None:
        """One chunk operation less."""
        self.at_once -= 1

    def put(self, session: Session, number: str, blob: Blob) -> str:
        """Store a chunk, replacing one of the same number; its tag. Raises Refusal 400."""
        if not number.isdigit() or not 1 <= int(number) <= CHUNKS:
            _give_up(blob)
            raise Refusal(400, "invalid_request", f"`chunk_number` must be from 1 to {CHUNKS}")
        if session.file_id:
            _give_up(blob)
            raise Refusal(409, "conflict", "The upload session is complete")
        old = session.chunks.get(int(number))
        if old is not None:
            _give_up(old[1])
        tag = self._tenant.world.word(32)
        session.chunks[int(number)] = (tag, blob)
        return tag

    def complete(self, session: Session, tags: Json) -> str:
        """Join the chunks in order of their numbers, without copying; the file id. Raises Refusal 400."""
        numbers = sorted(session.chunks)
        held = {tag for tag, _ in session.chunks.values()}
        if not isinstance(tags, list) or len(tags) != len(held) or set(map(str, tags)) != held:
            raise Refusal(400, "invalid_request", "`tags` must name every chunk of the session once")
        if not numbers or numbers != list(range(1, len(numbers) + 1)):
            raise Refusal(400, "invalid_request", "Chunks are missing")
        least = self._tenant.options.chunk_least
        for number in numbers[:-1]:
            if session.chunks[number][1].size < least:
                raise Refusal(400, "chunk_too_small", f"Chunk {number} has less than {least} bytes")
        if not session.file_id:
            session.file_id = self._tenant.world.word(24)
            blob = self._tenant.objects.joined([session.chunks[number][1] for number in numbers])
            self._files[session.file_id] = (blob, session.deadline)
        return session.file_id

    def file(self, file_id: str) -> Blob:
        """The bytes behind a file id, which lives as long as its session. Raises Refusal 400."""
        found = self._files.get(file_id)
        if found is None or found[1] < self._now():
            raise Refusal(400, "invalid_request", "Unknown `file_id`")
        return found[0]

    def draft(self, profile_name: str, filename: str, metadata: str, blob: Blob) -> Draft:
        """Check everything before anything is stored. Raises Refusal 400."""
        tenant = self._tenant
        profile = tenant.profiles.get(profile_name)
        if profile is None:
            raise Refusal(400, "invalid_request", f"Unknown upload profile {profile_name}")
        name = tenant.checked_name(filename, "filename")
        values = tenant.metadata.read(profile.type, _fields(metadata), creating=True)
        return Draft(profile, name, values, blob)

    def create(self, draft: Draft, user: User, *, queued: bool = False) -> Asset:
        """A new asset, or a new version, or an entry in the queue, as the profile's policy has it (wire E 6.7).

        queued: the policy was another one for a moment.
        """
        existing = self._tenant.named(draft.filename)
        if existing is None:
            return self._new(draft, user, conflicted=False)
        if "refuse_names" in self._tenant.options.plays:
            raise Refusal(409, "conflict", f"A file named {draft.filename} exists")
        if queued or draft.profile.version_policy == "none":
            return self._new(draft, user, conflicted=True)
        return self._version(existing, draft, user)

    async def fetched(self, url: str) -> Blob | None:
        """The file behind a URL; None if it cannot be read."""
        self._tenant.world.fetches += 1
        try:
            return await self._tenant.objects.put(self._tenant.world.fetch(url), self._tenant.options.v1_most)
        except (*UNREACHABLE, TooLong):
            return None

    def fetch_later(self, url: str, asset: Asset) -> None:
        """Fetch the current file of an asset after a while; it is pending until then, and for ever without it."""
        version = asset.current.id
        self._tenant.keep(replace(asset, ready=math.inf))
        self._tenant.after(self._tenant.options.processing, lambda: self._begin_fetch(url, asset.id, version))

    def _begin_fetch(self, url: str, asset: str, version: str) -> None:
        try:
            task = asyncio.get_running_loop().create_task(self._complete(url, asset, version))
        except RuntimeError:  # asked for by the dump, outside any loop: the next call will see to it
            self._tenant.after(self._tenant.options.processing, lambda: self._begin_fetch(url, asset, version))
            return
        self._fetching.add(task)
        task.add_done_callback(self._fetching.discard)

    async def _complete(self, url: str, key: str, version: str) -> None:
        blob = await self.fetched(url)
        asset = self._tenant.assets.get(key)
        if blob is None or asset is None or asset.deleted is not None:
            return
        versions = tuple(replace(each, blob=blob) if each.id == version else each for each in asset.versions)
        self._tenant.keep(replace(asset, versions=versions, ready=self._ready()))

    def _new(self, draft: Draft, user: User, *, conflicted: bool) -> Asset:
        tenant, profile, now = self._tenant, draft.profile, self._tenant.now()
        values = {**profile.defaults, **draft.values}
        asset = Asset(
            id=tenant.uuid(),
            external_id=tenant.world.word(10),
            type=profile.type,
            fields=tenant.metadata.complete(profile.type, values),
            versions=(tenant.first_version(draft.filename, draft.blob, now),),
            created=now,
            updated=now,
            groups=profile.groups,
            release=now if self._is_released(profile) else profile.release,
            expiration=profile.expiration,
            archived=profile.archive,
            conflicted=conflicted,
            categories=profile.categories,
            collections=profile.collections,
            ready=self._ready(),
        )
        for collection in profile.collections:
            tenant.taxonomy.collections[collection].assets.add(asset.id)
        tenant.keep(asset)
        if not conflicted:
            tenant.webhooks.created(asset, user)
        return asset

    def _is_released(self, profile: Profile) -> bool:
        immediate = profile.immediate and profile.release is None
        return immediate or "profile_releases" in self._tenant.options.plays

    def _version(self, existing: Asset, draft: Draft, user: User) -> Asset:
        """The existing metadata type is kept; its metadata, too, unless the policy takes the upload's."""
        tenant, now = self._tenant, self._tenant.now()
        if "late_versions" not in tenant.options.plays:
            return self._added(existing, draft, user, now)
        tenant.after(tenant.options.processing, lambda: self._arrived(existing.id, draft, user, now))
        return tenant.keep(replace(existing, ready=self._ready()))

    def _arrived(self, asset: str, draft: Draft, user: User, now: int) -> None:
        """A version that was taken up later; nothing happens when its asset is gone."""
        existing = self._tenant.assets.get(asset)
        if existing is not None:
            self._added(existing, draft, user, now)

    def _added(self, existing: Asset, draft: Draft, user: User, now: int) -> Asset:
        """The asset with one more version."""
        tenant = self._tenant
        number = existing.current.number + 1
        version = Version(tenant.uuid(), number, draft.filename, draft.blob, now)
        fields = existing.fields
        if draft.profile.version_policy == "file_and_information":
            new = {**draft.profile.defaults, **draft.values}
            fields = {key: new.get(key) or values for key, values in existing.fields.items()}
        late = "late_versions" in tenant.options.plays
        ready = existing.ready if late else self._ready()
        asset = replace(existing, versions=(*existing.versions, version), fields=fields, ready=ready)
        after = tenant.touched(asset)
        tenant.webhooks.versioned(after, user)
        return after

    def _ready(self) -> float:
        return self._now() + self._tenant.options.processing

    def _feature(self) -> None:
        if "no_chunks" in self._tenant.options.plays:
            raise Refusal(403, "forbidden", "Chunked upload is not enabled for this account. Please contact support.")

    def _now(self) -> float:
        return self._tenant.world.now().timestamp()


def _fields(metadata: str) -> Json:
    """`{"fields": {…}}`; the bare map is wrong (wire E 6.2)."""
    if not metadata:
        return {}
    try:
        sent = json.loads(metadata)
    except ValueError:
        sent = None
    if not isinstance(sent, dict) or not isinstance(sent.get("fields"), dict):
        raise Refusal(400, "invalid_request", "`metadata` must be a JSON object with `fields`")
    return sent["fields"]


def _give_up(blob: Blob) -> None:
    if blob.path is not None:
        blob.path.unlink(missing_ok=True)
