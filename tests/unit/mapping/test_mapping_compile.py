"""A mapping against two schemas: every fault at once, with line and the nearest right name."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dam_sync.mapping.compile import LONGEST_MARKER, compile_mapping, marker_value
from dam_sync.model.asset import Asset, AssetId, FileRef, Loss, Placement, Relation, Revision, Rights
from dam_sync.model.capabilities import Feature
from dam_sync.model.errors import MappingError
from dam_sync.model.schema import AssetType, Field, FieldKind, Schema, Vocabulary
from dam_sync.model.values import Localized, Value
from tests.support.mapping.drafts import tally_of
from tests.support.mapping.tenant_schemas import (
    LEAST,
    SOURCE,
    TARGET,
    able,
    compiled,
    compiled_file,
    read,
    schema,
    with_lines,
)


def told(folder: Path, text: str, source: Schema = SOURCE, target: Schema = TARGET) -> list[str]:
    with pytest.raises(MappingError) as caught:
        compiled(folder, text, source, target)
    assert caught.value.diagnostics
    return [str(fault).replace(f"{folder}/", "") for fault in caught.value.diagnostics]


def changed(target: Schema, key: str, **more: object) -> Schema:
    field = replace(target.fields[key], **more)  # type: ignore[arg-type]
    return replace(target, fields={**target.fields, key: field})


def test_every_diagnostic_is_reported_at_once_with_its_line(tmp_path: Path) -> None:
    text = """\
version: 1
select: {status: [publisht]}
vocabularies:
  subject: {source: keyword, target: subjects, match: [exact], pins: pins.csv}
  country: {source: countries, target: country, unmatched: create}
profile: {from: form_typ, cases: {PICTURE: image}, default: documents}
asset:
  status: {from: status}
fields:
  srckey: {marker: true}
  note: {marker: true}
  titel: {from: fields.title}
  titleFr: {from: fields.titl.fr}
  description: {const: text}
  shotDate: {from: fields.taken_at}
  heightCm: {from: fields.keywords}
  approved: {from: fields.inventory}
  reel: {from: id}
  file_format: {from: file.media_type}
  subject: {from: "fields.keywords[]", pipe: [{pluck: labl}, {vocabulary: subjcet}]}
  country:
    from:
      - fields.country
      - fields.land
    pipe: [{lookup: country}]
tags: {from: fields.dims, pipe: [trim]}
placements: {from: "placements[].path", as: folder}
security:
  groups: {const: [public, stuff]}
  release: {from: fields.shot_date}
ignore: [stat_view, title]
unmapped: fail
"""
    (tmp_path / "pins.csv").write_text("source,target\n")
    found = told(tmp_path, text)
    expected = [
        "mapping.yaml:2:19: select.status[0]: the source has no status publisht; did you mean published?",
        "mapping.yaml:4:13: vocabularies.subject.source: the source has no vocabulary keyword; did you mean keywords?",
        "mapping.yaml:4:30: vocabularies.subject.target: the target has no vocabulary subjects; did you mean subject?",
        "mapping.yaml:5:49: vocabularies.country.unmatched: the target's country accepts no new terms; use "
        "suggest, park, drop or keep",
        "mapping.yaml:6:35: profile.cases.PICTURE: the target has no profile image; did you mean images?",
        "mapping.yaml:6:11: profile.from: an asset has no path form_typ; did you mean form_type?",
        "mapping.yaml:8:3: asset.status: the target cannot store status; remove the line; it becomes a named loss",
        "mapping.yaml:9:1: fields: the target requires title in Documents but no line writes it; add a line",
        "mapping.yaml:11:10: fields.note.marker: srckey is already the marker; keep one of the two",
        "mapping.yaml:12:3: fields.titel: the target has no such field; did you mean title?",
        "mapping.yaml:13:13: fields.titleFr.from: the source has no field titl; did you mean title?",
        "mapping.yaml:15:3: fields.shotDate: values of kind instant do not fit a field of kind date "
        "(fields.taken_at); the pipe needs date",
        "mapping.yaml:16:3: fields.heightCm: values of kind term do not fit a field of kind number "
        "(fields.keywords); the pipe needs pluck and number",
        "mapping.yaml:16:3: fields.heightCm: fields.keywords may return several values but the target accepts "
        "one; the pipe needs first or join",
        "mapping.yaml:17:3: fields.approved: values of kind text do not fit a field of kind flag "
        "(fields.inventory); the pipe needs flag",
        "mapping.yaml:18:3: fields.reel: the field is only in Films, which no profile of this mapping "
        "creates; name such a profile under `profile`, or remove the line",
        "mapping.yaml:19:3: fields.file_format: the field is read-only at the target; remove the line",
        "mapping.yaml:20:62: fields.subject.pipe[1]: unknown vocabulary subjcet; did you mean subject?",
        "mapping.yaml:20:47: fields.subject.pipe[0]: a term has no labl; did you mean label? (fields.keywords[])",
        "mapping.yaml:24:9: fields.country.from[1]: the source has no field land",
        "mapping.yaml:25:12: fields.country.pipe[0]: unknown lookup country; country is a vocabulary: "
        "use {vocabulary: country}",
        "mapping.yaml:26:34: tags.pipe[0]: trim takes text, not a row (fields.dims)",
        "mapping.yaml:27:41: placements.as: the target has no containers of kind folder; known: category, collection",
        "mapping.yaml:29:12: security.groups.const: not in the list: “stuff” is not one of the target's; did "
        "you mean staff?",
        "mapping.yaml:30:3: security.release: values of kind date do not fit a field of kind instant "
        "(fields.shot_date); the pipe needs datetime",
        "mapping.yaml:31:10: ignore[0]: the source has no field stat_view; did you mean stat_views?",
        "mapping.yaml:31:21: ignore[1]: title is ignored here and read by a line; remove it here",
    ]
    unread = (
        "mapping.yaml:32:1: unmapped: no line reads 8 fields of the source; write lines for what you need, and the "
        "rest as "
        "`ignore: [cleared, credit, description, height_cm, people, photographer, site, stat_view, stat_views, title]`"
    )
    assert found == [*expected, unread]


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"kind": FieldKind.NUMBER}, "it is not a text field but number"),
        ({"multiple": True}, "it must hold one value in one language"),
        ({"localized": True}, "it must hold one value in one language"),
        ({"indexed": False}, "it cannot be searched"),
        ({"max_length": 63}, "it holds 63 characters and a marker may have 64"),
        ({"types": frozenset({"Documents"})}, "it is not in Images"),
        ({"editable": False}, "the field is read-only at the target"),
    ],
)
def test_a_field_that_cannot_be_the_marker(tmp_path: Path, more: dict[str, object], reason: str) -> None:
    (fault,) = told(tmp_path, LEAST, target=changed(TARGET, "srckey", **more))
    assert reason in fault


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("note: {const: a text of more than twenty letters}", "note.const: too long: 34 characters, at most 20"),
        ("note: {from: filename, default: a text of more than twenty letters}", "note.default: too long"),
        ("heightCm: {const: tall}", "heightCm.const: wrong kind"),
        ("shotDate: {const: 31/12/2024}", "shotDate.const: wrong kind"),
        ("note: {const: [a, b]}", "note.const: several values, but the target accepts one"),
        ("approved: {const: maybe}", "approved.const: wrong kind"),
    ],
)
def test_constants_that_do_not_fit(tmp_path: Path, line: str, rule: str) -> None:
    (fault,) = told(tmp_path, with_lines(line))
    column = line.index(rule.partition(": ")[0].partition(".")[2]) + 3
    assert f"mapping.yaml:7:{column}: fields.{rule}" in fault


@pytest.mark.parametrize(
    "line",
    [
        "note: {const: 7}",
        "shotDate: {const: 2024-12-31}",
        "heightCm: {const: 1.5}",
        "approved: {const: true}",
        "subject: {const: [Sea, Land]}",
        "approved: {from: fields.inventory, pipe: [flag]}",
        "note: {from: fields.cleared, pipe: [{flag: {true: Oui, false: Non}}]}",
        "shotDate: {from: fields.taken_at, pipe: [{date: {zone: Europe/Paris}}]}",
        'note: {from: "fields.keywords[]", pipe: [first]}',
        'note: {from: "fields.people[]", pipe: [{join: ", "}]}',
        'note: {from: "fields.dims[]", pipe: [json, {join: " "}]}',
        "note: {from: fields.site.latitude}",
        'subject: {from: fields.inventory, pipe: [{split: ";"}]}',
    ],
)
def test_field_rules_that_fit_compile(tmp_path: Path, line: str) -> None:
    assert line.split(":")[0] in compiled(tmp_path, with_lines(line)).writes


def test_a_crosswalk_lists_what_it_reads_and_writes(tmp_path: Path) -> None:
    text = with_lines('subject: {from: "fields.keywords[]"}').replace("ignore", "report") + "ignore: [stat_views]\n"
    crosswalk = compiled(tmp_path, text)
    assert crosswalk.reads == {"filename", "fields.keywords[]"}
    assert crosswalk.writes == {"srckey", "title", "subject"}
    assert crosswalk.marker == "srckey"
    assert set(crosswalk.vocabularies) == {"subject"}
    assert "country" in crosswalk.unread
    assert not crosswalk.unread & {"stat_views", "width", "keywords"}
    assert any("fields of the source are read by no line" in note for note in crosswalk.notes)


def test_a_mapping_without_marker_compiles_and_says_what_that_means(tmp_path: Path) -> None:
    crosswalk = compiled(tmp_path, LEAST.replace("  srckey: {marker: true}\n", ""))
    assert crosswalk.marker is None
    assert any("no field is the marker" in note for note in crosswalk.notes)


def test_unique_names_are_announced(tmp_path: Path) -> None:
    crosswalk = compile_mapping(
        read(tmp_path, LEAST),
        SOURCE,
        replace(TARGET, capabilities=TARGET.capabilities.without(writes=[Feature.SAME_NAMES])),
    )
    assert any("the marker is added" in note for note in crosswalk.notes)


def test_without_a_profile_only_what_every_type_requires_is_required(tmp_path: Path) -> None:
    text = LEAST.replace("profile: {default: images}\n", "").replace("  title: {from: filename}\n", "")
    assert compiled(tmp_path, text).marker == "srckey"
    everywhere = changed(TARGET, "title", types=frozenset())
    assert any("requires title" in fault for fault in told(tmp_path, text, target=everywhere))


def test_types_stand_for_profiles_where_a_target_has_none(tmp_path: Path) -> None:
    target = replace(TARGET, types=(AssetType("Images"), AssetType("Documents")))
    assert "did you mean Images?" in told(tmp_path, LEAST, target=target)[0]
    assert compiled(tmp_path, LEAST.replace("images", "Images"), target=target)


def test_html_and_text_are_distinguished(tmp_path: Path) -> None:
    target = changed(TARGET, "description", kind=FieldKind.HTML)
    into_text = compiled(tmp_path, with_lines("note: {from: fields.credit}"))
    assert any("strip_html" in note for note in into_text.notes)
    stripped = compiled(tmp_path, with_lines("note: {from: fields.credit, pipe: [strip_html]}"))
    assert not any("strip_html" in note for note in stripped.notes)
    into_html = compiled(tmp_path, with_lines("description: {from: filename}"), target=target)
    assert any("escape" in note for note in into_html.notes)


def test_pins_need_a_way_to_be_used(tmp_path: Path) -> None:
    (tmp_path / "pins.csv").write_text("source,target\n")
    text = LEAST + "vocabularies: {subject: {target: subject, match: [exact], pins: pins.csv}}\n"
    assert "pins are given, but `match` does not contain pin" in told(tmp_path, text)[0]


def test_a_vocabulary_transform_must_write_into_its_own_vocabulary(tmp_path: Path) -> None:
    text = with_lines("country: {from: fields.country, pipe: [{vocabulary: subject}]}")
    text += "vocabularies: {subject: {target: subject}}\n"
    (fault,) = told(tmp_path, text)
    assert "writes terms of subject into a field of country" in fault


def test_the_kind_of_container_must_be_clear(tmp_path: Path) -> None:
    text = LEAST + 'placements: {from: "placements[].path"}\n'
    assert "the kind of container is ambiguous; write as: category or collection" in told(tmp_path, text)[0]
    one = replace(TARGET, container_kinds=frozenset({"folder", "label"}))
    assert compiled(tmp_path, text, target=one).plan.placements[0][1] == "folder"
    none = replace(TARGET, container_kinds=frozenset())
    assert "remove the line" in told(tmp_path, text, target=none)[0]


def test_a_container_to_select_must_be_a_path(tmp_path: Path) -> None:
    assert "is not a path" in told(tmp_path, LEAST + 'select: {containers: ["/"]}\n')[0]


def test_the_digest_follows_the_meaning_and_not_the_layout(tmp_path: Path) -> None:
    text = with_lines("note: {from: fields.inventory, pipe: [trim]}")
    first = compiled(tmp_path, text).digest
    relaid = text.replace(
        "{from: fields.inventory, pipe: [trim]}", "\n    pipe: [trim]  # blanks\n    from: fields.inventory"
    )
    assert compiled(tmp_path, relaid).digest == first
    assert compiled(tmp_path, text + "tests: [{given: {id: 1}, expect: {}}]\n").digest == first
    assert compiled(tmp_path, text.replace("trim", "upper")).digest != first


def test_the_digest_follows_the_tables(tmp_path: Path) -> None:
    text = with_lines("note: {from: fields.inventory, pipe: [{lookup: t}]}") + "lookups: {t: {csv: t.csv}}\n"
    (tmp_path / "t.csv").write_text("key,value\na,b\n")
    first = compiled(tmp_path, text).digest
    (tmp_path / "t.csv").write_text("key,value\na,c\n")
    assert compiled(tmp_path, text).digest != first


ids = st.one_of(st.text(max_size=80), st.text(alphabet="aA_-0", max_size=6))


@given(ids, ids)
def test_markers_are_short_plain_and_never_the_same(left: str, right: str) -> None:
    marks = [marker_value("tenant", AssetId(text)) for text in (left, right)]
    for mark in marks:
        assert re.fullmatch(r"[A-Za-z0-9_-]+", mark)
        assert len(mark) <= LONGEST_MARKER
    assert (marks[0].casefold() == marks[1].casefold()) == (left == right)


def test_markers_are_stable_and_distinguish_tenants() -> None:
    assert marker_value("museum", AssetId("8857")) == "s49190637-8857"
    assert marker_value("museum", AssetId("8857")) != marker_value("Museum", AssetId("8857"))


def test_a_tree_against_a_list_is_noted(tmp_path: Path) -> None:
    text = LEAST + "vocabularies: {subject: {source: keywords, target: subject}}\n"
    assert any("the paths of terms are not carried" in note for note in compiled(tmp_path, text).notes)
    tree = replace(TARGET, vocabularies={**TARGET.vocabularies, "subject": Vocabulary("subject", hierarchical=True)})
    assert compiled(tmp_path, text, target=tree).rules["subject"].by_path


def test_what_terms_lose_in_a_poorer_list_is_noted(tmp_path: Path) -> None:
    text = LEAST + "vocabularies: {subject: {source: keywords, target: subject}}\n"
    rich = Vocabulary("keywords", localized=True, synonyms=True)
    source = replace(SOURCE, vocabularies={**SOURCE.vocabularies, "keywords": rich})
    told = [note for note in compiled(tmp_path, text, source=source).notes if note.startswith("vocabularies.")]
    assert [note.partition("; ")[2] for note in told] == [
        "other languages of terms are not carried",
        "synonyms of terms are not carried",
    ]
    as_rich = replace(TARGET, vocabularies={**TARGET.vocabularies, "subject": replace(rich, key="subject")})
    assert not any("not carried" in note for note in compiled(tmp_path, text, source=source, target=as_rich).notes)


def test_a_term_field_without_a_list_takes_labels(tmp_path: Path) -> None:
    free = replace(TARGET, fields={**TARGET.fields, "free": Field("free", FieldKind.TERM)})
    assert compiled(tmp_path, with_lines("free: {from: fields.country}"), target=free).vocabularies == {}


ODD_SOURCE = schema(
    Field("lib:title", FieldKind.TEXT, localized=True),
    Field("lib:words", FieldKind.TEXT, multiple=True),
    Field("Release Date", FieldKind.DATE, localized=False),
    Field("a.b", FieldKind.TEXT),
)
ODD_TARGET = schema(
    Field("lib:title", FieldKind.TEXT),
    Field("lib:mark", FieldKind.TEXT),
    Field("Release Date", FieldKind.DATE),
    Field("a.b", FieldKind.TEXT, multiple=True),
    Field("must", FieldKind.TEXT, required=True, derived=True),
)
ODD_MAPPING = """\
version: 1
fields:
  "lib:mark": {marker: true}
  "lib:title": {from: [fields.lib:title.en, fields.lib:title]}
  Release Date: {from: 'fields."Release Date"'}
  a.b:
    from: "fields.lib:words[]"
    pipe: [trim]
ignore: [a.b]
"""


def test_keys_with_colons_spaces_and_points_at_source_and_target(tmp_path: Path) -> None:
    crosswalk = compiled(tmp_path, ODD_MAPPING, ODD_SOURCE, ODD_TARGET)
    assert crosswalk.writes == {"lib:mark", "lib:title", "Release Date", "a.b"}
    assert crosswalk.marker == "lib:mark"
    fields: dict[str, Value] = {
        "lib:title": Localized({"en": "Sea", "fr": "Mer"}),
        "lib:words": ("a ", "b"),
        "Release Date": date(2024, 1, 2),
        "a.b": "x",
    }
    drafted = crosswalk.draft(Asset(AssetId("7"), Revision("1"), fields=fields), "mark", {})
    assert drafted.draft.fields == {
        "lib:mark": "mark",
        "lib:title": "Sea",
        "Release Date": date(2024, 1, 2),
        "a.b": ("a", "b"),
    }
    assert drafted.losses == (Loss("fields.lib:title.fr", "language not carried", "Mer"),)
    assert tally_of(drafted)['fields."Release Date"', "written"] == 1
    assert tally_of(drafted)['fields."a.b"', "dropped"] == 1


def test_diagnostics_of_keys_with_colons_spaces_and_points_have_their_lines(tmp_path: Path) -> None:
    text = ODD_MAPPING.replace('"lib:title":', '"lib:titel":').replace("fields.lib:title.en", "fields.lib:titl.en")
    text = text.replace('"fields.lib:words[]"', "'fields.\"a.b'").replace("ignore: [a.b]\n", "")
    assert told(tmp_path, text, ODD_SOURCE, ODD_TARGET) == [
        "mapping.yaml:4:24: fields.lib:titel.from[0]: the source has no field lib:titl; did you mean lib:title?",
        "mapping.yaml:4:3: fields.lib:titel: the target has no such field; did you mean lib:title?",
        'mapping.yaml:7:5: fields.a.b.from: a quote in fields."a.b is not closed; '
        'write it like fields."Release Date".en',
        "mapping.yaml:1:1: unmapped: no line reads 2 fields of the source; write lines for what you need, and the rest "
        "as "
        '`ignore: [a.b, "lib:words"]`',
    ]


HELD = ("tags", "status", "release", "expiry", "groups", "versions", "attachments", "relations")
LADEN = Asset(
    AssetId("7"),
    Revision("1"),
    filename="a.jpg",
    status="archived",
    tags=frozenset(("a",)),
    rights=Rights(datetime(2024, 1, 1, tzinfo=UTC), datetime(2025, 1, 1, tzinfo=UTC), frozenset(("staff",))),
    versions=(FileRef("1", "a.jpg"), FileRef("2", "b.jpg")),
    attachments=(FileRef("3", "plan.pdf"),),
    relations=frozenset((Relation("Views", AssetId("8")),)),
)
LINES = {
    "tags": 'tags: {from: "tags[]"}\n',
    "status": "asset: {status: {from: status}}\n",
    "release": "security: {release: {from: release_at}}\n",
    "expiry": "security: {expiry: {from: expires_at}}\n",
    "groups": 'security: {groups: {from: "groups[]"}}\n',
}


@pytest.mark.parametrize("word", HELD)
def test_what_a_target_cannot_hold_is_a_named_loss_and_never_silence(tmp_path: Path, word: str) -> None:
    held = replace(TARGET, capabilities=able(*HELD), groups=None)
    unable = replace(held, capabilities=held.capabilities.without(writes=[Feature[word.upper()]]))

    def lost(target: Schema, text: str = LEAST) -> set[str]:
        drafted = compiled(tmp_path, text, target=target).draft(LADEN, "mark", {})
        return {loss.rule for loss in drafted.losses if loss.path == word}

    assert lost(unable) == {"target cannot hold"}
    if word in LINES:
        assert lost(held) == {"not mapped"}
        assert lost(held, LEAST + LINES[word]) == set()
        assert f"the target cannot store {word}" in told(tmp_path, LEAST + LINES[word], target=unable)[0]
    else:
        assert lost(held) == set()


def test_a_target_without_containers_cannot_hold_placements(tmp_path: Path) -> None:
    placed = replace(LADEN, placements=frozenset((Placement("folder", ("Press",)), Placement("label", ("Top",)))))
    drafted = compiled(tmp_path, LEAST, target=replace(TARGET, container_kinds=frozenset())).draft(placed, "m", {})
    assert {loss.path: loss.rule for loss in drafted.losses if loss.path in ("placements", "labels")} == {
        "placements": "target cannot hold",
        "labels": "target cannot hold",
    }


def test_a_job_file_in_place_of_a_mapping_is_called_one(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text("version: 1\nname: x\nsource: {kind: folder}\ntarget: {kind: folder}\nmapping: job.yaml\n")
    with pytest.raises(MappingError, match=r"job\.yaml is a job file, not a mapping file") as caught:
        compiled_file(path, SOURCE, TARGET)
    assert "map suggest" in caught.value.hint


def test_a_mapping_of_the_other_direction_is_called_one_before_its_diagnostics(tmp_path: Path) -> None:
    path = tmp_path / "mapping.yaml"
    lines = {"titleFr": "title.fr", "shotDate": "shot_date", "heightCm": "height_cm", "approved": "cleared"}
    more = {"note": "inventory, pipe: [{truncate: {max: 20}}]", "country": "country, pipe: [{vocabulary: v}]"}
    text = with_lines(*(f"{key}: {{from: fields.{there}}}" for key, there in {**lines, **more}.items()))
    path.write_text(f"{text}vocabularies: {{v: {{source: countries, target: country}}}}\n")
    compiled_file(path, SOURCE, TARGET)
    with pytest.raises(MappingError) as caught:
        compiled_file(path, TARGET, SOURCE)
    first, *others = map(str, caught.value.diagnostics)
    assert "are source and target of the job file swapped?" in first
    assert len(others) >= 3
    path.write_text(with_lines("titel: {from: fields.inventory}", "nothing: {from: fields.titl.fr}", "no: {const: a}"))
    with pytest.raises(MappingError) as caught:
        compiled_file(path, SOURCE, TARGET)
    assert "swapped" not in str(caught.value)
