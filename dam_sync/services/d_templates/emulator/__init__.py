"""An emulated tenant of service D, written from its contract alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dam_sync.emulation.app import Application, application
from dam_sync.emulation.catalogue import Catalogue
from dam_sync.emulation.faults import Faults
from dam_sync.emulation.object_store import ObjectStore
from dam_sync.emulation.storage import storage_host
from dam_sync.emulation.world import World
from dam_sync.services.d_templates.emulator.accounts import Accounts
from dam_sync.services.d_templates.emulator.calls import Gate, kit_error
from dam_sync.services.d_templates.emulator.collections import Collections
from dam_sync.services.d_templates.emulator.deliveries import post
from dam_sync.services.d_templates.emulator.dump import ground_truth
from dam_sync.services.d_templates.emulator.leftovers import leftovers_of
from dam_sync.services.d_templates.emulator.loading import Loader
from dam_sync.services.d_templates.emulator.options import options_of
from dam_sync.services.d_templates.emulator.people import People
from dam_sync.services.d_templates.emulator.routes import routes_of
from dam_sync.services.d_templates.emulator.state import Tenant
from dam_sync.services.d_templates.emulator.storage import Storage
from dam_sync.services.d_templates.emulator.uploads import Creation

__all__ = ["emulator"]


def emulator(world: World, faults: Faults, objects: ObjectStore, options: Mapping[str, object]) -> Application:
    """The service as an ASGI application; `app.state.load(catalogue, files)` fills it, `app.state.tenant` is it.

    Raises ValueError on an option or variant that does not exist; both are listed in `options.py`.
    """
    given = options_of(options)
    world.lag_s = given.lag
    tenant = Tenant(world, objects, given)
    people = People(tenant.schema, given)
    collections = Collections(tenant)
    accounts = Accounts(world, given, people.users)
    storage = Storage(tenant, storage_host(objects))
    creation = Creation(tenant, storage)
    tenant.webhooks.post = post

    def load(catalogue: Catalogue, files: Path | None) -> None:
        Loader(tenant, people, collections).load(catalogue, files)

    app = application(
        routes_of(tenant, accounts, collections, storage, creation), world, faults, objects,
        load=load, dump=lambda: ground_truth(tenant, collections),
        leftovers=lambda: leftovers_of(tenant, creation, collections), audience=tenant.audience, error=kit_error,
    )  # fmt: skip
    app.storage = storage
    app.add_middleware(Gate, tenant=tenant, options=given)
    app.state.tenant = tenant
    return app
