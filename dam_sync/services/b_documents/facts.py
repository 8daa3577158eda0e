"""Numbers, error rules and assumptions of service B, each with its source. Data only."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from dam_sync.http.error_rules import ErrorRule
from dam_sync.model.assumptions import AssumedWrite, Assumption
from dam_sync.model.capabilities import YES, Capabilities, Feature, LinkAccess, MembershipWrite, Support
from dam_sync.model.costs import Cost, CostPart, Costs
from dam_sync.model.errors import (
    Conflict,
    ContractBroken,
    InvalidValue,
    NotFound,
    Rejected,
    SessionGone,
    TooLarge,
    Unsupported,
)
from dam_sync.model.limits import MIB, MOST_LEARNED, Lifetimes, Limits, OrphanRetention, Pace, PartBounds

NAME = "b_documents"
API_PATHS = (  # wire B 1.1: below the base URL; `/site` alone may be the path of the application
    *("/site/api/v1", "/api/v1", "/site/api", "/api"),
    *("/site/automation", "/api/v1/automation", "/site/api/v1/automation"),
)

COUNTED_CONTAINERS = 100  # folders and collections whose assets are counted, by one call each
COUNTED_FIELDS = 200  # properties whose values are counted, and types, by one call each
PAGE = 200  # wire B 3: whole documents are 5 to 20 kB each, so 200 a call
SWEEP = 1_000  # spec 001, Limits, Service B: page size at most 1,000
SPLIT = 5_000  # documents above which a library is read in several ranges of ids
RANGES = "123456789abcdef"  # wire B 2.3: first characters of ids, compared as the server sorts them
VERSIONS_ASKED = 100  # live documents whose versions one query asks for
ENTRIES = 1_000  # wire B 5.2: directory entries a call; the default is 50
AT_ONCE = 8  # spec 001, Limits, Service B: no throttling documented; a server has few request threads
SINGLE_BYTES = 20 * MIB  # wire B 6.2: official clients send larger files in chunks of 20 MiB
CHUNK_BYTES = 10 * MIB  # wire B 6.2: the client picks the size
LEAST_CHUNK = 1
CHUNKS_AT_ONCE = 4
SERVLET_BYTES = 64 * MIB  # wire B 4: larger files come from the servlet, which holds no transaction
BATCH_LIFE = timedelta(minutes=120)  # wire B 6.2: 240 minutes by default, 120 in code
BATCH_KEPT = timedelta(minutes=100)  # a batch older than this is not built upon
BATCH_FILES = 50  # wire B 8: any number of files; so many that beginning and dropping a batch hardly counts
BATCH_BYTES = 256 * MIB  # the server keeps the files of a batch until all of them are used
BATCH_LOSSES = 2  # batches that a server may lose before each file gets its own
NAME_LETTERS = 24  # wire B 6.8: longer names are cut silently
FILENAME = 255
NAMES = 20  # that a new container may try, if others have its name
LEVELS = 60  # no folder tree is deeper; bounds the walk upwards
TRIES = 4  # of a write that others got in the way of
TRY_WAITS = (0.5, 1.0, 2.0, 4.0)  # before the next try, with jitter
CLAIM_WAITS = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)  # wire B 6.8: while the same Idempotency-Key is in progress
TRANSACTION_SECONDS = 600  # wire B 6.8: big creates need more than the server's own time-out
ANSWER_SECONDS = 660.0

CLIENT_CREDENTIALS_FROM = (2025, 3)  # spec 001, Versioning, Service B
IDEMPOTENCY_FROM = (2021,)  # wire B 10
TOKEN_HEADER = "X-Authentication-Token"  # spec 001, Authentication, Service B
TIMEOUT_HEADER = "Vendor-Transaction-Timeout"  # spec 001, Endpoints, Service B; a deployment spells its own prefix
WORKSPACES = "/default-domain/workspaces"
INDEX_SECONDS = 60.0  # wire B 6.8: an index lags by seconds; waited where the repository may not be asked
FOLDER = "dam-sync"  # where assets go that are placed nowhere
CLOSED = "dam-sync closed"  # the title of the folder that nobody may read

# wire B 3: types that hold others
FOLDERISH = frozenset(
    {"Domain", "WorkspaceRoot", "Workspace", "Folder", "OrderedFolder", "SectionRoot", "Section", "TemplateRoot"}
    | {"Root", "Collections", "UserWorkspacesRoot", "HiddenFolder"}
)
COLLECTIONS = frozenset({"Collection", "Favorites"})  # wire B 2.5
NO_ASSET_FACETS = frozenset({"Folderish", "Collection", "HiddenInNavigation", "SystemDocument"})  # wire B 2.3
# wire B 6.5: life cycle `default`; state -> state -> transition
TRANSITIONS: Mapping[str, Mapping[str, str]] = {
    "project": {"approved": "approve", "obsolete": "obsolete"},
    "approved": {"project": "backToProject"},
    "obsolete": {"project": "backToProject"},
}
STATES = {"published": "approved", "archived": "obsolete", "draft": "project"}  # wire B 13: the mapping may override
BEFORE = {"obsolete": "approved"}  # the state from which an estimate counts; the initial one otherwise
INITIAL = "project"
READS = frozenset({"Read", "ReadWrite", "ReadRemove", "ReadCanCollect", "Everything"})  # wire B 5.3: they hold Read
CHANGES = frozenset({"ReadWrite", "ReadRemove", "Write", "WriteSecurity", "Remove", "AddChildren", "Everything"})
SECURED = frozenset({"dc:created", "dc:creator"})  # wire B 6.4: set by administrators alone; others are not written
EVERYONE = "Everyone"  # wire B 5.3: stands for all users
ADMINISTRATORS = "administrators"  # wire B 1.5: its members pass every check, whatever the entries say

# Endpoint templates: keys of the call counters and of the texts of errors
API = "/api/v1"
RELEASE = f"GET {API}/capabilities"
CMIS = "GET /json/cmis"
OPERATION = f"POST {API}/automation/"  # and the name of one
ADD_RELATION = f"{OPERATION}Document.AddRelation"
LOGIN = f"{OPERATION}login"
QUERY = f"{OPERATION}Repository.Query"
SEARCH = f"GET {API}/search/lang/NXQL/execute"
GET_ID = f"GET {API}/id/{{docId}}"
PUT_ID = f"PUT {API}/id/{{docId}}"
DELETE_ID = f"DELETE {API}/id/{{docId}}"
POST_ID = f"POST {API}/id/{{docId}}"
GET_PATH = f"GET {API}/path/{{path}}"
GROUP = f"GET {API}/group/{{group}}"
USER = f"GET {API}/user/{{user}}"
ACL = f"GET {API}/id/{{docId}}/@acl"
BLOB = f"GET {API}/id/{{docId}}/@blob/{{xpath}}"
SERVLET = "GET /nxfile/{repository}/{docId}/{path}"
TYPES = f"GET {API}/config/types"
SCHEMAS = f"GET {API}/config/schemas"
DIRECTORIES = f"GET {API}/directory"
DIRECTORY = f"GET {API}/directory/{{directoryName}}"
ADD_ENTRY = f"POST {API}/directory/{{directoryName}}"
PUT_ENTRY = f"PUT {API}/directory/{{directoryName}}/{{entryId}}"
NEW_BATCH = f"POST {API}/upload/new/default"
BATCH = f"GET {API}/upload/{{batchId}}"
DROP_BATCH = f"DELETE {API}/upload/{{batchId}}"
DROP_FILE = f"DELETE {API}/upload/{{batchId}}/{{fileIdx}}"
UPLOAD = f"POST {API}/upload/{{batchId}}/{{fileIdx}}"
UPLOADED = f"GET {API}/upload/{{batchId}}/{{fileIdx}}"
EXECUTE = f"POST {API}/upload/{{batchId}}/{{fileIdx}}/execute/{{operationId}}"

BOUNDS = PartBounds(preferred=CHUNK_BYTES, least=LEAST_CHUNK, at_once=CHUNKS_AT_ONCE)
LIMITS = Limits(
    page=SWEEP,
    split=SPLIT,
    pace=Pace(per_second=None, at_once=AT_ONCE, storage_at_once=4, most_at_once=MOST_LEARNED),
    single_bytes=SINGLE_BYTES,
    parts=BOUNDS,
    lifetimes=Lifetimes(upload=BATCH_LIFE),
    precision=timedelta(milliseconds=1),  # wire B 3: milliseconds
    lag=timedelta(0),  # wire B 2.1, 6.8: the repository is asked, never its index, and shows a write at once
    member_batch=100,  # wire B 6.5: `docs:` with at most 100 ids
    filename=FILENAME,
    undated=("relations", "names of terms"),  # wire B 2.6: they are documents and entries of their own
    enumerates_all=True,  # wire B 2.6: neither tags nor members nor rights nor moves move a date
    # wire B 6.3: extraction runs after a create, and may overwrite these after our write
    rewrites="b_documents fills imd:*, iptc:* and the properties mapped from binary metadata after each upload",
)

_LOCKED = "grant the user of the job permission for this document, or release its lock, then `errors JOB --retry`"
_RIGHTS = "grant the user of the job permission for this document, then `errors JOB --retry`"
RULES = (
    # wire B 6.2: batch unknown, expired (404) or cancelled (410 from 2025.3)
    ErrorRule(404, SessionGone, operation="POST /api/v1/upload/{batchId}*"),
    ErrorRule(410, SessionGone, operation="POST /api/v1/upload/{batchId}*"),
    ErrorRule(404, SessionGone, operation=BATCH),
    ErrorRule(410, SessionGone, operation=BATCH),
    *(ErrorRule(410, SessionGone, operation=operation) for operation in (POST_ID, PUT_ID)),
    # wire B 7.3: a right missing, or a lock of somebody else, concerns one document
    ErrorRule(403, Rejected, operation="* /api/v1/id/{docId}*", hint=_RIGHTS),
    ErrorRule(403, Rejected, operation=OPERATION, hint=_RIGHTS),
    ErrorRule(403, Rejected, operation=EXECUTE, hint=_LOCKED),
    # wire B 7.3: a server, or a proxy, without this operation; everything else can still be written
    ErrorRule(405, Unsupported, operation=ADD_RELATION, hint="leave its kind out of the option `relations`"),
    *(
        ErrorRule(403, Rejected, operation=operation, hint="let the user of the job be an administrator or power user")
        for operation in (ADD_ENTRY, PUT_ENTRY)
    ),
    # wire B 2.2: our own query was refused
    ErrorRule(400, ContractBroken, operation=QUERY),
    ErrorRule(400, ContractBroken, operation=SEARCH),
    ErrorRule(404, NotFound),
    ErrorRule(409, Conflict),
    ErrorRule(413, TooLarge, hint="increase the quota, or the largest body that the proxy in front accepts"),
    ErrorRule(400, InvalidValue),
    ErrorRule(422, InvalidValue),
)

# spec 001, Resources, Service B; wire B 3 (read), 6 (write)
FEATURES: Mapping[Feature, Support] = {
    Feature.FILELESS: YES,
    Feature.VERSIONS: Support("yes", "checked in, numbered again"),
    Feature.ATTACHMENTS: YES,
    Feature.DIGESTS: Support("MD5, or what the server is set to", "compared after each upload"),
    Feature.TEXT: YES,
    Feature.LONG_TEXT: YES,
    Feature.HTML: Support("if an option names the field", "as text"),
    Feature.NUMBER: YES,
    Feature.FLAG: YES,
    Feature.DATE: Support("if an option names the field", "as midnight"),
    Feature.INSTANT: YES,
    Feature.TERM: YES,
    Feature.PLACE: Support("in its own complex property", "in its own complex property"),
    Feature.PERSON: Support("user names", "user names"),
    Feature.EMAIL: Support("if an option names the field", "as text"),
    Feature.URL: Support("if an option names the field", "as text"),
    Feature.ROWS: YES,
    Feature.MULTIPLE: YES,
    Feature.LOCALIZED: Support("", ""),
    Feature.TERMS: Support("yes", "added"),
    Feature.HIERARCHY: YES,
    Feature.TERM_LOCALES: Support("if the vocabulary has them", "if the vocabulary has them"),
    Feature.SYNONYMS: Support("", ""),
    Feature.FOLDER: Support("one for each asset", "one for each asset"),
    Feature.CATEGORY: Support("", ""),
    Feature.COLLECTION: YES,
    Feature.SECTION: Support("by option", "", "a published copy stays behind when its asset changes"),
    Feature.LABEL: Support("", ""),
    Feature.TAGS: YES,
    Feature.MACHINE_TAGS: Support("", ""),
    Feature.STATUS: Support("life cycle states", "life cycle states"),
    Feature.RELEASE: YES,
    Feature.EXPIRY: YES,
    Feature.GROUPS: Support("who may read, by local and inherited rights", "right to read, nothing inherited"),
    Feature.RELATIONS: Support("kinds that an option names", "kinds that an option names"),
    Feature.CREATED: Support("yes", "restored by administrators"),
    Feature.LINKS: Support("download URLs, by option", "", "the server creates its own"),
    Feature.TRASH: Support("yes", "moved there, never purged"),
    Feature.RESTRICTIONS: Support("compared by the exposure guard", ""),
    Feature.FILENAME: Support("yes", ""),
    Feature.SAME_NAMES: YES,
    Feature.CLOSED: YES,
    Feature.TIME_OF_DAY: YES,
    Feature.CYCLES: YES,
    Feature.OUTER_WHITESPACE: YES,
    Feature.RENAMED_TERMS: YES,
    Feature.RENAMED_CONTAINERS: Support("folders, collections", "folders, collections"),
    Feature.MOVED_CONTAINERS: Support("folders", "", "a moved folder inherits other rights, unseen by the guard"),
}
# Operations that only writes of one kind use
TAG, GIVE, UNBLOCK, TRANSITION, CHECK_IN, RETURN, MOVE, FILL, LINKED, TRASH, UNTRASH = (
    OPERATION + name
    for name in (
        *("Services.TagDocument", "Document.AddPermission", "Document.UnblockPermissionInheritance"),
        *("Document.FollowLifecycleTransition", "Document.CreateVersion", "Document.RestoreVersion", "Document.Move"),
        *("Document.AddToCollection", "Document.GetLinkedDocuments", "Document.Trash", "Document.Untrash"),
    )
)

# Parts whose costs only this service has
BATCH_USED = "an upload batch, which small files share"
LATE_VALUES = "a new document with properties that a create does not keep"
VALUES = "an update with properties, tags, dates or a status in a property"
TAGGED = "a new document with tags that are no property"
GIVEN = "groups that get permissions, or everybody who loses them"
UNBLOCKED = "a document that inherits permissions again"
MOVED = "a document that gets another folder"
FOLLOWED = "a transition of the life cycle"
FOLDER_MADE = "a folder that the first document needs"
FOLDER_SEEN = "the closed folder, which is there already"
SERVED = "a large file that is opened"

COSTS: Costs = (
    *(Cost(BATCH_USED, call) for call in (NEW_BATCH, DROP_BATCH)),  # wire B 6.2
    *(Cost(part, UPLOAD) for part in (CostPart.WHOLE, CostPart.CHUNK)),
    Cost(CostPart.CHUNKED, UPLOADED),  # looked at before it is used
    Cost(CostPart.CREATE, POST_ID),  # wire B 6.3
    Cost(LATE_VALUES, PUT_ID),
    Cost(TAGGED, TAG),  # wire B 6.5, as the next ones
    Cost(GIVEN, GIVE),
    Cost(UNBLOCKED, UNBLOCK),
    Cost(MOVED, MOVE),
    Cost(FOLLOWED, TRANSITION),
    Cost(FOLDER_MADE, POST_ID),
    Cost(FOLDER_SEEN, GET_ID),  # whether others may read it
    Cost(CostPart.UPDATE, GET_ID, unread=True),
    Cost(VALUES, PUT_ID),
    Cost(CostPart.VERSION, GET_ID, unread=True),  # wire B 6.7
    Cost(CostPart.VERSION, CHECK_IN),
    Cost(CostPart.VERSION, PUT_ID),
    *(Cost(CostPart.RESTORED_VERSION, call) for call in (GET_ID, CHECK_IN, RETURN)),
    *(Cost(CostPart.ATTACHMENT, call) for call in (EXECUTE, GET_ID)),  # wire B 6.2
    *(Cost(CostPart.RELATION, call) for call in (LINKED, ADD_RELATION)),  # wire B 6.5
    *(Cost(CostPart.TRASHED, call) for call in (GET_ID, TRASH)),  # wire B 6.5
    *(Cost(CostPart.UNTRASHED, call) for call in (GET_ID, UNTRASH)),
    Cost(CostPart.TERM, ADD_ENTRY),  # wire B 5.2
    *(Cost(CostPart.RENAMED_TERM, call) for call in (DIRECTORY, PUT_ENTRY)),
    Cost(CostPart.CONTAINER, POST_ID),  # wire B 5.3
    Cost(CostPart.RENAMED_CONTAINER, PUT_ID),
    Cost(CostPart.MEMBERS, FILL, kind="collection"),  # wire B 6.5
    Cost(CostPart.MEMBERS, MOVE, kind="folder"),
    Cost(CostPart.OPENED, BLOB),  # wire B 3: each file is a call
    Cost(SERVED, SERVLET),  # wire B 4
)
CAPABILITIES = Capabilities(
    features=FEATURES,
    limits=LIMITS,
    costs=COSTS,
    memberships={"folder": MembershipWrite.WITH_ASSET},
    renames=frozenset({"folder", "collection"}),
    links=LinkAccess(login=True),  # wire B 1.1, 3: the servlet asks for a login, and the server decides who may read
)

LEAVES = (
    OrphanRetention(
        "an upload batch of a killed run, or one with a file of an asset that was parked or is gone",
        timedelta(hours=4),
        "B 6.2",
    ),
)

ASSUMPTIONS = (
    Assumption(
        1, "a document is an asset unless it holds others, is a collection, hidden, a version or a proxy", "2.3"
    ),
    Assumption(2, "Repository.Query takes the headers of any call; where it is forbidden the search is asked", "2.1"),
    Assumption(3, "ids are compared as the server sorts them; ranges of first characters cover any kind of id", "2.3"),
    Assumption(
        4, "versions are in the order of their numbers; uid:major_version and uid:minor_version hold them", "6.7"
    ),
    Assumption(
        5,
        "neighbouring versions with the same file are one file version, unless what was saved between them changed "
        "nothing but `dc:modified`: then the same file was uploaded again",
        "2.6, 6.7",
    ),
    Assumption(
        6,
        "a folder's title is its name for people; of equal titles side by side, all but the oldest get the name behind",
        "3",
    ),
    Assumption(
        7, "the states project, approved, obsolete mean draft, published, archived; options say otherwise", "13"
    ),
    Assumption(8, "dc:issued is the release and dc:expired the expiry; options name others", "13"),
    Assumption(
        9,
        "readers are those with a granted entry of Read, ReadWrite, ReadRemove, ReadCanCollect or Everything, "
        "inherited ones included; administrators and the user of the job are left out unless nobody else may read",
        "5.3",
    ),
    Assumption(10, "granting the same right to the same name twice leaves one entry", "5.3"),
    Assumption(
        11, "terms of a multi-level list are written as parent ids and id where the resolver names a parent", "5.1"
    ),
    Assumption(12, "tags written as nxtag:tags keep their case; types without NXTag are tagged by operation", "6.5"),
    Assumption(13, "relations are read by one call for each kind that the option names, always outgoing", "6.5"),
    Assumption(14, "a name with a point and digits behind ours is a twin of the same create and is deleted", "6.8"),
    Assumption(15, "a date field holds a timestamp unless the option `kinds` says date; days are midnight there", "3"),
    Assumption(16, "a version made with `increment: Minor` before each new file keeps the old one", "6.7"),
    Assumption(17, "the first level below a WorkspaceRoot is a Workspace, deeper ones are Folders", "5.3"),
    Assumption(18, "removing the last folder of an asset moves it to the folder for assets without a place", "6.5"),
    Assumption(
        19,
        "list constraint values are read as an array or as a bracketed text; in a text, a value may hold commas",
        "5.1",
    ),
    Assumption(20, "a complex property of latitude, longitude and address, and nothing else, is a place", "3"),
    Assumption(
        21, "an asset is in the sections that hold a copy of it; publishing again may leave its token alone", "2.5"
    ),
    Assumption(22, "files go through the server's own upload, also where a storage takes them directly", "6.2"),
    Assumption(23, "an existing file keeps its name: no call is shown that gives it another", "6.4"),
    Assumption(24, "a field for users and groups keeps `user:` before the name of a user", "5.1"),
    Assumption(
        25,
        "access entries are heeded in order, the document's own before inherited ones; the first that names somebody "
        "decides, and a denial of Everyone ends the list",
        "5.3",
    ),
    Assumption(
        26,
        "`Everyone` is everybody who can use the tenant; `members` and other groups are groups, unless the option "
        "`everybody` names them",
        "5.3",
    ),
    Assumption(27, "files of one upload batch may be sent at the same time, each under an index of its own", "6.2"),
    Assumption(
        28, "the schema of `collectionMember:collectionIds` is called `collectionMember`, as its prefix is", "2.5"
    ),
)

ASSUMED_WRITES = (
    AssumedWrite(
        10,
        "`Document.AddPermission` with `blockInheritance` closes a document in one call",
        "the rights in each response, or else by reading the document; if others can still read it, it stays in the "
        "closed folder and is parked",
    ),
    AssumedWrite(
        16,
        "`Document.CreateVersion` keeps the old file before a new one is written",
        "the document in its response; the new file is compared by length and digest",
    ),
    AssumedWrite(12, "`nxtag:tags` as a property keeps tags as they are", "comparing each with the response"),
    AssumedWrite(
        27,
        "files of several assets in one upload batch, under indexes of their own",
        "length and digest of the file of each document; a server that loses batches gets one for each file",
    ),
    AssumedWrite(18, "`Document.Move` with a name", "the folder and the name in each response"),
    AssumedWrite(
        13, "`Document.AddRelation` with `outgoing`", "`Document.GetLinkedDocuments` before each; `verify` afterwards"
    ),
)
