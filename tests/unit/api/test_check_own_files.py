"""`check` warns of files of the job that lie among those of a library."""

from __future__ import annotations

from pathlib import Path

import pytest

from dam_sync.api.check import check_job

JOB = """\
version: 1
name: case
source: {{kind: folder, options: {{path: {source}}}}}
target: {{kind: folder, options: {{path: target}}}}
mapping: {mapping}
state: {state}
"""
MAPPING = "version: 1\nfields: {source_key: {marker: true}}\nasset: {filename: {from: filename}}\nunmapped: ignore\n"
ADVICE = "keep job, mapping and state in a folder of their own"


@pytest.mark.parametrize(
    ("source", "mapping", "state", "warned"),
    [
        ("source", "mapping.yaml", "state.db", []),
        ("source", "mapping.yaml", "source/state.db", [("source files", "state.db")]),
        ("source", "mapping.yaml", "source/../state.db", []),
        ("source", "mapping.yaml", "target/state.db", [("target files", "state.db")]),
        ("source", "source/deep/mapping.yaml", "state.db", [("source files", "mapping.yaml")]),
        (".", "mapping.yaml", "../state.db", [("source files", "mapping.yaml")]),
    ],
)
async def test_files_of_the_job_among_those_of_a_library(
    tmp_path: Path, source: str, mapping: str, state: str, warned: list[tuple[str, str]]
) -> None:
    folder = tmp_path / "job"
    (folder / "source" / "deep").mkdir(parents=True)
    (folder / "source" / "a.txt").write_text("a", encoding="utf-8")
    (folder / mapping).write_text(MAPPING, encoding="utf-8")
    job = folder / "job.yaml"
    job.write_text(JOB.format(source=source, mapping=mapping, state=state), encoding="utf-8")
    found = [one for one in await check_job(job) if one.subject.endswith(" files")]
    assert [(one.subject, one.message.split(" lies in ")[0].rpartition("/")[2]) for one in found] == warned
    assert {(one.mark, one.hint) for one in found} <= {("WARN", ADVICE)}
