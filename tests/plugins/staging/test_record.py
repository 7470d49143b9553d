"""What was changed since it was written is known, and not taken away."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import pytest
from coco_files import write
from file_systems import no_privileges
from staged import files, fill, made_with

from evosplit import EvoSplitError
from evosplit_plugins.staging import RECORD, Plan, Run, read_record
from evosplit_plugins.staging.record import written_record


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda out, source: (out / "a").write_text("mine now"), "a was changed since EvoSplit wrote it"),
        (lambda out, source: os.utime(out / "a", ns=(1, 1)), "a was changed since EvoSplit wrote it"),
        (lambda out, source: source.unlink(), "copy is a copy of .*source, which is gone or has changed"),
        (lambda out, source: relinked(out / "pictures0" / "symlink", out), "was put in place of a link of EvoSplit"),
        (lambda out, source: relinked(out / "a", out), "a was put in place of a file of EvoSplit"),
        (lambda out, source: replaced(out / "pictures0" / "hardlink"), "hardlink is the last link to its picture"),
        (lambda out, source: write(out / RECORD, '{"format": "x", "runs": []}'), "is not a valid record"),
        (lambda out, source: recorded(out, "../source"), r"is not a valid record .* \(it names '../so"),
        (lambda out, source: recorded(out, str(source)), "is not a valid record of what EvoSplit wrote there"),
    ],
    ids=["content", "time", "source gone", "link", "link for a file", "last link", "record", "above", "absolute"],
)
def test_what_changed_since_is_not_taken_away(tmp_path, change, message):
    """A file of the earlier run that is the user's by now stops everything."""
    source = write(tmp_path / "source", "picture")
    fill(tmp_path, seed=0)
    change(tmp_path / "out", source)
    before = files(tmp_path)
    with pytest.raises(EvoSplitError, match=message):
        fill(tmp_path, seed=1)
    assert files(tmp_path) == before


@pytest.mark.skipif(os.name == "nt", reason="there are other permissions")
def test_a_record_that_may_not_be_read_is_not_called_broken(tmp_path):
    """It is to be made readable, not deleted, since it alone tells what may be replaced."""
    write(tmp_path / "source", "picture")
    fill(tmp_path, seed=0)
    before = files(tmp_path)
    record = tmp_path / "out" / RECORD
    mode = record.stat().st_mode
    record.chmod(0)
    if record.stat().st_mode == mode:
        return  # a file system without permissions
    with no_privileges(), pytest.raises(EvoSplitError, match=r"cannot read .*Permission denied; make it readable, or"):
        fill(tmp_path, seed=1)
    record.chmod(mode)
    assert files(tmp_path) == before


def relinked(path, target):
    """Put a link in place of something."""
    path.unlink()
    path.symlink_to(target)


def replaced(path):
    """Put a file in place of something."""
    path.unlink()
    path.write_text("mine")


def recorded(out, place):
    """Add a file to the record."""
    record = json.loads((out / RECORD).read_text())
    record["runs"][0]["files"][place] = {"size": 7, "mtime_ns": (out / place).stat().st_mtime_ns}
    write(out / RECORD, record)


def test_a_manifest_of_other_data_is_not_replaced(tmp_path):
    """The split of something else would be lost; a later one of the same data takes the place of the first."""
    path = tmp_path / "split.json"
    one, other = ({"adapter": "test", "inputs": [name], "reading": {}} for name in ("one", "other"))
    replace(made_with(0)[0], source=one).save(path)
    Plan(None, manifests=[path], source={**one, "reading": {"more": 1}}).check()
    with pytest.raises(EvoSplitError, match=r"split\.json holds a split of one \(test\), which would be lost; choose"):
        Plan(None, manifests=[path], source=other).check()


def test_a_record_is_read_as_it_was_written(tmp_path):
    """Names of any kind, what is known of each file, the runs in their order."""
    runs = [
        Run("coco", {"a b/ü": {"size": 1, "mtime_ns": 2}, "link": {"link": "../x"}, "\udcff": {"hard": True}}, ["a b"]),
        Run("yolo", {"c": {"size": 3, "mtime_ns": 4, "source": "/y"}}, []),
    ]
    (tmp_path / RECORD).write_text(written_record(runs))
    assert read_record(tmp_path) == runs
    assert read_record(tmp_path / "nowhere") == []


@pytest.mark.parametrize("place", ["", ".", "a/../b", "/a", "a//b", "a/", "./a"])
def test_a_record_names_places_below_only(tmp_path, place):
    """A record may come from anywhere: what does not lie below the folder, or is not spelled plainly, is refused."""
    for run in (Run("coco", {place: {}}, []), Run("coco", {}, [place])):
        (tmp_path / RECORD).write_text(written_record([run]))
        with pytest.raises(EvoSplitError, match="is not a valid record of what EvoSplit wrote there"):
            read_record(tmp_path)
