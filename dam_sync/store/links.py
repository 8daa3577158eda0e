"""Links from source to target assets, and reserved file names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

from sqlalchemy import Connection, Select, bindparam, delete, func, literal, or_, select, update

from dam_sync.model.asset import AssetId, Revision
from dam_sync.model.link import LinkRow
from dam_sync.store.base import Repository, from_text, pieces, to_text
from dam_sync.store.rows import AT_TARGET
from dam_sync.store.statements import PreparedStatement, listed_statement
from dam_sync.store.tables import LINK, LISTED_DELETED, NAME, SEEN, WORK, instant, stamp
from dam_sync.store.upsert import upsert

_BY_SOURCE = PreparedStatement(select(LINK).where(LINK.c.source.in_(listed_statement("ids"))))
_REVISIONS = PreparedStatement(select(SEEN.c.source, SEEN.c.revision).where(SEEN.c.source.in_(listed_statement("ids"))))
_BY_TARGET = PreparedStatement(select(LINK).where(LINK.c.target.in_(listed_statement("ids"))))
_NAMES = ("folded", "owner")
_COUNT = PreparedStatement(select(func.count()).select_from(LINK))
_RESERVE = PreparedStatement(upsert(NAME).on_conflict_do_nothing(), _NAMES)
_OWNER = PreparedStatement(select(NAME.c.owner).where(NAME.c.folded == bindparam("folded")))
_OWN_TARGET = literal(AT_TARGET) + select(LINK.c.target).where(LINK.c.source == bindparam("of")).scalar_subquery()
_TAKE_OVER = PreparedStatement(
    update(NAME).where(NAME.c.folded == bindparam("name"), NAME.c.owner == _OWN_TARGET).values(owner=bindparam("of"))
)
_COLUMNS = tuple(each.name for each in fields(LinkRow))
_TEXTS = ("versions", "attachments", "relations", "draft")
_MAPPINGS = ("digests", "proofs", "kept", "attached")


def _put(*columns: str) -> PreparedStatement:
    """An insert of these columns that replaces an existing link of the same source."""
    added = upsert(LINK)
    changed = {name: added.excluded[name] for name in columns if name != "source"}
    return PreparedStatement(added.on_conflict_do_update(index_elements=["source"], set_=changed), columns)


_PUT = _put(*_COLUMNS)
_LISTED_BY = PreparedStatement(  # never an earlier run than the one that is known
    update(SEEN).where(SEEN.c.source == bindparam("of"), SEEN.c.run < bindparam("now")).values(run=bindparam("now"))
)


class LinkRepository(Repository):
    """Links of source assets."""

    async def links(self, sources: Sequence[str]) -> dict[AssetId, LinkRow]:
        """The links of these source assets; those without one are absent."""
        return await self._found(sources, _BY_SOURCE, lambda row: str(row.source))

    async def revisions(self, sources: Sequence[str]) -> dict[AssetId, Revision]:
        """The revisions at which these source assets were last written; those without a link are absent."""

        def job(c: Connection) -> dict[AssetId, Revision]:
            found: dict[AssetId, Revision] = {}
            for piece in pieces(sources):
                found.update(_REVISIONS.tuples(c, ids=to_text(piece)))
            return found

        return await self._read(job) if sources else {}

    async def links_by_target(self, targets: Sequence[str]) -> dict[AssetId, LinkRow]:
        """The links to these target assets, by target."""
        return await self._found(targets, _BY_TARGET, lambda row: str(row.target))

    async def put_link(self, row: LinkRow, listed_by: int | None = None) -> None:
        """Write a link, replacing that of the same source; when it was last listed does not change, unless the run is
        given that listed it."""
        await self._write(lambda c: write_link(c, row, listed_by))

    async def iter_links(self, after: str = "", at_most: int = 500) -> list[LinkRow]:
        """A page of all links in the order of source ids, after the id `after`."""
        chosen = select(LINK).where(LINK.c.source > after).order_by(LINK.c.source).limit(at_most)
        return await self._read(lambda c: _rows(c, chosen))

    async def unlinked(self, after: str = "", at_most: int = 500) -> list[tuple[AssetId, str, str]]:
        """A page of the listed source assets without a link, in the order of their ids: asset, action, cause."""
        linked = select(LINK.c.source).where(LINK.c.source == WORK.c.asset)
        chosen = select(WORK.c.asset, WORK.c.action, WORK.c.cause).where(WORK.c.asset > after, ~linked.exists())
        chosen = chosen.order_by(WORK.c.asset).limit(at_most)
        return await self._read(lambda c: [(AssetId(row.asset), row.action, row.cause) for row in c.execute(chosen)])

    async def link_count(self) -> int:
        """How many source assets are linked."""
        return await self._read(lambda c: int(_COUNT.value(c)))

    async def sample_links(self, at_most: int) -> list[LinkRow]:
        """Some links, spread evenly over all of them; always the same ones while the links do not change."""
        number = await self.link_count()
        spots = sorted({number * spot // at_most for spot in range(at_most)}) if number else []
        ordered = select(LINK).order_by(LINK.c.source).limit(1)
        return await self._read(lambda c: [link_of(row) for at in spots for row in c.execute(ordered.offset(at))])

    async def gone(self, since_run: int, examples: int) -> tuple[int, list[str]]:
        """How many linked source assets no run listed since `since_run`, or were listed as deleted, and the first of
        them. They are gone only if `since_run` listed everything; 0 counts only the deleted ones."""
        deleted = SEEN.c.source.in_(select(WORK.c.asset).where(LISTED_DELETED))
        gone = or_(SEEN.c.run < since_run, deleted) if since_run else deleted
        first = select(SEEN.c.source).where(gone).order_by(SEEN.c.source).limit(examples)

        def job(c: Connection) -> tuple[int, list[str]]:
            number = int(c.execute(select(func.count()).select_from(SEEN).where(gone)).scalar_one())
            return number, [row.source for row in c.execute(first)] if number else []

        return await self._read(job)

    async def _found(
        self, ids: Sequence[str], chosen: PreparedStatement, key: Callable[[Any], str]
    ) -> dict[AssetId, LinkRow]:
        def job(c: Connection) -> dict[AssetId, LinkRow]:
            rows = (row for piece in pieces(ids) for row in chosen.all(c, ids=to_text(list(piece))))
            return {AssetId(key(row)): link_of(row) for row in rows}

        return await self._read(job) if ids else {}


class FilenameRepository(Repository):
    """File names taken in the target, for services where a name decides what an upload becomes. Names are
    casefolded."""

    async def reserve_name(self, folded: str, owner: str) -> str | None:
        """Reserve a name; None if it is now (or already was) `owner`'s, otherwise its owner. That of the target asset
        to which `owner` is linked is its own. Safe to repeat."""

        def job(c: Connection) -> str | None:
            _RESERVE.run(c, folded=folded, owner=owner)
            has = str(_OWNER.value(c, folded=folded))
            own = has == owner or (has.startswith(AT_TARGET) and _TAKE_OVER.run(c, name=folded, of=owner) == 1)
            return None if own else has

        return await self._write(job)

    async def take_names(self, rows: Sequence[tuple[str, str]]) -> None:
        """Reserve existing names, as (folded name, owner); a reserved name keeps its owner."""
        values = [{"folded": folded, "owner": owner} for folded, owner in rows]
        if values:
            await self._write(lambda c: _RESERVE.run_all(c, values))

    async def first_time(self, key: str) -> bool:
        """Whether this key is new; it is then stored among the names."""
        return await self._write(lambda c: _RESERVE.run(c, folded=key, owner="") == 1)


def write_link(c: Connection, link: LinkRow, listed_by: int | None = None) -> None:
    """Insert or replace; the run that listed it last does not change unless given."""
    values = {name: getattr(link, name) for name in _COLUMNS}
    values |= {name: to_text(values[name]) for name in _TEXTS}
    values |= {name: to_text(dict(values[name])) for name in _MAPPINGS}
    values["made_at"] = stamp(link.made_at) if link.made_at else ""
    _PUT.run(c, **values)
    if listed_by is not None:
        _LISTED_BY.run(c, of=link.source, now=listed_by)


def drop_link(c: Connection, source: str) -> None:
    """Delete the link and the names of a source asset."""
    c.execute(delete(LINK).where(LINK.c.source == source))
    c.execute(delete(NAME).where(NAME.c.owner == source))


def _rows(c: Connection, chosen: Select[Any]) -> list[LinkRow]:
    return [link_of(row) for row in c.execute(chosen)]


def link_of(row: Any) -> LinkRow:
    """A link from its table row."""
    return LinkRow(
        source=row.source,
        target=row.target,
        source_revision=row.source_revision,
        source_fingerprint=row.source_fingerprint,
        draft_fingerprint=row.draft_fingerprint,
        filename=row.filename,
        evidence=row.evidence,
        digests=from_text(row.digests),
        size=row.size,
        versions=tuple(from_text(row.versions)),
        attachments=tuple(from_text(row.attachments)),
        relations=tuple((kind, other) for kind, other in from_text(row.relations)),
        draft=from_text(row.draft),
        made_at=instant(row.made_at) if row.made_at else None,
        proofs=from_text(row.proofs),
        kept=from_text(row.kept),
        attached=from_text(row.attached),
    )
