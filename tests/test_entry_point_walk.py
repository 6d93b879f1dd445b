"""Every quick entry point with every form of `run`, in and out of a fan-out, sync and async."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import fanwise
from fanwise import Matrix, fan_out, fan_out_sync, open_run

MODEL = "sim:a?median_s=0.001"
FLOW: dict[str, Any] = {
    "workflow": {"id": "w", "name": "W", "version": "1.0.0"},
    "steps": [{"id": "hi", "type": "shell", "run": "echo hi"}],
}
FILE = f'sample: {{model: "{MODEL}", prompt: hi, loop_budget: 1}}\n'


async def double(item: int) -> int:
    return 2 * item


def arguments(name: str) -> tuple[Any, ...]:
    return {
        "fan_out": (double, [1]),
        "sample": (MODEL, "hi"),
        "run_matrix": (Matrix(models=MODEL, prompts="hi", inputs=["a"]),),
        "run_workflow": (FLOW,),
        "run_file": ("f.yaml",),
    }[name]


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("form", ["none", "id", "run"])
@pytest.mark.parametrize("name", ["fan_out", "sample", "run_matrix", "run_workflow", "run_file"])
def test_each_takes_a_run_in_every_form(
    name: str, form: str, inside: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.yaml").write_text(FILE)

    async def awaited(run: Any) -> str | None:
        result = await getattr(fanwise, name)(*arguments(name), run=run)
        assert list(result.failures) == [] and result.stats.peak
        return str(result.require().run_id)

    async def main() -> None:
        async with open_run("open") as opened:
            run = {"none": None, "id": "mine", "run": opened}[form]
            wanted = {"none": "None", "id": "mine", "run": "open"}[form]
            if not inside:
                assert await awaited(run) == wanted
            else:
                done = await fan_out(lambda _: awaited(run), [0])
                assert done.values() == [wanted]

    asyncio.run(main())
    if form != "run":
        twin = getattr(fanwise, f"{name}_sync")
        run = {"none": None, "id": "mine-too"}[form]

        def call(_: int) -> Any:
            return twin(*arguments(name), run=run).require().run_id

        found = fan_out_sync(call, [0]).values()[0] if inside else call(0)
        assert found == run
