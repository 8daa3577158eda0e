"""An emulated tenant of service D, written from its contract alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dam_sync.emulators.d_templates.accounts import Accounts
from dam_sync.emulators.d_templates.calls import Gate, kit_error
from dam_sync.emulators.d_templates.collections import Collections
from dam_sync.emulators.d_templates.deliveries import post
from dam_sync.emulators.d_templates.dump import ground_truth
from dam_sync.emulators.d_templates.loading import Loader
from dam_sync.emulators.d_templates.options import options_of
from dam_sync.emulators.d_templates.orphans import orphans_of
from dam_sync.emulators.d_templates.people import People
from dam_sync.emulators.d_templates.routes import routes_of
from dam_sync.emulators.d_templates.state import Tenant
from dam_sync.emulators.d_templates.storage import Storage
from dam_sync.emulators.d_templates.uploads import Creation
from dam_sync.emulators.kit.app import Application, application
from dam_sync.emulators.kit.catalogue import Catalogue
from dam_sync.emulators.kit.environment import Environment
from dam_sync.emulators.kit.faults import Faults
from dam_sync.emulators.kit.object_store import ObjectStore
from dam_sync.emulators.kit.options import tags_of
from dam_sync.emulators.kit.storage import storage_host

__all__ = ["emulator"]


def emulator(world: Environment, faults: Faults, objects: ObjectStore, options: Mapping[str, object]) -> Application:
    """The service as an ASGI application; `app.state.load(catalogue, files)` fills it, `app.state.tenant` is it.

    Raises ValueError on an option or variant that does not exist; both are listed in `options.py`.
    """
    given = options_of(options)
    objects.tags = tags_of(given.plays)
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
        orphans=lambda: orphans_of(tenant, creation, collections), audience=tenant.audience, error=kit_error,
    )  # fmt: skip
    app.storage = storage
    app.add_middleware(Gate, tenant=tenant, options=given)
    app.state.tenant, app.state.collections, app.state.people = tenant, collections, people
    return app
