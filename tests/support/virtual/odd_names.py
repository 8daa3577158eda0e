"""A library whose names contain what the product separates names with: many of them are the same once joined."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from dam_sync.model.asset import AssetId
from dam_sync.model.service import Window
from dam_sync.model.values import Json, Term
from tests.conformance.catalogue import SCHEMA, asset
from tests.support.jobs.folder_jobs import InFolder
from tests.support.services.profiles import FOLDER, profile_of
from tests.support.virtual.moves import Move, Simulation
from tests.support.virtual.universe import LAGS

Path: TypeAlias = tuple[str, ...]
SEPARATORS = (
    "/",
    "\\",
    ":",
    ";",
    ",",
    "|",
    " / ",
    " > ",
    "%0A",
    "%25",
    "@",
    "\\/",
    "//",
    "[",
    "{",
    "=",
    '"',
    "'",
    " - ",
)
CONTROLS = ("\t", "\n", "\0", "\r")  # which services do not keep in names
FIRST = 100  # the number of the first term
REMOVE = {"deletes": "trash", "max_deletes": "100%", "grace": "0d"}


@dataclass(frozen=True, slots=True)
class Known:
    """What an asset is in: paths of its terms and folders, and its tags."""

    terms: frozenset[Path]
    folders: frozenset[Path]
    tags: frozenset[str]


def family(words: Sequence[str], separator: str) -> list[Path]:
    """Paths of which the names, joined by the separator, are the same two by two or three by three."""
    one, two, three = words
    return [
        (f"{one}{separator}{two}",),
        (one, two),
        (one, f"{two}{separator}{three}"),
        (f"{one}{separator}{two}", three),
        (one, two, three),
        (f"{one}{separator}{two}{separator}{three}",),
    ]


@dataclass
class OddNames:
    """A library of so many names, drawn by a seed; `catalogue` is what it looks like now. controls: with characters
    that only a folder keeps in names."""

    number: int
    seed: int = 0
    controls: bool = False
    terms: dict[Path, str] = field(default_factory=dict)  # ids
    assets: dict[str, tuple[list[Path], list[Path], list[str]]] = field(default_factory=dict)  # by title

    def __post_init__(self) -> None:
        self._rng = random.Random(f"odd names {self.seed}")
        separators = [*SEPARATORS, *(CONTROLS if self.controls else ())]
        paths = list[Path]()
        while len(paths) < self.number:
            words = [f"{letter}{self._rng.randrange(1_000)}" for letter in "abc"]
            paths += family(words, self._rng.choice(separators))
        paths = paths[: self.number]
        for path in paths:
            self._make(path)
        self._rng.shuffle(paths)
        for number, path in enumerate(paths):
            more = self._rng.choice(paths)
            tags = [self._rng.choice(path), "/".join(more)]
            self.assets[f"Picture {number}"] = ([path, more], [more], tags)

    def _make(self, path: Path) -> None:
        for depth in range(1, len(path) + 1):
            self.terms.setdefault(path[:depth], str(FIRST + len(self.terms)))

    def edit(self) -> None:
        """Some assets get other terms and folders, one that has the same joined text if there is one; some terms get
        another name; some assets are gone."""
        titles, joined = list(self.assets), dict[str, list[Path]]()
        for path in self.terms:
            joined.setdefault("/".join(path), []).append(path)
        for title in titles[::5]:
            (first, *more), _, tags = self.assets[title]
            other = next((path for path in joined["/".join(first)] if path != first), self._rng.choice([*self.terms]))
            self.assets[title] = ([other, *more], [other], tags[:1])
        for path in [path for path in self.terms if len(path) == 1][::7]:
            self._rename(path, (f"{path[0]}{self._rng.choice(SEPARATORS)}new",))
        for title in titles[::9]:
            del self.assets[title]

    def _rename(self, old: Path, new: Path) -> None:
        def renamed(path: Path) -> Path:
            return (*new, *path[1:]) if path[:1] == old else path

        self.terms = {renamed(path): identity for path, identity in self.terms.items()}
        for title, (terms, folders, tags) in self.assets.items():
            self.assets[title] = ([renamed(path) for path in terms], folders, tags)

    def records(self) -> list[Json]:
        """The catalogue of a source."""
        schema = [row for row in SCHEMA if row["record"] not in ("term", "container")]
        return [*schema, *self._terms(), *self._assets()]

    def _terms(self) -> Iterator[Json]:
        for path, identity in self.terms.items():
            parent = {"parent": self.terms[path[:-1]]} if len(path) > 1 else {}
            yield {"record": "term", "vocabulary": "subjects", "id": identity, "labels": {"en": path[-1]}, **parent}

    def _assets(self) -> Iterator[Json]:
        for title, (terms, folders, tags) in self.assets.items():
            number = int(title.partition(" ")[2])
            subject = [{"id": self.terms[path], "label": path[-1]} for path in dict.fromkeys(terms)]
            places = [{"kind": "folder", "path": list(path)} for path in folders]
            more = {"placements": places, "tags": tags, "versions": []}
            yield asset(number, fields={"title": {"texts": {"en": title}}, "subject": subject}, **more)

    def wanted(self) -> dict[str, Known]:
        """What every asset of the target is to be in."""
        return {
            title: Known(frozenset(terms), frozenset(folders), frozenset(tags))
            for title, (terms, folders, tags) in self.assets.items()
        }


@dataclass
class OddSimulation(Simulation):
    """Moves of such a library."""

    names: OddNames = field(default_factory=lambda: OddNames(0))

    def filled(self) -> list[Json]:
        """See `Simulation.filled`."""
        return self.names.records()

    def receiving(self) -> list[Json]:
        """See `Simulation.receiving`."""
        return [row for row in SCHEMA if row["record"] not in ("term", "container")]


def write(move: Move, names: OddNames) -> None:
    """The source is as the names are now."""
    place = InFolder(move.source.folder).path / "data" / "catalogue.jsonl"
    place.write_text("".join(json.dumps(record) + "\n" for record in names.records()), encoding="utf-8")
    move.universe.do(move.universe.clock.sleep(LAGS))


def found(move: Move) -> tuple[dict[str, Known], int]:
    """What every asset of the target is in, by title, and how many assets there are."""
    return move.universe.do(_found(move))


async def _found(move: Move) -> tuple[dict[str, Known], int]:
    prefix = "" if move.target.kind == FOLDER else profile_of(move.target.kind).prefix
    async with move.service("target") as service:
        schema = await service.schema()
        vocabulary = schema.fields[f"{prefix}subject"].vocabulary
        paths = {term.id: tuple(term.path) async for term in service.terms(vocabulary)}
        places = {each.id: each.path async for each in service.containers()}
        assets = [
            await service.fetch(AssetId(entry.id))
            async for shard in service.shards(Window())
            async for batch in service.crawl(shard, None)
            for entry in batch.entries
            if not entry.deleted
        ]
        assets = [each for each in assets if each.status != "trash"]
        return {
            _title(each.fields[f"{prefix}title"]): Known(
                frozenset(paths[term.id] for term in _terms_of(each.fields.get(f"{prefix}subject", ()))),
                frozenset(places.get(place.id, place.path) for place in each.placements if place.kind == "folder"),
                each.tags,
            )
            for each in assets
        }, len(assets)


def _terms_of(value: Any) -> Iterator[Term]:
    yield from value if isinstance(value, tuple) else (value,)


def _title(value: Any) -> str:
    texts: Mapping[str, str] | None = getattr(value, "texts", None)
    return str(value) if texts is None else next(iter(texts.values()))
