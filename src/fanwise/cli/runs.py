"""`fanwise runs`: list the runs in the journal."""

from __future__ import annotations

from contextlib import closing

from fanwise.cli.messages import print_json, say
from fanwise.cli.options import JournalOption, JsonOption

HELP = """List the runs in the journal, newest first.

\b
  fanwise runs
  fanwise runs --json | jq '.runs[] | select(.status == "interrupted") | .id'

A run is `interrupted` if the process that executed it is gone. Continue it with
`fanwise resume RUN`.
"""


def runs(journal: JournalOption = None, as_json: JsonOption = False) -> None:
    from fanwise.cli.system_text import count_now
    from fanwise.journal.open import journal_is_there, open_journal, shown_location
    from fanwise.view.run_summary import run_summaries

    if not journal_is_there(journal):
        found = []
    else:
        with closing(open_journal(journal, read_only=True)) as opened:
            found = list(run_summaries(opened, count_now))
    if as_json:
        print_json({"runs": found})
    elif not found:
        say(f"no runs yet in {shown_location(journal)}")
    else:
        _print_table(found)


def _print_table(found: list[dict[str, object]]) -> None:
    from fanwise.cli.tables import print_table
    from fanwise.view.run_summary import table_row

    print_table(("RUN", "KIND", "WHAT", "STATUS", "DONE", "FAILED", "OF", "STARTED", "TOOK"),
                [table_row(each) for each in found], right=(4, 5, 6, 8))  # fmt: skip
