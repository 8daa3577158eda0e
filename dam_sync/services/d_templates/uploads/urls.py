"""Upload URLs of created records: secrets, kept in the credential store so that an upload survives a crash."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

from dam_sync.http.interpreting import interprets_response
from dam_sync.model.errors import SessionGone
from dam_sync.model.ports import IsReferenced
from dam_sync.model.values import Json
from dam_sync.services.d_templates import facts
from dam_sync.services.d_templates.api import TemplatesApi


@dataclass(frozen=True, slots=True)
class CreatedRecord:
    """A created record as it is journaled: its ids, and the upload session if there is one."""

    object: str
    file: str
    family: str
    filename: str
    template: str
    upload: str = ""
    parts: int = 0
    size: int = 0  # of the file; of records stored by earlier releases unknown

    @classmethod
    @interprets_response
    def of(cls, data: Json) -> CreatedRecord:
        """From JSON."""
        return cls(**data)


@dataclass(slots=True)
class UploadUrls:
    """Upload URLs are secrets, so they are not journaled but kept in the credential store; an upload can then be
    resumed after a crash. URLs of small files are removed when the next ones are stored."""

    api: TemplatesApi
    _links: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _gone: set[str] = field(default_factory=set)
    _waiting: dict[str, Json] = field(default_factory=dict)
    _writing: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __repr__(self) -> str:
        return f"UploadUrls({len(self._links)})"

    async def keep(self, made: CreatedRecord, links: tuple[str, ...]) -> None:
        """Store the URLs of a record, before the first byte is sent."""
        self._links[made.file] = links
        await self._stored({made.file: {"links": list(links), "made": asdict(made)}})

    async def find(self, file: str) -> tuple[str, ...]:
        """The URLs of a file. Raises SessionGone if they are lost; the service does not return them again."""
        links = self._links.get(file)
        if links is None and self.api.credentials is not None:
            links = _links_of((await self._load()).get(file))
        if not links:
            raise SessionGone("the upload links of this record are lost")
        return links

    async def drop(self, file: str, *, large: bool) -> None:
        """Forget the URLs: the file is uploaded, or never will be."""
        self._links.pop(file, None)
        self._gone.add(file)
        if large:
            await self._stored({})

    async def made(self, file: str) -> CreatedRecord | None:
        """The created record, if its URLs are stored, so that its upload can be resumed."""
        return _made_of((await self._load()).get(file))

    async def sweep(self, recorded: IsReferenced) -> list[CreatedRecord]:
        """Forget URLs that no unfinished work refers to; returns the records that another process left open."""
        if self.api.credentials is None or not await self.api.credentials.names(self._name):
            return []
        left = []
        for file, entry in (await self._load()).items():
            if not await recorded(file):
                made = _made_of(entry)
                if made is not None and file not in self._gone and file not in self._links:
                    left.append(made)
                self._links.pop(file, None)
                self._gone.add(file)
        await self._stored({})
        return left

    @property
    def _name(self) -> str:
        return f"{facts.NAME}-{self.api.host}-uploads"

    async def _load(self) -> dict[str, Any]:
        return _known(await self.api.credentials.load(self._name) if self.api.credentials is not None else None)

    async def _stored(self, changes: Mapping[str, Json]) -> None:
        """Those who wait for a write share the next one: each takes several flushes of the disk."""
        if self.api.credentials is None:
            return
        self._waiting |= changes
        async with self._writing:
            if changes and not changes.keys() & self._waiting.keys():
                return  # whoever wrote before has written these too
            some, self._waiting = self._waiting, {}
            gone, self._gone = self._gone, set()

            def changed(stored: str) -> str:
                left = {key: one for key, one in {**_known(stored), **some}.items() if key not in gone}
                return json.dumps(left) if left else ""

            try:
                await self.api.credentials.change(self._name, changed)
            except BaseException:
                self._waiting, self._gone = {**some, **self._waiting}, gone | self._gone
                raise


def _known(stored: str | None) -> dict[str, Any]:
    with suppress(ValueError):
        known = json.loads(stored or "{}")
        return known if isinstance(known, dict) else {}
    return {}


@interprets_response
def _links_of(entry: Json) -> tuple[str, ...]:
    """The stored URLs of a file, in the current form or as a bare list."""
    return tuple(entry["links"] if isinstance(entry, dict) else entry or ())


@interprets_response
def _made_of(entry: Json) -> CreatedRecord | None:
    return CreatedRecord.of(entry["made"]) if isinstance(entry, dict) else None
