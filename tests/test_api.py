"""The public surface is a decision: it changes only on purpose."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import fanwise
import fanwise.specs
import fanwise.testing
from fanwise import errors
from tests.marks import slow

EXPORTS = [
    "Adaptive", "Attempt", "Budget", "Caps", "Command", "CommandResult", "Exclusive",
    "FanwiseError", "Feed", "Halt", "Limits", "Matrix",
    "Outcome", "Outcomes", "Rate", "RateLimited", "Ray", "Retry", "Run", "RunResult", "Sandbox",
    "Shared", "Stats", "Usage", "call", "cancelled", "fan_out", "fan_out_stream", "fan_out_sync",
    "open_run", "optimize", "optimize_sync", "run_file", "run_file_sync", "run_matrix",
    "run_matrix_sync", "run_plan", "run_plan_sync", "run_workflow", "run_workflow_sync", "sample",
    "sample_sync",
]  # fmt: skip


def test_the_package_exports_exactly_this() -> None:
    assert sorted(fanwise.__all__) == sorted(EXPORTS)
    assert all(hasattr(fanwise, name) for name in EXPORTS)


def package_module() -> list[ast.stmt]:
    return ast.parse(Path(fanwise.__file__).read_text()).body


def test_the_package_module_re_exports_and_does_nothing_else() -> None:
    allowed = 0
    for node in package_module():
        plain = ast.Constant | ast.List | ast.Dict
        constant = isinstance(node, ast.Assign) and isinstance(node.value, plain)
        docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        hook = isinstance(node, ast.FunctionDef) and node.name == "__dir__"
        assert constant or docstring or hook or isinstance(node, ast.If)
        allowed += isinstance(node, ast.If)
    assert allowed == 2, "what type checkers see, and what they do not"


def test_type_checkers_see_the_names_where_they_are_imported_from() -> None:
    seen, unseen = (node for node in package_module() if isinstance(node, ast.If))
    assert (ast.unparse(seen.test), ast.unparse(unseen.test)) == (
        "TYPE_CHECKING", "not TYPE_CHECKING",
    )  # fmt: skip
    homes: dict[str, str | None] = {}
    for node in seen.body:
        assert isinstance(node, ast.ImportFrom)
        homes |= {alias.name: node.module for alias in node.names}
    assert homes == fanwise._HOMES
    assert sorted(homes) == sorted(fanwise.__all__)
    assert [node.name for node in unseen.body if isinstance(node, ast.FunctionDef)] == [
        "__getattr__"
    ]


USER = """
import fanwise
from fanwise import Outcomes, RunResult, Usage, fan_out, fan_out_sync, optimize_sync, sample_sync

async def work(n: int) -> str:
    return str(n)

async def main() -> None:
    outcomes: Outcomes[str] = await fan_out(work, [1])
    reveal_type(outcomes[0].value)
    Usage(tokens="many")
    fanwise.misspelt

reveal_type(fan_out_sync(work, [1], budget={"usd": 5})[0].value)
reveal_type(sample_sync("sim:a", "?", retry=2).text)
sample_sync("sim:a", "?", buget={"usd": 5})
results: list[RunResult] = [fan_out_sync(work, [1]), sample_sync("sim:a", "?")]
results += [optimize_sync(None, "*", "pytest"), fanwise.run_plan_sync("goal", {})]
results += [fanwise.run_workflow_sync("w.yaml"), fanwise.run_file_sync("f.yaml", run="id")]
results += [fanwise.run_matrix_sync(fanwise.Matrix(prompts="?", inputs=["a"]), caps={"openai": 4})]
"""


@slow
def test_a_program_that_uses_the_names_is_checked_as_strictly_as_ever(tmp_path: Path) -> None:
    (tmp_path / "user.py").write_text(USER)
    # With the settings of this project, so that what `make types` knows is not found out again.
    root = Path(__file__).parents[1]
    argv = [sys.executable, "-m", "mypy", str(tmp_path / "user.py")]
    done = subprocess.run(argv, cwd=root, capture_output=True, text=True, timeout=300)
    told = [line.partition(": ")[2] for line in done.stdout.splitlines()]
    revealed = 'note: Revealed type is "'
    assert told[0].startswith(revealed) and "str | None" in told[0]
    assert told[1].startswith('error: Argument "tokens" to "Usage" has incompatible type "str"')
    assert told[2].startswith('error: Module has no attribute "misspelt"')
    assert told[3].startswith(revealed) and "str | None" in told[3]
    assert told[4] == f'{revealed}str"'
    assert told[5].startswith('error: Unexpected keyword argument "buget"')
    (also,) = (line for line in told[6:] if line.startswith("error"))
    assert also.startswith('error: No overload variant of "sample_sync"'), "the same call"


def test_names_are_there_for_everyone_and_others_are_not() -> None:
    code = (
        "import fanwise; assert set(fanwise.__all__) <= set(dir(fanwise)); "
        "from fanwise import *; from fanwise import Outcome, errors, fan_out as again; "
        "assert fan_out is again is fanwise.fan_out and errors.FanwiseError is FanwiseError; "
        "assert not hasattr(fanwise, 'no_such_name')"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_the_command_line_begins_before_anything_else_is_imported() -> None:
    """What is imported before its first line could be interrupted with a traceback."""
    code = (
        "import sys; before = set(sys.modules); import fanwise.cli.main; "
        "print(sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "['fanwise', 'fanwise.cli', 'fanwise.cli.main']"


def test_fan_out_has_the_signature_of_the_design() -> None:
    names = list(inspect.signature(fanwise.fan_out).parameters)
    assert names == [
        "work", "items", "cap", "caps", "needs", "halt", "retry", "timeout", "key", "run", "name",
        "budget", "reuse", "record", "on",
    ]  # fmt: skip


def test_every_error_stands_in_the_tree_of_the_docstring_and_inherits_as_drawn() -> None:
    drawn = errors.__doc__ or ""
    own = [
        (name, thing)
        for name, thing in vars(errors).items()
        if inspect.isclass(thing) and issubclass(thing, errors.FanwiseError)
    ]
    assert len(own) > 20
    for name, thing in own:
        assert f" {name}" in drawn, f"{name} is missing from the drawing"
        assert thing.__doc__


MODELS = [
    "File", "MODEL_RETRY", "Message", "Model", "Options", "Piece", "Price", "Reply",
    "ReplyStream",
    "Request", "Spec", "TokenProbability", "Tokens", "Tool", "ToolCall", "ask", "connect", "record",
    "stream", "tool_of", "worth_a_retry",
]  # fmt: skip


def test_the_models_package_exports_exactly_this_and_imports_no_sdk() -> None:
    code = (
        "import sys, fanwise.models, fanwise.testing as t; print(sorted(fanwise.models.__all__), "
        "[m for m in ('pydantic_ai', 'openai', 'genai_prices', 'jsonschema') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == f"{sorted(MODELS)} []"


def test_importing_fanwise_imports_nothing_heavy() -> None:
    heavy = ["sqlalchemy", "alembic", "rich", "typer", "opentelemetry", "hypothesis", "numpy",
             "pydantic_ai", "openai", "genai_prices", "jsonschema", "pydantic", "yaml", "jinja2",
             "fanwise.models", "fanwise.specs"]  # fmt: skip
    code = (
        "import fanwise, sys; own = ('core', 'kernel', 'errors', 'processes'); "
        "names = [n for n, home in fanwise._HOMES.items() if home.split('.')[1] in own]; "
        "assert len(names) > 25; [getattr(fanwise, name) for name in names]; "
        f"print([m for m in {heavy} if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"


SPECS = [
    "AdaptiveSpec", "BudgetSpec", "CapSpec", "Document", "Duration", "End", "FieldPath", "Input",
    "Inputs", "InputsSpec", "LimitsSpec", "Many", "ModelSpec", "OptionsSpec", "Opening", "Option",
    "Pause",
    "PriceSpec", "RateSpec", "RetrySpec", "Runnable", "SpecModel", "System", "Template", "Where",
    "check", "function", "names", "parse", "read", "runnable_again", "runnable_of", "system",
    "system_of",
]  # fmt: skip


def test_the_specs_package_exports_exactly_this() -> None:
    assert sorted(fanwise.specs.__all__) == sorted(SPECS)
    assert all(hasattr(fanwise.specs, name) for name in SPECS)


PLAN = [
    "BrokenName", "Change", "Conflict", "EditRequest", "LeafState", "MergeCheck", "Node",
    "PlanResult", "PlanState", "PublishedResult", "Scorecard", "Split", "SubPlan", "Tree", "Try",
    "Work", "run_plan", "run_plan_sync",
]  # fmt: skip


def test_the_plan_package_exports_exactly_this_and_a_split_loads_none_of_the_rest() -> None:
    code = (
        "import sys, fanwise.plan.split; print('fanwise.plan.system' in sys.modules); "
        "import fanwise.plan; print(sorted(fanwise.plan.__all__)); "
        "[getattr(fanwise.plan, name) for name in fanwise.plan.__all__]"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines() == ["False", str(sorted(PLAN))]


ENTRY_POINTS = [
    "fan_out", "sample", "run_matrix", "run_workflow", "run_plan", "optimize", "run_file",
]  # fmt: skip


@pytest.mark.parametrize("name", ENTRY_POINTS)
def test_every_entry_point_is_async_and_has_a_twin_that_is_not(name: str) -> None:
    function = getattr(fanwise, name)
    if inspect.ismodule(function):
        function = function.optimize
    twin = getattr(fanwise, f"{name}_sync")
    assert inspect.iscoroutinefunction(function) and not inspect.iscoroutinefunction(twin)
    assert inspect.signature(twin).parameters == inspect.signature(function).parameters
    assert twin.__name__ == f"{name}_sync" and f"`{name}`" in (twin.__doc__ or "")


@pytest.mark.parametrize(
    "first",
    ["from fanwise import optimize", "import fanwise.optimize", "from fanwise.optimize import api"],
)
def test_optimize_can_be_called_and_is_a_package_whatever_was_imported_before(first: str) -> None:
    code = (
        f"{first}\nimport fanwise, inspect\nfrom fanwise import optimize\n"
        "import fanwise.optimize as package\nfrom fanwise.optimize import Candidate\n"
        "assert package.Candidate is Candidate is fanwise.optimize.Candidate\n"
        "call = optimize('t', 'c', 'test')\nassert inspect.iscoroutine(call)\ncall.close()"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize("name", ["matrix", "optimize", "plan", "sampling", "workflow"])
def test_a_system_imports_its_public_names_when_they_are_used(name: str) -> None:
    """The command line reads `options.py` of each, and must not import the rest for that."""
    package = import_module(f"fanwise.{name}")
    body = ast.parse(Path(str(package.__file__)).read_text()).body
    (seen,) = (n for n in body if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING")
    typed = {
        f"{node.module}.{alias.name}"
        for node in seen.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    homes = {f"fanwise.{name}.{home}.{each}" for home, of in package._HOMES.items() for each in of}
    assert typed == homes
    assert sorted(each.rpartition(".")[2] for each in homes) == sorted(package.__all__)
    assert all(hasattr(package, each) for each in package.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'misspelt'"):
        package.misspelt  # noqa: B018


def test_the_options_of_all_systems_are_read_without_importing_them() -> None:
    code = (
        "import sys\n"
        "from fanwise.system_options import built_in_options\n"
        "assert {*built_in_options('run')} == {'matrix', 'workflow', 'plan', 'optimize'}\n"
        "assert {*built_in_options('map')} == {'map'}\n"
        "print([m for m in ('asyncio', 'pydantic', 'fanwise.specs', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
