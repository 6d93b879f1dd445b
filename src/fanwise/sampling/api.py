"""`sample` and `sample_sync`: what Python users call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack, overload

from fanwise.core.budget import BudgetLike, as_budget
from fanwise.core.caps import CapsLike, as_caps, whole
from fanwise.core.retry import RetryLike, as_retry
from fanwise.errors import UsageError
from fanwise.kernel.in_thread import in_thread
from fanwise.kernel.run import MEMORY, Run, RunLike, open_run, run_of
from fanwise.kernel.scope import current_run
from fanwise.kernel.sync import sync_twin
from fanwise.kernel.workers import WorkPlace
from fanwise.models.ask import MODEL_RETRY, worth_a_retry
from fanwise.models.connect import ModelLike, connect
from fanwise.models.names import Spec
from fanwise.models.port import Message, Model, Options, Prompt
from fanwise.sampling.run.hooks import Hooks
from fanwise.sampling.run.sampling import run_sampling
from fanwise.sampling.run.setup import setup_of
from fanwise.sampling.state.loop import Winner
from fanwise.sampling.state.result import SampleResult
from fanwise.sampling.strategies.by_name import as_strategy
from fanwise.sampling.strategies.strategy import Strategy

T = TypeVar("T")


class SampleOptions(TypedDict, total=False):
    """The options of `sample`, for type checkers."""

    strategy: Strategy | str
    loop_budget: int
    cap: int | None
    concurrency_budget: int | None
    winner: Winner
    options: Options | None
    seed: int
    check_all: bool
    validation_context: Sequence[Message]
    hooks: Hooks
    retry: RetryLike
    timeout: float | None
    deadline: float | None
    caps: CapsLike | None
    budget: BudgetLike | None
    run: RunLike | None
    name: str | None
    on: WorkPlace | None
    progress: bool


@overload
async def sample(
    model: ModelLike, prompt: Prompt, requirements: type[T], **options: Unpack[SampleOptions]
) -> SampleResult[T]: ...


@overload
async def sample(
    model: ModelLike,
    prompt: Prompt,
    requirements: Iterable[Any] | Any = (),
    **options: Unpack[SampleOptions],
) -> SampleResult[Any]: ...


async def sample(
    model: ModelLike,
    prompt: Prompt,
    requirements: Iterable[Any] | Any = (),
    *,
    strategy: Strategy | str = "repair",
    loop_budget: int = 3,
    cap: int | None = None,
    concurrency_budget: int | None = None,
    winner: Winner = "fastest",
    options: Options | None = None,
    seed: int = 0,
    check_all: bool = False,
    validation_context: Sequence[Message] = (),
    hooks: Hooks = Hooks(),  # noqa: B008 - frozen
    retry: RetryLike = MODEL_RETRY,
    timeout: float | None = None,
    deadline: float | None = None,
    caps: CapsLike | None = None,
    budget: BudgetLike | None = None,
    run: RunLike | None = None,
    name: str | None = None,
    on: WorkPlace | None = None,
    progress: bool = False,
) -> SampleResult[Any]:
    """Ask a model until an answer meets all requirements: several chains at once, each repaired.

    `model`: a name such as "openai:gpt-5-mini", a mapping or a `Model`. `prompt`: a text, messages
    or a request. `requirements`: texts (judged by a model), functions, schemas or types (then the
    result's `value` is of that type), and what `require`, `matches`, `reward`, `command` and
    `judge` return. `strategy`: what a chain asks after a failure and how a sample is chosen.
    `loop_budget` and `cap` (or `concurrency_budget`): how deep and how wide; at most their product
    of samples is made (a chain of `Escalate` makes one for each of its models at least). By default
    there are 4 chains, 1 if nothing is required, 1 for `Escalate`. `winner`: the "fastest" valid
    sample, or the "first" by iteration and chain, which is the same on every run. `options`:
    temperature, max_tokens and so on. `seed`: the seed of every sample is derived from it.
    `check_all`: ask judges also about a sample that has already failed. `validation_context`:
    messages that judges (and functions, as `draft.context`) see instead of the prompt. `retry` and
    `timeout`: for each sample and judge. `deadline`: seconds for the whole. `caps` and `budget`:
    default: those around. `run`: a durable run or its id, so that a resume pays for nothing twice;
    default: the one around. `name`: its place in the run. `on`: where the model is called, such as
    `Ray()`, unless the run says so. `progress`: draw a bar on the terminal.
    """
    setup = setup_of(
        await _connected(model), prompt, requirements, as_strategy(strategy),
        loop_budget=loop_budget, concurrency_budget=_width(cap, concurrency_budget),
        winner=winner, options=options, seed=seed, check_all=check_all,
        validation_context=validation_context, hooks=hooks,
        retry=as_retry(retry, worth_a_retry), timeout=timeout, deadline=deadline,
        caps=as_caps(caps), budget=as_budget(budget), progress=progress,
    )  # fmt: skip
    async with run_of(run) if on is None else _run_on(on, run) as found:
        return await run_sampling(setup, found, name)


def _run_on(on: WorkPlace, run: RunLike | None) -> Run:
    if isinstance(run, Run) or (run is None and current_run() is not None):
        raise UsageError("the run is open, and has its place", "Give `on` to `open_run`")
    return open_run(run, journal=MEMORY if run is None else None, on=on)


if TYPE_CHECKING:

    @overload
    def sample_sync(
        model: ModelLike, prompt: Prompt, requirements: type[T], **options: Unpack[SampleOptions]
    ) -> SampleResult[T]: ...

    @overload
    def sample_sync(
        model: ModelLike,
        prompt: Prompt,
        requirements: Iterable[Any] | Any = (),
        **options: Unpack[SampleOptions],
    ) -> SampleResult[Any]: ...

    def sample_sync(*args: Any, **options: Any) -> SampleResult[Any]: ...

else:
    sample_sync = sync_twin(sample)


async def _connected(given: ModelLike) -> Model:
    """A name is a new model for each sample, so that a replay starts from its beginning."""
    named = isinstance(given, str | Mapping | Spec)
    return await in_thread(connect, given) if named else connect(given)


def _width(cap: int | None, concurrency_budget: int | None) -> int | None:
    if cap is not None and concurrency_budget is not None:
        raise UsageError("cap and concurrency_budget are the same", "Give one of them")
    if concurrency_budget is not None:
        return whole("concurrency_budget", concurrency_budget)
    return None if cap is None else whole("cap", cap)
