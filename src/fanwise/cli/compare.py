"""`fanwise compare`: what changed between runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fanwise.cli.options import JournalOption, JsonOption
from fanwise.cli.recorded_run import installed, recorded_version
from fanwise.cli.report import check_target, print_report
from fanwise.errors import UsageError

HELP = """Compare runs of a matrix, cell by cell.

\b
  fanwise compare before after            two runs
  fanwise compare before after another    each of the others with the first
  fanwise compare name@1 name@latest      versions of a matrix, before and after edits
  fanwise compare before.jsonl after      a file that `fanwise export` wrote

Cells are matched by input and repeat, whatever else was changed: prompts, models
or strategies. Prints what changed in the file, the scores with paired statistics,
time and cost, and the cells whose score changed, what got worse first. Writes an
HTML page with both answers side by side. What cannot be matched is listed.
"""


def compare(
    runs: Annotated[
        list[str],
        typer.Argument(metavar="RUN RUN", help="Runs, versions (RUN@2), or exported .jsonl files."),
    ],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", help="Write the page to this file."),
    ] = Path("compare.html"),
    journal: JournalOption = None,
    as_json: JsonOption = False,
) -> None:
    if len(runs) < 2 or len(set(runs)) < len(runs):
        raise UsageError("give at least two runs, each once", "Use: fanwise compare BEFORE AFTER")
    from fanwise.specs.system import ComparedRun, ComparingSystem
    from fanwise.view.table import exported_rows

    check_target(output)
    found = installed("matrix")
    sides: list[ComparedRun] = []
    for each in runs:
        if each.endswith(".jsonl"):
            sides.append(ComparedRun(each, exported_rows(Path(each))))
            continue
        if each.endswith((".csv", ".parquet")):
            step = "Export the run again: fanwise export RUN --output FILE.jsonl"
            raise UsageError(f"{each} is not JSON lines", step)
        with recorded_version(journal, each) as (opened, run, version):
            found = installed(run.kind)
            if not isinstance(found, ComparingSystem):
                step = "Give runs of a matrix"
                raise UsageError(f"runs of `{run.kind}` cannot be compared", step)
            sides.append(found.compared_run(opened, run, **version))
    assert isinstance(found, ComparingSystem)
    print_report(found.compare(sides), output, "comparison", as_json=as_json)
