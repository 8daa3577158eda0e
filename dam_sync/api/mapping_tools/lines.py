"""The lines of a job's mapping as they are written, without its services."""

from __future__ import annotations

import json

from dam_sync.config.diagnostics import SourceMap, dotted
from dam_sync.config.job import JobConfig
from dam_sync.mapping.document import line_places, mapping_of_file


def written_mapping_of(job: JobConfig) -> SourceMap:
    """The keys and values of the mapping of a job. Raises MappingError for a file that is not YAML."""
    return mapping_of_file(job.mapping_path) if job.given_mapping is None else job.given_mapping.written


def lines_of(job: JobConfig) -> dict[str, str]:
    """Each line as JSON text, by its place, such as `fields.title` or `placements[0]`."""
    data = written_mapping_of(job).data
    found: dict[str, str] = {}
    for place in line_places(data):
        node = data
        for part in place:
            node = node[part]
        found[dotted(place)] = json.dumps(node, ensure_ascii=False, default=str)
    return found
