"""One call and the instance it reaches: what every handler is given."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import Response

from dam_sync.emulators.a_hypermedia.auth import Gate
from dam_sync.emulators.a_hypermedia.collections import Collections
from dam_sync.emulators.a_hypermedia.errors import Refusal, bad, not_found
from dam_sync.emulators.a_hypermedia.hal import MEDIA_TYPE, Tree, Writer, hal, language_of, refusal, tree_of
from dam_sync.emulators.a_hypermedia.options import Options
from dam_sync.emulators.a_hypermedia.records import Media, User
from dam_sync.emulators.a_hypermedia.schema_views import SchemaViews
from dam_sync.emulators.a_hypermedia.state import Library
from dam_sync.emulators.a_hypermedia.uploads import Uploads
from dam_sync.emulators.a_hypermedia.views import MediaViews
from dam_sync.emulators.kit.environment import Environment, Json
from dam_sync.emulators.kit.object_store import ObjectStore


class Instance:
    """One emulated instance with all its parts."""

    def __init__(self, world: Environment, objects: ObjectStore, options: Options) -> None:
        self.world, self.objects, self.options = world, objects, options
        self.library = Library(world, objects, options)
        self.uploads = Uploads(world, objects, options)
        self.gate = Gate(world, options, self.library.users)
        self.writer = Writer(world, options)
        self.medias = MediaViews(self.library, self.writer)
        self.schema = SchemaViews(self.library, self.writer)
        self.collections = Collections(self.library)
        objects.resolve = self.medias.held


@dataclass
class Call:
    """A call by a known user."""

    request: Request
    instance: Instance
    user: User

    @cached_property
    def query(self) -> list[tuple[str, str]]:
        """The query's parameters in order, empty ones too."""
        return parse_qsl(self.request.scope["query_string"].decode("latin-1"), keep_blank_values=True)

    def first(self, name: str, default: str = "") -> str:
        """The first parameter of that name."""
        return next((value for key, value in self.query if key == name), default)

    def every(self, name: str) -> list[str]:
        """All parameters of that name."""
        return [value for key, value in self.query if key == name]

    def flag(self, name: str) -> bool:
        """Whether a parameter says `true`."""
        return self.first(name) == "true"

    def number(self, name: str, default: int, most: int | None = None) -> int:
        """A positive whole number, clamped to `most`. Raises 400."""
        text = self.first(name)
        if not text:
            return default
        if not text.isdigit() or int(text) < 1:
            raise bad("parameter-invalid", f"{name} must be a positive number.")
        return int(text) if most is None else min(most, int(text))

    @property
    def force(self) -> bool:
        """Whether single embedded items are arrays (release 4.20.0)."""
        return self.flag("forceArrays") and self.instance.options.at_least("4.20.0")

    @cached_property
    def tree(self) -> Tree | None:
        """The `fields` expression; None without one."""
        text = self.first("fields")
        return tree_of(text) if text else None

    @cached_property
    def language(self) -> str:
        """The language to read in."""
        return language_of(self.request.headers.get("accept-language", ""), self.instance.library.languages)

    @cached_property
    def write_language(self) -> str:
        """The language written to. Raises 400 when the instance does not have it."""
        languages = self.instance.library.languages
        wanted = self.request.headers.get("content-language", "").strip().lower()
        if wanted and wanted not in languages:
            raise bad("language-not-available", f"The instance has no content in {wanted}.")
        return wanted or languages[0]

    def id(self, name: str = "id") -> int:
        """A number of the path."""
        return int(self.request.path_params[name])

    def media(self) -> Media:
        """The media of the path. Raises 404."""
        return self.instance.library.media(self.id(), self.user)

    async def body(self) -> Json:
        """The JSON body, `{}` for none. Raises 400, or 415 when it says it is something else."""
        data = await self.request.body()
        if not data:
            return {}
        kind = self.request.headers.get("content-type", "application/json").partition(";")[0].strip()
        if kind not in ("application/json", "application/hal+json"):
            raise Refusal(415, "unsupported-media-type", "The body must be JSON.")
        try:
            return json.loads(data)
        except ValueError:
            raise bad("body-invalid", "The body is no JSON.") from None

    async def item_id(self) -> int:
        """The `id` of a body `{"id": …}`. Raises 400."""
        body = await self.body()
        number = body.get("id") if isinstance(body, dict) else None
        if not isinstance(number, int):
            raise bad("body-invalid", 'The body must be {"id": number}.')
        return number

    def needs(self, release: str) -> None:
        """Raises 404 on an older instance."""
        if not self.instance.options.at_least(release):
            raise not_found("resource")

    def answer(self, body: Json, status: int = 200, *, location: str = "") -> Response:
        """A response in HAL form with the language it is in; `location` is a path below `/api/dam`."""
        where = self.instance.writer.href(location) if location else ""
        return hal(body, status, location=where, language=self.language)

    def written(self, body: Json) -> Response:
        """The response to an update: 200 with the new state, or 204 on instances that respond so."""
        if self.instance.options.silent_writes:
            return Response(status_code=204)
        return self.answer(body)


Handler = Callable[[Call], Awaitable[Response]]


def endpoint(instance: Instance, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """Check who calls, hand over, and turn a refusal into its response."""
    interface = f"{instance.options.header_prefix}CLIENT-ID".lower()
    gate = instance.gate

    async def serve(request: Request) -> Response:
        headers = request.headers
        try:
            _acceptable(headers.get("accept", ""))
            user = gate.user(headers.get("authorization", ""), headers.get(interface, ""))
            return await handler(Call(request, instance, user))
        except Refusal as problem:
            return refusal(problem)

    return serve


def _acceptable(accept: str) -> None:
    if "version=" in accept and "version=1" not in accept:
        raise Refusal(406, "version-not-available", f"Only {MEDIA_TYPE} is spoken.")
