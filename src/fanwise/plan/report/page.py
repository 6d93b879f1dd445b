"""The whole report of a run: what is there is shown, what is not is left out."""

from __future__ import annotations

from collections.abc import Iterator

from fanwise.plan.node import Said
from fanwise.plan.recorded import Recorded
from fanwise.plan.report.leaves import cost, leaves
from fanwise.plan.report.marks import leaf_link
from fanwise.plan.report.splitting import graph, splitting
from fanwise.plan.report.timeline import timeline
from fanwise.plan.report.together import broken_names, checks, conflicts, requests
from fanwise.plan.report.tree import count_leaves, tree_view
from fanwise.plan.rows import document_of
from fanwise.plan.split.picture.words import GRAPH
from fanwise.plan.states import ORDER, WRONG
from fanwise.plan.telling import plural, summary_lines
from fanwise.plan.telling import requests as all_requests
from fanwise.specs.system import Report
from fanwise.view.calls import dollars
from fanwise.view.markup import Child, Html, element
from fanwise.view.page import Section, page
from fanwise.view.pieces import duration_text, facts, tile, title

TREE = (
    "Each sub-plan below the one that it was split from. Groups in which all went well are folded "
    "where there are many."
)
TIMELINE = (
    "Above: how many sub-plans were at work at once; the dashed line is the cap. Below: each of "
    "them, with the time that it waited before it began."
)
CONFLICTS = (
    "Where two sub-plans changed the same, the later one is set aside, and run again on what was "
    "merged, with the conflict as feedback."
)
REQUESTS = (
    "Edits that a sub-plan made in files that are not its own. They were undone in its workspace "
    "and are in no result: they are here for whoever owns the files."
)
BROKEN = "Names that one sub-plan removed or renamed, and that another one began to use."


def report(found: Recorded) -> Report:
    """As the journal has it now; the run may still be going on."""
    html = page(
        f"{found.run.name}: fanwise report",
        element("div", title(found.run, _tiles(found)), element("p", found.goal, class_="about")),
        list(_sections(found)),
        [],
    )
    # A file name need not be Unicode, and a page is.
    plain = html.encode("utf-8", "backslashreplace").decode()
    return Report(plain, summary_lines(found), document_of(found))


def _tiles(found: Recorded) -> Iterator[Html]:
    counts = count_leaves(found)[found.tree.root.id]
    card = found.split.scorecard
    yield tile("sub-plans", f"{counts.total():,}", f"{card.files:,} files")
    done = counts["done"] + counts["unchanged"]
    others = [f"{counts[s]:,} {s}" for s in ORDER if counts[s] and s not in ("done",)]
    yield tile("done", f"{done:,}", ", ".join(others))
    wrong = sum(counts[state] for state in WRONG)
    if wrong:
        yield tile(
            "not in the result", f"{wrong:,}", "failed, skipped, given up, left out", bad=True
        )
    if found.joined.conflicts or found.joined.taken:
        number = len(found.joined.conflicts) + len(found.joined.taken)
        yield tile("conflicts", f"{number:,}")
    wanted = all_requests(found)
    if wanted:
        yield tile("requests", f"{len(wanted):,}", "edits in files of others")
    if found.joined.broken:
        yield tile("broken names", f"{len(found.joined.broken):,}", bad=True)
    yield from _check_tile(found)
    yield from _cost_tiles(found)


def _check_tile(found: Recorded) -> Iterator[Html]:
    checked = found.joined.checks
    if not checked:
        return
    last = checked[-1]
    about = plural(len(checked), "check") if len(checked) > 1 else duration_text(last.seconds)
    yield tile("check", "passed" if last.passed else "failed", about, bad=not last.passed)


def _cost_tiles(found: Recorded) -> Iterator[Html]:
    worked = sum(leaf.ran_s for leaf in found.leaves.values())
    if worked:
        yield tile("work of all", duration_text(worked), "one after another")
    calls = found.calls
    if calls.attempts:
        usd, tokens = calls.usd.total, calls.tokens.total
        shown = "unknown" if usd is None else dollars(usd)
        about = plural(calls.attempts, "call")
        yield tile("dollars", shown, about if tokens is None else f"{about}, {tokens:,.0f} tokens")


def _sections(found: Recorded) -> Iterator[Section]:
    if found.joined.result is not None:
        yield Section("result", "Result", _result(found))
    yield Section("tree", "Tree", tree_view(found), TREE)
    drawn = timeline(found, found.split.scorecard.max_parallel)
    if drawn is not None:
        yield Section("timeline", "Timeline", drawn, TIMELINE)
    if found.joined.conflicts or found.joined.taken or found.joined.moved:
        yield Section("conflicts", "Conflicts", conflicts(found), CONFLICTS)
    if found.joined.broken:
        yield Section("broken", "Broken names", broken_names(found), BROKEN)
    if found.joined.checks or found.joined.failures:
        yield Section("check", "Check", checks(found))
    wanted = all_requests(found)
    if wanted:
        yield Section("requests", "Requests", requests(wanted, found), REQUESTS)
    if found.calls.attempts:
        yield Section("cost", "Cost", cost(found))
    yield Section("split", "Split", splitting(found), f"Mode: {found.split.mode}.")
    if found.split.imports:
        yield Section("graph", "Imports between them", graph(found), GRAPH)
    yield Section("sub-plans", "Sub-plans", leaves(found))
    yield Section("run", "Run", _run(found))


def _result(found: Recorded) -> Html:
    result = found.joined.result
    assert result is not None
    return element("div", list(_about_result(found)), _left_out(result.left_out, found))


def _about_result(found: Recorded) -> Iterator[Child]:
    result = found.joined.result
    assert result is not None
    of = f" with the changes of {plural(len(result.leaves), 'sub-plan')}"
    if result.branch is not None:
        commit = element("code", result.commit[:12])
        yield element(
            "p", "The branch ", element("code", result.branch), " (", commit, ")", of, "."
        )
        shown = f"git diff {found.base[:12]}..{result.branch}"
        yield element("p", "To see it: ", element("code", shown), class_="small")
    if found.patch is not None:
        lead = "As a patch: " if result.branch is not None else f"The patch{of}: "
        yield element("p", lead, element("code", found.patch), class_="small")


def _left_out(left: tuple[Said, ...], found: Recorded) -> Html | None:
    if not left:
        return None
    rows = [
        element(
            "tr", element("th", leaf_link(each.path, found), scope="row"), element("td", each.why)
        )
        for each in left
    ]
    return element(
        "table", element("caption", "Sub-plans whose changes are not in it"), element("tbody", rows)
    )


def _run(found: Recorded) -> Html:
    plan = found.plan
    rows: list[tuple[str, Child]] = [("run", element("code", found.run.id))]
    rows.append(("goal", found.goal))
    rows.append(("base", element("code", found.base)))
    names = ("files", "verify", "check", "merge", "max_parallel", "retry", "shared", "fail_fast")
    rows += [(name, element("code", _shown(plan[name]))) for name in names if name in plan]
    if found.run.error:
        rows.append(("error", found.run.error))
    return facts("What was run", rows)


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
