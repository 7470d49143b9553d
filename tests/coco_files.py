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

from evosplit_plugins.cli import main

NAMES = ("person", "bicycle", "car", "dog", "kite")
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


def command_line(*arguments: object) -> list[str]:
    """Return the `evosplit` command, run by this Python."""
    program = "import sys; from evosplit_plugins.cli import main; sys.exit(main())"
    return [sys.executable, "-c", program, *map(str, arguments)]
