"""Writes the generated parts of the help topics and of the README: everything there that the code knows better."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from io import StringIO
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console

from dam_sync.api.emulation.demo import Demo, plan_demo
from dam_sync.api.emulation.described import credentials, emulator_options, fault_actions
from dam_sync.config.job_schema import job_schema
from dam_sync.config.options import required_of
from dam_sync.config.secrets import is_secret
from dam_sync.help import topics
from dam_sync.mapping.document import json_schema as mapping_schema
from dam_sync.mapping.transforms.registry import TRANSFORMS
from dam_sync.model import errors
from dam_sync.model.capabilities import Capabilities, Feature, MembershipWrite, Operation, Support
from dam_sync.model.connector import Connector
from dam_sync.model.costs import CostPart
from dam_sync.model.exposure import COMMANDS, LIFTED_FOR, MEANINGS, ExposureRule, Purpose
from dam_sync.model.limits import Limits
from dam_sync.model.parking import (
    OF_MAPPING_RULES,
    ExposureCause,
    KeepsFailing,
    MappingCause,
    OtherCause,
    ParkReason,
)
from dam_sync.model.service import Service
from dam_sync.report.terminal import print_report
from dam_sync.services import built_in
from dam_sync.services.folder.api.records import json_schema

EXAMPLES = {"https": "https://dam.example", "file": "file:///folder"}
ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
TOPICS = Path(__file__).parent / "help"
SECTION = re.compile(r"(<!-- generated: ([\w-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
PICTURE = "plan"  # the one section that takes a plan of the demo, and so seconds
PICTURE_WIDTH, PICTURE_ROWS = 118, 4  # of which a code host and a terminal show all
EXITS = (
    (0, "done, or nothing to do"),
    (1, "failed"),
    (2, "usage, configuration or mapping"),
    (3, "differences found"),
    (4, "done, with parked assets, or with memberships or relations that the target refused"),
    (5, "temporary, or stopped by Ctrl-C: run again"),
    (6, "safety stop"),
    (7, "access denied"),
    (8, "stopped at a limit that was set"),
    (10, "the plan has changes (`plan --detailed-exitcode`)"),
)
RESULTS: Mapping[str, Mapping[int, str]] = {
    "plan": {10: "there are changes, with `--detailed-exitcode`"},
    "run": {4: "assets are parked", 6: "assets are set aside because more people would see them"},
    "rehearse": {
        3: "the verification finds differences",
        4: "assets would be parked",
        6: "assets would be set aside because more people would see them",
    },
    "verify": {3: "there are differences", 5: "of some assets it is too early to say: verify again later"},
    "adopt": {4: "matches are ambiguous, or held back because more people would see them"},
    "conflicts": {4: "conflicts are not decided yet"},
    "explain": {2: "several assets are called so: they are listed"},
    "rollback": {4: "something stays of what the run wrote"},
    "redirects": {3: "new links were asked and cannot be downloaded"},
    "map diff": {3: "assets would change"},
}
"""Exit codes of commands that did what was asked, besides 0 and those of errors. `check` ends with the code of the
error that a run would end with, `demo` with that of its run or its verification, `status` of several jobs with that of
a state that cannot be read."""
ABILITIES = {
    Operation.FIND: "find an asset by its marker",
    Operation.MEMBERS: "read memberships from the containers",
    Operation.COUNTS: "count its assets without listing them",
    Operation.TERMS: "read vocabularies",
    Operation.CONTAINERS: "read containers",
    Operation.CREATE: "create assets",
    Operation.UPDATE: "update assets",
    Operation.REPLACE: "add file versions",
    Operation.RESTORE_VERSION: "make an older file version the current one",
    Operation.REMOVE: "move assets to the trash",
    Operation.RESTORE: "take assets out of the trash",
    Operation.ENSURE_TERM: "create terms",
    Operation.ENSURE_CONTAINER: "create containers",
    Operation.RENAME_TERM: "rename terms",
    Operation.RENAME_CONTAINER: "rename containers",
    Operation.PLACE: "write many memberships in one call",
    Operation.ATTACH: "write attachments",
    Operation.DETACH: "move attachments to the trash",
    Operation.RELATE: "write relations",
    Operation.UNRELATE: "remove relations",
    Operation.PUBLIC_LINKS: "return public links that last",
    Operation.DOWNLOAD_LINK: "return links to files that others can open",
    Operation.SUBSCRIBE: "subscribe to webhooks",
}

COSTED = "estimate its API calls"

LIMITS: Mapping[str, Callable[[Limits], object]] = {
    "API calls per second": lambda limits: limits.pace.per_second or _undocumented(limits.pace.careful),
    "concurrent calls": lambda limits: (
        f"{limits.pace.at_once} at first, up to {limits.pace.most} learned"
        if limits.pace.most_at_once
        else limits.pace.at_once
    ),
    "rows per page": lambda limits: limits.page,
    "hits a query can reach": lambda limits: f"{limits.reach:,}" if limits.reach else "none documented",
    "largest single upload": lambda limits: _bytes(limits.single_bytes),
    "upload parts": lambda limits: _parts(limits),
    "largest file": lambda limits: _bytes(limits.largest_bytes),
    "characters in a file name": lambda limits: limits.filename,
    "an unfinished upload is continued for": lambda limits: _lifetime(limits.lifetimes.upload),
    "a link to a file is used for": lambda limits: _lifetime(limits.lifetimes.link),
    "a cursor of the service is used for": lambda limits: _lifetime(limits.lifetimes.scroll),
    "assets per membership call": lambda limits: limits.member_batch,
    "index lag": lambda limits: f"{limits.lag.total_seconds():.0f} s",
    "may delete a new asset as a duplicate within": lambda limits: (
        f"{s:.0f} s" if (s := limits.dedup_window.total_seconds()) else "never"
    ),
    "an incomplete upload waits for a decision after": lambda limits: (
        f"{s:.0f} s" if (s := limits.queue_window.total_seconds()) else "never"
    ),
}


def sections() -> dict[str, str]:
    """The generated sections by name, as Markdown."""
    kinds = list(built_in().values())
    return {
        "topics": "".join(f"- `{name}`: {summary}\n" for name, summary in topics().items()),
        "transforms": _transforms(),
        "exposure": _exposure(),
        "exposure-purposes": _exposure_purposes(),
        "exit-codes": _exits(),
        "results-of-commands": _table(
            ("Command", "Exit code", "When"),
            [(f"`{name}`", str(code), when) for name, found in RESULTS.items() for code, when in found.items()],
        ),
        "results-of-rehearse": _table(
            ("Exit code", "When"),
            [("0", "every asset would be equal"), *((str(code), when) for code, when in RESULTS["rehearse"].items())],
        ),
        "errors": _errors(),
        "parking-causes": _parking_causes(),
        "parking-rules": _parking_rules(),
        "kinds": _table(("Kind", "What it is"), [(f"`{kind.name}`", kind.summary) for kind in kinds]),
        "as-source": _features(kinds, "source"),
        "as-target": _features(kinds, "target"),
        "operations": _operations(kinds),
        "limits": _limits(kinds),
        "capability-methods": _methods(tuple(Operation)),
        "default-methods": _methods(_methods_with_defaults()),
        "cost-parts": _table(("`CostPart`", "What is counted"), [(f"`{part.name}`", part.value) for part in CostPart]),
        "emulator-faults": _table(
            ("`do`", "What happens"), [(f"`{word}`", text) for word, text in fault_actions().items()]
        ),
        "emulator-credentials": _table(
            ("Kind", "`auth.flow`", "The rest of `auth`", "Options of `emulate`"),
            [
                (f"`{kind}`", f"`{flow}`", f"`{rest}`", f"`{more}`" if more else "")
                for kind, flow, rest, more in credentials()
            ],
        ),
        "emulator-options": _table(
            ("Kind", "Options and their defaults", "Words for `variant`"),
            [(f"`{kind}`", f"`{options}`", variants) for kind, options, variants in emulator_options()],
        ),
        **{kind.name: _service(kind) for kind in kinds},
    }


def documents() -> list[Path]:
    """The files with generated sections."""
    return [README, *sorted(TOPICS.glob("*.md"))]


def refreshed(text: str, made: Mapping[str, str]) -> str:
    """A document with these sections written again; others stay as they are."""
    return SECTION.sub(lambda match: f"{match[1]}{made.get(match[2], match[3])}{match[4]}", text)


async def picture(folder: Path) -> str:
    """What `dam-sync plan` prints of the demo, abridged: without the time, which is of this computer, and of the losses
    those that fit into a line. Takes seconds."""
    out = StringIO()
    plan = dict((await plan_demo(Demo(folder))).as_json())
    plan["headline"] = {**plan["headline"], "text": re.sub(r"about [^;]+, ", "", plan["headline"]["text"])}
    print_report(Console(file=out, width=PICTURE_WIDTH, color_system=None), plan)
    lines = [line.rstrip() for line in re.sub(r"(127\.0\.0\.1):\d+", r"\1", out.getvalue()).splitlines()]
    headline = lines[: lines.index("") + 1]
    losses = [line for line, below in pairwise(lines[lines.index("Losses") :]) if " " not in (line[:1], below[:1])]
    return "\n".join(["```text", *headline, *losses[: PICTURE_ROWS + 2], "…", "```", ""])


def main() -> None:
    """Rewrite all documents in place; a service that has no topic yet gets one."""
    for kind in built_in().values():
        topic = TOPICS / f"{kind.name}.md"
        if not topic.exists():
            summary = f"The service `{kind.name}`: options, what is moved and what is not, limits, assumed writes."
            topic.write_text(f"# {kind.name}\n\n{summary}\n\n<!-- generated: {kind.name} -->\n<!-- end -->\n")
    made = sections()
    with TemporaryDirectory() as folder:
        made[PICTURE] = asyncio.run(picture(Path(folder)))
    schemas = {"catalogue": json_schema(), "job": job_schema(built_in()), "mapping": mapping_schema()}
    for name, schema in schemas.items():
        text = json.dumps(schema, indent=1, ensure_ascii=False) + "\n"
        (TOPICS / f"{name}.schema.json").write_text(text, encoding="utf-8")
    for path in documents():
        path.write_text(refreshed(path.read_text(encoding="utf-8"), made), encoding="utf-8")
    sys.stdout.write("README.md and dam_sync/help are up to date\n")


def _transforms() -> str:
    rows = [(f"`{one.name}`", one.summary, f"`{one.example}`") for one in TRANSFORMS.values()]
    return _table(("Transform", "What it does", "Example"), rows)


def _exposure() -> str:
    rows = [(f"`{rule.value}`", MEANINGS[rule], ", ".join(_purposes(rule))) for rule in ExposureRule]
    return _table(("Rule", "The asset is", "Lifted for"), rows)


def _purposes(rule: ExposureRule) -> list[str]:
    return [purpose.value for purpose in Purpose if purpose in LIFTED_FOR[rule]]


def _exposure_purposes() -> str:
    lifted = {purpose: sum(purpose in LIFTED_FOR[rule] for rule in ExposureRule) for purpose in Purpose}
    rows = [(purpose.value, COMMANDS[purpose], f"{lifted[purpose] or 'none'}") for purpose in Purpose]
    return _table(("Purpose", "Commands", "Rules that can be lifted"), rows)


def _service(kind: Connector) -> str:
    """Everything the code knows about one service."""
    parts = {
        "In a job file": _example(kind),
        "Authentication": _flows(kind),
        "Options": _table(("Option", "Meaning"), _described(kind.options, ())),
        "What is moved": _moved(kind),
        "What is removed": _removed(kind.capabilities),
        "What is not moved": _not_moved(kind),
        "What is not used": _not_used(kind),
        "What a migration causes besides": _side_effects(kind),
        "Limits": _table(
            ("Limit", "Value"), [(name, str(value(kind.capabilities.limits))) for name, value in LIMITS.items()]
        ),
        "Assumed writes": _assumed_writes(kind),
        "What a killed run may leave behind": _orphans(kind),
    }
    return "\n".join(f"## {title}\n\n{text}" for title, text in parts.items() if text)


def _example(kind: Connector) -> str:
    tenant = "  tenant_url: https://tenant.example\n" if kind.needs_tenant_url else ""
    side = f"  kind: {kind.name}\n  base_url: {EXAMPLES.get(kind.schemes[0], '…')}\n{tenant}"
    for flow, method in list(kind.auth.items())[:1]:
        needed = required_of(method)
        auth = [f'{name}: "${{env:{name.upper()}}}"' if is_secret(name) else f"{name}: …" for name in needed]
        side += f"  auth: {{{', '.join([f'flow: {flow}', *auth])}}}\n"
    return f"```yaml\nsource:                  # or target\n{side}```\n"


def _flows(kind: Connector) -> str:
    if not kind.auth:
        return "The service takes no credentials.\n"
    rows = [(f"`{flow}`", ", ".join(f"`{name}`" for name in required_of(method))) for flow, method in kind.auth.items()]
    text = _table(("`auth.flow`", "Required parameters"), rows)
    optional = [
        (f"`{flow}`", *row) for flow, method in kind.auth.items() for row in _described(method, required_of(method))
    ]
    return f"{text}\n{_table(('`auth.flow`', 'Optional parameter', 'Meaning'), optional)}" if optional else text


def _described(model: type[Any], without: Iterable[str]) -> list[tuple[str, str]]:
    """The fields of a model and their descriptions."""
    return [(f"`{name}`", field.description or "") for name, field in model.model_fields.items() if name not in without]


def _moved(kind: Connector) -> str:
    rows = [(feature.value, *(_support(kind, feature, way) for way in ("source", "target"))) for feature in Feature]
    return _table(("A library holds", "As source", "As target"), rows)


def _removed(able: Capabilities) -> str:
    """What a target loses when it left the source."""
    updates = Operation.UPDATE in able
    rows = [("values of fields", updates)]
    rows += [(Feature.TAGS.value, updates)] if able.writes(Feature.TAGS) else []
    rows += [
        (kind.value, updates and able.membership(kind.name.lower()) is not MembershipWrite.AT_CREATION)
        for kind in (Feature.FOLDER, Feature.CATEGORY, Feature.COLLECTION, Feature.SECTION, Feature.LABEL)
        if able.writes(kind)
    ]
    rows += [
        (part.value, operation in able)
        for part, operation in ((Feature.RELATIONS, Operation.UNRELATE), (Feature.ATTACHMENTS, Operation.DETACH))
        if able.writes(part)
    ]
    rows += [("older file versions", False)] if able.writes(Feature.VERSIONS) else []
    intro = (
        "Of an asset that this target was given: what is removed once it left the source. What others added stays. "
        "Where the table says no, it stays too, and the run reports it as a loss, once.\n\n"
    )
    return intro + _table(("Left the source", "Removed"), [(name, "yes" if yes else "no") for name, yes in rows])


def _features(kinds: Sequence[Connector], way: str) -> str:
    """What a library holds, and how far each service supports it in one direction."""
    rows = [(feature.value, *(_support(kind, feature, way) for kind in kinds)) for feature in Feature]
    return _table(("A library holds", *(f"`{kind.name}`" for kind in kinds)), rows)


def _support(kind: Connector, feature: Feature, way: str) -> str:
    support = kind.capabilities.features.get(feature, Support())
    held = support.read if way == "source" else support.write
    return held or (f"no: {support.why}" if support.why else "no")


def _operations(kinds: Sequence[Connector]) -> str:
    rows = [
        (text, *("yes" if operation in kind.capabilities else "" for kind in kinds))
        for operation, text in ABILITIES.items()
    ]
    rows.append((COSTED, *("" if kind.capabilities.costs is None else "yes" for kind in kinds)))
    return _table(("It can", *(f"`{kind.name}`" for kind in kinds)), rows)


def _limits(kinds: Sequence[Connector]) -> str:
    rows = [(text, *(str(value(kind.capabilities.limits)) for kind in kinds)) for text, value in LIMITS.items()]
    return _table(("Limit", *(f"`{kind.name}`" for kind in kinds)), rows)


def _methods_with_defaults() -> list[str]:
    """Methods of `Service` that a connector may override and that declare no capability."""
    names = (name for name, method in vars(Service).items() if inspect.isfunction(method) and name[0] != "_")
    return [name for name in names if name not in {*Service.__abstractmethods__, *Operation, "remove_capabilities"}]


def _methods(names: Iterable[str]) -> str:
    """Methods of `Service` by name, with the contract that their docstrings state."""
    rows = []
    for name in names:
        method = getattr(Service, name)
        parameters = [one for one in inspect.signature(method).parameters if one != "self"]
        rows.append((f"`{name}({', '.join(parameters)})`", " ".join((method.__doc__ or "").split())))
    return _table(("Method", "Contract"), rows)


def _orphans(kind: Connector) -> str:
    """Leftovers that no call finds or ends."""
    rows = [(each.what, _lasts(each.lasts), f"wire {each.where}") for each in kind.leaves]
    intro = "No call finds or ends these; the next run cleans up everything else.\n\n"
    return intro + _table(("What", "For how long", "Source"), rows) if rows else ""


def _not_moved(kind: Connector) -> str:
    """What `inspect` shows of each service, here without numbers."""
    ways = {"both": "source and target"}
    rows = [
        (one.what, ways.get(one.way, one.way), one.why, one.where, "yes" if one.counted else "")
        for one in kind.not_moved
    ]
    intro = "`dam-sync inspect JOB` lists these, with numbers where a cheap call counts them.\n\n"
    return intro + _table(("What", "As", "Why", "Documented in", "Counted"), rows) if rows else ""


def _not_used(kind: Connector) -> str:
    rows = [(one.what, one.why, one.where) for one in kind.not_used]
    intro = "Parts of the API; `dam-sync inspect JOB` lists these, too.\n\n"
    return intro + _table(("What", "Why", "Documented in"), rows) if rows else ""


def _side_effects(kind: Connector) -> str:
    rows = [(one.what, one.way, one.advice, one.where) for one in kind.side_effects]
    intro = "`check`, `inspect` and `plan` say this, and a `rollback` that moves assets to the trash.\n\n"
    return intro + _table(("What", "As", "What to do", "Documented in"), rows) if rows else ""


def _assumed_writes(kind: Connector) -> str:
    rows = [(str(each.number), each.form, each.verified_by) for each in kind.assumed_writes]
    intro = (
        "Requests that write in a form no document shows. The numbers are those of "
        f"`dam-sync emulate {kind.name} --assumptions`.\n\n"
    )
    return intro + _table(("Assumption", "Request", "Verified by"), rows) if rows else ""


def _undocumented(careful: float | None) -> str:
    kept = "learned from refusals" if careful is None else f"{careful:g} unless the job sets `calls_per_second`"
    return f"none documented; {kept}"


def _lasts(time: timedelta | None) -> str:
    if time is None:
        return "until a person removes it"
    hours = int(time.total_seconds() // 3600)
    return f"{hours // 24} days" if hours > 24 else f"{hours} h"


def _lifetime(time: timedelta | None) -> str:
    """As `_lasts`, for what may also last minutes or seconds."""
    if time is None:
        return "none documented"
    seconds = int(time.total_seconds())
    return _lasts(time) if seconds % 3600 == 0 else f"{seconds // 60} min" if seconds > 60 else f"{seconds} s"


def _bytes(number: int | None) -> str:
    return "none documented" if number is None else f"{number:,} bytes"


def _parts(limits: Limits) -> str:
    parts = limits.parts
    if parts is None:
        return "none"
    most = f", at most {parts.count:,}" if parts.count else ""
    return f"{parts.preferred:,} bytes{most}, {parts.at_once} at a time"


def _exits() -> str:
    return _table(("Exit code", "Meaning"), [(str(code), text) for code, text in EXITS])


def _errors() -> str:
    found = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, errors.DamSyncError)]
    rows = [
        (f"`{each.__name__}`", each.disposition.value, str(each.exit_code), (each.__doc__ or "").split("\n")[0])
        for each in found
    ]
    return _table(("Error", "What the run does", "Exit code", "Meaning"), rows)


def _parking_causes() -> str:
    given = (
        ("`mapping LINE: RULE`", MappingCause),
        ("`exposure: RULES`", ExposureCause),
        ("`keeps failing: CAUSE`", KeepsFailing),
        ("any other", OtherCause),
    )
    rows = [(_called(reason), reason.meaning, reason.to_do) for reason in ParkReason]
    rows += [(name, kind.meaning, kind.to_do) for name, kind in given]
    return _table(("Cause", "What it means", "What to do"), rows)


def _called(reason: ParkReason) -> str:
    return f"`{reason.called}` (`{reason}`)" if reason.called != reason else f"`{reason}`"


def _parking_rules() -> str:
    words = {"part": "the field", "most": "the target or the mapping allows"}
    rows = [(f"`{rule}`", text.format_map(words)) for rule, text in OF_MAPPING_RULES.items()]
    return _table(("Rule", "What it means"), rows)


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


if __name__ == "__main__":
    main()
