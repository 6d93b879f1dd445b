"""`fanwise cancel`: cancel a run that another process is executing."""

from __future__ import annotations

import time
from contextlib import closing
from typing import Annotated

import typer

from fanwise.cli.messages import print_json, say
from fanwise.cli.options import JournalOption, JsonOption, RunArgument
from fanwise.cli.recorded_run import recorded_run
from fanwise.errors import UsageError

HELP = """Cancel a run that another process is executing.

Its commands are ended together with everything they started. Finished items
stay recorded.

\b
  fanwise cancel RUN
  fanwise cancel RUN --no-wait
  fanwise cancel RUN --halt      start nothing more; what is in flight finishes
  fanwise resume RUN             to continue it later
"""

LOOK_EVERY_S = 0.05


def cancel(
    run_id: RunArgument,
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Wait until the run has ended.")
    ] = True,
    halt: Annotated[
        bool, typer.Option("--halt", help="Start nothing more; what is in flight finishes.")
    ] = False,
    journal: JournalOption = None,
    as_json: JsonOption = False,
) -> None:
    status = _status(journal, run_id)
    if status != "running":
        raise UsageError(
            f"run {run_id!r} is not being executed: it is {status}",
            f"To go on with it: fanwise resume {run_id}",
        )
    _request(journal, run_id, halt=halt)
    if wait and _out_of_sight(journal, run_id):
        say("its owner is on another host and cannot be seen from here: not waiting for it")
        wait = False
    while wait and status == "running":
        time.sleep(LOOK_EVERY_S)
        status = _status(journal, run_id)
    if as_json:
        print_json({"run": run_id, "status": status})
    else:
        asked = f"{'halt' if halt else 'cancel'} requested"
        say(f"{run_id}: {status if wait else asked}")


def _status(journal: str | None, run_id: str) -> str:
    from fanwise.view.run_summary import shown_status

    with recorded_run(journal, run_id) as (_, run):
        return shown_status(run)


def _out_of_sight(journal: str | None, run_id: str) -> bool:
    from fanwise.journal.open import postgres_address
    from fanwise.journal.owner import liveness

    if postgres_address(journal) is not None:  # the server sees all owners
        return False
    with recorded_run(journal, run_id) as (_, run):
        return run.owner is not None and liveness(run.owner) == "unknown"


def _request(journal: str | None, run_id: str, *, halt: bool) -> None:
    from fanwise.journal.open import open_journal
    from fanwise.kernel.cap_changes import NOTHING_MORE

    with closing(open_journal(journal)) as writing:
        if halt:
            writing.request_caps(run_id, NOTHING_MORE)
        else:
            writing.request_cancel(run_id)
