"""An emulated tenant of service E: refuses what the service refuses, keeps its limits, lets things expire."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dam_sync.emulators.e_profiles.accounts import Accounts
from dam_sync.emulators.e_profiles.calls import Gate, Window, kit_error
from dam_sync.emulators.e_profiles.deliveries import Post
from dam_sync.emulators.e_profiles.dump import ground_truth
from dam_sync.emulators.e_profiles.links import Links
from dam_sync.emulators.e_profiles.loading import Loader
from dam_sync.emulators.e_profiles.options import options_of
from dam_sync.emulators.e_profiles.orphans import orphans_of
from dam_sync.emulators.e_profiles.routes import routes_of
from dam_sync.emulators.e_profiles.state import Tenant
from dam_sync.emulators.e_profiles.uploads import Uploads
from dam_sync.emulators.kit.app import Application, application
from dam_sync.emulators.kit.catalogue import Catalogue
from dam_sync.emulators.kit.environment import Environment
from dam_sync.emulators.kit.faults import Faults
from dam_sync.emulators.kit.object_store import ObjectStore
from dam_sync.emulators.kit.options import tags_of
from dam_sync.emulators.kit.storage import storage_host

__all__ = ["emulator"]


def emulator(world: Environment, faults: Faults, objects: ObjectStore, options: Mapping[str, object]) -> Application:
    """The service as an ASGI application; `app.state.load(catalogue, files)` fills it. Raises ValueError on an
    option or variant that does not exist; both are listed in `options.py`."""
    given = options_of(options)
    objects.tags = tags_of(given.plays)
    world.lag_s = given.lag
    tenant = Tenant(world, objects, given)
    accounts = Accounts(world, given)
    tenant.webhooks.post = Post(tenant.webhooks, given.deliveries).take
    links, uploads = Links(tenant, storage_host(objects)), Uploads(tenant)

    def load(catalogue: Catalogue, files: Path | None) -> None:
        Loader(tenant, catalogue, files).load()

    app = application(
        routes_of(tenant, accounts, links, uploads), world, faults, objects,
        load=load, dump=lambda: ground_truth(tenant), orphans=lambda: orphans_of(tenant, uploads),
        audience=tenant.audience, error=kit_error(world),
    )  # fmt: skip
    app.storage = links
    app.add_middleware(Gate, window=Window(world, given.rate), settle=tenant.settle)
    app.state.tenant = tenant
    return app
