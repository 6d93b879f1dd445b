"""`fanwise`: all commands, and the one place where errors become exit codes.

Help is plain text, because rendering it with rich would take a third of the time it may take.
Only the module of the command that was given is imported; the overview of all commands needs all.
"""

from __future__ import annotations

import os
import re
import sys
from importlib import import_module
from typing import Annotated, Any

import typer

from fanwise import __version__
from fanwise.cli.exit_codes import BAD_USAGE, BROKEN_PIPE, DONE, SOME_FAILED
from fanwise.cli.messages import report_error
from fanwise.cli.option_hints import TYPO, option_hint
from fanwise.cli.skip_pydantic import skip_pydantic
from fanwise.cli.streams import give_up_stdout, prepare_streams
from fanwise.cli.system_options import add_system_options
from fanwise.errors import FanwiseError, JournalError, OutputNotWritable, UsageError
from fanwise.system_options import hint_about

HELP = """Run work in parallel, within limits, and get every result back: in order and on disk.

\b
  ls *.png | fanwise map --cap 8 -- convert {} -resize 50% small/{}
  fanwise sample PROMPT -m M   ask a model until its answer is valid
  fanwise optimize TARGET      find a version of a function that is proven faster
  fanwise split PATH           split a code base into sub-plans
  fanwise run FILE             run a file; fanwise check FILE only checks it
  fanwise simulate FILE        estimate time, cost and bottlenecks
  fanwise pull smollm2         download a small model, to use as local:smollm2
  fanwise runs                 list the runs here
  fanwise view                 show them in the browser, live
  fanwise report RUN           write a run as an HTML page
  fanwise compare RUN RUN      compare runs of a matrix, cell by cell
  fanwise graph FILE           draw the steps of a workflow
  fanwise resume RUN           continue an interrupted run
  fanwise caps RUN openai=20   change a cap while it runs
"""

COMMANDS = (
    "map", "run", "check", "schema", "simulate", "sample", "optimize", "split", "score",
    "runs", "show", "resume", "cancel", "caps", "export", "report", "compare", "baseline", "graph",
    "pull", "view", "journal",
)  # fmt: skip
"""Each is a function in the module of this name, with its `HELP`; in the order of the help."""


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fanwise {__version__}")
        raise typer.Exit


def fanwise(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options before the command."""


def command_line(arguments: list[str]) -> typer.Typer:
    """All commands, or the one whose name comes first in the arguments.

    The options of systems are added to that one; the list of all commands does not show them.
    """
    only = arguments[:1] if arguments and arguments[0] in COMMANDS else ()
    app = typer.Typer(
        name="fanwise",
        help=HELP,
        no_args_is_help=True,
        add_completion=not only,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(fanwise)
    for name in only or COMMANDS:
        module = import_module(f"fanwise.cli.{name}")
        settings = getattr(module, "SETTINGS", None)
        app.command(name, help=module.HELP, context_settings=settings)(getattr(module, name))
        wanted = arguments if only else ["--help"] if "_FANWISE_COMPLETE" in os.environ else None
        add_system_options(app.registered_commands[-1], wanted)
    return app


def run_and_flush(arguments: list[str]) -> int:
    """Run one command, flush its output, and return its exit code."""
    prepare_streams()
    try:
        code = run(arguments)
    except BrokenPipeError:
        code = BROKEN_PIPE
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = BROKEN_PIPE
        give_up_stdout()
    except OutputNotWritable as error:
        if code in (DONE, SOME_FAILED):
            report_error(error, as_json=False)
            code = BAD_USAGE
        give_up_stdout()
    return code


def run(arguments: list[str]) -> int:
    """Run one command and return its exit code."""
    command = typer.main.get_command(command_line(arguments))
    skip_pydantic(command)
    try:
        code = _invoke(command, arguments)
    except FanwiseError as error:
        if os.environ.get("FANWISE_DEBUG"):
            raise
        report_error(error, as_json=_wants_json(arguments))
        return BAD_USAGE if isinstance(error, UsageError | JournalError) else SOME_FAILED
    except Exception as error:
        message = getattr(error, "format_message", None)
        if message is None or not hasattr(error, "exit_code"):
            raise
        # An error of the parser: its class differs between versions of typer, its shape does not.
        _report_usage(error, message(), arguments)
        return BAD_USAGE
    return code if isinstance(code, int) else DONE


def _invoke(command: Any, arguments: list[str]) -> Any:
    """Call the command. Not by the parser's own `main`, which would swallow Ctrl-C."""
    if "_FANWISE_COMPLETE" in os.environ:  # the shell asks for completions
        return command(arguments, prog_name="fanwise", standalone_mode=False)
    try:
        with command.make_context("fanwise", [*arguments]) as context:
            return command.invoke(context)
    except typer.Exit as end:
        return end.exit_code


def _report_usage(error: Exception, message: str, arguments: list[str]) -> None:
    as_json, context = _wants_json(arguments), getattr(error, "ctx", None)
    if "\n" in message and not as_json:  # without a command, the message is the help
        typer.echo(message, err=True)
        return
    command = next((each for each in arguments[:1] if each in COMMANDS), "")
    path = f"fanwise {command}".strip()
    first = _plain(message.partition("\n")[0].rstrip("."))
    step = f"See: {path} --help"
    option = getattr(error, "option_name", None)
    if option is not None and context is not None and hasattr(error, "possibilities"):
        first = f"{path} has no option {option}"
        known = (name for each in context.command.params for name in each.opts)
        near, elsewhere = option_hint(command, option, known) or "", hint_about(option)
        # What another command takes is no typo.
        step = (elsewhere if near.startswith(TYPO) else near) or near or elsewhere or step
    report_error(UsageError(first, step), as_json=as_json)


def _plain(message: str) -> str:
    """The parser's words about a bad value, without pydantic's."""
    found = re.fullmatch(r"Invalid value for '([^']*)'.*?: (?:Value error, )?(.*)", message)
    if found is None:
        return message
    for kind, name in (("number", "a number"), ("integer", "a whole number")):
        if f"Input should be a valid {kind}" in found[2]:
            return f"{found[1]} must be {name}"
    return f"{found[1]}: {found[2]}"


def _wants_json(arguments: list[str]) -> bool:
    ours = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in ours
