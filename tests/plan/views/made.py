"""Trees and runs of a plan for tests, made by hand; the journal is a real one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from fanwise import Usage, call, fan_out, open_run
from fanwise.errors import SubPlanFailed
from fanwise.journal.open import open_journal
from fanwise.plan.model.change import Blob, Change, EditRequest
from fanwise.plan.model.leaf_result import LeafResult, SubPlan, Try
from fanwise.plan.model.merge_result import (
    BrokenName,
    CheckResult,
    Conflict,
    MergeResult,
    MergeStep,
    PublishedResult,
)
from fanwise.plan.model.node import FileNote, Mode, Node, Scorecard, Split, Tree
from fanwise.plan.split.grow import grow
from fanwise.plan.split.rules import Rules
from fanwise.plan.state.recorded import Recorded, read_run


def leaf(name: str, **more: Any) -> Node:
    given: dict[str, Any] = {"id": name, "title": name, "files": (f"{name}.py",), **more}
    return Node(**given)


def tree(groups: Mapping[str, Sequence[str | Node]], title: str = "the goal") -> Tree:
    """Two levels; an id is the title."""
    nodes = [Node(id="root", title=title, children=tuple(groups))]
    for group, members in groups.items():
        leaves = [each if isinstance(each, Node) else leaf(each) for each in members]
        nodes.append(
            Node(
                id=group,
                title=group,
                depth=1,
                parent="root",
                children=tuple(each.id for each in leaves),
            )
        )
        nodes += [_below(each, group) for each in leaves]
    return Tree(nodes=tuple(nodes))


def _below(node: Node, parent: str) -> Node:
    return replace(node, parent=parent, depth=2)


def split_of(made: Tree, mode: Mode = "independent", **more: Any) -> Split:
    """A split that made this tree, and what is known about it."""
    files = sum(len(leaf.files) for leaf in made.leaves)
    card = Scorecard(
        files=files, tokens=1000 * files, leaves=len(made.leaves), depth=2, balance=1.5, edges=40,
        cut=0.7, cut_without_hubs=0.5, cyclic=0.0, speedup=5.1, max_parallel=10, commits=200,
        commits_inside=0.25,
    )  # fmt: skip
    paths = [path for each in made.leaves for path in each.files]
    imports = dict.fromkeys(paths[1:], (paths[0],))
    given: dict[str, Any] = {"mode": mode, "tree": made, "imports": imports, "scorecard": card}
    given |= more
    return Split(**given)


Happening = tuple[str, Any]
"""The key of an item, and what it gives: a struct, or an error that it raises."""


def recorded(
    place: Path,
    made: Split,
    happened: Sequence[Happening],
    *,
    run_id: str = "the-run",
    plan: Mapping[str, Any] | None = None,
    may_change: bool = False,
) -> Recorded:
    """A real run, whose items come to this, in order, one at a time; as it is read."""
    given = dict(happened)

    async def work(key: str) -> Any:
        if key.startswith("leaf:costly"):
            await call(_asked, name="model", estimate=Usage(tokens=700), usage=lambda _: USAGE)
        value = given[key]
        if isinstance(value, BaseException):
            raise value
        return msgspec.to_builtins(value)

    paths = [path for leaf in made.tree.leaves for path in leaf.files]
    data = {"goal": "Replace the assertions", "check": "pytest -q", **(plan or {})}
    spec = {
        "file": "plan.yaml", "folder": str(place), "data": {"plan": data}, "base": "b" * 40,
        "split": msgspec.to_builtins(made), "digests": dict.fromkeys(paths, "d"),
        "tokens": dict.fromkeys(paths, 100), "files": len(paths),
    }  # fmt: skip

    async def main() -> None:
        journal = place / "journal.db"
        run = open_run(
            run_id, journal=journal, kind="plan", name="assertions", spec=spec,
            may_change=may_change, retry_failed=may_change,
        )  # fmt: skip
        async with run:
            await fan_out(work, list(given), cap=1, key=str, run=run, name="plan",
                          reuse=lambda key, recorded: not key.startswith(STEPS))  # fmt: skip

    asyncio.run(main())
    with closing(open_journal(place / "journal.db", read_only=True)) as journal:
        return read_run(journal, journal.run(run_id))


STEPS = ("merge", "check", "result")
USAGE = Usage(tokens=700, usd=0.02, input_tokens=600, output_tokens=100)


async def _asked() -> str:
    return "edits"


def ended(leaf: str, status: Any = "changed", **more: Any) -> LeafResult:
    """A leaf that is done; it has changed a file of its own."""
    files = {f"{leaf}.py": Blob("100644", "f" * 40)}
    change = Change(leaf=leaf, title=leaf, files=files) if status == "changed" else None
    given: dict[str, Any] = {
        "leaf": leaf, "status": status, "change": change, "verified": "passed", "seconds": 2.0,
        "said": f"{leaf} is done",
    }  # fmt: skip
    return LeafResult(**{**given, **more})


def merged(leaves: Sequence[str], *conflicts: Conflict, **more: Any) -> MergeStep:
    found = MergeResult(tree="t" * 40, leaves=tuple(leaves), conflicts=conflicts)
    return MergeStep(merged=found, commit="c" * 40, **more)


def conflict(leaf: str, *others: str, **more: Any) -> Conflict:
    given: dict[str, Any] = {
        "kind": "content", "paths": ("shared.txt",), "leaf": leaf, "others": others,
        "detail": "CONFLICT (content): shared.txt",
    }  # fmt: skip
    return Conflict(**{**given, **more})


def tried(stage: Any = "verify", reason: str = "2 tests failed", **more: Any) -> Try:
    given: dict[str, Any] = {"said": f"{reason}: the output", "seconds": 1.5, **more}
    return Try(stage=stage, reason=reason, **given)


SPLIT = (
    SubPlan(goal="Rename first", files=("tests/i.py",)),
    SubPlan(goal="Then rewrite", files=("tests/j.py",)),
)


STORY = tree(
    {
        "src": ["src/a", leaf("src/b"), leaf("src/c"), leaf("src/d", after=("src/c",))],
        "tests": [
            *(f"tests/{name}" for name in "efgh"),
            leaf("tests/i", files=("tests/i.py", "tests/j.py")),
            "costly",
        ],
    }
)


def story() -> list[Happening]:
    """One of everything that can become of a leaf."""
    grown = grow(
        STORY,
        "tests/i",
        SPLIT,
        rules=Rules(),
        digests={"tests/i.py": "d", "tests/j.py": "d"},
        goal="Replace the assertions",
    )
    first, second = grown.by_id["tests/i"].children
    wish = EditRequest(
        leaf="tests/e", owner="src/a", path="src/a.py", patch="--- a\n+++ b\n+wish\n"
    )
    lost = EditRequest(leaf="tests/e", owner=None, path="setup.cfg", patch="--- a\n+++ b\n+lost\n")
    broken = BrokenName(
        name="src.b.total", path="tests/f.py", line=7, used_by="tests/f", removed_by="src/b",
        removed_from="src/b.py", renamed_to="src.b.sum_of",
    )  # fmt: skip
    both = (conflict("tests/f", "src/a"), conflict("tests/g", "src/a", "src/b"))
    in_first = ["src/a", "src/b", "tests/h", first, second, "costly"]
    in_all = ["src/a", "src/b", "tests/f", "tests/h", first, second, "costly"]
    failed = SubPlanFailed(
        "src/c", "src/c", (tried("work", "exit code 1"), tried()), kept="src-c.patch"
    )
    given_up = SubPlanFailed("tests/g", "tests/g", (tried("edits", "no edits"),))
    left = (
        FileNote("tests/g", "its conflict could not be settled"),
        FileNote("tests/h", "the check fails with it"),
    )
    return [
        ("leaf:src/a", ended("src/a")),
        ("leaf:src/b", ended("src/b", tries=(tried(),))),
        ("leaf:src/c", failed),
        ("leaf:tests/e", ended("tests/e", "unchanged", requests=(wish, lost))),
        *((f"leaf:tests/{name}", ended(f"tests/{name}")) for name in "fgh"),
        ("leaf:tests/i", ended("tests/i", "split", subplans=SPLIT)),
        ("leaf:costly", ended("costly")),
        (f"leaf:{first}", ended(first)),
        (f"leaf:{second}", ended(second, verified="no tests")),
        ("merge:0", merged(in_first, *both, broken=(broken,))),
        ("again:tests/f", ended("tests/f", tries=(tried("merge", "shared.txt: conflict"),))),
        ("merge:1", merged(in_all, broken=(broken,))),
        ("again:tests/g", given_up),
        ("check:0", CheckResult(passed=False, said="3 failed", seconds=4.0)),
        ("merge:2", merged([each for each in in_all if each != "tests/h"])),
        ("check:1", CheckResult(passed=True, said="all passed", seconds=3.0, without=("tests/h",))),
        (
            "result",
            PublishedResult(
                commit="d" * 40, branch="fanwise/plan-abc", leaves=tuple(in_all[:3] + in_all[4:]),
                left_out=left,
            ),
        ),
    ]  # fmt: skip
