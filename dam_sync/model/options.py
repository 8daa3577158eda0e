"""What an option of a service takes, so that a job file is checked with its line before anything is connected."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias
from zoneinfo import ZoneInfo

from dam_sync.model.errors import ConfigError
from dam_sync.model.values import Json

Check: TypeAlias = Callable[[Json], bool]
SWITCH = ("on", "off")


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a kind. help: a line for the reference; takes: what it takes, in words."""

    help: str
    takes: str
    check: Check = field(repr=False)

    def fault(self, value: Json) -> str:
        """What is wrong with this value, without repeating it; empty when nothing is."""
        return "" if self.check(value) else f"should be {self.takes}"


def text(help: str) -> Option:
    """A text, or a number written without quotes."""
    return Option(help, "text", _is_text)


def choice(help: str, *words: str) -> Option:
    """One of these words."""
    return Option(help, _one_of(words), lambda value: isinstance(value, str) and value in words)


def switch(help: str, *more: str) -> Option:
    """On or off, also as true and false, or one of these words."""
    words = (*more, *SWITCH)
    return Option(help, _one_of(words), lambda value: value in words if isinstance(value, str) else _is_flag(value))


def seconds(help: str) -> Option:
    """A number of seconds, 0 or more."""
    return Option(help, "a number of seconds, 0 or more", lambda value: _is_number(value, 0.0))


def count(help: str, least: int = 0) -> Option:
    """A whole number."""
    takes = f"a whole number, {least} or more"
    return Option(help, takes, lambda value: _is_number(value, float(least)) and float(value).is_integer())


def zone(help: str) -> Option:
    """A name of the time zone database."""
    return Option(help, "the name of a time zone, for example Europe/Paris", _is_zone)


def words(help: str) -> Option:
    """Words in one text, separated by commas, or a list of them."""
    return Option(help, "words separated by commas, or a list", _are_words)


def pairs(help: str, takes: str = "keys and values", check: Check | None = None) -> Option:
    """Keys with a text each. check: what else must hold."""
    return Option(help, takes, lambda value: _are_pairs(value) and (check is None or check(value)))


def either(first: Option, second: Option) -> Option:
    """What one or the other takes, with the help of the first."""
    takes = f"{first.takes}, or {second.takes}"
    return Option(first.help, takes, lambda value: first.check(value) or second.check(value))


def _one_of(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"


def _is_flag(value: Json) -> bool:
    return isinstance(value, bool)


def _is_text(value: Json) -> bool:
    return isinstance(value, str) or (isinstance(value, int | float) and not isinstance(value, bool))


def _is_number(value: Json, least: float) -> bool:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return False
    try:
        return least <= float(value) < float("inf")
    except ValueError:
        return False


def _is_zone(value: Json) -> bool:
    if not isinstance(value, str) or not value:
        return False
    try:
        ZoneInfo(value)
    except (OSError, ValueError, KeyError):
        return False
    return True


def _are_words(value: Json) -> bool:
    return isinstance(value, str) or (isinstance(value, Sequence) and all(_is_text(word) for word in value))


def _are_pairs(value: Json) -> bool:
    return isinstance(value, Mapping) and all(_is_text(text) for text in value.values())


@dataclass(frozen=True, slots=True)
class OptionValues:
    """The options of a job, read by name. Every method raises ConfigError that names the option."""

    service: str
    given: Mapping[str, object]

    def text(self, name: str, default: str = "") -> str:
        """A text without surrounding whitespace; the default for an empty one."""
        value = self.given.get(name)
        return str(value if value is not None else "").strip() or default

    def switch(self, name: str, *, default: bool, auto: bool | None = None) -> bool:
        """On or off. auto: what the word `auto` means, where it is allowed."""
        value = self.given.get(name, default)
        if value == "auto" and auto is not None:
            return auto
        if value in (True, "on"):
            return True
        if value in (False, "off"):
            return False
        raise self.error(f"option {name} takes on or off, not {value!r}")

    def choice(self, name: str, words: Sequence[str]) -> str:
        """One of these words, the first of them where none is given."""
        value = str(self.given.get(name) or words[0])
        if value not in words:
            raise self.error(f"option {name} takes {_one_of(words)}, not {value!r}")
        return value

    def number(self, name: str, default: float, takes: str = "a number") -> float:
        """A number, 0 or more."""
        value = self.given.get(name, default)
        if not _is_number(value, 0.0):
            raise self.error(f"option {name} takes {takes}, not {value!r}")
        return float(str(value))

    def seconds(self, name: str, default: float) -> float:
        """A number of seconds, 0 or more."""
        return self.number(name, default, "seconds")

    def words(self, name: str) -> tuple[str, ...]:
        """Words in one text, separated by commas, or a list of them."""
        value = self.given.get(name)
        if isinstance(value, str):
            value = value.split(",")
        words = (str(word).strip() for word in value) if isinstance(value, Sequence) else ()
        return tuple(word for word in words if word)

    def error(self, message: str, hint: str = "") -> ConfigError:
        """An error in the options of this service."""
        return ConfigError(message, service=self.service, hint=hint)


def required(auth: Mapping[str, str], name: str) -> str:
    """A parameter of the auth method. Raises ConfigError where it is missing or empty."""
    value = auth.get(name)
    if not value:
        raise ConfigError(f"auth.{name} is missing")
    return value
