"""Scans and searches over the index (wire D 2)."""

from __future__ import annotations

import base64
import binascii
import json
from bisect import bisect_left, bisect_right
from collections import Counter, OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from dam_sync.emulators.d_templates.formats import extension_of
from dam_sync.emulators.d_templates.metadata import epoch_of_date
from dam_sync.emulators.d_templates.query import Everything, Facet, Named, Plain, Term, parse, pattern
from dam_sync.emulators.d_templates.records import Attribute, Record, User, failed
from dam_sync.emulators.d_templates.schema import VOCABULARY
from dam_sync.emulators.d_templates.state import Tenant
from dam_sync.emulators.d_templates.texts import PLACES, flat, system_texts, words
from dam_sync.emulators.kit.environment import Json

PAGE_MOST = 100
PAGE = 50
OPERATIONS = ("AND", "OR", "ANY")
_KEPT = 8
Key = tuple[Json, ...]


@dataclass(frozen=True, slots=True)
class Query:
    """What is requested. sort: the field's name in lower case without what stands before it, and its direction."""

    terms: tuple[Term, ...]
    filters: tuple[Term, ...]
    operation: str
    place: str
    sort: str
    descending: bool
    deleted: bool
    versions: bool
    type: str = ""


@dataclass(slots=True)
class Found:
    """The matches of a query in ascending order: sort keys, whose fourth is the object id."""

    keys: list[Key]
    facets: list[Json]


class Search:
    """Answers queries; what was found is kept until the index changes."""

    def __init__(self, tenant: Tenant) -> None:
        self._tenant = tenant
        self._kept: OrderedDict[tuple[Query, str, int], Found] = OrderedDict()

    def scan(self, sent: Mapping[str, Json], user: User) -> tuple[list[Record], int, list[Json], str]:
        """A page, the number of all, facets, and the cursor behind the page. Raises Refusal 400 (wire D 2.1)."""
        limit = number(sent, "limit", PAGE, 1, PAGE_MOST)
        if sent.get("operation") not in ("AND", "OR") or not sent.get("searchTerm"):
            raise bad_query()
        heeded = "no_scan_filters" not in self._tenant.options.plays
        query = self._query({**sent, "filters": sent.get("filters") if heeded else None})
        found = self._found(query, user)
        keys = _following(found.keys, _uncoded(sent.get("cursor")), query.descending, limit)
        cursor = base64.b64encode(json.dumps(keys[-1], separators=(",", ":")).encode()).decode() if keys else ""
        return self._records(keys), len(found.keys), found.facets, cursor

    def window(self, sent: Mapping[str, Json], user: User, most: int) -> tuple[list[Record], int, list[Json]]:
        """A page by `from` and `limit`, within the window. Raises Refusal 400 (wire D 2.2)."""
        limit, start = number(sent, "limit", PAGE, 1, most), number(sent, "from", 0, 0, 1 << 30)
        if start + limit > self._tenant.options.window or sent.get("operation", "AND") not in OPERATIONS:
            raise bad_query()
        query = self._query(sent)
        found = self._found(query, user)
        total = len(found.keys)
        if query.descending:
            keys = found.keys[max(0, total - start - limit) : max(0, total - start)][::-1]
        else:
            keys = found.keys[start : start + limit]
        return self._records(keys), total, found.facets

    def _records(self, keys: Iterable[Key]) -> list[Record]:
        return [self._tenant.index.docs[key[3]] for key in keys]

    def _query(self, sent: Mapping[str, Json]) -> Query:
        place = sent.get("keywordSearchField") or ""
        if place and place not in PLACES:
            raise bad_query()
        sort, descending = self._sort(sent.get("sortBy"))
        return Query(
            self._terms(sent.get("searchTerm")),
            self._terms(sent.get("filters")),
            str(sent.get("operation", "AND")),
            str(place),
            sort,
            descending,
            sent.get("includeDeleted") is True,
            sent.get("includeVersions") is True,
            str(sent.get("assetType") or ""),
        )

    def _terms(self, sent: Json) -> tuple[Term, ...]:
        if sent is None:
            return ()
        if not isinstance(sent, list):
            raise bad_query()
        texts = [text for each in sent for text in (each if isinstance(each, list) else [each])]
        if not all(isinstance(text, str) for text in texts):
            raise bad_query()
        return tuple(parse(text, self._is_field) for text in texts)

    def _is_field(self, name: str) -> bool:
        return name == "filename" or self._tenant.schema.slugged(name) is not None

    def _sort(self, sent: Json) -> tuple[str, bool]:
        if not sent:
            late = "default_sort" in self._tenant.options.plays
            return ("lastupdatedepoch", True) if late else ("createdepoch", False)
        if not isinstance(sent, list) or not isinstance(sent[0], dict):
            raise bad_query()
        field = str(sent[0].get("metadataDefinitionSearchField") or sent[0].get("metadataDefinitionId") or "").lower()
        order = sent[0].get("order", "asc")
        known = field in ("createdepoch", "lastupdatedepoch", "relevance", "filename")
        if order not in ("asc", "desc") or not (known or self._tenant.schema.slugged(field)):
            raise bad_query()
        return field, order == "desc"

    def _found(self, query: Query, user: User) -> Found:
        index = self._tenant.index
        kept = (query, user.id, index.generation)
        found = self._kept.get(kept)
        if found is None:
            sees = cache(lambda security: self._tenant.schema.may(user, security, "View"))
            docs = [doc for doc in self._matching(query) if self._shown(doc, query) and sees(doc.security)]
            found = Found(sorted(self._keys(docs, query.sort)), self._facets(docs))
            self._kept[kept] = found
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return found

    def _shown(self, doc: Record, query: Query) -> bool:
        if (doc.deleted is not None and not query.deleted) or not (doc.current or query.versions):
            return False
        return query.type in ("", doc.kind, self._tenant.schema.templates[doc.template].name)

    def _matching(self, query: Query) -> Iterable[Record]:
        docs = self._tenant.index.docs
        found = self._combined(query.terms, query)
        for term in query.filters:
            some = self._signed(term, query)
            found = some if found is None else found if some is None else found & some
        return list(docs.values()) if found is None else [docs[each] for each in found]

    def _combined(self, terms: Sequence[Term], query: Query) -> set[str] | None:
        """Object ids, None for all of them."""
        sets = [self._signed(term, query) for term in terms]
        if not sets:
            return None
        if query.operation == "AND":
            kept = [each for each in sets if each is not None]
            return set.intersection(*kept) if kept else None
        known = [each for each in sets if each is not None]
        return set().union(*known) if len(known) == len(sets) else None

    def _signed(self, term: Term, query: Query) -> set[str] | None:
        found = self._of(term, query)
        if not term.negated:
            return found
        return set() if found is None else set(self._tenant.index.docs) - found

    def _of(self, term: Term, query: Query) -> set[str] | None:
        match term:
            case Everything():
                return None
            case Facet(name=name, value=value):
                attribute = self._tenant.schema.named(name)
                faceted = attribute is not None and attribute.facetable
                return self._valued(attribute, value) if attribute is not None and faceted else set()
            case Named(field="filename", value=value):
                return self._worded(value, ("filename",))
            case Named(field=name, value=value):
                attribute = self._tenant.schema.slugged(name)
                return self._valued(attribute, value) if attribute is not None else set()
            case Plain(text=text):
                return self._worded(text, (query.place,) if query.place else PLACES)

    def _valued(self, attribute: Attribute, value: str) -> set[str]:
        return self._posted(attribute.id, value.casefold())

    def _worded(self, text: str, places: Collection[str]) -> set[str]:
        """Records that have every word of the text in one of the places: analysed text, no phrases."""
        if pattern(text) is not None or "assetId" in places:
            found = set().union(*(self._posted(f"@{place}", text.casefold()) for place in places))
        else:
            found = set()
        for place in places:
            parts = [self._posted(f"@{place}", word) for word in words(text)]
            found |= set.intersection(*parts) if parts and pattern(text) is None else set()
        return found

    def _posted(self, name: str, value: str) -> set[str]:
        wild = pattern(value)
        return self._tenant.index.match(name, wild) if wild else set(self._tenant.index.find(name, value))

    def _keys(self, docs: Iterable[Record], sort: str) -> Iterable[Key]:
        if sort == "lastupdatedepoch":
            return ((doc.updated, doc.created, doc.number, doc.object_id, doc.order) for doc in docs)
        if sort in ("createdepoch", "relevance"):
            return ((doc.created, doc.created, doc.number, doc.object_id, doc.order) for doc in docs)
        return ((self._value(doc, sort), doc.created, doc.number, doc.object_id, doc.order) for doc in docs)

    def _value(self, doc: Record, sort: str) -> str:
        if sort == "filename":
            return doc.filename.casefold()
        attribute = self._tenant.schema.slugged(sort)
        if attribute is None or attribute.system:
            return " ".join(system_texts(self._tenant.schema, doc, sort)).casefold()
        value = doc.values.get(attribute.id)
        if value is not None and attribute.type == "date":
            return f"{epoch_of_date(value) + (1 << 46):016d}"
        return " ".join(flat(self._tenant.metadata.denormalised(attribute, value))).casefold()

    def _facets(self, docs: Sequence[Record]) -> list[Json]:
        made = []
        alike = Counter(map(_kind, docs))
        samples = {_kind(doc): doc for doc in docs}
        for attribute in self._tenant.schema.system.values():
            if attribute.type != VOCABULARY:
                continue
            counted: Counter[str] = Counter()
            for kind, count in alike.items():
                for text in system_texts(self._tenant.schema, samples[kind], attribute.slug):
                    counted[text] += count
            values = [{"key": key, "doc_count": count} for key, count in counted.most_common()]
            made.append({"facet_name": attribute.name, "values": values})
        return made


def _kind(doc: Record) -> Key:
    """Records of the same kind have the same facets."""
    return (doc.template, doc.security, doc.created_by, doc.updated_by, extension_of(doc.filename), doc.federated)


def number(sent: Mapping[str, Json], name: str, default: int, least: int, most: int) -> int:
    """A whole number within bounds. Raises Refusal 400."""
    value = sent.get(name)
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise bad_query()
    return value


def bad_query() -> Exception:
    """One text for whatever is wrong with a search (wire D 2.1)."""
    return failed(400, "Invalid Search Query")


def _uncoded(cursor: Json) -> Key | None:
    if cursor is None:
        return None
    try:
        key = tuple(json.loads(base64.b64decode(str(cursor), validate=True)))
    except (binascii.Error, ValueError, TypeError):
        raise bad_query() from None
    if len(key) != 5 or not isinstance(key[3], str):
        raise bad_query()
    return key


def _following(keys: Sequence[Key], cursor: Key | None, descending: bool, limit: int) -> list[Key]:
    try:
        if descending:
            stop = len(keys) if cursor is None else bisect_left(keys, cursor)
            return list(keys[max(0, stop - limit) : stop])[::-1]
        start = 0 if cursor is None else bisect_right(keys, cursor)
        return list(keys[start : start + limit])
    except TypeError:
        raise bad_query() from None
