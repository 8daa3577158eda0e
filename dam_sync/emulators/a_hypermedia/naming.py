"""Names the service makes up: addresses of files, sizes for people."""

from __future__ import annotations

import hashlib
from functools import lru_cache

_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"


def size_text(size: int, language: str) -> str:
    """A size for people, in their language; nobody should parse it."""
    unit = "o" if language == "fr" else "B"
    for name, factor in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if size >= factor:
            number = f"{size / factor:.2g}"
            return f"{number.replace('.', ',') if language == 'fr' else number} {name}{unit}"
    return f"{size} {unit}"


def extension(name: str) -> str:
    """The file name's extension with its dot, plain characters only."""
    ending = name.rpartition(".")[2].lower()
    return f".{ending}" if ending != name.lower() and ending.isalnum() and ending.isascii() else ".bin"


@lru_cache(maxsize=1 << 17)
def file_secret(seed: int, version: int) -> str:
    """The random part of a version's address."""
    number = int.from_bytes(hashlib.sha256(f"static {seed} {version}".encode()).digest()[:8])
    letters = []
    for _ in range(10):
        number, rest = divmod(number, 36)
        letters.append(_ALPHABET[rest])
    return "".join(letters)
