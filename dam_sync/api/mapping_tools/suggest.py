"""`map suggest`: a first mapping for a job, from the live schemas of both sides and a few assets of the source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from dam_sync.api.atomic_io import atomic_write
from dam_sync.api.bootstrap import both_sides
from dam_sync.api.job_file import job_of
from dam_sync.api.mapping_tools.exposure_questions import OptionQuestion, exposure_questions
from dam_sync.api.mapping_tools.sampling import labels_of, sample_of
from dam_sync.config.job import JobConfig
from dam_sync.mapping.checks import writable
from dam_sync.mapping.compile import compile_reading
from dam_sync.mapping.document import mapping_of_text, reading_of
from dam_sync.mapping.suggest import suggest
from dam_sync.mapping.suggestion import SuggestedLine, Suggestion
from dam_sync.model.errors import ConfigError, MappingError
from dam_sync.model.probed import Undecided, undecided, with_fields
from dam_sync.model.run_options import RunOptions
from dam_sync.model.schema import Schema
from dam_sync.model.values import Json


@dataclass(frozen=True, slots=True)
class SuggestedMapping:
    """A suggestion, and what it leaves to people. unread: fields of the source that no line reads; unwritten: fields of
    the target that no line writes, the required ones first; undecided: by role, what options of the job have to
    decide; questions: those of them that decide who sees assets."""

    suggestion: Suggestion
    unread: tuple[str, ...]
    unwritten: tuple[str, ...]
    required: frozenset[str]
    undecided: Mapping[str, tuple[Undecided, ...]] = field(default_factory=dict)
    questions: tuple[OptionQuestion, ...] = ()

    def as_json(self) -> dict[str, Json]:
        """For `--json`."""
        return {
            "lines": [_line(each) for each in self.suggestion.lines],
            "unread": list(self.unread),
            "unwritten": [{"field": key, "required": key in self.required} for key in self.unwritten],
            "notes": list(self.suggestion.notes),
            "questions": [each.as_json() for each in self.questions],
            "text": self.suggestion.text(),
        }


def _line(line: SuggestedLine) -> dict[str, Json]:
    found = {"block": line.block, "target": line.target, "line": line.written}
    return {**found, "score": line.score, "reason": line.reason}


async def suggestion_of(job: JobConfig, options: RunOptions, marker: str = "") -> Suggestion:
    """A mapping suggested for a job, whose mapping file is not read. marker: key of the field for the marker, if it is
    known. Neither side is written to."""
    return (await _suggested(job, options, marker)).suggestion


async def suggest_mapping(
    path: Path | JobConfig, options: RunOptions, marker: str = "", into: Path | None = None
) -> SuggestedMapping:
    """A suggestion for a job and what it leaves open. into: a new file to write it to. The job's own mapping file is
    neither read nor changed. Raises ConfigError if the new file exists."""
    job = job_of(path, options.connectors)
    if into is not None and into.exists():
        raise ConfigError(f"{into} exists; nothing was written", hint="name a new file with -o")
    found = await _suggested(job, options, marker)
    if into is not None:
        with atomic_write(into, "the mapping") as out:
            out.write(found.suggestion.text())
    return found


async def _suggested(job: JobConfig, options: RunOptions, marker: str) -> SuggestedMapping:
    async with both_sides(job, options) as sides:
        sample, letters = await sample_of(sides.source), sides.target.limits.filename
        terms = await labels_of(sides.target, sides.target_schema)
        schemas, accounts = (sides.source_schema, sides.target_schema), (sides.source_account, sides.target_account)
        closing = sides.target.exposure_options().closing
        left = undecided(*accounts, sides.source.capabilities, job.policy.versions, closing)
        asked = exposure_questions(sides.source, sides.target, sides.target_schema, sample)
    judged = _judged(suggest(*schemas, marker=marker, filename=letters, sample=sample, terms=terms), *schemas)
    return replace(judged, undecided=with_fields(left, *schemas), questions=asked)


def _judged(suggestion: Suggestion, source: Schema, target: Schema) -> SuggestedMapping:
    try:
        _, crosswalk = compile_reading(reading_of(mapping_of_text(suggestion.text()), Path()), source, target)
        unread = crosswalk.unread
    except MappingError:  # a person has to complete it: a required field has no counterpart
        unread = frozenset()
    written = {line.target for line in suggestion.lines if line.block == "fields" and not line.is_open}
    left = {key: field for key, field in target.fields.items() if key not in written and writable(field)}
    required = frozenset(key for key, field in left.items() if field.required)
    order = sorted(left, key=lambda key: (key not in required, key))
    return SuggestedMapping(suggestion, tuple(sorted(unread)), tuple(order), required)
