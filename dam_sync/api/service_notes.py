"""What a service says besides its account: calls that it counted, opt-in behaviors, what a migration causes there.
It is shown by `check`, `inspect` and `plan`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dam_sync.config.job import JobConfig
from dam_sync.model.connector import Connector
from dam_sync.model.diagnostic import nearest
from dam_sync.model.probed import Toggle, Toggles
from dam_sync.model.run_options import RunOptions
from dam_sync.model.service import Service
from dam_sync.model.wording import counted
from dam_sync.report.sentences import about_counted_calls
from dam_sync.services import discover

SHOWN = 20  # opt-in behaviors of one service


@dataclass(frozen=True, slots=True)
class ServiceNote:
    """A sentence, and what it is about. warns: a person should look at it before anything moves, and the hint says
    what to do."""

    subject: str
    text: str
    hint: str = ""
    warns: bool = False


async def notes_about(role: str, connector: Connector, service: Service, *, needed: bool) -> list[ServiceNote]:
    """All of them; after `probe()`. needed: of the opt-in behaviors those that the job depends on, otherwise all."""
    notes = [ServiceNote("calls", text) for text in about_counted_calls(await service.counted_calls())]
    notes += about_toggles(await service.toggles(needed=needed), needed=needed)
    return [*notes, *side_effects(role, connector)]


def side_effects(role: str, connector: Connector) -> list[ServiceNote]:
    """What reading from a source, or writing into a target, causes besides."""
    return [ServiceNote("side effects", one.text) for one in connector.side_effects if one.way in ("both", role)]


def about_side_effects(job: JobConfig, options: RunOptions, *roles: str) -> list[str]:
    """The same for a report of a plan or of a rollback."""
    known, kinds = options.connectors or discover(), {"source": job.source.kind, "target": job.target.kind}
    return [f"{role}: {note.text}" for role in roles for note in side_effects(role, known[kinds[role]])]


def about_toggles(toggles: Toggles | None, *, needed: bool) -> list[ServiceNote]:
    """The opt-in behaviors of a service. One that the job requests and the service does not list has no effect."""
    if toggles is None:
        return []
    if toggles.unread:
        text = f"the opt-in behaviors of the service cannot be read: {toggles.unread}"
        hint = f"the option {toggles.option} may have no effect; ask the administrator of the tenant"
        return [ServiceNote("toggles", text, hint if needed else "", warns=needed)]
    return [*_unknown(toggles), *_offered(toggles, needed=needed)]


def _unknown(toggles: Toggles) -> Iterator[ServiceNote]:
    for name in toggles.unknown:
        known = nearest(name, [one.name for one in toggles.offered]) or f"{len(toggles.offered)} are listed"
        text = f"the service lists no opt-in behavior {name}, which the option {toggles.option} requests"
        hint = f"it has no effect: leave it out of {toggles.option}; {known}"
        yield ServiceNote("toggles", text, hint, warns=True)


def _offered(toggles: Toggles, *, needed: bool) -> Iterator[ServiceNote]:
    shown = [one for one in toggles.offered if not needed or one.requested or one.decides]
    yield from (ServiceNote("toggles", _text(one, toggles.option)) for one in shown[:SHOWN])
    if (more := len(shown) - SHOWN) > 0:
        yield ServiceNote("toggles", f"{counted(more, 'more opt-in behavior')} of the service")


def _text(toggle: Toggle, option: str) -> str:
    state = "requested" if toggle.requested else f"not requested ({option})"
    described = f": {toggle.description}" if toggle.description else ""
    decides = f"; it may decide {toggle.decides}" if toggle.decides else ""
    return f"opt-in behavior {toggle.name}, {state}{described}{decides}"
