"""Splitting and replaying data sets from Python, on the real `datasets` library."""

from __future__ import annotations

import inspect
import json
import pickle
import subprocess
import sys

import numpy as np
import pytest
from datasets import ClassLabel, Dataset, DatasetDict, Features, IterableDatasetDict, Sequence
from datasets.distributed import split_dataset_by_node
from hf_data import KINDS, LABELLED, WORDS, as_lists, dataset, stream

import evosplit
from evosplit import EvoSplitError, LabelCounts, Split
from evosplit_plugins import evosplit_hf
from evosplit_plugins.hf import apply_split, read_counts
from evosplit_plugins.hf.adapter import HfReading
from evosplit_plugins.hf.api import SplitOptions
from evosplit_plugins.options import options_of
from evosplit_plugins.request import Request

HALVES = (0.5, 0.5)


def test_the_result_keeps_order_features_format_and_info():
    """Subsets in the order asked for, rows in source order, everything else as it was."""
    ds = dataset("labels", [[i % 3, i % 2] for i in range(40)], Sequence(KINDS)).add_column("row", range(40))
    ds.info.description = "forty"
    ds = ds.with_format("numpy", columns=["row"])
    splits = evosplit_hf(ds, {"test": 0.25, "train": 0.5, "dev.small": 0.25}, method="random")
    assert type(splits) is DatasetDict
    assert list(splits) == ["test", "train", "dev.small"]
    assert [len(part) for part in splits.values()] == [10, 20, 10]
    for part in splits.values():
        assert part.features == ds.features
        assert part.format == ds.format
        assert part.info.description == "forty"
        rows = part["row"][:].tolist()
        assert rows == sorted(rows)
    assert sorted(row for part in splits.values() for row in part["row"][:].tolist()) == list(range(40))


def test_labels_are_balanced_at_exact_sizes():
    """The default method gives each subset its share of each label."""
    rng = np.random.default_rng(0)
    lists = [rng.choice(5, size=rng.integers(0, 4), p=[0.4, 0.3, 0.2, 0.07, 0.03]).tolist() for _ in range(400)]
    ds = Dataset.from_dict({"labels": lists}, features=Features({"labels": Sequence(ClassLabel(num_classes=5))}))
    splits, split = evosplit_hf(ds, (0.8, 0.1, 0.1), effort="fast", return_split=True)
    assert [len(part) for part in splits.values()] == [320, 40, 40]
    assert list(splits) == ["train", "validation", "test"]
    random = split.report().baselines.random
    assert split.measures.ld <= random["ld"] / 3
    assert np.array_equal(read_counts(splits["test"]).totals, read_counts(ds).matrix[split.indices("test")].sum(axis=0))


def test_integers_are_exact_sizes_and_two_ratios_are_train_and_test():
    """Sizes are taken as they are."""
    ds = dataset("labels", WORDS)
    splits = evosplit_hf(ds, (5, 1), method="random")
    assert {name: len(part) for name, part in splits.items()} == {"train": 5, "test": 1}


def test_folds_give_a_train_and_test_pair_each():
    """Each row is tested once, and trained on in all other folds."""
    ds = Dataset.from_dict({"labels": [[i % 3] for i in range(20)], "row": range(20)})
    folds, split = evosplit_hf(ds, folds=3, label_column="labels", method="random", return_split=True)
    assert [list(fold) for fold in folds] == [["train", "test"]] * 3
    assert sorted(row for fold in folds for row in fold["test"]["row"]) == list(range(20))
    for fold in folds:
        assert sorted([*fold["train"]["row"], *fold["test"]["row"]]) == list(range(20))
    assert [len(fold["test"]) for fold in folds] == list(split.sizes)


def test_a_dataset_dict_is_merged_and_split_anew():
    """All rows of all splits come back, under the new names."""
    parts = DatasetDict(
        {
            "train": dataset("labels", [[0], [1], [2], [0]], Sequence(KINDS)).shuffle(seed=0),
            "test": dataset("labels", [[2, 2], [1]], Sequence(KINDS)),
        }
    )
    counts = read_counts(parts)
    assert as_lists(counts) == as_lists(read_counts(parts["train"])) + as_lists(read_counts(parts["test"]))
    splits = evosplit_hf(parts, {"a": 3, "b": 3}, method="random")
    assert sum(read_counts(part).totals for part in splits.values()).tolist() == counts.totals.tolist()
    assert splits["a"].features == parts["train"].features


def test_nothing_is_written_to_the_cache(tmp_path):
    """Splitting a data set on disk adds no file beside it."""
    dataset("labels", [[i % 3] for i in range(30)], Sequence(KINDS)).save_to_disk(str(tmp_path / "ds"))
    before = sorted(tmp_path.rglob("*"))
    ds = Dataset.load_from_disk(str(tmp_path / "ds"))
    evosplit_hf(ds, (0.8, 0.2), method="random")
    evosplit_hf(ds, folds=3, method="random", keep_in_memory=True)
    assert sorted(tmp_path.rglob("*")) == before


CACHED = """
import sys
from datasets import load_from_disk
from evosplit_plugins import evosplit_hf

def slow(batch):
    with open(sys.argv[1] + "/ran", "a") as log:
        log.write(str(len(batch["labels"])) + " ")
    return {"n": [len(labels) for labels in batch["labels"]]}

for kind in ("dataset", "dict"):
    ds = load_from_disk(sys.argv[1] + "/" + kind)
    splits = evosplit_hf(ds, (0.8, 0.2), effort="fast", seed=int(sys.argv[2]))
    print([part.map(slow, batched=True)._fingerprint for part in splits.values()])
"""


def test_a_new_process_with_the_same_seed_hits_the_cache_of_map(tmp_path):
    """Same seed, same fingerprints in every process, of a Dataset as of a DatasetDict; another seed, others."""
    ds = Dataset.from_dict({"labels": [[i % 3, i % 2] for i in range(60)]}, features=Features({"labels": [KINDS]}))
    ds.save_to_disk(str(tmp_path / "dataset"))
    DatasetDict({"train": ds.shuffle(seed=1), "test": ds}).save_to_disk(str(tmp_path / "dict"))
    script = tmp_path / "script.py"
    script.write_text(CACHED)

    def run(seed, hash_seed):
        command = [sys.executable, str(script), str(tmp_path), str(seed)]
        path = ":".join(entry for entry in sys.path if entry)
        environment = {
            "PYTHONPATH": path,
            "PYTHONHASHSEED": hash_seed,
            "HOME": str(tmp_path),
            "PATH": "/usr/bin",
        }
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    first = run(0, "1")
    ran = (tmp_path / "ran").read_text()
    assert len(first) == len(ran.split()) / 2 == 2
    assert run(0, "2") == first
    assert (tmp_path / "ran").read_text() == ran
    for now, before in zip(run(1, "1"), first, strict=True):
        assert now != before
    assert len((tmp_path / "ran").read_text().split()) == 2 * len(ran.split())


def test_a_stream_is_divided_by_key_whatever_its_order():
    """Sharded, shuffled or not: every row once, each key always in the same subset."""
    splits = evosplit_hf(stream(num_shards=4), {"train": 0.8, "test": 0.2}, key="id", effort="fast")
    assert type(splits) is IterableDatasetDict
    test = {row["id"] for row in splits["test"]}
    train = {row["id"] for row in splits["train"]}
    assert (len(train), len(test), len(train | test)) == (24, 6, 30)
    shuffled = evosplit_hf(stream(num_shards=4).shuffle(seed=5, buffer_size=7), (0.8, 0.2), key="id", effort="fast")
    assert {row["id"] for row in shuffled["test"]} == test
    reshuffled = splits["test"].shuffle(seed=1, buffer_size=3)
    assert {row["id"] for row in reshuffled} == test
    nodes = [split_dataset_by_node(splits["test"], rank=rank, world_size=2) for rank in range(2)]
    assert sorted(row["id"] for node in nodes for row in node) == sorted(test)
    assert {row["id"] for row in pickle.loads(pickle.dumps(splits["test"]))} == test


@pytest.mark.parametrize("form", [None, "numpy", "arrow"])
def test_a_stream_in_any_format(form):
    """A formatted stream is divided as a plain one."""
    try:
        stream().with_format(form).filter(bool)
    except ValueError as error:
        pytest.skip(f"these datasets filter no such stream: {error}")
    splits = evosplit_hf(stream().with_format(form), (0.8, 0.2), key="id", method="random")
    plain = evosplit_hf(stream(), (0.8, 0.2), key="id", method="random")
    ids = [int(np.asarray(row["id"]).reshape(-1)[0]) for row in splits["test"]]
    assert ids == [row["id"] for row in plain["test"]]


def test_folds_of_a_stream_and_a_dict_of_streams():
    """Folds and merging work on streams as on data sets."""
    folds = evosplit_hf(stream(), folds=3, key="id", method="random")
    assert sorted(row["id"] for fold in folds for row in fold["test"]) == list(range(100, 130))
    both = IterableDatasetDict({"a": stream().take(10), "b": stream().skip(10)})
    assert read_counts(both, key="id").n_samples == 30


def test_a_manifest_of_another_adapter_is_replayed_by_key(tmp_path):
    """A saved split of image ids divides a data set in any order, merged or streamed."""
    lists = [["x"], ["y", "y"], ["x", "y"], [], ["x"], ["y"]]
    ids = [40, 10, 30, 20, 50, 60]
    split = evosplit.split(LabelCounts.from_lists(lists, ids=ids), {"train": 4, "val": 2}, method="random")
    split.save(tmp_path / "split.json")
    again = Split.load(tmp_path / "split.json")
    ds = Dataset.from_dict({"image_id": sorted(ids)})
    val = set(split.ids("val").tolist())
    for source in (
        ds,
        ds.shuffle(seed=1),
        DatasetDict({"a": ds.select([0, 1]), "b": ds.select(range(2, 6))}),
        ds.to_iterable_dataset(),
    ):
        splits = apply_split(source, again, key="image_id")
        assert list(splits) == ["train", "val"]
        assert {row["image_id"] for row in splits["val"]} == val
        assert {row["image_id"] for row in splits["train"]} == set(ids) - val


def test_the_manifest_of_the_coco_adapter_divides_the_same_pictures(tmp_path):
    """A split that was made of a COCO file is replayed on the data set of its images."""
    pytest.importorskip("msgspec")
    from evosplit_plugins import evosplit_coco

    ids = [5, 3, 9, 1, 7, 8]
    coco = {
        "images": [{"id": i, "file_name": f"{i}.jpg", "width": 8, "height": 8} for i in ids],
        "annotations": [
            {"id": n, "image_id": i, "category_id": 1 + n % 2, "bbox": [0, 0, 1, 1], "area": 1, "iscrowd": 0}
            for n, i in enumerate(ids)
        ],
        "categories": [{"id": 1, "name": "ant"}, {"id": 2, "name": "bee"}],
    }
    (tmp_path / "instances.json").write_text(json.dumps(coco))
    split = evosplit_coco(
        tmp_path / "instances.json", tmp_path / "out", {"train": 4, "val": 2}, method="random", seed=3
    )
    ds = Dataset.from_dict({"image_id": sorted(ids)})
    splits = apply_split(ds, Split.load(tmp_path / "out" / "split.json"), key="image_id")
    assert {name: splits[name]["image_id"][:] for name in splits} == {
        name: sorted(split.ids(name).tolist()) for name in ("train", "val")
    }


def test_a_manifest_of_row_numbers_is_replayed_without_key(tmp_path):
    """What evosplit_hf saves, apply_split repeats, with the same fingerprints."""
    ds = dataset("labels", WORDS * 5)
    splits, split = evosplit_hf(ds, (0.8, 0.2), method="random", return_split=True)
    split.save(tmp_path / "split.json")
    again = apply_split(ds, Split.load(tmp_path / "split.json"))
    assert {name: part._fingerprint for name, part in again.items()} == {
        name: part._fingerprint for name, part in splits.items()
    }
    folds, split = evosplit_hf(ds, folds=3, method="random", return_split=True)
    assert [fold["test"]._fingerprint for fold in apply_split(ds, split, folds=True)] == [
        fold["test"]._fingerprint for fold in folds
    ]


def _split_of(ids):
    return evosplit.split(LabelCounts([[1], [0]], ids=ids), (1, 1), method="random")


def test_a_missing_library_names_the_install_line():
    """Without datasets installed, the error says how to get it."""
    code = "import sys; sys.modules['datasets'] = None; import evosplit_plugins; evosplit_plugins.evosplit_hf"
    environment = {"PYTHONPATH": ":".join(entry for entry in sys.path if entry)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert 'pip install "evosplit-plugins[hf]"' in done.stderr


def test_the_signature_is_spelled_out():
    """Every option of a request and of reading has its name and default; a typo is named; the overloads know all."""
    taken = inspect.signature(evosplit_hf).parameters
    loading = {"config", "source_split"}  # of data on disk
    asked = {each.name: each.default for holder in (Request, HfReading) for each in options_of(holder)}
    assert {name: taken[name].default for name in asked if name not in loading} == {
        name: default for name, default in asked.items() if name not in loading
    }
    assert set(taken) - {"ds", "ratios", "folds", "return_split"} == set(SplitOptions.__annotations__)
    with pytest.raises(TypeError, match="unexpected keyword argument 'group_colum'"):
        evosplit_hf(LABELLED, HALVES, group_colum="id")
    with pytest.raises(TypeError, match="'label_colum'; did you mean 'label_column'"):
        read_counts(LABELLED, label_colum="labels")


def test_progress_is_one_bar():
    """It never falls and ends at 1."""
    seen = []
    evosplit_hf(dataset("labels", WORDS * 5), HALVES, effort="fast", on_progress=lambda done, _: seen.append(done))
    assert seen == sorted(seen)
    assert seen[-1] == 1


def test_a_saved_split_is_replayed_by_its_path(tmp_path):
    """A path does what the loaded split does, for a stream too, whose key the split knows."""
    splits, split = evosplit_hf(stream(), (0.8, 0.2), key="id", method="random", return_split=True)
    split.save(tmp_path / "split.json")
    again = apply_split(stream().shuffle(seed=1), tmp_path / "split.json")
    assert {row["id"] for row in again["test"]} == {row["id"] for row in splits["test"]}


def test_rows_are_found_by_their_files():
    """A split by row numbers that knows its files divides the same pictures, in any order."""
    ds = Dataset.from_dict({"file_name": [f"{i}.jpg" for i in range(20)], "label": [i % 3 for i in range(20)]})
    splits, split = evosplit_hf(ds, (0.8, 0.2), method="random", return_split=True)
    again = apply_split(ds.shuffle(seed=1), split)
    assert set(again["test"]["file_name"]) == set(splits["test"]["file_name"])


def test_the_caller_keeps_his_data_set():
    """Splitting changes neither the rows nor the fingerprint of the source."""
    ds = dataset("labels", WORDS)
    before = ds._fingerprint
    evosplit_hf(ds, HALVES, method="random")
    assert ds._fingerprint == before
    assert ds.num_rows == len(WORDS)


BAD_INPUT = {
    "a refused split name": (
        lambda: evosplit_hf(LABELLED, {"train": 0.5, "val-2017": 0.5}),
        "refuses the split name 'val-2017'",
    ),
    "a refused split name of a manifest": (
        lambda: apply_split(LABELLED, evosplit.split([[1], [0], [1]], {"a/b": 2, "c": 1}, method="random")),
        "refuses the split name 'a/b'",
    ),
    "ratios that lose rows": (lambda: evosplit_hf(LABELLED, (0.5, 0.3)), r"sum to 0\.8, not to 1"),
    "sizes that lose rows": (lambda: evosplit_hf(LABELLED, (1, 1)), "sum to 2, but there are 3 samples"),
    "ratios and folds": (lambda: evosplit_hf(LABELLED, HALVES, folds=2), "ratios= and folds= are both given"),
    "neither ratios nor folds": (lambda: evosplit_hf(LABELLED), "neither ratios= nor folds= is given"),
    "a manifest of ids without key": (
        lambda: apply_split(LABELLED, _split_of(["a.jpg", "b.jpg"])),
        "ids such as 'a.jpg', not by row numbers; .*key='image_id'",
    ),
    "a manifest of another number of rows": (
        lambda: apply_split(LABELLED, evosplit.split([[1], [0]], (1, 1), method="random")),
        r"the data set is not what was split: by row number, 1 id is not in the split \(first: 2\)",
    ),
    "a manifest of other ids": (
        lambda: apply_split(
            LABELLED.select([0]),
            _split_of([7, 8]),
            key="id",
        ),
        "1 id is not in the split .*first: 1",
    ),
    "a stream with an unknown id": (
        lambda: list(
            apply_split(
                stream(),
                _split_of([100, 101]),
                key="id",
            )["train"]
        ),
        "id 102 is not in the split, which has 2 ids such as 100",
    ),
    "a replay on a stream without that key": (
        lambda: apply_split(stream(), _split_of([100, 101]), key="name"),
        "no column 'name' for key=",
    ),
    "a replay of mixed ids on a stream": (
        lambda: apply_split(stream(), _split_of([100, "101"]), key="id"),
        "integers and strings mixed",
    ),
    "a stream whose ids have another type": (
        lambda: list(apply_split(stream(), _split_of(["100", "101"]), key="id")["train"]),
        "id 100 is not in the split",
    ),
    "a stream with a null id": (
        lambda: list(apply_split(LABELLED.select([2]).to_iterable_dataset(), _split_of([0, 1]), key="id")["train"]),
        "id None is not in the split",
    ),
}


@pytest.mark.parametrize(("call", "message"), BAD_INPUT.values(), ids=BAD_INPUT.keys())
def test_bad_input_is_named_with_its_place_and_remedy(call, message):
    """Each mistake gives an EvoSplitError that says what to do."""
    with pytest.raises(EvoSplitError, match=message):
        call()
