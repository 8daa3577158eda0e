"""Forms: exact length, read back by an independent parser."""

from __future__ import annotations

import asyncio
import email.parser
import email.policy
from collections.abc import AsyncIterator, Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dam_sync.http.bounds import BLOCK
from dam_sync.http.multipart import FormPart, MultipartForm
from dam_sync.model.errors import InvalidValue

names = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), min_size=1, max_size=12)


def factory(data: bytes, step: int = 7) -> Callable[[], AsyncIterator[bytes]]:
    async def blocks() -> AsyncIterator[bytes]:
        for start in range(0, len(data), step):
            yield data[start : start + step]

    return blocks


async def body_of(form: MultipartForm) -> bytes:
    return b"".join([block async for block in form.blocks()])


def read_back(form: MultipartForm, body: bytes) -> list[tuple[str, bytes]]:
    """Headers and value of each part, cut at the boundary."""
    pieces = body.split(f"--{form.boundary}".encode())
    assert pieces[0] == b""
    assert pieces[-1] == b"--\r\n"
    cut = [piece.removeprefix(b"\r\n").removesuffix(b"\r\n").partition(b"\r\n\r\n") for piece in pieces[1:-1]]
    return [(head.decode(), value) for head, _, value in cut]


@settings(max_examples=60, deadline=None)
@given(parts=st.lists(st.tuples(names, st.binary(max_size=60), st.sampled_from(["bytes", "stream"])), max_size=5))
def test_the_announced_length_is_the_true_one(parts: list[tuple[str, bytes, str]]) -> None:
    form = MultipartForm(
        [
            FormPart(name, value if kind == "bytes" else factory(value), "é.jpg", size=len(value))
            for name, value, kind in parts
        ],
        "b0undary" * 4,
    )
    body = asyncio.run(body_of(form))
    assert len(body) == form.size
    assert body == asyncio.run(body_of(form))
    assert [value for _, value in read_back(form, body)] == [value for _, value, _ in parts]


async def test_a_form_is_read_by_an_independent_parser() -> None:
    form = MultipartForm(
        [
            FormPart("profile", "Bilder é"),
            FormPart("file", factory(b"\x00\x01" * 99), "a.jpg", "image/jpeg", size=198),
            FormPart("meta", b"{}", content_type="application/json"),
        ],
        "cafe" * 8,
    )
    raw = f"Content-Type: {form.content_type}\r\n\r\n".encode() + await body_of(form)
    message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(raw)
    one, two, three = message.iter_parts()
    assert one.get_param("name", header="content-disposition") == "profile"
    assert one.get_payload(decode=True) == "Bilder é".encode()
    assert (two.get_filename(), two.get_content_type()) == ("a.jpg", "image/jpeg")
    assert two.get_payload(decode=True) == b"\x00\x01" * 99
    assert (three.get_content_type(), three.get_filename()) == ("application/json", None)


async def test_names_cannot_break_out() -> None:
    form = MultipartForm([FormPart('a"\r\nX: 1', "v", 'f"\n.jpg')], "beef" * 8)
    ((head, value),) = read_back(form, await body_of(form))
    assert 'name="a%22%0D%0AX: 1"; filename="f%22%0A.jpg"' in head
    assert "Content-Type: application/octet-stream" in head
    assert value == b"v"


async def test_large_parts_are_never_held_whole() -> None:
    async def blocks() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield b"x" * 1000

    form = MultipartForm([FormPart("file", blocks, "a", size=100_000)], "feed" * 8)
    assert max([len(block) async for block in form.blocks()]) <= 1000
    assert "xxx" not in repr(form)


def test_a_stream_of_unknown_size_is_refused() -> None:
    form = MultipartForm([FormPart("file", factory(b"abc"))], "feed" * 8)
    with pytest.raises(ValueError, match="'file'"):
        _ = form.size


async def test_large_bytes_are_sent_a_block_at_a_time() -> None:
    data = bytes(range(256)) * (3 * BLOCK // 256) + b"end"
    form = MultipartForm([FormPart("session", "s" * 40), FormPart("file", data, "chunk")], "b0undary" * 4)
    blocks = [block async for block in form.blocks()]
    assert max(map(len, blocks)) <= BLOCK
    assert sum(map(len, blocks)) == form.size
    assert read_back(form, b"".join(blocks))[1][1] == data


@pytest.mark.parametrize("kind", ["image/jpeg\r\nX-Own: 1", "image/\x00jpeg", "image/jpeg\n\n--bound"])
def test_a_media_type_with_line_ends_or_control_characters_is_no_part_of_a_form(kind: str) -> None:
    with pytest.raises(InvalidValue, match="media type"):
        FormPart("file", b"x", "a.jpg", kind)
