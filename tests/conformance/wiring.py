"""What the suite must be told of each service: credentials of its emulator, options, what it cannot do.

The only place of the suite that names services; a new one is one more row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pytest

from dam_sync.model.service import Operation
from dam_sync.model.values import Json
from dam_sync.services.a_hypermedia import facts as a_facts

Auth = Mapping[str, str]
PUBLIC = frozenset({"flow", "login", "algorithm", "client_id", "token_url", "form"})


def nothing(patch: pytest.MonkeyPatch) -> None:
    """The service's own reach is small enough."""


@dataclass(frozen=True)
class Wired:
    """One service. auth: ways in that the emulator opens to; denied: one it does not.

    options, emulated: of the adapter and of its emulator. containers: which kind holds the catalogue's folders, labels
    and collections. fixed: kinds of container and vocabularies that no call adds to. lacks: abilities it does not have,
    by the words of `abilities.py`: what needs them is skipped. refuses: what the contract lets it refuse as Unsupported
    (`fileless`: an asset without a file; `names`: letters to avoid in one reading of its contract) or not do
    (`filename`: rename by a patch). quiet: what it does not publish.
    overlaps: its shards share the rows at their borders, which come twice (runs keep rows by id). lean: options that
    leave out calls for each row. narrow: makes the reach small for a test; narrow_*: options that go with it.
    """

    auth: tuple[Auth, ...]
    denied: Auth
    lacks: frozenset[str]
    containers: Mapping[str, str]
    options: Mapping[str, Json] = field(default_factory=dict)
    emulated: Mapping[str, Json] = field(default_factory=dict)
    fixed: frozenset[str] = frozenset()
    refuses: frozenset[str] = frozenset()
    quiet: frozenset[str] = frozenset()
    overlaps: bool = False
    lean: Mapping[str, Json] = field(default_factory=dict)
    narrow: Callable[[pytest.MonkeyPatch], None] = nothing
    narrow_options: Mapping[str, Json] = field(default_factory=dict)
    narrow_emulated: Mapping[str, Json] = field(default_factory=dict)

    @property
    def secrets(self) -> frozenset[str]:
        """Texts that must never be shown."""
        ways = (*self.auth, self.denied)
        return frozenset(text for way in ways for key, text in way.items() if key not in PUBLIC)


def _narrow_a(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(a_facts, "PAGE", 10)
    patch.setattr(a_facts, "REACH", 40)


WIRED: Mapping[str, Wired] = {
    "a_hypermedia": Wired(
        auth=(
            {"flow": "basic", "login": "dam-sync", "password": "secret-a"},
            {
                "flow": "signed_token",
                "client_id": "demo-instance-id",
                "login": "dam-sync",
                "key": "sharedkey123",
                "algorithm": "HS256",
            },
        ),
        denied={"flow": "basic", "login": "dam-sync", "password": "wrong-secret"},
        lacks=frozenset(
            {Operation.PLACE, Operation.MEMBERS, "holds:tags", "holds:release", "holds:expiry", "holds:groups"}
            | {"limits:per_second", "limits:link"}
        ),
        refuses=frozenset({"filename"}),
        containers={"folder": "folder", "label": "label"},
        options={"locales": "en,fr", "timezone": "Europe/Paris"},
        fixed=frozenset({"label", "country"}),
        narrow=_narrow_a,
        narrow_options={"keyset": "off"},
        narrow_emulated={"window": 40},
    ),
    "e_profiles": Wired(
        auth=(
            {"flow": "token", "token": "wat_demo_b1d3c61e03c6"},
            {"flow": "token", "token": "wat_demo_b1d3c61e03c6", "form": "basic"},
        ),
        denied={"flow": "token", "token": "wat_demo_000000000000"},
        lacks=frozenset({Operation.ATTACH, Operation.RELATE, "holds:attachments", "holds:relations", "holds:status"}),
        refuses=frozenset({"fileless", "names"}),
        quiet=frozenset({"digests"}),
        overlaps=True,
        lean={"attachments": "off"},
        containers={"folder": "category", "collection": "collection"},
        options={"version_policy": "file_only", "attachments": "on"},
        emulated={"rate": None},
    ),
}
VARIANTS = ("", "second")
