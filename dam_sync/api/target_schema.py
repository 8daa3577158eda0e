"""What the mapping writes and the target does not have yet: fields, terms of lists, groups. `check` names it, so that a
person can make it there first."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import replace

from dam_sync.aio.closing import closing
from dam_sync.api.service_notes import ServiceNote
from dam_sync.mapping import missing
from dam_sync.mapping.crosswalk import Crosswalk
from dam_sync.mapping.document import MappingReading
from dam_sync.mapping.missing import SeekingIndex
from dam_sync.mapping.results import ValueOutcome
from dam_sync.mapping.vocabulary import UNMATCHED, TermIndex, VocabularyRule
from dam_sync.model.capabilities import Operation
from dam_sync.model.errors import ContractBroken, Denied, Rejected, Transient
from dam_sync.model.schema import Schema
from dam_sync.model.service import Service
from dam_sync.model.values import Term
from dam_sync.model.wording import agreed, counted

SUBJECT = "target schema"
MOST_TERMS = 1_000  # of one vocabulary that are compared: each may cost a call
SHOWN = 10
FATES = {
    ValueOutcome.DROPPED: "assets lose them, each as a named loss",
    ValueOutcome.KEPT: "they are written as they are",
}
PARKED = "assets that have them are parked, or as the line says"


def about_missing_fields(reading: MappingReading, source: Schema, target: Schema) -> list[ServiceNote]:
    """One note with every field; each is also a diagnostic with its line."""
    found = missing.missing_fields(reading.document, source, target) if reading.document is not None else []
    if not found:
        return []
    number = counted(len(found), "field that the mapping writes does", "fields that the mapping writes do")
    text = f"{number} not exist at the target: {_named([one.text for one in found])}"
    return [ServiceNote(SUBJECT, text, "make them at the target first, or correct the lines", warns=True)]


def with_given_groups(source: Service, schema: Schema) -> Schema:
    """A source with the groups that its assets can have: one that stands for everybody limits none of them, and is no
    group of any."""
    return schema if schema.groups is None else replace(schema, groups=schema.groups - source.exposure_options().named)


def about_missing_groups(crosswalk: Crosswalk, source: Schema, target: Schema) -> list[ServiceNote]:
    """Where the target lists its groups."""
    found = sorted(missing.missing_groups(crosswalk, source, target))
    if not found:
        return []
    number = counted(len(found), "group that the mapping writes does", "groups that the mapping writes do")
    hint = "make them at the target first, or map `security: groups` to existing ones"
    return [ServiceNote(SUBJECT, f"{number} not exist at the target: {_named(found)}", hint, warns=True)]


async def about_missing_terms(
    crosswalk: Crosswalk, source: tuple[Service, Schema], target: tuple[Service, Schema]
) -> AsyncIterator[ServiceNote]:
    """Terms of lists into which the mapping puts no new ones. Reads the lists that this is about."""
    rules = missing.rules_to_seek(crosswalk)
    if not rules or Operation.TERMS not in target[0].capabilities:
        return
    indexes: dict[str, TermIndex] = {key: TermIndex(open_ended=True) for key in crosswalk.vocabularies}
    seeking = {rule.target: SeekingIndex() for rule in rules if rule.target in target[1].vocabularies}
    for key, index in seeking.items():
        terms = await _terms(target[0], key)
        if isinstance(terms, str):
            yield ServiceNote(SUBJECT, f"{key} of the target {terms}")
            continue
        for term in terms:
            index.add(term)
        indexes[key] = index
    missing.seek(crosswalk, None, None, indexes)
    async for note in _seek_all(crosswalk, *source, indexes):
        yield note
    for rule in rules:
        missed = seeking[rule.target].missed.get(id(rule.ways)) if rule.target in seeking else None
        if missed:
            yield _about(rule, list(missed))


async def _seek_all(
    crosswalk: Crosswalk, source: Service, schema: Schema, indexes: dict[str, TermIndex]
) -> AsyncIterator[ServiceNote]:
    """Look up every term of the source; yields which lists were left out."""
    read: dict[str, Sequence[Term]] = {}
    for known in missing.fields_to_seek(crosswalk, schema) if Operation.TERMS in source.capabilities else ():
        if known.vocabulary not in read:
            terms = await _terms(source, known.vocabulary)
            if isinstance(terms, str):
                yield ServiceNote(SUBJECT, f"{known.vocabulary} of the source {terms}")
            read[known.vocabulary] = () if isinstance(terms, str) else terms
        for term in read[known.vocabulary]:
            missing.seek(crosswalk, known, term, indexes)


async def _terms(service: Service, vocabulary: str) -> list[Term] | str:
    """The terms, or why they are not compared."""
    found: list[Term] = []
    try:
        async with closing(service.terms(vocabulary)) as terms:
            async for term in terms:
                if len(found) >= MOST_TERMS:
                    return f"has more than {MOST_TERMS:,} terms: `map sheet JOB` lists those without a counterpart"
                found.append(term)
    except (ContractBroken, Denied, Rejected, Transient) as error:
        return f"cannot be read: {error}"
    return found


def _about(rule: VocabularyRule, names: list[str]) -> ServiceNote:
    outcome = UNMATCHED.get(rule.unmatched or "", ValueOutcome.FAILED)
    has = agreed(len(names), "has", "have")
    text = f"{counted(len(names), 'term')} {has} no counterpart in {rule.target} of the target: {_named(names)}"
    hint = f"make them there first, or decide them with `map sheet JOB`: otherwise {FATES.get(outcome, PARKED)}"
    return ServiceNote(SUBJECT, text, hint, warns=outcome not in FATES)


def _named(names: Iterable[str]) -> str:
    every = list(names)
    more = f" and {len(every) - SHOWN:,} more" if len(every) > SHOWN else ""
    return f"{', '.join(every[:SHOWN])}{more}"
