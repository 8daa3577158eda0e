"""The `tests:` block of a mapping file."""

from __future__ import annotations

from pathlib import Path

import pytest

from dam_sync.mapping.compile import compile_mapping
from dam_sync.mapping.crosswalk import run_tests
from tests.support.mapping.tenant_schemas import SOURCE, TARGET, read

MAPPING = """\
version: 1
vocabularies: {subject: {target: subject, match: [exact], unmatched: park}}
profile: {from: form_type, cases: {PICTURE: images}, default: documents}
fields:
  srckey: {marker: true}
  title: {from: [fields.title.en, filename]}
  subject: {from: "fields.keywords[]", pipe: [{vocabulary: subject}]}
  shotDate: {from: fields.shot_date}
  approved: {from: fields.cleared}
  heightCm: {from: fields.height_cm}
  note: {from: fields.inventory, pipe: [{truncate: {max: 5, on_cut: park}}]}
tags: {from: "tags[]", pipe: [casefold]}
placements: {from: "placements[].path", as: category}
security: {groups: {const: [public]}, release: {from: release_at}}
unmapped: ignore
tests:
"""


def failures(folder: Path, tests: str) -> list[str]:
    document = read(folder, MAPPING + tests)
    found = run_tests(document, compile_mapping(document, SOURCE, TARGET))
    return [str(failure).replace(f"{folder}/", "") for failure in found]


def test_examples_that_hold(tmp_path: Path) -> None:
    tests = """\
  - given: {id: "7", status: published, filename: été.jpg, fields: {keywords: [{id: 1, label: Sea}]}}
    expect: {title: été.jpg, subject: [Sea], note: null}
  - given:
      id: 8
      form_type: PICTURE
      filename: a.jpg
      fields: {title: {texts: {en: Sea, fr: Mer}}, shot_date: 2024-01-02, cleared: false, height_cm: 12.0}
      placements: [/Press/2024, {kind: folder, path: [Archive, a/b]}]
      tags: [B, a]
      rights: {release_at: 2024-01-02T03:04:05Z}
    expect:
      title: Sea
      shotDate: 2024-01-02
      approved: false
      heightCm: 12
      profile: images
      tags: [b, a]
      placements: [/Press/2024, '/Archive/a\\/b']
      groups: public
      release: 2024-01-02T03:04:05Z
      parked: false
  - given: {filename: a.jpg, fields: {inventory: abcdef}}
    expect: {parked: true, note: null, filename: a.jpg}
  - given: {filename: a.jpg, fields: {inventory: abcdef}}
    expect: {parked: truncate}
"""
    assert failures(tmp_path, tests) == []


ODD = "what is expected is not a value: an item of a list is empty, or a list itself"


def test_examples_that_do_not_hold_are_reported_with_their_lines(tmp_path: Path) -> None:
    tests = """\
  - given: {filename: a.jpg, fields: {inventory: abc, keywords: [{id: 1, label: Sea}]}}
    expect:
      title: b.jpg
      note: null
      subject: [Sea, Land]
      country: [null]
      credit: [[a]]
      heightCm: 3
      nothing: x
      profile: images
  - given: {filename: a.jpg, fields: {inventory: abcdef}}
    expect: {title: a.jpg}
  - given: {filename: a.jpg}
    expect: {parked: true}
"""
    assert failures(tmp_path, tests) == [
        "mapping.yaml:19:7: tests[0].expect.title: expected “b.jpg”, got “a.jpg”",
        "mapping.yaml:20:7: tests[0].expect.note: expected nothing, got “abc”",
        "mapping.yaml:21:7: tests[0].expect.subject: expected “Sea”, “Land”, got “Sea”",
        f"mapping.yaml:22:7: tests[0].expect.country: {ODD}",
        f"mapping.yaml:23:7: tests[0].expect.credit: {ODD}",
        "mapping.yaml:24:7: tests[0].expect.heightCm: expected “3”, got nothing",
        "mapping.yaml:25:7: tests[0].expect.nothing: the target has no such field",
        "mapping.yaml:26:7: tests[0].expect.profile: expected “images”, got “documents”",
        "mapping.yaml:28:5: tests[1].expect.parked: the asset would be parked: fields.note: truncate: "
        "6 characters, at most 5: “abcdef” (from fields.inventory)",
        "mapping.yaml:30:14: tests[2].expect.parked: expected “yes”, got nothing",
    ]


@pytest.mark.parametrize(
    "given",
    [
        "{filenam: a.jpg}",
        "{fields: {title: {text: Sea}}}",
        "{fields: {title: null}}",
        "{fields: [a]}",
        "{release_at: tomorrow}",
        "{rights: {release_at: tomorrow}}",
        "{placements: [7]}",
        "{versions: 7}",
        "{fields: {keywords: [[a]]}}",
    ],
)
def test_what_is_no_asset_is_reported(tmp_path: Path, given: str) -> None:
    (told,) = failures(tmp_path, f"  - given: {given}\n    expect: {{}}\n")
    assert told.startswith("mapping.yaml:17:5: tests[0].given: is not an asset: ")
