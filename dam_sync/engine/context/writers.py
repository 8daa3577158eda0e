"""The write stage, as the pipeline sees it: in this process, or handed to worker processes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from dam_sync.engine.context.stages import Concluded, DraftedAsset
from dam_sync.model.outcome import Outcome


class AssetWriter(Protocol):
    """Writes drafted assets to the target."""

    async def outcome(self, item: DraftedAsset | Concluded) -> Outcome:
        """Write one asset. Raises the errors of the services, and WorkerLost if the process that wrote it is gone: the
        asset may then be written again, and its journal says what was begun."""


class RemoteWriters(AssetWriter, Protocol):
    """Worker processes that write, each with its own connections to both services."""

    async def begin(self) -> None:
        """Let them take part, once everything is known that they need to know of the run. Raises what keeps one of them
        from it."""

    @property
    def at_once(self) -> int:
        """Assets that all of them write at once."""

    @property
    def calls(self) -> Mapping[str, Mapping[str, int]]:
        """API calls that they reported so far, by side (`source`, `target`) and endpoint."""

    async def end_shared(self) -> None:
        """Call `Service.end_shared` of the target in each of them."""

    async def sweep(self) -> int:
        """Call `Service.sweep` of the target in each of them; returns how many uploads were aborted."""
