"""Drafts: every value of any asset is accounted for."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dam_sync.mapping.crosswalk import Crosswalk
from dam_sync.model.account import READ, imbalances, parked_account
from dam_sync.model.asset import Asset
from dam_sync.model.codec import draft_to_json
from dam_sync.model.values import Localized, Term, Value
from tests.support.libraries.value_strategies import assets
from tests.support.mapping.drafts import index, tally_of
from tests.support.mapping.tenant_schemas import SOURCE, TARGET, compiled

RICH = """\
version: 1
locales: [fr, en]
lookups: {c: {csv: c.csv, unmatched: drop}}
vocabularies:
  subject: {source: keywords, target: subject, match: [exact, casefold, synonym], unmatched: create}
  country: {target: country, match: [exact], unmatched: drop}
profile: {from: form_type, cases: {PICTURE: images}, default: documents}
asset:
  filename: {from: filename, pipe: [nfc, {safe_name: 40}]}
fields:
  srckey: {marker: true}
  title: {from: [fields.title.en, fields.title, filename], pipe: [trim, {truncate: {max: 10, on_cut: note}}]}
  titleFr: {from: fields.title.fr, on_error: "null"}
  note: {from: [fields.inventory, fields.credit], pipe: [strip_html, {truncate: {max: 8, on_cut: drop}}, upper]}
  description: {from: "fields.people[]", pipe: [unique, {join: ", "}]}
  subject: {from: "fields.keywords[]", pipe: [{vocabulary: subject}, unique]}
  country: {from: fields.country, pipe: [{lookup: c}, {vocabulary: country}], default: Worldwide}
  shotDate: {from: [fields.shot_date, fields.taken_at], pipe: [{date: {in: [iso, "%Y"]}}], on_error: drop}
  heightCm: {from: fields.height_cm}
  approved: {from: fields.cleared, on_error: drop}
  pages: {from: fields.site.latitude}
tags: {from: "tags[]", pipe: [trim, casefold, unique]}
placements: {from: "placements[].path", as: category}
security: {groups: {from: "groups[]", on_error: drop}, release: {from: release_at}}
unmapped: report
"""


@pytest.fixture(scope="module")
def rich(tmp_path_factory: pytest.TempPathFactory) -> Crosswalk:
    folder = tmp_path_factory.mktemp("rich")
    (folder / "c.csv").write_text("key,value\na,France\n")
    return compiled(folder, RICH)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(given_=assets())
def test_every_value_is_accounted_for_and_nothing_raises(rich: Crosswalk, given_: Asset) -> None:
    drafted = rich.draft(given_, "mark", {"subject": index("Sea"), "country": index("France", "Worldwide")})
    assert drafted == rich.draft(given_, "mark", {"subject": index("Sea"), "country": index("France", "Worldwide")})
    draft_to_json(drafted.draft)
    assert list(imbalances(drafted.account)) == []
    counted = Counter({key.path: times for key, times in drafted.account.items() if key.outcome == READ})
    for key, value in given_.fields.items():
        there = Counter(values_of(key, value)) if key != "width" else Counter()
        assert {path: counted[path] for path in there} == there
    assert {path.split(".")[1].removesuffix("[]") for path in counted if path.startswith("fields.")} <= set(
        given_.fields
    ) - {"width"}
    assert counted["tags[]"] == sum(1 for tag in given_.tags if tag.strip())
    parked = any(outcome == "parked" for _, outcome in tally_of(drafted))
    assert not parked or drafted.rejections


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(given_=assets(), data=st.data())
def test_a_value_that_is_not_accounted_for_is_found(rich: Crosswalk, given_: Asset, data: st.DataObject) -> None:
    account = Counter(rich.draft(replace(given_, status="published"), "mark", {}).account)
    key = data.draw(st.sampled_from(sorted(account)))
    account[key] += data.draw(st.sampled_from((-1, 1, 5)))
    (found,) = imbalances(account)
    assert found.path == key.path
    assert list(imbalances(parked_account({"a": 2, "b": 1}, "TooLarge"))) == []


def values_of(key: str, value: Value) -> list[str]:
    """Names of the values that are not empty, written down again so that the count is not taken from the code."""
    single = not isinstance(value, tuple)
    names = []
    for item in (value,) if not isinstance(value, tuple) else value:
        name = f"fields.{key}" if single else f"fields.{key}[]"
        if isinstance(item, Localized):
            names += [f"{name}.{locale}" for locale, text in item.texts.items() if text.strip()]
        elif not (isinstance(item, str) and not item.strip()) and not (
            isinstance(item, Term) and not item.label.strip()
        ):
            names.append(name)
    return names


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(given_=assets())
def test_written_values_fit_the_target(rich: Crosswalk, given_: Asset) -> None:
    drafted = rich.draft(given_, "mark", {})
    for key, value in drafted.draft.fields.items():
        field = TARGET.fields[key]
        assert isinstance(value, tuple) == field.multiple
        for item in value if isinstance(value, tuple) else (value,):
            if field.max_length and isinstance(item, str):
                assert len(item) <= field.max_length
    assert all(placement.kind == "category" and placement.path for placement in drafted.draft.placements)
    assert drafted.draft.rights.groups <= (TARGET.groups or frozenset())
    assert SOURCE.fields.keys() >= rich.unread
