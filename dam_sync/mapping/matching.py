"""Pairs fields of the source with fields of the target: each of them once, the most certain first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from dam_sync.mapping.conversions import STEPS, Given, fits_surely
from dam_sync.mapping.paths import field_name, spelt
from dam_sync.mapping.results import SHAPES, ValueType
from dam_sync.mapping.similarity import Similarity, bare, compact, names_of, similarity
from dam_sync.model.schema import Field, FieldKind

SAME_SHAPE, SURE, UNSURE, FEWER = 0.98, 0.93, 0.88, 0.97
ONLY_ONE = 0.6  # several values of which the target takes one: the others are lost
LANGUAGE = 0.93
FACET = 0.8


@dataclass(frozen=True, slots=True)
class FieldPair:
    """A suggested line: path of the source, what it returns, and how certain that is.

    key: the source's field, if it is one; vocabulary: its vocabulary; locale: if only one language of it is read.
    """

    path: str
    given: Given
    score: float
    reason: str
    exact: bool = False
    key: str = ""
    vocabulary: str = ""
    locale: str = ""


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
    """Pairs found so far, by the target's key. sources and targets: the fields to pair."""

    sources: Sequence[Field]
    targets: Sequence[Field]
    locales: Sequence[str] = ()
    found: dict[str, FieldPair] = field(default_factory=dict)
    _ranked: list[tuple[FieldPair, Field]] | None = None

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

    def _all(self) -> list[tuple[FieldPair, Field]]:
        if self._ranked is None:
            every = [*self._candidates()]
            common = Counter(prefix for pair, target in every if pair.exact for prefix in _prefixes(pair, target))

            def rank(row: tuple[FieldPair, Field]) -> tuple[float, int, str, str]:
                return (-row[0].score, -sum(common[one] for one in _prefixes(*row)), row[1].key, row[0].path)

            self._ranked = sorted(every, key=rank)
        return self._ranked

    def _candidates(self) -> Iterator[tuple[FieldPair, Field]]:
        for target in self.targets:
            for source in self.sources:
                if (SHAPES[source.kind], SHAPES[target.kind]) not in STEPS or source.accounts is not target.accounts:
                    continue
                alike = similarity(source, target)
                if alike.score:
                    yield _pair(source, target, alike), target
                yield from ((pair, target) for pair in self._languages(source, target))

    def _languages(self, source: Field, target: Field) -> Iterator[FieldPair]:
        """`titleFr` gets the French of `title`."""
        if not Given.by(source).localized or target.localized:
            return
        names = {compact(name) for name in names_of(target)}
        for locale in self.locales:
            if names & {compact(f"{name} {locale}") for name in names_of(source)}:
                alike = Similarity(LANGUAGE, f"{locale} of {bare(source.key)}", exact=True)
                yield _pair(source, target, alike, locale)


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
        reason += f", {source.kind.value} to {target.kind.value}"
    if source.multiple and not target.multiple:
        joined = SHAPES[target.kind] is ValueType.TEXT
        score *= FEWER if joined else ONLY_ONE
        reason += ", several values into one" if joined else ", only the first of several values: the others are lost"
    path = path_of_field(source, locale)
    return FieldPair(path, given, round(score, 2), reason, alike.exact, source.key, source.vocabulary, locale)
