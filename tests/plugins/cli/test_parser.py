"""`evosplit split PATH` finds out what PATH is, whatever flags stand beside it; what is mistyped gets a hint."""

from __future__ import annotations

import json
import shlex

import pytest

from evosplit_plugins.cli import main
from evosplit_plugins.cli.parser import _resolved


@pytest.fixture
def there(tmp_path, monkeypatch):
    """Work in a folder with an annotation file, a folder of images, and a file called like a field."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.json").write_text(json.dumps({"images": [], "annotations": [], "categories": []}))
    (tmp_path / "images").mkdir()
    (tmp_path / "clip").write_text("")
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        "split a.json -o out --ratios 8:1:1",
        "split -o out --ratios 8:1:1 a.json",
        "split --image-root images --images symlink a.json -o images --ratios 8:1:1",
        "split a.json --image-root images -o out --layout roboflow --group-by clip --folds 5",
        "apply a.json a.json -o out --image-root images",
        "audit a.json --image-root images --group-by clip --fail-over 2",
        "audit --report clip a.json",
    ],
)
def test_values_of_flags_are_no_paths(there, words):
    """The value of a flag is not taken for data, also where a file of that name is there."""
    given = words.split()
    assert _resolved(given) == ["coco", *given]


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("split rows.csv --label-table a.json -o out --folds 2", "table"),
        ("split --label-table clip rows.csv -o out --folds 2", "table"),
        ("split data.yaml --names clip --root images -o out --folds 2", "yolo"),
        ("split --names a.json data.yaml -o out --folds 2", "yolo"),
        ("split --names a.json autosplit_train.txt -o out --folds 2", "yolo"),
    ],
)
def test_flags_that_only_some_adapters_know(there, words, name):
    """Each adapter looks at what is a path to it; the value of its own flag is none, whatever another one thinks."""
    pytest.importorskip("duckdb")
    (there / "rows.csv").write_text("id,labels\n1,cat\n")
    (there / "data.yaml").write_text("train: images\nval: images\nnames: [cat]\n")
    (there / "autosplit_train.txt").write_text("images/a.jpg\n")
    given = words.split()
    assert _resolved(given) == [name, *given]


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("split -o out --folds 2 -- -a.json", "coco"),
        ("split --report clip -o out --folds 2 -- -a.json", "coco"),
        ("apply -o out -- -split.json -a.json", "coco"),
        ("apply -o out a.json -- -a.json", "coco"),
        ("audit --no-compare -- -a.csv -b.csv", "csv"),
    ],
)
def test_names_that_begin_with_a_dash(there, words, name):
    """After -- everything is a path."""
    for each in ("-a.json", "-split.json"):
        (there / each).write_text((there / "a.json").read_text())
    given = words.split()
    assert _resolved(given) == [name, *given]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("split", "evosplit: error: nothing to split is named; give files or a folder: evosplit split PATH ..."),
        ("split nope.json -o out --folds 2", "there is no file or directory 'nope.json'; for a FiftyOne dataset"),
        ("split clip -o out --folds 2", "no adapter recognises 'clip'; name one: coco, "),
        ("split clip -o out --folds 2", "fiftyone, such as --as coco"),
        ("apply a.json clip -o out", "the saved split comes first: evosplit apply SPLIT PATH ..."),
        ("split --as nope a.json -o out --folds 2", "--as nope is no adapter that can split; choose from coco, yolo, "),
        ("split --as=csv a.json -o out --folds 2", "--as csv is no adapter that can split; choose from coco, yolo, "),
        ("split a.json -o out --folds 2 --reprot x", "--reprot looks like --report (see evosplit coco split --help)"),
        ("coco split a.json -o out --folds 2 --overwite", "--overwite looks like --overwrite (see evosplit coco split"),
        ("split a.json -o out --folds 2 --tag=x", "--tag belongs to evosplit fiftyone split"),
        ("fiftyone split a b --folds 2", "unrecognized arguments: b; give one DATASET"),
        ("split a.json --folds 2", "evosplit coco split: error: the following arguments are required: -o/--output"),
        ("split a.json -o '' --folds 2", "argument -o/--output: it is empty; name a directory, or . for this one"),
        ("demo -o ''", "argument -o/--output: it is empty; name a directory, or . for this one"),
        ("demo -o out --imgaes 3", "--imgaes looks like --images (see evosplit demo --help)"),
    ],
)
def test_what_is_mistyped_is_named_with_what_helps(there, capsys, words, told):
    """One line on stderr, exit code 2 as a value; nothing is written."""
    assert main(shlex.split(words)) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert told in err
    assert not (there / "out").exists()


@pytest.mark.parametrize("words", [("--version",), ("--help",), ("split", "--help"), ("coco", "split", "-h")])
def test_help_is_returned_from(capsys, words):
    """`main` returns 0 after it has shown what was asked for, with or without files."""
    assert main(words) == 0
    assert "evosplit" in capsys.readouterr().out
