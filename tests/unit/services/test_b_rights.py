"""Who may read a document of service B, out of its access entries."""

from __future__ import annotations

from typing import Any

import pytest

from dam_sync.model.asset import Asset
from dam_sync.model.audience import Restriction, RestrictionKind
from dam_sync.services.b_documents import CONNECTOR
from dam_sync.services.b_documents.codec.fields import ServerSchema
from dam_sync.services.b_documents.codec.rights import HIDDEN, UNREADABLE, is_blocked, local_grants
from dam_sync.services.b_documents.codec.wire import Around, asset_of
from dam_sync.services.b_documents.options import DocumentsOptions
from tests.support.services.typed_options import read_options

BLOCK = ("Everyone", "Everything", False)
PLAIN = DocumentsOptions()
INHERITED = (("administrators", "Everything", True), ("members", "Read", True))


def ace(name: Any, permission: Any = "Read", granted: Any = True, **more: Any) -> dict[str, Any]:
    told = {"begin": None, "end": None, "status": "effective", "id": f"{name}:{permission}", **more}
    return {"username": name, "permission": permission, "granted": granted, **told}


def row_of(local: list[Any], inherited: list[Any]) -> dict[str, Any]:
    lists = (("local", local), ("inherited", inherited))
    acls = [{"name": name, "aces": aces} for name, aces in lists if aces]
    return {"uid": "u", "contextParameters": {"acls": acls}}


def read(
    *local: Any, inherited: tuple[Any, ...] = INHERITED, options: DocumentsOptions = PLAIN, user: str = "me"
) -> Asset:
    aces = [entry if isinstance(entry, dict) or entry is None else ace(*entry) for entry in local]
    return asset_of(row_of(aces, [ace(*each) for each in inherited]), ServerSchema(), options, Around(user=user))


def denied(*names: str) -> frozenset[Restriction]:
    return frozenset(Restriction(RestrictionKind.DENIED, name) for name in names)


@pytest.mark.parametrize(
    ("local", "groups"),
    [
        ((), {"members"}),
        ((("staff", "Read", True),), {"staff", "members"}),
        ((("staff", "Read", True), BLOCK), {"staff"}),
        ((("staff", "ReadWrite", True), ("press", "Everything", True), BLOCK), {"staff", "press"}),
        ((("staff", "ReadRemove", True), ("press", "ReadCanCollect", True), BLOCK), {"staff", "press"}),
        ((("staff", "Browse", True), ("press", "Write", True)), {"members"}),
        ((BLOCK, ("staff", "Read", True)), {"administrators"}),
        ((("me", "Everything", True), ("staff", "Read", True), BLOCK), {"staff"}),
        ((("me", "Everything", True), BLOCK), {"me"}),
        ((("administrators", "Everything", True), BLOCK), {"administrators"}),
        ((("Everyone", "Read", True), BLOCK), set()),
        ((("staff", "Read", False), ("staff", "Read", True), BLOCK), {"administrators"}),
        ((("staff", "Read", True), ("staff", "Read", False), BLOCK), {"staff"}),
    ],
)
def test_readers_are_those_whom_the_entries_let_in(local: tuple[Any, ...], groups: set[str]) -> None:
    """Nobody at all is not everybody: then administrators are named."""
    found = read(*local)
    assert found.rights.groups == groups
    assert found.rights.restrictions == frozenset()


def test_who_is_refused_before_others_are_let_in_is_named() -> None:
    found = read(("interns", "Read", False), ("jdoe", "Everything", False))
    assert found.rights.groups == {"members"}
    assert found.rights.restrictions == denied("interns", "jdoe")


def test_a_refusal_of_nobody_who_is_let_in_restricts_nothing() -> None:
    assert read(("staff", "Read", True), ("interns", "Read", False), BLOCK).rights.restrictions == frozenset()
    assert read(("staff", "Read", True), ("staff", "Write", False)).rights.restrictions == frozenset()


def test_a_group_that_holds_all_users_is_everybody_where_the_job_says_so() -> None:
    options = read_options(CONNECTOR, {"everybody": "members"})
    assert read(options=options).rights.groups == frozenset()
    assert read(("staff", "Read", True), BLOCK, options=options).rights.groups == {"staff"}
    assert read(("members", "Everything", False), options=options).rights.groups == {"administrators"}
    assert read(("Everyone", "Read", True), options=options).rights.groups == frozenset()


def test_who_may_read_for_a_time_is_no_reader_and_named() -> None:
    """An embargo would be open at once, a loan for ever."""
    later = ace("press", begin="2050-01-01T00:00:00.000Z", status="pending")
    loan = ace("guests", end="2050-01-01T00:00:00.000Z")
    over = ace("former", end="2020-01-01T00:00:00.000Z", status="archived")
    found = read(("staff", "Read", True), later, loan, over, ace("staff", end="2050-01-01T00:00:00.000Z"), BLOCK)
    assert found.rights.groups == {"staff"}
    assert [(loss.path, loss.rule, loss.detail) for loss in found.losses] == [
        ("groups", "for a time only", "guests, press")
    ]
    refused = read(ace("interns", granted=False, end="2050-01-01T00:00:00.000Z"))
    assert refused.rights.restrictions == denied("interns")


def test_who_may_change_it_is_named() -> None:
    found = read(("staff", "ReadWrite", True), ("press", "Write", True), ("me", "Everything", True), BLOCK)
    assert [(loss.path, loss.rule, loss.detail) for loss in found.losses] == [
        ("groups", "right to change not carried", "press: Write, staff: ReadWrite")
    ]


@pytest.mark.parametrize(
    "entry",
    [None, ace(7), ace("staff", None), ace("staff", granted="true"), ace("staff", granted=None), ace(["staff"])],
)
def test_an_entry_that_cannot_be_read_opens_nothing(entry: Any) -> None:
    found = read(entry, BLOCK)
    assert found.rights.groups == {"administrators"}
    assert found.rights.restrictions == denied(UNREADABLE)


@pytest.mark.parametrize("parameters", [None, {}, {"acls": None}, {"acls": "none"}, "none"])
def test_rights_that_are_not_shown_are_not_those_of_everybody(parameters: Any) -> None:
    found = asset_of({"uid": "u", "contextParameters": parameters}, ServerSchema(), DocumentsOptions(), Around())
    assert found.rights.restrictions == denied(HIDDEN)


def test_lists_in_any_order_and_in_both_spellings() -> None:
    acls = [{"name": "inherited", "ace": [ace("members")]}, {"name": "local", "ace": [ace("staff"), ace(*BLOCK)]}]
    found = asset_of({"uid": "u", "acl": acls}, ServerSchema(), DocumentsOptions(), Around())
    assert found.rights.groups == {"staff"}


def test_what_is_the_documents_own() -> None:
    row = row_of([ace("staff"), ace("press", "Read", False), ace(*BLOCK)], [ace("members")])
    assert [entry["username"] for entry in local_grants(row)] == ["staff"]
    assert is_blocked(row)
    assert not is_blocked(row_of([ace("staff")], [ace("members"), ace(*BLOCK)]))


@pytest.mark.parametrize(
    ("told", "losses"),
    [
        ({"lockOwner": "jdoe"}, [("lock", "not carried", "jdoe")]),
        ({"isRecord": True, "retainUntil": "2030-01-01"}, [("record", "not carried", "2030-01-01")]),
        ({"isRecord": True, "retainUntil": None}, [("record", "not carried", "")]),
        ({"hasLegalHold": True}, [("legal hold", "not carried", "")]),
        ({"lockOwner": None, "isRecord": False, "hasLegalHold": False}, []),
    ],
)  # fmt: skip
def test_locks_records_and_legal_holds_are_named(told: dict[str, Any], losses: list[tuple[str, str, str]]) -> None:
    found = asset_of({**row_of([], [ace("Everyone")]), **told}, ServerSchema(), PLAIN, Around())
    assert [(loss.path, loss.rule, loss.detail) for loss in found.losses] == losses


@pytest.mark.parametrize(
    ("local", "inherited"),
    [
        ((), {"members"}),
        ((("staff", "Read", True),), {"members"}),
        ((("members", "Read", True),), set()),
        ((("staff", "Read", True), BLOCK), set()),
    ],
)
def test_groups_that_only_the_folder_admits_are_distinguished(local: tuple[Any, ...], inherited: set[str]) -> None:
    """A removal must not take them for somebody's change of the document."""
    assert read(*local).inherited_groups == inherited
