"""What kind of media a name speaks of: that of a type or profile by its words, that of a file by its ending."""

from __future__ import annotations

from collections.abc import Mapping
from mimetypes import MimeTypes
from pathlib import PurePosixPath
from typing import Final

from dam_sync.mapping.similarity import words_of

DOCUMENT: Final = "document"
FAMILY_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "image": (
        *("picture", "pictures", "image", "images", "photo", "photos", "photograph", "photography", "stills"),
        *("bild", "bilder", "bildaufnahme", "foto", "fotos", "fotografie", "fotografien", "aufnahme", "aufnahmen"),
        *("abbildung", "abbildungen", "beeld", "beelden", "afbeelding", "afbeeldingen", "fotografia", "fotografias"),
        *("photographie", "photographies", "imagen", "imagenes", "immagine", "immagini"),
    ),
    "video": (
        *("video", "videos", "film", "films", "movie", "movies", "footage", "filme", "pelicula", "peliculas"),
        *("bewegtbild", "filmato", "filmati"),
    ),
    "audio": (
        *("audio", "audios", "sound", "sounds", "music", "ton", "tonaufnahme", "tonaufnahmen", "musik", "geluid"),
        *("muziek", "son", "sons", "musique", "sonido", "sonidos", "musica", "suono", "suoni"),
    ),
    DOCUMENT: (
        *("document", "documents", "file", "files", "text", "texts", "dokument", "dokumente", "schriftgut", "datei"),
        *("dateien", "documenten", "tekst", "teksten", "bestand", "texte", "textes", "fichier", "fichiers"),
        *("documento", "documentos", "documenti", "texto", "textos", "testo", "testi"),
    ),
}
"""Words for each kind in English, German, Dutch, French, Spanish and Italian, without accents."""
ENDINGS: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ["webp", "heic", "heif", "avif", "dng", "cr2", "cr3", "nef", "arw", "raf", "orf", "rw2", "psd", "eps", "ai"],
        "image",
    ),
    **dict.fromkeys(["mkv", "m4v", "mxf", "mts"], "video"),
    **dict.fromkeys(["flac", "m4a", "ogg", "opus"], "audio"),
}
"""Endings that the standard library does not know, or knows as documents."""

_FAMILIES: Final = {word: family for family, words in FAMILY_WORDS.items() for word in words}
_REGISTERED: Final = MimeTypes(()).types_map[True]  # without what the computer adds to it
_UNTOLD: Final = "application/octet-stream"


def families_of(*names: str) -> frozenset[str]:
    """The kinds of media that these names speak of."""
    return frozenset(_FAMILIES[word] for name in names for word in words_of(name) if word in _FAMILIES)


def family_of_file(name: str) -> str:
    """The kind of media of a file by the ending of its name; empty if that says nothing."""
    ending = PurePosixPath(name.lower()).suffix
    if (known := ENDINGS.get(ending[1:])) is not None:
        return known
    kind = _REGISTERED.get(ending, _UNTOLD)
    family = kind.partition("/")[0]
    return family if family in FAMILY_WORDS else "" if kind == _UNTOLD else DOCUMENT
