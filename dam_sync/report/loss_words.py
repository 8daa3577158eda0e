"""Losses in words: what a path and a rule mean to somebody who has not read the mapping file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from dam_sync.model.exposure import EXPOSURE, ExposureRuling, meaning_of
from dam_sync.model.loss_rules import LossRule
from dam_sync.model.safe_text import shown_name

OF_PATHS = {
    "versions": "older versions of the file",
    "attachments": "attachments",
    "relations": "links to other assets",
    "placements": "places in containers",
    "tags": "tags",
    "machine_tags": "tags given by a machine",
    "labels": "labels",
    "groups": "access groups",
    "status": "the status",
    "substatus": "the status of the tenant's own",
    "release": "the release date",
    "expiry": "the expiry date",
    "release_at": "the release date",
    "expires_at": "the expiry date",
    "created_at": "the creation date",
    "filename": "the file name",
}
_RULES = {str(rule): rule for rule in LossRule}
OF_TRANSFORMS = {
    "date": "it is not a date as its line of the mapping reads them, or its time of day is lost",
    "datetime": "it is not a timestamp as its line of the mapping reads them",
    "safe_name": "the name has something that some systems refuse, so that the asset gets another",
    "first": "only the first of several values is carried",
    "truncate": "the text is cut to the length that the mapping gives",
    "lookup": "the table of the mapping has no such value",
    "vocabulary": "the vocabulary of the target has no such term",
    "unique": "the value was there twice",
    "null": "the mapping leaves the field empty",
}
"""What a transform of the mapping does to a value, by the name of the transform."""
OF_PLACES = {
    "tags": "one of the tags",
    "security.groups": "one of the access groups",
    "placements": "one of the places in containers",
    "profile": "the profile",
}
"""Lines of a mapping that write no field, where the words for a loss do not fit."""
PARTS = {"release_at": "release", "expires_at": "expiry"}
"""What capabilities call some paths."""
LEFT_OUT = "Left out by your mapping"
UNLESS_ASKED = "no option of the job says where the target keeps it"


def in_words(path: str, rule: str, optional: Collection[str] = ()) -> str:
    """`the creation date: the target has no place for it`; an unknown rule is named as it is. optional: parts of assets
    that the target would store if an option of the job named their place."""
    if path == EXPOSURE:
        ruling = ExposureRuling.read(rule)
        return meaning_of(ruling.rule, ruling.result or "")
    part = path.removesuffix("[]")
    if rule_of(rule) is LossRule.NOT_HELD and PARTS.get(part, part) in optional:
        return f"{part_in_words(path)}: {UNLESS_ASKED}"
    return f"{part_in_words(path)}: {rule_in_words(rule)}"


def filled(omission: Mapping[str, Any]) -> str:
    """In how many assets a field has values that the mapping leaves out: `280 of 300 (93 %)`."""
    assets, read = omission["assets"], omission["read"]
    return f"{assets:,} of {read:,} ({100 * assets // read} %)" if read else f"{assets:,}"


def rule_in_words(rule: str) -> str:
    """The rule of a loss; an unknown one as it is named."""
    known = rule_of(rule)
    return known.words if known is not None else OF_TRANSFORMS.get(rule, rule)


def rule_of(text: str) -> LossRule | None:
    """The rule that a report names; None for that of a transform or a connector."""
    return _RULES.get(text)


def part_in_words(path: str) -> str:
    """`the file name`, `places in containers (folder)`, `field title`."""
    if path.startswith("fields."):
        return f"field {shown_name(path.removeprefix('fields.').removesuffix('[]'))}"
    head, _, rest = path.partition(".")
    known = OF_PATHS.get(head.removesuffix("[]"), head)
    return f"{known} ({shown_name(rest.removesuffix('[]'))})" if rest else known


def parts_in_words(place: str) -> str:
    """What a line of the mapping writes: `technique`, `the file name`, `one of the tags`."""
    head, _, rest = place.partition(".")
    if head == "fields":
        return shown_name(rest)
    return OF_PLACES.get(place.partition("[")[0]) or part_in_words(rest or head)
