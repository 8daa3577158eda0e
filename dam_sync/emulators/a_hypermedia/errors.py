"""Refusals, as the service spells them."""

from __future__ import annotations

from collections.abc import Mapping

from dam_sync.emulators.kit.environment import Json


class Refusal(Exception):
    """A call that is refused with `{status, code, message}`; `extra` joins the body."""

    def __init__(self, status: int, code: str, message: str, extra: Mapping[str, Json] | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.extra = status, code, message, extra or {}


def not_found(resource: str) -> Refusal:
    """Unknown, expired or invisible: the caller cannot tell which."""
    return Refusal(404, f"{resource}-not-found", f"No such {resource}.")


def forbidden(what: str) -> Refusal:
    """The right is missing."""
    return Refusal(403, "media-operation-forbidden", f"The user may not {what}.")


def bad(code: str, message: str) -> Refusal:
    """The request is wrong."""
    return Refusal(400, code, message)
