"""`fanwise sample`: one prompt, sampled until the answer is valid."""

from __future__ import annotations

from typing import Annotated

import typer

from fanwise.cli.options import JournalOption, JsonOption, OnOption, RunIdOption
from fanwise.cli.system_options import GivenOptions
from fanwise.errors import UsageError

HELP = """Ask a model until its answer meets all requirements.

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


def sample(
    prompt: Annotated[str, typer.Argument(metavar="PROMPT", help="The prompt; - is stdin.")],
    run_id: RunIdOption = None,
    journal: JournalOption = None,
    on: OnOption = None,
    as_json: JsonOption = False,
    *,
    options: GivenOptions,
) -> int:
    from fanwise.cli.execution import Execution, run_and_report
    from fanwise.sampling.system import SYSTEM

    text = _utf8(_read_stdin() if prompt == "-" else prompt)
    if not text.strip():
        raise UsageError("the prompt is empty", "Give a text, or - and a text on stdin")
    runnable = SYSTEM.from_command_line(text, options.of(SYSTEM))
    return run_and_report(Execution(SYSTEM.name, runnable, run_id, journal, as_json=as_json, on=on))


def _read_stdin() -> str:
    """Read it as UTF-8 whatever the locale; bytes that are not stay visible to `_utf8`."""
    try:
        with open(0, "rb", closefd=False) as stdin:
            return stdin.read().decode("utf-8", "surrogateescape")
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
