"""What the source still has of what was written, and what a draft says as it does: the target is not looked at."""

from __future__ import annotations

from collections.abc import Sequence

from dam_sync.engine.compare.facts import SECOND, date_of, is_other_date
from dam_sync.engine.compare.file_keys import version_key
from dam_sync.model.asset import Asset, Draft, FileRef, Placement
from dam_sync.model.conflict import DATES
from dam_sync.model.link import LEFT, LinkRow


def files_gone(written: Sequence[str], here: Sequence[FileRef]) -> frozenset[str]:
    """Of the keys of files that were written, those that the source no longer has, and had when last looked at."""
    keys = {version_key(file) for file in here}
    return frozenset(key for key in written if key not in keys and not key.startswith(LEFT))


def relations_gone(asset: Asset, link: LinkRow) -> frozenset[tuple[str, str]]:
    """The same of relations, by kind and id of the other asset of the source."""
    known = frozenset((kind, other) for kind, other in link.relations if not kind.startswith(LEFT))
    return known - {(relation.kind, str(relation.target)) for relation in asset.relations}


def containers_not_made(recorded: Draft, draft: Draft) -> frozenset[Placement]:
    """Containers of a draft that the recorded one has without an id: an adoption recorded them though the target lacks
    them, and nothing made them since."""
    return draft.placements & frozenset(place for place in recorded.placements if not place.id)


def carries(draft: Draft, source: Asset, path: str) -> bool:
    """Whether a draft says of the status, a date or the groups what the asset of the source says; of groups, which
    compare by name, it has some, and no others."""
    if path in DATES:
        return not is_other_date(date_of(draft, path), date_of(source, path), SECOND)
    if path == "status":
        return draft.status.casefold() == source.status.casefold()
    ours, theirs = ({name.casefold() for name in side.rights.groups} for side in (draft, source))
    return bool(ours) and ours <= theirs
