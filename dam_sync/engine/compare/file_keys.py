"""Files of an asset by keys, as a link has them: what tells one file from another, and which file has which key now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeGuard

from dam_sync.model.asset import Asset, FileRef, Relation, digest_of
from dam_sync.model.capabilities import Capabilities, Operation
from dam_sync.model.link import LEFT, LinkRow
from dam_sync.model.policy import Policy
from dam_sync.model.schema import Schema
from dam_sync.model.values import Json, instant_text

ATTACHMENTS, RELATIONS, VERSIONS = "attachments", "relations", "versions"
IDENTIFYING = ("md5", "sha256", "sha512", "sha384", "sha1")  # digests that tell files apart, the first that is known
NAMED = "named"  # the last name at the source, in an entry of `LinkRow.attached`


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
    left = {key: former[key] for key in link.kept.get(VERSIONS) or () if key in former and key not in here}
    return _with_keys(link, {**left, **renamed}) if left or renamed else link


def _with_keys(link: LinkRow, renamed: Mapping[str, str]) -> LinkRow:
    """The link with other keys of these files, wherever it has them."""

    def now(keys: Iterable[str]) -> tuple[str, ...]:
        return tuple(renamed.get(key, key) for key in keys)

    left = {VERSIONS: list(now(link.kept[VERSIONS]))} if link.kept.get(VERSIONS) else {}
    return replace(
        link,
        versions=now(link.versions),
        attachments=now(link.attachments),
        attached={renamed.get(key, key): sent for key, sent in link.attached.items()},
        proofs={renamed.get(key, key): proof for key, proof in link.proofs.items()},
        kept={**link.kept, **left},
    )


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
    return _with_keys(link, renamed) if renamed else link


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


def fresh_relations(asset: Asset, link: LinkRow | None, target: Schema) -> frozenset[Relation]:
    """Relations that the target can store and that were not written."""
    if Operation.RELATE not in target.capabilities:
        return frozenset()
    known = frozenset(link.relations) if link else frozenset()
    held = (each for each in asset.relations if target.relation_kinds is None or each.kind in target.relation_kinds)
    return frozenset(each for each in held if (each.kind, each.target) not in known)


def kept_versions(asset: Asset, capabilities: Capabilities, policy: Policy) -> tuple[FileRef, ...]:
    """The versions to move: all if policy and target allow it, otherwise the current one."""
    if policy.versions == "all" and Operation.REPLACE in capabilities:
        return asset.versions
    return asset.versions[-1:]
