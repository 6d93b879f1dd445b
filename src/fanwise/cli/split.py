"""`fanwise split`: the tree of sub-plans of a code base, and a scorecard. Changes nothing."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from fanwise.cli.messages import print_json, print_line
from fanwise.cli.options import JsonOption
from fanwise.cli.system_options import GivenOptions

HELP = """Split a code base into sub-plans to work on in parallel.

\b
  fanwise split .                            few imports between sub-plans
  fanwise split . --mode dependency          in import order, without cycles
  fanwise split . --mode directory           by folder
  fanwise split . --files 'src/**/*.py' --files '!src/vendor'
  fanwise split . --max-files 30 --max-tokens 100000
  git diff --name-only -z --diff-filter=d main | fanwise split . --files -

It prints a scorecard and the tree; nothing is changed, run or spent. In a
repository, files that git ignores are skipped. Binary, generated, minified and
lock files are skipped too, and listed. Imports are read in Python, JavaScript,
TypeScript and Go; other files stay with their folder.

Every file is in exactly one leaf. A leaf that cannot be made small enough is
marked as irreducible, with the reason. The ids depend only on the goal, the
rules, the paths and the contents: the same plan has the same ids everywhere.

Exit codes: 0 done, 2 bad usage.
"""


def split(
    path: Annotated[str, typer.Argument(metavar="PATH", help="The folder of the code base.")] = ".",
    everything: Annotated[bool, typer.Option("--all", help="Print the whole tree.")] = False,
    as_json: JsonOption = False,
    *,
    options: GivenOptions,
) -> None:
    from fanwise.plan.split.command_line import SplitRequest
    from fanwise.plan.views.split_text import split_document, split_lines

    request = SplitRequest.of(Path(path), options.of_kind("plan"))
    found, listing = request.split()
    if as_json:
        print_json(split_document(found, request.rules, listing))
        return
    width = max(min(shutil.get_terminal_size((100, 24)).columns, 140), 60)
    for line in split_lines(found, listing, width=width, everything=everything):
        print_line(line.rstrip())
