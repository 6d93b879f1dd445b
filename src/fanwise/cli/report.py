"""`fanwise report`: a run as an HTML page, and a summary on stdout."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fanwise.cli.messages import print_json, print_line, say
from fanwise.cli.options import JournalOption, JsonOption, RunArgument
from fanwise.cli.recorded_run import installed, recorded_version
from fanwise.cli.system_options import GivenOptions
from fanwise.errors import UsageError
from fanwise.view.text_file import cannot_write, text_file

if TYPE_CHECKING:
    from fanwise.specs.system import Report

HELP = """Write a run as one HTML file, and print a summary.

\b
  fanwise report RUN                     writes RUN.html
  fanwise report RUN --output page.html
  fanwise report RUN --json              the numbers, for programs
  fanwise report RUN@2                   a matrix as it was in version 2

For a matrix: scores with intervals, a heat map of inputs, paired comparisons with
corrected p-values, pass@k if there are repeats, latency, cost, a timeline by cap,
and every cell with its prompt and answer, to search and filter.

For optimize: every candidate with its lineage, verdict and reason, its speed-up
with the interval, the time of each stage, the smallest call that differs with a
ready-made test, and the winner's patch. The printed summary is a Markdown table
for a pull request.

For a plan: the tree of sub-plans with their states, a timeline of who ran and
who waited, conflicts with both sides and their resolution, requests with their
patches, broken names, every attempt with its prompt, the check and its
bisection, the result, and the cost of each sub-plan.

For a workflow: the graph with the state and time of each step, a timeline, each
step with input, output, log and cost, fan-outs as tables to filter, and gates
with who answered what and when.

The file is self-contained and needs no network. It contains prompts, answers
and code, so share it only with people who may see them. A run that is still
going on is shown as it is now.

An earlier report is overwritten; any other file is not.
"""
BEGINNING = 1 << 12
"""How many bytes of an existing file are read to see whether it is a report."""


def report(
    run_id: RunArgument,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write to this file. Default: RUN.html."
        ),
    ] = None,
    journal: JournalOption = None,
    as_json: JsonOption = False,
    *,
    options: GivenOptions,
) -> None:
    from fanwise.specs.system import ReportingSystem

    target = Path(f"{run_id}.html") if output is None else output
    with recorded_version(journal, run_id) as (found, run, version):
        system = installed(run.kind)
        if not isinstance(system, ReportingSystem):
            step = f"Use: fanwise show {run_id}"
            raise UsageError(f"runs of `{run.kind}` have no report ({run_id})", step)
        check_target(target)
        page = system.report(found, run, **options.of_kind(run.kind), **version)
    print_report(page, target, "report", as_json=as_json)


def print_report(report: Report, target: Path, what: str, *, as_json: bool) -> None:
    """Write the page, and print the summary."""
    write_page(target, report.html)
    if as_json:
        print_json({**report.document, "report": str(target)})
        return
    for line in report.lines:
        print_line(line)
    say(f"the {what} is in {target}")


def check_target(target: Path) -> None:
    """Check that the file may be written: it is new, or an earlier report. `UsageError`."""
    from fanwise.view.html import is_report

    if not target.exists():
        return
    if not target.is_file():
        raise UsageError(f"{target} is not a file", "Name a file for the report: --output FILE")
    with target.open(encoding="utf-8", errors="replace") as file:
        beginning = file.read(BEGINNING)
    if beginning and not is_report(beginning):
        raise UsageError(
            f"{target} exists and is not a report of fanwise",
            "Move it, or name another file: --output FILE",
        )


def write_page(target: Path, html: str) -> None:
    """Replace the file atomically, so that nobody sees half a page."""
    try:
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise cannot_write(str(target), error) from error
    os.close(descriptor)
    beside = Path(name)
    try:
        with text_file(beside, str(target)) as file:
            file.write(html)
        beside.chmod(0o666 & ~_umask())
        beside.replace(target)
    except OSError as error:
        raise cannot_write(str(target), error) from error
    finally:
        with suppress(FileNotFoundError):
            beside.unlink()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
