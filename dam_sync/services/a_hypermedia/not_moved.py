"""What service A may hold or offer and dam-sync does not move or use; sections are those of spec 000."""

from __future__ import annotations

from dam_sync.model.not_moved import NotMoved, NotUsed, SideEffect

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
    NotMoved(
        "accounts of users and groups, and who belongs to a group", "people are managed in each tenant", "Users, groups"
    ),
    NotMoved(
        "addresses of the resizing service in web pages",
        "no document shows how they are made, so `redirects` does not translate them",
        "What the service does, Picker web component",
        "source",
    ),
    NotMoved(
        "share templates with the domains they allow, wikis, properties of the instance",
        "they are settings of the tenant",
        "Endpoints, Sharing, Administration",
    ),
    NotMoved(
        "forms, fields, closed lists, labels, statuses",
        "no call creates them: `check` names those that the mapping writes and the target lacks, to be made there "
        "first",
        "Endpoints, Metadata schema, Statuses, labels",
        "target",
    ),
)

NOT_USED = (
    NotUsed(
        "exports, download requests, contact sheets",
        "they pack or convert files for people; originals are read one by one by `/download-express`",
        "Endpoints, Downloads, exports",
    ),
    NotUsed(
        "bulk jobs over many media", "each media is written and read back by itself", "Endpoints, Selections, bulk"
    ),
    NotUsed("embeddings", "their purpose is not documented", "Endpoints, Embeddings"),
)

SIDE_EFFECTS = (
    SideEffect(
        "writing may make the service send notification e-mails to its users",
        "no document says when: ask the administrator of the tenant to switch them off for the time of the migration; "
        "`PUT /api/public/notifications/{email}`, which dam-sync never calls, does so for one address",
        "Events",
    ),
)
