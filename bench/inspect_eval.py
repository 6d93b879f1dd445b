"""The matrix of `cases/matrix.py` as four evaluations of Inspect AI: two prompts by two models.

It needs nothing but Inspect AI, so that this can be in an environment of its own: it has 90
packages that nothing else here needs. Imported by name: its types are not checked.
"""

from __future__ import annotations

import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import Any

PROMPTS = ("Say {}", "Be brief, please. Say {}")


def run(inputs: int) -> dict[str, float]:
    """Seconds, and the bytes of the logs, of four samples for each input."""
    ai, model = import_module("inspect_ai"), import_module("inspect_ai.model")
    models = [model.get_model(f"mockllm/{name}", custom_outputs=_answer) for name in "ab"]
    tasks = [_task(f"prompt-{number}", text, inputs) for number, text in enumerate(PROMPTS)]
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        logs = ai.eval(
            tasks, model=models, log_dir=folder, display="none", max_samples=100,
            max_connections=100, max_tasks=4,
        )  # fmt: skip
        took = time.perf_counter() - began
        size = sum(each.stat().st_size for each in Path(folder).rglob("*") if each.is_file())
    for log in logs:
        assert log.status == "success", log.error
        assert log.results.completed_samples == inputs
        assert log.results.scores[0].metrics["accuracy"].value == 1.0
    return {"s": took, "bytes": size}


def _task(name: str, prompt: str, inputs: int) -> Any:
    ai, dataset = import_module("inspect_ai"), import_module("inspect_ai.dataset")
    solver, scorer = import_module("inspect_ai.solver"), import_module("inspect_ai.scorer")
    rows = [
        dataset.Sample(id=str(n), input=prompt.format(f"word {n}"), target=f"word {n}")
        for n in range(inputs)
    ]
    match = scorer.match(location="exact")
    return ai.Task(name=name, dataset=rows, solver=[solver.generate()], scorer=match)


def _answer(messages: Any, *_: Any) -> Any:
    model = import_module("inspect_ai.model")
    said = messages[-1].text.rpartition("Say ")[2]
    output = model.ModelOutput.from_content("mockllm/model", said)
    # Without it the mock counts tokens with a table that it gets from the internet.
    output.usage = model.ModelUsage(input_tokens=3, output_tokens=2, total_tokens=5)
    return output
