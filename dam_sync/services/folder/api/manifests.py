"""The manifests of a BagIt bag: a program of its own, which begins sooner as it imports nothing of dam-sync."""

from __future__ import annotations

import logging
import sys

FAILED = 1


def main(root: str, day: str) -> int:
    """Write the manifests. Returns the exit code: FAILED, or the number of the system's error."""
    import bagit  # type: ignore[import-untyped]  # it has no annotations

    logging.getLogger("bagit").setLevel(logging.ERROR)
    try:
        bag = bagit.Bag(root)
        bag.algorithms = ["sha256"]
        bag.info["Bagging-Date"] = day
        bag.save(manifests=True)
    except (bagit.BagError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return (isinstance(error, OSError) and error.errno) or FAILED
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
