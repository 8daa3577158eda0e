"""Terms of the source found among the terms of the target."""

from __future__ import annotations

import time
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from dam_sync.mapping.results import LanguagePreference, ValueOutcome
from dam_sync.mapping.vocabulary import Matching, TermIndex, VocabularyRule, parts_of, path_of, path_text
from dam_sync.model.asset import Placement
from dam_sync.model.values import Term
from tests.support.libraries.value_strategies import words

ALL = ("pin", "exact", "casefold", "synonym")


def index(*terms: Term) -> TermIndex:
    made = TermIndex()
    for term in terms:
        made.add(term)
    return made


SEA = Term("Sea", "1", ("Nature", "Sea"), labels={"en": "Sea", "fr": "Mer"}, synonyms={"en": ("Ocean",)})
BANK = Term("Bank", "2", ("Money", "Bank"))
SHORE = Term("Bank", "3", ("Nature", "Bank"))
INDEX = index(Term("Nature", "9", ("Nature",)), Term("Money", "8", ("Money",)), SEA, BANK, SHORE)


def test_labels_match_exactly_in_any_language_and_composed_or_not() -> None:
    assert INDEX.find(Term("Sea"), Matching(("exact",))) is SEA
    assert INDEX.find(Term("Mer"), Matching(("exact",))) is SEA
    assert INDEX.find(Term("sea"), Matching(("exact",))) is None
    assert index(Term("été")).find(Term("e\u0301te\u0301 "), Matching(("exact",))) == Term("été")


def test_a_term_above_the_level_of_values_is_neither_taken_nor_created() -> None:
    """As where the terms at the top lie in a list of their own, which no field reads."""
    deep = VocabularyRule(
        "subject", "subject", "", Matching(("pin", "exact"), pins={"mer": "/Nature/Sea"}), "create", least_depth=2
    )
    for label in ("Nature", "Mills"):
        result = deep.apply(Term(label), INDEX, LanguagePreference(), "vocabulary")
        assert (result.values, result.new_terms) == ((), ())
        assert result.note is not None
        assert result.note.outcome is ValueOutcome.FAILED
        assert "level 2" in result.note.detail
        assert "map sheet" in result.note.detail
    for label in ("Sea", "mer"):
        assert deep.apply(Term(label), INDEX, LanguagePreference(), "vocabulary").values == (Term("Sea", "1"),)
    tree = replace(deep, ways=Matching(("exact",), by_path=True))
    made = tree.apply(Term("Wind", "7", ("Nature", "Wind")), index(), LanguagePreference(), "vocabulary")
    assert [term.path for _, term in made.new_terms] == [("Nature",), ("Nature", "Wind")]
    unread = TermIndex(open_ended=True)
    assert deep.apply(Term("Mills"), unread, LanguagePreference(), "vocabulary").values == ()
    assert deep.apply(Term("mer"), unread, LanguagePreference(), "vocabulary").values != ()


def test_a_path_is_found_in_any_language_of_its_labels() -> None:
    """A target lists its trees in one language, and the mapping may prefer another."""
    nature = Term("Nature", "9", ("Nature",), labels={"en": "Nature", "de": "Natur"})
    sea, shore = replace(SEA, labels={"en": "Sea", "de": "Meer"}), Term("Meer", "4", ("Meer",))
    tree, tree_ways = index(nature, sea, shore, Term("Money", "8", ("Money",))), Matching(("exact",), by_path=True)
    assert tree.by_path(("Natur", "Meer")) is sea
    assert tree.find(Term("Meer", path=("Natur", "Meer")), tree_ways) is sea
    assert tree.find(Term("MEER", path=("natur", "MEER")), tree_ways) is None
    assert tree.find(Term("MEER", path=("natur", "MEER")), replace(tree_ways, order=("casefold",))) is sea
    assert tree.by_path(("Geld", "Meer")) is None
    assert tree.by_path(("Meer",)) is shore
    creating = rule(unmatched="create", ways=tree_ways)
    made = creating.apply(Term("Hafen", "7", ("Natur", "Hafen")), tree, LanguagePreference(), "vocabulary")
    assert [term.path for _, term in made.new_terms] == [("Natur", "Hafen")]


def test_case_is_left_out_only_where_asked() -> None:
    assert INDEX.find(Term("SEA"), Matching(("casefold",))) is SEA
    assert index(Term("Straße")).find(Term("STRASSE"), Matching(("casefold",))) == Term("Straße")


def test_synonyms_of_source_or_target() -> None:
    assert INDEX.find(Term("ocean"), Matching(("synonym",))) is SEA
    assert INDEX.find(Term("See", synonyms={"en": ("sea",)}), Matching(("synonym",))) is SEA
    assert INDEX.find(Term("ocean"), Matching(("exact", "casefold"))) is None


def test_a_label_that_several_terms_have_is_no_match() -> None:
    assert INDEX.find(Term("Bank"), Matching(ALL)) is None


def test_between_trees_the_path_decides() -> None:
    assert INDEX.find(Term("Bank", path=("Money", "Bank")), Matching(ALL, by_path=True)) is BANK
    assert INDEX.find(Term("bank", path=("nature", "bank")), Matching(ALL, by_path=True)) is SHORE
    assert INDEX.find(Term("Sea", path=("Places", "Sea")), Matching(("exact", "casefold"), by_path=True)) is None
    assert INDEX.find(Term("Sea", path=("Places", "Sea")), Matching(("exact",))) is SEA


def test_pins_by_id_path_or_label_come_first_where_asked() -> None:
    pins = {"77": "/Money/Bank", "/A/B": "3", "Ozean": "Sea"}
    assert INDEX.find(Term("Sea", "77"), Matching(ALL, pins)) is BANK
    assert INDEX.find(Term("B", path=("A", "B")), Matching(ALL, pins)) is SHORE
    assert INDEX.find(Term("Ozean"), Matching(ALL, pins)) is SEA
    assert INDEX.find(Term("Sea", "77"), Matching(("exact",), pins)) is SEA
    assert INDEX.find(Term("x", "5"), Matching(ALL, {"5": "gone"})) is None


def test_lookups_by_path_and_id() -> None:
    assert INDEX.by_path(("Money", "Bank")) is BANK
    assert INDEX.by_path(("Bank",)) is None
    assert INDEX.by_id("1") is SEA
    assert len(INDEX) == 5


def test_a_term_added_twice_counts_once() -> None:
    made = index(Term("Sea", "1"), Term("Sea", "1"))
    assert len(made) == 1
    assert made.find(Term("Sea"), Matching(("exact",))) == Term("Sea", "1")


def rule(**more: object) -> VocabularyRule:
    return VocabularyRule("subject", "subject", **more)  # type: ignore[arg-type]


def test_a_draft_keeps_label_and_id_only() -> None:
    assert rule().apply(Term("Sea"), INDEX, LanguagePreference(), "vocabulary").values == (Term("Sea", "1"),)


def test_a_new_branch_is_made_from_the_root_down() -> None:
    made = rule(unmatched="create", ways=Matching(by_path=True)).apply(
        Term("Gull", "44", ("Nature", "Birds", "Gull"), labels={"en": "Gull"}),
        INDEX,
        LanguagePreference(),
        "vocabulary",
    )
    assert made.values == (Term("Gull", path=("Nature", "Birds", "Gull")),)
    assert [(term.label, term.path, term.id) for _, term in made.new_terms] == [
        ("Birds", ("Nature", "Birds"), ""),
        ("Gull", ("Nature", "Birds", "Gull"), ""),
    ]
    assert made.new_terms[-1][1].labels == {"en": "Gull"}


def test_a_term_that_was_created_is_found_the_next_time() -> None:
    known, new = index(Term("Nature", "9", ("Nature",))), Term("Gull", "44", ("Nature", "Birds", "Gull"))
    creating = rule(unmatched="create", ways=Matching(by_path=True))
    for position, (_, term) in enumerate(creating.apply(new, known, LanguagePreference(), "vocabulary").new_terms):
        known.add(Term(term.label, f"n{position}", term.path))
    made = creating.apply(new, known, LanguagePreference(), "vocabulary")
    assert made.new_terms == ()
    assert made.values == (Term("Gull", "n1"),)


def test_a_flat_target_gets_labels_in_the_preferred_language() -> None:
    made = rule(unmatched="create").apply(
        Term("Mer", "1", ("Nature", "Mer"), labels={"en": "Sea", "fr": "Mer"}),
        index(),
        LanguagePreference(("en",)),
        "vocabulary",
    )
    assert made.values == (Term("Sea", path=("Sea",)),)
    assert [(term.label, term.path) for _, term in made.new_terms] == [("Sea", ("Sea",))]


def test_a_term_without_a_match_is_named_as_people_know_it_with_how_to_go_on() -> None:
    languages = LanguagePreference()
    for term, named in (
        (Term("done", "4", ("done",)), "“done”"),
        (Term("done", "4"), "“done”"),
        (Term("Gull", "5", ("Nature", "Gull")), "“/Nature/Gull”"),
    ):
        note = rule(unmatched="park").apply(term, INDEX, languages, "vocabulary").note
        assert note is not None
        assert note.detail.startswith(
            f"no term {named} in subject: create it there, write a pin for it with `map sheet"
        )
        assert note.detail.endswith("or change `unmatched: park`")
        other = rule(unmatched="drop").apply(term, INDEX, languages, "vocabulary").note
        assert other is not None
        assert other.detail == f"no term {named} in subject"


def test_what_is_unmatched_is_reported() -> None:
    for unmatched, fate, values in (
        (None, ValueOutcome.FAILED, ()),
        ("park", ValueOutcome.PARKED, ()),
        ("drop", ValueOutcome.DROPPED, ()),
        ("keep", ValueOutcome.KEPT, (Term("Gull"),)),
    ):
        made = rule(unmatched=unmatched).apply(Term("Gull", "4"), INDEX, LanguagePreference(), "vocabulary")
        assert made.values == values
        assert made.note is not None
        assert made.note.outcome is fate
        assert "Gull" in made.note.detail


def test_a_new_term_that_is_too_long_is_reported() -> None:
    made = rule(unmatched="create", max_length=3).apply(Term("Gull"), INDEX, LanguagePreference(), "vocabulary")
    assert made.new_terms == ()
    assert made.note is not None


def test_a_term_below_thousands_of_others_is_reported() -> None:
    """Each of them would be made by a call of its own; nobody has so many levels."""
    levels = tuple(f"level {number}" for number in range(3000))
    creating = rule(unmatched="create", ways=Matching(by_path=True))
    made = creating.apply(Term(levels[-1], "44", levels), index(), LanguagePreference(), "vocabulary")
    assert (made.values, made.new_terms) == ((), ())
    assert made.note is not None
    assert "has a path of 3000 levels, at most 100" in made.note.detail
    assert creating.apply(Term("x", "45", levels[:100]), index(), LanguagePreference(), "vocabulary").values


def test_for_examples_any_term_is_there() -> None:
    assert TermIndex(open_ended=True).find(Term("x"), Matching(("exact",))) == Term("x")
    assert TermIndex(open_ended=True).find(Term("x"), Matching(("exact",), {"x": "Y"})) == Term("Y")


@given(st.lists(words.map(str.strip), min_size=1, max_size=4), st.sampled_from(("", "/", "\\", "a/b")))
def test_paths_as_text_read_back(parts: list[str], odd: str) -> None:
    path = tuple(f"{part}{odd}x" for part in parts)
    assert path_of(Placement("folder", path).text) == path
    assert path_of(path_text(Term("x", path=path))) == path


def test_what_earlier_runs_found_is_remembered_and_nothing_else_is_taken_for_missing() -> None:
    rule = VocabularyRule("subjects", "subject", unmatched="create")
    known = index(SEA)
    assert rule.apply(Term("Sea", "77"), known, LanguagePreference(), "r").values == (Term("Sea", "1"),)
    later = TermIndex(recalled=known.found, partial=True)
    assert rule.apply(Term("Sea", "77"), later, LanguagePreference(), "r").values == (Term("Sea", "1"),)
    assert not later.lacking
    for other in (Term("Sea", "78"), Term("See", "77"), Term("Sea")):
        later = TermIndex(recalled=known.found, partial=True)
        rule.apply(other, later, LanguagePreference(), "r")
        assert later.lacking, other


def test_a_long_path_is_split_in_linear_time() -> None:
    def seconds(size: int) -> float:
        started = time.process_time()
        assert [len(part) for part in parts_of("x" * size + "/" + "y" * size)] == [size, size]
        return time.process_time() - started

    short = min(seconds(50_000) for _ in range(3))
    assert min(seconds(400_000) for _ in range(3)) < 32 * short  # eight times as long; squared it would be 64 times


def test_a_text_is_no_term_that_could_be_renamed() -> None:
    """Texts have no id: another text in the same field would look like a new name of the first."""
    creating, known = rule(unmatched="create"), TermIndex()
    creating.apply("Sun", known, LanguagePreference(), "vocabulary")
    creating.apply(Term("Moon", "m"), known, LanguagePreference(), "vocabulary")
    for name in ("Sun", "Moon"):
        known.add_created((name,), Term(name, name, (name,)))
    assert [met.source for met in known.newly_met()] == ["m"]
    assert creating.apply("Sun", known, LanguagePreference(), "vocabulary").values == (Term("Sun", "Sun"),)
