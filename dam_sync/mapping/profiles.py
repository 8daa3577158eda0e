"""The profile of a suggested mapping: by how many of the source's fields its type has in any words, then by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from dam_sync.mapping.checks import Makes, profiles_of, unfit_for_marker, writable
from dam_sync.mapping.conversions import STEPS
from dam_sync.mapping.global_choices import default_group, named_marker
from dam_sync.mapping.media_families import DOCUMENT, families_of
from dam_sync.mapping.results import SHAPES
from dam_sync.mapping.sample import Sample
from dam_sync.mapping.similarity import compact, exact_likeness, one_line, ratio, words_of
from dam_sync.model.schema import AssetType, Field, FieldKind, Schema
from dam_sync.model.values import Json

GENERAL = ("default", "general", "generic", "document", "documents", "file", "files", "asset", "assets", "other")
GUESSED = 0.4  # score of a choice that people have to make
SAME_TYPE = 0.97
SHOWN = 5  # names in a note or a reason
ENOUGH = 0.8  # a profile with a similar name is chosen if it has this fraction of the fields of the best one
LikelyPair: TypeAlias = tuple[str, str]
"""The key of a field of the source, and that of one of the target which probably means the same."""


@dataclass(frozen=True, slots=True)
class ProfileChoice:
    """The `profile` block, or nothing if the target chooses; the types it creates, how certain it is, and why; notes:
    what a person should decide."""

    block: Mapping[str, Json] = field(default_factory=dict)
    makes: Makes = field(default_factory=lambda: Makes({}))
    reason: str = ""
    score: float = 1.0
    notes: tuple[str, ...] = ()

    @property
    def why(self) -> str:
        """The reason, of a guess with its score before it."""
        return f"{self.score:.2f} {self.reason}" if self.score < 1 else self.reason


def choose_profile(
    source: Schema, target: Schema, likely: Callable[[], Sequence[LikelyPair]], sample: Sample | None = None
) -> ProfileChoice:
    """Profiles for the source's types that assets use, and one for everything else. likely: gives the fields that may
    be paired, if all profiles are considered, the most certain first."""
    known = profiles_of(target)
    return _Choosing(source, target, known, likely(), sample or Sample()).done() if known else ProfileChoice()


def possible_markers(target: Schema, makes: Makes) -> list[Field]:
    """Optional plain text fields that can hold the marker. None that names users of the service."""
    texts = (FieldKind.TEXT, FieldKind.LONG_TEXT)
    fields = (known for known in target.fields.values() if known.kind in texts and not known.accounts)
    plain = [known for known in fields if writable(known)]
    return [known for known in plain if not known.required and not any(unfit_for_marker(known, makes))]


class _Choosing:
    """Makes one choice; `known`: the target's profiles and their types; likely: keys of both sides."""

    def __init__(
        self,
        source: Schema,
        target: Schema,
        known: Mapping[str, frozenset[str]],
        likely: Sequence[LikelyPair],
        sample: Sample,
    ) -> None:
        self.source, self.target, self.sample = source, target, sample
        self.by_media = any(kind.media for kind in target.types)
        self.same, self.likely = _same(source, target), likely
        self.known = {name: types for name, types in known.items() if self._free_marks({name: types})} or dict(known)
        self.default = self._general()
        self.kinds = self._kinds()

    def done(self) -> ProfileChoice:
        """Cases for the types, the rest by default; all of them have one marker field, if any profile has."""
        default = self.default
        cases = {kind.name: found for kind in self.kinds if (found := self._for(kind, default))}
        if self.by_media and (not self.kinds or len(cases) < len(self.kinds)):
            return ProfileChoice(reason="no profile: the target chooses by the kind of file")
        cases = self._with_one_mark(cases, default)
        given = sorted({*cases.values(), *([default] if default else [])})
        block: dict[str, Json] = {"from": "type", "cases": cases} if cases else {}
        block |= {"default": default} if default else {}
        reason = "by the fields of their types, then by name" if cases else self._alone(default)
        guessed = self._guessed(cases, default)
        if guessed:
            reason += f"; nothing says which one is right for {', '.join(map(one_line, guessed[:SHOWN]))}: please check"
        notes = tuple(dict.fromkeys(note for name in given if (note := self._about_others(name))))
        if notes:
            reason += "; others create assets of the same types: please check"
        makes = Makes({name: self.known[name] for name in given})
        return ProfileChoice(block, makes, reason, GUESSED if guessed or notes else 1.0, notes)

    def _guessed(self, cases: Mapping[str, str], default: str) -> list[str]:
        """The source's types whose profile was chosen by the order of names alone."""
        chosen = {kind.name: (kind, cases.get(kind.name, default)) for kind in self.kinds}
        return [name for name, (kind, profile) in chosen.items() if profile and not self._is_founded(kind, profile)]

    def _is_founded(self, kind: AssetType, name: str) -> bool:
        """Whether a name, or more fields than others have, says that assets of this type belong there."""
        others = [one for one in self.known if self._takes(kind, one) and self.known[one] != self.known[name]]
        held = self._held(name, kind)
        return (
            all(self._held(one, kind) < held or self._is_contrary(kind, one) for one in others)
            or self._alike(kind, name) > 0
            or self._generality(name) < len(GENERAL)
        )

    def _others(self, name: str) -> list[str]:
        """The profiles whose types are the same."""
        return [one for one in sorted(self.known) if self.known[one] == self.known[name]]

    def _about_others(self, name: str) -> str:
        others = self._others(name)
        if len(others) < 2 or compact(name) in {compact(kind.name) for kind in self.kinds}:
            return ""
        names = ", ".join(map(one_line, others[:SHOWN]))
        return (
            f"profiles {names} create assets of the same types: {one_line(name)} was chosen; which one, and so who "
            "sees a new asset, is for you to decide"
        )

    def _kinds(self) -> list[AssetType]:
        """The source's types; those without assets are left to the default, if there is one."""
        named = {kind.name: kind for kind in self.source.types if kind.name}
        used = {name: kind for name, kind in named.items() if name in self.sample.types}
        only = used and self.default and self.sample.whole
        return [kind for _, kind in sorted((used if only else named).items())]

    def _for(self, kind: AssetType, default: str) -> str:
        """The profile for a type: one with its name, unless another has many more of its fields; empty if
        the default is as good."""
        takes = [name for name in sorted(self.known) if self._takes(kind, name)]
        able = [name for name in takes if not self._is_contrary(kind, name)] or takes
        if not able:
            return ""
        held = {name: self._held(name, kind) for name in able}
        best = min(able, key=lambda name: (-held[name], -self._alike(kind, name), name))
        called = max(able, key=lambda name: (self._alike(kind, name), held[name], name == default))
        if self._alike(kind, called) and held[called] >= ENOUGH * held[best]:
            return self._narrowest(called, kind)
        return "" if default in held and held[default] >= held[best] else self._narrowest(best, kind)

    def _narrowest(self, name: str, kind: AssetType | None = None) -> str:
        """Of the profiles of the same types that are called as little or as much like it, the one whose name promises
        the fewest people."""
        alike = self._alike(kind, name) if kind else 0.0
        return default_group([one for one in self._others(name) if kind is None or self._alike(kind, one) == alike])

    def _takes(self, kind: AssetType, name: str) -> bool:
        """Whether assets of this type may go there: types limited to other media are excluded."""
        media = {word for one in self.target.types if one.name in self.known[name] for word in one.media}
        return not media or bool(media & kind.media) or bool(self._alike(kind, name))

    def _held(self, name: str, kind: AssetType | None = None) -> int:
        """How many fields of a profile have a counterpart at the source, each of them one of its own."""
        types, found, used = self.known[name], set[str](), set[str]()
        for source, target in self.likely:
            ours, theirs = self.source.fields[source], self.target.fields[target]
            mine = kind is None or not ours.types or kind.name in ours.types
            free = source not in used and target not in found
            if mine and free and (not theirs.types or theirs.types & types):
                found.add(target)
                used.add(source)
        return len(found)

    def _alike(self, kind: AssetType, name: str) -> float:
        types = self.known[name]
        if compact(kind.name) == compact(name):
            return 1.0
        if compact(kind.name) in {compact(one) for one in types}:
            return SAME_TYPE
        if self._families_of(kind) & self._families_in(name):
            return 0.95
        return max(ratio(kind.name, one) for one in (name, *types)) * 0.9

    def _is_contrary(self, kind: AssetType, name: str) -> bool:
        """Whether assets of this type are of another kind of media than the profile is for: documents may be any."""
        ours, theirs = self._families_of(kind), self._families_in(name)
        return bool(ours and theirs - {DOCUMENT}) and not ours & theirs

    def _families_of(self, kind: AssetType) -> frozenset[str]:
        return families_of(kind.name, *kind.media) | self.sample.families.get(kind.name, frozenset())

    def _families_in(self, name: str) -> frozenset[str]:
        types = self.known[name]
        media = {word for one in self.target.types if one.name in types for word in one.media}
        return families_of(name, *types, *media)

    def _general(self) -> str:
        """The profile for what no case names; if types are limited by media, one for any media."""
        narrow = {kind.name for kind in self.target.types if kind.media}
        candidates = sorted(name for name, types in self.known.items() if not self.by_media or not types & narrow)

        def rank(name: str) -> tuple[int, int, bool, str]:
            return (-self._held(name), self._generality(name), bool(self._families_in(name) - {DOCUMENT}), name)

        return self._narrowest(min(candidates, key=rank)) if candidates else ""

    def _generality(self, name: str) -> int:
        """Where its words stand among those of profiles for everything."""
        words = {*words_of(name), *(word for one in self.known[name] for word in words_of(one))}
        return next((index for index, word in enumerate(GENERAL) if word in words), len(GENERAL))

    def _with_one_mark(self, cases: dict[str, str], default: str) -> dict[str, str]:
        """The cases without those that leave no common marker field: first those of types that no
        asset of the sample has, then the poorest."""
        while cases and default:
            names = {*cases.values(), default}
            if self._free_marks({name: self.known[name] for name in names}):
                break
            used = {name for kind, name in cases.items() if kind in self.sample.types}
            others = sorted(names - {default}, key=lambda name: (name in used, self._held(name), name))
            if not others:
                break
            cases = {kind: name for kind, name in cases.items() if name != others[0]}
        return cases

    def _free_marks(self, makes: dict[str, frozenset[str]]) -> list[Field]:
        """Fields that can hold the marker in all of these and have no counterpart at the source."""
        held = {theirs.key for _, theirs in self.same}
        found = possible_markers(self.target, Makes(makes))
        return [known for known in found if known.key not in held or named_marker([known])]

    def _alone(self, default: str) -> str:
        if len(self.known) == 1:
            return "the only one there is"
        held = self._held(default)
        equal = [name for name in sorted(self.known) if name != default and self._held(name) == held]
        names = ", ".join(map(one_line, equal[:SHOWN])) + (f" and {len(equal) - SHOWN} more" if equal[SHOWN:] else "")
        others = f"as many as {names}" if held and equal else "none has more"
        return f"{one_line(default)}: its type has {held} of the source's fields, {others}: please check"


def _same(source: Schema, target: Schema) -> Sequence[tuple[Field, Field]]:
    """Fields of both sides with the same name and compatible values."""
    mine = [known for known in source.fields.values() if not (known.system or known.derived)]
    theirs = [known for known in target.fields.values() if writable(known)]
    return [
        (ours, known)
        for known in theirs
        for ours in mine
        if (SHAPES[ours.kind], SHAPES[known.kind]) in STEPS and exact_likeness(ours, known)
    ]
