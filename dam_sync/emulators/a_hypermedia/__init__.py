"""An emulated instance of service A, written from its contract alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from starlette.responses import Response

from dam_sync.emulators.a_hypermedia.call import Instance
from dam_sync.emulators.a_hypermedia.dump import ground_truth
from dam_sync.emulators.a_hypermedia.errors import Refusal
from dam_sync.emulators.a_hypermedia.hal import refusal
from dam_sync.emulators.a_hypermedia.loading import Loader, add_users
from dam_sync.emulators.a_hypermedia.options import options_of
from dam_sync.emulators.a_hypermedia.orphans import orphans_of
from dam_sync.emulators.a_hypermedia.routes import routes_of
from dam_sync.emulators.kit.app import Application, application
from dam_sync.emulators.kit.catalogue import Catalogue
from dam_sync.emulators.kit.environment import Environment
from dam_sync.emulators.kit.faults import Faults
from dam_sync.emulators.kit.object_store import ObjectStore


def emulator(world: Environment, faults: Faults, objects: ObjectStore, options: Mapping[str, object]) -> Application:
    """An instance as an ASGI application; `options` are those of `options.Options`, and `variant`.

    `.state.load(catalogue, files)` fills it, `.state.instance` is the instance. Raises ValueError on unknown options.
    """
    given = options_of(options)
    objects.tags = given.tags
    instance = Instance(world, objects, given)
    world.lag_s = instance.options.lag

    def load(catalogue: Catalogue, files: Path | None) -> None:
        Loader(instance.library, files, instance.collections).load(catalogue)

    if not any("folders" in user for user in instance.options.users):
        add_users(instance.library)
    app = application(
        routes_of(instance),
        world,
        faults,
        objects,
        load=load,
        dump=lambda: ground_truth(instance.library),
        orphans=lambda: orphans_of(instance),
        audience=instance.library.audience,
        error=_error,
        rate=instance.options.rate,
    )
    app.state.instance = instance
    return app


def _error(status: int, code: str, message: str) -> Response:
    return refusal(Refusal(status, code, message))
