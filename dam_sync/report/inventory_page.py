"""An inventory as one HTML file."""

from __future__ import annotations

from dam_sync.model.inventory import Inventory
from dam_sync.report.inventory import dense_tables, duplicates_text, headline
from dam_sync.report.inventory_summary import decisions_of, summary_of, verdict_of
from dam_sync.report.page_templates import templates


def inventory_html(inventory: Inventory) -> str:
    """The inventory as an HTML page without external resources, with every value escaped."""
    words = {"dense": dense_tables, "headline": headline, "duplicates_text": duplicates_text}
    said = {"verdict": verdict_of(inventory), "decisions": decisions_of(inventory), "summary": summary_of(inventory)}
    return templates().get_template("inventory.html").render(inventory=inventory, **said, **words)
