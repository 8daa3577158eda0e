"""What can be set on an emulated instance, and the open readings of the contract it can play."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from dam_sync.emulators.kit.environment import Json

MB = 1_000_000
MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Options:
    """Settings of one instance; times in seconds. `languages`: the first is the users' data-language preference.

    The second half are the open readings (wire A 14), at the first of each pair; see `VARIANTS`.
    """

    release: str = "4.124.0"
    prefix: str = "svc"
    header_prefix: str = "X-SVC-"
    zone: str = "Europe/Paris"
    languages: tuple[str, ...] = ("en", "fr")
    login: str = "dam-sync"
    password: str = "secret-a"
    jwt_key: str = "sharedkey123"
    client_id: str = "demo-instance-id"
    jwt: bool = True
    oidc: bool = False
    interfaces: tuple[str, ...] = ()  # UUIDs of user interfaces; empty = any
    users: tuple[Mapping[str, Json], ...] = ()  # more users: login, password, permission, download, folders
    download_level: str = "HD"
    rate: float | None = None
    lag: float = 2.0
    thumbnail_delay: float = 1.0
    descriptor_life: float = 3600.0
    ephemeral_life: float = 3600.0
    page_max: int = 200
    window: int = 10_000
    medias_limit: int = 10_000
    folders_limit: int = 1_000
    selection_limit: int = 10_000
    single_mb: int = 50
    uploads_at_once: int = 200
    rich_search: bool = False
    memberships_update: bool = False  # folder, label, basket and link changes move updateDate
    odd_descriptors: bool = False  # size as a string, self as a bare string
    odd_hrefs: bool = False  # hrefs and Locations with a doubled slash
    xmp_versioning: bool = False
    original_permalink: bool = True
    export_number_limit: int = 50
    # open readings
    drafts_in_folder: bool = False
    force_users: bool = True
    trash_details: bool = True
    title_from_file: bool = False
    put_clears: bool = False
    binary_units: bool = False
    large_chunks: bool = True
    word_match: bool = False
    term_cascade: bool = False
    version_any_type: bool = False
    silent_writes: bool = False  # 204 instead of 200 with a body
    plural_folders: bool = False  # a media embeds its folders under `folders`
    bare_links: bool = False  # the links of attachments come without the prefix
    embeds_folders: bool = True  # a media embeds its folders when asked to; else they are to be listed
    moved_parts: bool = False  # the parts of a media are at other paths than the current layout, which links name
    links_404: bool = False  # media without links of a type: 404 instead of an empty list
    tags: str = "strong"  # of files on the static host: `strong`, `weak` or `none`
    bulk: str = "done"  # what becomes of a bulk: one of BULKS
    delete_purges: bool = False  # the first DELETE of a media removes it permanently
    shared_selection: bool = False  # a POST gives the user's one selection again, at first with a media of others in it
    selection_count: bool = True  # the response about a new selection counts its media
    published_at_once: bool = False  # a new media in a folder is PUBLISHED
    shows_status: bool = True  # a media shows its status
    member_lists: bool = True  # a media has lists of its folders and labels
    ids_ignored: bool = False  # a search does not heed a filter by id
    put_resets: bool = False  # a PUT of a media resets what it does not heed: annotation and point of interest
    put_title_only: bool = False  # a PUT of a folder takes the title, and drops the description
    current_drops: bool = False  # versions later than the one that becomes the current one go

    def at_least(self, release: str) -> bool:
        """Whether this instance runs that release or a later one."""
        return _numbers(self.release) >= _numbers(release)

    @property
    def megabyte(self) -> int:
        """What the instance means by MB, in bytes."""
        return MIB if self.binary_units else MB


BULKS = ("done", "uncounted", "ignored", "400", "415", "422")
"""Done and counted; done without `updatedCount`; answered with 200 without it, and nothing done; refused."""
VARIANTS: Mapping[str, Mapping[str, bool | str]] = {
    "drafts-in-folder": {"drafts_in_folder": True},
    "users-not-forced": {"force_users": False},
    "thin-trash": {"trash_details": False},
    "title-from-file": {"title_from_file": True},
    "put-clears": {"put_clears": True},
    "binary-units": {"binary_units": True},
    "small-chunks": {"large_chunks": False},
    "word-match": {"word_match": True},
    "term-cascade": {"term_cascade": True},
    "any-version-type": {"version_any_type": True},
    "silent-writes": {"silent_writes": True},
    "plural-folders": {"plural_folders": True},
    "bare-links": {"bare_links": True},
    "rich-search": {"rich_search": True},
    "odd": {"odd_descriptors": True, "odd_hrefs": True, "memberships_update": True},
    "moved-parts": {"moved_parts": True},
    "links-404": {"links_404": True},
    "no-tags": {"tags": "none"},
    "weak-tags": {"tags": "weak"},
    **{f"bulk-{word}": {"bulk": word} for word in BULKS[1:]},
    "delete-purges": {"delete_purges": True},
    "shared-selection": {"shared_selection": True},
    "uncounted-selection": {"shared_selection": True, "selection_count": False},
    "published-at-once": {"published_at_once": True},
    "no-status": {"shows_status": False},
    "no-member-lists": {"member_lists": False},
    "no-members": {"member_lists": False, "embeds_folders": False},
    "ids-ignored": {"ids_ignored": True},
    "put-resets": {"put_resets": True},
    "put-folder-title-only": {"put_title_only": True},
    "current-drops": {"current_drops": True},
}
"""The other reading of each open question; `second` is all but those APART, commas combine several."""
HARMFUL = frozenset(
    {"delete-purges", "shared-selection", "uncounted-selection", "published-at-once", "no-status", "no-member-lists"}
    | {"no-members", "ids-ignored", "put-resets", "put-folder-title-only", "current-drops"}
)
"""Readings of undocumented writes under which one is to be refused, or replaced."""
APART = HARMFUL | {"moved-parts", "rich-search", "no-tags", "weak-tags", *(f"bulk-{word}" for word in BULKS)}


def options_of(given: Mapping[str, object]) -> Options:
    """Options from what an emulator was given. Raises ValueError on an unknown option or variant."""
    known = {field.name for field in fields(Options)}
    given = dict(given)
    chosen: dict[str, object] = {}
    for name in filter(None, str(given.pop("variant", "") or "").split(",")):
        chosen |= _variant(name.strip())
    unknown = sorted(set(given) - known)
    if unknown:
        raise ValueError(f"unknown options: {', '.join(unknown)}; known: variant, {', '.join(sorted(known))}")
    chosen |= {key: tuple(value) if isinstance(value, list) else value for key, value in given.items()}
    return replace(Options(), **chosen)  # type: ignore[arg-type]


def _variant(name: str) -> Mapping[str, bool | str]:
    if name == "second":
        return {key: value for word, part in VARIANTS.items() if word not in APART for key, value in part.items()}
    if name not in VARIANTS:
        raise ValueError(f"unknown variant {name!r}; one of second, {', '.join(VARIANTS)}")
    return VARIANTS[name]


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split("."))
