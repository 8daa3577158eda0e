"""Service E, connected: composed of its parts."""

from __future__ import annotations

from dam_sync.services.e_profiles.counts import ProfilesCounts
from dam_sync.services.e_profiles.estimate import ProfilesEstimate
from dam_sync.services.e_profiles.source.crawl import ProfilesCrawl
from dam_sync.services.e_profiles.taxonomy import ProfilesTaxonomy
from dam_sync.services.e_profiles.webhooks import ProfilesWebhooks


class ProfilesService(ProfilesCrawl, ProfilesTaxonomy, ProfilesEstimate, ProfilesWebhooks, ProfilesCounts):
    """One tenant of service E. File versions are added only where the option version_policy says they are made."""
