"""What the documents of a service offer and dam-sync leaves alone is in its help topic and in an inventory, from one
list; what concerns a writer is in `check` and `plan` as well."""

from __future__ import annotations

import pytest

from dam_sync.api.service_notes import notes_about
from dam_sync.engine.inventory.gather import Inspection
from dam_sync.engine.inventory.reading import Sampling
from dam_sync.help import text_of
from dam_sync.model.connector import Connector
from dam_sync.model.run_options import RunOptions
from dam_sync.reference import sections
from dam_sync.report.inventory import tables_of
from dam_sync.services import built_in
from tests.unit.engine.test_inventory_gather import Shelf

SERVICES = [name for name in built_in() if name != "folder"]

# kind, role in which it is in an inventory, words of it
LEFT_OUT = [
    ("a_hypermedia", "source", "addresses of the resizing service"),
    ("a_hypermedia", "source", "accounts of users and groups"),
    ("a_hypermedia", "target", "accounts of users and groups"),
    ("a_hypermedia", "target", "share templates with the domains they allow, wikis, properties"),
    ("a_hypermedia", "source", "exports, download requests"),
    ("b_documents", "target", "accounts of users and groups"),
    ("b_documents", "source", "bulk actions"),
    ("b_documents", "target", "direct upload to object storage"),
    ("c_brandlibrary", "source", "the data connector"),
    ("c_brandlibrary", "source", "custom CDN names"),
    ("c_brandlibrary", "target", "priority and position of fields"),
    ("d_templates", "source", "the deprecated API v1 (URLs with `/content-store-v1`)"),
    ("d_templates", "target", "CDN pull zones"),
    ("d_templates", "target", "bulk edit"),
    ("d_templates", "source", "`DELETE /auth/token`"),
    ("d_templates", "source", "accounts of users and groups"),
    ("e_profiles", "source", "accounts of users, roles and groups"),
    ("e_profiles", "target", "`monitored_metadata_fields`"),
    *((kind, "target", "`check` names") for kind in SERVICES),  # the schema that has to exist first
]


async def shown(connector: Connector, role: str) -> str:
    """The tables of an inventory of an empty library."""
    lists = {"not_moved": connector.not_moved, "not_used": connector.not_used}
    side = await Inspection(
        role, connector.name, Shelf(), sampling=Sampling.of("1"), options=RunOptions(), **lists
    ).run()
    return "\n".join(" | ".join(row) for table in tables_of(side) for row in table.full().rows)


@pytest.mark.parametrize(("kind", "role", "words"), LEFT_OUT)
async def test_what_is_left_out_is_in_the_help_topic_and_in_an_inventory(kind: str, role: str, words: str) -> None:
    assert words in sections()[kind]
    assert words in text_of(kind)
    assert words in await shown(built_in()[kind], role)


@pytest.mark.parametrize("kind", SERVICES)
async def test_an_inventory_has_every_row_of_the_lists(kind: str) -> None:
    connector = built_in()[kind]
    for role in ("source", "target"):
        rows = (await shown(connector, role)).splitlines()
        every = (*(one for one in connector.not_moved if one.concerns(role)), *connector.not_used)
        assert [row for row in rows if row.split(" | ")[0] in {one.what for one in every}] == rows[-len(every) :]
        assert rows[-len(every) :] == [" | ".join((one.what, "", one.why, one.where)) for one in every]


@pytest.mark.parametrize(
    ("kind", "way", "words"),
    [
        ("a_hypermedia", "target", "notification e-mails"),
        ("c_brandlibrary", "target", "CDN links for up to 24 hours"),
        ("e_profiles", "source", "counts as a download"),
    ],
)
async def test_what_a_migration_causes_besides_is_said_of_the_role_that_causes_it(
    kind: str, way: str, words: str
) -> None:
    connector = built_in()[kind]
    assert words in text_of(kind)
    for needed in (True, False):
        for role in ("source", "target"):
            texts = [note.text for note in await notes_about(role, connector, Shelf(), needed=needed)]
            assert [words in text for text in texts] == [True] * (role == way)


def test_what_is_used_is_in_a_topic() -> None:
    assert "x-ratelimit-limit" in text_of("rate-limits")
    assert "calls_per_month" in text_of("e_profiles")
    assert "500,000" in text_of("e_profiles")
    assert "opt-in behaviors" in text_of("inspect")
