"""Service B, connected: composed of its parts."""

from __future__ import annotations

from dam_sync.services.b_documents.counts import DocumentsCounts
from dam_sync.services.b_documents.estimate import DocumentsEstimate
from dam_sync.services.b_documents.source.crawl import DocumentsCrawl
from dam_sync.services.b_documents.target.create import DocumentsCreate


class DocumentsService(DocumentsCrawl, DocumentsCreate, DocumentsEstimate, DocumentsCounts):
    """One server of service B."""
