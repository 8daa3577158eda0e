"""Downloads from service B: by the API, or for large files by the servlet (wire B 4)."""

from __future__ import annotations

from urllib.parse import quote

from dam_sync.http.client import HttpStream, Request
from dam_sync.model.asset import FileRef
from dam_sync.model.connector import Context
from dam_sync.model.errors import Denied, NotFound
from dam_sync.model.ports import Stream
from dam_sync.model.validator import NO_VALIDATOR, Validator
from dam_sync.services.b_documents import facts
from dam_sync.services.b_documents.api.client import document_path, refuse_invalid_id
from dam_sync.services.b_documents.tenant import DocumentsPart
from dam_sync.transfer.download import EmptyStream

PLAIN = {"Accept": "*/*"}


class DocumentsFiles(DocumentsPart):
    """Opens files by document and path inside it."""

    most_by_blob = facts.SERVLET_BYTES

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._without_servlet = False

    async def open(self, file: FileRef, offset: int = 0, validator: Validator = NO_VALIDATOR) -> Stream:
        """Bytes from `offset`, by an open-ended range, because the server does not clamp others. Raises NotFound."""
        uid, _, xpath = file.id.partition("/")
        if not xpath:
            raise NotFound("the file has no path in its document", asset=uid, operation=facts.BLOB)
        if offset and file.size is not None and offset >= file.size:
            return EmptyStream(offset, file.size)  # a range from there would return the whole file (wire B 4)
        if self.is_served(file):
            stream = await self._from_servlet(file, uid, xpath, offset, validator)
            if stream is not None:
                return stream
        path = document_path(uid, "@blob", quote(xpath, safe="/:"))
        request = Request(facts.BLOB, "GET", path, headers=PLAIN, asset=uid)
        return await self.api.client.stream(request, offset, validator)

    def is_served(self, file: FileRef) -> bool:
        """Whether the servlet is asked for a file, because it is large."""
        return not self._without_servlet and file.size is not None and file.size > self.most_by_blob

    async def _from_servlet(
        self, file: FileRef, uid: str, xpath: str, offset: int, validator: Validator
    ) -> HttpStream | None:
        """None if the servlet returns a login page instead (wire B 4), after which it is not used again, or nothing."""
        refuse_invalid_id(uid)
        repository = (await self.tenant.release.get()).repository
        name = quote(file.name or "file", safe="")
        path = f"/nxfile/{quote(repository, safe='')}/{uid}/{quote(xpath, safe='/:')}/{name}"
        try:
            request = Request(facts.SERVLET, "GET", path, headers=PLAIN, asset=uid)
            stream = await self.api.client.stream(request, offset, validator)
        except (Denied, NotFound) as refused:  # NotFound: from anonymous users, or the file is missing
            self._without_servlet = self._without_servlet or isinstance(refused, Denied)
            return None
        if stream.media_type == "text/html" and file.media_type != "text/html":
            await stream.aclose()
            self._without_servlet = True
            return None
        return stream
