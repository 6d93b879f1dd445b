"""A matrix in Python and in a file: the same thing, said twice."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from fanwise import Adaptive, Budget, Caps, Exclusive, Rate, Retry
from fanwise.errors import BadSpec, UsageError
from fanwise.matrix import (
    Matrix,
    command,
    constant,
    copy_of,
    exact,
    f1,
    json_match,
    judge,
    prompt,
    regex,
    run_matrix_sync,
    steps,
)
from fanwise.models import MODEL_RETRY, Message, Options, Spec
from fanwise.specs import read, system_of
from fanwise.specs.system import runnable_of
from fanwise.testing import ScriptedModel

ROWS = [
    {"id": "a", "text": "lovely", "label": "good"},
    {"id": "b", "text": "awful", "label": "bad"},
]
MODEL = "sim:one?median_s=0.001"


def words(answer: str, given: dict[str, Any]) -> float:
    return float(len(answer.split()) < 100)


def shout(subject: Any) -> str:
    return str(subject.input["text"]).upper()


def everything(folder: Path) -> Matrix:
    system = Message("system", "You judge {{ input.id }}.")
    return Matrix(
        "all",
        models=[MODEL, {"name": "sim:two?median_s=0.001"}, Spec("sim:three?median_s=0.001")],
        prompts={
            "plain": "Good or bad? {{ input.text }}",
            "asked": prompt("{{ input.text }}?", schema={"enum": ["good", "bad"]}),
            "spoken": prompt([system, Message("user", "{{ input.text }}")], options=Options(0.5)),
            "voted": prompt("{{ input.text }}", sample={"loop_budget": 1, "concurrency_budget": 2}),
            "two": steps(mood="Which? {{ input.text }}", label=prompt("So? {{ steps.mood }}")),
            "always": constant("good"),
            "known": copy_of("label"),
            "mine": shout,
        },
        inputs=ROWS,
        repeat=2,
        score=[
            exact("label"),
            f1("input.label", name="overlap"),
            json_match("label"),
            regex("^{{ input.label }}"),
            judge("Is it polite?", MODEL, name="polite"),
            command("true", timeout="5s"),
            words,
        ],
        exclude=[{"strategy": "two", "input": "b"}],
        include=[{"strategy": "two", "repeat": 1}],
        options=Options(max_tokens=50),
        caps={"sim": (Adaptive(2, 1, 8), Rate(requests=10, per=1.0)), "all": 5},
        budget={"requests": 1000},
        retry=Retry(2, 0.1, 1.0),
        timeout=30,
        seed=7,
        folder=folder,
    )


@pytest.mark.parametrize("suffix", ["yaml", "json"])
def test_written_down_it_has_the_same_cells_and_limits(tmp_path: Path, suffix: str) -> None:
    made = everything(tmp_path)
    dump = partial(yaml.safe_dump, sort_keys=False) if suffix == "yaml" else json.dumps
    (tmp_path / f"m.{suffix}").write_text(str(dump(made.to_mapping())))

    again = Matrix.read(tmp_path / f"m.{suffix}")
    assert again.cells == made.cells and len(made.cells) == 77
    assert again.to_mapping() == made.to_mapping()
    assert [each.identity for each in again.compiled.scorers] == [
        each.identity for each in made.compiled.scorers
    ]
    for each in (made, again):
        spec = each.compiled.spec
        assert spec.limits() == {"sim": [Adaptive(2, 1, 8), Rate(600.0)], "all": [5]}
        assert spec.make_budget().limits == {"requests": 1000}  # type: ignore[union-attr]
        assert spec.retry is not None and (spec.retry.times, spec.retry.base) == (2, 0.1)
    document = read(tmp_path / f"m.{suffix}")
    runnable: Any = runnable_of(system_of(document), document, {})
    assert runnable.compiled.cells == made.cells


def test_one_model_one_prompt_and_one_score_need_no_list() -> None:
    made = Matrix(models=MODEL, prompts="{{ input.text }}", inputs=ROWS, score=exact("label"))
    assert [(cell.model, cell.strategy, cell.input) for cell in made.cells] == [
        (MODEL, "prompt", "a"),
        (MODEL, "prompt", "b"),
    ]
    assert run_matrix_sync(made).require().cells[0].scores["exact"].score == 0.0


def test_inputs_may_be_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    for given in ("rows.jsonl", tmp_path / "rows.jsonl", {"file": "rows.jsonl", "id": "label"}):
        made = Matrix(prompts={"known": copy_of("label")}, inputs=given, folder=tmp_path)
        ids = ["good", "bad"] if isinstance(given, dict) else ["a", "b"]
        assert [cell.input for cell in made.cells] == ids


def test_what_is_wrong_is_said_at_once_with_its_place() -> None:
    good: dict[str, Any] = {"models": MODEL, "prompts": "{{ input.text }}", "inputs": ROWS}
    wrong: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"score": [exact("lable")]}, BadSpec, r"score\[0\].exact: input 'a': the input has no"),
        ({"prompts": "{{ input.txt }}"}, BadSpec, "input.txt"),
        ({"caps": {"smi": 2}}, BadSpec, "no cell uses 'smi'"),
        ({"caps": {"sim": Exclusive(2)}}, UsageError, "Give a number, an Adaptive, a Shared"),
        ({"caps": 5}, UsageError, "caps is 5"),
        ({"budget": {"eur": 5}}, UsageError, "budget has 'eur'"),
        ({"retry": Retry(2, on=ValueError)}, UsageError, "retry has on"),
        ({"retry": -1}, UsageError, "retry is -1"),
        ({"models": 5}, UsageError, "a model is 5"),
        ({"repeat": 0}, BadSpec, "repeat: must be at least 1"),
    ]
    for change, kind, match in wrong:
        with pytest.raises(kind, match=match):
            Matrix(**{**good, **change})


def test_what_no_file_can_say_is_not_written() -> None:
    scripted = ScriptedModel(lambda _: "x", name="acme:tiny")
    for change in ({"models": scripted}, {"score": lambda answer, given: 1.0}):
        good: dict[str, Any] = {"models": MODEL, "prompts": "{{ input.text }}", "inputs": ROWS}
        made = Matrix(**{**good, **change})
        with pytest.raises(UsageError):
            made.to_mapping()


def test_caps_and_a_budget_that_are_objects_are_shared_with_whoever_has_them() -> None:
    caps, budget = Caps(scripted=2), Budget(requests=10)
    model = ScriptedModel(lambda _: "x", name="scripted:one")
    made = Matrix(
        models=model, prompts="{{ input.text }}", inputs=ROWS, caps=caps, budget=budget,
        retry=MODEL_RETRY,
    )  # fmt: skip
    run_matrix_sync(made).require()
    assert caps.peak == {"scripted": 2}
    assert budget.spent["requests"] == 2
