"""Files split into a tree of sub-plans: which belong together, and which come after which. Pure.

What reads files and commits is in `files`; the rest has no I/O, and gives the same result for any
order of its input.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fanwise.errors import UsageError
from fanwise.plan.model.node import FileNote, Split
from fanwise.plan.split.files import Listing, PlanFile, files_at, files_in, files_of
from fanwise.plan.split.imports.graph import graph_of
from fanwise.plan.split.modes import shape
from fanwise.plan.split.rules import Rules
from fanwise.plan.split.scorecard import hubs_of, scorecard
from fanwise.plan.split.tree import Grower

__all__ = ["Listing", "PlanFile", "Rules", "files_at", "files_in", "files_of", "split"]


def split(
    files: Iterable[PlanFile],
    rules: Rules,
    *,
    goal: str = "",
    max_parallel: int = 10,
    commits: Iterable[Sequence[str]] = (),
    left_out: Iterable[FileNote] = (),
) -> Split:
    """Split files into sub-plans. `commits`: paths that changed together in the past."""
    rules.check()
    if max_parallel < 1:
        raise UsageError(f"max_parallel is {max_parallel}", "Give it a number of at least 1")
    known = _known(files)
    tokens = {path: known[path].tokens for path in sorted(known)}
    graph = graph_of(known.values())
    hubs = hubs_of(graph.imports, len(known))
    part, order = shape(tokens, graph.imports, graph.deferred, rules)
    digests = {path: file.digest for path, file in known.items()}
    tree = Grower(goal, tokens, digests, rules).tree(part, order)
    return Split(
        mode=rules.mode,
        tree=tree,
        imports=graph.imports,
        hubs=hubs,
        unparsed=graph.unparsed,
        left_out=tuple(sorted(left_out)),
        scorecard=scorecard(
            tree,
            graph.imports,
            hubs,
            ordered=rules.mode == "dependency",
            max_parallel=max_parallel,
            commits=commits,
        ),
    )


def _known(files: Iterable[PlanFile]) -> dict[str, PlanFile]:
    known: dict[str, PlanFile] = {}
    for file in files:
        if file.path.startswith("/") or ".." in file.path.split("/"):
            raise UsageError(
                f"{file.path} is not a path relative to the top of the code base",
                "Read files with files_of(paths, root): it accepts absolute paths too",
            )
        if known.setdefault(file.path, file) != file:
            raise UsageError(f"{file.path} is given twice", "Give each file once")
    if not known:
        raise UsageError("there are no files to split", "See which files match the patterns")
    return known
