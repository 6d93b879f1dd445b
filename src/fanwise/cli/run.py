"""`fanwise run`: what a file says, by the system that it is for."""

from __future__ import annotations

from typing import Annotated

import typer

from fanwise.cli.exit_codes import DONE, SOME_FAILED
from fanwise.cli.options import (
    ApplyOption,
    BisectOption,
    BranchOption,
    FileArgument,
    InputOption,
    JournalOption,
    JsonOption,
    StopAfterOption,
    TrustOption,
    given,
)
from fanwise.core.run_id import check_run_id

HELP = """Run a file: its top-level key says which system it is for.

\b
  fanwise run reviews.yaml
  fanwise run reviews.yaml --run monday     with an id of your choice
  fanwise run matrix.yaml --only model=openai:* --only input=3 --only input=4
  fanwise run matrix.yaml --rerun failed    what failed, once more
  fanwise run flow.yaml --input name=value --input text=@notes.md
  fanwise run flow.yaml --input name=value --dry-run    what would run with that
  fanwise run optimize.yaml --apply         and write the winner to the work tree
  fanwise run plan.yaml --yes               a plan asks before it spends; this says yes
  fanwise check reviews.yaml                what would run; nothing is spent

The file is checked completely before anything is started; an error names its
line, column and field. Everything is recorded: after Ctrl-C, a crash or kill
-9, `fanwise resume RUN` goes on. With --run and an id that exists, the same
file goes on with that run, and another file is refused.

A matrix is its name: the next `fanwise run` goes on with it, also after the
file was edited. Cells that are as they were are kept, the others are new.

A plan is its name, too: sub-plans whose files are as they were are kept. What
it would run is shown, and asked about at the terminal; without one --yes says
so. Nothing is recorded or spent before. The result is a branch; your work tree
is written only with --apply.

A workflow that comes to a gate asks at the terminal; without one it pauses with
exit code 3, and `fanwise resume RUN --answer STEP=approve` goes on.

Ctrl-C once finishes what is in flight, twice cancels it.

Exit codes: 0 done, 1 some failed, 2 bad usage or file, 3 paused at a gate,
130 halted or cancelled.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("run", help=HELP)(run)


def run(
    file: FileArgument,
    run_id: Annotated[
        str | None, typer.Option("--run", metavar="ID", help="The run's id. Default: a new one.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="AXIS=VALUE", help="Of a matrix: only these; * is any."),
    ] = None,
    rerun: Annotated[
        str | None,
        typer.Option(
            "--rerun",
            metavar="WHICH",
            help="Of a matrix: failed, all, or a cell's id. Of a plan: failed.",
        ),
    ] = None,
    settled: Annotated[
        bool,
        typer.Option(
            "--stop-when-decided", help="Of a matrix: no repeats of what is settled already."
        ),
    ] = False,
    inputs: InputOption = None,
    stop_after: StopAfterOption = None,
    lenient: Annotated[
        bool,
        typer.Option(
            "--lenient", help="Of a workflow: unknown keys and names are warnings, not errors."
        ),
    ] = False,
    compat: Annotated[
        str | None,
        typer.Option(
            "--compat",
            metavar="spec-kit",
            help="Of a workflow: values in shell lines are parts of the line, as spec-kit has it. "
            "They can run anything.",
        ),
    ] = None,
    trust_project: TrustOption = False,
    apply: ApplyOption = False,
    branch: BranchOption = None,
    bisect: BisectOption = False,
    dirty: Annotated[
        bool,
        typer.Option("--dirty", help="Of a plan: start from the work tree as it is, not HEAD."),
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Of a plan: it is approved; do not ask.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would run, and run nothing.")
    ] = False,
    journal: JournalOption = None,
    as_json: JsonOption = False,
) -> int:
    """Run a file."""
    from fanwise.cli.approval import is_approved
    from fanwise.cli.check import preview, tell
    from fanwise.cli.execution import Execution, run_to_its_end
    from fanwise.specs import read, runnable_of, system_of

    if run_id is not None:
        check_run_id(run_id)
    document = read(file)
    system = system_of(document)
    options = given(
        only=only,
        rerun=rerun,
        stop_when_decided=settled,
        input=inputs,
        stop_after=stop_after,
        lenient=lenient,
        compat=compat,
        trust_project=trust_project,
        apply=apply,
        branch=branch,
        bisect=bisect,
        dirty=dirty,
        yes=yes,
    )
    plan = runnable_of(system, document, options)
    if dry_run:
        _ = plan.spec  # what is wrong with its inputs is said as it would be
        tell(file, system.name, preview(plan), as_json=as_json)
        return DONE
    if not is_approved(plan, run_id, journal, yes=yes):
        return SOME_FAILED
    return run_to_its_end(Execution(system.name, plan, run_id, journal, as_json=as_json))
