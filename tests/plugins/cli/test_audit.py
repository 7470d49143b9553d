"""`evosplit audit`: leaks, verdicts, tables, every kind of source, exit codes."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from coco_files import instances, write

from evosplit_plugins.cli import main


@pytest.fixture
def told(capsys):
    """Give a function that runs `evosplit audit`, checks the exit code and gives what it printed."""

    def run(*words, code=0):
        assert main(["audit", *map(str, words)]) == code, capsys.readouterr()
        captured = capsys.readouterr()
        if code == 2:
            assert captured.out == ""
            assert captured.err.count("\n") == 1
            return captured.err
        return json.loads(captured.out) if "--json" in words else captured.out

    return run


@pytest.fixture
def table(tmp_path):
    """Give a function that writes a CSV file."""
    return lambda text: write(tmp_path / "splits.csv", text)


def test_a_typing_error_starts_no_database(tmp_path):
    """Where nothing of that name is, the error comes without FiftyOne, whose import starts MongoDB."""
    code = (
        "import sys; from evosplit_plugins.cli import main; code = main(['audit', 'nope']);"
        "print(code, 'fiftyone' in sys.modules, 'datasets' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.stdout.split() == ["2", "False", "False"]
    assert "for a FiftyOne dataset of that name: evosplit fiftyone audit nope" in done.stderr


def test_a_regex_that_matches_nothing_names_no_group(told, tmp_path):
    """An empty match is no name: it would put every line into one group."""
    table = write(tmp_path / "s.csv", "id,subset,labels\na1,train,x\nb,train,y\nc1,val,x\nd,val,y\n")
    data = told(table, "--group-regex", "[0-9]*$", "--no-compare", "--json", code=1)
    assert [(leak["kind"], leak["n_samples"]) for leak in data["leaks"]] == [("group", 2)]
    assert "finds no text in any file name" in told(table, "--group-regex", "z*", code=2)


@pytest.fixture
def files(tmp_path):
    """Write two annotation files of different images."""
    return [
        write(tmp_path / "instances_train.json", instances(60)),
        write(tmp_path / "instances_val.json", instances(20, seed=3, first_id=500)),
    ]


def test_coco_files_are_audited(files, told):
    """Quality, worst labels and pairs, and the comparison fit 80 columns; nothing leaks, so the exit code is 0."""
    out = told(*files, "--effort", "fast")
    for words in ("than random: ", "EvoSplit", "Classes, rarest first", "label pairs furthest", "person", "LPD"):
        assert words in out
    assert max(map(len, out.splitlines())) <= 80
    assert "LEAK" not in out
    data = told(*files, "--effort", "fast", "--json")
    assert data["sizes"] == {"train": 60, "val": 20}
    assert data["leaks"] == data["failures"] == []
    assert data["passed"] is True
    assert data["evosplit"]["measures"]["ld"] < data["measures"]["ld"]
    assert told(*files, "--no-compare", "--json")["evosplit"] is None


def test_a_folder_of_coco_files(files, told):
    """The folder of the files is as good as the files."""
    assert told(files[0].parent, "--no-compare", "--json")["sizes"] == {"train": 60, "val": 20}


def test_shared_images_fail(files, told, tmp_path):
    """An image in two subsets is a leak and gives exit code 1, unless leaks are allowed; numbers alone are none."""
    again = instances(20, seed=3)
    write(files[1], again)  # the same ids and file names as in train
    out = told(*files, "--no-compare", code=1)
    assert "LEAK train and val share 20 file names: 000001.jpg, 000002.jpg, 000003.jpg and" in out
    assert "failed: 1 leak" in out
    data = told(*files, "--no-compare", "--json", code=1)
    assert data["passed"] is False
    assert data["failures"] == ["train and val share 20 file names: 000001.jpg, 000002.jpg, 000003.jpg and 17 more."]
    assert "LEAK" in told(*files, "--no-compare", "--allow-leaks")
    for image in again["images"]:
        image["file_name"] = "other/" + image["file_name"]
    write(files[1], again)
    assert "LEAK" not in told(*files, "--no-compare")
    for path in files:
        made = json.loads(path.read_text())
        for image in made["images"]:
            del image["file_name"]
        write(path, made)
    assert "share 20 ids: 1, 2, 3" in told(*files, "--no-compare", code=1)


def test_shared_groups_fail(files, told):
    """A group in two subsets is a leak, by a key of the images or by their file names."""
    for path, first in zip(files, (0, 5), strict=True):
        made = json.loads(path.read_text())
        for position, image in enumerate(made["images"]):
            image["meta"] = {"video": f"v{first + position // 10}"}
            image["file_name"] = f"v{first + position // 10}_{image['file_name']}"
        write(path, made)
    for flags in (("--group-by", "meta.video"), ("--group-regex", r"^(v\d+)_")):
        data = told(*files, *flags, "--json", "--effort", "fast", code=1)
        assert data["failures"] == ["train and val share 1 group (20 samples): v5."]
    assert "--group-by nope: no image has a field of that name" in told(*files, "--group-by", "nope", code=2)


def test_a_limit_for_ci(files, told):
    """`--fail-over` gives exit code 1 above the limit, and says passed below it."""
    out = told(*files, "--no-compare", "--fail-over", "0.01", code=1)
    reason = r"failed: LD is [\d.]+ times that of the average random split \(single ones vary by ± 0.\d\d\), more than"
    assert re.search(reason, " ".join(out.split()))
    assert told(*files, "--no-compare", "--fail-over", "1e6").rstrip().endswith("passed")
    assert told(*files, "--no-compare", "--fail-over", "0.01", "--quiet", code=1) == ""
    assert "--fail-over 0 is no limit; give a positive number" in told(*files, "--fail-over", "0", code=2)


def test_pictures_of_the_same_content(files, told, tmp_path):
    """`--same-bytes` finds a picture that is in two subsets under two names."""
    root = tmp_path / "images"
    for path in files:
        for image in json.loads(path.read_text())["images"]:
            write(root / image["file_name"], image["file_name"])
    write(root / "000500.jpg", "000001.jpg")
    flags = ("--same-bytes", "--image-root", root, "--no-compare")
    assert "LEAK train and val share 1 identical file:" in told(*files, *flags, code=1)
    assert "LEAK" not in told(*files, "--no-compare")


def test_the_page(files, told, tmp_path):
    """`--report` writes the page, with the leaks and the comparison in it."""
    write(files[1], instances(20, seed=3))
    page = tmp_path / "report.html"
    told(*files, "--effort", "fast", "--report", page, "--quiet", code=1)
    text = page.read_text(encoding="utf-8")
    assert "train and val share 20 file names" in text
    assert "EvoSplit at" in text
    assert "the directory does not exist" in told(*files, "--report", tmp_path / "no" / "report.html", code=2)
    told(*files, "--effort", "fast", "--report", page, "--quiet", code=1)  # a report is replaced by a report
    before = {path: path.read_bytes() for path in (page, *files)}
    assert "exists, but was not written by EvoSplit" in told("--report", *files, code=2)
    assert "is the input" in told(*files, "--report", files[0], code=2)
    assert {path: path.read_bytes() for path in before} == before


def test_names_are_data(table, told):
    """Labels and ids with markup or control characters are shown as text."""
    path = table(
        'id,subset,labels\n"\x1b[2Ja",train,"[red]x[/red];\x1b[31mred"\n"\x1b[2Ja",val,"[bold]y\x07"\nc,val,[red]x[/red]\n'
    )
    out = told(path, "--effort", "fast", "--delimiter", ";", code=1)
    assert "\x1b" not in out
    assert "\x07" not in out
    assert "[red]x[/red]" in out
    assert "?[31mred" in out
    assert "?[2Ja" in out


@pytest.mark.parametrize(
    ("flags", "match"),
    [
        (("--tag", "train"), "unrecognized arguments: --tag train; --tag belongs to evosplit fiftyone audit"),
        (("--no-count-crowd",), "--no-count-crowd belongs to evosplit coco audit"),
        (("--multi-hot",), "--multi-hot belongs to evosplit hf audit"),
        (("--as", "nope"), "--as nope is no adapter that can audit; choose from coco, "),
        (("--as", "coco"), "is one file; give two annotation files or more"),
        (("--effort", "huge"), "--effort huge is unknown"),
    ],
)
def test_flags_that_do_not_fit(table, told, flags, match):
    """A flag of another kind of source is refused, not ignored."""
    path = table("id,subset,labels\na,train,cat\nb,val,cat\n")
    assert match in told(path, *flags, code=2)


def test_one_data_set_at_a_time(told):
    """Hugging Face and FiftyOne sources are audited one by one."""
    assert "unrecognized arguments: b; give one DATASET" in told("a", "b", "--as", "fiftyone", code=2)


def test_each_adapter_has_the_same_audit(files, told, capsys):
    """`evosplit coco audit` is `evosplit audit` of COCO files: the same output, flags and exit codes."""
    expected = told(*files, "--effort", "fast", "--json")
    assert main(["coco", "audit", *map(str, files), "--effort", "fast", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == expected
    assert main(["coco", "audit", *map(str, files), "--no-compare", "--fail-over", "0.01", "--quiet"]) == 1


def data_set(numbers, **more):
    """Make a data set of labels and ids."""
    from datasets import Dataset

    rng = np.random.default_rng(len(numbers))
    names = np.array(["cat", "dog", "fox"])
    labels = [names[rng.random(3) < 0.4].tolist() for _ in numbers]
    return Dataset.from_dict({"labels": labels, "image_id": list(numbers), **more})


def test_a_saved_dataset_dict(told, tmp_path):
    """Splits on disk are audited, told apart by their ids, with groups from a column; parquet files too."""
    from datasets import DatasetDict

    splits = DatasetDict(
        {
            "train": data_set(range(40), patient=[i // 4 for i in range(40)]),
            "test": data_set(range(38, 58), patient=[i // 4 for i in range(38, 58)]),
        }
    )
    splits.save_to_disk(str(tmp_path / "saved"))
    (tmp_path / "files").mkdir()
    for name, part in splits.items():
        part.to_parquet(str(tmp_path / "files" / f"{name}.parquet"))
    for source in ("saved", "files"):
        data = told(tmp_path / source, "--json", "--effort", "fast", "--group-by", "patient", code=1)
        assert data["sizes"] == {"train": 40, "test": 20}
        assert data["failures"] == [
            "train and test share 2 image_ids: 38, 39.",
            "train and test share 1 group (6 samples): 9.",
        ]
    assert "the data set has no column 'nope' for --key" in told(tmp_path / "saved", "--key", "nope", code=2)
    assert "a key is a column of unique integers or strings" in told(tmp_path / "saved", "--key", "labels", code=2)


@pytest.fixture
def dataset(fiftyone, new_dataset):
    """Give a dataset whose samples are tagged, one of them twice, and one in no subset."""
    rng = np.random.default_rng(0)
    samples = []
    for number in range(31):
        names = np.array(["cat", "dog", "fox"])[rng.random(3) < 0.5]
        sample = fiftyone.Sample(
            filepath=f"/pictures/{number}.jpg",
            tags=[] if number == 30 else ["train" if number % 3 else "val", "mine"],
            video=f"v{number // 5}",
            ground_truth=fiftyone.Classifications(
                classifications=[fiftyone.Classification(label=str(name)) for name in names]
            ),
        )
        samples.append(sample)
    samples[1].tags.append("val")
    return new_dataset(samples)


def test_tags_are_audited(dataset, told):
    """Tags are found or named; a sample in two subsets is a leak, one in none is left out."""
    for flags in ((), ("--tag", "train", "--tag", "val")):
        data = told(dataset.name, "--as", "fiftyone", *flags, "--json", "--effort", "fast", code=1)
        assert data["sizes"] == {"train": 20, "val": 11}
        assert data["failures"] == [f"train and val share 1 sample id: {dataset.values('id')[1]}."]
        assert "1 sample in none of the subsets was left out." in data["notes"]
    out = told(dataset.name, "--as", "fiftyone", "--group-by", "video", "--no-compare", code=1)
    assert "share 6 groups (" in out


def test_fields_are_audited(fiftyone, dataset, told):
    """A field may hold the subsets, and two samples of the same file are a leak."""
    dataset.set_values("part", ["a" if i < 20 else "b" for i in range(30)] + [None])
    dataset.add_sample(fiftyone.Sample(filepath="/pictures/3.jpg", part="b"))
    data = told(dataset.name, "--as", "fiftyone", "--field", "part", "--json", "--no-compare", code=1)
    assert data["sizes"] == {"a": 20, "b": 11}
    assert [leak["kind"] for leak in data["leaks"]] == ["file"]


def test_near_duplicates_and_contents(fiftyone, new_dataset, told, tmp_path):
    """Near duplicates in two subsets are a leak, and with `--same-bytes` files of the same content."""
    samples = []
    for number in range(8):
        path = write(tmp_path / f"{number}.jpg", f"picture {min(number, 6)}")
        label = fiftyone.Classification(label="ab"[number % 2])
        samples.append(fiftyone.Sample(filepath=str(path), tags=["train" if number < 4 else "test"], label=label))
    dataset = new_dataset(samples)
    samples[7].tags = ["train"]
    samples[7].save()
    ids = dataset.values("id")
    dataset.set_values("original", [ids[0] if number == 5 else ids[number] for number in range(8)])
    data = told(dataset.name, "--as", "fiftyone", "--near-duplicates", "original", "--no-compare", "--json", code=1)
    assert [(leak["kind"], leak["n_shared"], leak["n_samples"]) for leak in data["leaks"]] == [("group", 1, 2)]
    data = told(dataset.name, "--as", "fiftyone", "--same-bytes", "--no-compare", "--json", code=1)
    assert [leak["kind"] for leak in data["leaks"]] == ["content"]
    assert data["leaks"][0]["examples"] == [str(tmp_path / "6.jpg")]


def test_datasets_that_cannot_be_audited(fiftyone, dataset, new_dataset, told):
    """Unknown datasets, tags and fields are named."""
    assert "there is no dataset 'nope'" in told("nope", "--as", "fiftyone", code=2)
    assert "no sample of dataset" in told(dataset.name, "--as", "fiftyone", "--tag", "x", "--tag", "y", code=2)
    assert "has no field 'x'" in told(dataset.name, "--as", "fiftyone", "--field", "x", code=2)
    bare = new_dataset([fiftyone.Sample(filepath="/a.jpg", label=fiftyone.Classification(label="cat"), tags=["odd"])])
    assert "nothing says which tags of dataset" in told(bare.name, "--as", "fiftyone", code=2)


@pytest.mark.parametrize("layout", ["coco", "roboflow"])
@pytest.mark.parametrize("how", [("--ratios", "8:1:1"), ("--folds", "11"), ("--folds", "3", "--train-files")])
def test_every_output_of_coco_can_be_audited(told, tmp_path, layout, how):
    """Subsets and folds in every layout: the folds, not their complements, in their order; nothing leaks."""
    source = write(tmp_path / "a.json", instances(60))
    out = tmp_path / "out"
    words = ["coco", "split", str(source), "-o", str(out), "--layout", layout, *how, "--method", "random", "--quiet"]
    assert main(words) == 0
    data = told(out, "--no-compare", "--json")
    sizes = {"8:1:1": [48, 6, 6], "11": [6] * 5 + [5] * 6, "3": [20] * 3}[how[1]]
    assert list(data["sizes"].values()) == sizes
    if how[0] == "--folds":
        assert list(data["sizes"]) == [f"fold{fold}" for fold in range(len(sizes))]


def test_lists_need_their_annotations(told, tmp_path):
    """Lists hold no labels; what is not annotated, and what is in two lists, is told."""
    source = write(tmp_path / "a.json", instances(4))
    one = write(tmp_path / "train.txt", "./images/000001.jpg\n000002.jpg\n")
    two = write(tmp_path / "val.txt", "000003.jpg\n/data/images/000001.jpg\n")
    assert "lists images without their labels; add the annotation file" in told(one, two, "--as", "coco", code=2)
    data = told(one, two, source, "--no-compare", "--json", code=1)
    assert [leak["examples"] for leak in data["leaks"]] == [["000001.jpg"]]
    assert "1 image in none of the lists was left out." in data["notes"]
    write(two, "nowhere.jpg\n")
    assert "1 of 1 samples are not in the data, by id or file name: 'nowhere.jpg'" in told(one, two, source, code=2)


@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_folds_of_hugging_face_can_be_audited(told, tmp_path, form):
    """The directory of all folds, by their test sets."""
    ds = pytest.importorskip("datasets").Dataset.from_dict({"labels": [["x"], ["y"], ["x", "y"], []] * 5})
    ds.save_to_disk(str(tmp_path / "data"))
    words = ["hf", "split", str(tmp_path / "data"), "-o", str(tmp_path / "out"), "--folds", "4", "--format", form]
    assert main([*words, "--method", "random", "--quiet"]) == 0
    data = told(tmp_path / "out", "--no-compare", "--json")
    assert data["sizes"] == {f"fold{fold}": 5 for fold in range(4)}
