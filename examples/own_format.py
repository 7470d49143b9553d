"""An adapter for a format of one's own: text files with a line "name: label label ..." for each sample.

`detect`, `read` and `write` are all that it takes. Groups, locks, strata, folds, every flag of the command line, the
audit, manifests and their replay come by themselves. A package announces its adapter to EvoSplit as an entry point:

    [project.entry-points."evosplit.adapters"]
    tags = "my_package:TagsAdapter"
"""

import tempfile
from pathlib import Path, PurePosixPath

import numpy as np

from evosplit import EvoSplitError, LabelCounts
from evosplit_plugins.adapter import Adapter, Location, Outcome, apply_with, split_with
from evosplit_plugins.output import Output
from evosplit_plugins.request import Request
from evosplit_plugins.source import Fields, Placement, Source


class TagsSource(Source):
    """The lines of tag files, whose folders are the one field that samples have."""

    def fields(self, *, groups, strata):
        """Return the folder of each sample."""
        for name in (*groups, *strata):
            if name != "folder":
                raise EvoSplitError(f"there is no field {name!r}; a tag file knows only 'folder'")
        folders = [str(PurePosixPath(name).parent) for name in self.files]
        return Fields(groups=dict.fromkeys(groups, folders), strata=dict.fromkeys(strata, folders))


class TagsAdapter(Adapter):
    """Text files with a line "name: label label ..." for each sample."""

    name = "tags"
    summary = "tag files"
    location = Location("FILE", "text files with a line 'name: label label ...' for each sample", several=True)

    def detect(self, paths):
        """Recognise them by their suffix."""
        return all(Path(path).suffix == ".tags" for path in paths)

    def read(self, paths, options, *, need_labels=True, on_progress=None):
        """Read names and labels; each file is a subset already."""
        lines = [(number, line) for number, path in enumerate(paths) for line in Path(path).read_text().splitlines()]
        parts = [line.partition(":") for _, line in lines]
        names = [name.strip() for name, _, _ in parts]
        labels = [tags.split() for _, _, tags in parts]
        subsets = Placement(tuple(Path(path).stem for path in paths), np.array([number for number, _ in lines]))
        inputs = tuple(Path(path).name for path in paths)
        counts = LabelCounts.from_lists(labels, ids=names)
        return TagsSource(counts=counts, adapter=self.name, inputs=inputs, files=names, subsets=subsets)

    def plan(self, source, subsets, output, options, *, inputs=()):
        """Refuse what could not be written."""
        made = Output(output, self.name, options, inputs)
        files = [PurePosixPath(f"{name}.tags") for name in subsets.names]
        made.plan(files).check()
        return made, files

    def write(self, source, split, output, options, *, plan, on_progress=None):
        """Write one file for each subset."""
        made, files = plan
        rows = source.counts.matrix.tocsr()

        def line(row):
            entry = rows[[row]]
            tags = [source.counts.labels[j] for j, n in zip(entry.indices, entry.data, strict=True) for _ in range(n)]
            return f"{source.files[row]}: {' '.join(tags)}\n".encode()

        def make(staging):
            for name, place in zip(split.names, files, strict=True):
                with staging.open(place) as write:
                    for row in split.indices(name):
                        write(line(row))

        written = made.write(made.plan(files), split, make)
        return Outcome(split, (*(output / place for place in files), *written))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        names = [f"{'day' if number % 3 else 'night'}/{number:03}.jpg" for number in range(60)]
        labels = ["cat cat", "dog", "cat dog", "", "eel"]
        lines = [f"{name}: {labels[number % len(labels)]}\n" for number, name in enumerate(names)]
        (home / "all.tags").write_text("".join(lines))

        request = Request(ratios={"train": 0.8, "test": 0.2}, stratify_by="folder")
        made = split_with(TagsAdapter(), [str(home / "all.tags")], request, output=home / "out")
        print(made.split.report())
        print(*sorted(path.name for path in made.files))

        # The saved split, replayed.
        again = apply_with(TagsAdapter(), [str(home / "all.tags")], home / "out" / "split.json", output=home / "again")
        print(again.split.sizes == made.split.sizes)
