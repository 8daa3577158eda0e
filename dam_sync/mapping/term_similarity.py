"""Whether two labels are spellings of one term: rules for what may differ, so that a match needs nobody to look at it.

Similar is not the same: Paris is one letter from Parish, and `Type A` from `Type B`. So only differences count that a
spelling explains: accents that one of the two lacks, punctuation, the order of an inverted heading, the plural, and one
slip in a long word, if the word as it is written is in no dictionary and what it may stand for is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from string import ascii_lowercase

from rapidfuzz.distance import OSA, JaroWinkler

from dam_sync.model.unicode_forms import BASE_LETTERS, nfc, nfkd

ACCENTS, PUNCTUATION, ORDER, PLURAL, SPELLING = 0.99, 0.98, 0.97, 0.96, 0.95
LONG_WORD, DOUBTFUL_WORD = (
    6,
    8,
)  # letters of a word that may have a slip; one that names often have, or in no dictionary
DICTIONARIES = ("de", "en", "es", "fr", "it", "nl", "pt")
ALWAYS = "en"
LIGATURES = str.maketrans({"æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "&": " and "})
APOSTROPHES = str.maketrans("", "", "'’ʼ`´")
NO_PLURAL = frozenset(
    (
        *("arm", "air", "ash", "cloth", "content", "custom", "damage", "draught", "effect", "fund", "glass", "good"),
        *("ground", "iron", "letter", "look", "mean", "minute", "moral", "new", "pain", "paper", "premise", "quarter"),
        *("scale", "spectacle", "spirit", "step", "term", "thank", "troop", "water", "wood", "work", "saving", "force"),
        *(
            "economic",
            "politic",
            "physic",
            "mathematic",
            "acoustic",
            "athletic",
            "genetic",
            "optic",
            "people",
            "manner",
        ),
        *("ironwork", "pari", "athen", "wale", "mar", "venu", "jame", "well", "lao", "bath", "mean", "dam", "len"),
    )
)
"""Words whose plural means something else, and names that end like a plural."""
IRREGULAR = {
    **{"children": "child", "feet": "foot", "geese": "goose", "mice": "mouse", "people": "person", "teeth": "tooth"},
    **{"travaux": "travail", "vitraux": "vitrail", "yeux": "oeil"},
}
FINAL = (("ies", "y"), ("ves", "f"), ("ves", "fe"), ("men", "man"), ("aux", "al"), ("eaux", "eau"), ("eux", "eu"))
BRITISH = (
    *(("our$", "or"), ("tre$", "ter"), ("ogue$", "og"), ("is(e|ed|ing|ation)$", r"iz\1"), ("ence$", "ense")),
    *(("^jewellery$", "jewelry"), ("^grey$", "gray"), ("(?<=.)[ao]e(?=.{3})", "e"), ("ll(er|ed|ing)$", r"l\1")),
)
"""Endings in Britain, and in America."""
NOUNS_IN_IC = frozenset(("ceramic", "clinic", "comic", "fabric", "graphic", "mosaic", "picnic", "relic", "topic"))
"""The other words in -ics are sciences and trades, not the plural of a word in -ic: mechanics, mechanic."""
HISSING = ("s", "x", "z", "ch", "sh", "o")


@dataclass(frozen=True, slots=True)
class Spelling:
    """How a label is written: its words without accents, and with them. inverted: `Fish, dried`, as `dried fish`."""

    words: tuple[str, ...]
    accented: tuple[str, ...]
    inverted: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        """The words, without accents and case."""
        return " ".join(self.words)

    @property
    def key(self) -> str:
        """Equal for spellings that differ in spaces, accents, order or plural only, and for some others."""
        return "".join(sorted("".join(map(singular, self.words))))

    def turned(self) -> Spelling:
        """An inverted heading in its natural order."""
        order = self.inverted or range(len(self.words))
        return Spelling(tuple(self.words[i] for i in order), tuple(self.accented[i] for i in order))


@lru_cache(maxsize=50_000)
def spelling_of(label: str) -> Spelling:
    """The spelling of a label."""
    plain = nfc(label).casefold().translate(APOSTROPHES).translate(LIGATURES)
    head, comma, tail = plain.partition(",")
    first, rest = _words(head), _words(tail)
    accented = (*first, *rest)
    turns = comma and first and rest and "," not in tail
    order = (*range(len(first), len(accented)), *range(len(first))) if turns else ()
    return Spelling(tuple(map(without_accents, accented)), accented, order)


def similarity_of(left: str, right: str, locales: Sequence[str] = ()) -> float:
    """How surely two labels are spellings of one term: 1 if they are equal but for case, 0 if they may differ in
    meaning. locales: the languages of the labels, whose dictionaries are asked."""
    ours, theirs = spelling_of(left), spelling_of(right)
    if not ours.words or not theirs.words:
        return 0.0
    if ours.accented == theirs.accented and bool(ours.inverted) == bool(theirs.inverted):
        return 1.0 if left.casefold().split() == right.casefold().split() else PUNCTUATION
    straight = _in_order(ours, theirs, locales)
    if straight or bool(ours.inverted) == bool(theirs.inverted):
        return straight
    return ORDER * _in_order(ours.turned(), theirs.turned(), locales)


def singular(word: str) -> str:
    """A word without the ending of a plural; two spellings of one word may both change, to the same."""
    if word in IRREGULAR:
        return IRREGULAR[word]
    return next((stem for stem in _singulars(word) if stem != word), word)


def _in_order(ours: Spelling, theirs: Spelling, locales: Sequence[str]) -> float:
    """Word by word, and as one word for what is written together or apart."""
    if len(ours.words) == len(theirs.words):
        return _word_by_word(ours, theirs, locales)
    together = "".join(ours.accented), "".join(theirs.accented)
    few = min(len(ours.words), len(theirs.words)) == 1 and len(together[0]) >= LONG_WORD
    joined = any(word.isdigit() for word in (*ours.words, *theirs.words))
    return PUNCTUATION * _same_word(*together, locales) if few and not joined else 0.0


def _word_by_word(ours: Spelling, theirs: Spelling, locales: Sequence[str]) -> float:
    score, slips = 1.0, 0
    for left, right in zip(ours.accented, theirs.accented, strict=True):
        same = _same_word(left, right, locales)
        if not same and slips == 0 and len(ours.words) < 4 and not _names(ours, theirs):
            same, slips = _slip(without_accents(left), without_accents(right), locales), 1
        if not same:
            return 0.0
        score = min(score, same)
    return score


def _names(*spellings: Spelling) -> bool:
    """Whether a label may be a name of a person: `Miller, Arthur` is not `Millar, Arthur`."""
    return any(one.inverted and len(one.words) < 4 for one in spellings)


def _same_word(left: str, right: str, locales: Sequence[str]) -> float:
    """Whether two words differ in accents or the plural only."""
    if left == right:
        return 1.0
    if not (left.isalpha() and right.isalpha()):
        return 0.0  # 1920 is not 1920s
    ours, theirs = without_accents(left), without_accents(right)
    if ours == theirs:
        return ACCENTS if not _both_known(left, right, locales) and _one_lacks(left, right) else 0.0
    if left in _singulars(right) or right in _singulars(left) or singular(left) == singular(right):
        return PLURAL
    return PLURAL if _american(ours) == _american(theirs) else 0.0


def _american(word: str) -> str:
    """A word as it is spelled in America, to compare it with one spelled in Britain. Others may come out wrong, both
    alike."""
    if len(word) < len("color"):
        return word
    if word.endswith("s") and not word.endswith("ss"):
        return _american(word[:-1]) + "s"
    for there, here in BRITISH:
        word = re.sub(there, here, word)
    return word


def _slip(left: str, right: str, locales: Sequence[str]) -> float:
    """Whether one word is the other with one slip: a letter left out, added, changed, or swapped with the next one,
    not at the beginning and not in the ending, where it changes the meaning."""
    if min(len(left), len(right)) < LONG_WORD or not (left.isalpha() and right.isalpha()):
        return 0.0
    if OSA.distance(left, right, score_cutoff=1) > 1 or left[:2] != right[:2] or left[-1] != right[-1]:
        return 0.0
    words = known_words(locales)
    swapped = len(left) == len(right) and sorted(left) == sorted(right)
    known = left in words, right in words
    doubled = len(left) != len(right) and re.sub(r"(.)\1", r"\1", left) == re.sub(r"(.)\1", r"\1", right)
    doubtful = doubled or not known[1]  # Jansen, Janssen
    certain = known == (False, True) or (known == (False, False) and swapped)
    if doubtful and min(len(left), len(right)) < DOUBTFUL_WORD:
        return 0.0
    certain = certain and not any(word in words for word in _one_slip_from(left) if word != right)
    return min(SPELLING, JaroWinkler.similarity(left, right)) if certain else 0.0


def _one_slip_from(word: str) -> Iterator[str]:
    """What else the word may stand for."""
    for index in range(len(word)):
        before, letter, after = word[:index], word[index], word[index + 1 :]
        yield before + after
        yield from (before + other + after for other in ascii_lowercase if other != letter)
        yield from (before + other + letter + after for other in ascii_lowercase)
        if after:
            yield before + after[0] + letter + after[1:]


def _both_known(left: str, right: str, locales: Sequence[str]) -> bool:
    """Whether one dictionary has both words: then their accents tell them apart."""
    return any(left in words and right in words for words in map(_dictionary, _languages(locales)))


def _one_lacks(left: str, right: str) -> bool:
    """Whether at each letter one of two words has no accent, as where accents were lost."""
    if len(left) != len(right):
        return left.isascii() or right.isascii()
    return all(a == b or a.isascii() or b.isascii() for a, b in zip(left, right, strict=True))


def _singulars(word: str) -> Iterator[str]:
    """What the word may be the plural of."""
    for ending, instead in FINAL:
        if word.endswith(ending) and len(word) > len(ending) + 1:
            yield word[: -len(ending)] + instead
    stem = word[:-2]
    if word.endswith("es") and stem.endswith(HISSING) and len(stem) > 1 and stem not in NO_PLURAL:
        yield stem
    stem = word[:-1]
    trade = stem.endswith("ic") and stem not in NOUNS_IN_IC
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(stem) > 2 and stem not in NO_PLURAL:
        yield from () if trade else (stem,)


def _words(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"[^\W_]+", text))


@lru_cache(maxsize=50_000)
def without_accents(word: str) -> str:
    """The word in base letters only."""
    return nfkd(word).translate(BASE_LETTERS)


def _languages(locales: Iterable[str]) -> tuple[str, ...]:
    """The dictionaries of these languages; of English too, in which libraries of any language have keywords."""
    wanted = {locale.partition("-")[0].lower() for locale in locales}
    return tuple(one for one in DICTIONARIES if one in wanted or one == ALWAYS)


def known_words(locales: Sequence[str]) -> frozenset[str]:
    """The words of these languages, without accents and with them."""
    return _all_words(_languages(locales))


@lru_cache(maxsize=4)
def _all_words(languages: tuple[str, ...]) -> frozenset[str]:
    every = frozenset[str]().union(*map(_dictionary, languages))
    return every | {without_accents(word) for word in every if not word.isascii()}


@lru_cache(maxsize=8)
def _dictionary(language: str) -> frozenset[str]:
    """The words of one language; read when a term needs it, in half a second."""
    from spellchecker import SpellChecker  # only fuzzy matching needs it

    return frozenset(SpellChecker(language=language, distance=1).word_frequency.dictionary)
