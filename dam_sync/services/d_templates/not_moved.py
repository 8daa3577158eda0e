"""What service D may hold or offer and dam-sync does not move or use; sections are those of spec 002, service D."""

from __future__ import annotations

from dam_sync.model.not_moved import NotMoved, NotUsed
from dam_sync.services.d_templates import facts

TRASHED, REQUESTS = "trashed", "requests"

NOT_MOVED = (
    NotMoved(
        "records in the recycle bin, one for each version",
        "their assets count as gone",
        "Endpoints, Assets",
        "source",
        TRASHED,
    ),
    NotMoved("storyboards", "no other service has them", "Endpoints, Storyboards"),
    NotMoved("requests for assets", "they are work in progress", "Endpoints, Requests", counted=REQUESTS),
    NotMoved("proofs, workflow templates", "they are work in progress", "Endpoints, Proofs, Workflows"),
    NotMoved("bytes of federated assets", "they are stored in another system", "Resources, Asset", "source"),
    NotMoved("federated assets", "only files are uploaded", "Resources, Asset", "target"),
    NotMoved(
        "metadata of collections, and who may see them",
        "new collections get the template and the security template of the job",
        "Endpoints, Collections",
    ),
    NotMoved("private collections of other users", "no call returns them", "Endpoints, Collections", "source"),
    NotMoved("members, roles and privileges behind a security template", "templates are compared by name", "Security"),
    NotMoved("rights associations", "no call reads or creates them", "Endpoints, Rights"),
    NotMoved("shares and exposed links", "they end after seconds or days", "Sharing", "source"),
    NotMoved("the history of assets", "it cannot be written", "Endpoints, Assets"),
    NotMoved(
        "documents, kinds and edges of the content-intelligence interface",
        "the main interface is complete for assets (assumption 27)",
        "Content-intelligence API",
    ),
    NotMoved("previews uploaded by hand, technical metadata", "each service makes its own", "Endpoints, Renditions"),
    NotMoved("brand templates", "they are layouts of this service", "Endpoints, Templates"),
    NotMoved(
        "relations of other kinds than child, derivative and placed graphic",
        "the service has these three",
        "Relationships",
        "target",
    ),
    NotMoved(
        "creation date, creator and ids as such",
        "no call sets them: map them to attributes of the tenant",
        "Resources, Asset",
        "target",
    ),
    NotMoved(
        "accounts of users and groups, and who belongs to a group",
        "people are managed in each tenant",
        "Endpoints, Users",
    ),
    NotMoved(
        "attributes, metadata templates, vocabularies, cascades, tables, security templates",
        "only values are added to vocabularies: `check` names what the mapping writes and the target lacks, to be made "
        "there first",
        "Endpoints, Metadata templates, Attributes, groups",
        "target",
    ),
)

NOT_USED = (
    *(
        NotUsed(
            f"the deprecated API v1 (URLs with `{path}`)",
            f"its support ended on 2026-07-31; a job file with such a URL is refused: {advice}",
            "What the service does, Addresses",
        )
        for path, advice in facts.FORMER_PATHS.items()
    ),
    NotUsed(
        "bulk edit (`PATCH /asset`)",
        "it is asynchronous, no call shows how it ended, and it leaves a collection behind: each asset is changed by a "
        "call of its own",
        "Endpoints, Assets",
    ),
    NotUsed("CDN pull zones", "they are documented as not yet released", "Endpoints, CDN"),
    NotUsed(
        "ending a session (`DELETE /auth/token`)",
        "no document says whether it ends other sessions of the same user, which another process may be using; access "
        "tokens end within an hour, and the refresh token, held in memory only, within 30 days",
        "Authentication",
    ),
    NotUsed("impersonation", "it is deprecated; each job has its own user", "Endpoints, Authentication"),
    NotUsed(
        "OAuth, Basic and header credentials of webhook endpoints",
        "deliveries are proved by their signature",
        "Events",
    ),
)
