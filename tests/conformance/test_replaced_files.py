"""A file that is replaced at the source while its download is broken arrives as one of its versions, or not at all."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dam_sync.emulators.kit.object_store import Blob
from dam_sync.model.asset import FileRef
from dam_sync.model.errors import FileReplaced, IntegrityError, Transient
from dam_sync.model.ports import Stream
from dam_sync.model.service import Service
from dam_sync.model.validator import Validator
from dam_sync.transfer.budget import MemoryBudget
from dam_sync.transfer.content import content_of
from tests.conformance.catalogue import SCHEMA, asset
from tests.conformance.tenant import OnDisk, Tenant
from tests.support.pairs import EVERYTHING
from tests.support.services.connections import entries

Act = Callable[[], None]
Fresh = Callable[..., Tenant]
SIZE = 300_000
CUTS = range(1, SIZE, SIZE // 25) if EVERYTHING else (1, 130_000)


async def test_what_is_read_after_a_break_is_of_the_same_version(fresh: Fresh) -> None:
    tenant = fresh([*SCHEMA, asset(1, versions=[{"name": "a.jpg", "generate": {"size": SIZE, "seed": 1}}])])
    service = tenant.connect(read_only=True)
    file = await _file(service)
    assert hashlib.sha256(await _content(tenant, _Broken(service, file, 10), file)).hexdigest() == _digest(tenant)
    bare = FileRef(file.id, file.name, file.size, file.media_type, link=file.link)  # no digest tells
    for cut in CUTS:
        before = _digest(tenant)
        broken = _Broken(service, bare, cut, replaces=lambda: _replace(tenant))
        new = await _content(tenant, broken, bare)
        assert broken.opened > 1
        assert hashlib.sha256(new).hexdigest() == _digest(tenant) != before


async def test_a_file_that_is_not_the_one_that_was_listed_is_refused(fresh: Fresh) -> None:
    """By its digest, where the service publishes one."""
    tenant = fresh([*SCHEMA, asset(1, versions=[{"name": "a.jpg", "generate": {"size": SIZE, "seed": 1}}])])
    service = tenant.connect(read_only=True)
    file = await _file(service)
    broken = _Broken(service, file, 10, replaces=lambda: _replace(tenant))
    try:
        new = await _content(tenant, broken, file)
    except IntegrityError:
        assert file.digests
    else:
        assert hashlib.sha256(new).hexdigest() == _digest(tenant)


async def test_a_file_that_is_replaced_each_time_is_never_joined(fresh: Fresh) -> None:
    tenant = fresh([*SCHEMA, asset(1, versions=[{"name": "a.jpg", "generate": {"size": SIZE, "seed": 1}}])])
    service = tenant.connect(read_only=True)
    file = await _file(service)
    bare = FileRef(file.id, file.name, file.size, file.media_type, link=file.link)
    broken = _Broken(service, bare, 10, replaces=lambda: _replace(tenant), always=True)
    with pytest.raises((FileReplaced, Transient)):
        await _content(tenant, broken, bare)
    assert broken.opened < 20


async def _file(service: Service) -> FileRef:
    (entry,) = await entries(service)
    found = await service.fetch(entry.id)
    assert found.file is not None
    return found.file


async def _content(tenant: Tenant, broken: _Broken, file: FileRef) -> bytes:
    budget = MemoryBudget(1 << 24)
    async with content_of(
        broken.open, file, spool=tenant.spool, budget=budget, single_bytes=SIZE, wanted=frozenset({"sha256"})
    ) as content:
        return b"".join([block async for block in content.blocks()])


class _Broken:
    """Opens a file whose first download breaks, or every one."""

    def __init__(
        self, service: Service, file: FileRef, cut: int, *, replaces: Act | None = None, always: bool = False
    ) -> None:
        self._service, self._file, self._cut, self._replaces, self._always = service, file, cut, replaces, always
        self.opened = 0

    async def open(self, offset: int, validator: Validator) -> Stream:
        self.opened += 1
        stream = await self._service.open(self._file, offset, validator)
        return _Cut(stream, self._cut, self._replaces) if self._always or self.opened == 1 else stream


class _Cut:
    def __init__(self, stream: Stream, cut: int, replaces: Act | None) -> None:
        self._stream, self._cut, self._replaces = stream, cut, replaces
        self.start, self.total, self.validator = stream.start, stream.total, stream.validator

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self._cut
        async for block in self._stream:
            yield block[:left]
            left -= len(block)
            if left <= 0:
                break
        if self._replaces is not None:
            self._replaces()
        raise Transient("the connection broke")

    async def aclose(self) -> None:
        await self._stream.aclose()


def _replace(tenant: Tenant) -> None:
    """Other bytes of the same length stand where the file was."""
    if isinstance(tenant.served, OnDisk):
        path = _on_disk(tenant)
        path.write_bytes(bytes(255 - byte for byte in path.read_bytes()))
        return
    state: Any = tenant.served.app.state
    for blob in _blobs(tenant):
        blob.seed, blob.id, blob.known = int(blob.seed) + 1, f"{blob.id}+", None
        state.objects.blobs[blob.id] = blob
    if tenant.kind.name == "d_templates":  # which keeps entity tags of its own
        records = state.tenant.records
        for key, record in records.items():
            records[key] = replace(record, etag=record.blob.digests().md5 if record.blob is not None else "")


def _digest(tenant: Tenant) -> str:
    if isinstance(tenant.served, OnDisk):
        return hashlib.sha256(_on_disk(tenant).read_bytes()).hexdigest()
    (blob,) = _blobs(tenant)
    return blob.digests().sha256


def _on_disk(tenant: Tenant) -> Path:
    root = Path(tenant.served.url.removeprefix("file://"))
    (path,) = (each for each in root.rglob("*") if each.is_file() and each.stat().st_size == SIZE)
    return path


def _blobs(tenant: Tenant) -> list[Blob]:
    app: Any = tenant.served.app
    found = {id(blob): blob for blob in app.state.objects.blobs.values() if blob.size == SIZE}
    return list(found.values())
