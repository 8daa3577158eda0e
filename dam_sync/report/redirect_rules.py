"""Redirects as rules for nginx and Apache.

nginx looks up the host and the decoded path, first together with the query as it was sent, then without it. A `map`
ignores case, so that links which differ in nothing else become regular expressions, which a `map` tries last. Apache
looks up host, path and query as they were sent, then without the query.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote_to_bytes, urlsplit

from dam_sync.model.public_link import ORIGINALS, Redirect

BUCKET = 64  # bytes by which the buckets of nginx's hashes grow
NGINX_HEAD = """\
# {number} redirects of job {job}. Include this file in the `http` block, and in each `server` block of the old hosts:
#   if ($dam_sync_new) {{ return 301 $dam_sync_new; }}
# The two sizes must be there once: remove them if the configuration has larger ones.
map_hash_max_size {size};
map_hash_bucket_size {bucket};
"""
APACHE_HEAD = """\
# {number} redirects of job {job}. Include this file in each virtual host of the old hosts; {map} is beside it.
RewriteEngine On
RewriteMap dam_sync_lower "int:tolower"
RewriteMap dam_sync "txt:{path}"
RewriteCond "%{{THE_REQUEST}}" "^[A-Z]+ (/[^? ]*)([?][^ ]*)? "
RewriteCond "${{dam_sync:${{dam_sync_lower:%{{SERVER_NAME}}}}%1%2}}" "^(.+)$"
RewriteRule "^" "%1" [R=301,L,NE,QSD]
RewriteCond "%{{THE_REQUEST}}" "^[A-Z]+ (/[^? ]*)"
RewriteCond "${{dam_sync:${{dam_sync_lower:%{{SERVER_NAME}}}}%1}}" "^(.+)$"
RewriteRule "^" "%1" [R=301,L,NE,QSD]
"""


@dataclass(slots=True)
class Rules:
    """exact: new link by host, path and query; paths: by host and path alone, for requests with another query."""

    exact: dict[str, str] = field(default_factory=dict)
    paths: dict[str, str] = field(default_factory=dict)


def rules_of(redirects: Iterable[Redirect], *, decoded: bool) -> Rules:
    """The links of all redirects. A path whose links differ only in their queries leads, with any other query, to the
    file itself."""
    made, ranks = Rules(), dict[str, tuple[int, str]]()
    for row in redirects:
        parts = urlsplit(row.old)
        key = (parts.hostname or "") + (_decoded(parts.path) if decoded else parts.path)
        if parts.query:
            made.exact.setdefault(f"{key}?{parts.query}", row.new)
        rank = (-1 if not parts.query else ORIGINALS.index(row.name) if row.name in ORIGINALS else 9, row.old)
        if key not in ranks or rank < ranks[key]:
            ranks[key], made.paths[key] = rank, row.new
    return made


def nginx_rules(redirects: Iterable[Redirect], job: str) -> Iterator[str]:
    """Lines of a file for the `http` block."""
    rules = rules_of(redirects, decoded=True)
    number = len(rules.exact) + len(rules.paths)
    longest = max((len(key.encode()) for key in (*rules.exact, *rules.paths)), default=0)
    bucket = (longest // BUCKET + 2) * BUCKET
    yield NGINX_HEAD.format(number=number, job=_comment(job), size=max(2048, 2 * number), bucket=bucket)
    yield from _map("$host$uri", "$dam_sync_path", '""', rules.paths)
    yield from _map("$host$uri?$args", "$dam_sync_new", "$dam_sync_path", rules.exact)


def _map(key: str, variable: str, default: str, links: Mapping[str, str]) -> Iterator[str]:
    yield f'map "{key}" {variable} {{\n    default {default};\n'
    folded = Counter(_folded(old) for old in links)
    alike = {old for old in links if folded[_folded(old)] > 1}
    for old, new in sorted(links.items(), key=lambda item: (item[0] in alike, item[0])):
        source = f"~^{re.escape(old)}$" if old in alike else old
        yield f"    {_quoted(source)} {_quoted(_without_variables(new))};\n"
    yield "}\n"


def _folded(text: str) -> bytes:
    """As nginx compares it: only the letters of ASCII have two cases."""
    return text.encode().lower()


def _quoted(text: str) -> str:
    """A parameter of nginx: in quotes, in which a backslash and a quote are escaped."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _without_variables(url: str) -> str:
    """nginx would take `$name` for a variable; encoded it is the same URL."""
    return url.replace("$", "%24")


def _decoded(path: str) -> str:
    """As nginx has it in `$uri`: decoded, slashes merged."""
    return re.sub("/+", "/", unquote_to_bytes(path).decode("utf-8"))


def apache_map(redirects: Iterable[Redirect], job: str) -> Iterator[str]:
    """Lines of a RewriteMap of type `txt`: old link without its scheme, new link."""
    rules = rules_of(redirects, decoded=False)
    yield f"# redirects of job {_comment(job)}\n"
    for old, new in sorted({**rules.paths, **rules.exact}.items()):
        yield f"{old} {new}\n"


def apache_rules(number: int, job: str, path: str) -> str:
    """The configuration that uses the map at this path."""
    name = path.rpartition("/")[2]
    return APACHE_HEAD.format(number=number, job=_comment(job), map=_comment(name), path=path.replace('"', '\\"'))


def _comment(text: str) -> str:
    return re.sub(r"[^\w .:/-]", "_", text)
