"""Links from source to target assets, and the file names these took."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

from sqlalchemy import Connection, Select, bindparam, delete, func, or_, select
from sqlalchemy.dialects.sqlite import insert as upsert

from dam_sync.model.asset import AssetId
from dam_sync.store.base import Repository, from_text, pieces, to_text
from dam_sync.store.rows import LinkRow
from dam_sync.store.statements import PreparedStatement, listed_statement
from dam_sync.store.tables import LINK, NAME, WORK, instant, stamp

_BY_SOURCE = PreparedStatement(select(LINK).where(LINK.c.source.in_(listed_statement("ids"))))
_BY_TARGET = PreparedStatement(select(LINK).where(LINK.c.target.in_(listed_statement("ids"))))
_NAMES = ("folded", "owner")
_RESERVE = PreparedStatement(upsert(NAME).on_conflict_do_nothing(), _NAMES)
_OWNER = PreparedStatement(select(NAME.c.owner).where(NAME.c.folded == bindparam("folded")))
_COLUMNS = tuple(each.name for each in fields(LinkRow))
_TEXTS = ("versions", "attachments", "relations", "draft")


def _put(*columns: str) -> PreparedStatement:
    """An insert of these columns that replaces them in the link its source had."""
    added = upsert(LINK)
    changed = {name: added.excluded[name] for name in columns if name != "source"}
    return PreparedStatement(added.on_conflict_do_update(index_elements=["source"], set_=changed), columns)


_PUT, _PUT_SEEN = _put(*_COLUMNS), _put(*_COLUMNS, "seen_run")


class LinkRepository(Repository):
    """What source assets became."""

    async def links(self, sources: Sequence[str]) -> dict[AssetId, LinkRow]:
        """The links of these source assets; those without one are absent."""
        return await self._found(sources, _BY_SOURCE, lambda row: str(row.source))

    async def links_by_target(self, targets: Sequence[str]) -> dict[AssetId, LinkRow]:
        """The links that lead to these target assets, by target."""
        return await self._found(targets, _BY_TARGET, lambda row: str(row.target))

    async def put_link(self, row: LinkRow) -> None:
        """Write a link, in place of the one its source had; when it was last listed stays as it was."""
        await self._write(lambda c: write_link(c, row))

    async def iter_links(self, after: str = "", at_most: int = 500) -> list[LinkRow]:
        """A page of all links in the order of source ids, behind the id `after`."""
        chosen = select(LINK).where(LINK.c.source > after).order_by(LINK.c.source).limit(at_most)
        return await self._read(lambda c: _rows(c, chosen))

    async def link_count(self) -> int:
        """How many source assets are linked."""
        return await self._read(lambda c: int(c.execute(select(func.count()).select_from(LINK)).scalar_one()))

    async def sample_links(self, at_most: int) -> list[LinkRow]:
        """Some links, spread evenly over all of them; the same ones while none comes or goes."""
        number = await self.link_count()
        spots = sorted({number * spot // at_most for spot in range(at_most)}) if number else []
        ordered = select(LINK).order_by(LINK.c.source).limit(1)
        return await self._read(lambda c: [link_of(row) for at in spots for row in c.execute(ordered.offset(at))])

    async def gone(self, since_run: int, examples: int) -> tuple[int, list[str]]:
        """How many linked source assets no run listed since `since_run`, or were listed as deleted, and the first of
        them. It means `gone` only when `since_run` listed everything; 0 counts the deleted ones alone."""
        deleted = select(WORK.c.asset).where(WORK.c.deleted)
        gone = or_(LINK.c.seen_run < since_run, LINK.c.source.in_(deleted))
        first = select(LINK.c.source).where(gone).order_by(LINK.c.source).limit(examples)

        def job(c: Connection) -> tuple[int, list[str]]:
            number = int(c.execute(select(func.count()).select_from(LINK).where(gone)).scalar_one())
            return number, [row.source for row in c.execute(first)]

        return await self._read(job)

    async def _found(
        self, ids: Sequence[str], chosen: PreparedStatement, key: Callable[[Any], str]
    ) -> dict[AssetId, LinkRow]:
        def job(c: Connection) -> dict[AssetId, LinkRow]:
            rows = (row for piece in pieces(ids) for row in chosen.all(c, ids=to_text(list(piece))))
            return {AssetId(key(row)): link_of(row) for row in rows}

        return await self._read(job) if ids else {}


class FilenameRepository(Repository):
    """File names taken in the target, for services where a name decides what an upload becomes. Names come folded."""

    async def reserve_name(self, folded: str, owner: str) -> str | None:
        """None when the name is now (or was already) `owner`'s, else the owner that has it; safe to repeat."""

        def job(c: Connection) -> str | None:
            _RESERVE.run(c, folded=folded, owner=owner)
            has = str(_OWNER.value(c, folded=folded))
            return None if has == owner else has

        return await self._write(job)

    async def take_names(self, rows: Sequence[tuple[str, str]]) -> None:
        """Names that are there already, as (folded name, owner); a name somebody has stays with him."""
        values = [{"folded": folded, "owner": owner} for folded, owner in rows]
        if values:
            await self._write(lambda c: _RESERVE.run_all(c, values))

    async def first_time(self, key: str) -> bool:
        """Whether nobody named this key before; it is kept among the names from now on."""
        return await self._write(lambda c: _RESERVE.run(c, folded=key, owner="") == 1)


def write_link(c: Connection, link: LinkRow, seen_run: int | None = None) -> None:
    """Insert or replace; `seen_run` is left as it was unless given."""
    values = {name: getattr(link, name) for name in _COLUMNS}
    values |= {name: to_text(values[name]) for name in _TEXTS}
    values["digests"], values["proofs"] = to_text(dict(link.digests)), to_text(dict(link.proofs))
    values["made_at"] = stamp(link.made_at) if link.made_at else ""
    if seen_run is None:
        _PUT.run(c, **values)
    else:
        _PUT_SEEN.run(c, **values, seen_run=seen_run)


def drop_link(c: Connection, source: str) -> None:
    """The link and the names of a source asset."""
    c.execute(delete(LINK).where(LINK.c.source == source))
    c.execute(delete(NAME).where(NAME.c.owner == source))


def _rows(c: Connection, chosen: Select[Any]) -> list[LinkRow]:
    return [link_of(row) for row in c.execute(chosen)]


def link_of(row: Any) -> LinkRow:
    """A link as the table has it."""
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
    )
