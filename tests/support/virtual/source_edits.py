"""Changes at a source that no listing by date may show, one asset each, and what of them the next run misses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from dam_sync.model.asset import Asset
from tests.support.virtual.target_edits import EDITS, Edit, Hand

OURS, RENAMED = "Ours", "Renamed"
SEA, OCEAN = "Sea", "Ocean"
PARTS = ("placements", "relations", "attachments")
DATED = 2  # edits of each service that do move a date


def edits_of(kind: str) -> Sequence[Edit]:
    """What is changed at a source of this kind."""
    parts = [edit for edit in EDITS[kind] if edit.path in PARTS]
    return (*[edit for edit in EDITS[kind] if edit not in parts][:DATED], *parts, *MORE.get(kind, ()))


def _swapped(part: str) -> Edit:
    """Into another container, out of the first: this service has no call for it."""

    async def change(hand: Hand, asset: Asset) -> None:
        spare, tenant = await hand.container(part, "Spare"), hand.state.tenant
        tenant.edit(replace(tenant.assets[asset.id], **{f"{part}s": (spare.id,)}), f"{part}s")

    return Edit(f"{part} swapped", "placements", change, lost=True)


def _three(part: str) -> set[str]:
    return {f"{part} {what}" for what in ("added", "removed", "swapped")}


MORE: dict[str, tuple[Edit, ...]] = {"c_brandlibrary": (_swapped("collection"),)}
UNSEEN: dict[str, set[str]] = {
    "a_hypermedia": _three("folder") | _three("label") | _three("relation"),
    "b_documents": {"relation added"},  # its target cannot take relations away
    "d_templates": _three("relation"),
}
"""What moves no date and is in no list of members: only a rotation finds it."""


# -- names -------------------------------------------------------------------------------------------------------------


def _folder_renamed(state: Any, old: str = OURS, new: str = RENAMED) -> None:
    folders = state.instance.library.folders
    next(folder for folder in folders.by_id.values() if folder.title == old).title = new


def _document_renamed(state: Any, old: str = OURS, new: str = RENAMED) -> None:
    repository = state.server.repository
    with repository.transaction():
        for found in [doc for doc in repository.docs.values() if doc.props.get("dc:title") == old]:
            repository.change(found).props["dc:title"] = new


def _node_renamed(state: Any, old: str = SEA, new: str = OCEAN) -> None:
    nodes = state.instance.library.thesauri.nodes.values()
    next(node for node in nodes if old in node.titles.values()).titles = {"en": new}


def _entry_renamed(state: Any, old: str = SEA, new: str = OCEAN) -> None:
    for directory in state.server.repository.directories.by_name.values():
        for entry in directory.entries.values():
            for key, text in entry.items():
                entry[key] = new if text == old and key != "id" else text


def _value_renamed(state: Any, old: str = SEA, new: str = OCEAN) -> None:
    schema = state.tenant.schema
    for vocabulary in schema.vocabularies.values():
        vocabulary.values = {key: new if text == old else text for key, text in vocabulary.values.items()}
    schema.apply()


def _word_renamed(state: Any, old: str = SEA, new: str = OCEAN) -> None:
    for key, field in state.tenant.metadata.fields.items():
        if field.words is not None and old in field.words.known:
            place = field.words.values.index(old)
            field.words.drop(old)
            field.words.add(new, place)
            state.tenant.reworded(key, old, new)


def _collection_renamed(state: Any, old: str = OURS, new: str = RENAMED) -> None:
    found = next(each for each in state.collections.all.values() if each.name == old)
    state.collections.update(found, {"name": new}, next(iter(state.people.users.values())))


def _category_renamed(state: Any, old: str = OURS, new: str = RENAMED) -> None:
    taxonomy = state.tenant.taxonomy
    taxonomy.rename(next(each for each in taxonomy.categories.values() if each.title == old), new)


RENAMES: dict[str, tuple[Callable[..., None], ...]] = {
    "a_hypermedia": (_folder_renamed, _node_renamed),
    "b_documents": (_document_renamed, _entry_renamed),
    "d_templates": (_collection_renamed, _value_renamed),
    "e_profiles": (_category_renamed, _word_renamed),
}
"""Give a container, and a term, another name: by default those of all assets."""


# -- deletions ---------------------------------------------------------------------------------------------------------


def _purge_a(state: Any, asset: str) -> None:
    library = state.instance.library
    user = next(iter(library.users.values()))
    for _ in range(2):
        library.delete(library.medias[int(asset)], user)


def _purge_c(state: Any, asset: str) -> None:
    state.tenant.delete(state.tenant.assets[asset])


def _purge_d(state: Any, asset: str) -> None:
    tenant = state.tenant
    user = next(iter(state.people.users.values()))
    for key in list(tenant.families[asset]):
        tenant.keep(replace(tenant.records[key], deleted=tenant.now(), deleted_by=user.id))
        tenant.purge(key)


def _purge_e(state: Any, asset: str) -> None:
    tenant = state.tenant
    tenant.purge(tenant.keep(replace(tenant.assets[asset], deleted=tenant.now())), None)


PURGES: dict[str, Callable[[Any, str], None]] = {
    "a_hypermedia": _purge_a,
    "c_brandlibrary": _purge_c,
    "d_templates": _purge_d,
    "e_profiles": _purge_e,
}
"""Delete an asset for good, so that no listing by date says so."""
