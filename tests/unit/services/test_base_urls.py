"""Base URLs as the documents of each service spell them: they lead to the same URL."""

from __future__ import annotations

from typing import Any

import pytest

from dam_sync.config.job import side_of_code
from dam_sync.model.errors import ConfigError
from dam_sync.services import discover

BASE, TENANT = "https://dam.example", "https://museum.dam.example"
AUTH = {"d_templates": {"flow": "session", "api_key": "k", "username": "u", "password": "p"}}
TOKEN = {"flow": "token", "token": "t"}


def used(kind: str, base: str, tenant: str = "") -> tuple[str, str]:
    """The base URL and the URL of the tenant that a job of this kind uses."""
    basic = {"flow": "basic", "login": "u", "password": "p"}
    auth: Any = AUTH.get(kind, basic if kind in {"a_hypermedia", "b_documents"} else TOKEN)
    given = {"kind": kind, "base_url": base, "auth": auth, **({"tenant_url": tenant} if tenant else {})}
    side = side_of_code(given, discover())
    return side.base_url, side.tenant_url


@pytest.mark.parametrize("ending", ["", "/", "//"])
@pytest.mark.parametrize(
    ("kind", "path"),
    [
        *(("a_hypermedia", path) for path in ("", "/api", "/api/dam", "/API")),
        *(("b_documents", path) for path in ("", "/api/v1", "/site/api/v1", "/api", "/site/automation")),
        *(("c_brandlibrary", path) for path in ("", "/api/v4", "/api/v1")),
        *(("d_templates", path) for path in ("", "/v1", "/v2", "/V1")),
    ],
)
def test_a_base_url_with_the_path_of_the_api_is_the_one_without(kind: str, path: str, ending: str) -> None:
    for below in ("", "/app"):
        assert used(kind, f"{BASE}{below}{path}{ending}")[0] == f"{BASE}{below}"


@pytest.mark.parametrize("ending", ["", "/"])
@pytest.mark.parametrize("tenant_path", ["", "/api/rest", "/api", "/allowaccess", "/mcp"])
@pytest.mark.parametrize("path", ["", "/v2"])
def test_both_urls_of_profiles_are_understood(path: str, tenant_path: str, ending: str) -> None:
    assert used("e_profiles", f"{BASE}{path}{ending}", f"{TENANT}{tenant_path}{ending}") == (BASE, TENANT)


def test_a_path_that_only_ends_alike_stays() -> None:
    assert used("b_documents", f"{BASE}/site")[0] == f"{BASE}/site"
    assert used("d_templates", f"{BASE}/dav1")[0] == f"{BASE}/dav1"
    assert used("d_templates", f"{BASE}/v1/v1")[0] == f"{BASE}/v1", "a proxy whose own path is called the same"


def test_the_url_of_the_deprecated_api_is_refused_with_what_to_write() -> None:
    with pytest.raises(ConfigError) as refused:
        used("d_templates", "https://museum.dam.example/content-store-v1/")
    assert refused.value.exit_code == 2
    assert "content-store-v1" in refused.value.message
    assert "v1.5" in refused.value.message + refused.value.hint
