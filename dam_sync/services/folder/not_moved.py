"""What a folder does not take."""

from __future__ import annotations

from dam_sync.model.not_moved import NotMoved

NOT_MOVED = (
    NotMoved(
        "the status that a tenant has of its own below the common one",
        "the catalogue has the common status",
        "`dam-sync help catalogue`",
    ),
    NotMoved(
        "times at which files of versions were stored", "the catalogue does not have them", "`dam-sync help catalogue`"
    ),
)
