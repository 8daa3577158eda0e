"""What is known of who wrote the values by which a group of fields differs: people, or the target itself, from metadata
inside the files. None of it proves either, so that no cause is stated as a fact, and what is advised is right for both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime, timedelta
from xml.sax.saxutils import escape

from dam_sync.engine.compare.patterns import MISSING, NOT_COMPARED
from dam_sync.engine.context.libraries import Source, Target
from dam_sync.engine.verification.groups import DifferenceGroup, Found
from dam_sync.model.asset import AssetId, FileRef
from dam_sync.model.errors import DamSyncError
from dam_sync.model.limits import MIB
from dam_sync.model.values import instant_text
from dam_sync.model.wording import counted
from dam_sync.store.store import SqlStore

READ = MIB // 2  # first bytes of a file, in which its metadata is looked for
FILES = 3  # files that are read for a group, and GROUPS groups
GROUPS = 20
SHORTEST = 4  # characters of a text that is looked for
MANY = 10  # differences of a group of which it is said what is known, whatever is in the files
ROUNDING = timedelta(seconds=2)  # of two dates on different clocks, besides the precision of the service
EMBEDDED = "the values at the target are in the files: the target may have read them there, or people wrote the same"
UNCERTAIN = "whether people or the target itself wrote these values is not known"
OF_NO_VERSION = (
    "these files were replaced each time while they were read, or nothing shows that the parts of a download are of "
    "one version: whether their bytes are equal is not known"
)
VERIFY_AGAIN = "verify again when nobody replaces them, and the connection holds"
REMEDY = (
    "look at the history of one of these assets at the target. What people wrote is kept if it is taken over at the "
    "source, and overwritten by `run JOB --repair`; `plan JOB --repair` lists what that would write. If the target "
    "took the values from the files, turn off the reading of embedded metadata into this field there, or map the field "
    "to another one, before `run JOB --repair`"
)


async def find_causes(source: Source, target: Target, store: SqlStore, groups: Sequence[DifferenceGroup]) -> None:
    """Say of groups of fields what is known of who wrote the values, and what to do. Reads the beginning of a few files
    of the source; a file that cannot be read proves nothing."""
    for group in groups:
        if group.pattern is NOT_COMPARED:
            group.cause, group.remedy = OF_NO_VERSION, VERIFY_AGAIN
    suspects = [group for group in groups if _is_suspect(group)][:GROUPS]
    written = await store.last_written(sorted({one.source for group in suspects for one in group.members}))
    for group in suspects:
        cause = await _cause_of(source, target, group, written)
        if cause:
            group.cause = cause
            group.remedy = f"{REMEDY}. {target.service.limits.rewrites}".removesuffix(". ")


def _is_suspect(group: DifferenceGroup) -> bool:
    return group.path.startswith("fields.") and group.pattern is not MISSING


async def _cause_of(source: Source, target: Target, group: DifferenceGroup, written: Mapping[str, datetime]) -> str:
    looked_at = [await _is_embedded(source, found) for found in group.members[:FILES]]
    found = [one for one in looked_at if one is not None]
    if group.number < MANY and not (found and all(looked_at)):
        return ""
    slack = target.service.limits.precision + ROUNDING
    dates = dates_of(group.members, written, target.account.clock_skew, slack)
    return "; ".join((*_about_files(found), *dates.sentences(), UNCERTAIN))


def _about_files(found: Sequence[bool]) -> list[str]:
    files, held = counted(len(found), "file"), sum(found)
    if not found:
        return []
    if held == len(found):
        return [f"{EMBEDDED} ({files} looked at)"]
    return [f"the values at the target are in the first {READ // 1024} KB of {held} of {files} that were looked at"]


@dataclass(frozen=True, slots=True)
class Dates:
    """When some assets were changed last by what the target says, compared with the last write of this job. later:
    after it; alike: before it, or at most `slack` later; unknown: the target gives no date, or the ledger has no write.
    """

    slack: timedelta
    later: Sequence[datetime] = ()
    alike: int = 0
    unknown: int = 0

    def sentences(self) -> list[str]:
        """What the dates show, and what they do not."""
        number, found = len(self.later) + self.alike + self.unknown, []
        if self.later:
            first, last = (instant_text(when.replace(microsecond=0)) for when in (min(self.later), max(self.later)))
            when = f"at {first}" if first == last else f"from {first} to {last}"
            of = f"{len(self.later):,} of {counted(number, 'asset')} that were looked at"
            found.append(f"the target says that {of} were changed after this job last wrote to them, {when}")
        elif self.alike:
            found.append(
                f"no date of the target shows a change later than {self.slack.total_seconds():.0f} s after this job "
                "last wrote to these assets, which does not rule one out"
            )
        if self.unknown:
            found.append(f"of {counted(self.unknown, 'asset')} no date tells whether they were changed since")
        return found


def dates_of(members: Sequence[Found], written: Mapping[str, datetime], ahead: timedelta, slack: timedelta) -> Dates:
    """written: when this job last wrote to each asset, by its own clock; ahead: by how much that of the target is."""
    later, alike, unknown = list[datetime](), 0, 0
    for one in members:
        if one.changed_at is None or one.source not in written:
            unknown += 1
        elif one.changed_at > written[one.source] + ahead + slack:
            later.append(one.changed_at)
        else:
            alike += 1
    return Dates(slack, later, alike, unknown)


async def _is_embedded(source: Source, found: Found) -> bool | None:
    """Whether the file of the asset contains the texts that the target has and the source does not say; None if that
    cannot be told."""
    expected = found.difference.expected
    texts = [text for text in texts_of(found.difference.found) if text not in expected]
    try:
        file = (await source.service.fetch(AssetId(found.source))).file if texts else None
        head = await _head(source, file) if file is not None else b""
    except DamSyncError:
        return None
    return all(occurs(text, head) for text in texts) if head else None


def texts_of(shown: str) -> list[str]:
    """The texts of a value as a difference shows it, without languages and a cut end; short ones are left out."""
    texts = []
    for part in shown.split("; "):
        locale, colon, text = part.partition(":")
        whole = text if colon and 2 <= len(locale) <= 5 and locale.isalpha() else part
        texts.append(whole.removesuffix("…").strip())
    return [text for text in texts if len(text) >= SHORTEST]


def occurs(text: str, head: bytes) -> bool:
    """Whether a text is in these bytes, in one of the encodings of XMP, IPTC and Exif."""
    forms = {text.encode(name, "replace") for name in ("utf-8", "utf-16-le", "utf-16-be")}
    forms |= {escape(text).encode(), escape(text, {'"': "&quot;", "'": "&apos;"}).encode()}
    if all(ord(each) < 0x100 for each in text):
        forms.add(text.encode("latin-1"))
    return any(form in head for form in forms)


async def _head(source: Source, file: FileRef) -> bytes:
    """The first bytes of a file of the source."""
    head = bytearray()
    stream = await source.service.open(file)
    async with aclosing(stream):
        async for block in stream:
            head += block
            if len(head) >= READ:
                break
    return bytes(head[:READ])
