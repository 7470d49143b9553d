"""`evosplit hf` on real directories, in the process and, once, as a user starts it."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import PIL.Image
import pytest
from datasets import (
    ClassLabel,
    Dataset,
    DatasetDict,
    Features,
    Image,
    Sequence,
    Value,
    load_dataset,
    load_from_disk,
)

import evosplit
from evosplit import LabelCounts, Split
from evosplit_plugins.cli import main

KINDS = ClassLabel(names=["ant", "bee", "cow"])
LABELS = [[i % 3, i % 2] for i in range(40)]


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """Keep what load_dataset converts out of the user's cache."""
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")


@pytest.fixture
def data():
    """Make forty rows with real pictures and two labels each."""
    picture = io.BytesIO()
    PIL.Image.new("RGB", (4, 4), "red").save(picture, "png")
    rows = {
        "image_id": range(100, 140),
        "image": [{"bytes": picture.getvalue(), "path": None}] * 40,
        "objects": [{"category": labels} for labels in LABELS],
    }
    features = Features({"image_id": Value("int64"), "image": Image(), "objects": Sequence({"category": KINDS})})
    return Dataset.from_dict(rows, features=features)


@pytest.fixture
def saved(data, tmp_path):
    """Save the rows with save_to_disk."""
    data.save_to_disk(str(tmp_path / "source"))
    return tmp_path / "source"


def run(*words):
    """Run the command with a search that takes no time."""
    extra = ["--method", "random"] if words[1] == "split" else []
    return main([*map(str, words), *extra])


def ids(splits):
    """Give the ids of each split."""
    return {name: part["image_id"][:] for name, part in splits.items()}


@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_split_writes_what_datasets_loads(saved, data, tmp_path, capsys, form):
    """Every row comes back once, with its picture, features and class names; the report names the column."""
    out = tmp_path / "out"
    assert (
        run(
            "hf",
            "split",
            saved,
            "-o",
            out,
            "-s",
            "train:0.8",
            "-s",
            "validation:0.1",
            "-s",
            "test:0.1",
            "--format",
            form,
        )
        == 0
    )
    splits = load_from_disk(str(out)) if form == "arrow" else load_dataset(str(out))
    assert {name: len(part) for name, part in splits.items()} == {"train": 32, "validation": 4, "test": 4}
    assert splits["train"].features == data.features
    assert splits["test"][0]["image"].size == (4, 4)
    assert sorted(key for part in ids(splits).values() for key in part) == list(range(100, 140))
    split = Split.load(out / "split.json")
    assert [100 + row for row in split.ids("test").tolist()] == ids(splits)["test"]
    shown = capsys.readouterr().out
    assert "column objects.category (list of ClassLabel)" in " ".join(shown.split())
    assert "wrote:" in shown
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


def test_audit_measures_what_was_written(saved, tmp_path, capsys):
    """The audit of an output gives the measures that the split had, of the same labels."""
    out = tmp_path / "out"
    words = ("--label-column", "objects.category", "--ratios", "8:1:1", "--json")
    assert run("hf", "split", saved, "-o", out, *words) == 0
    made = json.loads(capsys.readouterr().out)
    assert run("hf", "audit", out, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["measures"] == pytest.approx(made["measures"])
    assert list(found["sizes"]) == ["train", "validation", "test"]
    assert found["settings"]["label_column"] == "objects.category"


def test_folds_are_one_directory_each(saved, tmp_path):
    """Each fold loads as train and test; a replay of the manifest writes the same."""
    assert run("hf", "split", saved, "-o", tmp_path / "out", "--folds", "4", "--quiet") == 0
    folds = [load_from_disk(str(tmp_path / "out" / f"fold{j}")) for j in range(4)]
    assert sorted(key for fold in folds for key in ids(fold)["test"]) == list(range(100, 140))
    assert [len(fold["train"]) for fold in folds] == [30] * 4
    assert run("hf", "apply", tmp_path / "out" / "split.json", saved, "-o", tmp_path / "again", "--quiet") == 0
    assert [ids(load_from_disk(str(tmp_path / "again" / f"fold{j}"))) for j in range(4)] == [ids(f) for f in folds]


def test_apply_replays_a_manifest_by_key(saved, tmp_path, capsys):
    """A split of another door, by image ids, is written as it says."""
    counts = LabelCounts.from_lists(LABELS, ids=range(139, 99, -1))
    split = evosplit.split(counts, {"train": 30, "val": 10}, method="random")
    split.save(tmp_path / "split.json")
    out = tmp_path / "out"
    assert run("hf", "apply", tmp_path / "split.json", saved, "-o", out, "--key", "image_id") == 0
    assert "val: 10 rows" in capsys.readouterr().out
    assert ids(load_from_disk(str(out)))["val"] == sorted(split.ids("val").tolist())


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
    ("write", "words", "column"),
    [
        (_write_parquet, (), "objects.category"),
        (_write_json, (), "objects.category"),
        (_write_csv, ("--delimiter", ","), "labels"),
        (_write_images, (), "label"),
    ],
)
def test_folders_of_files_are_sources(data, tmp_path, write, words, column):
    """Parquet, json, csv and image folders are split like saved data sets; pictures end up inside."""
    folder = tmp_path / "files"
    folder.mkdir()
    write(data, folder)
    assert (
        run(
            "hf",
            "split",
            folder,
            "-o",
            tmp_path / "out",
            "--ratios",
            "1:1",
            "--format",
            "parquet",
            "--quiet",
            *words,
        )
        == 0
    )
    assert Split.load(tmp_path / "out" / "split.json").settings["label_column"] == column
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
    assert run("hf", "split", path, "-o", tmp_path / "out", "--ratios", "1:1", "--quiet") == 0
    assert len(load_from_disk(str(tmp_path / "out"))["train"]) == 5


def test_splits_of_the_source_can_be_chosen(data, tmp_path):
    """Of a DatasetDict all splits are joined, or those that were named."""
    DatasetDict({"train": data.select(range(30)), "test": data.select(range(30, 40))}).save_to_disk(
        str(tmp_path / "source")
    )
    assert run("hf", "split", tmp_path / "source", "-o", tmp_path / "all", "--ratios", "1:1", "--quiet") == 0
    assert sum(map(len, load_from_disk(str(tmp_path / "all")).values())) == 40
    words = ("--source-split", "train", "--ratios", "1:1", "--quiet")
    assert run("hf", "split", tmp_path / "source", "-o", tmp_path / "part", *words) == 0
    assert sum(map(len, load_from_disk(str(tmp_path / "part")).values())) == 30


def test_large_subsets_become_several_files(saved, tmp_path):
    """Parquet shards have the names that the hub expects, and load in order."""
    words = ("--ratios", "1:1", "--format", "parquet", "--max-shard-size", "1", "--quiet")
    big = load_from_disk(str(saved))
    DatasetDict({str(i): big for i in range(20)}).save_to_disk(str(tmp_path / "big"))
    assert run("hf", "split", tmp_path / "big", "-o", tmp_path / "out", *words) == 0
    names = sorted(path.name for path in (tmp_path / "out" / "data").iterdir())
    assert names[0] == "test-00000-of-00004.parquet"
    assert len(names) == 8
    assert len(load_dataset(str(tmp_path / "out"))["train"]) == 400


def test_a_dry_run_writes_nothing(saved, tmp_path, capsys):
    """The report comes, the directory does not."""
    assert run("hf", "split", saved, "-o", tmp_path / "out", "--ratios", "1:1", "--dry-run") == 0
    assert "would write" in capsys.readouterr().out
    assert not (tmp_path / "out").exists()


def test_an_earlier_output_is_replaced_only_when_asked(saved, tmp_path, capsys):
    """Without --overwrite nothing changes; with it the old files are gone."""
    out = tmp_path / "out"
    assert run("hf", "split", saved, "-o", out, "--ratios", "1:1", "--quiet") == 0
    before = sorted(out.rglob("*"))
    assert run("hf", "split", saved, "-o", out, "--ratios", "2:1:1", "--quiet") == 2
    assert "is not empty; pass --overwrite" in capsys.readouterr().err
    assert sorted(out.rglob("*")) == before
    assert run("hf", "split", saved, "-o", out, "--ratios", "2:1:1", "--quiet", "--overwrite") == 0
    assert list(load_from_disk(str(out))) == ["train", "validation", "test"]


def test_overwriting_leaves_what_others_put_there(saved, tmp_path, capsys):
    """A card beside the subsets stays, and so does the manifest that is being replayed."""
    out, page = tmp_path / "out", tmp_path / "out" / "report.html"
    flags = ("hf", "split", saved, "-o", out, "--quiet", "--overwrite", "--effort", "fast")
    assert run(*flags, "--ratios", "2:1:1", "--report", page) == 0
    (out / "README.md").write_text("a card")
    assert run(*flags, "--ratios", "1:1", "--format", "parquet", "--max-shard-size", "1KB") == 0
    found = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    shards = {name for name in found if name.startswith("data/")}
    assert found - shards == {".evosplit.json", "README.md", "split.json"}
    assert len(shards) == 2
    assert run("hf", "apply", out / "split.json", saved, "-o", out, "--overwrite") == 2
    assert "split.json is the input" in capsys.readouterr().err
    (next(out.rglob("*.parquet"))).write_text("mine")
    assert run(*flags, "--ratios", "1:1") == 2
    assert "was changed since EvoSplit wrote it" in capsys.readouterr().err


def test_an_interrupted_write_leaves_everything_as_it_was(saved, tmp_path, monkeypatch):
    """Ctrl-C in the middle of writing removes what was begun and keeps the earlier output."""
    out = tmp_path / "out"
    assert run("hf", "split", saved, "-o", out, "--ratios", "1:1", "--quiet") == 0
    before = sorted(tmp_path.rglob("*"))

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(Split, "save", interrupted)
    assert run("hf", "split", saved, "-o", out, "--ratios", "2:1:1", "--quiet", "--overwrite") == 130
    assert sorted(tmp_path.rglob("*")) == before


BAD_INPUT = {
    "no such source": (("{tmp}/none/at/all",), "there is no directory or file"),
    "an empty folder": (("{tmp}/empty",), "cannot load"),
    "a file of another kind": (("{tmp}/notes.txt",), r"is no .parquet, .json"),
    "a damaged file": (("{tmp}/broken.parquet",), "cannot load"),
    "an unknown source split": (("{source}", "--source-split", "dev"), "has no split 'dev'"),
    "an unknown column": (("{source}", "--label-column", "objects.kind"), "no column 'objects.kind'"),
    "a refused name": (("{source}", "-s", "train:0.5", "-s", "val-2:0.5"), "refuses the split name 'val-2'"),
    "a size that is none": (("{source}", "--max-shard-size", "many"), "'many' is no size"),
}


@pytest.mark.parametrize(("words", "message"), BAD_INPUT.values(), ids=BAD_INPUT.keys())
def test_bad_input_is_one_line_and_exit_code_2(saved, tmp_path, capsys, words, message):
    """Nothing is written, and one line says what is wrong."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 not really")
    words = [word.format(tmp=tmp_path, source=saved) for word in words]
    ratios = () if "-s" in words else ("--ratios", "1:1")
    assert run("hf", "split", *words, "-o", tmp_path / "out", *ratios) == 2
    error = capsys.readouterr().err.strip().splitlines()
    assert message in error[-1].replace(r"\.", ".")
    assert not (tmp_path / "out").exists()


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
def test_outputs_that_would_destroy_something_are_refused(saved, tmp_path, capsys, place, message):
    """Neither the source nor a directory of something else is ever replaced, --overwrite or not."""
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("years of work")
    (tmp_path / "file").write_text("x")
    before = sorted(tmp_path.rglob("*"))
    assert run("hf", "split", saved, "-o", tmp_path / place, "--ratios", "1:1", "--overwrite") == 2
    assert message in capsys.readouterr().err
    assert sorted(tmp_path.rglob("*")) == before


def test_audit_needs_splits(saved, capsys):
    """A data set without splits cannot be audited."""
    assert run("hf", "audit", saved) == 2
    assert "pass a DatasetDict with two or more" in capsys.readouterr().err


def test_the_command_runs_as_a_user_starts_it(saved, tmp_path):
    """As a process of its own, with the default search and nothing on stderr."""
    command = [sys.executable, "-c", "from evosplit_plugins.cli import main; raise SystemExit(main())"]
    words = [
        "hf",
        "split",
        str(saved),
        "-o",
        str(tmp_path / "out"),
        "--ratios",
        "8:1:1",
        "--effort",
        "fast",
        "--json",
    ]
    done = subprocess.run([*command, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["sizes"] == {"train": 32, "validation": 4, "test": 4}
    assert done.stderr == ""
