"""Links to files, which may be signed, on their way from the coordinator to a worker."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from cryptography.fernet import Fernet, InvalidToken

from dam_sync.engine.context.stages import Concluded, DraftedAsset
from dam_sync.model.asset import FileRef

Item = TypeVar("Item", DraftedAsset, Concluded, DraftedAsset | Concluded)


class LinkSeal:
    """Encrypts links with a key that both sides derive from the credential of the source, which is never sent. secret:
    tells the credential from others; run: from which a key of its own is made for each run."""

    def __init__(self, secret: str, run: str) -> None:
        key = hmac.new(secret.encode(), f"links of run {run}".encode(), hashlib.sha256).digest()
        self._fernet = Fernet(base64.urlsafe_b64encode(key))

    def sealed(self, item: Item) -> Item:
        """The item with its links encrypted."""
        return _with_links(item, lambda link: self._fernet.encrypt(link.encode()).decode())

    def opened(self, item: Item) -> Item:
        """The item with its links as they were. One that was sealed with another key is left out: the source is then
        asked for a new one."""
        return _with_links(item, self._opened)

    def _opened(self, sealed: str) -> str:
        try:
            return self._fernet.decrypt(sealed.encode()).decode()
        except InvalidToken:
            return ""


def _with_links(item: Item, change: Callable[[str], str]) -> Item:
    if item.asset is None:
        return item

    def changed(file: FileRef) -> FileRef:
        return replace(file, link=change(file.link)) if file.link else file

    versions, attachments = (tuple(map(changed, files)) for files in (item.asset.versions, item.asset.attachments))
    return replace(item, asset=replace(item.asset, versions=versions, attachments=attachments))
