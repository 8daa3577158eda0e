"""A source that keeps other digests than MD5: its files are not sent again because values of their assets changed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from dam_sync.api.jobs import verify_job
from dam_sync.model.asset import Asset, AssetId, Patch
from tests.conformance.drafts import plain_draft
from tests.support.services.connections import Bytes
from tests.support.state.memory_journal import MemoryJournal
from tests.support.virtual.moves import Move, Simulation
from tests.support.virtual.state_location import ask
from tests.support.virtual.universe import LAGS, job_of

NAME = "fresh.jpg"
DATA = b"fresh" * 200
LATE = 1e6  # seconds until a digest is known


def begin(move: Move, digest: str, *, known: float = 0.0) -> AssetId:
    """A server that keeps this digest, and one more file, which is moved; `known`: from when on the digest is there."""
    repository = move.source.app.state.server.repository
    repository.options = replace(repository.options, digest=digest)
    identity = move.universe.do(uploaded(move))
    doc = repository.docs[identity]
    doc.props["file:content"] = replace(doc.file, known=known)
    wait(move)
    move.full = True
    move.live()
    wait(move)
    return identity


def wait(move: Move) -> None:
    """Time passes."""
    move.universe.do(move.universe.clock.sleep(LAGS))


async def uploaded(move: Move) -> AssetId:
    """Somebody puts a file into the source by hand."""
    async with move.service("source") as service:
        draft = replace(await plain_draft(service, "source"), filename=NAME)
        return await service.create(draft, Bytes(NAME, DATA, known=True), MemoryJournal())


async def titled(move: Move, asset: AssetId) -> None:
    """Somebody gives it another title, which moves the date of change of the document."""
    async with move.service("source") as service:
        await service.schema()
        await service.update(asset, Patch(fields={"dc:title": "another title"}))


async def found(move: Move, asset: AssetId) -> Asset:
    """The asset as the source gives it."""
    async with move.service("source") as service:
        await service.schema()
        return await service.fetch(asset)


def versions(move: Move) -> list[int]:
    """Sizes of the versions of the file at the target."""
    return [each["size"] for row in move.target.assets if row["filename"] == NAME for each in row["versions"]]


@pytest.mark.parametrize("target", ["c_brandlibrary", "d_templates"])
def test_another_title_makes_no_version(tmp_path: Path, target: str) -> None:
    with Simulation(tmp_path, ("b_documents", target)).moving() as move:
        identity = begin(move, "SHA-256")
        file = move.universe.do(found(move, identity)).file
        assert file is not None
        assert list(file.digests) == ["sha256"]
        before = versions(move)
        move.universe.do(titled(move, identity))
        wait(move)
        move.live()
        assert versions(move) == before == [len(DATA)]


@pytest.mark.parametrize("digest", ["MD5", "SHA-256"])
def test_a_digest_that_comes_after_the_move_makes_no_version(tmp_path: Path, digest: str) -> None:
    """The server computes it later, and somebody changes the title before the next run."""
    with Simulation(tmp_path, ("b_documents", "d_templates")).moving() as move:
        known = move.universe.clock.now().timestamp() + LATE
        identity = begin(move, digest, known=known)
        file = move.universe.do(found(move, identity)).file
        assert file is not None
        assert not file.digests
        move.universe.do(move.universe.clock.sleep(LATE))
        file = move.universe.do(found(move, identity)).file
        assert file is not None
        assert file.digests
        move.universe.do(titled(move, identity))
        wait(move)
        move.live()
        assert versions(move) == [len(DATA)]


def test_a_digest_that_comes_after_the_move_parks_nothing_where_the_target_takes_no_versions(tmp_path: Path) -> None:
    """Whether an asset can be written is decided with the keys that its files have now."""
    with Simulation(tmp_path, ("b_documents", "e_profiles")).moving() as move:
        identity = begin(move, "MD5", known=move.universe.clock.now().timestamp() + LATE)
        yaml = YAML()
        job = yaml.load(move.job.read_text(encoding="utf-8"))
        del job["target"]["options"]["version_policy"]
        with move.job.open("w", encoding="utf-8") as out:
            yaml.dump(job, out)
        move.universe.do(move.universe.clock.sleep(LATE))
        move.universe.do(titled(move, identity))
        wait(move)
        move.live()
        assert ask(move.job, "SELECT action, message FROM work WHERE asset = ?", identity) == [("unchanged", "")]


def test_a_verification_records_proofs_under_the_keys_that_files_have(tmp_path: Path) -> None:
    """So that a removal finds what was proven of the file that was written last."""
    with Simulation(tmp_path, ("b_documents", "d_templates")).moving() as move:
        identity = begin(move, "MD5", known=move.universe.clock.now().timestamp() + LATE)
        move.universe.do(move.universe.clock.sleep(LATE))
        move.universe.do(verify_job(job_of(move.job), move.universe.options(), "digest", "100%"))
        ((versions, proofs),) = ask(move.job, "SELECT versions, proofs FROM link WHERE source = ?", identity)
        assert list(json.loads(proofs)) == json.loads(versions)
