"""Is one better than another, and how often is one of k right: as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from fanwise.matrix.compare import Contrast
from fanwise.matrix.pass_at_k import PassAtK
from fanwise.matrix.report.analysis import Analysis, p_text
from fanwise.matrix.report.palette import Palette
from fanwise.matrix.report.scores import interval, swatch
from fanwise.view.markup import DASH, Html, element
from fanwise.view.pieces import scrolled
from fanwise.view.plots.whiskers import axis, whisker
from fanwise.view.scales import Linear, spanning

ALPHA = 0.05
COLUMNS = (
    ("first", None), ("second", None), ("first minus second, with 95 % interval", "wide"),
    ("difference", "number"), ("pairs", "number"), ("better / worse", "number"),
    ("p", "number"), ("p (Holm)", "number"), ("reading", None),
)  # fmt: skip


def comparisons(analysis: Analysis, palette: Palette) -> Html:
    """A table for each axis and scorer: one family of tests, corrected together."""
    families = groupby(analysis.contrasts, key=lambda each: (each.scorer, each.axis))
    return element("div", [_family(*names, list(found), palette) for names, found in families])


def _family(scorer: str, axis_: str, contrasts: Sequence[Contrast], palette: Palette) -> Html:
    ends = [
        end
        for each in contrasts
        for end in (each.difference.value, each.difference.low, each.difference.high)
        if end is not None
    ]
    reach = max([0.05, *map(abs, ends)])
    scale = spanning((-reach, reach))
    ordered = sorted(contrasts, key=lambda each: (each.p_holm is None, each.p_holm or 0.0))
    foot = [element("td", colspan=2), element("td", axis(scale), class_="wide"),
            element("td", colspan=6)]  # fmt: skip
    table = element(
        "table",
        element("caption", f"{_many(axis_)} compared by {scorer}, {len(contrasts)} contrasts"),
        element("thead", element("tr", [element("th", name, scope="col", class_=class_)
                                        for name, class_ in COLUMNS])),
        element("tbody", [_row(each, scale, palette) for each in ordered]),
        element("tfoot", element("tr", foot)),
        class_="forest",
    )  # fmt: skip
    return scrolled(table, f"{_many(axis_)} compared by {scorer}")


def _many(axis_: str) -> str:
    return "Strategies" if axis_ == "strategy" else f"{axis_.capitalize()}s"


def _row(each: Contrast, scale: Linear, palette: Palette) -> Html:
    difference = each.difference
    decided = each.p_holm is not None and each.p_holm < ALPHA
    drawn = whisker(
        scale, difference.value, difference.low, difference.high,
        "c0" if decided else "c-none", zero=0.0,
    )  # fmt: skip
    value = DASH if difference.value is None else f"{difference.value:+.3f}"
    return element(
        "tr",
        element("th", palette.text(each.first), scope="row"),
        element("td", palette.text(each.second)),
        element("td", drawn, class_="wide"),
        element("td", value, class_="number"),
        element("td", f"{each.pairs:,}", _lost(each), class_="number"),
        element("td", f"{each.first_better:,} / {each.second_better:,}", class_="number"),
        element("td", p_text(each.p), class_="number", title=each.test),
        element("td", element("b" if decided else "span", p_text(each.p_holm)), class_="number"),
        element("td", verdict(each, palette), class_="reading"),
    )


def _lost(each: Contrast) -> Html | None:
    """What is not in the comparison is counted beside it."""
    count = each.only_first + each.only_second + each.neither + each.without_partner
    return element("small", f" +{count:,}", title=each.unpaired) if count else None


def verdict(each: Contrast, palette: Palette) -> str:
    """In words, as the corrected p-value allows."""
    value = each.difference.value
    if each.p_holm is None or value is None:
        return "nothing to compare"
    if each.p_holm >= ALPHA or value == 0:
        return "no difference shown"
    return f"{palette.text(each.first if value > 0 else each.second)} is better"


def pass_table(analysis: Analysis, palette: Palette) -> Html:
    """Groups down, k across."""
    return element("div", [_pass_table(name, list(rates), palette) for name, rates in
                           groupby(analysis.pass_at_k, key=lambda each: each.scorer)])  # fmt: skip


def _pass_table(scorer: str, rates: Sequence[PassAtK], palette: Palette) -> Html:
    ks = sorted({each.k for each in rates})
    head = [element("th", "model", scope="col"), element("th", "strategy", scope="col")]
    head += [element("th", f"pass@{k}", scope="col", class_="number") for k in ks]
    table = element(
        "table",
        element("caption", f"pass@k by {scorer}"),
        element("thead", element("tr", head)),
        element("tbody", list(_pass_rows(rates, ks, palette))),
    )
    return scrolled(table, f"pass@k by {scorer}")


def _pass_rows(rates: Sequence[PassAtK], ks: Sequence[int], palette: Palette) -> Iterator[Html]:
    def place(each: PassAtK) -> tuple[str, str]:
        return each.axes["model"], each.axes["strategy"]

    for (model, strategy), found in groupby(sorted(rates, key=place), key=place):
        by_k = {each.k: each for each in found}
        cells = [interval(by_k[k].estimate) if k in by_k else DASH for k in ks]
        yield element(
            "tr",
            element("th", swatch(palette, model), scope="row"),
            element("td", strategy),
            [element("td", each, class_="number") for each in cells],
        )
