"""What lies about in a server besides its documents: batches, bulk work nobody fetched, documents without a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dam_sync.emulators.b_documents.server import Server
from dam_sync.emulators.kit.environment import Json
from dam_sync.emulators.kit.orphans import orphan


def orphans_of(server: Server) -> Iterator[Mapping[str, Json]]:
    """A batch lives so long after it was last written or read (wire B 6.2); the rest lies there permanently."""
    now, life = server.world.now().timestamp(), server.options.batch_life
    for key in list(server.batches.by_id):
        batch = server.batches.alive(key)
        if batch is not None:
            size = sum(
                upload.blob.size if upload.blob else sum(chunk.size for chunk in upload.chunks.values())
                for upload in batch.files.values()
            )
            age = now - batch.touched
            yield orphan("batch" if batch.files else "empty batch", key, age, size, life - age)
    yield from _bulk(server, now)
    yield from _documents(server)


def _bulk(server: Server, now: float) -> Iterator[Mapping[str, Json]]:
    """Results are given once (wire B 2.7)."""
    for key, command in server.commands.items():
        if not command["given"] and not command["aborted"]:
            yield orphan("bulk command", key, now - command["at"])
    for key, (due, _) in server.executions.items():
        yield orphan("asynchronous operation", key, now - due)


def _documents(server: Server) -> Iterator[Mapping[str, Json]]:
    repository = server.repository
    for doc in repository.docs.values():
        if doc.trashed or doc.is_version or doc.is_proxy:
            continue
        if doc.lock is not None:
            yield orphan("lock", doc.uid, 0.0)
        made = repository.types.types[doc.type]
        if doc.file is None and "file" in made.schemas and "Folderish" not in made.facets:
            yield orphan("document without a file", doc.uid, 0.0)
