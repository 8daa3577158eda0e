"""What service E may hold and dam-sync does not move; sections are those of spec 002, service E."""

from __future__ import annotations

from dam_sync.model.not_moved import NotMoved

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
)
