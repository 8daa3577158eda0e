"""Whether differences come from a target that replaced what was written by metadata inside the files."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from xml.sax.saxutils import escape

from dam_sync.engine.run_context import RunContext
from dam_sync.engine.verification.groups import DifferenceGroup, Found
from dam_sync.engine.verification.patterns import MISSING, NOT_COMPARED
from dam_sync.model.asset import AssetId, FileRef
from dam_sync.model.errors import DamSyncError
from dam_sync.model.limits import MIB

READ = MIB // 2  # first bytes of a file, in which its metadata is looked for
FILES = 3  # files that are read for a group, and GROUPS groups
GROUPS = 20
SHORTEST = 4  # characters of a text that does not occur by chance
MANY = 10  # differences of a group whose cause is inferred
MOST = 0.9  # of them are of assets that nobody changed at the target
VARIED = 0.5  # of them are different values
EMBEDDED = "the values at the target are those that the files contain: the target read them after the upload"
INFERRED = (
    "nobody changed these assets since they were written, and the values differ from asset to asset: the target "
    "wrote them itself, most likely from metadata that it reads from the files"
)
OF_NO_VERSION = (
    "these files were replaced each time while they were read, or nothing shows that the parts of a download are of "
    "one version: whether their bytes are equal is not known"
)
VERIFY_AGAIN = "verify again when nobody replaces them, and the connection holds"
REMEDY = (
    "turn off the reading of embedded metadata into this field at the target, or map the field to another one; then "
    "`run JOB --repair` writes the values again"
)


async def find_causes(context: RunContext, groups: Sequence[DifferenceGroup]) -> None:
    """Name cause and remedy of the groups of fields that the target overwrote. Reads the beginning of a few files of
    the source; a file that cannot be read proves nothing."""
    for group in groups:
        if group.pattern == NOT_COMPARED:
            group.cause, group.remedy = OF_NO_VERSION, VERIFY_AGAIN
    suspects = [group for group in groups if _is_suspect(group)]
    for group in suspects[:GROUPS]:
        cause = await _cause_of(context, group)
        if cause:
            group.cause = cause
            group.remedy = f"{REMEDY}. {context.target.limits.rewrites}".removesuffix(". ")


def _is_suspect(group: DifferenceGroup) -> bool:
    return group.path.startswith("fields.") and group.pattern != MISSING


async def _cause_of(context: RunContext, group: DifferenceGroup) -> str:
    held = [await _is_embedded(context, found) for found in group.members[:FILES]]
    if all(held):
        return EMBEDDED
    values = {found.difference.found for found in group.members}
    varied = len(values) >= VARIED * len(group.members)
    inferred = group.number >= MANY and group.untouched >= MOST * group.number and varied
    return INFERRED if inferred else ""


async def _is_embedded(context: RunContext, found: Found) -> bool:
    """Whether the file of the asset contains the texts that the target has and the source does not say."""
    expected = found.difference.expected
    texts = [text for text in texts_of(found.difference.found) if text not in expected]
    try:
        file = (await context.source.fetch(AssetId(found.source))).file if texts else None
        head = await _head(context, file) if file is not None else b""
    except DamSyncError:
        return False
    return bool(head) and all(occurs(text, head) for text in texts)


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


async def _head(context: RunContext, file: FileRef) -> bytes:
    """The first bytes of a file of the source."""
    head = bytearray()
    stream = await context.source.open(file)
    async with aclosing(stream):
        async for block in stream:
            head += block
            if len(head) >= READ:
                break
    return bytes(head[:READ])
