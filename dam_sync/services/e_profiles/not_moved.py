"""What service E may hold or offer and dam-sync does not move or use; sections are those of spec 002, service E."""

from __future__ import annotations

from dam_sync.model.not_moved import NotMoved, NotUsed, SideEffect

TRASHED, ARCHIVED, SHARED, GLOBAL = "trashed", "archived", "shared_collections", "global_collections"

NOT_MOVED = (
    NotMoved("deleted assets that can still be restored", "they count as gone", "Search", "source", TRASHED),
    NotMoved(
        "global collections as such",
        "collections are created as private ones, visible to the user of the job only",
        "Collections",
        counted=GLOBAL,
    ),
    NotMoved(
        "shared collections as such, and with whom they are shared",
        "collections are created as private ones, visible to the user of the job only",
        "Collections",
        counted=SHARED,
    ),
    NotMoved("private collections of other users", "no call returns them", "Collections", "source"),
    NotMoved(
        "the category above, of assets that are in one below it",
        "where listings include what is below, the two cannot be told apart",
        "Categories",
        "source",
    ),
    NotMoved("the archived state", "no call archives an asset", "Search", "target", ARCHIVED),
    NotMoved("attached documents", "no call adds one", "v1 asset detail", "target"),
    NotMoved(
        "machine tags as such", "no call writes them; a line of the mapping can make tags of them", "Tags", "target"
    ),
    NotMoved("creation date, and who uploaded or changed an asset", "no call sets them", "Resources, Asset", "target"),
    NotMoved("previews made by hand", "each service makes its own", "Endpoints, Assets"),
    NotMoved("products, attributes, channels and their links to assets", "an add-on of the service", "Products"),
    NotMoved(
        "integration links, portals, orders, embed codes", "they are addresses of this tenant", "Integration links"
    ),
    NotMoved("workflow projects and deliverables", "an add-on of the service", "Workflow"),
    NotMoved("views, downloads, shares", "usage belongs to the tenant where it happened", "Analytics"),
    NotMoved(
        "empty categories and collections",
        "a category or collection is created when an asset needs it",
        "Categories",
    ),
    NotMoved(
        "a change of the metadata type of an asset that was already moved",
        "an upload profile decides it once",
        "Metadata schema",
        "target",
    ),
    NotMoved(
        "accounts of users, roles and groups", "the API does not manage them", "What the service does, Not exposed"
    ),
    NotMoved(
        "metadata fields, metadata types, upload profiles, asset groups",
        "only values are added to vocabularies: `check` names what the mapping writes and the target lacks, to be made "
        "there first",
        "What the service does, Not exposed",
        "target",
    ),
)

NOT_USED = (
    NotUsed(
        "the filter `monitored_metadata_fields` of webhooks",
        "a change of any field matters",
        "Events",
    ),
    NotUsed("the read-only MCP server", "it is for assistants", "What the service does"),
    NotUsed("the embedded search", "it is a page for people", "Endpoints, Embedded search UI"),
    NotUsed("orders and conversions", "originals are read by their download links", "Endpoints, Delivery"),
    NotUsed(
        "revoking access tokens",
        "another process may be using them, and they end by themselves",
        "Authentication",
    ),
)

SIDE_EFFECTS = (
    SideEffect(
        "each original that is read counts as a download in the analytics of the tenant",
        "no call avoids that: compare figures of use only up to the day on which the migration begins",
        "wire E 4, `_links.download`",
        "source",
    ),
)
