"""A model as a proposer: bounded, paid for, and its answers are data."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fanwise import Budget, Caps, fan_out, open_run
from fanwise.errors import BudgetExceeded, ModelRejected
from fanwise.journal.open import open_journal
from fanwise.models import Model, Options
from fanwise.optimize.propose.by_model import ModelProposer
from fanwise.optimize.propose.port import Proposals
from fanwise.optimize.propose.prompt import IDEAS
from fanwise.testing import Answer, ScriptedModel, ScriptedServer
from tests.models.support import model_of, run
from tests.optimize.propose.asks import FAST, PATCH, SOURCE, an_ask, asks

GOOD = f"Here:\n```python\n{FAST}```"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret-of-the-test")


def served(script: Any, use: Callable[[Model, ScriptedServer], Any]) -> tuple[Any, ScriptedServer]:
    async def main() -> tuple[Any, ScriptedServer]:
        async with ScriptedServer(script) as server:
            return await use(model_of(server), server), server

    return run(main())


def test_eight_proposals_are_eight_requests_that_differ_in_seed_and_idea() -> None:
    def answer(body: dict[str, Any]) -> str:
        return f"```python\n{FAST}# {body['seed']}\n```"

    async def use(model: Model, server: ScriptedServer) -> list[Proposals]:
        proposer = ModelProposer(model, options=Options(max_tokens=500))
        server.gate.close()
        asked = asyncio.ensure_future(
            fan_out(proposer.propose, asks(8), cap=8, caps=Caps({"openai": 3}))
        )
        await server.gate.held(3)
        server.gate.open()
        outcomes = await asked
        assert server.most_in_flight == 3, "the provider's cap holds"
        return outcomes.values()

    found, server = served(answer, use)
    candidates = [each.candidates[0] for each in found]
    assert [each.name for each in candidates] == [f"proposal {n}" for n in range(1, 9)]
    assert [each.content for each in candidates] == [f"{FAST}# {n}\n" for n in range(1, 9)]
    assert {each.kind for each in candidates} == {"function"}
    assert len({each.key for each in candidates}) == 8
    texts = [body["messages"][1]["content"] for body in server.bodies]
    assert all(SOURCE in text for text in texts)
    assert {idea for idea in IDEAS for text in texts if idea in text} == set(IDEAS)


def test_an_answer_that_is_none_is_asked_again_once_with_the_reason() -> None:
    async def use(model: Model, _: ScriptedServer) -> Proposals:
        return await ModelProposer(model).propose(an_ask())

    found, server = served(["I would use min().", GOOD], use)
    assert found.candidates[0].content == FAST
    assert found.unusable == ()
    messages = server.bodies[1]["messages"]
    assert [each["role"] for each in messages] == ["system", "user", "assistant", "user"]
    assert messages[2]["content"] == "I would use min()."
    assert "no code block" in messages[3]["content"]


def test_a_second_one_is_told_and_not_dropped_and_there_is_no_third() -> None:
    async def use(model: Model, _: ScriptedServer) -> Proposals:
        return await ModelProposer(model).propose(an_ask(number=2, n=4))

    cut = Answer(text="```python\ndef find(", finish_reason="length")
    found, server = served(["", cut, GOOD], use)
    assert len(server.requests) == 2
    assert found.candidates == ()
    (told,) = found.unusable
    assert told.name == "proposal 3"
    assert "cut off" in told.reason
    assert "max_tokens" in told.reason
    assert told.answer == "```python\ndef find("


def test_a_patch_is_taken_too_and_what_is_no_text_can_still_be_kept() -> None:
    model = ScriptedModel([f"```diff\n{PATCH}```", "broken \ud800 text", "\ud800"])
    proposer = ModelProposer(model)
    patch = run(proposer.propose(an_ask()))
    assert (patch.candidates[0].kind, patch.candidates[0].content) == ("patch", PATCH)
    odd = run(proposer.propose(an_ask()))
    assert msgspec.json.decode(msgspec.json.encode(odd), type=Proposals) == odd
    assert odd.unusable[0].answer == "?"


def test_that_there_is_no_answer_is_an_error_and_not_a_bad_proposal() -> None:
    proposer = ModelProposer(ScriptedModel([ModelRejected("no such model")]))
    with pytest.raises(ModelRejected):
        run(proposer.propose(an_ask()))


def test_proposals_are_paid_for_and_never_beyond_the_budget() -> None:
    model = ScriptedModel(lambda _: GOOD)
    every = asks(8)

    async def main() -> Any:
        proposer = ModelProposer(model, options=Options(max_tokens=50))
        return await fan_out(proposer.propose, every, cap=8, budget=Budget(requests=5))

    outcomes = run(main())
    assert len(model.requests) == 5
    assert sum(each.ok for each in outcomes) == 5
    assert all(isinstance(each.error, BudgetExceeded) for each in outcomes if not each.ok)


def test_the_calls_are_in_the_journal_and_the_key_is_not(tmp_path: Path) -> None:
    where = tmp_path / "journal.db"

    async def use(model: Model, _: ScriptedServer) -> None:
        proposer = ModelProposer(model, options=Options(max_tokens=500))

        async def work(ask: Any) -> Any:
            return msgspec.to_builtins(await proposer.propose(ask))

        async with open_run("r", journal=str(where)) as opened:
            await fan_out(work, asks(2), run=opened, name="propose")

    served(["nothing", GOOD, GOOD], use)
    journal = open_journal(str(where))
    (fan_out_record,) = journal.fan_outs("r")
    calls = [each for each in journal.attempts(fan_out_record.id) if each.call]
    assert len(calls) == 3
    journal.close()
    assert b"secret-of-the-test" not in where.read_bytes()
