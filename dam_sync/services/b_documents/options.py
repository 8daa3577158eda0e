"""Options and auth methods of service B."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Self
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from dam_sync.config.options import AuthMethod, Options, PasswordAuth, Switch, Words, WordSet
from dam_sync.model.schema import FieldKind
from dam_sync.model.values import Json
from dam_sync.services.b_documents import facts

KINDS = ("date", "html", "long_text", "email", "url", "text")


def _known_kind(kind: Json) -> Json:
    if kind not in KINDS:
        raise ValueError(f"should be {', '.join(KINDS[:-1])} or {KINDS[-1]}")
    return kind


def _path(text: str) -> str:
    return "/" + "/".join(part for part in text.split("/") if part) if text else ""


def _trimmed(path: str) -> str:
    return path.strip("/")


def _with_everyone(groups: frozenset[str]) -> frozenset[str]:
    return groups | {facts.EVERYONE}


class DocumentsOptions(Options):
    """Options of a job for a server of service B."""

    root: Annotated[str, AfterValidator(_path)] = Field(
        "", description="the folder in which the library begins (default the domain's workspaces; / is everything)"
    )
    folder: Annotated[str, AfterValidator(_trimmed)] = Field(
        facts.FOLDER,
        description="the folder, below the root, of assets that the mapping puts in no folder (default dam-sync; / is "
        "the root)",
    )
    type: str = Field(
        "File", description="the document type of new assets if the mapping names no profile (default File)"
    )
    types: Words = Field(
        (), description="the document types that are assets (default all that hold no others and are not hidden)"
    )
    release_field: str = Field("dc:issued", description="the property that holds the release date (default dc:issued)")
    expiry_field: str = Field("dc:expired", description="the property that holds the expiry date (default dc:expired)")
    status_field: str = Field("", description="the property that holds the status, if the life cycle does not")
    states: Mapping[str, str] = Field(
        facts.STATES,
        description="the life cycle state of each status (default published: approved, archived: obsolete, draft: "
        "project)",
    )
    transitions: Mapping[str, Mapping[str, str]] = Field(
        facts.TRANSITIONS,
        description="for each state, the states that can follow it and their transitions, in addition to the default "
        "life cycle",
    )
    groups: WordSet | None = Field(
        None, description="the users and groups that may get the right to read (default: any name is tried)"
    )
    everybody: Annotated[WordSet, AfterValidator(_with_everyone)] = Field(
        frozenset({facts.EVERYONE}),
        description="groups that stand for everybody who can use the tenant, in addition to Everyone (default none)",
    )
    relations: Mapping[str, str] = Field(
        default_factory=dict,
        description="kinds of relation, or kinds and their predicates; reading costs one call per asset and kind",
    )
    kinds: Mapping[str, Annotated[FieldKind, BeforeValidator(_known_kind)]] = Field(
        default_factory=dict,
        description="what a text or date property holds: date, html, long_text, email, url or text",
    )
    timezone: ZoneInfo = Field(
        ZoneInfo("UTC"), description="time zone of `date` properties, for example Europe/Paris (default UTC)"
    )
    increment: Literal["Minor", "Major"] = Field(
        "Minor",
        description="Minor (default) or Major: the kind of version that keeps the old file before a new one is written",
    )
    repository: str = Field("", description="the name of the repository, if the server does not report it")
    public_links: Switch = Field(
        False,
        description="off (default) or on: read the permanent download URLs of files, for redirects, at no call; "
        "the server decides who may open them",
    )
    sections: Switch = Field(
        False,
        description="off (default) or on: read in which sections assets are published; one more call per hundred "
        "assets",
    )
    timeout_header: str = Field(
        facts.TIMEOUT_HEADER,
        description=f"the header for longer transactions (default {facts.TIMEOUT_HEADER})",
    )

    @field_validator("relations", mode="before", json_schema_input_type=str | list[str] | Mapping[str, str])
    @classmethod
    def _own_predicates(cls, value: Json) -> Json:
        """Without a predicate, the kind is its own."""
        if isinstance(value, str):
            value = value.split(",")
        if isinstance(value, list) and all(isinstance(word, str) for word in value):
            return {word.strip(): word.strip() for word in value if word.strip()}
        return value

    @field_validator("states")
    @classmethod
    def _all_states(cls, states: Mapping[str, str]) -> Mapping[str, str]:
        return {**facts.STATES, **states}

    @field_validator("transitions")
    @classmethod
    def _all_transitions(cls, given: Mapping[str, Mapping[str, str]]) -> Mapping[str, Mapping[str, str]]:
        """`{from: {to: transition}}`, added to those of the default life cycle."""
        states = {*facts.TRANSITIONS, *given}
        return {state: {**facts.TRANSITIONS.get(state, {}), **given.get(state, {})} for state in states}

    @property
    def folder_titles(self) -> tuple[str, ...]:
        """The path of the folder for assets without a folder."""
        return tuple(part for part in self.folder.split("/") if part)


_ALGORITHM = "HS256, HS384 or HS512 (default)"
_ISSUER = "`iss` of the signed token (default dam-sync)"
_AUDIENCE = "`aud` of the signed token (default none)"


class DocumentsSignedToken(AuthMethod):
    """A token signed with the key of the server (wire B 1.4)."""

    login: str
    key: str
    algorithm: Literal["HS256", "HS384", "HS512"] = Field("HS512", description=_ALGORITHM)
    issuer: str = Field("dam-sync", description=_ISSUER)
    audience: str = Field("", description=_AUDIENCE)


class DocumentsLoginToken(AuthMethod):
    """A token of the server, or a user and a password with which one is requested."""

    token: str = Field("", description="the token; without it, one is requested with `login` and `password`")
    login: str = Field("", description="user for whom a token is requested")
    password: str = Field("", description="password of that user")
    header: str = Field(facts.TOKEN_HEADER, description=f"header of the token (default {facts.TOKEN_HEADER})")
    application: str = Field("dam-sync", description="application for which the token is requested (default dam-sync)")
    device: str = Field("dam-sync", description="device for which the token is requested (default dam-sync)")

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if not self.token and not (self.login and self.password):
            raise ValueError("token is missing, or login and password")
        return self


class DocumentsOAuth(AuthMethod):
    """OAuth: the consent of a user, a signed token, or client credentials."""

    client_id: str
    client_secret: str = Field("", description="secret of the client; `client_credentials` needs it")
    grant: Literal["", "authorization_code", "refresh_token", "jwt_bearer", "client_credentials"] = Field(
        "",
        description="authorization_code, jwt_bearer or client_credentials (default: the only one that the other "
        "parameters fit)",
    )
    token_url: str = Field("", description="URL of the token server (default `base_url`/oauth2/token)")
    refresh_token: str = Field("", description="refresh token of the user's consent")
    code: str = Field("", description="code of the user's consent, instead of a refresh token")
    redirect_uri: str = Field("", description="URL to which the code was sent")
    code_verifier: str = Field("", description="PKCE verifier with which the code was requested")
    login: str = Field("", description="user in whose name `jwt_bearer` signs")
    key: str = Field("", description="key with which `jwt_bearer` signs")
    algorithm: Literal["HS256", "HS384", "HS512"] = Field("HS512", description=_ALGORITHM)
    issuer: str = Field("dam-sync", description=_ISSUER)
    audience: str = Field("", description=_AUDIENCE)

    @field_validator("grant", mode="before")
    @classmethod
    def _spelt(cls, value: Json) -> Json:
        return value.replace("-", "_") if isinstance(value, str) else value

    @property
    def kind(self) -> str:
        """The configured grant, or the only one that the parameters fit."""
        if self.grant:
            return "authorization_code" if self.grant == "refresh_token" else self.grant
        if self.refresh_token or self.code:
            return "authorization_code"
        return "jwt_bearer" if self.key else "client_credentials"

    @model_validator(mode="after")
    def _complete(self) -> Self:
        needed: dict[str, tuple[str, ...]] = {"jwt_bearer": ("login", "key"), "client_credentials": ("client_secret",)}
        missing = [name for name in needed.get(self.kind, ()) if not getattr(self, name)]
        if self.kind == "authorization_code" and not (self.refresh_token or self.code):
            missing = ["refresh_token (or code)"]
        if missing:
            raise ValueError(f"{' and '.join(missing)} is missing; grant {self.kind} needs it")
        return self


AUTH = {
    "basic": PasswordAuth,
    "token": DocumentsLoginToken,
    "signed_token": DocumentsSignedToken,
    "oauth": DocumentsOAuth,
}
