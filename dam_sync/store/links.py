"""Links between source and target assets, file names taken in the target, memberships read from containers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, delete, func, select
from sqlalchemy.dialects.sqlite import insert as upsert

from dam_sync.model.asset import AssetId, Placement
from dam_sync.model.service import Membership
from dam_sync.store.rows import LinkRow
from dam_sync.store.tables import LINK, MEMBER, NAME


def put_link(connection: Connection, link: LinkRow, seen_run: int = 0) -> None:
    """Add or replace; when a known one was last seen is kept."""
    row = {
        "source": link.source,
        "target": link.target,
        "source_revision": link.source_revision,
        "source_fingerprint": link.source_fingerprint,
        "draft_fingerprint": link.draft_fingerprint,
        "target_revision": link.target_revision,
        "filename": link.filename,
        "evidence": link.evidence,
        "digests": json.dumps(dict(link.digests)),
        "size": link.size,
        "versions": json.dumps(list(link.versions)),
        "draft": json.dumps(link.draft, ensure_ascii=False),
        "seen_run": seen_run,
    }
    statement = upsert(LINK).values(row)
    changed = {key: value for key, value in row.items() if key not in ("source", "seen_run")}
    connection.execute(statement.on_conflict_do_update(index_elements=["source"], set_=changed))


def links(connection: Connection, sources: Sequence[str]) -> dict[AssetId, LinkRow]:
    """By source id; unknown ones are absent."""
    rows = connection.execute(select(LINK).where(LINK.c.source.in_(sources))).all()
    return {AssetId(row.source): _link(row) for row in rows}


def links_by_target(connection: Connection, targets: Sequence[str]) -> dict[AssetId, LinkRow]:
    """By target id; unknown ones are absent."""
    rows = connection.execute(select(LINK).where(LINK.c.target.in_(targets))).all()
    return {AssetId(row.target): _link(row) for row in rows}


def iter_links(connection: Connection, after: str, at_most: int) -> list[LinkRow]:
    """A page in order of source id."""
    query = select(LINK).where(LINK.c.source > after).order_by(LINK.c.source).limit(at_most)
    return [_link(row) for row in connection.execute(query).all()]


def unseen_links(connection: Connection, run: int, limit: int) -> list[LinkRow]:
    """Links whose source asset the run's listing did not show."""
    query = select(LINK).where(LINK.c.seen_run != run).order_by(LINK.c.source).limit(limit)
    return [_link(row) for row in connection.execute(query).all()]


def link_count(connection: Connection) -> int:
    """How many."""
    return connection.execute(select(func.count()).select_from(LINK)).scalar_one()


def reserve_name(connection: Connection, folded: str, owner: str) -> str | None:
    """None when the name is the owner's now; else who has it."""
    connection.execute(upsert(NAME).values(folded=folded, owner=owner).on_conflict_do_nothing())
    holder: str = connection.execute(select(NAME.c.owner).where(NAME.c.folded == folded)).scalar_one()
    return None if holder == owner else holder


def take_names(connection: Connection, rows: Sequence[tuple[str, str]]) -> None:
    """(folded name, owner) of names that are taken already; those known are left as they are."""
    if rows:
        values = [{"folded": folded, "owner": owner} for folded, owner in rows]
        connection.execute(upsert(NAME).on_conflict_do_nothing(), values)


def release_name(connection: Connection, folded: str, owner: str) -> None:
    """Give a name back."""
    connection.execute(delete(NAME).where(NAME.c.folded == folded, NAME.c.owner == owner))


def clear_members(connection: Connection) -> None:
    """Forget the memberships of an earlier listing."""
    connection.execute(delete(MEMBER))


def add_members(connection: Connection, membership: Membership) -> None:
    """Assets of one container; saying it twice is harmless."""
    place = membership.placement
    rows = [
        {"asset": asset, "kind": place.kind, "path": json.dumps(place.path), "container": place.id}
        for asset in membership.assets
    ]
    if rows:
        connection.execute(upsert(MEMBER).on_conflict_do_nothing(), rows)


def members_of(connection: Connection, assets: Iterable[str]) -> dict[AssetId, frozenset[Placement]]:
    """Placements by asset."""
    found: dict[AssetId, set[Placement]] = {}
    for row in connection.execute(select(MEMBER).where(MEMBER.c.asset.in_(list(assets)))):
        place = Placement(row.kind, tuple(json.loads(row.path)), row.container)
        found.setdefault(AssetId(row.asset), set()).add(place)
    return {asset: frozenset(places) for asset, places in found.items()}


def _link(row: Any) -> LinkRow:
    return LinkRow(
        source=row.source,
        target=row.target,
        source_revision=row.source_revision,
        source_fingerprint=row.source_fingerprint,
        draft_fingerprint=row.draft_fingerprint,
        target_revision=row.target_revision,
        filename=row.filename,
        evidence=row.evidence,
        digests=json.loads(row.digests),
        size=row.size,
        versions=tuple(json.loads(row.versions)),
        draft=json.loads(row.draft),
    )
