"""What is written: shards, over an earlier output only when asked, and whole or not at all."""

from __future__ import annotations

import pytest
from datasets import (
    DatasetDict,
    load_dataset,
    load_from_disk,
)
from hf_data import apply, split

from evosplit import EvoSplitError
from evosplit_plugins.staging import Staging


def test_large_subsets_become_several_files(saved, tmp_path):
    """Parquet shards have the names that the hub expects, and load in order."""
    big = load_from_disk(str(saved))
    DatasetDict({str(i): big for i in range(20)}).save_to_disk(str(tmp_path / "big"))
    split(tmp_path / "big", tmp_path / "out", format="parquet", max_shard_size="1")
    names = sorted(path.name for path in (tmp_path / "out" / "data").iterdir())
    assert names[0] == "test-00000-of-00004.parquet"
    assert len(names) == 8
    assert len(load_dataset(str(tmp_path / "out"))["train"]) == 400


def test_a_dry_run_writes_only_the_page(saved, tmp_path):
    """The split comes and says what it would write; the directory does not."""
    outcome = split(saved, tmp_path / "out", dry_run=True)
    assert outcome.split.sizes == (20, 20)
    assert outcome.files == tuple(tmp_path / "out" / name for name in ("train", "test", "split.json"))
    assert not (tmp_path / "out").exists()
    split(saved, tmp_path / "out", dry_run=True, report=tmp_path / "page.html")
    assert "<html" in (tmp_path / "page.html").read_text()
    assert not (tmp_path / "out").exists()


def test_an_earlier_output_is_replaced_only_when_asked(saved, tmp_path):
    """Without overwrite nothing changes; with it the old files are gone."""
    out = tmp_path / "out"
    split(saved, out)
    before = sorted(out.rglob("*"))
    with pytest.raises(EvoSplitError, match="is not empty; pass overwrite=True"):
        split(saved, out, (2, 1, 1))
    assert sorted(out.rglob("*")) == before
    split(saved, out, (2, 1, 1), overwrite=True)
    assert list(load_from_disk(str(out))) == ["train", "validation", "test"]


def test_overwriting_leaves_what_others_put_there(saved, tmp_path):
    """A card beside the subsets stays, and so does the manifest that is being replayed."""
    out = tmp_path / "out"
    split(saved, out, (2, 1, 1), report=out / "report.html")
    (out / "README.md").write_text("a card")
    split(saved, out, format="parquet", max_shard_size="1KB", overwrite=True)
    found = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    shards = {name for name in found if name.startswith("data/")}
    assert found - shards == {".evosplit.json", "README.md", "split.json"}
    assert len(shards) == 2
    with pytest.raises(EvoSplitError, match=r"holds the split\.json that is replayed"):
        apply(saved, out / "split.json", out, overwrite=True)
    (next(out.rglob("*.parquet"))).write_text("mine")
    with pytest.raises(EvoSplitError, match="was changed since EvoSplit wrote it"):
        split(saved, out, overwrite=True)


def test_an_interrupted_write_leaves_everything_as_it_was(saved, tmp_path, monkeypatch):
    """Ctrl-C in the middle of writing removes what was begun and keeps the earlier output."""
    out = tmp_path / "out"
    split(saved, out)
    before = sorted(tmp_path.rglob("*"))

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(Staging, "write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        split(saved, out, (2, 1, 1), overwrite=True)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("source", "overlap"),
        ("source/inside", "overlap"),
        (".", "overlap"),
        ("full", "holds no earlier split"),
        ("file", "is a file"),
    ],
)
def test_outputs_that_would_destroy_something_are_refused(saved, tmp_path, place, message):
    """Neither the source nor a directory of something else is ever replaced, overwrite or not."""
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("years of work")
    (tmp_path / "file").write_text("x")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(EvoSplitError, match=message):
        split(saved, tmp_path / place, overwrite=True)
    assert sorted(tmp_path.rglob("*")) == before
