"""The emulated service D and its bytes: creates, presigned links, multipart uploads. Numbers are those of wire D 12."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from dam_sync.emulators.d_templates.options import Options
from tests.support.services.emulated_d import Api, asset_row, library, meta_of, schema_rows, served

PART = 1 << 16
UNPARSED = (400, {"status": "error", "message": "Failed to parse asset: Missing fields"})
SMALL = {"part": PART, "multipart_least": 100}


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    with served(library(2)) as made:
        yield made


@pytest.fixture(scope="module")
def parts() -> Iterator[Api]:
    with served(schema_rows(), **SMALL) as made:
        yield made


def md5(data: bytes) -> str:
    return hashlib.md5(data).hexdigest()


def query(url: str) -> dict[str, str]:
    return {key: values[0] for key, values in parse_qs(urlsplit(url).query).items()}


def begun(api: Api, data: bytes, filename: str = "film.mov") -> tuple[Any, dict[str, Any]]:
    """A multipart upload whose parts are all there, and the body that completes it."""
    made = api.made(filename, filesize=len(data))
    told = []
    for each in made["urls"]:
        number = each["partNumber"]
        answer = api.put(each["url"], data[(number - 1) * PART : number * PART])
        told.append({"partNumber": number, "etag": answer.headers["etag"]})
    body = {name: made[name] for name in ("fileId", "filename", "originalFileId", "uploadId")}
    return made, {**body, "filesize": len(data), "action": "complete", "parts": told}


def checksum(api: Api, made: Any) -> str | None:
    technical = api.get(f"/asset/{made['objectId']}").get("technicalMetadata")
    return technical["vendor_metadata"]["MD5Checksum"] if technical else None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"filename": ""}, "Failed to parse Asset"),
        ({"filename": None}, "Failed to parse Asset"),
        ({"originalFileId": "unknown"}, "Invalid Response from Create Asset"),
        ({"metadataTemplateId": ""}, "Invalid Asset: Missing Metadata Template ID"),
        ({"securityTemplateIds": []}, "Invalid Asset: Missing Security Template ID(s)"),
        ({"securityTemplateIds": ["unknown"]}, "Invalid security template ID(s)"),
        ({"metadata": []}, "Invalid fields for metadata template"),  # the title is required
        ({"metadata": None}, "Invalid fields for metadata template"),
    ],
)
def test_4_a_bad_create_is_refused_with_its_message(api: Api, changes: dict[str, Any], message: str) -> None:
    before = api.scan(includeVersions=True)["totalCount"]
    status, told = api.refused("POST", "/asset", {**api.body(), **changes})
    assert (status, told["message"]) == (403, message)
    api.world.advance(5)
    assert api.scan(includeVersions=True)["totalCount"] == before


def test_4_a_create_without_metadata_is_refused_with_its_message(api: Api) -> None:
    body = api.body()
    del body["metadata"]
    assert api.refused("POST", "/asset", body)[1]["message"] == "Unexpected end of JSON input"


def test_8_at_most_fifty_security_templates(api: Api) -> None:
    body = {**api.body(), "securityTemplateIds": [api.security()] * 51}
    assert api.refused("POST", "/asset", body) == (
        403,
        {"status": "error", "message": "Invalid security template ID(s)"},
    )


def test_4_a_record_is_there_before_its_bytes(api: Api) -> None:
    made = api.made("stub.jpg")
    assert made["fileId"] == made["originalFileId"] != made["objectId"]
    read = api.get(f"/asset/{made['objectId']}")
    assert (read["fileState"], read["currentVersion"]) == ("available", "Y")
    assert "technicalMetadata" not in read
    assert api.get(f"/asset/{made['fileId']}")["objectId"] == made["objectId"]
    assert api.truth()["stub.jpg"]["versions"] == []


def test_3_processing_ends_some_time_after_the_put(api: Api) -> None:
    made = api.made("late.jpg")
    assert api.put(made["url"], b"late bytes").headers["etag"] == f'"{md5(b"late bytes")}"'
    assert checksum(api, made) is None
    api.world.advance(1.1)
    read = api.get(f"/asset/{made['objectId']}")
    assert read["technicalMetadata"]["vendor_metadata"] == {
        "fileName": "late.jpg",
        "fileSize": "10 B",
        "fileSizeInBytes": 10,
        "MD5Checksum": md5(b"late bytes"),
    }
    assert read["technicalMetadata"]["image_metadata"]["mimeType"] == "image/jpeg"
    assert read["lastUpdatedEpoch"] == read["createdEpoch"]


def test_processing_may_move_the_date() -> None:
    with served(schema_rows(), variant="processing_touches") as api:
        read = api.get(f"/asset/{api.uploaded()['objectId']}")
        assert read["lastUpdatedEpoch"] > read["createdEpoch"]


def test_6_signed_headers_are_needed(api: Api) -> None:
    made = api.made("strict.jpg")
    assert meta_of(made["url"]) == {"x-amz-meta-objectid": made["objectId"]}
    answer = api.bare.put(made["url"], content=b"x")
    assert answer.status_code == 403
    assert "<Code>SignatureDoesNotMatch</Code>" in answer.text
    assert api.put(made["url"], b"x", **{"Content-Type": "image/jpeg"}).status_code == 403  # was not signed
    assert api.put(made["url"], b"x").status_code == 200
    with served(schema_rows(), strict_signed_headers=False) as lenient:
        assert lenient.bare.put(lenient.made()["url"], content=b"x").status_code == 200


def test_5_storage_takes_no_credentials_and_no_other_method(api: Api) -> None:
    made = api.uploaded("open.jpg")
    link = api.get(f"/asset/{made['objectId']}/content")["presignedURL"]
    answer = api.bare.get(link, headers={"Authorization": "eyJ"})
    assert (answer.status_code, "InvalidArgument" in answer.text) == (400, True)
    assert api.bare.head(link).status_code == 403
    assert api.bare.put(link, content=b"x").status_code == 403
    assert api.bare.get(link.replace("X-Amz-Expires=20", "X-Amz-Expires=9999")).status_code == 403
    assert api.bare.get(link).content == b"bytes"
    answer = api.put(made["url"], b"x", Authorization="eyJ")
    assert answer.status_code == 400


def test_5_a_put_without_a_length_is_411(api: Api) -> None:
    made = api.made("chunked.jpg")
    answer = api.bare.put(made["url"], content=iter([b"a", b"b"]), headers=meta_of(made["url"]))
    assert answer.status_code == 411


def test_9_links_end(api: Api) -> None:
    made = api.made("ends.jpg")
    assert query(made["url"])["X-Amz-Expires"] == "86400"
    api.world.advance(86_400 - 2)
    assert api.put(made["url"], b"bytes").status_code == 200
    api.world.advance(4)
    answer = api.put(made["url"], b"other")
    assert answer.status_code == 403
    assert "Request has expired" in answer.text
    fresh = Api(api.served)
    link = fresh.get(f"/asset/{made['objectId']}/content")["presignedURL"]
    fresh.world.advance(19)
    assert fresh.bare.get(link).content == b"bytes"
    fresh.world.advance(3)
    assert "<Code>AccessDenied</Code>" in fresh.bare.get(link).text
    body = [{"id": made["fileId"], "identifier": "fileId", "components": [
        {"componentType": "object", "componentRef": "original", "expiration": 600}]}]  # fmt: skip
    (exposed,) = fresh.post("/asset/expose", body)
    (part,) = exposed["components"]
    assert query(part["url"])["X-Amz-Expires"] == "600"
    fresh.world.advance(599)
    assert fresh.bare.get(part["url"]).content == b"bytes"
    fresh.world.advance(3)
    assert fresh.bare.get(part["url"]).status_code == 403
    api.use(fresh.session)
    api.use(fresh.post("/auth/token", {"session": fresh.session["session"]}))
    fresh.close()


def test_4_ranges_and_entity_tags(api: Api) -> None:
    made = api.uploaded("range.jpg", b"0123456789")
    link = api.get(f"/asset/{made['objectId']}/content")["presignedURL"]
    some = api.bare.get(link, headers={"Range": "bytes=4-6"})
    assert (some.status_code, some.content, some.headers["content-range"]) == (206, b"456", "bytes 4-6/10")
    tag = some.headers["etag"]
    assert tag == f'"{md5(b"0123456789")}"'
    assert api.bare.get(link, headers={"If-Match": '"x"'}).status_code == 412
    assert api.bare.get(link, headers={"Range": "bytes=4-", "If-Range": tag}).status_code == 206
    assert api.bare.get(link, headers={"Range": "bytes=4-", "If-Range": '"x"'}).status_code == 200
    assert api.bare.get(link, headers={"Range": "bytes=10-"}).status_code == 416


def test_a_repeated_put_replaces_the_bytes(api: Api) -> None:
    made = api.made("twice.jpg")
    for data in (b"first", b"second"):
        assert api.put(made["url"], data).status_code == 200
    api.world.advance(5)
    assert checksum(api, made) == md5(b"second")


def test_4_with_a_size_there_are_parts(api: Api) -> None:
    size = Options().part
    for filesize, count in ((5_000_000, 1), (size, 1), (size + 1, 2), (3 * size, 3)):
        made = api.made("film.mov", filesize=filesize)
        assert [each["partNumber"] for each in made["urls"]] == list(range(1, count + 1))
        assert "url" not in made
    assert api.made("film.mov", fileSize=size)["uploadId"]


def test_8_what_is_too_small_or_too_large_for_parts(api: Api) -> None:
    for wrong in (10_000 * Options().part + 1, "12", 0):
        assert api.refused("POST", "/asset", api.body("film.mov", filesize=wrong))[1]["message"] == (
            "Failed to parse Asset"
        )
    with served(schema_rows(), variant="least_multipart") as strict:
        strict.refused("POST", "/asset", strict.body("film.mov", filesize=4_999_999))
        assert strict.post("/asset", strict.body("film.mov", filesize=5_000_000))["uploadId"]


def test_8_a_single_put_has_a_most() -> None:
    with served(schema_rows(), put_most=1000) as api:
        made = api.made()
        answer = api.put(made["url"], b"x" * 1001)
        assert (answer.status_code, "EntityTooLarge" in answer.text) == (400, True)
        assert api.put(made["url"], b"x" * 1000).status_code == 200
    assert Options().put_most == 5 << 30


def test_7_parts_are_joined_by_completion(parts: Api) -> None:
    data = bytes(range(256)) * (PART // 256) * 2 + b"the end"
    made, body = begun(parts, data)
    parts.world.advance(5)
    assert checksum(parts, made) is None  # no file before its completion
    done = parts.post("/asset/complete", body)
    assert (done["status"], done["action"], done["s3Key"]) == (
        "success",
        "complete",
        f"masters/{made['fileId']}/film.mov",
    )
    parts.world.advance(5)
    assert checksum(parts, made) == md5(data)
    link = parts.get(f"/asset/{made['objectId']}/content")["presignedURL"]
    answer = parts.bare.get(link)
    assert answer.content == data
    sums = [hashlib.md5(data[at : at + PART]).digest() for at in range(0, len(data), PART)]
    assert answer.headers["etag"] == f'"{md5(b"".join(sums))}-3"'
    assert parts.refused("POST", "/asset/complete", body) == UNPARSED  # a second time
    assert parts.put(made["urls"][0]["url"], b"x").status_code == 404


def test_7_what_a_completion_must_have(parts: Api) -> None:
    data = b"x" * (PART + 10)
    made, body = begun(parts, data)
    told = body["parts"]
    wrong: list[dict[str, Any]] = [
        {"parts": told[:1]},
        {"parts": [told[0], {**told[1], "etag": "0" * 32}]},
        {"parts": [*told, {**told[1], "partNumber": 3}]},
        {"filesize": len(data) - 1},
        {"uploadId": "unknown"},
        {"action": "Complete"},
        {"action": None},
        {"fileId": "unknown"},
        {"originalFileId": "unknown"},
        {"filename": None},
    ]
    for changes in wrong:
        assert parts.refused("POST", "/asset/complete", {**body, **changes}) == UNPARSED, changes
    bare = [{**row, "etag": row["etag"].strip('"')} for row in told]
    assert parts.post("/asset/complete", {**body, "parts": bare})["status"] == "success"
    assert made["originalFileId"] == body["originalFileId"]


def test_7_a_part_shorter_than_the_rest_comes_last(parts: Api) -> None:
    made = parts.made("film.mov", filesize=PART + 10)
    told = [
        {"partNumber": each["partNumber"], "etag": parts.put(each["url"], data).headers["etag"]}
        for each, data in zip(made["urls"], (b"x" * 10, b"x" * PART), strict=True)
    ]
    body = {name: made[name] for name in ("fileId", "filename", "uploadId")}
    body |= {"filesize": PART + 10, "action": "complete", "parts": told}
    assert parts.refused("POST", "/asset/complete", body) == UNPARSED


@pytest.mark.parametrize("action", ["cancel", "abort"])
def test_7_cancelling_leaves_a_stub(parts: Api, action: str) -> None:
    made, body = begun(parts, b"x" * (PART + 1), f"{action}.mov")
    short = {name: body[name] for name in ("fileId", "filename", "uploadId")}
    assert parts.post("/asset/complete", {**short, "action": action})["action"] == "cancel"
    parts.world.advance(5)
    assert parts.get(f"/asset/{made['objectId']}")["fileState"] == "available"
    assert checksum(parts, made) is None
    assert parts.put(made["urls"][0]["url"], b"x").status_code == 404
    assert parts.refused("POST", "/asset/complete", body) == UNPARSED


@pytest.mark.parametrize("variant", ["", "refuse_complete", "must_complete"])
def test_a_small_upload_and_its_completion(variant: str) -> None:
    with served(schema_rows(), variant=variant, **SMALL) as api:
        made, body = begun(api, b"y" * 500)
        api.world.advance(5)
        assert (checksum(api, made) is None) is (variant == "must_complete")
        if variant == "refuse_complete":
            assert api.refused("POST", "/asset/complete", body) == UNPARSED
        else:
            assert api.post("/asset/complete", body)["status"] == "success"
        api.world.advance(5)
        assert checksum(api, made) == md5(b"y" * 500)


def test_urls_may_always_come() -> None:
    with served(schema_rows(), variant="always_urls") as api:
        made = api.made()
        assert len(made["urls"]) == 1
        assert api.bare.put(made["urls"][0]["url"], content=b"z").status_code == 200
        api.world.advance(5)
        assert checksum(api, made) == md5(b"z")


def test_4_missing_content(api: Api) -> None:
    made = api.made("nothing.jpg")
    assert api.refused("GET", "/asset/unknown/content") == (502, {"message": "Internal server error"})
    assert api.refused("GET", f"/asset/{made['objectId']}/content")[0] == 502
    with served(schema_rows(), variant="missing_404") as other:
        assert other.refused("GET", f"/asset/{other.made()['objectId']}/content")[0] == 404
    with served(schema_rows(), variant="missing_empty") as other:
        assert other.get(f"/asset/{other.made()['objectId']}/content") == {"presignedURL": ""}


def test_4_expose_leaves_out_what_it_will_not_show(api: Api) -> None:
    assert api.refused("POST", "/asset/expose", []) == (400, {"message": "Body requires at least single item"})
    good = api.named("photo-1.jpg")["objectId"]
    stub = api.made("hollow.jpg")["objectId"]
    rows = [
        {"id": each, "identifier": "objectId", "components": [
            {"componentType": "object", "componentRef": "original", "expiration": 60},
            {"componentType": "rendition", "componentRef": ["imageThumb", "nonsense"], "expiration": 60}]}
        for each in (good, stub, "unknown")
    ]  # fmt: skip
    (shown,) = api.post("/asset/expose", rows)
    assert [part["renditionType"] for part in shown["components"]] == ["original", "imageThumb"]
    assert all(api.bare.get(part["url"]).status_code == 200 for part in shown["components"])
    assert api.refused("POST", "/asset/expose", rows[1:]) == (400, {"message": "No assets found"})
    with served([*schema_rows(), asset_row(1)], variant="expose_whole") as other:
        one = {**rows[0], "id": other.named("photo-1.jpg")["objectId"]}
        assert other.refused("POST", "/asset/expose", [one, rows[2]])[0] == 400
        assert len(other.post("/asset/expose", [one])) == 1


def test_26_renditions_need_their_token() -> None:
    with served(library(1)) as api:
        url = api.named("photo-1.jpg")["renditions"]["imageThumb"]
        assert api.bare.get(url).headers["content-type"] == "image/webp"
        assert api.bare.get(url.partition("?")[0]).status_code == 403
        api.world.advance(3700)
        assert api.bare.get(url).status_code == 403


def test_12_a_federated_asset_has_no_original() -> None:
    with served(schema_rows()) as api:
        made = api.made("far.jpg", contentPath="s3://bucket/far.jpg", skipTranscode=True)
        assert "url" not in made
        technical = {"vendor_metadata": {"MD5Checksum": "0" * 32}}
        api.post(f"/asset/{made['objectId']}/technical-metadata", technical)
        assert api.get(f"/asset/{made['objectId']}")["technicalMetadata"] == technical
        assert api.refused("GET", f"/asset/{made['objectId']}/content")[0] == 502
        plain = api.made()["objectId"]
        assert api.refused("POST", f"/asset/{plain}/technical-metadata", {}) == (400, "Asset is not federated")


def test_23_a_create_may_be_applied_and_its_response_lost() -> None:
    with served(schema_rows()) as api:
        body = api.body("lost.jpg")
        api.served.app.faults.add([{"match": "POST /v1/asset", "do": "reset_after", "nth": 1}])
        with pytest.raises(httpx.TransportError):
            api.http.post("/asset", json=body)
        assert "lost.jpg" in api.truth()


def test_previews_want_their_details(api: Api) -> None:
    file = api.named("photo-2.jpg")["fileId"]
    assert api.post("/asset/content/preview", {"fileIds": [file], "filename": "p.jpg", "filesize": 10})["url"]
    status, told = api.refused("POST", "/asset/content/preview", {"fileIds": [file]})
    assert (status, type(told)) == (400, str)
