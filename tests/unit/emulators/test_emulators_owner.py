"""An emulated service, into which a rehearsal puts real files, responds to the user who started it and nobody else."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dam_sync.emulators.kit.owner import is_own
from tests.support.programs import PIPE, Program

HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
ROW = "   0: {local} {remote} {state} 00000000:00000000 00:00000000 00000000  {user}        0 160 1 0 100 0 0 10 0\n"
SERVER, CLIENT = ("127.0.0.1", 8080), ("127.0.0.1", 40000)
SERVED, CALLING = ("0100007F:1F90", "0100007F:9C40")
LISTENS = ROW.format(local=SERVED, remote="00000000:0000", state="0A", user=1000)


@pytest.mark.skipif(sys.byteorder != "little", reason="the table is written for such a processor")
@pytest.mark.parametrize(
    ("rows", "own"),
    [
        ([LISTENS, ROW.format(local=CALLING, remote=SERVED, state="01", user=1000)], True),
        ([LISTENS, ROW.format(local=CALLING, remote=SERVED, state="01", user=0)], True),
        ([LISTENS, ROW.format(local=CALLING, remote=SERVED, state="01", user=1001)], False),
        (
            [LISTENS, ROW.format(local=CALLING, remote=SERVED, state="06", user=0)],
            False,
        ),  # closed: whose it was is lost
        ([LISTENS, ROW.format(local=SERVED, remote=CALLING, state="01", user=1000)], False),
        ([LISTENS], False),
        ([], True),  # another system
    ],
)
def test_a_connection_is_that_of_the_user_whom_the_system_names(tmp_path: Path, rows: list[str], own: bool) -> None:
    (tmp_path / "tcp").write_text(HEAD + "".join(rows), encoding="ascii")
    assert is_own(CLIENT, SERVER, tmp_path / "tcp", 1000) is own


STARTED = ("dam_sync", "emulate", "--json")


@pytest.mark.parametrize("end", ["SIGTERM", "SIGHUP", "SIGINT", "the process that started it"])
def test_it_leaves_no_file_behind(tmp_path: Path, end: str) -> None:
    """A rehearsal puts real files into its folder."""
    if end == "SIGHUP" and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        pytest.skip("started by nohup: it goes on")
    streams = {"typed": PIPE, "out": PIPE, "err": None}
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with Program(*STARTED, "--attached", "e_profiles", **streams, environment=environment) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline()
        assert list(tmp_path.iterdir())
        if end.startswith("SIG"):
            process.send_signal(signal.Signals[end])
        else:
            process.stdin.close()
        process.wait(60)
    assert not list(tmp_path.iterdir())


ASK = "exec 3<>/dev/tcp/127.0.0.1/{port}; printf 'GET /_emulator/calls HTTP/1.0\\r\\n\\r\\n' >&3; head -c 12 <&3"


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="only root can ask as another user")
def test_another_user_gets_no_response() -> None:
    with Program(*STARTED, "e_profiles", out=PIPE, err=None) as process:
        try:
            assert process.stdout is not None
            url = json.loads(process.stdout.readline())["url"]
            asked = ["bash", "-c", ASK.format(port=url.rpartition(":")[2])]
            said = [
                subprocess.run(asked, user=user, capture_output=True, text=True, check=False, cwd="/").stdout
                for user in (65534, 0)
            ]
        finally:
            process.terminate()
    assert said == ["", "HTTP/1.1 200"]
