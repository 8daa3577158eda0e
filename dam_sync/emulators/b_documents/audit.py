"""The audit log: written some time after the commit, lost on a restart when it is kept in memory (wire B 2.6)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from dam_sync.emulators.b_documents.options import Options
from dam_sync.emulators.b_documents.records import Document, instant
from dam_sync.emulators.kit.environment import Environment, Json

Line = dict[str, Json]


class Audit:
    """Log entries by ascending id."""

    def __init__(self, world: Environment, options: Options) -> None:
        self._world, self._options = world, options
        self.lines: list[tuple[float, Line]] = []
        self._last = 184_000

    def append(self, event: str, doc: Document, path: str, user: str, comment: str) -> None:
        """Log what happened to a document."""
        self._last += 1
        now = self._world.now()
        at = now.timestamp() + self._options.audit_lag
        category = "eventLifeCycleCategory" if event == "lifecycle_transition_event" else "eventDocumentCategory"
        line = {
            "entity-type": "logEntry", "id": self._last, "category": category, "principalName": user,
            "comment": comment or None, "docLifeCycle": doc.state, "docPath": path, "docType": doc.type,
            "docUUID": doc.uid, "eventId": event, "repositoryId": "default", "eventDate": instant(now),
            "logDate": instant(now), "extended": {},
        }  # fmt: skip
        self.lines.append((at, line))

    def written(self) -> list[Line]:
        """What can be read by now, oldest first."""
        now = self._world.now().timestamp()
        return [line for at, line in self.lines if at <= now]

    def restart(self) -> None:
        """The node starts again: a log in memory is empty."""
        if self._options.audit == "memory":
            self.lines.clear()


Wanted = Mapping[str, str]
TESTS: Mapping[str, Callable[[Line, str], bool]] = {
    "bas:logId": lambda line, text: bool(line["id"] > int(text)),
    "bas:eventIds": lambda line, text: line["eventId"] in _words(text),
    "bas:eventCategory": lambda line, text: line["category"] in _words(text),
    "bas:principalNames": lambda line, text: line["principalName"] in _words(text),
    "bas:startDate": lambda line, text: bool(line["eventDate"] >= text),
    "bas:endDate": lambda line, text: bool(line["eventDate"] <= text),
    "bas:docPath": lambda line, text: bool(str(line["docPath"]).startswith(text)),
    "eventId": lambda line, text: line["eventId"] in _words(text),
    "category": lambda line, text: line["category"] in _words(text),
    "principalName": lambda line, text: line["principalName"] in _words(text),
    "startEventDate": lambda line, text: bool(line["eventDate"] >= text),
    "endEventDate": lambda line, text: bool(line["eventDate"] <= text),
}


def matching(lines: Iterable[Line], wanted: Wanted) -> list[Line]:
    """The lines that pass every known test."""
    tests = [(TESTS[key], text) for key, text in wanted.items() if key in TESTS and text]
    return [line for line in lines if all(test(line, text) for test, text in tests)]


def _words(text: str) -> list[str]:
    return [part.strip() for part in text.strip("[]").replace('"', "").split(",")]
