"""What service D may hold and dam-sync does not move; sections are those of spec 002, service D."""

from __future__ import annotations

from dam_sync.model.not_moved import NotMoved

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
)
