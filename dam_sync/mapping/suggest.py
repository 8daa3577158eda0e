"""Suggests a mapping from two schemas: a line for each pair of similar fields, with a score and a reason."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count

from dam_sync.mapping.checks import writable
from dam_sync.mapping.conversions import Given, conversion, fits_surely
from dam_sync.mapping.evidence import Evidence, evidence_of
from dam_sync.mapping.fallbacks import filled, with_last_resort
from dam_sync.mapping.filenames import safe_name
from dam_sync.mapping.global_choices import OURS, containers, default_group, free_marker, is_telling, named_marker
from dam_sync.mapping.matching import FieldMatching, FieldPair, path_of_field
from dam_sync.mapping.paths import LABEL
from dam_sync.mapping.profiles import ProfileChoice, choose_profile, possible_markers
from dam_sync.mapping.results import SHAPES, ValueType
from dam_sync.mapping.sample import Sample
from dam_sync.mapping.similarity import compact, exact_likeness, names_of, one_line
from dam_sync.mapping.suggested_steps import READABLE, line_of
from dam_sync.mapping.suggestion import SuggestedLine, Suggestion
from dam_sync.model.capabilities import Feature
from dam_sync.model.safe_text import shown_name
from dam_sync.model.schema import Field, Schema
from dam_sync.model.unicode_forms import nfc
from dam_sync.model.values import Json
from dam_sync.model.wording import counted

__all__ = ["SuggestedLine", "Suggestion", "suggest"]

LONGEST_NAME = 255
PUBLISHED = "published"  # what a service reads where it has no status
TAGS_SCORE = 0.9  # of tags in a field of that name
EMPTY_TAGS = 0.6  # the same if no asset of the sample has tags
UNTOLD = 0.6  # a marker whose name says nothing of a key
GUESSED = 0.4  # a choice that people have to make
SHOWN = 10  # names in a note
TAG_NAMES = ("tags", "tag", "keywords", "keyword")
"""Names of fields that hold tags, the best first."""


def suggest(
    source: Schema,
    target: Schema,
    *,
    locales: Sequence[str] = (),
    marker: str = "",
    filename: int = LONGEST_NAME,
    sample: Sample | None = None,
    terms: Mapping[str, Collection[str]] | None = None,
) -> Suggestion:
    """Suggest a mapping from one schema to another; deterministic.

    locales: languages to prefer, the best first. marker: key of the field for the marker; an unsuitable one
    is reported in the notes. filename: the maximum length of a file name at the target. sample: what some of the
    source's assets show, if requested. terms: labels of the target's terms by vocabulary, as far as they were read.
    """
    known = terms or {}
    evidence = evidence_of(sample, known, target)
    wanted = _locales(source, target, locales)
    return _Suggesting(source, target, wanted, max(filename, 8), sample, known, evidence).done(marker)


@dataclass(slots=True)
class _Suggesting:
    """Builds a suggestion."""

    source: Schema
    target: Schema
    locales: tuple[str, ...]
    filename: int
    sample: Sample | None = None
    terms: Mapping[str, Collection[str]] = field(default_factory=dict)
    evidence: Evidence | None = None
    profile: ProfileChoice = field(default_factory=ProfileChoice)
    vocabularies: dict[str, Mapping[str, Json]] = field(default_factory=dict)
    lines: dict[str, SuggestedLine] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def done(self, wish: str) -> Suggestion:
        """Choose the profile, pair fields, reserve one for the marker, and add parts of an asset besides its fields."""
        source, target = self.source, self.target
        self.profile = choose_profile(source, target, lambda: self._matching().likely(), self.sample)
        self.notes += self.profile.notes
        pairing = self._matching()
        wished = self._wished(wish) or self._unused()
        reserved = {wished} if wished else set()
        pairing.take(exact=True, reserved=reserved)
        chosen = wished or self._named(pairing)
        reserved |= {chosen} if chosen else set()
        tagged = self.sample is None or not self.sample.assets or self.sample.tagged > 0
        if tagged:
            self._tags(pairing, reserved, TAGS_SCORE)
        spared = {one.key for one in self._tag_fields(pairing, TAG_NAMES[:2])}
        pairing.take(exact=False, reserved={*reserved, *self.lines}, without=spared)
        if not tagged:
            self._tags(pairing, reserved, EMPTY_TAGS)
        pairing.take_facets(target.capabilities.parts, {*reserved, *self.lines})
        chosen = chosen or self._left_over(pairing)
        fields = [*self._marked(chosen), *self._fields(pairing, chosen)]
        lines = (*fields, *self._asset(), *self._tag_line(pairing), *self._placements(), *self._security())
        self._tell_unread(lines)
        ignored = sorted(key for key, known in source.fields.items() if _kept_there(known))
        relations = dict(self._relations())
        notes = tuple(dict.fromkeys(self.notes))
        return Suggestion(lines, self.vocabularies, self.profile, self.locales, tuple(ignored), notes, relations)

    def _matching(self) -> FieldMatching:
        """The fields to pair, those of the target as far as the profile has them."""
        locales = self.source.locales or self.locales
        return FieldMatching(self._readable(), self._writable(), locales, self.evidence)

    def _readable(self) -> list[Field]:
        fields = [known for known in self.source.fields.values() if not _kept_there(known)]
        return sorted(fields, key=lambda known: known.key)

    def _writable(self) -> list[Field]:
        makes = self.profile.makes.types
        fields = [known for known in self.target.fields.values() if writable(known)]
        able = [known for known in fields if not known.types or not makes or known.types & makes]
        return sorted(able, key=lambda known: known.key)

    def _wished(self, wish: str) -> str:
        """The requested key, if it can hold the marker."""
        fit = {known.key for known in possible_markers(self.target, self.profile.makes)}
        if wish and wish not in fit:
            self.notes.append(
                f"{one_line(wish)} cannot hold the marker: an optional, searchable plain text field is needed"
            )
        return wish if wish in fit else ""

    def _unused(self) -> str:
        """A field whose name suggests the key of another system, without a counterpart at the source."""
        if self.sample is None:
            return ""
        found = named_marker(possible_markers(self.target, self.profile.makes))
        if found is None:
            return ""
        filled = (known for known in self._readable() if known.key in self.sample.filled)
        return "" if any(exact_likeness(known, found) for known in filled) else found.key

    def _named(self, pairing: FieldMatching) -> str:
        free = [one for one in possible_markers(self.target, self.profile.makes) if one.key not in pairing.found]
        found = named_marker(free)
        return found.key if found else ""

    def _left_over(self, pairing: FieldMatching) -> str:
        """The best unused text field, otherwise the one with the weakest pairing."""
        candidates = possible_markers(self.target, self.profile.makes)
        unused = [one for one in candidates if one.key not in pairing.found and one.key not in self.lines]
        found = free_marker(unused)
        if found is None:
            weak = [one for one in candidates if one.key in pairing.found and not pairing.found[one.key].exact]
            found = min(weak, key=lambda one: (pairing.found[one.key].score, one.key), default=None)
        found = found or named_marker(candidates)
        if found is None:
            self.notes.append(
                "no field can hold the marker: add an optional, searchable text field, and make it the marker here"
            )
            return ""
        lost = pairing.found.get(found.key)
        instead = f", though {one_line(lost.path)} is similar to it" if lost else ""
        self.notes.append(f"{one_line(found.key)} was the best field left for the marker{instead}: please check")
        return found.key

    def _marked(self, key: str) -> Iterator[SuggestedLine]:
        if key:
            score = 1.0 if is_telling(self.target.fields[key]) else UNTOLD
            reason = "the marker, by which a created asset is found again"
            yield SuggestedLine(key, (), (), score, reason, more={"marker": True})

    def _fields(self, pairing: FieldMatching, marker: str) -> Iterator[SuggestedLine]:
        for known in sorted(self._writable(), key=lambda known: (not known.required, known.key)):
            if marker and known.key == marker:
                continue
            pair = pairing.found.get(known.key)
            if known.key in self.lines:
                yield self.lines[known.key]
            elif pair is not None:
                yield self._line(known, pair)
            elif known.required:
                yield self._required(known)

    def _required(self, known: Field) -> SuggestedLine:
        """The line of a required field without a counterpart, and a note for whoever has to decide."""
        line = filled(known, self._language(known))
        if not line.sources:
            names = sorted(self.terms.get(known.vocabulary, ()))[:SHOWN]
            one_of = f", one of {', '.join(map(one_line, names))}" if names else ""
            self.notes.append(
                f"the target requires {one_line(known.key)}, and nothing of the source fits: every asset is parked "
                f"until its line says where the value is, or what it is: {{const: …}}{one_of}"
            )
        return line

    def _line(self, known: Field, pair: FieldPair) -> SuggestedLine:
        rule, language = self._rule(known, pair.vocabulary), self._language(known)
        line, notes = line_of(pair, known, rule, language, self.sample)
        self.notes += notes
        if self._needs_parents(known, pair.vocabulary):
            doubt = "the terms of the target's list need a parent, and those of the source have none: each needs a pin"
            line = replace(line, score=min(line.score, GUESSED), reason=f"{line.reason}; {doubt}")
        if known.required:
            return with_last_resort(line, known)
        return line if fits_surely(pair.given, known) else replace(line, more={"on_error": "drop"})

    def _needs_parents(self, known: Field, own: str) -> bool:
        """Whether no term of the source can be created where the target takes terms as values."""
        theirs, ours = self.target.vocabularies.get(known.vocabulary), self.source.vocabularies.get(own)
        deep = theirs is not None and theirs.least_depth > 1 and SHAPES[known.kind] is ValueType.TERM
        return deep and (ours is None or not ours.hierarchical)

    def _rule(self, known: Field, vocabulary: str) -> str:
        """The name of the block for the terms of this field, created when first needed."""
        key = known.vocabulary
        if SHAPES[known.kind] is not ValueType.TERM or key not in self.target.vocabularies:
            return ""
        own = vocabulary if vocabulary in self.source.vocabularies else ""
        block: dict[str, Json] = {"source": own} if own else {}
        unmatched = "create" if self._open(known) else "park"
        block |= {"target": key, "match": ["exact", "casefold"], "unmatched": unmatched}
        names = chain((key, f"{key} from {own}"), (f"{key} {number}" for number in count(2)))
        return next(name for name in names if self.vocabularies.setdefault(name, block) == block)

    def _open(self, known: Field) -> bool:
        vocabulary = self.target.vocabularies.get(known.vocabulary)
        return vocabulary is not None and not vocabulary.closed

    def _language(self, known: Field) -> str:
        """The assumed language of plain text."""
        if not known.localized:
            return ""
        there = {locale.lower() for locale in self.target.locales}
        return next((one for one in self.locales if not there or one in there), next(iter(sorted(there)), ""))

    def _tags(self, pairing: FieldMatching, reserved: set[str], score: float) -> None:
        """Tags into a field of that name, if the target has no tags."""
        if "tags" in self.target.capabilities.parts:
            return
        given = Given(ValueType.TEXT, many=True)
        free = [one for one in self._writable() if one.multiple and SHAPES[one.kind] in READABLE]
        for name in TAG_NAMES:
            for known in free:
                if known.key in pairing.found or known.key in reserved or self.lines:
                    continue
                if name in (compact(one) for one in names_of(known)):
                    steps = conversion(given, known, rule=self._rule(known, ""), language=self._language(known)) or ()
                    line = SuggestedLine(known.key, ("tags[]",), ("trim", *steps), score, "the target has no tags")
                    self.lines[known.key] = with_last_resort(line, known) if known.required else line

    def _tag_line(self, pairing: FieldMatching) -> Iterator[SuggestedLine]:
        """Tags to tags; unpaired keywords too if there are no tags."""
        if "tags" not in self.target.capabilities.parts:
            return
        more = [path_of_field(one) for one in self._tag_fields(pairing, TAG_NAMES)]
        line = SuggestedLine("tags", ("tags[]", *more), ("trim", "unique"), 1.0, "tags stay tags", "tags")
        yield self._as_given(line, Feature.TAGS)

    def _tag_fields(self, pairing: FieldMatching, names: Sequence[str]) -> list[Field]:
        """The source's fields of these names that hold tags and are not paired yet, if the target has tags."""
        used = {pair.key for pair in pairing.found.values()}
        several = [one for one in self._readable() if one.multiple and SHAPES[one.kind] in READABLE]
        named = [one for one in several if any(compact(name) in names for name in names_of(one))]
        return [one for one in named if one.key not in used and "tags" in self.target.capabilities.parts]

    def _asset(self) -> Iterator[SuggestedLine]:
        pipe = ("nfc", {"safe_name": {"max": self.filename}})
        yield SuggestedLine("filename", ("filename",), pipe, 1.0, "a name that every system accepts", "asset")
        self._tell_renamed()
        if "status" in self.target.capabilities.parts:
            ours, theirs = self.source.statuses, self.target.statuses
            more = {} if theirs is None or (ours and ours | {PUBLISHED} <= theirs) else {"on_error": "drop"}
            line = SuggestedLine("status", ("status",), (), 1.0, "status stays status", "asset", more)
            yield self._as_given(line, Feature.STATUS)

    def _tell_renamed(self) -> None:
        """Note which names of the sample the line of file names changes."""
        names = [nfc(name) for name in (self.sample.filenames if self.sample else ())]
        changed = [(name, safe) for name in names if (safe := safe_name(name, self.filename)) != name]
        if changed:
            before, after = (one_line(name) for name in changed[0])
            stays = "" if self.target.naming else "; without `safe_name` they stay as they are"
            self.notes.append(
                f"the line filename changes {len(changed):,} of {counted(len(names), 'sampled name')}, "
                f"such as “{before}” to “{after}”{stays}"
            )

    def _placements(self) -> Iterator[SuggestedLine]:
        for mine, theirs in containers(self.source, self.target):
            if not theirs:
                if mine in self.source.container_kinds:
                    self.notes.append(f"containers of kind {mine} have no counterpart: each becomes a named loss")
                continue
            if mine == LABEL and not self._gives(Feature.LABEL):
                continue
            path = "labels[]" if mine == LABEL else f"placements.{mine}[].path"
            reason = f"{mine} stays {mine}" if mine == theirs else f"{mine} becomes {theirs}"
            if theirs in self.target.container_depth:
                reason += f"; levels below {self.target.container_depth[theirs]} are joined"
            more: dict[str, Json] = {"as": theirs}
            if theirs == LABEL and self.target.labels is not None:
                more["on_error"] = "drop"
            score = 1.0 if mine == theirs else 0.8
            yield SuggestedLine(mine, (path,), (), score, reason, "placements", more)

    def _security(self) -> Iterator[SuggestedLine]:
        if "groups" in self.target.capabilities.parts:
            yield self._groups()
        for part, path in ((Feature.RELEASE, "release_at"), (Feature.EXPIRY, "expires_at")):
            word = part.name.lower()
            if word in self.target.capabilities.parts:
                line = SuggestedLine(word, (path,), (), 1.0, f"{word} stays {word}", "security")
                yield self._as_given(line, part)

    def _groups(self) -> SuggestedLine:
        """Groups by name, and a default where each asset must have one."""
        ours, theirs = self.source.groups, self.target.groups
        more: dict[str, Json] = {} if ours and theirs and ours <= theirs else {"on_error": "drop"}
        line = SuggestedLine("groups", ("groups[]",), ("unique",), 1.0, "groups by name", "security", more)
        if "groups" in self.target.needs:
            return self._with_default_group(line, sorted(theirs or ()))
        if not self._gives(Feature.GROUPS):
            self.notes.append(
                "the source does not say which groups see an asset: the target's default decides: please check before "
                "a run"
            )
            return self._as_given(line, Feature.GROUPS)
        if more:
            self.notes.append(
                "groups that the target does not have are dropped and reported; its default then decides "
                "who sees the asset: please check before a run"
            )
        return line

    def _with_default_group(self, line: SuggestedLine, known: Sequence[str]) -> SuggestedLine:
        """The groups line of a target that requires a group for each asset. Of several groups, none is known to be the
        one that nobody minds: the narrowest by its name is written, with a score that asks for a person."""
        default = default_group(known)
        if not default:
            return replace(line, more={**line.more, "required": True}, score=GUESSED, reason=NO_GROUP)
        if len(known) == 1:
            return replace(line, more={**line.more, "default": default})
        names = ", ".join(map(one_line, known[:SHOWN])) + (f" and {len(known) - SHOWN} more" if known[SHOWN:] else "")
        self.notes.append(
            "the target needs a group for each asset, and may have none of the source's groups: "
            f"`default: {one_line(default)}` of `security: groups` decides who sees those; its groups are {names}"
        )
        return replace(
            line,
            more={**line.more, "default": default},
            score=GUESSED,
            reason=f"{line.reason}; who may see assets without one of them is for you to decide: {names}",
        )

    def _relations(self) -> Iterator[tuple[str, str]]:
        """Kinds of relation with another name at the target; unknown ones are noted."""
        theirs = self.target.relation_kinds
        if "relations" not in self.target.capabilities.parts or theirs is None:
            return
        for kind in sorted((self.source.relation_kinds or frozenset()) - theirs):
            found = next((one for one in sorted(theirs) if compact(one) == compact(kind)), "")
            if found:
                yield kind, found
            elif theirs:
                self.notes.append(
                    f"relations of kind {one_line(kind)} have no counterpart: each becomes a named loss until "
                    f"`relations: {{kinds: …}}` names one of {', '.join(map(one_line, sorted(theirs)))}"
                )

    def _tell_unread(self, lines: Sequence[SuggestedLine]) -> None:
        """List what no line reads; a run reports each as a loss."""
        read = {path for line in lines for path in line.sources}
        every = self._readable()
        unread = [
            one.key
            for one in every
            if not any(path == path_of_field(one) or path.startswith(f"{path_of_field(one)}.") for path in read)
        ]
        if unread:
            names = ", ".join(one_line(shown_name(each)) for each in unread)
            self.notes.append(f"no line reads {names}: reported as losses until one does")
        if self._gives(Feature.MACHINE_TAGS):
            self.notes.append("machine tags have no line: reported as losses until one reads machine_tags[]")

    def _gives(self, part: Feature) -> bool:
        """Whether the source has this part of an asset, as the job is set up."""
        return not self.source.capabilities.features or self.source.capabilities.reads(part)

    def _as_given(self, line: SuggestedLine, part: Feature) -> SuggestedLine:
        """A line for a part of an asset that both services may have; idle if the source gives none."""
        if self._gives(part):
            return line
        return replace(line, reason=f"{line.reason}; as the job is set up, the source gives none", idle=True)


NO_GROUP = "the target needs a group for each asset, and none is visible to its credential: assets without are parked"


def _kept_there(known: Field) -> bool:
    """Whether a field of the source is maintained by the service, or holds an earlier marker of ours."""
    return known.system or known.derived or known.key == OURS


def _locales(source: Schema, target: Schema, wanted: Sequence[str]) -> tuple[str, ...]:
    known = {locale.lower() for locale in (*source.locales, *target.locales)}
    there = [locale for locale in wanted if locale.strip().lower() in known]
    found = (there if known else wanted) or target.locales or source.locales
    return tuple(dict.fromkeys(locale.lower() for locale in found if locale.strip()))
