"""What `check` says of the first assets of the source: what would happen to them, by the code of a plan."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from dam_sync.api.check_exposure import SHOWN, about_set_aside, gate_of, links_of_job
from dam_sync.api.check_result import CheckedSides, CheckResult
from dam_sync.api.preview import Preview, preview_of
from dam_sync.config.job import JobConfig
from dam_sync.engine.run.fitness import Fitness
from dam_sync.mapping.crosswalk import Crosswalk
from dam_sync.model.errors import MappingError
from dam_sync.model.loss_rules import LossRule
from dam_sync.model.parking import Cause, MappingCause, ParkReason
from dam_sync.model.policy import Policy
from dam_sync.model.safe_text import shown_name
from dam_sync.model.wording import agreed, counted, the_first

_MAPPED = "correct the named lines of the mapping file, or the values at the source"


async def about_assets(job: JobConfig, sides: CheckedSides) -> AsyncIterator[CheckResult]:
    """What would happen to the first assets of the source."""
    if sides.crosswalk is None:
        return
    source, (target, schema) = sides.services["source"][0], sides.services["target"]
    gate = gate_of(job, source, target, schema, sides.options)
    fitness = Fitness(schema, Policy(versions=job.policy.versions))
    links_of = links_of_job(job, sides.options, linked=sides.linked)
    found = await preview_of(source, gate, sides.crosswalk, fitness, links_of)
    if sides.crosswalk.about_unread:
        yield _unread_result(sides.crosswalk, found)
    if found.taken:
        if found.set_aside:
            yield CheckResult("assets", *about_set_aside(found, source.exposure_options()), warns=True)
        for result in _results_of(found):
            yield result
    elif found.left_out:
        hint = "check `select` in the mapping file"
        yield CheckResult("assets", f"none of {the_first(found.left_out, 'asset')} is selected", hint, warns=True)


def _results_of(found: Preview) -> Iterator[CheckResult]:
    if found.parked or not found.set_aside:
        yield _preview_result(found)
    yield from (result for result in (_dropped_result(found), _lacking_result(found)) if result is not None)


def _is_mapped(cause: Cause) -> bool:
    return isinstance(cause, MappingCause) or cause is ParkReason.SELECT


def _preview_result(found: Preview) -> CheckResult:
    if not found.parked:
        return CheckResult("assets", f"{the_first(found.taken, 'asset')} can be written")
    causes = found.causes.most_common(SHOWN)
    words = "; ".join(f"{cause} ({number}): {found.examples[cause]}" for cause, number in causes)
    hint = "; ".join(dict.fromkeys(_MAPPED if _is_mapped(cause) else found.hints[cause] for cause, _ in causes))
    if found.parked == found.taken:
        text = f"every one of {the_first(found.taken, 'asset')} would be parked: {words}"
        return CheckResult("assets", text, hint, MappingError.exit_code)
    return CheckResult(
        "assets", f"{found.parked} of the first {found.taken} would be parked: {words}", hint, warns=True
    )


def _unread_result(crosswalk: Crosswalk, found: Preview) -> CheckResult:
    """Fields of the source that no line reads: those that have values are lost if that is not meant."""
    if not found.unread:
        return CheckResult("mapping", crosswalk.about_unread)
    shares = [
        f"{shown_name(key)} ({number:,} of {found.taken:,})"
        for key, number in sorted(found.unread.items(), key=lambda one: (-one[1], one[0]))
    ]
    fields = counted(len(shares), "field of the source", "fields of the source")
    has, is_ = agreed(len(shares), "has", "have"), agreed(len(shares), "is", "are")
    text = f"{fields} {is_} read by no line and {has} values in {the_first(found.taken, 'asset')}: {', '.join(shares)}"
    hint = "write lines for what you need in the mapping file, and name the others in its `ignore`"
    return CheckResult("mapping", text, hint, warns=True)


def _dropped_result(found: Preview) -> CheckResult | None:
    """Values that lines with `on_error: drop` would lose."""
    if not found.dropped:
        return None
    worst = found.dropped.most_common(SHOWN)
    words = [f"{path} of {counted(number, 'asset')} ({found.detail[path, rule]})" for (path, rule), number in worst]
    more = len(found.dropped) - len(worst)
    text = f"of {the_first(found.taken, 'asset')}, values would be dropped: {'; '.join(words)}"
    hint = "let the lines of the mapping file read these values, for example by more formats in `in` of a date"
    return CheckResult("values", f"{text}; and {more:,} more" if more else text, hint, warns=True)


def _lacking_result(found: Preview) -> CheckResult | None:
    """Values of which the type that the profile makes has no field."""
    if not found.lacking:
        return None
    worst = found.lacking.most_common(SHOWN)
    words = [
        f"{path} of {counted(number, 'asset')}: {found.detail[path, LossRule.OTHER_TYPE]}" for path, number in worst
    ]
    more = len(found.lacking) - len(worst)
    text = (
        f"of {the_first(found.taken, 'asset')}, values would be lost, because the type that the asset gets has no such "
        f"field: {'; '.join(words)}"
    )
    hint = "let `profile` of the mapping file choose a type with these fields, or the lines write fields of that type"
    return CheckResult("values", f"{text}; and {more:,} more" if more else text, hint, warns=True)
