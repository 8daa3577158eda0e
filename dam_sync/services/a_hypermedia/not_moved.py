"""What service A may hold and dam-sync does not move; sections are those of spec 000."""

from __future__ import annotations

from dam_sync.model.not_moved import NotMoved

TRASHED, BASKETS = "trashed", "baskets"

NOT_MOVED = (
    NotMoved("media in the trash", "they count as gone", "Search, `/search/trash`", "source", TRASHED),
    NotMoved(
        "boards, their columns, and who works on them",
        "the other services have nothing like them",
        "Endpoints, Boards",
    ),
    NotMoved("tags, users and shares of baskets", "no other service has them", "Endpoints, Baskets", "source", BASKETS),
    NotMoved("baskets", "they belong to one user", "Endpoints, Baskets", "target"),
    NotMoved("membership in workflows, validation requests", "they are work in progress", "Endpoints, Workflows"),
    NotMoved(
        "folders as such: empty ones, descriptions, order, responsible users",
        "a folder is created when an asset needs it",
        "Endpoints, Folders",
    ),
    NotMoved(
        "rights of folders",
        "no call returns them, so the exposure guard does not know who sees a media by its folders",
        "Endpoints, Folders",
    ),
    NotMoved(
        "terms that no asset uses; merged and deleted terms",
        "only used terms are created",
        "Endpoints, Thesauri",
    ),
    NotMoved("terms of use", "they are texts of the tenant, shown before a download", "Terms of use"),
    NotMoved("share tokens, embedded players", "they are addresses of this tenant", "Endpoints, Sharing", "source"),
    NotMoved("faces and individuals", "an option of the tenant with data of its own", "Endpoints, Face recognition"),
    NotMoved(
        "files of a media besides its versions and attachments (`blobs`)",
        "their meaning is not documented",
        "Endpoints, Attachments, relations",
    ),
    NotMoved(
        "previews, and thumbnails chosen by hand", "each service makes its own", "Endpoints, Renditions and links"
    ),
    NotMoved("who created or changed a media", "the target records the user of the job", "Resources, Media", "target"),
    NotMoved("saved searches, scripts", "they are written for this service", "Endpoints, Advanced search, Scripts"),
    NotMoved("views and downloads", "usage belongs to the tenant where it happened", "Endpoints, Statistics", "target"),
    NotMoved("creation and import dates", "no call sets them", "Resources, Media", "target"),
    NotMoved(
        "coordinates and address of the media itself",
        "only metadata fields are written",
        "Resources, Media",
        "target",
    ),
    NotMoved(
        "relations of types that the option `link_types` does not name",
        "no call lists the types",
        "Endpoints, Attachments, relations",
        "target",
    ),
)
