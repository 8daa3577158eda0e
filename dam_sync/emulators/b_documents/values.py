"""Property values as they come in JSON: coercion, blob references, what is dropped silently (wire B 6.4)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import unquote

from dam_sync.emulators.b_documents.batches import Batches
from dam_sync.emulators.b_documents.records import Document, FileBlob, Props, Refusal, User, instant, moment_of
from dam_sync.emulators.b_documents.repository import Repository
from dam_sync.emulators.b_documents.types import Field
from dam_sync.emulators.kit.environment import Json
from dam_sync.emulators.kit.object_store import Blob

SECURED = frozenset({"dc:created", "dc:modified", "dc:creator", "dc:contributors", "dc:lastContributor"})
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


class Unresolved:
    """A blob object that nothing recognises."""


UNRESOLVED: Final = Unresolved()


class Reader:
    """Reads the properties of one request; `used` are the batches it resolved, dropped when it ends."""

    def __init__(self, repository: Repository, batches: Batches, user: User, base: str) -> None:
        self.repository, self.batches, self.user, self.base = repository, batches, user, base
        self.used: set[str] = set()

    def properties(self, doc: Document, given: Mapping[str, Json]) -> Props:
        """The changes requested; unknown names and unresolved blobs are not among them. Raises 400."""
        fields, changes = self.repository.types.fields_of(doc), Props()
        for key, value in given.items():
            field = fields.get(key)
            if field is None:
                continue
            if key in SECURED and not self.user.administrator:
                raise Refusal(400, f"Cannot set the value of property: {key} since it is readonly")
            read = self.value(field, value, key)
            if read is not UNRESOLVED:
                changes[key] = read
        return changes

    def value(self, field: Field, given: Json, path: str) -> Json:
        """One value in the form it is kept. Raises 400."""
        if not field.many:
            return self._one(field, given, path)
        if given is None:
            return []
        if not isinstance(given, list):
            raise _wrong(path)
        read = [self._one(field, each, path) for each in given]
        return [None if each is UNRESOLVED else each for each in read]

    def _one(self, field: Field, given: Json, path: str) -> Json:
        if given is None:
            return None
        if field.type == "complex":
            return self._complex(field, given, path)
        if field.type == "blob":
            return self._blob(given, path)
        if field.type == "string" and isinstance(given, dict):
            return self._referred(given, path)
        try:
            return _SCALARS[field.type](given)
        except (ValueError, TypeError, OverflowError):
            raise _wrong(path) from None

    def _complex(self, field: Field, given: Json, path: str) -> Json:
        if not isinstance(given, dict):
            raise _wrong(path)
        made = {}
        for each in field.fields:
            read = self.value(each, given.get(each.name), f"{path}/{each.name}")
            made[each.name] = None if read is UNRESOLVED else read
        return made

    def _referred(self, given: Mapping[str, Json], path: str) -> Json:
        """A full entity is reduced to what is stored; a blob reference to the text of the blob."""
        if "upload-batch" in given:
            blob = self._blob(given, path)
            return blob.blob.read().decode("utf-8", "replace") if isinstance(blob, FileBlob) else None
        for key in ("id", "uid"):
            if "entity-type" in given and isinstance(given.get(key), str):
                return given[key]
        raise _wrong(path)

    def _blob(self, given: Json, path: str) -> FileBlob | Unresolved:
        if not isinstance(given, dict):
            raise _wrong(path)
        if "upload-batch" in given:
            return self._from_batch(given)
        if "providerId" in given and "key" in given:
            return self._by_key(given)
        for key in ("data", "blobUrl"):
            address = given.get(key)
            if isinstance(address, str) and address.startswith(("http://", "https://")):
                return self._copied(address)
        return self._inline(given) if isinstance(given.get("data"), str) else UNRESOLVED

    def _inline(self, given: Mapping[str, Json]) -> FileBlob:
        """A text sent as it is."""
        objects, data = self.repository.objects, given["data"].encode()
        path = objects.folder / objects.name()
        path.write_bytes(data)
        name, kind = given.get("name") or "blob", given.get("mime-type") or "text/plain"
        return FileBlob(str(name), str(kind), objects.adopt(Blob(path.name, len(data), path)))

    def _from_batch(self, given: Mapping[str, Json]) -> FileBlob | Unresolved:
        batch, index = given.get("upload-batch"), given.get("upload-fileId")
        if not isinstance(batch, str) or not isinstance(index, str):
            return UNRESOLVED
        self.used.add(batch)
        return self.batches.file(batch, index) or UNRESOLVED

    def _copied(self, address: str) -> FileBlob | Unresolved:
        """A copy of a blob of this very server. Raises 400 when it is not there."""
        head = f"{self.base}/nxfile/default/"
        if not address.startswith(head):
            return UNRESOLVED
        uid, _, rest = unquote(address.removeprefix(head).partition("?")[0]).partition("/")
        doc = self.repository.docs.get(uid)
        found = blob_at(doc, rest.rpartition("/")[0] or rest or "file:content") if doc else None
        if found is None:
            raise Refusal(400, f"Cannot find the blob of {uid}")
        return found

    def _by_key(self, given: Mapping[str, Json]) -> FileBlob | Unresolved:
        if not self.user.administrator:
            raise Refusal(401, "")
        key = str(given["key"]).rpartition(":")[2]
        for doc in self.repository.docs.values():
            file = doc.file
            if file and self.repository.digest_of(file)[1] == key:
                named = given if self.repository.options.at_least("2025.10") else {}
                name, kind = named.get("name") or file.name, named.get("mime-type") or file.media_type
                return FileBlob(str(name), str(kind), file.blob)
        return UNRESOLVED


def blob_at(doc: Document, xpath: str) -> FileBlob | None:
    """The blob at a path such as `file:content`, `files:files/0/file`, `blobholder:0`."""
    if xpath.startswith("blobholder:"):
        xpath = "file:content"
    at: Json = None
    for number, part in enumerate(xpath.strip("/").split("/")):
        if number == 0:
            at = doc.props.get(part)
        elif isinstance(at, list):
            at = at[int(part)] if part.isdigit() and int(part) < len(at) else None
        else:
            at = at.get(part) if isinstance(at, dict) else None
    return at if isinstance(at, FileBlob) else None


def _wrong(path: str) -> Refusal:
    return Refusal(400, f"Unable to deserialize property: {path}")


def _text(given: Json) -> str:
    if isinstance(given, bool):
        return "true" if given else "false"
    if isinstance(given, (str, int, float)):
        return _CONTROL.sub("", str(given))
    raise TypeError


def _flag(given: Json) -> bool:
    if isinstance(given, bool):
        return given
    if isinstance(given, str):
        return given.lower() == "true"
    raise TypeError


def _whole(given: Json) -> int:
    if isinstance(given, bool) or not isinstance(given, (int, str)):
        raise TypeError
    return int(given)


def _number(given: Json) -> float:
    if isinstance(given, bool) or not isinstance(given, (int, float, str)):
        raise TypeError
    return float(given)


def _date(given: Json) -> str | None:
    if not isinstance(given, str):
        raise TypeError
    return instant(moment_of(given)) if given else None


_SCALARS: Mapping[str, Callable[[Json], Json]] = {
    "string": _text, "boolean": _flag, "integer": _whole, "long": _whole, "double": _number, "date": _date,
    "binary": _text,
}  # fmt: skip
