"""What becomes of the values of one asset, its files and relations included, as it is recorded with its outcome."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from dam_sync.engine.compare.file_keys import VERSIONS, kept_versions
from dam_sync.engine.context.libraries import Target
from dam_sync.engine.decide.update import fixed_among
from dam_sync.mapping.accounts import count_values
from dam_sync.mapping.crosswalk import Crosswalk, Drafted
from dam_sync.model.account import LOST, READ, TRANSFORMED, WRITTEN, Account, AccountKey, Imbalance, parked_account
from dam_sync.model.asset import Asset, Draft, Loss
from dam_sync.model.capabilities import Operation
from dam_sync.model.errors import InternalError
from dam_sync.model.loss_rules import LossRule
from dam_sync.model.outcome import Outcome
from dam_sync.model.policy import Policy
from dam_sync.model.values import Json

RECOUNT_HINT = "this is a bug in dam-sync; please report it. `run JOB --full` reads and counts every asset again"


def account_of(
    target: Target, policy: Policy, asset: Asset, drafted: Drafted, losses: Sequence[Loss], instead: Mapping[str, Json]
) -> Account:
    """The account of an asset that is at the target, with what its field rules gave. losses: all of them; instead: see
    `LinkRow.kept`."""
    account: Account = Counter(drafted.account)
    for path, number, kept, rule in _parts(target, policy, asset):
        account[AccountKey(path, READ)] += number
        account[AccountKey(path, WRITTEN)] += kept
        account[AccountKey(path, LOST, rule)] += number - kept
    behind = len(instead.get(VERSIONS) or ())
    account[AccountKey(VERSIONS, WRITTEN)] -= behind
    account[AccountKey(VERSIONS, LOST, LossRule.BEHIND)] += behind
    if any(loss.path == "filename" and loss.rule == LossRule.NAME_TAKEN for loss in losses):
        _turn(account, "filename", TRANSFORMED, LossRule.NAME_TAKEN)
    if any(loss.path == "filename" and loss.rule == LossRule.NO_FILE for loss in losses):
        _turn(account, "filename", LOST, LossRule.NO_FILE)
    if "filename" in fixed_among(instead, target.schema):
        _turn(account, "filename", LOST, LossRule.FIXED)
    account.update(AccountKey(rule, given) for rule, given in drafted.filled.items())
    return +account


def bare_names(asset: Asset, draft: Draft, target: Target) -> tuple[Loss, ...]:
    """The file name of an asset without a file, as a loss where the target does not keep it."""
    kept = asset.file is not None or target.service.bare_filename(draft) == draft.filename
    return () if kept else (Loss("filename", LossRule.NO_FILE, draft.filename),)


def with_parked_account(
    target: Target, crosswalk: Crosswalk, policy: Policy, outcome: Outcome, asset: Asset | None
) -> Outcome:
    """The outcome of an asset that is set aside, with its account; any other as it is."""
    if outcome.action != "parked" or asset is None:
        return outcome
    read = count_values(asset, crosswalk.coverage.unread)
    read.update({path: number for path, number, *_ in _parts(target, policy, asset)})
    unmapped = {AccountKey(*key): number for key, number in crosswalk.coverage.unmapped(asset).items()}
    return replace(outcome, account=parked_account(+read, str(outcome.cause), unmapped))


def refuse_imbalance(asset: str, found: Imbalance) -> None:
    """Raises InternalError: a value of this asset is not accounted for."""
    raise InternalError(
        f"values of asset {asset} are not accounted for: {found.path} was read {found.read} times, and the outcomes "
        f"are {found.accounted}",
        asset=asset,
        hint=RECOUNT_HINT,
    )


def _parts(target: Target, policy: Policy, asset: Asset) -> Iterator[tuple[str, int, int, str]]:
    """Path, number, number that the target gets, and why not the others."""
    able = target.service.capabilities
    kept = len(kept_versions(asset, able, policy))
    why = LossRule.NOT_HELD if Operation.REPLACE not in able else f"policy versions: {policy.versions}"
    attached = len(asset.attachments) if Operation.ATTACH in able else 0
    kinds = target.schema.relation_kinds
    related = [each for each in asset.relations if kinds is None or each.kind in kinds]
    yield "versions", len(asset.versions), kept, why
    yield "attachments", len(asset.attachments), attached, LossRule.NOT_HELD
    yield "relations", len(asset.relations), len(related) if Operation.RELATE in able else 0, LossRule.NOT_HELD


def _turn(account: Account, path: str, outcome: str, rule: str) -> None:
    """Values of a path that would be written have another outcome."""
    for key in [key for key in account if key.path == path and key.outcome in (WRITTEN, TRANSFORMED)]:
        account[AccountKey(path, outcome, rule)] += account.pop(key)
