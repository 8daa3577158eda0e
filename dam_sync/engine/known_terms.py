"""Terms that earlier runs found at the target, so that a delta reads no whole vocabularies."""

from __future__ import annotations

from collections.abc import Mapping

from dam_sync.engine.run_context import RunContext
from dam_sync.engine.taxonomy import TargetTerms
from dam_sync.model.values import Term, term_from_json, value_to_json

MET = "terms met"  # note: by vocabulary of the target, what terms of the source became


async def terms_of(session: RunContext) -> TargetTerms:
    """The target's terms, with what earlier runs found of them. A full run reads the vocabularies, and so does any
    after another mapping; a closed list is always read, for a guard watches what it loses."""
    journal, vocabularies = session.store.run_journal("terms"), tuple(session.crosswalk.vocabularies)
    noted = await session.store.noted(MET)
    full = session.ask.full or (await session.store.noted(f"window:{session.run.id}") or {}).get("full")
    if not isinstance(noted, dict) or noted.get("mapping") != session.crosswalk.digest or full:
        return TargetTerms(session.target, journal, vocabularies)
    return TargetTerms(session.target, journal, vocabularies, _open(session, noted["terms"]))


def _open(session: RunContext, noted: Mapping[str, Mapping[str, object]]) -> dict[str, dict[str, Term]]:
    known = session.target_schema.vocabularies
    return {
        name: {key: term_from_json(term) for key, term in terms.items()}
        for name, terms in noted.items()
        if name in known and not known[name].closed
    }


async def keep_terms(session: RunContext, terms: TargetTerms) -> None:
    """For the next run; a dry one makes up the ids of new terms."""
    if session.dry or terms.index is None:
        return
    met = {
        name: {key: value_to_json(term) for key, term in found.items()} for name, found in terms.met().items() if found
    }
    await session.store.note(MET, {"mapping": session.crosswalk.digest, "terms": met})
