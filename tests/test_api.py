"""The public surface is a decision: it changes only on purpose."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import fanwise
import fanwise.specs
import fanwise.testing
from fanwise import errors

EXPORTS = [
    "Adaptive", "Attempt", "Budget", "Caps", "Command", "CommandResult", "FanwiseError", "Feed",
    "Halt",
    "Outcome", "Outcomes", "Rate", "RateLimited", "Retry", "Run", "Stats", "Usage", "call",
    "cancelled", "fan_out", "fan_out_stream", "fan_out_sync", "open_run",
]  # fmt: skip


def test_the_package_exports_exactly_this() -> None:
    assert sorted(fanwise.__all__) == sorted(EXPORTS)
    assert all(hasattr(fanwise, name) for name in EXPORTS)


def test_the_package_module_re_exports_and_does_nothing_else() -> None:
    tree = ast.parse(Path(fanwise.__file__).read_text())
    for node in tree.body:
        constant = isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant | ast.List)
        docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        assert isinstance(node, ast.ImportFrom) or constant or docstring


def test_fan_out_has_the_signature_of_the_design() -> None:
    names = list(inspect.signature(fanwise.fan_out).parameters)
    assert names == [
        "work", "items", "cap", "caps", "needs", "halt", "retry", "timeout", "key", "run", "name",
        "budget",
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
    "MODEL_RETRY", "Message", "Model", "Options", "Price", "Reply", "Request", "Spec", "Tokens",
    "ask", "connect", "record", "worth_a_retry",
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


def test_the_help_of_the_command_line_waits_for_nothing_heavy() -> None:
    heavy = [
        "sqlalchemy",
        "alembic",
        "rich",
        "opentelemetry",
        "numpy",
        "pydantic",
        "fanwise.models",
    ]
    code = f"import fanwise.cli.app, sys; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"


def test_importing_fanwise_imports_nothing_heavy() -> None:
    heavy = ["sqlalchemy", "alembic", "rich", "typer", "opentelemetry", "hypothesis", "numpy",
             "pydantic_ai", "openai", "genai_prices", "jsonschema", "pydantic", "yaml", "jinja2",
             "fanwise.models", "fanwise.specs"]  # fmt: skip
    code = f"import fanwise, sys; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"


SPECS = [
    "AdaptiveSpec", "BudgetSpec", "CapSpec", "Document", "Duration", "End", "FieldPath", "Input",
    "Inputs", "InputsSpec", "LimitsSpec", "Many", "ModelSpec", "OptionsSpec", "Pause", "Plan",
    "PriceSpec", "RateSpec", "RetrySpec", "SpecModel", "System", "Template", "Where", "check",
    "function", "names", "parse", "read", "system", "system_of",
]  # fmt: skip


def test_the_specs_package_exports_exactly_this() -> None:
    assert sorted(fanwise.specs.__all__) == sorted(SPECS)
    assert all(hasattr(fanwise.specs, name) for name in SPECS)


def test_the_command_line_imports_what_files_need_only_for_files() -> None:
    heavy = ["pydantic", "yaml", "jinja2", "fanwise.specs"]
    code = f"import fanwise.cli.app, sys; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"
