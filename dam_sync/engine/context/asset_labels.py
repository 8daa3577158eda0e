"""How people recognize an asset: its file name, a title, a URL. Pure."""

from __future__ import annotations

from dam_sync.model.asset import Asset
from dam_sync.model.values import Localized, Value

LONGEST = 300  # characters kept of each


def labels_of(asset: Asset) -> dict[str, str]:
    """filename, title and url, if known."""
    titles = (plain_text(asset.fields[key]) for key in sorted(asset.fields) if "title" in key.casefold())
    url = next(iter(asset.source_links.values()), "")
    known = {"filename": asset.filename, "title": next(filter(None, titles), ""), "url": url}
    return {key: text[:LONGEST] for key, text in known.items() if text}


def name_of(asset: Asset) -> dict[str, str]:
    """The file name, or what else people recognize an asset by that has none."""
    return {"filename": asset.filename[:LONGEST]} if asset.filename else labels_of(asset)


def plain_text(value: Value | None) -> str:
    """A field's value as one text: the first of several languages, digits of a whole number, otherwise nothing."""
    if isinstance(value, Localized):
        value = next(iter(value.texts.values()), "")
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""
