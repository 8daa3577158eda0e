"""`map diff`: how many assets and values another mapping would change, from the sample that is kept of the source."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from dam_sync.api.bootstrap import reading_of_job
from dam_sync.api.explain import in_words
from dam_sync.api.job_file import job_of
from dam_sync.api.mapping_tools.kept_sample import KeptSample, kept_sample, take_sample
from dam_sync.config.job import JobConfig
from dam_sync.mapping.compile import compile_reading
from dam_sync.mapping.crosswalk import Crosswalk
from dam_sync.mapping.document import read_mapping, refuse_faulty
from dam_sync.mapping.vocabulary import TermIndex
from dam_sync.model.asset import Asset
from dam_sync.model.codec import draft_to_json
from dam_sync.model.run_options import RunOptions
from dam_sync.model.values import Json

EXAMPLES = 3
NOT_SELECTED, PARKED = "not selected", "parked"


@dataclass(slots=True)
class PartDifference:
    """One part of the target's assets. gained, lost, changed: assets whose value is new, gone, or another one.
    examples: source id, value before, value after, in words."""

    part: str
    gained: int = 0
    lost: int = 0
    changed: int = 0
    examples: list[tuple[str, str, str]] = field(default_factory=list)


@dataclass(slots=True)
class MappingDifference:
    """What another mapping would change. assets: compared; changed: those with any difference; listed, whole, taken: of
    the sample. moved: how many assets go from one fate to another, by `before to after`."""

    taken: str
    listed: int
    whole: bool
    assets: int = 0
    changed: int = 0
    moved: Counter[str] = field(default_factory=Counter)
    parts: dict[str, PartDifference] = field(default_factory=dict)

    def as_json(self) -> dict[str, Json]:
        """For `--json`; parts with the most differences first."""
        order = sorted(self.parts.values(), key=lambda each: (-(each.gained + each.lost + each.changed), each.part))
        return {**asdict(self), "parts": [asdict(each) for each in order]}


async def diff_mapping(
    path: Path | JobConfig, other: Path, options: RunOptions, sample: str = "2000", *, refresh: bool = False
) -> MappingDifference:
    """Compare the mapping of a job with another mapping file. The first call reads a sample of the source and keeps it
    beside the state; later ones make no call unless `refresh` takes a new one. Raises MappingError for faults of
    either mapping."""
    job = job_of(path, options.connectors)
    readings = reading_of_job(job), read_mapping(other)
    for reading in readings:
        refuse_faulty(reading)
    kept = None if refresh else kept_sample(job)
    kept = kept or await take_sample(job, options, sample)
    before, after = (compile_reading(reading, kept.source, kept.target)[1] for reading in readings)
    found = MappingDifference(kept.taken, kept.listed, kept.whole)
    sides = _Mapped(before, kept), _Mapped(after, kept)
    for asset in kept.assets():
        _compare(found, asset, *(side.parts_of(asset) for side in sides))
    return found


class _Mapped:
    """Drafts assets with one mapping and the terms that the target had."""

    def __init__(self, crosswalk: Crosswalk, kept: KeptSample) -> None:
        self._crosswalk = crosswalk
        self._terms = {key: TermIndex() for key in crosswalk.vocabularies}
        for key, index in self._terms.items():
            for term in kept.terms["target"].get(key, ()):
                index.add(term)

    def parts_of(self, asset: Asset) -> tuple[str, dict[str, str]]:
        """The fate of an asset, and the parts of its draft as JSON; none if it is not written."""
        verdict = self._crosswalk.selects(asset)
        if not verdict:
            return PARKED if verdict.fault else NOT_SELECTED, {}
        drafted = self._crosswalk.draft(asset, "marker", self._terms)
        if drafted.rejections:
            return PARKED, {}
        return "written", dict(_parts(draft_to_json(drafted.draft)))


def _parts(draft: Json) -> Iterator[tuple[str, str]]:
    fields = {f"fields.{key}": value for key, value in draft.pop("fields").items()}
    draft.pop("marker")
    for key, value in {**draft, **draft.pop("rights"), **fields}.items():
        if value not in (None, "", [], {}):
            yield key, json.dumps(value, ensure_ascii=False, sort_keys=True)


def _compare(
    found: MappingDifference, asset: Asset, before: tuple[str, dict[str, str]], after: tuple[str, dict[str, str]]
) -> None:
    found.assets += 1
    (fate, old), (next_fate, new) = before, after
    if fate != next_fate:
        found.moved[f"{fate} to {next_fate}"] += 1
    parts = [key for key in {**old, **new} if old.get(key) != new.get(key)] if fate == next_fate else []
    found.changed += fate != next_fate or bool(parts)
    for key in parts:
        part = found.parts.setdefault(key, PartDifference(key))
        part.gained += key not in old
        part.lost += key not in new
        part.changed += key in old and key in new
        if len(part.examples) < EXAMPLES:
            part.examples.append((asset.id, _in_words(key, old.get(key)), _in_words(key, new.get(key))))


def _in_words(key: str, text: str | None) -> str:
    return "" if text is None else in_words(key, json.loads(text))
