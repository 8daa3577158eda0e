"""A bug in an adapter is ours: it is never reported as a response of the service."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from importlib import import_module
from typing import Any

import pytest

from dam_sync.http.interpreting import interprets_response
from dam_sync.model.errors import ContractBroken, InternalError, NotFound
from dam_sync.model.service import Shard, Window
from tests.support.services.empty_service import EmptyService


@interprets_response
def tenant_of(row: Any) -> str:
    return str(row["tenant"])


class Broken(EmptyService):
    """An adapter whose methods raise what they are given."""

    kind = "x_broken"

    def __init__(self, problem: Exception | None = None) -> None:
        self.problem = problem

    async def probe(self) -> Any:
        if self.problem is not None:
            raise self.problem
        return tenant_of({})

    async def shards(self, window: Window) -> AsyncIterator[Shard]:
        yield Shard("1")
        if self.problem is not None:
            raise self.problem


BUGS = [KeyError("oops"), TypeError("x"), AttributeError("x"), ValueError("x"), ZeroDivisionError(), RecursionError()]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: type(bug).__name__)
async def test_a_bug_of_an_adapter_is_an_internal_error_with_its_traceback(bug: Exception) -> None:
    with pytest.raises(InternalError, match=f"internal error in dam-sync \\({type(bug).__name__}") as caught:
        await Broken(bug).probe()
    assert (caught.value.service, caught.value.__cause__) == ("x_broken", bug)
    assert bug.__traceback__ is not None
    with pytest.raises(InternalError):
        [shard async for shard in Broken(bug).shards(Window())]


async def test_a_response_of_another_shape_is_an_error_of_the_service() -> None:
    with pytest.raises(ContractBroken) as caught:
        await Broken().probe()
    assert not isinstance(caught.value, InternalError)
    assert caught.value.service == "x_broken"


async def test_errors_that_we_know_pass() -> None:
    with pytest.raises(NotFound):
        await Broken(NotFound("gone")).probe()


@pytest.mark.parametrize("kind", ["c_brandlibrary", "e_profiles"])
@pytest.mark.parametrize("expires", ["9" * 5000, "9" * 15, "²", "-1", ""])
def test_a_link_that_lasts_absurdly_long_is_no_bug_of_ours(kind: str, expires: str) -> None:
    wire = import_module(f"dam_sync.services.{kind}.codec.wire")
    assert wire.is_fresh(f"https://files.example/f?Expires={expires}&Signature=x", datetime(2026, 1, 1, tzinfo=UTC))


def test_an_internal_error_keeps_its_problem_when_tasks_are_grouped() -> None:
    problem = KeyError("oops")
    internal = InternalError.of(problem)
    with pytest.raises(InternalError) as caught:
        raise internal from ExceptionGroup("tasks", [internal])
    assert caught.value.problem is problem
    assert InternalError.of(ExceptionGroup("tasks", [internal])) is internal
