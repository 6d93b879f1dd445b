"""`fanwise check`: what a file would run. Nothing is started, spent or written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fanwise.cli.exit_codes import BAD_USAGE, DONE
from fanwise.cli.messages import print_json, print_line
from fanwise.cli.options import FileArgument, JsonOption
from fanwise.cli.system_options import GivenOptions
from fanwise.errors import BadSpec

if TYPE_CHECKING:
    from fanwise.specs import Runnable
    from fanwise.specs.system import Preview

HELP = """Check a file and print what would run. Nothing is started, spent or written.

\b
  fanwise check reviews.yaml

For a matrix, it counts the cells by axis and provider and estimates requests,
tokens and dollars, with the assumptions behind them. An unknown price is shown
as unknown, never as 0. If a key, file or extra is missing, it is named and the
counts are still printed.

Functions that a file names (`call: module:function`) are imported but not
called.

Exit codes: 0 it can run, 2 it cannot. Every problem is listed with its line,
column and field, and in `problems` of --json.
"""


def check(file: FileArgument, as_json: JsonOption = False, *, options: GivenOptions) -> int:
    from fanwise.specs import read, runnable_of, system_of
    from fanwise.specs.system import PreviewingSystem

    document = read(file)
    system = system_of(document)
    given = options.of(system)
    if isinstance(system, PreviewingSystem):
        found = system.preview(document, **given)
    else:
        found = preview(runnable_of(system, document, given))
    print_preview(file, system.name, found, as_json=as_json)
    if found.problems and not as_json:
        raise BadSpec(document.name, found.problems)
    return BAD_USAGE if found.problems else DONE


def print_preview(file: str, kind: str, found: Preview, *, as_json: bool) -> None:
    """Print what would run."""
    if as_json:
        print_json({"file": file, "kind": kind, **_facts(found)})
        return
    print_line(f"{file}: {kind}, {found.title}" if found.title else f"{file}: {kind}")
    for line in _lines(found):
        print_line(f"  {line}")


def preview(runnable: Runnable) -> Preview:
    """What a runnable would run, for a system without a `preview` of its own."""
    from fanwise.specs.system import Preview

    caps = {} if runnable.caps is None else runnable.caps.current
    budget = {} if runnable.budget is None else runnable.budget.limits
    unit: str = getattr(runnable, "unit", "item")
    return Preview(runnable.title, runnable.total, caps, budget, runnable.describe(), unit=unit)


def _facts(found: Preview) -> dict[str, Any]:
    return {
        "title": found.title,
        "items": found.items,
        "unit": found.unit,
        "caps": found.caps,
        "budget": found.budget,
        "describe": list(found.describe),
        **found.facts,
        "problems": [problem._asdict() for problem in found.problems],
    }


def _lines(found: Preview) -> list[str]:
    lines = [] if found.items is None else [f"{found.unit + 's':<7} {found.items:,}"]
    if found.caps:
        caps = (f"{name} {'rate' if most is None else most}" for name, most in found.caps.items())
        lines.append(f"caps    {', '.join(caps)}")
    if found.budget:
        most = (f"{amount:g} {kind}" for kind, amount in found.budget.items())
        lines.append(f"budget  {', '.join(most)}")
    return [*lines, *found.describe]
