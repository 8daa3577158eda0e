"""What a person has to say about a new job so that nobody sees more than before, with what both tenants have for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dam_sync.engine.guards.remedies import SHARED, shared_group
from dam_sync.mapping.sample import Sample
from dam_sync.model.exposure_options import ExposureOption, ExposureOptions
from dam_sync.model.schema import Schema
from dam_sync.model.service import Service
from dam_sync.model.values import Json


@dataclass(frozen=True, slots=True)
class OptionQuestion:
    """An option of one side that only a person can decide. values: what is written for each candidate; told: the line
    about it in the list of what to look at next."""

    role: str
    name: str
    text: str
    values: Mapping[str, Json]
    told: str

    def as_json(self) -> dict[str, Json]:
        """For `--json`."""
        values: Json = dict(self.values)
        return {"side": self.role, "option": self.name, "question": self.text, "candidates": values}


def exposure_questions(source: Service, target: Service, schema: Schema, sample: Sample) -> tuple[OptionQuestion, ...]:
    """Those that the job leaves open. schema: of the target; sample: of the source."""
    everybody = _about_everybody(source.exposure_options(), schema, sample)
    closing = (_about_closing(one) for one in target.exposure_options().closing if one.candidates)
    return (*everybody, *closing)


def _about_everybody(source: ExposureOptions, schema: Schema, sample: Sample) -> Iterator[OptionQuestion]:
    """Groups that most assets are limited to, and that the target does not have under the same name."""
    kept = {name.casefold() for name in schema.groups or ()} if "groups" in schema.capabilities.parts else set()
    common = [name for name, many in sample.groups.items() if many > sample.assets * SHARED]
    asked = {name: told for name in common if (told := shared_group(name, sample.groups[name], sample.assets, source))}
    asked = {name: told for name, told in asked.items() if name.casefold() not in kept}
    if asked:
        first = next(iter(asked))
        then = "whose assets everybody at the target then sees"
        text = f"which of these groups has everybody who can use the source, {then} ({', '.join(asked)}; empty: none)"
        values: dict[str, Json] = {name: sorted({*source.named, name}) for name in asked}
        yield OptionQuestion("source", source.everybody, text, values, f"`options` of the source: {asked[first]}")


def _about_closing(one: ExposureOption) -> OptionQuestion:
    text = f"which of these is {one.what} ({', '.join(one.candidates)}; empty: none)"
    values: dict[str, Json] = {name: one.value(name) for name in one.candidates}
    return OptionQuestion("target", one.name, text, values, f"`options` of the target: {one.why}; {one.hint}")
