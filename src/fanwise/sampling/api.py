"""`sample` and `sample_sync`: what Python users call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict, Unpack

from fanwise.core.budget import Budget
from fanwise.core.caps import Caps
from fanwise.core.retry import Retry
from fanwise.kernel.fan_out import run_sync
from fanwise.kernel.run import Run
from fanwise.models.ask import MODEL_RETRY
from fanwise.models.connect import connect
from fanwise.models.names import Spec
from fanwise.models.port import Message, Model, Options, Prompt
from fanwise.sampling.run.hooks import Hooks
from fanwise.sampling.run.sampling import run_sampling
from fanwise.sampling.run.setup import setup_of
from fanwise.sampling.state.loop import Winner
from fanwise.sampling.state.result import SampleResult
from fanwise.sampling.strategies.by_name import as_strategy
from fanwise.sampling.strategies.strategy import Strategy

ModelLike = str | Mapping[str, Any] | Spec | Model


class SampleOptions(TypedDict, total=False):
    """The keyword arguments of `sample`, where they are explained."""

    strategy: Strategy | str
    loop_budget: int
    concurrency_budget: int
    winner: Winner
    options: Options | None
    seed: int
    check_all: bool
    validation_context: Sequence[Message]
    hooks: Hooks
    retry: Retry
    timeout: float | None
    deadline: float | None
    caps: Caps | None
    budget: Budget | None
    run: Run | None
    name: str | None
    progress: bool


async def sample(
    model: ModelLike,
    prompt: Prompt,
    requirements: Iterable[Any] | Any = (),
    *,
    strategy: Strategy | str = "repair",
    loop_budget: int = 3,
    concurrency_budget: int = 4,
    winner: Winner = "fastest",
    options: Options | None = None,
    seed: int = 0,
    check_all: bool = False,
    validation_context: Sequence[Message] = (),
    hooks: Hooks = Hooks(),  # noqa: B008 - frozen
    retry: Retry = MODEL_RETRY,
    timeout: float | None = None,
    deadline: float | None = None,
    caps: Caps | None = None,
    budget: Budget | None = None,
    run: Run | None = None,
    name: str | None = None,
    progress: bool = False,
) -> SampleResult:
    """Ask a model until an answer meets all requirements: several chains at once, each repaired.

    `model`: a name such as "openai:gpt-5-mini", or a model. `prompt`: a text, messages or a
    request. `requirements`: texts (judged by a model), functions, schemas, and what `require`,
    `matches`, `reward`, `command` and `judge` return. `strategy`: what a chain asks after a failure
    and how a sample is chosen. `loop_budget` and `concurrency_budget`: how deep and how wide; at
    most their product of samples is made. `winner`: the "fastest" valid sample, or the "first" by
    iteration and chain, which is the same on every run. `options`: temperature, max_tokens and so
    on. `seed`: the seed of every sample is derived from it. `check_all`: ask judges also about a
    sample that has already failed. `validation_context`: messages that judges (and functions, as
    `draft.context`) see instead of the prompt. `retry` and `timeout`: for each sample and judge.
    `deadline`: seconds for the whole. `caps` and `budget`: default: those around. `run`: a durable
    run, so that a resume pays for nothing twice; default: the one around. `name`: its place in the
    run. `progress`: draw a bar on the terminal.
    """
    setup = setup_of(
        connect(model), prompt, requirements, as_strategy(strategy),
        loop_budget=loop_budget, concurrency_budget=concurrency_budget, winner=winner,
        options=options, seed=seed, check_all=check_all, validation_context=validation_context,
        hooks=hooks, retry=retry, timeout=timeout, deadline=deadline, caps=caps, budget=budget,
        progress=progress,
    )  # fmt: skip
    return await run_sampling(setup, run, name)


def sample_sync(
    model: ModelLike,
    prompt: Prompt,
    requirements: Iterable[Any] | Any = (),
    **options: Unpack[SampleOptions],
) -> SampleResult:
    """`sample` for code without an event loop."""
    return run_sync(sample(model, prompt, requirements, **options))
