"""What other people's clients send, and what stores refused in stand-ins of others."""

from __future__ import annotations

import pytest

from tests.support.services.emulated_d import asset_row, schema_rows, served


def test_a_small_file_may_be_announced_by_its_size_and_may_not_in_one_reading() -> None:
    for variant, status in (("", 200), ("least_multipart", 403)):
        with served(schema_rows(), variant=variant) as d:
            answer = d.http.post("/asset", json=d.body("small.jpg", filesize=5))
            assert answer.status_code == status
            if status == 200:
                made = answer.json()
                etag = d.put(made["urls"][0]["url"], b"bytes").headers["etag"]
                parts = [{"partNumber": 1, "etag": etag}]  # with its quotes, as a client sends it
                body = {key: made[key] for key in ("fileId", "filename", "uploadId")}
                d.post("/asset/complete", {**body, "filesize": 5, "action": "complete", "parts": parts})
                assert d.truth()["small.jpg"]["versions"][0]["size"] == 5


def test_a_file_of_no_bytes_is_stored_and_refused_in_one_reading() -> None:
    for variant, status in (("", 200), ("refuse_empty", 400)):
        with served(schema_rows(), variant=variant) as d:
            made = d.made("zero.txt")
            assert d.put(made["url"], b"").status_code == status
            assert len(d.truth()["zero.txt"]["versions"]) == (status == 200)


@pytest.mark.parametrize("name", ["Authorization", "X-API-Key", "AccessToken", "Cookie"])
def test_a_store_refuses_credentials_of_the_api(name: str) -> None:
    with served(schema_rows()) as d:
        refused = d.put(d.made()["url"], b"bytes", **{name: "secret"})
        assert (refused.status_code, "Only one auth mechanism allowed" in refused.text) == (400, True)
        uploaded = d.uploaded("there.jpg")
        link = d.get(f"/asset/{uploaded['objectId']}/content")["presignedURL"]
        assert d.bare.get(link, headers={name: "secret"}).status_code == 400
        assert d.bare.get(link).content == b"bytes"


def test_a_membership_moves_no_date_of_its_asset() -> None:
    with served([*schema_rows(), asset_row(1)]) as d:
        before = d.named("photo-1.jpg")
        d.world.advance(600)
        d.post(
            "/collection",
            {
                "collectionType": "secured",
                "name": "Spring",
                "metadataTemplateId": d.template()["templateId"],
                "securityTemplateIds": [d.security()],
                "metadataDocument": [],
                "collectionDocument": [before["fileId"]],
            },
        )
        d.world.advance(60)
        d.renew()
        assert d.truth()["photo-1.jpg"]["placements"][0]["path"] == ["Spring"]
        assert d.named("photo-1.jpg")["lastUpdatedEpoch"] == before["lastUpdatedEpoch"]
