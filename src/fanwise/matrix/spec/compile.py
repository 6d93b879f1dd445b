"""A spec made ready: strategies as steps, scores as scorers, models connected, cells laid out.

All that can be wrong with a file is found here, before anything is spent.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from fanwise.core.retry import Retry
from fanwise.errors import BadSpec, FanwiseError, Problem, UsageError
from fanwise.kernel.user_call import name_of
from fanwise.matrix.answers.steps import AnswerStep, Constant, Copy, Function, Prompt, field_of
from fanwise.matrix.cells.cell import (
    NO_MODEL,
    Cell,
    key_begin,
    key_end,
    seed_of,
    values_by_axis,
    whole_key,
)
from fanwise.matrix.scores.scorers import Called, Compared, Judging, Pattern, Program, Scorer
from fanwise.matrix.spec.matrix_spec import (
    COMMAND,
    CellPattern,
    MatrixSpec,
    MatrixStrategySpec,
    PromptSpec,
    ScoreSpec,
)
from fanwise.models.ask import MODEL_RETRY, worth_a_retry
from fanwise.models.connect import connect
from fanwise.models.names import Spec, shown
from fanwise.models.port import Model, cap_names
from fanwise.models.unconnected import unconnected
from fanwise.specs import Template, Where, function, system
from fanwise.specs.answering import AnsweringSystem
from fanwise.specs.inputs import Input, Inputs
from fanwise.specs.nearest import did_you_mean


def wanted(spec: MatrixSpec, cells: Sequence[Cell], where: Where) -> Sequence[Cell]:
    """Without those that are excluded and not included. What fits no cell is a typing error."""
    for kind, matches in (("exclude", spec.exclude), ("include", spec.include)):
        for number, match in enumerate(matches):
            if not any(match.fits(cell.axes) for cell in cells):
                raise where.at(kind, number).bad(f"no cell is like this{_nearest(match, cells)}")
    if not spec.exclude:
        return cells
    left = [cell for cell in cells if _is_left(spec, cell.axes)]
    if not left:
        raise where.at("exclude").bad("nothing is left to run")
    return left


def _is_left(spec: MatrixSpec, axes: Mapping[str, str]) -> bool:
    out = any(each.fits(axes) for each in spec.exclude)
    return not out or any(each.fits(axes) for each in spec.include)


def _nearest(match: CellPattern, cells: Sequence[Cell]) -> str:
    for axis, values in values_by_axis(cells).items():
        asked = getattr(match, axis)
        if not any(fnmatchcase(value, asked) for value in values):
            return f": there is no {axis} {asked!r}{did_you_mean(asked, values)}"
    return ""


T = TypeVar("T")
ANSWER = "answer"
"""The name of the only step of a strategy that has one."""


class Compiled(msgspec.Struct, frozen=True):
    """A matrix that can be run."""

    spec: MatrixSpec
    inputs: Mapping[str, Input]
    models: Mapping[str, Model]
    steps: Mapping[str, Sequence[AnswerStep]]
    """By strategy."""
    scorers: Sequence[Scorer]
    cells: Sequence[Cell]


def compile_(spec: MatrixSpec, inputs: Inputs, where: Where, *, connected: bool = True) -> Compiled:
    """The cells and all that they need. `BadSpec` with all that is wrong."""
    found = make_parts(spec, inputs, where, connected=connected)
    cells = wanted(spec, list(_product(found)), where)
    check_caps(found, cells, where)
    return msgspec.structs.replace(found, cells=cells)


def make_parts(
    spec: MatrixSpec, inputs: Inputs, where: Where, *, connected: bool = True
) -> Compiled:
    """All but the cells.

    Not `connected`: the models are there to be counted with, whether their keys are there or not,
    and nothing that a `sample:` names is connected. It cannot be run then.
    """
    if not len(inputs):
        raise where.at("inputs").bad("there are no inputs")
    names = [f"input.{column}" for column in inputs.columns]
    maker = _Maker(spec, where, names, inputs, connected=connected)
    together = _Together(where)
    models = together.try_(maker.models) or {}
    steps = {name: together.try_(partial(maker.steps, name)) or [] for name in spec.prompts}
    scorers = together.try_(maker.scorers) or []
    together.raise_all()
    return Compiled(spec, {each.id: each for each in inputs}, models, steps, scorers, ())


class _Together:
    """Problems of several parts, told at once: who lacks two keys wants to know of both."""

    def __init__(self, where: Where) -> None:
        self._where = where
        self._problems: dict[Problem, None] = {}

    def try_(self, make: Callable[[], T]) -> T | None:
        """What it makes; if it cannot, its problems are kept, and there is nothing."""
        try:
            return make()
        except BadSpec as error:
            self._problems.update(dict.fromkeys(error.problems))
            return None

    def raise_all(self) -> None:
        """`BadSpec` if there were any."""
        if self._problems:
            raise BadSpec(self._where.document.name, self._problems)


class _Maker:
    """Makes the parts, each with its place in the file."""

    def __init__(
        self,
        spec: MatrixSpec,
        where: Where,
        names: Sequence[str],
        inputs: Inputs,
        *,
        connected: bool,
    ) -> None:
        self._spec = spec
        self._where = where
        self._names = [*names, "model", "strategy", "repeat"]
        self._inputs = inputs
        self._is_connected = connected
        self._keeps_messages = not inputs.are_kept

    @property
    def _retry(self) -> Retry:
        retry = self._spec.retry
        return MODEL_RETRY if retry is None else retry.retry(worth_a_retry)

    def models(self) -> dict[str, Model]:
        found: dict[str, Model] = {}
        together = _Together(self._where)
        for number, each in enumerate(self._spec.models):
            place = self._where.at("models", number)
            if any(each.name == other.name for other in self._spec.models[:number]):
                raise place.bad(f"{each.name!r} is there twice")
            model = together.try_(partial(self._connected, each.spec(), place))
            if model is not None:
                found[each.name] = model
        together.raise_all()
        return found

    def _connected(self, spec: Spec, where: Where) -> Model:
        return connected(spec, where) if self._is_connected else _unconnected(spec, where)

    def steps(self, name: str) -> list[AnswerStep]:
        spec, where = self._spec.prompts[name], self._where.at("prompts", name)
        if spec.needs_model and not self._spec.models and spec.call is None:
            raise where.bad("it needs a model: give `models`")
        if spec.call is not None:
            called = (
                function(spec.call, where.at("call")) if isinstance(spec.call, str) else spec.call
            )
            return [Function(ANSWER, called)]
        if spec.copy_ is not None:
            self._check_path(spec.copy_, where.at("copy"))
            return [Copy(ANSWER, spec.copy_)]
        if "constant" in spec.model_fields_set:
            return [Constant(ANSWER, spec.constant)]
        if not spec.steps:
            sampled = self._sampled(spec, where)
            return [self._prompt(ANSWER, spec, where, self._names, sampled)]
        made: list[AnswerStep] = []
        known = list(self._names)
        for number, step in enumerate(spec.steps):
            made.append(self._prompt(step.name, step, where.at("steps", number), known, {}))
            known.append(f"steps.{step.name}")
        return made

    def _prompt(
        self,
        name: str,
        spec: PromptSpec,
        where: Where,
        known: Sequence[str],
        sampled: Mapping[str, Any],
    ) -> Prompt:
        if spec.prompt is not None:
            templates: list[tuple[Any, Template]] = [
                ("user", Template(spec.prompt, where.at("prompt")))
            ]
        else:
            templates = [
                (each.role, Template(each.content, where.at("messages", number, "content")))
                for number, each in enumerate(spec.messages)
            ]
        for _, template in templates:
            template.require(known)
        options = spec.options or self._spec.options
        return Prompt(
            name, templates, options.options(), spec.schema_, self._retry, self._spec.timeout,
            **sampled, keeps_messages=self._keeps_messages,
        )  # fmt: skip

    def scorers(self) -> list[Scorer]:
        """In the order of the file; their names differ."""
        found: list[Scorer] = []
        together = _Together(self._where)
        for number, spec in enumerate(self._spec.score):
            where = self._where.at("score", number)
            scorer = together.try_(partial(self._scorer, spec, where))
            if scorer is None:
                continue
            if any(scorer.name == other.name for other in found):
                raise where.bad(f"there is a score {scorer.name!r} already; give it a `name`")
            found.append(scorer)
        together.raise_all()
        return found

    def _scorer(self, spec: ScoreSpec, where: Where) -> Scorer:
        name = spec.name or spec.kind
        for kind, path in (("exact", spec.exact), ("f1", spec.f1), ("json", spec.json_)):
            if path is not None:
                self._check_path(path, where.at(kind))
                return Compared(name, kind, path)
        if spec.regex is not None:
            pattern = Pattern(name, self._template(spec.regex, where.at("regex")))
            self._check_pattern(pattern, where.at("regex"))
            return pattern
        if spec.judge is not None and spec.model is not None:
            who = spec.model.spec()
            model = self._connected(who, where.at("model"))
            asked = self._template(spec.judge, where.at("judge"))
            return Judging(name, asked, model, _who(who))
        if spec.command is not None:
            folder = str(where.document.folder)
            _check_program(spec.command, folder, where.at("command"))
            return Program(name, spec.command, folder, spec.timeout or 60.0)
        called = function(spec.call, where.at("call")) if isinstance(spec.call, str) else spec.call
        return Called(spec.name or name_of(called), called)

    def _template(self, text: str, where: Where) -> Template:
        template = Template(text, where)
        template.require(self._names)
        return template

    def _check_path(self, path: str, where: Where) -> None:
        for each in self._inputs:
            try:
                field_of(each.data, path)
            except UsageError as error:
                raise where.bad(f"input {each.id!r}: {error}") from None

    def _check_pattern(self, pattern: Pattern, where: Where) -> None:
        """With each input in it: one that is no pattern would cost its cells their scores."""
        axes = {"model": "", "strategy": "", "repeat": 0}
        for each in self._inputs:
            filled = pattern.template.render(input=each.data, steps={}, **axes)
            try:
                re.compile(filled)
            except re.error as error:
                about = f"input {each.id!r}: " if pattern.template.names() else ""
                raise where.bad(f"{about}{filled!r} is no pattern: {error}") from None
            if not pattern.template.names():
                return

    def _sampled(self, spec: MatrixStrategySpec, where: Where) -> dict[str, Any]:
        if spec.sample is None:
            return {}
        sampling = system("sample")
        assert isinstance(sampling, AnsweringSystem)
        place, schema = where.at("sample"), spec.schema_ is not None
        answerer = sampling.answerer(place) if self._is_connected else None
        asking = sampling.asking(place, schema=schema)
        return {"answerer": answerer, "how": spec.sample, "asking": asking}


def _check_program(argv: Sequence[str], folder: str, where: Where) -> None:
    if not argv:
        raise where.bad("it names no program")
    given = Path(folder, argv[0]) if "/" in argv[0] else argv[0]
    if shutil.which(given) is None:
        raise where.at(0).bad(f"there is no program {argv[0]!r}")


def check_caps(compiled: Compiled, cells: Sequence[Cell], where: Where) -> None:
    """A cap that nothing needs is a typing error, more often than not. `BadSpec`."""
    known = {"all"} | {cell.provider for cell in cells} | {cell.model for cell in cells}
    models = [*compiled.models.values(), *judges_of(compiled)]
    for model in models:
        for each in (model, *getattr(model, "others", ())):
            known.update(cap_names(each))
    known |= {COMMAND for each in compiled.scorers if isinstance(each, Program)}
    problems = []
    for kind in ("caps", "rates"):
        for name in getattr(compiled.spec, kind):
            if name not in known:
                shown_ = ", ".join(sorted(known - {NO_MODEL}))
                message = f"no cell uses {name!r}; used are: {shown_}"
                problems += where.at(kind, name).bad(message).problems
    if problems:
        raise BadSpec(where.document.name, problems)


def judges_of(compiled: Compiled) -> list[Model]:
    return [each.model for each in compiled.scorers if isinstance(each, Judging)]


def connected(spec: Spec, where: Where) -> Model:
    """The model; what is missing is a `BadSpec` there."""
    if spec.name in where.document.objects:
        model: Model = where.document.objects[spec.name]
        return model
    try:
        return connect(spec)
    except FanwiseError as error:
        raise where.bad(str(error)) from error


def _unconnected(spec: Spec, where: Where) -> Model:
    try:
        return unconnected(spec)
    except FanwiseError as error:
        raise where.bad(str(error)) from error


def _product(found: Compiled) -> Iterator[Cell]:
    """All cells. What many of them share is made once: there may be a million."""
    spec = found.spec
    places = []
    for each in found.inputs.values():
        digest = each.digest
        for repeat in range(spec.repeat):
            seed = seed_of(spec.seed, digest, repeat)
            places.append((each.id, repeat, seed, key_end(each.id, digest, repeat, seed)))
    for strategy, steps in found.steps.items():
        what = [step.identity for step in steps]
        needs = spec.prompts[strategy].needs_model
        models = [each.spec() for each in spec.models] if needs else [None]
        for model in models or [None]:
            who = None if model is None else _who(model)
            name = NO_MODEL if model is None else model.name
            provider = NO_MODEL if model is None else found.models[name].provider
            begin = key_begin(who, strategy, what)
            for given, repeat, seed, end in places:
                yield Cell(whole_key(begin, end), name, strategy, given, repeat, provider, seed)


def _who(model: Spec) -> dict[str, Any]:
    """Not in the key: prices, time-outs, retries, caps; they change the cost and not the answer."""
    return {name: value for name, value in shown(model).items() if name != "price"}
