"""Which attachment of the target is which of the source."""

from __future__ import annotations

from dam_sync.engine.verify import _paired
from dam_sync.model.asset import FileRef


def file(identity: str, name: str, size: int | None) -> FileRef:
    return FileRef(identity, name, size, "application/pdf", {})


def test_a_name_that_is_kept_is_not_given_to_one_that_was_renamed() -> None:
    renamed, kept = file("1", "old name.pdf", 400), file("2", "a.pdf", 400)
    same, other = file("7", "a.pdf", 400), file("8", "new name.pdf", 400)
    pairs, missing = _paired([renamed, kept], [same, other])
    assert (dict(pairs_by_id(pairs)), missing) == ({"1": "8", "2": "7"}, [])


def test_what_has_no_other_is_missing() -> None:
    there, gone = file("1", "a.pdf", 400), file("2", "a.pdf", 500)
    pairs, missing = _paired([gone, there], [file("7", "a.pdf", 400), file("8", "b.pdf", 300)])
    assert (dict(pairs_by_id(pairs)), missing) == ({"1": "7"}, [gone])


def pairs_by_id(pairs: list[tuple[FileRef, FileRef]]) -> list[tuple[str, str]]:
    return [(one.id, other.id) for one, other in pairs]
