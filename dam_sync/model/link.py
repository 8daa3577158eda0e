"""What the state knows of a source asset and its target asset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from dam_sync.model.asset import Draft
from dam_sync.model.values import Json


@dataclass(frozen=True, slots=True)
class LinkRow:
    """A source asset and its target asset.

    versions: keys of the files written, oldest first. attachments: keys of those added. A key of a file that left the
    source and stays at the target begins with `LEFT`. attached: name, size and digests of each as it was sent; `named`:
    its name at the source, if that changed since. relations: `[kind, source id]` of those queued, the kind marked in
    the same way. draft: what was last written, as JSON. made_at: when the target asset was created, as long as its
    service may still remove it; None once it stays. proofs: what was proved about each file, by its key; evidence: of
    its other files, and of an asset without any. kept: after a conflict, what the target has instead of the value of
    the draft, by path.
    """

    source: str
    target: str
    source_revision: str = ""
    source_fingerprint: str = ""
    draft_fingerprint: str = ""
    filename: str = ""
    evidence: str = "V0"
    digests: Mapping[str, str] = field(default_factory=dict)
    size: int | None = None
    versions: tuple[str, ...] = ()
    attachments: tuple[str, ...] = ()
    relations: tuple[tuple[str, str], ...] = ()
    draft: Json = None
    made_at: datetime | None = None
    proofs: Mapping[str, str] = field(default_factory=dict)
    kept: Mapping[str, Json] = field(default_factory=dict)
    attached: Mapping[str, Json] = field(default_factory=dict)

    def proof_of(self, key: str) -> str:
        """The evidence of the file with this key: what was proved about it, else that of a file nothing is known of."""
        return self.proofs.get(key, self.evidence)

    @property
    def weakest(self) -> str:
        """The evidence of the asset: the weakest of its files at the source."""
        keys = (key for key in (*self.versions, *self.attachments) if not key.startswith(LEFT))
        return min(map(self.proof_of, keys), default=self.evidence)


PROFILE = "profile"
LEFT = "left:"
"""Before the key of a file that left the source and stays at the target."""


def profile_of(link: LinkRow, draft: Draft) -> str:
    """The profile of an asset that exists: that with which it was created."""
    return link.kept.get(PROFILE) or link.draft.get(PROFILE) or draft.profile
