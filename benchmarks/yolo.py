"""What the YOLO adapter costs: reading and splitting 100,000 label files, beside Ultralytics and supervision.

Run it with `python -m benchmarks.yolo`; it prints its table and keeps it in `benchmarks/results/yolo.md`. The data set
is made in a temporary directory: one small picture under 100,000 names, so that what Ultralytics and supervision spend
on pictures is as little as can be. Every line is measured in a process of its own. Ultralytics and supervision are
measured if they are installed.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import Usage, coco_like, in_fresh_process, load_line, machine_line, markdown_table, write_result
from evosplit_plugins.yolo import read_counts

FILES = 100_000
LINKS = 50_000  # names of one picture: some file systems allow no more than 65,000
RATIOS = ("-s", "train:0.8", "-s", "val:0.1", "-s", "test:0.1")
QUICKEST = "open and read the label files, relative to their folder"
PLAIN = "the same with `open(path, 'rb').read()`"
COUNT = "EvoSplit: `read_counts`"
LISTS = "`evosplit yolo split`, lists"
TREE = "`evosplit yolo split --layout tree`, links"
VERIFY = "Ultralytics: verify images and labels"
SUPERVISION = "supervision: `DetectionDataset.from_yolo`"


def make_data(root: Path, n_files: int) -> None:
    """Write label files as COCO has them, and one picture under as many names."""
    from PIL import Image

    for folder in ("images", "labels"):
        (root / folder).mkdir()
    rng = np.random.default_rng(0)
    counts = coco_like(n_files)
    classes = np.repeat(counts.indices, counts.data)
    ends = np.concatenate(([0], np.cumsum(counts.sum(axis=1))))
    for row in range(n_files):
        name = f"{row:012}"
        if row % LINKS == 0:
            picture = root / f"picture{row}.jpg"
            Image.new("RGB", (32, 32), (40, 90, 160)).save(picture)
        (root / "images" / f"{name}.jpg").hardlink_to(picture)
        if row % 100 == 0:
            continue  # a background
        own = classes[ends[row] : ends[row + 1]]
        boxes = rng.random((len(own), 4))
        lines = [f"{j} {x:.6f} {y:.6f} {w:.6f} {h:.6f}\n" for j, (x, y, w, h) in zip(own, boxes, strict=True)]
        (root / "labels" / f"{name}.txt").write_text("".join(lines), encoding="ascii")
    names = ", ".join(f"class{j}" for j in range(counts.shape[1]))
    (root / "data.yaml").write_text(f"train: images\nval: images\nnames: [{names}]\n", encoding="ascii")


def read_quickest(root: Path) -> int:
    """Open and read every label file, and do nothing else."""
    folder = os.open(root / "labels", os.O_RDONLY)
    total = 0
    for name in os.listdir(folder):  # noqa: PTH208  (nothing is quicker)
        file = os.open(name, os.O_RDONLY, dir_fd=folder)
        total += len(os.read(file, 1 << 16))
        os.close(file)
    os.close(folder)
    return total


def read_plainly(root: Path) -> int:
    """Read as one would in Python."""
    total = 0
    for path in (root / "labels").iterdir():
        with path.open("rb") as stream:
            total += len(stream.read())
    return total


def count(root: Path) -> int:
    """Count with the adapter."""
    return int(read_counts(root / "data.yaml").totals.sum())


def verify(root: Path) -> tuple[float, float]:
    """Scan as Ultralytics does before it trains, with all its threads; returns CPU and wall time, imports aside."""
    os.environ["YOLO_CONFIG_DIR"] = str(root)
    os.environ["YOLO_VERBOSE"] = "false"
    from ultralytics.data.dataset import YOLODataset

    names = {j: f"class{j}" for j in range(80)}
    data = {"names": names, "nc": 80, "channels": 3}
    cpu, wall = time.process_time(), time.perf_counter()
    YOLODataset(img_path=str(root / "images"), data=data, task="detect", augment=False, imgsz=32)
    return time.process_time() - cpu, time.perf_counter() - wall


def load_supervision(root: Path) -> tuple[float, float]:
    """Load as supervision does before it splits; returns CPU and wall time, imports aside."""
    import supervision

    cpu, wall = time.process_time(), time.perf_counter()
    supervision.DetectionDataset.from_yolo(
        images_directory_path=str(root / "images"),
        annotations_directory_path=str(root / "labels"),
        data_yaml_path=str(root / "data.yaml"),
    )
    return time.process_time() - cpu, time.perf_counter() - wall


def run_command(root: Path, *flags: str) -> Usage:
    """Run the whole command, start of Python and imports included."""
    program = "import sys; from evosplit_plugins.cli import main; sys.exit(main())"
    with tempfile.TemporaryDirectory(dir=root.parent) as out:
        words = ["yolo", "split", str(root / "data.yaml"), "-o", f"{out}/out", *RATIOS, *flags]
        begin = time.perf_counter()
        process = subprocess.Popen([sys.executable, "-c", program, *words], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begin
    if status:
        raise SystemExit(f"the command failed with status {status}")
    return Usage(None, usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024)


def main() -> None:
    """Make the files, measure, print and keep the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="how often each line is measured (default 3)")
    parser.add_argument("--files", type=int, default=FILES, help=f"how many label files (default {FILES})")
    args = parser.parse_args()
    functions: dict[str, Callable[[Path], Any]] = {QUICKEST: read_quickest, PLAIN: read_plainly, COUNT: count}
    once: dict[str, Callable[[Path], Any]] = {}
    once |= {VERIFY: verify} if find_spec("ultralytics") else {}
    once |= {SUPERVISION: load_supervision} if find_spec("supervision") else {}
    found: dict[str, list[Usage]] = {}
    with tempfile.TemporaryDirectory(prefix="evosplit-yolo-") as folder:
        root = Path(folder) / "data"
        root.mkdir()
        make_data(root, args.files)
        in_fresh_process(read_quickest, root)  # what the system has not read yet
        run_command(root, "--effort", "fast")  # compiles what is compiled once
        for _ in range(args.rounds):
            for name, function in functions.items():
                found.setdefault(name, []).append(in_fresh_process(function, root))
            found.setdefault(LISTS, []).append(run_command(root))
            found.setdefault(TREE, []).append(run_command(root, "--layout", "tree"))
        for name, function in once.items():
            usage = in_fresh_process(function, root)
            cpu, wall = usage.result
            found[name] = [Usage(None, cpu, wall, usage.peak)]
    write_result("yolo", text := report(found, args.files, args.rounds))
    print(text)


def report(found: dict[str, list[Usage]], n_files: int, rounds: int) -> str:
    """Lay out the medians, and the ratios that matter."""

    def median(name: str, field: str = "cpu") -> float:
        return float(statistics.median(getattr(usage, field) for usage in found[name]))

    rows = [[name, *(f"{median(name, field):.{digits}f}" for field, digits in (("cpu", 2), ("wall", 2), ("peak", 0)))]
            for name in found]  # fmt: skip
    ratios = sorted(mine.cpu / other.cpu for mine, other in zip(found[COUNT], found[QUICKEST], strict=True))
    lines = [
        f"Reading and counting takes {median(COUNT) / median(QUICKEST):.1f} times the CPU time of opening and reading "
        f"the files in the quickest way (in the single rounds {ratios[0]:.1f} to {ratios[-1]:.1f}; the bar is 3), and "
        f"{median(COUNT) / median(PLAIN):.1f} times that of the plain way."
    ]
    for name in (VERIFY, SUPERVISION):
        if name in found:
            said = " (the bar is 0.2)" if name == VERIFY else ""
            lines.append(
                f"The whole command takes {median(LISTS) / median(name):.2f} times the CPU time of {name}{said}; "
                f"with a tree of links {median(TREE) / median(name):.2f} times."
            )
    hosts = [name for name in ("ultralytics", "supervision") if find_spec(name)]
    notes = (
        f"Medians of {rounds} rounds, Ultralytics and supervision once. The pictures are one of 32 × 32 pixels under "
        "many names; real ones cost EvoSplit nothing more, as it opens none, and the others more than this. The files "
        "were in the cache of the system. Only the figures of the commands include the start of Python and imports."
    )
    return (
        "# The YOLO adapter\n\n"
        f"{machine_line('numpy', 'pyyaml', *hosts)} {n_files:,} label files. {load_line()}\n\n"
        + markdown_table(["", "CPU s", "wall s", "peak MiB"], rows)
        + "\n"
        + "\n".join(f"- {line}" for line in lines)
        + f"\n\n{notes}\n"
    )


if __name__ == "__main__":
    main()
