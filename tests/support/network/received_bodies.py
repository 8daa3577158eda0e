"""What arrives at an emulated service, body by body, so that a test can see which part of a file travelled twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dam_sync.emulators.kit.app import Application
from dam_sync.emulators.kit.serve import Served

NEEDLE = 64  # bytes at both ends of a part by which it is known


@dataclass(slots=True)
class Arrived:
    """One request as far as the service read it. `call` is `METHOD /path`."""

    call: str
    body: bytearray


def noting(app: Application) -> ASGIApp:
    """The service, which notes what it reads."""

    async def noted(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"].startswith("/_emulator/"):
            await app(scope, receive, send)
            return
        note = Arrived(f"{scope['method']} {scope['path']}", bytearray())
        _notes(app).append(note)

        async def read() -> Message:
            message = await receive()
            note.body += message.get("body", b"")
            return message

        await app(scope, read, send)

    return noted


class Arrivals:
    """What came to one service that is `noting`, since the last `clear`."""

    def __init__(self, served: Served) -> None:
        self._notes = _notes(served.app)

    def clear(self) -> None:
        """Forget it."""
        self._notes.clear()

    def writes(self) -> list[str]:
        """The calls that are no GET and no HEAD, in their order."""
        return [note.call for note in self._notes if not note.call.startswith(("GET ", "HEAD "))]

    def carrying(self, data: bytes, step: int) -> list[int]:
        """Which of `writes`, from 1, brought a part of the file."""
        numbers = []
        writes = [note for note in self._notes if not note.call.startswith(("GET ", "HEAD "))]
        for number, note in enumerate(writes, 1):
            if any(head in note.body for head, _ in _ends(data, step)):
                numbers.append(number)
        return numbers

    def parts(self, data: bytes, step: int) -> Counter[int]:
        """How often each part of the file arrived whole, by its number from 1."""
        ends = _ends(data, step)
        bodies = [bytes(note.body) for note in self._notes if len(note.body) >= NEEDLE]
        return Counter(
            {
                number: sum(head in body and tail in body for body in bodies)
                for number, (head, tail) in enumerate(ends, 1)
            }
        )


def _ends(data: bytes, step: int) -> Sequence[tuple[bytes, bytes]]:
    cuts = [data[start : start + step] for start in range(0, len(data), step)]
    return [(cut[:NEEDLE], cut[-NEEDLE:]) for cut in cuts]


def _notes(app: Any) -> list[Arrived]:
    if not hasattr(app.state, "arrived"):
        app.state.arrived = []
    notes: list[Arrived] = app.state.arrived
    return notes
