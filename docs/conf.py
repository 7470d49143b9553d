"""The documentation site: `make docs` builds it into docs/_build/html, without the network."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import latex2mathml.converter
from docutils import nodes

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "core")]

import generate

import evosplit

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "EvoSplit"
author = "The EvoSplit developers"
copyright = f"2026, {author}"
version = release = evosplit.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
default_role = "code"  # docstrings put names into single backquotes

autodoc_mock_imports = ["fiftyone"]  # importing it would start its database
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the signature is readable without them; the text says what a parameter takes
autodoc_default_options = {"members": True}
napoleon_google_docstring = False
napoleon_custom_sections = [("Attributes", "params_style")]  # a list, also where several share a description
napoleon_use_rtype = False

html_theme = "pydata_sphinx_theme"
html_title = "EvoSplit"
html_static_path = ["_static"]
html_extra_path = ["_build/generated/extra"]
html_css_files = ["evosplit.css"]
html_logo = "_static/logo.svg"
html_favicon = "_static/logo.svg"
html_show_sourcelink = False
html_copy_source = False
html_math_renderer = "mathml"
html_context = {"default_mode": "auto"}
html_sidebars = {"index": [], "start": [], "faq": []}  # pages without neighbours
html_theme_options = {
    "show_toc_level": 2,
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "pygments_light_style": "tango",
    "pygments_dark_style": "github-dark-high-contrast",
    "logo": {"text": "EvoSplit"},
}


def math_inline(translator: Any, node: Any) -> None:
    """Write a formula as MathML, which browsers show without a script."""
    translator.body.append(latex2mathml.converter.convert(node.astext()))
    raise nodes.SkipNode


def math_display(translator: Any, node: Any) -> None:
    """Write a formula on a line of its own."""
    formula = latex2mathml.converter.convert(node.astext(), display="block")
    translator.body.append(f'<div class="formula">{formula}</div>')
    raise nodes.SkipNode


def keep_words(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Let |x| be an absolute value, not a substitution; and a property's words before a colon words, not a type."""
    if what == "property" and any(line.startswith(":type:") for line in lines):
        lines[:] = [*(inspect.getdoc(obj) or "").splitlines(), ""]
    lines[:] = [line.replace("|", r"\|") for line in lines]


def keep_numbers(app: Sphinx, doctree: nodes.document) -> None:
    """Keep 1.5e-04 on one line: a word joiner behind the hyphen."""
    for text in list(doctree.findall(nodes.Text)):
        joined = re.sub(r"(?<=\de-)(?=\d)", "\u2060", text.astext())
        if joined != text.astext() and not isinstance(text.parent, nodes.literal | nodes.literal_block):
            text.parent.replace(text, nodes.Text(joined))


def setup(app: Sphinx) -> None:
    """Draw the figures and write the command line reference before the pages are read."""
    app.connect("autodoc-process-docstring", keep_words, priority=900)  # after napoleon
    app.connect("doctree-read", keep_numbers)
    app.add_html_math_renderer("mathml", (math_inline, None), (math_display, None))
    # Before Sphinx (at 800) looks for the folder of extra files.
    app.connect("config-inited", lambda app, config: generate.everything(generate.GENERATED), priority=100)
