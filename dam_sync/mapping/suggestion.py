"""The parts of a suggested mapping, and its file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dam_sync.mapping.doubts import DOUBTED
from dam_sync.mapping.profiles import ProfileChoice
from dam_sync.mapping.similarity import one_line
from dam_sync.mapping.yaml_writer import LONGEST_COMMENT, block, comment, entry, flow
from dam_sync.model.values import Json

HEAD = (
    "A first mapping, created by comparing the fields of both sides.",
    "The number after a line says how certain it is, from 0 to 1. Read every line before a run.",
    f"`check` warns of lines below {DOUBTED} as long as they have their number: remove it once you have decided.",
)


@dataclass(frozen=True, slots=True)
class SuggestedLine:
    """One line: key of what it writes, paths it reads, its pipe, how certain it is from 0 to 1, and why.

    block: where in the mapping file: fields, asset, tags, placements or security. more: its other keys, such as `as`,
    `default` or `on_error`; idle: it does nothing, as the job is set up.
    """

    target: str
    sources: tuple[str, ...]
    pipe: tuple[Json, ...] = ()
    score: float = 1.0
    reason: str = ""
    block: str = "fields"
    more: Mapping[str, Json] = field(default_factory=dict)
    idle: bool = False

    @property
    def written(self) -> Json:
        """The line as the mapping file has it."""
        made: dict[str, Json] = {}
        if self.sources:
            made["from"] = self.sources[0] if len(self.sources) == 1 else list(self.sources)
        if self.pipe:
            made["pipe"] = list(self.pipe)
        return made | dict(self.more)

    @property
    def is_open(self) -> bool:
        """Whether it gives no value until a person completes it."""
        return not (self.sources or {"const", "marker"} & self.more.keys())

    @property
    def why(self) -> str:
        """Score and reason."""
        return f"{self.score:.2f} {self.reason}"


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A suggested mapping. vocabularies: the blocks by name; ignore: the source's fields that need no line; notes:
    what a person should review; relations: kinds at the target by kinds at the source."""

    lines: tuple[SuggestedLine, ...]
    vocabularies: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    profile: ProfileChoice = field(default_factory=ProfileChoice)
    locales: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    relations: Mapping[str, str] = field(default_factory=dict)

    def text(self) -> str:
        """The mapping file: complete YAML with comments, which compiles against the schemas it was made from."""
        return "\n".join(self._rows()) + "\n"

    def _rows(self) -> Iterator[str]:
        yield from (comment(text) for text in (*HEAD, *self.notes))
        yield "version: 1"
        if self.locales:
            yield entry("locales", self.locales)
        yield from block("vocabularies", (entry(name, spec, "", "  ") for name, spec in self.vocabularies.items()))
        if self.profile.block:
            yield entry("profile", self.profile.block, self.profile.why)
        elif self.profile.reason:
            yield comment(self.profile.reason)
        yield from block("asset", self._entries("asset"))
        yield from block("fields", self._entries("fields"))
        yield from (entry("tags", line.written, line.why) for line in self.lines if line.block == "tags")
        placed = (line for line in self.lines if line.block == "placements")
        lines = (f"  - {flow(line.written)}  # {one_line(line.why, LONGEST_COMMENT)}" for line in placed)
        yield from block("placements", lines)
        yield from block("security", self._entries("security"))
        if self.relations:
            yield entry("relations", {"kinds": self.relations}, "kinds of relation by their names")
        if self.ignore:
            yield entry("ignore", self.ignore, "maintained by the source itself")
        yield "unmapped: report"

    def _entries(self, name: str) -> Iterator[str]:
        yield from (entry(line.target, line.written, line.why, "  ") for line in self.lines if line.block == name)
