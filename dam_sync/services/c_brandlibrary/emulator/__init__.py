"""An emulated tenant of service C, written from its contract alone: refuses what the service refuses, keeps its limits,
lets things expire."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dam_sync.emulation.app import Application, application
from dam_sync.emulation.catalogue import Catalogue
from dam_sync.emulation.faults import Faults
from dam_sync.emulation.object_store import ObjectStore
from dam_sync.emulation.storage import storage_host
from dam_sync.emulation.world import World
from dam_sync.services.c_brandlibrary.emulator.browsing import Browsing
from dam_sync.services.c_brandlibrary.emulator.calls import Gate, kit_error
from dam_sync.services.c_brandlibrary.emulator.creating import Creator
from dam_sync.services.c_brandlibrary.emulator.dump import ground_truth
from dam_sync.services.c_brandlibrary.emulator.leftovers import leftovers_of
from dam_sync.services.c_brandlibrary.emulator.links import Links
from dam_sync.services.c_brandlibrary.emulator.loading import Loader
from dam_sync.services.c_brandlibrary.emulator.options import options_of
from dam_sync.services.c_brandlibrary.emulator.reading import Reading
from dam_sync.services.c_brandlibrary.emulator.routes import Served, routes_of
from dam_sync.services.c_brandlibrary.emulator.search import Search
from dam_sync.services.c_brandlibrary.emulator.shaping import Shaping
from dam_sync.services.c_brandlibrary.emulator.state import Tenant
from dam_sync.services.c_brandlibrary.emulator.storage import Storage
from dam_sync.services.c_brandlibrary.emulator.subscribing import Subscribing
from dam_sync.services.c_brandlibrary.emulator.uploads import Uploads
from dam_sync.services.c_brandlibrary.emulator.webhooks import Webhooks
from dam_sync.services.c_brandlibrary.emulator.writing import Writing

__all__ = ["emulator"]


def emulator(world: World, faults: Faults, objects: ObjectStore, options: Mapping[str, object]) -> Application:
    """The service as an ASGI application. `app.state.load(catalogue, files)` fills its first library, a third argument
    names another; `app.state.tenant` and `app.state.webhooks` show what it holds. Raises ValueError on an option or
    variant that does not exist; both are listed in `options.py`."""
    given = options_of(options)
    world.lag_s = given.lag + given.jitter
    tenant = Tenant(world, objects, given)
    links = Links(tenant)
    uploads = Uploads(tenant, links)
    webhooks = Webhooks(tenant)
    tenant.fire = webhooks.fire
    search = Search(tenant)
    served = Served(
        Reading(tenant, links, uploads, search),
        Browsing(tenant, links, search),
        Writing(tenant, links, Creator(tenant, uploads, links)),
        Shaping(tenant, links),
        Subscribing(tenant, webhooks),
    )

    def load(catalogue: Catalogue, files: Path | None, library: str = "") -> None:
        Loader(tenant, catalogue, files, library).load()

    app = application(
        routes_of(tenant, served),
        world,
        faults,
        objects,
        load=load,
        dump=lambda: ground_truth(tenant),
        leftovers=lambda: leftovers_of(tenant, uploads),
        audience=tenant.audience,
        error=kit_error(given),
    )
    app.storage = Storage(tenant, links, uploads, storage_host(objects))
    app.add_middleware(Gate, tenant=tenant)
    app.state.tenant, app.state.webhooks = tenant, webhooks
    return app
