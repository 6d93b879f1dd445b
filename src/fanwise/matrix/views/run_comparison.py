"""Runs of a matrix side by side: as lines, as data and as a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import unified_diff
from typing import Any

import msgspec
import yaml

from fanwise.core.counts import many
from fanwise.matrix.state.run_comparison import Row, RowPair, SideComparison
from fanwise.matrix.stats.summary import GroupSummary
from fanwise.matrix.views.analysis import p_text
from fanwise.matrix.views.tables import (
    aligned,
    late_lines,
    median_text,
    usd_text,
)
from fanwise.matrix.views.text import shown
from fanwise.specs.system import Report
from fanwise.view.formats import money
from fanwise.view.html import PageParts, Section, Templates

MOST_FLIPPED = 20
"""On a terminal."""
MOST_NAMED = 10


def comparison_report(found: Sequence[SideComparison]) -> Report:
    """Each side against the first."""
    templates = Templates("fanwise.matrix.views")
    title = " and ".join([found[0].before.name, *(each.after.name for each in found)])
    parts = PageParts("fanwise.matrix.views", list(_sections(templates, found)), ["compare.js"])
    html = templates.page(
        "compare.html", f"{title}: fanwise compare", parts.sections, scripts=parts.scripts,
        heading=title,
    )  # fmt: skip
    lines = [line for each in found for line in (*comparison_lines(each), "")]
    document = {"comparisons": [document_of(each) for each in found]}
    return Report(html, lines[:-1], document, parts)


# -- for a terminal --------------------------------------------------------------------------------


def comparison_lines(found: SideComparison) -> list[str]:
    """What changed, what is not compared, the statistics, and the cells that flipped."""
    before, after = found.before.name, found.after.name
    lines = [f"{before} → {after}: {many(len(found.pairs), 'pair')}"]
    for axis, names in found.renamed.items():
        lines += [f"{axis}: {old} → {new}" for old, new in names.items() if old != new]
    lines += diff_lines(found)
    lines += [f"not compared: {_named(why, names)}" for why, names in found.unmatched.items()]
    lines += [each.failures for each in found.contrasts[:1] if each.failures]
    lines += [f"{each.scorer}: {each.unpaired}" for each in found.contrasts if each.missing]
    if found.contrasts:
        rows = [["SCORE", "BEFORE", "AFTER", "DIFFERENCE", "BETTER", "WORSE", "P", "P (HOLM)"]]
        rows += [
            [each.scorer, _number(each.mean_second), _number(each.mean_first),
             each.difference.text(sign=True), str(each.first_better),
             str(each.second_better), p_text(each.p), p_text(each.p_holm)]
            for each in found.contrasts
        ]  # fmt: skip
        lines += ["", *aligned(rows)]
    lines += ["", *aligned([["", "FAILED", "P50", "P90", "USD"], *map(_cost_row, found.summaries)])]
    lines += late_lines(found.summaries)
    for each in found.contrasts:
        flipped = found.flipped(each.scorer)
        if flipped:
            lines += ["", f"{each.scorer}: {many(len(flipped), 'cell')} changed, the worst first"]
            lines += aligned([_flip_row(pair, each.scorer) for pair in flipped[:MOST_FLIPPED]])
            more = len(flipped) - MOST_FLIPPED
            lines += [f"… and {more:,} more"] if more > 0 else []
    return lines


def diff_lines(found: SideComparison) -> list[str]:
    """How the files differ; empty if they do not, or one is unknown."""
    if found.before.file is None or found.after.file is None:
        return []
    before, after = (
        yaml.safe_dump(each, sort_keys=False, allow_unicode=True).splitlines()
        for each in (found.before.file, found.after.file)
    )
    names = (found.before.name, found.after.name)
    return list(unified_diff(before, after, *names, lineterm="", n=1))


def _named(why: str, names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{why}: {', '.join(names[:MOST_NAMED])}{more}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _cost_row(group: GroupSummary) -> list[str]:
    high = "-" if group.ran_s.p90 is None else f"{group.ran_s.p90:.2f} s"
    return [group.axes["run"], f"{group.failed:,}", median_text(group), high, usd_text(group.usd)]


def _flip_row(pair: RowPair, scorer: str) -> list[str]:
    row = pair.after
    place = f"{row['model']} {row['strategy']} {row['input']} #{row['repeat']}"
    scores = " → ".join(f"{each[f'score_{scorer}']:g}" for each in (pair.before, pair.after))
    return [place, scores, _brief(pair.before), "→", _brief(pair.after)]


def _brief(row: Row) -> str:
    text = " ".join(answer_text(row).split())
    return repr(text if len(text) <= 40 else f"{text[:39]}…")


def answer_text(row: Row) -> str:
    """What a cell answered, or why it did not."""
    if row["status"] == "done":
        return str(row.get("text") or "")
    return str(row.get("error") or "not run")


# -- for programs ----------------------------------------------------------------------------------


def document_of(found: SideComparison) -> dict[str, Any]:
    """Everything but the answers that did not change."""
    return {
        "before": found.before.name,
        "after": found.after.name,
        "pairs": len(found.pairs),
        "renamed": {
            axis: {old: new for old, new in names.items() if old != new}
            for axis, names in found.renamed.items()
        },
        "diff": diff_lines(found),
        "unmatched": found.unmatched,
        "contrasts": msgspec.to_builtins(found.contrasts),
        "summaries": msgspec.to_builtins(found.summaries),
        "flipped": {
            each.scorer: [
                {"before": pair.before, "after": pair.after} for pair in found.flipped(each.scorer)
            ]
            for each in found.contrasts
        },
    }


# -- the page --------------------------------------------------------------------------------------


def _sections(templates: Templates, found: Sequence[SideComparison]) -> Iterator[Section]:
    for number, each in enumerate(found):
        title = f"{each.before.name} → {each.after.name}"
        yield templates.section(
            f"comparison-{number}", title, template="comparison.html", found=each,
            diff=diff_lines(each), contrasts=[(c, c.difference.text(sign=True),
                                               p_text(c.p), p_text(c.p_holm))
                                              for c in each.contrasts],
            unmatched=[(why, names) for why, names in each.unmatched.items()],
            costs=[(g, usd_text(g.usd, money)) for g in each.summaries],
            late=late_lines(each.summaries),
        )  # fmt: skip
    yield templates.section("pairs", "Cells", template="compare_pairs.html", data=_data(found))


def _data(found: Sequence[SideComparison]) -> dict[str, Any]:
    return {
        "comparisons": [
            {
                "title": f"{each.before.name} → {each.after.name}",
                "names": [each.before.name, each.after.name],
                "scorers": [c.scorer for c in each.contrasts],
                "pairs": [_pair(pair, [c.scorer for c in each.contrasts]) for pair in each.pairs],
            }
            for each in found
        ]
    }


def _pair(pair: RowPair, scorers: Sequence[str]) -> dict[str, Any]:
    row = pair.after
    return {
        "place": [row["model"], row["strategy"], row["input"], row["repeat"]],
        "input": "\n".join(f"{k}: {shown(v)}" for k, v in (row.get("input_data") or {}).items()),
        "expected": [shown(row.get(f"expected_{name}")) for name in scorers],
        "answers": [answer_text(each) for each in (pair.before, pair.after)],
        "failed": [each["status"] != "done" for each in (pair.before, pair.after)],
        "scores": [[each.get(f"score_{name}") for each in (pair.before, pair.after)]
                   for name in scorers],
        "reasons": [[each.get(f"reason_{name}") for each in (pair.before, pair.after)]
                    for name in scorers],
    }  # fmt: skip
