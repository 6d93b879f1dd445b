"""`fanwise view`: the runs of a journal in the browser, while they happen."""

from __future__ import annotations

import webbrowser
from typing import Annotated

import typer

from fanwise.cli.messages import say
from fanwise.cli.options import JournalOption
from fanwise.core.run_id import check_run_id
from fanwise.errors import MissingExtra

HELP = """Show runs in the browser, live.

\b
  fanwise view                    all runs of the journal here
  fanwise view RUN                one run
  fanwise view --port 7777 --no-open
  fanwise view --read-only        without buttons that change something

The page shows runs of other processes and of the past too: it reads the journal.
It can cancel a run, go on with one and try again what failed; that is recorded.

The server listens on this machine alone, and only the printed address opens it.
Ctrl-C ends the server, not the runs.

Behind a proxy that signs people in: --origin https://runs.example.com names the
address that people use, --user-header X-Forwarded-User who acts. Needs
fanwise[view].
"""


def view(
    run_id: Annotated[
        str | None, typer.Argument(metavar="[RUN]", help="Open the page of this run.")
    ] = None,
    port: Annotated[int, typer.Option(metavar="N", help="The port. Default: a free one.")] = 0,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Listen on another interface.")
    ] = "127.0.0.1",
    origin: Annotated[
        str, typer.Option(metavar="URL", help="The address that a proxy makes of it.")
    ] = "",
    user_header: Annotated[
        str, typer.Option(metavar="NAME", help="The proxy's header that says who acts.")
    ] = "",
    read_only: Annotated[bool, typer.Option("--read-only", help="Nothing can be changed.")] = False,
    opens: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the address in a browser.")
    ] = True,
    journal: JournalOption = None,
) -> None:
    if run_id is not None:
        check_run_id(run_id)
    try:
        from fanwise.web.server import LOOPBACK, serve
    except ModuleNotFoundError as error:
        if error.name not in ("starlette", "uvicorn"):
            raise
        raise MissingExtra("fanwise view", "view") from None

    def ready(address: str) -> None:
        if run_id is not None:
            address = address.replace("/?", f"/runs/{run_id}?")
        say(f"the view is at {address}")
        if host != LOOPBACK:
            say(f"everybody who reaches {host} and knows the token can see these runs")
        if opens:
            webbrowser.open(address)

    serve(
        journal, ready=ready, host=host, port=port, origin=origin, read_only=read_only,
        user_header=user_header,
    )  # fmt: skip
