"""Reports say what an evidence class stands for, and what was compared with what."""

from __future__ import annotations

from dam_sync.engine.verification.evidence import BY_DOWNLOAD, BY_DOWNLOADS
from dam_sync.engine.verification.verdict import CLASSES
from dam_sync.report.verdict import EVIDENCE, compared_files, evidence_in_words, evidence_words


def test_every_class_is_explained() -> None:
    assert set(EVIDENCE) == set(CLASSES)
    assert "at the target, downloaded then" in evidence_words("V3")
    assert evidence_words("V9") == "V9"
    assert list(evidence_in_words({"V2": 1, "V4": 2}).values()) == [2, 1]


def test_a_report_of_an_older_release_says_nothing_of_what_was_compared() -> None:
    assert compared_files({}) == {}
    assert compared_files({"compared": {BY_DOWNLOADS: 3, BY_DOWNLOAD: 1}}) == {BY_DOWNLOADS: 3, BY_DOWNLOAD: 1}
