"""What a query may ask of a document: `ecm:` names, properties, parts of lists and blobs (wire B 2.4)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dam_sync.emulators.b_documents.records import Document, FileBlob, Refusal
from dam_sync.emulators.b_documents.repository import Repository
from dam_sync.emulators.b_documents.types import Field
from dam_sync.emulators.kit.environment import Json

Values = tuple[Json, ...]
Getter = Callable[[Document], Values]


@dataclass(frozen=True, slots=True)
class Term:
    """One name of a query: how to read it, and of what type it is (`flag`, `date`, `text`, `number`, `path`)."""

    read: Getter
    kind: str = "text"
    many: bool = False


class Lexicon:
    """Resolves names. In an index, versions have a path, and a name nobody knows finds nothing instead of failing."""

    def __init__(self, repository: Repository, *, index: bool) -> None:
        self._repository, self._index = repository, index
        self._special = self._specials()
        self._known: dict[str, Term] = {}

    def term(self, name: str) -> Term:
        """Raises 400 for a name that does not exist."""
        if name.startswith("ecm:"):
            found = self._special.get(name)
            if found is None and name.startswith("ecm:acl/"):
                found = self._acl(name)
            if found is None or (self._index and name.startswith(("ecm:tag", "ecm:acl"))):
                raise Refusal(400, f"No such property: {name}")
            return found
        if name not in self._known:
            self._known[name] = self._property(name)
        return self._known[name]

    def path(self, doc: Document) -> str:
        """The path a query sees; empty for a version in the repository."""
        return "" if doc.is_version and not self._index else self._repository.path(doc)

    def _property(self, name: str) -> Term:
        head, *rest = name.split("/")
        field = self._repository.types.known(head) if ":" in head else None
        if field is None:
            if self._index:
                return Term(lambda doc: ())
            raise Refusal(400, f"No such property: {name}")
        kind, many = _kind_of(field, rest)
        if not kind:
            raise Refusal(400, f"No such property: {name}")
        kind = _KINDS.get(kind, "text")
        if not rest and not many:
            return Term(lambda doc: _single(doc.props.get(head)), kind)
        return Term(lambda doc: tuple(self._walk(doc.props.get(head), rest)), kind, many)

    def _walk(self, value: Json, parts: list[str]) -> list[Json]:
        if value is None:
            return []
        if isinstance(value, list) and (not parts or not parts[0].isdigit()):
            rest = parts[1:] if parts and parts[0].startswith("*") else parts
            return [each for item in value for each in self._walk(item, rest)]
        if not parts:
            return [value]
        if isinstance(value, list):
            number = int(parts[0])
            return self._walk(value[number], parts[1:]) if number < len(value) else []
        if isinstance(value, FileBlob):
            return [_of_blob(self._repository, value, parts[0])]
        return self._walk(value.get(parts[0]), parts[1:]) if isinstance(value, Mapping) else []

    def _acl(self, name: str) -> Term | None:
        part = name.rpartition("/")[2]
        if part not in ("principal", "permission", "grant"):
            return None
        read: Mapping[str, Callable[[Json], Json]] = {
            "principal": lambda ace: ace.username,
            "permission": lambda ace: ace.permission,
            "grant": lambda ace: int(ace.granted),
        }
        return Term(lambda doc: tuple(read[part](ace) for aces in doc.acls.values() for ace in aces), many=True)

    def _specials(self) -> dict[str, Term]:
        return {**self._placed(), **self._stated(), **self._versioned(), **self._gathered()}

    def _placed(self) -> dict[str, Term]:
        """Ids, types and places."""
        types = self._repository.types
        return {
            "ecm:uuid": Term(lambda doc: (doc.uid,)),
            "ecm:parentId": Term(lambda doc: _single(doc.parent or None)),
            "ecm:path": Term(lambda doc: _single(self.path(doc) or None), "path"),
            "ecm:ancestorId": Term(self._ancestors, many=True),
            "ecm:name": Term(lambda doc: (doc.name,)),
            "ecm:pos": Term(lambda doc: (doc.position,), "number"),
            "ecm:primaryType": Term(lambda doc: (doc.type,)),
            "ecm:mixinType": Term(lambda doc: tuple(types.all_facets(doc)), many=True),
        }

    def _stated(self) -> dict[str, Term]:
        """States and locks."""
        return {
            "ecm:currentLifeCycleState": Term(lambda doc: (doc.state,)),
            "ecm:isTrashed": Term(lambda doc: (int(doc.trashed),), "flag"),
            "ecm:isVersion": Term(lambda doc: (int(doc.is_version),), "flag"),
            "ecm:isCheckedInVersion": Term(lambda doc: (int(doc.is_version),), "flag"),
            "ecm:isProxy": Term(lambda doc: (int(doc.is_proxy),), "flag"),
            "ecm:isCheckedIn": Term(lambda doc: (int(not doc.checked_out),), "flag"),
            "ecm:isRecord": Term(lambda doc: (0,), "flag"),
            "ecm:hasLegalHold": Term(lambda doc: (0,), "flag"),
            "ecm:retainUntil": Term(lambda doc: (), "date"),
            "ecm:lockOwner": Term(lambda doc: _single(doc.lock[0] if doc.lock else None)),
            "ecm:lockCreated": Term(lambda doc: _single(doc.lock[1] if doc.lock else None), "date"),
            "ecm:changeToken": Term(lambda doc: (doc.token,)),
        }

    def _versioned(self) -> dict[str, Term]:
        """Versions and proxies."""
        return {
            "ecm:isLatestVersion": Term(lambda doc: self._latest(doc, major=False), "flag"),
            "ecm:isLatestMajorVersion": Term(lambda doc: self._latest(doc, major=True), "flag"),
            "ecm:versionLabel": Term(lambda doc: _single(doc.label if doc.is_version else None)),
            "ecm:versionVersionableId": Term(lambda doc: _single(doc.live if doc.is_version else None)),
            "ecm:versionCreated": Term(lambda doc: _single(doc.version_created or None), "date"),
            "ecm:versionDescription": Term(lambda doc: _single(doc.version_description or None)),
            "ecm:proxyTargetId": Term(lambda doc: _single(doc.target or None)),
            "ecm:proxyVersionableId": Term(lambda doc: _single(doc.live if doc.is_proxy else None)),
        }

    def _gathered(self) -> dict[str, Term]:
        """Tags, words and blobs."""
        return {
            "ecm:tag": Term(lambda doc: tuple(tag["label"] for tag in doc.props.get("nxtag:tags") or ()), many=True),
            "ecm:fulltext": Term(_words, "words", many=True),
            "ecm:blobKeys": Term(self._blob_keys, many=True),
        }

    def _ancestors(self, doc: Document) -> Values:
        live = self._repository.live_of(doc) if self._index else doc
        return tuple(each.uid for each in self._repository.above(live)) if live else ()

    def _latest(self, doc: Document, *, major: bool) -> Values:
        if not doc.is_version:
            return (0,)
        docs = self._repository.docs
        versions = [docs[uid] for uid in self._repository.versions.get(doc.live, ()) if uid in docs]
        wanted = [each for each in versions if not major or each.minor == 0]
        return (int(bool(wanted) and wanted[-1].uid == doc.uid),)

    def _blob_keys(self, doc: Document) -> Values:
        found = [_of_blob(self._repository, file, "digest") for file in blobs_in(doc.props)]
        return tuple(each for each in found if each)


_KINDS = {"boolean": "flag", "date": "date", "integer": "number", "long": "number", "double": "number"}


def _kind_of(field: Field, parts: Sequence[str]) -> tuple[str, bool]:
    """The type at the end of a path, and whether it may have several values; an empty type when there is none."""
    at: Field | None = field
    kind, many = field.type, field.many
    for part in parts:
        if part.startswith("*") or part.isdigit():
            many = many or part.startswith("*")
        elif kind == "blob":
            kind = "long" if part == "length" else "string"
        else:
            at = at.sub(part) if at else None
            kind, many = (at.type, many or at.many) if at else ("", many)
    return kind, many


def blobs_in(value: Json) -> list[FileBlob]:
    """Every blob below a value."""
    if isinstance(value, FileBlob):
        return [value]
    if isinstance(value, Mapping):
        return [file for each in value.values() for file in blobs_in(each)]
    return [file for each in value for file in blobs_in(each)] if isinstance(value, list) else []


def _single(value: Json) -> Values:
    return () if value is None else (value,)


def _of_blob(repository: Repository, file: FileBlob, part: str) -> Json:
    match part:
        case "digest":
            return repository.digest_of(file)[1]
        case "length":
            return file.blob.size
        case "name":
            return file.name
        case "mime-type":
            return file.media_type
    return None


def _words(doc: Document) -> Values:
    texts = [str(value) for value in doc.props.values() if isinstance(value, (str, list))]
    texts += [doc.file.name] if doc.file else []
    return tuple(re.findall(r"\w+", " ".join(texts).casefold()))
