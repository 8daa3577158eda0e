"""The connected service, composed of its parts."""

from __future__ import annotations

from dam_sync.services.d_templates.counts import TemplatesCounts
from dam_sync.services.d_templates.estimate import TemplatesEstimate
from dam_sync.services.d_templates.source.crawl import TemplatesCrawl
from dam_sync.services.d_templates.target.create import TemplatesCreate
from dam_sync.services.d_templates.target.relate import TemplatesRelate
from dam_sync.services.d_templates.webhooks import TemplatesWebhooks


class TemplatesService(
    TemplatesCrawl, TemplatesCreate, TemplatesRelate, TemplatesEstimate, TemplatesWebhooks, TemplatesCounts
):
    """One instance of service D. An asset is a group of records, one per version, named by the file of the first."""
