"""All purposes agree: whatever an asset of the target is a mixture of, a removal, a rollback, an update, a repair, a
verification and an adoption say the same of what others changed, and none of them writes over it silently."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dam_sync.engine.compare.differences import Difference
from dam_sync.engine.decide.conflicts import Settlement
from dam_sync.model.asset import Asset, Draft, Patch, Rights
from dam_sync.model.audience import Audience
from dam_sync.model.conflict import EXPOSURE_RULE, ConflictPolicy
from dam_sync.model.exposure import EXPOSURE, is_wider
from tests.support.comparisons import NOW, asset_of
from tests.support.pairs import EVERYTHING
from tests.support.purposes import Purposes
from tests.support.random_states import (
    DATES,
    EVERYBODY,
    OTHERS_FILE,
    SENT,
    STAGING,
    UNRELEASED,
    Atoms,
    State,
    Target,
    foreign_of,
    parts_of,
    plain,
    random_state,
)

SEED = int(os.environ.get("DAM_SYNC_SEED", "1"))
SHARES = 20 if EVERYTHING else 1
STATES = 10_000 if EVERYTHING else 100  # of a share
SETS = ("tags", "placements.category", "placements.folder", "groups")
RIGHTS = (*DATES, "groups")
MASKED = ("status", *RIGHTS)
PARTIAL = ("fields.caption", "fields.words")


@pytest.mark.parametrize("share", range(SHARES))
def test_all_purposes_agree_on_random_states(share: int) -> None:
    for number in range(share * STATES, (share + 1) * STATES):
        chance = Random(f"{SEED} {number}")
        state = random_state(chance, edits=chance.choice([0, 0, 1, 1, 2, 3]))
        found = [*disagreements(state)]
        assert found == [], f"DAM_SYNC_SEED={SEED}, state {number}: {state}"


@given(st.randoms(use_true_random=False), st.integers(0, 3))
def test_all_purposes_agree(chance: Random, edits: int) -> None:
    assert [*disagreements(random_state(chance, edits))] == []


# -- what random states found ------------------------------------------------------------------------------------------

PLAIN = Draft(None, "a.jpg", status="published", fields={"title": "T1"}, rights=Rights(groups=frozenset("g")))


def state_of(*before: Draft, wanted: Draft | None = None, target: Target = Target(), **changes: Any) -> State:  # noqa: B008
    """An asset that is as the last of these drafts, but for changes of others."""
    real = replace(asset_of(before[-1]), **changes)
    return State(target, before, wanted or before[-1], real, real, before[0])


def test_a_rollback_of_interrupted_attempts_leaves_what_others_changed() -> None:
    """Attempts had other values for it, one after the other."""
    second, third = (replace(PLAIN, fields={"title": title}) for title in ("T2", "T3"))
    undo, kept = Purposes(state_of(PLAIN, second, third, fields={"title": "by hand"})).rollback()
    assert (list(kept), dict(undo.patch.fields)) == (["fields.title"], {})


SOON, LATER = NOW + timedelta(days=10), NOW + timedelta(days=20)
DATED = replace(PLAIN, rights=replace(PLAIN.rights, release_at=LATER))


def test_an_asset_is_not_published_by_a_date_that_others_gave_it_while_nobody_saw_it() -> None:
    unseen = replace(DATED, status="draft")
    state = state_of(unseen, wanted=DATED, rights=replace(DATED.rights, release_at=SOON))
    made = Purposes(state).update()
    assert (made.patch.status, made.patch.rights) == ("published", DATED.rights)
    assert [(one.conflict.path, one.by) for one in made.settled] == [("release", EXPOSURE_RULE)]


def test_an_asset_that_others_published_is_opened_to_nobody_more() -> None:
    unseen = replace(PLAIN, status="draft")
    wanted = replace(unseen, rights=Rights(groups=EVERYBODY))
    made = Purposes(state_of(unseen, wanted=wanted, status="published")).update()
    assert (made.patch.status, made.patch.rights) == ("draft", wanted.rights)
    assert [(one.conflict.path, one.by) for one in made.settled] == [("status", EXPOSURE_RULE)]


def test_what_others_opened_and_an_update_opens_no_further_stays() -> None:
    wanted = replace(DATED, fields={"title": "T2"})
    for changes in (
        {"rights": replace(DATED.rights, release_at=SOON)},
        {"rights": replace(DATED.rights, groups=EVERYBODY)},
    ):
        made = Purposes(state_of(DATED, wanted=wanted, **changes)).update()
        assert (made.patch, made.settled) == (Patch(fields={"title": "T2"}), ())


def test_a_release_date_that_a_killed_attempt_took_away_returns_though_the_groups_of_others_stay() -> None:
    """An asset that the attempt hid would stay hidden permanently."""
    meant = replace(DATED, rights=replace(DATED.rights, groups=EVERYBODY))
    hidden = Rights(groups=frozenset("h"), restrictions=UNRELEASED)
    state = state_of(DATED, meant, target=Target(released=True), rights=hidden)
    made = Purposes(state, ConflictPolicy.TARGET).update()
    assert [one.conflict.path for one in made.settled] == ["groups"]
    assert made.patch.rights == Rights(LATER, None, frozenset("h"))


def test_a_repair_writes_the_release_date_that_a_killed_attempt_took_away() -> None:
    """The attempt was about to change another part of the rights. The asset would stay hidden permanently."""
    meant = replace(DATED, rights=replace(DATED.rights, expires_at=LATER + timedelta(days=1)))
    hidden = replace(meant.rights, release_at=None, restrictions=UNRELEASED)
    made = Purposes(state_of(DATED, meant, target=Target(released=True), rights=hidden)).repair()
    assert made.settlement.patch.rights == meant.rights


@pytest.mark.parametrize("staged", [False, True])
def test_readers_that_a_killed_attempt_took_away_return_by_a_repair_though_the_source_went_back(staged: bool) -> None:
    """The release date, or the groups, are away only while the rights of an asset are written."""
    target = Target(released=True, staged=staged)
    draft = replace(PLAIN, rights=replace(PLAIN.rights, release_at=NOW - timedelta(days=3)))
    began = replace(draft, rights=replace(draft.rights, groups=frozenset("gh")))
    hidden = replace(draft.rights, release_at=None, restrictions=UNRELEASED)
    seen = replace(draft.rights, groups=STAGING) if staged else hidden
    repair = Purposes(state_of(draft, began, wanted=draft, target=target, rights=seen)).repair()
    assert (repair.settlement.patch.rights, repair.paths) == (draft.rights, ())


def test_a_conflict_names_what_was_written_last_or_of_a_create_the_newest_intent() -> None:
    """For a create there is no link: the newest intent most likely stands there."""
    second, wanted = (replace(PLAIN, fields={"title": title}) for title in ("T2", "T3"))
    purposes = Purposes(state_of(PLAIN, second, wanted=wanted, fields={"title": "by hand"}))
    for settlement, wrote in ((purposes.update(), "T1"), (purposes.resumed_create(), "T2")):
        assert [(one.conflict.path, one.conflict.written) for one in settlement.open] == [("fields.title", wrote)]


def test_what_others_changed_of_a_begun_create_is_no_conflict_if_it_is_or_was_to_be_hidden() -> None:
    """Hiding does not depend on what others did."""
    wanted = replace(PLAIN, fields={"title": "T2"})
    hidden, hides = replace(PLAIN, closed=True), replace(wanted, closed=True)
    for before, draft, paths in (
        ((PLAIN,), wanted, ["fields.title"]),
        ((PLAIN,), hides, []),
        ((hidden, PLAIN), wanted, []),
    ):
        made = Purposes(state_of(*before, wanted=draft, fields={"title": "by hand"})).resumed_create()
        assert [one.conflict.path for one in made.settled] == paths


# -- random states -----------------------------------------------------------------------------------------------------


def disagreements(state: State) -> Iterator[str]:
    """What any purpose says or does that the others do not."""
    purposes = Purposes(state)
    yield from removal(purposes)
    yield from rollback(purposes)
    yield from verification(purposes)
    yield from updates(purposes, "update", Purposes.update)
    if not masked(state, wanted=True):  # a hidden asset is not compared
        yield from updates(purposes, "resumed create", Purposes.resumed_create)
    yield from repairs(purposes)


# -- what is right -----------------------------------------------------------------------------------------------------


def masked(state: State, *, wanted: bool) -> bool:
    """Whether status and rights are not compared."""
    drafts = (*state.before, state.wanted) if wanted else state.before
    return any(draft.closed for draft in drafts)


def without(found: Mapping[str, frozenset[str]], paths: tuple[str, ...]) -> dict[str, frozenset[str]]:
    return {path: keys for path, keys in found.items() if path not in paths}


def hidden_paths(state: State, *, wanted: bool) -> tuple[str, ...]:
    """Paths that are not compared; the release date of an asset that a killed attempt hid is not known."""
    paths = MASKED if masked(state, wanted=wanted) else ()
    return (*paths, "release") if state.withheld else paths


def has_foreign_file(state: State) -> bool:
    return state.real.versions[-1] == OTHERS_FILE


# -- removal -----------------------------------------------------------------------------------------------------------


def removal(purposes: Purposes) -> Iterator[str]:
    state = purposes.state
    *before, now = parts_of(*state.before, state.real)
    right = {*without(foreign_of(now, before), hidden_paths(state, wanted=False))}
    said = {*purposes.removal()}
    files = said & {"file", "versions"}
    said -= files
    if said != right:
        yield f"removal: {sorted(said)} instead of {sorted(right)}"
    if bool(files) != has_foreign_file(state):
        yield f"removal: {sorted(files)}"


# -- rollback ----------------------------------------------------------------------------------------------------------


def rollback(purposes: Purposes) -> Iterator[str]:
    state = purposes.state
    undo, kept = purposes.rollback()
    *before, then, now = parts_of(*state.before, state.earlier, state.real)
    foreign = foreign_of(now, [*before, then])
    away = MASKED if masked(state, wanted=False) or state.earlier.closed else ()
    away = (*away, "release") if state.withheld else away
    right, said = {*without(foreign, away)}, {path for path in kept if path not in ("file", "versions")}
    if said != right:
        yield f"rollback: keeps {sorted(said)} instead of {sorted(right)}"
    after = plain(state, purposes.after(undo.patch, state.seen))
    *_, there = parts_of(*state.before, state.earlier, state.real, after)
    if any(path in RIGHTS for path in right) or undo.then is None or "status and rights" in str(undo.obstacles):
        away = (*away, *MASKED)
    for path in there.keys() - {*away}:
        want = (
            expected_by_member(path, foreign, now, then) if path in SETS else now[path] if path in right else then[path]
        )
        if path == "placements.folder" and path in right:
            continue  # it is kept as a whole
        if there[path] != want and not (path == "filename" and not state.target.named):
            yield f"rollback: {path} is {there[path]} instead of {want}"


def expected_by_member(
    path: str, foreign: Mapping[str, frozenset[str]], now: Mapping[str, Atoms], then: Mapping[str, Atoms]
) -> Atoms:
    keys = foreign.get(path, frozenset())
    left = {key: token for key, token in now[path].items() if key in keys}
    return {**{key: token for key, token in then[path].items() if key not in keys}, **left}


# -- verification ------------------------------------------------------------------------------------------------------


def verification(purposes: Purposes) -> Iterator[str]:
    state = purposes.state
    said = paths_of(purposes.verification(purposes.wanted, state.seen))
    adopted = paths_of(purposes.adoption(purposes.wanted, state.seen))
    if said != adopted and not state.withheld:
        yield f"adopt: {sorted(adopted)} instead of {sorted(said)}"
    right = differing(state, state.real)
    if state.seen.status != state.real.status and not state.wanted.closed:  # it is on its way
        right |= {"status"}
    if state.withheld:
        right, said = right - {"release", "groups"}, said - {"release", "groups"}
    if said != right:
        yield f"verify: {sorted(said)} instead of {sorted(right)}"


def differing(state: State, real: Asset) -> set[str]:
    wanted, now = parts_of(state.wanted, real)
    away = (*MASKED,) if state.wanted.closed else ()
    return {
        path.partition(".")[0] if path.startswith("placements") else path
        for path in now.keys() - {*away}
        if now[path] != wanted[path]
    }


def paths_of(found: list[Difference]) -> set[str]:
    return {one.path for one in found}


# -- update ------------------------------------------------------------------------------------------------------------


def due(path: str, before: list[dict[str, Atoms]], wanted: Mapping[str, Atoms]) -> bool:
    return any(state[path] != wanted[path] for state in before)


def conflicts_of(state: State) -> set[str]:
    """Paths at which others changed a value that is due."""
    *before, wanted, now = parts_of(*state.before, state.wanted, state.real)
    foreign = without(foreign_of(now, [*before, wanted]), hidden_paths(state, wanted=True))
    found = {path for path in foreign if due(path, before, wanted) and path not in SETS}
    if "placements.folder" in foreign and wanted["placements.folder"] and due("placements.folder", before, wanted):
        found |= {"placements.folder"} if foreign["placements.folder"] & now["placements.folder"].keys() else set()
    if "groups" in foreign and due("groups", before, wanted):
        merged = expected_by_member("groups", foreign, now, wanted)
        found |= {"groups"} if "" in now["groups"] or not merged else set()
    return found | ({"file"} if state.fresh and has_foreign_file(state) else set())


def updates(purposes: Purposes, name: str, ask: Callable[[Purposes], Settlement]) -> Iterator[str]:
    right, made = conflicts_of(purposes.state), ask(purposes)
    said = {one.conflict.path for one in made.open}
    if said != right:
        yield f"{name}: conflicts at {sorted(said)} instead of {sorted(right)}"
    elif not right:
        yield from written(purposes, name, made, right)
    else:
        for policy in (ConflictPolicy.SOURCE, ConflictPolicy.TARGET):
            settled = replace(purposes, policy=policy)
            yield from written(settled, name, ask(settled), right)


def written(purposes: Purposes, name: str, made: Settlement, conflicts: set[str]) -> Iterator[str]:
    """What an update writes, with the conflicts that a policy settled."""
    state, policy = purposes.state, purposes.policy
    if made.open:  # a value of the target that shows it to more people is not kept
        yield from () if policy is ConflictPolicy.TARGET else (f"{name}: open by {policy}",)
        return
    after = sent(purposes, made, purposes.after(made.patch, state.seen))
    *before, wanted, now, there = parts_of(*state.before, state.wanted, state.real, plain(state, after))
    foreign = without(foreign_of(now, [*before, wanted]), hidden_paths(state, wanted=True))
    undone = {one.conflict.path for one in made.settled if one.by == EXPOSURE_RULE}
    stands = foreign.keys() - conflicts - undone if policy is not ConflictPolicy.TARGET else foreign.keys() - undone
    for path in compared_paths(state, there):
        want = now[path] if path in stands else wanted[path]
        if path not in (*conflicts, *undone) and is_set(path, now):
            want = expected_by_member(path, foreign, now, wanted)
        if there[path] != want:
            yield f"{name} by {policy}: {path} is {there[path]} instead of {want}"
    yield from exposed(state, made.patch, after, name)


def sent(purposes: Purposes, made: Settlement, after: Asset) -> Asset:
    """The asset with the new file, which brings its name."""
    state = purposes.state
    kept = has_foreign_file(state) and purposes.policy is ConflictPolicy.TARGET
    if not state.fresh or kept or state.real.versions[-1] == SENT:
        return after
    return replace(after, filename=made.filename or state.wanted.filename, versions=(*after.versions, SENT))


def compared_paths(state: State, parts: Mapping[str, Atoms]) -> list[str]:
    away = {*MASKED} if masked(state, wanted=True) else set[str]()
    away |= {"filename"} if not state.target.named or has_foreign_file(state) else set()
    return sorted(parts.keys() - away)


def is_set(path: str, now: Mapping[str, Atoms]) -> bool:
    return path in SETS and not (path == "groups" and "" in now[path])


def exposed(state: State, patch: Patch, after: Asset, name: str) -> Iterator[str]:
    """Nobody sees it afterwards who neither sees it now, nor is to see it; whom others let in themselves stays."""
    if masked(state, wanted=True):
        yield from closing(state, patch, name)
        return
    if state.withheld:
        return
    then, seen = (audience_of(state, one) for one in (plain(state, after), state.real))
    wanted = state.target.audience(state.wanted)
    *before, want, now = parts_of(*state.before, state.wanted, state.real)
    if "groups" in foreign_of(now, [*before, want]) and then.groups is not None and wanted.groups is not None:
        wanted = replace(wanted, groups=wanted.groups | (seen.groups or frozenset()))
    if is_wider(seen, then, NOW, NOW - NOW) and is_wider(wanted, then, NOW, NOW - NOW):
        yield f"{name}: seen by more people: {then} instead of {wanted}, now {seen}"


def audience_of(state: State, asset: Asset) -> Audience:
    return state.target.audience(replace(state.wanted, status=asset.status, rights=asset.rights))


def closing(state: State, patch: Patch, name: str) -> Iterator[str]:
    """An asset is hidden as soon as a draft says so, and opened with all that decides who sees it."""
    if state.wanted.closed:
        if patch.closed is not True and not all(draft.closed for draft in state.before):
            yield f"{name}: not hidden"
    elif (patch.closed, patch.status, patch.rights) != (False, state.wanted.status, state.wanted.rights):
        yield f"{name}: opened with {patch.status}, {patch.rights}"


# -- repair ------------------------------------------------------------------------------------------------------------


def repairs(purposes: Purposes) -> Iterator[str]:
    state = purposes.state
    right, made = conflicts_of(state), purposes.repair()
    said = {one.conflict.path for one in made.settlement.open}
    if said != right:
        yield f"repair: conflicts at {sorted(said)} instead of {sorted(right)}"
        return
    if right:
        purposes = replace(purposes, policy=ConflictPolicy.SOURCE)
        made = purposes.repair()
    after = purposes.after(made.settlement.patch, state.seen)
    yield from restored(state, after, right, away := any(loss.path == EXPOSURE for loss in made.losses))
    if not masked(state, wanted=True) and not away:
        left = {one.path for one in purposes.verification(purposes.wanted, after) if not one.extra}
        if left - {"filename"} or (left and "filename" in compared_paths(state, {"filename": {}})):
            yield f"verify after a repair: {sorted(left)}"
    yield from exposed(state, made.settlement.patch, after, "repair")


def restored(state: State, after: Asset, conflicts: set[str], closed: bool) -> Iterator[str]:
    """A repair restores every part; what others added to it stays. closed: as it would show it to more people."""
    *before, wanted, now, there = parts_of(*state.before, state.wanted, state.real, plain(state, after))
    foreign = without(foreign_of(now, [*before, wanted]), hidden_paths(state, wanted=True))
    for path in compared_paths(state, there):
        if (path == "groups" and "" in wanted[path]) or (closed and path in MASKED):
            continue  # a repair restores groups by member
        keys = foreign.get(path, frozenset()) - wanted[path].keys()
        single = path not in (*SETS, *PARTIAL) and path in conflicts
        if single or (path == "placements.folder" and wanted[path]):
            keys = frozenset()
        added = {key: token for key, token in now[path].items() if key in keys}
        fits = [{**wanted[path], **added}, *([wanted[path]] if path in PARTIAL else [])]
        if there[path] not in fits:
            yield f"repair: {path} is {there[path]} instead of {fits[0]}"
