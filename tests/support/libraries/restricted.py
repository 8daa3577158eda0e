"""A library with an asset for each way in which fewer people see it than others, and what a target of it needs."""

from __future__ import annotations

from typing import Any

from dam_sync.model.exposure import ACCEPTED_ONLY, ExposureRule
from tests.conformance.catalogue import SCHEMA, asset
from tests.support.libraries.every_feature import OWN_MARKS

INTERNS = {"record": "group", "name": "interns"}
NOBODYS = {"record": "group", "name": "Hidden", "opens": []}
OPTIONS = {
    "d_templates": {"restricted_security": "Hidden", "everybody": "public"},
    "e_profiles": {"everybody": "public"},
}
"""What a service needs to be told to be able to hide an asset, and to know that everybody sees one."""
CLOSING = {
    "record": "profile",
    "name": "Closed",
    "type": "Photo",
    "groups": ["staff"],
    "release_date": "2099-01-01T00:00:00Z",
}
FOR_A_TIME = {"kind": "timed", "detail": "staff", "begin": "2001-01-01T00:00:00Z", "end": "2044-01-01T00:00:00Z"}
WITHOUT_GROUPS = {"c_brandlibrary"}
SILENT_ABOUT_FOLDERS = {"a_hypermedia"}  # no call shows who may see a folder (wire A 5.1)
BOARD = {"record": "container", "kind": "folder", "path": ["Board"], "rights": {"groups": ["staff"]}}

OF_DRAFTS = tuple(rule.value for rule in ExposureRule if rule not in ACCEPTED_ONLY)
"""The rules by which what the source and the mapping say is judged; they can be accepted or closed."""


def library(source: str) -> list[dict[str, Any]]:
    """An asset that everybody sees, and one for each way in which fewer do."""
    later, before = "2045-06-01T00:00:00Z", "2003-01-01T00:00:00Z"
    rights: dict[int, dict[str, Any]] = {
        1: {},
        2: {},
        3: {"release_at": later},
        4: {"expires_at": before},
        5: {"groups": ["staff"]},
        6: {"groups": ["staff"], "restrictions": [{"kind": "denied", "detail": "interns"}]},
        7: {"restrictions": [FOR_A_TIME]},
        8: {},
    }
    status = {2: "archived", 8: "draft"}
    rows = [asset(number, rights=given, status=status.get(number, "published")) for number, given in rights.items()]
    rows[0 if source in SILENT_ABOUT_FOLDERS else 4]["placements"] = [{"kind": "folder", "path": ["Board"]}]
    for row in rows:
        del row["fields"][OWN_MARKS]
    board: dict[str, Any] = {"rights": {}} if source in SILENT_ABOUT_FOLDERS else {}
    return [*SCHEMA, INTERNS, NOBODYS, CLOSING, {**BOARD, **board}, *rows]


def receiving() -> list[dict[str, Any]]:
    """The tenant to be filled."""
    return [*SCHEMA, INTERNS, NOBODYS, CLOSING]
