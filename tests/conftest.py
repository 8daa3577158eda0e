"""What every test leaves as it found it."""

from __future__ import annotations

import gc
import signal
from collections.abc import Generator, Iterator
from functools import cache, partial
from typing import Any

import pytest
import structlog
import typer.testing

from dam_sync.cli import YOUNG_OBJECTS
from tests.support.sample import property_examples
from tests.support.sample.plugin import OfDay
from tests.support.sample.rotation import OfToday, Part, part_of, points_of_day, today

property_examples.load_profile()
typer.testing._get_command = cache(typer.testing._get_command)  # type: ignore[attr-defined]  # built once, not each time
for heard in (signal.SIGINT, signal.SIGHUP):  # `nohup` and `&` leave them ignored, for child processes too
    if signal.getsignal(heard) is signal.SIG_IGN:
        signal.signal(heard, signal.default_int_handler if heard is signal.SIGINT else signal.SIG_DFL)


def pytest_addoption(parser: pytest.Parser) -> None:
    parts = [part.value for part in Part]
    parser.addoption("--part", choices=parts, default="", help="which tests run: see tests/support/sample/rotation.py")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    property_examples.seed_by_date(config)
    config.pluginmanager.register(OfDay(part_of(config)))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    property_examples.scale(items)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    property_examples.add_command(item, report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """What is collected stays until the end: nothing of it is looked at for garbage, neither now nor later. What tests
    make is looked at as rarely as in the command."""
    gc.disable()
    if hasattr(session.config, "workerinput"):
        from tests.support.scheduling import import_own_share  # xdist may be missing

        import_own_share(path for name in session.config.args if (path := session.config.rootpath / name).is_dir())
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(YOUNG_OBJECTS)
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """How `--dist loadgroup` shares the tests out."""
    if config.getoption("dist") != "loadgroup":
        return None
    from tests.support.scheduling import ByModule  # xdist may be missing

    return ByModule(config, log)


@pytest.fixture
def of_today(request: pytest.FixtureRequest) -> OfToday:
    """Of the points that a test tries, those of the day; all of them, but for `--part day`."""
    if part_of(request.config) is not Part.DAY:
        return list
    return partial(points_of_day, request.node.nodeid.partition("[")[0], day=today())


@pytest.fixture(autouse=True)
def logs() -> Iterator[None]:
    """Logs go where they went before: a command that ran in this process sent them to a stream that is closed now."""
    yield
    structlog.reset_defaults()


@pytest.fixture
def collected() -> None:
    """For a test that reads what is nested beyond the limit of recursion: garbage of earlier tests, if it is collected
    in there, has no room left to run what it does at its end, which is reported as an error of this test."""
    gc.collect()
