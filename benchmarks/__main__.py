"""List the benchmarks, or run some: `python -m benchmarks [NAME ...] [--data DIRECTORY]`."""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def benchmarks() -> dict[str, str]:
    """Return the first line of what each benchmark says about itself."""
    found = {}
    for path in sorted(HERE.glob("[a-z]*.py")):
        if path.stem != "common":
            found[path.stem] = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n")[0]
    return found


def reads_data(name: str) -> bool:
    """Whether a benchmark reads data sets from a directory."""
    return '"--data"' in (HERE / f"{name}.py").read_text(encoding="utf-8")


def main() -> None:
    """Run the benchmarks named, one after the other, or list them all."""
    known = benchmarks()
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="'all', or some of those that are listed without it")
    parser.add_argument("--data", type=Path, help="directory of label matrices, for the benchmarks that read one")
    arguments = parser.parse_args()
    names = list(known) if arguments.names == ["all"] else arguments.names
    if unknown := set(names) - set(known):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    if not names:
        for name, line in known.items():
            print(f"{name:<16}{line}{' (needs --data)' if reads_data(name) else ''}")
    for name in names:
        data = ["--data", str(arguments.data)] if reads_data(name) and arguments.data else []
        if reads_data(name) and not data:
            print(f"== {name} SKIPPED: it reads label matrices (.npz); name their directory with --data")
            continue
        print(f"== {name}", flush=True)
        subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *data], check=True)


if __name__ == "__main__":
    main()
