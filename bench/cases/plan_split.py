"""How long a split of a large code base takes, and how good it is: each mode beside folders.

Django from its sdist (about 2,800 Python files); leaves of at most 30 files and 100,000 tokens. The
time is of all of it: listing and reading the files, their imports, the split, the scorecard. It is
the best of five processes. The speed-up is by list scheduling at ten at once, work being tokens;
of folders it is what remains if leaves have to follow their imports, and those in a circle are done
one after another.

Co-change is the share of past changes (of 2 to 30 Python files) that would have stayed inside one
leaf of today's files. It is measured on repositories that were not used for tuning: this project's
own, those that FANWISE_BENCH_REPOS names, with `:` between them, and three projects that publish
nearly every merged change as a release (see `bench/releases.py`). There a change is what one
release differs in from the one before it, so a release with two changes counts as one. A file
that most changes touch, such as the version number, does not count.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from bench.harness import Row, fresh
from bench.releases import PROJECTS, release_history
from fanwise.cache_folder import cache_folder
from fanwise.plan.model.node import Node, Split
from fanwise.plan.split import Rules, files_in, split
from fanwise.plan.split.files import past_commits
from fanwise.plan.split.graphs import components
from fanwise.plan.split.scorecard import speedup

VERSION = "5.2"
MODES = ("directory", "independent", "dependency")
ROUNDS = 5
SECONDS = 3.0
CUT = 0.70
SPEEDUP = 5.0
COMMITS = 5_000
FEW_COMMITS = 50
LARGE_COMMIT = 30
"""Files of a commit; one of more is a sweep over the code base."""


def measure() -> list[Row]:
    """Each mode in processes of its own, in turns."""
    problem = fetch()
    if problem:
        return [Row("plan-split: left out", problem)]
    runs: list[list[Any]] = [[] for _ in MODES]
    for _ in range(ROUNDS):
        for place in range(len(MODES)):
            runs[place].append(fresh("bench.cases.plan_split", "timed", place).answer)
    took = [min(each["seconds"] for each in turns) for turns in runs]
    folders, free, ordered = (turns[0] for turns in runs)
    rows = [*_times(took, folders), *_independent(free, folders), *_dependency(ordered, folders)]
    return [*rows, *map(_co_change, repositories()), *map(_of_releases, PROJECTS)]


def _times(took: list[float], folders: Any) -> list[Row]:
    return [
        Row(
            f"plan-split: {folders['files']:,} files, {mode}, best of {ROUNDS}",
            f"{seconds:.2f} s",
            f"directory {took[0]:.2f} s",
            seconds / took[0],
            f"<= {SECONDS:g} s",
            seconds <= SECONDS,
        )
        for mode, seconds in zip(MODES, took, strict=True)
    ]


def _independent(found: Any, folders: Any) -> list[Row]:
    return [
        _share("independent: imports cut", found["cut"], folders["cut"], CUT),
        _share("independent: cut without hubs", found["free"], folders["free"], None),
        Row("plan-split: independent: leaves", f"{found['leaves']}", f"{folders['leaves']}"),
    ]


def _dependency(found: Any, folders: Any) -> list[Row]:
    return [
        Row(
            "plan-split: dependency: predicted speed-up at 10",
            f"{found['speedup']:.2f}",
            f"directory, in order {folders['ordered']:.2f}",
            found["speedup"] / folders["ordered"],
            f">= {SPEEDUP:g}",
            found["speedup"] >= SPEEDUP,
        ),
        _share("dependency: files in circles of leaves", found["cyclic"], folders["cyclic"], 0.0),
        _share("dependency: imports cut", found["cut"], folders["cut"], None),
        Row("plan-split: dependency: leaves", f"{found['leaves']}", f"{folders['leaves']}"),
        Row(
            "plan-split: dependency: imports in functions against the order", f"{found['against']}"
        ),
    ]


def _share(what: str, ours: float, other: float, bound: float | None) -> Row:
    return Row(
        f"plan-split: {what}",
        f"{ours:.1%}",
        f"directory {other:.1%}",
        ours / other,
        "" if bound is None else f"<= {bound:.0%}",
        None if bound is None else ours <= bound,
    )


def repositories() -> list[Path]:
    """Repositories with a history, other than the one that the split was tuned on."""
    named = os.environ.get("FANWISE_BENCH_REPOS", "").split(":")
    return [Path(__file__).parents[2], *(Path(each) for each in named if each)]


def _name(repo: Path) -> str:
    return "this project" if repo == repositories()[0] else repo.name


def _of_releases(project: str) -> Row:
    try:
        return _co_change(release_history(project))
    except OSError as error:
        return Row(f"plan-split: co-change of {project}: left out", str(error)[:100])


def _co_change(repo: Path) -> Row:
    commits = _changes(past_commits(repo, most=COMMITS))
    if len(commits) < FEW_COMMITS:
        return Row(f"plan-split: co-change of {_name(repo)}: left out", f"{len(commits)} commits")
    files = files_in(repo, ["*.py"]).files
    limits = Rules(max_files=30, max_tokens=100_000)
    rules = (limits, replace(limits, mode="directory"))
    ours, folders = (split(files, each, commits=commits).scorecard for each in rules)
    assert ours.commits_inside is not None
    assert folders.commits_inside is not None
    return Row(
        f"plan-split: co-change of {_name(repo)}, {ours.commits} changes of {ours.files} files",
        f"{ours.commits_inside:.3f} ({ours.leaves} leaves)",
        f"directory {folders.commits_inside:.3f} ({folders.leaves} leaves)",
        ours.commits_inside / folders.commits_inside,
    )


def _changes(commits: list[tuple[str, ...]]) -> list[list[str]]:
    """The Python files of each commit, without those that most commits change."""
    times = Counter(path for commit in commits for path in commit)
    often = {path for path, count in times.items() if count > len(commits) / 2}
    found = [[p for p in each if p.endswith(".py") and p not in often] for each in commits]
    return [each for each in found if 2 <= len(each) <= LARGE_COMMIT]


def timed(place: int) -> dict[str, Any]:
    """One split, from the folder to the scorecard."""
    rules = Rules(mode=MODES[place], max_files=30, max_tokens=100_000)  # type: ignore[arg-type]
    began = time.perf_counter()
    listing = files_in(django(), ["*.py"])
    found = split(listing.files, rules, left_out=listing.left_out)
    seconds = time.perf_counter() - began
    card = found.scorecard
    return {
        "seconds": seconds, "files": card.files, "leaves": card.leaves, "cut": card.cut,
        "free": card.cut_without_hubs, "cyclic": card.cyclic, "speedup": card.speedup,
        "against": card.against, "ordered": in_order(found),
    }  # fmt: skip


def in_order(found: Split) -> float:
    """The speed-up if leaves had to follow their imports; those in a circle are one."""
    owners = found.tree.owners
    before: dict[str, set[str]] = {leaf.id: set() for leaf in found.tree.leaves}
    for path, others in found.imports.items():
        before[owners[path]] |= {owners[other] for other in others} - {owners[path]}
    circles = components(before)
    circle_of = {name: circle[0] for circle in circles for name in circle}
    tokens = {leaf.id: leaf.tokens for leaf in found.tree.leaves}
    nodes = [
        Node(
            id=circle[0],
            title="",
            tokens=sum(tokens[name] for name in circle),
            after=tuple(
                sorted({circle_of[each] for name in circle for each in before[name]} - {circle[0]})
            ),
        )
        for circle in circles
    ]
    return speedup(nodes, 10)


def django() -> Path:
    """Where it is unpacked."""
    return cache_folder() / "bench" / f"django-{VERSION}"


def fetch() -> str:
    """Put Django there, if it is not; why it cannot be."""
    target = django()
    if target.exists():
        return ""
    target.parent.mkdir(parents=True, exist_ok=True)
    asked = ["download", "--quiet", "--no-deps", "--no-binary", ":all:", f"Django=={VERSION}"]
    command = [sys.executable, "-m", "pip", *asked, "--dest", str(target.parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = sorted(target.parent.glob("[Dd]jango-*.tar.gz"))
    if done.returncode or not found:
        said = done.stderr.strip().splitlines() or ["it is not there"]
        return f"pip cannot download Django {VERSION}: {said[-1]}"
    with tarfile.open(found[0]) as archive:
        archive.extractall(target.with_suffix(".new"), filter="data")
    (inside,) = target.with_suffix(".new").iterdir()
    inside.rename(target)
    target.with_suffix(".new").rmdir()
    return ""
