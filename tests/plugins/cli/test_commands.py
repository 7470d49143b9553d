"""The `evosplit` command, run as a process of its own: exit codes, one clear line, tables, JSON, progress."""

from __future__ import annotations

import argparse
import errno
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import pytest
from coco_files import THREE, captions, command, command_line, elements, instances, refused, tree, write

from evosplit_plugins.cli import main
from evosplit_plugins.cli.parser import build_parser

# Running


def test_split_writes_the_subsets_and_prints_the_report(source, tmp_path):
    """One command gives the files, and a report of sizes, classes and measures that fits 80 columns."""
    ran = command("coco", "split", source, "-o", tmp_path / "out", *THREE, "--effort", "fast")
    assert (ran.returncode, ran.stderr) == (0, "")
    for word in (
        "train",
        "val",
        "test",
        "person",
        "kite",
        "LD",
        "LD'",
        "LPD",
        "FLZ",
        "random",
        "bound",
        "wrote",
    ):
        assert word in ran.stdout
    tables = ran.stdout[: ran.stdout.index("wrote")]
    assert max(map(len, tables.splitlines())) <= 80
    written = sorted((tmp_path / "out" / "annotations").iterdir())
    assert [path.name for path in written] == [f"instances_{name}.json" for name in ("test", "train", "val")]
    assert sum(len(elements(path.read_bytes(), "images")) for path in written) == 40


def test_json_is_for_machines(source, tmp_path):
    """`--json` prints the whole report, with the files, and nothing else."""
    ran = command("coco", "split", source, "-o", tmp_path / "out", *THREE, "--method", "random", "--json")
    told = json.loads(ran.stdout)
    assert told["sizes"] == {"train": 24, "val": 8, "test": 8}
    assert {"measures", "random", "bound", "labels", "summary"} <= told.keys()
    assert all(Path(path).exists() for path in told["files"])
    assert len(told["files"]) == 4


def test_quiet_says_nothing(source, tmp_path):
    """`--quiet` prints nothing at all when all went well."""
    ran = command("coco", "split", source, "-o", tmp_path / "out", "--ratios", "8:2", "--quiet", "--method", "random")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    assert (tmp_path / "out" / "split.json").exists()


def test_a_dry_run_only_reports(source, tmp_path):
    """`--dry-run` prints the report and what would be written, and writes nothing."""
    ran = command("coco", "split", source, "-o", tmp_path / "out", *THREE, "--method", "random", "--dry-run")
    assert "would write:" in ran.stdout
    assert not (tmp_path / "out").exists()


def test_every_flag_at_once(tmp_path):
    """Folds, complements, gzip, crowds, mending and images go together."""
    made = instances(40)
    made["annotations"][0]["image_id"] = 999
    made["annotations"][1]["category_id"] = str(made["annotations"][1]["category_id"])
    made["annotations"][2]["id"] = 1003
    for image in made["images"]:
        write(tmp_path / "pictures" / image["file_name"], "x")
    ran = command(
        *(
            "coco",
            "split",
            write(tmp_path / "a.json", made),
            "-o",
            tmp_path / "out",
            "--folds",
            2,
            "--train-files",
        ),
        *(
            "--gzip",
            "--no-count-crowd",
            "--having-annotations",
            "--drop-orphans",
            "--coerce-ids",
            "--reassign-ids",
        ),
        *(
            "--images",
            "copy",
            "--image-root",
            tmp_path / "pictures",
            "--method",
            "random",
            "--seed",
            4,
            "--no-cover",
        ),
    )
    assert ran.returncode == 0
    assert ran.stderr == "evosplit: note: 1 annotation of an unknown image or category was left out.\n"
    names = {path.name for path in (tmp_path / "out" / "annotations").iterdir()}
    assert names == {f"fold{fold}{part}.json.gz" for fold in range(2) for part in ("", "_train")}
    n = len({annotation["image_id"] for annotation in made["annotations"]} - {999})
    assert f"images placed: {n}" in ran.stdout


def test_apply_and_audit(source, tmp_path):
    """A saved split is replayed on the same file and on captions, and its subsets are audited."""
    command("coco", "split", source, "-o", tmp_path / "out", *THREE, "--method", "random")
    again = command("coco", "apply", tmp_path / "out" / "split.json", source, "-o", tmp_path / "again")
    assert again.returncode == 0
    assert "LPD" in again.stdout
    one, two = tree(tmp_path / "out" / "annotations"), tree(tmp_path / "again" / "annotations")
    assert one == two
    told = write(tmp_path / "captions.json", captions(40))
    other = command("coco", "apply", tmp_path / "out" / "split.json", told, "-o", tmp_path / "out")
    assert other.stdout.startswith("train: 24 images\nval: 8 images\ntest: 8 images\nwrote:\n  ")
    machine = command("coco", "apply", tmp_path / "out" / "split.json", told, "-o", tmp_path / "c", "--json")
    assert json.loads(machine.stdout)["sizes"] == {"train": 24, "val": 8, "test": 8}
    files = [tmp_path / "out" / "annotations" / f"instances_{name}.json" for name in ("train", "val", "test")]
    audited = json.loads(command("coco", "audit", *files, "--no-compare", "--json").stdout)
    assert audited["sizes"] == {"train": 24, "val": 8, "test": 8}
    assert audited["measures"]["ld"] > 0
    assert audited["random"]["ld"] > 0
    assert "bound" in command("coco", "audit", *files, "--no-compare").stdout


def test_cover(source, tmp_path):
    """`--cover all` insists, `--no-cover` does not ask, and both are recorded."""
    for number, (flags, expected) in enumerate(((("--cover", "all"), "all"), (("--no-cover",), False), ((), True))):
        out = tmp_path / str(number)
        command("coco", "split", source, "-o", out, *THREE, "--method", "random", *flags)
        assert json.loads((out / "split.json").read_text(encoding="utf-8"))["settings"]["cover"] == expected


def test_many_subsets_still_fit(source, tmp_path, capsys):
    """With more folds than columns the tables still fit 80 columns."""
    words = ("coco", "split", source, "-o", tmp_path / "out", "--folds", 10, "--method", "random", "--no-cover")
    assert main([str(word) for word in words]) == 0
    out = capsys.readouterr().out
    assert "fold9" in out
    assert max(map(len, out[: out.index("wrote")].splitlines())) <= 80


def test_the_report_page_is_written_with_the_files(source, tmp_path):
    """`--report` writes a page in the place of an earlier one, as an audit does, and in that of nothing else.

    A page that was written anew does not keep the output from being replaced.
    """
    flags = ("coco", "split", source, "-o", tmp_path / "out", *THREE, "--method", "random")
    page = tmp_path / "out" / "report.html"
    ran = command(*flags, "--report", page)
    assert ran.returncode == 0, ran.stderr
    assert "<html" in page.read_text()
    assert str(page) in ran.stdout
    over = command("coco", "split", source, "-o", tmp_path / "b", *THREE, "--report", tmp_path / "b" / "split.json")
    assert "another name" in refused(over)
    assert not (tmp_path / "b").exists()
    first = page.read_text()
    again = command("coco", "split", source, "-o", tmp_path / "b", *THREE, "--effort", "fast", "--report", page)
    assert again.returncode == 0, again.stderr
    assert page.read_text() != first
    replaced = command(*flags, "--report", page, "--overwrite")
    assert replaced.returncode == 0, replaced.stderr
    page.write_text("mine")
    assert f"{page} was changed since EvoSplit wrote it" in refused(command(*flags, "--report", page, "--overwrite"))
    audit = command("audit", tmp_path / "out" / "annotations", "--report", page)
    assert f"{page} exists, but was not written by EvoSplit" in refused(audit)
    assert page.read_text() == "mine"


# Errors


def test_a_bad_file_is_one_line_and_exit_code_two(tmp_path):
    """An error is one line on stderr; a traceback comes only with `--debug`."""
    path = write(tmp_path / "a.json", '{"images": [')
    flags = ("coco", "split", path, "-o", tmp_path / "out", *THREE)
    assert refused(command(*flags)).startswith(f"evosplit: error: {path} is not valid JSON")
    debugged = command(*flags, "--debug")
    assert debugged.returncode == 2
    assert "Traceback" in debugged.stderr


def test_flags_that_are_wrong_are_one_line_too(source, tmp_path):
    """A usage error is one line that points to the help."""
    assert "see evosplit coco split --help" in refused(command("coco", "split", source))
    assert "COMMAND" in refused(command())
    assert "--method magic is unknown" in refused(
        command("coco", "split", source, "-o", tmp_path / "out", *THREE, "--method", "magic")
    )


def test_a_missing_extra_names_its_install_line(source, tmp_path):
    """Without msgspec the command says in one line what to install."""
    program = "import sys; sys.modules['msgspec'] = None; from evosplit_plugins.cli import main; sys.exit(main())"
    line = [sys.executable, "-c", program, "coco", "split", str(source), "-o", str(tmp_path / "out"), *THREE]
    ran = subprocess.run(line, capture_output=True, text=True, timeout=300)
    assert 'pip install "evosplit-plugins[coco]"' in refused(ran)


def test_main_can_be_called(source, tmp_path, capsys):
    """`main` takes its arguments and returns the exit code."""
    assert main(["coco", "split", str(source), "-o", str(tmp_path / "out"), "--ratios", "8:2", "--quiet"]) == 0
    assert main(["coco", "split", str(source), "-o", str(tmp_path / "out"), "--ratios", "8:2"]) == 2
    assert "already exist; pass --overwrite" in capsys.readouterr().err


def test_version_and_help_are_there():
    """`--version` tells the installed version, `--help` lists the adapters and the exit codes."""
    assert command("--version").stdout == f"evosplit {version('evosplit-plugins')}\n"
    told = command("--help").stdout
    assert all(name in told for name in ("coco", "hf", "fiftyone", "audit", "demo"))
    codes = told[told.index("exit codes:") :]
    assert re.findall(r"^  (\d+) ", codes, re.MULTILINE) == ["0", "1", "2", "130"]


def leaves(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Give the parsers of all commands, by what is typed for them."""
    found = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                found |= leaves(child)
    return found or {parser.prog.removeprefix("evosplit "): parser}


def parsers(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    """Give a parser and all below it."""
    below = [
        child
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
        for child in action.choices.values()
    ]
    return [parser, *(found for child in below for found in parsers(child))]


@pytest.mark.parametrize("columns", ["80", "120"])
def test_every_help_fits_the_terminal(monkeypatch, columns):
    """No line of any help is longer than the terminal is wide, and every flag is explained."""
    monkeypatch.setenv("COLUMNS", columns)
    for parser in parsers(build_parser()):
        told = parser.format_help()
        assert max(map(len, told.splitlines())) <= int(columns), parser.prog
        assert all(action.help for action in parser._actions if action.option_strings), parser.prog


OTHER_MEANING = {"--images", "--layout", "--field"}  # each adapter's own; the demo's number of pictures
SHARED_HELP = (
    *("--subset", "--ratios", "--folds", "--effort", "--method", "--objectives", "--pick", "--time-limit", "--jobs"),
    *("--quiet", "--json", "--debug", "--report"),
)


def test_the_same_flag_means_the_same_with_every_adapter():
    """A flag that several commands know stores the same type under the same name with the same default."""
    seen: dict[str, dict[str, argparse.Action]] = {}
    meanings: dict[str, set[tuple[object, ...]]] = {}
    defaults: dict[str, set[object]] = {}
    for name, parser in leaves(build_parser()).items():
        default = {
            action.dest: None if action.default == argparse.SUPPRESS else action.default or None
            for action in reversed(parser._actions)
        }
        for action in parser._actions:
            for flag in action.option_strings:
                seen.setdefault(flag, {})[name] = action
                meanings.setdefault(flag, set()).add((action.dest, type(action), action.type, action.nargs))
                defaults.setdefault(flag, set()).add(default[action.dest])
    for name in ("coco split", "yolo split", "hf split", "fiftyone split", "split"):
        assert set(SHARED_HELP) <= {flag for flag, commands in seen.items() if name in commands}
    for flag in set(seen) - OTHER_MEANING:
        assert len(meanings[flag]) == 1, (flag, meanings[flag])
        assert len(defaults[flag] - {Path("demo/data")}) <= 1, (flag, defaults[flag])  # where demos draw
    for flag in SHARED_HELP:
        assert len({action.help for action in seen[flag].values()}) == 1, flag


# What goes wrong in the middle


def big(tmp_path: Path) -> Path:
    """Write a file that takes a while to compress."""
    made = instances(400)
    noise = [str(number * 7919 % 1_000_003) for number in range(20_000)]
    for position, image in enumerate(made["images"]):
        image["noise"] = noise[position * 40 :] + noise[: position * 40]
    return write(tmp_path / "big.json", made)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_while_writing_leaves_the_output_as_it_was(tmp_path, number, code):
    """Ctrl-C, or a request to terminate, in the middle of writing leaves no trace."""
    path, out = big(tmp_path), tmp_path / "out"
    write(out / "notes.txt", "mine")
    before = tree(out)
    line = command_line("coco", "split", path, "-o", out, *THREE, "--method", "random", "--gzip", "--overwrite")
    with subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as ran:
        until = time.monotonic() + 300
        while not list(out.glob(".evosplit-*/new/annotations/*")):
            assert time.monotonic() < until
            assert ran.poll() is None
            time.sleep(0.002)
        ran.send_signal(number)
        told = ran.stderr.read()
        assert ran.wait(300) == code
    assert "Traceback" not in told
    assert tree(out) == before


def test_a_disk_that_takes_no_more_leaves_the_output_as_it_was(source, tmp_path):
    """When the system refuses to write on, the command says so in one line and cleans up."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    ran = command("coco", "split", source, "-o", tmp_path / "out", *THREE, "--method", "random", preexec_fn=limit)
    assert f"{os.strerror(errno.EFBIG)}; nothing was changed" in refused(ran)
    assert not (tmp_path / "out").exists()


def test_a_page_of_a_dry_run(tmp_path, capsys):
    """`--dry-run --report` writes the page, and says so; nothing else is written."""
    source = write(tmp_path / "a.json", instances(20))
    words = ["coco", "split", str(source), "-o", str(tmp_path / "out"), "--ratios", "8/2", "--method", "random"]
    assert main([*words, "--dry-run", "--report", str(tmp_path / "page.html")]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert f"{tmp_path / 'out' / 'split.json'} wrote: {tmp_path / 'page.html'}" in told
    assert told.count("page.html") == 1
    assert (tmp_path / "page.html").read_text().lstrip().startswith("<!")
    assert not (tmp_path / "out").exists()


def test_a_minimum_without_cover_is_refused(tmp_path, capsys):
    """It would be ignored."""
    source = write(tmp_path / "a.json", instances(20))
    words = ["coco", "split", str(source), "-o", str(tmp_path / "out"), "--ratios", "8:2"]
    assert main([*words, "--min-per-label", "3", "--no-cover"]) == 2
    assert "--min-per-label 3 and --no-cover exclude each other" in capsys.readouterr().err
