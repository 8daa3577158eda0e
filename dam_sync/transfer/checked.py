"""Proof that a content was checked: what a call that makes bytes visible at the target asks for."""

from __future__ import annotations

from dam_sync.model.ports import Content


class CheckedContent:
    """A content of which every byte was seen and agrees with what the source announced. Only `of` makes one, so a
    finishing call that takes it cannot be made with bytes that nobody checked."""

    __slots__ = ("content",)
    content: Content

    def __init__(self) -> None:
        raise TypeError("`await CheckedContent.of(content)` makes one")

    @classmethod
    async def of(cls, content: Content) -> CheckedContent:
        """Check the content; safe to repeat. Raises IntegrityError, Transient."""
        await content.check()
        checked = cls.__new__(cls)
        checked.content = content
        return checked
