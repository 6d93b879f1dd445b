"""Results in notebooks: `_repr_html_`, in a running loop, with hostile values."""

from __future__ import annotations

from fanwise import Matrix, fan_out, run_matrix, sample
from fanwise.core.notebook import html_lines, html_table
from fanwise.testing import virtual_time


@virtual_time
async def test_outcomes_are_a_table_of_values_and_errors() -> None:
    async def work(n: int) -> str:
        if n == 1:
            raise ValueError("<script>")
        return "<b>"

    html = (await fan_out(work, range(3)))._repr_html_()
    assert "<caption>Outcomes: 2 done, 1 failed</caption>" in html
    assert html.count("<tr>") == 4
    assert "&lt;b&gt;" in html and "&lt;script&gt;" in html and "<script>" not in html


@virtual_time
async def test_many_outcomes_are_cut_and_counted() -> None:
    async def work(n: int) -> int:
        return n

    html = (await fan_out(work, range(1000)))._repr_html_()
    assert html.count("<tr>") == 21 and "… and 980 more" in html


def test_long_texts_are_cut_and_all_is_escaped() -> None:
    html = html_table("<x>", ["<n>"], [["<" * 500]], 1)
    assert "<x>" not in html and "<n>" not in html and html.count("&lt;") == 202
    assert html_lines(["a", "<b>"]) == "<pre>a\n&lt;b&gt;</pre>"


@virtual_time
async def test_a_matrix_shows_its_table_and_its_conclusion() -> None:
    rows = [{"id": str(n), "label": "x"} for n in range(4)]
    prompts = {"right": "{{ input.id }}", "wrong": "{{ input.label }}"}
    matrix = Matrix(models=["sim:a"], prompts=prompts, inputs=rows, score={"exact": "input.label"})
    html = (await run_matrix(matrix))._repr_html_()
    assert html.startswith("<pre>MODEL") and "(exact, 4 inputs)" in html


@virtual_time
async def test_samples_are_listed_with_their_verdicts() -> None:
    html = (await sample("sim:a", "Hello", [lambda draft: len(draft) > 0]))._repr_html_()
    assert ": valid</caption>" in html and "<th>verdict</th>" in html
