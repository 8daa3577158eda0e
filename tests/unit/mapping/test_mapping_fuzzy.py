"""Terms that are found by their spelling: measured on labelled sets, and what may never be taken for a spelling."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dam_sync.mapping.fuzzy_terms import FuzzyTerms
from dam_sync.mapping.term_similarity import similarity_of
from dam_sync.mapping.vocabulary import Matching, TermIndex
from dam_sync.model.errors import MappingError
from dam_sync.model.values import Term
from tests.support.mapping.drafts import asset, draft, index, tally_of
from tests.support.mapping.labelled import measured, rows_of
from tests.support.mapping.tenant_schemas import compiled, with_lines

TATE = Path(__file__).parents[4] / "shared" / "data" / "tate" / "subjects.jsonl.gz"
FUZZY = Matching(("fuzzy",), fuzzy=0.92, locales=("en", "fr"))


@pytest.mark.parametrize("name", ["development", "development_2", "held_out"])
def test_automatic_matches_are_right(name: str) -> None:
    found = measured(name)
    assert found.precision >= 0.99, found.wrong
    assert found.recall >= 0.9, found.missed
    assert len(rows_of(name)) > 450
    assert len(found.right) >= 200


def test_the_sets_have_every_kind_of_difference_and_of_trap() -> None:
    for name in ("development", "held_out"):
        kinds = {kind for _, _, kind in rows_of(name)}
        assert kinds >= {"case", "accent", "plural", "typo", "punctuation", "spelling", "order"}
        assert kinds >= {"trap", "number", "opposite"}
    known = {row[0] for name in ("development", "development_2") for row in rows_of(name) if row[1]}
    assert {row[0] for row in rows_of("held_out") if row[1]} & known == set()
    assert any(kind == "synonym" for _, _, kind in rows_of("held_out"))


def test_terms_of_a_real_vocabulary_are_not_taken_for_each_other() -> None:
    """Each of these terms is another one: a slip is seen in one of some hundred at most."""
    if not TATE.exists():
        pytest.skip("the data of the museum is not here")
    with gzip.open(TATE, "rt", encoding="utf-8") as file:
        names = sorted({json.loads(row)["name"].strip() for row in file} - {""})
    terms = FuzzyTerms([Term(name) for name in names])
    taken = [(name, one.term.label) for name in names[::40] for one in terms.spelled(name, 0.92) if one.score < 0.96]
    assert len(names) > 10_000
    assert len([pair for pair in taken if pair[0] != pair[1]]) <= 2, taken


@pytest.mark.parametrize(
    ("left", "right", "score"),
    [
        ("sea", "Sea", 1.0),
        ("Musee", "Musée", 0.99),
        ("Self portrait", "Self-portrait", 0.98),
        ("Picasso, Pablo", "Pablo Picasso", 0.97),
        ("Churches", "Church", 0.96),
        ("Theater", "Theatre", 0.96),
        ("Photograhy", "Photography", 0.95),
    ],
)
def test_each_difference_has_its_score(left: str, right: str, score: float) -> None:
    assert similarity_of(left, right, ("en",)) == pytest.approx(score)
    assert similarity_of(right, left, ("en",)) in (pytest.approx(score), 0)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        *(("Paris", "Parish"), ("1920s", "1930s"), ("1920", "1920s"), ("World War I", "World War II")),
        *(("Type A", "Type B"), ("Interior", "Exterior"), ("Symmetric", "Asymmetric"), ("Desert", "Dessert")),
        *(("Miller, Arthur", "Millar, Arthur"), ("Glass", "Glasses"), ("Mechanic", "Mechanics"), ("", "Sea")),
        *(("Dog house", "House dog"), ("Pêché", "Pêche"), ("Version 1.0", "Version 10"), ("-", "—")),
    ],
)
def test_what_is_similar_and_means_something_else(left: str, right: str) -> None:
    assert similarity_of(left, right, ("en", "fr")) == 0
    assert similarity_of(right, left, ("en", "fr")) == 0


@given(st.text(max_size=30), st.text(max_size=30))
def test_any_two_texts_have_a_score(left: str, right: str) -> None:
    assert 0 <= similarity_of(left, right) <= 1
    assert left.strip() == "" or similarity_of(left, left) in (0, 1)


def found_in(terms: TermIndex, label: str, ways: Matching = FUZZY) -> str:
    match = terms.find(Term(label), ways)
    return match.label if match else ""


def test_two_terms_that_are_equally_likely_are_no_match() -> None:
    assert found_in(index("Poster", "Posters"), "poster") == "Poster"
    assert found_in(index("Péché", "Pêche"), "Peche") == ""
    terms = index("Landscape")
    assert found_in(terms, "Landscapes") == "Landscape"
    terms.add(Term("Landscapes", "new"))
    assert found_in(terms, "Landscapes") == "Landscapes"


def test_spellings_of_texts_as_long_as_books_are_not_compared() -> None:
    """A label is whatever a user of the source wrote; with a square of its length this would take hours."""
    books = [("lorem ipsum " * 100_000) + str(number) for number in range(20)]
    terms = index(*books, "Church")
    for book in books:
        assert found_in(terms, f"{book}x") == ""
        assert terms.alike(Term(book)) == []
    assert found_in(terms, "Churchs") == "Church"


def test_the_threshold_decides() -> None:
    assert found_in(index("Church"), "Churches", Matching(("fuzzy",), fuzzy=0.96)) == "Church"
    assert found_in(index("Church"), "Churches", Matching(("fuzzy",), fuzzy=0.97)) == ""


def test_in_a_tree_a_spelling_counts_below_the_same_parent() -> None:
    terms = TermIndex()
    terms.add(Term("Sculpture", "1", ("Art", "Sculpture")))
    ways = Matching(("fuzzy",), fuzzy=0.92, by_path=True)
    assert terms.find(Term("Sculptures", path=("art", "Sculptures")), ways) == Term(
        "Sculpture", "1", ("Art", "Sculpture")
    )
    assert terms.find(Term("Sculptures", path=("Gardens", "Sculptures")), ways) is None


# -- in mapping files --------------------------------------------------------------------------------------------------

RULE = "vocabularies: {{subject: {{target: subject, match: [exact, casefold, synonym, {{fuzzy: 0.92}}], {0}}}}}\n"
LINE = 'subject: {from: "fields.keywords[]", pipe: [{vocabulary: subject}, unique]}'


def test_a_term_is_found_by_its_spelling_and_the_others_are_suggested(tmp_path: Path) -> None:
    text = RULE.format("unmatched: suggest") + with_lines(LINE)
    terms = index("Landscape", "Photography", "Photograph")
    drafted = draft(tmp_path, text, asset(keywords=(Term("landscapes", "1"), Term("Photograhy", "2"))), subject=terms)
    assert [term.id for term in drafted.draft.fields["subject"]] == ["id0", "id1"]  # type: ignore[union-attr]
    assert tally_of(drafted)["fields.keywords[]", "transformed"] == 2
    (fault,) = draft(tmp_path, text, asset(keywords=(Term("Photographic", "3"),)), subject=terms).rejections
    assert fault.detail == (
        "no term “Photographic” in subject; the nearest are “Photograph” 0.91, “Photography” 0.87: "
        "choose one as a pin (from fields.keywords[])"
    )
    (fault,) = draft(tmp_path, text, asset(keywords=(Term("Xyz", "4"),)), subject=terms).rejections
    assert "the nearest are none" in fault.detail


def test_synonyms_of_a_table_are_found_both_ways(tmp_path: Path) -> None:
    (tmp_path / "words.csv").write_text("term,synonym\nSea,Ocean\nSea, Mer \n,x\n", encoding="utf-8")
    text = RULE.format("synonyms: words.csv") + with_lines(LINE)
    for label in ("ocean", "MER", "sea"):
        drafted = draft(tmp_path, text, asset(keywords=(Term(label, "1"),)), subject=index("Sea"))
        assert drafted.rejections == ()
        drafted = draft(tmp_path, text, asset(keywords=(Term("SEA", "1"),)), subject=index("Ocean"))
        assert drafted.rejections == ()
    digest = compiled(tmp_path, text).digest
    (tmp_path / "words.csv").write_text("term,synonym\nSea,Lake\n", encoding="utf-8")
    assert compiled(tmp_path, text).digest != digest


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("match: [{fuzzy: 0.3}]", "fuzzy takes a score from 0.5 to 1; write {fuzzy: 0.92}"),
        ("match: [{fuzzy: high}]", "fuzzy takes a score from 0.5 to 1"),
        ("match: [{fuzy: 0.9}]", "fuzzy takes a score from 0.5 to 1"),
        ("match: [fuzy]", "unknown way to match: fuzy; did you mean fuzzy?"),
        ("match: [exact], synonyms: words.csv", "synonyms are given, but `match` does not contain synonym"),
        ("match: [synonym], synonyms: none.csv", "there is no file"),
        ("match: [synonym], synonyms: pins.csv", "pins.csv has no column term in its first line"),
        ("unmatched: guess", "should be 'create', 'suggest', 'park', 'drop' or 'keep'"),
    ],
)
def test_wrong_options_of_matching_are_diagnostics(tmp_path: Path, written: str, told: str) -> None:
    (tmp_path / "words.csv").write_text("term,synonym\nSea,Ocean\n", encoding="utf-8")
    (tmp_path / "pins.csv").write_text("source,target\nSea,Ocean\n", encoding="utf-8")
    with pytest.raises(MappingError) as caught:
        compiled(tmp_path, f"{with_lines()}vocabularies: {{subject: {{target: subject, {written}}}}}\n")
    (fault,) = caught.value.diagnostics
    assert told in str(fault)
    assert fault.line == 7
