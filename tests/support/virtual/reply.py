"""A response on its way back in a virtual world."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Reply:
    """What came back. broken: the connection broke behind the last of `blocks`. pause: seconds in the middle of the
    body; stalls: nothing comes after them."""

    status: int = 0
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    blocks: list[bytes] = field(default_factory=list)
    broken: bool = False
    pause: float = 0.0
    stalls: bool = False

    def halves(self) -> tuple[list[bytes], list[bytes]]:
        """The blocks before and after the middle of the body."""
        body = b"".join(self.blocks)
        middle = len(body) // 2
        return [body[:middle]], [body[middle:]]
