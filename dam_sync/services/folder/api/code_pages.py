"""Code pages in which names may be."""

from __future__ import annotations

_OWN_ASCII = b"a\\u0041/+AGE-"  # which escapes and other encodings of text in text change


def code_page_of(text: str) -> str:
    """A code page as Python calls it; also by its number. Raises ValueError for one in which paths cannot be."""
    name = {"65001": "utf-8"}.get(text, f"cp{text}" if text.isdecimal() else text)
    try:
        known = _OWN_ASCII.decode(name) == _OWN_ASCII.decode("ascii")
    except (LookupError, UnicodeError):
        known = False
    if name and not known:
        raise ValueError(f"{text[:100]!r} is no code page of names; write cp850, cp1252, cp866, cp932 or another one")
    return name
