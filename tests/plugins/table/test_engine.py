"""CSV files as every engine reads them: what stands between the cells, and the first line that is broken."""

from __future__ import annotations

import pytest

from evosplit import EvoSplitError
from evosplit_plugins.table.engine import broken_line, common_separator, heading


def written(folder, **texts):
    """Write CSV files, and give their paths."""
    paths = []
    for name, text in texts.items():
        paths.append(folder / f"{name}.csv")
        paths[-1].write_bytes(text if isinstance(text, bytes) else text.encode())
    return paths


def test_one_separator_for_all(tmp_path):
    """It is the same in all files; one with a single column has none to say."""
    paths = written(tmp_path, a="id;labels\n1;cat\n", b="labels;id\ndog;2\n", c="id\n3\n")
    assert common_separator(paths) == ";"
    assert heading(paths[1]) == ["labels", "id"]
    assert common_separator(paths[2:]) == ","


def test_several_separators_are_refused(tmp_path):
    """Read as one table, the cells of some would be cut in the wrong places."""
    paths = written(tmp_path, a="id,labels\n1,cat\n", b="id;labels\n2;dog\n")
    with pytest.raises(EvoSplitError, match=r"a\.csv has ',' between its cells, and .*b\.csv has ';'; name files"):
        common_separator(paths)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("id,labels\n1,cat\n\n2,dog\n", None),
        ('id,labels\n1,"cat\ndog"\n', None),  # a line break in a cell
        ("id,labels\n1,cat\n2\n", "line 3: 1 cell where the heading has 2; mend the line"),
        ("id,labels\n1,cat,dog\n", "line 2: 3 cells where the heading has 2; mend the line"),
        ('id,labels\n1,"cat"s\n', "line 2: ',' expected after '\"'; mend its quotes, one in a cell is written twice"),
        (b"id,labels\n1,cat\n2,\xff\n", "line 3: this is not written in UTF-8; convert the file"),
    ],
)
def test_broken_lines(tmp_path, text, told):
    """The first broken line is named, with what is wrong; a sound file has none."""
    (path,) = written(tmp_path, a=text)
    assert broken_line(path) == (told and f"{path}, {told}")
