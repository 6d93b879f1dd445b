"""`fanwise optimize`: candidates for one function, without a file."""

from __future__ import annotations

from typing import Annotated

import typer

from fanwise.cli.options import JournalOption, JsonOption, RunIdOption
from fanwise.cli.system_options import GivenOptions

HELP = """Find a version of a function that is proven faster.

\b
  fanwise optimize src/pkg/graph.py::find --candidates 'candidates/*' \\
      --test 'pytest -q tests/test_graph.py'
  fanwise optimize src/pkg/graph.py::find --propose openai:gpt-5-mini -n 8 \\
      --repair 2 --test 'pytest -q' --slots 4 --apply
  fanwise optimize --branches 'perf/*' --test 'pytest -q' \\
      --bench 'python bench.py' --branch faster

Candidates are patches, whole files, functions, branches, or proposals of a
model or a command. Each is checked in its own workspace, --slots at once: it
must apply and compile, the tests must give the same results as before, and
calls of TARGET (recorded from the tests, and variations of them) must behave as
on the original. Candidates that pass are timed next to the original, with
nothing else running, until the result is clear. The winner has the highest
proven speed-up.

Your files are not touched: the winner is written as a patch file, unless you
pass --apply or --branch. Everything is recorded: see `fanwise show RUN` and
`fanwise report RUN`; after Ctrl-C or a crash, continue with `fanwise resume RUN`.

Exit codes: 0 there is a winner, 1 none was proven faster or some were not
judged, 2 bad usage, 130 halted or cancelled.
"""


def optimize(
    target: Annotated[
        str | None,
        typer.Argument(metavar="[TARGET]", help="path/to/file.py::function, or ::Class.method."),
    ] = None,
    run_id: RunIdOption = None,
    journal: JournalOption = None,
    as_json: JsonOption = False,
    *,
    options: GivenOptions,
) -> int:
    from fanwise.cli.execution import Execution, run_and_report
    from fanwise.optimize.system import SYSTEM

    runnable = SYSTEM.from_command_line(target, options.of(SYSTEM))
    return run_and_report(Execution(SYSTEM.name, runnable, run_id, journal, as_json=as_json))
