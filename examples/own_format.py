"""An adapter for a format of one's own: text files with a line "name: label label ..." for each sample.

It says how to recognise, read and write such files. All else comes by itself: ratios, folds, groups, locks, strata,
the commands `split`, `apply` and `audit` with all their flags, reports, saved splits and their replay. A package
announces its adapter to EvoSplit as an entry point in its pyproject.toml:

    [project.entry-points."evosplit.adapters"]
    tags = "own_format:TagsAdapter"
"""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np

from evosplit import EvoSplitError, LabelCounts
from evosplit_plugins.adapter import Adapter, Location, Outcome
from evosplit_plugins.output import Output
from evosplit_plugins.request import Request
from evosplit_plugins.source import Fields, Placement, Source
from evosplit_plugins.walk import apply_with, split_with


@dataclass(frozen=True, eq=False, kw_only=True)
class TagsSource(Source):
    """The samples of tag files; it keeps their lines, to write them as they were."""

    paths: Sequence[Path] = ()
    lines: Sequence[str] = ()

    def fields(self, *, groups, strata):
        """Return the folder of each sample, the one thing to group or to stratify by."""
        for name in (*groups, *strata):
            if name != "folder":
                raise EvoSplitError(f"there is no field {name!r}; there is only 'folder'")
        folders = [str(PurePosixPath(name).parent) for name in self.files]
        return Fields(dict.fromkeys(groups, folders), dict.fromkeys(strata, folders))


class TagsAdapter(Adapter):
    """Text files with a line "name: label label ..." for each sample."""

    name = "tags"
    summary = "tag files"
    location = Location("FILE", "files with a line 'name: label ...' for each sample", several=True)

    def detect(self, paths):
        """Recognise the files by their suffix."""
        return all(Path(path).suffix == ".tags" for path in paths)

    def read(self, paths, options, *, need_labels=True, on_progress=None):
        """Read names and labels; each file is a subset already, for audits and locks."""
        files = [Path(path) for path in paths]
        texts = [path.read_text(encoding="utf-8").splitlines() for path in files]
        lines = [line for text in texts for line in text]
        number = np.repeat(range(len(files)), [len(text) for text in texts])
        names, labels = [], []
        for line in lines:
            name, _, tags = line.partition(":")
            names.append(name.strip())
            labels.append(tags.split())
        return TagsSource(
            counts=LabelCounts.from_lists(labels, ids=names),
            adapter=self.name,
            inputs=tuple(path.name for path in files),
            files=names,
            subsets=Placement(tuple(path.stem for path in files), number),
            paths=files,
            lines=lines,
        )

    def plan(self, to):
        """Refuse before the search what could not be written after it; return what writes a file for each subset."""
        files = [PurePosixPath(f"{name}.tags") for name in to.subsets.names]
        output = Output(to, to.source.paths)
        planned = output.plan(files)
        planned.check()

        def write(split, on_progress):
            def make(staging):
                for name, file in zip(split.names, files, strict=True):
                    with staging.open(file) as write_bytes:
                        for row in split.indices(name):
                            write_bytes(f"{to.source.lines[row]}\n".encode())

            written = output.write(planned, split, make)
            return Outcome(split, (*(to.root / file for file in files), *written))

        return write


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        labels = ["cat cat", "dog", "cat dog", "", "eel"]
        lines = [f"{'night' if i % 3 else 'day'}/{i:03}.jpg: {labels[i % 5]}\n" for i in range(60)]
        (folder / "all.tags").write_text("".join(lines))
        paths = [str(folder / "all.tags")]

        # What `evosplit split all.tags -o out --ratios 8:2 --stratify-by folder` does.
        request = Request(ratios={"train": 0.8, "test": 0.2}, stratify_by="folder")
        made = split_with(TagsAdapter(), paths, request, output=folder / "out")
        print(made.split.report())
        print("files:", *sorted(path.name for path in made.files))

        # What `evosplit apply out/split.json all.tags -o again` does: the same subsets.
        saved = folder / "out" / "split.json"
        again = apply_with(TagsAdapter(), paths, saved, output=folder / "again")
        print("replayed:", (again.split.assignment == made.split.assignment).all())
