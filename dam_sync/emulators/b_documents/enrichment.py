"""What the server works out by itself after a commit: renditions and extracted metadata (wire B 6.3)."""

from __future__ import annotations

from dam_sync.emulators.b_documents.records import Document, FileBlob
from dam_sync.emulators.b_documents.repository import Repository
from dam_sync.emulators.kit.environment import Json

VIEWS = (("Thumbnail", "Thumbnail size", 100), ("Small", "Small size", 480), ("Medium", "Medium size", 1000))


class Enrichment:
    """Fills `picture:*`, `imd:*`, `vid:*`, `aud:*` some seconds after a file came, moving the system token alone."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository

    def expect(self, doc: Document) -> None:
        """A file came or changed; the work is queued when the transaction commits."""
        file = doc.file
        if file is None or doc.is_version:
            return
        uid, options = doc.uid, self._repository.options
        self._repository.later(options.enrich, lambda: self._done(uid, file))
        if options.digest_lag:
            self._repository.later(options.digest_lag, lambda: self._hashed(uid, file))

    def ready(self, doc: Document) -> bool:
        """Whether the renditions are there."""
        return doc.file is None or "picture:views" in doc.props or not self._extracts(doc)

    def at_once(self, doc: Document) -> None:
        """Fill in now, for documents that were there before anybody called."""
        if doc.file is not None and not doc.is_version:
            doc.props |= self._extracted(doc, doc.file)

    def _done(self, uid: str, file: FileBlob) -> None:
        doc = self._repository.docs.get(uid)
        if doc is None or doc.file is not file or not self._extracts(doc):
            return
        with self._repository.transaction():
            self._repository.change(doc)
            doc.props |= self._extracted(doc, file)

    def _hashed(self, uid: str, file: FileBlob) -> None:
        doc = self._repository.docs.get(uid)
        if doc is None or doc.file is not file:
            return
        with self._repository.transaction():
            self._repository.change(doc)
            self._repository.tell("blobDigestUpdated", doc, "system")

    def _extracts(self, doc: Document) -> bool:
        return any(self._repository.types.has_facet(doc, facet) for facet in ("Picture", "Video", "Audio"))

    def _extracted(self, doc: Document, file: FileBlob) -> dict[str, Json]:
        types = self._repository.types
        width, height = 640 + file.blob.size % 4000, 480 + file.blob.size % 3000
        if types.has_facet(doc, "Picture"):
            info = {"width": width, "height": height, "depth": 8, "format": "JPEG", "colorSpace": "sRGB"}
            return {
                "picture:info": info, "picture:views": [self._view(file, *view) for view in VIEWS],
                "imd:pixel_xdimension": width, "imd:pixel_ydimension": height, "imd:color_space": "sRGB",
                "imd:description": "",
            }  # fmt: skip
        if types.has_facet(doc, "Video"):
            return {"vid:info": {"duration": 12.5, "width": width, "height": height, "format": "mp4", "frameRate": 25}}
        return {"aud:duration": 12.5} if types.has_facet(doc, "Audio") else {}

    def _view(self, file: FileBlob, title: str, description: str, width: int) -> Json:
        name = f"{title}_{file.name}"
        blob = self._repository.objects.generated(width * 3, f"view {title} {file.blob.id}")
        return {
            "title": title, "description": description, "tag": title.lower(), "width": width, "height": width,
            "filename": name, "content": FileBlob(name, "image/jpeg", blob), "info": None,
        }  # fmt: skip
