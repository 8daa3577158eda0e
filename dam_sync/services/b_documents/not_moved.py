"""What service B may hold or offer and dam-sync does not move or use; sections are those of spec 001, service B."""

from __future__ import annotations

from dam_sync.model.not_moved import NotMoved, NotUsed

TRASHED, FOLDERISH, LOCKED, PROXIES = "trashed", "folderish", "locked", "proxies"

NOT_MOVED = (
    NotMoved("documents in the trash", "they count as gone", "Resources, Document", "source", TRASHED),
    NotMoved("comments and annotations", "no other service has them at assets", "Endpoints, Comments"),
    NotMoved(
        "documents that have a file and hold other documents",
        "an asset of the other services holds no assets",
        "Resources, Asset types",
        "source",
        FOLDERISH,
    ),
    NotMoved("locks", "they belong to the user who holds them", "Resources, Document", "source", LOCKED),
    NotMoved(
        "publications of a single version (proxies)",
        "sections are read by option, and never written",
        "Resources, Versioning",
        counted=PROXIES,
    ),
    NotMoved("the audit trail", "it cannot be written", "Endpoints, Audit"),
    NotMoved(
        "access entries other than the right to read: denied, timed and inherited ones, the right to write",
        "they are compared by the exposure guard, and only the local right to read is written",
        "Endpoints, ACL",
        "target",
    ),
    NotMoved(
        "a file that was uploaded again byte for byte, and whose document was edited before the next run, as a version",
        "its events and dates are those of one edit, so that it counts as the edit alone",
        "Resources, Versioning",
        "source",
    ),
    NotMoved("labels of versions", "the service numbers versions itself", "Resources, Versioning", "target"),
    NotMoved(
        "folders, workspaces and collections as such: empty ones, their metadata, order and rights",
        "a container is created when an asset needs it",
        "Resources, Document",
    ),
    NotMoved("workflows, tasks, favorites, saved searches", "they belong to users", "Endpoints, Workflows, Tasks"),
    NotMoved(
        "directory entries that no asset uses; what they have besides id, labels and parent",
        "only used terms are created",
        "Resources, Vocabularies",
    ),
    NotMoved("views of pictures, renditions, thumbnails", "each service makes its own", "Endpoints, Renditions"),
    NotMoved(
        "creator and contributors; the creation date, unless the user of the job is an administrator",
        "the service sets them itself",
        "Resources, Document",
        "target",
    ),
    NotMoved(
        "members of a collection beyond 10,000",
        "the service refuses them; they are reported",
        "Limits",
        "target",
    ),
    NotMoved("repositories other than the one of the job", "a job has one repository", "Addresses"),
    NotMoved(
        "accounts of users and groups, and who belongs to a group", "people are managed in each tenant", "Users, groups"
    ),
    NotMoved(
        "document types, schemas, facets, directories",
        "the API only reads them: `check` names what the mapping writes and the target lacks, to be made there first",
        "Endpoints, Schema",
        "target",
    ),
)

NOT_USED = (
    NotUsed(
        "bulk actions of the server",
        "they apply one change to all results of a query; each document gets values of its own, each accounted for",
        "Endpoints, Bulk actions",
    ),
    NotUsed(
        "direct upload to object storage",
        "it needs temporary credentials for a bucket of the server; files go through upload batches",
        "Upload flow",
    ),
    NotUsed("CMIS and WebDAV as ways to documents", "the REST API has all that is moved", "What the service does"),
    NotUsed("management calls", "they are for administrators of the server", "Endpoints, Management"),
)
