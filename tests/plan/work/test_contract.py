"""What holds for whoever does the work of a leaf: a command, a function, a model, a workflow."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from fanwise import fan_out
from fanwise.errors import WorkFailed
from fanwise.kernel.confined import scratch_folder
from fanwise.kernel.in_thread import in_thread
from fanwise.kernel.workspaces import workspace
from fanwise.plan.model.leaf_result import SubPlan
from fanwise.plan.work import LeafWorker, WorkRequest, WorkResult
from fanwise.plan.work.by_call import CallWorker, Work
from fanwise.plan.work.by_command import CommandWorker
from fanwise.plan.work.by_model import ModelWorker
from fanwise.plan.work.by_workflow import WorkflowWorker
from fanwise.plan.work.subplans import BadForm, subplans_of
from fanwise.specs import read
from fanwise.testing import ScriptedModel
from fanwise.workspaces import Workspace, WorkspacePool
from tests.plan.work.support import leaf, lives, make_repository
from tests.processes.support import jump, run

FILES = ("pkg/a.py", "pkg/b.py")
PARTS = [{"goal": "first", "files": ["pkg/a.py"]}, {"goal": "second", "files": ["pkg/b.py"]}]
BAD_PARTS = [{"goal": "first", "files": ["pkg/c.py"]}]
NEW = "x = 2\n"


class Kind:
    """Workers of one kind that edit, fail, return parts, or do not end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.fifo = folder / "fifo"
        os.mkfifo(self.fifo)

    def edits(self) -> LeafWorker:
        raise NotImplementedError

    def fails(self) -> LeafWorker:
        raise NotImplementedError

    def splits(self, parts: Any) -> LeafWorker:
        raise NotImplementedError

    def hangs(self) -> LeafWorker:
        """Writes to the fifo when it has begun."""
        raise NotImplementedError


class ByCommand(Kind):
    def does(self, line: str) -> LeafWorker:
        return CommandWorker(line)

    def edits(self) -> LeafWorker:
        return CommandWorker("printf 'x = 2\\n' > pkg/a.py; echo well")

    def fails(self) -> LeafWorker:
        return CommandWorker("echo because >&2; exit 3")

    def splits(self, parts: Any) -> LeafWorker:
        (self.folder / "parts.json").write_text(json.dumps(parts))
        return CommandWorker(f"cp {self.folder}/parts.json {{subplans}}")

    def hangs(self) -> LeafWorker:
        # With a grandchild that has a session of its own and would outlive its parent.
        return CommandWorker(f"setsid sleep 600 & echo $! > {self.fifo}; wait")


class ByCall(Kind):
    def edits(self) -> LeafWorker:
        def work(given: Work) -> str:
            (given.root / given.files[0]).write_text(NEW)
            return "well"

        return CallWorker(work)

    def fails(self) -> LeafWorker:
        def work(given: Work) -> None:
            raise ValueError("because")

        return CallWorker(work)

    def splits(self, parts: Any) -> LeafWorker:
        return CallWorker(lambda given: {"subplans": parts})

    def hangs(self) -> LeafWorker:
        async def work(given: Work) -> None:
            self.fifo.write_text("x")
            await asyncio.Event().wait()

        return CallWorker(work)


class ByModel(Kind):
    def edits(self) -> LeafWorker:
        return ModelWorker(ScriptedModel([f"Well:\n\nFILE: pkg/a.py\n```python\n{NEW}```\n"]))

    def fails(self) -> LeafWorker:
        return ModelWorker(ScriptedModel(["I will not, because"]))

    def splits(self, parts: Any) -> LeafWorker:
        return ModelWorker(ScriptedModel([f"SUBPLANS:\n```json\n{json.dumps(parts)}\n```"]))

    def hangs(self) -> LeafWorker:
        async def answer(_: object) -> str:
            self.fifo.write_text("x")
            await asyncio.Event().wait()
            return ""

        return ModelWorker(ScriptedModel(answer))


class ByWorkflow(Kind):
    def does(self, line: str, *inputs: str) -> LeafWorker:
        file = self.folder / "work.yaml"
        document = {
            "workflow": {"id": "work", "name": "Work", "version": "1.0.0"},
            "inputs": {name: {"type": "string", "required": True} for name in ("goal", *inputs)},
            "steps": [{"id": "do", "type": "shell", "run": line}],
        }
        file.write_text(json.dumps(document))
        return WorkflowWorker(read(file))

    def edits(self) -> LeafWorker:
        return self.does("printf 'x = 2\\n' > pkg/a.py; echo well")

    def fails(self) -> LeafWorker:
        return self.does("echo because >&2; exit 3")

    def splits(self, parts: Any) -> LeafWorker:
        (self.folder / "parts.json").write_text(json.dumps(parts))
        return self.does(f"cp {self.folder}/parts.json {{{{ inputs.subplans }}}}", "subplans")

    def hangs(self) -> LeafWorker:
        return self.does(f"setsid sleep 600 & echo $! > {self.fifo}; wait")


@pytest.fixture(params=[ByCommand, ByCall, ByModel, ByWorkflow])
def kind(request: pytest.FixtureRequest, tmp_path: Path) -> Kind:
    found: Kind = request.param(tmp_path)
    return found


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_repository(tmp_path_factory.mktemp("plan") / "repo")


@pytest.fixture
def pool(repo: Path) -> Iterator[WorkspacePool]:
    with WorkspacePool(repo, slots=1) as found:
        yield found


def ask(**more: Any) -> WorkRequest:
    return WorkRequest(leaf=leaf(*FILES), goal="Do it", files=FILES, prompt="Do it, please", **more)


def work(
    pool: WorkspacePool,
    worker: LeafWorker,
    asked: WorkRequest,
    then: Callable[[Workspace, WorkResult], Any] = lambda _, worked: worked,
) -> Any:
    """Let it work, inside an item."""

    async def one(_: int) -> Any:
        async with workspace(pool) as here:
            async with scratch_folder(here) as scratch:
                worked = await worker.work(asked, here, scratch)
            return await in_thread(then, here, worked)

    async def main() -> Any:
        return (await fan_out(one, [0]))[0].unwrap()

    return asyncio.run(main())


def test_what_it_edits_is_in_the_workspace(kind: Kind, pool: WorkspacePool) -> None:
    def look(here: Workspace, _: WorkResult) -> Any:
        return here.changed_files(), (here.root / "pkg/a.py").read_text()

    assert work(pool, kind.edits(), ask(), look) == (["pkg/a.py"], NEW)


def test_what_it_says_is_told(kind: Kind, pool: WorkspacePool) -> None:
    worked = work(pool, kind.edits(), ask())

    assert isinstance(kind, ByWorkflow) or "well" in worked.said.lower()
    assert worked.subplans == ()


def test_a_failure_has_a_reason_and_what_was_said(kind: Kind, pool: WorkspacePool) -> None:
    with pytest.raises(WorkFailed) as caught:
        work(pool, kind.fails(), ask())

    assert caught.value.reason
    assert "because" in f"{caught.value.reason} {caught.value.said}"
    assert not caught.value.cut_off


def test_parts_are_returned(kind: Kind, pool: WorkspacePool) -> None:
    worked = work(pool, kind.splits(PARTS), ask(depth_left=1))

    assert worked.subplans == (
        SubPlan(goal="first", files=("pkg/a.py",)),
        SubPlan(goal="second", files=("pkg/b.py",)),
    )


def test_bad_parts_are_a_failure_that_says_why(kind: Kind, pool: WorkspacePool) -> None:
    with pytest.raises(WorkFailed, match="not one of the files"):
        work(pool, kind.splits(BAD_PARTS), ask(depth_left=1))


@pytest.mark.parametrize(
    ("parts", "depth_left", "why"),
    [
        (PARTS, 0, "may not return sub-plans"),
        ([{"goal": "", "files": ["pkg/a.py"]}], 1, "goal"),
        ([{"goal": "a", "files": ["pkg/a.py"], "more": 1}], 1, "exactly `goal` and `files`"),
        ([{"goal": "a", "files": ["../../etc/passwd"]}], 1, "not a file of the repository"),
        ([{"goal": "a", "files": [1]}], 1, "a file of number 1 is 1"),
        ({"goal": "a"}, 1, "list"),
        ("x", 1, "list"),
        ([{"goal": "a", "files": ["pkg/a.py"]}] * 101, 1, "at most 100"),
    ],
)
def test_parts_have_one_form(parts: Any, depth_left: int, why: str) -> None:
    with pytest.raises(BadForm, match=why):
        subplans_of(parts, ask(depth_left=depth_left))


def test_one_that_takes_too_long_is_ended(kind: Kind, pool: WorkspacePool) -> None:
    async def main() -> tuple[Any, str]:
        doing = asyncio.ensure_future(_unwrapped(pool, kind.hangs(), ask(timeout=500)))
        told = await in_thread(kind.fifo.read_text)
        jump(500)
        return await doing, told

    error, told = run(main())

    assert isinstance(error, WorkFailed)
    assert error.cut_off
    assert "500 s" in error.reason
    assert not lives(told)


def test_a_cancellation_ends_it(kind: Kind, pool: WorkspacePool) -> None:
    async def main() -> str:
        doing = asyncio.ensure_future(_unwrapped(pool, kind.hangs(), ask()))
        told = await in_thread(kind.fifo.read_text)
        doing.cancel()
        with suppress(asyncio.CancelledError):
            await doing
        assert doing.cancelled()
        return told

    told = asyncio.run(main())

    assert not lives(told)
    pool.give_back(pool.take())  # it was given back


@pytest.mark.parametrize("kind", [ByCommand, ByWorkflow], indirect=True)
def test_a_daemon_ends_with_its_try(
    kind: ByCommand | ByWorkflow, pool: WorkspacePool, tmp_path: Path
) -> None:
    """Else it would go on in the workspace of the next sub-plan."""
    file = tmp_path / "pid"
    daemon = f"setsid sh -c 'echo $$ > {file}; exec sleep 1000' > /dev/null 2>&1 &"

    work(pool, kind.does(f"{daemon} until test -s {file}; do sleep 0.01; done"), ask())
    assert not lives(file.read_text())


@pytest.mark.parametrize("kind", [ByCommand, ByWorkflow], indirect=True)
def test_a_command_has_the_variables_of_the_workspace(
    kind: ByCommand | ByWorkflow, pool: WorkspacePool, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else Python would import the user's own files, and `git commit` would open an editor."""
    monkeypatch.setenv("PYTHONPATH", str(repo))
    monkeypatch.setenv("GIT_EDITOR", "vi")
    line = 'echo "$GIT_EDITOR $PYTHONPATH" > said'

    def look(here: Workspace, _: WorkResult) -> tuple[str, str]:
        return (here.path / "said").read_text().strip(), str(here.root)

    said, root = work(pool, kind.does(line), ask(), look)
    assert said.startswith(f": {root}")
    assert str(repo) not in said.split(os.pathsep)


def _unwrapped(pool: WorkspacePool, worker: LeafWorker, asked: WorkRequest) -> Awaitable[Any]:
    async def one(_: int) -> Any:
        async with workspace(pool) as here, scratch_folder(here) as scratch:
            return await worker.work(asked, here, scratch)

    async def main() -> Any:
        return (await fan_out(one, [0]))[0].error

    return main()
