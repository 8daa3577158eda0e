"""Pages of other sites: they may neither turn the clock of an emulated service nor read its assets.

A browser on this host reaches every port of it. What gives a foreign page away: the `Origin` it comes from, the
name it called us by (its own, made to lead here), and for pages that hide both, `Sec-Fetch-Site`.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from starlette.types import Scope

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
CONTROL = "/_emulator/"


def foreigner(scope: Scope, origins: Sequence[str]) -> str:
    """Why a call is refused; empty for one that is not. origins: those that the service answers at."""
    headers = {key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]}
    own = {urlsplit(origin).netloc for origin in origins}
    host = headers.get("host", "")
    if host and host not in own and urlsplit(f"//{host}").hostname not in LOOPBACK:
        return f"This service answers at {', '.join(sorted(own))} only, not at the host {host[:100]!r}."
    origin = headers.get("origin", "")
    if origin and origin not in origins:
        return f"Pages of {origin[:100]!r} may not call this service."
    if scope["path"].startswith(CONTROL) and headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        return "Pages of other sites may not call the control routes."
    return ""
