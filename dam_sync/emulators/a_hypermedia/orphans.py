"""What lies about in an instance besides its media: temporary files, selections, media that are none yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dam_sync.emulators.a_hypermedia.call import Instance
from dam_sync.emulators.a_hypermedia.records import Media
from dam_sync.emulators.kit.environment import Json
from dam_sync.emulators.kit.orphans import orphan


def orphans_of(instance: Instance) -> Iterator[Mapping[str, Json]]:
    """What expires (wire A 12, lines 9 and 16) is listed until then; the rest is listed permanently."""
    yield from _files(instance)
    yield from _groups(instance)
    for media in instance.library.medias.values():
        if instance.library.schema.base(media.status) != "TRASH":
            yield from _unfinished(instance, media)
    now = instance.world.now()
    for folder in instance.library.folders.by_id.values():
        if folder.parent and not folder.children and not folder.members:
            yield orphan("empty folder", folder.id, 0.0)
    for group in instance.collections.ephemerals.values():
        if now < group.expires:
            left = (group.expires - now).total_seconds()
            yield orphan(group.kind, group.id, 0.0, life=left)


def _files(instance: Instance) -> Iterator[Mapping[str, Json]]:
    """Temporary files that no media is made of."""
    now, life = instance.world.now(), instance.options.descriptor_life
    medias = instance.library.medias.values()
    used = {id(version.blob) for media in medias for version in media.versions}
    for one in instance.uploads.alive():
        if one.blob is None or id(one.blob) not in used:
            age = life - (one.expires - now).total_seconds()
            yield orphan("temporary file", one.id, age, one.received, life - age)


def _groups(instance: Instance) -> Iterator[Mapping[str, Json]]:
    for basket in instance.collections.baskets.values():
        yield orphan(basket.kind, basket.id, 0.0)


def _unfinished(instance: Instance, media: Media) -> Iterator[Mapping[str, Json]]:
    age = (instance.world.now() - media.created).total_seconds()
    if media.file is None:
        yield orphan("media without a file", media.id, age)
    if instance.library.schema.base(media.status) in ("IMPORT", "BASKET"):
        yield orphan("media never placed", media.id, age)
    for attachment in media.attachments:
        if attachment.blob is None:
            yield orphan("attachment without its bytes", f"{media.id}/{attachment.id}", age)
