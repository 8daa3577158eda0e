"""A link beside its asset of the source as that is now: with the keys that its files have, and the names that terms and
containers have. The only place that brings a link up to date; whatever decides or compares with a link takes it from
here."""

from __future__ import annotations

from dataclasses import replace

from dam_sync.engine.compare.file_keys import kept_versions, with_current_keys, with_known_versions
from dam_sync.engine.context.libraries import Target
from dam_sync.model.asset import Asset
from dam_sync.model.link import LinkRow
from dam_sync.model.policy import Policy


def with_present_files(target: Target, policy: Policy, asset: Asset, link: LinkRow) -> tuple[Asset, LinkRow]:
    """The asset with all versions that were written, and the link with the present keys of its files."""
    asset = with_known_versions(asset, link)
    kept = kept_versions(asset, target.service.capabilities, policy)
    return asset, with_current_keys(asset, link, kept)


def with_present_names(target: Target, link: LinkRow) -> LinkRow:
    """The link as if its draft had been written after terms and containers got the names that they have: call it once
    those of the draft to be written are known."""
    known, schema = target.counterparts, target.schema
    kept = known.present_values(link.kept, schema)
    return replace(link, draft=known.present(link.draft, schema), kept=kept)
