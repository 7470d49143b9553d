"""Write lists of images, or a tree of links or copies, with the yaml files that Ultralytics reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from evosplit import EvoSplitError, Split
from evosplit.wording import listed
from evosplit_plugins.adapter import Destination, Outcome
from evosplit_plugins.output import Output, check_subset_names
from evosplit_plugins.progress import OnProgress, Steps
from evosplit_plugins.staging import Staging, check_space, read_record
from evosplit_plugins.ultralytics import VAL, label_path, subset_keys, subset_values
from evosplit_plugins.yolo.description import CLASSIFY, NDJSON, load_yaml
from evosplit_plugins.yolo.fields import YoloSource, short_name
from evosplit_plugins.yolo.images import absolute, read_text
from evosplit_plugins.yolo.ndjson import check_has_no_folder, with_subset
from evosplit_plugins.yolo.yaml_text import edited

if TYPE_CHECKING:
    from evosplit_plugins.yolo.adapter import YoloWriting

__all__ = ["IMAGE_MODES", "LAYOUTS", "YoloOutput"]

LAYOUTS = ("lists", "tree", "roboflow")
IMAGE_MODES = ("symlink", "hardlink", "copy")
_SUBSET_KEYS = ("path", "train", "val", "test", "valid", "validation", "minival", "download")
_OTHER_KEYS = ("path", "names", "nc", "download")
_NUMPY = b"\x93NUMPY"  # how the caches of Ultralytics begin


@dataclass(frozen=True)
class _Link:
    """A file to put into a tree."""

    source: str
    place: str


class YoloOutput:
    """The planned output of a split; the constructor refuses what cannot be written."""

    def __init__(self, to: Destination[YoloSource, YoloWriting]) -> None:
        self._source, self._subsets, self._root, self._options = to.source, to.subsets, to.root, to.options
        source, subsets = to.source, to.subsets
        self._kind = source.description.kind
        self._layout = self._resolved_layout()
        self._links = self._layout in ("tree", "roboflow")
        self._yaml_name = self._free_name()
        check_subset_names(subsets.names, forbidden=".")  # Ultralytics would give f.1 and f.2 one cache
        if not subsets.is_kfold:
            self._check_keys()
        self._check_root()
        if self._layout == "lists":
            self._check_lines()
        self._paths = _paths(source) if self._links else []
        folders = {image.rpartition("/")[0] for image in source.images}
        self._output = Output(to, source.description.inputs, [Path(folder) for folder in sorted(folders)])
        # In a tree the split decides where an image goes, so the images are checked when it is known.
        self._output.plan(self._files).check()

    @property
    def _files(self) -> list[PurePosixPath]:
        """The files beside the images."""
        names = self._subsets.names
        if self._kind == NDJSON:
            return [PurePosixPath(f"{name}.ndjson") for name in self._described]
        if self._kind == CLASSIFY:
            return []
        lists = [PurePosixPath(f"{name}.txt") for name in names] if self._layout == "lists" else []
        return [*lists, *(PurePosixPath(f"{name}.yaml") for name in self._described)]

    def _resolved_layout(self) -> str:
        kind, asked, images = self._kind, self._options.layout, self._options.images
        if asked is not None and asked not in LAYOUTS:
            raise EvoSplitError(f"layout={asked!r} is unknown; choose one of {', '.join(LAYOUTS)}")
        if images is not None and images not in IMAGE_MODES:
            raise EvoSplitError(f"images={images!r} is unknown; choose one of {', '.join(IMAGE_MODES)}")
        if kind == NDJSON:
            if asked is not None or images is not None:
                given = f"layout={asked!r}" if asked is not None else f"images={images!r}"
                raise EvoSplitError(f"{given}: an .ndjson file has no images to place, only its `split`; leave it out")
            check_has_no_folder(self._source.description.inputs[0])
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
        """Return the name of the yaml file; not "data" where a yaml file exists that may be an input."""
        own = {name for run in read_record(self._root) if run.writer == self._source.adapter for name in run.files}
        read = [path for path in self._source.description.inputs if path.exists()]
        there = self._root.glob("*.y*ml") if self._root.is_dir() else ()
        taken = any(path.name not in own or any(map(path.samefile, read)) for path in there)
        return "split" if taken else "data"

    def _check_keys(self) -> None:
        """Refuse subsets that Ultralytics would not find; it asks for train and val."""
        keys = subset_keys(self._subsets.names)
        if self._kind == NDJSON and not set(self._subsets.names) <= {"train", "val", "test"}:
            raise EvoSplitError(
                f"an .ndjson file has train, val and test, not {listed(self._subsets.names)}; name the subsets so"
            )
        for key in keys:
            if key not in ("train", "val", "test") and (key in _OTHER_KEYS or key in self._source.description.content):
                raise EvoSplitError(f"the subset name {key!r} means something else in a yaml file; choose another")

    def _check_root(self) -> None:
        """Refuse to put a tree among the images: they would be found there the next time."""
        root = f"{absolute(self._root)}/"
        for paths in self._source.description.subsets.values() if self._links else ():
            for path in paths:
                if root.startswith(f"{path}/") and Path(path).is_dir():
                    raise EvoSplitError(f"the output {self._root} lies inside of the images in {path}; choose another")

    def _check_lines(self) -> None:
        """Refuse names that a list cannot hold."""
        for image in self._source.images:
            if len(image.splitlines()) != 1 or image != image.strip():
                raise EvoSplitError(f"{image!r} cannot stand in a line of a list; rename it, or choose layout='tree'")

    @property
    def _described(self) -> Sequence[str]:
        """The names of the yaml or .ndjson files for Ultralytics, without their suffix."""
        return self._subsets.names if self._subsets.is_kfold else ["data" if self._kind == NDJSON else self._yaml_name]

    # Writing

    def write(self, split: Split, on_progress: OnProgress | None) -> Outcome:
        """Write everything, or nothing."""
        links = list(self._tree(split)) if self._links else []
        if self._options.images == "copy":
            check_space(self._root, sum(Path(link.source).stat().st_size for link in links))
        files = self._files
        plan = self._output.plan([*files, *(link.place for link in links)], [Path(each.source) for each in links])

        def make(staging: Staging) -> None:
            for place, text in self._texts(split):
                with staging.open(place) as write:
                    write(text.encode())
            mode = self._options.images or "symlink"
            steps = Steps(on_progress, len(links))
            for link in links:
                staging.put(mode, link.source, link.place)
                steps.add("placing images")

        written = self._output.write(plan, split, make)
        if self._links and not self._options.dry_run:
            self._drop_caches(links)
        facts: dict[str, Any] = {}
        if links:
            labels = sum(link.place.endswith(".txt") for link in links)
            facts["images"] = f"{len(links) - labels:,} by {self._options.images or 'symlink'}"
        if not split.is_kfold and not set(VAL) & set(split.names):
            facts["note"] = "there is no subset 'val', which Ultralytics asks for: 'test' is named there too"
        facts["data"] = str(self._root if self._kind == CLASSIFY else self._root / files[-len(self._described)])
        return Outcome(split, (*(self._root / place for place in files), *written), facts, self._source.notes)

    def _texts(self, split: Split) -> Iterator[tuple[PurePosixPath, str]]:
        """Give each text file with its place."""
        if self._layout == "ndjson":
            yield from self._ndjson(split)
            return
        if self._source.description.kind == CLASSIFY:
            return
        if self._layout == "lists":
            prefix, cut = self._prefix()
            for name in split.names:
                lines = [f"{prefix}{self._source.images[row][cut:]}\n" for row in split.indices(name).tolist()]
                yield PurePosixPath(f"{name}.txt"), "".join(lines)
        where = {name: self._where(name) for name in split.names}
        for called in self._described:
            new = subset_values(where, called if split.is_kfold else None)
            yield PurePosixPath(f"{called}.yaml"), self._yaml(new)

    def _where(self, name: str) -> str:
        """Return the entry of a subset in a yaml file."""
        return f"{name}.txt" if self._layout == "lists" else self._folder(name)

    def _yaml(self, new: Mapping[str, Any]) -> str:
        """Write a yaml file: without `path`, which is never meant from the file, and without `download`."""
        described = self._source.description
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
        here, real = absolute(self._root), self._root.resolve().as_posix()
        images = self._source.images
        below = all(image.startswith(f"{here}/") for image in images)
        cut = len(here) + 1
        if below and (here == real or all("/images/" in image[len(here) :] for image in images)):
            return "./", cut
        return "", 0

    def _tree(self, split: Split) -> Iterator[_Link]:
        """Yield a link for each image, and one for each label file, to the path where Ultralytics looks for it."""
        kind = self._source.description.kind
        given: set[str] = set()
        for name in split.names:
            for fold in split.names if kind == CLASSIFY and split.is_kfold else [""]:
                part = ("val" if fold == name else "train") if fold else name
                folder = self._folder(f"{fold}/{part}" if fold else part)
                for row in split.indices(name).tolist():
                    place = f"{folder}/{self._paths[row]}"
                    yield _Link(self._source.images[row], place)
                    label = self._source.label_files[row]
                    if label is not None:
                        target = label_path(f"/{place}")[1:]
                        if target not in given:
                            given.add(target)
                            yield _Link(label, target)

    def _folder(self, name: str) -> str:
        if self._source.description.kind == CLASSIFY:
            return name
        return f"images/{name}" if self._layout == "tree" else f"{_roboflow(name)}/images"

    def _ndjson(self, split: Split) -> Iterator[tuple[PurePosixPath, str]]:
        lines = read_text(self._source.description.inputs[0]).splitlines()
        for file in self._files:
            made = list(lines)
            for name in split.names:
                subset = name if not split.is_kfold else "val" if name == file.stem else "train"
                for row in split.indices(name).tolist():
                    made[self._source.lines[row]] = with_subset(lines[self._source.lines[row]], subset)
            chosen = set(self._source.lines)
            known = [line for at, line in enumerate(made) if at in chosen or '"file"' not in line]
            yield file, "".join(f"{line}\n" for line in known)

    def _drop_caches(self, links: Sequence[_Link]) -> None:
        """Delete what Ultralytics remembers of an earlier tree: it may not notice that labels have changed."""
        folders = {link.place.rpartition("/")[0] for link in links if link.place.endswith(".txt")}
        for folder in folders:
            cache = (self._root / folder).with_suffix(".cache")
            with suppress(FileNotFoundError), cache.open("rb") as stream:
                if stream.read(len(_NUMPY)) == _NUMPY:  # else it is the user's
                    cache.unlink()


def _roboflow(name: str) -> str:
    return "valid" if name in VAL else name


def _paths(source: YoloSource) -> list[str]:
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
