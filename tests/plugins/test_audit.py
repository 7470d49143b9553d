"""Audits of splits made elsewhere: leaks, verdicts, tables, every kind of source, exit codes."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from coco_files import instances, write
from hypothesis import given, settings
from hypothesis import strategies as st

import evosplit
from evosplit import EvoSplitError, LabelCounts
from evosplit_plugins.audit import Audit, Found, audit, coco_files, detect, find_leaks, from_coco, from_csv, from_hf
from evosplit_plugins.audit.leaks import find_repeats, kept_together, same_contents
from evosplit_plugins.cli import main

THREE = ("train", "val", "test")


def labelled(n=60, seed=0):
    """Count random labels."""
    return LabelCounts(np.random.default_rng(seed).poisson((1.0, 0.5, 0.2), (n, 3)), labels=["cat", "dog", "fox"])


def found(n=60, **options):
    """Make subsets by chance."""
    assignment = np.arange(n) % 3
    return Found(THREE, assignment, labelled(n), **options)


@pytest.fixture
def table(tmp_path):
    """Give a function that writes a CSV file."""

    def make(text, name="splits.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
        return path

    return make


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


# Leaks


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.one_of(st.none(), st.integers(0, 9)), st.integers(0, 2)), min_size=1, max_size=40))
def test_leaks_are_what_two_subsets_share(samples):
    """Every value that two subsets share is found, with its samples, and nothing else."""
    values, subset = zip(*samples, strict=True)
    leaks = {leak.subsets: leak for leak in find_leaks("id", values, subset, THREE)}
    for a in range(3):
        for b in range(a + 1, 3):
            inside = [{v for v, s in samples if s == j and v is not None} for j in (a, b)]
            shared = inside[0] & inside[1]
            leak = leaks.get((THREE[a], THREE[b]))
            assert (leak.n_shared if leak else 0) == len(shared)
            if leak:
                assert leak.n_samples == sum(v in shared and s in (a, b) for v, s in samples)
                assert set(leak.examples) <= {str(v) for v in shared}
                assert len(leak.examples) == min(3, len(shared))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.one_of(st.none(), st.integers(0, 6)), st.integers(0, 9)), min_size=1, max_size=20))
def test_what_shares_anything_is_kept_together(samples):
    """Samples get the same number exactly if a chain of equal values connects them."""
    columns = [list(column) for column in zip(*samples, strict=True)]
    n = len(samples)
    reach = np.eye(n, dtype=bool)
    for column in columns:
        reach |= np.array([[a is not None and a == b for b in column] for a in column])
    for _ in range(n):
        reach = reach @ reach
    together = kept_together([*columns, None], n)
    if together is None:
        assert not (reach & ~np.eye(n, dtype=bool)).any()
    else:
        assert np.array_equal(np.equal.outer(together, together), reach)


def test_leaks_in_words():
    """A leak is one sentence that names the subsets, the number and a few examples."""
    values = ["a", "b", "c", "d", "a", "b", "c", "d"]
    (leak,) = find_leaks("file name", values, [0] * 4 + [1] * 4, THREE)
    assert str(leak) == "train and val share 4 file names: a, b, c and 1 more."
    assert leak.to_dict()["subsets"] == ("train", "val")
    (leak,) = find_leaks("group", ["a", "a", "a"], [0, 0, 2], THREE)
    assert str(leak) == "train and test share 1 group (3 samples): a."
    assert find_repeats("id", [1, 1, 2, 2, 1], [0, 0, 1, 1, 1], THREE) == [
        "train holds 1 id more than once: 1.",
        "val holds 1 id more than once: 2.",
    ]


def test_files_of_the_same_content(tmp_path):
    """Files are the same if their bytes are, whatever their names; the same path twice is one file."""
    for name, content in {"a": b"one", "b": b"one", "c": b"two", "d": b"three"}.items():
        write(tmp_path / name, content)
    paths = [tmp_path / name for name in "abcda"]
    first = str(tmp_path / "a")
    assert same_contents(paths) == [first, first, str(tmp_path / "c"), None, None]
    with pytest.raises(EvoSplitError, match=r"1 of 2 files are not there, the first is .*nope; .* image_root="):
        same_contents([tmp_path / "a", tmp_path / "nope"])


# Verdicts


def test_a_good_and_a_bad_split_get_what_they_deserve():
    """What EvoSplit makes is called good, a random split no better than random, a sorted one worse."""
    counts = labelled(300)
    made = evosplit.split(counts, {"train": 100, "val": 100, "test": 100}, effort="fast")
    good = audit(Found(THREE, made.assignment, counts), compare=False)
    assert good.verdict.startswith("Good: ")
    assert max(good.times_random.values()) < 0.5
    assert good.instead is None
    assert good.comparison() == []
    chance = np.random.default_rng(5).permutation(np.arange(300) % 3)
    middling = audit(Found(THREE, chance, counts), compare=False)
    assert re.match(
        r"No better than random: LD is [\d.]+ times that of random splits, which scatter by ± 0\.\d\d, "
        r"LD' [\d.]+, scatter ± 0\.\d\d, LPD [\d.]+, scatter ± 0\.\d\d\.$",
        middling.verdict,
    )
    worst = np.empty(300, dtype=int)
    worst[np.argsort(counts.matrix.toarray()[:, 0], kind="stable")] = np.repeat(np.arange(3), 100)
    bad = audit(Found(THREE, worst, counts), effort="fast")
    assert bad.verdict.startswith("Worse than random: ")
    assert bad.instead.sizes == (100, 100, 100)
    assert re.match(r"EvoSplit at the same sizes: LD [\d.]+ times smaller", bad.comparison()[0])
    assert bad.failures() == []
    assert all("more than 2." in reason for reason in bad.failures(2))
    assert len(bad.failures(2)) == sum(times > 2 for times in bad.times_random.values()) > 0
    assert bad.failures(1e9) == []


def test_labels_are_judged_first():
    """A split whose labels are spread well is not called no better than random because its instances are not."""
    present = np.tile(np.eye(6, dtype=int), (50, 1))
    counts = present * np.random.default_rng(4).integers(1, 40, (300, 1))  # as many samples, but 1 to 39 instances
    told = audit(Found(THREE, np.repeat(np.arange(50) % 3, 6), LabelCounts(counts)), compare=False)
    assert told.times_random["ld"] < 0.2 < 0.5 < told.times_random["ld_occurrences"]
    assert re.match(
        r"Good in labels: LD is 0\.\d\d times that of random splits, which scatter by ± 0\.\d\d\. "
        r"Instances: (no better|better) than random \(LD' [\d.]+, scatter ± 0\.\d\d\)\.$",
        told.verdict,
    )
    assert told.failures(0.4) == [
        f"LD' is {told.times_random['ld_occurrences']:.2f} times that of random splits (which scatter by "
        f"± {told.spread['ld_occurrences']:.2f}), more than 0.4."
    ]


def test_random_splits_are_no_better_than_random():
    """Of a hundred random splits hardly any is called better or worse than random, in small sets too."""
    counts = labelled(60)
    rng = np.random.default_rng(0)
    verdicts = [
        audit(Found(THREE, rng.permutation(np.arange(60) % 3), counts), compare=False).verdict for _ in range(100)
    ]
    assert sum(verdict.startswith("No better than random") for verdict in verdicts) >= 85


def test_data_without_labels_is_not_judged():
    """Where no label occurs there is nothing to be even or uneven."""
    told = audit(Found(("a", "b"), [0, 0, 1, 1], LabelCounts(np.zeros((4, 1), dtype=int))), compare=False)
    assert told.verdict.startswith("There is nothing to judge")


def test_nothing_better_is_admitted():
    """Where EvoSplit gains nothing, it says so."""
    counts = LabelCounts([[1], [0], [1], [0]])
    told = audit(Found(("a", "b"), [0, 0, 1, 1], counts), effort="fast")
    assert told.comparison() == ["EvoSplit finds nothing better at the same sizes."]
    assert told.times_random["ld"] == 0


def test_the_comparison_keeps_together_what_belongs_together():
    """Groups, and samples with the same id, stay whole in the split that EvoSplit sets beside it."""
    groups = [f"g{i // 4}" for i in range(60)]
    ids = [i % 58 for i in range(60)]
    told = audit(found(groups=groups, keys={"id": ids}), effort="fast")
    assert {leak.kind for leak in told.leaks} == {"id", "group"}
    instead = told.instead.assignment
    assert all(len(set(instead[[j for j in range(60) if groups[j] == g]])) == 1 for g in set(groups))
    assert instead[0] == instead[58]
    assert instead[1] == instead[59]
    assert told.failures() == [str(leak) for leak in told.leaks]
    assert told.failures(allow_leaks=True) == []
    if told.instead.sizes != (20, 20, 20):
        assert "since groups stay whole" in told.comparison()[0]


def test_the_report_carries_leaks_and_comparison():
    """Leaks and what EvoSplit gives are among the notes of the report, so the page shows them too."""
    told = audit(found(keys={"id": [0, 0, *range(58)]}), effort="fast")
    assert f"Leak: {told.leaks[0]}" in told.report.notes
    assert told.comparison()[0] in told.report.summary
    data = json.loads(json.dumps(told.to_dict()))
    assert data["leaks"][0]["n_shared"] == 1
    assert data["evosplit"]["sizes"] == dict(zip(THREE, told.instead.sizes, strict=True))
    assert data["measures"]["ld"] == told.split.measures.ld
    assert data["times_random"].keys() == {"ld", "ld_occurrences", "lpd"}


def test_no_labels_at_all():
    """Samples without any label are audited for leaks, and nothing is searched."""
    told = audit(Found(("a", "b"), [0, 1], LabelCounts([[0], [0]]), keys={"id": ["x", "x"]}))
    assert told.instead is None
    assert [str(leak) for leak in told.leaks] == ["a and b share 1 id: x."]


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        (lambda: Found(("a",), [0, 0], LabelCounts([[1], [1]])), "there is only 'a'; give two or more"),
        (lambda: Found((), [], LabelCounts([[1]])), "there is none; give two or more"),
        (lambda: Found(("a", "b"), [0], LabelCounts([[1], [1]])), "assignment has 1 entries for 2 samples"),
        (lambda: Found(("a", "b"), [0, 0], LabelCounts([[1], [1]])), "the subset 'b' is empty"),
        (lambda: Found(("a", "b"), [0, 1], LabelCounts([[1], [1]]), {"id": [1]}), "id has 1 entries for 2 samples"),
        (lambda: Found(("a", "b"), [0, 1], LabelCounts([[1], [1]]), {}, [1]), "groups has 1 entries for 2 samples"),
    ],
)
def test_subsets_that_are_none(wrong, match):
    """What cannot be compared is refused."""
    with pytest.raises(EvoSplitError, match=match):
        audit(wrong())


def test_a_limit_that_makes_no_sense():
    """`fail_over` is a positive number."""
    with pytest.raises(EvoSplitError, match="fail_over=0 is no limit; give a positive number"):
        Audit(found().split()).failures(0)


# Tables


def test_a_table_is_read(table):
    """Ids, subsets, labels and groups come from their columns; subsets in the usual order."""
    lines = (
        "id,subset,labels,group",
        '"a,1.jpg",test,"cat; dog ;cat",x',
        "",
        "b.jpg,train,,",
        'c.jpg,val,"say ""hi""",x',
    )
    read = from_csv(table("\ufeff" + "\r\n".join(lines) + "\r\n"))
    assert read.names == ("train", "val", "test")
    assert list(read.assignment) == [2, 0, 1]
    assert read.counts.labels == ("cat", "dog", 'say "hi"')
    assert read.counts.matrix.toarray().tolist() == [[2, 1, 0], [0, 0, 0], [0, 0, 1]]
    assert read.keys == {"id": ["a,1.jpg", "b.jpg", "c.jpg"]}
    assert read.groups == ["x", None, "x"]
    assert read.notes == ("The labels in 'labels' are separated by ';'.",)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("file_name;split;label\na;train;cat,dog\nb;val;cat\n", {}),
        ("image\tSubset\tLabels\na\ttrain\tcat|dog\nb\tval\tcat\n", {}),
        ("id,subset,labels\na,train,cat dog\nb,val,cat\n", {"delimiter": " "}),
        ('id,subset,labels\na,train,"[""cat"", ""dog""]"\nb,val,["cat"]\n'.replace('["cat"]\n', '"[""cat""]"\n'), {}),
        ("path,fold,cat,dog\na,train,1,1\nb,val,1,0\n", {"subset_column": "fold", "label_column": ["cat", "dog"]}),
        ("x,split,y\na,train,cat/dog\nb,val,cat\n", {"id_column": "x", "label_column": "y", "delimiter": "/"}),
        ("x,split,y\na,train,cat/dog\nb,val,cat\n", {"id_column": "x", "label_column": ["y"], "delimiter": "/"}),
    ],
    ids=["semicolons", "tabs", "spaces", "JSON", "a column for each label", "named columns", "one named label column"],
)
def test_tables_of_many_kinds(table, text, options):
    """Separators are found, columns are found or named, labels are lists, JSON or columns of counts."""
    read = from_csv(table(text), **options)
    assert read.names == ("train", "val")
    assert read.counts.labels == ("cat", "dog")
    assert read.counts.matrix.toarray().tolist() == [[1, 1], [1, 0]]
    assert read.keys["id"] == ["a", "b"]


def test_a_label_may_contain_spaces(table):
    """Without a delimiter in any cell each cell is one label."""
    read = from_csv(table("id,subset,labels\na,train,traffic light\nb,val,stop sign\n"))
    assert read.counts.labels == ("stop sign", "traffic light")


def test_several_tables_are_one_subset_each(table):
    """Files without a column for the subset are subsets named after them."""
    paths = [table("id,labels\na,cat\n", "train.csv"), table("id,labels\na,cat\nb,dog\n", "val.csv")]
    read = from_csv(paths)
    assert (read.names, list(read.assignment)) == (("train", "val"), [0, 1, 1])
    (leak,) = audit(read, effort="fast").leaks
    assert str(leak) == "train and val share 1 id: a."


def test_an_id_in_two_subsets_is_a_leak(table):
    """The same id in two subsets leaks; twice in one subset is told, but leaks nothing."""
    read = from_csv(table("id,subset,labels\na,train,cat\na,val,cat\nb,val,dog\nb,val,dog\nc,train,dog\n"))
    told = audit(read, effort="fast")
    assert [str(leak) for leak in told.leaks] == ["train and val share 1 id: a."]
    assert "val holds 1 id more than once: b." in told.report.notes


def test_groups_by_regular_expression(table):
    """The first parentheses, or all that matches, name the group; what does not match stands alone."""
    path = table("id,subset,labels\nv1_f1,train,a\nv1_f2,val,a\nx,val,b\n")
    assert from_csv(path, group_regex=r"(v\d+)_f\d+").groups == ["v1", "v1", None]
    assert from_csv(path, group_regex=r"_f").groups == ["_f", "_f", None]
    assert from_csv(path, group_by="labels").groups == ["a", "a", "b"]


def test_lines_without_a_subset_are_left_out(table):
    """A line whose subset is empty takes no part, and the reader is told."""
    read = from_csv(table("id,subset,labels\na,train,cat\nb,val,cat\nc,,cat\n"))
    assert read.counts.n_samples == 2
    assert "1 lines without a subset were left out." in read.notes


@pytest.mark.parametrize(
    ("text", "options", "match"),
    [
        ("", {}, "is empty; its first line names the columns"),
        ("id,subset,labels\n", {}, "has a heading but no line below it"),
        (
            "id,labels\na,cat\n",
            {},
            r"no column 'subset' or 'split' for the subsets; it has 'id', 'labels'.*subset_column=",
        ),
        ("subset,labels\ntrain,cat\n", {}, "no column 'id' or 'image_id' for the ids.*id_column="),
        ("id,subset\na,train\n", {}, "no column 'labels' or 'label' for the labels.*label_column="),
        ("id,subset,labels\na,train\n", {}, "line 2: 2 cells where the heading has 3"),
        (
            "id,subset,labels\na,train,cat,dog\n",
            {},
            "line 2: 4 cells where the heading has 3; put cells that contain ','",
        ),
        ("id,id,subset,labels\n", {}, "the column 'id' more than once"),
        ('id,subset,labels\na,train,"cat\nb,val,dog\n', {}, "line 3: unexpected end of data; check the quotes"),
        ('id,subset,labels\na,train,"cat"s\n', {}, "line 2: .*check the quotes"),
        ("id,subset,labels\n,train,cat\n", {}, "splits.csv, line 2 has no 'id'; every sample needs one"),
        ("id,subset,labels\na,,cat\n", {}, "has no line with a subset"),
        ('id,subset,labels\na,train,"cat;dog"\nb,val,"cat,dog"\n', {}, "contains ';' and ','; say what stands between"),
        ('id,subset,labels\na,train,"[1"\nb,val,\n', {}, r"line 2: the labels '\[1' are no JSON list"),
        ("id,subset,labels\na,train,[[1]]\nb,val,\n", {}, "are not all strings or integers"),
        (
            "id,subset,cat,dog\na,train,1,x\n",
            {"label_column": ["cat", "dog"]},
            "line 2: 'dog' is 'x'; .* each holds a count",
        ),
        ("id,subset,cat,dog\na,train,1,x\n", {"label_column": ["cat", "cow"]}, "has no column 'cow'; it has"),
        (
            "id,subset,labels\na,train,cat\n",
            {"id_column": "name"},
            "has no column 'name'; it has 'id', 'subset', 'labels'",
        ),
        ("id,subset,labels\na,train,cat\n", {"group_by": "video"}, "has no column 'video'"),
        ("id,subset,labels\na,train,cat\n", {"group_regex": "("}, "is no regular expression"),
        ("id,subset,labels\na,train,cat\n", {"group_regex": "z"}, r"matches none of the ids \(a\)"),
        ("id,subset,labels\na,train,cat\n", {"group_regex": "z", "group_by": "id"}, "exclude each other"),
        ("id,subset,labels\na,train,cat\n", {"delimiter": ""}, "delimiter= is empty"),
        (b"id,subset,labels\n\xff,train,cat\n", {}, "is not UTF-8 at byte 17; save it as UTF-8"),
        ("id,subset,labels\na,train,cat\n".encode("utf-16"), {}, "is not UTF-8 at byte 0"),
        (b"id,subset,labels\na\x00,train,cat\n", {}, "holds a zero byte"),
        ("id,subset,labels\na,train,cat\n", {"same_bytes": True}, "1 of 1 files are not there"),
    ],
)
def test_tables_that_are_wrong(table, text, options, match):
    """Each mistake in a table is named with its place and what helps."""
    with pytest.raises(EvoSplitError, match=match):
        from_csv(table(text), **options)


def test_tables_that_do_not_fit_together(table, tmp_path):
    """Several files need the same columns, and a file that is not there is named."""
    with pytest.raises(EvoSplitError, match=r"differ in the columns 'label', 'labels'"):
        from_csv([table("id,labels\na,cat\n", "a.csv"), table("id,label\na,cat\n", "b.csv")])
    with pytest.raises(EvoSplitError, match=r"cannot read .*nope.csv: No such file"):
        from_csv(tmp_path / "nope.csv")


# What a source is


def test_sources_are_told_apart(tmp_path):
    """Names and what lies there tell files and directories apart; other hosts have to be named."""
    assert detect(["a.json", "b.json.gz"]) == "coco"
    assert detect(["A.CSV"]) == "csv"
    (tmp_path / "saved").mkdir()
    assert detect([str(tmp_path / "saved")]) == "hf"
    write(tmp_path / "x.parquet", b"")
    assert detect([str(tmp_path / "x.parquet")]) == "hf"
    for name in ("test", "train", "val"):
        write(tmp_path / "out" / "annotations" / f"instances_{name}.json", "{}")
        write(tmp_path / "robo" / name / "_annotations.coco.json", "{}")
    assert detect([str(tmp_path / "out")]) == detect([str(tmp_path / "robo")]) == "coco"
    assert [path.stem for path in coco_files(tmp_path / "out")] == [f"instances_{name}" for name in THREE]
    assert [path.parent.name for path in coco_files(tmp_path / "robo")] == list(THREE)
    with pytest.raises(EvoSplitError, match=r"neither all COCO files .* nor all tables"):
        detect(["a.json", "b.csv"])
    for gone in ("no/such", "gone.parquet", "my-dataset"):
        with pytest.raises(EvoSplitError, match=rf"there is no file or directory '{gone}'; .* kind='hf'"):
            detect([gone])


def test_a_typing_error_starts_no_database(tmp_path):
    """Where nothing of that name is, the error comes without FiftyOne, whose import starts MongoDB."""
    code = (
        "import sys; from evosplit_plugins.cli import main; code = main(['audit', 'nope']);"
        "print(code, 'fiftyone' in sys.modules, 'datasets' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.stdout.split() == ["2", "False", "False"]
    assert "for a FiftyOne dataset say --as fiftyone" in done.stderr


def test_a_regex_that_matches_nothing_names_no_group(told, tmp_path):
    """An empty match is no name: it would put every line into one group."""
    table = write(tmp_path / "s.csv", "id,subset,labels\na1,train,x\nb,train,y\nc1,val,x\nd,val,y\n")
    data = told(table, "--group-regex", "[0-9]*$", "--no-compare", "--json", code=1)
    assert [(leak["kind"], leak["n_samples"]) for leak in data["leaks"]] == [("group", 2)]
    assert "finds no text in any of the ids" in told(table, "--group-regex", "z*", code=2)


# COCO


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
    for words in ("than random: ", "x random", "EvoSplit", "labels furthest", "label pairs furthest", "person", "LPD"):
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
    assert "no image has 'nope'" in told(*files, "--group-by", "nope", code=2)


def test_a_limit_for_ci(files, told):
    """`--fail-over` gives exit code 1 above the limit, and says passed below it."""
    out = told(*files, "--no-compare", "--fail-over", "0.01", code=1)
    reason = r"failed: LD is [\d.]+ times that of random splits \(which scatter by ± 0.\d\d\), more than 0.01"
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


def test_coco_from_python(files):
    """Files may be named by subset, and reading options are those of the door."""
    read = from_coco({"a": files[0], "b": files[1]}, count_crowd=False)
    assert read.names == ("a", "b")
    assert read.counts.totals.sum() < from_coco(files).counts.totals.sum()
    with pytest.raises(EvoSplitError, match=r"is one file; give two annotation files or more"):
        from_coco([files[0]])


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
        (("--tag", "train"), "--tag is for FiftyOne datasets, but this is read as CSV files; leave it out"),
        (("--ignore-crowd",), "--ignore-crowd is for COCO files"),
        (("--multi-hot",), "--multi-hot is for Hugging Face data sets"),
        (("--as", "hf", "--group-regex", "x"), "--group-regex is for COCO files and CSV files"),
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
    assert "2 sources are given, but FiftyOne datasets are audited one at a time" in told(
        "a", "b", "--as", "fiftyone", code=2
    )


def test_each_door_has_the_same_audit(files, told, capsys):
    """`evosplit coco audit` is `evosplit audit` of COCO files: the same output, flags and exit codes."""
    expected = told(*files, "--effort", "fast", "--json")
    assert main(["coco", "audit", *map(str, files), "--effort", "fast", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == expected
    assert main(["coco", "audit", *map(str, files), "--no-compare", "--fail-over", "0.01", "--quiet"]) == 1


# Hugging Face


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
    assert "there is no column 'nope'" in told(tmp_path / "saved", "--key", "nope", code=2)
    assert "the column 'labels' holds [" in told(tmp_path / "saved", "--key", "labels", code=2)


def test_numbers_that_start_anew_are_no_leak():
    """Ids that number the rows of each split say nothing; a column named by the user is taken at its word."""
    from datasets import DatasetDict

    splits = DatasetDict({"train": data_set(range(20)), "test": data_set(range(10))})
    assert from_hf(splits).keys == {}
    assert audit(from_hf(splits, key="image_id"), compare=False).leaks[0].n_shared == 10
    named = DatasetDict(
        {
            "train": data_set(range(20), file_name=[f"{i}.jpg" for i in range(20)]),
            "test": data_set(range(10), file_name=[f"{i}.jpg" for i in range(19, 29)]),
        }
    )
    (leak,) = audit(from_hf(named), compare=False).leaks
    assert str(leak) == "train and test share 1 file_name: 19.jpg."


def test_pictures_in_a_data_set():
    """`same_bytes` compares what the picture columns hold, embedded or on disk."""
    from datasets import DatasetDict, Features, Image, List, Value

    def part(colours):
        features = Features({"labels": List(Value("string")), "image": Image()})
        cells = [{"bytes": bytes([colour]) * 10, "path": None} for colour in colours]
        return data_set(colours).remove_columns(["image_id"]).add_column("image", cells).cast(features)

    splits = DatasetDict({"train": part([1, 2, 3, 4]), "test": part([5, 2])})
    (leak,) = audit(from_hf(splits, same_bytes=True), compare=False).leaks
    assert str(leak) == "train and test share 1 identical file: train[1]."
    with pytest.raises(EvoSplitError, match="same_bytes=True compares pictures, but no column holds any"):
        from_hf(DatasetDict({"train": data_set(range(4)), "test": data_set(range(4, 6))}), same_bytes=True)


# FiftyOne


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
        assert "1 samples in none of the subsets were left out." in data["notes"]
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
    assert "say which tags of dataset" in told(bare.name, "--as", "fiftyone", code=2)


# What EvoSplit itself wrote


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
    assert "lists images without their labels; add the annotation file" in told(one, two, code=2)
    data = told(one, two, source, "--no-compare", "--json", code=1)
    assert [leak["examples"] for leak in data["leaks"]] == [["000001.jpg"]]
    assert "1 images in none of the lists were left out." in data["notes"]
    write(two, "nowhere.jpg\n")
    assert "1 listed images are not in the annotation files, the first is nowhere.jpg" in told(one, two, source, code=2)


@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_folds_of_hugging_face_can_be_audited(told, tmp_path, form):
    """The directory of all folds, by their test sets."""
    ds = pytest.importorskip("datasets").Dataset.from_dict({"labels": [["x"], ["y"], ["x", "y"], []] * 5})
    ds.save_to_disk(str(tmp_path / "data"))
    words = ["hf", "split", str(tmp_path / "data"), "-o", str(tmp_path / "out"), "--folds", "4", "--format", form]
    assert main([*words, "--method", "random", "--quiet"]) == 0
    data = told(tmp_path / "out", "--no-compare", "--json")
    assert data["sizes"] == {f"fold{fold}": 5 for fold in range(4)}
