"""File names that every file system and every service accepts."""

from __future__ import annotations

import re
import unicodedata

from dam_sync.model.naming import parted
from dam_sync.model.unicode_forms import CharacterTable, nfc

SEPARATORS = str.maketrans(dict.fromkeys('/\\:*?"<>|', "_"))
DOTS = re.compile(r"\.{2,}")
BLANKS = re.compile(r"\s+")
RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?", re.IGNORECASE)
JOINERS = "\u200c\u200d"  # they affect the shape of neighboring characters
NAMELESS = "unnamed"


def safe_name(name: str, most: int) -> str:
    """The name in NFC, without what some systems refuse: separators, control and direction characters, `..`, names that
    DOS reserves, dots and whitespace at its end. At most `most` characters (at least 8), cut before the extension and
    never between a character and its accents; never empty. Safe to repeat: a safe name stays as it is."""
    most = max(most, 8)
    for _ in range(8):  # each step may require another; two or three rounds are enough
        cleaned = _cut(_cleaned(name), most)
        if cleaned == name:
            break
        name = cleaned
    return name


def _cleaned(name: str) -> str:
    text = nfc(name)
    text = text.translate(_VISIBLE)
    text = BLANKS.sub(" ", text.translate(SEPARATORS))
    text = DOTS.sub(".", text).strip(" ").rstrip(". ")
    if not text:
        return NAMELESS
    return f"_{text}" if RESERVED.fullmatch(text) else text


def _invisible(letter: str) -> bool:
    """Control and format characters (bidirectional overrides among them), lone surrogates, and noncharacters."""
    if letter in JOINERS or letter == "\t":
        return False
    nothing = "\ufdd0" <= letter <= "\ufdef" or ord(letter) & 0xFFFE == 0xFFFE
    return nothing or unicodedata.category(letter) in ("Cc", "Cf", "Cs")


_VISIBLE = CharacterTable(lambda letter: None if _invisible(letter) else letter)


def _cut(name: str, most: int) -> str:
    if len(name) <= most:
        return name
    stem, extension = parted(name)
    if not extension or len(extension) + 2 > most:
        return cut_to_characters(name, most)
    return f"{cut_to_characters(stem, most - len(extension) - 1).rstrip(' .')}.{extension}"


def cut_to_characters(text: str, most: int) -> str:
    """At most `most` code points from the start, never ending between a character and one that combines with it."""
    if len(text) <= most:
        return text
    end = most
    while end > 0 and (_combines(text[end]) or text[end - 1] in JOINERS):
        end -= 1
    return text[: end or most]


def _combines(letter: str) -> bool:
    return unicodedata.category(letter) in ("Mn", "Mc", "Me") or letter in JOINERS or _emoji_part(letter)


def _emoji_part(letter: str) -> bool:
    """Variation selectors and skin tones belong to the character before them."""
    return "\ufe00" <= letter <= "\ufe0f" or "\U0001f3fb" <= letter <= "\U0001f3ff"
