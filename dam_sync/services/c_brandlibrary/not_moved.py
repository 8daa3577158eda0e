"""What service C may hold or offer and dam-sync does not move or use; sections are those of spec 001, service C."""

from __future__ import annotations

from dam_sync.model.not_moved import NotMoved, NotUsed, SideEffect

LIBRARIES, VIEW_ONLY = "libraries", "view_only"

NOT_MOVED = (
    NotMoved(
        "other libraries of the organization", "a job has one library", "Endpoints, Libraries", "source", LIBRARIES
    ),
    NotMoved(
        "originals of view-only assets",
        "the service refuses their download; such assets are parked",
        "Search",
        "source",
        VIEW_ONLY,
    ),
    NotMoved("comments", "no call returns them", "Search", "source"),
    NotMoved(
        "visibility, tagline and order of collections, privacy of the library",
        "no call sets them, and other services have nothing like them",
        "Resources, Collection",
    ),
    NotMoved("labels", "no call adds an existing asset to a label", "Not exposed", "target"),
    NotMoved(
        "a second collection of an asset", "no call adds an existing asset to a collection", "Not exposed", "target"
    ),
    NotMoved(
        "embedded metadata, tags and labels of single attachments",
        "the other services have them at the asset only",
        "Resources, Attachment",
    ),
    NotMoved("bytes of older versions", "only their number is published", "Resources, Attachment", "source"),
    NotMoved("previews and thumbnails", "each service makes its own", "Resources, Attachment"),
    NotMoved(
        "external media as such",
        "they are links without a file; where the service returns them, they are the field `asset_data`",
        "Resources, Asset types",
    ),
    NotMoved(
        "colors, fonts, people, press items and texts as such",
        "they become generic files",
        "Resources, Asset types",
        "target",
    ),
    NotMoved("machine tags", "no call writes them", "Resources, Asset", "target"),
    NotMoved("dependencies between fields", "the API does not describe them", "Limits"),
    NotMoved(
        "creation date, and who created or changed an asset",
        "no call sets them",
        "Resources, Asset",
        "target",
    ),
    NotMoved("views, downloads, the history of assets", "no call returns them", "Not exposed", "source"),
    NotMoved("permissions and invitations", "people are managed in each tenant", "Endpoints, Users"),
    NotMoved("share links, portals, brand guides, search filters", "no call returns their content", "Not exposed"),
    NotMoved(
        "custom CDN names, and links by file name on the CDN",
        "support activates them, and no call returns them",
        "Downloads, Delivery",
        "source",
    ),
    NotMoved(
        "priority and position of fields, position of labels",
        "the order of fields is a setting of the library",
        "Resources, Custom field key",
    ),
    NotMoved(
        "fields, their allowed values, sections",
        "of these only the field of the marker is created: `check` names those that the mapping writes and the target "
        "lacks, to be made there first",
        "Endpoints, Custom field keys, Sections",
        "target",
    ),
)

NOT_USED = (
    NotUsed(
        "the data connector",
        "a paid copy of the library in a data warehouse, renewed every night: the API shows what is there now; events, "
        "share links and user activity are only there",
        "What the service does, Resources, Data connector tables",
    ),
)

SIDE_EFFECTS = (
    SideEffect(
        "what is hidden, expires or is removed may stay readable by its CDN links for up to 24 hours",
        "no call ends that sooner: where it must not be, hide it a day earlier, or ask support to empty the CDN",
        "Downloads, Delivery",
    ),
)
