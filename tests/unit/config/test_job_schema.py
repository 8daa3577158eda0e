"""The JSON Schema of the job file."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest
from ruamel.yaml import YAML

from dam_sync.config.job_schema import job_schema
from dam_sync.help import text_of, topics
from dam_sync.services import built_in
from tests.support.json_schema import accepts

SCHEMA = job_schema(built_in())
SIDE = {"$ref": "#/$defs/SideConfig"}
BLOCK = re.compile(r"^```yaml\n(.*?)^```", re.DOTALL | re.MULTILINE)
JOB = """\
version: 1
name: museum
source:
  kind: a_hypermedia
  base_url: https://museum.dam.example
  auth: {flow: basic, login: dam-sync, password: "${env:A}"}
  options: {keyset: auto, public_links: on, locales: "en,fr", index_lag: 5}
target:
  kind: e_profiles
  base_url: https://api.dam.example
  tenant_url: https://museum.dam.example
  auth: {flow: token, token: "${file:/run/secrets/e_token}"}
  options: {everybody: [All staff], upload_profile: Images}
mapping: mapping.yaml
limits: {bandwidth: 50MB/s, concurrency: 8}
policy: {exposure: {groups_widened: accept}}
"""


def read(text: str) -> Any:
    return YAML(typ="safe").load(text)


def examples() -> Iterator[Any]:
    for topic in topics():
        for text in BLOCK.findall(text_of(topic)):
            found = read(text.replace("…", "text"))
            if isinstance(found, dict) and {"source", "target"} & set(found):
                yield pytest.param(found, id=f"{topic} {len(text)}")


def with_side(change: dict[str, Any]) -> Any:
    job = copy.deepcopy(read(JOB))
    job["source"] = {key: value for key, value in {**job["source"], **change}.items() if value is not None}
    return job


@pytest.mark.parametrize("job", list(examples()))
def test_it_accepts_the_examples_of_the_help_topics(job: Any) -> None:
    if "version" in job:
        assert accepts(SCHEMA, job)
    else:
        assert all(accepts(SIDE, job[role], SCHEMA) for role in ("source", "target") if role in job)


def test_every_service_has_an_example() -> None:
    jobs = [each.values[0] for each in examples()]
    kinds = {job[role]["kind"] for job in jobs for role in ("source", "target") if role in job}
    assert kinds >= set(built_in())


def test_it_accepts_options_as_people_write_them() -> None:
    assert accepts(SCHEMA, read(JOB))
    assert accepts(SCHEMA, with_side({"options": {"keyset": False, "public_links": True, "locales": ["en"]}}))


@pytest.mark.parametrize(
    "change",
    [
        {"options": {"keysett": "auto"}},
        {"options": {"public_links": "auto"}},
        {"options": {"everybody": ["All staff"]}},
        {"kind": "z_unknown"},
        {"auth": {"flow": "token", "token": "${env:A}"}},
        {"auth": {"flow": "basic", "login": "me"}},
        {"auth": {"flow": "basic", "login": "me", "password": "${env:A}", "realm": "x"}},
        {"auth": None},
        {"base_url": None},
        {"base_ulr": "https://museum.dam.example"},
    ],
    ids=str,
)
def test_it_refuses_what_the_service_does_not_know(change: dict[str, Any]) -> None:
    assert not accepts(SCHEMA, with_side(change))


def test_the_schema_is_shipped() -> None:
    assert json.loads(files("dam_sync.help").joinpath("job.schema.json").read_text(encoding="utf-8")) == SCHEMA
