"""`fanwise split`: the tree of sub-plans of a code base, and how good it is. Nothing is changed."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from fanwise.cli.options import JsonOption
from fanwise.cli.say import print_json, print_line, say
from fanwise.errors import UsageError

if TYPE_CHECKING:
    from fanwise.plan.model.node import FileNote, Mode, Split
    from fanwise.plan.split import Listing, Rules

HELP = """Split a code base into sub-plans that can be worked on in parallel.

\b
  fanwise split .                            few imports between sub-plans
  fanwise split . --mode dependency          in import order, without cycles
  fanwise split . --mode directory           by folder
  fanwise split . --files 'src/**/*.py' --files '!src/vendor'
  fanwise split . --max-files 30 --max-tokens 100000 --html plan.html
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
ROWS = 60
"""Lines of the tree, unless all are asked for."""
NAMED = 5
"""Hubs and files that are named, unless all are asked for."""


def register(app: typer.Typer) -> None:
    app.command("split", help=HELP)(split)


def split(
    path: Annotated[str, typer.Argument(metavar="PATH", help="The folder of the code base.")] = ".",
    mode: Annotated[
        str, typer.Option("--mode", help="How to split: independent, dependency or directory.")
    ] = "independent",
    max_files: Annotated[int, typer.Option("--max-files", help="Most files in a leaf.")] = 25,
    max_tokens: Annotated[
        int, typer.Option("--max-tokens", help="Most tokens in a leaf, roughly.")
    ] = 60_000,
    min_files: Annotated[
        int, typer.Option("--min-files", help="Merge leaves that are smaller than this.")
    ] = 2,
    max_depth: Annotated[int, typer.Option("--max-depth", help="Most levels of the tree.")] = 4,
    files: Annotated[
        list[str] | None,
        typer.Option(
            "--files",
            metavar="GLOB",
            help="Only these files. !GLOB excludes; - reads stdin. Repeatable.",
        ),
    ] = None,
    history: Annotated[
        bool,
        typer.Option("--history", help="Keep files together that past commits changed together."),
    ] = False,
    spine: Annotated[
        bool, typer.Option("--spine", help="Work on widely imported files first.")
    ] = False,
    parallel: Annotated[
        int, typer.Option("--parallel", metavar="N", help="Predict the speed-up with N at once.")
    ] = 10,
    goal: Annotated[str, typer.Option("--goal", help="The goal, which is part of the ids.")] = "",
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write an HTML page with diagrams."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Print the whole tree.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Split a code base into sub-plans."""
    from fanwise.cli.report import check_target, write_page
    from fanwise.plan.split import Rules
    from fanwise.plan.split import split as split_files
    from fanwise.plan.split.history import past_commits

    rules = Rules(
        mode=cast("Mode", mode),
        max_files=max_files,
        max_tokens=max_tokens,
        min_files=min_files,
        max_depth=max_depth,
        history=history,
        spine=spine,
    ).check()
    if html is not None:
        check_target(html)
    listing = _listing(Path(path), files or [])
    found = split_files(
        listing.files, rules, goal=goal, max_parallel=parallel,
        commits=past_commits(Path(path)), left_out=listing.left_out,
    )  # fmt: skip
    if html is not None:
        from fanwise.plan.views.split_page import split_page

        write_page(html, split_page(found, Path(path).resolve().name))
    if as_json:
        print_json(_document(found, rules, listing, html))
    else:
        _tell(found, listing, everything=everything)
        if html is not None:
            say(f"the page is in {html}")


def _listing(folder: Path, patterns: list[str]) -> Listing:
    from fanwise.plan.split import files_in, files_of

    if patterns == ["-"]:
        listing = files_of(_given(sys.stdin.read()), folder)
    else:
        listing = files_in(folder, patterns)
    if not listing.files:
        only = f" that match {', '.join(map(repr, patterns))}" if patterns else ""
        more = f"; {len(listing.left_out)} are left out" if listing.left_out else ""
        raise UsageError(
            f"{folder} has no files to split{only}{more}",
            "Give other patterns, as in: --files 'src/**/*.py'",
        )
    return listing


def _given(text: str) -> list[str]:
    """Names: a line for each, or a NUL after each, for a name may have any other character."""
    if "\0" in text:
        return list(filter(None, text.split("\0")))
    return [line for line in (each.removesuffix("\r") for each in text.split("\n")) if line]


def _document(found: Split, rules: Rules, listing: Listing, html: Path | None) -> dict[str, object]:
    import msgspec

    document = msgspec.to_builtins(found)
    document["rules"] = msgspec.to_builtins(rules)
    document["unmatched"] = list(listing.unmatched)
    document["hubs"] = [each._asdict() for each in found.hubs]
    for name in ("unparsed", "left_out"):
        document[name] = [each._asdict() for each in getattr(found, name)]
    return {**document, "html": None if html is None else str(html)}


def _tell(found: Split, listing: Listing, *, everything: bool) -> None:
    from fanwise.plan.views.scorecard_text import scorecard_lines
    from fanwise.plan.views.tree_text import first_tree_lines

    width = max(min(shutil.get_terminal_size((100, 24)).columns, 140), 60)
    lines = [*scorecard_lines(found), ""]
    lines += first_tree_lines(found.tree, None if everything else ROWS, width=width, rest="--all")
    beyond = [leaf for leaf in found.tree.leaves if leaf.irreducible]
    lines += _some("irreducible", [(each.title, each.irreducible) for each in beyond], everything)
    hubs = [(each.path, f"{each.importers} importers") for each in found.hubs]
    lines += _some("hubs", hubs, everything)
    lines += _some("not understood, but in leaves", _pairs(found.unparsed), everything)
    lines += _some("left out", _pairs(found.left_out), everything)
    lines += _some("match no file", [(each, "") for each in listing.unmatched], True)
    for line in lines:
        print_line(line.rstrip())


def _pairs(said: tuple[FileNote, ...]) -> list[tuple[str, str]]:
    return [(each.path, each.why) for each in said]


def _some(title: str, rows: list[tuple[str, str]], everything: bool) -> list[str]:
    """A few of them, and how many there are."""
    if not rows:
        return []
    shown = rows if everything else rows[:NAMED]
    lines = ["", f"{title} ({len(rows):,})"]
    lines += [f"  {name}  {why}".replace("\n", "\\n") for name, why in shown]
    more = len(rows) - len(shown)
    return [*lines, f"  … {more:,} more; --all"] if more else lines
