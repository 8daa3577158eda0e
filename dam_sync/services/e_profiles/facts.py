"""Numbers, error rules and open questions of service E, each with its source. Nothing here does anything."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from dam_sync.http.error_rules import ErrorRule
from dam_sync.model.assumptions import AssumedWrite, Assumption
from dam_sync.model.capabilities import YES, Capabilities, Feature, LinkAccess, Support
from dam_sync.model.costs import Cost, CostPart, Costs
from dam_sync.model.errors import (
    Conflict,
    ContractBroken,
    Denied,
    InvalidValue,
    NotFound,
    Rejected,
    SessionGone,
    TooLarge,
    Unsupported,
)
from dam_sync.model.limits import MIB, Lifetimes, Limits, OrphanRetention, Pace, PartBounds, SmallFile
from dam_sync.model.naming import Naming

NAME = "e_profiles"
API_PATHS = ("/v2",)  # wire E 1: below the base URL
TENANT_PATHS = ("/api/rest", "/api", "/allowaccess", "/mcp")  # wire E 1, 1.2: below the URL of the tenant

PAGE = 100  # spec 002, Limits, Service E: `limit` at most 100
REACH = 10_000  # spec 002, Limits, Service E: offset at most 10,000; wire E 13: offset + limit stays below
COLLECTION_REACH = 9_999  # spec 002, Limits, Service E: collections list
RATE = 50.0  # spec 002, Limits, Service E: calls per second, over v1 and v2 (wire E 7)
SELF_THROTTLE = 40.0  # wire E 7: 40 calls/s over all workers of a tenant
AT_ONCE = 16  # no number shown for calls; spec 002, Limits: up to 40 concurrent chunk operations
CHUNKS_MOST = 40  # spec 002, Limits, Service E: concurrent chunk operations; no more calls at once, whatever is asked
RESET_MOST = 300.0  # seconds; the limit is one of a second (wire E 7), so a longer pause is a clock that is wrong
SINGLE_BYTES = 20_000_000  # wire E 6.2: largest single form upload not shown; well below its chunk threshold
FORM_BYTES = 5_000_000_000  # wire E 13: without chunks up to 5 GB
LARGEST_BYTES = 500_000_000_000  # spec 002, Limits, Service E: 500 GB per file
CHUNK_BYTES = 16 * MIB  # wire E 13: parts of 8 MiB to 95,000,000 bytes fit both readings of MB
LEAST_CHUNK = 8 * MIB
FACET_VALUES = 25  # spec 002, Limits, Service E: values per facet
COUNTED_FIELDS = 200  # fields whose values are counted, by one call each
MOST_CHUNK = 95_000_000
MOST_CHUNKS = 10_000  # spec 002, Limits, Service E
CHUNKS_AT_ONCE = 4  # spec 002, Limits, Service E: up to 40; memory is dearer than time
CHUNK_PAUSES = (1.0, 2.0, 4.0, 8.0, 15.0)  # seconds before a chunk that never arrived is sent again; wire E 7
SESSION_LIFE = timedelta(days=7)  # spec 002, States, Service E
FILE_LIFE = timedelta(days=6)  # wire E 6.3: assume usable until the session ends
LINK_LIFE = timedelta(hours=12)  # wire E 4: about 12 h, the `Expires` of each link decides
LINK_RESERVE = timedelta(minutes=15)  # wire E 4: renew when less remains
LINKS_KEPT = 20_000  # signed links held in memory at most
LINK_RENEWALS = 2  # wire E 4: renew at most twice, then fail the asset
LAG = timedelta(minutes=2)  # wire E 6.8: index lag not shown, wait at least 2 min before concluding absence
OVERLAP = timedelta(hours=1)  # wire E 2.5: a delta overlaps by at least 1 h
TICK = timedelta(seconds=1)  # wire E 1.5: timestamps have second precision
AHEAD = timedelta(days=1)  # upper bound of an enumeration: no upload is later, whatever the clocks say
EPOCH = datetime(1990, 1, 1, tzinfo=UTC)  # before any tenant began
FRESH_SECONDS = 60.0  # wire E 6.2: a fresh id may respond with 404, 409 or 5xx for about a minute
FRESH_WAITS = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0)  # between asking again for a fresh id; together FRESH_SECONDS
PROCESSING_SECONDS = 3.0  # wire E 6.2: an upload is verified before it is complete; asked no sooner
FETCH_LIFE = timedelta(hours=2)  # spec 002, Upload: `url` is public; for how long is not shown, as for C
FETCH_SECONDS = 600.0  # assumption 31: a file that is fetched before the response has come by then, and
FETCH_RATE = 1_000_000  # so many bytes a second
LEAST_FETCH_SECONDS = 60.0  # for which a later run waits, however long earlier ones did
PENDING_SECONDS = 1800.0  # wire E 13: pending beyond 30 min means queued
ASKED_SINGLY = 2  # new assets whose state is requested one by one rather than by a listing
TAKEN_SECONDS = 120.0  # wire E 6.7: a new version is taken up seconds after its upload; then it is queued, or stuck
PENDING_WAITS = (2.0, 4.0, 8.0, 15.0, 30.0, 60.0)  # between asking for the state of an upload, the last repeated
TRASH_PAUSES = (1.0, 2.0, 4.0, 8.0, 15.0)  # seconds before an asset is read whose removal got no response; wire E 7
FAR_RELEASE = datetime(2999, 1, 1, tzinfo=UTC)  # hides an asset that no release date does not hide
SCROLL_TRIES = 3  # a scroll that lost a page is begun again so often
CONTAINER_LEVELS = 40  # no category tree is deeper; bounds the walk
FILENAME = 128  # wire E 8: filenames of at most 128 characters
NAMING = Naming(frozenset('<>:"/\\|?*,+%#()[]{};'), FILENAME)  # wire E 8: to be avoided, in containers too
VALUE_LETTERS = {"text_short": 255, "text": 1280}  # spec 002, Resources, Service E: interface families; wire E 5.1

EXPAND = "asset_properties,file_properties,metadata,metadata_info,security,tags,ai_tags"  # wire E 3.2: migration set
NEWER_EXPANDS = frozenset({"tags", "ai_tags"})  # wire E 10: unknown before the release of 2026-06
STATUS = "status"  # wire E 6.2: how far the last upload is; read of assets that may get another version
EMBEDS = "embeds"
EXPAND_LINKS = f"{EXPAND},{EMBEDS}"  # wire E 3.1: 30 KB an asset, so only where asked for
EXPAND_VERSIONS = "file_properties"  # wire E 3.3
TOKEN_PATH = "/v2/oauth/access-token"  # spec 002, Authentication, Service E
COUNTED = ("report_start_timestamp", "report_end_timestamp")  # the time that the counter of calls covers (wire E 1.4)
TOGGLES = "GET /v2/toggles"
TOGGLE_HEADER = "X-Vendor-Api-Toggle"  # spec 002, What the service does, Service E
TOGGLES_DECIDE = {  # wire E 6.7: by toggle, what of a job with file versions it decides
    "conflicted-upload-metadata-type": "which metadata type an asset has after a new file version"
}
RATE_HEADER = "x-ratelimit-limit"  # spec 002, Limits, Service E: `50/second` was seen
RATE_UNITS = {"second": "1", "minute": "60", "hour": "3600"}  # in seconds

POLICIES = ("none", "file_only", "file_and_information")  # wire E 6.7
VERSIONING = frozenset({"file_only", "file_and_information"})

# Endpoint templates: keys of the call counters and of the texts of errors
SEARCH = "GET /v2/assets/search"
SCROLL = "GET /v2/assets/search/scroll"
ASSET = "GET /v2/assets/{id}"
VERSIONS = "GET /v2/assets/{id}/versions"
VERSION = "GET /v2/assets/{id}/versions/{version_id}"
V1_ASSET = "GET /api/rest/asset/uuid/{uuid}"
DOWNLOAD = "GET download link"
UPLOAD = "POST /v2/uploads"
CHUNK_START = "POST /v2/uploads/chunks/start"
CHUNK_PUT = "POST /v2/uploads/chunks/upload"
CHUNK_STATUS = "POST /v2/uploads/chunks/status"
CHUNK_COMPLETE = "POST /v2/uploads/chunks/complete"
PUT_METADATA = "PUT /v2/assets/{id}/metadata"
GET_SECURITY = "GET /v2/assets/{id}/security"
PUT_SECURITY = "PUT /v2/assets/{id}/security"
PUT_FILENAME = "PUT /v2/assets/{id}/filename"
HIDING = f"{PUT_SECURITY} without a release date"
UNEXPIRING = f"{PUT_SECURITY} without an expiration date"
ADD_TAGS = "PUT /v2/assets/{id}/tags/add"
REMOVE_TAGS = "POST /v2/assets/{id}/tags/remove"
TRASH = "DELETE /v2/assets/{id}"
GET_VOCABULARY = "GET /v2/metadata/{displayKey}/vocabulary"
ADD_TERM = "POST /v2/metadata/{displayKey}/vocabulary"
PUT_TERM = "PUT /v2/metadata/{displayKey}/vocabulary/{value}"
CATEGORY_TREE = "GET /api/rest/category/categoryTree"
ADD_CATEGORY = "POST /api/rest/category"
PUT_CATEGORY = "PUT /api/rest/category/uuid/{uuid}"
FILL_CATEGORY = "POST /api/rest/category/assets"
ADD_COLLECTION = "POST /api/rest/collection"
FILL_COLLECTION = "POST /api/rest/collection/assets"

WEBHOOKS_PATH = "/v2/webhooks/configurations"
WEBHOOKS = f"GET {WEBHOOKS_PATH}"
ADD_WEBHOOK = f"POST {WEBHOOKS_PATH}"
CHANGE_WEBHOOK = f"PUT {WEBHOOKS_PATH}/{{id}}"
DROP_WEBHOOK = f"DELETE {WEBHOOKS_PATH}/{{id}}"
PING_WEBHOOK = f"GET {WEBHOOKS_PATH}/{{id}}/ping"
WEBHOOK_PAGE = 10  # wire E 8: at most
SECRET_MOST = 256  # spec 002, Resources, Service E: characters of `secret_key`
SIGNATURE_HEADER = "X-Svc-Signature"  # wire E 0: not shown, configurable
EVENTS = (  # spec 002, Events, Service E
    *(f"asset_{what}" for what in ("created", "deleted", "version_added")),
    *(f"asset_{what}_updated" for what in ("categories", "tags", "asset_groups")),
    *(f"asset_{what}_updated" for what in ("release_date", "expiration_date", "metadata_value")),
)

BOUNDS = PartBounds(
    preferred=CHUNK_BYTES, least=LEAST_CHUNK, most=MOST_CHUNK, count=MOST_CHUNKS, at_once=CHUNKS_AT_ONCE
)
LIMITS = Limits(
    page=PAGE,
    pace=Pace(per_second=SELF_THROTTLE, at_once=AT_ONCE, storage_at_once=AT_ONCE // 2),
    reach=REACH,
    single_bytes=SINGLE_BYTES,
    parts=BOUNDS,
    largest_bytes=LARGEST_BYTES,
    lifetimes=Lifetimes(upload=SESSION_LIFE, link=LINK_LIFE, scroll=timedelta(seconds=60)),
    precision=TICK,
    lag=LAG,
    small_file=SmallFile(downloads=2),  # wire E 4: the link redirects to storage
    member_batch=100,  # wire E 5.4: maximum not shown, batches of 100
    filename=FILENAME,
    queue_window=timedelta(seconds=PENDING_SECONDS),
    undated=("names of terms",),  # wire E 2.5: not known to move the date
)

CHUNKS_NEEDED = "let chunks be used: drop `chunked: off` from the options"
_CHUNKS = "set `options: {chunked: off}` in the job, or ask the service's support for chunked uploads"
_WITHOUT_CHUNKS = (400, range(402, 407), range(409, 425), range(426, 429), range(430, 500), 501)
_LINK = "the download link was refused though it was fresh; give the integration user the right to order originals"
_WEBHOOKS = "an administrator has to switch on webhooks and give the role of the user the right to manage them"
_RIGHTS = "give the integration user the right on this asset's groups, then `errors JOB --retry`"

RULES = (
    # spec 002, Errors, Service E: chunked upload on an account without it; with which status is not shown
    *(ErrorRule(status, Unsupported, operation=CHUNK_START, hint=_CHUNKS) for status in _WITHOUT_CHUNKS),
    # wire E 6.3: session expired or unknown
    ErrorRule(400, SessionGone, operation="POST /v2/uploads/chunks/*"),
    ErrorRule(404, SessionGone, operation="POST /v2/uploads/chunks/*"),
    # wire E 4: expired or tampered signature; renewed by the reader
    *(ErrorRule(status, NotFound, operation=DOWNLOAD, hint=_LINK) for status in (400, 401, 403, 404, 410)),
    # wire E 2.2: expired or unknown scroll; the reader begins it again
    ErrorRule(400, SessionGone, operation=SCROLL),
    ErrorRule(404, SessionGone, operation=SCROLL),
    # wire E 2.1: our own query, limit or offset was refused
    ErrorRule(400, ContractBroken, operation="GET /v2/assets/search*"),
    # wire E 7: rights are per asset group, so a refused write concerns one asset
    ErrorRule(403, Rejected, operation="PUT /v2/assets/*", hint=_RIGHTS),
    ErrorRule(403, Rejected, operation="POST /v2/assets/*", hint=_RIGHTS),
    ErrorRule(403, Rejected, operation="DELETE /v2/assets/*", hint=_RIGHTS),
    ErrorRule(403, Rejected, operation="GET /v2/assets/{id}*", hint=_RIGHTS),
    ErrorRule(403, Rejected, operation=V1_ASSET, hint=_RIGHTS),
    ErrorRule(403, Rejected, operation=FILL_CATEGORY, hint=_RIGHTS),
    ErrorRule(403, Rejected, operation=FILL_COLLECTION, hint=_RIGHTS),
    ErrorRule(
        409,
        Conflict,
        operation="PUT /v2/assets/{id}/metadata",
        hint="map a value to every required field of the metadata type",
    ),
    ErrorRule(
        409,
        Conflict,
        operation=UPLOAD,
        hint="the target has a file of this name and refuses another; rename one of them, or let the upload profile "
        "add versions",
    ),
    # wire E 10: the feature is off, or the role lacks the right
    *(ErrorRule(status, Denied, operation=WEBHOOKS, hint=_WEBHOOKS) for status in (403, 404)),
    ErrorRule(404, NotFound),
    ErrorRule(409, Conflict),
    ErrorRule(413, TooLarge, hint=CHUNKS_NEEDED),
    ErrorRule(400, InvalidValue),
)

# spec 002, Resources, Service E; wire E 3 (read), 6 (write)
FEATURES: Mapping[Feature, Support] = {
    Feature.VERSIONS: Support("yes", "if the upload profile adds them"),
    Feature.ATTACHMENTS: Support("by option; one call per asset", ""),
    Feature.TEXT: Support("yes", "up to 1,280 characters"),
    Feature.LONG_TEXT: YES,
    Feature.HTML: Support("", "as text"),
    Feature.NUMBER: YES,
    Feature.FLAG: Support("a checkbox of one value, or of yes and no", "a checkbox of one value, or of yes and no"),
    Feature.DATE: YES,
    Feature.INSTANT: Support("", "as text; in date fields at midnight only"),
    Feature.TERM: YES,
    Feature.PLACE: Support("", "address or point, as text"),
    Feature.PERSON: Support("", "the name"),
    Feature.EMAIL: Support("", "as text"),
    Feature.URL: Support("", "as text"),
    Feature.MULTIPLE: Support("in lists and checkboxes", "in lists and checkboxes"),
    Feature.TERMS: Support("yes", "added"),
    Feature.CATEGORY: Support("yes", "yes; forbidden characters become full-width ones"),
    Feature.COLLECTION: Support("yes", "yes; created as private ones"),
    Feature.TAGS: YES,
    Feature.MACHINE_TAGS: Support("yes", ""),
    Feature.STATUS: Support("published, archived, trash", ""),
    Feature.RELEASE: YES,
    Feature.EXPIRY: YES,
    Feature.GROUPS: Support("yes", "those that the tenant has, at least one"),
    Feature.CREATED: Support("the first upload", ""),
    Feature.LINKS: Support("embed links, by option", ""),
    Feature.TRASH: Support("yes", "moved there, never purged"),
    Feature.FILELESS: Support(why="an asset is created by uploading its file"),  # wire E 6.2
    Feature.RESTRICTIONS: Support("compared by the exposure guard", ""),
    Feature.FILENAME: YES,
    Feature.SAME_NAMES: Support(why="an upload under an existing file name is a conflict or a version"),  # wire E 6.7
    Feature.CLOSED: Support(
        "yes", "a new one if a profile of its type releases nothing, or `closed_profile` names one without groups"
    ),
    Feature.TIME_OF_DAY: YES,
    Feature.OUTER_WHITESPACE: Support(why="the service trims texts"),  # wire E 6.4
    Feature.RENAMED_TERMS: Support("", "yes", "values of lists have no ids"),  # wire E 5.3
    Feature.RENAMED_CONTAINERS: Support("yes", "categories; no call renames a collection"),  # wire E 5.4, 5.5
    Feature.MOVED_CONTAINERS: Support("categories", "categories"),
}
# Parts whose costs only this service has
SECURITY = "an asset whose security is written"
MERGED_SECURITY = "an update of some of it"
PROOF = "the first use in a run of a form that no document shows"
TERM_PROOF = "the first term that is renamed"

COSTS: Costs = (
    *(Cost(part, UPLOAD) for part in (CostPart.CREATE, CostPart.VERSION)),  # wire E 6.2
    Cost(CostPart.CHUNKED, CHUNK_START),  # wire E 6.3
    Cost(CostPart.CHUNK, CHUNK_PUT),
    Cost(CostPart.CHUNKED, CHUNK_COMPLETE),
    Cost(CostPart.CREATE, ASSET),  # wire E 13: whether it became a version of another asset
    Cost(CostPart.FETCHED, ASSET),  # spec 002, Upload: whether the file is there, which comes at once
    Cost(CostPart.VERSION, ASSET, unread=True),  # wire E 6.7: what it is before
    Cost(CostPart.VERSION, ASSET),  # wire E 6.2: whether the version is there
    Cost(CostPart.FIELDS, PUT_METADATA),  # wire E 6.4
    Cost(MERGED_SECURITY, GET_SECURITY),  # wire E 6.5: the whole is written
    Cost(SECURITY, PUT_SECURITY),
    Cost(CostPart.TAGS_ADDED, ADD_TAGS),  # wire E 6.6
    Cost(CostPart.TAGS_REMOVED, REMOVE_TAGS),
    Cost(CostPart.FILENAME, PUT_FILENAME),
    Cost(PROOF, ASSET),  # read back
    Cost(CostPart.TRASHED, TRASH),
    Cost(CostPart.TERM, ADD_TERM),  # wire E 5.3
    Cost(CostPart.RENAMED_TERM, PUT_TERM),
    Cost(CostPart.RENAMED_TERM, GET_VOCABULARY),
    *(Cost(TERM_PROOF, call) for call in (SEARCH, ASSET)),  # an asset that has the value is read back
    Cost(CostPart.CONTAINER, ADD_CATEGORY, kind="category"),  # wire E 5.4
    Cost(CostPart.CONTAINER, ADD_COLLECTION, kind="collection"),
    Cost(CostPart.RENAMED_CONTAINER, PUT_CATEGORY),
    Cost(CostPart.MEMBERS, FILL_CATEGORY, kind="category"),
    Cost(CostPart.MEMBERS, FILL_COLLECTION, kind="collection"),
)
CAPABILITIES = Capabilities(
    features=FEATURES,
    limits=LIMITS,
    costs=COSTS,
    renames=frozenset({"category"}),
    moves=frozenset({"category"}),
    fetches=FETCH_LIFE,
    links=LinkAccess(dates=True),  # wire E 4: they die at expiry; that they ask for groups is not shown
)

LEAVES = (
    OrphanRetention("an upload session with its chunks, an uploaded file without an asset", timedelta(days=7), "E 6.3"),
)

ASSUMPTIONS = (
    Assumption(1, "a query with a misspelt field gives other hits; counts are compared before use", "2.4"),
    Assumption(2, "whether range ends are included is not shown: slices overlap by a second on both readings", "2.3"),
    Assumption(3, "the upload timestamp searched by DateAdded never changes", "2.3"),
    Assumption(4, "lastEditDate moves on metadata, security, tags, name, version and trash, not on membership", "2.5"),
    Assumption(5, "created_date equal to file_upload_date means a single version", "3.6"),
    Assumption(6, "/versions lists asset objects with `items`; the newest is known by current_version or dates", "3.3"),
    Assumption(7, "an archived asset is known only by its absence from a search without include_archived", "2.6"),
    Assumption(8, "a category's listing may include its children's assets: tried out, then subtracted", "3.5"),
    Assumption(9, "a link of an older version comes from /versions/{version_id}", "4"),
    Assumption(10, "the CDN serves ranges, or the whole file from its start", "4"),
    Assumption(
        11, "checkboxes and selection lists have a vocabulary under their display key, open to new values", "5.3"
    ),
    Assumption(12, "a checkbox field with one value, or with yes and no, is a flag", "5.1"),
    Assumption(13, "adding a value that exists is refused or changes nothing; the list is read first", "5.3"),
    Assumption(14, "titles of categories below one parent are not unique; one writer, who looks first", "5.4"),
    Assumption(15, "adding or removing a member twice changes nothing; 100 a call", "5.4"),
    Assumption(16, "the profile's conflict policy cannot be read: the option version_policy says it", "6.7"),
    Assumption(17, "an upload under an existing name returns the id of the existing asset", "6.7"),
    Assumption(18, "file names are compared without regard to case", "6.7"),
    Assumption(19, "a search for the marker shows a created asset within two minutes", "6.8"),
    Assumption(20, "re-sending a chunk replaces it; the status call lists chunk_number and tag", "6.3"),
    Assumption(21, "a file_id is usable as long as its session, and each use makes an asset or version", "6.3"),
    Assumption(22, "a fresh id may respond with 404, 409 or 5xx for about a minute", "6.2"),
    Assumption(23, "the tags calls take `tags`, a list; adding twice changes nothing", "6.6"),
    Assumption(24, "a second DELETE of a trashed asset is harmless; the permanent form is never used", "6.6"),
    Assumption(25, "a patch clears an expiration that the source gave before, and groups only change", "6.5"),
    Assumption(
        26,
        "a release date of null hides an asset, so it is sent for closed ones alone: one that the source takes back "
        "becomes now",
        "6.5",
    ),
    Assumption(
        27,
        "a profile without immediate release, and without a release date that has come, lets nobody see an upload",
        "5.6",
    ),
    Assumption(
        28,
        "every asset group is a group, also one called public, unless the option `everybody` names it; collections "
        "and categories do not change who sees an asset",
        "5.6",
    ),
    Assumption(29, "a value of a list that is renamed is renamed on all assets", "5.3"),
    Assumption(
        30,
        "a `url` that cannot be read is refused, or its upload never becomes complete; either way its asset can be "
        "trashed, and then its file name is free",
        "6.2",
    ),
    Assumption(
        31,
        "a file may be fetched from its `url` before the response, within 10 minutes and a second for each MB",
        "6.2",
    ),
    Assumption(
        32, "opt-in behaviors are listed with name and description, and a requested one that is not has no effect", "10"
    ),
    Assumption(
        33,
        "an asset that has a date and no group is there for users with all rights, who can write its rights",
        "6.5",
    ),
)

ASSUMED_WRITES = (
    AssumedWrite(
        30,
        "`POST /v2/uploads` with `url`, if the job says `policy: {bytes: pull}`",
        "waiting for each upload until it is complete, with the size of the source; after `fetch_seconds`, or with "
        "another size, its asset goes to the trash, and the file is sent as usual",
    ),
    AssumedWrite(
        23,
        "`PUT .../tags/add` and `POST .../tags/remove` of `{tags: [...]}`",
        "reading the tags of the first of each in a run, or finding it by a search for an added one where assets show "
        "no tags; without effect, or where neither shows it, the asset is parked",
    ),
    AssumedWrite(
        26,
        "`PUT .../security` with a release date of null hides an asset",
        "reading back the first of a run, before another is hidden; if the date is still there, or not shown to be "
        "gone, "
        "the asset is parked; if the asset is released then, it gets a date far ahead, and the run stops",
    ),
    AssumedWrite(
        25,
        "`PUT .../security` with an expiration date of null clears it",
        "reading back the first of a run; if the date is still there, or not shown to be gone, the asset is parked",
    ),
    AssumedWrite(
        16,
        "`POST /v2/uploads` under a name that no asset has makes an asset",
        "reading each before its rights and tags are written; one that has other versions, or not our marker, is "
        "parked",
    ),
    AssumedWrite(
        17,
        "`POST /v2/uploads` under an existing name adds a version",
        "waiting for each until the asset shows it; an upload that became another asset, or is queued, parks it",
    ),
    AssumedWrite(
        27,
        "`POST /v2/uploads` by a profile that releases nothing is seen by nobody",
        "the profile's own words, and reading each upload through it, the first one before another; one that is "
        "released "
        "is hidden, and no more are uploaded through it; rights are written last",
    ),
    AssumedWrite(
        21, "`POST /v2/uploads` of a `file_id`, once", "looking for the asset by its marker before it is sent again"
    ),
    AssumedWrite(
        29,
        "`PUT .../vocabulary/{value}` renames a value on all assets",
        "reading the list after each, and before and after the first of a run an asset that has the value; if it keeps "
        "the old one, the list gets it back, and none is renamed",
    ),
    AssumedWrite(
        24,
        "`DELETE /v2/assets/{id}` moves an asset to the trash",
        "reading the first of a run afterwards, before another is removed: if it cannot be read then, the run stops; "
        "after "
        "a lost response the asset is read before it is removed again",
    ),
    AssumedWrite(
        15, "`POST .../category/assets` and `.../collection/assets` of 100 assets", "`verify`; refused, half as many"
    ),
)
