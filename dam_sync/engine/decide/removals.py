"""Parts that left the source: which of what we wrote is to be removed at the target, and what has to stay. Pure.

What somebody else added at the target is never among them: only what the link says that we wrote.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from dam_sync.engine.compare.at_source import files_gone, relations_gone
from dam_sync.engine.compare.file_keys import ATTACHMENTS, NAMED, RELATIONS, VERSIONS, version_key, without_attachments
from dam_sync.model.asset import Asset, AssetId, Loss, Relation
from dam_sync.model.capabilities import Capabilities, Feature, Operation
from dam_sync.model.link import LEFT, LinkRow
from dam_sync.model.loss_rules import LossRule
from dam_sync.model.values import Json


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
        files_gone(link.attachments, asset.attachments) if _is_whole(asset, source, ATTACHMENTS) else frozenset(),
        files_gone(link.versions, asset.versions) if _is_whole(asset, source, VERSIONS) else frozenset(),
        relations_gone(asset, link) if _is_whole(asset, source, RELATIONS) else frozenset(),
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


def _marked(key: str, gone: frozenset[str]) -> str:
    return LEFT + key if key in gone else key


def _renamed(asset: Asset, link: LinkRow) -> Iterator[tuple[str, str]]:
    """Attachments that have another name than the one that was sent, or reported as lost, last."""
    for file in asset.attachments:
        key = version_key(file)
        sent = link.attached.get(key)
        if sent and file.name and file.name != sent.get(NAMED, sent["name"]):
            yield key, file.name


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
