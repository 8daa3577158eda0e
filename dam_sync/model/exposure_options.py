"""What of the options of a job decides who sees assets at one service, with what its tenant has for them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

SHOWN = 5  # names in one sentence
_PLAIN = re.compile(r"[^\W\d](?:[\w ./@+-]*[\w.+])?")
_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})  # texts that YAML takes for others


@dataclass(frozen=True, slots=True)
class ExposureOption:
    """An option of the target that would let it hide assets, and that the job does not use.

    name; why: what happens without it; what: which value it takes, for a question; candidates: values that the tenant
    has for it, written under `key` if that is not empty; effect: what a value does; otherwise: what to do without a
    candidate.
    """

    name: str
    why: str
    what: str
    effect: str
    candidates: tuple[str, ...] = ()
    key: str = ""
    otherwise: str = ""

    def value(self, candidate: str) -> str | Mapping[str, str]:
        """The value of the option, as in a job file."""
        return {self.key: candidate} if self.key else candidate

    @property
    def remedy(self) -> str:
        """What to write or to do."""
        if not self.candidates:
            return self.otherwise
        one = len(self.candidates) == 1
        line = option_line(self.name, self.value(self.candidates[0] if one else "NAME"))
        text = f"{line} of the target {self.effect}"
        return text if one else f"{text}; NAME is one of {some(self.candidates)}"

    @property
    def hint(self) -> str:
        """The same, and how to say that nothing is to be done."""
        return f"{self.remedy}; {option_line(self.name, self.value(''))} leaves it as it is"


@dataclass(frozen=True, slots=True)
class ExposureOptions:
    """everybody: name of the option for the groups that stand for everybody who can use the tenant, empty if there is
    none; named: the groups that it has. closing: options without which the service cannot hide some or all new assets
    (`Service.closing_option` is about one of them), but for those that the job gives up."""

    everybody: str = ""
    named: frozenset[str] = frozenset()
    closing: tuple[ExposureOption, ...] = ()

    def with_everybody(self, *groups: str) -> str:
        """What to write so that these groups stand for everybody, too."""
        names = sorted({*self.named, *groups})
        return option_line(self.everybody, names[0] if len(names) == 1 else names)


NO_EXPOSURE_OPTIONS = ExposureOptions()


def option_line(name: str, value: str | Iterable[str] | Mapping[str, str]) -> str:
    """``options: {everybody: members}`` in backticks, as it is written in a job file."""
    if isinstance(value, str):
        text = scalar(value)
    elif isinstance(value, Mapping):
        text = f"{{{', '.join(f'{scalar(key)}: {scalar(each)}' for key, each in value.items())}}}"
    else:
        text = f"[{', '.join(map(scalar, value))}]"
    return f"`options: {{{name}: {text}}}`"


def scalar(text: str) -> str:
    """A text in YAML: bare where it stays a text."""
    return text if _PLAIN.fullmatch(text) and text.lower() not in _WORDS else json.dumps(text, ensure_ascii=False)


def some(names: Iterable[str]) -> str:
    """The first of them in order: `public, staff and 3 more`."""
    ordered = sorted(names)
    more = len(ordered) - SHOWN
    return ", ".join(ordered[:SHOWN]) + (f" and {more} more" if more > 0 else "")
