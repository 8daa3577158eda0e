"""The operations of the Automation interface and how they are called (wire B 6.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from dam_sync.emulators.b_documents.calls import Call, Reply
from dam_sync.emulators.b_documents.downloads import sent
from dam_sync.emulators.b_documents.records import Document, FileBlob, Refusal
from dam_sync.emulators.b_documents.security import require
from dam_sync.emulators.kit.environment import Json

Given: TypeAlias = "Document | list[Document] | list[FileBlob] | None"


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A response that is neither document nor blob, ready as JSON."""

    json: Json


Result: TypeAlias = "Document | list[Document] | FileBlob | Wrapped | None"


@dataclass(frozen=True, slots=True)
class Job:
    """One call of an operation."""

    call: Call
    input: Given
    params: Mapping[str, Json]

    def text(self, name: str, default: str | None = None) -> str:
        """A parameter. Raises 400 when it is missing; a script is refused here (it would be run)."""
        value = self.params.get(name, default)
        if value is None:
            raise Refusal(400, f"Missing required parameter {name}")
        text = value if isinstance(value, str) else "true" if value is True else str(value)
        if text.startswith("expr:"):
            self.call.server.world.event("script evaluated", parameter=name, text=text)
            return text.removeprefix("expr:").strip().strip("\"'")
        return text

    def flag(self, name: str, *, default: bool = False) -> bool:
        """A boolean parameter, as itself or as text."""
        value = self.params.get(name)
        return default if value is None else str(value).lower() == "true"

    def strings(self, name: str) -> list[str]:
        """A list, or a text with commas."""
        value = self.params.get(name)
        parts = value if isinstance(value, list) else str(value or "").split(",")
        return [str(part).strip() for part in parts if str(part).strip()]

    def number(self, name: str, default: int) -> int:
        """A whole number."""
        value = self.params.get(name)
        if value is None:
            return default
        if not str(value).lstrip("-").isdigit():
            raise Refusal(400, f"Not a number: {name}")
        return int(value)

    def documents(self) -> list[Document]:
        """The documents given as input. Raises 400 without any."""
        found = self.input if isinstance(self.input, list) else [self.input]
        docs = [each for each in found if isinstance(each, Document)]
        if not docs:
            raise Refusal(400, "No document as input")
        return docs

    def document(self) -> Document:
        """The one document given as input."""
        return self.documents()[0]

    def files(self) -> list[FileBlob]:
        """The blobs given as input."""
        return [each for each in self.input if isinstance(each, FileBlob)] if isinstance(self.input, list) else []

    def find(self, name: str) -> Document:
        """The document a parameter names, by id or path. Raises 404."""
        return self.call.server.repository.find(self.text(name))

    def each(self, act: Callable[[Document], Document]) -> Result:
        """The act on the input: one document for one, a list for several."""
        done = [act(doc) for doc in self.documents()]
        return done if isinstance(self.input, list) else done[0]


Operation: TypeAlias = Callable[[Job], Result]
OPERATIONS: dict[str, Operation] = {}
ADMIN: set[str] = set()


def operation(*names: str, admin: bool = False) -> Callable[[Operation], Operation]:
    """Registers an operation; `admin` ones look unknown to everybody else."""

    def register(made: Operation) -> Operation:
        OPERATIONS.update(dict.fromkeys(names, made))
        ADMIN.update(names if admin else ())
        return made

    return register


def invoke(call: Call) -> Reply:
    """`POST /automation/{operation}`."""
    name = call.params.get("operation") or call.scope["path"].rstrip("/").rpartition("/")[2]
    _check(call, name)
    given = list(call.attached) if call.attached else _input(call, _body(call).get("input"))
    return run(call, name, given)


def listed(call: Call) -> Reply:
    """`GET /automation`: every operation there is; the parameters of each are shown by nobody."""
    names = [name for name in sorted(OPERATIONS) if name not in ADMIN or call.user.administrator]
    rows = [
        {
            "id": name, "label": name, "category": name.partition(".")[0], "requires": None, "description": "",
            "url": name, "signature": ["void", "document"], "params": [],
        }
        for name in names
    ]  # fmt: skip
    return Reply(200, {"paths": {"login": "login"}, "codecs": [], "operations": rows, "chains": []})


def on_document(call: Call) -> Reply:
    """`POST /id/{id}/@op/{operation}`."""
    _check(call, call.params["operation"])
    return run(call, call.params["operation"], call.document())


def run(call: Call, name: str, given: Given) -> Reply:
    """Run an operation and shape its response. Raises 404."""
    _check(call, name)
    params = _body(call).get("params") or {}
    result = OPERATIONS[name](Job(call, given, params if isinstance(params, dict) else {}))
    if result is None or call.flag("x.nxvoidoperation"):
        return Reply(204)
    return _shaped(call, result)


def _check(call: Call, name: str) -> None:
    since = _SINCE.get(name)
    there = since is None or call.server.options.at_least(since[0]) == since[1]
    if name not in OPERATIONS or not there:
        raise Refusal(404, f"Failed to invoke operation: {name}, operation not found")
    if name in ADMIN and not call.user.administrator:
        raise Refusal(404, "", empty=True)


_SINCE: Mapping[str, tuple[str, bool]] = {
    "Search.WaitForIndexing": ("2025.0", True),
    "Elasticsearch.WaitForIndexing": ("2025.0", False),
}
"""Operations that came with a release, or went with it (wire B 10)."""


def _body(call: Call) -> Mapping[str, Json]:
    try:
        return call.body
    except Refusal:
        raise Refusal(400 if call.server.options.at_least("2025.3") else 500, "Bad operation body") from None


def _input(call: Call, given: Json) -> Given:
    repository = call.server.repository
    if isinstance(given, str) and given.startswith("docs:"):
        return [_readable(call, repository.find(ref.strip())) for ref in given[5:].split(",") if ref.strip()]
    if isinstance(given, str) and given:
        return _readable(call, repository.find(given.removeprefix("doc:")))
    return None


def _readable(call: Call, doc: Document) -> Document:
    require(call.server.repository, call.user, doc, "Read")
    return doc


def _shaped(call: Call, result: Result) -> Reply:
    match result:
        case Document():
            return call.shown(result)
        case FileBlob():
            return sent(call, result)
        case Wrapped(json):
            return Reply(200, json)
        case list():
            docs: Sequence[Document] = result
            return Reply(200, call.server.writer.documents(docs, call.view, totalSize=len(docs)))
    return Reply(204)
