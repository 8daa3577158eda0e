"""Parts that left the source: which of what we wrote is to be removed at the target, and what has to stay. Pure.

What somebody else added at the target is never among them: only what the link says that we wrote.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeGuard

from dam_sync.model.asset import Asset, AssetId, FileRef, Loss, Relation, digest_of
from dam_sync.model.capabilities import Capabilities, Feature, Operation
from dam_sync.model.loss_rules import LossRule
from dam_sync.model.values import Json, instant_text
from dam_sync.store.rows import LEFT, LinkRow

ATTACHMENTS, RELATIONS, VERSIONS = "attachments", "relations", "versions"
IDENTIFYING = ("md5", "sha256", "sha512", "sha384", "sha1")  # digests that tell files apart, the first that is known
NAMED = "named"  # the last name at the source, in an entry of `LinkRow.attached`


@dataclass(frozen=True, slots=True)
class Gone:
    """What we wrote and the source no longer has: keys of files, and relations as in the link. names: keys of
    attachments with the name that they have now."""

    attachments: frozenset[str] = frozenset()
    versions: frozenset[str] = frozenset()
    relations: frozenset[tuple[str, str]] = frozenset()
    names: frozenset[tuple[str, str]] = frozenset()

    @property
    def empty(self) -> bool:
        """Whether the source has everything that we wrote."""
        return self == Gone()


@dataclass(frozen=True, slots=True)
class Removals:
    """What to remove: attachments by key, as they were sent, and relations. losses: what the target keeps, reported
    once, because the link knows all that is `gone`."""

    gone: Gone = Gone()
    attachments: Mapping[str, Json] = field(default_factory=dict)
    relations: frozenset[Relation] = frozenset()
    losses: tuple[Loss, ...] = ()

    def applied(self, link: LinkRow) -> LinkRow:
        """The link without what is removed. Files and relations that the target keeps are marked: a file that comes
        back to the source is not sent again."""
        link, gone = without_attachments(link, self.attachments), self.gone
        attached = {**link.attached, **{key: {**link.attached[key], NAMED: name} for key, name in gone.names}}
        return replace(
            link,
            attachments=tuple(_marked(key, gone.attachments) for key in link.attachments),
            attached={_marked(key, gone.attachments): sent for key, sent in attached.items()},
            versions=tuple(_marked(key, gone.versions) for key in link.versions),
            relations=tuple(filter(None, map(self._relation_left, link.relations))),
        )

    def _relation_left(self, pair: tuple[str, str]) -> tuple[str, str] | None:
        """What the link says of a relation that it has; None for one that is removed."""
        if pair not in self.gone.relations:
            return pair
        kind, other = pair
        return None if Relation(kind, AssetId(other)) in self.relations else (LEFT + kind, other)


def removals(asset: Asset, link: LinkRow, source: Capabilities, target: Capabilities) -> Removals:
    """What of the link the asset no longer has. A part that the source does not read, or did not return completely, is
    not gone."""
    gone = Gone(
        _missing(link.attachments, asset.attachments) if _is_whole(asset, source, ATTACHMENTS) else frozenset(),
        _missing(link.versions, asset.versions) if _is_whole(asset, source, VERSIONS) else frozenset(),
        _unrelated(asset, link) if _is_whole(asset, source, RELATIONS) else frozenset(),
        frozenset(_renamed(asset, link)),
    )
    detaches, unrelates = Operation.DETACH in target, Operation.UNRELATE in target
    known = {key: link.attached[key] for key in link.attachments if key in gone.attachments and key in link.attached}
    return Removals(
        gone,
        known if detaches else {},
        frozenset(Relation(kind, AssetId(other)) for kind, other in gone.relations) if unrelates else frozenset(),
        (*_losses(gone, known, detaches=detaches, unrelates=unrelates), *_name_losses(gone, link)),
    )


def _is_whole(asset: Asset, source: Capabilities, part: str) -> bool:
    return source.reads(Feature[part.upper()]) and not any(loss.path == part for loss in asset.losses)


def _missing(keys: Sequence[str], files: Sequence[FileRef]) -> frozenset[str]:
    here = {version_key(file) for file in files}
    return frozenset(key for key in keys if key not in here and not key.startswith(LEFT))


def _marked(key: str, gone: frozenset[str]) -> str:
    return LEFT + key if key in gone else key


def _renamed(asset: Asset, link: LinkRow) -> Iterator[tuple[str, str]]:
    """Attachments that have another name than the one that was sent, or reported as lost, last."""
    for file in asset.attachments:
        key = version_key(file)
        sent = link.attached.get(key)
        if sent and file.name and file.name != sent.get(NAMED, sent["name"]):
            yield key, file.name


def _unrelated(asset: Asset, link: LinkRow) -> frozenset[tuple[str, str]]:
    known = frozenset((kind, other) for kind, other in link.relations if not kind.startswith(LEFT))
    return known - {(relation.kind, str(relation.target)) for relation in asset.relations}


def with_relations(held: Iterable[tuple[str, str]], added: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Relations of a link with further ones; one that had left the source is not marked any more."""
    pairs = dict.fromkeys((*held, *added))
    back = {(LEFT + kind, other) for kind, other in pairs}
    return tuple(pair for pair in pairs if pair not in back)


def _losses(gone: Gone, known: Mapping[str, Json], *, detaches: bool, unrelates: bool) -> Iterator[Loss]:
    if gone.relations and not unrelates:
        names = ", ".join(f"{kind} to {other}" for kind, other in sorted(gone.relations))
        yield Loss(RELATIONS, LossRule.STAYS, f"{names}: the target cannot remove relations")
    if known and not detaches:
        names = ", ".join(sorted(sent["name"] for sent in known.values()))
        yield Loss(ATTACHMENTS, LossRule.STAYS, f"{names}: the target has no trash for attachments")
    if unknown := len(gone.attachments) - len(known):
        yield Loss(ATTACHMENTS, LossRule.STAYS, f"{unknown}: not added by a run that recorded what it sent")
    if gone.versions:
        yield Loss(VERSIONS, LossRule.STAYS, f"{len(gone.versions)}: the target has no trash for versions")


def _name_losses(gone: Gone, link: LinkRow) -> Iterator[Loss]:
    if gone.names:
        names = sorted(f"{link.attached[key]['name']} (now {name})" for key, name in gone.names)
        yield Loss(ATTACHMENTS, LossRule.KEEPS_NAME, ", ".join(names))


def without_attachments(link: LinkRow, keys: Iterable[str]) -> LinkRow:
    """The link without these attachments."""
    gone = frozenset(keys)
    return replace(
        link,
        attachments=tuple(key for key in link.attachments if key not in gone),
        attached={key: sent for key, sent in link.attached.items() if key not in gone},
    )


def with_known_versions(asset: Asset, link: LinkRow) -> Asset:
    """The asset with every version that was written, also one that its service shows as one with the next by now
    because values changed between them."""
    if not any(file.repeats for file in asset.versions):
        return asset
    known = {key.removeprefix(LEFT) for key in (*link.versions, *(link.kept.get(VERSIONS) or ()))}
    files: list[FileRef] = []
    for file in asset.versions:
        earlier = [replace(file, id=identity, repeats=()) for identity in file.repeats]
        files += [*(one for one in earlier if version_key(one) in known), file]
    return replace(asset, versions=tuple(files))


def with_current_keys(asset: Asset, link: LinkRow, kept: Sequence[FileRef] | None = None) -> LinkRow:
    """The link with the present keys of its files: a source that numbers attachments gives those behind a removed one
    other ids, one that had left the source may be there again, and size and digest of a version may have become known
    since. kept: the versions that move, if not all."""
    moving = asset.versions if kept is None else kept
    return _with_current_attachments(asset, _with_current_versions(asset, link, moving))


def _with_current_versions(asset: Asset, link: LinkRow, kept: Sequence[FileRef]) -> LinkRow:
    """The current file may have the key of an earlier version with the same bytes, which was current when it was
    written: the key is that of the first such version, so that each later one is a new one."""
    here = {version_key(file): file for file in asset.versions}
    written = {key.removeprefix(LEFT) for key in (*link.versions, *(link.kept.get(VERSIONS) or ()))}
    former: dict[str, str] = {}
    for now, file in here.items():
        if now not in written:
            for key in _former_keys(file, asset):
                former.setdefault(key, now)
    moving = frozenset(map(version_key, kept))
    renamed = {
        key: former[key] for key in link.versions if key in former and (key not in here or former[key] in moving)
    }
    if (last := link.versions[-1:]) and last[0] not in {*here, *renamed} and _is_as_sent(asset.file, link):
        renamed[last[0]] = version_key(asset.file)
    return replace(link, versions=tuple(renamed.get(key, key) for key in link.versions)) if renamed else link


def _is_as_sent(file: FileRef | None, link: LinkRow) -> TypeGuard[FileRef]:
    """Whether the current file has the bytes that were sent last, by a digest, and is not known under its key yet."""
    if file is None or not file.digests.keys() & link.digests.keys() or link.versions[-1].startswith(LEFT):
        return False
    return version_key(file) not in link.versions and file.agrees(FileRef("", "", link.size, digests=link.digests))


def _former_keys(file: FileRef, asset: Asset) -> Iterator[str]:
    """The keys of a file when it was the current one, where that has the id of the asset, and while its service had not
    read it: without a digest, and without a size. Only an upload time shows that it is the same file then."""
    if asset.file is not None and file is not asset.file:
        yield version_key(replace(file, id=asset.file.id))
    if file.created_at is not None:
        unread = replace(file, digests={})
        yield from (version_key(each) for each in (unread, replace(unread, size=None)))


def _with_current_attachments(asset: Asset, link: LinkRow) -> LinkRow:
    here = {version_key(file): file for file in asset.attachments}
    fresh = {key: file for key, file in here.items() if key not in link.attachments}
    renamed: dict[str, str] = {}
    for key in sorted(link.attachments, key=lambda key: key.startswith(LEFT)):
        same = _found_again(key, fresh, link) if key not in here else ""
        if same:
            renamed[key] = same
            del fresh[same]
    if not renamed:
        return link
    return replace(
        link,
        attachments=tuple(renamed.get(key, key) for key in link.attachments),
        attached={renamed.get(key, key): sent for key, sent in link.attached.items()},
    )


def _found_again(key: str, fresh: Mapping[str, FileRef], link: LinkRow) -> str:
    """The key that this file has now; empty if it is not there."""
    known = key.removeprefix(LEFT)
    if known in fresh or key not in link.attached:
        return known if known in fresh else ""
    return next((now for now, file in fresh.items() if _is_same(file, sent_file(link.attached[key]))), "")


def _is_same(file: FileRef, sent: FileRef) -> bool:
    """Whether it is the file that was sent."""
    return file.name == sent.name and file.agrees(sent)


def sent_file(sent: Json) -> FileRef:
    """The file of an entry of `LinkRow.attached`."""
    return FileRef("", sent["name"], sent["size"], digests=sent["digests"])


def version_key(file: FileRef) -> str:
    """What tells one stored file of an asset from another, as long as the source keeps it. A time only where there is
    no digest: that of a service may move with the values of the asset."""
    digest = next((file.digests[name] for name in IDENTIFYING if file.digests.get(name)), None)
    created = instant_text(file.created_at) if file.created_at else None
    return digest_of([file.id, file.size, digest or created])
