"""Vocabularies: directories of entries, the only part of the configuration that REST may write (wire B 5.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dam_sync.emulators.b_documents.records import Refusal, User
from dam_sync.emulators.kit.environment import Json

Entry = dict[str, Json]


@dataclass(slots=True)
class Directory:
    """One vocabulary; `parent` names the directory that entries' `parent` is looked up in, itself for trees."""

    name: str
    schema: str = "vocabulary"
    parent: str = ""
    entries: dict[str, Entry] = field(default_factory=dict)
    read_only: bool = False
    system: bool = False
    kind: str = ""

    @property
    def localized(self) -> bool:
        """Whether entries carry a label for each language."""
        return self.schema == "l10nxvocabulary"

    def text(self, entry: Mapping[str, Json], language: str = "en") -> str:
        """What people read for an entry."""
        if self.localized:
            texts = [entry.get(f"label_{language}"), *(v for k, v in entry.items() if k.startswith("label_"))]
            return str(next((text for text in texts if text), entry["id"]))
        label = str(entry.get("label") or entry["id"])
        return label.rpartition(".")[2].capitalize() if label.startswith("label.directories.") else label


class Directories:
    """All vocabularies."""

    def __init__(self, *, whole_path: bool) -> None:
        self.whole_path = whole_path
        self.by_name: dict[str, Directory] = {each.name: each for each in _built_in()}

    def get(self, name: str) -> Directory:
        """Raises 404."""
        found = self.by_name.get(name)
        if found is None:
            raise Refusal(404, f"could not find directory {name}")
        return found

    def add(self, directory: Directory) -> None:
        """Configure a vocabulary."""
        self.by_name[directory.name] = directory

    def holds(self, name: str, value: str, separator: str) -> bool:
        """Whether a stored value names an entry, by its last id or by the whole path (wire B 13)."""
        directory = self.by_name.get(name)
        if directory is None:
            return False
        if not separator or not directory.parent:
            return value in directory.entries
        *above, last = value.split(separator)
        if last not in directory.entries:
            return value in directory.entries
        return not self.whole_path or above == self.above(directory, last)

    def above(self, directory: Directory, entry_id: str) -> list[str]:
        """The ids above an entry, the root first."""
        found: list[str] = []
        parent = str(directory.entries[entry_id].get("parent") or "")
        while parent and directory.parent in self.by_name:
            directory = self.by_name[directory.parent]
            if parent not in directory.entries or parent in found:
                break
            found.insert(0, parent)
            parent = str(directory.entries[parent].get("parent") or "")
        return found

    def create(self, directory: Directory, given: Mapping[str, Json], user: User) -> Entry:
        """Raises 400, 403, 409."""
        self._writable(directory, user)
        key = given.get("id")
        if not isinstance(key, str) or not key:
            raise Refusal(400, "the entry has no id")
        if key in directory.entries:
            raise Refusal(409, f"Entry with id {key} already exists in directory {directory.name}")
        directory.entries[key] = self._entry(directory, {}, given)
        return directory.entries[key]

    def update(self, directory: Directory, key: str, given: Mapping[str, Json], user: User) -> Entry:
        """Raises 400, 403, 404."""
        self._writable(directory, user)
        before = self.entry(directory, key)
        directory.entries[key] = self._entry(directory, before, {**given, "id": key})
        return directory.entries[key]

    def delete(self, directory: Directory, key: str, user: User) -> None:
        """Raises 400, 403, 404, 409 when a child vocabulary refers to it."""
        self._writable(directory, user)
        self.entry(directory, key)
        for other in self.by_name.values():
            if other.parent == directory.name and any(each.get("parent") == key for each in other.entries.values()):
                raise Refusal(409, f"Cannot delete {key}: it has children in {other.name}")
        del directory.entries[key]

    def entry(self, directory: Directory, key: str) -> Entry:
        """Raises 404."""
        if key not in directory.entries:
            raise Refusal(404, f"entry {key} does not exist in directory {directory.name}")
        return directory.entries[key]

    def listed(self) -> Iterator[Directory]:
        """Those that are shown."""
        return (each for each in self.by_name.values() if not each.system)

    def _writable(self, directory: Directory, user: User) -> None:
        if not user.administrator and "powerusers" not in user.groups:
            raise Refusal(403, "Not allowed to edit directory")
        if directory.kind in ("user", "group"):
            raise Refusal(400, "Users and groups are not edited as directory entries")
        if directory.read_only:
            raise Refusal(400, f"Directory {directory.name} is read-only")

    def _entry(self, directory: Directory, before: Entry, given: Mapping[str, Json]) -> Entry:
        columns = COLUMNS.get(directory.schema)
        kept = {
            key: value
            for key, value in given.items()
            if columns is None or key in columns or (directory.localized and key.startswith("label_"))
        }
        blank = dict.fromkeys(columns or (), None)
        return {**blank, "obsolete": 0, "ordering": 10_000_000, **before, **kept}


COLUMNS: Mapping[str, tuple[str, ...]] = {
    "vocabulary": ("id", "label", "obsolete", "ordering"),
    "xvocabulary": ("id", "label", "parent", "obsolete", "ordering"),
    "l10nxvocabulary": ("id", "parent", "label_en", "label_fr", "obsolete", "ordering"),
}


def _rows(*rows: tuple[str, str, str]) -> dict[str, Entry]:
    """(id, parent, label) in two languages."""
    return {
        key: {"id": key, "parent": parent, "label_en": text, "label_fr": text, "obsolete": 0, "ordering": 10 * number}
        for number, (key, parent, text) in enumerate(rows, 1)
    }


def _words(name: str, *ids: str) -> dict[str, Entry]:
    """Entries whose labels are message keys."""
    return {
        key: {"id": key, "label": f"label.directories.{name}.{key}", "obsolete": 0, "ordering": 10_000_000}
        for key in ids
    }


def _built_in() -> Iterator[Directory]:
    yield Directory("topic", "l10nxvocabulary", "", _rows(("art", "", "Art"), ("sciences", "", "Sciences")))
    subjects = (("photography", "art", "Photography"), ("cinema", "art", "Cinema"), ("botany", "sciences", "Botany"))
    yield Directory("l10nsubjects", "l10nxvocabulary", "topic", _rows(*subjects))
    yield Directory("continent", "l10nxvocabulary", "", _rows(("europe", "", "Europe"), ("asia", "", "Asia")))
    places = (("France", "europe", "France"), ("Spain", "europe", "Spain"), ("Japan", "asia", "Japan"))
    yield Directory("l10ncoverage", "l10nxvocabulary", "continent", _rows(*places))
    yield Directory("nature", "vocabulary", "", _words("nature", "article", "booklet", "map", "report"))
    yield Directory("language", "vocabulary", "", _words("language", "en", "fr", "es", "de"))
    yield Directory("userDirectory", "user", system=True, kind="user")
    yield Directory("groupDirectory", "group", system=True, kind="group")
    yield Directory("oauth2Clients", "oauth2Client", system=True)
