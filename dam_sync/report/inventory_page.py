"""An inventory as one HTML file."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, select_autoescape

from dam_sync.model.inventory import Inventory
from dam_sync.model.safe_text import visible_lines
from dam_sync.report.inventory import dense_tables, duplicates_text, headline
from dam_sync.report.inventory_summary import summary_of


def inventory_html(inventory: Inventory) -> str:
    """The inventory as an HTML page without external resources, with every value escaped."""
    environment = Environment(
        loader=PackageLoader("dam_sync.report"),
        autoescape=select_autoescape(default=True),
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible_lines(value) if type(value) is str else value,
    )
    template = environment.get_template("inventory.html")
    words = {"dense": dense_tables, "headline": headline, "duplicates_text": duplicates_text}
    return template.render(inventory=inventory, summary=summary_of(inventory), **words)
