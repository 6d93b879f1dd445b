"""Flow charts: nothing overlaps that should not, and the texts for other programs are whole."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise.view.flow_chart import (
    MOST,
    FlowBox,
    FlowBranch,
    FlowLabel,
    FlowNode,
    cut_line,
    flow_chart,
    letters,
)
from fanwise.view.flow_text import dot, mermaid

TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=80)


def nodes(inner: st.SearchStrategy[FlowNode]) -> st.SearchStrategy[FlowNode]:
    several = st.lists(inner, max_size=3)
    branch = st.builds(FlowBranch, TEXTS, several, st.booleans(), st.booleans())
    return st.builds(
        FlowNode,
        TEXTS.map(lambda text: f"n{text}"),
        st.sampled_from(["shell", "gate", "if", "fan-out"]),
        st.lists(TEXTS, max_size=2),
        st.sampled_from(["", "completed", "failed"]),
        st.lists(branch, max_size=4),
        st.none() | several,
        st.booleans(),
    )


NODES = st.recursive(st.builds(FlowNode, TEXTS, st.just("shell")), nodes, max_leaves=12)


def span(label: FlowLabel) -> tuple[float, float, float, float]:
    return label.x - label.length / 2, label.y - 10, label.x + label.length / 2, label.y + 3


def corners(box: FlowBox) -> tuple[float, float, float, float]:
    return box.x, box.y, box.x + box.width, box.y + box.height


def overlap(one: tuple[float, ...], two: tuple[float, ...]) -> bool:
    return one[0] < two[2] and two[0] < one[2] and one[1] < two[3] and two[1] < one[3]


def contains(outer: tuple[float, ...], inner: tuple[float, ...]) -> bool:
    low = outer[0] <= inner[0] + 0.01 and outer[1] <= inner[1] + 0.01
    return low and outer[2] >= inner[2] - 0.01 and outer[3] >= inner[3] - 0.01


@given(st.lists(NODES, min_size=1, max_size=4))
def test_texts_do_not_overlap_and_boxes_are_apart_or_one_in_the_other(
    found: list[FlowNode],
) -> None:
    chart = flow_chart(found)
    labels = [span(label) for label in chart.labels if label.text]
    for number, one in enumerate(labels):
        assert contains((0, 0, chart.width, chart.height), one)
        assert not any(overlap(one, other) for other in labels[number + 1 :])
    boxes = [corners(box) for box in chart.boxes if "flow-behind" not in box.class_]
    for number, one in enumerate(boxes):
        for other in boxes[number + 1 :]:
            nested = contains(one, other) or contains(other, one)
            assert nested or not overlap(one, other)
    for text in labels:
        for box in boxes:
            assert contains(box, text) or not overlap(box, text)


@given(TEXTS)
def test_a_line_is_cut_to_its_width(text: str) -> None:
    assert letters(cut_line(text)) <= MOST
    assert "\n" not in cut_line(text)


TREE = [
    FlowNode('say "hi"', "shell", ["echo `x` {y} | z <b> # ; \\"], "completed"),
    FlowNode("pick", "if", branches=[
        FlowBranch("then", [FlowNode("a", "gate")]),
        FlowBranch("else"),
        FlowBranch("on failure", [FlowNode("cry", "shell")], dashed=True, ends=True),
    ]),
    FlowNode("each", "fan-out", frame=[FlowNode("b", "shell", state="failed")], stacked=True),
]  # fmt: skip


def test_mermaid_has_every_step_and_no_sign_of_its_own_in_a_text() -> None:
    lines = mermaid(TREE).splitlines()
    assert lines[0] == "flowchart TD"
    said = "echo #96;x#96; #123;y#125; #124; z #60;b#62; #35; #59; \\"
    assert lines[1] == f'  n1["say #34;hi#34; (shell)<br>{said}"]'
    edges = [line.strip() for line in lines if "-->" in line]
    assert edges == [
        "n1 --> n2",
        'n2 -->|"then"| n3',
        'n2 -->|"on failure"| n4',
        "n3 --> n5in",
        'n2 -->|"else"| n5in',
        "n5in --> n6",
    ]
    assert "  class n6 failed" in lines


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_draws_what_is_written_for_it() -> None:
    drawn = subprocess.run(
        ["dot", "-Tplain"], input=dot(TREE), capture_output=True, text=True, check=True
    ).stdout
    kinds = Counter(line.split()[0] for line in drawn.splitlines())
    assert (kinds["node"], kinds["edge"]) == (6, 6)
