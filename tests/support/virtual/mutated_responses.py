"""Responses that no service should give: one value of a JSON body, or one header, is not what it was."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from tests.support.virtual.reply import Reply

Path: TypeAlias = tuple[str | int, ...]
Change: TypeAlias = Callable[[Any, random.Random], Any]

LONG: Final = 300_000  # characters
DIGITS: Final = 10**400
DEEP: Final = 150
NEAR: Final = 2  # keys from the top; half of the changes are no deeper
ADDRESSES: Final = (
    "http://[",
    "https://xn--/",
    "https://dam.example/\x01",
    "http://169.254.169.254/latest",
    "https://" + "x" * 70_000,
    "file:///etc/passwd",
    "//dam.example/x",
    "https://127.0.0.1:99999/",
)
CONTROLS: Final = "\x1b]0;owned\x1b\\\x9b31m\r\nerror: made up\u202e"
DROPPED: Final = type("Dropped", (), {"__deepcopy__": lambda self, memo: self})()

VALUES: Final[Mapping[str, Change]] = {
    "null": lambda old, rng: None,
    "number": lambda old, rng: rng.choice((0, 1, 7, 3.5)),
    "negative": lambda old, rng: -1 if rng.random() < 0.5 else -(10**12),
    "flag": lambda old, rng: rng.random() < 0.5,
    "text": lambda old, rng: rng.choice(("x", "true", "0", " ")),
    "long": lambda old, rng: "long " * (LONG // 5),
    "list": lambda old, rng: ["x", 1],
    "object": lambda old, rng: {"x": 1},
    "empty": lambda old, rng: type(old)() if isinstance(old, str | list | dict) else "",
    "nan": lambda old, rng: rng.choice((float("nan"), float("inf"))),
    "surrogate": lambda old, rng: f"{old if isinstance(old, str) else 'a'}\ud800",
    "nul": lambda old, rng: f"{old if isinstance(old, str) else 'a'}\x00",
    "digits": lambda old, rng: DIGITS if rng.random() < 0.5 else str(DIGITS),
    "doubled": lambda old, rng: old * 2 if isinstance(old, str | list) else [old, copy.deepcopy(old)],
    "nested": lambda old, rng: nested(old),
    "address": lambda old, rng: rng.choice(ADDRESSES),
    "controls": lambda old, rng: f"{old if isinstance(old, str) else 'a'}{CONTROLS}",
    "wrapped": lambda old, rng: [old] if rng.random() < 0.5 else {"value": old},
}
OPS: Final = ("drop", *VALUES)
ABSENT: Final = frozenset({"drop", "null", "empty"})  # the service says that there is nothing
HEADERS: Final = ("location", "etag", "content-range", "retry-after", "date", "link", "content-type", "x-total-count")


@dataclass(frozen=True, slots=True)
class Mutation:
    """What was changed where. kinds: what the old and the new value were, as JSON types; new: the new value."""

    op: str
    path: Path
    kinds: tuple[str, str]
    new: Any = None

    @property
    def is_plain(self) -> bool:
        """Whether it says something a service may say: that there is nothing, another value of the same type, or a
        number, which is read as text where text is documented."""
        return self.op in ABSENT or self.kinds[0] == self.kinds[1] or self.kinds == ("text", "number")

    def __str__(self) -> str:
        return f"{self.op} ({self.kinds[0]} to {self.kinds[1]}) at {'.'.join(map(str, self.path)) or 'the top'}"


def mutated(reply: Reply, op: str, rng: random.Random) -> Mutation | None:
    """Change one value of a JSON response; None if it has none."""
    try:
        data = json.loads(b"".join(reply.blocks))
    except ValueError:
        return None
    if not isinstance(data, dict | list):
        return None
    every = list(paths_of(data, ()))
    near = [path for path in every if len(path) <= NEAR]
    path = rng.choice(near if rng.random() < 0.5 and near else every)
    old = at(data, path)
    new = DROPPED if op == "drop" else VALUES[op](old, rng)
    data = put(data, path, new)
    written(reply, json.dumps(data).encode())
    return Mutation(op, path, (kind_of(old), "nothing" if new is DROPPED else kind_of(new)), new)


def misheaded(reply: Reply, rng: random.Random) -> Mutation | None:
    """Change one header that a client may read; None if there is none of these."""
    found = [n for n, (name, _) in enumerate(reply.headers) if name.decode().lower() in HEADERS]
    if not found:
        return None
    number = rng.choice(found)
    name, old = reply.headers[number]
    new = rng.choice((b"", b"x", b"-1", b"9" * 5000, b"http://[", b"https://xn--/", b"\xff\xfe", old * 2, b"nan"))
    reply.headers[number] = name, new
    return Mutation("header", (name.decode(),), ("text", "text"), new)


def remade(reply: Reply, made: Mutation) -> Mutation | None:
    """The same change of another response to the same call; None if that has no such value."""
    try:
        if made.op == "header":
            names = [name.decode() for name, _ in reply.headers]
            reply.headers[names.index(str(made.path[0]))] = str(made.path[0]).encode(), made.new
            return made
        data = json.loads(b"".join(reply.blocks))
        at(data, made.path)
        written(reply, json.dumps(put(data, made.path, copy.deepcopy(made.new))).encode())
    except (LookupError, TypeError, ValueError):
        return None
    return made


def written(reply: Reply, body: bytes) -> None:
    """The body instead of the old one."""
    reply.blocks = [body]
    reply.headers = [(name, text) for name, text in reply.headers if name.lower() != b"content-length"]
    reply.headers.append((b"content-length", str(len(body)).encode()))


def nested(old: Any) -> Any:
    """A value inside of so many lists or objects."""
    for number in range(DEEP):
        old = [old] if number % 2 else {"x": old}
    return old


def paths_of(data: Any, path: Path) -> Iterator[Path]:
    """Of everything in it, and of itself."""
    yield path
    members: Sequence[tuple[str | int, Any]] = ()
    if isinstance(data, dict):
        members = list(data.items())
    elif isinstance(data, list):
        members = list(enumerate(data))
    for key, value in members:
        yield from paths_of(value, (*path, key))


def at(data: Any, path: Path) -> Any:
    """The value there."""
    for key in path:
        data = data[key]
    return data


def put(data: Any, path: Path, new: Any) -> Any:
    """The data with another value there."""
    if not path:
        return None if new is DROPPED else new
    inside = at(data, path[:-1])
    if new is DROPPED:
        del inside[path[-1]]
    else:
        inside[path[-1]] = new
    return data


def kind_of(value: Any) -> str:
    """Its JSON type."""
    names = {bool: "flag", int: "number", float: "number", str: "text", list: "list", dict: "object"}
    return names.get(type(value), "null")
