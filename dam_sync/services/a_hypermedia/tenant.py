"""What is known about an instance: forms, statuses, labels, folders, content languages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, tzinfo
from typing import ClassVar

from dam_sync.aio.single_flight import SingleFlight, gather_or_raise
from dam_sync.http.client import Client
from dam_sync.http.connected import HttpService
from dam_sync.http.interpreting import interpreting_response, member_text
from dam_sync.model.connector import Context
from dam_sync.model.errors import NotFound
from dam_sync.model.values import Json
from dam_sync.services.a_hypermedia import facts
from dam_sync.services.a_hypermedia.api.connection import HalRequest, HypermediaApi, resource_of
from dam_sync.services.a_hypermedia.api.hal import embedded, link, tail, wanted_id
from dam_sync.services.a_hypermedia.api.search import MediaSearch
from dam_sync.services.a_hypermedia.codec.fields import Offer, status_names
from dam_sync.services.a_hypermedia.codec.forms import MediaForms, bare_lists, field_of, forms_of, with_choices
from dam_sync.services.a_hypermedia.codec.wire import MediaDecodeContext, Status, folder_ids, status_of
from dam_sync.services.a_hypermedia.options import HypermediaOptions
from dam_sync.services.a_hypermedia.target.proofs import Proofs
from dam_sync.services.a_hypermedia.uploads import HypermediaUploads


class HypermediaTenant:
    """Read on first use, then kept; folders and forms are read again if an unknown one turns up."""

    def __init__(self, api: HypermediaApi, options: HypermediaOptions) -> None:
        self.link_types: Collection[str] = options.link_types
        self._api = api
        self._options = options
        self._namesakes: frozenset[tuple[str, ...]] = frozenset()
        self.zone: tzinfo = UTC if options.timezone.key == "UTC" else options.timezone
        self._walked = False
        self.locales = SingleFlight(self._languages)
        self.forms = SingleFlight(self._forms)
        self.statuses = SingleFlight(self._statuses)
        self.labels = SingleFlight(self._labels)
        self.top = SingleFlight(lambda: self.folder(""))
        self.folders = SingleFlight(self._folders)

    async def offer(self) -> Offer:
        """What the instance offers beyond its forms; the top of the folder tree is read for estimates."""
        statuses = await self.statuses.get()
        await self.top.get()
        return Offer(
            roots={wanted_id(root): member_text(root, "title") for root in await self._roots()},
            labels=frozenset(await self.labels.get()),
            statuses=status_names((status.base, status.title) for status in statuses.values()),
            locales=await self.locales.get(),
            link_types=frozenset(self.link_types),
        )

    async def decode_context(self, medias: Sequence[Json]) -> MediaDecodeContext:
        """The context for reading these media."""
        rels = self._api.rels
        forms = await self._covering(self.forms, {tail(link(m, rels.rel("form"))) for m in medias} - {""})
        places = await self._folder_paths({identity for media in medias for identity in folder_ids(media)})
        return MediaDecodeContext(rels, forms, await self.statuses.get(), places, self.zone, self._namesakes)

    async def _covering(self, known: SingleFlight[MediaForms], ids: Iterable[str]) -> MediaForms:
        forms = await known.get()
        return forms if all(identity in forms.by_id for identity in ids) else await known.renewed(forms)

    async def _folder_paths(self, ids: set[str]) -> Mapping[str, tuple[str, ...]]:
        """Paths by folder id; the tree is read only if a media is in a folder."""
        if not ids:
            return {}
        folders = await self.folders.get()
        if not ids <= folders.keys():
            folders = await self.folders.renewed(folders)
            for hidden in ids - folders.keys():
                folders.setdefault(hidden, ())  # not visible to this user in the tree: only its title is known
        return folders

    async def _forms(self) -> MediaForms:
        several = len(await self.locales.get()) > 1
        sheet = await self._sheet()
        items = []
        for form in await self._api.listed(HalRequest("GET", "forms"), "form"):
            fields = embedded(form, "field")
            if not fields:
                whole = await self._api.json(HalRequest("GET", "forms", "/{formId}", (wanted_id(form),)))
                fields = embedded(whole, "field")
            if not fields:
                request = HalRequest("GET", "forms", "/{formId}/fields", (wanted_id(form),))
                fields = await self._api.listed(request, "field")
            prefix = self._api.rels.prefix
            items.append((form, [field_of(one, sheet, prefix, several) for one in fields]))
        forms = forms_of(items)
        return with_choices(forms, {lookup: await self._choices(lookup) for lookup in bare_lists(forms)})

    async def _sheet(self) -> dict[str, Json]:
        if not (await self._api.entry.get()).has(facts.FOLDER_CREATE):
            return {}
        items = await self._api.listed(HalRequest("GET", "sheet-fields"), "sheet-field")
        return {str(item.get("internalName") or item.get("id")): item for item in items}

    async def lookup(self, identity: str) -> list[Json]:
        """The values of a lookup: id and title."""
        whole = await self._api.json(HalRequest("GET", "forms", "/lookups/{lookupId}", (identity,)))
        return embedded(whole, "value")

    async def _choices(self, identity: str) -> dict[str, str]:
        return {member_text(item, "title"): wanted_id(item) for item in await self.lookup(identity)}

    async def _statuses(self) -> dict[str, Status]:
        items = await self._api.listed(HalRequest("GET", "custom-statuses"), "custom-status")
        return {status.id: status for status in map(status_of, items)}

    async def _labels(self) -> dict[str, str]:
        items = await self._api.listed(HalRequest("GET", "labels"), "label")
        with interpreting_response("the labels"):
            return {(member_text(item, "title") or str(item["id"])): wanted_id(item) for item in items}

    async def _roots(self) -> list[Json]:
        return embedded(await self._api.json(HalRequest("GET", "thesaurus-tree")), "child")

    async def _folders(self) -> dict[str, tuple[str, ...]]:
        """The whole tree, one call per folder with children (wire A 5.4); parents before children."""
        found: dict[str, tuple[str, ...]] = {}
        fresh, self._walked = self._walked, True
        waiting, at_once = [""], self._api.limits.pace.at_once
        while waiting:
            chunk, waiting = waiting[:at_once], waiting[at_once:]
            nodes = await gather_or_raise([self._node(parent, fresh) for parent in chunk])
            for parent, node in zip(chunk, nodes, strict=True):
                for child in embedded(node, "child"):
                    identity = wanted_id(child)
                    if identity not in found:
                        found[identity] = (*found.get(parent, ()), (member_text(child, "title") or identity))
                        if child.get("hasChildren") is not False:
                            waiting.append(identity)
        self._namesakes = frozenset(path for path, number in Counter(found.values()).items() if number > 1)
        return found

    async def _node(self, identity: str, fresh: bool) -> Json:
        """A folder; the top is not read again, except in a second walk."""
        return await (self.folder(identity) if identity or fresh else self.top.get())

    async def folder(self, identity: str) -> Json:
        """A folder with its direct children; the top of the tree for an empty id."""
        if not identity:
            return await self._api.json(HalRequest("GET", "folder-tree", params=await self._api.arrays()))
        request = HalRequest("GET", "folder-tree", "/{nodeId}", (identity,), await self._api.arrays())
        return await self._api.json(request)

    async def _languages(self) -> tuple[str, ...]:
        """Content languages, the user's own first: from the options, otherwise by a call (wire A 5.6)."""
        if self._options.locales:
            return self._options.locales
        found = await self._languages_of_a_media() or await self._languages_of_a_term()
        return found or ("en",)

    async def languages_not_served(self, languages: Sequence[str]) -> tuple[str, ...]:
        """Those of these languages in which a media is not returned (wire A 5.6); none for an empty library."""
        identity = await self._a_media() if languages else ""
        try:
            return tuple([each for each in languages if identity and await self._served(identity, each) != each])
        except NotFound:
            return ()

    async def _a_media(self) -> str:
        request = HalRequest("GET", "media-search", params=[("size", "1"), ("page", "1"), *await self._api.arrays()])
        rows = embedded(await self._api.json(request), "media")
        return wanted_id(rows[0]) if rows else ""

    async def _languages_of_a_media(self) -> tuple[str, ...]:
        identity = await self._a_media()
        if not identity:
            return ()
        try:
            own = await self._served(identity, "")
            asked = [language for language in facts.LANGUAGES if language != own]
            kept = [language for language in asked if await self._served(identity, language) == language]
        except NotFound:
            return ()
        return (own, *kept) if own else tuple(kept)

    async def _served(self, media: str, language: str) -> str:
        request = HalRequest(
            "GET", "medias", "/{mediaId}", (media,), [("fields", "id")], language=language, asset=media
        )
        return served_language((await self._api.call(request)).headers)

    async def _languages_of_a_term(self) -> tuple[str, ...]:
        """For an empty library: the languages of thesaurus titles, the user's own first, as it will be once there is a
        media."""
        for root in await self._roots():
            reply = await self._api.call(HalRequest("GET", "thesauruses", "/{id}", (wanted_id(root),)))
            if titles := resource_of(reply).get("titles"):
                own = served_language(reply.headers)
                found = sorted(locale.lower().replace("_", "-") for locale in titles)
                return tuple(sorted(found, key=lambda locale: locale != own))
        return ()


class HypermediaBase(HttpService):
    """What all parts of the service share: the connection, what is known about the instance, what was proven in this
    run.

    A part implements methods of `Service` and extends this class or another part, so that the service is composed of
    them.
    """

    kind: ClassVar[str] = facts.NAME
    declared = facts.CAPABILITIES

    def __init__(self, context: Context) -> None:
        """No call is made yet. Raises ConfigError."""
        options: HypermediaOptions = context.options
        self._options = options
        self._api = api = HypermediaApi(context)
        self.limits = api.limits
        self._tenant = HypermediaTenant(api, options)
        self._media_search = MediaSearch(api)
        self._uploads = HypermediaUploads(api, context.budget)
        self._proofs = Proofs(context.clock, options.bulk)

    @property
    def client(self) -> Client:
        """The client that sends the requests."""
        return self._api.client


def served_language(headers: Mapping[str, str]) -> str:
    """The actual language of a response, in lower case; empty if not stated (wire A 0)."""
    return headers.get("content-language", "").partition(",")[0].strip().lower()
