"""Pairs fields of the source with fields of the target: each of them once, the most certain first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

from dam_sync.mapping.conversions import STEPS, Given, fits_surely
from dam_sync.mapping.doubts import DOUBTED
from dam_sync.mapping.evidence import Evidence
from dam_sync.mapping.global_choices import is_of_standard
from dam_sync.mapping.paths import field_name, spelt
from dam_sync.mapping.results import SHAPES, ValueType
from dam_sync.mapping.similarity import Similarity, bare, compact, names_of, one_line, similarity
from dam_sync.model.schema import Field, FieldKind

SAME_SHAPE, SURE, UNSURE, FEWER = 0.98, 0.93, 0.88, 0.97
ONLY_ONE = 0.6  # several values of which the target takes one: the others are lost
LANGUAGE = 0.93
FACET = 0.8
EITHER_WAY = 0.48  # a name that may mean several things, if there is another counterpart for it
TOLD = 0.45  # a name that may mean several things, into a text that could hold each of them
REQUIRED = 0.47  # the only text that each of the two requires, if their names have nothing in common
GOOD = 0.7  # score of a field with values to which one with the same name and without values gives way


@dataclass(frozen=True, slots=True)
class FieldPair:
    """A suggested line: path of the source, what it returns, and how certain that is.

    key: the source's field, if it is one; vocabulary: its vocabulary; locale: if only one language of it is read.
    vague, near, rank: as in `Similarity`.
    """

    path: str
    given: Given
    score: float
    reason: str
    exact: bool = False
    key: str = ""
    vocabulary: str = ""
    locale: str = ""
    vague: bool = False
    near: bool = True
    rank: int = 0


@dataclass(frozen=True, slots=True)
class Facet:
    """A part of an asset besides its fields, for a target that stores it in a field. word: of `Capabilities.parts`."""

    path: str
    given: Given
    names: frozenset[str]
    word: str = ""


def _facet(path: str, shape: ValueType, names: str, word: str = "") -> Facet:
    return Facet(path, Given(shape), frozenset(names.split()), word)


FACETS = (
    _facet("filename", ValueType.TEXT, "filename originalfilename originalname"),
    _facet("status", ValueType.TEXT, "status assetstatus lifecycle", "status"),
    _facet("created_at", ValueType.INSTANT, "createdat created creationdate datecreated createddate"),
    _facet("imported_at", ValueType.INSTANT, "importedat imported importdate uploaddate dateuploaded firststored"),
    _facet("release_at", ValueType.INSTANT, "releasedate releaseat release embargodate availablefrom", "release"),
    _facet(
        "expires_at", ValueType.INSTANT, "expirydate expirationdate expiresat expires expiry availableuntil", "expiry"
    ),
)


@dataclass(slots=True)
class FieldMatching:
    """Pairs found so far, by the target's key. sources and targets: the fields to pair; evidence: what their values
    say."""

    sources: Sequence[Field]
    targets: Sequence[Field]
    locales: Sequence[str] = ()
    evidence: Evidence | None = None
    found: dict[str, FieldPair] = field(default_factory=dict)
    _ranked: list[tuple[FieldPair, Field]] | None = None
    _required: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        """Find the text that an asset must have at either service, if there is one such field at both."""
        ours, theirs = ([one.key for one in fields if _requires_text(one)] for fields in (self.sources, self.targets))
        self._required = (ours[0], theirs[0]) if len(ours) == len(theirs) == 1 else None

    def take(self, *, exact: bool, reserved: Collection[str] = (), without: Collection[str] = ()) -> None:
        """Pair free fields that are similar, `exact` or not; never one of the target's `reserved` fields, nor one
        of the source's `without`."""
        used = set(without) | {pair.key for pair in self.found.values() if not pair.locale}
        for pair, target in self._all():
            taken = target.key in self.found or target.key in reserved
            if pair.exact is not exact or taken or (not pair.locale and pair.key in used):
                continue
            self.found[target.key] = pair
            if not pair.locale:
                used.add(pair.key)

    def take_facets(self, holds: Collection[str], reserved: Collection[str]) -> None:
        """Pair parts of an asset besides its fields with a free field of that name, if the target does not store the
        part."""
        for facet in FACETS:
            if facet.word in holds:
                continue
            for target in self.targets:
                fits = (facet.given.shape, SHAPES[target.kind]) in STEPS and target.kind is not FieldKind.ROWS
                named = any(compact(name) in facet.names for name in names_of(target))
                if named and fits and target.key not in self.found and target.key not in reserved:
                    self.found[target.key] = FieldPair(facet.path, facet.given, FACET, f"the asset's own {facet.path}")
                    break

    def best(self, target: Field) -> FieldPair | None:
        """The most certain pair of a field of the target, whether its source is used or not."""
        return next((pair for pair, known in self._all() if known.key == target.key), None)

    def likely(self) -> list[tuple[str, str]]:
        """Keys of both sides that are probably one field, the most certain first, whatever else they may be."""
        return [(pair.key, target.key) for pair, target in self._all() if pair.score >= DOUBTED or pair.exact]

    def _all(self) -> list[tuple[FieldPair, Field]]:
        if self._ranked is None:
            every = self._judged([*self._candidates()])
            common = Counter(prefix for pair, target in every if pair.exact for prefix in _prefixes(pair, target))

            def rank(row: tuple[FieldPair, Field]) -> tuple[float, bool, bool, bool, int, int, str, str]:
                pair, target = row
                shared = sum(common[one] for one in _prefixes(*row))
                standard = (not is_of_standard(pair.key), is_of_standard(target.key))
                first = (not pair.near, *standard, -shared, pair.rank)
                return (-pair.score, *first, target.key, pair.path)

            self._ranked = sorted(every, key=rank)
        return self._ranked

    def _judged(self, every: list[tuple[FieldPair, Field]]) -> list[tuple[FieldPair, Field]]:
        """The candidates beside each other: a name that may mean several things is doubtful if there are several, and
        a field without values of its own gives way to one that has some."""
        sources = Counter(pair.key for pair, _ in every if pair.vague)
        targets = Counter(target.key for pair, target in every if pair.vague)
        filled = {target.key for pair, target in every if pair.score >= GOOD and not self._says_little(pair)}
        return [
            (
                replace(
                    pair,
                    score=min(pair.score, EITHER_WAY)
                    if pair.vague and max(sources[pair.key], targets[target.key]) > 1
                    else pair.score,
                    exact=pair.exact and not (target.key in filled and self._says_little(pair)),
                ),
                target,
            )
            for pair, target in every
        ]

    def _says_little(self, pair: FieldPair) -> bool:
        return self.evidence is not None and self.evidence.says_little(pair.key)

    def _candidates(self) -> Iterator[tuple[FieldPair, Field]]:
        for target in self.targets:
            able = [
                source
                for source in self.sources
                if (SHAPES[source.kind], SHAPES[target.kind]) in STEPS and source.accounts is target.accounts
            ]
            for source in able:
                alike = self._weighed(source, target, able)
                if alike.score:
                    yield self._with_fill(_pair(source, target, alike)), target
                yield from ((pair, target) for pair in self._languages(source, target))

    def _with_fill(self, pair: FieldPair) -> FieldPair:
        fill = self.evidence.sample.fill_of(pair.key) if self.evidence is not None else ""
        return replace(pair, reason=f"{pair.reason}; {fill}") if fill else pair

    def _weighed(self, source: Field, target: Field, others: Sequence[Field]) -> Similarity:
        found = self._by_names_and_values(source, target, others)
        if found.score >= REQUIRED or (source.key, target.key) != self._required:
            return found
        both = f"{one_line(bare(source.key))} is the only text that the source requires"
        return Similarity(REQUIRED, f"{both}, as {one_line(bare(target.key))} at the target")

    def _by_names_and_values(self, source: Field, target: Field, others: Sequence[Field]) -> Similarity:
        alike = similarity(source, target)
        if self.evidence is None:
            return alike
        if alike.score:
            return self.evidence.weighed(source, target, alike)
        return self.evidence.by_values(source, target, others)

    def _languages(self, source: Field, target: Field) -> Iterator[FieldPair]:
        """`titleFr` gets the French of `title`."""
        if not Given.by(source).localized or target.localized:
            return
        names = {compact(name) for name in names_of(target)}
        for locale in self.locales:
            if names & {compact(f"{name} {locale}") for name in names_of(source)}:
                alike = Similarity(LANGUAGE, f"{locale} of {bare(source.key)}", exact=True)
                yield _pair(source, target, alike, locale)


def _requires_text(known: Field) -> bool:
    return known.required and SHAPES[known.kind] is ValueType.TEXT and not known.accounts


def _prefixes(pair: FieldPair, target: Field) -> tuple[str, str]:
    """Prefixes of both keys: of two equally similar fields, the one with more similar neighbors comes first."""
    return (f"source {pair.key.rpartition(':')[0]}", f"target {target.key.rpartition(':')[0]}")


def path_of_field(source: Field, locale: str = "") -> str:
    """The path of a field, or of one language of it."""
    return field_name(source.key) + ("[]" if source.multiple else "") + (f".{spelt(locale.lower())}" if locale else "")


def _pair(source: Field, target: Field, alike: Similarity, locale: str = "") -> FieldPair:
    given = Given.by(source)
    score, reason = alike.score, alike.reason
    if source.kind is not target.kind:
        same, sure = given.shape is SHAPES[target.kind], fits_surely(given, target)
        score *= SAME_SHAPE if same else SURE if sure else UNSURE
        if alike.vague and not same and SHAPES[target.kind] is ValueType.TEXT:
            score = min(score, TOLD)
        reason += f", {source.kind.value} to {target.kind.value}"
    if source.multiple and not target.multiple:
        joined = SHAPES[target.kind] is ValueType.TEXT
        score *= FEWER if joined else ONLY_ONE
        reason += ", several values into one" if joined else ", only the first of several values: the others are lost"
    path = path_of_field(source, locale)
    more = (source.key, source.vocabulary, locale, alike.vague, alike.near, alike.rank)
    return FieldPair(path, given, round(score, 2), reason, alike.exact, *more)
