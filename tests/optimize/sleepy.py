"""A project whose speed is that of a sleep: what is measured does not depend on the machine.

Its tests and its benchmark write down whose code they ran, and where. They need no sandbox, for
they write outside of their workspace.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fanwise.optimize import OptimizeResult, optimize_sync
from tests.optimize.support import code, make_repo
from tests.workspaces.support import write

SLOW = code("""
    import time

    MARK = "original"
    SECONDS = 0.1


    def work(n):
        time.sleep(SECONDS)
        return n + 1
""")
RUN = code("""
    import os, sys
    sys.path.insert(0, "src")
    from pkg.slow import MARK, work

    if "LOG" in os.environ:
        with open(os.environ["LOG"], "a") as log:
            print("test", MARK, os.getcwd(), file=log, flush=True)
    assert work(1) == 2
""")
BENCH = RUN.replace('"test"', '"bench"')


def make_sleepy(folder: Path, **files: str) -> Path:
    """The repository."""
    given = {"src/pkg/__init__.py": "", "src/pkg/slow.py": SLOW, "run.py": RUN, "bench.py": BENCH}
    return make_repo(folder, {**given, ".gitignore": "__pycache__/\n.fanwise/\n*.log\n", **files})


def variant(mark: str, seconds: float = 0.0) -> str:
    """The whole file, with another mark and another speed."""
    text = SLOW.replace('"original"', repr(mark)).replace("= 0.1", f"= {seconds}")
    return f"# path: src/pkg/slow.py\n{text}"


def give(folder: Path, **candidates: str) -> None:
    for name, text in candidates.items():
        write(folder / "candidates" / f"{name}.py", text)


def judge(folder: Path, **more: Any) -> OptimizeResult:
    """Run all candidates of the folder; measured as little as can be, if nothing else is said."""
    given: dict[str, Any] = {
        "repo": "project",
        "folder": folder,
        "cap": 2,
        "bench": {"command": "python bench.py", "budget": "100ms"},
        **more,
    }
    own = {"sandbox": False, "allow_repeated": True, "env": ["LOG", "MEET"]}
    given["fields"] = {**own, **given.get("fields", {})}
    target = given.pop("target", None)
    candidates = given.pop("candidates", "candidates/*")
    return optimize_sync(target, candidates, given.pop("test", "python run.py"), **given)


@pytest.fixture
def sleepy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the project in it; what its programs write is in `log`."""
    make_sleepy(tmp_path / "project")
    monkeypatch.setenv("LOG", str(tmp_path / "log"))
    return tmp_path


def log_of(folder: Path, what: str) -> list[tuple[str, str]]:
    """Whose code was tested, or measured, and where; in order."""
    rows = [line.split(maxsplit=2) for line in (folder / "log").read_text().splitlines()]
    return [(mark, where) for kind, mark, where in rows if kind == what]
