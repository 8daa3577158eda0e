"""Which terms are renamed at the target, which are not, and why."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dam_sync.engine.compare.name_verdict import NotRenamed
from dam_sync.engine.context.counterparts import Counterparts
from dam_sync.engine.names.renamed_terms import TermRenames
from dam_sync.engine.names.source_terms import SourceTerms
from dam_sync.engine.names.terms import TERMS, TargetTerms
from dam_sync.mapping.results import LanguagePreference
from dam_sync.mapping.vocabulary import Matching, VocabularyRule
from dam_sync.model.capabilities import Capabilities, Feature, Operation, Support
from dam_sync.model.clock import SystemClock
from dam_sync.model.conflict import ConflictPolicy, ConflictRules
from dam_sync.model.errors import InvalidValue, Transient
from dam_sync.model.values import Term
from dam_sync.store.store import SqlStore
from tests.support.run_double import run_double
from tests.support.state.shared_engine import SHARED

TOPICS = "topics"
ABLE = Capabilities(
    frozenset({Operation.TERMS, Operation.ENSURE_TERM, Operation.RENAME_TERM}),
    {Feature.RENAMED_TERMS: Support("yes", "yes", "no call does it")},
)
FLAT = VocabularyRule("subject", TOPICS, ways=Matching(("pin", "exact", "casefold", "synonym")), unmatched="create")
TREE = replace(FLAT, ways=replace(FLAT.ways, by_path=True))


@dataclass
class Service:
    """The terms of one vocabulary, by id. fails: raised instead of the next rename."""

    rows: dict[str, Term]
    capabilities: Capabilities = ABLE
    renamed: list[str] = field(default_factory=list)
    fails: Exception | None = None

    async def terms(self, vocabulary: str) -> AsyncIterator[Term]:
        for term in list(self.rows.values()):
            yield term

    async def ensure_terms(self, vocabulary: str, terms: Any) -> tuple[Term, ...]:
        made = [replace(term, id=f"new {term.label}") for term in terms]
        self.rows |= {term.id: term for term in made}
        return tuple(made)

    async def rename_term(self, vocabulary: str, term: Term, renamed: Term) -> Term:
        if self.fails is not None:
            raise self.fails
        self.renamed.append(f"{term.label} > {renamed.label}")
        path = (*term.path[:-1], renamed.label)
        self.rows = {
            key: replace(one, path=(*path, *one.path[len(path) :])) if one.path[: len(path)] == term.path else one
            for key, one in self.rows.items()
        }
        self.rows[term.id] = replace(self.rows[term.id], label=renamed.label)
        return self.rows[term.id]


@dataclass
class Life:
    """A state, and runs that meet terms of the source."""

    store: SqlStore
    target: Service
    source: Service
    policy: ConflictPolicy = ConflictPolicy.PARK
    parts: Mapping[str, ConflictPolicy] = field(default_factory=dict)
    rule: VocabularyRule = FLAT
    run: int = 0
    notes: Mapping[tuple[str, str], int] = field(default_factory=dict)

    async def meets(self, *terms: Term) -> list[str]:
        """What a run writes for these terms: the labels at the target, with ids."""
        self.run += 1
        languages = LanguagePreference()
        context: Any = run_double(
            target=self.target,
            source=self.source,
            store=self.store,
            run=SimpleNamespace(id=self.run),
            policy=SimpleNamespace(conflicts=ConflictRules(self.policy, self.parts)),
            crosswalk=SimpleNamespace(languages=languages, vocabularies={TOPICS: self.rule}),
            repairs=False,
        )
        known = await Counterparts.load(self.store, dry=False)
        service: Any = self.target
        target = TargetTerms(service, self.store.run_journal(TERMS), (TOPICS,))
        source: Any = self.source
        renames = TermRenames(
            context.source,
            context.target,
            context.mapping.crosswalk,
            context.state,
            context.task,
            target,
            SourceTerms(source, {"subject": TOPICS}),
            known,
        )
        target.met_before = renames.call
        told = []
        for term in terms:
            made = self.rule.apply(term, (await target.known())[TOPICS], languages, "vocabulary")
            found = await renames.found(made.new_terms)
            found |= await target.ensure([(key, new) for key, new in made.new_terms if (key, new.path) not in found])
            await renames.keep()
            value: Any = found[TOPICS, made.new_terms[-1][1].path] if made.new_terms else made.values[0]
            told.append(f"{value.id} {value.label}")
        self.notes = known.notes.kept
        return told


@pytest.fixture
async def life(tmp_path: Path) -> AsyncIterator[Life]:
    store = await SqlStore.open(tmp_path / "job.db", SystemClock(), storage=SHARED)
    yield Life(store, Service({"t1": Term("Sea", "t1", ("Sea",))}), Service({}))
    await store.close()


SEA, OCEAN = Term("Sea", "7", ("Sea",)), Term("Ocean", "7", ("Ocean",))


def why(life: Life) -> list[str]:
    return [reason for _, reason in life.notes]


async def test_a_term_that_was_found_or_made_gets_the_new_name(life: Life) -> None:
    wood = Term("Wood", "8", ("Wood",))
    assert await life.meets(SEA, wood) == ["t1 Sea", "new Wood Wood"]
    assert await life.meets(OCEAN, replace(wood, label="Forest", path=("Forest",))) == ["t1 Ocean", "new Wood Forest"]
    assert life.target.renamed == ["Sea > Ocean", "Wood > Forest"]
    assert await life.meets(SEA) == ["t1 Sea"]
    assert (life.target.renamed[2:], why(life)) == (["Ocean > Sea"], [])


async def test_an_asset_that_was_read_before_the_rename_does_not_undo_it(life: Life) -> None:
    await life.meets(SEA)
    assert await life.meets(OCEAN, SEA, OCEAN) == ["t1 Ocean"] * 3
    assert life.target.renamed == ["Sea > Ocean"]


async def test_a_term_without_an_id_is_another_one(life: Life) -> None:
    await life.meets(replace(SEA, id=""))
    assert await life.meets(replace(OCEAN, id="")) == ["new Ocean Ocean"]
    assert life.target.renamed == []


async def test_terms_without_ids_are_not_one_term_with_several_names(life: Life) -> None:
    """Values of a text field that become terms: a first run reported one of them as renamed."""
    await life.meets(replace(SEA, id=""), replace(OCEAN, id=""), Term("Wood"))
    assert (why(life), await life.store.counterparts()) == ([], [])


async def test_one_that_two_terms_lead_to_keeps_its_name(life: Life) -> None:
    await life.meets(SEA, Term("SEA", "8", ("SEA",)))
    assert await life.meets(OCEAN) == ["new Ocean Ocean"]
    assert (life.target.renamed, why(life)) == ([], [NotRenamed.SHARED])
    assert "t1" in life.target.rows


@pytest.mark.parametrize(
    "ways", [Matching(("pin",), pins={"7": "Sea"}), Matching(("pin", "exact"), pins={"Meer": "Sea"})]
)
async def test_one_that_has_a_name_of_its_own_by_the_mapping_keeps_it(life: Life, ways: Matching) -> None:
    life.rule = replace(FLAT, ways=ways)
    assert await life.meets(Term("Meer", "7", ("Meer",))) == ["t1 Sea"]
    await life.meets(OCEAN)
    assert life.target.renamed == []
    assert why(life) == ([] if "7" in ways.pins else [NotRenamed.OTHER_NAME])


async def test_a_changed_mapping_renames_nothing(life: Life) -> None:
    await life.meets(SEA)
    life.rule = replace(FLAT, ways=Matching(("exact",)))
    assert await life.meets(OCEAN) == ["new Ocean Ocean"]
    assert life.target.renamed == []


async def test_the_reason_is_named_where_the_target_cannot(life: Life) -> None:
    await life.meets(SEA)
    life.target.capabilities = ABLE.without(Operation.RENAME_TERM)
    assert await life.meets(OCEAN) == ["new Ocean Ocean"]
    assert why(life) == [f"{NotRenamed.FIXED}: no call does it"]


async def test_a_refused_rename_is_noted_and_a_failed_one_tried_again(life: Life) -> None:
    await life.meets(SEA)
    life.target.fails = Transient("no answer")
    with pytest.raises(Transient):
        await life.meets(OCEAN)
    life.target.fails = InvalidValue("the list is closed")
    assert await life.meets(OCEAN) == ["new Ocean Ocean"]
    assert why(life) == [f"{NotRenamed.REFUSED}: the list is closed"]


async def test_a_term_that_is_missing_at_the_target_is_created_again(life: Life) -> None:
    await life.meets(SEA)
    life.target.rows.clear()
    assert await life.meets(OCEAN) == ["new Ocean Ocean"]
    assert why(life) == []


async def test_one_without_an_id_that_others_renamed_is_not_what_is_made_instead(life: Life) -> None:
    """The assets that have it were changed by others: their drafts still say the former name."""
    life.target.rows = {"Sea": Term("Sea", "Sea", ("Sea",))}
    await life.meets(SEA)
    life.target.rows = {"Meer": Term("Meer", "Meer", ("Meer",))}
    assert await life.meets(OCEAN) == ["new Ocean Ocean"]
    assert [row.former for row in await life.store.counterparts()] == [()]


@pytest.mark.parametrize("default", [ConflictPolicy.SOURCE, ConflictPolicy.TARGET])
async def test_a_term_that_both_renamed_follows_the_policy_of_all_values(life: Life, default: ConflictPolicy) -> None:
    """Terms are in many fields, of which each may have a policy of its own."""
    await life.meets(SEA)
    life.target.rows["t1"] = Term("Meer", "t1", ("Meer",))
    (other,) = {ConflictPolicy.SOURCE, ConflictPolicy.TARGET} - {default}
    life.policy, life.parts = default, {"fields.subject": other, "placements": other}
    await life.meets(OCEAN)
    assert life.target.renamed == (["Meer > Ocean"] if default is ConflictPolicy.SOURCE else [])


async def test_the_old_one_is_named_where_the_new_name_is_taken(life: Life) -> None:
    await life.meets(SEA)
    life.target.rows["t2"] = Term("Ocean", "t2", ("Ocean",))
    assert await life.meets(OCEAN) == ["t2 Ocean"]
    assert (life.target.renamed, why(life)) == ([], [NotRenamed.TAKEN])
    await life.meets(OCEAN)
    assert why(life) == []


NATURE = {"t0": Term("Nature", "t0", ("Nature",)), "t1": Term("Sea", "t1", ("Nature", "Sea"), "t0")}


async def test_a_level_above_is_renamed_once(life: Life) -> None:
    life.rule, life.target.rows = TREE, dict(NATURE)
    sea, lake = (Term(name, f"s{name}", ("Nature", name)) for name in ("Sea", "Lake"))
    await life.meets(sea, lake)
    wild = [replace(term, path=("Wild", term.label)) for term in (sea, lake)]
    life.source.rows = {term.id: term for term in wild}
    assert await life.meets(*wild) == ["t1 Sea", "new Lake Lake"]
    assert (life.target.renamed, why(life)) == (["Nature > Wild"], [])


async def test_a_term_that_went_to_another_parent_is_made_there(life: Life) -> None:
    life.rule, life.target.rows = TREE, dict(NATURE)
    await life.meets(Term("Sea", "7", ("Nature", "Sea")))
    life.source.rows = {"1": Term("Nature", "1", ("Nature",))}
    assert await life.meets(Term("Sea", "7", ("Wild", "Sea"))) == ["new Sea Sea"]
    assert (life.target.renamed, why(life)) == ([], [NotRenamed.MOVED])


async def test_a_term_is_made_below_the_one_that_others_renamed(life: Life) -> None:
    life.rule, life.target.rows = TREE, dict(NATURE)
    await life.meets(Term("Nature", "1", ("Nature",)))
    city = Term("City", "2", ("City",))
    await life.meets(city)
    life.target.rows["t0"] = Term("Wild", "t0", ("Wild",))
    life.target.rows["t1"] = Term("Sea", "t1", ("Wild", "Sea"), "t0")
    town = replace(city, label="Town", path=("Town",))
    sea, lake = (Term(name, f"s{name}", ("Nature", name)) for name in ("Sea", "Lake"))
    assert await life.meets(town, sea, lake) == ["new City Town", "t1 Sea", "new Lake Lake"]
    assert (life.target.renamed, life.target.rows["new Lake"].parent) == (["City > Town"], "t0")
    assert set(life.target.rows) == {"t0", "t1", "new City", "new Lake"}


async def named(life: Life, **names: str) -> None:
    """Others give the terms of Nature/Sea other names, and a run meets them."""
    nature, sea = names.get("nature", "Nature"), names.get("sea", "Sea")
    life.target.rows |= {"t0": Term(nature, "t0", (nature,)), "t1": Term(sea, "t1", (nature, sea), "t0")}
    await life.meets(Term("Nature", "1", ("Nature",)), Term("Sea", "7", ("Nature", "Sea")))


def at_target(life: Life) -> set[str]:
    return {"/".join(term.path) for term in life.target.rows.values()}


@pytest.mark.parametrize("met", [("Sea",), ("Wild", "Sea"), ("Sea", "Lake"), ("Lake",)], ids=" ".join)
async def test_a_name_that_others_gave_a_level_above_is_theirs(life: Life, met: Sequence[str]) -> None:
    """And nothing is made beside it, whatever is below it."""
    life.rule, life.target.rows = TREE, dict(NATURE)
    await named(life)
    await named(life, nature="Theirs")
    wild = [Term("Wild", "1", ("Wild",))] + [
        Term(name, number, ("Wild", name)) for name, number in (("Sea", "7"), ("Lake", "8"))
    ]
    life.source.rows = {term.id: term for term in wild}
    for told in ([NotRenamed.BOTH], [NotRenamed.BOTH] if "Wild" in met else []):
        await life.meets(*[term for term in wild if term.label in met])
        assert (life.target.renamed, why(life)) == ([], told)
        made = {term.id: term.parent for term in life.target.rows.values() if term.id not in NATURE}
        assert made == ({"new Lake": "t0"} if "Lake" in met else {})
    life.policy = ConflictPolicy.SOURCE
    await life.meets(*wild[:2])
    assert life.target.renamed == ["Theirs > Wild"]


async def test_a_level_above_is_renamed_though_others_renamed_the_term(life: Life) -> None:
    life.rule, life.target.rows = TREE, dict(NATURE)
    await named(life)
    await named(life, sea="Theirs")
    wild = Term("Sea", "7", ("Wild", "Sea"))
    life.source.rows = {"7": wild}
    assert await life.meets(wild) == await life.meets(wild) == ["t1 Theirs"]
    assert (at_target(life), why(life)) == ({"Wild", "Wild/Theirs"}, [])


async def test_a_term_is_renamed_below_a_level_that_others_renamed(life: Life) -> None:
    life.rule, life.target.rows = TREE, dict(NATURE)
    await named(life)
    await named(life, nature="Theirs")
    lake = Term("Lake", "7", ("Nature", "Lake"))
    life.source.rows = {"7": lake, "1": Term("Nature", "1", ("Nature",))}
    assert await life.meets(lake) == ["t1 Lake"]
    assert (at_target(life), why(life)) == ({"Theirs", "Theirs/Lake"}, [])


async def test_a_level_above_is_theirs_also_for_a_term_that_was_made_below_it(life: Life) -> None:
    life.rule, life.target.rows = TREE, dict(NATURE)
    await named(life)
    await named(life, nature="Theirs")
    lake = Term("Lake", "8", ("Nature", "Lake"))
    await life.meets(lake)
    life.target.rows["new Lake"] = Term("Lake", "new Lake", ("Theirs", "Lake"), "t0")
    await life.meets(lake)
    lake, nature = replace(lake, path=("Wild", "Lake")), Term("Wild", "1", ("Wild",))
    life.source.rows = {"1": nature, "8": lake}
    await life.meets(lake, nature)
    assert (life.target.renamed, why(life)) == ([], [NotRenamed.BOTH])


@pytest.mark.parametrize("policy", [ConflictPolicy.PARK, ConflictPolicy.TARGET])
async def test_a_level_above_stays_theirs_after_the_term_was_met_without_its_levels(
    life: Life, policy: ConflictPolicy
) -> None:
    """A listing may carry the label alone."""
    life.rule, life.target.rows, life.policy = TREE, dict(NATURE), policy
    sea = Term("Sea", "7", ("Nature", "Sea"))
    await life.meets(Term("Nature", "1", ("Nature",)), sea)
    life.target.rows |= {
        "t0": Term("Theirs", "t0", ("Theirs",)),
        "t1": Term("Their sea", "t1", ("Theirs", "Their sea"), "t0"),
    }
    for now in (sea, replace(sea, path=("Sea",)), Term("Sea", "7", ("Wild", "Sea")), Term("See", "7", ("Wild", "See"))):
        life.source.rows = {"1": Term(now.path[0], "1", now.path[:1]), "7": now}
        assert await life.meets(now) == ["t1 Their sea"]
    assert life.target.renamed == []


async def test_a_term_that_was_met_by_its_label_keeps_the_levels_above_it(life: Life) -> None:
    """A delta reads the label alone: what a later run renames above it, and that it went elsewhere, is still seen."""
    life.rule, life.target.rows = TREE, dict(NATURE)
    nature, sea = Term("Nature", "1", ("Nature",)), Term("Sea", "7", ("Nature", "Sea"))
    await life.meets(nature, sea)
    await life.meets(replace(sea, path=()))
    nature, sea = replace(nature, label="Wild", path=("Wild",)), replace(sea, path=("Wild", "Sea"))
    life.source.rows = {"1": nature, "7": sea}
    assert await life.meets(sea, nature) == ["t1 Sea", "t0 Wild"]
    assert (life.target.renamed, why(life)) == (["Nature > Wild"], [])
    await life.meets(replace(sea, path=()))
    life.source.rows |= {"2": Term("City", "2", ("City",))}
    assert await life.meets(replace(sea, path=("City", "Sea"))) == ["new Sea Sea"]
    assert why(life) == [NotRenamed.MOVED]


async def test_a_new_name_is_seen_where_the_label_alone_was_read(life: Life) -> None:
    life.rule, life.target.rows = TREE, dict(NATURE)
    nature, sea = Term("Nature", "1", ("Nature",)), Term("Sea", "7", ("Nature", "Sea"))
    await life.meets(nature, sea)
    await life.meets(replace(sea, path=()))
    assert await life.meets(replace(sea, label="Ocean", path=("Nature", "Ocean"))) == ["t1 Ocean"]
    assert (life.target.renamed, why(life)) == (["Sea > Ocean"], [])
