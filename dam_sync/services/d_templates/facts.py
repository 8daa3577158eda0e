"""Limits, error rules, assumptions and supported features of the service, each with its source."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from dam_sync.http.error_rules import ErrorRule
from dam_sync.model.assumptions import AssumedWrite, Assumption
from dam_sync.model.capabilities import YES, Capabilities, Feature, Support
from dam_sync.model.costs import Cost, CostPart, Costs
from dam_sync.model.errors import Conflict, ContractBroken, InvalidValue, NotFound, SessionGone, TooLarge
from dam_sync.model.limits import MOST_LEARNED, Lifetimes, Limits, OrphanRetention, Pace, PartBounds, SmallFile

NAME = "d_templates"
API_PATHS = ("/v1", "/v2")  # wire D 1.1: below the base URL, the second for webhooks and OAuth
FORMER_PATHS = {  # wire D 1.1: of the deprecated API, one host for each customer
    "/content-store-v1": "write the URL of the API v1.5, which all customers share: its documents write /v1 at its end"
}

PAGE = 100  # wire D 2.1: scan pages of 1 to 100 records
SEARCH_PAGE = 100  # wire D 2.2: keyword search, at most 100
SEARCH_REACH = 10_000  # spec 002, Limits, Service D: search result window
COLLECTION_PAGE = 50  # wire D 2.6: default 50, `from` in steps of it
RATE = 20.0  # wire D 7: no limit shown for the main API, 20 calls/s assumed prudent
RATE_CALLS, RATE_SECONDS = "x-ratelimit-limit", "x-ratelimit-reset"  # spec 002, Limits, Service D: seen on a 401
AT_ONCE = 16  # wire D 7: 16 in flight
SINGLE_BYTES = 104_857_600  # spec 002, Limits, Service D: 100 MB or less needs no completion; wire D 6.1
PART_BYTES = 104_857_600  # spec 002, Limits, Service D: parts of 100 MB, fixed; wire D 6.1
MOST_PARTS = 10_000  # wire D 6.1: object-store maximum (assumed)
TEXT_LETTERS = 250  # spec 002, Limits, Service D: textbox
LONG_LETTERS = 10_000  # spec 002, Limits, Service D: textarea
COLLECTION_MOST = 4_999  # wire D 8: members of a collection
COLLECTION_LETTERS = 200  # wire D 8: name of a collection
SECURITY_MOST = 50  # wire D 8: security templates per asset call
LOOKED_UP = 10  # members looked up one by one without asking whether a scan is cheaper
MEMBERS_A_TIME = 20_000  # members whose assets are found out together, with the collections they are in
LINK_LIFE = timedelta(seconds=20)  # wire D 4: the published download link lives 20 s
EXPOSED = 50  # wire D 3.6: entries of one call for links, batch size assumed
EXPOSED_SECONDS = 3_600  # wire D 4: published example
EXPOSED_RESERVE = 10.0  # seconds of a link's life in which it is not begun with
LINK_RENEWALS = 3  # fresh download links for one opening, at most
UPLOAD_LIFE = timedelta(hours=20)  # wire D 6.2: 86,400 s in the example, may die earlier
# wire D 6.2, 4: how the store says that a link ended; another refusal is no lost link
ENDED = frozenset({"", "AccessDenied", "ExpiredToken", "InvalidToken", "RequestExpired", "TokenRefreshRequired"})
LAG = timedelta(seconds=150)  # wire D 6.9: integrators poll up to 5 times 30 s
OVERLAP = timedelta(minutes=10)  # wire D 2.5: overlap of a delta
PROCESS_WAITS = (3.0, 2.0, 4.0, 8.0, 15.0, 30.0)  # before asking whether a file is processed, the last repeated
PROCESS_SECONDS = 900.0  # wire D 6.9: no time shown; then the work is put back for later
FIND_WAITS = (2.0, 4.0, 8.0, 15.0, 30.0)  # between searches for a marker, the last repeated
TEXT_CONTENT = "metadataDocument.text_content"  # wire D 11.8: megabytes of extracted text
EXCLUDES = (TEXT_CONTENT,)
SLIM_EXCLUDES = (TEXT_CONTENT, "technicalMetadataDocument")  # wire D 7: what makes pages too large
THIN_EXCLUDES = (*SLIM_EXCLUDES, "metadataDocument", "metadataDenormalized", "renditionsDocument")
NIL = "00000000-0000-0000-0000-000000000000"  # wire D 2.6: occurs among members, to be skipped
FILES_KEPT = 200_000  # files remembered of a listing, with their families; more are found by a scan
BINNED_KEPT = 20_000  # records of the recycle bin remembered of a scan for members
FAMILIES_KEPT = 20_000  # ids of families remembered
VERSIONED_KEPT = 1_000  # families with several versions kept whole during a listing
LISTED_KEPT = 20_000  # families reported by a listing, so that none is reported twice

# Endpoint templates: keys of the call counters and of the texts of errors
USER = "GET /v1/user"
SCAN = "POST /v1/asset/scan"
SEARCH = "POST /v1/search/keyword"
ASSET = "GET /v1/asset/{id}"
VERSIONS = "GET /v1/asset/{id}/version"
LINKS = "GET /v1/asset/{id}/link"
EXPOSE = "POST /v1/asset/expose"
CONTENT = "GET /v1/asset/{id}/content"
DOWNLOAD = "GET download link"
UPLOAD = "PUT upload link"
CREATE = "POST /v1/asset"
COMPLETE = "POST /v1/asset/complete"
UPDATE = "PATCH /v1/asset/{id}"
DELETE = "POST /v1/asset/{id}/delete"
PROMOTE = "POST /v1/asset/{id}/version/promote"
RELATE = "POST /v1/asset/{id}/link"
UNRELATE = "PATCH /v1/asset/{id}/link"
TEMPLATES = "GET /v1/metadata/template"
TEMPLATE = "GET /v1/metadata/template/{id}"
VOCABULARIES = "GET /v1/metadata/vocabulary"
VOCABULARY = "GET /v1/metadata/vocabulary/{id}"
ADD_TERMS = "PATCH /v1/metadata/vocabulary/{id}"
APPLY = "POST /v1/metadata/apply"
REQUESTS = "POST /v1/request/list"
SECURITY = "GET /v1/security/template"
COLLECTIONS = "POST /v1/search/collection"
COLLECTION = "GET /v1/collection/{id}"
ADD_COLLECTION = "POST /v1/collection"
FILL = "PATCH /v1/collections/{id}"
FILL_WHOLE = "PATCH /v1/collection/{id}"
EVENT_TYPES = "GET /v1/webhooks/event-type/list"
ENDPOINTS = "GET /v1/webhooks/endpoint/list"
ADD_ENDPOINT = "POST /v1/webhooks/endpoint"
CHANGE_ENDPOINT = "PATCH /v1/webhooks/endpoint/{id}"
DROP_ENDPOINT = "DELETE /v1/webhooks/endpoint/{id}"

WEBHOOK_TOLERANCE = timedelta(minutes=5)  # wire D 9.2
EVENTS = frozenset(  # wire D 9.3: those that name an asset that changed
    {
        *(f"asset.{verb}" for verb in ("created", "deleted", "purged", "restored", "renditions.created")),
        *("asset.metadata.updated", "asset.security.updated", "version.created", "version.promoted"),
        *(f"relationship.{verb}" for verb in ("created", "updated", "deleted")),
    }
)
VALUE_ADDED = (ADD_TERMS, APPLY, VOCABULARY)  # assumption 15, wire D 5.3: applied, and read back
OF_ONE_COLLECTION = frozenset({COLLECTION, FILL, FILL_WHOLE})

KINDS_OF_LINK = ("child", "derivative", "placed_graphic")  # wire D 3.4
HYPHENED = {"placed_graphic": "placed-graphic"}  # wire D 3.4: both spellings are public

BOUNDS = PartBounds(preferred=PART_BYTES, least=PART_BYTES, most=PART_BYTES, count=MOST_PARTS, at_once=1)
LIMITS = Limits(
    page=PAGE,
    # spec 002, Limits: rate not shown, and a lower one that responses announce is kept to
    pace=Pace(None, at_once=AT_ONCE, storage_at_once=AT_ONCE // 2, most_at_once=MOST_LEARNED, careful=RATE),
    single_bytes=SINGLE_BYTES,
    parts=BOUNDS,
    lifetimes=Lifetimes(upload=UPLOAD_LIFE, link=LINK_LIFE),
    precision=timedelta(milliseconds=1),
    lag=LAG,
    small_file=SmallFile(uploads=1),  # wire D 4, 6.2: a signed link, and one to upload to
    member_batch=500,  # wire D 2.6: no batch limit shown, the whole collection is 4,999
    undated=(  # wire D 2.5: these do not touch the record; 6.6: a promotion is not known to
        "relations",
        "names of terms",
        "the choice of the current version",
    ),
    members_after_crawl=True,  # wire D 11.1: collections hold files, and a listing tells whose they are
)

_LINK = "the download link was refused although it was fresh; check the clock of this host"

RULES = (
    # wire D 4: expired or tampered signature; renewed by the reader
    *(ErrorRule(status, NotFound, operation=DOWNLOAD, hint=_LINK) for status in (400, 401, 403, 404, 410)),
    # wire D 6.2: an upload link that ended cannot be renewed
    *(ErrorRule(status, SessionGone, operation=UPLOAD) for status in (400, 401, 403, 404, 410)),
    # wire D 2.1: our own query or cursor was refused
    ErrorRule(400, ContractBroken, operation=SCAN, hint="run the same command again; the listing starts over"),
    ErrorRule(400, ContractBroken, operation="POST /v1/search/*"),
    ErrorRule(404, NotFound),
    ErrorRule(409, Conflict),
    ErrorRule(413, TooLarge),
    ErrorRule(400, InvalidValue),
)

_READ = Support("yes")
_OPTION = Support("by option", "by option")
FEATURES: Mapping[Feature, Support] = dict.fromkeys(Feature, Support()) | {
    Feature.FILELESS: YES,
    Feature.VERSIONS: YES,
    Feature.DIGESTS: Support("MD5"),
    Feature.TEXT: Support("yes", "up to 250 characters"),
    Feature.LONG_TEXT: Support("yes", "up to 10,000 characters"),
    Feature.FLAG: Support("dropdowns of yes and no", "dropdowns of yes and no"),
    Feature.DATE: YES,
    Feature.TERM: YES,
    Feature.ROWS: YES,
    Feature.MULTIPLE: Support("dropdowns, tables", "dropdowns, tables"),
    Feature.TERMS: YES,
    Feature.HIERARCHY: Support("cascades", "cascades"),
    Feature.COLLECTION: Support("flat", "flat, up to 4,999 assets"),
    Feature.TAGS: _OPTION,
    Feature.STATUS: _OPTION,
    Feature.RELEASE: _OPTION,
    Feature.EXPIRY: _OPTION,
    Feature.GROUPS: Support("security templates", "security templates"),
    Feature.RELATIONS: Support("one call for each asset", "three kinds"),
    Feature.CREATED: _READ,
    Feature.LINKS: Support(why="links expire after seconds or days"),
    Feature.TRASH: YES,
    Feature.RESTRICTIONS: Support("compared by the exposure guard", ""),
    Feature.FILENAME: _READ,
    Feature.SAME_NAMES: YES,
    Feature.CLOSED: Support("yes", "if an option names a restricted security template"),
    Feature.TIME_OF_DAY: Support(why="dates are whole days"),
    Feature.CYCLES: Support(why="the service refuses them"),  # wire D 11.18
    Feature.OUTER_WHITESPACE: YES,
    Feature.RENAMED_TERMS: Support("yes", "not in cascades, whose branches share values"),
    Feature.RENAMED_CONTAINERS: YES,
    Feature.MOVED_CONTAINERS: Support(why="collections have no levels"),
}
# Parts whose costs only this service has
COMPLETED = "a file whose upload is completed"
NEW_TAGS = "an asset with tags that the dropdown does not have yet"
CHANGED = "an update of attributes or security templates"
UPDATE_SEEN = "a read around an update"
FILLED, FILLED_WHOLE = "a change of members of a collection", "a collection of which the whole list is written"
COLLECTION_SEEN = "a read of a collection around a change of its members"
UNKNOWN_ASSET = "an asset whose versions are not known"
DELETED = "a version that goes to the recycle bin"
CHUNK_EXPOSED = "the first file of those whose links come together"

COSTS: Costs = (
    *(Cost(part, CREATE) for part in (CostPart.CREATE, CostPart.VERSION)),  # wire D 6.1
    Cost(COMPLETED, COMPLETE),  # wire D 6.3
    Cost(COMPLETED, ASSET),  # wire D 6.9: whether the file is processed
    Cost(CostPart.VERSION, VERSIONS, unread=True),  # wire D 6.6
    *(Cost(part, call) for part in (NEW_TAGS, CostPart.TERM_LEVEL, CostPart.RENAMED_TERM) for call in VALUE_ADDED),
    Cost(CHANGED, UPDATE),  # wire D 6.5
    Cost(UPDATE_SEEN, ASSET),
    Cost(CostPart.CONTAINER, ADD_COLLECTION),  # wire D 6.8, as the next ones
    Cost(CostPart.RENAMED_CONTAINER, COLLECTION, 2),
    Cost(FILLED, FILL),
    Cost(FILLED_WHOLE, FILL_WHOLE),
    *(Cost(part, COLLECTION) for part in (COLLECTION_SEEN, CostPart.CARRIED)),
    Cost(UNKNOWN_ASSET, VERSIONS),  # wire D 11.1: collections and relations name versions
    Cost(CostPart.RELATION, RELATE),  # wire D 6.7
    Cost(CostPart.UNRELATED, VERSIONS, 2),  # of both assets
    *(Cost(CostPart.UNRELATED, call) for call in (LINKS, UNRELATE)),
    *(Cost(part, VERSIONS, 2) for part in (CostPart.TRASHED, CostPart.UNTRASHED)),  # before and after
    Cost(DELETED, DELETE),  # assumption 20: one after the other
    Cost(CostPart.OPENED, CONTENT),  # wire D 4
    Cost(CHUNK_EXPOSED, EXPOSE),  # wire D 3.6
)
CAPABILITIES = Capabilities(
    features=FEATURES,
    limits=LIMITS,
    costs=COSTS,
    members_by_asset=True,  # wire D 2.6: a page of collections has the files of each
    renames=frozenset({"collection"}),
)

LEAVES = (
    OrphanRetention("an upload session without parts whose id was lost", timedelta(hours=24), "D 6.2"),
    OrphanRetention("in the recycle bin, a record without a file and without our marker", None, "D 6.8, 6.9"),
)

ASSUMPTIONS = (
    Assumption(1, "both tokens are sent with each call, because either may be the one that is read", "1.2"),
    Assumption(2, "the OAuth token call takes a form and may give a new refresh token", "1.6"),
    Assumption(3, "a scan by createdEpoch keeps its order; a record that is added comes at the end", "2.1"),
    Assumption(4, "a scan ends with an empty page, without a cursor, or when the total is reached", "2.1"),
    Assumption(5, "a scan without a total is counted by a search where that fits, else by a second scan", "15"),
    Assumption(6, "a refused cursor is followed by a scan from the start that leaves out what is older", "2.1"),
    Assumption(7, "a soft delete leaves lastUpdatedEpoch alone: deltas look through the bin", "2.5"),
    Assumption(8, "relations and collections do not touch the record, so a delta misses changed relations", "2.5"),
    Assumption(
        9, "one record of an asset is current; if none is flagged, the latest one outside the recycle bin", "3.3"
    ),
    Assumption(10, "older records keep their own links, so those of all versions are read", "11.2"),
    Assumption(11, "the version list of an asset includes records in the recycle bin", "3.3"),
    Assumption(12, "the response for the content of a record without a file is 502, 404 or an empty link", "15"),
    Assumption(
        13, "an attribute named by its id alone is cleared; it is read back, then cleared by an empty text", "6.4"
    ),
    Assumption(
        14,
        "an update changes only the attributes it names, and replaces a list of security templates; the first of each "
        "is read back",
        "6.5",
    ),
    Assumption(15, "a vocabulary is applied after each new value", "15"),
    Assumption(16, "the levels of a cascade are known, which value is below which is not shown", "5.1"),
    Assumption(17, "a small file that got an upload id is completed; a refused completion is read back", "15"),
    Assumption(18, "a file of no bytes is sent like any other; a refusal of the store parks the asset", "6.1"),
    Assumption(
        19, "a record that lost its upload link loses its marker, goes to the recycle bin and is created again", "6.9"
    ),
    Assumption(20, "deleting concerns one record or the family: every record is deleted and read back", "15"),
    Assumption(21, "processing may move lastUpdatedEpoch or not: the revision names the checksum as well", "15"),
    Assumption(
        22, "collectionUpdates takes operation and fileIds; the first that changes something is read back", "6.8"
    ),
    Assumption(23, "a collection takes any metadata template and needs none of its values", "6.8"),
    Assumption(24, "dates hold days: a release is put to the next midnight UTC, an expiry to the last", "6.9"),
    Assumption(25, "linkType is read with hyphen or underscore and written with underscore, then with hyphen", "3.4"),
    Assumption(26, "a dropdown of two values, yes and no, is a flag", "5.3"),
    Assumption(27, "the content-intelligence interface is not asked: the main one is complete for assets", "13"),
    Assumption(
        28,
        "x-ratelimit-limit calls may be sent within x-ratelimit-reset seconds: a limit below ours is kept to, others "
        "change nothing",
        "7",
    ),
)

ASSUMED_WRITES = (
    AssumedWrite(
        13,
        "`PATCH /asset/{id}`: an attribute named by its id alone is cleared",
        "reading the record after each; what is still full is cleared by an empty text or list",
    ),
    AssumedWrite(
        14,
        "`PATCH /asset/{id}`: attributes that are not named stay, the list of security templates is replaced",
        "reading the record before and after the first of a run. Where others are lost, all attributes are sent from "
        "then on; without effect, or with a security template left, the asset is parked",
    ),
    AssumedWrite(
        15,
        "`POST /metadata/apply` after each change of a vocabulary",
        "reading the vocabulary after each; a write refused for an unknown value is sent again after one more",
    ),
    AssumedWrite(
        17,
        "`POST /asset/complete` for a small file that got an upload id",
        "reading the record after each; if refused, it counts as done if the record has its file",
    ),
    AssumedWrite(
        18, "`PUT` of no bytes to an upload link", "the tag in the response of the storage is the MD5 of no bytes"
    ),
    AssumedWrite(
        19,
        "`POST /asset/{id}/version/promote` without a body, when a version without a file is put away",
        "reading the family afterwards; refused, the version before counts once the other is in the bin",
    ),
    AssumedWrite(
        20, "`POST /asset/{id}/delete` of one record after the other", "reading the family after the last one"
    ),
    AssumedWrite(
        22,
        "`PATCH /collections/{id}` with `operation` and `fileIds` in `collectionUpdates`",
        "reading the collection before and after the first that changes something; without effect the whole list is "
        "written by `PATCH /collection/{id}`",
    ),
    AssumedWrite(
        25,
        "`placed_graphic` as `linkType`",
        "the response to each; if refused, it is sent again as `placed-graphic`",
    ),
)
