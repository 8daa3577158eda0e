"""The lines of a job's mapping as they are written, without its services."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from dam_sync.config.diagnostics import SourceMap, dotted
from dam_sync.config.job import JobConfig
from dam_sync.mapping.document import line_places, mapping_of_file
from dam_sync.mapping.yaml_writer import entry
from dam_sync.model.values import Json


@dataclass(frozen=True, slots=True)
class WrittenLine:
    """A line of a mapping. where: the name of its file and the number of the line, empty if a program gave it; text: in
    the form of a mapping file; marker: whether it names the field of the marker."""

    where: str
    text: str
    marker: bool = False

    def __str__(self) -> str:
        """For people: `museum.yaml:14: title: {from: fields.title}`."""
        return f"{self.where}: {self.text}" if self.where else self.text


def written_mapping_of(job: JobConfig) -> SourceMap:
    """The keys and values of the mapping of a job. Raises MappingError for a file that is not YAML."""
    return mapping_of_file(job.mapping_path) if job.given_mapping is None else job.given_mapping.written


def lines_of(job: JobConfig) -> dict[str, WrittenLine]:
    """Each line by its place, such as `fields.title` or `placements[0]`."""
    written = written_mapping_of(job)
    found: dict[str, WrittenLine] = {}
    for place in line_places(written.data):
        node = written.data
        for part in place:
            node = node[part]
        key = next(str(part) for part in reversed(place) if isinstance(part, str))
        marker = isinstance(node, dict) and node.get("marker") is True
        number = written.position(place)[0]
        where = f"{Path(written.file_of(place)).name}:{number}" if number else ""
        found[dotted(place)] = WrittenLine(where, entry(key, _plain(node)), marker)
    return found


def _plain(node: Json) -> Json:
    """Without dates, which a file may have as such."""
    return json.loads(json.dumps(node, default=str))
