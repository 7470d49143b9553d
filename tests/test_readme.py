"""The README does not lie: its code runs, its commands work, its links lead somewhere, its figures were measured."""

from __future__ import annotations

import re
from pathlib import Path
from runpy import run_path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scripts import SHELLS, blocks, commands, page_script, run_script

from evosplit_plugins.demo import draw_demo

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def words_of(program):
    """Give the arguments of every call of a program."""
    shell = [block for block in blocks(README) if block.language in SHELLS]
    return [words[1:] for block in shell for words, _ in commands(block) if words[0] == program]


def one_lines():
    """Give the lines of the table that answers "What do you have?": the first code of each row that has some."""
    rows = re.findall(r"^\| \[.+?\]\(.+?\) \| `([^`]+)`", README, re.MULTILINE)
    assert len(rows) >= 6
    return rows


# What a reader has who types one of these lines.
DATA = """
import evosplit
import fiftyone as fo
from datasets import Dataset
from evosplit_plugins import EvoSplitKFold, evosplit_fiftyone, evosplit_hf
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import RidgeClassifier as Model
from sklearn.model_selection import cross_val_score

model = Model()
X, y = make_multilabel_classification(n_samples=100, n_classes=4, random_state=0)
ds = Dataset.from_dict({"labels": [["cat", "cat"], ["cat", "dog"], ["dog"], []] * 25})
dataset = fo.Dataset()
boxes = [fo.Detections(detections=[fo.Detection(label=name) for name in names]) for names in ds["labels"]]
dataset.add_samples([fo.Sample(filepath=f"{i:03}.jpg", ground_truth=each) for i, each in enumerate(boxes)])
"""


def write_yolo(folder):
    """Write a small YOLO data set."""
    for number in range(40):
        for kind, suffix, text in (("images", "jpg", ""), ("labels", "txt", f"{number % 3} 0.5 0.5 0.1 0.1\n")):
            path = folder / kind / "all" / f"{number:03}.{suffix}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    (folder / "data.yaml").write_text("train: images/all\nval: images/all\nnames: [a, b, c]\n")


def test_one_line_is_enough(tmp_path):
    """Each line of the table works as it stands, given the data that its row names."""
    demo = draw_demo(tmp_path / "drawn", n_images=120)
    commands = [line for line in one_lines() if line.startswith("evosplit ")]
    calls = [line for line in one_lines() if line not in commands]
    assert commands
    assert calls
    page = tmp_path / "lines.md"
    blocks = [f"```bash\n{line}\n```" for line in commands]
    blocks += [f"```python\n{line}\n```" for line in (DATA.strip(), *calls)]
    page.write_text("\n\n".join(blocks))
    (tmp_path / "instances.json").write_bytes(demo.annotations.read_bytes())
    write_yolo(tmp_path)
    lists = [["cat", "cat"], ["cat", "dog"], ["dog"], []] * 25
    pq.write_table(pa.table({"id": range(100), "labels": lists}), tmp_path / "table.parquet")
    script = tmp_path / "page.py"
    script.write_text(page_script(page, demo.root), encoding="utf-8")
    run_script(script, directory=tmp_path)


def test_readme_is_short():
    """The README fits two screens; the rest is in the documentation."""
    assert len(README.splitlines()) <= 110


def test_readme_runs(tmp_path):
    """A reader who types the README from top to bottom meets no error."""
    demo = draw_demo(tmp_path / "drawn", n_images=120)
    script = tmp_path / "page.py"
    script.write_text(page_script(ROOT / "README.md", demo.root), encoding="utf-8")
    run_script(script, directory=tmp_path)


@pytest.mark.parametrize("words", words_of("make"), ids=" ".join)
def test_make_target_exists(words):
    """Each `make` line names targets of the Makefile."""
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert {word for word in words if "=" not in word} <= set(targets)


@pytest.mark.parametrize("words", words_of("pip"), ids=" ".join)
def test_extra_exists(words):
    """Each `pip install` line names an extra of the package."""
    extras = re.search(
        r"\[project.optional-dependencies\]\n(.*?)\n\n", (ROOT / "pyproject.toml").read_text(), re.DOTALL
    )
    asked = re.fullmatch(r"evosplit-plugins(?:\[([\w,]+)\])?", words[-1])
    assert asked, f"{words[-1]!r} is not this package"
    assert set(asked[1].split(",") if asked[1] else ()) <= set(re.findall(r"^(\w+) =", extras[1], re.MULTILINE))


def test_there_is_something_to_check():
    """The README has Python blocks, commands, make targets and install lines."""
    assert [block for block in blocks(README) if block.language == "python"]
    assert words_of("evosplit")
    assert words_of("make")
    assert words_of("pip")


@pytest.mark.parametrize("link", sorted(set(re.findall(r"(?:\]\(|src=\"|srcset=\")(?!https?:|#)([^)#\"]+)", README))))
def test_link_leads_somewhere(link):
    """Each relative link or picture is a file of the repository."""
    assert (ROOT / link).exists()


def test_benchmark_was_measured():
    """The table of the README is what `docs/benchmark_table.py` makes of benchmarks/results/peers.md."""
    benchmark_table = run_path(str(ROOT / "docs" / "benchmark_table.py"))
    peers = (ROOT / "benchmarks" / "results" / "peers.md").read_text(encoding="utf-8")
    assert benchmark_table["TABLE"].search(README)
    assert benchmark_table["updated"](README, peers) == README


def test_sections_exist():
    """Each link to a section of the README finds it."""
    headings = {
        re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in re.findall(r"^#+ (.+)", README, re.M)
    }
    assert set(re.findall(r"\]\(#([^)]+)\)", README)) <= headings
