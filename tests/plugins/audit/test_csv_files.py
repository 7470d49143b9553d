"""Tables of subsets, in all the forms that people write them, and each mistake named."""

from __future__ import annotations

import pytest

from evosplit import EvoSplitError
from evosplit_plugins.audit import audit
from evosplit_plugins.audit.csv_files import CsvAdapter, CsvReading, audit_csv


def read_csv(paths, **options):
    """Read tables as the adapter does."""
    given = paths if isinstance(paths, list) else [paths]
    return CsvAdapter().read_subsets([str(path) for path in given], CsvReading(**options))


@pytest.fixture
def table(tmp_path):
    """Give a function that writes a CSV file."""

    def make(text, name="splits.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
        return path

    return make


def test_a_table_is_read(table):
    """Ids, subsets, labels and groups come from their columns; subsets in the usual order."""
    lines = (
        "id,subset,labels,group",
        '"a,1.jpg",test,"cat; dog ;cat",x',
        "",
        "b.jpg,train,,",
        'c.jpg,val,"say ""hi""",x',
    )
    read = read_csv(table("\ufeff" + "\r\n".join(lines) + "\r\n"))
    assert read.subsets.names == ("train", "val", "test")
    assert list(read.subsets.assignment) == [2, 0, 1]
    assert read.counts.labels == ("cat", "dog", 'say "hi"')
    assert read.counts.matrix.toarray().tolist() == [[2, 1, 0], [0, 0, 0], [0, 0, 1]]
    assert read.shared_keys() == {"id": ["a,1.jpg", "b.jpg", "c.jpg"]}
    assert read.fields(groups=["group"], strata=()).groups == {"group": ["x", None, "x"]}
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
    read = read_csv(table(text), **options)
    assert read.subsets.names == ("train", "val")
    assert read.counts.labels == ("cat", "dog")
    assert read.counts.matrix.toarray().tolist() == [[1, 1], [1, 0]]
    assert read.shared_keys()["id"] == ["a", "b"]


def test_a_label_may_contain_spaces(table):
    """Without a delimiter in any cell each cell is one label."""
    read = read_csv(table("id,subset,labels\na,train,traffic light\nb,val,stop sign\n"))
    assert read.counts.labels == ("stop sign", "traffic light")


def test_several_tables_are_one_subset_each(table):
    """Files without a column for the subset are subsets named after them."""
    paths = [table("id,labels\na,cat\n", "train.csv"), table("id,labels\na,cat\nb,dog\n", "val.csv")]
    read = read_csv(paths)
    assert (read.subsets.names, list(read.subsets.assignment)) == (("train", "val"), [0, 1, 1])
    (leak,) = audit(read, effort="fast").leaks
    assert str(leak) == "train and val share 1 id: a."


def test_an_id_in_two_subsets_is_a_leak(table):
    """The same id in two subsets leaks; twice in one subset is told, but leaks nothing."""
    read = read_csv(table("id,subset,labels\na,train,cat\na,val,cat\nb,val,dog\nb,val,dog\nc,train,dog\n"))
    told = audit(read, effort="fast")
    assert [str(leak) for leak in told.leaks] == ["train and val share 1 id: a."]
    assert "val holds 1 id more than once: b." in told.report.notes


def test_groups(table):
    """Of a column, or of the text of the ids that a regular expression finds; what does not match stands alone."""
    path = table("id,subset,labels\nv1_f1,train,a\nv1_f2,val,a\nx,val,b\n")
    for how in ({"group_regex": r"(v\d+)_f\d+"}, {"group_regex": "_f"}, {"group_by": "labels"}):
        (leak,) = audit_csv(path, compare=False, **how).leaks
        assert (leak.kind, leak.n_shared, leak.n_samples) == ("group", 1, 2)


def test_lines_without_a_subset_are_left_out(table):
    """A line whose subset is empty takes no part, and the reader is told."""
    read = read_csv(table("id,subset,labels\na,train,cat\nb,val,cat\nc,,cat\n"))
    assert read.counts.n_samples == 2
    assert "1 line without a subset was left out." in read.notes


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
        (f"id,subset,labels\na,train,{'[' * 50_000}\nb,val,\n", {}, r"line 2: the labels '\[+' are no JSON list"),
        ("id,subset,labels\na,train,[[1]]\nb,val,\n", {}, "are not all strings or integers"),
        (
            "id,subset,cat,dog\na,train,1,x\n",
            {"label_column": ["cat", "dog"]},
            "line 2: 'dog' is 'x'; .* each holds a count",
        ),
        ("id,subset,cat,dog\na,train,1,x\n", {"label_column": ["cat", "cow"]}, "label_column='cow' is no column of"),
        (
            "id,subset,labels\na,train,cat\n",
            {"id_column": "name"},
            "'name' is no column of .*; it has 'id', 'subset', 'labels'",
        ),
        ("id,subset,labels\na,train,cat\nb,val,cat\n", {"group_by": "video"}, "group_by='video' is no column of"),
        ("id,subset,labels\na,train,cat\nb,val,cat\n", {"group_regex": "("}, "is no regular expression"),
        ("id,subset,labels\na,train,cat\nb,val,cat\n", {"group_regex": "z"}, "finds no text in any file name"),
        ("id,subset,labels\na,train,cat\n", {"delimiter": ""}, "delimiter= is empty"),
        (b"id,subset,labels\n\xff,train,cat\n", {}, "is not UTF-8 at byte 17; save it as UTF-8"),
        ("id,subset,labels\na,train,cat\n".encode("utf-16"), {}, "is not UTF-8 at byte 0"),
        (b"id,subset,labels\na\x00,train,cat\n", {}, "holds a zero byte"),
        ("id,subset,labels\na,train,cat\nb,val,cat\n", {"same_bytes": True}, "2 of 2 files are not there"),
    ],
)
def test_tables_that_are_wrong(table, text, options, match):
    """Each mistake in a table is named with its place and what helps."""
    with pytest.raises(EvoSplitError, match=match):
        audit_csv(table(text), compare=False, **options)


def test_tables_that_do_not_fit_together(table, tmp_path):
    """Several files need the same columns, and a file that is not there is named."""
    with pytest.raises(EvoSplitError, match=r"differ in the columns 'label', 'labels'"):
        read_csv([table("id,labels\na,cat\n", "a.csv"), table("id,label\na,cat\n", "b.csv")])
    with pytest.raises(EvoSplitError, match=r"cannot read .*nope.csv: No such file"):
        read_csv(tmp_path / "nope.csv")
