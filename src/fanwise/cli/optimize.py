"""`fanwise optimize`: candidates for one function, without a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fanwise.cli.options import JournalOption, JsonOption
from fanwise.cli.system_options import GivenOptions
from fanwise.core.run_id import check_run_id
from fanwise.errors import UsageError

RECORDED = "recorded"
HELP = """Judge candidates for a faster function, and find the one that is proven faster.

\b
  fanwise optimize src/pkg/graph.py::find --candidates 'candidates/*' \\
      --test 'pytest -q tests/test_graph.py'
  fanwise optimize src/pkg/graph.py::find --propose openai:gpt-5-mini -n 8 \\
      --repair 2 --test 'pytest -q' --slots 4 --apply
  fanwise optimize --branches 'perf/*' --test 'pytest -q' \\
      --bench 'python bench.py' --branch faster

Candidates are patches, whole files, functions, branches, or proposals of a
model or a command. Each is checked in its own workspace, --slots at once: it
must apply and compile, the tests must give the same results as before, and
calls of TARGET (recorded from the tests, and variations of them) must behave as
on the original. Candidates that pass are timed next to the original, with
nothing else running, until the result is clear. The winner has the highest
proven speed-up.

Your files are not touched: the winner is written as a patch file, unless you
pass --apply or --branch. Everything is recorded: see `fanwise show RUN` and
`fanwise report RUN`; after Ctrl-C or a crash, continue with `fanwise resume RUN`.

Exit codes: 0 there is a winner, 1 none was proven faster or some were not
judged, 2 bad usage, 130 halted or cancelled.
"""


def register(app: typer.Typer) -> None:
    app.command("optimize", help=HELP)(optimize)


def optimize(
    test: Annotated[
        str,
        typer.Option(
            "--test", "-t", metavar="LINE", help="The test command, like `pytest -q tests`."
        ),
    ],
    target: Annotated[
        str | None,
        typer.Argument(metavar="[TARGET]", help="path/to/file.py::function, or ::Class.method."),
    ] = None,
    candidates: Annotated[
        list[str] | None,
        typer.Option("--candidates", "-c", metavar="GLOB", help="Candidate files. Repeatable."),
    ] = None,
    branches: Annotated[
        list[str] | None,
        typer.Option("--branches", metavar="GLOB", help="Candidate branches. Repeatable."),
    ] = None,
    propose: Annotated[
        str | None,
        typer.Option("--propose", metavar="PROVIDER:MODEL", help="Ask a model for candidates."),
    ] = None,
    propose_command: Annotated[
        str | None,
        typer.Option("--propose-command", metavar="LINE", help="Ask a command for candidates."),
    ] = None,
    n: Annotated[
        int | None, typer.Option("-n", help="Number of first proposals. Default: 4.")
    ] = None,
    repair: Annotated[int, typer.Option(help="Rounds of repairing failed candidates.")] = 0,
    refine: Annotated[int, typer.Option(help="Rounds of refining the best candidates.")] = 0,
    bench: Annotated[
        str,
        typer.Option(
            metavar="LINE", help="Time this command. Default: the recorded calls of TARGET."
        ),
    ] = RECORDED,
    bench_call: Annotated[
        str | None, typer.Option(metavar="MODULE:FUNCTION", help="Time this function.")
    ] = None,
    bench_budget: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Longest timing of a candidate. Default: 60."),
    ] = None,
    accept: Annotated[
        float | None,
        typer.Option(metavar="RATIO", help="The smallest speed-up that counts. Default: 1.05."),
    ] = None,
    slots: Annotated[int | None, typer.Option(help="Workspaces at once. Default: 4.")] = None,
    repo: Annotated[str, typer.Option(metavar="FOLDER", help="The repository.")] = ".",
    dirty: Annotated[
        bool, typer.Option("--dirty", help="Start from the work tree instead of HEAD.")
    ] = False,
    copy: Annotated[
        list[str] | None,
        typer.Option("--copy", metavar="GLOB", help="Ignored files that the tests need."),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", help="Time-out of a command. Default: based on the original."
        ),
    ] = None,
    no_sandbox: Annotated[
        bool, typer.Option("--no-sandbox", help="Run candidates with your permissions and network.")
    ] = False,
    profile: Annotated[
        bool, typer.Option("--profile", help="Profile the original and the winner line by line.")
    ] = False,
    usd: Annotated[
        float | None, typer.Option("--usd", metavar="DOLLARS", help="Spend no more than this.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed for varied calls and their order.")] = None,
    run_id: Annotated[
        str | None, typer.Option("--run", metavar="ID", help="The run's id. Default: a new one.")
    ] = None,
    journal: JournalOption = None,
    as_json: JsonOption = False,
    *,
    options: GivenOptions,
) -> int:
    from fanwise.cli.execution import Execution, run_to_its_end
    from fanwise.optimize.system import KEY, SYSTEM
    from fanwise.specs import Document

    if run_id is not None:
        check_run_id(run_id)
    fields = _given(
        repo=repo,
        target=target,
        candidates=_given(
            files=candidates,
            branches=branches,
            propose=_given(model=propose, command=propose_command, n=n) or None,
        ),
        test=test,
        bench=_bench(target, bench, bench_call, bench_budget),
        slots=slots,
        rounds=_given(repair=repair or None, refine=refine or None) or None,
        accept=None if accept is None else {"speedup": accept},
        dirty=dirty or None,
        copy=copy,
        timeout=timeout,
        sandbox=False if no_sandbox else None,
        profile=profile or None,
        budget=None if usd is None else {"usd": usd},
        seed=seed,
    )
    document = Document("the command line", Path.cwd(), {KEY: fields})
    plan = SYSTEM.runnable(document, **options.of(SYSTEM))
    return run_to_its_end(Execution(SYSTEM.name, plan, run_id, journal, as_json=as_json))


def _bench(
    target: str | None, line: str, call: str | None, budget: float | None
) -> dict[str, Any] | None:
    if call is not None and line != RECORDED:
        raise UsageError("--bench and --bench-call are both given", "Leave one out")
    if call is not None:
        return _given(call=call, budget=budget)
    if line != RECORDED:
        return _given(command=line, budget=budget)
    if target is None:
        raise UsageError(
            "without TARGET there are no calls to time", "Give --bench LINE or --bench-call"
        )
    return _given(calls=RECORDED, budget=budget)


def _given(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
