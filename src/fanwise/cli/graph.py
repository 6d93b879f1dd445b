"""`fanwise graph`: the steps of a file, or of a run, as a picture."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
import typer

from fanwise.cli.messages import print_json, say
from fanwise.cli.options import JournalOption, JsonOption
from fanwise.cli.recorded_run import installed, recorded_run
from fanwise.errors import UsageError

if TYPE_CHECKING:
    from fanwise.specs.system import GraphingSystem
    from fanwise.view.flow_chart import FlowNode

HELP = """Draw the steps of a workflow.

\b
  fanwise graph release.yaml > release.svg
  fanwise graph release.yaml --format mermaid       text for GitHub and GitLab
  fanwise graph release.yaml --format dot | dot -Tpng > release.png
  fanwise graph --run RUN -o now.svg                how far a run is, with times

Branches stand side by side. A frame is a loop, an included file or, drawn as
several, a fan-out with its width. Of a run, the colours say how each step ended
and a fan-out counts its items; its own copy of the file is drawn.

Nothing is run or written but the picture. Exit codes: 0 drawn, 2 bad usage or file.
"""


def graph(
    file: Annotated[str | None, typer.Argument(metavar="[FILE]", help="A workflow file.")] = None,
    form: Annotated[
        Literal["svg", "mermaid", "dot"], typer.Option("--format", help="What is printed.")
    ] = "svg",
    run_id: Annotated[
        str | None, typer.Option("--run", metavar="RUN", help="Colour the steps by this run.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write to this file, not to stdout."),
    ] = None,
    journal: JournalOption = None,
    as_json: JsonOption = False,
) -> None:
    if (file is None) == (run_id is None):
        step = "A run has its own copy of its file: give --run alone"
        raise UsageError("give a file, or a run with --run", step if file else "")
    title, nodes = _of_file(file) if file is not None else _of_run(journal, str(run_id))
    if as_json:
        print_json({"title": title, "steps": msgspec.to_builtins(nodes)})
        return
    text = _drawn(form, title, nodes)
    if output is None:
        sys.stdout.write(text)
        return
    from fanwise.view.text_file import text_file

    with text_file(output, str(output)) as opened:
        opened.write(text)
    say(f"the picture is in {output}")


def _of_file(file: str) -> tuple[str, list[FlowNode]]:
    from fanwise.specs import read, system_of

    document = read(file)
    return file, list(_graphing(system_of(document).name).flow(document))


def _of_run(journal: str | None, run_id: str) -> tuple[str, list[FlowNode]]:
    with recorded_run(journal, run_id) as (found, run):
        return run_id, list(_graphing(run.kind).flow_of_run(found, run))


def _graphing(kind: str) -> GraphingSystem:
    from fanwise.specs.system import GraphingSystem

    found = installed(kind)
    if not isinstance(found, GraphingSystem):
        raise UsageError(f"`{kind}` has no steps that could be drawn")
    return found


def _drawn(form: str, title: str, nodes: list[FlowNode]) -> str:
    from fanwise.view.flow_chart import flow_chart
    from fanwise.view.flow_text import dot, mermaid

    if form == "svg":
        from fanwise.view.html import environment

        template = environment("fanwise.view").get_template("fanwise/flow.svg")
        return f"{template.render(chart=flow_chart(nodes), label=title).strip()}\n"
    return (mermaid if form == "mermaid" else dot)(nodes)
