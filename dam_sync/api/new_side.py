"""One side of a new job: what its connector needs, from flags, or by asking for what is missing.

A secret is never taken: only the name of the environment variable that holds it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

from pydantic import ValidationError
from ruamel.yaml.error import YAMLError

from dam_sync.config.diagnostics import SourceMap, source_map_of
from dam_sync.config.options import required_of
from dam_sync.config.secrets import REFERENCE, is_secret
from dam_sync.config.side import EXAMPLES, SideCheck
from dam_sync.config.spelling import for_service
from dam_sync.config.syntax import positioned
from dam_sync.model.connector import Connector, usable
from dam_sync.model.diagnostic import nearest
from dam_sync.model.errors import ConfigError
from dam_sync.model.values import Json

Ask: TypeAlias = Callable[[str, str], str]
"""Asks a person a question with a default, and returns what was typed."""
Tell: TypeAlias = Callable[[str], None]
OPTIONS = "options."
TENANT = "https://museum.dam.example"
VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,63}")
NO_SECRET = "write the name of the environment variable that holds it, in capitals, never the secret itself"


@dataclass(frozen=True, slots=True)
class NewSide:
    """What was said about one side. variables: names of environment variables by secret; values: other parameters of
    `auth`; options: of the connector."""

    kind: str = ""
    base_url: str = ""
    tenant_url: str = ""
    flow: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Json] = field(default_factory=dict)

    def keys(self) -> dict[str, Json]:
        """Its section of a job file."""
        made: dict[str, Json] = {"kind": self.kind}
        made |= {key: text for key, text in (("base_url", self.base_url), ("tenant_url", self.tenant_url)) if text}
        if self.flow:
            references = {name: f"${{env:{variable}}}" for name, variable in self.variables.items()}
            made["auth"] = {"flow": self.flow, **self.values, **references}
        return {**made, "options": dict(self.options)} if self.options else made

    @classmethod
    def of(cls, texts: Sequence[str], variables: Sequence[str], role: str) -> NewSide:
        """From `KEY=VALUE` with the keys of a job file: kind, base_url, tenant_url, flow, options.NAME; others are
        parameters of `auth`. variables: `KEY=NAME`. Raises ConfigError."""
        given = pairs_of(texts, f"--{role}")
        named = {key.removeprefix(OPTIONS): given.pop(key) for key in list(given) if key.startswith(OPTIONS)}
        options = {key: option_value(key, text) for key, text in named.items()}
        kind, flow = given.pop("kind", ""), given.pop("flow", "")
        base_url, tenant_url = given.pop("base_url", ""), given.pop("tenant_url", "")
        return cls(kind, base_url, tenant_url, flow, pairs_of(variables, f"--{role}-env"), given, options)


def option_value(key: str, text: str) -> Json:
    """The value of an option: text, or a list or a mapping in the form of YAML. Raises ConfigError."""
    if not text.startswith(("{", "[")):
        return text
    try:
        return for_service(source_map_of(key, positioned(text)).data)
    except (YAMLError, ValueError, RecursionError):
        hint = "write [first, second] or {key: value}, in quotes of the shell"
        raise ConfigError(f"the option {key} is neither a text nor a list or mapping in YAML", hint=hint) from None


def pairs_of(texts: Sequence[str], flag: str) -> dict[str, str]:
    """`KEY=VALUE` by key. Raises ConfigError, which does not repeat the text: it may be a secret."""
    found = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise ConfigError(f"{flag} expects KEY=VALUE", hint=f"write {flag} KEY=VALUE, once for each key")
        found[key.strip()] = value.strip()
    return found


NOTHING = NewSide()


@dataclass(frozen=True, slots=True)
class Question:
    """flag: what stands for it on the command line, after `--source`; empty: whether nothing may be typed; choices:
    what may be answered, each with a line about it, also by its number."""

    text: str
    flag: str = ""
    default: str = ""
    empty: bool = False
    choices: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What is asked for, without examples and choices."""
        return self.text.partition(" (")[0].partition(",")[0]

    def lines(self) -> Iterator[str]:
        """The choices, numbered."""
        for number, (name, about) in enumerate(self.choices.items(), 1):
            yield f"{number:>3}. {name}: {about}" if about else f"{number:>3}. {name}"

    def chosen(self, text: str) -> str:
        """The choice with this number, or what was typed."""
        names = list(self.choices)
        return names[int(text) - 1] if text.isdecimal() and 0 < int(text) <= len(names) else text


@dataclass(slots=True)
class SideQuestions:
    """Completes one side. role: source or target; prefix: begins the names of variables; ask: None if nobody can be
    asked, so that what is missing or wrong is an error; otherwise it is asked again."""

    role: str
    prefix: str
    connectors: Mapping[str, Connector]
    ask: Ask | None
    tell: Tell

    def complete(self, given: NewSide) -> NewSide:
        """The side with everything that its connector needs. Raises ConfigError."""
        about = {name: each.summary for name, each in usable(self.connectors)}
        question = Question(f"kind of the {self.role}", "kind=…", choices=about)
        kind = self._answer(given.kind, question, self._kind)
        connector, side = self.connectors[kind], replace(given, kind=kind)
        self._refuse_options(side, connector)
        side = self._with_urls(side, connector)
        if connector.auth:
            side = self._with_auth(side, connector)
        elif side.flow or side.values or side.variables:
            hint = f"leave out everything but kind, base_url and options.NAME; options: dam-sync help {kind}"
            raise ConfigError(f"{self.role}: {kind} takes no credentials", hint=hint)
        side = self._with_options(side, connector)
        self._refuse_wrong(side)
        return side

    def default_variable(self, name: str) -> str:
        """`MUSEUM_SOURCE_PASSWORD`."""
        return re.sub(r"[^A-Z0-9]+", "_", f"{self.prefix}_{self.role}_{name}".upper()).lstrip("_0123456789")

    def _kind(self, name: str) -> str:
        begun = [kind for kind in self.connectors if kind.startswith(name)]
        if name in self.connectors or len(begun) == 1:
            return name if name in self.connectors else begun[0]
        hint = nearest(name, self.connectors) or f"known: {', '.join(self.connectors)}"
        raise ConfigError(f"{self.role}: there is no kind {name!r}", hint=hint)

    def _refuse_options(self, side: NewSide, connector: Connector) -> None:
        """Raise ConfigError if a parameter of `auth` is one of the options instead."""
        parameters = {name for method in connector.auth.values() for name in method.model_fields}
        for name in (*side.values, *side.variables):
            if name in connector.options.model_fields and name not in parameters:
                hint = f"write --{self.role} options.{name}=…"
                raise ConfigError(f"{self.role}: {name} is an option, not a key of its own", hint=hint)

    def _with_urls(self, side: NewSide, connector: Connector) -> NewSide:
        bare = NewSide(side.kind)

        def base_url(text: str) -> str:
            self._refuse_wrong(replace(bare, base_url=text), "base_url")
            return text

        def tenant_url(text: str) -> str:
            self._refuse_wrong(replace(bare, tenant_url=text), "tenant_url")
            return text

        optional = connector.base_url_optional
        if side.base_url or not optional or (self.ask is not None and not side.options):
            example = EXAMPLES.get(connector.schemes[0], f"{connector.schemes[0]}://…")
            empty = "; empty if an option names it" if optional else ""
            question = Question(f"URL of the {self.role}, for example {example}{empty}", "base_url=…", empty=optional)
            side = replace(side, base_url=self._answer(side.base_url, question, base_url))
        if connector.needs_tenant_url:
            text = f"second URL of the {self.role}, that of its tenant, for example {TENANT}"
            question = Question(text, "tenant_url=…")
            side = replace(side, tenant_url=self._answer(side.tenant_url, question, tenant_url))
        return side

    def _with_auth(self, side: NewSide, connector: Connector) -> NewSide:
        first = next(iter(connector.auth))
        needs = {name: ", ".join(required_of(method)) for name, method in connector.auth.items()}
        question = Question("how to authenticate", "flow=…", first, choices=needs)
        one = first if len(connector.auth) == 1 else ""
        flow = self._answer(side.flow or one, question, partial(self._known, connector.auth, "flow"))
        side, method = replace(side, flow=flow), connector.auth[flow]
        for name in (*side.variables, *side.values):
            self._known(method.model_fields, "parameter", name, "; options are given as options.NAME")
        for name in dict.fromkeys((*required_of(method), *side.variables, *side.values)):
            side = self._with_parameter(side, name)
        while (wrong := _incomplete(side, method)) and self.ask is not None:
            self.tell(f"{flow}: {wrong}")
            names = [name for name in method.model_fields if name not in {*side.variables, *side.values}]
            fields = method.model_fields
            question = Question("parameter to add", choices={name: fields[name].description or "" for name in names})
            side = self._with_parameter(side, self._answer("", question, partial(self._known, names, "parameter")))
        return side

    def _with_parameter(self, side: NewSide, name: str) -> NewSide:
        """The side with this parameter of `auth`: a secret by its variable."""
        if not is_secret(name):
            if name in side.variables:
                return side
            value = self._answer(side.values.get(name, ""), Question(f"{name} of the {self.role}", f"{name}=…"), str)
            return replace(side, values={**side.values, name: value})
        if REFERENCE.fullmatch(side.values.get(name, "")):
            return side
        if name in side.values:
            hint = f"write --{self.role}-env {name}=NAME"
            raise ConfigError(f"{self.role}: {name} is a secret and must not be given; {NO_SECRET}", hint=hint)
        what = f"name of the environment variable that will hold the {name} of the {self.role}"
        question = Question(what, f"{name}=…", self.default_variable(name))
        variable = self._answer(side.variables.get(name, ""), question, partial(self._variable, name))
        return replace(side, variables={**side.variables, name: variable})

    def _variable(self, name: str, text: str) -> str:
        if VARIABLE.fullmatch(text) is None:
            hint = f"{NO_SECRET}, for example {self.default_variable(name)}"
            raise ConfigError(f"{self.role}: this is not the name of a variable for {name}", hint=hint)
        return text

    def _known(self, names: Iterable[str], what: str, text: str, more: str = "") -> str:
        """Texts are not repeated in messages, because one may be a secret."""
        if text not in (known := list(names)):
            hint = f"known: {', '.join(known)}{more}"
            raise ConfigError(f"{self.role}: there is no {what} of this name", hint=hint)
        return text

    def _with_options(self, side: NewSide, connector: Connector) -> NewSide:
        known = {name: each.description or "" for name, each in connector.options.model_fields.items()}
        if self.ask is None or side.options or not known:
            return side
        self.tell(f"options of {connector.name}, all of which may be left out; see dam-sync help {connector.name}:")
        listed = Question("", choices=known)
        for line in listed.lines():
            self.tell(line)
        options: dict[str, Json] = {}
        question = Question(f"option of the {self.role} as KEY=VALUE or NUMBER=VALUE, empty to go on", empty=True)

        def named(text: str) -> dict[str, Json]:
            return {listed.chosen(key): value for key, value in _option(text).items()}

        def check(text: str) -> str:
            self._refuse_wrong(replace(side, options={**options, **named(text)}))
            return text

        while text := self._answer("", question, check):
            options |= named(text)
        return replace(side, options=options)

    def _refuse_wrong(self, side: NewSide, key: str = "") -> None:
        """Raise ConfigError with everything wrong with a side, or with one key, by the checks of a job file."""
        written = SourceMap(self.role, {self.role: side.keys()})
        data = written.data[self.role]
        found = list(SideCheck(written, (self.role,), data, self.connectors).diagnostics())
        if key:
            found = [one for one in found if one.key == f"{self.role}.{key}"]
        if found:
            lines = (f"{one.key}: {one.message}" + (f" ({one.hint})" if one.hint else "") for one in found)
            hint = f"URLs, parameters and options: dam-sync help {side.kind}"
            raise ConfigError("\n".join(lines), hint=hint)

    def _answer(self, given: str, question: Question, check: Callable[[str], str]) -> str:
        """What was given, or what is asked, once `check` accepts it."""
        text = given or self._asked(question)
        while True:
            try:
                return check(text) if text or not question.empty else text
            except ConfigError as error:
                if self.ask is None:
                    raise
                self.tell(f"{error}; {error.hint}" if error.hint else str(error))
                text = self._asked(question)

    def _asked(self, question: Question) -> str:
        if self.ask is None:
            if question.default or question.empty:
                return question.default
            flag = f"--{self.role} {question.flag}"
            known = f" ({', '.join(question.choices)})" if question.choices else ""
            raise ConfigError(f"missing: {question.text}{known}", hint=f"give {flag}, or leave out --non-interactive")
        for line in question.lines():
            self.tell(line)
        while True:
            found = question.chosen(self.ask(question.text, question.default).strip())
            if found or question.empty:
                return found
            self.tell(f"{question.name} is needed")


def _option(text: str) -> dict[str, Json]:
    return {key: option_value(key, value) for key, value in pairs_of([text], "an option").items()}


def variables_of(sides: Sequence[tuple[str, NewSide]]) -> Iterator[tuple[str, str]]:
    """Each variable, and what it is for."""
    for role, side in sides:
        for name, variable in side.variables.items():
            yield variable, f"{name} of the {role}, {side.kind}"


def _incomplete(side: NewSide, method: type[Any]) -> str:
    """What an auth method says is missing of its parameters; empty if nothing."""
    try:
        method.model_validate({**side.values, **dict.fromkeys(side.variables, "set")})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        return str(first["msg"]).removeprefix("Value error, ")
    return ""
