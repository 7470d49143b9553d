"""What one command writes: lists, or a new tree of links or copies, and the yaml files that Ultralytics reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from evosplit import EvoSplitError, Split
from evosplit.ratios import Subsets
from evosplit.wording import Nouns
from evosplit_plugins.adapter import Outcome
from evosplit_plugins.output import Output, check_subset_names
from evosplit_plugins.progress import OnProgress
from evosplit_plugins.staging import Plan, Staging, check_space, read_record
from evosplit_plugins.ultralytics import VAL, label_path, subset_keys, subset_values
from evosplit_plugins.yolo.description import CLASSIFY, NDJSON, load_yaml
from evosplit_plugins.yolo.fields import YoloSource, short_name
from evosplit_plugins.yolo.images import absolute, read_text
from evosplit_plugins.yolo.ndjson import with_subset
from evosplit_plugins.yolo.yaml_text import edited

__all__ = ["IMAGE_MODES", "LAYOUTS", "YoloOutput"]

LAYOUTS = ("lists", "tree", "roboflow")
IMAGE_MODES = ("symlink", "hardlink", "copy")
_SUBSET_KEYS = ("path", "train", "val", "test", "valid", "validation", "minival", "download")
_OTHER_KEYS = ("path", "names", "nc", "download")
_STEP = 500  # files between two reports of progress


@dataclass(frozen=True)
class _Link:
    """A file to put into a tree."""

    source: str
    place: PurePosixPath


@dataclass(frozen=True)
class YoloOutput:
    """What one command is about to write; it is refused here if it cannot be.

    Parameters
    ----------
    source
        What was read.
    subsets
        The names and sizes that are asked for.
    root
        The output directory.
    options
        A `YoloWriting`.
    inputs
        Further files that were read.
    """

    source: YoloSource
    subsets: Subsets
    root: Path
    options: Any
    inputs: Sequence[Path] = ()
    layout: str = field(init=False)
    places: Sequence[str] = field(init=False)
    yaml_name: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "layout", self._layout())
        object.__setattr__(self, "places", _places(self.source) if self._links else ())
        object.__setattr__(self, "yaml_name", self._free_name())
        check_subset_names(self.subsets.names, forbidden=".")  # Ultralytics would give f.1 and f.2 one cache
        if not self.subsets.is_kfold and self.layout != "ndjson":
            self._check_keys()
        if self.layout == "lists":
            self._check_lines()
        # In a tree the split decides where an image goes, so the images are checked when it is known.
        self._output.plan(self._files).check()

    @property
    def _links(self) -> bool:
        return self.layout in ("tree", "roboflow")

    @property
    def _output(self) -> Output:
        described = self.source.description
        folders = {image.rpartition("/")[0] for image in self.source.images}
        return Output(
            self.root,
            self.source.adapter,
            self.options,
            [*described.inputs, *self.inputs],
            [Path(folder) for folder in sorted(folders)],
        )

    @property
    def _files(self) -> list[PurePosixPath]:
        """The files beside the images."""
        names, kind = self.subsets.names, self.source.description.kind
        if kind == NDJSON:
            return [PurePosixPath(f"{name}.ndjson") for name in (names if self.subsets.is_kfold else ["data"])]
        if kind == CLASSIFY:
            return []
        lists = [PurePosixPath(f"{name}.txt") for name in names] if self.layout == "lists" else []
        return [*lists, *(PurePosixPath(name) for name in self._yamls())]

    def _layout(self) -> str:
        kind, asked, images = self.source.description.kind, self.options.layout, self.options.images
        if asked is not None and asked not in LAYOUTS:
            raise EvoSplitError(f"layout={asked!r} is unknown; choose one of {', '.join(LAYOUTS)}")
        if images is not None and images not in IMAGE_MODES:
            raise EvoSplitError(f"images={images!r} is unknown; choose one of {', '.join(IMAGE_MODES)}")
        if kind == NDJSON:
            if asked is not None or images is not None:
                given = f"layout={asked!r}" if asked is not None else f"images={images!r}"
                raise EvoSplitError(f"{given}: an .ndjson file has no images to place, only its `split`; leave it out")
            return "ndjson"
        if kind == CLASSIFY:
            if asked in ("lists", "roboflow"):
                raise EvoSplitError(
                    f"layout={asked!r}: Ultralytics reads classes from folders alone; choose layout='tree'"
                )
            return "tree"
        if images is not None and asked in (None, "lists"):
            raise EvoSplitError(
                f"images={images!r}: lists leave the images where they are; choose layout='tree', or leave it out"
            )
        return asked or "lists"

    def _free_name(self) -> str:
        """Name the yaml file: not data.yaml where another one is, which could be what was read."""
        own = {name for run in read_record(self.root) for name in run.files}
        there = [path.name for path in self.root.glob("*.y*ml")] if self.root.is_dir() else []
        return "data.yaml" if set(there) <= own else "split.yaml"

    def _check_keys(self) -> None:
        """Refuse subsets that a yaml file could not name; Ultralytics asks for train and val."""
        for key in subset_keys(self.subsets.names):
            if key not in ("train", "val", "test") and (key in _OTHER_KEYS or key in self.source.description.content):
                raise EvoSplitError(f"the subset name {key!r} means something else in a yaml file; choose another")

    def _check_lines(self) -> None:
        """Refuse names that a list cannot hold."""
        for image in self.source.images:
            if len(image.splitlines()) != 1 or image != image.strip():
                raise EvoSplitError(f"{image!r} cannot stand in a line of a list; rename it, or choose layout='tree'")

    def _yamls(self) -> list[str]:
        return [f"{name}.yaml" for name in self.subsets.names] if self.subsets.is_kfold else [self.yaml_name]

    # Writing

    def write(self, split: Split, nouns: Nouns, on_progress: OnProgress | None) -> Outcome:
        """Write everything, or nothing."""
        links = list(self._tree(split)) if self._links else []
        if self.options.images == "copy":
            check_space(self.root, sum(Path(link.source).stat().st_size for link in links))
        output = self._output
        plan: Plan = output.plan([*self._files, *(link.place for link in links)], [Path(each.source) for each in links])
        files = self._files

        def make(staging: Staging) -> None:
            for place, text in self._texts(split):
                with staging.open(place) as write:
                    write(text.encode())
            mode = self.options.images or "symlink"
            for number, link in enumerate(links):
                staging.put(mode, Path(link.source), link.place)
                if on_progress is not None and number % _STEP == 0:
                    on_progress(number / len(links), "placing images")

        written = output.write(plan, split, make, nouns=nouns)
        if self._links and not self.options.dry_run:
            self._drop_caches(links)
        facts: dict[str, Any] = {}
        if links:
            labels = sum(link.place.suffix == ".txt" for link in links)
            facts["images"] = f"{len(links) - labels:,} by {self.options.images or 'symlink'}"
        if not split.is_kfold and not set(VAL) & set(split.names):
            facts["note"] = "there is no subset 'val', which Ultralytics asks for: 'test' is named there too"
        if files:
            facts["data"] = str(self.root / files[-1 if not self.subsets.is_kfold else len(files) // 2])
        return Outcome(split, (*(self.root / place for place in files), *written), facts, self.source.notes)

    def _texts(self, split: Split) -> Iterator[tuple[PurePosixPath, str]]:
        """Give each text file with its place."""
        if self.layout == "ndjson":
            yield from self._ndjson(split)
            return
        if self.source.description.kind == CLASSIFY:
            return
        if self.layout == "lists":
            prefix, cut = self._prefix()
            for name in split.names:
                lines = [f"{prefix}{self.source.images[row][cut:]}\n" for row in split.indices(name).tolist()]
                yield PurePosixPath(f"{name}.txt"), "".join(lines)
        where = {name: self._where(name) for name in split.names}
        for file in self._yamls():
            new = subset_values(where, file.removesuffix(".yaml") if split.is_kfold else None)
            yield PurePosixPath(file), self._yaml(new)

    def _where(self, name: str) -> str:
        """Return what a yaml file says of a subset."""
        if self.layout == "lists":
            return f"{name}.txt"
        return f"images/{name}" if self.layout == "tree" else f"{_roboflow(name)}/images"

    def _yaml(self, new: Mapping[str, Any]) -> str:
        """Write a yaml file: without `path`, which is never meant from the file, and without `download`."""
        described = self.source.description
        content, text = dict(described.content), described.text
        if content.get("names") is None and content.get("nc") is None:
            content["names"] = list(described.names)
        before = load_yaml(text, described.called) if text else {}
        changed = {key: value for key, value in content.items() if key not in before or before[key] != value}
        gone = [key for key in before if key in _SUBSET_KEYS or key not in content]
        gone += [key for key, value in before.items() if key in described.subsets and key not in gone]
        kept = {key: value for key, value in content.items() if key not in gone and key not in changed}
        return edited(text, {**{key: before[key] for key in gone}, **kept}, {**new, **changed}, gone)

    def _prefix(self) -> tuple[str, int]:
        """Return how lines begin, and from where on a path follows.

        Ultralytics takes ./ for the folder of the list, links resolved; so all images have to lie below it, and their
        labels have to be found from there. Otherwise lines are whole paths.
        """
        here, real = absolute(self.root), self.root.resolve().as_posix()
        images = self.source.images
        below = all(image.startswith(f"{here}/") for image in images)
        cut = len(here) + 1
        if below and (here == real or all("/images/" in image[len(here) :] for image in images)):
            return "./", cut
        return "", 0

    def _tree(self, split: Split) -> Iterator[_Link]:
        """Give each image its place, and each label file the one where it is looked for from there."""
        kind = self.source.description.kind
        given: set[PurePosixPath] = set()
        for name in split.names:
            for fold in split.names if kind == CLASSIFY and split.is_kfold else [""]:
                part = ("val" if fold == name else "train") if fold else name
                folder = self._folder(f"{fold}/{part}" if fold else part)
                for row in split.indices(name).tolist():
                    place = f"{folder}/{self.places[row]}"
                    yield _Link(self.source.images[row], PurePosixPath(place))
                    label = self.source.label_files[row]
                    if label is not None:
                        target = PurePosixPath(label_path(f"/{place}")[1:])
                        if target not in given:
                            given.add(target)
                            yield _Link(label, target)

    def _folder(self, name: str) -> str:
        if self.source.description.kind == CLASSIFY:
            return name
        return f"images/{name}" if self.layout == "tree" else f"{_roboflow(name)}/images"

    def _ndjson(self, split: Split) -> Iterator[tuple[PurePosixPath, str]]:
        lines = read_text(self.source.description.inputs[0]).splitlines()
        for file in self._files:
            made = list(lines)
            for name in split.names:
                subset = name if not split.is_kfold else "val" if name == file.stem else "train"
                for row in split.indices(name).tolist():
                    made[self.source.lines[row]] = with_subset(lines[self.source.lines[row]], subset)
            chosen = set(self.source.lines)
            known = [line for at, line in enumerate(made) if at in chosen or '"file"' not in line]
            yield file, "".join(f"{line}\n" for line in known)

    def _drop_caches(self, links: Sequence[_Link]) -> None:
        """Delete what Ultralytics remembers of an earlier tree: it may not notice that labels have changed."""
        folders = {str(link.place.parent) for link in links if link.place.suffix == ".txt"}
        for folder in folders:
            (self.root / folder).with_suffix(".cache").unlink(missing_ok=True)


def _roboflow(name: str) -> str:
    return "valid" if name in VAL else name


def _places(source: YoloSource) -> list[str]:
    """Return the path of each image below the folder of its subset: short, if no two of them can then collide."""
    files = [name or "" for name in source.files or ()]
    if source.description.kind == CLASSIFY:
        cut = 0 if source.description.subsets.keys() == {""} else 1
        short = ["/".join(name.split("/")[cut:]) for name in files]
        taken = {name.casefold() for name in short}
    else:
        short = [short_name(name) for name in files]
        taken = {name.rpartition(".")[0].casefold() for name in short}  # of their label files
    return short if len(taken) == len(files) else files
