"""Building blocks for the options and auth methods of connectors: pydantic models, checked together with the job file.

This is the part of `config` that connectors import.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator

from dam_sync.model.values import Json


class Options(BaseModel):
    """Base of the options of a connector. Each field is an option with a default; its description is shown in the help.

    A number in place of text is converted to text; empty text means the default.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, coerce_numbers_to_str=True, str_strip_whitespace=True, hide_input_in_errors=True
    )

    @field_validator("*", mode="before")
    @classmethod
    def _empty_is_default(cls, value: Json, info: ValidationInfo) -> Json:
        if value != "" or info.field_name is None:
            return value
        return cls.model_fields[info.field_name].get_default(call_default_factory=True)


class AuthMethod(BaseModel):
    """Base of an auth method: its parameters. Those without a default are required; their values are never printed."""

    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True, hide_input_in_errors=True)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(***)"

    __str__ = __repr__


class NoOptions(Options):
    """Options of a connector that has none."""


class TokenAuth(AuthMethod):
    """A token that does not expire."""

    token: str


class PasswordAuth(AuthMethod):
    """A user and a password."""

    login: str
    password: str


def _switch(value: Json) -> Json:
    if value in ("on", "off"):
        return value == "on"
    if not isinstance(value, bool):
        raise ValueError("should be on or off")
    return value


def _automatic(value: Json) -> Json:
    if value not in ("auto", "on", "off") and not isinstance(value, bool):
        raise ValueError("should be auto or off")
    return True if value == "auto" else value


def _number(value: Json) -> Json:
    if isinstance(value, bool):
        raise ValueError("should be a number")
    return value


def _words(value: Json) -> Json:
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, list | tuple | set | frozenset):
        raise ValueError("should be words separated by commas, or a list")
    return [word for word in value if not isinstance(word, str) or word.strip()]


_Written: TypeAlias = str | list[str]
Switch: TypeAlias = Annotated[bool, BeforeValidator(_switch, json_schema_input_type=Literal["on", "off"] | bool)]
"""`on` or `off`, also as true and false."""
AutoSwitch: TypeAlias = Annotated[
    bool,
    BeforeValidator(_switch),
    BeforeValidator(_automatic, json_schema_input_type=Literal["auto", "on", "off"] | bool),
]
"""`auto` (which is on) or `off`."""
Seconds: TypeAlias = Annotated[float, Field(ge=0, allow_inf_nan=False), BeforeValidator(_number)]
Count: TypeAlias = Annotated[int, Field(ge=0), BeforeValidator(_number)]
"""A whole number, 0 or more."""
Words: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(_words, json_schema_input_type=_Written)]
"""Words separated by commas in one text, or a list."""
WordSet: TypeAlias = Annotated[frozenset[str], BeforeValidator(_words, json_schema_input_type=_Written)]
"""The same, unordered."""


def required_of(method: type[Any]) -> tuple[str, ...]:
    """The parameters that an auth method needs."""
    return tuple(name for name, field in method.model_fields.items() if field.is_required())
