"""Deliveries of webhooks: only what was signed with the secret, and lately, is taken; nothing sent to us raises."""

from __future__ import annotations

import hashlib
import hmac
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook

from dam_sync.model.connector import Context
from dam_sync.model.errors import ContractBroken
from dam_sync.model.service import Service
from dam_sync.model.webhooks import Delivery, Endpoint, Hint
from dam_sync.services import built_in

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
IDENTITY, TIMESTAMP = "msg_2gEymWwsWu5H5EpwbwoOwBnRQBi", 1768471200
AT = datetime.fromtimestamp(TIMESTAMP, UTC)
BODY = (
    b'{"eventType":"asset.created","event":{"id":"asset-created-d231cf1d-86b2-436e-95de-b745c39d2ed5",'
    b'"time":"2026-01-15T10:00:00.000Z","user":{"id":"7d675ef0-f423-11e9-8071-89c0c405214e"}},'
    b'"asset":{"id":"cdff2214-3873-4cc4-8e2e-94fcec784343"}}'
)
SIGNATURE = "v1,ELegOUmRe/WOKN0jVQ+ziRzbFBNq6AgmrTEOSVJzZbs="
"""The test vector of wire D 9.2."""
EVENT = {
    "webhook_configuration_id": "c1",
    "webhook_delivery_id": "w1",
    "event_type": "asset_metadata_value_updated",
    "asset_id": "11111111-2222-3333-4444-555555555555",
}


def service_of(kind: str, **options: Any) -> Service:
    connector = built_in()[kind]
    method = next(iter(connector.auth.values()))
    auth = method(**dict.fromkeys((name for name, each in method.model_fields.items() if each.is_required()), "x" * 9))
    url = "https://dam.example"
    return connector.connect(Context(url, auth, connector.options(**options), tenant_url=url))


D, E, C = (service_of(kind) for kind in ("d_templates", "e_profiles", "c_brandlibrary"))
TO_D = Endpoint("https://h.example", "museum", SECRET)
TO_E = Endpoint("https://h.example", "museum", "a long random text")
TO_C = Endpoint("https://h.example", "museum", "a long random text", frozenset({"5b1e7c04"}))


def of_d(
    identity: str = IDENTITY,
    timestamp: str = str(TIMESTAMP),
    signature: str = SIGNATURE,
    body: bytes = BODY,
    at: datetime = AT,
) -> Delivery:
    names = ("webhook-id", "webhook-timestamp", "webhook-signature")
    return Delivery(dict(zip(names, (identity, timestamp, signature), strict=True)), body, at)


def of_e(body: bytes, signature: str | None = None) -> Delivery:
    made = hmac.new(TO_E.secret.encode(), body, hashlib.sha256).hexdigest()
    return Delivery({"x-svc-signature": made if signature is None else signature}, body, AT)


def of_c(**changed: Any) -> Delivery:
    attributes = {"key": "4kq7wn", "event_time": "2025-05-14 17:18:45.000000", "event_type": "asset.update", **changed}
    webhook = attributes.pop("webhook_id", "5b1e7c04")
    return Delivery({}, json.dumps({"data": {"attributes": attributes, "webhook_id": webhook}}).encode(), AT)


def changed(text: bytes, place: int, by: int) -> bytes:
    """One byte is another one."""
    place %= len(text)
    return text[:place] + bytes([text[place] ^ by]) + text[place + 1 :]


CHANGES = (st.integers(0, 10_000), st.integers(1, 255))


# -- signed as Standard Webhooks ---------------------------------------------------------------------------------------


def test_the_vector_of_the_contract_is_genuine() -> None:
    assert D.hint_of(of_d(), TO_D) == Hint(IDENTITY, "cdff2214-3873-4cc4-8e2e-94fcec784343")


@given(st.sampled_from(["body", "identity", "timestamp", "signature", "secret"]), *CHANGES)
def test_any_changed_byte_is_refused(what: str, place: int, by: int) -> None:
    parts: dict[str, Any] = {"identity": IDENTITY, "timestamp": str(TIMESTAMP), "signature": SIGNATURE, "body": BODY}
    endpoint = TO_D
    if what == "secret":
        secret = changed(SECRET.encode(), place, by).decode("latin-1")
        endpoint = Endpoint("https://h.example", "museum", secret)
    elif what == "body":
        parts["body"] = changed(BODY, place, by)
    else:
        parts[what] = changed(parts[what].encode(), place, by).decode("utf-8", "surrogateescape")
    assert D.hint_of(of_d(**parts), endpoint) is None


@pytest.mark.parametrize(("seconds", "genuine"), [(0, True), (299, True), (-299, True), (301, False), (-301, False)])
def test_an_old_or_early_delivery_is_refused(seconds: int, genuine: bool) -> None:
    assert (D.hint_of(of_d(at=AT + timedelta(seconds=seconds)), TO_D) is not None) == genuine


@pytest.mark.parametrize(
    "timestamp", ["", "0", f"0{TIMESTAMP}", f" {TIMESTAMP}", f"{TIMESTAMP}.0", "-5", "١٢٣", "9" * 40]
)
def test_one_timestamp_has_one_spelling(timestamp: str) -> None:
    assert D.hint_of(of_d(timestamp=timestamp), TO_D) is None


def test_one_of_several_signatures_is_enough_and_other_versions_are_not() -> None:
    other = Webhook("whsec_" + "A" * 32).sign(IDENTITY, AT, BODY.decode())
    assert D.hint_of(of_d(signature=f"v1a,xyz {other} {SIGNATURE}"), TO_D) is not None
    for signature in ("", SIGNATURE.replace("v1,", "v2,"), SIGNATURE.replace("v1,", ""), other, f"{SIGNATURE},"):
        assert D.hint_of(of_d(signature=signature), TO_D) is None


@given(st.text(max_size=40), st.text(max_size=12), st.text(max_size=60), st.binary(max_size=60))
def test_nothing_that_is_sent_raises(identity: str, timestamp: str, signature: str, body: bytes) -> None:
    assert D.hint_of(of_d(identity, timestamp, signature, body), TO_D) is None
    assert D.hint_of(Delivery({}, body, AT), TO_D) is None
    assert E.hint_of(of_e(body, signature), TO_E) is None


def test_events_that_name_no_asset_and_unknown_ones_are_no_hints() -> None:
    for body in (b'{"eventType":"user.created","user":{"id":"7"}}', b'{"eventType":"asset.new","asset":{"id":"7"}}'):
        made = Webhook(SECRET).sign(IDENTITY, AT, body.decode())
        assert D.hint_of(of_d(signature=made, body=body), TO_D) == Hint(IDENTITY)
    strange = '{"eventType":["asset.created"],"asset":{"id":"7"}}'
    with pytest.raises(ContractBroken):
        D.hint_of(of_d(signature=Webhook(SECRET).sign(IDENTITY, AT, strange), body=strange.encode()), TO_D)


# -- signed with a key of ours -----------------------------------------------------------------------------------------


def test_a_keyed_digest_of_the_body_is_genuine() -> None:
    body = json.dumps(EVENT).encode()
    assert E.hint_of(of_e(body), TO_E) == Hint("w1", EVENT["asset_id"])
    assert E.hint_of(of_e(b'{"webhook_delivery_id":"w2","event_type":"ping"}'), TO_E) == Hint("w2")
    assert E.hint_of(Delivery({}, body, AT), TO_E) is None
    assert E.hint_of(of_e(body), Endpoint("https://h.example", "museum")) is None
    assert E.hint_of(of_e(body, ""), TO_E) is None


@given(*CHANGES, st.booleans())
def test_any_changed_byte_of_it_is_refused(place: int, by: int, of_body: bool) -> None:
    body = json.dumps(EVENT).encode()
    digest = hmac.new(TO_E.secret.encode(), body, hashlib.sha256).hexdigest()
    if of_body:
        delivery = of_e(changed(body, place, by), digest)
    else:
        delivery = of_e(body, changed(digest.encode(), place, by).decode("utf-8", "surrogateescape"))
    assert E.hint_of(delivery, TO_E) is None


def test_the_header_the_hash_and_the_prefix_are_options() -> None:
    own = service_of("e_profiles", webhook_header="X-Hub", webhook_digest="sha512", webhook_prefix="sha512=")
    body = json.dumps(EVENT).encode()
    digest = hmac.new(TO_E.secret.encode(), body, hashlib.sha512).hexdigest()
    assert own.hint_of(Delivery({"x-hub": f"sha512={digest}"}, body, AT), TO_E) is not None
    assert own.hint_of(Delivery({"x-hub": digest}, body, AT), TO_E) is None


# -- not signed --------------------------------------------------------------------------------------------------------


def test_without_a_signature_only_a_known_subscription_names_an_asset() -> None:
    hint = C.hint_of(of_c(), TO_C)
    assert hint == Hint("4kq7wn asset.update 2025-05-14 17:18:45.000000", "4kq7wn")
    for other in (of_c(webhook_id="another"), of_c(event_type="asset.other")):
        found = C.hint_of(other, TO_C)
        assert found is not None
        assert found.asset == ""
