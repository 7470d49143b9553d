"""Data sets on disk through the adapter: recognised, read, written as a whole or not at all, and replayed."""

from __future__ import annotations

import subprocess
import sys

import pytest
from datasets import (
    Dataset,
    DatasetDict,
    Image,
    are_progress_bars_disabled,
    load_dataset,
    load_from_disk,
)
from hf_data import ADAPTER, LABELS, apply, split

import evosplit
from evosplit import EvoSplitError, LabelCounts, Split
from evosplit_plugins.audit import audit
from evosplit_plugins.hf.adapter import HfReading, HfWriting
from evosplit_plugins.options import options_of
from evosplit_plugins.request import Request
from evosplit_plugins.walk import split_with


def ids(splits):
    """Give the ids of each split."""
    return {name: part["image_id"][:] for name, part in splits.items()}


@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_split_writes_what_datasets_loads(saved, data, tmp_path, form):
    """Every row comes back once, with its picture, features and class names; the report names the column."""
    out = tmp_path / "out"
    outcome = split(saved, out, (8, 1, 1), format=form)
    splits = load_from_disk(str(out)) if form == "arrow" else load_dataset(str(out))
    assert {name: len(part) for name, part in splits.items()} == {"train": 32, "validation": 4, "test": 4}
    assert splits["train"].features == data.features
    assert splits["test"][0]["image"].size == (4, 4)
    assert sorted(key for part in ids(splits).values() for key in part) == list(range(100, 140))
    made = Split.load(out / "split.json")
    assert [100 + row for row in made.ids("test").tolist()] == ids(splits)["test"]
    assert made.source["inputs"] == [str(saved)]
    assert "The labels are those of column objects.category (list of ClassLabel)." in outcome.split.notes
    folders = [out / "data"] if form == "parquet" else [out / name for name in splits]
    assert outcome.files == (*folders, out / "split.json")
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


def test_progress_is_one_bar(saved, tmp_path):
    """It never falls, ends at 1, and names reading and writing; the bars of datasets are back afterwards."""
    seen = []
    shown = not are_progress_bars_disabled()
    split(saved, tmp_path / "out", on_progress=lambda done, message: seen.append((done, message)))
    fractions = [done for done, _ in seen]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1
    assert {message.partition(" ")[0] for _, message in seen} >= {"reading", "writing"}
    assert are_progress_bars_disabled() != shown


def test_audit_measures_what_was_written(saved, tmp_path):
    """The audit of an output gives the measures that the split had, of the same labels."""
    made = split(saved, tmp_path / "out", (8, 1, 1), reading={"label_column": "objects.category"}).split
    source = ADAPTER.read_subsets([str(tmp_path / "out")], HfReading())
    found = audit(source, compare=False).split
    assert found.measures.to_dict() == pytest.approx(made.measures.to_dict())
    assert found.names == ("train", "validation", "test")
    assert source.reading["label_column"] == "objects.category"


@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_folds_are_one_directory_each(saved, tmp_path, form):
    """Each fold loads as train and test; a replay writes the same; an audit takes the test sets."""
    out = tmp_path / "out"
    load = load_from_disk if form == "arrow" else load_dataset
    split(saved, out, folds=4, format=form)
    folds = [load(str(out / f"fold{j}")) for j in range(4)]
    assert sorted(key for fold in folds for key in ids(fold)["test"]) == list(range(100, 140))
    assert [len(fold["train"]) for fold in folds] == [30] * 4
    apply(saved, out / "split.json", tmp_path / "again")
    assert [ids(load_from_disk(str(tmp_path / "again" / f"fold{j}"))) for j in range(4)] == [ids(f) for f in folds]
    assert ADAPTER.detect([str(out)])
    source = ADAPTER.read_subsets([str(out)], HfReading())
    assert source.subsets.names == ("fold0", "fold1", "fold2", "fold3")
    assert source.subsets.sizes == (10, 10, 10, 10)


def test_apply_replays_a_manifest_by_key(saved, tmp_path):
    """A split of another adapter, by image ids, is written as it says, by the key or by a column that fits."""
    counts = LabelCounts.from_lists(LABELS, ids=range(139, 99, -1))
    made = evosplit.split(counts, {"train": 30, "val": 10}, method="random")
    made.save(tmp_path / "split.json")
    for name, reading in (("keyed", {"key": "image_id"}), ("found", None)):
        outcome = apply(saved, tmp_path / "split.json", tmp_path / name, reading)
        assert ids(load_from_disk(str(tmp_path / name)))["val"] == sorted(made.ids("val").tolist())
        assert outcome.split.counts is not None


def _write_parquet(ds, folder):
    ds.to_parquet(str(folder / "a.parquet"))


def _write_json(ds, folder):
    ds.remove_columns("image").to_json(str(folder / "a.jsonl"))


def _write_csv(ds, folder):
    tags = [",".join("abc"[label] for label in labels) for labels in LABELS]
    Dataset.from_dict({"image_id": ds["image_id"][:], "labels": tags}).to_csv(str(folder / "a.csv"))


def _write_images(ds, folder):
    for row in ds.select(range(12)):
        place = folder / f"kind{row['image_id'] % 2}"
        place.mkdir(exist_ok=True)
        row["image"].save(place / f"{row['image_id']}.png")


@pytest.mark.parametrize(
    ("write", "reading", "column"),
    [
        (_write_parquet, {}, "objects.category"),
        (_write_json, {}, "objects.category"),
        (_write_csv, {"delimiter": ","}, "labels"),
        (_write_images, {}, "label"),
    ],
)
def test_folders_of_files_are_sources(data, tmp_path, write, reading, column):
    """Parquet, json, csv and image folders are split like saved data sets; pictures end up inside."""
    folder = tmp_path / "files"
    folder.mkdir()
    write(data, folder)
    split(folder, tmp_path / "out", reading=reading, format="parquet")
    assert Split.load(tmp_path / "out" / "split.json").source["reading"]["label_column"] == column
    splits = load_dataset(str(tmp_path / "out"))
    assert list(splits) == ["train", "test"]
    if write is _write_images:
        stored = splits["train"].cast_column("image", Image(decode=False))[0]["image"]
        assert stored["bytes"]


@pytest.mark.parametrize("suffix", ["parquet", "jsonl", "csv", "tsv"])
def test_single_files_are_sources(tmp_path, suffix):
    """One file is a source too."""
    table = Dataset.from_dict({"label": ["x", "y"] * 5, "n": range(10)})
    path = str(tmp_path / f"a.{suffix}")
    if suffix == "parquet":
        table.to_parquet(path)
    elif suffix == "jsonl":
        table.to_json(path)
    else:
        table.to_csv(path, sep="\t" if suffix == "tsv" else ",")
    split(path, tmp_path / "out")
    assert len(load_from_disk(str(tmp_path / "out"))["train"]) == 5


def test_splits_of_the_source_can_be_chosen(data, tmp_path):
    """Of a DatasetDict all splits are joined, or those that were named; a replay takes the same."""
    DatasetDict({"train": data.select(range(30)), "test": data.select(range(30, 40))}).save_to_disk(
        str(tmp_path / "source")
    )
    split(tmp_path / "source", tmp_path / "all")
    assert sum(map(len, load_from_disk(str(tmp_path / "all")).values())) == 40
    split(tmp_path / "source", tmp_path / "part", reading={"source_split": ["train"]})
    assert sum(map(len, load_from_disk(str(tmp_path / "part")).values())) == 30
    apply(tmp_path / "source", tmp_path / "part" / "split.json", tmp_path / "again")
    assert ids(load_from_disk(str(tmp_path / "again"))) == ids(load_from_disk(str(tmp_path / "part")))


def test_splits_of_the_source_can_stay(data, tmp_path):
    """`locked` names them."""
    parts = {"train": data.select(range(36)), "test": data.select(range(36, 40))}
    DatasetDict(parts).save_to_disk(str(tmp_path / "source"))
    request = Request(ratios=(30, 10), locked=["test"], method="random")
    split_with(ADAPTER, [str(tmp_path / "source")], request, output=tmp_path / "out")
    assert set(range(136, 140)) <= set(load_from_disk(str(tmp_path / "out"))["test"]["image_id"])


BAD_INPUT = {
    "no such source": ("{tmp}/none/at/all", {}, {}, "there is no directory or file"),
    "an empty folder": ("{tmp}/empty", {}, {}, "cannot load"),
    "a file of another kind": ("{tmp}/notes.txt", {}, {}, r"is no \.parquet, \.json"),
    "an empty file": ("{tmp}/empty.json", {}, {}, r"empty\.json' is empty; there is nothing to split"),
    "a damaged file": ("{tmp}/broken.parquet", {}, {}, "cannot load"),
    "an unknown source split": ("{tmp}/source", {"source_split": "dev"}, {}, "source_split='dev' is no split of"),
    "an unknown column": ("{tmp}/source", {"label_column": "objects.kind"}, {}, "label_column='objects.kind' is no"),
    "a refused name": ("{tmp}/source", {}, {"ratios": {"train": 1, "val-2": 1}}, "refuses the split name 'val-2'"),
    "a size that is none": ("{tmp}/source", {}, {"max_shard_size": "many"}, "max_shard_size='many' is no size"),
    "no output": ("{tmp}/source", {}, {"output": None}, "output=None names no directory"),
    "empty output": ("{tmp}/source", {}, {"output": ""}, "output='' names no directory"),
}


@pytest.mark.parametrize(("source", "reading", "writing", "message"), BAD_INPUT.values(), ids=BAD_INPUT.keys())
def test_bad_input_is_named_and_nothing_is_written(saved, tmp_path, source, reading, writing, message):
    """Each mistake is named, before the search."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "empty.json").touch()
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(EvoSplitError, match=message):
        split(source.format(tmp=tmp_path), reading=reading, **{"output": tmp_path / "out", **writing})
    assert not (tmp_path / "out").exists()


def test_audit_needs_splits(saved):
    """A data set without splits cannot be audited."""
    with pytest.raises(EvoSplitError, match="pass a DatasetDict with two or more"):
        ADAPTER.read_subsets([str(saved)], HfReading())


def test_what_it_recognises(data, saved, tmp_path):
    """Saved data sets, files of parquet, Arrow and JSON lines, and their folders; no COCO files, nothing absent."""
    made = {name: tmp_path / name for name in ("dict", "files", "hub", "coco", "empty")}
    DatasetDict({"train": data}).save_to_disk(str(made["dict"]))
    for name in ("files", "hub/data", "coco/annotations", "empty"):
        (tmp_path / name).mkdir(parents=True)
    data.to_parquet(str(tmp_path / "files" / "a.parquet"))
    data.to_parquet(str(tmp_path / "hub" / "data" / "train-00000-of-00001.parquet"))
    for name in ("coco/annotations/instances_train.json", "instances.json", "lines.jsonl", "table.csv"):
        (tmp_path / name).write_text("{}")
    known = [saved, made["dict"], made["files"], made["hub"], made["files"] / "a.parquet", tmp_path / "lines.jsonl"]
    assert all(ADAPTER.detect([str(path)]) for path in known)
    others = [made["coco"], made["empty"], tmp_path / "instances.json", tmp_path / "table.csv", tmp_path / "gone"]
    assert not any(ADAPTER.detect([str(path)]) for path in others)
    assert not ADAPTER.detect([str(saved), str(made["dict"])])


def test_one_label_column_is_taken_by_itself():
    """A list of one column is that column, whose labels have no prefix."""
    assert HfReading(label_column=["labels"]) == HfReading(label_column="labels")
    assert HfReading(label_column=["a", "b"]).label_column == ("a", "b")


def test_options_have_flags_without_the_library():
    """The module of the adapter loads no `datasets`, and says what is missing when it is needed."""
    assert [each.flag for each in options_of(HfReading)][:2] == ["--label-column", "--key"]
    assert {each.flag for each in options_of(HfWriting)} >= {"--format", "--max-shard-size", "--overwrite"}
    code = (
        "import sys; sys.modules['datasets'] = None; sys.modules['pyarrow'] = None\n"
        "from evosplit_plugins.hf.adapter import HfReading, HuggingFaceAdapter\n"
        "HuggingFaceAdapter().detect(['x']); HuggingFaceAdapter().read(['x'], HfReading())"
    )
    environment = {"PYTHONPATH": ":".join(entry for entry in sys.path if entry)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert 'pip install "evosplit-plugins[hf]"' in done.stderr
