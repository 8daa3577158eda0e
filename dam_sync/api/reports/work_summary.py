"""What became of the assets of a run, summed up from the state in one pass. Memory does not grow with the library."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from dam_sync.engine.write.accounts import refuse_imbalance
from dam_sync.http.redaction import redact
from dam_sync.model.account import BY_DEFAULT, DROPPED, EMPTY, FILLED, OUTCOMES, READ, Account, AccountKey, imbalances
from dam_sync.model.loss_rules import ON_PURPOSE, LossRule
from dam_sync.model.parking import Cause, ParkReason
from dam_sync.report.loss_words import in_words, rule_in_words
from dam_sync.report.parts import Collision, Collisions, FieldAccount, FileProblem, LossLine, Omission, Reason
from dam_sync.store.rows import WorkRecord
from dam_sync.store.store import SqlStore

EXAMPLES = 3
COLLISIONS = 100  # shown at most; all are in the CSV file
OF_FILES: Mapping[Cause | None, str] = {
    ParkReason.TOO_LARGE: "too large",
    ParkReason.UNSUPPORTED: "not supported",
}
ALIASES = {"release": "release_at", "expiry": "expires_at"}
"""What losses call some paths of accounts."""
LossKey: TypeAlias = tuple[str, str]
Key = TypeVar("Key", str, LossKey)


@dataclass(slots=True)
class WorkSummary:
    """Sums over completed work items. fields: paths of the metadata fields of the source; read: assets that were read;
    judged: those of them that are not parked, for which the conditions of lines count; omitted: how many have values of
    a field that the mapping leaves out on purpose, by path and reason; losses: assets by path and rule; examples: the
    first of each, with the detail; files: parked assets by what is wrong with their files."""

    fields: Collection[str] = ()
    account: Account = field(default_factory=Counter)
    read: int = 0
    judged: int = 0
    omitted: Counter[LossKey] = field(default_factory=Counter)
    losses: Counter[LossKey] = field(default_factory=Counter)
    examples: dict[LossKey, list[tuple[str, str]]] = field(default_factory=dict)
    renamed: list[Collision] = field(default_factory=list)
    files: Counter[str] = field(default_factory=Counter)
    unfit: dict[str, list[tuple[str, str]]] = field(default_factory=dict)

    @classmethod
    async def of(cls, store: SqlStore, run: int, fields: Collection[str] = ()) -> WorkSummary:
        """Of the completed work items of a run. Raises InternalError if a value of an asset is not accounted for."""
        summary = cls(fields)
        async for record in store.work_records(run):
            summary.add(record)
        return summary

    def add(self, record: WorkRecord) -> None:
        """Add one asset. Raises InternalError if one of its values is not accounted for."""
        for found in imbalances(record.account):
            refuse_imbalance(record.asset, found)
        self.account.update(record.account)
        if record.account:
            self.read += 1
            self.judged += record.action != "parked"
            self.omitted.update({self._omission(key) for key in record.account if _is_on_purpose(key)})
        seen = set[LossKey]()
        for loss in record.losses:
            key = loss["path"], loss["rule"]
            if key not in seen:
                seen.add(key)
                self.losses[key] += 1
                _keep(self.examples, key, record.asset, loss["detail"])
            if loss["rule"] == LossRule.NAME_TAKEN and len(self.renamed) < COLLISIONS:
                self.renamed.append(Collision(record.asset, loss["detail"], record.filename))
        if record.action == "parked" and record.cause in OF_FILES:
            self.files[OF_FILES[record.cause]] += 1
            _keep(self.unfit, OF_FILES[record.cause], record.asset, record.message)

    def without(self, done: WorkSummary) -> WorkSummary:
        """What was added since an earlier summary of the same run."""
        return WorkSummary(
            self.fields,
            self.account - done.account,
            self.read - done.read,
            self.judged - done.judged,
            self.omitted - done.omitted,
            self.losses - done.losses,
            self.examples,
            self.renamed,
            self.files - done.files,
            self.unfit,
        )

    def loss_lines(self, optional: Collection[str] = ()) -> list[LossLine]:
        """The losses, most frequent first, without what is left out on purpose. optional: parts that the target stores
        where an option asks for it."""
        return [
            LossLine(
                path=path,
                rule=rule,
                assets=number,
                text=in_words(path, rule, optional),
                examples=[(asset, redact(detail)) for asset, detail in self.examples[path, rule]],
            )
            for (path, rule), number in sorted(self.losses.items(), key=lambda item: (-item[1], item[0]))
            if rule != LossRule.WHEN or (self._field_of(path), rule) not in self.omitted
        ]

    def omissions(self, samples: Mapping[str, Sequence[str]], labels: Mapping[str, str]) -> list[Omission]:
        """What the mapping leaves out on purpose, most values first. samples, labels: of fields, by path."""
        values: Counter[LossKey] = Counter()
        for key, number in self.account.items():
            if _is_on_purpose(key):
                values[self._omission(key)] += number
        details = {(self._field_of(path), rule): found for (path, rule), found in self.examples.items()}
        return [
            Omission(
                path=path,
                label=labels.get(path, ""),
                rule=rule,
                text=rule_in_words(rule),
                values=number,
                assets=self.omitted[path, rule],
                read=self.judged if rule == LossRule.WHEN else self.read,
                samples=tuple(
                    map(redact, samples.get(path) or dict.fromkeys(text for _, text in details.get((path, rule), ())))
                ),
            )
            for (path, rule), number in sorted(values.items(), key=lambda item: (-item[1], item[0]))
        ]

    def _omission(self, key: AccountKey) -> LossKey:
        return self._field_of(key.path), key.rule

    def _field_of(self, path: str) -> str:
        """The path of the field, or other part, that a value belongs to: without its language."""
        whole = ALIASES.get(path, path.removesuffix("[]"))
        field_alone = whole.rpartition(".")[0].removesuffix("[]")
        return field_alone if whole not in self.fields and field_alone in self.fields else whole

    def field_accounts(self) -> list[FieldAccount]:
        """The account of each path. Raises InternalError if one does not add up."""
        for found in imbalances(self.account):
            refuse_imbalance("", found)
        return list(_accounts(self.account))

    def collisions(self) -> Collisions:
        """File names that are taken at the target."""
        return Collisions(self.losses["filename", LossRule.NAME_TAKEN], tuple(self.renamed))

    def file_problems(self) -> list[FileProblem]:
        """Files that the target does not take."""
        return [FileProblem(name, number, tuple(self.unfit[name])) for name, number in sorted(self.files.items())]

    def given(self, rule: str) -> tuple[int, int, int]:
        """How many assets a rule was applied to, gave a value from the source, and its default."""
        filled, default, empty = (self.account[AccountKey(rule, what)] for what in (FILLED, BY_DEFAULT, EMPTY))
        return filled + default + empty, filled, default


def _is_on_purpose(key: AccountKey) -> bool:
    return key.outcome == DROPPED and key.rule in ON_PURPOSE


def _keep(found: dict[Key, list[tuple[str, str]]], key: Key, asset: str, detail: str) -> None:
    examples = found.setdefault(key, [])
    if len(examples) < EXAMPLES:
        examples.append((asset, detail))


def _accounts(account: Mapping[AccountKey, int]) -> Iterator[FieldAccount]:
    by_path: dict[str, dict[AccountKey, int]] = {}
    for key, number in account.items():
        if key.outcome in OUTCOMES or key.outcome == READ:
            by_path.setdefault(key.path, {})[key] = number
    for path, keys in sorted(by_path.items()):
        sums = Counter[str]()
        for key, number in keys.items():
            sums[key.outcome] += number
        reasons = [Reason(key.outcome, key.rule, number) for key, number in sorted(keys.items()) if key.rule]
        yield FieldAccount(path=path, reasons=tuple(reasons), **sums)
