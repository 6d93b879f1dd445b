"""`fanwise check`: what a file would run. Nothing is started, spent or written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from fanwise.cli.options import FileArgument, JsonOption
from fanwise.cli.say import print_json

if TYPE_CHECKING:
    from fanwise.specs import Plan

HELP = """Check a file, and say what would run. Nothing is started, spent or written.

\b
  fanwise check reviews.yaml

A file that names functions of yours (`call: module:function`) imports them.

Exit codes: 0 it can run, 2 it cannot; then every problem is named with its
line, column and field.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("check", help=HELP)(check)


def check(file: FileArgument, as_json: JsonOption = False) -> None:
    """Check a file."""
    from fanwise.specs import read, system_of

    document = read(file)
    system = system_of(document)
    tell_plan(file, system.name, system.plan(document), as_json=as_json)


def tell_plan(file: str, kind: str, plan: Plan, *, as_json: bool) -> None:
    """What would run, on stdout."""
    if as_json:
        print_json({"file": file, "kind": kind, **_facts(plan)})
        return
    typer.echo(f"{file}: {kind}, {plan.title}" if plan.title else f"{file}: {kind}")
    for line in _lines(plan):
        typer.echo(f"  {line}")


def _facts(plan: Plan) -> dict[str, Any]:
    return {
        "title": plan.title,
        "items": plan.total,
        "caps": {} if plan.caps is None else plan.caps.current,
        "budget": {} if plan.budget is None else plan.budget.limits,
        "describe": list(plan.describe()),
    }


def _lines(plan: Plan) -> list[str]:
    facts = _facts(plan)
    lines = [] if plan.total is None else [f"items   {plan.total}"]
    if facts["caps"]:
        caps = (
            f"{name} {'rate' if most is None else most}" for name, most in facts["caps"].items()
        )
        lines.append(f"caps    {', '.join(caps)}")
    if facts["budget"]:
        most = (f"{amount:g} {kind}" for kind, amount in facts["budget"].items())
        lines.append(f"budget  {', '.join(most)}")
    return [*lines, *facts["describe"]]
