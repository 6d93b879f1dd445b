"""Projects as people have them, each end to end: environments, layouts, test runners, targets.

Every run is made by the command line, in a sandbox, with a candidate that is right and faster and
one that is wrong.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import textwrap
from pathlib import Path
from typing import Any

import pytest

from fanwise.processes.sandbox import unusable
from tests.marks import slow
from tests.optimize.support import code
from tests.workspaces.support import git, write

pytestmark = pytest.mark.skipif(bool(unusable()), reason=unusable() or "there is a sandbox")

SLOW_SUM = """
def squares(n):
    total = 0
    for at in range(n):
        total += sum(1 for _ in range(40)) * 0 + at * at
    return total
"""
FAST_SUM = "def squares(n):\n    return (n - 1) * n * (2 * n - 1) // 6 if n > 0 else 0\n"
WRONG_SUM = "def squares(n):\n    return n * (n + 1) * (2 * n + 1) // 6 if n > 0 else 0\n"
TESTS = """
from {module} import squares

def test_squares():
    assert [squares(n) for n in (0, 1, 2, 3, 50, 400)] == [0, 0, 1, 5, 40425, 21253400]
"""


def make_project(top: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        write(top / name, code(text))
    write(top / ".gitignore", ".venv/\nbuilt/\n*.so\n")
    git(top, "init", "-q")
    git(top, "add", "-A")
    git(top, "commit", "-q", "-m", "first")
    return top


def make_venv(place: Path) -> Path:
    """An environment of its own, which sees the packages of ours through a .pth file."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    (packages,) = place.glob("lib/python3*/site-packages")
    ours = Path(pytest.__file__).parents[1]
    (packages / "ours.pth").write_text(f"{ours}\n")
    (packages / "only_here.py").write_text("HERE = True\n")
    return place


def optimize(
    top: Path, target: str, candidates: dict[str, str], *options: str, env: dict[str, str | None]
) -> dict[str, Any]:
    """Judge the candidates, and return the document that the command prints."""
    for name, text in candidates.items():
        write(top.parent / "candidates" / f"{name}.py", code(text))
    around = {**os.environ, **{name: value or "" for name, value in env.items()}}
    argv = [
        sys.executable, "-m", "fanwise", "optimize", target, "--json", "--bench-budget", "120",
        "--candidates", str(top.parent / "candidates" / "*.py"), "--slots", "2", *options,
    ]  # fmt: skip
    done = subprocess.run(argv, cwd=top, env=around, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1) and "result" in done.stdout, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)["result"]
    return found


def verdicts(found: dict[str, Any]) -> dict[str, str]:
    return {Path(each["candidate"]["name"]).stem: each["status"] for each in found["candidates"]}


def reasons(found: dict[str, Any]) -> list[str]:
    return [each["reason"] for each in found["candidates"]]


BOTH = {"right": FAST_SUM, "wrong": WRONG_SUM}
JUDGED = {"right": "accepted", "wrong": "rejected"}


@slow
@pytest.mark.parametrize("where", [".venv", pytest.param("elsewhere", marks=slow)])
def test_the_projects_own_environment_is_used_also_in_the_temporary_folder(
    tmp_path: Path, where: str
) -> None:
    """Its tests import what only that environment has."""
    tests = "import only_here\n" + TESTS.format(module="app")
    top = make_project(tmp_path / "project", {"app.py": SLOW_SUM, "test_app.py": tests})
    venv = make_venv(top / ".venv" if where == ".venv" else tmp_path / "elsewhere")
    env: dict[str, str | None] = {"VIRTUAL_ENV": None if where == ".venv" else str(venv)}
    line = "uv run python -m pytest -q" if where == ".venv" else "python -m pytest -q"
    found = optimize(top, "app.py::squares", BOTH, "--test", line, env=env)
    assert verdicts(found) == JUDGED


def test_a_failure_to_collect_names_the_error_its_line_and_the_interpreter(tmp_path: Path) -> None:
    tests = "import missing_package\n" + TESTS.format(module="app")
    top = make_project(tmp_path / "project", {"app.py": SLOW_SUM, "test_app.py": tests})
    write(tmp_path / "candidates" / "one.py", code(FAST_SUM))
    argv = [
        sys.executable, "-m", "fanwise", "optimize", "app.py::squares",
        "--candidates", str(tmp_path / "candidates" / "*.py"), "--test", "pytest -q",
    ]  # fmt: skip
    done = subprocess.run(argv, cwd=top, capture_output=True, text=True, check=False)
    said = " ".join(done.stderr.split())
    assert "test_app.py:1: ModuleNotFoundError: No module named 'missing_package'" in said
    assert f"{sys.prefix}/bin/python (the active virtual environment)" in said


# -- layouts and runners ---------------------------------------------------------------------------

UNITTEST = """
import unittest
from app import squares

class Squares(unittest.TestCase):
    def test_squares(self):
        self.assertEqual([squares(n) for n in (0, 1, 2, 3, 50, 400)], [0, 0, 1, 5, 40425, 21253400])
"""
PLUGIN = """
import pytest

@pytest.fixture
def size():
    return 400

def pytest_configure(config):
    config.addinivalue_line("markers", "sized: has a size")
"""
WITH_PLUGIN = """
import pytest
from app import squares

@pytest.mark.sized
def test_sized(size):
    assert squares(size) == 21253400

@pytest.mark.parametrize("n", [0, 1, 2, 3, 50])
def test_each(n):
    assert squares(n) == sum(at * at for at in range(n))
"""
LAYOUTS: dict[str, tuple[dict[str, str], str, str]] = {
    "src": (
        {"src/pkg/__init__.py": "", "src/pkg/app.py": SLOW_SUM,
         "tests/test_app.py": TESTS.format(module="pkg.app")},
        "src/pkg/app.py", "pytest -q",
    ),
    "unittest": (
        {"app.py": SLOW_SUM, "tests/__init__.py": "", "tests/test_app.py": UNITTEST},
        "app.py", "python -m unittest discover -q",
    ),
    "plugins": (
        {"app.py": SLOW_SUM, "plug.py": PLUGIN, "test_app.py": WITH_PLUGIN},
        "app.py", "pytest -q -p plug -p xdist -n 2 --strict-markers",
    ),
}  # fmt: skip


@slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_layout_and_its_runner(tmp_path: Path, layout: str) -> None:
    files, file, line = LAYOUTS[layout]
    top = make_project(tmp_path / "project", files)
    assert verdicts(optimize(top, f"{file}::squares", BOTH, "--test", line, env={})) == JUDGED


EXTENSION = """
#define PY_SSIZE_T_CLEAN
#include <Python.h>
static PyObject *one(PyObject *self, PyObject *unused) { return PyLong_FromLong(1); }
static PyMethodDef methods[] = {{"one", one, METH_NOARGS, ""}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_fast", "", -1, methods};
PyMODINIT_FUNC PyInit__fast(void) { return PyModule_Create(&module); }
"""


@slow
def test_a_compiled_extension_beside_the_code_is_copied(tmp_path: Path) -> None:
    """It is built in place and ignored by git, as `setup.py build_ext --inplace` leaves it."""
    include = sysconfig.get_paths()["include"]
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not Path(include, "Python.h").exists():
        pytest.skip("there is no C compiler, or no Python.h")
    app = "from pkg._fast import one\n" + SLOW_SUM.replace("at * at", "at * at * one()")
    tests = TESTS.format(module="pkg.app")
    files = {"src/pkg/__init__.py": "", "src/pkg/app.py": app, "src/pkg/_fast.c": EXTENSION}
    top = make_project(tmp_path / "project", {**files, "tests/test_app.py": tests})
    built = f"src/pkg/_fast{sysconfig.get_config_var('EXT_SUFFIX')}"
    argv = [compiler, "-shared", "-fPIC", f"-I{include}", "src/pkg/_fast.c", "-o", built]
    subprocess.run(argv, cwd=top, check=True)
    options = ("--test", "pytest -q", "--copy", "src/pkg/*.so")
    assert verdicts(optimize(top, "src/pkg/app.py::squares", BOTH, *options, env={})) == JUDGED


# -- targets ---------------------------------------------------------------------------------------


def _as_method(text: str) -> str:
    text = text.replace("(n)", "(self, n)").replace("6 if n > 0 else 0", "6 * self.times")
    return text.replace("return", "n = max(n, 0)\n    return")


TARGETS: dict[str, tuple[str, str, str, str, str]] = {
    "async function": (
        "squares",
        "import asyncio\n" + SLOW_SUM.replace("def", "async def").replace(
            "    return", "    await asyncio.sleep(0)\n    return"),
        "import asyncio\n" + TESTS.format(module="app").replace(
            "squares(n) for", "asyncio.run(squares(n)) for"),
        "import asyncio\n\n" + FAST_SUM.replace("def", "async def").replace(
            "    return", "    await asyncio.sleep(0)\n    return"),
        "import asyncio\n\n" + WRONG_SUM.replace("def", "async def").replace(
            "    return", "    await asyncio.sleep(0)\n    return"),
    ),
    "method": (
        "Sums.squares",
        "class Sums:\n    def __init__(self, times):\n        self.times = times\n"
        + textwrap.indent(SLOW_SUM.replace("squares(n)", "squares(self, n)").replace(
            "return total", "return total * self.times"), "    "),
        TESTS.format(module="app").replace("import squares", "import Sums").replace(
            "squares(n)", "Sums(1).squares(n)"),
        _as_method(FAST_SUM), _as_method(WRONG_SUM),
    ),
    "decorator": (
        "repeated",
        "import functools\n\n"
        "def repeated(function):\n    @functools.wraps(function)\n    def call(n):\n"
        "        for _ in range(300):\n            found = function(n)\n"
        "        return found\n    return call\n\n"
        "def squares(n):\n    return sum(at * at for at in range(n))\n",
        TESTS.format(module="app").replace("squares(n) for", "repeated(squares)(n) for").replace(
            "import squares", "import repeated, squares"),
        "def repeated(function):\n    @functools.wraps(function)\n    def call(n):\n"
        "        return function(n)\n    return call\n",
        "def repeated(function):\n    @functools.wraps(function)\n    def call(n):\n"
        "        return function(n + 1)\n    return call\n",
    ),
}  # fmt: skip


@slow
@pytest.mark.parametrize("kind", TARGETS)
def test_a_kind_of_target(tmp_path: Path, kind: str) -> None:
    """What is right and faster is accepted, and what is wrong is rejected by its calls."""
    name, app, tests, right, wrong = TARGETS[kind]
    top = make_project(tmp_path / "project", {"app.py": app, "test_app.py": tests})
    both = {"right": right, "wrong": wrong}
    found = optimize(top, f"app.py::{name}", both, "--test", "pytest -q", env={})
    assert verdicts(found) == JUDGED, reasons(found)
