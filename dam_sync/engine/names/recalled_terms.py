"""Terms that earlier runs found at the target, so that a delta does not read whole vocabularies."""

from __future__ import annotations

from collections.abc import Container, Mapping

from dam_sync.engine.context.counterparts import RestoredName
from dam_sync.engine.context.libraries import Target
from dam_sync.engine.context.run_state import RunState
from dam_sync.engine.context.run_task import RunTask
from dam_sync.engine.names.terms import TERMS, TargetTerms
from dam_sync.mapping.crosswalk import Crosswalk
from dam_sync.mapping.vocabulary import normal, recalled_id, recalled_path
from dam_sync.model.counterpart import TERM
from dam_sync.model.run_options import RunOptions
from dam_sync.model.values import Term, term_from_json, value_to_json
from dam_sync.store.note_keys import MET_TERMS, TERM_NAMES, window_key
from dam_sync.store.store import SqlStore


async def terms_of(target: Target, crosswalk: Crosswalk, state: RunState, options: RunOptions) -> TargetTerms:
    """The target's terms, including those that earlier runs found. A full run reads the vocabularies, and so does any
    with another mapping; a closed list is always read, because a guard monitors it."""
    journal, vocabularies = state.store.run_journal(TERMS), tuple(crosswalk.vocabularies)
    if await state.store.get_meta(TERM_NAMES) is None:
        await state.store.respell_terms(TERMS)
    noted = await state.store.get_meta(MET_TERMS)
    full = options.full or (await state.store.get_meta(window_key(state.run.id)) or {}).get("full")
    if not isinstance(noted, dict) or noted.get("mapping") != crosswalk.digest or full:
        return TargetTerms(target.service, journal, vocabularies, shared=target.shared)
    return TargetTerms(
        target.service,
        journal,
        vocabularies,
        _open(target, noted["terms"]),
        shared=target.shared,
    )


def _open(target: Target, noted: Mapping[str, Mapping[str, object]]) -> dict[str, dict[str, Term]]:
    known = target.schema.vocabularies
    return {
        name: unmixed({key: term_from_json(term) for key, term in terms.items()}, target.counterparts.mixed_up)
        for name, terms in noted.items()
        if name in known and not known[name].closed
    }


def unmixed(terms: Mapping[str, Term], mixed_up: Container[tuple[str, str]]) -> dict[str, Term]:
    """Without terms for which an earlier release may have taken another one of the same labels, joined by a slash: they
    are looked for again. mixed_up: by rule and id, those of which that is known."""
    meant: dict[tuple[str, str], set[tuple[str, ...]]] = {}
    for key in terms:
        rule, path = recalled_path(key)
        meant.setdefault((rule, "/".join(path)), set()).add(path)
    return {key: term for key, term in terms.items() if not _is_mixed_up(key, term, meant, mixed_up)}


def _is_mixed_up(
    key: str, term: Term, meant: Mapping[tuple[str, str], set[tuple[str, ...]]], mixed_up: Container[tuple[str, str]]
) -> bool:
    rule, path = recalled_path(key)
    if not path:
        return (rule, recalled_id(key)) in mixed_up
    text, label = "/".join(path), normal(term.label)
    other = label != path[-1] and f"/{text}".endswith(f"/{label}")
    return other or len(meant[rule, text]) > 1


async def keep_terms(crosswalk: Crosswalk, store: SqlStore, task: RunTask, terms: TargetTerms) -> None:
    """Store terms for the next run; not in a dry run, which invents ids."""
    if task.dry or terms.index is None:
        return
    met = {
        name: {key: value_to_json(term) for key, term in found.items()} for name, found in terms.met().items() if found
    }
    await store.set_meta(MET_TERMS, {"mapping": crosswalk.digest, "terms": met})


async def forget_terms(store: SqlStore, back: RestoredName) -> None:
    """The next run looks again for terms that have another name than those stored for it."""
    noted = await store.get_meta(MET_TERMS)
    terms = noted["terms"].get(back.place, {}) if isinstance(noted, dict) and back.part == TERM else {}
    left = {key: term for key, term in terms.items() if term_from_json(term).id not in back.below}
    if left != terms:
        await store.set_meta(MET_TERMS, {**noted, "terms": {**noted["terms"], back.place: left}})
