"""Migrates digital-asset libraries between services and keeps them in sync.

    job = dam_sync.Job.load("job.yaml")
    report = await job.run(progress=print)

    async with dam_sync.connect("e_profiles", base_url=URL, auth={"flow": "token", "token": TOKEN}) as service:
        print(await service.probe())
        async for asset in service.assets():
            print(asset.id, asset.filename)

Only the names in `__all__` are public. Each is imported when it is first used, so that `import dam_sync` is cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dam_sync.api.connection import ConnectedService, connect
    from dam_sync.api.job import Job
    from dam_sync.api.mapping import Mapping
    from dam_sync.model.errors import (
        ConfigError,
        Conflict,
        ContractBroken,
        DamSyncError,
        Denied,
        DiskFull,
        FileReplaced,
        IntegrityError,
        InternalError,
        InvalidValue,
        MappingError,
        NotFound,
        OtherVersion,
        OversizedResponse,
        Rejected,
        SafetyStop,
        SessionGone,
        StillFetching,
        StopRequested,
        StoreBusy,
        StoreUnreachable,
        Throttled,
        TooLarge,
        Transient,
        TruncatedListing,
        Uncertain,
        Unsupported,
        WorkerLost,
        WorkersGone,
        WrongClock,
    )
    from dam_sync.model.run_options import RunOptions
    from dam_sync.report.report import Report

__version__ = "0.1.0"
__all__ = [
    "ConfigError",
    "Conflict",
    "ConnectedService",
    "ContractBroken",
    "DamSyncError",
    "Denied",
    "DiskFull",
    "FileReplaced",
    "IntegrityError",
    "InternalError",
    "InvalidValue",
    "Job",
    "Mapping",
    "MappingError",
    "NotFound",
    "OtherVersion",
    "OversizedResponse",
    "Rejected",
    "Report",
    "RunOptions",
    "SafetyStop",
    "SessionGone",
    "StillFetching",
    "StopRequested",
    "StoreBusy",
    "StoreUnreachable",
    "Throttled",
    "TooLarge",
    "Transient",
    "TruncatedListing",
    "Uncertain",
    "Unsupported",
    "WorkerLost",
    "WorkersGone",
    "WrongClock",
    "connect",
]
_MODULES = {
    "ConnectedService": "dam_sync.api.connection",
    "Job": "dam_sync.api.job",
    "Mapping": "dam_sync.api.mapping",
    "Report": "dam_sync.report.report",
    "RunOptions": "dam_sync.model.run_options",
    "connect": "dam_sync.api.connection",
}
_ERRORS = "dam_sync.model.errors"


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULES.get(name, _ERRORS)), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
