"""`/health`, `/live` and `/metrics`, the systemd unit, and the examples of the help topic."""

from __future__ import annotations

import asyncio
import gzip
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import typer.main
from aiohttp import web
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from ruamel.yaml import YAML
from typer.testing import CliRunner

from dam_sync.cli import cli
from dam_sync.config.job import job_of_code
from dam_sync.help import text_of
from dam_sync.model.errors import ConfigError, Rejected, SafetyStop
from dam_sync.model.run_options import RunOptions
from dam_sync.services import discover
from dam_sync.watch.connections import ConnectionBounds
from dam_sync.watch.live import ShownWatchedJob
from dam_sync.watch.scheduler import RunResult
from dam_sync.watch.server import ListenAddress, application, loopback_application, serving
from dam_sync.watch.systemd import unit_of
from dam_sync.watch.watcher import Watcher
from tests.support.stepped_clock import SteppedClock
from tests.unit.watch.test_watch_loop import report_of, write

TEXT = text_of("watch")
BLOCKS = dict(re.findall(r"^```(\w+)\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE))
YAMLS = re.findall(r"^```yaml\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


@pytest.fixture
def watcher(tmp_path: Path) -> Watcher:
    paths = [write(tmp_path, "{every: 1h}", name=name) for name in ("museum", "archive")]
    return Watcher(paths, RunOptions(clock=SteppedClock()), print)


@pytest.fixture
async def url(watcher: Watcher) -> AsyncIterator[str]:
    async with serving(application(watcher), ListenAddress("127.0.0.1", 0)) as url:
        yield url


async def get(url: str, **headers: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(url, headers=headers) as response:
        return response.status, await response.text()


async def test_health_says_what_each_job_waits_for(watcher: Watcher, url: str) -> None:
    status, text = await get(f"{url}/health")
    assert status == 200
    assert '"reason": "first run"' in text
    job = watcher.jobs[0]
    now = job._clock.now()
    job.record = job.record.begun(now).ended_with(RunResult.BLOCKED, now, 0.5, SafetyStop("the mapping changed"))
    status, text = await get(f"{url}/health")
    assert status == 503
    assert '"ok": false' in text
    assert "waits for you: the mapping changed" in text
    assert (await get(f"{url}/live"))[0] == 200


async def test_health_needs_no_key_and_names_no_asset(watcher: Watcher, url: str) -> None:
    job = watcher.jobs[0]
    now = job._clock.now()
    error = Rejected("the title 'merger' is too long", asset="Board/merger.jpg")
    job.record = job.record.begun(now).ended_with(RunResult.BLOCKED, now, 0.5, error)
    assert "merger" not in (await get(f"{url}/health"))[1]
    assert "merger" not in (await get(f"{url}/metrics"))[1]
    shown = ShownWatchedJob(job, job._clock).situation()
    assert "merger" in shown["error"]["message"], "the page of the operator does"
    assert "merger" not in shown["reason"]


async def test_metrics_are_openmetrics(watcher: Watcher, url: str) -> None:
    job = watcher.jobs[0]
    job.record = replace(job.record.begun(job._clock.now()), failures=2)
    job._ended(report_of(parked=3), None)
    status, text = await get(f"{url}/metrics")
    assert status == 200
    found = {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert found["dam_sync_runs_total", "done", "museum"] == 1
    assert found["dam_sync_assets_total", "created", "museum"] == 1
    assert found["dam_sync_assets_total", "museum", "removed"] == 2
    assert found["dam_sync_calls_total", "museum", "source"] == 3
    assert found["dam_sync_parked", "museum"] == 3
    assert found["dam_sync_failures", "museum"] == 0
    assert found["dam_sync_last_done_timestamp_seconds", "museum"] == job._clock.now().timestamp()
    assert found["dam_sync_next_run_timestamp_seconds", "museum"] == job._clock.now().timestamp() + 3600
    assert found["dam_sync_notifications_total", "sent"] == 0


async def test_other_hosts_cannot_ask(url: str) -> None:
    assert (await get(f"{url}/health", Host="museum.example"))[0] == 403
    assert (await get(f"{url}/health", Host="localhost:1"))[0] == 200
    assert (await get(f"{url}/nothing"))[0] == 404
    for host in ("localhost:99999", "[", "127.0.0.1@museum.example"):
        assert (await get(f"{url}/health", Host=host))[0] == 403


async def test_a_compressed_request_is_not_unpacked() -> None:
    """64 KB can become 64 MB, before anybody has looked at the signature."""
    app, bomb = loopback_application(), gzip.compress(bytes(20_000_000))

    async def read(request: web.Request) -> web.Response:
        return web.Response(text=str(len(await request.read())))

    app.add_routes([web.post("/", read)])
    async with (
        serving(app, ListenAddress("127.0.0.1", 0)) as url,
        aiohttp.ClientSession() as session,
        session.post(url, data=bomb, headers={"Content-Encoding": "gzip"}) as response,
    ):
        assert (response.status, await response.text()) == (200, str(len(bomb)))


async def connected(url: str, sent: bytes = b"") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
    writer.write(sent)
    await writer.drain()
    return reader, writer


async def closed(*writers: asyncio.StreamWriter) -> None:
    for each in writers:
        each.close()
        with suppress(ConnectionError):
            await each.wait_closed()


async def is_over(reader: asyncio.StreamReader) -> bool:
    """Whether the server ends this connection."""
    with suppress(ConnectionError):
        while await asyncio.wait_for(reader.read(65_536), 20):
            pass
    return True


async def test_connections_that_wait_for_their_caller_make_room_for_new_ones(watcher: Watcher) -> None:
    """Each takes a file handle of the runs. Silent ones, and ones with half a request, kept all deliveries out."""
    async with serving(application(watcher), ListenAddress("127.0.0.1", 0), ConnectionBounds(most=3)) as url:
        silent, half = await connected(url), await connected(url, b"POST /webhooks/museum/x HTTP/1.1\r\nHo")
        kept = await connected(url, b"GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"200 OK" in await kept[0].readline()
        assert (await get(f"{url}/health"))[0] == 200
        assert await is_over(silent[0])
        assert (await get(f"{url}/health"))[0] == 200  # its own connection before this has ended
        later = [await connected(url) for _ in range(2)]
        assert await is_over(half[0])
        kept[1].write(b"GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"200 OK" in await kept[0].read(65_536) + await kept[0].read(65_536)
        await closed(*(writer for _, writer in (silent, half, kept, *later)))


async def test_no_more_connections_than_allowed_while_all_are_served() -> None:
    app, going = loopback_application(), asyncio.Event()

    async def slow(_: web.Request) -> web.Response:
        await going.wait()
        return web.Response(text="served")

    app.add_routes([web.get("/", slow)])
    async with serving(app, ListenAddress("127.0.0.1", 0), ConnectionBounds(most=3)) as url:
        opened = [await connected(url, b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n") for _ in range(3)]
        await asyncio.sleep(0.1)
        refused, writer = await connected(url)
        assert await is_over(refused)
        going.set()
        for reader, _ in opened:
            assert (await reader.read()).endswith(b"served")
        await closed(writer, *(writer for _, writer in opened))


async def test_callers_that_do_not_read_make_room(watcher: Watcher) -> None:
    """A response that nobody reads is never sent, and its connection was never closed."""
    bounds, asked = ConnectionBounds(most=3), b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
    async with serving(application(watcher), ListenAddress("127.0.0.1", 0), bounds) as url:
        opened = []
        for _ in range(3):
            reader, writer = await connected(url)
            writer.transport.pause_reading()
            writer.write(asked * 5_000)
            opened.append((reader, writer))
        await asyncio.sleep(0.5)
        assert [(await get(f"{url}/health"))[0] for _ in range(5)] == [200] * 5
        for _, writer in opened:
            writer.transport.abort()


async def test_a_connection_without_a_request_is_closed(watcher: Watcher) -> None:
    async with serving(application(watcher), ListenAddress("127.0.0.1", 0), ConnectionBounds(idle=0.1)) as url:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        writer.write(b"POST /webhooks/museum/x HTTP/1.1\r\nHo")
        assert await asyncio.wait_for(reader.read(), 20) == b""
        writer.close()


async def test_a_request_that_is_not_http_leaves_no_traceback(url: str, caplog: pytest.LogCaptureFixture) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
    writer.write(b"GET /webhooks/museum/key\xff HTTP/1.1\r\nContent-Length: -1\r\n\r\n")
    assert b"400" in await reader.read()
    writer.close()
    assert caplog.text == ""


async def test_a_port_that_is_taken_is_reported(watcher: Watcher, url: str) -> None:
    port = int(url.rpartition(":")[2])
    with pytest.raises(ConfigError, match=f"cannot listen on 127.0.0.1:{port}: another process uses it") as caught:
        async with serving(application(watcher), ListenAddress("127.0.0.1", port)):
            await asyncio.sleep(0)
    assert "stop that process, or choose another port" in caught.value.hint


@pytest.mark.parametrize("text", ["8088", ":8088", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:99999", "0.0.0.0:8088"])
def test_only_an_ip_address_of_this_host_is_listened_on(text: str) -> None:
    with pytest.raises(ConfigError, match="--listen"):
        ListenAddress.of(text)
    assert ListenAddress.of("[::1]:8088") == ListenAddress("::1", 8088)
    assert ListenAddress.of("localhost:0") == ListenAddress("localhost", 0)


# -- systemd -----------------------------------------------------------------------------------------------------------


def test_a_unit_is_accepted_by_systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = tmp_path / "100% of the museum's.yaml"
    unit = unit_of([job], ["museum"], ["--listen", "127.0.0.1:8088"])
    assert "ExecReload=/bin/kill -HUP $MAINPID" in unit
    assert "100%% of the museum's.yaml" in unit
    with pytest.raises(ConfigError, match="line break"):
        unit_of([tmp_path / "a\nb.yaml"], ["museum"])
    folder = tmp_path / "x\nExecStartPre=evil"
    folder.mkdir()
    monkeypatch.chdir(folder)
    with pytest.raises(ConfigError, match="line break"):
        unit_of([job], ["museum"])
    monkeypatch.chdir(tmp_path)
    with monkeypatch.context() as nameless:  # a container with a user that no table names
        for variable in ("LOGNAME", "USER", "LNAME", "USERNAME"):
            nameless.delenv(variable, raising=False)
        nameless.setattr(os, "getuid", lambda: 987_654)
        with pytest.raises(ConfigError, match="this user has no name"):
            unit_of([job], ["museum"])
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd is not installed")
    path = tmp_path / "dam-sync.service"
    path.write_text(unit, encoding="utf-8")
    done = subprocess.run(["systemd-analyze", "verify", str(path)], capture_output=True, text=True, check=False)
    assert "dam-sync.service" not in done.stdout + done.stderr, done.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--listen", "127.0.0.1:8088", "--page"], "--listen 127.0.0.1:8088 --page --no-progress --log-format json"),
        (["-v", "--log-file", "logs/w 1.log"], '-v --log-file "{}/logs/w 1.log" --no-progress --log-format json'),
        (["-vv"], "-vv --no-progress --log-format json"),
    ],
)
def test_a_unit_has_the_options_of_its_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], words: str
) -> None:
    """The log went to the journal and had errors only, whatever was asked for."""
    (tmp_path / "logs").mkdir()
    path = write(tmp_path, "{every: 1h}", name="museum")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli, ["watch", path.name, "--systemd", *options])
    assert done.exit_code == 0, done.output
    (line,) = (line for line in done.output.splitlines() if line.startswith("ExecStart="))
    assert line.partition(f"watch {path} ")[2] == words.format(tmp_path)


# -- examples ----------------------------------------------------------------------------------------------------------


def parsed(words: list[str]) -> None:
    """The command line is one of ours; raises what the command would."""
    command = typer.main.get_command(cli).commands[words[0]]  # type: ignore[attr-defined]
    command.make_context(words[0], words[1:])


def test_the_keys_of_the_first_example_are_those_of_a_job_file() -> None:
    side = {"kind": "a_hypermedia", "base_url": "https://a.example"}
    side["auth"] = {"flow": "basic", "login": "x", "password": "${env:A}"}  # type: ignore[assignment]
    keys = YAML(typ="safe").load(YAMLS[0])
    data = {"version": 1, "name": "museum", "source": side, "target": side, "mapping": "m.yaml", **keys}
    assert job_of_code(data, Path("/jobs"), discover()).limits.calls_per_day == 200_000


def test_the_example_of_a_container_runs_a_command_that_exists() -> None:
    lines = BLOCKS["dockerfile"].replace("\\\n", " ").splitlines()
    made: dict[str, Any] = {}
    for line in lines:
        name, _, rest = line.partition(" ")
        made[name] = rest
    assert YAML(typ="safe").load(made["ENTRYPOINT"]) == ["dam-sync"]
    parsed(YAML(typ="safe").load(made["CMD"]))
    check = YAML(typ="safe").load(made["HEALTHCHECK"].partition("CMD ")[2])
    compile(check[2], "healthcheck", "exec")


def test_the_examples_of_cron_and_shell_are_commands_that_exist() -> None:
    blocks = re.findall(r"^```(?:sh|crontab)\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 3
    for text in blocks:
        for line in text.splitlines():
            parsed(shlex.split(line.partition("dam-sync ")[2].partition(" > ")[0]))


def test_the_example_of_a_cron_job_has_the_keys_of_its_kind() -> None:
    found = YAML(typ="safe").load(YAMLS[-1])
    assert (found["apiVersion"], found["kind"]) == ("batch/v1", "CronJob")
    pod = found["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    parsed(container["args"])
    mounts = {mount["name"] for mount in container["volumeMounts"]}
    assert mounts == {volume["name"] for volume in pod["volumes"]}
    assert found["spec"]["jobTemplate"]["spec"]["activeDeadlineSeconds"] > 8 * 3600
