"""The files that judge a candidate, which it may not change.

A candidate must not win by editing its judge. Whoever makes something faster also adds tests, and
branches have them beside the change; so such changes are no reason to refuse it. They are left
out, and that is said: it is judged with the tests, the configuration and the benchmark of the
original, and the patch that comes out has none of them.

By name: test files as pytest and unittest collect them, all in folders of tests, the files that
configure tests, and what Python runs at its start. More are found by `imports_of_tests.py`: what
tests import and the target does not. Refused is a
new module that would stand in for another: `json.py` at the top of the tree is imported in place
of the library's, by the tests, by pytest, and by all else that runs there.
"""

from __future__ import annotations

import importlib.machinery
import shlex
import sys
from collections.abc import Collection, Iterable
from pathlib import Path, PurePosixPath

_NAMES = frozenset((
    "conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini",
    "setup.cfg", "pyproject.toml", "noxfile.py", "Makefile", ".coveragerc",
    "sitecustomize.py", "usercustomize.py",
))  # fmt: skip
_FOLDERS = frozenset(("tests", "test", "testing"))
_PATTERNS = ("test*.py", "*_test.py", "*_tests.py", "*.pth")


def is_judge(path: str, *, more: Collection[str] = (), own: str | None = None) -> bool:
    """Whether a file judges. `more` are names of further ones; `own` is the target's file."""
    if path == own:
        return False
    pure = PurePosixPath(path)
    return (
        path in more
        or pure.name in _NAMES
        or not _FOLDERS.isdisjoint(pure.parts[:-1])
        or any(pure.match(pattern) for pattern in _PATTERNS)
    )


def files_named(line: str, folder: Path, top: Path) -> list[str]:
    """The files that a command names, relative to `top`; `folder` is where it runs.

    `python -m bench` and `bench:run` name `bench.py`, too. A line that no shell could read names
    nothing. A program that is made faster and is its own benchmark is named, and so it cannot be
    changed: a benchmark that calls it from another file can be trusted.
    """
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        return []
    found = []
    for word in words:
        plain = word.partition("::")[0].partition(":")[0]
        for name in (plain, f"{plain.replace('.', '/')}.py"):
            path = folder / name
            if name and path.is_file() and path.resolve().is_relative_to(top.resolve()):
                found.append(path.resolve().relative_to(top.resolve()).as_posix())
    return list(dict.fromkeys(found))


def stands_in_for(new: Iterable[str], *, inside: str, top: Path) -> str | None:
    """The first module of somebody else's that new files would be imported in place of.

    `inside` is the folder that was asked for, relative to `top`, the user's tree.
    """
    roots = {str(PurePosixPath(each)) for each in ("", "src", inside, f"{inside}/src")}
    for path in new:
        pure = PurePosixPath(path)
        package = pure.parent if pure.name == "__init__.py" else pure.with_suffix("")
        if pure.suffix == ".py" and str(package.parent) in roots and _is_taken(package.name, top):
            return package.name
    return None


def _is_taken(name: str, top: Path) -> bool:
    if name in sys.stdlib_module_names:
        return True
    installed = [each for each in sys.path if each and not _is_users(Path(each).resolve(), top)]
    return importlib.machinery.PathFinder.find_spec(name, installed) is not None


def _is_users(folder: Path, top: Path) -> bool:
    packages = Path(sys.prefix).resolve()  # which may be in the user's tree
    return folder.is_relative_to(top) and not folder.is_relative_to(packages)
