"""The emulated service C searches and reports as its wire contract says: the grammar, the index's lag, webhooks."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dam_sync.emulators.c_brandlibrary.query import And, BadQuery, Not, Or, Phrase, Span, Word, parse
from tests.support.services.emulated_c import Rig, asset_row

Start = Callable[..., Rig]


@pytest.fixture
def start() -> Iterator[Start]:
    with ExitStack() as stack:
        yield lambda *rows, **options: stack.enter_context(Rig(rows, **options))


# -- the grammar -------------------------------------------------------------------------------------------------------


def test_not_binds_before_and_before_or() -> None:
    a, b, c = (Word("", letter) for letter in "abc")
    assert parse("a b") == Or((a, b))
    assert parse("a OR b AND NOT c") == Or((a, And((b, Not(c)))))
    assert parse("(a OR b) && c") == And((Or((a, b)), c))
    assert parse('tags:(a "b c")') == Or((Word("tags", "a"), Phrase("tags", "b c")))
    assert parse("NOT custom_fields.Key:(*)") == Not(Word("custom_fields.Key", "*"))
    assert parse("NOT label: *") == Not(Word("label", "*"))
    assert parse(r"custom_fields.Shot\ by:x") == Word("custom_fields.Shot by", "x")
    assert parse("size:>=5") == Span("size", "5", None)
    assert parse('created_at:["2024-01-01T00:00:00Z" TO *]') == Span("created_at", "2024-01-01T00:00:00Z", None)


@pytest.mark.parametrize(
    "text", ['"open', "(a", "a)", "AND a", "a:b:c", "name:", "[a TO b]", "size:[1 to 2]", "", "a {b}"]
)
def test_nonsense_is_no_query(text: str) -> None:
    with pytest.raises(BadQuery):
        parse(text)


@settings(max_examples=80, deadline=None)
@given(st.text(alphabet='ab ANDORT()"*~:><[].\\1-', max_size=25))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        parse(text)
    except BadQuery:
        return


FOUND = [
    ("harbour", "1"),
    ("harbour dawn", "12"),
    ("harbour AND dawn", "1"),
    ("harb*", "1"),
    ("harbuor~", "1"),
    ('"harbour at dawn"', "1"),
    ('"dawn at harbour"', ""),
    ("name:1", "1"),
    ("filename:3.jpg", "3"),
    ("extension:jpg", "123"),
    ("tags:sea", "12"),
    ("tags.strict:sea", "1"),
    ('tags.strict:"sea shore"', "2"),
    ("NOT tags:*", "3"),
    ('custom_fields.srckey:"k2"', "2"),
    (r"custom_fields.Shot\ by:Ann", "3"),
    ("NOT custom_fields.keywords:(*)", "23"),
    ('section:"Press / 2024"', "12"),
    ("approved:true AND expired:false AND unpublished:false", "1"),
    ("expired:true", "2"),
    ("unpublished:true", "3"),
    ("expires_at:*", "2"),
    ("NOT expires_at:*", "13"),
    ("created_at:[2026-01-01 TO 2026-01-02]", "12"),
    ("created_at:<2026-01-02", "1"),
    ("created_at:<=2026-01-02", "12"),
    ("created_at:>now-1d", ""),
    ("created_at:>now-12M", "123"),
    ('updated_at:["2026-01-02T00:00:00.000Z" TO "2026-01-02T00:00:00.000Z"]', "2"),
    ("size:>1000", "2"),
    ("size:[1000 TO 2000]", "123"),
    ("asset_type:GenericFile", "123"),
    ('"unbalanced', ""),
    ("nosuchfield:x", ""),
    ("created_at:[2026-01-01T00:00:00Z TO now]", ""),
]


@pytest.fixture(scope="module")
def library() -> Iterator[Rig]:
    empty = [{"kind": "folder", "path": ["Empty"]}]
    rows = [
        asset_row("1", tags=["sea"], fields={"description": "Harbour at dawn", "srckey": "k1", "keywords": ["x"]}),
        asset_row(
            "2", tags=["sea shore"], fields={"description": "Dawn", "srckey": "k2"}, imported_at="2026-01-02T00:00:00Z",
            versions=[{"name": "2.jpg", "generate": {"size": 2000, "seed": 2}}],
            rights={"expires_at": "2026-02-01T00:00:00Z"},
        ),
        asset_row(
            "3", fields={"srckey": "k3", "Shot by": "Ann"}, imported_at="2026-01-03T00:00:00Z", placements=empty,
            rights={"release_at": "2027-01-01T00:00:00Z"},
        ),
    ]  # fmt: skip
    with Rig(rows) as rig:
        yield rig


@pytest.mark.parametrize(("text", "names"), FOUND)
def test_what_a_search_finds(library: Rig, text: str, names: str) -> None:
    assert "".join(sorted(library.assets(search=text))) == names


def test_keys_of_sections_and_assets_are_found_whole(library: Rig) -> None:
    assert len(library.assets(search=f'section_key:("{library.section}" OR "x1")')) == 2
    assert library.assets(search=f"asset_key:{library.of('3')}") == ["3"]
    path = f"/sections/{library.section}/assets"
    assert library.get(path, search="dawn")["meta"]["total_count"] == 2


def test_an_unknown_custom_field_is_404_and_an_unknown_value_too_in_one_reading(library: Rig, start: Start) -> None:
    path = "/libraries/{}/assets"
    library.get(path.format(library.library), 404, search="custom_fields.Srckey:k1")
    assert library.assets(search="custom_fields.srckey:k9") == []
    second = start(asset_row("1"), variant="value_404")
    second.get(path.format(second.library), 404, search="custom_fields.srckey:k9")


def test_of_repeated_searches_the_last_one_counts(library: Rig) -> None:
    found = library.api.get(f"/libraries/{library.library}/assets?search=nothing&search=harbour").json()
    assert found["meta"]["total_count"] == 1


# -- the index ---------------------------------------------------------------------------------------------------------


def test_searches_trail_and_lists_do_not(start: Start) -> None:
    rig = start(asset_row("1"), lag=5)
    rig.create({"name": "Token", "description": "x\n[dam_sync c123]"})
    assert rig.assets(search='description:"c123"') == []
    assert "Token" in rig.assets()
    assert "Token" in rig.assets(sort_by="created_at", order="DESC")
    assert "Token" not in rig.assets(sort_by="score", order="DESC")
    rig.world.advance(5)
    assert rig.assets(search='description:"c123"') == ["Token"]
    rig.send("DELETE", f"/assets/{rig.of('1')}")
    assert "1" in rig.assets(search="1")
    rig.world.advance(5)
    assert rig.assets(search="name:1") == []


def test_lists_trail_too_where_they_come_from_the_index(start: Start) -> None:
    rig = start(lag=5, variant="lists_from_index")
    made = rig.create({"name": "New"})["data"][0]["id"]
    assert rig.assets() == []
    rig.get(f"/assets/{made}")
    rig.world.advance(5)
    assert rig.assets() == ["New"]


def test_the_lag_varies_up_to_30_seconds_unless_configured_otherwise(start: Start) -> None:
    rig = start(lag=5.0, jitter=25.0)
    for number in range(12):
        rig.create({"name": f"N{number}"})
    rig.world.advance(5)
    early = len(rig.assets(search="name:N*"))
    rig.world.advance(25)
    assert early < len(rig.assets(search="name:N*")) == 12


def test_flags_by_date_follow_on_the_hour(start: Start) -> None:
    rig = start(asset_row("1", rights={"expires_at": "2026-06-15T10:30:00Z"}))
    rig.world.advance(1200)
    found = rig.get(f"/assets/{rig.of('1')}", fields="availability")["data"]["attributes"]
    assert found["availability"] == "expired"
    assert rig.assets(search="expired:true") == []
    rig.world.advance(1200)
    assert rig.assets(search="expired:true") == ["1"]


# -- webhooks ----------------------------------------------------------------------------------------------------------


@contextmanager
def listening(refuse: int = 0) -> Iterator[tuple[str, list[Any], threading.Event]]:
    """A receiver that refuses the first calls; `arrived` is set by each that it takes."""
    bodies: list[Any] = []
    arrived = threading.Event()
    left = [refuse]

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            left[0] -= 1
            refused = left[0] >= 0
            if not refused:
                bodies.append(body)
            self.send_response(500 if refused else 200)
            self.send_header("Content-Length", "0")
            self.end_headers()
            if not refused:
                arrived.set()

        def log_message(self, *_: Any) -> None:
            return

    server = HTTPServer(("127.0.0.1", 0), Receiver)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/hook", bodies, arrived
    finally:
        server.shutdown()
        thread.join(5)
        server.server_close()


def subscription(rig: Rig, event: str, url: str, **more: Any) -> dict[str, Any]:
    attributes = {"event_type": event, "resource_type": "library", "resource_key": rig.library, "callback_url": url}
    return {"data": {"attributes": {**attributes, **more}}}


def test_subscriptions_have_a_base_and_rules_of_their_own(start: Start) -> None:
    rig = start()
    url = "https://sync.example.com/hook"
    assert rig.old.get("/webhooks").status_code == 400, "no content type"
    assert rig.api.get("/webhooks").status_code == 404, "not on v4"
    made = rig.old.post("/webhooks", json=subscription(rig, "asset.update", url))
    assert made.status_code == 200
    assert "type" not in made.json()["data"]
    assert rig.old.post("/webhooks", json=subscription(rig, "asset.update", url)).status_code == 409
    bad = (
        (400, {"event_type": "asset.eaten"}), (400, {"callback_url": "http://example.com"}),
        (400, {"resource_type": "x"}), (404, {"resource_key": "nowhere"}),
    )  # fmt: skip
    for status, more in bad:
        assert rig.old.post("/webhooks", json=subscription(rig, "asset.create", url, **more)).status_code == status
    headers = {"Content-Type": "application/json"}
    listed = rig.old.get("/webhooks", headers=headers).json()
    assert ([row["id"] for row in listed["data"]], "meta" in listed) == ([made.json()["data"]["id"]], False)
    path = f"/webhooks/{listed['data'][0]['id']}"
    assert rig.old.get(path, headers=headers).status_code == 200
    assert rig.old.delete(path, headers=headers).json() == {}
    assert rig.old.get(path, headers=headers).status_code == 404


def test_a_new_asset_sends_an_event_and_another_when_it_is_ready(start: Start) -> None:
    rig = start()
    with listening(refuse=2) as (url, bodies, arrived):
        for event in ("asset.create", "asset.update", "asset.delete"):
            assert rig.old.post("/webhooks", json=subscription(rig, event, url)).status_code == 200
        key = rig.made()
        assert arrived.wait(10)
        arrived.clear()
        rig.world.advance(6)
        rig.get(f"/assets/{key}")
        assert arrived.wait(10)
        arrived.clear()
        rig.send("DELETE", f"/assets/{key}")
        assert arrived.wait(10)
    events = [body["data"]["attributes"]["event_type"] for body in bodies]
    assert events == ["asset.create", "asset.update", "asset.delete"]
    told = bodies[0]["data"]
    assert told["attributes"]["key"] == key
    assert told["attributes"]["event_time"] == "2026-06-15 10:20:30.000000"
    assert told["attributes"]["library_key"] == rig.library
    assert told["webhook_id"]


def test_some_edits_send_an_event_and_some_do_not(start: Start) -> None:
    rig = start(asset_row("1", placements=[{"kind": "collection", "path": ["Logo Kit"]}]))
    second = start(
        asset_row("1", placements=[{"kind": "collection", "path": ["Logo Kit"]}]), variant="collection_events"
    )
    for each, told in ((rig, 2), (second, 3)):
        key = each.of("1")
        each.send("POST", f"/assets/{key}/tags", {"data": {"attributes": [{"name": "t"}]}})
        each.send("PUT", f"/assets/{key}", {"data": {"attributes": {"name": "X"}}})
        each.send("PUT", f"/assets/{key}", {"data": {"attributes": {"name": "X"}}})
        kit = each.named("collections", "Logo Kit")
        each.send("PUT", f"/collections/{kit}", {"data": {"attributes": {"name": "Kit"}}})
        each.send("POST", f"/libraries/{each.library}/labels", {"data": {"attributes": {"name": "L"}}})
        assert [row["event"] for row in each.world.events].count("asset.update") == told


def test_a_receiver_that_never_responds_loses_its_subscription(start: Start) -> None:
    rig = start(retry_base=0.0)
    assert rig.old.post("/webhooks", json=subscription(rig, "asset.create", "http://127.0.0.1:9/")).status_code == 200
    rig.create({"name": "N"})
    headers = {"Content-Type": "application/json"}
    for _ in range(3000):
        if not rig.old.get("/webhooks", headers=headers).json()["data"]:
            break
    (delivery,) = rig.app.state.webhooks.deliveries
    assert (delivery["tries"], delivery["arrived"]) == (16, False)
    assert rig.old.get("/webhooks", headers=headers).json()["data"] == []


@pytest.mark.parametrize(("mode", "names"), [("duplicate", "AABB"), ("reorder", "BA")])
def test_deliveries_come_twice_or_out_of_order(start: Start, mode: str, names: str) -> None:
    rig = start(deliveries=mode)
    with listening() as (url, bodies, _):
        rig.old.post("/webhooks", json=subscription(rig, "asset.create", url))
        keys = {rig.create({"name": name})["data"][0]["id"]: name for name in "AB"}
        for _ in range(3000):
            if len(bodies) == len(names):
                break
            rig.get("/organizations")
    found = [keys[body["data"]["attributes"]["key"]] for body in bodies]
    assert sorted(found) == sorted(names)


def test_who_loses_the_library_loses_the_subscription(start: Start) -> None:
    rig = start(users=[{"token": "some", "level": "admin", "scope": "library:Acme"}])
    some = rig.client("some", "/api/v1")
    assert some.post("/webhooks", json=subscription(rig, "asset.create", "https://example.com/")).status_code == 200
    rows = rig.get(f"/libraries/{rig.library}/user_permissions")["data"]
    rig.send("DELETE", f"/user_permissions/{rows[1]['id']}")
    rig.create({"name": "N"})
    assert rig.app.state.webhooks.deliveries == []
    assert some.get("/webhooks", headers={"Content-Type": "application/json"}).json()["data"] == []


def test_a_demo_is_sent_on_demand(start: Start) -> None:
    rig = start()
    with listening() as (url, bodies, arrived):
        answer = rig.old.post("/webhooks/send", json=subscription(rig, "asset.update", url, asset_key="abc"))
        assert (answer.status_code, answer.json()["status"]) == (202, "ok")
        assert arrived.wait(10)
    assert bodies[0]["data"]["attributes"]["key"] == "abc"
