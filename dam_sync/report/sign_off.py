"""A sign-off of a wave, as it is shown to people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

COUNTED = ("selected", "moved", "parked")
WHOLE = "100%"


def rows_of_sign_off(signed: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What is kept of a sign-off, as rows of a table."""
    return list(_rows(signed))


def _rows(signed: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "signed by", f"{signed['by']}, {signed['at']}, for run {signed['run']} of the wave"
    if signed["note"]:
        yield "note", str(signed["note"])
    if counts := signed["assets"]:
        yield "assets", ", ".join(f"{counts[name]:,} {name}" for name in COUNTED)
    yield "verification", _verification(signed["verified"])
    for finding in signed["accepted"]:
        yield "accepted", str(finding)
    if signed["operations"]:
        yield "digest of the writes", str(signed["operations"])
    if signed["mapping"]:
        yield "digest of the mapping", str(signed["mapping"])


def _verification(verified: Mapping[str, Any] | None) -> str:
    if verified is None:
        return "none since that run"
    share = "all assets" if verified["sample"] == WHOLE else f"{verified['sample']} of the assets"
    result = "no differences" if verified["clean"] else "differences found"
    return f"level {verified['level']}, {share}: {result} at {verified['at']}"
