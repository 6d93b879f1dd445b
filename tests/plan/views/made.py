"""Trees and runs of a plan for tests, made by hand; the journal is a real one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from fanwise import Usage, call, fan_out, open_run
from fanwise.core.outcome import Outcome
from fanwise.errors import SubPlanFailed
from fanwise.journal.open import open_journal
from fanwise.plan.model.leaf_result import Blob, Change, EditRequest, LeafResult, SubPlan, Try
from fanwise.plan.model.merge_result import (
    BrokenName,
    Conflict,
    MergeCheck,
    MergeResult,
    MergeStep,
    PublishedResult,
)
from fanwise.plan.model.node import Mode, Node, Scorecard, Split, Tree
from fanwise.plan.spec.plan_spec import PlanBase, PlanSpec
from fanwise.plan.split.grow import grow
from fanwise.plan.split.rules import Rules
from fanwise.plan.state.board import PlanBoard
from fanwise.plan.state.plan_item import PlanItem
from fanwise.plan.state.read_run import RecordedPlan, read_run
from fanwise.plan.state.replay import board_of


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
    work_digest: str | None = "w",
) -> RecordedPlan:
    """A real run, whose items come to this, in order, one at a time; as it is read."""
    paths = [path for leaf in made.tree.leaves for path in leaf.files]
    data = {
        "goal": "Replace the assertions", "each": {"command": "true"}, "check": "pytest -q",
        **(plan or {}),
    }  # fmt: skip
    spec = {
        "file": "plan.yaml", "folder": str(place), "data": {"plan": data}, "base": "b" * 40,
        "split": msgspec.to_builtins(made), "digests": dict.fromkeys(paths, "d"),
        "tokens": dict.fromkeys(paths, 100), "files": len(paths), "work": work_digest,
    }  # fmt: skip
    given = dict(with_digests(new_board(spec), happened))

    async def work(key: str) -> Any:
        if key.startswith("leaf:costly"):
            await call(_asked, name="model", estimate=Usage(tokens=700), usage=lambda _: USAGE)
        value = given[key]
        if isinstance(value, BaseException):
            raise value
        return msgspec.to_builtins(value)

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


def new_board(spec: Mapping[str, Any]) -> PlanBoard:
    plan = PlanSpec.model_validate(spec["data"]["plan"])
    return board_of(plan, msgspec.convert(spec, PlanBase), "w", bisect=True)


def with_digests(board: PlanBoard, happened: Iterable[Happening]) -> Iterator[Happening]:
    """The same, each of the item that the board asks for; what it does not ask for is as it is."""
    waiting = {item.key: item for item in board.begin()}
    for key, value in happened:
        item = waiting.pop(key, None)
        if item is not None and isinstance(value, BaseException):
            value.of = item.of  # type: ignore[attr-defined]
            following = board.take(item, Outcome(0, "failed", error=value))
        elif item is not None:
            value = replace(value, of=item.of)
            following = board.take(item, Outcome(0, "done", msgspec.to_builtins(value)))
        else:
            following = []
        waiting |= {each.key: each for each in following}
        yield key, value


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
        tokens={"tests/i.py": 100, "tests/j.py": 100},
        goal="Replace the assertions",
    )
    first, second = grown.by_id["tests/i"].children
    wish = EditRequest(
        leaf="tests/e", owner="src/a", path="src/a.py", patch="--- a\n+++ b\n+wish\n"
    )
    lost = EditRequest(leaf="tests/e", owner=None, path="setup.cfg", patch="--- a\n+++ b\n+lost\n")
    broken = BrokenName(
        name="src.b.total", path="tests/f.py", line=7, used_by="tests/f", removed_by="src/b",
        removed_from="src/b.py",
    )  # fmt: skip
    both = (conflict("tests/f", "src/a"), conflict("tests/g", "src/a", "src/b"))
    failed = SubPlanFailed(
        "src/c", "src/c", (tried("work", "exit code 1"), tried()), kept="src-c.patch"
    )
    given_up = SubPlanFailed("tests/g", "tests/g", (tried("edits", "no edits"),))
    again = {
        "again:tests/f": ended("tests/f", tries=(tried("merge", "shared.txt: conflict"),)),
        "again:tests/g": given_up,
    }
    leaves = [
        ("leaf:src/a", ended("src/a")),
        ("leaf:src/b", ended("src/b", tries=(tried(),))),
        ("leaf:src/c", failed),
        ("leaf:tests/e", ended("tests/e", "unchanged", requests=(wish, lost))),
        *((f"leaf:tests/{name}", ended(f"tests/{name}")) for name in "fgh"),
        ("leaf:tests/i", ended("tests/i", "split", subplans=SPLIT)),
        ("leaf:costly", ended("costly")),
        (f"leaf:{first}", ended(first)),
        (f"leaf:{second}", ended(second, verified="no tests")),
    ]

    def value(item: PlanItem) -> Any:
        if item.kind == "again":
            return again[item.key]
        if item.kind == "merge":
            aside = () if item.on_top or item.without else both
            names = [each.leaf for each in (*item.changes, *item.on_top)]
            names = [name for name in names if name not in {each.leaf for each in aside}]
            step = merged(names, *aside, broken=() if item.without else (broken,))
            return replace(step, commit=item.key[-1] * 40)
        if item.kind == "check":
            passed = "tests/h" in item.without
            return MergeCheck(
                passed=passed, said="all passed" if passed else "3 failed", seconds=4.0,
                without=item.without,
            )  # fmt: skip
        assert item.step is not None
        return PublishedResult(
            commit=item.at, branch="fanwise/plan-abc", leaves=item.step.merged.leaves,
            left_out=item.left_out,
        )  # fmt: skip

    return [*leaves, *_rest(leaves, value)]


def _rest(leaves: Sequence[Happening], value: Callable[[PlanItem], Any]) -> Iterator[Happening]:
    """What comes after the leaves, as a board asks for it."""
    paths = [path for each in STORY.leaves for path in each.files]
    board = board_of(
        PlanSpec.model_validate(
            {"goal": "Replace the assertions", "each": {"command": "true"}, "check": "pytest -q"}
        ),
        PlanBase(
            commit="b" * 40, split=split_of(STORY), digests=dict.fromkeys(paths, "d"),
            tokens=dict.fromkeys(paths, 100),
        ),
        "w",
        bisect=True,
    )  # fmt: skip
    given = dict(leaves)
    waiting = [*board.begin()]
    while waiting:
        item = waiting.pop(0)
        found = given[item.key] if item.kind == "leaf" else value(item)
        if item.kind != "leaf":
            yield item.key, found
        failed = isinstance(found, BaseException)
        outcome: Outcome[Any] = (
            Outcome(0, "failed", error=found)
            if failed
            else Outcome(0, "done", msgspec.to_builtins(found))
        )
        waiting += board.take(item, outcome)
