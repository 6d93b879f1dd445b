"""`sample` and `sample_sync`: the public face of sampling."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict, Unpack, get_args

import msgspec
from msgspec.structs import replace

from fanwise.core.budget import Budget
from fanwise.core.caps import Caps, whole
from fanwise.core.outcome import Outcome
from fanwise.core.retry import Retry
from fanwise.errors import FanwiseError, UsageError
from fanwise.kernel.fan_out import fan_out, run_sync
from fanwise.kernel.run import Run
from fanwise.kernel.scope import current_run, failures_run_again
from fanwise.models.ask import MODEL_RETRY
from fanwise.models.connect import connect
from fanwise.models.names import Spec
from fanwise.models.output import check_schema
from fanwise.models.port import Message, Model, Options, Prompt, Request, as_request
from fanwise.sampling.checks.code_checks import HasSchema
from fanwise.sampling.checks.require import as_requirements
from fanwise.sampling.checks.requirement import Requirement, merged
from fanwise.sampling.run.hooks import Hooks
from fanwise.sampling.run.sampling import Setup, run_loop
from fanwise.sampling.state.loop import Loop, Winner
from fanwise.sampling.state.result import SampleResult
from fanwise.sampling.strategies.by_name import as_strategy
from fanwise.sampling.strategies.strategy import Strategy, Turn, add_to_prompt, bullets

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
    """Ask until a sample meets all requirements: some chains at once, each some samples deep.

    `model`: a name such as "openai:gpt-5-mini", or a model. `prompt`: a text, messages or a
    request. `requirements`: texts (a model judges them), functions, schemas, and what `require`,
    `matches`, `reward`, `command` and `judge` return. `strategy`: what is asked after a failure
    and how a sample is chosen. `loop_budget` and `concurrency_budget`: so deep, so wide; at most
    their product of samples is made. `winner`: the "fastest" valid sample, or the "first" by
    iteration and chain, which is the same on every run. `options`: temperature, max_tokens and so
    on. `seed`: the samples' own seeds come from it. `check_all`: also ask the judges about a
    sample that has failed already. `validation_context`: messages that judges (and functions, as
    `draft.context`) see instead of the prompt. `retry` and `timeout`: for each sample and judge.
    `deadline`: seconds for the whole. `caps` and `budget`: default: those around. `run`: a durable
    run, so that a resume pays for nothing twice; default: that around. `name`: its place in the
    run.
    """
    setup = _setup(
        connect(model), prompt, requirements, as_strategy(strategy),
        loop_budget=loop_budget, concurrency_budget=concurrency_budget, winner=winner,
        options=options, seed=seed, check_all=check_all, validation_context=validation_context,
        hooks=hooks, retry=retry, timeout=timeout, deadline=deadline, caps=caps, budget=budget,
        progress=progress,
    )  # fmt: skip
    if run is None and current_run() is None:
        return await run_loop(setup)
    return await _durably(setup, run, name)


def sample_sync(
    model: ModelLike,
    prompt: Prompt,
    requirements: Iterable[Any] | Any = (),
    **options: Unpack[SampleOptions],
) -> SampleResult:
    """`sample` for code without an event loop."""
    return run_sync(sample(model, prompt, requirements, **options))


async def _durably(setup: Setup, run: Run | None, name: str | None) -> SampleResult:
    """As one item: its result is on disk before anyone is told, and is not computed again.

    Unless what failed runs again, and it is a failure: then all its samples are made anew.
    """
    fresh: list[SampleResult] = []
    again, anew = failures_run_again(run), False

    def counts(_: int, recorded: Outcome[Any]) -> bool:
        nonlocal anew
        anew = again and recorded.ok and not recorded.unwrap()["success"]
        return not again or (recorded.ok and not anew)

    async def work(_: int) -> dict[str, Any]:
        result = await run_loop(replace(setup, anew=anew))
        fresh.append(result)
        return {**result.to_json(), "totals": msgspec.to_builtins(result.totals)}

    outcomes = await fan_out(
        work,
        [0],
        run=run,
        name=name,
        key=lambda _: digest(setup),
        caps=setup.caps,
        budget=setup.budget,
        reuse=counts,
    )
    if not outcomes:
        raise FanwiseError("the run starts nothing more, so nothing was sampled", "Resume it")
    value = outcomes[0].unwrap()
    return fresh[0] if fresh else SampleResult.from_json(value)


def digest(setup: Setup) -> str:
    """What the result depends on: a changed prompt is another sample, not a resumed one.

    Of functions and models only the name: what is in them cannot be told.
    """
    parts = [
        setup.turn.model.name,
        setup.turn.request,
        [(type(each).__name__, each.name, _fields(each)) for each in setup.requirements],
        [type(setup.strategy).__name__, vars(setup.strategy)],
        [setup.loop_budget, setup.concurrency_budget, setup.winner, setup.seed, setup.check_all],
        setup.validation_context,
    ]
    encoded = msgspec.json.encode(parts, order="sorted", enc_hook=_name_of)
    return hashlib.sha256(encoded).hexdigest()[:16]


def _fields(requirement: Requirement) -> dict[str, Any]:
    """Thresholds, patterns and so on. Its function is known by the requirement's name."""
    names = getattr(requirement, "__struct_fields__", ())
    found = {name: getattr(requirement, name) for name in names}
    return {name: value for name, value in found.items() if not callable(value)}


def _name_of(part: Any) -> Any:
    """For what is not plain data. Never its `repr`: that may have an address in it."""
    if isinstance(part, Strategy):
        return [type(part).__name__, vars(part)]
    for attribute in ("name", "__qualname__"):
        if isinstance(found := getattr(part, attribute, None), str):
            return found
    return type(part).__qualname__


def _setup(
    model: Model,
    prompt: Prompt,
    requirements: Iterable[Any] | Any,
    strategy: Strategy,
    *,
    options: Options | None,
    validation_context: Sequence[Message],
    **given: Any,
) -> Setup:
    _check(given)
    request = as_request(prompt)
    if not request.messages:
        raise UsageError("the prompt has no messages", "Give a text or messages")
    if options is not None:
        request = replace(request, options=options)
    wanted = merged(
        _of_the_request(request),
        as_requirements(requirements),
        as_requirements(strategy.requirements),
    )
    return Setup(
        turn=Turn(told(with_schema(request, wanted), wanted), model),
        requirements=wanted,
        strategy=strategy,
        validation_context=tuple(validation_context),
        **given,
    )


def _check(given: Mapping[str, Any]) -> None:
    Loop(given["loop_budget"], given["concurrency_budget"])
    whole("seed", given["seed"], least=0)
    if given["winner"] not in get_args(Winner):
        raise UsageError(f"winner is {given['winner']!r}", 'Give "fastest" or "first"')
    for name in ("timeout", "deadline"):
        if given[name] is not None and not given[name] > 0:
            raise UsageError(f"{name} is {given[name]!r}", "Give seconds, more than 0")


def _of_the_request(request: Request) -> tuple[Requirement, ...]:
    return () if request.schema is None else (HasSchema(request.schema),)


def with_schema(request: Request, requirements: Sequence[Requirement]) -> Request:
    """The request with the schema of the first requirement that has one."""
    for each in requirements:
        if isinstance(each, HasSchema):
            check_schema(each.schema)
            return replace(request, schema=each.schema)
    return request


def told(request: Request, requirements: Sequence[Requirement]) -> Request:
    """The request with the requirements in words, but for those that are only checked."""
    words = [each.description for each in requirements if each.description and not each.check_only]
    return add_to_prompt(request, f"Requirements:\n{bullets(words)}") if words else request
