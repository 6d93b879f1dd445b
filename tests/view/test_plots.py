"""Plots: well-formed, with every value in its place."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import pytest

from fanwise.matrix.views.rows import Heat
from fanwise.view.geometry import PATH_WIDTH, ecdf, lane
from fanwise.view.html import environment
from fanwise.view.in_flight import Flight
from fanwise.view.scales import Linear


def drawn(macro: str, *values: Any, **named: Any) -> ElementTree.Element:
    """What a macro of `plots.html` makes of this, which must be well-formed."""
    module: Any = environment("fanwise.view").get_template("fanwise/plots.html").module
    return ElementTree.fromstring(f"<div>{getattr(module, macro)(*values, **named)}</div>")


def points(path: ElementTree.Element) -> list[tuple[float, float]]:
    pairs = re.findall(r"(-?[\d.]+) (-?[\d.]+)", path.attrib["d"])
    return [(float(x), float(y)) for x, y in pairs]


def test_a_whisker_goes_from_low_to_high_with_its_dot_between() -> None:
    made = drawn("whisker", Linear(0, 1), 0.5, 0.25, 0.75, "c1", zero=0.0)
    line = next(each for each in made.iter("line") if "whisker" in each.attrib["class"])
    dot = next(made.iter("circle"))
    assert (line.attrib["x1"], dot.attrib["cx"], line.attrib["x2"]) == ("25%", "50%", "75%")
    assert any(each.attrib["class"] == "zero" for each in made.iter("line"))
    assert not list(drawn("whisker", Linear(0, 1), None, None, None, "c1").iter("circle"))


def test_a_whisker_may_have_a_mark_to_reach() -> None:
    made = drawn("whisker", Linear(0, 2), 1.5, 1.2, 1.8, "c1", zero=1.0, mark=1.1)
    lines = {each.attrib["class"]: each.attrib["x1"] for each in made.iter("line")}
    assert (lines["zero"], lines["cap"]) == ("50%", "55%")


def test_bars_stand_where_they_begin() -> None:
    made = drawn("bars", [(0.0, 0.125, "a", ""), (0.125, 0.375, "b", "<t>")])
    parts = [(each.attrib["x"], each.attrib["width"]) for each in made.iter("rect")]
    assert parts == [("0%", "12.5%"), ("12.5%", "37.5%")]
    assert [each.text for each in made.iter("title")] == ["<t>"]


def test_an_ecdf_rises_from_none_to_all() -> None:
    values = [0.1 * n for n in range(1, 1000)]
    made = drawn("plot", ecdf({"c0": values, "c1": [5.0], "c2": []}), "s", "how long")
    lines = [each for each in made.iter("path") if "line" in each.attrib["class"]]
    assert len(lines) == 2
    for line in lines:
        found = points(line)
        xs, ys = zip(*found, strict=True)
        assert list(xs) == sorted(xs) and list(ys) == sorted(ys, reverse=True)
        assert (found[0], xs[-1], ys[-1]) == ((0.0, 220.0), PATH_WIDTH, 0.0)
        assert len(found) < 400  # of a thousand values no more than a screen shows
    assert next(made.iter("svg")).attrib["aria-label"] == "how long"


def test_a_lane_has_its_cap_its_failures_and_its_pauses() -> None:
    flight = Flight([1.0, 2.0, 0.5], [1, 2, 1], [0, 3, 0])
    made = drawn("lane", lane("openai", "3 calls", "c0", flight, 4, [0.5]))
    kinds = [each.attrib.get("class") for each in made.iter()]
    assert (kinds.count("cap"), kinds.count("failure"), kinds.count("pause")) == (1, 1, 1)
    line = next(each for each in made.iter("path") if each.attrib["class"] == "line c0")
    assert max(y for _, y in points(line)) == 42.0  # one of four
    assert min(y for _, y in points(line)) == 28.0  # two of four


def heat_table(rows: list[tuple[str, list[Heat | None]]]) -> ElementTree.Element:
    return drawn("heat_table", rows, Linear(0, 1), "<c>", caller=lambda: "head")


def test_a_heat_table_is_a_table_with_headers() -> None:
    made = heat_table(
        [
            ("<m>", [Heat(0.25, "t", "", {"data-model": "<m>"})]),
            ("n", [None]),
            ("o", [Heat(None, "", "failed", {})]),
        ]
    )
    assert [each.text for each in made.iter("th")] == ["<m>", "n", "o"]
    assert [each.text for each in made.iter("thead")] == ["head"]
    cells = [each for each in made.iter("td") if "heat" in each.attrib.get("class", "")]
    assert [each.text for each in cells] == ["0.25", None, "failed"]
    assert cells[0].attrib["style"] == "--heat:25%" and cells[0].attrib["data-model"] == "<m>"


@pytest.mark.parametrize(("value", "class_"), [(0.0, "heat"), (1.0, "heat high")])
def test_text_on_dark_cells_is_light(value: float, class_: str) -> None:
    made = heat_table([("a", [Heat(value, "", "", {})])])
    assert next(made.iter("td")).attrib["class"] == class_
