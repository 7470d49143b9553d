"""Label files, counted many at a time as they are one by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evosplit_plugins.yolo.labels import Flaw, Rules, box_areas, count_classes, read_label_file

PLAIN = ["0", "1", "0.5", "0.50", "0.25", "0.123456", "0.999"]
ODD = ["1.0", "1.005", "1.5", "50", "-0.001", "-0.5", "-0", "5e-01", "nan", "inf", "x", "0..5", "0.5.5", ".5", "00.5"]
numbers = st.sampled_from(PLAIN) | st.sampled_from(ODD)
classes = st.sampled_from(["0", "1", "2", "3", "12", "01", "1.0", "1.5", "-1", "12345", "x"])


@st.composite
def lines(draw, plain):
    """Draw a line; plain ones are a box, a polygon or a pose."""
    n = draw(st.sampled_from([4, 6, 8, 10] if plain else [0, 1, 3, 4, 5, 6, 7, 8, 10]))
    name = draw(st.sampled_from(["0", "1", "2"]) if plain else classes)
    values = draw(st.lists(st.sampled_from(PLAIN) if plain else numbers, min_size=n, max_size=n))
    between = " " if plain else draw(st.sampled_from([" ", "\t", "  "]))
    before = "" if plain else draw(st.sampled_from(["", "", " "]))
    return before + between.join([name, *values])


@st.composite
def files(draw):
    """Draw the content of a label file, most often a plain one."""
    plain = draw(st.booleans())
    content = draw(st.lists(lines(plain), max_size=5))
    if draw(st.booleans()) and content:
        content.append(content[0])  # the same line twice
    end = draw(st.sampled_from(["\n", "\r\n"] if plain else ["\n", "\r\n", "\r", "\n\n", " \n"]))
    text = end.join(content) + draw(st.sampled_from(["", end]))
    odd = [b""] if plain else [b"", b"", b"\xef\xbb\xbf", b"\xff"]
    return draw(st.sampled_from(odd)) + text.encode()


rules = st.sampled_from([Rules(3), Rules(1), Rules(13), Rules(3, (1, 2)), Rules(3, (2, 3)), Rules(3, (1, 3))])


@given(st.lists(files(), max_size=6), rules)
def test_many_are_counted_like_one(contents, rules):
    """Whatever stands in them, many files at once give what each gives line by line."""
    counted = count_classes(contents, rules)
    for at, content in enumerate(contents):
        found = read_label_file(content, rules)
        if isinstance(found, Flaw):
            assert counted.flaws[at] == found
            assert at not in counted.files
        else:
            assert at not in counted.flaws
            assert sorted(counted.classes[counted.files == at].tolist()) == sorted(found)


def test_many_chunks(monkeypatch):
    """Files are told apart also where they are counted in several steps."""
    monkeypatch.setattr("evosplit_plugins.yolo.labels._CHUNK", 50)
    contents = [b"1 0.5 0.5 0.1 0.1\n" * (n % 2) for n in range(20)] + [b"9 0.5 0.5 0.1 0.1\n"]
    counted = count_classes(contents, Rules(2))
    assert sorted(counted.files.tolist()) == list(range(1, 20, 2))
    assert list(counted.flaws) == [20]


@pytest.mark.parametrize(
    ("text", "flaw"),
    [
        ("0 0.5 0.5 0.1 0.1\n3 0.5 0.5 0.1 0.1\n", Flaw("class", 2, "3")),
        ("-1 0.5 0.5 0.1 0.1\n", Flaw("class", 1, "-1")),
        ("0.5 0.5 0.5 0.1 0.1\n", Flaw("class", 1, "0.5")),
        ("0 0.5 0.5 0.1 0.1 0.9\n", Flaw("six", 1, "0 0.5 0.5 0.1 0.1 0.9")),
        ("0 0.1 0.1 0.2 0.2 0.3 0.3\n0 0.5 0.5 0.1 0.1\n", Flaw("mixed", 2, "")),
        ("0 50 50 20 20\n", Flaw("pixels", 1, "50 50 20 20")),
        ("0 0.5 0.5 0.1 1.2\n", Flaw("outside", 1, "0.5 0.5 0.1 1.2")),
        ("0 -0.02 0.5 0.1 0.1\n", Flaw("outside", 1, "-0.02 0.5 0.1 0.1")),
        ("0 0.5 0.5 -0.001 0.1\n", Flaw("outside", 1, "0.5 0.5 -0.001 0.1")),
        ("0 0.5 0.5 nan 0.1\n", Flaw("number", 1, "0 0.5 0.5 nan 0.1")),
        ("cat 0.5 0.5 0.1 0.1\n", Flaw("number", 1, "cat 0.5 0.5 0.1 0.1")),
        ("0 0.5 0.5\n", Flaw("columns", 1, "3 columns")),
        ("0 0.5 0.5 0.1 0.1 0.3 0.3 0.4\n", Flaw("columns", 1, "8 columns")),
    ],
)
def test_flaws(text, flaw):
    """What Ultralytics rejects is named, with its line."""
    assert read_label_file(text.encode(), Rules(3)) == flaw


def test_a_little_outside():
    """As much as Ultralytics tolerates."""
    text = b"0 1.01 0.5 0.1 0.1\n0 -0.01 0.5 0.1 0.1\n"
    assert read_label_file(text, Rules(1)) == [0, 0]


def test_pose():
    """A pose has its box and its points; a point that is not seen may have any third number."""
    rules = Rules(1, (2, 3))
    good = b"0 0.5 0.5 0.1 0.1 0.2 0.2 2 0 0 0\n"
    assert read_label_file(good, rules) == [0]
    assert read_label_file(good + b"0 0.5 0.5 0.1 0.1\n", rules) == Flaw("pose", 2, "5 columns")
    assert read_label_file(good.replace(b"0.2 0.2 2", b"7 0.2 2"), rules) == Flaw("pixels", 1, "0.5 0.5 0.1 0.1")


def test_areas():
    """The area is that of the box, or of the box around a polygon."""
    assert box_areas(b"0 0.5 0.5 0.5 0.25\n0 0.5 0.5 0.5 0.250\n\n", Rules(1)) == [(0, 0.125)]
    assert box_areas(b"1 0 0 0.5 0.25 0.25 0.5\n", Rules(2)) == [(1, 0.25)]
