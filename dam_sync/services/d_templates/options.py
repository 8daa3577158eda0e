"""Options of a job for this service."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dam_sync.model.options import Option, OptionValues, choice, seconds, switch, text, words
from dam_sync.services.d_templates import facts
from dam_sync.services.d_templates.codec.forms import NamedAttributes

OPTIONS: Mapping[str, Option] = {
    "security": text(
        "name of the security template of new assets and collections where the mapping names none; without it, "
        "where there are several, each asset needs a group from the mapping and new collections are private"
    ),
    "everybody": words("security templates that stand for everybody who can use the tenant (default none)"),
    "restricted_security": text(
        "name of a security template that ordinary users do not see: assets that must not be visible get it"
    ),
    "relations": switch("on (default) or off: one more call per asset that is read"),
    "release_field": text("search field of the date attribute that holds the release date"),
    "expiry_field": text("search field of the date attribute that holds the expiry date"),
    "status_field": text("search field of the dropdown that holds the status"),
    "tags_field": text("search field of the dropdown with several values that holds the tags"),
    "collection_template": text("name of the metadata template of new collections (default: the first one)"),
    "small_uploads": choice(
        "auto (default: without their size; the first upload shows how they are sent) or session (with their "
        "size, as large ones are; they are completed by a call of their own, which plans then count)",
        "auto",
        "session",
    ),
    "api_path": text("path prefix between `base_url` and the endpoints (default /v1)"),
    "index_lag": seconds(
        "seconds that the search index may run behind (default 150); a run waits that long before it says that an "
        "asset is absent"
    ),
}


@dataclass(frozen=True, slots=True)
class TemplatesOptions:
    """The options of one connection, checked as far as possible without a call."""

    named: NamedAttributes = field(default_factory=NamedAttributes)
    security: str = ""
    restricted: str = ""  # the security template of closed assets
    everybody: frozenset[str] = frozenset()  # security templates that stand for all users
    relations: bool = True
    lag: float = facts.LAG.total_seconds()
    prefix: str = "/v1"
    collection_template: str = ""
    sessions: bool = False  # small files get an upload id too

    @classmethod
    def of(cls, given: Mapping[str, object]) -> TemplatesOptions:
        """Raises ConfigError."""
        options = OptionValues(facts.NAME, given)
        prefix = (options.text("api_path") if "api_path" in given else "/v1").strip("/")
        return cls(
            NamedAttributes(*(options.text(f"{name}_field") for name in ("release", "expiry", "status", "tags"))),
            security=options.text("security"),
            restricted=options.text("restricted_security"),
            everybody=frozenset(options.words("everybody")),
            relations=options.switch("relations", default=True),
            lag=options.seconds("index_lag", facts.LAG.total_seconds()),
            prefix=f"/{prefix}" if prefix else "",
            collection_template=options.text("collection_template"),
            sessions=options.choice("small_uploads", ("auto", "session")) == "session",
        )
