"""Systems as parts of a run with workers: their items stay here, their model calls travel."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from fanwise import Ray, open_run, sample
from fanwise.errors import NotShippable
from fanwise.kernel.events import AttemptEnded, Event, WorkerGone, WorkerJoined
from fanwise.kernel.run import Run
from fanwise.kernel.work import Attempter
from fanwise.kernel.workers import WorkPlace
from fanwise.matrix import Matrix, exact, run_matrix
from fanwise.testing import Answer, ScriptedModel, ScriptedServer
from fanwise.workflow import run_workflow

ROWS = [{"id": str(n), "text": f"number {n}", "label": "yes"} for n in range(4)]


class TakesNothing:
    """A place whose workers refuse all work, so what runs in spite of them stays here."""

    def start(self) -> None: ...
    def stop(self) -> None: ...

    @asynccontextmanager
    async def workers(self) -> AsyncIterator[TakesNothing]:
        yield self

    def attempter(self, work: Any, timeout: float | None) -> Attempter:
        raise NotShippable("the work", "this place takes none")

    def watch(self, told: Callable[[WorkerJoined | WorkerGone], None]) -> Callable[[], None]:
        return lambda: None


async def by_matrix(model: Any, run: Run) -> int:
    matrix = Matrix(
        "m", models=model, inputs=ROWS, prompts={"p": "{{ input.text }}"}, score=exact("label")
    )
    return len((await run_matrix(matrix, run=run)).require().cells)


async def by_sample(model: Any, run: Run) -> int:
    found = await sample(model, "Say yes.", [lambda text: str(text) == "yes"], cap=4, run=run)
    return len(found.require().samples)


async def by_workflow(model: Any, run: Run) -> int:
    """A matrix as a step of a workflow."""
    spec = {"name": "m", "models": [model], "inputs": ROWS, "prompts": {"p": "say yes"}}
    steps = [{"id": "ask", "type": "matrix", "spec": spec}]
    done = (
        await run_workflow({"workflow": {"id": "w", "name": "w"}, "steps": steps}, run=run)
    ).require()
    return len(done.steps)


System = Callable[[Any, Run], Awaitable[int]]


async def in_a_run(system: System, model: Any, on: WorkPlace, file: Path) -> tuple[int, list[str]]:
    """What it made, and who made its model calls."""
    seen: list[Event] = []
    async with open_run("r", journal=file, on=on, subscribers=[seen.append]) as run:
        count = await system(model, run)
    ended = [each.attempt for each in seen if isinstance(each, AttemptEnded)]
    asked = [each for each in ended if each.usage is not None and each.usage.tokens]
    return count, sorted({each.worker or "here" for each in asked})


@pytest.mark.parametrize("system", [by_matrix, by_sample])
def test_a_system_in_a_run_with_workers_keeps_its_items_here(
    system: System, tmp_path: Path
) -> None:
    model = ScriptedModel(lambda _: "yes", name="scripted:one")
    count, workers = asyncio.run(in_a_run(system, model, TakesNothing(), tmp_path / "j.db"))
    assert count >= 1
    assert workers == ["here"]


@pytest.mark.slow
@pytest.mark.parametrize("system", [by_matrix, by_sample, by_workflow])
def test_the_model_calls_of_a_system_in_a_run_are_made_by_its_workers(
    cluster: Ray, system: System, tmp_path: Path
) -> None:
    async def main() -> tuple[int, list[str]]:
        async with ScriptedServer(lambda _: Answer(text="yes", first_byte_s=0.05)) as server:
            model = {"name": "openai:tiny", "base_url": server.base_url}
            return await in_a_run(system, model, cluster, tmp_path / "j.db")

    count, workers = asyncio.run(main())
    assert count >= 1
    assert workers != [] and "here" not in workers


BESIDE = """
import asyncio, os
import helper_beside_it

def sync(answer, input):
    return helper_beside_it.process()

async def awaited(answer, input):
    await asyncio.sleep(0)
    return helper_beside_it.process()

def step(text):
    return {"process": helper_beside_it.process(), "text": text}
"""
SCORED = """matrix:
  name: scored
  models: ["sim:small?median_s=0.01"]
  prompts: {p: "{{ input.text }}"}
  inputs: {items: [{id: a, text: b}]}
  score:
    - {call: "scorers_beside_it:sync", name: sync}
    - {call: "scorers_beside_it:awaited", name: awaited}
    - {command: [sh, -c, "echo $PPID"], name: program}
"""
STEPS = """workflow: {id: w, name: w}
inputs:
  word: {type: string, secret: true}
steps:
  - {id: plain, type: call, call: "scorers_beside_it:step", input: {text: hello}}
  - {id: secret, type: call, call: "scorers_beside_it:step", input: {text: "{{ inputs.word }}"}}
"""


@pytest.fixture
def beside(tmp_path: Path) -> Iterator[Path]:
    """A folder with modules that only whoever reads a file there can import."""
    (tmp_path / "scorers_beside_it.py").write_text(BESIDE)
    (tmp_path / "helper_beside_it.py").write_text(
        "import os\n\ndef process():\n    return os.getpid()\n"
    )
    yield tmp_path
    for name in ("scorers_beside_it", "helper_beside_it"):
        sys.modules.pop(name, None)


@pytest.mark.slow
def test_scorers_are_performed_by_workers(cluster: Ray, beside: Path) -> None:
    file = beside / "file.yaml"
    file.write_text(SCORED)

    async def main() -> dict[str, float]:
        async with open_run("r", journal=beside / "j.db", on=cluster) as run:
            result = await run_matrix(Matrix.read(file), run=run)
        assert result.failures == []
        (cell,) = result.cells
        return {name: score.score or 0.0 for name, score in cell.scores.items()}

    scores = asyncio.run(main())
    assert scores.keys() == {"sync", "awaited", "program"}
    assert os.getpid() not in scores.values()
    assert scores["awaited"] != scores["sync"], "a sync function has a process of its own"


@pytest.mark.slow
def test_a_scorer_that_cannot_be_sent_stays_here(cluster: Ray, tmp_path: Path) -> None:
    lock = threading.Lock()

    def locked(answer: str, given: Any) -> float:
        with lock:
            return float(os.getpid())

    async def main() -> float | None:
        async with open_run("r", journal=tmp_path / "j.db", on=cluster) as run:
            model = ScriptedModel(lambda _: "yes")
            made = Matrix("m", models=model, inputs=ROWS[:1], prompts={"p": "say"}, score=locked)
            (cell,) = (await run_matrix(made, run=run)).require().cells
            return cell.scores["locked"].score

    assert asyncio.run(main()) == os.getpid()


@pytest.mark.slow
def test_python_steps_are_performed_by_workers_unless_they_get_a_secret(
    cluster: Ray, beside: Path
) -> None:
    (beside / "flow.yaml").write_text(STEPS)

    async def main() -> Any:
        async with open_run("r", journal=beside / "j.db", on=cluster) as run:
            return await run_workflow(beside / "flow.yaml", {"word": "swordfish"}, run=run)

    steps = asyncio.run(main()).require().steps
    assert steps["plain"].output["text"] == "hello"
    assert steps["plain"].output["process"] != os.getpid()
    assert steps["secret"].output["process"] == os.getpid()
