"""Writes the parts of the README that would drift: verbs of the pipe, kinds, abilities, limits, exit codes."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path

from dam_sync.mapping.transforms.registry import VERBS
from dam_sync.model import errors
from dam_sync.model.exposure import MEANINGS, ExposureRule
from dam_sync.model.limits import Limits
from dam_sync.model.service import Connector, Operation
from dam_sync.model.support import Feature, Support
from dam_sync.services import discover

README = Path(__file__).parents[1] / "README.md"
SECTION = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
EXITS = (
    (0, "done, or nothing to do"),
    (1, "failed"),
    (2, "usage, configuration or mapping"),
    (3, "differences found"),
    (4, "done, with parked assets, or with memberships or relations that the target refused"),
    (5, "temporary, or stopped by Ctrl-C: run again"),
    (6, "safety stop"),
    (7, "access denied"),
    (8, "stopped at a limit asked for"),
    (10, "the plan has changes (`plan --detailed-exitcode`)"),
)
ABILITIES = {
    Operation.FIND: "find an asset by our mark",
    Operation.MEMBERS: "memberships are read from the containers",
    Operation.TERMS: "read vocabularies",
    Operation.CONTAINERS: "read containers",
    Operation.CREATE: "create assets",
    Operation.UPDATE: "change assets",
    Operation.REPLACE: "add file versions",
    Operation.REMOVE: "move assets to the trash",
    Operation.ENSURE_TERM: "create terms",
    Operation.ENSURE_CONTAINER: "create containers",
    Operation.PLACE: "place many assets in one call",
    Operation.ATTACH: "hold attachments",
    Operation.RELATE: "hold relations",
    Operation.FORECAST: "forecast its calls",
}

LIMITS: Mapping[str, Callable[[Limits], object]] = {
    "calls a second": lambda limits: limits.pace.per_second or "none documented; learnt from refusals",
    "calls at once": lambda limits: limits.pace.at_once,
    "rows a page": lambda limits: limits.page,
    "hits a query reaches": lambda limits: f"{limits.reach:,}" if limits.reach else "none documented",
    "one upload": lambda limits: _bytes(limits.single_bytes),
    "parts": lambda limits: _parts(limits),
    "largest file": lambda limits: _bytes(limits.largest_bytes),
    "letters in a file name": lambda limits: limits.filename,
    "assets in a membership call": lambda limits: limits.member_batch,
    "index may run behind": lambda limits: f"{limits.lag.total_seconds():.0f} s",
    "may remove a new asset within": lambda limits: (
        f"{s:.0f} s" if (s := limits.dedup_window.total_seconds()) else "no"
    ),
}


def sections() -> dict[str, str]:
    """The generated sections by name, as Markdown."""
    kinds = list(discover().values())
    services = [_settings, _features, _abilities, _limits, _assumed_writes, _not_moved, _leaves]
    parts = [*(part(kinds) for part in services), _exits(), _errors()]
    return {"verbs": _verbs(), "exposure": _exposure(), "reference": "\n".join(parts)}


def refreshed(text: str) -> str:
    """The README with its generated sections made anew."""
    made = sections()
    return SECTION.sub(lambda match: f"{match[1]}{made[match[2]]}{match[3]}", text)


def main() -> None:
    """Rewrite the README in place."""
    README.write_text(refreshed(README.read_text(encoding="utf-8")), encoding="utf-8")
    sys.stdout.write(f"{README.name} is fresh\n")


def _verbs() -> str:
    rows = [(f"`{verb.name}`", verb.summary, f"`{verb.example}`") for verb in VERBS.values()]
    return _table(("Verb of a pipe", "What it does", "Written"), rows)


def _exposure() -> str:
    return _table(("Rule", "The asset is"), [(f"`{rule.value}`", MEANINGS[rule]) for rule in ExposureRule])


def _settings(kinds: Sequence[Connector]) -> str:
    rows = [
        (f"`{kind.name}`", f"`{flow}`", ", ".join(f"`{name}`" for name in needed))
        for kind in kinds
        for flow, needed in kind.flows.items()
    ]
    flows = _table(("Kind", "`auth.flow`", "Needs"), rows)
    options = [(f"`{kind.name}`", f"`{name}`", each.help) for kind in kinds for name, each in kind.settings.items()]
    return f"{flows}\n{_table(('Kind', 'Option', 'Meaning'), options)}"


def _features(kinds: Sequence[Connector]) -> str:
    """What a library holds, and how far each service gives and takes it."""
    ways = [(kind.holds, way, f"`{kind.name}` as {way}") for kind in kinds for way in ("source", "target")]
    rows = [(feature.value, *(_held(holds, feature, way) for holds, way, _ in ways)) for feature in Feature]
    return _table(("A library holds", *(title for _, _, title in ways)), rows)


def _held(holds: Mapping[Feature, Support], feature: Feature, way: str) -> str:
    held = holds.get(feature, Support())
    told = held.read if way == "source" else held.write
    return told or (f"no: {held.why}" if held.why else "no")


def _abilities(kinds: Sequence[Connector]) -> str:
    rows = [(text, *(_mark(operation, kind) for kind in kinds)) for operation, text in ABILITIES.items()]
    return _table(("It can", *(f"`{kind.name}`" for kind in kinds)), rows)


def _mark(operation: Operation, kind: Connector) -> str:
    return "yes" if operation in kind.service.implemented else ""


def _limits(kinds: Sequence[Connector]) -> str:
    rows = [(text, *(str(tell(kind.limits)) for kind in kinds)) for text, tell in LIMITS.items()]
    return _table(("Limit obeyed", *(f"`{kind.name}`" for kind in kinds)), rows)


def _leaves(kinds: Sequence[Connector]) -> str:
    """What is not swept up, for no call finds or ends it."""
    left = [(f"`{kind.name}`", each) for kind in kinds for each in kind.leaves]
    rows = [(name, each.what, _lasts(each.lasts), f"wire {each.where}") for name, each in left]
    return _table(("Kind", "A killed run may leave behind", "For how long", "Source"), rows)


def _assumed_writes(kinds: Sequence[Connector]) -> str:
    rows = [
        (f"`{kind.name}`", str(each.number), each.form, each.verified_by)
        for kind in kinds
        for each in kind.assumed_writes
    ]
    return _table(("Kind", "Assumption", "Written by a form that no document shows", "Verified by"), rows)


def _not_moved(kinds: Sequence[Connector]) -> str:
    rows = [(f"`{kind.name}`", line) for kind in kinds for line in kind.not_moved]
    return _table(("Kind", "Neither read nor written"), rows)


def _lasts(time: timedelta | None) -> str:
    if time is None:
        return "until a person removes it"
    hours = int(time.total_seconds() // 3600)
    return f"{hours // 24} days" if hours > 24 else f"{hours} h"


def _bytes(number: int | None) -> str:
    return "none documented" if number is None else f"{number:,} bytes"


def _parts(limits: Limits) -> str:
    parts = limits.parts
    if parts is None:
        return "none"
    most = f", at most {parts.count:,}" if parts.count else ""
    return f"{parts.preferred:,} bytes{most}, {parts.at_once} at once"


def _exits() -> str:
    return _table(("Exit code", "Meaning"), [(str(code), text) for code, text in EXITS])


def _errors() -> str:
    found = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, errors.DamSyncError)]
    rows = [
        (f"`{each.__name__}`", each.disposition.value, str(each.exit_code), (each.__doc__ or "").split("\n")[0])
        for each in found
    ]
    return _table(("Error", "What the run does", "Exit", "Meaning"), rows)


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


if __name__ == "__main__":
    main()
