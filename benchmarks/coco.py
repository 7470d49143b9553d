"""What the COCO adapter costs: re-splitting a file of train2017's size, beside plain JSON and a copy.

Run it with `python -m benchmarks.coco`; it prints its table and keeps it in `benchmarks/results/coco.md`.
The file is generated in a temporary directory (about 450 MB, and as much again for the outputs) and deleted
afterwards. Each line is measured in a process of its own, round after round, so that a busy machine slows
all of them alike.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from pycocotools.coco import COCO

import evosplit
from benchmarks.common import Usage, in_fresh_process, machine_line, markdown_table, write_result
from evosplit.ratios import Subsets
from evosplit_plugins.adapter import Destination
from evosplit_plugins.coco import CocoAdapter, CocoReading, CocoWriting

RATIOS = {"train": 0.8, "val": 0.1, "test": 0.1}
IMAGES, ANNOTATIONS, CATEGORIES = 118_287, 860_001, 80
PALETTE = 10  # classes in an image, at most
NORMAL = "`evosplit coco split`, effort normal"


def make_file(path: Path, n_images: int, n_annotations: int, seed: int = 0) -> None:
    """Write an instances file with polygons: long-tailed classes in company, some crowds and empty images."""
    rng = np.random.default_rng(seed)
    shapes = [_polygon(rng) for _ in range(5_000)]
    crowds = [_run_lengths(rng) for _ in range(200)]
    ids = np.sort(rng.choice(5 * n_images, n_images, replace=False))
    owners = rng.choice(n_images, n_annotations, p=_weights(rng, n_images))
    # An image shows a few classes several times: about 2.9 of them in COCO, with 7.3 annotations.
    palette = np.minimum(rng.geometric(0.055, (n_images, PALETTE)), CATEGORIES)
    n_classes = np.clip(1 + rng.poisson(4.4, n_images), 1, PALETTE)
    classes = palette[owners, (rng.random(n_annotations) * n_classes[owners]).astype(np.int64)]
    chosen = rng.integers(0, len(shapes), n_annotations)
    with path.open("w", encoding="ascii") as stream:
        stream.write('{"info": {"description": "generated", "year": 2017},"licenses": [{"id": 1,"name": "none"}],')
        stream.write('"images": [')
        for position, own in enumerate(ids.tolist()):
            name = f"{own:012d}.jpg"
            stream.write(
                f'{"," if position else ""}{{"license": 1,"file_name": "{name}","coco_url": "http://images.example.org/'
                f'train2017/{name}","height": 427,"width": 640,"date_captured": "2013-11-14 11:18:45",'
                f'"flickr_url": "http://photos.example.org/{own}_{own * 7919 % 99_991}_z.jpg","id": {own}}}'
            )
        stream.write('],"annotations": [')
        rows = zip(ids[owners].tolist(), classes.tolist(), chosen.tolist(), strict=True)
        for position, (image, category, shape) in enumerate(rows):
            crowd = position % 90 == 89
            what = crowds[shape % len(crowds)] if crowd else shapes[shape]
            stream.write(
                f'{"," if position else ""}{{{what},"iscrowd": {int(crowd)},"image_id": {image},'
                f'"category_id": {category},"id": {position + 1}}}'
            )
        categories = [{"supercategory": "thing", "id": i + 1, "name": f"class {i + 1}"} for i in range(CATEGORIES)]
        stream.write(f'],"categories": {json.dumps(categories)}}}')


def _polygon(rng: np.random.Generator) -> str:
    n = max(4, int(rng.gamma(2.2, 11)))
    points = (rng.uniform(40, 400, 2) + rng.normal(0, 9, (n, 2)).cumsum(axis=0)).clip(0, 640).round(2)
    x, y = points.min(axis=0).tolist()
    width, height = (points.max(axis=0) - points.min(axis=0)).round(2).tolist()
    numbers = ",".join(map(repr, points.ravel().tolist()))
    return f'"segmentation": [[{numbers}]],"area": {width * height / 3!r},"bbox": [{x},{y},{width},{height}]'


def _run_lengths(rng: np.random.Generator) -> str:
    counts = ",".join(map(str, rng.integers(1, 900, 300).tolist()))
    return f'"segmentation": {{"counts": [{counts}],"size": [427,640]}},"area": 9000,"bbox": [1,2,300,200]'


def _weights(rng: np.random.Generator, n: int) -> np.ndarray:
    weights = rng.gamma(1.2, size=n)
    weights[rng.random(n) < 0.01] = 0  # images without annotations
    return np.asarray(weights / weights.sum())


# What is measured; each gets the file and a directory to write into.


def copy_at_once(source: Path, out: Path) -> None:
    """Read the whole file, write it."""
    (out / "copy.json").write_bytes(source.read_bytes())


def copy_in_pieces(source: Path, out: Path) -> None:
    """Copy as `shutil` does, without the kernel's short cuts: a megabyte at a time."""
    with source.open("rb") as reading, (out / "copy.json").open("wb") as writing:
        shutil.copyfileobj(reading, writing, 1 << 20)


def load_json(source: Path, out: Path) -> None:
    """Parse the file with Python's own decoder."""
    with source.open() as stream:
        json.load(stream)


def load_pycocotools(source: Path, out: Path) -> None:
    """Load the file as its consumers do."""
    with contextlib.redirect_stdout(io.StringIO()):
        COCO(str(source))


def parse_and_dump(source: Path, out: Path) -> None:
    """Split as cocosplit and its kin do: parse, filter, dump; the images at random."""
    with source.open() as stream:
        data = json.load(stream)
    rng = np.random.default_rng(0)
    subset_of = dict(
        zip(
            (image["id"] for image in data["images"]),
            rng.choice(3, len(data["images"]), p=[0.8, 0.1, 0.1]),
            strict=True,
        )
    )
    for position, name in enumerate(RATIOS):
        part = {
            **data,
            "images": [image for image in data["images"] if subset_of[image["id"]] == position],
            "annotations": [a for a in data["annotations"] if subset_of[a["image_id"]] == position],
        }
        with (out / f"{name}.json").open("w") as stream:
            json.dump(part, stream)


def read_and_write(source: Path, out: Path) -> tuple[float, float]:
    """Read, check and count, then write three subsets and the manifest; the split between is not timed."""
    adapter = CocoAdapter()
    import_module("evosplit_plugins.coco.writing")  # loaded when first used, which is not what is measured
    begin = time.process_time()
    read = adapter.read([str(source)], CocoReading())
    reading = time.process_time() - begin
    split = evosplit.split(read.counts, RATIOS, method="random")
    _ = split.measures  # part of every report, and kept
    begin = time.process_time()
    subsets = Subsets(split.names, split.sizes)
    to = Destination(source=read, subsets=subsets, root=out, options=CocoWriting(), nouns=adapter.nouns)
    adapter.plan(to)(split, None)
    return reading, time.process_time() - begin


def run_command(source: Path, out: Path, *flags: str) -> Usage:
    """Run the whole command, start of Python and imports included."""
    program = "import sys; from evosplit_plugins.cli import main; sys.exit(main())"
    subsets = [part for name, ratio in RATIOS.items() for part in ("-s", f"{name}:{ratio}")]
    line = [
        sys.executable,
        "-c",
        program,
        "coco",
        "split",
        str(source),
        "-o",
        str(out / "command"),
        *subsets,
        *flags,
    ]
    begin = time.perf_counter()
    process = subprocess.Popen(line, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"the command failed with status {status}")
    return Usage(None, usage.ru_utime + usage.ru_stime, time.perf_counter() - begin, usage.ru_maxrss / 1024)


def measured(function: Callable[[Path, Path], Any], source: Path) -> Usage:
    """Call a function in a fresh process, with a fresh directory."""
    with tempfile.TemporaryDirectory(dir=source.parent) as out:
        usage = in_fresh_process(function, source, Path(out))
    if isinstance(usage.result, tuple):
        return Usage(usage.result, sum(usage.result), usage.wall, usage.peak)
    return usage


def main() -> None:
    """Make the file, measure, print and keep the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="how often each line is measured (default 5)")
    parser.add_argument("--scale", type=float, default=1.0, help="size of the file, 1 for that of train2017")
    args = parser.parse_args()
    functions: dict[str, Callable[[Path, Path], Any]] = {
        "plain byte copy: `write(read())`": copy_at_once,
        "byte copy by the megabyte": copy_in_pieces,
        "EvoSplit: read and write three subsets, search aside": read_and_write,
    }
    once: dict[str, Callable[[Path, Path], Any]] = {
        "`json.load`": load_json,
        "pycocotools `COCO(file)`": load_pycocotools,
        "parse, filter and dump with `json` (random split)": parse_and_dump,
    }
    commands = {
        "`evosplit coco split`, effort fast": ("--effort", "fast"),
        NORMAL: ("--effort", "normal"),
        "the same with groups of about 20 images, by `--group-regex`": ("--group-regex", r"^(\d{10})"),
        "the same with strata, `--stratify-by area`": ("--stratify-by", "area"),
    }
    found: dict[str, list[Usage]] = {}
    with tempfile.TemporaryDirectory(prefix="evosplit-coco-") as folder:
        source = Path(folder) / "instances_generated.json"
        make_file(source, round(IMAGES * args.scale), round(ANNOTATIONS * args.scale))
        size = source.stat().st_size
        with tempfile.TemporaryDirectory(dir=folder) as out:
            run_command(source, Path(out), "--effort", "fast")  # compiles what is compiled once
        for round_number in range(args.rounds):
            for name, function in functions.items():
                found.setdefault(name, []).append(measured(function, source))
            for name, flags in commands.items():
                with tempfile.TemporaryDirectory(dir=folder) as out:
                    found.setdefault(name, []).append(run_command(source, Path(out), *flags))
            if round_number == 0:
                for name, function in once.items():
                    found[name] = [measured(function, source)]
    write_result("coco", text := report(found, size, args.rounds))
    print(text)


def report(found: dict[str, list[Usage]], size: int, rounds: int) -> str:
    """Lay out the medians, and the ratios that matter."""

    def median(name: str, field: str = "cpu") -> float:
        return float(statistics.median(getattr(usage, field) for usage in found[name]))

    copy, pieces, adapter = list(found)[:3]
    rows = [
        [
            name,
            f"{median(name):.2f}",
            _range(found[name]),
            f"{median(name, 'wall'):.2f}",
            f"{median(name, 'peak'):.0f}",
        ]
        for name in found
    ]
    parts = np.median([usage.result for usage in found[adapter]], axis=0)
    ratios = sorted(mine.cpu / other.cpu for mine, other in zip(found[adapter], found[copy], strict=True))
    lines = [
        f"Reading takes {parts[0]:.2f} and writing {parts[1]:.2f} CPU s: together "
        f"{median(adapter) / median(copy):.1f} times a plain byte copy (in the single rounds "
        f"{ratios[0]:.1f} to {ratios[-1]:.1f}; the bar is 3), and "
        f"{median(adapter) / median(pieces):.1f} times a copy by the megabyte.",
        f"The whole command at effort normal takes {median(NORMAL) / median('`json.load`'):.2f} times "
        f"the CPU time of one `json.load` (the bar is 0.5) and {median(NORMAL, 'peak'):.0f} MiB at its "
        "peak (the bar is 1024).",
    ]
    notes = (
        f"Medians of {rounds} rounds, the three lines with `json` and pycocotools once. The peak counts the "
        "pages of the memory-mapped file. Every line has a process of its own; only for the commands that "
        "includes the start of Python and all imports. A copy that has to touch memory which the system has "
        "not handed out before takes three times as long as one that finds it warm, hence the range."
    )
    return (
        "# The COCO adapter\n\n"
        f"{machine_line('msgspec', 'numpy', 'pycocotools')} A generated file of {size / 1e6:.0f} MB.\n\n"
        + markdown_table(["", "CPU s", "range", "wall s", "peak MiB"], rows)
        + "\n"
        + "\n".join(f"- {line}" for line in lines)
        + f"\n\n{notes}\n"
    )


def _range(usages: list[Usage]) -> str:
    times = [usage.cpu for usage in usages]
    return f"{min(times):.2f} to {max(times):.2f}" if len(times) > 1 else ""


if __name__ == "__main__":
    main()
