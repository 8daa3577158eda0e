"""Connectors are found by name without an import; one of another distribution that cannot be used says whose it is."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint, PackageNotFoundError, distribution
from types import SimpleNamespace

import pytest

from dam_sync.model.errors import ConfigError
from dam_sync.services import Connectors, built_in, discover


def connectors(value: str, *packages: str, name: str = "shelf", times: int = 1) -> Connectors:
    point = EntryPoint(name, value, "dam_sync.services")
    vars(point)["dist"] = SimpleNamespace(name="acme-shelf", version="1.2")
    return Connectors(packages, {name: (point,) * times})


def test_names_are_listed_without_an_import() -> None:
    text = (
        "import sys; from dam_sync.services import discover; names = list(discover()); assert 'e_profiles' in names;"
        "assert not [name for name in sys.modules if name.startswith('dam_sync.services.')], sys.modules"
    )
    subprocess.run([sys.executable, "-c", text], check=True, timeout=120)


def test_all_built_in_connectors_load_and_know_their_name() -> None:
    assert [connector.name for connector in built_in().values()] == list(built_in())
    assert set(built_in()) <= set(discover())
    assert "nothing" not in discover()
    assert discover().get("nothing") is None


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (connectors("tests.unit.nowhere:CONNECTOR"), "loading tests.unit.nowhere:CONNECTOR raised ModuleNotFoundError"),
        (connectors("dam_sync.services:GROUP"), "is a str, not a Connector"),
        (connectors("dam_sync.services.e_profiles:CONNECTOR"), "calls itself 'e_profiles'"),
        (connectors("dam_sync.services.e_profiles:CONNECTOR", "shelf"), "dam-sync already has a service of that name"),
        (
            connectors("dam_sync.services.e_profiles:CONNECTOR", times=2),
            "the distribution acme-shelf 1.2 also has a service of that name",
        ),
    ],
)
def test_a_connector_that_cannot_be_used_names_its_distribution(found: Connectors, told: str) -> None:
    assert list(found) == ["shelf"]
    with pytest.raises(ConfigError) as caught:
        _ = found["shelf"]
    assert "the service shelf of the distribution acme-shelf 1.2 cannot be used: " in caught.value.message
    assert told in caught.value.message
    assert "pip uninstall acme-shelf" in caught.value.hint


def test_an_entry_point_loads_a_connector() -> None:
    found = connectors("dam_sync.services.e_profiles:CONNECTOR", name="e_profiles")
    assert found["e_profiles"].name == "e_profiles"


def test_dam_sync_itself_registers_none() -> None:
    try:
        points = distribution("dam-sync-engine").entry_points
    except PackageNotFoundError:
        return
    assert not points.select(group="dam_sync.services")
