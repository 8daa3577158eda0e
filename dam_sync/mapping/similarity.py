"""How similar two fields are by name, and why."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from rapidfuzz import fuzz

from dam_sync.mapping.meanings import (
    core_meanings_of,
    meanings_of,
    part_meanings_of,
    possible_meanings_of,
    rank_of,
    units_of,
)
from dam_sync.mapping.name_parts import are_equal, are_same_but_for_whose, contains, is_kind_of, parts_of
from dam_sync.model.schema import Field
from dam_sync.model.unicode_forms import BASE_LETTERS, CharacterTable, nfkd

LONGEST = 2_000  # characters of a name that is compared word by word, and letter by letter
THRESHOLD = 0.78  # `titre` is similar to `title`, `weight` is not similar to `height`
SAME_KEY, SAME_SPELLING, SAME_REST, SAME_LABEL, SAME_NAME = 1.0, 0.97, 0.96, 0.94, 0.92
SAME_MEANING, SAME_CORE, SAME_WORDS, PERHAPS, SAME_HEAD = 0.8, 0.78, 0.76, 0.72, 0.66
CONTAINED, MISSPELT = 0.45, 0.45  # below what is taken without a person


@dataclass(frozen=True, slots=True)
class Similarity:
    """score: 0 to 1, 0 = not similar; exact: keys or labels are equal except for spelling. vague: a name may mean
    another thing as well. near: all that one may mean, the other may mean, too. rank: of the source's name among those
    that mean the same, the most usual first."""

    score: float = 0.0
    reason: str = ""
    exact: bool = False
    vague: bool = False
    near: bool = True
    rank: int = 0


def similarity(source: Field, target: Field) -> Similarity:
    """How similar the names of two fields are."""
    exact = exact_likeness(source, target)
    if exact:
        return exact
    pairs = ((left, right) for left in names_of(source) for right in names_of(target))
    found = max((_near(left, right) for left, right in pairs), key=_rank, default=Similarity())
    doubt = _doubt(source, target, found) if found.score > CONTAINED else ""
    return replace(found, score=CONTAINED, reason=f"{found.reason}{doubt}") if doubt else found


def _doubt(source: Field, target: Field, found: Similarity) -> str:
    """Why a person should decide about two fields of which one name is similar, if there is a reason."""
    if found.vague and not (_label_agrees(source, target) and _label_agrees(target, source)):
        return ", but a label says something else"
    ours, theirs = (_units(one) for one in (source, target))
    if ours and theirs and not ours & theirs:
        return f", in {'/'.join(sorted(ours))} and {'/'.join(sorted(theirs))}"
    torn = next(filter(None, map(_torn, (source, target))), "")
    return f"; {torn}" if torn else ""


def _units(field: Field) -> frozenset[str]:
    return frozenset().union(*(units_of(words_of(name)) for name in names_of(field)))


def _label_agrees(field: Field, other: Field) -> bool:
    """Whether the label of a field, which people read, may mean what the other one does, as its key may."""
    if compact(field.label) in ("", compact(bare(field.key))):
        return True
    return any(
        _meanings(field.label, possible_meanings_of) & _meanings(name, possible_meanings_of) for name in names_of(other)
    )


def exact_likeness(source: Field, target: Field) -> Similarity | None:
    """Why their keys or labels are equal, if they are."""
    if source.key == target.key:
        return Similarity(SAME_KEY, "same key", exact=True)
    if compact(source.key) and compact(source.key) == compact(target.key):
        return Similarity(SAME_SPELLING, "same key, spelled differently", exact=True)
    if compact(bare(source.key)) and compact(bare(source.key)) == compact(bare(target.key)):
        return Similarity(SAME_REST, "same key after the prefix", exact=True)
    if compact(source.label) and compact(source.label) == compact(target.label):
        return Similarity(SAME_LABEL, "same label", exact=True)
    ours, theirs = names_of(source), names_of(target)
    if {compact(name) for name in ours} & {compact(name) for name in theirs}:
        return Similarity(SAME_NAME, "the key of one is the label of the other", exact=True)
    return None


def names_of(field: Field) -> tuple[str, ...]:
    """The names of a field: its key without prefix, and its label."""
    return tuple(dict.fromkeys(name for name in (bare(field.key), field.label) if compact(name)))


def _torn(field: Field) -> str:
    """That the key of a field and its label are known to mean different things, if they are."""
    names = names_of(field)
    known = [_meanings(name, possible_meanings_of) for name in names]
    apart = len(names) > 1 and all(known) and not frozenset.intersection(*known)
    return f"{' and '.join(map(one_line, names))} mean different things" if apart else ""


def has_meaning(field: Field) -> bool:
    """Whether it is known what one of the names of a field means."""
    return any(_meanings(name, core_meanings_of) for name in names_of(field))


def bare(key: str) -> str:
    """A key without the `prefix:` before it."""
    return key.partition(":")[2] or key


@lru_cache(maxsize=20_000)
def words_of(text: str) -> tuple[str, ...]:
    """The words of a key or label, without case, accents and punctuation; `shotDate` has two. One that is very long is
    a word of its own."""
    if len(text) > LONGEST:
        return (text,)
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text)
    plain = nfkd(apart.casefold()).translate(BASE_LETTERS)
    return tuple(re.findall(r"[^\W_]+", plain))


def compact(text: str) -> str:
    """All letters and digits of a text, without case and accents."""
    return "".join(words_of(text))


def ratio(left: str, right: str) -> float:
    """How similar two texts are by characters, 0 to 1; 0 if they differ in a number."""
    ours, theirs = words_of(left), words_of(right)
    if max(len(left), len(right)) > LONGEST:
        return float(ours == theirs)
    if _numbers(ours) != _numbers(theirs):
        return 0.0
    return fuzz.ratio(" ".join(sorted(ours)), " ".join(sorted(theirs)), score_cutoff=100 * THRESHOLD) / 100


def _near(left: str, right: str) -> Similarity:
    both, rank = f"{one_line(left)} and {one_line(right)}", _rank_of(left)
    cores = _meanings(left, core_meanings_of), _meanings(right, core_meanings_of)
    near = cores[0] == cores[1]
    if _meanings(left, meanings_of) & _meanings(right, meanings_of):
        return Similarity(SAME_MEANING, f"{both} often mean the same", near=near, rank=rank)
    if cores[0] & cores[1]:
        return Similarity(SAME_CORE, f"{both} mostly mean the same", near=near, rank=rank)
    if _meanings(left, possible_meanings_of) & _meanings(right, possible_meanings_of):
        return Similarity(PERHAPS, f"{both} may mean the same", vague=True, rank=rank)
    if all(cores):
        return Similarity()
    like = _like(left, right, known=any(cores)) if _may_be_like(left, right, cores) else Similarity()
    if not like.score and _is_part(left, right, cores):
        return Similarity(CONTAINED, f"{both} may be of one kind", rank=rank)
    return like


def _may_be_like(left: str, right: str, meanings: tuple[frozenset[int], frozenset[int]]) -> bool:
    """Whether words of two names say anything: not if the one whose meaning is known is the longer one, whose other
    words then matter less than those that it means something by."""
    ours, theirs = len(words_of(left)), len(words_of(right))
    return not (meanings[0] and ours > theirs) and not (meanings[1] and theirs > ours)


def _is_part(left: str, right: str, meanings: tuple[frozenset[int], frozenset[int]]) -> bool:
    """Whether a part of the name that has no meaning means what the other one does."""
    ours, theirs = meanings
    return bool(ours & _meanings(right, part_meanings_of) or theirs & _meanings(left, part_meanings_of))


def _like(left: str, right: str, *, known: bool) -> Similarity:
    """How similar two names are by their words, if nothing says what at least one of them means. known: the other one's
    meaning is known, so that the spelling alone is no reason."""
    both = f"{one_line(left)} and {one_line(right)}"
    ours, theirs = parts_of(words_of(left)), parts_of(words_of(right))
    if ours and theirs and are_equal(ours, theirs):
        return Similarity(SAME_WORDS, f"{both} have the same words")
    if are_same_but_for_whose(words_of(left), words_of(right)):
        return Similarity(SAME_CORE, f"{both} differ only in whose value it is")
    found = ratio(left, right) if _begin_alike(left, right) else 0.0
    if found >= THRESHOLD:
        score = min(round(found * 0.85, 3), MISSPELT if known else 1.0)
        return Similarity(score, f"{one_line(left)} is spelled like {one_line(right)}")
    if ours and theirs and is_kind_of(ours, theirs):
        return Similarity(SAME_HEAD, f"{both} are both {one_line(ours.head)}")
    if contains(words_of(left), words_of(right)):
        return Similarity(CONTAINED, f"{both} have a name in common")
    return Similarity()


def _begin_alike(left: str, right: str) -> bool:
    """Whether they begin with one letter: a slip of the pen is rarely in the first, and `rating` is not `dating`."""
    return compact(left)[:1] == compact(right)[:1]


@lru_cache(maxsize=20_000)
def _rank_of(name: str) -> int:
    return min(rank_of(words_of(one)) for one in (name, *name.split("/")))


@lru_cache(maxsize=20_000)
def _meanings(name: str, of: Callable[[Sequence[str]], frozenset[int]]) -> frozenset[int]:
    """What a name means; of `Artist / Maker`, either."""
    names = (name, *name.split("/")) if len(name) <= LONGEST else ()
    return frozenset().union(*(of(words_of(one)) for one in names))


def one_line(text: str, most: int = 60) -> str:
    """A name for a comment: printable, on one line, not long."""
    plain = " ".join(text[:LONGEST].translate(_PRINTABLE).split())
    return plain if len(plain) <= most and len(text) <= LONGEST else f"{plain[: most - 1]}…"


_PRINTABLE = CharacterTable(lambda letter: letter if letter.isprintable() else " ")


def _numbers(words: tuple[str, ...]) -> list[str]:
    return sorted(_digits(words))


def _digits(words: tuple[str, ...]) -> Iterator[str]:
    for word in words:
        yield from re.findall(r"\d+", word)


def _rank(found: Similarity) -> tuple[float, bool, str]:
    return (found.score, found.near, found.reason)
