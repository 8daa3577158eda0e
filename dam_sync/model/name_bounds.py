"""A bound for names that somebody else gives: far above what any service takes, and below what costs the memory of the
process when it is copied, compared and sorted for every draft. Nothing is shortened: what is longer is left out with a
named loss, or parks its asset."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from dam_sync.model.asset import Asset, Loss, Placement
from dam_sync.model.errors import InvalidValue
from dam_sync.model.limits import MIB
from dam_sync.model.values import Term, Value

LONGEST_NAME = 100_000
"""Characters of an id, a file name, a path with all its levels, a term, a tag, a group, the key of a field. The
services keep names in columns of 255; the longest label of a thesaurus that was seen has 700."""
MOST_NAMES = 100_000
"""Tags, groups, placements, values of a field: each kind, of one asset. The services take 10,000 and fewer."""
LONGEST_TEXT = 16 * MIB
"""Characters of a text that a mapping makes of several; the largest responses of the services have 32 MiB in all."""
TOO_LONG = f"is longer than {LONGEST_NAME:,} characters, and was left out"
TOO_MANY = f"are more than {MOST_NAMES:,}, and were left out"
_SHOWN = 80  # characters of a name that a loss shows


def refuse_unbounded(asset: Asset) -> None:
    """Raises InvalidValue if the id, the name of the asset or of a file, or a group is longer than LONGEST_NAME:
    without it the asset would be another one, or be shown to others."""
    files = ("the name of a file", (file.name for file in (*asset.versions, *asset.attachments)))
    named = (("the id", (asset.id,)), ("the file name", (asset.filename,)), files, ("a group", asset.rights.groups))
    for what, names in named:
        for name in names:
            if len(name) > LONGEST_NAME:
                raise InvalidValue(
                    f"{what} has {len(name):,} characters; at most {LONGEST_NAME:,} are read",
                    asset=asset.id[:_SHOWN],
                    code="long name",
                    hint="shorten it at the source",
                )
    if len(asset.rights.groups) > MOST_NAMES:
        raise InvalidValue(
            f"the asset has {len(asset.rights.groups):,} groups; at most {MOST_NAMES:,} are read",
            asset=asset.id,
            code="many names",
        )


def within_bounds(asset: Asset) -> Asset:
    """The asset without terms, tags, placements, relations and fields that are longer or more than the bounds; each is
    a named loss."""
    bounded = _BoundedNames()
    fields = {
        key: kept
        for key, value in asset.fields.items()
        if bounded.takes_key(key) and ((kept := bounded.value(key, value)) != () or value == ())
    }
    tags = frozenset(bounded.names("tags", asset.tags))
    machine = frozenset(bounded.names("tags", asset.machine_tags))
    places = frozenset(bounded.places(asset.placements))
    relations = frozenset(each for each in asset.relations if bounded.takes_kind(each.kind))
    if not bounded.losses:
        return asset
    losses = (*asset.losses, *bounded.losses)
    return replace(
        asset, fields=fields, tags=tags, machine_tags=machine, placements=places, relations=relations, losses=losses
    )


class _BoundedNames:
    """What is left out."""

    def __init__(self) -> None:
        self.losses: list[Loss] = []

    def takes_key(self, key: str) -> bool:
        return self._takes("fields", key)

    def takes_kind(self, kind: str) -> bool:
        return self._takes("relations", kind)

    def value(self, key: str, value: Value) -> Value:
        """The value; an empty tuple if nothing is left of it."""
        path = f"fields.{key}"
        if isinstance(value, Term):
            return value if self._takes_term(path, value) else ()
        if not isinstance(value, tuple):
            return value
        if self._has_too_many(path, len(value)):
            return ()
        kept = tuple(each for each in value if not isinstance(each, Term) or self._takes_term(path, each))
        return value if len(kept) == len(value) else kept

    def names(self, path: str, names: frozenset[str]) -> Iterator[str]:
        if not self._has_too_many(path, len(names)):
            yield from (name for name in names if self._takes(path, name))

    def places(self, places: Iterable[Placement]) -> Iterator[Placement]:
        known = list(places)
        if not self._has_too_many("placements", len(known)):
            yield from (place for place in known if self._takes_path("placements", place.path))

    def _takes_term(self, path: str, term: Term) -> bool:
        return self._takes(path, term.label) and self._takes(path, term.id) and self._takes_path(path, term.path)

    def _takes_path(self, path: str, levels: tuple[str, ...]) -> bool:
        if sum(map(len, levels)) + len(levels) <= LONGEST_NAME:
            return True
        return self._loses(path, "/".join(level[:_SHOWN] for level in levels[:3]))

    def _takes(self, path: str, name: str) -> bool:
        return len(name) <= LONGEST_NAME or self._loses(path, name)

    def _loses(self, path: str, shown: str) -> bool:
        self.losses.append(Loss(path, TOO_LONG, f"{shown[:_SHOWN]}…"))
        return False

    def _has_too_many(self, path: str, number: int) -> bool:
        if number > MOST_NAMES:
            self.losses.append(Loss(path, TOO_MANY, f"{number:,}"))
        return number > MOST_NAMES
