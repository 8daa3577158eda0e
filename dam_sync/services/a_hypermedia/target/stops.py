"""What stops a run because an undocumented write does more than it was sent for."""

from __future__ import annotations

from collections.abc import Sequence

from dam_sync.model.errors import SafetyStop


def purged(asset: str, operation: str) -> SafetyStop:
    """Why nothing more is removed."""
    return SafetyStop(
        f"media {asset} cannot be read any more after its removal: the instance deleted it permanently, or does not "
        "show the trash to this user; nothing more is removed",
        operation=operation,
        asset=asset,
        code="purged",
        hint="look for it in the trash of the instance; set `policy: {deletes: none}` in the job, and remove media by "
        "hand",
    )


def properties_reset(asset: str, operation: str, names: Sequence[str]) -> SafetyStop:
    """Why no status is written any more."""
    return SafetyStop(
        f"writing the status of media {asset} changed its {' and '.join(names)}, too; no other media is written like "
        "that",
        operation=operation,
        asset=asset,
        code="changes-more",
        hint="set them again by hand; leave the status out of the mapping, or keep the option `bulk: auto` and map "
        "five fields or more, with which the status is written in another way",
    )


def versions_gone(asset: str, operation: str, number: int) -> SafetyStop:
    """Why no older version is made the current one any more."""
    return SafetyStop(
        f"making an older version of media {asset} the current one removed {number} of its versions; none is made so "
        "any more",
        operation=operation,
        asset=asset,
        code="changes-more",
        hint="upload them again by hand; leave the files of this run as they are, and make older versions the current "
        "ones by hand",
    )


def several_updated(asset: str, operation: str, number: int) -> SafetyStop:
    """Why no more bulks are sent."""
    return SafetyStop(
        f"a bulk for media {asset} alone wrote to {number} media: others may have its values now",
        operation=operation,
        asset=asset,
        code="changes-more",
        hint="look for media changed at this time by the user of the job, and correct them; then set the option `bulk: "
        "off` of the target, and run again",
    )


def description_gone(title: str, description: str) -> SafetyStop:
    """Why no folder is renamed any more."""
    return SafetyStop(
        f"renaming a folder to {title!r} removed its description {description!r}; no other folder is renamed",
        code="changes-more",
        hint="write the description again by hand; rename the folders that were renamed at the source by hand, too, "
        "and run again",
    )


def term_parts_gone(term: str, parts: Sequence[str]) -> SafetyStop:
    """Why no term is written whole any more."""
    return SafetyStop(
        f"writing the titles of term {term} removed its {' and '.join(parts)}; no other term is written like that",
        code="changes-more",
        hint="write them again by hand; rename the terms that were renamed at the source by hand, too, and run again",
    )
