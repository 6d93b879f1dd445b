"""`fanwise sample`: one prompt, sampled until the answer is valid."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from fanwise.cli.options import JournalOption, JsonOption
from fanwise.core.caps import whole
from fanwise.core.run_id import check_run_id
from fanwise.errors import UsageError
from fanwise.lines.spec.input_file import open_input

MOST_TITLE = 60
HELP = """Ask a model until its answer meets all requirements, and print it.

\b
  fanwise sample 'Name a colour.' --model local:smollm2
  fanwise sample 'Write a haiku.' --model openai:gpt-5-mini \\
      --require 'It is about the sea' --loop 3 --wide 4
  fanwise sample - --model local:smollm2 --schema label.json < question.txt
  fanwise sample 'Write a Python function f.' --model openai:gpt-5-mini \\
      --command 'python -m py_compile /dev/stdin'

--wide chains ask at the same time, each up to --loop times; after a failure, a
chain tells the model what was wrong (--strategy). The first valid answer wins,
and the other requests are closed. Everything is recorded: `fanwise show RUN`
lists all samples, and `fanwise resume RUN` continues after a crash without
paying twice.

If no answer is valid, the best one is printed, its problems go to stderr, and
the exit code is 1.

Exit codes: 0 valid, 1 not valid or failed, 2 bad usage, 130 halted or
cancelled.
"""


def register(app: typer.Typer) -> None:
    app.command("sample", help=HELP)(sample)


def sample(
    prompt: Annotated[str, typer.Argument(metavar="PROMPT", help="The prompt; - is stdin.")],
    model: Annotated[
        str, typer.Option("--model", "-m", metavar="PROVIDER:MODEL", help="The model to ask.")
    ],
    require: Annotated[
        list[str] | None,
        typer.Option(
            "--require",
            "-r",
            metavar="TEXT",
            help="A requirement in words, judged by the model. Repeatable.",
        ),
    ] = None,
    regex: Annotated[
        list[str] | None,
        typer.Option(
            "--regex", metavar="PATTERN", help="A pattern the answer must contain. Repeatable."
        ),
    ] = None,
    schema: Annotated[
        str | None,
        typer.Option("--schema", metavar="FILE", help="A JSON schema the answer must match."),
    ] = None,
    command: Annotated[
        list[str] | None,
        typer.Option(
            "--command",
            metavar="CMD",
            help="Must exit with 0, given the answer on stdin. Repeatable.",
        ),
    ] = None,
    loop: Annotated[int, typer.Option("--loop", help="Most samples per chain.")] = 3,
    wide: Annotated[int, typer.Option("--wide", help="How many chains run at once.")] = 4,
    strategy: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="rejection, repair, multi_turn, advice, best_of, majority or minimum_bayes_risk.",
        ),
    ] = "repair",
    winner: Annotated[
        Literal["fastest", "first"],
        typer.Option(help="`first` wins by order instead of speed: the same result every time."),
    ] = "fastest",
    seed: Annotated[int, typer.Option(help="A different seed gives different samples.")] = 0,
    temperature: Annotated[float | None, typer.Option(help="Default: the provider's.")] = None,
    max_tokens: Annotated[
        int | None, typer.Option(help="Longest answer. Set it if you have a budget.")
    ] = None,
    usd: Annotated[
        float | None, typer.Option("--usd", metavar="DOLLARS", help="Spend no more than this.")
    ] = None,
    deadline: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Stop after this time with the best sample so far."),
    ] = None,
    record: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Record every call in FILE, to use as --model replay:FILE."
        ),
    ] = None,
    run_id: Annotated[
        str | None, typer.Option("--run", metavar="ID", help="The run's id. Default: a new one.")
    ] = None,
    journal: JournalOption = None,
    as_json: JsonOption = False,
) -> int:
    from fanwise.cli.execution import Execution, run_to_its_end
    from fanwise.sampling.system import SYSTEM

    if run_id is not None:
        check_run_id(run_id)
    whole("--loop", loop)
    whole("--wide", wide)
    requirements: list[Any] = [{"regex": each, "check_only": True} for each in regex or ()]
    requirements += [{"command": _words(each), "check_only": True} for each in command or ()]
    requirements += require or []
    text = _utf8(_read_stdin() if prompt == "-" else prompt)
    if not text.strip():
        raise UsageError("the prompt is empty", "Give a text, or - and a text on stdin")
    given: dict[str, Any] = {
        "name": " ".join(text.split())[:MOST_TITLE] or "sample",
        "model": model,
        "prompt": text,
        "requirements": requirements,
        "schema": None if schema is None else _schema(schema),
        "strategy": strategy,
        "loop_budget": loop,
        "concurrency_budget": wide,
        "winner": winner,
        "seed": seed,
        "options": _given(temperature=temperature, max_tokens=max_tokens),
        "budget": None if usd is None else {"usd": usd},
        "deadline": deadline,
        "record": record,
    }
    plan = SYSTEM.literally(_given(**given), Path.cwd())
    return run_to_its_end(Execution(SYSTEM.name, plan, run_id, journal, as_json=as_json))


def _given(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _read_stdin() -> str:
    """Read it as UTF-8 whatever the locale; bytes that are not stay visible to `_utf8`."""
    try:
        with os.fdopen(
            open_input(), encoding="utf-8", errors="surrogateescape", closefd=False
        ) as file:
            return file.read()
    except OSError as error:
        raise UsageError(
            f"cannot read stdin: {error.strerror}", "Give the prompt as an argument, or pipe it in"
        ) from error


def _utf8(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        what = f"the prompt is not UTF-8: character {error.start + 1} is {text[error.start]!r}"
        raise UsageError(what, "Convert it, for instance with iconv") from None
    return text


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        raise UsageError(f"--command {line!r} cannot be read: {error}") from None


def _schema(file: str) -> Any:
    from fanwise.specs import read

    return read(file).data
