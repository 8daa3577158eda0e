"""What a write costs: no API calls, for there is no API."""

from __future__ import annotations

from collections.abc import Mapping

NO_CALLS: Mapping[str, int] = {}
