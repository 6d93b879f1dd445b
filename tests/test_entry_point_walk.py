"""Every public entry point with every form of every shared argument, wherever it can be called.

A row says how one entry point is called. Whoever exports another one has to add a row.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

import fanwise
from fanwise import (
    Budget,
    Caps,
    Matrix,
    Outcomes,
    Retry,
    Stats,
    fan_out,
    fan_out_stream,
    fan_out_sync,
    open_run,
)
from fanwise.errors import (
    BudgetExceeded,
    FanwiseError,
    ModelOverloaded,
    NotOk,
    SamplingFailed,
    UsageError,
)
from fanwise.kernel.sync import run_sync
from fanwise.models import ask, connect
from fanwise.testing import ScriptedModel
from tests.plan.support import make_repo

SIM = "sim:a?median_s=0.001"
Call = tuple[tuple[Any, ...], dict[str, Any]]


class Row(NamedTuple):
    """One entry point: its positional and keyword arguments, from the shared ones."""

    call: Callable[..., Call]
    takes: frozenset[str] = frozenset({"run", "caps", "budget", "retry", "object"})
    """What it has. `object`: a model may be a `Model`; elsewhere it is named in a file."""
    costly: bool = False
    """It needs workspaces: not all combinations are tried, but all forms."""


def of_fan_out(model: Any, **more: Any) -> Call:
    return (lambda _: ask(model, "hi", retry=0), [0]), more


def of_ask(model: Any, **more: Any) -> Call:
    return (model, "hi"), more


def of_sample(model: Any, **more: Any) -> Call:
    return (model, "hi"), {"loop_budget": 1, "cap": 1, **({"retry": 0} | more)}


def of_matrix(model: Any, retry: Any = 0, **more: Any) -> Call:
    return (Matrix(models=model, prompts="hi", inputs=["a"], retry=retry),), more


def of_workflow(model: Any, **more: Any) -> Call:
    sample = {"model": model, "prompt": "hi", "loop_budget": 1, "concurrency_budget": 1}
    steps = [
        {"id": "once", "type": "shell", "run": "test -e seen || { touch seen; exit 1; }"},
        {"id": "ask", "type": "sample", "spec": sample},
    ]
    flow = {"workflow": {"id": "w", "name": "W", "version": "1.0.0"}, "steps": steps}
    if "retry" not in more:
        Path("seen").touch()
    return (flow,), more


def of_plan(model: Any, **more: Any) -> Call:
    each = {"model": model, "retry": 0}
    return ("go", each), {"repo": "repo", "fields": {"sandbox": False}, **({"retry": 0} | more)}


def of_optimize(model: Any, **more: Any) -> Call:
    bench = {"command": "true", "budget": "10ms"}
    given = {"repo": "repo", "bench": bench, "cap": 1, "fields": {"sandbox": False}, "retry": 0}
    return (None, {"propose": {"model": model, "n": 1}}, "true"), given | more


def of_file(model: Any, **more: Any) -> Call:
    if "retry" in more:
        ((flow,), _) = of_workflow(model, **more)
        Path("f.yaml").write_bytes(msgspec.json.encode(flow))
        return ("f.yaml",), more
    sample = {"model": model, "prompt": "hi", "loop_budget": 1, "concurrency_budget": 1}
    Path("f.yaml").write_bytes(msgspec.json.encode({"sample": sample}))
    return ("f.yaml",), more


ROWS = {
    "fan_out": Row(of_fan_out),
    "fan_out_stream": Row(of_fan_out),
    "sample": Row(of_sample),
    "run_matrix": Row(of_matrix),
    "run_workflow": Row(of_workflow, frozenset({"run", "caps", "budget", "retry"})),
    "run_plan": Row(of_plan, costly=True),
    "optimize": Row(of_optimize, costly=True),
    "run_file": Row(of_file, frozenset({"run", "caps", "budget", "retry"})),
    "ask": Row(of_ask, frozenset({"retry", "object"})),
}
NO_ENTRY_POINTS = {"call", "cancelled", "open_run"}


async def streamed(*args: Any, **options: Any) -> Any:
    """A stream to its end, as outcomes."""
    async with fan_out_stream(*args, **options) as stream:
        got = [outcome async for outcome in stream]
    run = options.get("run")
    run_id = run if run is None or isinstance(run, str) else run.durable_id
    return Outcomes(got, stream.stats or Stats(), run_id=run_id)


def awaited(name: str) -> Any:
    special = {"fan_out_stream": streamed, "ask": ask}
    return special[name] if name in special else getattr(fanwise, name)


def twin(name: str) -> Any:
    """The `_sync` function; what has none runs on a loop of its own, as in a thread of a user."""
    found = getattr(fanwise, f"{name}_sync", None)
    return found or (lambda *args, **options: run_sync(awaited(name)(*args, **options)))


class Setting(NamedTuple):
    """Where it is called."""

    inside: bool
    sync: bool

    def __repr__(self) -> str:
        return f"{'inside' if self.inside else 'outside'}-{'sync' if self.sync else 'async'}"


SETTINGS = [Setting(*each) for each in itertools.product([False, True], repeat=2)]


def called(name: str, call: Call, setting: Setting, *, around: Any = None) -> Any:
    """What it gives. `around`: the run of the item that it is called in."""
    args, options = call
    got: list[Any] = []
    if setting.sync:
        plain = twin(name)

        def work(_: int) -> None:
            got.append(plain(*args, **options))

        if setting.inside:
            fan_out_sync(work, [0], run=around)[0].unwrap()
        else:
            work(0)
        return got[0]

    function = awaited(name)  # imported here, and not on the event loop

    async def awaiting(_: int) -> None:
        got.append(await function(*args, **options))

    async def main() -> None:
        if setting.inside:
            (await fan_out(awaiting, [0], run=around))[0].unwrap()
        else:
            await awaiting(0)

    asyncio.run(main())
    return got[0]


def check_result(name: str, result: Any) -> None:
    """It is a `RunResult`."""
    if name == "ask":
        return
    assert isinstance(result.ok, bool) and isinstance(result.stats, Stats)
    assert isinstance(result.failures, Collection)
    assert not (result.ok and result.failures)
    if result.ok:
        assert result.require() is result
    else:
        with pytest.raises(NotOk) as raised:
            result.require()
        assert raised.value.result is result


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_repo(tmp_path_factory.mktemp("walk") / "repo", {"a.py": "VALUE = 1\n"})


@pytest.fixture(autouse=True)
def folder(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FANWISE_JOURNAL", raising=False)
    (tmp_path / "repo").symlink_to(repo)


def test_every_entry_point_that_is_exported_has_a_row() -> None:
    functions = {
        name
        for name in fanwise.__all__
        if inspect.isfunction(found := getattr(fanwise, name)) or inspect.ismodule(found)
    }
    twins = {f"{name}_sync" for name in ROWS} & functions
    assert functions - NO_ENTRY_POINTS - twins == ROWS.keys() - {"ask"}
    assert {f"{name}_sync" for name in ROWS} - twins == {"ask_sync", "fan_out_stream_sync"}


def walk(argument: str, forms: Collection[str]) -> pytest.MarkDecorator:
    """Rows that take it, by forms, by settings; costly ones each form in one setting."""
    found: list[Any] = []
    for name, row in ROWS.items():
        if argument in row.takes or argument == "model":
            every = itertools.product(forms, SETTINGS)
            some = zip(forms, itertools.cycle([SETTINGS[1], SETTINGS[2]]), strict=False)
            found += [(name, *each) for each in (some if row.costly else every)]
    return pytest.mark.parametrize(("name", "form", "setting"), found, ids=str)


# -- run -----------------------------------------------------------------------------------------


@walk("run", ["none", "id", "run", "around"])
def test_run_is_a_run_or_an_id_or_none(name: str, form: str, setting: Setting) -> None:
    """`around`: None, in an item of a run, which it then belongs to."""
    if form == "around":
        setting = setting._replace(inside=True)
    with open_run("open") as opened:
        run = {"id": "mine", "run": opened}.get(form)
        around = opened if form == "around" else None
        call = ROWS[name].call(SIM, run=run)
        result = called(name, call, setting, around=around)
    check_result(name, result)
    wanted = {"none": None, "id": "mine", "run": "open", "around": "open"}[form]
    if name == "fan_out_stream" and form == "around":
        return  # a stream has no id of its own to tell
    assert result.run_id == wanted
    assert result.stats.peak["total"] >= 1


# -- caps and budget -----------------------------------------------------------------------------


@walk("caps", ["Caps", "mapping"])
def test_caps_are_caps_or_a_mapping(name: str, form: str, setting: Setting) -> None:
    caps: Any = {"sim": 1} if form == "mapping" else Caps(sim=1)
    result = called(name, ROWS[name].call(SIM, caps=caps), setting)
    check_result(name, result)
    assert result.stats.peak["sim"] == 1
    if form == "Caps":
        assert (caps.peak, caps.in_use) == ({"sim": 1}, {"sim": 0})


@walk("budget", ["Budget", "mapping"])
def test_a_budget_is_a_budget_or_a_mapping(name: str, form: str, setting: Setting) -> None:
    """A call is more than the budget has, so it is not made; and no result says that all is ok."""
    budget: Any = {"tokens": 1} if form == "mapping" else Budget(tokens=1)
    scripted = ScriptedModel(["NOTHING"])
    model = scripted if "object" in ROWS[name].takes else SIM
    call = ROWS[name].call(model, budget=budget)
    if name == "sample":  # without any sample there is nothing that a result could be of
        with pytest.raises((BudgetExceeded, SamplingFailed)):
            called(name, call, setting)
    else:
        result = called(name, call, setting)
        check_result(name, result)
        assert not result.ok
    assert scripted.requests == []


# -- retry ---------------------------------------------------------------------------------------


@walk("retry", ["Retry", "number"])
def test_retry_is_a_retry_or_a_number(name: str, form: str, setting: Setting) -> None:
    retry = 1 if form == "number" or name == "run_plan" else Retry(1, 0.0)
    flaky = ScriptedModel(
        itertools.chain([ModelOverloaded("busy", retry_after=0.0)], itertools.repeat("NOTHING"))
    )
    model = flaky if "object" in ROWS[name].takes else SIM
    result = called(name, ROWS[name].call(model, retry=retry), setting)
    check_result(name, result)
    if model is flaky:
        assert len(flaky.requests) >= 2
    else:
        assert result.require().ok, "the first step fails once"


def test_where_nothing_is_to_be_retried_a_retry_is_refused() -> None:
    """A plan tries again at once, and tells why; what tests say of a candidate is the verdict."""
    calls = {
        "run_plan": of_plan(SIM, retry=Retry(1, 2.0)),
        "optimize": ((None, "*.py", "true"), {"retry": 1}),
    }
    for name, call in calls.items():
        with pytest.raises(UsageError, match="retry"):
            called(name, call, SETTINGS[0])


# -- model ---------------------------------------------------------------------------------------


@walk("model", ["name", "mapping", "Model"])
def test_a_model_is_a_name_a_mapping_or_a_model(name: str, form: str, setting: Setting) -> None:
    model: Any = {"name": SIM, "mapping": {"name": SIM}}.get(form) or connect(SIM)
    row = ROWS[name]
    if form == "Model" and "object" not in row.takes:
        with pytest.raises((FanwiseError, TypeError)):
            called(name, row.call(model), setting)
        return
    caps = {"caps": {"sim": 1}} if "caps" in row.takes else {}
    result = called(name, row.call(model, **caps), setting)
    check_result(name, result)
    if caps:
        assert result.stats.peak["sim"] == 1, "it was not asked"
    else:
        assert result.text.startswith("[simulated]")
