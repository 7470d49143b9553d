"""The description of a YOLO data set: its classes, and where the images of each subset are."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evosplit import EvoSplitError
from evosplit.errors import needing
from evosplit.wording import listed
from evosplit_plugins.yolo.images import Disk, absolute, is_image, read_text

__all__ = ["CLASSIFY", "NDJSON", "Description", "describe", "load_yaml", "looks_like_yolo"]

DETECT, CLASSIFY, NDJSON = "detect", "classify", "ndjson"
_YAML = (".yaml", ".yml")
_USUAL_YAML = ("data.yaml", "dataset.yaml", "data.yml", "dataset.yml")
_SUBSETS = ("train", "val", "valid", "validation", "test", "minival")
_VAL = ("valid", "validation")
_NAMES = ("classes.txt", "obj.names", "_darknet.labels", "labels.txt")
_FOLD = re.compile(r"fold\d+")
_AUTOSPLIT = "autosplit_"
_NAMED = re.compile(rb"^names\s*:", re.MULTILINE)
_KEYPOINTS = "kpt_shape"


@dataclass(frozen=True)
class Description:
    """The description of a YOLO data set.

    Attributes
    ----------
    called
        What its user named.
    kind
        "detect" (label files beside the images), "classify" (a folder for each class) or "ndjson".
    root
        The folder that the data set lies in.
    subsets
        For each subset the folders, lists and images that it consists of.
    names
        The classes; empty where they are found later.
    keypoints
        Their number and dimension, for poses.
    content, text
        What stands in the yaml file, if there is one, as values and as it is written.
    inputs
        The files that were read.
    notes
        Sentences about what was unusual.
    """

    called: str
    kind: str
    root: str
    subsets: Mapping[str, Sequence[str]]
    names: tuple[str, ...] = ()
    keypoints: tuple[int, int] | None = None
    content: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""
    inputs: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()


def looks_like_yolo(paths: Sequence[str]) -> bool:
    """Tell from names alone whether paths lead to YOLO data; folders of classes could be of others too."""
    first = Path(paths[0]) if paths else Path()
    if paths and all(map(_is_list_of_images, map(Path, paths))):
        return True
    if len(paths) > 1:
        return False
    if first.suffix.lower() in (*_YAML, ".ndjson", ".data"):
        return first.is_file()
    if not first.is_dir():
        return False
    names = {path.name for path in first.iterdir()}
    pairs = ("", *(f"{name}/" for name in _SUBSETS))
    return (
        any(name in names for name in (*_USUAL_YAML, "obj.data", "fold0.yaml"))
        or any(name.startswith(_AUTOSPLIT) for name in names)
        or any((first / f"{pair}images").is_dir() and (first / f"{pair}labels").is_dir() for pair in pairs)
    )


def _is_list_of_images(path: Path) -> bool:
    """Tell from its name, or from a description beside it, whether a text file may be a list of images."""
    if path.suffix != ".txt" or not path.is_file():
        return False
    described = (each for each in path.parent.iterdir() if each.suffix.lower() in _YAML and each.is_file())
    return path.name.startswith(_AUTOSPLIT) or any(_NAMED.search(each.read_bytes()) for each in described)


def describe(paths: Sequence[str], *, root: Any = None, names: Any = None) -> Description:
    """Read the description of a data set.

    Parameters
    ----------
    paths
        A yaml file, a folder, an obj.data, an .ndjson file, or lists of images.
    root
        The folder of the data set, instead of the one that the yaml file names.
    names
        A file with the names of the classes, one in each line, or a yaml file with `names`.
    """
    for path in paths:
        if not Path(path).exists():
            raise EvoSplitError(f"{path} does not exist; name a data.yaml, or the folder of a YOLO data set")
    if root is not None and not Path(root).is_dir():
        raise EvoSplitError(f"root={str(root)!r} is no folder; name the one that the data set lies in")
    suffixes = {Path(path).suffix.lower() for path in paths if Path(path).is_file()}
    if suffixes == {".txt"} and not any(Path(path).is_dir() for path in paths):
        found = _from_lists([Path(path) for path in paths], root)
    elif len(paths) != 1:
        raise EvoSplitError(f"{', '.join(paths)}: give one data set, or several lists of images (.txt)")
    else:
        found = _from_path(Path(paths[0]), root)
    if names is not None:
        content = {**found.content, "names": list(_names_in(Path(names)))}
        content.pop("nc", None)
        found = replace(found, names=tuple(content["names"]), content=content, inputs=(*found.inputs, Path(names)))
    if not found.names and found.kind == DETECT:
        raise EvoSplitError(f"{found.called} has no `names`; add them, or pass names='classes.txt'")
    return found


def _from_path(path: Path, root: Any) -> Description:
    if path.is_dir():
        return _from_folder(path, root)
    suffix = path.suffix.lower()
    if suffix in _YAML:
        return _from_yaml(path, root)
    if suffix == ".data":
        return _from_darknet(path, root)
    if suffix == ".ndjson":
        return Description(path.name, NDJSON, absolute(path.parent), {}, inputs=(path,))
    raise EvoSplitError(f"{path} is nothing that YOLO reads; name a data.yaml, or the folder of a YOLO data set")


# A yaml file


def load_yaml(text: str, called: str) -> dict[str, Any]:
    """Read a yaml file that describes a data set."""
    with needing("yaml", "YOLO data sets need PyYAML", "yolo"):
        import yaml
    try:
        content = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        said = " ".join(str(error).split())
        raise EvoSplitError(f"{called} is no YAML: {said}; correct it") from error
    if not isinstance(content, dict):
        raise EvoSplitError(f"{called} is no description of a data set: it has no keys such as `train` and `names`")
    return content


def _from_yaml(path: Path, root: Any) -> Description:
    text = read_text(path)
    content = load_yaml(text, path.name)
    names = checked_names(content, path.name)
    base = absolute(root) if root is not None else _root(content, path)
    keys = [key for key in content if key in _SUBSETS or _is_list(content[key], base)]
    subsets: dict[str, list[str]] = {}
    missing = []
    for key in keys:
        entries = _entries(content[key])
        if not entries:
            continue
        if not all(isinstance(entry, str) for entry in entries):
            raise EvoSplitError(f"{path.name}: `{key}: {content[key]}` names no folder or list; correct it")
        paths = [_find(base, entry) for entry in entries]
        if None in paths:
            missing.append(f"`{key}: {entries[paths.index(None)]}`")
            continue
        subsets.setdefault("val" if key in _VAL else str(key), []).extend(each for each in paths if each is not None)
    if not subsets:
        said = f"{listed(missing)} {'is' if len(missing) == 1 else 'are'} not below {base}" if missing else "no `train`"
        raise EvoSplitError(f"{path.name}: {said}; correct it, or pass root='DIR', the folder of the images")
    notes = (f"{path.name} names {listed(missing)}, which is not there; it is left out.",) if missing else ()
    return Description(
        path.name, DETECT, base, subsets, names, _keypoints(content, path.name), content, text, (path,), notes
    )


def _root(content: Mapping[str, Any], path: Path) -> str:
    """Find the folder that a yaml file means: Ultralytics takes `path` from where it runs, others from the file."""
    beside, given = path.absolute().parent, content.get("path")
    if given is None or given == "":
        return absolute(beside)
    folders = [absolute(folder) for folder in (Path(str(given)), beside / str(given)) if folder.is_dir()]
    if not folders:
        raise EvoSplitError(
            f"{path.name}: `path: {given}` is found neither here nor beside the yaml; pass root='DIR', its folder"
        )
    entries = [entry for key in _SUBSETS for entry in _entries(content.get(key))]
    return next((folder for folder in folders if any(_find(folder, entry) for entry in entries)), folders[0])


def _entries(given: Any) -> list[Any]:
    return given if isinstance(given, list) else [] if given is None else [given]


def _find(base: str, entry: Any) -> str | None:
    """Find a path of a yaml file as Ultralytics does: Roboflow writes one ../ too many."""
    for name in (str(entry), str(entry).removeprefix("../")):
        path = absolute(Path(base, name.replace("\\", "/")))
        if Path(path).exists():
            return path
    return None


def _is_list(value: Any, base: str) -> bool:
    """Whether an unknown key names a subset: some exporters have subsets of any name."""
    return isinstance(value, str) and value.endswith(".txt") and Path(base, value).is_file()


def checked_names(content: Mapping[str, Any], called: str) -> tuple[str, ...]:
    """Return the names of the classes, whether they are a list or a mapping; only `nc` gives class_0, class_1, ..."""
    given, number = content.get("names"), content.get("nc")
    if given is None:
        if isinstance(number, int) and number > 0:
            return tuple(f"class_{j}" for j in range(number))
        return ()
    if isinstance(given, dict):
        try:
            by_number = {int(key): str(name) for key, name in given.items()}
        except (TypeError, ValueError):
            raise EvoSplitError(f"{called}: `names` has keys that are no numbers; number the classes from 0") from None
        if sorted(by_number) != list(range(len(given))):
            keys = sorted(by_number)
            gap = f"keys {keys[0]}\u2013{keys[-1]}" if len(keys) == keys[-1] - keys[0] + 1 else f"keys {listed(keys)}"
            raise EvoSplitError(f"{called}: `names` has {gap}; YOLO counts from 0, without gaps: number them so")
        names = tuple(by_number[j] for j in range(len(by_number)))
    elif isinstance(given, list):
        names = tuple(map(str, given))
    else:
        raise EvoSplitError(f"{called}: `names` is {given!r}; write a list of the classes")
    if number is not None and number != len(names):
        raise EvoSplitError(f"{called}: `names` has {len(names)} entries, `nc` says {number}; correct one of them")
    return _told_apart(names)


def _told_apart(names: tuple[str, ...]) -> tuple[str, ...]:
    """Make repeated class names unique by adding their numbers."""
    if len(set(names)) == len(names):
        return names
    return tuple(name if names.count(name) == 1 else f"{name} ({j})" for j, name in enumerate(names))


def _keypoints(content: Mapping[str, Any], called: str) -> tuple[int, int] | None:
    given = content.get(_KEYPOINTS)
    if given is None:
        return None
    if not isinstance(given, list) or len(given) != 2 or not all(isinstance(n, int) for n in given):
        raise EvoSplitError(f"{called}: `kpt_shape: {given}` is not [number, 2 or 3]; correct it")
    return int(given[0]), int(given[1])


def _names_in(path: Path) -> tuple[str, ...]:
    if not path.is_file():
        raise EvoSplitError(f"names={str(path)!r} is no file; name one with a class in each line")
    text = read_text(path)
    if path.suffix.lower() in _YAML:
        return checked_names(load_yaml(text, path.name), path.name)
    return _told_apart(tuple(line.strip() for line in text.splitlines() if line.strip()))


# Folders, lists and obj.data


def _from_folder(folder: Path, root: Any) -> Description:
    inside = sorted(path for path in folder.iterdir() if path.is_file())
    described = [path for path in inside if path.suffix.lower() in _YAML]
    folds = [path for path in described if _FOLD.fullmatch(path.stem)]
    usual = [path for path in described if path.name in _USUAL_YAML]
    if folds and folds == described:
        return _from_folds(folds, root)
    if len(described) == 1 or usual:
        return _from_yaml((usual or described)[0], root)
    if described:
        raise EvoSplitError(f"{folder} has {len(described)} yaml files ({listed(p.name for p in described)}); name one")
    for suffix in (".data", ".ndjson"):
        found = [path for path in inside if path.suffix.lower() == suffix]
        if len(found) == 1:
            return _from_path(found[0], root)
    lists = [path for path in inside if path.name.startswith(_AUTOSPLIT) and path.suffix == ".txt"]
    if lists:
        return _from_lists(lists, root)
    return _from_bare_folder(folder)


def _from_folds(files: Sequence[Path], root: Any) -> Description:
    """Read folds: what is `val` in the yaml file of each."""
    each = [_from_yaml(path, root) for path in files]
    subsets = {path.stem: found.subsets["val"] for path, found in zip(files, each, strict=True)}
    return replace(each[0], subsets=subsets, inputs=tuple(files), called=files[0].parent.name)


def _from_lists(paths: Sequence[Path], root: Any) -> Description:
    """Read lists; the classes stand in a yaml file, or in a file of names, beside them."""
    folder = paths[0].absolute().parent
    base = absolute(folder if root is None else root)
    subsets = {_subset_of_list(path): [absolute(path)] for path in paths}
    if len(subsets) < len(paths):
        raise EvoSplitError(f"{listed(paths)}: two lists have one name, so that their subsets have; rename one")
    beside = Description(listed(path.name for path in paths), DETECT, base, subsets, inputs=tuple(paths))
    return _with_names(beside, (folder, folder.parent))


def _subset_of_list(path: Path) -> str:
    name = path.stem.removeprefix(_AUTOSPLIT)
    return "val" if name in _VAL else name


def _with_names(found: Description, folders: Sequence[Path]) -> Description:
    """Add the names of the classes that lie beside the data."""
    for folder in folders:
        described = [path for path in sorted(folder.iterdir()) if path.suffix.lower() in _YAML]
        if len(described) > 1 and all(_FOLD.fullmatch(path.stem) for path in described):
            described = described[:1]  # they differ in their lists alone
        if len(described) == 1:
            text = read_text(described[0])
            content = load_yaml(text, described[0].name)
            names = checked_names(content, described[0].name)
            if names:
                keypoints = _keypoints(content, described[0].name)
                inputs = (*found.inputs, described[0])
                return replace(found, names=names, content=content, text=text, keypoints=keypoints, inputs=inputs)
        for name in _NAMES:
            if (folder / name).is_file():
                names = _names_in(folder / name)
                return replace(found, names=names, inputs=(*found.inputs, folder / name))
    return found


def _from_darknet(path: Path, root: Any) -> Description:
    """Read an obj.data, whose paths are meant from where Darknet runs: found beside it, or above, or without data/."""
    folder = path.absolute().parent
    bases = [folder, folder.parent, Path()] if root is None else [Path(root)]
    lines = [line.partition("#")[0].partition("=") for line in read_text(path).splitlines()]
    given = {key.strip(): value.strip() for key, equals, value in lines if equals}

    def place(key: str) -> Path | None:
        name = given[key].replace("\\", "/")
        for base in bases:
            for each in (name, name.removeprefix("data/"), name.rpartition("/")[2]):
                if (base / each).is_file():
                    return base / each
        return None

    subsets: dict[str, list[str]] = {}
    missing = []
    for key in given:
        if key in _SUBSETS:
            found = place(key)
            if found is None:
                missing.append(f"`{key} = {given[key]}`")
            else:
                subsets["val" if key in _VAL else key] = [absolute(found)]
    if not subsets:
        said = f"{listed(missing)} is not there" if missing else "it has no `train =`"
        raise EvoSplitError(
            f"{path.name}: {said}; correct it, or pass root='DIR', the folder that its paths start from"
        )
    names_file = place("names") if "names" in given else None
    notes = (f"{path.name} names {listed(missing)}, which is not there; it is left out.",) if missing else ()
    described = Description(path.name, DETECT, absolute(folder), subsets, inputs=(path,), notes=notes)
    if names_file is None:
        return described
    return replace(described, names=_names_in(names_file), inputs=(path, names_file))


def _from_bare_folder(folder: Path) -> Description:
    """Read a folder that nothing describes: images/, train/images/, images with labels beside them, or classes."""
    base = absolute(folder)
    disk = Disk()
    subsets: dict[str, list[str]] = {}
    for name in _SUBSETS:
        for place in (f"{base}/{name}/images", f"{base}/images/{name}"):
            if Path(place).is_dir():
                subsets.setdefault("val" if name in _VAL else name, []).append(place)
    if not subsets and Path(base, "images").is_dir():
        subsets = {"train": [f"{base}/images"]}
    parts = {name: f"{base}/{name}" for name in _SUBSETS if Path(base, name).is_dir()}
    if not subsets:
        beside = {name: place for name, place in parts.items() if any(map(is_image, disk.files(place)))}
        subsets = {"val" if name in _VAL else name: [place] for name, place in beside.items()}
    if not subsets and any(map(is_image, disk.files(base))):
        subsets = {"train": [base]}
    if subsets:
        found = Description(folder.name, DETECT, base, subsets)
        return _with_names(found, (folder, *(Path(base, name) for name in parts)))
    if not parts:
        parts = {"": base}
    classes = {name: [f"{place}/{each}" for each in disk.folders(place)] for name, place in parts.items()}
    if not any(classes.values()):
        raise EvoSplitError(f"{folder} has no images; name a data.yaml, or the folder of a YOLO data set")
    subsets = {"val" if name in _VAL else name: folders for name, folders in classes.items()}
    return Description(folder.name, CLASSIFY, base, subsets)
