"""What is sampled and how: the arguments of `sample`, checked and put together."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, get_args

import msgspec
from msgspec.structs import replace

from fanwise.core.budget import Budget
from fanwise.core.caps import Caps, whole
from fanwise.core.retry import Retry
from fanwise.errors import UsageError
from fanwise.models.output import check_schema
from fanwise.models.port import Message, Model, Options, Prompt, Request, as_request
from fanwise.sampling.checks.code_checks import SchemaCheck
from fanwise.sampling.checks.require import as_requirements
from fanwise.sampling.checks.requirement import Requirement, merged
from fanwise.sampling.run.hooks import Hooks
from fanwise.sampling.state.loop import Winner
from fanwise.sampling.strategies.strategy import Strategy, Turn, add_to_prompt, bullets


class SampleSetup(msgspec.Struct, frozen=True, kw_only=True):
    turn: Turn
    """What every chain asks first."""
    requirements: tuple[Requirement, ...]
    strategy: Strategy
    loop_budget: int
    concurrency_budget: int
    winner: Winner
    seed: int
    retry: Retry
    timeout: float | None
    deadline: float | None
    check_all: bool
    validation_context: tuple[Message, ...]
    hooks: Hooks
    caps: Caps | None
    budget: Budget | None
    progress: bool
    anew: bool = False
    """Recorded samples do not count: none was valid, and all are made again."""

    @property
    def type_(self) -> Any:
        """The type of the value; None: plain JSON."""
        schemas = [each for each in self.requirements if isinstance(each, SchemaCheck)]
        return next((each.type_ for each in schemas if each.type_ is not None), None)

    def __post_init__(self) -> None:
        whole("loop_budget", self.loop_budget)
        whole("concurrency_budget", self.concurrency_budget)
        whole("seed", self.seed, least=0)
        if self.winner not in get_args(Winner):
            raise UsageError(f"winner is {self.winner!r}", 'Give "fastest" or "first"')
        if not isinstance(self.hooks, Hooks):
            raise UsageError(f"hooks is {self.hooks!r}", "Give Hooks(iteration=print)")
        for name, seconds in (("timeout", self.timeout), ("deadline", self.deadline)):
            if seconds is not None and not seconds > 0:
                raise UsageError(f"{name} is {seconds!r}", "Give seconds, more than 0")


def setup_of(
    model: Model,
    prompt: Prompt,
    requirements: Iterable[Any] | Any,
    strategy: Strategy,
    *,
    options: Options | None,
    validation_context: Sequence[Message],
    concurrency_budget: int | None,
    **given: Any,
) -> SampleSetup:
    """Merge the requirements of the call, the request and the strategy into one request."""
    request = as_request(prompt)
    if options is not None:
        request = replace(request, options=options)
    of_call = () if strategy.replaces_requirements else as_requirements(requirements)
    own = () if request.schema is None else (SchemaCheck(request.schema),)
    wanted = strategy.prepare(merged(own, of_call, as_requirements(strategy.requirements)))
    if concurrency_budget is None:
        concurrency_budget = strategy.default_width(required=bool(wanted))
    return SampleSetup(
        turn=Turn(_with_requirements(_with_schema(request, wanted), wanted), model),
        requirements=wanted,
        strategy=strategy,
        concurrency_budget=concurrency_budget,
        validation_context=as_request(validation_context).messages if validation_context else (),
        **given,
    )


def digest(setup: SampleSetup) -> str:
    """Of all that the result depends on: a changed prompt is another sample, not a resumed one.

    Of functions and models only the name counts: their contents cannot be compared.
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
    """For what is not plain data. Never its `repr`, which may contain an address."""
    if isinstance(part, Strategy):
        return [type(part).__name__, vars(part)]
    for attribute in ("name", "__qualname__"):
        if isinstance(found := getattr(part, attribute, None), str):
            return found
    return type(part).__qualname__


def _with_schema(request: Request, requirements: Sequence[Requirement]) -> Request:
    """The request with the schema of the first requirement that has one."""
    for each in requirements:
        if isinstance(each, SchemaCheck):
            check_schema(each.schema)
            return replace(request, schema=each.schema)
    return request


def _with_requirements(request: Request, requirements: Sequence[Requirement]) -> Request:
    """The request with the requirements in words, except those that are only checked."""
    words = [each.description for each in requirements if each.description and not each.check_only]
    return add_to_prompt(request, f"Requirements:\n{bullets(words)}") if words else request
