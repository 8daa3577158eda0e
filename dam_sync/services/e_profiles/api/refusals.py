"""Why a write of service E is given up, and what helps."""

from __future__ import annotations

from dam_sync.model.asset import AssetId
from dam_sync.model.errors import Conflict, Rejected, SafetyStop
from dam_sync.services.e_profiles import facts


def name_taken(asset: AssetId) -> Conflict:
    """The upload is a version of an asset with the same name, which nobody meant."""
    return Conflict(
        f"the upload became a version of asset {asset}, which has the same file name",
        asset=asset,
        operation=facts.UPLOAD,
        code="name taken",
        hint="have the version before it restored there, and give the file another name at the source or by the "
        "mapping; then `errors JOB --retry`",
    )


def released_at_once(unseen: str) -> Rejected:
    """A profile shows what nobody may see."""
    profile = unseen.rpartition(" by ")[2]
    return Rejected(
        f"what is uploaded through the profile {profile!r} is released at once, or does not show whether it is, though "
        "nobody may see it: the first asset was hidden a moment later, and no more are uploaded through it",
        operation=facts.UPLOAD,
        code="released at once",
        hint="let an administrator take the automatic release out of that profile, or name another one in "
        "`closed_profile`; then `errors JOB --retry`",
    )


def unavailable(unseen: str) -> Rejected:
    """A profile gives assets that nobody can read, and so complete."""
    profile = unseen.rpartition(" by ")[2]
    return Rejected(
        f"what is uploaded through the profile {profile!r} cannot be read afterwards, so that its rights cannot be "
        "written: nobody sees it, and no more is uploaded through it",
        operation=facts.UPLOAD,
        code="unavailable",
        hint="name a profile that does not release by itself in `closed_profile`; then `errors JOB --retry`",
    )


def null_released() -> SafetyStop:
    """An asset without a release date is visible to everybody."""
    return SafetyStop(
        "an asset without a release date is released here, so that taking the date away shows it: the first one got a "
        "release date far in the future instead, and no other is hidden",
        operation=facts.PUT_SECURITY,
        code="changes-more",
        hint="ask the service's support how assets are hidden at this tenant; until then leave closed assets out by "
        "`select` in the mapping",
    )


def without_effect(message: str, asset: AssetId, operation: str) -> Rejected:
    """An assumed write changed nothing."""
    return Rejected(
        message,
        asset=asset,
        operation=operation,
        code="no effect",
        hint="the form of this call is undocumented, and this tenant expects another: please report it; "
        "`dam-sync help e_profiles` lists the assumed writes",
    )
