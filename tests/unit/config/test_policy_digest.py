"""The digest of a policy, by which a plan is one of it: what came later counts once it is given."""

from __future__ import annotations

from typing import Any

import pytest

from dam_sync.config.job import PolicyConfig

RELEASED = {
    "c1cb5153f18af099b9ea6d02ce459f18": {},
    "cb91d00bec7743fdba9361dce01fcb16": {
        "exposure": {"archived_as_published": "accept", "groups_widened": "accept"},
    },
    "2be1adb0d4791fba8caf608bb4b7b0a1": {
        "deletes": "trash",
        "conflicts": {"default": "source", "fields": {"title": "target"}},
        "rotation": 7,
    },
}
"""Digests of the first release, with the policy of each."""


@pytest.mark.parametrize(("digest", "policy"), RELEASED.items())
def test_a_plan_of_the_first_release_is_one_of_the_same_policy(digest: str, policy: dict[str, Any]) -> None:
    assert PolicyConfig.model_validate(policy).digest == digest


@pytest.mark.parametrize("rule", ["reopened_by_rollback", "login_dropped", "reopened_by_repair"])
def test_a_rule_that_is_given_is_another_policy(rule: str) -> None:
    given = PolicyConfig.model_validate({"exposure": {rule: "accept"}})
    assert given.digest not in {PolicyConfig().digest, PolicyConfig.model_validate({"extras": "fail"}).digest}
