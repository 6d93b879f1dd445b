"""`fanwise show`: everything about one run."""

from __future__ import annotations

from types import ModuleType
from typing import Annotated

import typer

from fanwise.cli.messages import print_line
from fanwise.cli.options import JournalOption, JsonOption, RunArgument
from fanwise.cli.recorded_run import recorded_version
from fanwise.cli.system_options import GivenOptions

HELP = """Show one run: status, failures, results and cost.

\b
  fanwise show RUN
  fanwise show RUN --items       each item, with its times and calls

For a workflow: the tree of steps with status and time; --items shows all of
them.

For samples: the result of each input; --items shows every sample and what was
wrong with it.

For a plan: how many sub-plans are in which state, failures, conflicts, requests,
the check and the result; --items shows the tree, every attempt with its output,
and the patches of requests.

A sum of tokens or dollars with an unknown part is unknown: it says how many
attempts are unknown, and what the others add up to.
"""


def show(
    run_id: RunArgument,
    items: Annotated[
        bool, typer.Option("--items", help="Show each item, with its times and calls.")
    ] = False,
    journal: JournalOption = None,
    as_json: JsonOption = False,
    *,
    options: GivenOptions,
) -> None:
    from fanwise.cli.messages import print_document
    from fanwise.view.run_detail import detail_lines, run_detail
    from fanwise.view.system_text import count_now, inputs_of, replaces_default_view, result_lines

    with recorded_version(journal, run_id) as (found, run, version):
        run_id, given = run.id, {**options.of_kind(run.kind), **version}
        inputs = inputs_of(run)
        detail = run_detail(found, run, count_now, inputs=inputs)
        if as_json:
            rows = _view().item_rows(found, run_id, inputs=inputs) if items else ()
            print_document(detail, "items", rows)
            return
        shown = {**detail, "fan_outs": [], "events": []} if replaces_default_view(run) else detail
        values = result_lines(found, run, fully=items, options=given)
        for line in detail_lines(shown, list(values)):
            print_line(line)
        if items:
            for line in _view().item_lines(found, run_id, inputs=inputs):
                print_line(line)


def _view() -> ModuleType:
    """Imported only for `--items`: it imports the results of commands, and with them asyncio."""
    from fanwise.view import item_rows

    return item_rows
