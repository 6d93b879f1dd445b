"""`fanwise caps`: look at the caps of a run, and change them while it is executed."""

from __future__ import annotations

import time
from contextlib import closing
from typing import Annotated

import typer

from fanwise.cli.messages import print_json, say
from fanwise.cli.options import JournalOption, JsonOption, RunArgument
from fanwise.cli.recorded_run import recorded_run
from fanwise.cli.tables import print_table
from fanwise.core.stats import TOTAL
from fanwise.errors import UsageError

HELP = """Show the caps of a run, or change them while it is executed.

\b
  fanwise caps RUN                 its caps: at the beginning, and now
  fanwise caps RUN openai=20       at most 20 at once from now on
  fanwise caps RUN total=4         how many lines of a map, or items, run at once

What is in flight goes on; a higher cap is used at once. It holds until the run
ends: a resume begins with the caps of the file again. Change rates, exclusive and
shared caps in the file.
"""

ANSWER_S = 10.0
"""How long to wait for the process that executes the run."""
LOOK_EVERY_S = 0.05


def caps(
    run_id: RunArgument,
    changes: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME=N]...", help="The new limits.")
    ] = None,
    journal: JournalOption = None,
    as_json: JsonOption = False,
) -> None:
    from fanwise.view.limits import cap_answers, cap_limits

    wanted = dict(map(_change, changes or ()))
    if wanted:
        _request(journal, run_id, wanted)
    deadline = time.monotonic() + ANSWER_S
    while True:
        with recorded_run(journal, run_id) as (opened, _):
            events = list(opened.events(run_id))
        limits = cap_limits(events)
        answers = {each.name: each for each in cap_answers(events)}
        open_ = [n for n, limit in wanted.items() if n not in answers or answers[n].asked != limit]
        open_ = [n for n in open_ if n not in limits or limits[n].now != wanted[n]]
        if not open_ or time.monotonic() > deadline:
            break
        time.sleep(LOOK_EVERY_S)
    refused = {n: answers[n].refused for n in wanted if n in answers and n not in open_}
    for name, why in refused.items():
        if why is not None:
            raise UsageError(f"cap {name!r} of run {run_id!r} was not changed: {why}")
    if as_json:
        print_json({"run": run_id, "caps": {n: each._asdict() for n, each in limits.items()}})
    else:
        rows = [[n, *map(_number, each)] for n, each in limits.items()]
        print_table(("CAP", "BEGAN WITH", "NOW"), rows, right=(1, 2))
    if open_:
        say(f"asked for, but not answered yet: {', '.join(open_)}")


def _change(text: str) -> tuple[str, int]:
    name, equals, number = text.rpartition("=")
    if not equals or not name or not number.isascii() or not number.isdigit() or int(number) < 1:
        raise UsageError(f"{text!r} is no change of a cap", "Write NAME=N, such as openai=20")
    return TOTAL if name == "cap" else name, int(number)


def _request(journal: str | None, run_id: str, wanted: dict[str, int]) -> None:
    from fanwise.journal.open import open_journal
    from fanwise.specs.nearest import did_you_mean
    from fanwise.view.limits import cap_limits
    from fanwise.view.run_summary import shown_status

    with recorded_run(journal, run_id) as (opened, run):
        status, known = shown_status(run), cap_limits(opened.events(run_id))
    if status != "running":
        raise UsageError(
            f"run {run_id!r} is not being executed: it is {status}",
            "Change the caps in its file, then resume it",
        )
    for name in wanted:
        if name not in known:
            raise UsageError(f"run {run_id!r} has no cap {name!r}{did_you_mean(name, known)}")
    with closing(open_journal(journal)) as writing:
        writing.request_caps(run_id, wanted)


def _number(limit: int | None) -> str:
    return "a rate" if limit is None else str(limit)
