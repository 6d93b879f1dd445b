"""What a whole plan costs beside the work itself: a rename over Django, in sub-plans of 25 files.

The codemod alone goes over all files in one process. The plan starts it once for each sub-plan, in
workspaces, ten at once, merges what was changed and makes a branch; both leave the same files. What
counts is the processor's time of everything, git included, in the best of three runs: most of it is
spent by the system on writing files, and that depends on what else the machine does. Of a further
run with a `check`, the time between the end of the merge and that of the check counts, without the
check itself: the checkout of the merged tree.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from bench.cases.plan_split import django, fetch
from bench.harness import Row, command_cpu_s, fanwise
from fanwise.journal.open import open_journal
from fanwise.plan.state.read_run import read_run

CPU_S = 20.0
ROUNDS = 3
CHECK_S = 2.0
CODEMOD = """
import re, sys
for name in sys.argv[1:]:
    with open(name, encoding="latin-1", newline="") as file:
        text = file.read()
    made = re.sub(r"\\bgettext_lazy\\b", "gettext_later", text)
    if made != text:
        with open(name, "w", encoding="latin-1", newline="") as file:
            file.write(made)
"""


def measure() -> list[Row]:
    """The codemod alone, the plan, and the plan with a check."""
    problem = fetch()
    if problem:
        return [Row("plan-run: left out", problem)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _prepare(folder)
        os.environ["FANWISE_CACHE"] = str(folder / "cache")
        alone = _alone(folder)
        plain = min(_plain(folder) for _ in range(ROUNDS))
        command_cpu_s(fanwise("run", "checked.json", "--yes"), name)
        before_check, of_check = _check_times(folder)
    return [
        Row(
            "plan-run: a rename over Django, CPU",
            f"{plain:.1f} s",
            f"the codemod alone {alone:.2f} s",
            plain / alone,
            f"<= {CPU_S:g} s",
            plain <= CPU_S,
        ),
        Row(
            "plan-run: before the check of the merged tree begins",
            f"{before_check:.2f} s",
            f"the check {of_check:.2f} s",
            None,
            f"<= {CHECK_S:g} s",
            before_check <= CHECK_S,
        ),
    ]


def _plain(folder: Path) -> float:
    """One run from the start; its branch has to have what the codemod alone has left."""
    shutil.rmtree(folder / ".fanwise", ignore_errors=True)
    cpu_s = command_cpu_s(fanwise("run", "plain.json", "--yes"), str(folder))
    _same(folder)
    _git(folder / "repo", "branch", "-D", _branch(folder / "repo"))
    return cpu_s


def _branch(repo: Path) -> str:
    return _git(repo, "branch", "--list", "fanwise/*", "--format=%(refname:short)")


def _prepare(folder: Path) -> None:
    repo = folder / "repo"
    subprocess.run(["cp", "-r", str(django()), str(repo)], check=True)
    (folder / "codemod.py").write_text(CODEMOD)
    _git(repo, "init", "-q", "-b", "main")
    _git(repo, "add", "-A")
    _git(repo, "commit", "-qm", "Django")
    _git(repo, "repack", "-adq")  # as a clone has it
    command = f"{sys.executable} -IS {folder / 'codemod.py'} {{files}}"
    plan = {
        "goal": "Rename gettext_lazy", "repo": "repo", "files": ["*.py"],
        "each": {"command": command}, "sandbox": False,
    }  # fmt: skip
    (folder / "plain.json").write_text(json.dumps({"plan": plan}))
    (folder / "checked.json").write_text(json.dumps({"plan": {**plan, "check": "true"}}))


def _alone(folder: Path) -> float:
    """The same files in one process, in a tree of their own."""
    tree = folder / "alone"
    subprocess.run(["cp", "-r", str(folder / "repo"), str(tree)], check=True)
    names = [str(path) for path in sorted(tree.rglob("*.py"))]
    command = [sys.executable, "-IS", str(folder / "codemod.py"), *names]
    return command_cpu_s(command, str(folder))


def _same(folder: Path) -> None:
    """The plan's branch has the files that the codemod alone left behind."""
    repo, tree = folder / "repo", folder / "alone"
    _git(tree, "add", "-A")
    assert _git(repo, "rev-parse", f"{_branch(repo)}^{{tree}}") == _git(tree, "write-tree")


def _check_times(folder: Path) -> tuple[float, float]:
    """How long the check had to wait for its workspace, and how long it took."""
    with closing(open_journal(folder / ".fanwise/journal.db", read_only=True)) as journal:
        found = read_run(journal, journal.run("checked"))
    (span,) = (each.span for each in found.steps if each.kind == "check")
    (check,) = found.state.checks
    assert span.end is not None
    return span.end - span.start - check.seconds, check.seconds


def _git(repo: Path, *words: str) -> str:
    """git with no configuration but this; a gc in the background would be measured, too."""
    settings = ("user.name=bench", "user.email=bench@example.org", "core.autocrlf=false")
    options = [word for each in (*settings, "gc.auto=0") for word in ("-c", each)]
    command = ["git", *options, *words]
    done = subprocess.run(command, cwd=repo, check=True, capture_output=True, text=True)
    return done.stdout.strip()
