"""Proof that a content was checked: required by calls that make bytes visible at the target."""

from __future__ import annotations

from dam_sync.model.ports import Content


class CheckedContent:
    """Content of which every byte was read and agrees with what the source announced. Only `of` creates one, so a
    finishing call that takes it cannot be sent with unchecked bytes."""

    __slots__ = ("content",)
    content: Content

    def __init__(self) -> None:
        raise TypeError("use `await CheckedContent.of(content)`")

    @classmethod
    async def of(cls, content: Content) -> CheckedContent:
        """Check the content; safe to repeat. Raises IntegrityError, Transient."""
        await content.check()
        checked = cls.__new__(cls)
        checked.content = content
        return checked
