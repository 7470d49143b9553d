"""The page of a report, as a file: self-contained, escaped, sealed, and with the numbers of the report."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re

import pytest
from reports import long_tailed, report_as_placed, report_on

import evosplit
from evosplit import EvoSplitError, LabelCounts
from evosplit.report.html import is_report_page


def page_of(tmp_path, report):
    """Write the page and read it."""
    report.save_html(tmp_path / "report.html")
    return (tmp_path / "report.html").read_text(encoding="utf-8")


def test_page_is_self_contained_and_escapes_names(tmp_path):
    """The page names no address, runs one script of known content, and holds names as text only."""
    hostile = "</script><script>alert(1)</script>"
    counts = LabelCounts([[1, 0], [1, 1], [0, 1], [0, 0]], labels=[hostile, "dog"])
    text = page_of(tmp_path, evosplit.split(counts, {"<b>train</b>": 0.5, "test": 0.5}, method="random").report())
    assert "&lt;b&gt;train&lt;/b&gt;" in text
    assert "<b>" not in text
    assert set(re.findall(r"https?:[^\"' ]*", text)) == {"http://www.w3.org/2000/svg"}
    scripts = re.findall(r"<script([^>]*)>(.*?)</script>", text, flags=re.DOTALL)
    assert [attributes for attributes, _ in scripts] == [' type="application/json" id="data"', ""]
    digest = base64.b64encode(hashlib.sha256(scripts[1][1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in text
    assert [row[0] for row in json.loads(scripts[0][1])["tables"]["labels"]["rows"]] == [hostile, "dog"]


def test_page_holds_the_numbers_of_the_report(tmp_path):
    """Tables and charts of the page are the report's numbers."""
    split = evosplit.split(LabelCounts(long_tailed()), (0.8, 0.1, 0.1), effort="fast")
    report = split.report()
    text = page_of(tmp_path, report)
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, flags=re.DOTALL).group(1))
    tables = data["tables"]
    for key, by in (("labels", "samples"), ("instances", "instances")):
        shown = [[part[0] for part in row[-3:]] for row in tables[key]["rows"]]
        assert shown == [list(getattr(row, by)) for row in report.labels]
    assert [row[2] for row in tables["labels"]["rows"]] == pytest.approx(
        [row.deviation for row in report.labels], rel=1e-4
    )
    assert [[part[0] for part in row[-3:]] for row in tables["pairs"]["rows"]] == [
        list(row.samples) for row in report.pairs
    ]
    assert data["front"]["chosen"] == split.chosen
    for line in report.summary:
        assert f"<li>{html.escape(line)}</li>" in text


def test_page_says_how_close_labels_can_come(tmp_path):
    """What is to move is counted as the sentence above the table says: with the minimum that was asked for."""
    split = evosplit.split([[1, 0], [0, 1]] * 40, (0.5, 0.5), min_per_label=7, effort="fast")
    assert "as whole samples, and at least 7 in every subset, allow" in page_of(tmp_path, split.report())


def test_page_gives_the_call_that_repeats_the_split(tmp_path):
    """The call in the page, run on the same data, gives the same split."""
    counts = LabelCounts(long_tailed())
    made = evosplit.split(counts, {"a": 0.5, "it's": 0.5}, effort="fast", seed=7, pick=0, label_weights={"2": 3})
    text = page_of(tmp_path, made.report())
    call = html.unescape(re.search(r"<pre>(.*?)</pre>", text, flags=re.DOTALL).group(1))
    again = eval(call, {"evosplit": evosplit, "counts": counts})
    assert again.assignment.tolist() == made.assignment.tolist()
    unseeded = evosplit.split(counts, (0.5, 0.5), method="random", seed=None).report()
    assert "repeated from its manifest only" in page_of(tmp_path, unseeded)


@pytest.mark.parametrize("name", ["\ud800", "\x00", "a" * 5000, "\u202eabc", ""])
def test_page_of_strange_names(tmp_path, name):
    """Whatever a name is, the page is written and is UTF-8."""
    counts = LabelCounts([[1, 0], [1, 1], [0, 1], [0, 0]], labels=[name, "dog"])
    assert page_of(tmp_path, report_on(counts, (0.5, 0.5))).endswith("</html>\n")


def test_page_where_nothing_is(tmp_path):
    """A directory that does not exist is named, and nothing is left behind."""
    with pytest.raises(EvoSplitError, match=r"cannot write the report .*missing.*No such file"):
        report_on(long_tailed()).save_html(tmp_path / "missing" / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_a_page_is_known_again(tmp_path):
    """A page knows whether it is as it was written."""
    text = page_of(tmp_path, report_on(long_tailed()))
    assert is_report_page(text)
    assert not is_report_page(text.replace("EvoSplit", "EvoSplits", 1))


def test_the_page_says_what_is_not_there(tmp_path):
    """No call repeats a split that was made elsewhere; nothing stands in for what was not found."""
    text = page_of(tmp_path, report_as_placed([[1], [1], [0], [0]], [0, 1, 0, 1]))
    assert "<pre>" not in text
    assert "repeated from its manifest" not in text
    assert 'id="pairs"' not in text
    assert 'id="trade-offs"' not in text
    assert "$" not in re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
    assert "<!--" not in text
