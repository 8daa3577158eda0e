"""The mapping file that `help mapping` shows is one that loads, and whose own tests pass."""

from __future__ import annotations

import re
from pathlib import Path

from dam_sync.help import text_of
from dam_sync.mapping.crosswalk import run_tests
from dam_sync.model.capabilities import Capabilities, Feature, Support
from dam_sync.model.schema import AssetType, Field, FieldKind, Schema, Vocabulary
from tests.support.mapping.tenant_schemas import compiled_file

(SHOWN,) = (
    text
    for text in re.findall(r"^```yaml\n(.*?)^```", text_of("mapping"), re.DOTALL | re.MULTILINE)
    if text.startswith("version: 1")
)
SOURCE = Schema(
    fields={
        "title": Field("title", FieldKind.TEXT, localized=True),
        "keywords": Field("keywords", FieldKind.TERM, multiple=True, vocabulary="keywords"),
        "cleared": Field("cleared", FieldKind.FLAG),
        "stat_views": Field("stat_views", FieldKind.NUMBER),
        "stat_downloads": Field("stat_downloads", FieldKind.NUMBER),
    },
    vocabularies={"keywords": Vocabulary("keywords", "Keywords")},
    locales=("en", "fr"),
    statuses=frozenset({"published", "archived", "draft"}),
)
TARGET = Schema(
    fields={
        "srckey": Field("srckey", FieldKind.TEXT, indexed=True),
        "title": Field("title", FieldKind.TEXT, required=True),
        "subject": Field("subject", FieldKind.TERM, multiple=True, vocabulary="subject"),
        "usage": Field("usage", FieldKind.TEXT),
        "note": Field("note", FieldKind.TEXT),
    },
    vocabularies={"subject": Vocabulary("subject", "Subject")},
    types=(AssetType("images", "images"), AssetType("documents", "documents")),
    groups=frozenset({"public"}),
    container_kinds=frozenset({"category"}),
    relation_kinds=frozenset({"derivative"}),
    capabilities=Capabilities(features={feature: Support("yes", "yes") for feature in Feature}),
)


def test_the_mapping_that_is_shown_loads_and_does_what_its_tests_say(tmp_path: Path) -> None:
    (tmp_path / "lookups").mkdir()
    (tmp_path / "lookups" / "country.csv").write_text("iso2,label\nFR,France\n", encoding="utf-8")
    (tmp_path / "subject.pins.csv").write_text("source,target\n", encoding="utf-8")
    mapping = tmp_path / "mapping.yaml"
    mapping.write_text(SHOWN, encoding="utf-8")
    document, crosswalk = compiled_file(mapping, SOURCE, TARGET)
    assert document.body.tests
    assert run_tests(document, crosswalk) == []
