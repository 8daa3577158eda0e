"""Options and auth methods of service D."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

from pydantic import Field

from dam_sync.config.options import AuthMethod, Options, Seconds, Switch, WordSet
from dam_sync.services.d_templates import facts
from dam_sync.services.d_templates.codec.forms import NamedAttributes


class TemplatesOptions(Options):
    """What a job says about a tenant of service D."""

    security: str = Field(
        "",
        description="name of the security template of new assets and collections where the mapping names none; without "
        "it, where there are several, each asset needs a group from the mapping and new collections are private",
    )
    everybody: WordSet = Field(
        frozenset(),
        description="security templates that stand for everybody who can use the tenant (default none)",
    )
    restricted_security: str = Field(
        "",
        description="name of a security template that ordinary users do not see: assets that must not be visible get "
        "it",
    )
    relations: Switch = Field(True, description="on (default) or off: one more call per asset that is read")
    release_field: str = Field("", description="search field of the date attribute that holds the release date")
    expiry_field: str = Field("", description="search field of the date attribute that holds the expiry date")
    status_field: str = Field("", description="search field of the dropdown that holds the status")
    tags_field: str = Field("", description="search field of the dropdown with several values that holds the tags")
    collection_template: str = Field(
        "", description="name of the metadata template of new collections (default: the first one)"
    )
    small_uploads: Literal["auto", "session"] = Field(
        "auto",
        description="auto (default: without their size; the first upload shows how they are sent) or session (with "
        "their size, as large ones are; they are completed by a call of their own, which plans then count)",
    )
    index_lag: Seconds = Field(
        facts.LAG.total_seconds(),
        description="seconds that the search index may run behind (default 150); a run waits that long before it says "
        "that an asset is absent, and twice as long before it repeats a create whose response was lost",
    )

    @cached_property
    def named(self) -> NamedAttributes:
        """The attributes with a special meaning."""
        return NamedAttributes(self.release_field, self.expiry_field, self.status_field, self.tags_field)


class TemplatesSession(AuthMethod):
    """A session of the integration user (wire D 1.3)."""

    api_key: str
    username: str
    password: str


class TemplatesOAuth(AuthMethod):
    """OAuth with a refresh token, which may rotate (wire D 1.6)."""

    api_key: str
    client_id: str
    client_secret: str
    refresh_token: str
    token_url: str = Field("", description="URL of the token server (default `base_url`/v2/oauth/token)")


AUTH = {"session": TemplatesSession, "oauth": TemplatesOAuth}
