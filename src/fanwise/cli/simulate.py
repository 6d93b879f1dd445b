"""`fanwise simulate`: how long a file would take, what it would cost, what limits it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from fanwise.cli.messages import print_json, print_line, say_lines
from fanwise.cli.options import FileArgument, JournalOption, JsonOption
from fanwise.cli.recorded_run import recorded_run
from fanwise.cli.system_options import GivenOptions
from fanwise.errors import BadSpec, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from fanwise.journal.port import AttemptRecord, Journal, RunRecord
    from fanwise.specs.system import End, SimulatingSystem

LONGEST = 3
"""Times the mean time between losses: longer items begin again so often that nothing ends."""
HELP = """Estimate how long a file takes, and what it costs.

\b
  fanwise simulate reviews.yaml
  fanwise simulate reviews.yaml --latency openai=lognormal:2s:0.5 --latency local=8s
  fanwise simulate reviews.yaml --learn monday      with the latencies of that run

This uses the real scheduler with a virtual clock, so hours take seconds. No key
is needed, nothing is asked, started, spent or written, and none of your
functions or commands are called.

Latencies are given (--latency), learned from an earlier run (--learn: times,
lengths of answers, refusals and failures) or assumed; the last lines of the
output say which. --latency takes a model, a provider or `all`, and a duration
or lognormal:MEDIAN:SIGMA. Given latencies take precedence over learned ones.

Of a workflow, --latency takes a step, a type of steps or `all`, and --items how
many items a fan-out has; conditions, items and iterations that depend on outputs
are learned too, or assumed. Agents take 60 s, other programs 1 s.

It prints the time with its range over several simulations, the time of a
sequential run, the shortest time any schedule could reach, the cost, which cap
or rate is the bottleneck, how much of each is used, and the time with other
caps.

--nodes N --workers W also estimates a run of a matrix on a Ray cluster: how busy
its one driver is, and with --node-mtbf 5h what lost nodes cost.

Exit codes: 0 simulated, 2 bad usage or file.
"""


def simulate(
    file: FileArgument,
    latency: Annotated[
        list[str] | None,
        typer.Option(
            "--latency", metavar="NAME=LATENCY", help="How long calls of this model take."
        ),
    ] = None,
    learn: Annotated[
        str | None, typer.Option("--learn", metavar="RUN", help="Learn latencies from this run.")
    ] = None,
    nodes: Annotated[
        int | None, typer.Option("--nodes", metavar="N", min=1, help="On a cluster of N nodes.")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option("--workers", metavar="W", min=1, help="Workers on each node; else 1."),
    ] = None,
    node_mtbf: Annotated[
        str | None,
        typer.Option("--node-mtbf", metavar="TIME", help="A node is lost so often, such as 5h."),
    ] = None,
    journal: JournalOption = None,
    as_json: JsonOption = False,
    *,
    options: GivenOptions,
) -> int:
    from fanwise.specs import read, system_of
    from fanwise.specs.system import Assumed, SimulatingSystem

    document = read(file)
    system = system_of(document)
    if not isinstance(system, SimulatingSystem):
        message = "files of this system cannot be simulated; `fanwise check` shows what would run"
        problem = document.problem((system.name,), message, key=True)
        raise BadSpec(document.name, [problem])
    given = dict(_latency(text) for text in latency or ())
    learned, recorded = ([], None) if learn is None else _attempts(journal, learn, system)
    assumed = Assumed(given, learned, learn or "", recorded)
    end = system.simulate(document, assumed, **options.of(system))
    if nodes is not None:
        end = _on_nodes(end, nodes, workers or 1, node_mtbf)
    elif node_mtbf is not None or workers is not None:
        what = "--workers" if node_mtbf is None else "--node-mtbf"
        raise UsageError(f"{what} is of the nodes of a cluster", "Give --nodes as well")
    if as_json:
        print_json({"file": file, "kind": system.name, "notes": list(end.notes), **end.document})
        return end.exit_code
    for line in end.output:
        print_line(line)
    say_lines(list(end.notes))
    return end.exit_code


def _on_nodes(end: End, nodes: int, workers: int, mtbf: str | None) -> End:
    """The same items on a cluster: the caps are those that the simulation found to bind."""
    from random import Random

    import msgspec

    from fanwise.core.cluster_model import ClusterModel, estimate
    from fanwise.view.formats import duration_text

    cells, work_s = end.document.get("cells"), end.document.get("one_after_another_s")
    alone_s = end.document.get("predicted_s")
    if not cells or not work_s or not alone_s:
        raise UsageError("--nodes is for files with cells: a matrix", "Leave it out")
    model = ClusterModel(
        nodes=nodes,
        workers=workers,
        most=max(1, round(work_s / alone_s)),
        mtbf_s=_mtbf(mtbf),
    )
    if model.mtbf_s is not None and work_s / cells > LONGEST * model.mtbf_s:
        each = duration_text(work_s / cells)
        raise UsageError(
            f"items of {each} hardly ever end on nodes that are lost every {mtbf}",
            "Give a longer --node-mtbf",
        )
    found = estimate(model, cells, work_s / cells, Random(0).random)
    lines = [
        "",
        f"on {nodes} nodes x {workers} workers: {duration_text(found.seconds)}, with the same caps",
        f"driver busy        {found.driver_busy:.0%}; at 100% more nodes do not help",
        f"lost nodes         {found.lost_nodes}, {found.begun_again} items begun again",
    ]
    document = {**end.document, "cluster": msgspec.to_builtins(found)}
    return msgspec.structs.replace(end, document=document, output=[*end.output, *lines])


def _mtbf(text: str | None) -> float | None:
    from fanwise.specs.model import seconds

    try:
        found = None if text is None else float(seconds(text))
    except ValueError as error:
        raise UsageError(f"--node-mtbf {text!r}: {error}", "Write a time, such as 5h") from None
    if found is not None and found <= 0:
        raise UsageError(f"--node-mtbf is {text!r}", "Write a time, such as 5h")
    return found


def _latency(text: str) -> tuple[str, str]:
    name, equals, latency = text.rpartition("=")  # the name of a model may contain =
    if not equals or not name or not latency:
        raise UsageError(f"--latency {text!r} is not NAME=LATENCY", "Write: --latency openai=2s")
    return name, latency


def _attempts(
    journal: str | None, run_id: str, system: SimulatingSystem
) -> tuple[list[AttemptRecord], Any]:
    """The calls of a run, and what the system itself learns from it."""
    learn: Callable[[Journal, RunRecord], Any] | None = getattr(system, "learn", None)
    with recorded_run(journal, run_id) as (found, run):
        attempts = [
            attempt
            for fan_out in found.fan_outs(run_id)
            for attempt in found.attempts(fan_out.id)
            if attempt.call is not None
        ]
        return attempts, None if learn is None else learn(found, run)
