"""What the shell completes besides commands and options: names that are known without a call to a service.

Nothing fails a key press: what cannot be read completes to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

import typer

LEVELS = {
    "count": "every asset is there",
    "fields": "also values, memberships, relations and versions",
    "digest": "also the digests that both services publish",
    "bytes": "also the bytes, downloaded from both",
}
Words: TypeAlias = Iterable[tuple[str, str]]
"""Words with what they are."""


def topic(incomplete: str) -> Iterator[tuple[str, str]]:
    """Help topics."""
    from dam_sync.help import topics

    return _begun(incomplete, topics().items())


def kind(incomplete: str) -> Iterator[tuple[str, str]]:
    """Kinds of services."""
    from dam_sync.api.job_file import kinds
    from dam_sync.help import topics

    about = topics()
    return _begun(incomplete, ((name, about.get(name, "")) for name in kinds()))


def key_of_side(incomplete: str) -> Iterator[tuple[str, str]]:
    """The first key of a side of a new job, with the kinds of services."""
    begins, _, name = incomplete.rpartition("kind=")
    if begins:
        return iter(())
    return _begun(incomplete, ((f"kind={word}", what) for word, what in kind(name if "=" in incomplete else "")))


def level(incomplete: str) -> Iterator[tuple[str, str]]:
    """Levels of a verification."""
    return _begun(incomplete, LEVELS.items())


def wave(context: typer.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    """Waves of the job that is named before."""

    def found(job: Path) -> Words:
        from dam_sync.api.stored_job import stored_job_of

        waves = stored_job_of(job).waves
        return [(each.name, f"after {', '.join(each.after)}" if each.after else "") for each in waves]

    return _begun(incomplete, _of_job(context, found))


def cause(context: typer.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    """Causes for which assets of the job that is named before are parked."""

    def found(job: Path) -> Words:
        import asyncio

        from dam_sync.api.state_commands import job_errors

        rows = asyncio.run(job_errors(job, (), False, at_most=0))["causes"]
        return [(row["cause"], f"{row['count']:,} parked") for row in rows]

    return _begun(incomplete, _of_job(context, found))


def _of_job(context: typer.Context, found: Callable[[Path], Words]) -> Words:
    job = context.params.get("job")
    try:
        return found(Path(job)) if job else ()
    except Exception:  # noqa: BLE001 -- whatever is wrong with the file or the state is said by the command itself
        return ()


def _begun(incomplete: str, words: Words) -> Iterator[tuple[str, str]]:
    return ((word, what) for word, what in words if word.startswith(incomplete))
