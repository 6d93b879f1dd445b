"""`fanwise map`: run a command for each line of stdin."""

from __future__ import annotations

import os
import shlex
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from fanwise.cli.exit_codes import DONE
from fanwise.cli.messages import say
from fanwise.cli.options import JournalOption, JsonOption, OnOption, RunIdOption
from fanwise.cli.system_options import GivenOptions
from fanwise.errors import UsageError

if TYPE_CHECKING:
    from fanwise.lines.spec.map_spec import MapSpec

HELP = """Run CMD once for each line of stdin, at most --cap at once.

{} stands for the line; without {}, the line is the last argument. The line is
always one argument, and no shell interprets it. Empty lines count too. As in
GNU parallel, {.} is the line without its extension, {/} without its folder,
{//} only its folder, {/.} without both, {#} the number of the command, and {%}
a slot number from 1 to --cap that no other running command has.

\b
  seq 100 | fanwise map --cap 4 -- ./evaluate --seed {}
  find . -name '*.py' -print0 | fanwise map -0 -- ruff check {}
  cat urls | fanwise map --retry 3 --timeout 30 -- curl -fsS {} > pages
  cat names | fanwise map --shell -- 'grep -c {} words.txt | tr -d "\\n"'
  ls *.wav | fanwise map -j 4 --tag --halt soon,fail=1 -- flac {} -o {.}.flac

Outputs are printed in input order, each in one piece, as soon as possible.
Everything is recorded: after Ctrl-C, a crash or kill -9, `fanwise resume RUN`
continues, and both outputs together contain each line's output once. Lines that
were in flight run again, and are named at the end.

stdin is read ahead into the journal, up to 8 MB: if the producer is killed
together with fanwise, none of the lines it wrote are lost.

Press Ctrl-C once to finish what is in flight, twice to cancel it.

Exit codes: 0 all done, 1 some failed, 2 bad usage, 130 halted or cancelled.
"""


SETTINGS = {"allow_interspersed_args": False}
"""Everything after CMD belongs to CMD, even without `--`."""


def map(  # noqa: A001 - the name of the command
    command: Annotated[
        list[str] | None, typer.Argument(metavar="[--] CMD [ARG]...", show_default=False)
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the commands without running them.")
    ] = False,
    run_id: RunIdOption = None,
    journal: JournalOption = None,
    on: OnOption = None,
    as_json: JsonOption = False,
    *,
    options: GivenOptions,
) -> int:
    from fanwise.cli.execution import Execution, run_and_report
    from fanwise.lines.spec.map_spec import open_input
    from fanwise.lines.system import KEY, SYSTEM

    if not command:
        raise UsageError("no command given", "Write: fanwise map -- CMD {}")
    stdin = open_input()
    runnable = SYSTEM.from_command_line(command, stdin, **options.of(SYSTEM))
    if os.isatty(stdin):
        say("reading lines from the terminal; end with Ctrl-D")
    if dry_run:
        return _print_commands(runnable.map_spec, stdin, as_json=as_json)
    return run_and_report(
        Execution(KEY, runnable, run_id, journal, resume=False, as_json=as_json, on=on)
    )


def _print_commands(spec: MapSpec, stdin: int, *, as_json: bool) -> int:
    from fanwise.cli.messages import print_document
    from fanwise.lines.run.work import commands

    if as_json:
        print_document({"dry_run": True}, "commands", commands(spec, stdin))
        return DONE
    for words in commands(spec, stdin):
        sys.stdout.write(f"{shlex.join(words)}\n")
    return DONE
