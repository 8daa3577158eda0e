"""A BagIt bag (RFC 8493) that another program made: what its manifests say of the files, and whether that is whole."""

from __future__ import annotations

import codecs
import hashlib
import io
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from dam_sync.model.errors import ContractBroken, InvalidValue, NotFound
from dam_sync.services.folder.api.alike import AlikeNames
from dam_sync.services.folder.api.disk import Disk, explained, parts_of, shortened

DECLARATION, INFO, FETCH, PAYLOAD = "bagit.txt", "bag-info.txt", "fetch.txt", "data"
VERSIONS: Final = frozenset({"0.93", "0.94", "0.95", "0.96", "0.97", "1.0"})
MOST = 1_000_000  # bytes of a tag file that is read whole
LONGEST_LINE = 64 * 1024  # characters
SHOWN = 3
_MANIFEST = re.compile(r"(tag)?manifest-([a-z0-9_-]+)\.txt", re.IGNORECASE)
_LINE = re.compile(r"([0-9A-Fa-f]+)[ \t]+\*?(.+)")
_CODE = re.compile("%(0A|0D|25)", re.IGNORECASE)
_UNCHECKED = "correct the bag, or name its folder `data` as `path`: the files are then imported without a check"


@dataclass(frozen=True, slots=True)
class Manifests:
    """digests: by path below the folder, by algorithm. missing: files that are named and not there. notes: what else
    does not agree."""

    digests: Mapping[str, Mapping[str, str]]
    missing: frozenset[str]
    notes: tuple[str, ...]


@dataclass(slots=True)
class ForeignBag:
    """Read once, when it is first asked for. Methods block, and raise ContractBroken for what is not a bag."""

    disk: Disk
    _read: Manifests | None = None

    @property
    def manifests(self) -> Manifests:
        """What the bag says of its files."""
        if self._read is None:
            self._read = _BagReading(self.disk, _encoding(self.disk)).result()
        return self._read


def _encoding(disk: Disk) -> str:
    """That of the other tag files, by the declaration."""
    try:
        text = disk.read(DECLARATION, MOST).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ContractBroken(f"{DECLARATION} is not in UTF-8", hint=_UNCHECKED) from None
    tags = dict(_tags(text.splitlines()))
    version, encoding = tags.get("bagit-version", ""), tags.get("tag-file-character-encoding", "")
    if version not in VERSIONS:
        message = f"{DECLARATION} has the version {shortened(version)!r}; versions up to 1.0 are read"
        raise ContractBroken(message, hint=_UNCHECKED)
    try:
        known = codecs.lookup(encoding).name
        "".encode(known)
    except LookupError:
        message = f"{DECLARATION} has the unknown encoding {shortened(encoding)!r}"
        raise ContractBroken(message, hint=_UNCHECKED) from None
    return "utf-8-sig" if known == "utf-8" else known


def _tags(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        name, colon, value = line.partition(":")
        if colon and not line[:1].isspace():  # else it continues the line before
            yield name.strip().casefold(), value.strip()


@dataclass(slots=True)
class _BagReading:
    disk: Disk
    encoding: str
    sizes: dict[str, int] = field(default_factory=dict)  # of the files below `data`
    digests: dict[str, dict[str, str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def result(self) -> Manifests:
        self.sizes = dict(_payload(self.disk))
        names = self._top()
        manifests = [found for name in names if (found := _MANIFEST.fullmatch(name))]
        known = [found for found in manifests if not found[1] and self._is_known(found[0], found[2].lower())]
        for found in known:
            self._take(found[0], found[2].lower())
        missing = frozenset(self._resolved())
        self._note("files that the manifests name and that are not there", missing)
        if FETCH in names and missing:
            self.notes.append(f"{FETCH} says from where missing files are to be fetched, which is not done here")
        if known:
            self._note(
                "files that no manifest names, and that are not checked", self.sizes.keys() - self.digests.keys()
            )
        else:
            self.notes.append("the bag has no manifest that can be checked")
        self._check_size(names)
        self._note("files of the bag itself that are changed or missing", self._changed_tags(manifests))
        return Manifests(self.digests, missing, tuple(self.notes))

    def _top(self) -> Sequence[str]:
        with explained(str(self.disk.root)), self.disk.directory(()) as at:
            return sorted(os.listdir(at))

    def _note(self, what: str, paths: Iterable[str]) -> None:
        if found := sorted(paths):
            shown = ", ".join(map(shortened, found[:SHOWN])) + (", …" if len(found) > SHOWN else "")
            self.notes.append(f"{what}: {len(found):,}, {shown}")

    def _is_known(self, name: str, algorithm: str) -> bool:
        known = _digest_length(algorithm) > 0
        if not known:
            self.notes.append(f"{name} is not checked: the algorithm {algorithm} is not known here")
        return known

    def _take(self, name: str, algorithm: str) -> None:
        for path, digest in self._entries(name, algorithm):
            if (
                parts_of(path)[0] != PAYLOAD
                or self.digests.setdefault(path, {}).setdefault(algorithm, digest) != digest
            ):
                what = "has two digests" if path in self.digests else f"is not below {PAYLOAD}"
                raise ContractBroken(f"{name}: {shortened(path)} {what}", hint=_UNCHECKED)

    def _entries(self, name: str, algorithm: str) -> Iterator[tuple[str, str]]:
        """Paths as they are on disk, if they are there, with the digest of each."""
        for number, line in enumerate(self._lines(name), 1):
            text = line.rstrip("\n")
            if not text.strip() or text.startswith("#"):
                continue
            found = _LINE.fullmatch(text)
            if len(line) >= LONGEST_LINE or found is None or len(found[1]) != _digest_length(algorithm):
                raise ContractBroken(f"{name}:{number}: not a line of a manifest", hint=_UNCHECKED)
            try:
                yield self._path(found[2]), found[1].lower()
            except InvalidValue as wrong:
                raise ContractBroken(f"{name}:{number}: {wrong.message}", hint=_UNCHECKED) from None

    def _lines(self, name: str) -> Iterator[str]:
        file = io.TextIOWrapper(os.fdopen(self.disk.open(name), "rb"), self.encoding)
        try:
            with file:
                while line := file.readline(LONGEST_LINE):
                    yield line
        except UnicodeError:
            raise ContractBroken(f"{name} is not in the encoding {self.encoding}", hint=_UNCHECKED) from None

    def _path(self, text: str) -> str:
        """As written, or without codes: programs differ in whether they write and read them. Raises InvalidValue."""
        path = text.removeprefix("./")
        plain = _CODE.sub(lambda code: chr(int(code[1], 16)), path)
        parts_of(path), parts_of(plain)
        return path if path in self.sizes or plain == path else plain

    def _resolved(self) -> Iterator[str]:
        """The files that are named and missing; those that are there in another form of Unicode get their digests."""
        alike = AlikeNames(self.disk)
        for path in self.digests.keys() - self.sizes.keys():
            try:
                found = alike.find(path)
            except (NotFound, InvalidValue):
                yield path
            else:
                self.digests.setdefault(found, {}).update(self.digests.pop(path))

    def _check_size(self, names: Sequence[str]) -> None:
        tags = dict(_tags(self._lines(INFO))) if INFO in names else {}
        told = tags.get("payload-oxum", "")
        found = f"{sum(self.sizes.values())}.{len(self.sizes)}"
        if told and told != found:
            self.notes.append(f"Payload-Oxum of {INFO} is {shortened(told)}, but the files are {found} (bytes.number)")

    def _changed_tags(self, manifests: Iterable[re.Match[str]]) -> Iterator[str]:
        changed: dict[str, None] = {}
        for manifest in manifests:
            if manifest[1] and _digest_length(manifest[2].lower()):
                for path, digest in self._entries(manifest[0], manifest[2].lower()):
                    if self._digest(path, manifest[2].lower()) != digest:
                        changed[path] = None
        yield from changed

    def _digest(self, path: str, algorithm: str) -> str:
        try:
            with os.fdopen(self.disk.open(path), "rb") as file:
                return hashlib.file_digest(file, algorithm).hexdigest()
        except (NotFound, InvalidValue):
            return ""


def _digest_length(algorithm: str) -> int:
    """In hexadecimal digits; 0 for an algorithm that is not known here."""
    return 2 * hashlib.new(algorithm).digest_size if algorithm in hashlib.algorithms_guaranteed else 0


def _payload(disk: Disk) -> Iterator[tuple[str, int]]:
    """The regular files below `data`, hidden ones included, with their sizes."""
    with explained(str(disk.root / PAYLOAD)), disk.directory((PAYLOAD,)) as top:
        for above, _, names, at in os.fwalk(".", dir_fd=top, follow_symlinks=False):
            here = f"{PAYLOAD}{above.removeprefix('.')}"
            for name in names:
                found = os.stat(name, dir_fd=at, follow_symlinks=False)
                if stat.S_ISREG(found.st_mode):
                    yield f"{here}/{name}", found.st_size
