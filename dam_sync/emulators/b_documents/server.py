"""One emulated server with all its parts."""

from __future__ import annotations

from urllib.parse import urlsplit

from dam_sync.emulators.b_documents.accounts import Accounts
from dam_sync.emulators.b_documents.audience_oracle import AudienceOracle, Watch
from dam_sync.emulators.b_documents.batches import Batches
from dam_sync.emulators.b_documents.enrichment import Enrichment
from dam_sync.emulators.b_documents.idempotency import Keys
from dam_sync.emulators.b_documents.options import Options
from dam_sync.emulators.b_documents.records import User
from dam_sync.emulators.b_documents.render import Writer
from dam_sync.emulators.b_documents.repository import Repository
from dam_sync.emulators.b_documents.saving import Saver
from dam_sync.emulators.b_documents.search import Search
from dam_sync.emulators.b_documents.validation import Validator
from dam_sync.emulators.b_documents.values import Reader
from dam_sync.emulators.kit.audience import Audience
from dam_sync.emulators.kit.environment import Environment, Json
from dam_sync.emulators.kit.object_store import ObjectStore


class Server:
    """What every handler is given."""

    def __init__(self, world: Environment, objects: ObjectStore, options: Options) -> None:
        self.world, self.objects, self.options = world, objects, options
        self.repository = Repository(world, objects, options)
        self.audience = Audience(world, AudienceOracle(self.repository))
        self.repository.on_commit.append(Watch(self.repository, self.audience).committed)
        self.accounts = Accounts(world, self.repository.people, options)
        self.batches = Batches(world, objects, options)
        self.keys = Keys(world, options)
        self.search = Search(self.repository, options)
        self.enrichment = Enrichment(self.repository)
        arrays = "array_constraints" in options.plays
        self.validator = Validator(self.repository.directories, self.repository.people, arrays=arrays)
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
