"""The values of an asset, each counted once: as many as it has, and what the rules did with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from dam_sync.mapping.paths import LABEL, labelled
from dam_sync.mapping.results import empty
from dam_sync.model.account import DEFAULTED, DROPPED, LOST, PARKED, TRANSFORMED, WRITTEN
from dam_sync.model.asset import Asset
from dam_sync.model.values import Localized, Scalar

_BEST = {outcome: rank for rank, outcome in enumerate((WRITTEN, TRANSFORMED, DEFAULTED, PARKED, DROPPED, LOST))}


@dataclass(frozen=True, slots=True)
class ReadValue:
    """What a rule did with one value. index: of the value among those of its path."""

    path: str
    index: int
    outcome: str
    rule: str = ""


def best_of(known: ReadValue | None, other: ReadValue) -> ReadValue:
    """Of two rules that read the same value, what the better one did: a value written once is written."""
    return other if known is None or _BEST[other.outcome] < _BEST[known.outcome] else known


def count_values(asset: Asset, unread: Collection[str] = (), facts: Collection[str] = ()) -> Counter[str]:
    """How many values an asset has, by path, counted from the asset alone, without any rule. unread: keys of fields
    that do not count, because they follow from the file and no rule reads them; facts: paths of what is known about the
    asset (ids, dates, its file) that count, because a rule read them."""
    found: Counter[str] = Counter()
    for key, value in asset.fields.items():
        if key not in unread:
            for path, scalar in labelled(key, value):
                for name in _texts(path, scalar):
                    found[name] += 1
    sets = (("tags[]", asset.tags), ("machine_tags[]", asset.machine_tags), ("groups[]", asset.rights.groups))
    for path, words in sets:
        found[path] = sum(1 for word in words if word.strip())
    for place in asset.placements:
        name = "/".join(place.path) if place.kind == LABEL else place.text
        found["labels[]" if place.kind == LABEL else f"placements.{place.kind}[]"] += bool(name.strip())
    found.update(path for path, text in _own(asset, facts) if str(text or "").strip())
    return +found


def _texts(path: str, value: Scalar) -> list[str]:
    if isinstance(value, Localized):
        return [f"{path}.{locale}" for locale, text in value.texts.items() if text.strip()]
    return [] if empty(value) else [path]


def _own(asset: Asset, facts: Collection[str]) -> Iterator[tuple[str, object]]:
    """Values of the asset itself, and those facts about it that count."""
    rights, file = asset.rights, asset.file
    yield from (("filename", asset.filename), ("status", asset.status), ("substatus", asset.substatus))
    yield from (("release_at", rights.release_at), ("expires_at", rights.expires_at))
    if "created_at" in facts or asset.created_at not in asset.fields.values():
        yield "created_at", asset.created_at
    for name in ("id", "form_type", "type", "changed_at", "imported_at"):
        if name in facts:
            yield name, getattr(asset, name)
    if file is not None and facts:
        parts = {"name": file.name, "size": file.size, "media_type": file.media_type, "md5": file.digests.get("md5")}
        yield from ((f"file.{part}", value) for part, value in parts.items() if f"file.{part}" in facts)
