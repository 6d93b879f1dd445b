"""How long it takes to bring the changes of 130 leaves together, and to make sparse workspaces.

A repository of 3,000 files in 300 folders: as many as Django has, and as deep. Each leaf changes
twenty files of its own. We lay them over one another and make one commit a leaf; beside it, what
one would do by hand: `git merge-tree` and `git commit-tree` for each leaf. Both end with the same
tree. A sparse workspace has the two folders of a leaf, beside a full one.
"""

from __future__ import annotations

import functools
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from bench.harness import Row
from fanwise.plan.merge.step import Signature, merge_step
from fanwise.plan.merge.trees import blobs_at, commit_with
from fanwise.plan.model.leaf_result import Blob, Change
from fanwise.workspaces import WorkspacePool
from fanwise.workspaces.git import Git

T = TypeVar("T")

FILES, FOLDERS = 3_000, 300
LEAVES, EACH = 130, 20
ROUNDS = 3
SLOTS = 3
MERGE_S = 3.0
SPARSE_S = 0.3


def measure() -> list[Row]:
    """The merge, and the workspaces."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["FANWISE_CACHE"] = str(Path(folder) / "cache")
        git = _repository(Path(folder) / "repo")
        return [_merging(git), *_workspaces(git.cwd)]


def _merging(git: Git) -> Row:
    changes = _changes(git)
    commits = [commit_with(git, "HEAD", [change], change.title) for change in changes]
    ours, theirs = [], []
    for _ in range(ROUNDS):
        took, step = _timed(lambda: merge_step(git, "HEAD", changes, Signature(goal="bench")))
        ours.append(took)
        took, tree = _timed(lambda: _by_hand(git, commits))
        theirs.append(took)
        assert tree == step.merged.tree
        assert len(step.merged.leaves) == LEAVES
    ratio = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
    took, other = statistics.median(ours), statistics.median(theirs)
    return Row(
        f"plan: {LEAVES} disjoint leaves merged, {FILES:,} files",
        f"{took:.2f} s",
        f"merge-tree for each {other:.2f} s",
        ratio,
        f"<= {MERGE_S:g} s",
        took <= MERGE_S,
    )


def _by_hand(git: Git, commits: list[str]) -> str:
    """A commit for each leaf, on the one before it; return the last tree."""
    made = "HEAD"
    who = {f"GIT_{role}_{part}": "bench" for role in ("AUTHOR", "COMMITTER")
           for part in ("NAME", "EMAIL")}  # fmt: skip
    tree = ""
    for commit in commits:
        tree = git("merge-tree", "--write-tree", made, commit)
        made = git("commit-tree", "-p", made, "-m", "leaf", tree, env=who)
    return tree


def _workspaces(repo: Path) -> list[Row]:
    """Each slot of a pool that is made sparse; and a take of another cone, at another commit."""
    sparse_folders = [f"pkg{FOLDERS - 1}", f"pkg{FOLDERS - 2}"]
    full = statistics.median(_opened(repo, ()) for _ in range(ROUNDS))
    sparse = statistics.median(_opened(repo, ("pkg1", "pkg2")) for _ in range(ROUNDS))
    times = []
    with WorkspacePool(repo, slots=1, sparse=("pkg1",)) as pool:
        for number in range(ROUNDS * 2):
            cone = sparse_folders if number % 2 else ["pkg3", "pkg4"]
            took, workspace = _timed(functools.partial(pool.take, at="HEAD", sparse=cone))
            pool.give_back(workspace)
            times.append(took)
    taken = statistics.median(times)
    return [
        _row(f"a sparse workspace made, {FILES:,} files", sparse, full),
        _row("the same slot with other folders", taken, full),
    ]


def _row(what: str, took: float, full: float) -> Row:
    return Row(
        f"plan: {what}",
        f"{took * 1000:.0f} ms",
        f"a full one {full * 1000:.0f} ms",
        took / full,
        f"<= {SPARSE_S * 1000:.0f} ms",
        took <= SPARSE_S,
    )


def _opened(repo: Path, sparse: tuple[str, ...]) -> float:
    """Seconds for each slot of a pool."""
    pool = WorkspacePool(repo, slots=SLOTS, sparse=sparse)
    took, _ = _timed(pool.open)
    pool.close()
    return took / SLOTS


def _changes(git: Git) -> list[Change]:
    """Each leaf adds a line to its files."""
    paths = sorted(blobs_at(git, "HEAD"))[: LEAVES * EACH]
    with tempfile.TemporaryDirectory() as folder:
        copies = [Path(folder) / str(number) for number in range(len(paths))]
        for copy, path in zip(copies, paths, strict=True):
            copy.write_bytes((git.cwd / path).read_bytes() + b"more = 1\n")
        listed = "\n".join(map(str, copies)).encode()
        names = git("hash-object", "-w", "--no-filters", "--stdin-paths", stdin=listed).split()
    blobs = {path: Blob("100644", name) for path, name in zip(paths, names, strict=True)}
    return [
        Change(
            leaf=f"leaf{leaf}",
            title=f"Leaf {leaf}",
            files={path: blobs[path] for path in paths[leaf * EACH : (leaf + 1) * EACH]},
        )
        for leaf in range(LEAVES)
    ]


def _repository(repo: Path) -> Git:
    for number in range(FILES):
        folder = number % FOLDERS
        path = repo / f"pkg{folder}" / f"sub{folder % 7}" / f"module{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {number}\n" + f"value = {number}\n" * 300)
    for command in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=b", "-c", "user.email=b@example.org", "commit", "-qm", "all"],
    ):
        subprocess.run(["git", *command], cwd=repo, check=True, capture_output=True)
    return Git(repo)


def _timed(work: Callable[[], T]) -> tuple[float, T]:
    began = time.perf_counter()
    done = work()
    return time.perf_counter() - began, done
