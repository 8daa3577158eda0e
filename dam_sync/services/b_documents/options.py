"""Options of service B: what a job may say about its server, and how that is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from dam_sync.model import options
from dam_sync.model.errors import ConfigError
from dam_sync.model.options import OptionValues
from dam_sync.model.schema import FieldKind
from dam_sync.services.b_documents import facts

KINDS = ("date", "long_text", "html", "email", "url", "text")


def _are_kinds(named: Any) -> bool:
    return all(kind in KINDS for kind in named.values())


def _are_ways(states: Any) -> bool:
    return isinstance(states, dict) and all(isinstance(ways, dict) for ways in states.values())


SETTINGS: Mapping[str, options.Option] = {
    "root": options.text("the folder in which the library begins (default the domain's workspaces; / is everything)"),
    "folder": options.text(
        "the folder, below the root, of assets that the mapping puts in no folder (default dam-sync; / is the root)"
    ),
    "type": options.text("the document type of new assets if the mapping names no profile (default File)"),
    "types": options.words("the document types that are assets (default all that hold no others and are not hidden)"),
    "release_field": options.text("the property that holds the release date (default dc:issued)"),
    "expiry_field": options.text("the property that holds the expiry date (default dc:expired)"),
    "status_field": options.text("the property that holds the status, if the life cycle does not"),
    "states": options.pairs(
        "the life cycle state of each status (default published: approved, archived: obsolete, draft: project)"
    ),
    "transitions": options.Option(
        "for each state, the states that can follow it and their transitions, in addition to the default life cycle",
        "for each state the states behind it and the transition there",
        _are_ways,
    ),
    "groups": options.words("the users and groups that may get the right to read (default: any name is tried)"),
    "everybody": options.words(
        "groups that stand for everybody who can use the tenant, in addition to Everyone (default none)"
    ),
    "relations": options.either(
        options.words("kinds of relation, or kinds and their predicates; reading costs one call per asset and kind"),
        options.pairs(""),
    ),
    "kinds": options.pairs(
        "what a text or date property holds: date, html, long_text, email, url or text",
        f"keys with one of {', '.join(KINDS)}",
        _are_kinds,
    ),
    "timezone": options.zone("time zone of `date` properties, for example Europe/Paris (default UTC)"),
    "increment": options.choice(
        "Minor (default) or Major: the kind of version that keeps the old file before a new one is written",
        "Minor",
        "Major",
    ),
    "repository": options.text("the name of the repository, if the server does not report it"),
    "public_links": options.switch(
        "off (default) or on: read the permanent download URLs of files, for redirects, at no call; "
        "the server decides who may open them"
    ),
    "sections": options.switch(
        "off (default) or on: read in which sections assets are published; one more call per hundred assets"
    ),
    "timeout_header": options.text("the header for longer transactions (default Vendor-Transaction-Timeout)"),
}


@dataclass(frozen=True, slots=True)
class DocumentsOptions:
    """What the job says about this server; `SETTINGS` describes each."""

    root: str = ""
    folder: str = facts.FOLDER
    type: str = "File"
    types: tuple[str, ...] = ()
    release_field: str = "dc:issued"
    expiry_field: str = "dc:expired"
    status_field: str = ""
    states: Mapping[str, str] = field(default_factory=lambda: dict(facts.STATES))
    transitions: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: dict(facts.TRANSITIONS))
    groups: frozenset[str] | None = None
    everybody: frozenset[str] = frozenset({facts.EVERYONE})
    relations: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, FieldKind] = field(default_factory=dict)
    zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))
    increment: str = "Minor"
    repository: str = ""
    timeout_header: str = facts.TIMEOUT_HEADER
    public_links: bool = False
    sections: bool = False

    @classmethod
    def of(cls, given: Mapping[str, object]) -> DocumentsOptions:
        """The options of a job, checked. Raises ConfigError."""
        values, groups = OptionValues(facts.NAME, given), given.get("groups")
        return cls(
            root=_path(given.get("root")),
            folder=str(given.get("folder") or facts.FOLDER).strip("/"),
            type=str(given.get("type") or "File"),
            types=values.words("types"),
            release_field=str(given.get("release_field") or "dc:issued"),
            expiry_field=str(given.get("expiry_field") or "dc:expired"),
            status_field=str(given.get("status_field") or ""),
            states={**facts.STATES, **_texts(given, "states")},
            transitions=_transitions(given),
            groups=None if groups is None else frozenset(values.words("groups")),
            everybody=frozenset({facts.EVERYONE, *values.words("everybody")}),
            relations=_relations(given.get("relations")),
            kinds=_kinds(given),
            zone=_zone(given.get("timezone")),
            increment=_one_of(given, "increment", ("Minor", "Major")),
            repository=str(given.get("repository") or ""),
            timeout_header=str(given.get("timeout_header") or facts.TIMEOUT_HEADER),
            public_links=values.switch("public_links", default=False),
            sections=values.switch("sections", default=False),
        )


def _path(value: object) -> str:
    parts = [part for part in str(value or "").split("/") if part]
    return "" if not value else "/" + "/".join(parts)


def _words(value: object) -> list[str]:
    if isinstance(value, str):
        return [word.strip() for word in value.split(",") if word.strip()]
    return [str(word) for word in cast("Sequence[object]", value or ())]


def _texts(given: Mapping[str, object], name: str) -> dict[str, str]:
    value = given.get(name) or {}
    if not isinstance(value, Mapping):
        raise ConfigError(f"option {name} takes keys and values")
    return {str(key): str(text) for key, text in value.items()}


def _transitions(given: Mapping[str, object]) -> dict[str, dict[str, str]]:
    """`{from: {to: transition}}`, added to those of the default life cycle."""
    value = given.get("transitions") or {}
    if not isinstance(value, Mapping) or not all(isinstance(ways, Mapping) for ways in value.values()):
        raise ConfigError("option transitions takes, for each state, the states behind it and their transitions")
    found = {state: dict(ways) for state, ways in facts.TRANSITIONS.items()}
    for state, ways in value.items():
        found.setdefault(str(state), {}).update({str(to): str(name) for to, name in ways.items()})
    return found


def _relations(value: object) -> dict[str, str]:
    """Kinds and their predicates; a kind alone is its own predicate."""
    if isinstance(value, Mapping):
        return {str(kind): str(predicate) for kind, predicate in value.items()}
    return {word: word for word in _words(value)}


def _kinds(given: Mapping[str, object]) -> dict[str, FieldKind]:
    found = _texts(given, "kinds")
    for key, kind in found.items():
        if kind not in KINDS:
            raise ConfigError(f"option kinds takes {', '.join(KINDS)}, not {kind!r} for {key}")
    return {key: FieldKind(kind) for key, kind in found.items()}


def _zone(value: object) -> ZoneInfo:
    try:
        return ZoneInfo(str(value or "UTC"))
    except (ZoneInfoNotFoundError, ValueError):
        raise ConfigError(f"option timezone is no known zone: {value!r}", hint="for example Europe/Paris") from None


def _one_of(given: Mapping[str, object], name: str, allowed: Sequence[str]) -> str:
    value = str(given.get(name) or allowed[0]).capitalize()
    if value not in allowed:
        raise ConfigError(f"option {name} takes {', '.join(allowed)}, not {value!r}")
    return value
