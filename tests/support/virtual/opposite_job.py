"""A second job between two tenants, in the other direction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from dam_sync.api.emulation.sandbox import write_job, write_suggested_mapping
from tests.support.jobs.any_pair import asked_of
from tests.support.services.profiles import profile_of
from tests.support.virtual.moves import sides_of
from tests.support.virtual.state_location import job_in, state_for
from tests.support.virtual.two_tenants import TwoTenants

T = TypeVar("T", bound=TwoTenants)


def opposite(there: T, folder: Path, more: Mapping[str, Mapping[str, Any]] | None = None) -> T:
    """The job that leads from the target of `there` to its source. It writes no marker; its policy is the default.
    more: see `asked_between`."""
    tenants = there.target, there.source
    job = job_in(folder)
    mapping = job.with_name("mapping.yaml")
    sides = sides_of(tenants, asked_between((there.target.kind, there.source.kind), more or {}))
    write_job(job, "back", *sides, mapping, state=state_for(job))
    there.universe.do(write_suggested_mapping(job, mapping, "", there.universe.options()))
    return replace(there, source=tenants[0], target=tenants[1], job=job, edits=(), edited={})


def asked_between(
    kinds: tuple[str, str], more: Mapping[str, Mapping[str, Any]]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options of source and target. more: further ones, by kind."""
    source, target = kinds
    return {**asked_of(source), **more.get(source, {})}, {**profile_of(target).parted, **more.get(target, {})}
