"""Jobs of tests that are about something else accept that the target shows assets to more people."""

from __future__ import annotations

import json
from typing import Any

from dam_sync.model.exposure import ExposureRule

ACCEPTED: dict[str, Any] = {"exposure": {rule.value: "accept" for rule in ExposureRule}}
"""A job's `policy`."""
ACCEPTED_LINE = f"policy: {json.dumps(ACCEPTED)}\n"
"""The same as text of a job file."""
