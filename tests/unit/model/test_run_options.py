"""How a command ends when its operator wants an end."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from dam_sync.api.running import cause_of, run_async
from dam_sync.model.errors import ConfigError, DamSyncError, StopKind, StopRequested, Transient
from dam_sync.model.run_options import RunOptions, StopToken, fraction_of

SIGNALS = {"SIGINT": "stopped by Ctrl-C", "SIGTERM": "stopped by SIGTERM", "SIGHUP": "stopped by SIGHUP"}


@pytest.mark.parametrize(("name", "told"), SIGNALS.items(), ids=SIGNALS)
def test_a_signal_ends_a_command_cleanly_and_is_called_by_its_name(name: str, told: str) -> None:
    async def act(options: RunOptions) -> int:
        os.kill(os.getpid(), signal.Signals[name])
        await asyncio.sleep(0.05)
        assert options.stop_token.hurry
        raise options.stop_token.error("run again")

    with pytest.raises(Transient) as caught:
        run_async(RunOptions(), act)
    assert caught.value.message.startswith(told)
    assert caught.value.exit_code == 5


def test_a_second_signal_ends_it_at_once() -> None:
    async def act(_: RunOptions) -> int:
        for name in ("SIGTERM", "SIGINT"):
            os.kill(os.getpid(), signal.Signals[name])
            await asyncio.sleep(0.05)
        await asyncio.sleep(60)
        return 0

    with pytest.raises(Transient, match="aborted by Ctrl-C"):
        run_async(RunOptions(), act)


def test_the_first_signal_says_what_is_waited_for() -> None:
    said: list[str] = []

    async def act(options: RunOptions) -> int:
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(0.05)
        raise options.stop_token.error("run again")

    with pytest.raises(Transient):
        run_async(RunOptions(), act, on_stop=said.append)
    assert said == [
        "stopping after Ctrl-C: writes in progress are finished first; a second one stops at once, and loses nothing"
    ]


def test_a_command_that_only_reads_is_ended_by_the_first_signal() -> None:
    async def act(_: RunOptions) -> int:
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(60)
        return 0

    with pytest.raises(Transient, match="stopped by Ctrl-C; nothing was written to the services") as caught:
        run_async(RunOptions(), act, repeats=True)
    assert (caught.value.exit_code, caught.value.hint) == (
        5,
        "run the same command again; it starts from the beginning",
    )


def test_a_hangup_that_is_ignored_stays_ignored() -> None:
    """As `nohup` starts a command."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)

    async def act(options: RunOptions) -> int:
        os.kill(os.getpid(), signal.SIGHUP)
        await asyncio.sleep(0.05)
        return int(bool(options.stop_token.reason))

    try:
        assert run_async(RunOptions(), act) == 0
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("grouped", [False, True])
def test_a_limit_is_reported_as_one(grouped: bool) -> None:
    async def act(_: RunOptions) -> int:
        stopped = StopRequested("enough")
        raise BaseExceptionGroup("several", [stopped]) if grouped else stopped

    with pytest.raises(DamSyncError) as told:
        run_async(RunOptions(), act)
    assert (told.value.message, told.value.exit_code) == ("enough", 8)


def test_a_sample_is_a_percentage() -> None:
    assert fraction_of("2%") == 0.02
    assert fraction_of(" 12.5 % ") == 0.125
    for text in ("2", "0.02", "%", "0%", "101%", "two%"):
        with pytest.raises(ConfigError, match="percentage with its sign"):
            fraction_of(text)


@pytest.mark.parametrize("text", ["soon", "8", "8 hours", "-1h", "0s"])
def test_a_duration_is_read_before_anything_is_begun(text: str) -> None:
    with pytest.raises(ConfigError, match="--max-duration"):
        RunOptions(max_duration=text)
    assert RunOptions(max_duration="8h").max_duration == "8h"


def test_a_stop_is_known_by_its_kind_and_not_by_its_words() -> None:
    token = StopToken()
    token.stop("the curator said: stop (--limit)")
    token.stop("stopped after 3 assets (--limit)", StopKind.ASSETS)
    stopped = token.error("run again")
    assert (stopped.message, stopped.kind, stopped.code) == ("the curator said: stop (--limit)", StopKind.ASKED, "")
    assert cause_of(stopped) is stopped
    signalled = StopRequested("anything", kind=StopKind.SIGNAL)
    assert isinstance(cause_of(signalled), Transient)
    assert StopRequested("used up", kind=StopKind.MAX_CALLS).code == "max_calls"


def test_words_that_a_signal_is_reported_with_are_none() -> None:
    """A caller may ask in the same words."""
    asked = StopRequested("stopped by Ctrl-C; writes in progress were finished")
    assert cause_of(asked) is asked
