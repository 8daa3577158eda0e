"""Terms that earlier runs found at the target, so that a delta does not read whole vocabularies."""

from __future__ import annotations

from collections.abc import Mapping

from dam_sync.engine.run_context import RunContext
from dam_sync.engine.taxonomy import TERMS, TargetTerms
from dam_sync.model.values import Term, term_from_json, value_to_json
from dam_sync.store.note_keys import MET_TERMS, window_key


async def terms_of(context: RunContext) -> TargetTerms:
    """The target's terms, including those that earlier runs found. A full run reads the vocabularies, and so does any
    with another mapping; a closed list is always read, because a guard monitors it."""
    journal, vocabularies = context.store.run_journal(TERMS), tuple(context.crosswalk.vocabularies)
    noted = await context.store.get_meta(MET_TERMS)
    full = context.options.full or (await context.store.get_meta(window_key(context.run.id)) or {}).get("full")
    if not isinstance(noted, dict) or noted.get("mapping") != context.crosswalk.digest or full:
        return TargetTerms(context.target, journal, vocabularies, shared=context.shared)
    return TargetTerms(context.target, journal, vocabularies, _open(context, noted["terms"]), shared=context.shared)


def _open(context: RunContext, noted: Mapping[str, Mapping[str, object]]) -> dict[str, dict[str, Term]]:
    known = context.target_schema.vocabularies
    return {
        name: {key: term_from_json(term) for key, term in terms.items()}
        for name, terms in noted.items()
        if name in known and not known[name].closed
    }


async def keep_terms(context: RunContext, terms: TargetTerms) -> None:
    """Store terms for the next run; not in a dry run, which invents ids."""
    if context.dry or terms.index is None:
        return
    met = {
        name: {key: value_to_json(term) for key, term in found.items()} for name, found in terms.met().items() if found
    }
    await context.store.set_meta(MET_TERMS, {"mapping": context.crosswalk.digest, "terms": met})
