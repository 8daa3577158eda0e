"""Expressions in CEL: what they read, what they give, and what bounds them."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dam_sync.mapping.expressions import Evaluated, Expression, ExpressionFault, compile_expression
from dam_sync.mapping.results import LanguagePreference
from dam_sync.model.asset import Asset, AssetId, FileRef, Loss, Placement, Revision, Rights
from dam_sync.model.errors import MappingError
from dam_sync.model.schema import Field, FieldKind
from dam_sync.model.values import GeoPoint, Localized, Person, Row, Scalar, Term, Value
from tests.support.mapping.drafts import NOON, asset, draft, line, tally_of
from tests.support.mapping.tenant_schemas import LEAST, SOURCE, compiled, with_lines

ENGLISH = LanguagePreference(("en",))
SEA, FISH = Term("Sea", "1", ("Nature", "Sea")), Term("Fish", "2", ("Nature", "Fish"))
FULL = Asset(
    AssetId("7"),
    Revision("1"),
    filename="a.jpg",
    status="archived",
    form_type="PICTURE",
    tags=frozenset({"x", "y"}),
    placements=frozenset({Placement("folder", ("Press", "2024")), Placement("label", ("Top",))}),
    rights=Rights(NOON, None, frozenset({"staff"})),
    versions=(FileRef("f", "a.jpg", 12, "image/jpeg", {"md5": "ab"}),),
    created_at=NOON,
    fields={
        "title": Localized({"en": "Sea", "fr": "Mer", "de": " "}),
        "inventory": "M 1",
        "keywords": (SEA, FISH),
        "country": Term("France", "c1"),
        "height_cm": 10,
        "cleared": True,
        "shot_date": date(2020, 1, 2),
        "taken_at": NOON,
        "people": (Person("Ada", "p1"),),
        "site": GeoPoint(1.0, 2.0, "Quay"),
        "dims": (Row({"h": 1, "unit": "cm"}),),
    },
)


def expression(text: str) -> Expression:
    return compile_expression(text, SOURCE)


def evaluated(text: str, given_: Asset = FULL) -> Evaluated:
    return expression(text).evaluate(given_, ENGLISH)


GIVES: tuple[tuple[str, tuple[Scalar, ...]], ...] = (
    ('asset.status + " " + asset.filename', ("archived a.jpg",)),
    ('asset.status in ["published", "archived"]', (True,)),
    ("asset.fields.title.fr", ("Mer",)),
    ('asset.fields["title"]["en"]', ("Sea",)),
    ("has(asset.fields.title.de)", (False,)),
    ("has(asset.fields.credit)", (False,)),
    ("asset.fields.keywords.map(k, k.path)", ("/Nature/Sea", "/Nature/Fish")),
    ("asset.fields.keywords[1].label", ("Fish",)),
    ("asset.fields.keywords.filter(k, k.id == '1')", (Term("Sea", "1", ("Nature", "Sea")),)),
    ("asset.fields.country.label", ("France",)),
    ("asset.fields.height_cm * 2.0", (20,)),
    ("asset.fields.height_cm / 4.0", (2.5,)),
    ("asset.fields.height_cm > 9", (True,)),
    ("asset.fields.cleared ? 'yes' : 'no'", ("yes",)),
    ("asset.fields.shot_date", (datetime(2020, 1, 2, tzinfo=UTC),)),
    ('asset.fields.taken_at < timestamp("2030-01-01T00:00:00Z")', (True,)),
    ("asset.fields.people.map(p, p.name)", ("Ada",)),
    ("asset.fields.people[0]", (Person("Ada", "p1"),)),
    ("asset.fields.site", (GeoPoint(1.0, 2.0, "Quay"),)),
    ("asset.fields.site.address", ("Quay",)),
    ("asset.fields.dims.map(d, d.unit)", ("cm",)),
    ('asset.tags.exists(t, t == "y")', (True,)),
    ('"staff" in asset.groups', (True,)),
    ('asset.placements.exists(p, p.kind == "folder" && p.path.startsWith("/Press"))', (True,)),
    ("size(asset.placements)", (1,)),
    ("asset.labels", ("Top",)),
    ("asset.release_at.getFullYear()", (2024,)),
    ("has(asset.expires_at)", (False,)),
    ("asset.file.size > 10 && asset.file.md5 == 'ab'", (True,)),
    ("null", ()),
    ('[null, "a"]', ("a",)),
    ('"asset.nothing" // asset.comment', ("asset.nothing",)),
    ('"title" in asset.fields', (True,)),
    ('!("credit" in asset.fields) && "cleared" in asset.fields', (True,)),
    ("('credit' in asset.fields ? asset.fields.credit : 'none')", ("none",)),
    ('"fr" in asset.fields.title', (True,)),
    ('size("\u00c9t\u00e9 \U0001f469\u200d\U0001f3a8 ab")', (10,)),
    ('"\u00e9".size() + size(asset.tags) + asset.fields.keywords.size()', (5,)),
    ("size(asset.fields.title.en) == 3 && size('\ufb01') == 1", (True,)),
    ("asset.tags.map(t, t.size())", (1, 1)),
    ("asset.file.size", (12,)),
    ('"No. " + string(asset.fields.height_cm)', ("No. 10",)),
    ("asset.fields.height_cm + double(asset.file.size)", (22,)),
    ("asset.release_at + duration('24h') > asset.release_at ? -asset.fields.height_cm : 1.0", (-10,)),
    ("asset.fields.shot_date == null || [1, 2.0].exists(n, n > 1)", (True,)),
    ("asset.tags.filter(t, t != 'x').map(t, t == 'y', t + '!')", ("y!",)),
)


@pytest.mark.parametrize(("text", "values"), GIVES, ids=[text for text, _ in GIVES])
def test_what_an_expression_gives(text: str, values: tuple[Scalar, ...]) -> None:
    assert evaluated(text) == Evaluated(values)


FAILS = (
    ("asset.fields.title + 1", "operation got values of other types"),
    ("asset.fields.dims[0].h * 2", "numbers of the asset are doubles (2.0, not 2)"),
    ("asset.fields.credit", 'there is no value credit; test it first: "credit" in asset.fields, or has()'),
    ("asset.fields.keywords[5].label", "fewer items"),
    ("1 / 0", "divides by zero"),
    ("9223372036854775807 + 1", "too large"),
    ("asset.fields.title", "name one part"),
    ('asset.fields.dims.map(d, "x" in d ? ["a"] : d.h == 1.0 ? [["a"]] : 2)', "lists inside a list"),
    ('true ? duration("1h") : 1', "gives a timedelta"),
    ("size(asset.fields.dims[0].h)", "size takes a text or a list"),
    ('int("x")', "Function 'int' error"),
    ('asset.fields.dims.exists(d, d.h.matches("1"))', "matches takes a text"),
)


@pytest.mark.parametrize(("text", "words"), FAILS, ids=[text for text, _ in FAILS])
def test_what_an_expression_cannot_give(text: str, words: str) -> None:
    found = evaluated(text)
    assert found.values == ()
    assert words in found.fault


FAULTS = (
    ("", 1, 1, "the expression is empty", ""),
    ("asset.status ==", 1, 16, "ends too early", ""),
    ('asset.status = "x"', 1, 14, 'not CEL from here: = "x"', "write == instead of ="),
    ('asset.id == "1" and true', 1, 17, "not CEL from here: and true", "write && instead of and"),
    ('asset.id == "1\n', 1, 13, 'not CEL from here: "1', ""),
    ('asset.status ==\n "a" && foo', 2, 9, "there is no variable foo", 'write text in quotes: "foo"'),
    ('has(asset.fields."Höhe (cm)")', 1, 18, 'is not CEL from here: "Höhe (cm)")', 'write "Höhe (cm)" in asset.fields'),
    ('fields."Höhe" == ""', 1, 8, 'is not CEL from here: "Höhe" == ""', 'write asset.fields["Höhe"]'),
    ("asset.status == “published”", 1, 17, "is not CEL from here: “published”", "write straight quotes"),
    (
        "asset.placements == '/Press'",
        1,
        18,
        "a list and text are never equal",
        "asset.placements.exists(v, v.path == '/Press')",
    ),
    ("status == 'a'", 1, 1, "there is no variable status", "asset.status"),
    ("asset.status.lower()", 1, 14, "there is no function lower", "pipe: [lower]"),
    ("asset.status.reverse()", 1, 14, "there is no function reverse", "help mapping"),
    ("len(asset.tags) > 1", 1, 1, "there is no function len", "write size("),
    ('asset.fields.inventory.split(";")', 1, 24, "there is no function split", 'pipe: [{split: ";"}]'),
    ('"x" not in asset.tags', 1, 5, "not CEL from here", 'write !("x" in asset.tags)'),
    ("'a' if asset.tags else 'b'", 1, 5, "not CEL from here", "CONDITION ? VALUE : OTHER_VALUE"),
    ("asset.filename.endswith('g')", 1, 16, "there is no function endswith", "did you mean endsWith?"),
    ("true || asset.staus == ''", 1, 9, "no path staus", "did you mean status?"),
    ("asset.fields.titel", 1, 1, "the source has no field titel", "did you mean title?"),
    ("asset.fields.country.lable", 1, 1, "it has no lable", "did you mean label?"),
    ("asset.fields.keywords.label", 1, 1, "has several values", "exists(v, v.label"),
    ("asset.fields[asset.status]", 1, 1, "not named by a word or a text", 'asset.fields["lib:title"]'),
    ("size(asset.fields)", 1, 6, "not named by a word or a text", ""),
    ("asset", 1, 1, "read as a whole", "asset.status"),
    ("asset.file", 1, 1, "part of the file is not named", "asset.file.name"),
    ("asset.tags.x", 1, 1, "asset.tags has no x", '"x" in asset.tags'),
    ("asset.tags.map(asset, asset)", 1, 16, "read as a whole", ""),
    ("1" + " " * 2_000, 1, 1, "has 2001 characters, at most 2000", "lookup"),
    ("(" * 17 + "1" + ")" * 17, 1, 1, "more than 16 brackets inside each other", ""),
    ("asset.tags.map(a, asset.tags.map(b, asset.tags.map(c, c)))", 1, 1, "more than 2 loops", ""),
    ("[1]" + ".map(y, [y, y, y, y, y])" * 5, 1, 1, "more than 1000 times the size", ""),
    ('asset.status.matches("(")', 1, 22, "is not a regular expression: unclosed group", ""),
    ('has(asset.fields["title"])', 1, 17, "takes a part that is named after a dot", 'write "title" in asset.fields'),
    ("asset.fields.`lib:title`", 1, 14, "not CEL from here", '"lib:title" in asset.fields'),
    ('"titel" in asset.fields', 1, 12, "the source has no field titel", "did you mean title?"),
    ('"a" + "title" in asset.fields', 1, 18, "not named by a word or a text", '"lib:title" in asset.fields'),
    ('"title" in asset.fields[asset.status]', 1, 12, "not named by a word or a text", ""),
    ("asset.fields.inventory + 1", 1, 24, "+ does not take text and a whole number", "write string(1)"),
    ('asset.fields.height_cm + " cm"', 1, 24, "a number and text", "write string(asset.fields.height_cm)"),
    ("asset.fields.height_cm * 2", 1, 24, "a number and a whole number", "write 2.0 instead of 2"),
    ("asset.file.size / 1024.0", 1, 17, "a whole number and a number", "write double(asset.file.size)"),
    ("asset.fields.inventory * 2.0", 1, 24, "text and a number", "double(asset.fields.inventory)"),
    ("asset.status + asset.fields.cleared", 1, 14, "text and true or false", '(asset.fields.cleared ? "yes" : "no")'),
    ('"by " + asset.fields.country', 1, 7, "text and keys and values", "asset.fields.country.label"),
    ('"in " + asset.tags', 1, 7, "text and a list", "asset.tags[0]"),
    ('"on " + asset.fields.shot_date', 1, 7, "text and a timestamp", "string(asset.fields.shot_date)"),
    ("asset.fields.height_cm % 2.0", 1, 24, "% does not take", "int(asset.fields.height_cm)"),
    ("null + 1", 1, 6, "null and a whole number", ""),
    ('asset.fields.height_cm == "10"', 1, 24, "a number and text are never equal", 'double("10")'),
    ('asset.fields.keywords == "Sea"', 1, 23, "a list and text are never equal", '"Sea" in asset.fields.keywords'),
    ('asset.fields.country == "France"', 1, 22, "are never equal", 'asset.fields.country.label == "France"'),
    ('"Sea" in asset.fields.keywords', 1, 7, "never in it", 'asset.fields.keywords.exists(v, v.label == "Sea")'),
    ('asset.fields.cleared == "true"', 1, 22, "are never equal", "!asset.fields.cleared"),
    ('asset.fields.shot_date > "2020-01-01"', 1, 24, "cannot be compared", "timestamp("),
    ('"M" in asset.filename', 1, 5, "`in` takes a list, not text", 'asset.filename.contains("M")'),
    ('asset.tags.contains("x")', 1, 12, "contains does not take a list", 'write "x" in asset.tags'),
    ('contains(asset.status, "x")', 1, 1, "contains is asked of text", 'asset.filename.contains("M")'),
    ("asset.filename[0]", 1, 16, "cannot be asked for a character", "startsWith"),
    ("asset.tags[0.0]", 1, 12, "a whole number, not a number", "[0]"),
    ("asset.status && true", 1, 1, "each side of && should be true or false, not text", 'asset.status != ""'),
    ("!asset.fields.height_cm", 1, 2, "not a number", "asset.fields.height_cm > 0"),
    ("asset.tags ? 1 : 2", 1, 1, "not a list", "size(asset.tags) > 0"),
    ("asset.status.exists(s, s == 'a')", 1, 14, "asks a list, not text", ""),
    ("asset.tags.filter(t, t)", 1, 22, "should be true or false, not text", ""),
    ("asset.tags.map(t, t.label)", 1, 21, "text has no label", ""),
    ("asset.placements.map(p, p.name)", 1, 27, "has no name", ""),
    ("size()", 1, 1, "takes one argument", "size(asset.tags)"),
    ("size(asset.fields.height_cm)", 1, 1, "size does not take a number", "string(asset.fields.height_cm)"),
    ("string(asset.fields.cleared)", 1, 1, "string does not take", '? "yes" : "no"'),
    ("asset.created_at.getHours('Europe/Paris')", 1, 18, "with no argument", "getHours()"),
    ("asset.file.size.string()", 1, 17, "takes one argument", "string(asset.file.size)"),
    ('duration("1h")', 1, 1, "gives a duration", "string("),
    ('[["a"]]', 1, 1, "lists inside a list", ""),
    ('b"a"', 1, 1, "gives bytes", ""),
    ('[1, 2].exists(n, n.matches("1"))', 1, 20, "matches does not take a whole number", ""),
    ('true ||\n asset.status.matches("a(?=b)")', 2, 23, "look-around", "simpler"),
    (r'asset.status.matches(r"(a)\1")', 1, 22, "backreferences are not supported", ""),
    (r'asset.status.matches(r"\w{500}")', 1, 22, "the pattern becomes too large", "shorter"),
    ('asset.status.matches("(x{1000}){1000}")', 1, 22, "the pattern becomes too large", "shorter"),
    ("asset.status.matches(asset.filename)", 1, 14, "not written here as one text in quotes", 'matches("^M'),
    ('asset.status.matches("a" + asset.filename)', 1, 14, "not written here as one text in quotes", ""),
    ("asset.status.matches()", 1, 14, "not written here as one text in quotes", ""),
    ('asset.status.matches(b"a")', 1, 22, "a pattern is a text", ""),
    ('matches(asset.status, "a")', 1, 1, "asked of a text", 'asset.filename.matches("^M")'),
    ('asset.status.matched("a")', 1, 14, "there is no function matched", "did you mean matches?"),
    (" || ".join(f"'a'.matches('{n}')" for n in range(11)), 1, 213, "more than 10 patterns", "alternatives"),
)


@pytest.mark.parametrize(("text", "row", "column", "message", "hint"), FAULTS, ids=[row[0][:40] for row in FAULTS])
def test_diagnostics_have_a_position_and_what_would_be_right(
    text: str, row: int, column: int, message: str, hint: str
) -> None:
    with pytest.raises(ExpressionFault) as caught:
        expression(text)
    assert (caught.value.line, caught.value.column) == (row, column), str(caught.value)
    assert message in str(caught.value)
    assert hint in str(caught.value.hint)


def test_a_pattern_is_found_anywhere_in_a_text_and_as_the_library_reads_its_quotes() -> None:
    for text, found in (
        ('asset.filename.matches("jpg$")', True),
        ('asset.filename.matches("^jpg")', False),
        (r'asset.filename.matches("^a\\.j") && asset.filename.matches(r"a\.")', True),
        ('asset.filename.matches("A") || asset.status.matches("(?i)ARCH")', True),
        ('asset.tags.exists(tag, tag.matches("[x-z]"))', True),
        ('asset.tags.filter(matches, matches.matches("x")).size() == 1', True),
        (r'asset.fields.inventory.matches("\u004d \\d")', True),
        ("has(asset.fields.credit) && asset.fields.credit.matches('a')", False),
    ):
        assert evaluated(text) == Evaluated((found,)), text


CONDITIONS = (
    ("asset.status", "text", 'asset.status == "…"'),
    ("asset.fields.title", "text", 'asset.fields.title.en == "…"'),
    ("asset.tags", "a list", "size(asset.tags) > 0"),
    ("asset.fields.shot_date", "a timestamp", "has(asset.fields.shot_date)"),
    ("asset.fields.height_cm", "a number", "asset.fields.height_cm > 0"),
    ("asset.fields.country", "keys and values", ""),
    ("has(asset.fields.credit) ? asset.fields.credit : 'x'", "text", ""),
    ("null", "null", ""),
)


@pytest.mark.parametrize(("text", "kind", "hint"), CONDITIONS, ids=[row[0] for row in CONDITIONS])
def test_a_condition_that_is_never_true_or_false_is_refused_when_compiled(text: str, kind: str, hint: str) -> None:
    with pytest.raises(ExpressionFault, match=f"a condition should be true or false, not {kind}") as caught:
        compile_expression(text, SOURCE, condition=True)
    assert hint in str(caught.value.hint)


def test_every_key_can_be_asked_for_a_value_whatever_its_characters() -> None:
    for key in ("lib:cleared", "Release Date", "a.b", "x[0]", 'say "x"', "it's", "\u00c9t\u00e9", "a\\b", "in", "size"):
        source = replace(SOURCE, fields={key: Field(key, FieldKind.FLAG)})
        quoted = json.dumps(key)
        made = compile_expression(f"{quoted} in asset.fields && asset.fields[{quoted}]", source, condition=True)
        assert made.holds(replace(FULL, fields={key: True}), ENGLISH) is True
        assert made.holds(replace(FULL, fields={}), ENGLISH) is False
        assert [path.key for path in made.paths] == [key]


@pytest.mark.parametrize("many", ["!" * 1_990 + "true", "-" * 1_990 + "1", "true?1:" * 20 + "1"])
def test_long_chains_of_operators_are_checked(many: str) -> None:
    assert expression(many).source == many


def test_a_field_may_have_the_name_of_a_function() -> None:
    named = replace(SOURCE, fields={"matches": Field("matches", FieldKind.TEXT)})
    made = compile_expression('asset.fields.matches.matches("^x") && asset.fields["matches"] == "xy"', named)
    assert made.holds(replace(FULL, fields={"matches": "xy"}), ENGLISH) is True


def test_a_pattern_is_compiled_once_for_all_assets() -> None:
    def seconds(pattern: str) -> float:
        made = expression(f"asset.filename.matches(r'{pattern}')")
        began = time.process_time()
        assert all(made.holds(FULL, ENGLISH) is False for _ in range(60))
        return time.process_time() - began

    small, large = (min(seconds(pattern) for _ in range(3)) for pattern in (r"\w{20}", r"\w{200}"))
    assert large < 5 * small  # the library alone takes 20 times as long, 60 ms for an asset


def test_no_pattern_and_no_text_make_a_search_endless() -> None:
    hostile = replace(FULL, filename="a" * 200_000 + "!")
    for pattern in ("(a+)+$", "(a|aa)+$", "(a*)*b", "^(([a-z])+.)+[A-Z]([a-z])+$"):
        assert evaluated(f"asset.filename.matches('{pattern}')", hostile) == Evaluated((False,))
    many = replace(hostile, tags=frozenset(str(number) for number in range(100)))
    found = evaluated("asset.tags.exists(t, asset.filename.matches('^b'))", many)
    assert found == Evaluated(fault="would search more than 10,000,000 characters")


def test_too_many_values_for_a_loop_are_refused_before_it_runs() -> None:
    many = replace(FULL, tags=frozenset(str(number) for number in range(400)))
    assert "too many values" in evaluated("asset.tags.exists(a, asset.tags.exists(b, a != b))", many).fault
    assert evaluated("asset.tags.exists(a, a == '1')", many) == Evaluated((True,))
    long = replace(FULL, filename="x" * 6_000_000)
    assert "too much text" in evaluated('asset.filename + "." + asset.filename', long).fault


@pytest.mark.parametrize(
    "value", [2**70, "\ud800", float("nan"), 1e308, -(2**63), datetime.max.replace(tzinfo=UTC), Term("\udfff")]
)
def test_values_that_the_library_cannot_take_are_notes(value: Value) -> None:
    odd = replace(FULL, fields={"inventory": value})
    assert evaluated("asset.fields.inventory == ''", odd).fault or evaluated("asset.fields.inventory == ''", odd).values


PIECES = st.sampled_from(
    (
        *("asset", ".", "fields", "title", "tags", "status", "(", ")", "[", "]", "{", "}", ",", "?", ":", "+", "-"),
        *("==", "&&", "||", "!", "<", "in", "has", "map", "exists", "size", "matches", "timestamp", "'a'", '"', "'"),
        *("1", "2.5", "null", "true", "x", "\n", " ", "\\", "`", "//", "0x", "1u", "é", "\x00"),
    )
)


@given(st.lists(PIECES, max_size=25).map("".join) | st.text(max_size=60))
def test_any_text_is_an_expression_or_a_diagnostic_with_a_position(text: str) -> None:
    position = (1, 1)
    try:
        found = compile_expression(text, SOURCE)
        found.evaluate(FULL, ENGLISH)
        found.holds(FULL, ENGLISH)
    except ExpressionFault as fault:
        position = (fault.line, fault.column)
    assert min(position) >= 1


# -- in mapping files --------------------------------------------------------------------------------------------------


def test_a_value_from_an_expression_accounts_for_all_that_it_read(tmp_path: Path) -> None:
    usage = with_lines('note: {cel: \'has(asset.fields.cleared) && asset.fields.cleared ? "Cleared" : "Restricted"\'}')
    for value, wanted in ((True, "Cleared"), (False, "Restricted")):
        drafted = draft(tmp_path, usage, asset(cleared=value))
        assert drafted.draft.fields["note"] == wanted
        assert tally_of(drafted)["fields.cleared", "transformed"] == 1
        assert drafted.losses == ()
    assert draft(tmp_path, usage, asset()).draft.fields["note"] == "Restricted"


def test_every_language_and_value_that_an_expression_reads_is_counted(tmp_path: Path) -> None:
    text = "note: {cel: 'asset.fields.title.en + asset.fields.keywords[0].label', pipe: [upper]}"
    drafted = line(tmp_path, text, asset(title=Localized({"en": "a", "fr": "b"}), keywords=(SEA, FISH)))
    assert drafted.draft.fields["note"] == "ASEA"
    assert tally_of(drafted)["fields.title.en", "transformed"] == 1
    assert tally_of(drafted)["fields.title.fr", "lost"] == 1
    assert tally_of(drafted)["fields.keywords[]", "transformed"] == 2


def test_several_values_and_terms_go_through_the_pipe(tmp_path: Path) -> None:
    drafted = line(
        tmp_path,
        "description: {cel: 'asset.fields.keywords.filter(k, k.id.contains(\"\"))', pipe: [text, {join: '; '}]}",
        asset(keywords=(SEA, FISH)),
    )
    assert drafted.draft.fields["description"] == "Sea; Fish"


@pytest.mark.parametrize(
    ("on_error", "parked", "note"), [("park", True, None), ("drop", False, None), ("null", False, None)]
)
def test_an_error_of_an_expression_is_a_note_by_on_error(
    tmp_path: Path, on_error: str, parked: bool, note: str | None
) -> None:
    drafted = line(
        tmp_path,
        f"note: {{cel: asset.fields.title.en + asset.fields.title, on_error: {on_error}}}",
        asset(title=Localized({"en": "3"})),
    )
    assert drafted.draft.fields.get("note") == note
    (told,) = drafted.rejections if parked else drafted.losses
    assert told.rule == "cel"
    assert "2.0, not 2" in told.detail
    assert tally_of(drafted)["fields.title.en", "parked" if parked else "dropped"] == 1


def test_an_expression_without_a_value_is_a_named_loss_or_the_default(tmp_path: Path) -> None:
    drafted = line(tmp_path, "note: {cel: 'asset.fields.cleared ? \"x\" : null'}", asset(cleared=False))
    assert drafted.losses == (Loss("fields.cleared", "cel", "no (gives no value)"),)
    drafted = line(tmp_path, "note: {cel: 'null', default: None yet}", asset())
    assert drafted.draft.fields["note"] == "None yet"


def test_a_condition_decides_whether_a_field_rule_is_used(tmp_path: Path) -> None:
    text = with_lines(
        "note: {when: 'asset.status == \"archived\"', const: Archived}",
        "description: {when: has(asset.fields.credit), from: fields.inventory}",
    ).replace("unmapped: ignore", "unmapped: report")
    archived = draft(tmp_path, text, replace(asset(inventory="M1", credit="x"), status="archived"))
    assert archived.draft.fields["note"] == "Archived"
    assert archived.draft.fields["description"] == "M1"
    assert Loss("fields.credit", "only in conditions", "x") in archived.losses
    assert tally_of(archived)["fields.credit", "lost"] == 1
    other = draft(tmp_path, text, asset(inventory="M1"))
    assert "note" not in other.draft.fields
    assert "description" not in other.draft.fields
    assert Loss("fields.inventory", "when", "M1") in other.losses
    assert tally_of(other)["fields.inventory", "dropped"] == 1


def test_a_required_field_rule_whose_condition_is_false_requires_only_what_the_target_does(tmp_path: Path) -> None:
    text = with_lines("note: {when: 'false', from: fields.inventory, required: true}")
    assert draft(tmp_path, text, asset()).rejections == ()
    text = text.replace("title: {from: filename}", "title: {when: 'false', from: filename}")
    (fault,) = draft(tmp_path, text, asset()).rejections
    assert (fault.path, fault.rule) == ("fields.title", "required")


def test_a_condition_that_cannot_be_decided_is_a_note_by_on_error(tmp_path: Path) -> None:
    text = "note: {when: asset.fields.height_cm > double(asset.fields.inventory), const: Tall}"
    (fault,) = line(tmp_path, text, asset(height_cm=3, inventory="x")).rejections
    assert (fault.path, fault.rule) == ("fields.note.when", "when")
    drafted = line(tmp_path, text.replace("}", ", on_error: drop}"), asset(height_cm=3, inventory="x"))
    assert drafted.rejections == ()
    assert "note" not in drafted.draft.fields
    (fault,) = line(tmp_path, "note: {when: 'has(asset.fields.credit) ? true : \"x\"', const: x}", asset()).rejections
    assert fault.detail == "a condition should be true or false"


def test_fields_in_expressions_are_read_and_those_in_conditions_may_be_ignored(tmp_path: Path) -> None:
    text = with_lines(
        "note: {cel: asset.fields.inventory, when: has(asset.fields.credit)}",
    ).replace(
        "unmapped: ignore", "unmapped: fail\nignore: [credit, __REST__]\nselect: {where: has(asset.fields.country)}"
    )
    with pytest.raises(MappingError) as caught:
        compiled(tmp_path, text.replace(", __REST__", ""))
    rest = caught.value.message.partition("`ignore: [")[2].partition("]")[0]
    assert {"inventory", "country"} & set(rest.split(", ")) == set()
    crosswalk = compiled(tmp_path, text.replace("credit, __REST__", rest))
    assert crosswalk.coverage.tested == {"credit", "country"}
    assert crosswalk.coverage.needed >= {"credit", "country", "inventory"}
    with pytest.raises(MappingError, match="inventory is ignored here and read by a line"):
        compiled(tmp_path, text.replace("__REST__", f"inventory, {rest}"))


PLACES = (
    ("  note: {cel: asset.fields.titel}", 7, 15),
    ("  note: {cel: 'asset.status == ''a'' && asset.fields.titel == ''b'''}", 7, 41),
    ('  note: {cel: "asset.status == \\"a\\" && asset.fields.titel == \\"b\\""}', 7, 41),
    ("  note:\n    cel: |\n      asset.status == 'a' &&\n        asset.fields.titel", 10, 9),
    ("  note: {when: 'asset.status = 1', const: x}", 7, 30),
    ("  note:\n    cel: 'asset.status +\n      asset.fields.titel'", 9, 7),
)


@pytest.mark.parametrize(("text", "row", "column"), PLACES, ids=[f"{row[1]}:{row[2]}" for row in PLACES])
def test_a_diagnostic_is_at_the_position_in_the_file(tmp_path: Path, text: str, row: int, column: int) -> None:
    with pytest.raises(MappingError) as caught:
        compiled(tmp_path, f"{LEAST}{text}\n")
    (fault,) = caught.value.diagnostics
    assert (fault.line, fault.column) == (row, column), str(fault)


def test_where_selects_and_says_what_it_left_out(tmp_path: Path) -> None:
    text = LEAST + "select: {status: [published], where: 'asset.fields.height_cm > 5'}\n"
    crosswalk = compiled(tmp_path, text)
    published = replace(asset(height_cm=10), status="published")
    assert crosswalk.selects(published)
    assert crosswalk.selects(replace(published, fields={"height_cm": 2})).condition == "where"
    assert crosswalk.selects(replace(published, status="draft")).condition == "status"
    undecided = crosswalk.selects(replace(published, fields={}))
    assert not undecided
    assert "there is no value height_cm" in undecided.fault
