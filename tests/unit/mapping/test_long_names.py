"""A name of millions of characters costs memory by a small factor of its length, wherever it is compared or changed."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable

import pytest

from dam_sync.mapping.compile import marker_value
from dam_sync.mapping.containers import flattened
from dam_sync.mapping.filenames import safe_name
from dam_sync.mapping.results import LanguagePreference
from dam_sync.mapping.similarity import one_line, ratio, words_of
from dam_sync.mapping.term_similarity import without_accents
from dam_sync.mapping.vocabulary import VocabularyRule, fold, parts_of, path_of
from dam_sync.mapping.yaml_writer import quoted
from dam_sync.model.asset import AssetId, path_text
from dam_sync.model.joined_names import escaped, joined, parted, unescaped
from dam_sync.model.unicode_forms import nfkd
from dam_sync.model.values import Term
from dam_sync.services.e_profiles.facts import NAMING
from tests.support.mapping.drafts import index

NAMES = {
    "other": "\u6f22" * 300_000,
    "marks": "\u0316\u0300" * 50_000,
    "escapes": "\u6f22\\" * 150_000,
    "levels": "\u6f22\u5b57\u540d\u524d/" * 60_000,
}
"""Of characters of which each one that stands alone is an object. The factor is the same for millions of them."""
FACTOR, FIXED = 14, 1_000_000  # of the bytes of the name; bytes that an empty buffer may take


def matched(name: str) -> object:
    terms = index("sea")
    return VocabularyRule("r", "subject").apply(Term(name, path=(name,)), terms, LanguagePreference(), "subject")


USES: dict[str, Callable[[str], object]] = {
    "parts_of": parts_of,
    "path_of": path_of,
    "path_text": lambda name: path_text((name, "a")),
    "joined": lambda name: parted(joined((name, "a"), "\n"), "\n"),
    "escaped": lambda name: unescaped(escaped(name, "[{"), "[{"),
    "nfkd": nfkd,
    "fold": fold,
    "without_accents": without_accents,
    "safe_name": lambda name: safe_name(name, 255),
    "filename": NAMING.filename,
    "container": NAMING.container,
    "marker": lambda name: marker_value("tenant", AssetId(name)),
    "words_of": words_of,
    "ratio": lambda name: ratio(name, name),
    "one_line": one_line,
    "quoted": quoted,
    "flattened": lambda name: flattened(path_of(name), 3),
    "matched": matched,
}


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("use", USES)
def test_memory_follows_the_name_by_a_small_factor(use: str, kind: str) -> None:
    name = NAMES[kind]
    tracemalloc.start()
    try:
        USES[use](name)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    times = (most - FIXED) / sys.getsizeof(name)
    assert times <= FACTOR, f"{times:.0f} times"
