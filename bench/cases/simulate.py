"""`fanwise simulate`: is what it predicts what comes about, and how long does it take itself?

Three providers with a cap of 4 each, cells grouped by provider, on a real server whose answers
take as long as the prompt says. (Three speak as that server does; the tests have five, in virtual
time.) A first run is what the simulation learns from; it predicts a second run with other caps,
which then is made. The second run is also held against the lower bound: the work of the busiest
provider, as it was measured, over its cap.

Then files of 6,000 cells, which would take 30 hours one after another, and of a million, simulated
whole: draws, bounds, what ifs.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from bench.harness import Row, at_most, environment
from bench.served_latencies import ServedLatencies
from fanwise.journal.open import open_journal

MEDIANS_S = {"openai": 0.25, "deepseek": 0.15, "ollama": 0.4}
"""The providers that speak as the scripted server does; their calls' medians."""
SIGMA = 0.6
SEED = 3
"""With some seeds a long call comes last and decides alone: no schedule could help that."""
FREE = {"input": 0, "output": 0}
EACH = 250
FIRST_CAP, CAP = 6, 4
TOLERANCE = 1.10
BOUND = 1.05
SECONDS = 10.0
ROUNDS = 3

BIG = """\
matrix:
  models:
    - openai:gpt-5-mini
    - openai:gpt-5
    - anthropic:claude-sonnet-4-5
    - anthropic:claude-haiku-4-5
    - google:gemini-2.5-flash
    - google:gemini-2.5-pro
    - mistral:mistral-large-latest
    - mistral:mistral-small-latest
    - deepseek:deepseek-chat
    - deepseek:deepseek-reasoner
  inputs: {file: inputs.jsonl}
  repeat: 5
  prompts:
    one: {prompt: "Is this review positive? {{ input.text }}"}
    two: {prompt: "Positive or negative? {{ input.text }}"}
    three: {prompt: "What does the writer feel? {{ input.text }}"}
    four: {prompt: "Would the writer buy it again? {{ input.text }}"}
  score: [{exact: input.label}]
  options: {max_tokens: 500}
  caps: {openai: 8, anthropic: 4, google: 8, mistral: 4, deepseek: 4}
  rates: {openai: {rpm: 500, tpm: 200000}}
  budget: {usd: 100}
"""


def measure() -> list[Row]:
    """Both."""
    with tempfile.TemporaryDirectory() as folder:
        return [*asyncio.run(_real(Path(folder))), *_speed(Path(folder))]


# -- prediction ------------------------------------------------------------------------------------


async def _real(folder: Path) -> list[Row]:
    async with ServedLatencies() as url:
        (folder / "first.yaml").write_text(_file(url, FIRST_CAP, seed=1))
        (folder / "second.yaml").write_text(_file(url, CAP, seed=SEED))
        await asyncio.to_thread(_fanwise, folder, "run", "first.yaml", "--run", "first")
        told = await asyncio.to_thread(
            _fanwise, folder, "simulate", "second.yaml", "--learn", "first", "--json"
        )
        await asyncio.to_thread(_fanwise, folder, "run", "second.yaml", "--run", "second")
    predicted = json.loads(told)
    took, work = _measured(folder, "second")
    least = max(work.values()) / CAP
    low, high = predicted["interval_s"]
    return [
        at_most(
            "simulate: predicted against real (the larger over the smaller)",
            f"{predicted['predicted_s']:.2f} s ({low:.2f} to {high:.2f})",
            f"{took:.2f} s",
            max(predicted["predicted_s"], took) / min(predicted["predicted_s"], took),
            TOLERANCE,
        ),
        at_most(
            "matrix, grouped by provider, real time: the lower bound",
            f"{took:.2f} s", f"{least:.2f} s", took / least, BOUND,
        ),
    ]  # fmt: skip


def _file(url: str, cap: int, seed: int) -> str:
    """Each input is for one provider; its text ends with the seconds that its answer takes."""
    chance = Random(seed)
    rows = [
        {
            "id": f"{name}-{n}",
            "for": name,
            "text": f"{median * chance.lognormvariate(0, SIGMA):.4f}",
        }
        for name, median in MEDIANS_S.items()
        for n in range(EACH)
    ]
    names = {name: f"{name}:m" for name in MEDIANS_S}
    excluded = [
        {"model": names[name], "input": f"{other}-*"}
        for name in MEDIANS_S
        for other in MEDIANS_S
        if other != name
    ]
    matrix: dict[str, Any] = {
        "models": [
            {"name": n, "base_url": url, "api_key_env": "BENCH_KEY", "price": FREE}
            for n in names.values()
        ],
        "inputs": rows,
        "exclude": excluded,
        "prompts": {"one": {"prompt": "{{ input.text }}", "options": {"max_tokens": 10}}},
        "caps": dict.fromkeys(MEDIANS_S, cap),
    }
    return json.dumps({"matrix": matrix})


def _measured(folder: Path, run: str) -> tuple[float, dict[str, float]]:
    """How long the cells took, and the seconds of the calls of each provider."""
    journal = open_journal(folder / "journal.db", read_only=True)
    try:
        (cells,) = [each for each in journal.fan_outs(run) if "/" not in each.path]
        work = dict.fromkeys(MEDIANS_S, 0.0)
        for attempt in journal.attempts(cells.id):
            if attempt.call is not None:
                work[attempt.call.partition(":")[0]] += attempt.ran_s
        took: float = json.loads(cells.stats or "{}")["makespan_s"]
        return took, work
    finally:
        journal.close()


# -- speed -----------------------------------------------------------------------------------------


def _speed(folder: Path) -> list[Row]:
    _write_big(folder, 30)
    measured = [_used(folder, "simulate") for _ in range(ROUNDS)]
    cpu, told = min(((used.cpu_s, used.told) for used in measured), key=lambda each: each[0])
    hours = told["one_after_another_s"] / 3600
    name = (
        f"simulate: {told['cells']:,} cells, {hours:.0f} h one by one, CPU time (best of {ROUNDS})"
    )
    _write_big(folder, 5000)
    simulated, checked = _used(folder, "simulate"), _used(folder, "check")
    return [
        _below(name, cpu, SECONDS, "s"),
        _below(f"simulate: {simulated.told['cells']:,} cells, CPU time", simulated.cpu_s, 60, "s"),
        _below("  its peak memory", simulated.peak_mb, 1000, "MB"),
        _below("check: the same file, CPU time", checked.cpu_s, 30, "s"),
    ]


def _write_big(folder: Path, inputs: int) -> None:
    """200 cells for each input, with a budget that is enough for them."""
    rows = [
        {"id": f"i{n}", "text": f"Review {n}: it works. " * 10, "label": "a"} for n in range(inputs)
    ]
    (folder / "inputs.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (folder / "big.yaml").write_text(BIG.replace("usd: 100", f"usd: {10 * inputs}"))


class Used(NamedTuple):
    """What one command used, and said."""

    cpu_s: float
    peak_mb: float
    told: Any


def _used(folder: Path, command: str) -> Used:
    more = ("--latency", "all=lognormal:15s:0.6") if command == "simulate" else ()
    arguments = [sys.executable, "-m", "fanwise", command, "big.yaml", *more, "--json"]
    with subprocess.Popen(
        arguments, cwd=folder, env=environment(), stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        told = child.stdout.read()
        _, _, used = os.wait4(child.pid, 0)
    return Used(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, json.loads(told))


def _below(name: str, value: float, bound: float, unit: str) -> Row:
    return Row(name, f"{value:.1f} {unit}", "", None, f"< {bound:g} {unit}", value < bound)


def _fanwise(folder: Path, *arguments: str) -> bytes:
    done = subprocess.run(
        [sys.executable, "-m", "fanwise", *arguments],
        cwd=folder,
        env={**environment(), "BENCH_KEY": "k", "FANWISE_JOURNAL": str(folder / "journal.db")},
        stdout=subprocess.PIPE,
        check=True,
    )
    return done.stdout
