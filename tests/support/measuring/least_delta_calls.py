"""The API calls that the contracts ask for: to see the changes of a delta, and to write them. Data, with their source.

Sections are those of the contract of each service. Rules of the product that cost calls are named: an asset is read
before it is written over, so that nobody's edit is lost (help topic `conflicts`), and looked at before anything is
added to it, so that nothing is written into the trash; what is gone is asked for twice, by
id, each time with `CONTROL` assets that exist and a proof of the credential (help topic `deletions`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Calls = Counter[str]
TEXT, RENAME, MOVE, VERSION, DELETE = "text", "rename", "move", "version", "delete"
CONTROL = 10
TWICE = 2
RECORDS = 1.1  # file versions for each asset of the library: every tenth has two
FILES = 50  # new files that share one upload batch at service B


@dataclass(frozen=True)
class Least:
    """One service.

    know: before the first asset, by a source. poll: to see what changed among so many assets; changed: once if anything
    did. read: for one change of each kind at this source; several: more, to read an asset with several file versions;
    trashed: and to remove it. proof: to prove the credential again; asked: to ask whether one asset exists. receive:
    before the first write, by a target, and once for what is written at all. write: for one change of each kind at this
    target, the reading before it included, none if the target cannot make the change; moved: once if an asset was
    moved; filed: once for each FILES new files; placed: for each container that assets of other containers come to or
    go from, where members are written by container; removed: once if assets were removed: to see in which containers
    they are, or that the first is in the trash then. older: whether a source shows the older file versions.
    """

    know: Calls
    poll: Callable[[int], Calls]
    read: Mapping[str, Calls]
    proof: Calls
    asked: Calls
    receive: Calls
    once: Calls
    write: Mapping[str, Calls]
    changed: Calls = field(default_factory=Counter)
    several: Calls = field(default_factory=Counter)
    filed: Calls = field(default_factory=Counter)
    trashed: Calls = field(default_factory=Counter)
    moved: Calls = field(default_factory=Counter)
    placed: Calls = field(default_factory=Counter)
    removed: Calls = field(default_factory=Counter)
    older: bool = True


def one_each(*calls: str, method: str = "GET", under: str = "") -> Calls:
    """One call to each."""
    return Counter(f"{method} {under}{call}" for call in calls)


# -- service A ---------------------------------------------------------------------------------------------------------

_A = "/api/dam/"
_MEDIA, _SEARCH_A = f"GET {_A}medias/{{id}}", f"GET {_A}search/media"
_VERSIONS_A = f"GET {_A}medias/{{id}}/file-versions"
_KNOW_A = (
    one_each("/api", "/api/dam")
    + one_each("users/{user}", "forms", "sheet-fields", "thesaurus-tree", "medias/labels", under=_A)
    + one_each("medias/custom-statuses", "folder-tree", under=_A)  # 5.4: folders are named by ids, statuses too
    + Counter({_SEARCH_A: 1})
)
A = Least(
    know=_KNOW_A + one_each("baskets", under=_A) + Counter({_SEARCH_A: 1}),
    poll=lambda size: Counter({_SEARCH_A: 2 + 1, f"GET {_A}search/trash": 1}),  # 2.4, 2.6: both keyset proofs, a page
    read={
        TEXT: Counter({_MEDIA: 1}),
        VERSION: Counter({_MEDIA: 1}),
        DELETE: Counter(),  # listed in the trash
    },
    proof=one_each("users/{user}", "baskets", "search/media", under=_A),
    asked=Counter({_MEDIA: 1}),
    receive=_KNOW_A,
    once=Counter({_MEDIA: 1}),  # the first removal is proven, 6.11
    write={
        TEXT: Counter({_MEDIA: 1, f"PUT {_A}medias/{{id}}/metadatas/{{field}}": 1}),  # 6.4
        RENAME: Counter(),  # 6.6: originalFileName cannot be written
        MOVE: Counter({_MEDIA: 1, f"POST {_A}folders/{{id}}/medias": 1})
        + Counter({f"DELETE {_A}folders/{{id}}/medias/{{media}}": 1}),
        VERSION: Counter({_MEDIA: 1, f"POST {_A}files": 1, f"POST {_A}medias/{{id}}/file-versions": 1}),  # 6.8
        DELETE: Counter({_MEDIA: 2, f"DELETE {_A}medias/{{id}}": 1}),  # 6.11: a second DELETE purges, so read before
    },
    several=Counter({_VERSIONS_A: 1}),
    moved=Counter({f"GET {_A}medias/{{id}}/folders": 2}),  # the first new membership is proven
)

# -- service B ---------------------------------------------------------------------------------------------------------

_B = "/api/v1/"
_QUERY, _DOCUMENT = f"POST {_B}automation/Repository.Query", f"GET {_B}id/{{id}}"
_KNOW_B = (
    one_each("capabilities", "config/types", "config/schemas", "directory", "path/{path}", under=_B)
    + one_each("automation/login", method="POST", under=_B)
    + Counter({_QUERY: 1})
)
B = Least(
    know=_KNOW_B,
    poll=lambda size: Counter({_QUERY: -(-size // 1_000) + 1}),  # 2.6: a thin sweep; the folders, for paths
    read={
        TEXT: Counter({_DOCUMENT: 1}),
        MOVE: Counter({_DOCUMENT: 1}),
        VERSION: Counter({_DOCUMENT: 1, f"GET {_B}id/{{id}}/@blob/{{xpath}}": 1}),  # 3, 4
        DELETE: Counter(),  # the sweep shows the trash
    },
    proof=one_each("automation/login", method="POST", under=_B) + Counter({_QUERY: 1}),
    asked=Counter({_DOCUMENT: 1}),
    receive=_KNOW_B,
    once=Counter({_QUERY: 2}),  # folders and collections, to know where things go (5.3)
    write={
        TEXT: Counter({_DOCUMENT: 1, f"PUT {_B}id/{{id}}": 1}),
        RENAME: Counter(),  # a stored file is not renamed
        MOVE: Counter({_DOCUMENT: 1, f"POST {_B}automation/Document.Move": 1}),
        VERSION: Counter({_DOCUMENT: 1, f"POST {_B}automation/Document.CreateVersion": 1, f"PUT {_B}id/{{id}}": 1})
        + Counter({f"POST {_B}upload/{{batch}}/{{index}}": 1}),
        DELETE: Counter({_DOCUMENT: 2, f"POST {_B}automation/Document.Trash": 1}),  # 2.5: twice renames twice
    },
    filed=Counter({f"POST {_B}upload/new/default": 1, f"DELETE {_B}upload/{{batch}}": 1}),  # 6.2, 8: shared
    several=Counter({_QUERY: 1}),  # 3: 200 versions a call, where assets are read together
)

# -- service C ---------------------------------------------------------------------------------------------------------

_C = "/api/v4/"
_ASSET_C, _LIST_C = f"GET {_C}assets/{{id}}", f"GET {_C}libraries/{{id}}/assets"
_FILES_C, _FILE_C = f"GET {_C}assets/{{id}}/attachments", f"GET {_C}attachments/{{id}}"
_READ_C = Counter({_ASSET_C: 1, _FILES_C: 1})  # 3.2; how many versions its files have, which no asset shows (2.2)
_KNOW_C = one_each("users/whoami", "organizations", "libraries", "libraries/{id}", under=_C) + one_each(
    "user_permissions", "custom_field_keys", "sections", "assets", under=f"{_C}libraries/{{id}}/"
)
C = Least(
    know=_KNOW_C,
    poll=lambda size: Counter({_LIST_C: 1, f"GET {_C}libraries/{{id}}/labels": 1}),  # 2.3; labels move no date (2.2)
    read={kind: Counter({_FILES_C: 1}) for kind in (TEXT, RENAME, VERSION)},  # the list shows all else
    proof=Counter(),
    asked=Counter({_ASSET_C: 1}),
    receive=_KNOW_C,
    # where things go (5.2); 1: an empty list, here of collections or labels, is believed once the key is proven again
    once=one_each("sections", "collections", "labels", under=f"{_C}libraries/{{id}}/")
    + one_each("users/whoami", under=_C),
    write={
        TEXT: _READ_C + Counter({f"PUT {_C}custom_field_values/{{id}}": 1}),
        RENAME: _READ_C + Counter({f"PUT {_C}attachments/{{id}}": 1}),
        MOVE: Counter(),  # 5.2: an asset stays in its section
        VERSION: _READ_C  # 6.5: a look before, for an unfinished version would be lost, and one after
        + Counter({f"GET {_C}upload_requests": 1, f"PUT {_C}attachments/{{id}}": 1, _FILE_C: 2}),
        DELETE: _READ_C + Counter({f"DELETE {_C}assets/{{id}}": 1}),
    },
    # 2.4: lists show neither dates of availability, which are searched for with and without, and compared with the
    # count, for a misread search returns nothing; nor what is view-only
    changed=Counter({_LIST_C: 4}),
    older=False,  # 4.5: only the current one can be read
)

# -- service D ---------------------------------------------------------------------------------------------------------

_SCAN, _GROUP = "POST /v1/asset/scan", "GET /v1/asset/{id}/version"
_KNOW_D = (
    one_each("user", "metadata/template", "metadata/template/{id}", "metadata/vocabulary", under="/v1/")
    + one_each("security/template", under="/v1/")
    + Counter({"POST /v1/auth/token": 1, _SCAN: 2})
)
D = Least(
    know=_KNOW_D,
    # 2.5: what changed last. 2.6, 11.1: collections move no date and hold files of any version; whose the files are,
    # and what is in the recycle bin, is told by one scan of everything.
    poll=lambda size: Counter({_SCAN: 1 + -(-round(size * RECORDS) // 100), "POST /v1/search/collection": 1}),
    read={
        TEXT: Counter({_GROUP: 1}),
        MOVE: Counter({_GROUP: 1}),
        VERSION: Counter({_GROUP: 1}),
        DELETE: Counter({_GROUP: 1}),  # all versions are in the bin, or the asset lives (11.1)
    },
    proof=Counter({"GET /v1/user": 1, _SCAN: 2}),
    asked=Counter({_GROUP: 1}),
    receive=_KNOW_D,
    once=Counter({"POST /v1/search/collection": 1, "GET /v1/asset/{id}": 2}),
    write={
        TEXT: Counter({_GROUP: 1, "PATCH /v1/asset/{id}": 1}),
        RENAME: Counter(),  # a file is not renamed
        MOVE: Counter({_GROUP: 1}),  # which file of it is a member
        # 6.6: the look that the last was processed is the same; a collection has the file of one version: it is read,
        # gets the new one and loses the one before
        VERSION: Counter(
            {_GROUP: 1, "POST /v1/asset": 1, "GET /v1/collection/{id}": 1, "PATCH /v1/collections/{id}": 2}
        ),
        # 15: version by version, read before and after; 2.6: collections list files: which are its own is read first
        DELETE: Counter({_GROUP: 4, "POST /v1/asset/{id}/delete": 1}),
    },
    removed=Counter({"POST /v1/search/collection": 1}),
    moved=Counter({"GET /v1/collection/{id}": 4}),
    placed=Counter({"PATCH /v1/collections/{id}": 1}),
    changed=Counter({"POST /v1/asset/expose": 1, _SCAN: 1}),  # 3.6: links of 50 files a call; versions fill a page
    trashed=Counter({"POST /v1/asset/{id}/delete": 1}),
)
"""`once` and `moved`: the first update, and the first addition to a collection and the first removal from one, also
those for a version, are read before and after: that they leave everything else alone is assumed."""

# -- service E ---------------------------------------------------------------------------------------------------------

_ASSET_E, _SEARCH_E = "GET /v2/assets/{id}", "GET /v2/assets/search"
_KNOW_E = one_each("user", "assets/search", "assets/assetgroups", "uploads/profiles", under="/v2/") + Counter(
    {"GET /v2/metadata/fields/viewable": 2, "GET /api/rest/metadata/types": 1}
)


def _members_e(size: int) -> int:
    """5.4, 2.2: a category of more than a page is found out by a search, then scrolled."""
    each = -(-size // CATEGORIES)
    return CATEGORIES * (-(-each // 100) + (each > 100))


CATEGORIES = 40  # which share all assets
E = Least(
    know=_KNOW_E,
    # 2.3: the window, by upload; 2.6: whether anything is archived; 3.5, 3.6: members move no date
    poll=lambda size: (
        Counter({_SEARCH_E: 2 + _members_e(size), "GET /v2/collections": 3})
        + one_each("/api/rest/category/categoryTree", "/v2/categories")
    ),
    # listings are whole; what moved may be the first on another page of its new category
    read={TEXT: Counter(), RENAME: Counter(), MOVE: Counter({_SEARCH_E: 1}), VERSION: Counter(), DELETE: Counter()},
    proof=Counter({"GET /v2/user": 1, _SEARCH_E: 1}),
    asked=Counter({_ASSET_E: 1}),
    receive=_KNOW_E,
    once=Counter({"GET /api/rest/category/categoryTree": 1, "GET /v2/collections": 3}),  # where things go (5.4, 5.5)
    write={
        TEXT: Counter({_ASSET_E: 1, "PUT /v2/assets/{id}/metadata": 1}),
        RENAME: Counter({_ASSET_E: 1, "PUT /v2/assets/{id}/filename": 1}),
        MOVE: Counter({_ASSET_E: 1}),  # members only; the asset is not written
        VERSION: Counter({_ASSET_E: 2, "POST /v2/uploads": 1}),  # 6.7: complete before, and shown after
        DELETE: Counter({_ASSET_E: 1, "DELETE /v2/assets/{id}": 1}),
    },
    placed=Counter({"POST /api/rest/category/assets": 1}),
    removed=Counter({_ASSET_E: 1}),  # 6.6: the first removal is proven
    several=Counter({"GET /v2/assets/{id}/versions": 1}),  # 3.3
)
LEAST: Mapping[str, Least] = {"a": A, "b": B, "c": C, "d": D, "e": E}
