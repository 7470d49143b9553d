"""The documentation does not lie: its code runs, its commands work, its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from scripts import SHELLS, blocks, commands, page_script, run_script

from evosplit_plugins.demo import draw_demo

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)
GENERATED = "_build/generated/"


def name_of(page):
    """Name a page as its address does."""
    return page.relative_to(DOCS).with_suffix("").as_posix()


def runs_something(page):
    """Tell whether a page has code that a test can run."""
    found = blocks(page.read_text(encoding="utf-8"))
    return any(block.language == "python" or any(words[0] == "evosplit" for words, _ in commands(block))
               for block in found if block.language in ("python", *SHELLS))  # fmt: skip


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """Draw a little of the demo data."""
    return draw_demo(tmp_path_factory.mktemp("demo"), n_images=120)


@pytest.mark.parametrize("page", [page for page in PAGES if runs_something(page)], ids=name_of)
def test_page_runs(page, demo, tmp_path):
    """A reader who types the page from top to bottom meets no error."""
    script = tmp_path / "page.py"
    script.write_text(page_script(page, demo.root), encoding="utf-8")
    run_script(script, directory=tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_is_known(page):
    """Each code block is Python, a shell's, plain text, or one of the site's own."""
    languages = re.findall(r"^ *```(\S+)", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert all(language in ("python", "bash", "text") or language.startswith("{") for language in languages)


@pytest.mark.parametrize("package", ["core/evosplit", "evosplit_plugins"])
def test_architecture_names_every_module(package):
    """The page says what each module and folder of the two packages is for."""
    page = (DOCS / "guide" / "architecture.md").read_text(encoding="utf-8")
    there = [path for path in (DOCS.parent / package).iterdir() if path.name not in ("__init__.py", "_version.py")]
    names = [f"{path.name}/" for path in there if path.is_dir() and path.name != "__pycache__"]
    names += [path.name for path in there if path.suffix == ".py"]
    assert [name for name in names if f"{name}`" not in page] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    """Each relative link, picture and included file exists, or is made while the site is built."""
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", text)
    links += re.findall(r"^```\{(?:image|include|literalinclude)\} (\S+)", text, re.MULTILINE)
    missing = [link for link in links if GENERATED not in link and not (page.parent / link).exists()]
    assert not missing


def test_every_tutorial_runs():
    """Each tutorial, and the guide's pages about what one can ask for, have code that runs."""
    running = {name_of(page) for page in PAGES if runs_something(page)}
    tutorials = {f"tutorials/{name}" for name in ("coco", "yolo", "hf", "table", "fiftyone", "sklearn", "python")}
    assert tutorials | {"start", "guide/constraints", "guide/audit", "guide/adapters"} <= running


def test_reference_is_complete():
    """The reference has every public function of the engine, and of each adapter."""
    import evosplit
    from evosplit_plugins import coco, fiftyone_plugin, hf, table, yolo

    reference = (DOCS / "reference" / "api.md").read_text(encoding="utf-8")
    words = set(re.findall(r"\w+", reference))
    public = {name for name in evosplit.__all__ if not name.startswith("_")}
    public |= {name for module in (coco, fiftyone_plugin, hf, table, yolo) for name in module.__all__ if name.islower()}
    assert public <= words
