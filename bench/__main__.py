"""`python -m bench [CASE …] [--json FILE]`. Exit code 1 if a bound is missed."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

from bench.harness import Row, save, show

CASES = {
    "startup": "the import, the help and a look at a small journal",
    "uneven": "long items among short ones",
    "total-cap": "a total cap that binds, over five providers",
    "providers": "five providers, each with its cap",
    "simulate": "a matrix predicted and then run, and how long a prediction takes",
    "memory": "100,000 trivial items in memory",
    "durable": "50,000 trivial items on disk, and a million",
    "postgres": "20,000 trivial items on a PostgreSQL server, and eight drivers at once",
    "shared-caps": "one cap over ten processes, beside a polled counter and a named actor of Ray",
    "reading": "a million items shown and exported",
    "view": "pages of large runs, and what an open page costs",
    "nested": "fan-outs inside a fan-out, over one cap",
    "threads": "sync work",
    "ray": "attempts on Ray workers, beside raw actor calls",
    "sampling-overhead": "the sampling layer alone",
    "optimize": "the same code as a candidate 200 times, and a gain of 1.3",
    "workspaces": "to reset and to make checkouts of a repository",
    "plan-merge": "130 disjoint leaves merged in 3,000 files, and sparse workspaces of them",
    "optimize-run": "twelve candidates with a test of 2 s each, on two slots",
    "optimize-traps": "faster but wrong, and right: the corpus of traps through whole runs",
    "sampling": "eight samples at a time from a real server, beside Mellea",
    "models": "model calls beside the OpenAI SDK alone, and a process that makes one",
    "matrix": "10,000 trivial cells on disk, beside Inspect AI",
    "plan-run": "a codemod over Django as a plan, beside the codemod alone",
    "statistics": "how often intervals of paired comparisons hold the truth",
    "plan-split": "Django's files split into sub-plans, beside its folders",
    "workflow": "a fan-out of 5,000 steps that do nothing, on disk",
    "soak": "endless streams with failures and retries, for five minutes; only if it is named",
}
ON_REQUEST = {"soak"}
"""Not part of all."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    known = "; ".join(f"{name}: {what}" for name, what in CASES.items())
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"all, or some of: {known}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="save the table as JSON")
    given = parser.parse_args()
    unknown = set(given.cases) - set(CASES)
    if unknown:
        parser.error(f"no such case: {', '.join(sorted(unknown))}")
    names = given.cases or [name for name in CASES if name not in ON_REQUEST]
    rows = [row for name in names for row in _measure(name)]
    print(show(rows))
    if given.json is not None:
        save(rows, given.json)
    return int(any(row.ok is False for row in rows))


def _measure(name: str) -> list[Row]:
    print(f"{name}: {CASES[name]} …", file=sys.stderr)
    case = importlib.import_module(f"bench.cases.{name.replace('-', '_')}")
    rows: list[Row] = case.measure()
    return rows


if __name__ == "__main__":
    sys.exit(main())
