"""What `map` and `resume` say and return when they have ended."""

from __future__ import annotations

from fanwise.cli.exit_codes import BROKEN_PIPE, DONE, INTERRUPTED, SOME_FAILED
from fanwise.cli.map_run import MapEnd
from fanwise.cli.say import say_lines


def tell(end: MapEnd, journal: str | None, *, as_json: bool) -> None:
    """Failures and the next step on stderr; with --json the outcomes on stdout."""
    if as_json:
        _print_document(end, journal)
    elif not end.broken_pipe:
        say_lines(end.lines)


def exit_code(end: MapEnd) -> int:
    """What the shell is told."""
    if end.broken_pipe:
        return BROKEN_PIPE
    if end.status != "done":
        return INTERRUPTED
    return SOME_FAILED if end.counts["failed"] else DONE


def _print_document(end: MapEnd, journal: str | None) -> None:
    from fanwise.cli.json_stream import print_document
    from fanwise.journal.open import open_journal
    from fanwise.view.item_rows import item_rows

    reading = open_journal(journal, read_only=True)
    try:
        head = {
            "run": end.run_id, "status": end.status, "halted": end.why, "counts": end.counts,
        }  # fmt: skip
        print_document(head, "outcomes", item_rows(reading, end.run_id))
    finally:
        reading.close()
