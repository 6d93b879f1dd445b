"""The view of a run that is about to start: `fanwise run FILE --view`.

A process of its own, so that it takes no time from the run.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec

from fanwise.cli.messages import say
from fanwise.cli.streams import write_stderr
from fanwise.errors import MissingExtra


@contextmanager
def view_of(run_id: str, journal: str | None) -> Iterator[None]:
    """The view, open for this block; at a terminal also after it, until Ctrl-C."""
    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        raise MissingExtra("fanwise run --view", "view")
    where = [] if journal is None else ["--journal", journal]
    command = [sys.executable, "-m", "fanwise", "view", run_id, *where]
    # In a session of its own: Ctrl-C is for the run.
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as view:
        try:
            assert view.stderr is not None
            write_stderr(view.stderr.readline())  # where it is
            yield
            if os.isatty(2) and view.poll() is None:
                say("the view stays open; Ctrl-C ends it")
                with suppress(KeyboardInterrupt):
                    view.wait()
        finally:
            view.terminate()
