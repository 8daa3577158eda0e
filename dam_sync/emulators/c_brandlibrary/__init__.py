"""An emulated tenant of service C, written from its contract alone: refuses what the service refuses, keeps its limits,
lets things expire."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dam_sync.emulators.c_brandlibrary.browsing import Browsing
from dam_sync.emulators.c_brandlibrary.calls import Gate, kit_error
from dam_sync.emulators.c_brandlibrary.creating import Creator
from dam_sync.emulators.c_brandlibrary.dump import ground_truth
from dam_sync.emulators.c_brandlibrary.links import Links
from dam_sync.emulators.c_brandlibrary.loading import Loader
from dam_sync.emulators.c_brandlibrary.options import options_of
from dam_sync.emulators.c_brandlibrary.orphans import orphans_of
from dam_sync.emulators.c_brandlibrary.reading import Reading
from dam_sync.emulators.c_brandlibrary.routes import Served, routes_of
from dam_sync.emulators.c_brandlibrary.search import Search
from dam_sync.emulators.c_brandlibrary.shaping import Shaping
from dam_sync.emulators.c_brandlibrary.state import Tenant
from dam_sync.emulators.c_brandlibrary.storage import Storage
from dam_sync.emulators.c_brandlibrary.subscribing import Subscribing
from dam_sync.emulators.c_brandlibrary.uploads import Uploads
from dam_sync.emulators.c_brandlibrary.webhooks import Webhooks
from dam_sync.emulators.c_brandlibrary.writing import Writing
from dam_sync.emulators.kit.app import Application, application
from dam_sync.emulators.kit.catalogue import Catalogue
from dam_sync.emulators.kit.environment import Environment
from dam_sync.emulators.kit.faults import Faults
from dam_sync.emulators.kit.object_store import ObjectStore
from dam_sync.emulators.kit.options import tags_of
from dam_sync.emulators.kit.storage import storage_host

__all__ = ["emulator"]


def emulator(world: Environment, faults: Faults, objects: ObjectStore, options: Mapping[str, object]) -> Application:
    """The service as an ASGI application. `app.state.load(catalogue, files)` fills its first library, a third argument
    names another; `app.state.tenant` and `app.state.webhooks` show what it holds. Raises ValueError on an option or
    variant that does not exist; both are listed in `options.py`."""
    given = options_of(options)
    objects.tags = tags_of(given.plays)
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
        orphans=lambda: orphans_of(tenant, uploads),
        audience=tenant.audience,
        error=kit_error(given),
    )
    app.storage = Storage(tenant, links, uploads, storage_host(objects))
    app.add_middleware(Gate, tenant=tenant)
    app.state.tenant, app.state.webhooks = tenant, webhooks
    return app
