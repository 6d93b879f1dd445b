"""Which cells there are, what their keys depend on, and in which order they go."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise.errors import BadSpec
from fanwise.matrix.cells.cell import Cell, in_dispatch_order
from fanwise.matrix.spec.compile import Compiled
from fanwise.matrix.system import RunnableMatrix
from fanwise.specs import parse

BASE = """\
matrix:
  models: [sim:a, {{name: "sim:b?seed=2"}}]
  inputs: [{{id: a, text: x, label: p}}, {{id: b, text: y, label: n}}]
  repeat: 2
  prompts:
    one: {{prompt: "Say {{{{ input.text }}}}{extra}"}}
    two: {{prompt: "Tell {{{{ input.text }}}}", options: {{max_tokens: 5}}}}
    always: {{constant: p}}
  score: [{{exact: input.label}}]
"""


def compiled(extra: str = "", tail: str = "", text: str = BASE) -> Compiled:
    document = parse((text.format(extra=extra) + tail).encode(), "m.yaml", Path.cwd())
    return RunnableMatrix(document).compiled


def by_axes(found: Compiled) -> dict[tuple[str, ...], str]:
    return {tuple(cell.axes.values()): cell.key for cell in found.cells}


def test_a_strategy_without_a_model_is_run_once_for_each_input_and_repeat() -> None:
    counts = Counter((cell.strategy, cell.model) for cell in compiled().cells)
    assert counts == {
        ("one", "sim:a"): 4,
        ("one", "sim:b?seed=2"): 4,
        ("two", "sim:a"): 4,
        ("two", "sim:b?seed=2"): 4,
        ("always", "-"): 4,
    }


def test_keys_are_unique_and_an_edited_prompt_changes_those_of_its_strategy_alone() -> None:
    before, after = by_axes(compiled()), by_axes(compiled(extra="!"))
    assert len(set(before.values())) == len(before)
    changed = {axes for axes in before if before[axes] != after[axes]}
    assert {axes[1] for axes in changed} == {"one"}
    assert len(changed) == 8


@pytest.mark.parametrize("tail", ["  caps: {sim: 3}\n", "  timeout: 5\n", "  budget: {usd: 5}\n"])
def test_what_changes_no_answer_changes_no_key(tail: str) -> None:
    assert by_axes(compiled()) == by_axes(compiled(tail=tail))


@pytest.mark.parametrize("tail", ["  seed: 3\n", "  options: {temperature: 0.5}\n"])
def test_what_may_change_an_answer_changes_its_key(tail: str) -> None:
    before, after = by_axes(compiled()), by_axes(compiled(tail=tail))
    assert all(before[axes] != after[axes] for axes in before if axes[1] == "one")


def test_cells_are_excluded_by_pattern_and_included_again() -> None:
    tail = '  exclude: [{model: "sim:*", strategy: two}]\n  include: [{input: b, repeat: 1}]\n'
    kept = [cell.axes for cell in compiled(tail=tail).cells if cell.strategy == "two"]
    assert [(axes["input"], axes["repeat"]) for axes in kept] == [("b", "1")] * 2


def test_models_and_strategies_see_the_same_seed_for_an_input_and_a_repeat() -> None:
    seeds: dict[tuple[str, int], set[int]] = {}
    for cell in compiled().cells:
        seeds.setdefault((cell.input, cell.repeat), set()).add(cell.seed)
    assert [len(each) for each in seeds.values()] == [1] * 4
    assert len(set.union(*seeds.values())) == 4


BAD: list[tuple[str, str]] = [
    ("models: [sim:a]\n  inputs: [a]\n  reapet: 2\n  prompts: {s: {prompt: x}}", "repeat"),
    ("models: [sim:a]\n  inputs: [a]\n  prompts: {s: {prompt: '{{ input.y }}'}}", "input.y"),
    ("models: [sim:a]\n  inputs: [a]\n  prompts: {}", "prompts"),
    ("models: [sim:a]\n  inputs: []\n  prompts: {s: {prompt: x}}", "no inputs"),
    ("inputs: [a]\n  prompts: {s: {prompt: x}}", "needs a model"),
    ("models: [sim:a]\n  inputs: [a]\n  prompts: {s: {prompt: x, constant: y}}", "one of"),
    (
        "models: [sim:a]\n  inputs: [a]\n  prompts: {s: {prompt: x}}\n  caps: {openai: 2}",
        "no cell uses 'openai'",
    ),
    (
        "models: [sim:a]\n  inputs: [a]\n  prompts: {s: {prompt: x}}\n"
        "  score: [{exact: input.label}]",
        "the input has no 'input.label'",
    ),
    (
        "models: [sim:a]\n  inputs: [{id: a}, {id: a}]\n  prompts: {s: {prompt: x}}",
        "a",
    ),
    (
        "models: [sim:a]\n  inputs: [a]\n  prompts: {s: {prompt: x}}\n  exclude: [{modle: a}]",
        "did you mean `model`",
    ),
    (
        "models: [sim:a]\n  inputs: [a]\n  prompts: {s: {prompt: x}}\n  exclude: [{}]",
        "nothing is left",
    ),
    (
        "models: [sim:a]\n  inputs: [a]\n  prompts: {s: {prompt: x, sample: {deep: 2}}}",
        "prompts.s.sample",
    ),
    (
        "models: [sim:a]\n  inputs: [a]\n"
        "  prompts: {s: {steps: [{name: a, prompt: '{{ steps.b }}'}, {name: b, prompt: x}]}}",
        "steps.b",
    ),
]


@pytest.mark.parametrize(("text", "words"), BAD)
def test_what_is_wrong_in_a_file_is_named_with_its_place(text: str, words: str) -> None:
    document = parse(f"matrix:\n  {text}\n".encode(), "m.yaml", Path.cwd())
    with pytest.raises(BadSpec) as caught:
        RunnableMatrix(document)
    assert words in str(caught.value)
    assert all(problem.line is not None for problem in caught.value.problems)


cells = st.lists(
    st.builds(
        lambda provider, repeat, number: Cell(
            f"{provider}{repeat}{number}", f"{provider}:m", "s", str(number), repeat, provider, 0
        ),
        st.sampled_from("abc"),
        st.integers(0, 3),
        st.integers(0, 20),
    ),
    unique_by=lambda cell: cell.key,
    max_size=60,
)


@given(cells, st.integers(0, 3), st.randoms())
def test_every_cell_goes_once_and_the_order_does_not_depend_on_how_they_were_listed(
    given_cells: list[Cell], shuffle: int, chance: Any
) -> None:
    ordered = in_dispatch_order(given_cells, shuffle)
    assert sorted(c.key for c in ordered) == sorted(c.key for c in given_cells)
    other = list(given_cells)
    chance.shuffle(other)
    assert in_dispatch_order(other, shuffle) == ordered


@given(cells)
def test_providers_are_spread_evenly_and_repeats_go_one_after_the_other(
    given_cells: list[Cell],
) -> None:
    ordered = in_dispatch_order(given_cells)
    totals = Counter(cell.provider for cell in ordered)
    for provider, total in totals.items():
        mine = [n for n, cell in enumerate(ordered) if cell.provider == provider]
        for count, place in enumerate(mine):
            # Never ahead or behind its share by more than one cell of each provider.
            assert abs((count + 0.5) / total - (place + 0.5) / len(ordered)) * len(ordered) <= (
                len(totals) * max(1.0, len(ordered) / total)
            )
        repeats = [cell.repeat for cell in ordered if cell.provider == provider]
        assert repeats == sorted(repeats)
