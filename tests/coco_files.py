"""Small COCO files for the tests, and a slow, obvious reader of their bytes to compare with."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from evosplit import Split
from evosplit_plugins.cli import main
from evosplit_plugins.coco import CocoAdapter, CocoReading

NAMES = ("person", "bicycle", "car", "dog", "kite")
RATIOS = {"train": 0.6, "val": 0.2, "test": 0.2}
QUICK = {"method": "random"}
FAST = {"effort": "fast"}
THREE = ("-s", "train:0.6", "-s", "val:0.2", "-s", "test:0.2")
_SPACE = re.compile(r"[ \t\r\n]*")


def instances(n_images: int = 30, seed: int = 0, first_id: int = 1) -> dict[str, Any]:
    """Make a file with repeated instances, rare classes, crowds and images without annotations."""
    rng = np.random.default_rng(seed)
    images, annotations = [], []
    for number in range(n_images):
        own = first_id + number
        images.append({"id": own, "file_name": f"{own:06d}.jpg", "width": 640, "height": 480, "license": 1})
        for _ in range(0 if number % 7 == 3 else int(rng.integers(1, 5))):
            x, y = rng.uniform(0, 300, 2).round(2).tolist()
            annotations.append(
                {
                    "segmentation": [[x, y, x + 9.5, y, x + 9.5, y + 4.25]],
                    "area": 20.1875,
                    "iscrowd": int(rng.random() < 0.1),
                    "image_id": own,
                    "bbox": [x, y, 9.5, 4.25],
                    "category_id": int(10 * (1 + min(rng.geometric(0.4) - 1, len(NAMES) - 1))),
                    "id": first_id * 1000 + len(annotations),
                }
            )
    return {
        "info": {"description": "made for a test", "year": 2024},
        "licenses": [{"id": 1, "name": "none"}],
        "images": images,
        "annotations": annotations,
        "categories": [{"id": 10 * (i + 1), "name": name} for i, name in enumerate(NAMES)],
    }


def panoptic(n_images: int = 12) -> dict[str, Any]:
    """Make a panoptic file: segments instead of categories, PNG names, no annotation ids."""
    made = instances(n_images)
    annotations = []
    for number, image in enumerate(made["images"]):
        segments = [
            {
                "id": 1000 * number + part,
                "category_id": 10 * (1 + (number + part) % 5),
                "iscrowd": int(part == 2),
            }
            for part in range(number % 4)
        ]
        name = image["file_name"].replace("jpg", "png")
        annotations.append({"segments_info": segments, "file_name": name, "image_id": image["id"]})
    return {**made, "annotations": annotations}


def captions(n_images: int = 30) -> dict[str, Any]:
    """Make a captions file of the same images as `instances`."""
    made = instances(n_images)
    annotations = [
        {"image_id": image["id"], "id": 5 * image["id"] + part, "caption": f"A picture, told {part} times."}
        for image in made["images"]
        for part in range(2)
    ]
    return {"info": made["info"], "images": made["images"], "annotations": annotations}


def videos(n_images: int = 90, seed: int = 0, first_id: int = 1) -> dict[str, Any]:
    """Make a file whose images are frames of videos of two to five frames, from sites and with weather."""
    rng = np.random.default_rng(seed)
    made = instances(n_images, seed, first_id)
    video, left = -1, 0
    for number, image in enumerate(made["images"]):
        if not left:
            video, left = video + 1, int(rng.integers(2, 6))
        left -= 1
        image["video_id"] = video
        image["file_name"] = f"clips/v{video:03d}_frame{number:04d}.jpg"
        image["meta"] = {"site": {"name": "north" if video % 3 else "south"}, "altitude": round(float(rng.random()), 4)}
        image["weather"] = ("sun", "rain", "fog")[number % 3]
    for number, annotation in enumerate(made["annotations"]):
        annotation["area"] = (100.5, 32**2, 9215.9, 96**2, 1e6)[number % 5]
    return made


def some_images(made: dict[str, Any], chosen: list[int]) -> dict[str, Any]:
    """Cut some images with their annotations out of a file."""
    images = [made["images"][position] for position in chosen]
    ids = {image["id"] for image in images}
    return {**made, "images": images, "annotations": [a for a in made["annotations"] if a["image_id"] in ids]}


def changed(**lists):
    """Make a file in which some entries of some lists are changed: images={0: {...}}."""
    made = instances()
    for key, changes in lists.items():
        for position, change in changes.items():
            made[key][position].update(change)
    return made


def write(path: Path, content: Any, **options: Any) -> Path:
    """Write JSON, bytes or text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif isinstance(content, str):
        path.write_text(content, encoding="utf-8")
    else:
        path.write_text(json.dumps(content, **options), encoding="utf-8")
    return path


def elements(data: bytes, key: str) -> list[bytes]:
    """Return the bytes of each element of a top-level list, found with Python's own decoder."""
    return [part for name, parts in _top_level(data) if name == key for part in parts]


def around(data: bytes) -> list[tuple[str, list[bytes]]]:
    """Return the top-level keys in order, with the bytes of every value but images and annotations."""
    return [(name, [] if name in ("images", "annotations") else parts) for name, parts in _top_level(data)]


def _top_level(data: bytes) -> list[tuple[str, list[bytes]]]:
    text = data.decode("utf-8")
    decoder = json.JSONDecoder()
    position = _skip(text, 0) + 1
    found: list[tuple[str, list[bytes]]] = []
    while text[_skip(text, position)] != "}":
        position = _skip(text, position)
        position = _skip(text, position + 1) if text[position] == "," else position
        name, position = decoder.raw_decode(text, position)
        position = _skip(text, _skip(text, position) + 1)
        if name not in ("images", "annotations"):
            begin = position
            _, position = decoder.raw_decode(text, position)
            found.append((name, [text[begin:position].encode()]))
            continue
        parts = []
        position = _skip(text, position + 1)
        while text[position] != "]":
            position = _skip(text, position + 1) if text[position] == "," else position
            begin = position
            _, position = decoder.raw_decode(text, position)
            parts.append(text[begin:position].encode())
            position = _skip(text, position)
        found.append((name, parts))
        position += 1
    return found


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def tree(folder: Path) -> dict[str, bytes | str]:
    """Return everything below a folder: files with their bytes, links with their targets."""
    found: dict[str, bytes | str] = {}
    for path in sorted(folder.rglob("*")) if folder.exists() else []:
        place = path.relative_to(folder).as_posix()
        if path.is_symlink():
            found[place] = f"-> {path.readlink()}"
        else:
            found[place] = "folder" if path.is_dir() else path.read_bytes()
    return found


def annotation_files(folder: Path, kind: str = "instances") -> dict[str, bytes]:
    """Return the annotation files of the default layout, by subset."""
    return {
        path.name.removeprefix(f"{kind}_").split(".")[0]: path.read_bytes()
        for path in sorted((folder / "annotations").iterdir())
    }


def load(path: Path) -> Any:
    """Load a file as its consumers do."""
    from pycocotools.coco import COCO

    with redirect_stdout(io.StringIO()):
        return COCO(str(path))


def read(*paths, **options):
    """Read annotation files into a source."""
    return CocoAdapter().read(list(map(str, paths)), CocoReading(**options))


def subset_of_each(split: Split) -> dict[Any, str]:
    """Map the ids of the images to the names of their subsets."""
    return {own: split.names[j] for own, j in zip(split.sample_ids.tolist(), split.assignment.tolist(), strict=True)}


def command(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the `evosplit` command, as a process of its own where options of `subprocess.run` are given.

    Without them it runs here, which saves a second of imports; `main` is all that a process would call.
    """
    if options:
        return subprocess.run(command_line(*arguments), capture_output=True, text=True, timeout=300, **options)

    words = list(map(str, arguments))
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err), warnings.catch_warnings():
        warnings.simplefilter("default")  # the suite turns warnings into errors
        try:
            code = main(words)
        except SystemExit as stop:
            code = int(stop.code or 0)
    return subprocess.CompletedProcess(words, code, *(stream.buffer.getvalue().decode() for stream in (out, err)))


def refused(ran: subprocess.CompletedProcess[str]) -> str:
    """Check that a command was refused as promised, and return its one line."""
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert ran.stderr.count("\n") == 1
    return ran.stderr


def command_line(*arguments: object) -> list[str]:
    """Return the `evosplit` command, run by this Python."""
    program = "import sys; from evosplit_plugins.cli import main; sys.exit(main())"
    return [sys.executable, "-c", program, *map(str, arguments)]


_words = st.text(st.characters(codec="utf-8"), max_size=8)

_numbers = st.sampled_from(
    [
        "0",
        "-0",
        "100.00",
        "1e5",
        "1E-7",
        "-3.50",
        str(2**64),
        str(-(10**30)),
        "0.1000000000000000055",
        "2e400",
        "5",
    ]
)

_spaces = st.sampled_from(["", " ", "\n", "\n    ", "\t", " \r\n "])


def _quoted(word: str) -> st.SearchStrategy[str]:
    return st.sampled_from([json.dumps(word), json.dumps(word, ensure_ascii=False)])


_values = st.recursive(
    st.one_of(_numbers, st.sampled_from(["true", "false", "null", '"}, {"', '"\\"]["']), _words.flatmap(_quoted)),
    lambda inner: st.one_of(
        st.builds(lambda s, items: f"[{s}" + f"{s},".join(items) + "]", _spaces, st.lists(inner, max_size=3)),
        st.builds(
            lambda s, pairs: "{" + f",{s}".join(f"{json.dumps(k)}:{s}{v}" for k, v in pairs) + "}",
            _spaces,
            st.lists(st.tuples(_words, inner), max_size=3),
        ),
    ),
    max_leaves=6,
)


@st.composite
def odd_files(draw):
    """Draw a COCO file as text, with odd numbers, spacing, key order and keys that nobody knows."""
    space = draw(_spaces)
    known = (
        "id",
        "image_id",
        "category_id",
        "images",
        "annotations",
        "categories",
        "segments_info",
        "keypoints",
    )

    def thing(**fields):
        pairs = [(json.dumps(key), str(value)) for key, value in fields.items()]
        extra = draw(st.lists(st.tuples(_words.filter(lambda word: word not in known), _values), max_size=3))
        pairs += [(json.dumps(key), value) for key, value in extra]
        inner = ("," + draw(_spaces)).join(f"{key}:{space}{value}" for key, value in draw(st.permutations(pairs)))
        return "{" + draw(_spaces) + inner + draw(_spaces) + "}"

    def listed(things, uneven):
        text = ""
        for position, item in enumerate(things):
            gap = (draw(_spaces) + "," + draw(_spaces)) if uneven else "," + space
            text += (gap if position else space) + item
        return "[" + text + space + "]"

    n = draw(st.integers(2, 7))
    ids = draw(st.lists(st.integers(0, 2**70), min_size=n, max_size=n, unique=True))
    owners = draw(st.lists(st.sampled_from(ids), max_size=9))
    images = [thing(id=own) for own in ids]
    annotations = [thing(id=k, image_id=own, category_id=draw(st.integers(1, 2))) for k, own in enumerate(owners)]
    uneven = draw(st.booleans())
    top = [
        ("images", listed(images, uneven)),
        ("annotations", listed(annotations, uneven)),
        ("categories", listed([thing(id=1), thing(id=2)], False)),
    ]
    words = draw(st.lists(_words.filter(lambda word: word not in known), max_size=3, unique=True))
    top = draw(st.permutations([*top, *((word, draw(_values)) for word in words)]))
    body = f",{space}".join(f"{json.dumps(key)}{draw(_spaces)}:{space}{value}" for key, value in top)
    return space + "{" + body + "}" + space
