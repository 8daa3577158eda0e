"""How people recognize an asset in a report, and how a value is read as one text."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from dam_sync.engine.context.asset_labels import labels_of, name_of, plain_text
from dam_sync.model.asset import Asset, AssetId, Revision
from dam_sync.model.values import Localized


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (" a b ", "a b"),
        (Localized({"de": "See", "en": "Sea"}), "See"),
        (Localized({}), ""),
        (7, "7"),
        (7.0, "7"),
        (7.5, ""),
        (True, ""),
        (("a", "b"), ""),
        (date(2026, 1, 5), ""),
        (None, ""),
    ],
)
def test_a_value_as_one_text(value: Any, text: str) -> None:
    assert plain_text(value) == text


def test_an_asset_is_recognized_by_its_file_name_a_title_and_a_url_each_cut() -> None:
    long = "x" * 400
    fields = {"note": "n", "Titles": "", "title_b": long}
    asset = Asset(AssetId("1"), Revision("r"), filename=long, fields=fields, source_links={"page": f"https://{long}"})
    found = labels_of(asset)
    assert found == {"filename": long[:300], "title": long[:300], "url": f"https://{long}"[:300]}
    assert name_of(asset) == {"filename": long[:300]}
    bare = Asset(AssetId("1"), Revision("r"), fields={"title": "Sea"})
    assert labels_of(bare) == name_of(bare) == {"title": "Sea"}
