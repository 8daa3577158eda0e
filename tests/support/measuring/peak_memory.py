"""How much memory a process held at most."""

from __future__ import annotations

import os
import re
import resource
from pathlib import Path

_PEAK = re.compile(r"^VmHWM:\s+(\d+) kB", re.MULTILINE)


def peak_of(process: int) -> int | None:
    """The peak resident memory of a process, in bytes; None once it has ended. Raises OSError where it is gone."""
    found = _PEAK.search(Path(f"/proc/{process}/status").read_text())
    return 1024 * int(found[1]) if found else None


def own_peak() -> int:
    """The peak of this process, in bytes.

    The kernel's ru_maxrss begins with what the process held before it became another program: a child of a large
    process would be charged with its parent's memory. It is asked only where there is nothing else.
    """
    try:
        peak = peak_of(os.getpid())
    except OSError:
        peak = None
    return peak or 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
