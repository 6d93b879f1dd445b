"""`fanwise run`: run a file with the system it is for."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fanwise.cli.exit_codes import DONE, PAUSED, SOME_FAILED
from fanwise.cli.messages import say_lines
from fanwise.cli.options import FileArgument, JournalOption, JsonOption, OnOption, RunIdOption
from fanwise.cli.recorded_run import recorded_run
from fanwise.cli.streams import write_stderr
from fanwise.cli.system_options import GivenOptions
from fanwise.errors import JournalDamaged, JournalUnreadable, RunNotFound, UsageError

if TYPE_CHECKING:
    from fanwise.kernel.run import Run
    from fanwise.specs import End, Runnable
    from fanwise.specs.system import Approval

HELP = """Run a file. Its top-level key says which system it is for.

\b
  fanwise run reviews.yaml
  fanwise run reviews.yaml --run monday     choose the run's id
  fanwise run matrix.yaml --only model=openai:* --only input=3 --only input=4
  fanwise run matrix.yaml --rerun failed    run failed cells again
  fanwise run matrix.yaml --junit gate.xml  the verdicts on `expect:`, for CI
  fanwise run flow.yaml --input name=value --input text=@notes.md
  fanwise run flow.yaml --input name=value --dry-run    show what would run
  fanwise run optimize.yaml --apply         write the winner to the work tree
  fanwise run plan.yaml --yes               approve the plan without asking
  fanwise run reviews.yaml --view           and show it in the browser, live
  fanwise check reviews.yaml                check the file without spending

The whole file is checked before anything starts; an error names its line,
column and field. Everything is recorded: after Ctrl-C, a crash or kill -9,
continue with `fanwise resume RUN`. With --run and an existing id, the same file
continues that run; a different file is refused.

Running a matrix with the same `name` again continues that run, even if the file
was edited. Unchanged cells are kept, the others run: that is a new version, and
earlier ones are kept (`fanwise runs --name NAME`). --new reuses nothing.

Running a plan with the same `name` again keeps sub-plans whose files have not
changed. A plan first shows what it would run and asks for approval; without a
terminal, pass --yes. Nothing is recorded or spent before that. With --view it is
approved in the browser. The result is a branch; your work tree is written only
with --apply.

A workflow asks at the terminal when it reaches a gate. Without a terminal it
pauses with exit code 3; continue with `fanwise resume RUN --answer STEP=approve`.

Press Ctrl-C once to finish what is in flight, twice to cancel it.

Exit codes: 0 done, 1 some failed, 2 bad usage or file, 3 paused at a gate,
4 an expectation of the file is refuted, 130 halted or cancelled.
"""


def run(
    file: FileArgument,
    run_id: RunIdOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would run, without running it.")
    ] = False,
    journal: JournalOption = None,
    on: OnOption = None,
    shows: Annotated[
        bool, typer.Option("--view", help="Show the run in the browser while it happens.")
    ] = False,
    as_json: JsonOption = False,
    *,
    options: GivenOptions,
) -> int:
    from fanwise.cli.check import preview, print_preview
    from fanwise.cli.execution import Execution, run_and_report
    from fanwise.kernel.run import new_run_id
    from fanwise.specs import read, runnable_of, system_of
    from fanwise.specs.place import place_of
    from fanwise.specs.system import Opening

    document = read(file)
    system = system_of(document)
    given = options.of(system)
    runnable = runnable_of(system, document, given)
    if dry_run:
        _ = runnable.spec  # reports what is wrong with the inputs, as a real run would
        print_preview(file, system.name, preview(runnable), as_json=as_json)
        return DONE
    place_of(on, system.name, runnable)  # refuse it before anything is asked
    yes = given.get("yes", False)
    asked = _approval(runnable, run_id, journal) if shows and not yes else None
    if asked is not None:
        runnable = AwaitsApproval(runnable, asked)
    elif not is_approved(runnable, run_id, journal, yes=yes):
        return SOME_FAILED
    if not shows:
        execution = Execution(system.name, runnable, run_id, journal, as_json=as_json, on=on)
        return run_and_report(execution)
    from fanwise.cli.run_view import view_of

    run_id = run_id or getattr(runnable, "opening", Opening()).run_id or new_run_id()
    with view_of(run_id, journal):
        execution = Execution(system.name, runnable, run_id, journal, as_json=as_json, on=on)
        return run_and_report(execution)


class AwaitsApproval:
    """A runnable that is recorded and waits for somebody to approve it in the view."""

    def __init__(self, runnable: Runnable, asked: Approval) -> None:
        self._runnable = runnable
        self._asked = asked

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runnable, name)

    async def execute(self, run: Run) -> End:
        from fanwise.specs import End
        from fanwise.view.question import APPROVAL, AskedApproval

        lines, question = list(self._asked.lines), self._asked.question
        run.note(APPROVAL, AskedApproval(lines, question))
        run.end_as("paused")
        return End(notes=["it waits for approval in the view"], exit_code=PAUSED)


def is_approved(runnable: Runnable, run_id: str | None, journal: str | None, *, yes: bool) -> bool:
    """Whether it may run. `UsageError` if there is no terminal to ask at."""
    wanted = _approval(runnable, run_id, journal)
    if wanted is None:
        return True
    first, *others = wanted.lines
    say_lines([first, *(f"  {line}" for line in others)])
    if yes:
        return True
    if not (os.isatty(0) and os.isatty(2)):
        raise UsageError(
            "the plan needs approval, and there is no terminal to ask at",
            "Review it with `fanwise check`, then add --yes",
        )
    if _agreed(wanted.question):
        return True
    say_lines(["not approved; nothing was spent"])
    return False


def _approval(runnable: Runnable, run_id: str | None, journal: str | None) -> Approval | None:
    from fanwise.specs.system import ApprovedRunnable, Opening

    if not isinstance(runnable, ApprovedRunnable):
        return None
    opening: Opening = getattr(runnable, "opening", Opening())
    known = run_id or opening.run_id
    with ExitStack() as stack:
        try:
            if known is not None:
                return runnable.approval(*stack.enter_context(recorded_run(journal, known)))
        except RunNotFound:
            pass
        except JournalUnreadable as error:
            # An empty or older one: whoever opens it for writing makes the tables, or says more.
            if isinstance(error, JournalDamaged):
                raise
        return runnable.approval(None, None)


def _agreed(question: str) -> bool:
    """Whether the answer is yes. Anything else is a no, including the end of the input."""
    write_stderr(f"{question} [y/N] ")
    line = sys.stdin.readline()
    if not line:
        write_stderr("\n")
    return line.strip().lower() in ("y", "yes")
