"""Gates: who is asked, what an answer does, and how a run that waits goes on."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from fanwise.errors import UsageError
from fanwise.testing import virtual_time

from .running import World, output, statuses
from .support import file_of

GATE = """
- {id: before, type: do}
- {id: review, type: gate, message: "Take {{ inputs.what }}?", on_reject: MODE}
- {id: after, type: do, give: "{{ steps.review.output.choice }}"}
"""
MORE = "inputs: {what: {type: string, default: it}}\n"


def gate(mode: str) -> str:
    return GATE.replace("MODE", mode)


@virtual_time
async def test_without_a_terminal_the_run_pauses_and_an_answer_goes_on(tmp_path: Path) -> None:
    world = World(tmp_path)
    ending = await world.run(gate("abort"), MORE)
    assert ending.facts == {
        "run_id": "r",
        "workflow_id": "w",
        "status": "paused",
        "current_step_id": "review",
        "current_step_index": 1,
        "gate": {
            "step_id": "review",
            "message": "Take it?",
            "options": ["approve", "reject"],
            "show_file": None,
            "choice": None,
        },
        "error": None,
    }
    assert ending.end([]).exit_code == 3
    still = await world.resume(gate("abort"), MORE)
    assert still.status == "paused"
    ending = await world.resume(gate("abort"), MORE, answer=("review=Approve",))
    assert (ending.status, output(ending, "after")) == ("completed", {"gave": "approve"})
    assert world.ran == ["before", "after"]
    # What was answered is answered.
    assert (await world.resume(gate("abort"), MORE)).status == "completed"
    assert world.ran == ["before", "after"]


@pytest.mark.parametrize(
    ("mode", "status", "after"), [("abort", "aborted", False), ("skip", "completed", True)]
)
@virtual_time
async def test_a_rejection_aborts_or_is_an_answer(
    mode: str, status: str, after: bool, tmp_path: Path
) -> None:
    world = World(tmp_path)
    await world.run(gate(mode), MORE)
    ending = await world.resume(gate(mode), MORE, answer=("review=reject",))
    assert ending.status == status
    assert ("after" in ending.states) is after
    assert (ending.facts["error"] is not None) is (status == "aborted")
    if not after:
        # Somebody thinks again: it is asked anew, and the old answer is used up.
        assert (await world.resume(gate(mode), MORE)).status == "paused"
        ending = await world.resume(gate(mode), MORE, answer=("review=approve",))
        assert ending.status == "completed"


@virtual_time
async def test_after_a_rejection_with_retry_it_is_asked_again(tmp_path: Path) -> None:
    world = World(tmp_path)
    await world.run(gate("retry"), MORE)
    ending = await world.resume(gate("retry"), MORE, answer=("review=reject",))
    assert ending.status == "paused"
    assert ending.facts["gate"]["choice"] == "reject"
    for _ in range(3):  # it is not used once more, however often it is resumed
        ending = await world.resume(gate("retry"), MORE)
        assert (ending.status, ending.facts["gate"]["choice"]) == ("paused", None)
    ending = await world.resume(gate("retry"), MORE, answer=("review=approve",))
    assert ending.status == "completed"


@virtual_time
async def test_another_question_needs_another_answer(tmp_path: Path) -> None:
    world = World(tmp_path)
    await world.run(gate("abort"), MORE)
    await world.resume(gate("abort"), MORE, answer=("review=approve",))
    ending = await world.resume(gate("abort"), MORE, input={"what": "that"})
    assert ending.status == "paused"
    assert ending.facts["gate"]["message"] == "Take that?"
    # Still so when nobody has answered: the answer to the first question is none to this one.
    for _ in range(2):
        assert (await world.resume(gate("abort"), MORE)).status == "paused"
    assert world.ran == ["before", "after"]
    ending = await world.resume(gate("abort"), MORE, answer=("review=approve",))
    assert ending.status == "completed"


@virtual_time
async def test_asked_again_from_there_it_needs_another_answer(tmp_path: Path) -> None:
    world = World(tmp_path)
    await world.run(gate("abort"), MORE)
    await world.resume(gate("abort"), MORE, answer=("review=approve",))
    assert (await world.resume(gate("abort"), MORE, start="review")).status == "paused"
    for _ in range(2):
        assert (await world.resume(gate("abort"), MORE)).status == "paused"
    assert world.ran == ["before", "after"]


@virtual_time
async def test_a_verdict_that_was_used_is_none_to_another_question(tmp_path: Path) -> None:
    steps = """
    - {id: review, type: gate, message: "Take {{ inputs.what }}?", verdict_input: verdict}
    - {id: after, type: do}
    """
    more = "inputs: {what: {type: string, default: it}, verdict: {type: string, default: ''}}\n"
    world = World(tmp_path)
    assert (await world.run(steps, more)).status == "paused"
    assert (await world.resume(steps, more, input={"verdict": "approve"})).status == "completed"
    ending = await world.resume(steps, more, input={"what": "that"})
    assert ending.status == "paused"
    for _ in range(2):
        assert (await world.resume(steps, more)).status == "paused"
    assert world.ran == ["after"]


@virtual_time
async def test_an_input_may_give_the_verdict(tmp_path: Path) -> None:
    steps = """
    - {id: review, type: gate, message: "?", on_reject: retry, verdict_input: verdict}
    - {id: after, type: do}
    """
    more = "inputs: {verdict: {type: string, default: ''}}\n"
    world = World(tmp_path)
    assert (await world.run(steps, more)).status == "paused"
    for _ in range(2):  # the same word once more is a new verdict
        ending = await world.resume(steps, more, input={"verdict": "reject"})
        assert (ending.status, ending.facts["gate"]["choice"]) == ("paused", "reject")
        for _ in range(3):
            ending = await world.resume(steps, more)
            assert (ending.status, ending.facts["gate"]["choice"]) == ("paused", None)
    assert (await world.resume(steps, more, input={"verdict": "approve"})).status == "completed"


@virtual_time
async def test_a_verdict_that_the_run_began_with_is_used_once(tmp_path: Path) -> None:
    steps = '- {id: review, type: gate, message: "?", on_reject: retry, verdict_input: verdict}'
    more = "inputs: {verdict: {type: string, default: ''}}\n"
    world = World(tmp_path)
    ending = await world.run(steps, more, input={"verdict": "reject"})
    assert ending.facts["gate"]["choice"] == "reject"
    for _ in range(3):
        ending = await world.resume(steps, more)
        assert (ending.status, ending.facts["gate"]["choice"]) == ("paused", None)


@virtual_time
async def test_a_gate_in_an_item_pauses_there_and_the_others_before_it_finish(
    tmp_path: Path,
) -> None:
    steps = """
    - id: all
      type: fan-out
      items: [0, 1, 2]
      max_concurrency: 3
      step:
        id: t
        type: if
        condition: true
        then:
          - {id: work, type: do, sleep: "{{ 3 - item }}"}
          - id: ask
            type: if
            condition: "{{ item == 1 }}"
            then: [{id: g, type: gate, message: "?"}]
          - {id: done, type: do}
    """
    world = World(tmp_path)
    ending = await world.run(steps)
    assert ending.status == "paused"
    assert ending.facts["current_step_id"] == "all:t:1:g"
    assert {"all:t:0:work", "all:t:0:done"} <= set(world.ran)
    assert "all:t:1:done" not in world.ran
    before, world.ran = set(world.ran), []
    # The id alone means the gate that waits.
    ending = await world.resume(steps, answer=("g=approve",))
    assert ending.status == "completed"
    assert not {"all:t:0:work", "all:t:0:done", "all:t:1:work"} & set(world.ran)
    assert "all:t:1:done" in world.ran
    assert before


@virtual_time
async def test_at_a_terminal_one_question_is_asked_at_a_time(tmp_path: Path) -> None:
    asking, most, asked = 0, 0, []

    async def ask(message: str, shown: str | None, options: list[str]) -> str:
        nonlocal asking, most
        asking += 1
        most = max(most, asking)
        await asyncio.sleep(5)
        asking -= 1
        asked.append(message)
        return options[0]

    world = World(tmp_path)
    world.ask = ask  # type: ignore[assignment]
    ending = await world.run(
        """
        - id: all
          type: fan-out
          items: [0, 1, 2]
          max_concurrency: 3
          step: {id: g, type: gate, message: "{{ item }}?"}
        """
    )
    assert ending.status == "completed"
    assert (most, sorted(asked)) == (1, ["0?", "1?", "2?"])
    assert [result["choice"] for result in output(ending, "all")["results"]] == ["approve"] * 3


def test_answers_that_mean_nothing_are_refused(tmp_path: Path) -> None:
    world = World(tmp_path)
    for answer, said in (("revue=approve", "review"), ("review=perhaps", "approve, reject")):
        with pytest.raises(UsageError, match=said):
            world.plan(gate("abort"), MORE, answer=(answer,))


NESTED = """
- {id: top, type: gate, message: "?"}
- id: loop
  type: do-while
  condition: false
  steps:
    - id: cond
      type: if
      condition: true
      then: [{id: looped, type: gate, message: "?"}]
- id: each
  type: fan-out
  items: [1, 2]
  step: {id: ok, type: gate, message: "?"}
- id: all
  type: fan-out
  items: [1, 2]
  step:
    id: whole
    type: if
    condition: true
    then:
      - {id: deep, type: gate, message: "?"}
      - {id: inner, type: fan-out, items: [1], step: {id: deepest, type: gate, message: "?"}}
- {id: sub, type: workflow, workflow: child.yaml}
"""


@pytest.mark.parametrize(
    ("path", "there"),
    [
        ("top", True), ("looped", True), ("loop:looped:2", True), ("each:ok:1", True),
        ("all:whole:0:deep", True), ("all:whole:1:inner:deepest:0", True), ("sub:asks", True),
        ("ok", True), ("deepest", True), ("asks", True),
        ("nope:ok", False), ("nope:top", False), ("top:0", False), ("loop:looped", False),
        ("loop:looped:x", False), ("each:ok", False), ("each:ok:1:2", False), ("each", False),
        ("all:deep:0", False), ("all:whole:0", False), ("all:whole:0:deepest:0", False),
        ("sub:top", False), ("sub:sub:asks", False), ("sub", False), ("cond:looped", False),
    ],
)  # fmt: skip
def test_an_answer_to_where_no_gate_can_be_is_refused(
    path: str, there: bool, tmp_path: Path
) -> None:
    (tmp_path / "child.yaml").write_text(file_of('- {id: asks, type: gate, message: "?"}'))
    with nullcontext() if there else pytest.raises(UsageError, match="there is no gate"):
        World(tmp_path).plan(NESTED, answer=(f"{path}=approve",))


@virtual_time
async def test_an_answer_that_no_gate_took_is_said(tmp_path: Path) -> None:
    steps = """
    - {id: each, type: fan-out, items: [1, 2], step: {id: ok, type: gate, message: "?"}}
    """
    given = ("each:ok:0=approve", "each:ok:9=approve")
    ending = await World(tmp_path).run(steps, answer=given)
    assert ending.facts["current_step_id"] == "each:ok:1"
    told = [note for note in ending.end([]).notes if "was not used" in note]
    assert told == ["the answer to each:ok:9 was not used: no gate asked there"]


@virtual_time
async def test_an_answer_that_made_a_loop_ask_again_was_taken(tmp_path: Path) -> None:
    """The id alone is the latest iteration, which waits; the answer was for the one before."""
    steps = """
    - id: loop
      type: do-while
      condition: "{{ steps.ok.output.choice == 'again' }}"
      steps: [{id: ok, type: gate, message: "?", options: [again, reject]}]
    """
    ending = await World(tmp_path).run(steps, answer=("ok=again",))
    assert ending.facts["current_step_id"] == "loop:ok:1"
    assert not [note for note in ending.end([]).notes if "was not used" in note]


@virtual_time
async def test_an_answer_is_judged_by_the_gate_that_waits(tmp_path: Path) -> None:
    (tmp_path / "child.yaml").write_text(
        file_of('- {id: g, type: gate, message: "?", options: [left, right, reject]}')
    )
    steps = """
    - {id: sub, type: workflow, workflow: child.yaml}
    - {id: g, type: gate, message: "?"}
    """
    world = World(tmp_path)
    assert (await world.run(steps)).facts["current_step_id"] == "sub:g"
    with pytest.raises(UsageError, match="left, right"):
        await world.resume(steps, answer=("g=approve",))
    ending = await world.resume(steps, answer=("g=left",))
    assert (ending.facts["current_step_id"], output(ending, "sub:g")["choice"]) == ("g", "left")


@virtual_time
async def test_a_gate_in_a_loop_asks_in_each_iteration(tmp_path: Path) -> None:
    steps = """
    - id: loop
      type: do-while
      condition: "{{ steps.g.output.choice == 'reject' }}"
      steps: [{id: g, type: gate, message: "?", on_reject: skip}, {id: s, type: do}]
    """
    world = World(tmp_path)
    told: list[Any] = [(await world.run(steps)).facts["current_step_id"]]
    for choice in ("reject", "reject", "approve"):
        ending = await world.resume(steps, answer=(f"g={choice}",))
        told.append(ending.facts["current_step_id"])
    assert told == ["g", "loop:g:1", "loop:g:2", "loop"]
    assert statuses(ending)["loop"] == "completed"
    assert world.ran == ["s", "loop:s:1", "loop:s:2"]
