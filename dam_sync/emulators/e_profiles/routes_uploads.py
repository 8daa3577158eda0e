"""Uploads: the v2 form, chunk sessions, the v1 form."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

from dam_sync.emulators.e_profiles.calls import Call, Reply
from dam_sync.emulators.e_profiles.forms import Form, read_form
from dam_sync.emulators.e_profiles.records import Profile, Refusal, instant
from dam_sync.emulators.e_profiles.state import Tenant
from dam_sync.emulators.e_profiles.uploads import Uploads
from dam_sync.emulators.kit.environment import Json
from dam_sync.emulators.kit.object_store import Blob


class UploadCalls:
    """Handlers under `/v2/uploads`, and `POST /api/rest/asset`."""

    def __init__(self, tenant: Tenant, uploads: Uploads) -> None:
        self._tenant = tenant
        self._uploads = uploads

    async def create(self, call: Call) -> Reply:
        """`POST /v2/uploads`: the response has only `_links.self` (wire E 6.2)."""
        form = await self._form(call, self._tenant.options.form_most)
        profile = form.need("profile")
        if sum((form.blob is not None, "url" in form.text, "file_id" in form.text)) != 1:
            raise Refusal(400, "invalid_request", "One of `file`, `url` and `file_id` is required")
        blob, named = await self._source(form)
        filename = form.text.get("filename") or named
        draft = self._uploads.draft(profile, filename, form.text.get("metadata", ""), blob)
        asset = self._uploads.create(draft, call.user, queued="queue" in call.plays)
        if blob is self._uploads.awaited:
            self._uploads.fetch_later(form.text["url"], asset)
        return Reply(201, {"_links": {"self": f"{self._tenant.world.api_origin}/v2/assets/{asset.id}"}})

    async def create_v1(self, call: Call) -> Reply:
        """`POST /api/rest/asset`: at most 5 GB."""
        form = await self._form(call, self._tenant.options.v1_most)
        wanted = form.need("uploadProfileUUID")
        profile = next((each for each in self._tenant.profiles.values() if each.id == wanted), None)
        if profile is None or form.blob is None:
            raise Refusal(400, "invalid_request", "`uploadProfileUUID` and `file` are required")
        draft = self._uploads.draft(profile.name, form.text.get("filename") or form.filename, "", form.blob)
        return Reply(200, {"uuid": self._uploads.create(draft, call.user).id})

    async def profiles(self, call: Call) -> Reply:
        """`GET /v2/uploads/profiles`: an array; no policy, no defaults in it (wire E 5.6)."""
        rows = [
            {
                "name": profile.name,
                "metadata_type": profile.type,
                "asset_groups": list(profile.groups),
                **self._immediate(profile),
                "release_date": instant(profile.release),
            }
            for profile in self._tenant.profiles.values()
        ]
        return Reply(200, rows)

    def _immediate(self, profile: Profile) -> dict[str, Json]:
        if "unsaid_release" in self._tenant.options.plays:
            return {}
        return {"immediate_release": profile.immediate and profile.release is None}

    async def start(self, call: Call) -> Reply:
        """`POST /v2/uploads/chunks/start`."""
        return Reply(200, {"session_id": self._uploads.begin()})

    async def chunk(self, call: Call) -> Reply:
        """`POST /v2/uploads/chunks/upload`."""
        self._uploads.enter()
        try:
            form = await self._form(call, self._tenant.options.chunk_most)
            session = self._uploads.session(form.need("session_id"))
            if form.blob is None:
                raise Refusal(400, "invalid_request", "The part `file` is missing")
            tag = self._uploads.put(session, form.text.get("chunk_number", ""), form.blob)
        finally:
            self._uploads.leave()
        return Reply(200, {"tag": tag})

    async def complete(self, call: Call) -> Reply:
        """`POST /v2/uploads/chunks/complete`."""
        sent = await call.json()
        session = self._uploads.session(str(sent.get("session_id", "")))
        return Reply(200, {"file_id": self._uploads.complete(session, sent.get("tags"))})

    async def status(self, call: Call) -> Reply:
        """`POST /v2/uploads/chunks/status`."""
        session = self._uploads.session(str((await call.json()).get("session_id", "")))
        rows = [{"chunk_number": number, "tag": tag} for number, (tag, _) in sorted(session.chunks.items())]
        return Reply(200, {"chunks": rows})

    async def _form(self, call: Call, most: int) -> Form:
        return await read_form(call.header("content-type"), call.body(), self._tenant.objects, most)

    async def _source(self, form: Form) -> tuple[Blob, str]:
        """The bytes and the name they came with."""
        if form.blob is not None:
            return form.blob, form.filename
        if "file_id" in form.text:
            return self._uploads.file(form.text["file_id"]), ""
        url = form.text["url"]
        if urlsplit(url).scheme not in ("http", "https"):
            raise Refusal(400, "invalid_request", "`url` must be public")
        named = unquote(urlsplit(url).path.rpartition("/")[2])
        if "late_fetch" in self._tenant.options.plays:
            return self._uploads.awaited, named
        blob = await self._uploads.fetched(url)
        if blob is None:
            raise Refusal(400, "invalid_request", "`url` could not be read")
        return blob, named
