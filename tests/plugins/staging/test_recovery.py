"""Wherever a run is killed, the next one puts all in order; runs at once do not disturb each other."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
from functools import partial
from pathlib import Path, PurePosixPath

import pytest
from coco_files import tree, write
from killing import run_killed, start_killed
from staged import files, fill, made_with

from evosplit import EvoSplitError
from evosplit_plugins.staging import RECORD, Plan, recovery, settle


@pytest.mark.parametrize("existing", [False, True])
def test_killed_at_any_point_the_next_run_puts_all_in_order(tmp_path, step, existing):
    """All files of a plan, in three folders, are the old ones or the new ones, wherever the process was killed."""
    write(tmp_path / "source", "picture")
    write(tmp_path / "out" / "notes", "mine")
    made, page = made_with(1)
    outcomes = []
    if existing:
        fill(tmp_path, seed=0)
    old = files(tmp_path)
    for at in range(0, 1000, step):
        ended = run_killed(lambda: fill(tmp_path, seed=1), at)
        Plan(tmp_path / "out", reports=[tmp_path / "reports" / "x"], manifests=[tmp_path / "x"]).check()
        now = files(tmp_path)
        outcomes.append("old" if now == old else "new")
        if now != old:
            assert now.keys() == ({*old} - {place for place in old if "0/" in place}) | {
                "split.json",
                "reports/page.html",
                *(f"out/{name}" for name in (RECORD, "a", "only1/b", "deep/er/c")),
                *(f"out/pictures1/{mode}" for mode in ("symlink", "hardlink", "copy")),
            }
            assert (now["out/a"], now["out/notes"], now["source"]) == (b"a 1", b"mine", b"picture")
            assert json.loads(now["split.json"]) == made.to_manifest()
            assert now["reports/page.html"] == page.encode()
            assert not (tmp_path / "out" / "only0").exists()
            if existing:
                fill(tmp_path, seed=0)
            else:
                remove(tmp_path, old)
        if ended:
            break
    assert outcomes == sorted(outcomes, reverse=True)
    assert outcomes.count("old") > 30 // step
    assert outcomes.count("new") > 5 // step


def remove(base, kept):
    """Remove every file but some, and the folders that are empty then."""
    for path in sorted(base.rglob("*"), reverse=True):
        if path.is_dir() and not path.is_symlink():
            with contextlib.suppress(OSError):
                path.rmdir()
        elif path.relative_to(base).as_posix() not in kept:
            path.unlink()


def test_a_killed_recovery_is_recovered_from(tmp_path, step):
    """Killed while it puts things in order, the next run does it."""
    write(tmp_path / "source", "picture")
    fill(tmp_path, seed=0)
    old = files(tmp_path)
    made_with(1)
    recover = Plan(tmp_path / "out").check
    points = 0
    for at in range(0, 200, 3 * step):
        if run_killed(lambda: fill(tmp_path, seed=1), at):
            break
        for again in itertools.count():
            if run_killed(recover, again):
                break
        recover()
        now = files(tmp_path)
        assert not [path for path in now if ".evosplit-" in path]
        if now != old:
            assert now["out/a"] == b"a 1"
            fill(tmp_path, seed=0)
        points += again
    assert points > 50 // step


def test_nothing_is_open_in_a_folder_that_is_removed(tmp_path, monkeypatch):
    """NFS and FUSE would keep the file, and with it the folder, which would look like a run that is still writing."""
    removed = []

    def watch(folder, **options):
        opened = [str(each.readlink()) for each in Path("/proc/self/fd").glob("*") if each.is_symlink()]
        removed.append([path for path in opened if path.startswith(f"{folder}/")])
        rmtree(folder, **options)

    rmtree = shutil.rmtree
    write(tmp_path / "source", "picture")
    monkeypatch.setattr(shutil, "rmtree", watch)
    fill(tmp_path, seed=0)
    run_killed(lambda: fill(tmp_path, seed=1), 30)
    fill(tmp_path, seed=1)
    assert len(removed) > 5
    assert not any(removed)


def test_two_runs_do_not_write_at_once(tmp_path):
    """While a run writes into a directory, another is refused and leaves it alone."""
    writing = Plan(tmp_path / "out", writer="test", files=[PurePosixPath("a")])
    with writing.stage() as stage:
        with pytest.raises(EvoSplitError, match="another run is writing to"):
            writing.check()
        stage.path(PurePosixPath("a")).write_text("a")
        stage.commit()
    assert set(tree(tmp_path / "out")) == {"a", RECORD}


@pytest.mark.parametrize("moment", ["open", "flock"])
def test_a_run_that_is_taken_for_a_killed_one_gives_up(tmp_path, monkeypatch, moment):
    """Between making its folder and holding it, a run looks like one that was killed: it then writes nothing."""

    def meanwhile(change, *arguments):
        run_killed(lambda: settle(tmp_path / "out"), 1000)  # as another process that is about to write there
        return change(*arguments)

    where = {"open": os, "flock": recovery.fcntl}[moment]
    change = getattr(where, moment)
    locks = {"open": lambda path, *_: str(path).endswith("lock"), "flock": lambda *_: True}[moment]
    once = iter([True])

    def changed(*arguments, **options):
        if locks(*arguments) and next(once, False):
            return meanwhile(change, *arguments)
        return change(*arguments, **options)

    monkeypatch.setattr(where, moment, changed)
    with (
        pytest.raises(EvoSplitError, match="another run is writing to"),
        Plan(tmp_path / "out", writer="test", files=["a"]).stage(),
    ):
        pytest.fail("it went on")
    assert next(once, None) is None
    settle(tmp_path / "out")  # where a folder stays as long as a file in it is open
    assert set(tree(tmp_path)) <= {"out"}


def test_many_runs_at_once_leave_one_of_them(tmp_path):
    """Runs that are started at once, some of them killed, leave the files of one of them and nothing else."""
    write(tmp_path / "source", "picture")
    fill(tmp_path, seed=0)
    for seed in (1, 2, 3):
        made_with(seed)

    def work(seed):
        for _ in range(6):
            with contextlib.suppress(EvoSplitError):
                fill(tmp_path, seed=seed)

    processes = [start_killed(partial(work, seed), at) for seed, at in ((1, 10_000), (2, 50), (3, 100))]
    assert all(os.waitpid(process, 0) for process in processes)
    Plan(tmp_path / "out", reports=[tmp_path / "reports" / "x"], manifests=[tmp_path / "x"]).check()
    found = files(tmp_path)
    seed = int(found["out/a"][-1:])
    assert found["out/deep/er/c"] == f"deep/er/c {seed}".encode()
    assert json.loads(found["split.json"]) == made_with(seed)[0].to_manifest()
    assert {place for place in found if "pictures" in place or "only" in place} == {
        f"out/only{seed}/b",
        *(f"out/pictures{seed}/{mode}" for mode in ("symlink", "hardlink", "copy")),
    }
    assert not [place for place in tree(tmp_path) if ".evosplit-" in place]


def test_folders_of_others_are_let_be(tmp_path):
    """A folder that merely looks like one of ours is neither emptied nor removed."""
    write(tmp_path / ".evosplit-file-00000000" / "thesis", "years of work")
    write(tmp_path / ".evosplit-notes" / "new", "mine")
    before = tree(tmp_path)
    Plan(tmp_path, files=[PurePosixPath("a")]).check()
    assert tree(tmp_path) == before
