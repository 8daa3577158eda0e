"""What a refusal of service A means (wire A 6.2, 7): rights are per folder, media and thesaurus."""

from __future__ import annotations

import json

import pytest

from dam_sync.http.error_rules import Refusal, error_for
from dam_sync.model.errors import DamSyncError, Denied, NotFound, Rejected, SessionGone
from dam_sync.services.a_hypermedia import facts
from dam_sync.services.a_hypermedia.api.connection import HalRequest
from dam_sync.services.a_hypermedia.target.members import FOLDER_MEDIA, FOLDER_MEDIAS
from dam_sync.services.a_hypermedia.target.update import BULKS, VERSIONS
from dam_sync.services.a_hypermedia.taxonomy import FOLDER_CHILDREN, TERM_CHILDREN


def refused(ask: HalRequest, status: int, code: str) -> DamSyncError:
    body = json.dumps({"status": status, "code": code}).encode()
    return error_for(facts.RULES, Refusal(status, {"content-type": "application/json"}, body, operation=ask.operation))


@pytest.mark.parametrize("code", ["acl-refused", "media-operation-forbidden"])
@pytest.mark.parametrize(
    ("ask", "word"),
    [
        (HalRequest("POST", "folders", FOLDER_MEDIAS), "folder"),
        (HalRequest("DELETE", "folders", FOLDER_MEDIA), "folder"),
        (HalRequest("POST", "folder-tree", FOLDER_CHILDREN), "folder"),
        (HalRequest("POST", "users", BULKS), "media"),
        (HalRequest("POST", "thesaurus-tree", TERM_CHILDREN), "thesaurus"),
        (HalRequest("PUT", "thesauruses", "/{id}"), "thesaurus"),
    ],
)
def test_a_permission_that_lacks_for_one_object_stops_no_run(ask: HalRequest, word: str, code: str) -> None:
    error = refused(ask, 403, code)
    assert type(error) is Rejected
    assert word in error.hint


@pytest.mark.parametrize("ask", [HalRequest("GET", "forms"), HalRequest("GET", "media-search")])
def test_what_may_not_even_be_read_stops_the_run(ask: HalRequest) -> None:
    assert type(refused(ask, 403, "acl-refused")) is Denied


@pytest.mark.parametrize("code", ["file-not-found", "temporary-file-not-found", "upload.file-not-found"])
@pytest.mark.parametrize(
    "ask",
    [
        HalRequest("POST", "folders", FOLDER_MEDIAS),
        HalRequest("POST", "medias"),
        HalRequest("POST", "medias", VERSIONS),
    ],
)
def test_an_upload_that_ended_is_known_by_more_than_one_spelling(ask: HalRequest, code: str) -> None:
    assert type(refused(ask, 404, code)) is SessionGone


@pytest.mark.parametrize(
    ("ask", "code"),
    [
        pytest.param(HalRequest("POST", "folders", FOLDER_MEDIAS), "folder-not-found", id="folder"),
        pytest.param(HalRequest("POST", "folders", FOLDER_MEDIAS), "profile-not-found", id="profile"),
        pytest.param(HalRequest("POST", "folders", FOLDER_MEDIAS), "form-not-found", id="form"),
        pytest.param(HalRequest("GET", "medias", "/{mediaId}"), "media-file-not-found", id="file that is read"),
    ],
)
def test_what_is_not_found_but_is_no_upload_ends_none(ask: HalRequest, code: str) -> None:
    assert type(refused(ask, 404, code)) is NotFound
