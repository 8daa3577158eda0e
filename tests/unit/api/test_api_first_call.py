"""What a refused first call means, in terms of the job file."""

from __future__ import annotations

from typing import Any

import pytest

from dam_sync.api.reachability import explained, explained_in_run, refuse_unreachable
from dam_sync.config.side import SideConfig
from dam_sync.http.error_rules import Refusal, error_for
from dam_sync.model.errors import ConfigError, Denied, NotFound, Transient
from tests.support.network.raw_server import free_port

ROOT = "https://dam.example"


def refusal(status: int, body: bytes) -> Refusal:
    return Refusal(status, {}, body, operation="GET /me")


class AtRoot:
    """A service that responds at the URL of the host, or refuses the credential there too."""

    def __init__(self, error: Exception | None) -> None:
        self.error, self.asked = error, list[str]()

    async def __call__(self, base_url: str) -> Any:
        self.asked.append(base_url)
        return self

    async def probe(self) -> None:
        if self.error is not None:
            raise self.error

    async def close(self) -> None:
        """Nothing."""


@pytest.mark.parametrize("explain", [explained, explained_in_run])
@pytest.mark.parametrize("error", [Denied("the login was refused (403)"), NotFound("no such path (404)")])
async def test_a_path_that_the_service_does_not_have_is_named_however_it_refuses_it(explain: Any, error: Any) -> None:
    opens = AtRoot(None)
    found = await explain(error, SideConfig(kind="d_templates", base_url=f"{ROOT}/dam"), "source", opens)
    assert isinstance(found, ConfigError)
    assert found.hint == f"did you mean base_url: {ROOT}?"
    assert opens.asked == [ROOT]


@pytest.mark.parametrize("explain", [explained, explained_in_run])
@pytest.mark.parametrize("path", ["", "/dam"])
async def test_a_credential_that_is_refused_everywhere_stays_refused(explain: Any, path: str) -> None:
    error = Denied("the login was refused (403)")
    opens = AtRoot(error)
    assert await explain(error, SideConfig(kind="d_templates", base_url=f"{ROOT}{path}"), "target", opens) is error
    assert opens.asked == ([ROOT] if path else [])


async def test_a_service_in_trouble_stays_what_it_is_in_a_run() -> None:
    error = Transient("responded with a page (502)")
    error.is_page = True
    side = SideConfig(kind="d_templates", base_url=f"{ROOT}/dam")
    assert await explained_in_run(error, side, "source", AtRoot(None)) is error
    assert isinstance(await explained(error, side, "source", AtRoot(None)), ConfigError)


async def test_trouble_that_is_only_spoken_of_is_no_page_and_no_wrong_password() -> None:
    """What a service says of itself may contain any words."""
    side = SideConfig(kind="d_templates", base_url=f"{ROOT}/dam")
    broken = error_for((), refusal(503, b'{"message": "the HTML renderer of node 501 cannot be read"}'))
    assert await explained(broken, side, "source", AtRoot(None)) is broken
    refused = error_for((), refusal(403, b'{"message": "user 401 may not do this"}'))
    assert await explained(refused, side, "source", AtRoot(refused)) is refused


async def test_a_page_and_a_wrong_password_are_known_by_the_response() -> None:
    side = SideConfig(kind="d_templates", base_url=f"{ROOT}/dam")
    page = error_for((), refusal(503, b"<html><title>Be right back</title></html>"))
    assert isinstance(await explained(page, side, "source", AtRoot(None)), ConfigError)
    refused = error_for((), refusal(401, b'{"message": "no such user"}'))
    found = await explained(refused, side, "source", AtRoot(refused))
    assert found.message == "the credential was refused (401)"


async def test_both_urls_are_named_where_an_error_does_not_say_which_one_was_called() -> None:
    tenant = "https://museum.dam.example"
    side = SideConfig(kind="e_profiles", base_url=ROOT, tenant_url=tenant)
    found = await explained(NotFound("nothing is here (404)"), side, "target", AtRoot(None))
    assert found.message.startswith(f"target.base_url or target.tenant_url: {ROOT} or {tenant} responds, but not like")
    assert found.hint.startswith("check `base_url` and `tenant_url`: ")
    one = await explained(
        NotFound("nothing (404)"), side.model_copy(update={"tenant_url": ROOT}), "target", AtRoot(None)
    )
    assert one.message.startswith(f"target.base_url: {ROOT} responds, but not like e_profiles")


async def test_a_host_that_does_not_respond_is_named_by_its_key() -> None:
    with pytest.raises(Transient, match=r"target\.tenant_url: 127\.0\.0\.1: port"):
        await refuse_unreachable(f"http://127.0.0.1:{free_port()}", "target", "tenant_url")
