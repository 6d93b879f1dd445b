"""`run_matrix`: cells in memory and on disk, again, in part, and after an edit."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fanwise.errors import BadSpec, ModelOverloaded, ModelRefused, UsageError
from fanwise.journal.open import open_journal
from fanwise.kernel.virtual_time import run_virtual
from fanwise.matrix import CellResult, Matrix, MatrixResult, Subject, run_matrix, run_matrix_sync
from fanwise.matrix.state.recorded_matrix import read_matrix
from fanwise.models.names import Price
from fanwise.models.port import Request
from fanwise.testing import ScriptedModel
from fanwise.view.progress import Progress

INPUTS = [
    {"id": "a", "text": "lovely", "label": "good"},
    {"id": "b", "text": "awful", "label": "bad"},
    {"id": "c", "text": "so so", "label": "bad"},
]


def says(answer: Callable[[str], Any], name: str = "scripted:one") -> ScriptedModel:
    """A model that answers the prompt's text."""
    return ScriptedModel(
        lambda request: answer(request.messages[-1].content), name=name, price=Price(1, 2)
    )


def right(text: str) -> str:
    return "good" if "lovely" in text else "bad"


def matrix(*models: ScriptedModel, **changes: Any) -> Matrix:
    fields: dict[str, Any] = {
        "models": models or [says(right)],
        "inputs": INPUTS,
        "repeat": 2,
        "prompts": {
            "plain": "Good or bad? {{ input.text }}",
            "kind": "Be kind. Good or bad? {{ input.text }}",
        },
        "score": [{"exact": "input.label"}],
    }
    return Matrix("reviews", **{**fields, **changes})


def asked(model: ScriptedModel) -> Counter[str]:
    return Counter(request.messages[-1].content for request in model.requests)


def plain(cells: list[CellResult]) -> list[Any]:
    """As JSON has it: in the journal a tuple is a list."""
    return [msgspec.json.decode(msgspec.json.encode(each)) for each in cells]


def texts(result: MatrixResult) -> dict[tuple[str, ...], str | None]:
    return {
        tuple(each.cell.axes.values()): None if each.answer is None else each.answer["text"]
        for each in result.cells
    }


# -- in memory ------------------------------------------------------------------------------------


def test_every_cell_is_asked_once_and_comes_back_in_the_order_of_the_matrix() -> None:
    model = says(right)
    result = run_matrix_sync(matrix(model))
    assert set(asked(model).values()) == {2} and len(asked(model)) == 6
    assert [each.cell.key for each in result.cells] == [c.key for c in matrix(model).cells]
    assert texts(result)["scripted:one", "plain", "a", "0"] == "good"
    assert result.failures == []
    assert all(each.scores["exact"].score == 1.0 for each in result.cells)
    (plain, kind) = result.summary(by=[["strategy"]]).groups
    assert (plain.axes, kind.axes) == ({"strategy": "kind"}, {"strategy": "plain"})
    assert "scripted:one" in result.table()


def test_code_without_an_event_loop_runs_a_matrix_too() -> None:
    assert len(run_matrix_sync(matrix()).cells) == 12


def test_strategies_and_scores_may_be_functions_and_models_objects() -> None:
    model = says(right)

    async def mine(subject: Subject) -> str:
        assert subject.model is model
        return f"{subject.input['text']} {subject.cell.repeat}"

    def length(answer: str, given: Mapping[str, Any]) -> float:
        return float(len(answer))

    made = matrix(model, prompts={"mine": mine}, score=[length])
    result = run_matrix_sync(made)
    assert texts(result)["scripted:one", "mine", "b", "1"] == "awful 1"
    assert result.cells[0].scores["length"].score == len("lovely 0")


def test_what_is_wrong_is_said_when_the_matrix_is_made() -> None:
    with pytest.raises(BadSpec, match=r"input\.txet"):
        matrix(prompts={"plain": "{{ input.txet }}"})
    with pytest.raises(BadSpec, match=r"matrix\.caps\.scriptd"):
        matrix(caps={"scriptd": 3})


def test_a_failed_cell_is_a_row_with_its_error_tokens_and_cost() -> None:
    def refuse(text: str) -> Any:
        return ModelRefused("no awful things") if "awful" in text else right(text)

    result = run_matrix_sync(matrix(says(refuse)))
    assert {each.cell.input for each in result.failures} == {"b"}
    assert len(result.failures) == 4
    for each in result.failures:
        assert each.error is not None and "no awful things" in each.error
        assert each.calls == 1 and each.scores == {}


# -- what cells cost ------------------------------------------------------------------------------


def test_calls_inside_a_sampled_strategy_are_calls_of_the_cell(tmp_path: Path) -> None:
    vote = {
        "prompt": "Vote: {{ input.text }}",
        "sample": {"loop_budget": 1, "concurrency_budget": 3, "strategy": "majority"},
    }
    model = says(right)
    made = matrix(model, prompts={"vote": vote})
    result = run_matrix_sync(made, run="votes", journal=tmp_path / "j.db")
    assert [each.calls for each in result.cells] == [3] * 6
    assert all(each.usd and each.output_tokens == 3 for each in result.cells)
    with closing(open_journal(tmp_path / "j.db")) as journal:
        found = read_matrix(journal, "votes").results
    again = run_matrix_sync(made, run="votes", journal=tmp_path / "j.db")
    assert plain(found) == plain(again.cells) == plain(result.cells)
    assert len(model.requests) == 18


def test_what_a_judge_costs_is_not_what_the_answer_costs() -> None:
    judged = {"judge": "Is it kind?", "model": "sim:judge"}
    result = run_matrix_sync(matrix(score=[judged]))
    assert {each.calls for each in result.cells} == {1}


# -- on disk --------------------------------------------------------------------------------------


def test_a_run_that_is_there_goes_on_and_asks_nothing_twice(tmp_path: Path) -> None:
    model = says(right)
    first = run_matrix_sync(matrix(model), journal=tmp_path / "j.db")
    assert first.run_id == "reviews"
    second = run_matrix_sync(matrix(model), journal=tmp_path / "j.db")
    assert second.cells == first.cells
    assert len(model.requests) == 12


def test_after_an_edit_only_the_changed_cells_are_new(tmp_path: Path) -> None:
    model, place = says(right), tmp_path / "j.db"
    first = run_matrix_sync(matrix(model), journal=place)
    edited = {"plain": "Good or bad? {{ input.text }}", "kind": "Be nice: {{ input.text }}"}
    second = run_matrix_sync(matrix(model, prompts=edited), journal=place)
    assert asked(model) == Counter(
        {f"{begin} {each['text']}": 2 for each in INPUTS
         for begin in ("Good or bad?", "Be kind. Good or bad?", "Be nice:")}
    )  # fmt: skip
    kept = {each.id for each in first.cells if each.cell.strategy == "plain"}
    assert {each.id for each in second.cells if each.cell.strategy == "plain"} == kept
    assert len(second.cells) == 12
    with closing(open_journal(place)) as journal:
        assert read_matrix(journal, "reviews").results == second.cells
    # Edited back, nothing is asked: the old answers are there.
    third = run_matrix_sync(matrix(model), journal=place)
    assert third.cells == first.cells and len(model.requests) == 18


def test_an_input_more_is_some_cells_more(tmp_path: Path) -> None:
    model, place = says(right), tmp_path / "j.db"
    run_matrix_sync(matrix(model), journal=place)
    more = [*INPUTS, {"id": "d", "text": "lovely too", "label": "good"}]
    result = run_matrix_sync(matrix(model, inputs=more), journal=place)
    assert len(result.cells) == 16 and len(model.requests) == 16


def test_rerun_failed_asks_only_what_failed(tmp_path: Path) -> None:
    broken, place = [True], tmp_path / "j.db"

    def answer(text: str) -> Any:
        return ModelRefused("no") if "awful" in text and broken[0] else right(text)

    model = says(answer)
    assert len((run_matrix_sync(matrix(model), journal=place)).failures) == 4
    broken[0] = False
    again = run_matrix_sync(matrix(model), journal=place)
    assert len(again.failures) == 4 and len(model.requests) == 12  # failed is an outcome
    result = run_matrix_sync(matrix(model), journal=place, rerun="failed")
    assert result.failures == [] and len(model.requests) == 16
    costly = next(each for each in result.cells if each.cell.input == "b")
    assert costly.calls == 2  # what the failure cost is not forgotten


def test_failures_stay_failures_while_other_cells_run_beside_them(tmp_path: Path) -> None:
    """More cells than there is room for: the failed ones are come to when others have ended."""
    model = says(lambda text: ModelRefused("no") if int(text.split()[-1]) % 2 else "yes")
    inputs = [{"id": str(n), "text": f"number {n}"} for n in range(120)]
    axes: dict[str, Any] = {"models": model, "inputs": inputs, "repeat": 1}
    made = matrix(
        model, **axes, prompts={"plain": "{{ input.text }}"}, score=[], caps={"scripted": 1}
    )
    odd = [f"input={n}" for n in range(1, 120, 2)]
    first = run_matrix_sync(made, journal=tmp_path / "j.db", only=odd)
    assert (len(first.failures), len(model.requests)) == (60, 60)
    whole = run_matrix_sync(made, journal=tmp_path / "j.db")
    assert (len(whole.cells), len(whole.failures)) == (120, 60)
    assert len(model.requests) == 120


def test_rerun_all_answers_anew_and_a_resume_goes_on_with_the_new_ones(
    tmp_path: Path,
) -> None:
    count, place = Counter[str](), tmp_path / "j.db"

    def counting(text: str) -> str:
        count[text] += 1
        return f"{count[text]}"

    model = says(counting)
    run_matrix_sync(matrix(model), journal=place)
    second = run_matrix_sync(matrix(model), journal=place, rerun="all")
    assert len(model.requests) == 24
    assert {each.answer["text"] for each in second.cells if each.answer} == {"3", "4"}
    assert all(each.id == f"{each.cell.key}~1" and each.calls == 1 for each in second.cells)
    third = run_matrix_sync(matrix(model), journal=place)
    assert third.cells == second.cells and len(model.requests) == 24


def test_rerun_all_after_an_edit_was_taken_back_answers_anew(tmp_path: Path) -> None:
    model, place = says(right), tmp_path / "j.db"
    run_matrix_sync(matrix(model), journal=place)
    edited = {"plain": "Well? {{ input.text }}", "kind": "Be kind. Good or bad? {{ input.text }}"}
    run_matrix_sync(matrix(model, prompts=edited), journal=place)
    assert len(model.requests) == 18
    run_matrix_sync(matrix(model), journal=place, rerun="all")
    assert len(model.requests) == 30


def test_what_the_budget_had_no_room_for_has_not_failed_and_runs_with_more(tmp_path: Path) -> None:
    model, place = says(right), tmp_path / "j.db"
    first = run_matrix_sync(matrix(model, budget={"requests": 5}), journal=place)
    assert (len(first.cells), first.failures, len(model.requests)) == (5, [], 5)
    with closing(open_journal(place)) as journal:
        found = read_matrix(journal, "reviews")
    assert (len(found.results), len(found.waiting)) == (5, 7)
    again = run_matrix_sync(matrix(model, budget={"requests": 5}), journal=place)
    assert (len(again.cells), len(model.requests)) == (5, 5)
    whole = run_matrix_sync(matrix(model, budget={"requests": 50}), journal=place)
    assert (len(whole.cells), whole.failures, len(model.requests)) == (12, [], 12)


def test_rerun_of_a_cell_is_of_that_cell(tmp_path: Path) -> None:
    model, place = says(right), tmp_path / "j.db"
    first = run_matrix_sync(matrix(model), journal=place)
    target = first.cells[5]
    second = run_matrix_sync(matrix(model), journal=place, rerun=target.id[:10])
    assert len(model.requests) == 13
    changed = [a.id for a, b in zip(first.cells, second.cells, strict=True) if a.id != b.id]
    assert changed == [target.id]
    with pytest.raises(UsageError, match="no cell's id begins with 'nothing'"):
        run_matrix_sync(matrix(model), journal=place, rerun="nothing")
    for nothing in ("", "~1"):  # as of an unset variable: it is not all of them
        with pytest.raises(UsageError, match="no cell's id begins with"):
            run_matrix_sync(matrix(model), journal=place, rerun=nothing)
    assert len(model.requests) == 13


def test_only_some_cells(tmp_path: Path) -> None:
    model, place = says(right), tmp_path / "j.db"
    some = ("strategy=pl*", "input=a", "input=b")
    result = run_matrix_sync(matrix(model), journal=place, only=some)
    assert {(each.cell.strategy, each.cell.input) for each in result.cells} == {
        ("plain", "a"), ("plain", "b"),
    }  # fmt: skip
    assert len(model.requests) == 4
    whole = run_matrix_sync(matrix(model), journal=place)
    assert len(whole.cells) == 12 and len(model.requests) == 12


@pytest.mark.parametrize(
    ("only", "words"),
    [
        ("input=x", "no cell fits 'input=x'"),
        ("inptu=a", "no axis 'inptu'"),
        ("input", "has no `=`"),
    ],
)
def test_a_filter_that_matches_nothing_names_what_there_is(only: str, words: str) -> None:
    model = says(right)
    with pytest.raises(UsageError) as caught:
        run_matrix_sync(matrix(model), only=[only])
    assert words in str(caught.value)
    assert caught.value.next_step is not None
    if only == "input=x":
        assert "input: a, b, c" in caught.value.next_step
        assert "strategy: plain, kind" in caught.value.next_step
    assert model.requests == []


def test_the_environment_is_with_the_run_and_no_key_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    run_matrix_sync(matrix(), journal=tmp_path / "j.db")
    with closing(open_journal(tmp_path / "j.db")) as journal:
        found = read_matrix(journal, "reviews").environment
    assert found is not None
    assert found["packages"]["msgspec"] and found["python"].startswith("3.")
    assert "sk-very-secret" not in str(found)


# -- order ----------------------------------------------------------------------------------------


def test_another_order_of_dispatch_gives_the_same_digest() -> None:
    """Answers that depend on the request alone, as of `replay:`; the orders do differ."""

    def by_request(request: Request) -> str:
        return f"{request.messages[-1].content} {request.seed}"

    orders, digests = [], set()
    for shuffle in (0, 1, 2):
        model = ScriptedModel(by_request, name="scripted:one")
        result = run_matrix_sync(matrix(model), shuffle=shuffle)
        orders.append([request.messages[-1].content for request in model.requests])
        digests.add(result.digest)
    assert len(digests) == 1
    assert orders[0] != orders[1] != orders[2]


# -- scores ---------------------------------------------------------------------------------------


def test_a_scorer_that_fails_loses_no_answer_and_scores_later(tmp_path: Path) -> None:
    model, place = says(right), tmp_path / "j.db"
    broken = [True]

    def picky(answer: str, given: Mapping[str, Any]) -> float:
        if broken[0]:
            raise ValueError("out of order")
        return 0.5

    first = run_matrix_sync(matrix(model, score=[picky]), journal=place)
    assert first.failures == first.cells and all(each.answer for each in first.cells)
    assert all("out of order" in (each.scores["picky"].error or "") for each in first.cells)
    broken[0] = False
    second = run_matrix_sync(matrix(model, score=[picky]), journal=place, rerun="failed")
    assert {each.scores["picky"].score for each in second.cells} == {0.5}
    assert len(model.requests) == 12


def test_another_scorer_scores_the_answers_that_are_there(tmp_path: Path) -> None:
    model, place = says(right), tmp_path / "j.db"
    run_matrix_sync(matrix(model), journal=place)
    scores = [{"exact": "input.label"}, {"f1": "input.label", "name": "overlap"}]
    result = run_matrix_sync(matrix(model, score=scores), journal=place)
    assert set(result.cells[0].scores) == {"exact", "overlap"}
    assert len(model.requests) == 12


# -- speed ----------------------------------------------------------------------------------------


def test_cells_that_back_off_keep_no_other_from_its_turn() -> None:
    """Twelve cells through a cap of one, each refused once and told to wait for a minute."""
    seen: set[str] = set()

    async def busy(request: Request) -> Any:
        await asyncio.sleep(1)
        text = request.messages[-1].content
        if text in seen:
            return "yes"
        seen.add(text)
        return ModelOverloaded("busy", retry_after=60)

    async def main() -> float:
        model = ScriptedModel(busy, name="scripted:one")
        inputs = [{"id": str(n), "text": f"number {n}"} for n in range(12)]
        made = matrix(
            model,
            inputs=inputs,
            repeat=1,
            prompts={"plain": "{{ input.text }}"},
            score=[],
            caps={"scripted": 1},
        )
        result = await run_matrix(made)
        assert result.failures == []
        assert all(each.backoff_s >= 60 and each.ran_s == 2 for each in result.cells)
        return asyncio.get_running_loop().time()

    # 12 s of first calls, a minute after the last of them at most, 12 s of second ones.
    assert run_virtual(main()) < 12 + 60 + 12 + 10


@pytest.mark.parametrize("name", ["scripted", "scripted:one", "all"])
def test_a_cap_is_reached_whoever_it_is_for(name: str) -> None:
    """Queues let in more than caps do: 150 are at the model at once, and no more."""

    async def main() -> None:
        model = says(right)
        model.gate.close()
        inputs = [{"id": str(n), "text": f"number {n}"} for n in range(300)]
        strategies = {"plain": "{{ input.text }}"}
        axes: dict[str, Any] = {"models": model, "inputs": inputs, "repeat": 1}
        made = matrix(model, **axes, prompts=strategies, score=[], caps={name: 150})

        async def watch() -> None:
            await model.gate.held(150)
            model.gate.open()

        _, result = await asyncio.gather(watch(), run_matrix(made))
        assert len(result.cells) == 300 and model.most_in_flight == 150

    asyncio.run(asyncio.wait_for(main(), 60))


# -- early ends -----------------------------------------------------------------------------------


def sixty(*, repeat: int) -> dict[str, Any]:
    inputs = [{"id": str(n), "text": f"number {n}", "label": "yes"} for n in range(60)]
    return {"inputs": inputs, "repeat": repeat}


def test_the_repeats_of_a_settled_contrast_are_left_out(tmp_path: Path) -> None:
    """Prompt and no prompt differ in all inputs: settled after the first repeat."""
    model = says(lambda text: "yes" if "please" in text else "no")
    strategies = {"polite": "please: {{ input.text }}", "rude": "{{ input.text }}"}
    made = matrix(
        model,
        **sixty(repeat=8),
        prompts=strategies,
        caps={"scripted": 2},
    )
    result = run_matrix_sync(made, journal=tmp_path / "j.db", stop_when_decided=True)
    (verdict,) = result.verdicts
    assert (verdict.first, verdict.second, verdict.decision) == ("polite", "rude", "first")
    assert verdict.rounds == 1
    first_round = [each for each in result.cells if each.cell.repeat == 0]
    assert len(first_round) == 120
    assert len(result.left_out) + len(result.cells) == 960
    assert len(result.cells) < 200  # those that had begun before the last score was on disk
    # A resume comes to the same verdict and asks for none of those that were left out.
    asked_before = len(model.requests)
    again = run_matrix_sync(made, journal=tmp_path / "j.db", stop_when_decided=True)
    assert len(model.requests) == asked_before
    assert again.verdicts == result.verdicts


def test_nothing_is_left_out_while_nothing_is_settled() -> None:
    model = says(lambda _: "yes")
    made = matrix(model, **sixty(repeat=3))
    result = run_matrix_sync(made, stop_when_decided=True)
    assert result.left_out == [] and len(result.cells) == 360
    assert {each.decision for each in result.verdicts} == {None}


def test_after_a_kill_between_answer_and_score_the_verdict_is_the_same(tmp_path: Path) -> None:
    """Recorded answers without scores are not at their end: the scores still come, and count."""
    model = says(lambda text: "yes" if "please" in text else "no")
    strategies = {"polite": "please: {{ input.text }}", "rude": "{{ input.text }}"}
    axes = sixty(repeat=8)
    place = tmp_path / "j.db"
    plain = matrix(model, **axes, prompts=strategies, score=[], caps={"scripted": 2})
    run_matrix_sync(plain, journal=place, only=["repeat=0"])  # as if killed before any score
    made = matrix(model, **axes, prompts=strategies, caps={"scripted": 2})
    result = run_matrix_sync(made, journal=place, stop_when_decided=True)
    assert result.verdicts[0].decision == "first"
    assert len(result.cells) < 200


def test_progress_is_counted_in_cells() -> None:
    progress = Progress()
    run_matrix_sync(matrix(says(right)), subscribers=[progress])
    assert (progress.unit, progress.done, progress.failed, progress.total) == ("cell", 12, 0, 12)
