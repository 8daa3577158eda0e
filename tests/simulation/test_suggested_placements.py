"""Where `map suggest` places the fields of a museum, two archives and a maker of products: tenants with five customs of
naming fields, every one into every other, compared with what each field means.

The meanings were written by hand, see `museum_fields.csv`. `product_fields.csv` was written last: no name was added to
the product for it.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path
from typing import Any

import pytest

from dam_sync.api.emulation.sandbox import Emulated, write_job
from dam_sync.api.mapping_tools.suggest import SuggestedMapping, suggest_mapping
from dam_sync.mapping.suggestion import SuggestedLine
from dam_sync.model.values import Json
from tests.conformance.catalogue import asset
from tests.support.jobs.accepted_exposure import ACCEPTED
from tests.support.libraries.museum import DATA, lines
from tests.support.pairs import EVERYTHING, KINDS
from tests.support.virtual.moves import options_of
from tests.support.virtual.universe import Universe

LABELLED = Path(__file__).parents[1] / "support" / "mapping" / "labelled"
SETS = ("museum", "press", "film", "product")
PAIRS = [(a, b) for at, a in enumerate(KINDS) for b in (KINDS if EVERYTHING else [KINDS[(at + 1) % len(KINDS)]])]
LEAST, SURE = 0.9, 0.5  # of the required fields; the score above which nothing may be wrong
RECORDS, LONGEST = 12, 240
RECORDED = {
    "title": "title",
    "number": "accession_number",
    "artist": "all_artists",
    "made": "date_text",
    "medium": "medium",
    "dimensions": "dimensions",
    "credit": "credit_line",
    "copyright": "copyright",
}
TENANT = (
    {"record": "type", "name": "Photo", "media": ["PICTURE"]},
    {"record": "group", "name": "public"},
    {"record": "profile", "name": "Photo", "type": "Photo", "groups": ["public"], "version_policy": "file_only"},
)


@dataclass
class Placed:
    """What was counted: required fields, those that were placed as they mean, and what was wrong."""

    required: int = 0
    right: int = 0
    others: int = 0
    others_right: int = 0
    missed: list[str] = field(default_factory=list)
    surely_wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        rest = f"{self.others_right} of {self.others} other fields with a counterpart"
        return f"{self.right} of {self.required} required fields placed as they mean, {rest}; {self.missed}"


@pytest.mark.parametrize("name", SETS)
def test_required_fields_go_where_they_mean_and_nothing_is_surely_wrong(
    name: str, record_property: Callable[[str, object], None], tmp_path: Path
) -> None:
    placed, labelled = Placed(), Labelled(name)
    for source, target in PAIRS:
        suggestion = labelled.suggested(tmp_path / f"{source[0]}{target[0]}", source, target)
        labelled.judge(placed, (source, target), suggestion)
    record_property("points tried", str(placed))
    assert placed.surely_wrong == []
    assert placed.right >= LEAST * placed.required, placed.missed


@dataclass
class Labelled:
    """One set of tenants, by its name."""

    name: str

    def suggested(self, folder: Path, source: str, target: str) -> SuggestedMapping:
        folder.mkdir()
        with Universe() as universe:
            sides = []
            for kind, more in ((source, self.library(source)), (target, iter(()))):
                records = [*self.schema(kind), *more]
                sides.append(Emulated(kind, universe.tenant(kind, records, **options_of(kind)).url, {}))
            job = write_job(folder / "job.yaml", "move", *sides, folder / "mapping.yaml", policy=ACCEPTED)
            return universe.do(suggest_mapping(job, universe.options()))

    def judge(self, placed: Placed, kinds: tuple[str, str], found: SuggestedMapping) -> None:
        """Compare each field rule with what the fields mean at source and target."""
        theirs, ours = (self.meanings(kind) for kind in kinds)
        lines = {
            line.target: line for line in found.suggestion.lines if line.block == "fields" and "marker" not in line.more
        }
        read = {key: read_by(line) for key, line in lines.items()}
        for key, line in lines.items():
            if read[key] and line.score > SURE and theirs.get(read[key]) != ours.get(key):
                placed.surely_wrong.append(f"{kinds[0]} {read[key]} to {kinds[1]} {key} by {line.why}")
        for row in self.rows(kinds[1]):
            wanted = {key for key, meaning in theirs.items() if meaning == row["meaning"]}
            right = read.get(row["key"], "") in (wanted or {""})
            if row["required"]:
                placed.required, placed.right = placed.required + 1, placed.right + right
                placed.missed += [] if right else [f"{kinds[0][0]} to {kinds[1][0]}: {row['key']}"]
            elif wanted and row["kind"]:
                placed.others, placed.others_right = placed.others + 1, placed.others_right + right

    def rows(self, kind: str) -> list[dict[str, str]]:
        with (LABELLED / f"{self.name}_fields.csv").open(encoding="utf-8", newline="") as file:
            return [row for row in csv.DictReader(file) if row["tenant"] == kind]

    def meanings(self, kind: str) -> dict[str, str]:
        return {row["key"]: row["meaning"] for row in self.rows(kind)}

    def schema(self, kind: str) -> Iterator[Json]:
        """The tenant's own fields; those without a kind are the service's."""
        yield from TENANT
        for row in self.rows(kind):
            if row["kind"]:
                more = {"multiple": True} if row["multiple"] else {}
                more |= {"required": True} if row["required"] else {}
                more |= {"max_length": LONGEST} if row["kind"] == "text" else {}
                key = row["key"].rpartition(":")[2]
                yield {
                    "record": "field",
                    "key": key,
                    "label": row["label"],
                    "kind": row["kind"],
                    "types": ["Photo"],
                    **more,
                }

    def library(self, kind: str) -> Iterator[Json]:
        """Records in the tenant's fields."""
        own = [row for row in self.rows(kind) if row["kind"] == "text" and not row["multiple"]]
        for number, record in enumerate(islice(self.records(own), RECORDS), 1):
            fields: dict[str, Any] = {
                row["key"].rpartition(":")[2]: record[row["meaning"]][:LONGEST]
                for row in own
                if record.get(row["meaning"])
            }
            yield asset(number, fields=fields, filename=f"record-{number}.jpg")

    def records(self, own: list[dict[str, str]]) -> Iterator[dict[str, str]]:
        """Values by what they mean: real ones of a museum if their data is present, otherwise generated."""
        if self.name == "museum" and (DATA / "tate" / "artworks.jsonl.gz").exists():
            for row in lines("artworks"):
                yield {meaning: str(row[name]) for meaning, name in RECORDED.items() if row.get(name)}
        for number in count(1):
            yield {row["meaning"]: f"{row['meaning']} {number}" for row in own}


def read_by(line: SuggestedLine) -> str:
    """The field that a line reads first; empty if it reads none."""
    path = next((path for path in line.sources if path.startswith("fields.")), "")
    return path.removeprefix("fields.").removesuffix("[]").strip('"')
