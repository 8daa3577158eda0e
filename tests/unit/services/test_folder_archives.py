"""Archives as folders: read like the folder that was packed, and never trusted."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import random
import tarfile
import tempfile
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dam_sync.model.errors import ConfigError, ContractBroken
from dam_sync.services.folder.api.archive import Unpacked
from tests.support.state.memory_journal import MemoryJournal
from tests.unit.services.test_folder_service import DRAFT, bytes_of, connect, content, everything, opened


async def exported(path: Path) -> None:
    service = await opened(path, format="csv", bag="on")
    await service.create(DRAFT, content(), MemoryJournal())
    await service.close()


def zipped(folder: Path, archive: Path) -> Path:
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as out:
        for path in sorted(folder.rglob("*")):
            out.write(path, Path(folder.name) / path.relative_to(folder))
    return archive


def tarred(folder: Path, archive: Path) -> Path:
    with tarfile.open(archive, "w:gz") as out:
        out.add(folder, ".")
    return archive


@pytest.mark.parametrize(("pack", "name"), [(zipped, "library.zip"), (tarred, "library.tar.gz")])
async def test_an_archive_is_read_like_its_folder(
    tmp_path: Path, pack: Callable[[Path, Path], Path], name: str
) -> None:
    await exported(tmp_path / "f")
    plain = await everything(connect(tmp_path / "f", read_only=True))
    service = connect(pack(tmp_path / "f", tmp_path / name), read_only=True)
    account = await service.probe()
    assert (account.total, account.tenant) == (1, (await connect(tmp_path / "f", read_only=True).probe()).tenant)
    assert await everything(service) == plain
    assert await bytes_of(service, plain[0].asset.versions[0]) == b"bytes"
    unpacked = service._unpacked.root  # type: ignore[attr-defined]
    await service.close()
    assert not unpacked.exists()


async def test_what_a_killed_process_unpacked_is_removed_and_what_a_living_one_uses_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await exported(tmp_path / "f")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    first = Unpacked(zipped(tmp_path / "f", tmp_path / "library.zip"))
    left, fresh, other = (temporary / name for name in ("dam-sync-archive-left", "dam-sync-archive-new", "other"))
    for folder in (left, fresh, other):
        folder.mkdir()
        (folder / "film.mov").write_bytes(b"x")
    (temporary / "dam-sync-archive-link").symlink_to(other)
    used = next(path for path in temporary.iterdir() if first.root.is_relative_to(path))
    for folder in (left, other, used):
        os.utime(folder, (1, 1))
    second = Unpacked(tmp_path / "library.zip")
    assert not left.exists()
    assert first.root.exists()
    assert (fresh / "film.mov").exists()
    assert (other / "film.mov").exists()
    first.close()
    second.close()
    assert not first.root.exists()


async def test_an_archive_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "f").mkdir()
    with pytest.raises(ConfigError, match="only read"):
        await connect(zipped(tmp_path / "f", tmp_path / "a.zip")).probe()


@pytest.mark.parametrize("name", ["a.zip", "new.zip"])
async def test_an_archive_is_refused_as_a_target_before_anything_is_written(tmp_path: Path, name: str) -> None:
    (tmp_path / "f").mkdir()
    zipped(tmp_path / "f", tmp_path / "a.zip")
    dry = connect(tmp_path / name, read_only=True)
    account = await dry.probe()
    await dry.close()
    with pytest.raises(ConfigError, match="only read"):
        account.refuse_as("target")
    with pytest.raises(ConfigError, match="only read"):
        await connect(tmp_path / name).probe()
    assert not (tmp_path / "new.zip").exists()


@pytest.mark.parametrize("name", ["missing", "missing.zip"])
async def test_a_missing_source_is_refused(tmp_path: Path, name: str) -> None:
    account = await connect(tmp_path / name, read_only=True).probe()
    with pytest.raises(ConfigError, match=f"{name} is not there"):
        account.refuse_as("source")


class WithoutFlag(zipfile.ZipInfo):
    """A name in UTF-8 without the flag that says so, as the `zip` of Linux writes it."""

    def _encodeFilenameFlags(self) -> tuple[bytes, int]:  # noqa: N802 -- of the standard library
        return self.filename.encode(), self.flag_bits


async def test_names_in_a_zip_file_are_those_that_were_packed(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as out:
        for number, made in enumerate((WithoutFlag, zipfile.ZipInfo)):
            for name in ("été.jpg", "海.jpg", "plain.jpg"):
                out.writestr(made(f"{number}/{name}"), b"bytes")
    service = connect(tmp_path / "a.zip", read_only=True)
    await service.probe()
    found = sorted(entry.asset.filename for entry in await everything(service) if entry.asset is not None)
    await service.close()
    assert found == sorted(["été.jpg", "海.jpg", "plain.jpg"] * 2)


class Packed(zipfile.ZipInfo):
    """A file with this name, as bytes, packed on this system; `extra` follows the name."""

    def __init__(self, raw: bytes, system: int, extra: bytes = b"") -> None:
        super().__init__(raw.hex())
        self.raw, self.create_system, self.extra = raw, system, extra

    def _encodeFilenameFlags(self) -> tuple[bytes, int]:  # noqa: N802 -- of the standard library
        return self.raw, self.flag_bits


def packed(path: Path, *members: Packed) -> Path:
    with zipfile.ZipFile(path, "w") as out:
        for each in members:
            out.writestr(each, b"" if each.raw.endswith((b"/", b"\\")) else b"bytes")
    return path


async def paths_in(archive: Path, **options: Any) -> tuple[list[str], list[str]]:
    """The paths of its assets, and what `check` says of their names."""
    service = connect(archive, read_only=True, **options)
    notes = [note for note in (await service.probe()).notes if note.startswith("names in")]
    found = sorted(entry.id for entry in await everything(service))
    await service.close()
    return found, notes


@pytest.mark.parametrize("system", [0, 10, 11, 14])
async def test_backslashes_separate_folders_where_the_archive_was_made_on_a_system_that_does_so(
    tmp_path: Path, system: int
) -> None:
    raw = [b"Press\\", b"Press\\2024\\a.jpg", b"Press\\b.jpg", b"c.jpg"]
    archive = packed(tmp_path / "a.zip", *(Packed(name, system) for name in raw))
    assert await paths_in(archive) == (["Press/2024/a.jpg", "Press/b.jpg", "c.jpg"], [])


async def test_a_backslash_is_part_of_a_name_that_was_packed_on_unix(tmp_path: Path) -> None:
    archive = packed(tmp_path / "a.zip", Packed(b"a\\b.jpg", 3))
    assert await paths_in(archive) == (["a\\b.jpg"], [])


@pytest.mark.parametrize(
    ("code_page", "name"),
    [
        ("cp850", "Ação.jpg"),
        ("1252", "façade õ.jpg"),
        ("932", "新しい.jpg"),
        ("cp866", "Привет.jpg"),
        ("932", "図表\\表.jpg"),
    ],
)
async def test_names_without_a_code_page_are_a_guess_that_is_reported_and_an_option_corrects(
    tmp_path: Path, code_page: str, name: str
) -> None:
    raw = name.encode(f"cp{code_page.removeprefix('cp')}")
    archive = packed(tmp_path / "a.zip", Packed(raw, 0), Packed(b"plain.jpg", 0))
    guessed, notes = await paths_in(archive)
    assert name.replace("\\", "/") not in guessed
    assert len(notes) == 1
    assert "a guess: 1, " in notes[0]
    assert "code_page" in notes[0]
    assert await paths_in(archive, code_page=code_page) == (sorted([name.replace("\\", "/"), "plain.jpg"]), [])


async def test_a_name_that_is_also_there_in_unicode_is_no_guess(tmp_path: Path) -> None:
    raw = "Ação.jpg".encode("cp850")
    data = b"\1" + zlib.crc32(raw).to_bytes(4, "little") + "Ação.jpg".encode()
    extra = (0x7075).to_bytes(2, "little") + len(data).to_bytes(2, "little") + data
    assert await paths_in(packed(tmp_path / "a.zip", Packed(raw, 0, extra))) == (["Ação.jpg"], [])


async def test_names_in_a_tar_file_that_are_not_in_utf_8_are_reported_and_an_option_reads_them(tmp_path: Path) -> None:
    data = tar_of(("plain.jpg", b"1"), ("Ação.jpg".encode("cp1252").decode("utf-8", "surrogateescape"), b"2"))
    (tmp_path / "a.tar").write_bytes(data)
    found, notes = await paths_in(tmp_path / "a.tar")
    assert found == ["plain.jpg"]
    assert "left out: 1; name their code page" in notes[0]
    assert await paths_in(tmp_path / "a.tar", code_page="cp1252") == (["Ação.jpg", "plain.jpg"], [])


async def test_names_that_are_not_in_the_code_page_are_refused(tmp_path: Path) -> None:
    archive = packed(tmp_path / "a.zip", Packed(b"\x81\x8d.jpg", 0))
    with pytest.raises(ContractBroken, match="is not in the code page cp1252"):
        await paths_in(archive, code_page="cp1252")


@pytest.mark.parametrize("text", ["klingon", "utf-7", "unicode_escape", "utf-16", "base64"])
async def test_what_is_no_code_page_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match="is no code page of names"):
        connect(packed(tmp_path / "a.zip"), read_only=True, code_page=text)


async def test_what_macos_packs_beside_a_library_hides_it_not(tmp_path: Path) -> None:
    await exported(tmp_path / "f")
    archive = zipped(tmp_path / "f", tmp_path / "library.zip")
    with zipfile.ZipFile(archive, "a") as out:
        out.writestr("__MACOSX/f/._archive.json", b"x")
        out.writestr(".DS_Store", b"x")
    service = connect(archive, read_only=True)
    assert (await service.probe()).total == 1
    assert service._tenant.is_ours  # type: ignore[attr-defined]
    await service.close()


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname = kind, link
    return made


EVIL = {
    "out": [member("../evil")],
    "absolute": [member("/evil")],
    "link": [member("link", tarfile.SYMTYPE, "/etc/passwd")],
    "hard": [member("hard", tarfile.LNKTYPE, "/etc/passwd")],
    "device": [member("device", tarfile.CHRTYPE)],
    "pipe": [member("pipe", tarfile.FIFOTYPE)],
    "twice": [member("a"), member("a")],
}


@pytest.mark.parametrize("members", EVIL.values(), ids=EVIL)
def test_an_archive_is_not_trusted(tmp_path: Path, members: list[tarfile.TarInfo]) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as out:
        for each in members:
            out.addfile(each)
    with pytest.raises(ContractBroken):
        Unpacked(tmp_path / "a.tar")
    assert not (tmp_path.parent / "evil").exists()


@pytest.mark.parametrize("cut", [0, 10, 60])
def test_a_broken_archive_is_named(tmp_path: Path, cut: int) -> None:
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "a").write_bytes(b"a" * 1000)
    for archive in (zipped(tmp_path / "f", tmp_path / "a.zip"), tarred(tmp_path / "f", tmp_path / "a.tgz")):
        archive.write_bytes(archive.read_bytes()[:cut])
        with pytest.raises(ContractBroken, match=archive.name):
            Unpacked(archive)


def header(name: str, kind: bytes, size: bytes) -> bytes:
    """A header of a tar file with this size, whatever it is, and the checksum that belongs to it."""
    made = bytearray(member(name, kind).tobuf(tarfile.GNU_FORMAT))
    made[124:136] = size
    made[148:156] = b" " * 8
    made[148:156] = b"%06o\0 " % sum(made)
    return bytes(made)


NEGATIVE = b"\xff" + (2**88 - 1024).to_bytes(11, "big")  # -1024


@pytest.mark.parametrize("kind", [tarfile.REGTYPE, tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME, b"Z"])
def test_a_member_of_a_negative_size_is_refused(tmp_path: Path, kind: bytes) -> None:
    (tmp_path / "a.tar").write_bytes(header("a.jpg", kind, NEGATIVE) + bytes(10240))
    with pytest.raises(ContractBroken, match=r"a\.tar cannot be unpacked"):
        Unpacked(tmp_path / "a.tar")


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_name_of_many_bytes_is_not_read_into_memory(tmp_path: Path, kind: bytes) -> None:
    """The archive has a thousandth of the bytes that the name is said to have."""
    size = 256 << 20
    with lzma.open(tmp_path / "a.tar.xz", "wb", preset=0) as out:
        out.write(header("name", kind, b"%011o\0" % size))
        for _ in range(size >> 20):
            out.write(bytes(1 << 20))
    tracemalloc.start()
    try:
        with pytest.raises(ContractBroken, match=r"a\.tar\.xz cannot be unpacked"):
            Unpacked(tmp_path / "a.tar.xz")
        assert tracemalloc.get_traced_memory()[1] < size / 8
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("packer", [bz2, gzip, lzma])
def test_a_compressed_archive_is_known_by_its_bytes_and_not_by_its_name(tmp_path: Path, packer: Any) -> None:
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "a").write_bytes(b"a" * 1000)
    with tarfile.open(tmp_path / "plain", "w") as out:
        out.add(tmp_path / "f", ".")
    (tmp_path / "a.tar").write_bytes(packer.compress((tmp_path / "plain").read_bytes()))
    unpacked = Unpacked(tmp_path / "a.tar")
    assert [path.read_bytes() for path in unpacked.root.rglob("a")] == [b"a" * 1000]
    unpacked.close()


def tar_of(*members: tuple[str, bytes]) -> bytes:
    """A tar file; the first member begins with a header at 0."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as out:
        for name, data in members:
            made = member(name)
            made.size = len(data)
            out.addfile(made, io.BytesIO(data))
    return packed.getvalue()


TAR = tar_of(("a.jpg", random.Random(1).randbytes(3000)), ("b.jpg", b"b" * 3000))
SECOND = 512 + 3072  # where the header of the second member begins
ENDS = 2 * SECOND  # where the two blocks of zeros begin


def altered(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]


DAMAGED = {
    "byte.tar.gz": altered(gzip.compress(TAR), 1000),
    "checksum.tar.gz": altered(gzip.compress(TAR), len(gzip.compress(TAR)) - 8),
    "method.tar.gz": altered(gzip.compress(TAR), 2),
    "byte.tar.bz2": altered(bz2.compress(TAR), 1000),
    "byte.tar.xz": altered(lzma.compress(TAR), 1000),
    "short.tar.gz": gzip.compress(TAR)[:-8],
    "short.tar.bz2": bz2.compress(TAR)[:-8],
    "short.tar.xz": lzma.compress(TAR)[:-8],
    "header.tar": altered(TAR, SECOND),
    "in-header.tar": TAR[: SECOND + 100],
    "at-header.tar": TAR[:SECOND],
    "no-end.tar": TAR[:ENDS],
    "two.tar": TAR + TAR,
    "two.tar.gz": gzip.compress(TAR) + gzip.compress(TAR),
    "padded.tar.xz": lzma.compress(TAR + bytes(65 << 20)),
}


@pytest.mark.parametrize(("name", "data"), DAMAGED.items(), ids=DAMAGED)
def test_an_archive_that_is_damaged_or_not_complete_is_refused_by_name(tmp_path: Path, name: str, data: bytes) -> None:
    """Neither is a damaged file moved, nor are those forgotten that follow the damage."""
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ContractBroken, match=name):
        Unpacked(tmp_path / name)


@pytest.mark.parametrize("padding", [0, 1 << 20])
def test_an_archive_may_be_padded(tmp_path: Path, padding: int) -> None:
    (tmp_path / "a.tar").write_bytes(TAR[: ENDS + 512] + bytes(padding))
    unpacked = Unpacked(tmp_path / "a.tar")
    assert {path.name for path in unpacked.root.iterdir()} == {"a.jpg", "b.jpg"}
    unpacked.close()


LONG = "n" * 300


@pytest.mark.parametrize("names", [[LONG], ["a/b", "a"], ["a", "a/b"]], ids=["long", "a file and a folder", "reverse"])
def test_names_that_cannot_be_stored_are_an_error_of_the_archive(tmp_path: Path, names: list[str]) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as out:
        for name in names:
            out.writestr(name, b"")
    with pytest.raises(ContractBroken, match=r"a\.zip cannot be unpacked") as caught:
        Unpacked(tmp_path / "a.zip")
    assert len(str(caught.value)) < 500


def test_a_name_in_a_zip_that_is_not_text_is_an_error_of_the_archive(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as out:
        out.writestr("é.jpg", b"")
    data = (tmp_path / "a.zip").read_bytes()
    (tmp_path / "a.zip").write_bytes(data.replace("é".encode(), b"\xff\xfe"))
    with pytest.raises(ContractBroken, match=r"a\.zip cannot be unpacked"):
        Unpacked(tmp_path / "a.zip")


def test_folders_in_a_tar_file_take_no_memory_and_are_counted(tmp_path: Path) -> None:
    few, many = (peak_of_folders(tmp_path / f"{number}.tar.gz", number) for number in (1_000, 20_000))
    assert many - few < 1 << 20
    with pytest.raises(ContractBroken, match="more than 4,000"):
        Unpacked(tmp_path / "20000.tar.gz", most=4000)


def peak_of_folders(path: Path, number: int) -> int:
    """Bytes of memory at most while an archive of so many folders, which is made, is unpacked."""
    with tarfile.open(path, "w:gz", compresslevel=1) as out:
        for each in range(number):
            out.addfile(member(f"d{each}", tarfile.DIRTYPE))
    tracemalloc.start()
    try:
        Unpacked(path).close()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_link_in_a_zip_is_refused(tmp_path: Path) -> None:
    info = zipfile.ZipInfo("link")
    info.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as out:
        out.writestr(info, "/etc/passwd")
    with pytest.raises(ContractBroken, match="not a regular file"):
        Unpacked(tmp_path / "a.zip")
