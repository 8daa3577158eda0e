"""A sample of the source kept beside the state: mappings are compared with it without calls."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from dam_sync.api.atomic_io import atomic_write
from dam_sync.api.bootstrap import both_sides, scope_of
from dam_sync.config.job import JobConfig
from dam_sync.engine.inventory.reading import SampleReader, Sampling
from dam_sync.model.asset import Asset, digest_of
from dam_sync.model.capabilities import Operation
from dam_sync.model.codec import asset_from_json, asset_to_json
from dam_sync.model.run_options import RunOptions
from dam_sync.model.schema import Schema
from dam_sync.model.service import Service
from dam_sync.model.values import Json, Term, instant_text

FORMAT = 1
SCHEMA: TypeAdapter[Schema] = TypeAdapter(Schema)
TERM: TypeAdapter[Term] = TypeAdapter(Term)


class _Head(BaseModel):
    """The first line of the file. services: a digest of what the job reads and writes; what the file was made for."""

    model_config = ConfigDict(extra="forbid")
    format: int
    services: str
    taken: str
    listed: int
    read: int
    whole: bool
    source: Json
    target: Json
    terms: dict[str, dict[str, int]]


@dataclass(frozen=True, slots=True)
class KeptSample:
    """Assets of the source, both schemas, and the terms of both, by side and vocabulary, as they were at
    `taken`. listed: how many assets
    the source had; number: how many are in the sample; whole: all of them are."""

    path: Path
    taken: str
    listed: int
    number: int
    whole: bool
    source: Schema
    target: Schema
    terms: dict[str, dict[str, list[Term]]]

    def assets(self) -> Iterator[Asset]:
        """The assets, one at a time."""
        with self.path.open(encoding="utf-8") as lines:
            next(lines)
            terms = sum(len(found) for side in self.terms.values() for found in side.values())
            for number, line in enumerate(lines):
                if number >= terms:
                    yield asset_from_json(json.loads(line))


def kept_sample(job: JobConfig) -> KeptSample | None:
    """The sample of a job; None without one for its two services, or with one of another version."""
    path = sample_path(job)
    if not path.is_file():
        return None
    try:
        with path.open(encoding="utf-8") as lines:
            head = _Head.model_validate_json(next(lines))
            if head.format != FORMAT or head.services != _scopes(job):
                return None
            terms = {
                side: {key: [TERM.validate_json(next(lines)) for _ in range(count)] for key, count in counts.items()}
                for side, counts in head.terms.items()
            }
        schemas = SCHEMA.validate_python(head.source), SCHEMA.validate_python(head.target)
    except (OSError, ValueError, ValidationError, StopIteration):
        return None
    return KeptSample(path, head.taken, head.listed, head.read, head.whole, *schemas, terms)


async def take_sample(job: JobConfig, options: RunOptions, sample: str) -> KeptSample:
    """Read a sample of the source, both schemas and the terms of both, and keep them. sample: a percentage or a
    number of assets. Neither service is written to. Raises what they raise, and ConfigError."""
    sampling = Sampling.of(sample)
    async with both_sides(job, options) as sides:
        terms = {
            "source": await _terms(sides.source, sides.source_schema),
            "target": await _terms(sides.target, sides.target_schema),
        }
        reader = SampleReader(sides.source, sampling, options)
        options.progress.begin("reading a sample")
        rows = [asset_to_json(asset) async for asset in reader.assets()]
        schemas = sides.source_schema, sides.target_schema
    path, taken = sample_path(job), instant_text(options.clock.now())
    head = _Head(
        format=FORMAT,
        services=_scopes(job),
        taken=taken,
        listed=reader.listed,
        read=len(rows),
        whole=reader.whole,
        source=SCHEMA.dump_python(schemas[0], mode="json"),
        target=SCHEMA.dump_python(schemas[1], mode="json"),
        terms={side: {key: len(found) for key, found in lists.items()} for side, lists in terms.items()},
    )
    with atomic_write(path, "the sample") as out:
        out.write(head.model_dump_json() + "\n")
        every = (term for lists in terms.values() for found in lists.values() for term in found)
        out.writelines(TERM.dump_json(term).decode() + "\n" for term in every)
        out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return KeptSample(path, taken, reader.listed, len(rows), reader.whole, *schemas, terms)


async def _terms(service: Service, schema: Schema) -> dict[str, list[Term]]:
    """The terms of the vocabularies that fields have."""
    if Operation.TERMS not in service.capabilities:
        return {}
    used = dict.fromkeys(field.vocabulary for field in schema.fields.values() if not field.system)
    return {key: [term async for term in service.terms(key)] for key in used if key in schema.vocabularies}


def sample_path(job: JobConfig) -> Path:
    """The file beside the state; readable by its owner only."""
    return job.state_path.with_suffix(".sample.jsonl")


def _scopes(job: JobConfig) -> str:
    return digest_of([scope_of(job.source), scope_of(job.target)])
