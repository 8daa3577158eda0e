"""What service C may hold and dam-sync does not move; sections are those of spec 001, service C."""

from __future__ import annotations

from dam_sync.model.not_moved import NotMoved

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
)
