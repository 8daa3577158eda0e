"""Crashes in children of one process: it continues as if nothing had happened, while in each child it ends at another
moment.

What leads up to a moment is so run once for all of them. A child has the memory of its parent as it was; the files, or
the rows of a state on a server, are copied for it, and its parent stands still until it is done.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import shutil
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.support.virtual import state_location
from tests.support.virtual.fuse import Fuse, Point
from tests.support.virtual.moves import Move

Plan = Sequence[Point]


@dataclass(frozen=True, slots=True)
class Branch:
    """What came of one child: crashes that happened, what they left."""

    crashes: int = 0
    faults: Sequence[str] = ()


@dataclass(slots=True)
class Branching(Fuse):
    """A fuse that blows in children alone: at every moment that a plan begins with, one is made for each such plan.

    job: whose state is copied; folders: all else that is written to. plan: in a child, its own; it reports by `pipe`.
    """

    job: Path = Path()
    plans: Mapping[Point, Sequence[Plan]] = field(default_factory=dict)
    folders: Sequence[Path] = ()
    came: list[Branch] = field(default_factory=list)
    plan: Plan = ()
    pipe: int = -1

    def answer(self, branch: Branch) -> None:
        """The end of a child."""
        with os.fdopen(self.pipe, "w", encoding="utf-8") as pipe:
            json.dump(asdict(branch), pipe)

    def _look(self, here: Point) -> None:
        if not self.blown:
            for plan in self.plans.get(here, ()):
                if self._is_child(plan):
                    break
        Fuse._look(self, here)

    def _is_child(self, plan: Plan) -> bool:
        reading, writing = os.pipe()
        aside, job = [put_aside(folder) for folder in self.folders], state_location.put_aside(self.job)
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # threads besides ours hold nothing a child needs
            pid = os.fork()
        if not pid:
            os.close(reading)
            resume(loop, task)
            gc.freeze()  # what is not looked at is not copied
            state_location.cut_off()
            for former, folder in zip(aside, self.folders, strict=True):
                open_copies(former, folder)
            self.plan, self.pipe, self.blown = plan, writing, True
            return True
        os.close(writing)
        with os.fdopen(reading, encoding="utf-8") as pipe:
            told = pipe.read()
        _, code = os.waitpid(pid, 0)
        state_location.bring_back(self.job, job)
        for former, folder in zip(aside, self.folders, strict=True):
            shutil.rmtree(folder)
            former.rename(folder)
        lost = {"crashes": 0, "faults": [f"{plan[0]}: the child ended with {code}"]}
        self.came.append(Branch(**(json.loads(told) if told else lost)))
        return False


def resume(loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any] | None) -> None:
    """Continue a task of a loop in a child, where Python 3.14 runs neither: it would take no further step of any."""
    asyncio._set_running_loop(loop)
    if task is not None and asyncio.current_task() is None:
        asyncio._enter_task(loop, task)


def branches(move: Move, plans: Sequence[Plan], survived: Callable[[Plan], Branch]) -> Iterator[Branch]:
    """One run to its end, and what `survived` made in its children of a crash where each of `plans` begins."""
    fuse = Branching(job=move.job, plans=by_first(plans), folders=[*move.folders])
    try:
        move.live(fuse)
        if fuse.plan:
            fuse.answer(survived(fuse.plan))
    except BaseException:
        if not fuse.plan:
            raise
        fuse.answer(Branch(faults=[f"{fuse.plan[0]}: {traceback.format_exc()}"]))
    finally:
        if fuse.plan:
            os._exit(0)
    yield from fuse.came


def by_first(plans: Sequence[Plan]) -> dict[Point, list[Plan]]:
    """Plans by the moment they begin with."""
    found: dict[Point, list[Plan]] = {}
    for plan in plans:
        found.setdefault(plan[0], []).append(plan)
    return found


def put_aside(folder: Path) -> Path:
    """Another name for a folder, in whose place there is a copy from now on."""
    folder.mkdir(exist_ok=True)
    aside = folder.with_name(f"{folder.name}-aside")
    folder.rename(aside)
    shutil.copytree(aside, folder)
    return aside


def open_copies(aside: Path, folder: Path) -> None:
    """Files this process has open in `aside` are those of `folder` from now on, at the same place in the file. Not
    databases: the locks of the parent keep this process from them, and they are mapped into memory."""
    copies = {_inode(path): folder / path.relative_to(aside) for path in aside.rglob("*") if path.is_file()}
    for number in map(int, os.listdir(state_location.OPEN)):
        try:
            copy = copies.get(_inode(number))
        except OSError:  # the listing's own
            continue
        if copy is not None and ".db" not in copy.name:
            at = os.lseek(number, 0, os.SEEK_CUR)
            own = os.open(copy, os.O_RDWR)
            os.lseek(own, at, os.SEEK_SET)
            os.dup2(own, number, inheritable=False)
            os.close(own)


def _inode(file: Path | int) -> tuple[int, int]:
    found = os.stat(file)
    return found.st_dev, found.st_ino
