"""Numbers, error rules and assumptions of service A, each with its source. Data only."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from dam_sync.http.error_rules import ErrorRule
from dam_sync.model.assumptions import AssumedWrite, Assumption
from dam_sync.model.capabilities import YES, Capabilities, Feature, Support
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
)
from dam_sync.model.limits import MOST_LEARNED, Lifetimes, Limits, OrphanRetention, Pace, PartBounds

NAME = "a_hypermedia"
API_PATHS = ("/api/dam", "/api")  # wire A 1.1: below the base URL

PAGE = 100  # wire A 2.2: the maximum is not shown, use 100
REACH = 10_000  # wire A 2.4: a query gives its first 10,000 hits at most
SINGLE_BYTES = 20_000_000  # spec 000, Limits: 50 MB, 20 MB recommended; wire A 14: up to 20,000,000 bytes
ONE_REQUEST_BYTES = 50_000_000  # spec 000, Limits: at most; used where a release knows no chunks; wire A 14: decimal
CHUNK_BYTES = 20_000_000  # spec 000, Limits: 20 MB recommended maximum; wire A 14: 16 to 20 million bytes
LARGEST_BYTES = 20_000_000_000  # spec 000, Limits: 20 GB
TERM_LETTERS = 100  # spec 000, Limits: thesaurus terms
RANGE_PAUSES = (1.0, 2.0, 4.0, 8.0, 15.0)  # seconds before a range that never arrived is sent again; wire A 7
UPLOAD_LIFE = timedelta(minutes=45)  # wire A 6.2: short and not guaranteed, about an hour
LAG = timedelta(seconds=30)  # wire A 6.12: allow 30 s before concluding absence
LATE_WAITS = (2.0, 8.0)  # our choice: until a call whose response was lost has arrived, if it still does
OVERLAP = timedelta(minutes=10)  # wire A 2.6: index lag plus clock skew
AHEAD = timedelta(days=1)  # wire A 2.6: upper bound of a delta is now + 1 day
TICK = timedelta(milliseconds=1)  # wire A 0: timestamps carry milliseconds; ranges are inclusive both ends (2.2)
FAR_ID = 999_999_999  # wire A 2.4: prefer explicit far bounds over `*`
BULK_TIMEOUT = 900.0  # wire A 6.5: synchronous, may take minutes; at least 10 min
BULK_FROM = 5  # wire A 6.13: PUT a field is best for F <= 4
EPOCH_YEAR = 1990  # before any instance began; wire A 2.4 bisects importDate from here

LIMITS = Limits(
    page=PAGE,
    # wire A 8: rate not shown; begin with 8 calls, 4 transfers
    pace=Pace(per_second=None, at_once=8, storage_at_once=4, most_at_once=MOST_LEARNED),
    reach=REACH,
    single_bytes=SINGLE_BYTES,
    parts=PartBounds(preferred=CHUNK_BYTES, least=16_000_000, most=CHUNK_BYTES, at_once=1),  # wire A 6.2: in sequence
    largest_bytes=LARGEST_BYTES,
    lifetimes=Lifetimes(upload=UPLOAD_LIFE),  # wire A 4: static links do not expire, but change with each version
    precision=timedelta(seconds=1),
    lag=LAG,
    member_batch=1,  # wire A 6.7: one media a call
    undated=("folders", "labels", "relations", "names of terms"),  # wire A 2.6: only what is in the media moves it
)

# spec 000, Versioning; wire A 10
FOLDER_CREATE = (4, 16, 0)
FORCE_ARRAYS = (4, 20, 0)
SIGNED_TOKENS = (4, 28, 0)
CHUNKS = (4, 31, 0)
FACET_VALUES = 150  # spec 000, Limits: values per facet
FACET_FIELDS = (4, 75, 0)

# wire A 5.6: no call lists the content languages; these are requested, one call each
LANGUAGES = ("en", "fr", "de", "es", "it", "nl", "pt", "pl", "sv", "da", "fi", "cs", "ja", "zh", "ar", "ru")

# wire A 6.4: the metadata field that is the title of a media
TITLE = "title"

# spec 000, Resources: values of `status`
STATUSES = ("import", "basket", "draft", "published", "archived", "trash")

_FOLDER = "grant the integration user write permission in this folder, or map to another one"
_THESAURUS = "grant the integration user permission to edit this thesaurus, or map to existing terms"
_LINK = "the link was refused although it was new; check whether a proxy blocks such links, then `errors JOB --retry`"

RULES = (
    # spec 000, Errors
    ErrorRule(401, Denied, code="error.account.to_be_validated", hint="an administrator must validate the account"),
    ErrorRule(401, Denied, code="user-need-registration*", hint="log in once in the browser and finish registration"),
    ErrorRule(
        401,
        Denied,
        code="user-access-forbidden-for-ui",
        hint="correct or remove the option client_id_header in the job",
    ),
    # wire A 7: rights are per folder, media and thesaurus, so a refusal concerns one asset, whatever its code
    ErrorRule(403, Rejected, operation="* /api/dam/folders/{folderId}/medias*", hint=_FOLDER),
    ErrorRule(403, Rejected, operation="POST /api/dam/folder-tree/{nodeId}/children", hint=_FOLDER),
    ErrorRule(403, Rejected, operation="POST /api/dam/thesaurus-tree/{id}/children", hint=_THESAURUS),
    ErrorRule(403, Rejected, operation="PUT /api/dam/thesauruses/{id}", hint=_THESAURUS),
    ErrorRule(
        403,
        Rejected,
        operation="POST /api/dam/users/{userId}/selections/{selectionId}/*",
        hint="grant the user permission to edit this media",
    ),
    ErrorRule(
        403, Rejected, code="media-operation-forbidden", hint="grant the integration user permission for this media"
    ),
    ErrorRule(403, Rejected, operation="* /api/dam/medias/{mediaId}*", hint="grant the user permission for this media"),
    ErrorRule(403, Rejected, operation="GET /download-express*", hint="the user's download level forbids the original"),
    # wire A 6.2, 6.3: an expired or unfinished descriptor
    ErrorRule(404, SessionGone, code="file-not-found"),
    ErrorRule(404, SessionGone, operation="POST *", code="*[-._]file-not-found"),  # wire A 7: the code is assumed
    ErrorRule(404, SessionGone, operation="* /api/dam/files/{fileId}"),
    ErrorRule(409, SessionGone, code="file-incomplete"),
    ErrorRule(416, SessionGone, operation="* /api/dam/files/{fileId}"),
    # wire A 4, 6.9: links on other hosts; a refused one is read again, once
    *(ErrorRule(status, NotFound, operation="GET the file", hint=_LINK) for status in (400, 401, 403, 404, 410)),
    *(ErrorRule(status, NotFound, operation="PUT the attachment", hint=_LINK) for status in (400, 401, 403, 404, 410)),
    # wire A 6.9: optional parts of an instance
    ErrorRule(405, NotFound, operation="GET /api/dam/medias/{mediaId}/attachments"),
    ErrorRule(405, NotFound, operation="GET /api/dam/medias/{mediaId}/media-links*"),
    ErrorRule(405, NotFound, operation="GET /api/dam/medias/{mediaId}/folders"),
    ErrorRule(404, NotFound),
    ErrorRule(409, Conflict),
    ErrorRule(413, TooLarge),
    # wire A 6.5, 6.6
    ErrorRule(
        400,
        InvalidValue,
        code="mandatory-metadata-missing",
        hint="map a value to every mandatory field of the form, or leave the asset in a draft status",
    ),
    ErrorRule(400, ContractBroken, operation="GET /api/dam/search*"),
    ErrorRule(400, InvalidValue),
    ErrorRule(415, Rejected, hint="the service does not accept this type of file"),
)

# spec 000, Resources; wire A 3 (read), 6 (write). Rights, release and expiry are fields of the customer's own (3.1)
FEATURES: Mapping[Feature, Support] = {
    Feature.FILELESS: YES,
    Feature.VERSIONS: YES,
    Feature.ATTACHMENTS: Support("yes", "if the instance supports them"),
    Feature.DIGESTS: Support("MD5", "MD5, of what was stored"),
    Feature.TEXT: YES,
    Feature.LONG_TEXT: YES,
    Feature.HTML: YES,
    Feature.NUMBER: YES,
    Feature.FLAG: YES,
    Feature.DATE: YES,
    Feature.INSTANT: YES,
    Feature.TERM: YES,
    Feature.PLACE: YES,
    Feature.PERSON: Support("yes", "those in the list of the field"),
    Feature.EMAIL: YES,
    Feature.URL: YES,
    Feature.ROWS: YES,
    Feature.MULTIPLE: Support(
        "in lists, persons, thesauri and field sets", "in lists, persons, thesauri and field sets"
    ),
    Feature.LOCALIZED: YES,
    Feature.TERMS: Support("yes", "added to thesauri; lists are closed"),
    Feature.HIERARCHY: YES,
    Feature.TERM_LOCALES: YES,
    Feature.SYNONYMS: YES,
    Feature.FOLDER: YES,
    Feature.COLLECTION: Support("baskets, by option", "", "baskets are working lists of single users"),
    Feature.LABEL: Support("yes", "assigned, never created"),
    Feature.STATUS: Support("yes", "those that the instance has"),
    Feature.RELATIONS: Support("yes", "of types that a media already shows"),
    Feature.CREATED: Support("yes", ""),
    Feature.LINKS: Support("permalinks, by option; one call per asset", ""),
    Feature.TRASH: Support("yes", "moved there, never purged"),
    Feature.RESTRICTIONS: Support("compared by the exposure guard", ""),
    Feature.FILENAME: Support("yes", ""),
    Feature.SAME_NAMES: YES,
    Feature.CLOSED: YES,  # wire A 2.1: drafts and archived media are not shown to ordinary users
    Feature.CYCLES: YES,
    Feature.OUTER_WHITESPACE: YES,
    Feature.RENAMED_TERMS: Support("yes", "in thesauri; lists are closed"),
    Feature.RENAMED_CONTAINERS: Support("folders", "folders"),
    Feature.MOVED_CONTAINERS: Support("folders", "", "no call moves a folder"),  # wire A 5.4
}
# Parts whose costs only this service has
MADE, MADE_IN_FOLDER = "a media that is created in no folder", "a media that is created in a folder"
STAGING_SOUGHT, STAGING_MADE = "a search for the staging folder", "the staging folder"
VALUE = "a value that is written alone"
BULK, BULK_LANGUAGE = "values that are written together", "a language of these"
STATUS = "a status that is written alone"
IN_FOLDER, OUT_OF_FOLDER = "a folder that a media is added to", "a folder that a media is removed from"
LABELLED, UNLABELLED = "a label that a media gets", "a label that a media loses"
NEW_LINK_TYPE = "the first relation of a kind that no option names"
TOP_FOLDER, SUBFOLDER = "a folder that is created at the top", "a folder that is created in another"
TERM_TITLES = "a term with titles in several languages, or synonyms"
# the first use in a run of a form that no document shows, by what is read back
MEDIA_SEEN, VALUE_SEEN, SELECTION_SEEN, VERSIONS_SEEN = (
    f"{what} read back" for what in ("a media", "a value", "a selection", "versions")
)
FOLDERS_SEEN, LABELS_SEEN, ATTACHMENTS_SEEN, RELATED_SEEN = (
    f"{what} of a media read back" for what in ("the folders", "the labels", "the attachments", "the relations")
)
PLACE_IN_TREE_SEEN, TERM_SEEN, FOLDER_SEEN = (
    f"{what} read back" for what in ("a term in its tree", "a term", "a folder")
)

_MEDIA, _TERM, _FOLDER_NODE = "/api/dam/medias/{mediaId}", "/api/dam/thesauruses/{id}", "/api/dam/folder-tree/{nodeId}"
_SELECTIONS = "/api/dam/users/{userId}/selections"
COSTS: Costs = (
    Cost(CostPart.FILE, "POST /api/dam/files"),  # wire A 6.1, 6.2
    Cost(CostPart.CHUNK, "PUT /api/dam/files/{fileId}"),
    Cost(MADE, "POST /api/dam/medias"),  # wire A 6.3
    Cost(MADE_IN_FOLDER, "POST /api/dam/folders/{folderId}/medias"),
    Cost(STAGING_SOUGHT, "GET /api/dam/folder-tree"),  # wire A 6.12
    Cost(STAGING_MADE, "POST /api/dam/folder-tree"),
    Cost(VALUE, f"PUT {_MEDIA}/metadatas/{{metadataId}}"),  # wire A 6.4
    Cost(BULK, f"POST {_SELECTIONS}"),  # wire A 6.5
    Cost(BULK, f"POST {_SELECTIONS}/{{selectionId}}/medias"),
    Cost(BULK_LANGUAGE, f"POST {_SELECTIONS}/{{selectionId}}/bulks"),
    *(Cost(STATUS, f"{method} {_MEDIA}") for method in ("GET", "PUT")),  # wire A 6.6
    Cost(IN_FOLDER, "POST /api/dam/folders/{folderId}/medias"),  # wire A 6.7
    Cost(OUT_OF_FOLDER, "DELETE /api/dam/folders/{folderId}/medias/{mediaId}"),
    Cost(LABELLED, f"POST {_MEDIA}/labels"),
    Cost(UNLABELLED, f"DELETE {_MEDIA}/labels/{{labelId}}"),
    Cost(NEW_LINK_TYPE, f"GET {_MEDIA}/media-links"),
    Cost(CostPart.RELATION, f"POST {_MEDIA}/media-links/{{linkId}}/medias"),
    Cost(CostPart.UNRELATED, f"DELETE {_MEDIA}/media-links/{{linkId}}/medias/{{linkedId}}"),
    Cost(CostPart.VERSION, f"POST {_MEDIA}/file-versions"),  # wire A 6.8
    Cost(CostPart.RESTORED_VERSION, f"PUT {_MEDIA}/file-versions/{{versionId}}"),
    Cost(CostPart.ATTACHMENT, f"POST {_MEDIA}/attachments"),  # wire A 6.9: the file goes to the link in the response
    *(Cost(CostPart.TRASHED, f"{method} {_MEDIA}") for method in ("GET", "DELETE")),  # wire A 6.11
    Cost(CostPart.UNTRASHED, f"GET {_MEDIA}"),
    Cost(CostPart.TERM, "GET /api/dam/thesaurus-tree/{id}"),  # wire A 5.3
    Cost(CostPart.TERM, "POST /api/dam/thesaurus-tree/{id}/children"),
    *(Cost(part, f"{method} {_TERM}") for part in (TERM_TITLES, CostPart.RENAMED_TERM) for method in ("GET", "PUT")),
    *(Cost(TOP_FOLDER, f"{method} /api/dam/folder-tree") for method in ("GET", "POST")),  # wire A 5.4
    Cost(SUBFOLDER, f"GET {_FOLDER_NODE}"),
    Cost(SUBFOLDER, f"POST {_FOLDER_NODE}/children"),
    Cost(CostPart.RENAMED_CONTAINER, f"GET {_FOLDER_NODE}"),
    Cost(CostPart.RENAMED_CONTAINER, "PUT /api/dam/folders/{id}"),
    Cost(MEDIA_SEEN, f"GET {_MEDIA}"),
    Cost(VALUE_SEEN, f"GET {_MEDIA}/metadatas/{{metadataId}}"),
    Cost(SELECTION_SEEN, f"GET {_SELECTIONS}/{{selectionId}}/medias"),
    Cost(VERSIONS_SEEN, f"GET {_MEDIA}/file-versions", 2),  # before and after
    Cost(FOLDERS_SEEN, f"GET {_MEDIA}/folders"),
    Cost(LABELS_SEEN, f"GET {_MEDIA}/labels"),
    Cost(ATTACHMENTS_SEEN, f"GET {_MEDIA}/attachments"),
    Cost(RELATED_SEEN, f"GET {_MEDIA}/media-links/{{linkId}}/medias"),
    Cost(PLACE_IN_TREE_SEEN, "GET /api/dam/thesaurus-tree/{id}"),
    Cost(TERM_SEEN, f"GET {_TERM}"),
    Cost(FOLDER_SEEN, f"GET {_FOLDER_NODE}"),
)
CAPABILITIES = Capabilities(features=FEATURES, limits=LIMITS, costs=COSTS, renames=frozenset({"folder"}))

LEAVES = (
    OrphanRetention("a temporary file that did not become a media, a selection", timedelta(hours=1), "A 6.2, 6.5"),
    OrphanRetention("a draft without our marker, created by the killed run, if its state is lost", None, "A 6.12"),
)

ASSUMPTIONS = (
    Assumption(
        1,
        "`f=id:[a TO b]` and `sort=id` work; proven by a range without the first id, else importDate is bisected",
        "2.4",
    ),
    Assumption(2, "ranges are inclusive at both ends and take RFC 3339 timestamps with milliseconds", "2.2"),
    Assumption(3, "a media search never shows the trash; the trash has its own search", "2.1"),
    Assumption(4, "metadata, status and version changes move updateDate; folders, labels and links may not", "2.6"),
    Assumption(5, "importDate of a media never changes", "2.4"),
    Assumption(6, "a search gives full properties only where a probe showed it", "2.5"),
    Assumption(
        7, "embedded folders come under `folder` or `folders`; until a media shows some, they are listed", "3.1, 3.3"
    ),
    Assumption(8, "Content-Language of a reply is the language of every localized value in it", "0, 5.6"),
    Assumption(
        9,
        "a DATE is a local midnight; without the option `timezone` the nearest midnight UTC is taken, and none between "
        "10:00 and 12:00 UTC, which is midnight on both sides of the date line",
        "11.7",
    ),
    Assumption(10, "a response without `maxLength` says nothing about length", "5.2"),
    Assumption(11, "an express download gives the original only at download level HD, and ignores ranges", "4"),
    Assumption(12, "a form without `type` takes any media", "5.2"),
    Assumption(13, "a field without the flag `localized` may differ by language: both readings are compared", "5.6"),
    Assumption(14, "folder titles and thesaurus siblings are not unique; one writer per parent", "5.3, 5.4"),
    Assumption(15, "a term made by POST has its title in the language of Content-Language", "5.3"),
    Assumption(16, "a new media in a folder is a DRAFT; membership may show only in the search, after the lag", "6.12"),
    Assumption(17, "an empty text or list, or null, clears a field", "6.4"),
    Assumption(18, "a bulk on a fresh selection of one media is atomic and takes the modes REPLACE and CLEAR", "6.5"),
    Assumption(19, "PUT of a media takes the body of its GET, edited; the status link wins over `status`", "6.6"),
    Assumption(20, "adding a media to a folder, a label or a link twice does no harm", "6.7"),
    Assumption(21, "the first DELETE trashes, the second purges: never sent for what is in the trash", "6.11"),
    Assumption(22, "an attachment is announced by POST, then its bytes go to the upload link", "6.9"),
    Assumption(23, "link types are found by their title on the media itself; no call lists them", "6.4, 14"),
    Assumption(24, "lists, persons, places, field sets, dates, numbers and HTML are written as they are read", "6.4"),
    Assumption(25, "PUT of a folder takes its title and its description, both read before", "5.4"),
    Assumption(26, "PUT of a file version with `current` makes it the current one; the others stay", "6.8"),
)

_READ_BACK = "reading back the first of a run; without effect the asset is parked"
ASSUMED_WRITES = (
    AssumedWrite(
        18,
        "`POST .../selections/{id}/bulks`: fields and status of one media in one call",
        "the count of the new selection, its members for the first of a run, and reading back once for each type of "
        "field; where it holds media of others, is refused or shows no effect, single `PUT`s replace it for the rest "
        "of "
        "the run (option `bulk: off`: from the start); one that wrote to several media stops the run",
    ),
    AssumedWrite(
        24,
        "`PUT .../metadatas/{field}` of a number, yes/no, date, date-time, list, person, place, field set or HTML",
        "reading back the first of each type of field in a run; without effect the asset is parked",
    ),
    AssumedWrite(17, "`PUT .../metadatas/{field}` of null or an empty list clears the field", _READ_BACK),
    AssumedWrite(
        19,
        "`PUT /medias/{id}` with a link to another status",
        f"{_READ_BACK}; where it resets an annotation or a point of interest, the run stops",
    ),
    AssumedWrite(
        20,
        "`POST` and `DELETE` of folder membership, labels and media links by `{id}`",
        f"{_READ_BACK}, as where neither a list nor the media shows memberships",
    ),
    AssumedWrite(
        16,
        "`POST .../folders/{id}/medias` makes a draft that no ordinary user sees",
        "reading back the first of each folder that must be hidden, before another is created; if it is published, or "
        "shows no status, it is hidden and no more are created",
    ),
    AssumedWrite(14, "`POST .../folder-tree/{id}/children` makes a folder", "looking for the first of a run there"),
    AssumedWrite(15, "`POST .../thesaurus-tree/{id}/children` makes a term", "looking for the first of a run there"),
    AssumedWrite(
        15,
        "`PUT /thesauruses/{id}` of a whole term with more languages",
        "reading back the first of a run; if descriptions or synonyms are gone, the run stops",
    ),
    AssumedWrite(
        25,
        "`PUT /folders/{id}` of title and description renames a folder",
        f"{_READ_BACK}; if the description is gone, the run stops",
    ),
    AssumedWrite(
        26,
        "`PUT .../file-versions/{id}` of `current` makes an older version the current one",
        f"{_READ_BACK}; the versions are read before and after, and the run stops if one is gone",
    ),
    AssumedWrite(
        22, "`POST /medias/{id}/attachments`, then `PUT` of the bytes", "the first of a run must be online then"
    ),
    AssumedWrite(
        21,
        "`DELETE /medias/{id}` moves a media to the trash",
        "reading the media before each, for a second one purges, and after the first of a run, before another is "
        "removed: if it cannot be read then, the run stops",
    ),
)
