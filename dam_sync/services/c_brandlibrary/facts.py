"""Numbers, error rules and assumptions of service C, each with its source. Data only."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from dam_sync.http.error_rules import ErrorRule
from dam_sync.model.assumptions import AssumedWrite, Assumption
from dam_sync.model.capabilities import YES, Capabilities, Feature, LinkAccess, MembershipWrite, Support
from dam_sync.model.costs import Cost, CostPart, Costs
from dam_sync.model.errors import ContractBroken, Denied, NotFound, TooLarge, Unsupported
from dam_sync.model.limits import MIB, MOST_LEARNED, Lifetimes, Limits, OrphanRetention, Pace, PartBounds, SmallFile

NAME = "c_brandlibrary"
API_PATHS = ("/api/v4", "/api/v1")  # wire C 1: below the base URL, the second for webhooks

COUNTED_FIELDS = 200  # keys whose values are counted, by one call each
COUNTED_SECTIONS = 100  # sections whose assets are counted, by one call each
PAGE = 500  # wire C 11.35: prefer per=200..500 with several includes
LONG_PAGE = 3000  # spec 001, Limits, Service C: per at most 3,000
CHANGED_PAGE = 200  # wire C 11.35: the least that is advised; most runs of a schedule see fewer changes
RECENT_PAGE = 100  # wire C 6.9: the search for a token reads the newest assets by 100
REACH = 10_000  # wire C 2.2, 8: the last page is not shown; stay at 10,000 rows of a listing
CLEARLY = 0.9  # part of the reach up to which a count of a moment ago is believed
AT_ONCE = 4  # wire C 8: threshold not shown; start with 4, adaptive
MADE_AT_ONCE = 256  # assets written at once, so that their creates and values go together (wire C 6.3, 6.7)
CREATE_BATCH = 20  # wire C 6.3: assets in one create, at most
CALL_SPAN = timedelta(minutes=2)  # within which one call creates all its assets, by the clock of the service
CLAIMS_KEPT = 20_000  # assets of which it is remembered for which source asset they were created
CREATE_JOIN_SECONDS = 1.0  # for those who begin the next asset, at least
JOIN_PART = 0.3  # of the wait for a new file, which a group of its own would add
VALUE_JOIN_SECONDS = 0.1  # for those who were created by the same calls
FILE_JOIN_SECONDS = 0.5  # for those who get another version of their file
LIST_SECONDS = 120.0  # wire C 11.35: read timeout of lists
SINGLE_BYTES = 200_000_000  # spec 001, Limits, Service C: single request below 200 MB from a workstation
CHUNK_BYTES = 16 * MIB  # wire C 8: 8 to 64 MiB
CHUNK_GRID = 262_144  # wire C 6.2: every chunk but the last a multiple of it
UPLOAD_LIFE = timedelta(hours=23)  # spec 001, Limits, Service C: upload URLs expire after 24 h
OBJECT_LIFE = timedelta(days=6)  # wire C 6.9: purged 7 days after the upload; older than 6 days is sent again
FRESH_UPLOADS = 2  # wire C 6.1: fresh upload requests after a refusal, at most
ATTACHMENTS = 75  # spec 001, Limits, Service C: attachments of one asset
LINK_LIFE = timedelta(hours=24)  # wire C 4: observed
LINK_RESERVE = timedelta(minutes=15)  # renew when less remains
MADE_KEPT = 1_000  # assets of which it is remembered when they were created, for those that get a version at once
LINKS_KEPT = 20_000  # signed links held in memory at most
LINK_RENEWALS = 2  # wire C 4: re-read the attachment, then fail it
LAG = timedelta(seconds=60)  # wire C 6.9: recovery_wait, must exceed the lag of the index
LAG_WAITS = (2.0, 4.0, 8.0, 16.0, 30.0)  # between looks for a token, the last repeated
ASKED_SINGLY = 5  # assets whose being there is requested one by one rather than by listings of ids
SETTLES = timedelta(minutes=15)  # wire C 6.9: duplicates go about 10 minutes after; look again after 15 or more
OVERLAP = timedelta(minutes=10)  # wire C 2.3: index lag plus clock skew
RECENT = timedelta(hours=1)  # how far back the newest assets are read for a marker
EARLIER = timedelta(minutes=5)  # wire C 6.9: read back to t0 - 5 min
RECENT_PAGES = 30  # pages of the newest assets, at most
SAMPLE_SECONDS = 60.0  # how long the sample of the assets that changed last shows how many there are
PROOF_SECONDS = 10.0  # an empty list is believed so long after the key was proven
LAST = timedelta(milliseconds=1)  # spec 001, Resources: timestamps carry milliseconds; ranges include their ends
DAY = timedelta(days=1)  # wire C 2.2: day precision avoids the reserved colon
TICK = timedelta(seconds=1)
AHEAD = timedelta(days=1)  # upper bound of an enumeration by date: no asset is later, whatever the clocks say
EPOCH = datetime(1990, 1, 1, tzinfo=UTC)  # before any library began
READY_WAITS = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)  # wire C 6.3: between looks at a new file, the last repeated
FIRST_LOOK = 8.0  # before the first look at a new file that is waited for; small ones take 5 s (wire C 6.3)
FETCH_LIFE = timedelta(hours=2)  # wire C 6.3: a URL that is imported stays reachable "a couple of hours"
LEAST_FETCH_SECONDS = 60.0  # for which a later run waits, however long earlier ones did
READY_SECONDS = 1800.0  # wire C 6.3: 160 s observed for 1.5 GB
PROCESSING_SECONDS = 30.0  # how long a file that is still worked on is waited for by a reader
LATE_WAIT = 10.0  # our choice: until a call whose response was lost has arrived, if it still does
TAG_WAITS = (10.0, 10.0, 20.0, 30.0, 60.0, 120.0)  # wire C 6.6: tags are deleted asynchronously
SECTION = "dam-sync"  # where assets without a section go, unless the job says otherwise
MARK_KEY = "dam_sync_source_id"  # wire C 6.9
VALUE_BATCH = 100  # wire C 8: values in one call

TYPES: Mapping[str, str] = {  # wire C 3.1; spec 001, Resources, Service C: asset types
    "generic_files": "GenericFile",
    "colors": "Color",
    "fonts": "Font",
    "external_media": "ExternalMedium",
    "people": "Person",
    "presses": "Press",
    "texts": "Text",
}
EVENTS = ("asset.create", "asset.update", "asset.delete")  # spec 001, Events, Service C
FILE_TYPE = "GenericFile"  # wire C 5.2: use it for sections loaded by the API
ROLES = ("admin", "owner")  # wire C 1: others do not see pending, draft and expired assets

# Endpoint templates: keys of the call counters and of the texts of errors
WHOAMI = "GET /api/v4/users/whoami"
ORGANIZATIONS = "GET /api/v4/organizations"
LIBRARIES = "GET /api/v4/libraries"
LIBRARY = "GET /api/v4/libraries/{id}"
PERMISSIONS = "GET /api/v4/libraries/{id}/user_permissions"
SECTIONS = "GET /api/v4/libraries/{id}/sections"
ADD_SECTION = "POST /api/v4/libraries/{id}/sections"
COLLECTIONS = "GET /api/v4/libraries/{id}/collections"
ADD_COLLECTION = "POST /api/v4/libraries/{id}/collections"
PUT_COLLECTION = "PUT /api/v4/collections/{id}"
LABELS = "GET /api/v4/libraries/{id}/labels"
ADD_LABEL = "POST /api/v4/libraries/{id}/labels"
KEYS = "GET /api/v4/libraries/{id}/custom_field_keys"
ADD_KEY = "POST /api/v4/libraries/{id}/custom_field_keys"
PUT_KEY = "PUT /api/v4/custom_field_keys/{id}"
ADD_VALUES = "POST /api/v4/custom_field_keys/{id}/custom_field_values"
PUT_VALUE = "PUT /api/v4/custom_field_values/{id}"
DELETE_VALUE = "DELETE /api/v4/custom_field_values/{id}"
LIBRARY_ASSETS = "GET /api/v4/libraries/{id}/assets"
SECTION_ASSETS = "GET /api/v4/sections/{id}/assets"
LABEL_ASSETS = "GET /api/v4/labels/{id}/assets"
LIBRARY_ATTACHMENTS = "GET /api/v4/libraries/{id}/attachments"
SECTION_ATTACHMENTS = "GET /api/v4/sections/{id}/attachments"
ASSET = "GET /api/v4/assets/{id}"
ASSET_ATTACHMENTS = "GET /api/v4/assets/{id}/attachments"
ASSET_TAGS = "GET /api/v4/assets/{id}/tags"
ADD_TAGS = "POST /api/v4/assets/{id}/tags"
DELETE_TAGS = "DELETE /api/v4/async/tags/assets/{id}"
ADD_TO_LIBRARY = "POST /api/v4/libraries/{id}/assets"
ADD_TO_COLLECTION = "POST /api/v4/collections/{id}/assets"
PUT_ASSET = "PUT /api/v4/assets/{id}"
DELETE_ASSET = "DELETE /api/v4/assets/{id}"
ATTACHMENT = "GET /api/v4/attachments/{id}"
PUT_ATTACHMENT = "PUT /api/v4/attachments/{id}"
UPLOAD_REQUEST = "GET /api/v4/upload_requests"
SUBSCRIPTIONS = "GET /api/v1/webhooks"  # wire C 9: a service of its own
SUBSCRIBE = "POST /api/v1/webhooks"
UNSUBSCRIBE = "DELETE /api/v1/webhooks/{id}"
SEND_TEST = "POST /api/v1/webhooks/send"
DOWNLOAD = "GET download link"
SEND_FILE = "PUT upload link"
SEND_RANGES = "PUT upload session"
START_RANGES = "POST upload session"
END_RANGES = "DELETE upload session"

LIMITS = Limits(
    page=PAGE,
    # wire C 8: no rate is shown
    pace=Pace(per_second=None, at_once=AT_ONCE, storage_at_once=AT_ONCE, most_at_once=MOST_LEARNED),
    reach=REACH,
    single_bytes=SINGLE_BYTES,
    parts=PartBounds(preferred=CHUNK_BYTES, least=CHUNK_GRID, at_once=1),  # wire C 6.2: in sequence
    largest_bytes=None,  # wire C 8: not shown
    lifetimes=Lifetimes(upload=UPLOAD_LIFE, link=LINK_LIFE),
    precision=timedelta(milliseconds=1),  # spec 001, Resources, Service C: dates with milliseconds
    lag=LAG,
    member_batch=1,
    dedup_window=SETTLES,
    undated=("sections", "collections", "deletions", "perhaps tags and fields"),  # wire C 2.2, 2.3: a full listing does
    lists_whole=True,
    processing_time=timedelta(seconds=FIRST_LOOK),  # wire C 6.3: small files take 5 s, and are checked meanwhile
    small_file=SmallFile(uploads=1),  # wire C 4, 6.1: a signed link, and one to upload to
    combined={  # wire C 6.3, 8
        ADD_VALUES: f"up to {VALUE_BATCH} values of one field",
        **dict.fromkeys(
            (ADD_TO_LIBRARY, ADD_TO_COLLECTION),
            f"up to {CREATE_BATCH} assets, one of which takes a `{PUT_ASSET}` as well",
        ),
        LIBRARY_ASSETS: "the assets that are ready at the same time",
    },
)

_LINK = "the download link was refused although it was new; the original of a view-only asset is not available"
_GONE = "it was deleted, or this key lost access to it (the service says 403 to both)"

RULES = (
    # wire C 7, spec 001, Errors, Service C: 403 for what was deleted; the key itself is proven by `whoami`
    *(
        ErrorRule(status, NotFound, operation=f"{method} /api/v4/{thing}/*", hint=_GONE)
        for status in (403, 404)
        for method in ("GET", "PUT", "POST", "DELETE")
        for thing in ("assets", "attachments", "custom_field_values", "async/tags/assets")
    ),
    # wire C 11.3: the same of a container or key, which takes nothing from the rest of the library; sections cannot be
    # deleted, so that a refusal of a section's list stays one of the key
    *(
        ErrorRule(403, NotFound, operation=f"{method} /api/v4/{thing}/*", hint=_GONE)
        for method in ("GET", "PUT", "POST", "DELETE")
        for thing in ("collections", "labels", "custom_field_keys")
    ),
    # wire C 4: expired or replaced; renewed by the reader
    *(ErrorRule(status, NotFound, operation=DOWNLOAD, hint=_LINK) for status in (400, 401, 403, 404, 410)),
    # wire C 7: our own parameters were refused
    *(ErrorRule(400, ContractBroken, operation=operation) for operation in (LIBRARY_ASSETS, SECTION_ASSETS, KEYS)),
    ErrorRule(403, Unsupported, operation=ADD_LABEL, hint="the account has no labels: leave them out"),  # wire C 10
    ErrorRule(403, Denied, operation="* /api/v1/webhooks*", hint="the user of the key may not subscribe to webhooks"),
    ErrorRule(413, TooLarge),
)

FEATURES: Mapping[Feature, Support] = {
    Feature.FILELESS: YES,
    Feature.VERSIONS: Support("", "yes; only the current one can be read"),
    Feature.ATTACHMENTS: Support("yes", "up to 75 files per asset, the first one included"),
    Feature.TEXT: Support("yes, any other value too", "yes, any other value as text"),
    Feature.TERM: YES,
    Feature.MULTIPLE: Support("as detected from a sample of assets", "yes"),
    Feature.TERMS: Support("yes", "added; to restricted lists if the job allows it"),
    Feature.COLLECTION: Support("yes", "one, when the asset is created"),
    Feature.SECTION: Support("one for each asset", "one, when the asset is created"),
    Feature.LABEL: Support("yes", ""),
    Feature.TAGS: YES,
    Feature.MACHINE_TAGS: Support("yes", ""),
    Feature.STATUS: Support("published, pending", "published, pending"),
    Feature.RELEASE: YES,
    Feature.EXPIRY: YES,
    Feature.CREATED: Support("yes", ""),
    Feature.LINKS: Support("CDN links, by option; one call per published asset", "", "the service creates its own"),
    Feature.RESTRICTIONS: Support("compared by the exposure guard", ""),
    Feature.FILENAME: YES,
    Feature.SAME_NAMES: YES,
    Feature.CLOSED: YES,  # wire C 1: assets that are not approved are not shown to ordinary users
    Feature.TIME_OF_DAY: YES,
    Feature.OUTER_WHITESPACE: Support("", "", "the service trims texts"),  # wire C 6.7
    Feature.RENAMED_TERMS: Support("", "", "values of lists have no ids, and lists only grow"),  # wire C 5.2
    Feature.RENAMED_CONTAINERS: Support("yes", "collections; no call changes a section"),  # wire C 5.2
    Feature.MOVED_CONTAINERS: Support("labels", "", "sections and collections have no levels"),
}
# Parts whose costs only this service has
CREATE_CALL, CREATE_CALL_IN = "a create, for up to 100 assets", "the same, in a collection"
SHARED_SEEN = "the first create for several assets"
VALUE_CALL = "values of one field, up to 100"
PUT = "an asset whose texts or dates are written after its create"
SEEN = "a look at a new asset, or at one that has got its first version"
LISTED = "a list of several of them that are ready at the same time"
NEW_MARKER = "the key of the marker, where the library has none"
CONTAINERS_UNREAD = "containers that were not read yet"
NEW_SECTION = "the section for assets without one"
READ = "an update that has to know what is there"
ATTRIBUTES = "a call with attributes of an asset"
VALUE_SET, VALUE_CLEARED = "a value that is written", "a field that is emptied"
PROOF = "the first use in a run of a form that is not known to work"
OLD_VERSION = "a version of an asset that was complete before"

COSTS: Costs = (
    Cost(CostPart.FILE, UPLOAD_REQUEST),  # wire C 6.1
    Cost(CREATE_CALL, ADD_TO_LIBRARY),  # wire C 6.3
    Cost(CREATE_CALL_IN, ADD_TO_COLLECTION),
    Cost(SHARED_SEEN, SECTION_ASSETS),  # assumption 21
    Cost(SEEN, ASSET),
    *(Cost(LISTED, LIBRARY_ASSETS), Cost(LISTED, ASSET, -1)),  # wire C 6.8: instead of the look at the first of them
    Cost(CostPart.FETCHED, ASSET),  # wire C 6.3: it is there at the second look, if not later
    Cost(VALUE_CALL, ADD_VALUES),  # wire C 6.7
    Cost(CostPart.TAGS_ADDED, ADD_TAGS),  # wire C 6.6
    *(Cost(CostPart.TAGS_REMOVED, call) for call in (ASSET_TAGS, DELETE_TAGS)),
    Cost(NEW_MARKER, KEYS, 2),  # wire C 5.2: before and after
    Cost(NEW_MARKER, ADD_KEY),
    *(Cost(CONTAINERS_UNREAD, call) for call in (SECTIONS, COLLECTIONS, LABELS)),
    Cost(NEW_SECTION, ADD_SECTION),
    Cost(READ, ASSET, unread=True),
    Cost(PROOF, ASSET),
    *(Cost(part, PUT_ASSET) for part in (PUT, ATTRIBUTES)),  # wire C 6.4
    Cost(VALUE_SET, PUT_VALUE),  # wire C 6.7
    Cost(VALUE_CLEARED, DELETE_VALUE),
    *(Cost(part, PUT_ATTACHMENT) for part in (CostPart.VERSION, CostPart.FILENAME)),  # wire C 6.5
    Cost(CostPart.VERSION, ATTACHMENT),  # whether the version is there
    Cost(OLD_VERSION, ASSET, unread=True),  # which attachment is its file
    Cost(OLD_VERSION, ATTACHMENT),
    Cost(CostPart.ATTACHMENT, ASSET, 2),  # before and after
    Cost(CostPart.ATTACHMENT, PUT_ASSET),
    *(Cost(CostPart.TERM, call) for call in (KEYS, PUT_KEY)),  # wire C 5.2
    Cost(CostPart.CONTAINER, ADD_SECTION, kind="section"),
    Cost(CostPart.CONTAINER, ADD_COLLECTION, kind="collection"),
    Cost(CostPart.CONTAINER, ADD_LABEL, kind="label"),
    Cost(CostPart.RENAMED_CONTAINER, PUT_COLLECTION, kind="collection"),
    Cost(CostPart.TRASHED, DELETE_ASSET),  # wire C 6.4
)
CAPABILITIES = Capabilities(
    features=FEATURES,
    limits=LIMITS,
    costs=COSTS,
    renames=frozenset({"collection"}),
    batch=MADE_AT_ONCE,
    fetches=FETCH_LIFE,
    memberships={"section": MembershipWrite.AT_CREATION, "collection": MembershipWrite.AT_CREATION},
    links=LinkAccess(dates=True),  # wire C 4: disabled for assets that are pending or expired
)

LEAVES = (
    OrphanRetention("an upload URL", timedelta(hours=24), "C 6.1"),
    OrphanRetention(
        "an uploaded file without an asset, an upload session whose URL was lost", timedelta(days=7), "C 6.2"
    ),
)

ASSUMPTIONS = (
    Assumption(1, "the list of a section has every asset of it, also pending, draft and expired ones", "2.2"),
    Assumption(2, "a page past the end is an empty one, with the total", "2"),
    Assumption(3, "a search by created_at takes days, both ends included; what lies outside is left out here", "2.2"),
    Assumption(4, "full timestamps in a search are quoted, because of their colons", "2.4"),
    Assumption(5, "updated_at may stand still when other parts than texts and files change: a full run sees it", "2.3"),
    Assumption(6, "availability dates may come on lists or on single assets alone: they are requested where", "3.2"),
    Assumption(7, "several records of one key on one asset mean that the key takes several values", "5.1"),
    Assumption(8, "a label's path has its own id at one end; the neighbour is the parent", "5.1"),
    Assumption(9, "the upload link takes PUT; POST and PUT without a type are tried once", "6.1"),
    Assumption(10, "the response to a single upload gives the MD5 by ETag or x-goog-hash", "6.1"),
    Assumption(11, "an object given to a create whose outcome is unknown may be used up: sent again", "6.9"),
    Assumption(12, "reads by id are immediate; only searches, and perhaps lists, lag", "6.9"),
    Assumption(13, "a new version shows itself by version_count once its bytes were looked at", "6.5"),
    Assumption(14, "a key made without flags is free text, neither restricted nor required", "5.2"),
    Assumption(15, "a value record posted twice is there twice; equal ones are read as one", "6.7"),
    Assumption(16, "a tag is one record for each asset and name, whatever its case", "6.6"),
    Assumption(17, "an asset may be made without attachments", "6.3"),
    Assumption(18, "whether approval is honoured depends on the account: it is read back", "6.3"),
    Assumption(19, "a collection whose name gives a slug in use is made again with a slug of its own", "5.2"),
    Assumption(20, "an asset whose file is there already may be deleted up to 15 minutes later, and not after", "6.9"),
    Assumption(21, "the response to a create of several assets names each, in the order sent or by its name", "6.3"),
    Assumption(22, "the assets of one create are created within 2 minutes, by the clock of the service", "6.3"),
    Assumption(23, "an attachment whose URL is dead keeps no size; its file is replaced by PUT, as any other", "6.3"),
    Assumption(24, "a restricted key without allowed values takes none, and is no free text", "5.1"),
)

ASSUMED_WRITES = (
    AssumedWrite(
        23,
        "`attachments[].url` with a link of the source, if the job says `policy: {bytes: pull}`",
        "waiting for each file until it has the size of the source; after `fetch_seconds`, or with another size, it is "
        "sent as usual",
    ),
    AssumedWrite(
        9,
        "`PUT` of the bytes to the upload link",
        "the MD5 in the response, if there is one; `POST` is tried if it is refused; the size of the new attachment, "
        "by the run or by `verify`",
    ),
    AssumedWrite(
        18,
        "`approved` and availability dates in the call that creates an asset",
        "reading each back; the first of a run that must be hidden at once: it waits for its approval until its dates "
        "were seen, and is hidden, or deleted, where they are not kept",
    ),
    AssumedWrite(
        21,
        "one `POST .../assets` creates up to 20 assets",
        "reading back the first such call of a run: each asset must have its own name and file; `options: {tokens: "
        "asset}` creates each by a call of its own",
    ),
    AssumedWrite(13, "`PUT /attachments/{id}` with a link makes a new version", "waiting for each until it is counted"),
    AssumedWrite(
        15, "`POST .../custom_field_values` of many assets in one call", "each response must contain every value"
    ),
    AssumedWrite(
        16,
        "`POST /assets/{id}/tags` of the missing names",
        "each response must contain them; otherwise the asset is read back",
    ),
    AssumedWrite(14, "`POST .../custom_field_keys` creates the field of the marker", "reading the fields again"),
    AssumedWrite(
        19, "`POST .../collections` with a slug, after a refusal", "the name in the response; it is not public"
    ),
)
