"""Creating and changing documents: names, stamps, change tokens, check-ins (wire B 6.3 to 6.7)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dam_sync.emulators.b_documents.enrichment import Enrichment
from dam_sync.emulators.b_documents.records import Document, Props, Refusal, User
from dam_sync.emulators.b_documents.repository import Repository
from dam_sync.emulators.b_documents.security import require
from dam_sync.emulators.b_documents.validation import Validator
from dam_sync.emulators.kit.environment import Json


@dataclass(frozen=True, slots=True)
class Wish:
    """What a request wants of a document. token: the change token it sent; increment: MINOR or MAJOR to check in."""

    props: Props
    token: str | None = None
    increment: str = ""
    comment: str = ""


class Saver:
    """Saves documents for users. Methods run inside a transaction and raise Refusal."""

    def __init__(self, repository: Repository, validator: Validator, enrichment: Enrichment) -> None:
        self.repository, self.validator, self.enrichment = repository, validator, enrichment

    def blank(self, kind: str) -> Document:
        """A document of a type that is nowhere yet. Raises 400."""
        if kind not in self.repository.types.types:
            raise Refusal(400, f"Type: {kind} does not exist")
        return Document(self.repository.new_id(), kind, "", "", {})

    def create(self, parent: Document, doc: Document, name: str, props: Props, user: User) -> Document:
        """Put a blank document under a parent. Raises 400, 403, 409, 422."""
        repository = self.repository
        require(repository, user, parent, "AddChildren")
        self._fits(parent, doc)
        doc.parent = parent.uid
        doc.name = repository.free_name(parent.uid, self.name_of(name))
        doc.props = {key: value for key, value in props.items() if value not in (None, [])}
        fields = repository.types.fields_of(doc)
        self.validator.check(fields, doc.props, fields)
        self._stamp_new(doc, user)
        repository.insert(doc)
        repository.tell("documentCreated", doc, user.name)
        if doc.type == "Note" and repository.options.auto_version:
            self.check_in(doc, "MINOR", user)
        self.enrichment.expect(doc)
        return doc

    def name_of(self, name: str) -> str:
        """A path segment: trimmed, cut, without slashes, never empty."""
        options = self.repository.options
        name = re.sub(r"[/\\]", "-", name.strip())[: options.name_letters].strip()
        if name.startswith("@") and options.at_least("2025.0"):
            name = "_" + name[1:]
        if not re.search(r"\w", name):
            name = str(int(self.repository.now().timestamp() * 1000))
        return name

    def update(self, doc: Document, wish: Wish, user: User) -> Document:
        """Save properties; gives the live document, or the new version when one was requested. Raises as `create`."""
        self.writable(doc, user)
        self.token_fits(doc, wish.token)
        if wish.props:
            self._auto_version(doc, user)
            self.put(doc, wish.props, user)
            if wish.token is not None:
                doc.changes += 1
            self.repository.tell("documentModified", doc, user.name, wish.comment)
            if doc.type == "Note" and self.repository.options.auto_version and not wish.increment:
                self.check_in(doc, "MINOR", user)
        if wish.increment:
            return self.check_in(doc, wish.increment, user)
        return doc

    def put(self, doc: Document, props: Props, user: User) -> None:
        """Write properties and move `dc:modified`. Raises 422."""
        self.repository.change(doc)
        before = doc.file
        changed = {**doc.props, **props}
        self.validator.check(self.repository.types.fields_of(doc), changed, props)
        doc.props = {key: value for key, value in changed.items() if value not in (None, [])}
        if not doc.is_version:
            doc.checked_out = True
        self.stamp(doc, user)
        if doc.file is not before:
            self.enrichment.expect(doc)

    def stamp(self, doc: Document, user: User) -> None:
        """`dc:modified` and who it was."""
        before = doc.props.get("dc:contributors") or []
        doc.props["dc:modified"] = self.repository.stamp()
        doc.props["dc:lastContributor"] = user.name
        doc.props["dc:contributors"] = before if user.name in before else [*before, user.name]

    def check_in(self, doc: Document, increment: str, user: User, comment: str = "") -> Document:
        """A version of the document as it is; gives the version."""
        repository = self.repository
        repository.change(doc)
        if increment == "MAJOR":
            doc.major, doc.minor = doc.major + 1, 0
        elif increment == "MINOR":
            doc.minor += 1
        doc.checked_out = False
        version = doc.copy()
        version.uid, version.parent, version.live = repository.new_id(), "", doc.uid
        version.is_version, version.acls, version.lock = True, {}, None
        version.system = version.changes = 0
        version.version_created, version.version_description = repository.stamp(), comment
        version.catalogue_id = ""
        repository.insert(version)
        repository.tell("documentCheckedIn", doc, user.name, comment)
        return version

    def writable(self, doc: Document, user: User, permission: str = "WriteProperties") -> None:
        """Raises 403 for a missing right or somebody else's lock, 400 for a version."""
        require(self.repository, user, doc, permission)
        if doc.is_version:
            raise Refusal(400, f"Cannot set property on a version: {doc.uid}")
        if doc.lock and doc.lock[0] != user.name and not user.administrator:
            raise Refusal(403, f"Document already locked by {doc.lock[0]}")

    def token_fits(self, doc: Document, token: str | None) -> None:
        """Only the second number is compared. Raises 409."""
        if token is None:
            return
        head, _, tail = token.partition("-")
        if not head.isdigit() or not tail.isdigit() or int(tail) != doc.changes:
            raise Refusal(409, f"{doc.uid}, Invalid change token")

    def _auto_version(self, doc: Document, user: User) -> None:
        last = doc.props.get("dc:lastContributor")
        other = doc.file is not None and last and last != user.name
        if other and doc.checked_out and self.repository.options.auto_version:
            self.check_in(doc, "MINOR", user)

    def _fits(self, parent: Document, doc: Document) -> None:
        types, options = self.repository.types, self.repository.options
        if not options.strict_types or not options.at_least("2025.8"):
            return
        inside = types.types[parent.type].inside
        if not any(each in inside for each in types.lineage(doc.type)):
            raise Refusal(400, f"Cannot create document of type {doc.type} in container with type {parent.type}")

    def _stamp_new(self, doc: Document, user: User) -> None:
        now = self.repository.stamp()
        doc.props["dc:created"] = doc.props["dc:modified"] = now
        doc.props["dc:creator"] = doc.props.get("dc:creator") or user.name
        self.stamp(doc, user)
        doc.props["dc:modified"] = now


def known_only(props: Mapping[str, Json], keys: Iterable[str]) -> Props:
    """Some of the properties."""
    wanted = set(keys)
    return {key: value for key, value in props.items() if key in wanted}
