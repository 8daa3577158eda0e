"""A signed link reaches a worker, and nobody who sees the message."""

from __future__ import annotations

import pickle

from dam_sync.cluster.links import LinkSeal
from dam_sync.engine.context.stages import Concluded
from dam_sync.model.asset import Asset, AssetId, FileRef, Revision
from dam_sync.model.outcome import Outcome
from dam_sync.store.rows import Work

SIGNED = "https://files.example/a.jpg?Signature=abc"


def item() -> Concluded:
    """An asset with one file."""
    asset = Asset(AssetId("1"), Revision("a"), versions=(FileRef("1", "a.jpg", link=SIGNED), FileRef("2", "b.jpg")))
    return Concluded(Work(1, AssetId("1"), "a"), Outcome("skipped"), asset)


def test_a_link_is_sealed_and_opened_with_the_credential_of_the_source() -> None:
    sealed = LinkSeal("secret", "run").sealed(item())
    assert b"Signature" not in pickle.dumps(sealed)
    opened = LinkSeal("secret", "run").opened(sealed)
    assert opened.asset is not None
    assert [file.link for file in opened.asset.versions] == [SIGNED, ""]


def test_another_credential_or_run_does_not_open_it() -> None:
    sealed = LinkSeal("secret", "run").sealed(item())
    for secret, run in (("other", "run"), ("secret", "other")):
        opened = LinkSeal(secret, run).opened(sealed)
        assert opened.asset is not None
        assert [file.link for file in opened.asset.versions] == ["", ""]
