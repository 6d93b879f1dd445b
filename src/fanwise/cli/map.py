"""`fanwise map`: fan a command over the lines of stdin."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from fanwise.cli.options import JournalOption, JsonOption
from fanwise.cli.say import say
from fanwise.core.run_id import check_run_id
from fanwise.errors import UsageError

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


def register(app: typer.Typer) -> None:
    # Without interspersed options everything after CMD belongs to CMD, also without `--`.
    app.command("map", help=HELP, context_settings={"allow_interspersed_args": False})(map_lines)


def map_lines(
    command: Annotated[
        list[str] | None, typer.Argument(metavar="[--] CMD [ARG]...", show_default=False)
    ] = None,
    cap: Annotated[
        int,
        typer.Option("--cap", "-c", "-j", "-P", metavar="N", help="How many commands run at once."),
    ] = 10,
    lines: Annotated[
        int, typer.Option("-n", metavar="N", help="How many lines each command gets.")
    ] = 1,
    halt: Annotated[
        str,
        typer.Option(
            metavar="WHEN",
            help="never; failure: stop at the first line that fails, like a loop; soon,fail=N:"
            " start nothing more after N failures; now,fail=N: also end what is in flight. Also"
            " success=N and done=N.",
        ),
    ] = "never",
    retry: Annotated[int, typer.Option(help="Extra attempts after a failure.")] = 0,
    timeout: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Kill an attempt after this time.")
    ] = None,
    key: Annotated[
        bool,
        typer.Option(
            "--key",
            help="Identify lines by content, so that a resume can use an edited input. "
            "Every line must be different.",
        ),
    ] = False,
    null: Annotated[
        bool, typer.Option("--null", "-0", help="Input lines end with NUL instead of newline.")
    ] = False,
    shell: Annotated[
        bool, typer.Option("--shell", help="Run CMD with /bin/sh; {} is quoted as one word.")
    ] = False,
    tag: Annotated[
        bool, typer.Option("--tag", help="Prefix each line of output with its input line.")
    ] = False,
    joblog: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write a job log in GNU parallel's format."),
    ] = None,
    quiet: Annotated[
        bool,
        typer.Option("--quiet", "-q", help="No progress line and no list of failures."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the commands without running them.")
    ] = False,
    run_id: Annotated[
        str | None, typer.Option("--run", metavar="ID", help="The run's id. Default: a new one.")
    ] = None,
    journal: JournalOption = None,
    as_json: JsonOption = False,
) -> int:
    """Run a command for each line."""
    import asyncio

    from fanwise.cli.input_file import open_input
    from fanwise.cli.map_dry_run import print_commands
    from fanwise.cli.map_end import exit_code, tell
    from fanwise.cli.map_run import MapPlan, execute
    from fanwise.cli.map_spec import MapSpec

    if not command:
        raise UsageError("there is no command", "Write: fanwise map -- CMD {}")
    spec = MapSpec(
        argv=command,
        cwd=os.getcwd(),  # noqa: PTH109
        shell=shell,
        cap=cap,
        halt=halt,
        retry=retry,
        timeout=timeout,
        key=key,
        null=null,
        lines=lines,
        tag=tag,
        joblog=None if joblog is None else os.path.abspath(joblog),  # noqa: PTH100
    )
    spec.check()
    if run_id is not None:
        check_run_id(run_id)
    stdin = open_input()
    if os.isatty(stdin):
        say("reading lines from the terminal; Ctrl-D ends them")
    if dry_run:
        return print_commands(spec, stdin, as_json=as_json)
    plan = MapPlan(spec, run_id, journal, fd=stdin, as_json=as_json, quiet=quiet)
    end = asyncio.run(execute(plan))
    tell(end, journal, as_json=as_json)
    return exit_code(end)
