"""A cluster of Dask that somebody started with certificates: the examples of the help topic `scale`, as they are."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from dam_sync.help import text_of
from tests.e2e.conftest import ASSETS
from tests.e2e.test_help_examples import examples
from tests.e2e.test_migration import digests
from tests.support.clusters import HERE, end, spawned_by, until_ready
from tests.support.jobs.tenants import Completed, Pair, duplicates
from tests.support.network.raw_server import free_port
from tests.support.programs import Program

SETTINGS = re.compile(r"^```yaml\n(distributed:.*?)^```", re.DOTALL | re.MULTILINE)
OPENSSL = re.compile(r"^```ini\n(openssl_conf.*?)^```", re.DOTALL | re.MULTILINE)
CERTIFICATES, HOST, PORT = "/etc/dam-sync/", "scheduler.example", "8786"


@dataclass(frozen=True)
class Site:
    """Where the examples are tried: a folder for what they keep in /etc, and a free port."""

    folder: Path
    port: str
    job: Path

    @property
    def said(self) -> Path:
        """What the last run wrote to stderr."""
        return self.folder / "said.txt"

    @property
    def url(self) -> str:
        return f"tls://{HERE}:{self.port}"

    def typed(self, text: str) -> str:
        """A word of an example, or a file, as somebody types it here."""
        for old, new in ((CERTIFICATES, f"{self.folder}/"), (HOST, HERE), (PORT, self.port)):
            text = text.replace(old, new)
        return text.replace("127.0.0.1:8787", "127.0.0.1:0").replace("jobs/museum.yaml", str(self.job))

    def make_certificates(self) -> None:
        (words,) = (words for words in examples("scale") if words[0] == "openssl")
        subprocess.run([self.typed(word) for word in words], check=True, capture_output=True)

    def write_settings(self, name: str = "dask.yaml", certificates: str = "") -> Path:
        """Dask's configuration, as the topic shows it."""
        (text,) = SETTINGS.findall(text_of("scale"))
        path = self.folder / name
        path.write_text(self.typed(text).replace(f"{self.folder}/cluster", f"{certificates or self.folder}/cluster"))
        return path

    def write_openssl(self) -> Path:
        """The settings of OpenSSL for schedulers and workers, as the topic shows them."""
        (text,) = OPENSSL.findall(text_of("scale"))
        path = self.folder / "openssl.cnf"
        path.write_text(text)
        return path

    def program(self, words: list[str], settings: Path | None) -> Program:
        """What somebody types, started with this configuration of Dask; workers are started as programs."""
        name, *rest = map(self.typed, words)
        more = ["--host", HERE] if rest[0] == "scheduler" else []
        environment = {key: value for key, value in os.environ.items() if key != "DASK_CONFIG"}
        environment |= {} if settings is None else {"DASK_CONFIG": str(settings)}
        environment |= {"OPENSSL_CONF": str(self.write_openssl())} if words[0] == "dask" else {}
        given = {"environment": environment, "err": self.said, "spawning": True}
        return Program(name.replace("-", "_"), *rest, *more, **given)

    def run(self, settings: Path | None) -> Completed:
        """The run of the topic."""
        (words,) = (words for words in examples("scale") if words[1] == "run" and "--cluster" in words)
        self.said.unlink(missing_ok=True)
        code = self.program([*words, "--no-progress"], settings).wait()
        return Completed(words, code, "", self.said.read_text(encoding="utf-8"))


@pytest.fixture
def site(on_server: Pair, tmp_path: Path) -> Site:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    folder = tmp_path / "etc"
    folder.mkdir()
    made = Site(folder, str(free_port()), on_server.job)
    made.make_certificates()
    return made


@dataclass(frozen=True)
class Running:
    """The scheduler and the nannies of the workers, and the configuration of everybody."""

    settings: Path
    processes: list[Program]


@pytest.fixture
def cluster(site: Site) -> Iterator[Running]:
    """The scheduler and the workers of the topic, and the configuration of everybody."""
    settings = site.write_settings()
    with ExitStack() as stack:
        running = Running(settings, [])
        for words in examples("scale"):
            if words[0] == "dask":
                process = site.program(words, settings)
                stack.callback(end, process)
                running.processes.append(process)
        until_ready(site.url, settings)
        yield running


def test_the_examples_of_a_cluster_with_certificates(
    on_server: Pair, site: Site, cluster: Running, tmp_path: Path
) -> None:
    refused = site.run(None)
    assert refused.returncode == 2
    assert "needs certificates" in refused.stderr
    assert "distributed.comm.tls" in refused.stderr
    stranger = Site(tmp_path / "other", site.port, site.job)
    stranger.folder.mkdir()
    stranger.make_certificates()
    strange = site.run(stranger.write_settings())
    assert strange.returncode == 5
    assert f"the Dask scheduler {site.url} cannot be reached" in strange.stderr
    assert "the certificates of both sides" in strange.stderr
    assert "Warning" not in refused.stderr + strange.stderr
    assert on_server.target.writes == 0
    workers = [each for process in cluster.processes for each in spawned_by(process)]
    assert workers
    assert not [each for each in workers if "MALLOC_TRIM_THRESHOLD_" in each.environ()]
    done = site.run(cluster.settings)
    assert done.returncode == 0, done.stderr
    target = on_server.target.assets
    assert len(target) == ASSETS
    assert duplicates(target) == []
    assert digests(target) == digests(on_server.source.assets)


def test_missing_certificates_are_named(site: Site) -> None:
    settings = site.write_settings(certificates="/nowhere")
    done = site.run(settings)
    assert done.returncode == 2
    assert "/nowhere/cluster.crt" in done.stderr
    assert "hint: " in done.stderr
