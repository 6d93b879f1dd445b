"""What a file would run, for `fanwise check`: nothing is started, spent or written."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fanwise.core.budget import Budget
from fanwise.core.caps import Caps
from fanwise.errors import FanwiseError, GitFailed
from fanwise.optimize.candidates.candidate import Candidate
from fanwise.optimize.candidates.replace_function import replace
from fanwise.optimize.spec.resolved_spec import ResolvedSpec
from fanwise.processes.sandbox import unusable
from fanwise.specs.system import Preview
from fanwise.workspaces.git import Git


def preview(
    case: ResolvedSpec, title: str, declared: Caps | None, budget: Budget | None
) -> Preview:
    """The target, the candidates and which of them apply, how they are judged and measured."""
    unfit = {each.name: why for each in case.given if (why := unfit_reason(case, each))}
    facts: dict[str, Any] = {
        "target": None if case.target is None else case.target.text(),
        "candidates": [each.name for each in case.given],
        "unfit": unfit,
        "proposals": most_proposals(case),
        "python": case.python.program,
        "sandbox": case.spec.sandbox and not unusable(),
    }
    lines = [*_candidates(case, unfit), *_judged(case), *_run_in(case)]
    caps = case.caps(case.spec.slots).current
    caps |= {} if declared is None else declared.current
    return Preview(title, None, caps, {} if budget is None else budget.limits, lines, facts)


def most_proposals(case: ResolvedSpec) -> int:
    """How often whoever proposes is asked at most: each candidate has one line of descendants."""
    spec = case.spec
    if spec.candidates.propose is None:
        return 0
    first = spec.candidates.propose.n
    rounds = spec.rounds.repair + spec.rounds.refine
    return first + (first + len(case.given)) * rounds


def unfit_reason(case: ResolvedSpec, candidate: Candidate) -> str:
    """Why a candidate does not apply; empty if it does."""
    if candidate.kind == "file":
        return ""
    if candidate.kind == "function":
        return _no_function(case, candidate)
    with _index(case) as (git, env, options):
        patch = candidate.content.encode()
        try:
            if candidate.kind == "branch":
                patch = _changes_of(git, candidate.content)
        except GitFailed as error:
            return error.said
        code, _, said = git.run("apply", "--check", *options, "-", stdin=patch, env=env)
        return said or "git cannot apply it" if code != 0 and patch else ""


def _no_function(case: ResolvedSpec, candidate: Candidate) -> str:
    if case.target is None:
        return "it is the source of a function, and there is no target"
    try:
        replace(case.target.read(case.place.top), case.target, candidate.content)
    except FanwiseError as error:
        return str(error)
    return ""


def _changes_of(git: Git, commit: str) -> bytes:
    common = git("merge-base", "HEAD", commit)
    return git.raw("diff", "--binary", "--full-index", "--no-ext-diff", common, commit, "--")


@contextmanager
def _index(case: ResolvedSpec) -> Iterator[tuple[Git, dict[str, str], tuple[str, ...]]]:
    """git, and an index of our own with HEAD in it; where there is none, the files as they are."""
    place = case.place
    if place.git_dir is None or case.spec.dirty:
        with tempfile.TemporaryDirectory(prefix="fanwise-") as folder:
            Git(Path(folder))("init", "--quiet", "--bare", "--template=", "none.git")
            yield Git(place.top, git_dir=place.git_dir or Path(folder) / "none.git"), {}, ()
        return
    git = Git(place.top, git_dir=place.git_dir)
    with tempfile.TemporaryDirectory(prefix="fanwise-") as folder:
        env = {"GIT_INDEX_FILE": f"{folder}/index"}
        git("read-tree", "HEAD", env=env)
        yield git, env, ("--cached",)


def _candidates(case: ResolvedSpec, unfit: dict[str, str]) -> Iterator[str]:
    if case.target is not None:
        yield f"target  {case.target.text()}"
    if case.given:
        yield f"{len(case.given)} candidates given, {len(case.given) - len(unfit)} of them apply"
    for name, why in unfit.items():
        yield f"  {name} does not apply: {' '.join(why.split())}"
    propose = case.spec.candidates.propose
    if propose is not None:
        who = propose.command if propose.model is None else propose.model.name
        yield f"{propose.n} proposals by {who}; with repairs and refinements {most_proposals(case)}"


def _judged(case: ResolvedSpec) -> Iterator[str]:
    spec, bench = case.spec, case.spec.benched
    yield f"tested by: {spec.test}"
    yield f"with {case.python}"
    if case.recorded:
        yield "compared with the original in calls that the tests make, and in varied ones"
    timed = bench.command or bench.call or "the recorded calls"
    yield f"timed: {timed}, at most {bench.budget:g} s for each that passes, one at a time"
    yield (
        f"accepted if at least {spec.accept.speedup:g} times as fast, "
        f"with a confidence of {spec.accept.confidence:.0%}"
    )


def _run_in(case: ResolvedSpec) -> Iterator[str]:
    spec = case.spec
    start = "the folder as it is" if case.place.git_dir is None else "HEAD"
    start = "the dirty state" if spec.dirty and case.place.git_dir is not None else start
    yield f"{spec.slots} workspaces at once, and one for the original; they start from {start}"
    problem = unusable()
    if not spec.sandbox:
        yield "without a sandbox: candidates run with your permissions and your network"
    elif problem:
        yield f"it will not run: there is no sandbox here ({problem}). Or give --no-sandbox"
    else:
        yield "in a sandbox: no network, no sight of your files, nothing writable but the workspace"
