"""What services with a `Client` have in common."""

from __future__ import annotations

from abc import abstractmethod

from dam_sync.http.client import Client
from dam_sync.model.limits import MeasuredPace
from dam_sync.model.service import Calls, Service


class HttpService(Service):
    """Base of services that send their requests by one `Client`."""

    @property
    @abstractmethod
    def client(self) -> Client:
        """The client that sends the requests."""

    @property
    def calls(self) -> Calls:
        """API calls sent so far, by endpoint."""
        return self.client.calls

    @property
    def measured_pace(self) -> MeasuredPace:
        """How fast the client sends."""
        return self.client.measured_pace

    async def close(self) -> None:
        """Close the connections; safe to repeat."""
        await self.client.close()
