"""What a person should look at first in a new job."""

from __future__ import annotations

from dam_sync.model.capabilities import Feature
from dam_sync.report.first_settings import about_idle
from dam_sync.services import built_in


def idle(kind: str, *parts: str) -> list[str]:
    return about_idle(parts, built_in()[kind])


def test_what_an_option_can_give_names_the_topic_that_lists_it() -> None:
    (told,) = idle("d_templates", "release", "expiry")
    assert told == (
        "`options` of the source: it gives no value for release, expiry, as the job is set up; the topic d_templates "
        "of `dam-sync help` lists the options that say where they are"
    )


def test_what_no_option_can_give_names_none() -> None:
    """Its topic says no to all three."""
    able = built_in()["a_hypermedia"].capabilities
    assert not any(able.reads(part) for part in (Feature.TAGS, Feature.RELEASE, Feature.EXPIRY))
    (told,) = idle("a_hypermedia", "tags", "release", "expiry")
    assert told == (
        "the lines `tags`, `release`, `expiry` of the mapping: a_hypermedia has nothing of the kind, and no option "
        "changes that; if a field of the source holds it, let the line read that: `release: {from: fields.KEY, "
        "pipe: [datetime]}`"
    )


def test_a_line_that_takes_no_date_has_no_transform_of_dates() -> None:
    (told,) = idle("a_hypermedia", "groups")
    assert told.endswith("let the line read that: `groups: {from: fields.KEY}`")
    assert idle("a_hypermedia") == []
