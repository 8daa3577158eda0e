"""The trash of service E: an asset goes there by one DELETE, for a second one might purge it (wire E 6.6)."""

from __future__ import annotations

from dam_sync.http.client import Request
from dam_sync.http.retry import patient
from dam_sync.model.asset import AssetId
from dam_sync.model.errors import Conflict, NotFound, SafetyStop, Transient
from dam_sync.model.waits import AGAIN, sleep_for
from dam_sync.services.e_profiles import facts
from dam_sync.services.e_profiles.api.client import ProfilesApi
from dam_sync.services.e_profiles.codec import wire

STATE = (("expand", "status,metadata_info"),)
_GONE = frozenset({404, 410})


async def to_trash(api: ProfilesApi, asset: AssetId) -> bool:
    """Whether the service said that it moved the asset. What is gone or there already is left so. After a lost response
    the asset is read, and sent to the trash again only if it is not there. Safe to repeat. Raises SafetyStop if it is
    gone then."""
    request = Request(facts.TRASH, "DELETE", wire.asset_path(asset), asset=asset, repeatable=False, accept=_GONE)
    for pause in facts.TRASH_PAUSES:
        try:
            return (await api.client.send(request)).status not in _GONE
        except Conflict:
            if await is_trashed(api, asset):
                return False
            raise
        except Transient as error:
            await sleep_for(api.clock, patient(error, pause), AGAIN, "target")
            if await is_trashed(api, asset):
                return True
    return (await api.client.send(request)).status not in _GONE


async def is_trashed(api: ProfilesApi, asset: AssetId) -> bool:
    """Whether an asset that was removed is in the trash. Raises SafetyStop if it is gone."""
    reading = api.reading(facts.ASSET, wire.asset_path(asset), STATE, asset=asset)
    try:
        row = (await (api.send_fresh(reading) if api.is_recent(asset) else api.expanding(reading))).object()
    except NotFound:
        raise purged(asset) from None
    return wire.is_trashed(row)


def purged(asset: str) -> SafetyStop:
    """Why nothing more is removed."""
    return SafetyStop(
        f"asset {asset} cannot be read any more after its removal: the service deleted it permanently, or does not "
        "show the trash to this user; nothing more is removed",
        operation=facts.TRASH,
        asset=asset,
        code="purged",
        hint="look for it in the trash there; set `policy: {deletes: none}` in the job, and remove assets by hand",
    )
