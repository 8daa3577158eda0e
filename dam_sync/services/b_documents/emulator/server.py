"""One emulated server with all its parts."""

from __future__ import annotations

from urllib.parse import urlsplit

from dam_sync.emulation.audience import Audience
from dam_sync.emulation.object_store import ObjectStore
from dam_sync.emulation.world import Json, World
from dam_sync.services.b_documents.emulator.accounts import Accounts
from dam_sync.services.b_documents.emulator.batches import Batches
from dam_sync.services.b_documents.emulator.enrichment import Enrichment
from dam_sync.services.b_documents.emulator.idempotency import Keys
from dam_sync.services.b_documents.emulator.options import Options
from dam_sync.services.b_documents.emulator.outsiders import Outsiders, Watch
from dam_sync.services.b_documents.emulator.records import User
from dam_sync.services.b_documents.emulator.render import Writer
from dam_sync.services.b_documents.emulator.repository import Repository
from dam_sync.services.b_documents.emulator.saving import Saver
from dam_sync.services.b_documents.emulator.search import Search
from dam_sync.services.b_documents.emulator.validation import Validator
from dam_sync.services.b_documents.emulator.values import Reader


class Server:
    """What every handler is given."""

    def __init__(self, world: World, objects: ObjectStore, options: Options) -> None:
        self.world, self.objects, self.options = world, objects, options
        self.repository = Repository(world, objects, options)
        self.audience = Audience(world, Outsiders(self.repository))
        self.repository.on_commit.append(Watch(self.repository, self.audience).committed)
        self.accounts = Accounts(world, self.repository.people, options)
        self.batches = Batches(world, objects, options)
        self.keys = Keys(world, options)
        self.search = Search(self.repository, options)
        self.enrichment = Enrichment(self.repository)
        arrays = "array_constraints" in options.plays
        self.validator = Validator(self.repository.directories, arrays=arrays)
        self.saver = Saver(self.repository, self.validator, self.enrichment)
        self.writer = Writer(self.repository, options, self.base)
        self.comments: dict[str, list[dict[str, Json]]] = {}
        self.commands: dict[str, dict[str, Json]] = {}
        self.executions: dict[str, tuple[float, Json]] = {}

    def base(self) -> str:
        """`{base_url}`."""
        return f"{self.world.api_origin}{self.options.prefix}"

    def reader(self, user: User) -> Reader:
        """A reader of properties for one request."""
        return Reader(self.repository, self.batches, user, self.base())

    def below(self, path: str) -> str:
        """A request's path without the context."""
        return urlsplit(path).path.removeprefix(self.options.prefix)

    def restart(self) -> None:
        """The node starts again: what is in memory alone is gone."""
        self.repository.agenda.clear()
        self.repository.audit.restart()
