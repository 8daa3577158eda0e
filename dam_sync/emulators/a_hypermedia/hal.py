"""The service's way of writing JSON: links, embedded items, pages, partial answers, content languages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import urlencode

from starlette.responses import Response

from dam_sync.emulators.a_hypermedia.errors import Refusal, bad
from dam_sync.emulators.a_hypermedia.options import Options
from dam_sync.emulators.kit.environment import Environment, Json

MEDIA_TYPE = "application/hal+json;version=1;charset=UTF-8"
Tree = dict[str, "Tree | None"]
MOVED: Mapping[str, str] = {
    "metadatas": "values",
    "folders": "filed-in",
    "labels": "marks",
    "permalinks": "permanent",
    "file-versions": "revisions",
    "media-links": "related",
    "attachments": "annexes",
}
"""Words of paths below a media, and those of instances that have them elsewhere."""
_PART = re.compile(r"^(/medias/[^/]+/)([^/]+)")


def placed(path: str, options: Options) -> str:
    """A path below `/api/dam` as this instance has it."""
    if not options.moved_parts:
        return path
    return _PART.sub(lambda found: found[1] + MOVED.get(found[2], found[2]), path)


class Writer:
    """Makes links and relation names as this instance spells them."""

    def __init__(self, world: Environment, options: Options) -> None:
        self.world = world
        self.prefix = options.prefix + ":"
        self.odd = options.odd_hrefs
        self.options = options

    def href(self, path: str) -> str:
        """The absolute address of a path below `/api/dam`; on odd instances with a doubled slash."""
        return f"{self.world.api_origin}{'/' if self.odd else ''}/api/dam{placed(path, self.options)}"

    def link(self, path: str) -> dict[str, str]:
        """A link object to a path below `/api/dam`."""
        return {"href": self.href(path)}

    def rel(self, name: str) -> str:
        """An own relation's name with its prefix."""
        return self.prefix + name

    def curies(self) -> Json:
        """The `curies` of a top-level resource."""
        href = f"{self.world.api_origin}/api/doc/rels/{{rel}}"
        return [{"name": self.prefix[:-1], "href": href, "templated": True}]

    def links(self, path: str, **related: str) -> dict[str, Json]:
        """`self`, `curies` and own relations (`sheet_field` for `svc:sheet-field`) to paths below `/api/dam`."""
        own = {self.rel(name.replace("_", "-")): self.link(to) for name, to in related.items()}
        return {"self": self.link(path), "curies": self.curies(), **own}

    def target(self, body: Json, relation: str) -> int | str | None:
        """The last segment of a link in a request's `_links`, as a number where it is one; None if not linked."""
        links = body.get("_links") if isinstance(body, dict) else None
        link = links.get(relation) if isinstance(links, dict) else None
        href = link.get("href") if isinstance(link, dict) else link
        if not isinstance(href, str):
            return None
        last = href.rstrip("/").rpartition("/")[2].partition("?")[0]
        return int(last) if last.isdigit() else last


def embedded(items: Mapping[str, Sequence[Json]], force: bool) -> dict[str, Json]:
    """`{"_embedded": …}` by the rule: none = absent, one = an object unless forced, more = an array."""
    filled = {key: list(rows) if force or len(rows) > 1 else rows[0] for key, rows in items.items() if rows}
    return {"_embedded": filled} if filled else {}


def hal(body: Json, status: int = 200, *, location: str = "", language: str = "") -> Response:
    """A response in HAL form."""
    headers = {"content-type": MEDIA_TYPE}
    if location:
        headers["location"] = location
    if language:
        headers["content-language"] = language
    data = b"" if body is None else json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    return Response(data, status, headers)


def refusal(problem: Refusal) -> Response:
    """The response to a refused call."""
    body = {"status": problem.status, "code": problem.code, "message": problem.message, **problem.extra}
    return Response(json.dumps(body).encode(), problem.status, media_type="application/json")


def tree_of(text: str) -> Tree:
    """A `fields` expression as a tree: `a,b{c,d.byId(1,2)}`; ids stand under the key `.byId`. Raises 400."""
    tokens = re.findall(r"\.byId\([^)]*\)|[{},]|[^{},\s.]+|\.", text)
    root: Tree = {}
    end = _branch(tokens, 0, root)
    if end != len(tokens):
        raise bad("fields-syntax", "The braces of `fields` do not match.")
    return root


def _branch(tokens: Sequence[str], at: int, into: Tree) -> int:
    name = ""
    while at < len(tokens) and tokens[at] != "}":
        token = tokens[at]
        at += 1
        if token.startswith(".byId("):
            branch = into.get(name) or {}
            names = dict.fromkeys(filter(None, re.split(r"[,\s]+", token[6:-1])))
            branch[".byId"] = {**(branch.get(".byId") or {}), **names}
            into[name] = branch
        elif token == "{":
            branch = into.get(name) or {}
            at = _branch(tokens, at, branch)
            if at >= len(tokens):
                raise bad("fields-syntax", "The braces of `fields` do not match.")
            into[name] = branch
            at += 1
        elif token != ",":
            name = token
            into.setdefault(name, None)
    return at


def partial(body: Json, tree: Tree | None) -> Json:
    """What the tree leaves of a resource; lists are gone through item by item."""
    if tree is None:
        return body
    if isinstance(body, list):
        return [partial(item, tree) for item in body]
    if not isinstance(body, dict):
        return body
    kept: dict[str, Json] = {}
    for key, branch in tree.items():
        if key in body:
            kept[key] = partial(_by_id(body[key], branch), _rest(branch))
    return {key: value for key, value in kept.items() if value not in ({}, [])}


def _by_id(value: Json, branch: Tree | None) -> Json:
    ids = (branch or {}).get(".byId")
    if ids is None:
        return value
    if isinstance(value, list):
        return [item for item in value if str(item.get("id")) in ids]
    return value if isinstance(value, dict) and str(value.get("id")) in ids else []


def _rest(branch: Tree | None) -> Tree | None:
    return {key: value for key, value in (branch or {}).items() if key != ".byId"} or None


def page_links(path: str, query: Sequence[tuple[str, str]], page: int, last: int, writer: Writer) -> dict[str, Json]:
    """`self`, `curies` and `first`, `previous`, `next`, `last` as they apply; `query` is without `page`."""

    def at(number: int) -> dict[str, str]:
        return {"href": f"{writer.href(path)}?{urlencode([*query, ('page', str(number))])}"}

    links: dict[str, Json] = {"self": at(page), "curies": writer.curies()}
    if page > 1:
        links |= {"first": at(1), "previous": at(page - 1)}
    if page < last:
        links |= {"next": at(page + 1), "last": at(last)}
    return links


def language_of(header: str, available: Sequence[str]) -> str:
    """The language to serve for an Accept-Language: the best available, else the user's own (the first)."""
    wishes: list[tuple[float, int, str]] = []
    for number, part in enumerate(filter(None, header.split(","))):
        name, _, weight = part.strip().partition(";")
        try:
            wishes.append((-float(weight.partition("=")[2] or 1), number, name.strip().lower()))
        except ValueError:
            continue
    for rank, _, wish in sorted(wishes):
        for candidate in (wish, wish.partition("-")[0]):
            if rank < 0 and candidate in available:
                return candidate
    return available[0]


def titled(texts: Mapping[str, str], language: str) -> str:
    """A text in that language, else in any."""
    return texts.get(language) or next(iter(texts.values()), "")


def items_of(rows: Iterable[Json], page: int, size: int) -> list[Json]:
    """One page of a list at hand."""
    every = list(rows)
    return every[(page - 1) * size : page * size]
