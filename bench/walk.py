"""`python -m bench.walk`: how much of fanwise one matrix cell and one sub-plan go through.

Files and functions that a reader would step through, in all threads, from the call of the entry
point to its result, in a durable run. Fewer is better. What is done while modules are imported
does not count.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import fanwise
from fanwise.plan import Work

ROOT = str(Path(fanwise.__file__).parent)
NO_FUNCTIONS = {"<module>", "<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>"}


def crossed(call: Callable[[], Any]) -> tuple[int, int]:
    """How many files and functions of fanwise are crossed."""
    seen: set[CodeType] = set()

    def look(frame: FrameType, event: str, arg: object) -> None:
        if event == "call":
            seen.add(frame.f_code)

    threading.setprofile(look)
    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    ours = [
        code
        for code in seen
        if code.co_filename.startswith(ROOT) and code.co_name not in NO_FUNCTIONS
    ]
    return len({code.co_filename for code in ours}), len(ours)


def cell() -> None:
    """A matrix of one cell."""
    matrix = fanwise.Matrix(models="sim:a?median_s=0.001", prompts="hi", inputs=["a"])
    fanwise.run_matrix_sync(matrix, run="cell").require()


def _edit(work: Work) -> None:
    for name in work.files:
        path = work.root / name
        path.write_text(f"{path.read_text()}# more\n")


def sub_plan() -> None:
    """A plan of one sub-plan."""
    plan = fanwise.run_plan_sync("go", _edit, repo="repo", fields={"sandbox": False}, run="plan")
    plan.require()


def main() -> None:
    """Print both."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("repo").mkdir()
        Path("repo/a.py").write_text("VALUE = 1\n")
        author = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        for line in (["init", "-q"], ["add", "-A"], [*author, "commit", "-qm", "first"]):
            subprocess.run(["git", *line], cwd="repo", check=True)
        for name, call in {"one matrix cell": cell, "one sub-plan": sub_plan}.items():
            files, functions = crossed(call)
            sys.stdout.write(f"{name}: {files} files, {functions} functions\n")
        os.chdir("/")


if __name__ == "__main__":
    main()
