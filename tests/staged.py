"""An output of several files, for the tests of the writer."""

from __future__ import annotations

import json
from functools import cache
from pathlib import PurePosixPath

from coco_files import tree

from evosplit import LabelCounts, split
from evosplit.report.html import report_page
from evosplit_plugins.staging import RECORD, Plan


def files(folder):
    """Return what `tree` does, without folders; of the record only which files it lists."""
    found = {place: content for place, content in tree(folder).items() if content != "folder"}
    for place in found:
        if place.endswith(RECORD):
            found[place] = sorted(name for run in json.loads(found[place])["runs"] for name in run["files"])
    return found


@cache
def made_with(seed):
    """Make a split and the page of its report."""
    made = split(LabelCounts([[1], [0], [1], [0]]), {"train": 2, "val": 2}, method="random", seed=seed)
    return made, report_page(made.report())


def fill(base, seed, *, overwrite=True, more=()):
    """Write an output of several files, with a manifest and a page that lie elsewhere."""
    manifest, page = base / "split.json", base / "reports" / "page.html"
    names = [PurePosixPath(name) for name in ("a", f"only{seed}/b", "deep/er/c", *more)]
    links = {mode: PurePosixPath(f"pictures{seed}", mode) for mode in ("symlink", "hardlink", "copy")}
    plan = Plan(
        base / "out",
        writer="test",
        files=[*names, *links.values()],
        manifests=[manifest],
        reports=[page],
        inputs=[base / "source"],
        overwrite=overwrite,
    )
    made, text = made_with(seed)
    with plan.stage() as stage:
        for name in names:
            with stage.open(name) as writes:
                writes(f"{name} {seed}".encode())
        for mode, place in links.items():
            stage.put(mode, base / "source", place)
        made.save(stage.path(manifest))
        stage.path(page).write_text(text)
        stage.commit()
