"""Networks in front of services that do not keep to what writers of several assets at once rely on."""

from __future__ import annotations

import json
from typing import Any

import httpx

from tests.support.virtual.reply import Reply
from tests.support.virtual.wire import Network, body_of


class MixingNetwork(Network):
    """The assets of one create get the files of each other (against assumption 21 of C)."""

    async def carry(self, outgoing: httpx.Request) -> Reply:
        """As the call says, but for the files."""
        if outgoing.method == "POST" and outgoing.url.path.endswith("/assets"):
            data = json.loads(b"".join(await body_of(outgoing)))
            rows = data["data"]["attributes"]
            files = [row["attachments"] for row in rows]
            for row, file in zip(rows, files[1:] + files[:1], strict=True):
                row["attachments"] = file
            outgoing = altered(outgoing, data)
        return await Network.carry(self, outgoing)


class DroppingNetwork(Network):
    """An upload batch goes with the first call that names one of its files (wire B 6.2, as without a header)."""

    async def carry(self, outgoing: httpx.Request) -> Reply:
        """Without that header."""
        outgoing.headers.pop("X-Batch-No-Drop", None)
        return await Network.carry(self, outgoing)


class RefusingNetwork(Network):
    """A call that has this word in its body is refused as a whole, as long as there is one."""

    word = ""

    async def carry(self, outgoing: httpx.Request) -> Reply:
        """422, or as the call says."""
        if self.word and outgoing.method == "POST" and self.word in outgoing_text(outgoing):
            return Reply(422, [(b"content-type", b"application/json")], [b'{"errors": ["refused"]}'])
        return await Network.carry(self, outgoing)


def outgoing_text(outgoing: httpx.Request) -> str:
    """The body of a call that is in memory; nothing of one that is streamed."""
    try:
        return outgoing.content.decode("utf-8", "replace")
    except httpx.RequestNotRead:
        return ""


def altered(outgoing: httpx.Request, data: Any) -> httpx.Request:
    """The same call with another body."""
    headers = {key: value for key, value in outgoing.headers.items() if key != "content-length"}
    return httpx.Request(
        outgoing.method, outgoing.url, headers=headers, json=data, extensions=dict(outgoing.extensions)
    )
