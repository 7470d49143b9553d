"""The arrows of the architecture: who may import whom, and what a bare import loads."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CORE = ROOT / "core" / "evosplit"
PLUGINS = ROOT / "evosplit_plugins"
HOSTS = {
    "fiftyone",
    "datasets",
    "pyarrow",
    "pycocotools",
    "msgspec",
    "sklearn",
    "pandas",
    "plotly",
    "PIL",
    "rich",
    "yaml",
}
CORE_FILES = sorted(CORE.rglob("*.py"))
PLUGIN_FILES = sorted(PLUGINS.rglob("*.py"))


def imports(path):
    """Give the dotted names that a file imports anywhere, also inside functions."""
    package = path.relative_to(CORE.parent if CORE in path.parents else ROOT).with_suffix("").parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level] if node.level else ()
            module = ".".join([*base, *filter(None, [node.module])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


def roots(path):
    """Give the top-level packages that a file imports."""
    return {name.partition(".")[0] for name in imports(path)}


def loaded_by(statement):
    """Run a statement in a fresh process and give the modules it loaded."""
    code = f"import sys, json; {statement}; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_bare_import_is_light():
    """`import evosplit` loads no host, no adapter, and neither numba nor pymoo."""
    heavy = {"numba", "pymoo", "joblib", "matplotlib", "evosplit_plugins"} | HOSTS
    assert not heavy & loaded_by("import evosplit")


@pytest.mark.parametrize("module", ["evosplit_plugins", "evosplit_plugins.cli", "evosplit_plugins.demo"])
def test_plugins_load_hosts_late(module):
    """The package of the adapters and the command line load no host before it is used."""
    assert not HOSTS & loaded_by(f"import {module}")


def loaded_adapters(loaded):
    """Give the names of the adapters among some modules."""
    homes = {
        "coco": "coco",
        "yolo": "yolo",
        "csv": "audit.csv_files",
        "table": "table",
        "hf": "hf",
        "fiftyone": "fiftyone_plugin",
    }
    return {name for name, home in homes.items() if f"evosplit_plugins.{home}" in loaded}


@pytest.mark.parametrize("words", [[], ["--help"], ["split", "--help"], ["demo", "--help"], ["nope"]])
def test_help_loads_no_adapter(words):
    """Help that is about no adapter loads none of them, nor numba or pymoo, nor the records of installed packages."""
    loaded = loaded_by(f"from evosplit_plugins.cli import main; main({words})")
    assert not (HOSTS | {"numba", "pymoo"}) & loaded
    assert loaded_adapters(loaded) == set()


def test_all_commands_load_no_host():
    """Building the parser of all commands loads no host, nor numba or pymoo."""
    code = "from evosplit_plugins.cli.parser import build_parser; build_parser().format_help()"
    assert not (HOSTS | {"numba", "pymoo"}) & loaded_by(code)


@pytest.mark.parametrize("name", ["coco", "yolo", "table", "hf", "fiftyone"])
def test_a_command_loads_one_adapter(name):
    """A command that names its adapter loads no other."""
    loaded = loaded_by(f"from evosplit_plugins.cli import main; main([{name!r}, 'split', '--help'])")
    assert loaded_adapters(loaded) == {name}


def test_a_small_split_loads_what_it_needs(tmp_path):
    """A split of a COCO file at the shell loads one adapter, and nothing that only other splits or outputs need."""
    pytest.importorskip("msgspec")
    images = [{"id": i, "file_name": f"{i}.jpg"} for i in range(20)]
    annotations = [{"id": i, "image_id": i, "category_id": 1 + i % 2} for i in range(20)]
    made = {
        "images": images,
        "annotations": annotations,
        "categories": [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}],
    }
    (tmp_path / "a.json").write_text(json.dumps(made))
    words = ["split", str(tmp_path / "a.json"), "-o", str(tmp_path / "out"), "--ratios", "8:1:1", "--effort", "fast"]
    code = f"from evosplit_plugins.cli import main; assert main({words}) == 0"
    loaded = loaded_by(code)
    assert loaded_adapters(loaded) == {"coco"}
    idle = {"rich", "pymoo", "joblib", "pandas", "matplotlib", "plotly", "scipy.optimize", "scipy.stats", "PIL"}
    assert not (idle | {"asyncio", "scipy.sparse.csgraph", "evosplit_plugins.coco.yolo_tree"}) & loaded


@pytest.mark.parametrize("path", CORE_FILES, ids=lambda path: path.relative_to(CORE).as_posix())
def test_core_knows_no_host(path):
    """The engine imports neither an adapter nor a host, not even inside a function; only the report draws."""
    allowed = {"plotly"} if path.parent == CORE / "report" else set()
    assert not roots(path) & ((HOSTS | {"evosplit_plugins"}) - allowed)


@pytest.mark.parametrize(("library", "home"), [("pymoo", "methods"), ("numba", "_kernels")])
def test_libraries_stay_at_home(library, home):
    """Only `methods` imports pymoo, only `_kernels` imports numba."""
    users = [path for path in (*CORE_FILES, *PLUGIN_FILES) if library in roots(path)]
    assert [path for path in users if CORE / home not in path.parents] == []


def test_adapters_do_not_know_each_other():
    """A host's folder imports nothing from another's, nor from the command line; what all share knows no host."""
    hosts = {"coco", "fiftyone_plugin", "hf", "yolo", "table"}
    for path in PLUGIN_FILES:
        here = path.relative_to(PLUGINS).parts[0].removesuffix(".py")
        if here in ("cli", "__init__"):
            continue
        known = {name.split(".")[1] for name in imports(path) if name.startswith("evosplit_plugins.")}
        assert not known & (hosts - {here}), path
        assert "cli" not in known, path


@pytest.mark.parametrize("path", [*CORE_FILES, *PLUGIN_FILES], ids=lambda path: path.relative_to(ROOT).as_posix())
def test_names_that_others_import_are_public(path):
    """What a module takes from another one is in its `__all__`, or is a module itself."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ImportFrom) or node.level or node.module is None:
            continue
        home = {"evosplit": CORE.parent, "evosplit_plugins": ROOT}.get(node.module.partition(".")[0])
        if home is None:
            continue
        module = home.joinpath(*node.module.split("."))
        source = module / "__init__.py" if module.is_dir() else module.with_suffix(".py")
        public = exported(source)
        for alias in node.names:
            inside = module / f"{alias.name}.py"
            assert alias.name in public or inside.exists() or (module / alias.name).is_dir(), (node.module, alias.name)


@pytest.mark.parametrize("path", [*CORE_FILES, *PLUGIN_FILES], ids=lambda path: path.relative_to(ROOT).as_posix())
def test_public_names_are_there(path):
    """Each name of `__all__` is defined or imported by its module, and named once."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    bound = {"__version__"}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node in tree.body:
            bound.add(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            bound |= {each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            bound |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    assert exported(path) <= bound
    listed = [ast.literal_eval(node.value) for node in tree.body if isinstance(node, ast.Assign) and named_all(node)]
    assert all(len(set(names)) == len(names) for names in listed)


def named_all(node):
    """Tell whether an assignment is that of `__all__`."""
    return any(getattr(each, "id", "") == "__all__" for each in node.targets)


def exported(source):
    """List the names of a module's `__all__`; dunder names are for everybody."""
    for node in ast.parse(source.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and named_all(node):
            return {*ast.literal_eval(node.value), "__version__"}
    return {"__version__"}


def test_wheel_holds_the_two_packages_only(tmp_path):
    """The wheel has `evosplit` and `evosplit_plugins` at its top, whole and typed, and nothing else."""
    tree = tmp_path / "tree"
    tree.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    for name in ("core", "evosplit_plugins", "tests"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path]
    subprocess.run(build, cwd=tree, check=True, timeout=300, capture_output=True)
    (wheel,) = tmp_path.glob("evosplit_plugins-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"evosplit", "evosplit_plugins"}
    assert {"evosplit/py.typed", "evosplit_plugins/py.typed"} <= set(names)
    for path in (*CORE_FILES, *PLUGIN_FILES):
        home = CORE.parent if CORE in path.parents else ROOT
        assert path.relative_to(home).as_posix() in names
