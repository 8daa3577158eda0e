"""Mapping files with changes at random, as text and as keys and values: refused with a place, or used; no traceback.

`make fuzz N=20000` tries five times as many mapping files; a failure names the line that repeats its case alone.
"""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from dam_sync.config.diagnostics import SourceMap
from dam_sync.mapping.compile import compile_reading
from dam_sync.mapping.crosswalk import Crosswalk, run_tests
from dam_sync.mapping.document import MappingDocument, mapping_of_text, reading_of
from dam_sync.mapping.vocabulary import TermIndex
from dam_sync.model.asset import Asset
from dam_sync.model.errors import MappingError
from tests.support.mapping.drafts import index
from tests.support.mapping.mutated_files import mutated_data, mutated_text
from tests.support.mapping.tenant_schemas import SOURCE, TARGET
from tests.support.sample.rotation import SEED
from tests.unit.mapping.test_mapping_expressions import FULL

MAPPINGS = 5 * int(os.environ.get("DAM_SYNC_FUZZ", "40"))
ALONE = os.environ.get("DAM_SYNC_MAPPING", "")
BLOCK = 500
AS_TEXT = 5  # of so many mapping files one is changed as text, which takes longer to read
TABLES = {"country.csv": "key,value\nFR,France\n", "pins.csv": "source,target\nSea,Ocean\n", "ids.csv": "id\n7\n"}
GOOD = """\
version: 1
locales: [en, fr]
include: shared.yaml
select: {status: [archived], types: [PICTURE], fields: {country: [France]}, where: 'size(asset.tags) > 0'}
lookups:
  country: {csv: country.csv, unmatched: keep}
  rights: {values: {yes: Cleared, no: Ask}}
vocabularies:
  subject: {target: subject, match: [pin, exact, synonym, {fuzzy: 0.92}], unmatched: suggest, pins: pins.csv}
profile: {from: form_type, cases: {PICTURE: images}, default: documents}
asset:
  filename: {from: filename, pipe: [nfc, {safe_name: {max: 128}}]}
fields:
  srckey: {marker: true}
  title: {from: [fields.title.en, filename], pipe: [trim, {truncate: {max: 255, on_cut: note}}], required: true}
  note: {when: 'asset.status == "archived"', cel: 'asset.fields.title.en + "!"', on_error: drop}
  subject: {from: "fields.keywords[]", pipe: [{vocabulary: subject}, unique]}
  heightCm: {cel: 'asset.fields.height_cm * 2.0', default: 1}
  shotDate: {from: fields.shot_date, pipe: [{date: {in: [iso, "%d/%m/%Y"]}}]}
tags: {from: "tags[]", pipe: [trim, casefold, unique]}
placements: {from: "placements[].path", pipe: [{strip_prefix: /Press}], as: category}
security: {groups: {const: [public]}, release: {from: release_at}}
ignore: [site, dims]
unmapped: report
tests:
  - given: {id: "7", status: archived, filename: a.jpg, fields: {title: {texts: {en: Sea}}}}
    expect: {title: Sea}
"""
SHARED = "version: 1\nfields: {description: {from: fields.description}, titleFr: {const: x}}\nignore: [credit]\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the mapping files, with the tables that they name."""
    made = tmp_path_factory.mktemp("mappings")
    for name, text in {**TABLES, "shared.yaml": SHARED}.items():
        (made / name).write_text(text, encoding="utf-8")
    return made


def tried(folder: Path, number: int) -> bool:
    """Whether the mapping of this number can be used. Raises what nobody should see."""
    chance = random.Random(SEED * 1_000_003 + number)
    try:
        if number % AS_TEXT == 0:
            written = mapping_of_text(mutated_text(GOOD, chance))
        else:
            written = SourceMap("mapping", mutated_data(PLAIN, chance))
        document, crosswalk = compile_reading(reading_of(written, folder), SOURCE, TARGET)
    except MappingError as error:
        refused = error.diagnostics
    else:
        return used(document, crosswalk)
    assert refused
    assert all(one.line >= 1 and one.message for one in refused)
    return not json.dumps([str(one) for one in refused])


def used(document: MappingDocument, crosswalk: Crosswalk) -> bool:
    """Runs the examples of a mapping, and drafts assets with it."""
    run_tests(document, crosswalk)
    terms = dict.fromkeys(crosswalk.vocabularies, TERMS)
    for given in ASSETS:
        crosswalk.selects(given)
        crosswalk.draft(given, "mark", terms)
    return True


PLAIN: dict[str, Any] = json.loads(json.dumps(YAML(typ="safe").load(GOOD)))
TERMS: TermIndex = index("Ocean", "Fish", "Photography")
ASSETS = (FULL, Asset(FULL.id, FULL.revision))


@pytest.mark.parametrize("start", range(0, MAPPINGS, BLOCK))
def test_changed_mappings(folder: Path, start: int) -> None:
    usable = 0
    for number in [int(ALONE)] if ALONE else range(start, min(start + BLOCK, MAPPINGS)):
        try:
            usable += tried(folder, number)
        except BaseException as error:
            line = f"DAM_SYNC_MAPPING={number} DAM_SYNC_SEED={SEED} .venv/bin/pytest tests/fuzz/test_mappings.py"
            error.add_note(f"to repeat it: {line}")
            raise
    assert ALONE or usable, "none of them could be used"


def test_the_mapping_that_is_changed_can_be_used(folder: Path) -> None:
    for written in (mapping_of_text(GOOD), SourceMap("mapping", PLAIN)):
        compile_reading(reading_of(written, folder), SOURCE, TARGET)
