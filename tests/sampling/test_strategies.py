"""What each strategy asks next, and which sample it chooses."""

from __future__ import annotations

import asyncio
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fanwise.errors import AttemptTimeout, ModelRefused, ModelRejected, UsageError
from fanwise.models import Message
from fanwise.models.connect import ModelGroup
from fanwise.sampling import (
    BestOf,
    Escalate,
    Hooks,
    Majority,
    MinimumBayesRisk,
    MultiTurn,
    Repair,
    Strategy,
    Turn,
    add_to_prompt,
    number,
    require,
    reward,
    rouge_l,
    sample,
    schema,
)
from fanwise.sampling.spec.strategy_spec import StrategySpec
from fanwise.sampling.strategies.agreement import number_in, words_in_common
from fanwise.sampling.strategies.expressions import value_of
from fanwise.specs import Document, Where
from fanwise.testing import ScriptedModel, virtual_time

from .support import BAD, GOOD, by_turn, good


def asked(model: ScriptedModel, number: int) -> str:
    return model.requests[number].messages[-1].content


@virtual_time
async def test_rejection_asks_the_same_again_with_another_seed() -> None:
    model = by_turn([BAD, BAD, GOOD])
    await sample(model, "x", [good], concurrency_budget=1, strategy="rejection")
    assert all(each.messages == model.requests[0].messages for each in model.requests)
    assert len({request.seed for request in model.requests}) == 3


@virtual_time
async def test_repair_puts_the_reasons_of_the_last_failure_into_the_prompt() -> None:
    model = by_turn(["first", "second", GOOD])
    why = require(lambda d: (GOOD in d, f"{d} is not good"), "w", check_only=True)
    await sample(model, "the task", [why], concurrency_budget=1, strategy=Repair())
    assert asked(model, 0) == "the task"
    assert asked(model, 1).startswith("the task\n\n")
    assert "- first is not good" in asked(model, 1)
    assert "<answer>\nfirst\n</answer>" in asked(model, 1)
    # Only the last failure: the prompt does not grow.
    assert "second is not good" in asked(model, 2)
    assert "first" not in asked(model, 2)


@virtual_time
async def test_repair_takes_a_template_of_ones_own() -> None:
    model = by_turn(["{odd} {0}", GOOD])
    mine = Repair("Not {answer}, because:\n{failures}")
    await sample(model, "t", [good], concurrency_budget=1, strategy=mine)
    assert asked(model, 1) == "t\n\nNot {odd} {0}, because:\n- it fails: says good"
    with pytest.raises(UsageError, match="reasons"):
        Repair("{reasons}")


@virtual_time
async def test_multi_turn_repair_is_a_conversation() -> None:
    model = by_turn(["first", "second", GOOD])
    await sample(model, "t", [good], concurrency_budget=1, strategy="multi_turn")
    roles = [[message.role for message in request.messages] for request in model.requests]
    assert roles == [
        ["user"],
        ["user", "assistant", "user"],
        ["user", "assistant", "user", "assistant", "user"],
    ]
    assert [m.content for m in model.requests[2].messages[1::2]] == ["first", "second"]
    assert "it fails: says good" in model.requests[2].messages[2].content


@virtual_time
async def test_best_of_takes_the_highest_reward_of_the_valid_ones() -> None:
    model = by_turn(["good 1"], ["good 3"], ["bad 9"], ["good 2"])
    best = BestOf(lambda draft: float(draft[-1]))
    result = await sample(model, "x", [good], strategy=best, loop_budget=1)
    assert (result.ok, result.text, len(model.requests)) == (True, "good 3", 4)


@virtual_time
async def test_best_of_with_a_threshold_ends_at_the_first_that_is_good_enough() -> None:
    model = by_turn(["1", "9", "10"])
    best = BestOf(lambda draft: float(draft), at_least=8)
    result = await sample(model, "x", strategy=best, concurrency_budget=1)
    assert (result.text, len(model.requests)) == ("9", 2)
    low = await sample(by_turn(["1", "3", "2"]), "x", strategy=best, concurrency_budget=1)
    assert (low.ok, low.text) == (False, "3")


@virtual_time
async def test_best_of_counts_its_reward_and_no_other_score() -> None:
    popular = reward(lambda draft: 9.0 if draft == "one" else 1.0, at_least=0)
    best = BestOf(lambda draft: 0.1 if draft == "one" else 0.2)
    model = by_turn(["one"], ["two"])
    result = await sample(model, "x", [popular], strategy=best, concurrency_budget=2)
    assert result.text == "two"


def test_best_of_wants_a_reward_for_its_threshold() -> None:
    with pytest.raises(UsageError, match="Give the reward"):
        BestOf(at_least=5)


@virtual_time
async def test_the_majority_of_values_wins_and_of_equal_ones_the_first() -> None:
    wanted = schema({"enum": ["a", "b", "c"]})
    rows: list[list[Any]] = [['"a"'], [' "b"'], ['"b" '], ['"nothing"', '"c"']]
    result = await sample(by_turn(*rows), "x", [wanted], strategy=Majority(), loop_budget=2)
    assert (result.value, result.sample.chain) == ("b", 1)
    tie = await sample(by_turn(["y"], ["z"], ["z"], ["y"]), "x", strategy="majority")
    assert tie.text == "y"
    keyed = Majority(lambda each: len(each.text))
    by_length = await sample(by_turn(["abc"], ["xy"], ["z"], ["uv"]), "x", strategy=keyed)
    assert by_length.text == "xy"


@virtual_time
async def test_a_vote_repairs_as_it_is_told_to() -> None:
    model = by_turn([BAD, GOOD])
    voting = Majority(repair=MultiTurn())
    result = await sample(model, "x", [good], strategy=voting, concurrency_budget=1)
    assert result.ok
    assert len(model.requests[1].messages) == 3


@virtual_time
async def test_minimum_bayes_risk_takes_what_is_most_like_the_others() -> None:
    rows: list[list[Any]] = [
        ["the cat sat"],
        ["a dog ran far"],
        ["the cat sat down"],
        ["the cat lay down"],
    ]
    result = await sample(by_turn(*rows), "x", strategy=MinimumBayesRisk())
    assert result.text == "the cat sat down"
    longest = MinimumBayesRisk(lambda one, other: len(one))
    assert (await sample(by_turn(*rows), "x", strategy=longest)).text == ("the cat sat down")


@given(st.text(), st.text())
def test_words_in_common_is_a_similarity(one: str, other: str) -> None:
    assert 0 <= words_in_common(one, other) <= 1
    assert words_in_common(one, other) == words_in_common(other, one)
    assert words_in_common(one, one) == 1


@virtual_time
async def test_none_valid_a_vote_returns_the_best_failure_and_says_so() -> None:
    two = [good, require(lambda d: "x" in d, "x", check_only=True)]
    for strategy in (Majority(), BestOf(lambda _: 1.0), MinimumBayesRisk()):
        model = by_turn(["a"], ["a"], ["a x"])
        result = await sample(
            model, "p", two, strategy=strategy, loop_budget=1, concurrency_budget=3
        )
        assert (result.ok, result.text) == (False, "a x")


@virtual_time
async def test_escalation_asks_the_strong_model_after_some_failures() -> None:
    cheap, strong = by_turn([f"{BAD} 1", f"{BAD} 22"]), ScriptedModel([GOOD], name="big:strong")
    growing = reward(lambda draft: float(len(draft)), at_least=99)

    result = await sample(
        cheap, "x", [growing], concurrency_budget=1, strategy=Escalate(strong, after=2)
    )
    assert (len(cheap.requests), len(strong.requests)) == (2, 1)
    assert [each.model for each in result.samples] == ["scripted:model"] * 2 + ["big:strong"]


@virtual_time
async def test_escalation_comes_at_once_when_there_is_no_progress() -> None:
    cheap, strong = by_turn([BAD]), ScriptedModel([BAD, GOOD], name="big:strong")
    result = await sample(
        cheap, "x", [good], concurrency_budget=1, loop_budget=9,
        strategy=Escalate(strong, after=5, repair=MultiTurn()),
    )  # fmt: skip
    assert result.ok
    # Two equal failures are no progress; the strong model keeps the chain from then on.
    assert (len(cheap.requests), len(strong.requests)) == (2, 2)
    assert len(strong.requests[0].messages) == 5


@virtual_time
async def test_the_strong_model_keeps_a_chain_also_when_it_makes_progress() -> None:
    cheap, strong = by_turn(["a"]), ScriptedModel(["bb", "ccc"], name="big:strong")
    growing = reward(lambda draft: float(len(draft)), at_least=3)
    result = await sample(
        cheap, "x", [growing], concurrency_budget=1, loop_budget=9,
        strategy=Escalate(strong, after=9),
    )  # fmt: skip
    assert [each.text for each in result.samples] == ["a", "a", "bb", "ccc"]


@virtual_time
async def test_the_requirements_of_the_repair_inside_another_strategy_count_too() -> None:
    class Mine(Strategy):
        requirements = (good,)

    strong = ScriptedModel(lambda _: GOOD, name="big:strong")
    for strategy in (Majority(repair=Mine()), Escalate(strong, repair=Mine())):
        result = await sample(by_turn([BAD, GOOD]), "x", strategy=strategy, concurrency_budget=1)
        assert [each.valid for each in result.samples] == [False, True]


@virtual_time
async def test_a_strategy_of_ones_own_has_repair_and_select() -> None:
    class Mine(Strategy):
        gathers = True

        def repair(self, turn: Turn, history: Any) -> Any:
            return add_to_prompt(turn.request, "Louder!" * len(history))

        def select(self, samples: Any) -> Any:
            return samples[-1]

    model = by_turn([BAD, BAD, GOOD], [GOOD])
    result = await sample(model, "x", [good], strategy=Mine(), concurrency_budget=2)
    assert result.sample.chain == 1
    assert [asked(model, n) for n in range(4)] == ["x", "x", "x\n\nLouder!", "x\n\nLouder!Louder!"]


def test_adding_to_a_prompt_that_ends_with_the_model_is_a_new_message() -> None:
    from fanwise.models.port import as_request

    request = as_request([Message("user", "a"), Message("assistant", "b")])
    assert add_to_prompt(request, "c").messages[-1] == Message("user", "c")


@virtual_time
async def test_escalation_takes_over_where_the_cheap_model_fails() -> None:
    down = ModelRefused("I will not", model="scripted:model")
    cheap, strong = by_turn([down]), ScriptedModel([GOOD], name="big:strong")
    result = await sample(
        cheap, "x", [good], concurrency_budget=1, loop_budget=3, strategy=Escalate(strong)
    )
    assert (result.ok, result.sample.model, result.sample.iteration) == (True, "big:strong", 1)
    assert result.errors == (down,)
    assert (len(cheap.requests), len(strong.requests)) == (1, 1)


@virtual_time
async def test_where_the_strong_model_fails_too_the_chain_dies() -> None:
    strong = ScriptedModel(lambda _: ModelRefused("no", model="big:strong"), name="big:strong")
    cheap = by_turn([ModelRefused("no", model="scripted:model")])
    with pytest.raises(ModelRefused) as caught:
        await sample(
            cheap, "x", [good], concurrency_budget=1, loop_budget=9, strategy=Escalate(strong)
        )
    assert caught.value.model == "big:strong"
    assert isinstance(caught.value.__cause__, ModelRefused)
    assert (len(cheap.requests), len(strong.requests)) == (1, 1)


@virtual_time
async def test_escalation_goes_up_on_a_time_out() -> None:
    async def slow(_: Any) -> str:
        await asyncio.sleep(1000)
        return GOOD

    cheap, strong = ScriptedModel(slow), ScriptedModel([GOOD], name="big:strong")
    result = await sample(cheap, "x", [good], strategy=Escalate(strong), timeout=5, retry=0)
    assert (result.ok, result.sample.model) == (True, "big:strong")
    assert [type(error) for error in result.errors] == [AttemptTimeout]
    assert (len(cheap.requests), len(strong.requests)) == (1, 1)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("The answer is 1/2.", "1/2"),
        ("so 0.50", "1/2"),
        ("It is 50 %", "1/2"),
        ("1,234.5", "2469/2"),
        ("between 3 and -7", "-7"),
        ("1e3", "1000"),
        ("none", None),
        ("1/0", None),
    ],
)
def test_a_number_is_read_however_it_is_written(text: str, value: str | None) -> None:
    assert number_in(text) == (None if value is None else Fraction(value))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x+1", "1 + x"),
        ("(x+1)^2", "x^2+2x+1"),
        ("(a+b)(a-b)", "a^2-b^2"),
        (r"\frac{\sqrt{2}}{2}", r"$1/\sqrt{2}$"),
        (r"2\sqrt{3}", "√12"),
        (r"\frac{1}{\frac{1}{2}}", "2."),
        (r"50\%", "x = 0.5"),
        ("2^{10}", "1,024"),
        (r"5\text{ cm}", "5"),
        ("0.1+0.2", "0.3"),
        (r"e^{i\pi}", "-1"),
    ],
)
def test_expressions_agree_if_they_are_mathematically_equal(one: str, other: str) -> None:
    assert value_of(one) == value_of(other) is not None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (r"2\sqrt{3}", "3"),
        ("x^2+1", "1"),
        ("x", "y"),
        ("1/3", "0.3333"),
        ("100000000000001", "100000000000002"),
    ],
)
def test_other_expressions_do_not(one: str, other: str) -> None:
    assert value_of(one) != value_of(other)


@pytest.mark.parametrize(
    "text",
    [
        *("9**9**9**9", "(" * 190, "1/0", "yes", "__import__('os')", "a.b", "x if y else z"),
        *("", "x" * 201, "'\\d'", "10**400", "[1]", "1e999"),
    ],
)
def test_what_is_no_expression_is_never_evaluated(text: str) -> None:
    assert value_of(text) is None


@given(st.integers(-9, 9), st.integers(-9, 9), st.integers(1, 9))
def test_the_value_of_an_expression_is_what_python_computes(a: int, b: int, c: int) -> None:
    assert value_of(f"({a})*({b})+({a})/({c})") == a * b + Fraction(a, c)


def from_file(given: Any) -> Strategy:
    where = Where(Document("a.yaml", Path(), {}), ())
    return StrategySpec.model_validate(given).strategy(where)


def test_a_name_with_nothing_below_it_is_that_strategy() -> None:
    """`repair:` in YAML, and no more."""
    assert isinstance(from_file({"repair": None}), Repair)
    with pytest.raises(ValueError, match="escalate needs a model"):
        StrategySpec.model_validate({"escalate": None})


@pytest.mark.parametrize("after", [1, 2])
@pytest.mark.parametrize("stronger", [1, 2, 3])
def test_a_file_knows_how_deep_escalate_goes(stronger: int, after: int) -> None:
    """`fanwise check` says how many samples there are at most, and a budget is planned by it."""
    names = [f"sim:{n}" for n in range(stronger)]
    spec = StrategySpec.model_validate({"escalate": {"to": names, "after": after}})
    for loop_budget in range(1, 7):
        _, depth = Escalate(names, after=after).within(loop_budget)
        assert spec.depth(loop_budget) == depth


@virtual_time
async def test_a_group_that_fails_is_left_for_the_next_model() -> None:
    """Who was asked is one of the group, and not the model that the chain was handed to."""
    broken = [ScriptedModel([ModelRejected("no")], name=f"scripted:{n}") for n in "ab"]
    group = ModelGroup("both", broken, ["error"], spread=False)
    strong = ScriptedModel([GOOD], name="scripted:strong")
    cheap = ScriptedModel([BAD, BAD], name="scripted:cheap")
    result = await sample(cheap, "x", [good], strategy=Escalate([group, strong]))
    assert (result.text, result.sample.model) == (GOOD, "scripted:strong")
    assert [len(each.requests) for each in (cheap, *broken, strong)] == [2, 1, 1, 1]


@virtual_time
async def test_a_vote_by_number_counts_what_answers_come_to() -> None:
    rows: list[list[Any]] = [["It is 3"], ["a half: 0.5"], ["1/2"], ["three"]]
    result = await sample(by_turn(*rows), "x", strategy=Majority(number), winner="first")
    assert result.text == "a half: 0.5"
    alone = await sample(by_turn(*rows), "x", strategy=Majority(), winner="first")
    assert alone.text == "It is 3"
    boxed: list[list[Any]] = [[r"so \boxed{3}"], [r"\boxed{2\sqrt{3}} in 2024"], ["\\sqrt{12}"]]
    result = await sample(by_turn(*boxed), "x", strategy=Majority(number), winner="first", cap=3)
    assert result.text == boxed[1][0]


@pytest.mark.parametrize(
    ("given", "texts", "chosen"),
    [
        ({"majority": {}}, ["3", "0.5", "1/2"], 0),
        ({"majority": {"by": "number"}}, ["3", "0.5", "1/2"], 1),
        ({"minimum_bayes_risk": {}}, ["a b c d", "c d a b", "c d a b e"], 0),
        ({"minimum_bayes_risk": {"by": "rouge_l"}}, ["a b c d", "c d a b", "c d a b e"], 1),
    ],
)
@virtual_time
async def test_a_file_says_by_what_a_vote_counts(given: Any, texts: list[str], chosen: int) -> None:
    rows: list[list[Any]] = [[text] for text in texts]
    result = await sample(by_turn(*rows), "x", strategy=from_file(given), winner="first", cap=3)
    assert result.text == texts[chosen]


def test_rouge_l_goes_by_the_order_of_words_too() -> None:
    assert rouge_l("police killed the gunman", "police kill the gunman") == 0.75
    assert rouge_l("police killed the gunman", "the gunman police killed") == 0.5
    assert words_in_common("police killed the gunman", "the gunman police killed") == 1
    assert (rouge_l("", ""), rouge_l("a", ""), rouge_l("a b", "a b")) == (1, 0, 1)


@pytest.mark.parametrize(
    ("hand_over", "told"), [("last", "<answer>\na"), ("best", "<answer>\nbbb"), ("nothing", None)]
)
@virtual_time
async def test_the_strong_model_is_told_of_the_last_attempt_or_the_best_or_none(
    hand_over: Any, told: str | None
) -> None:
    cheap = by_turn(["bbb", "a"])
    strong = ScriptedModel(["cccc"], name="big:strong")
    longer = reward(lambda draft: float(len(draft)), at_least=4)
    strategy = Escalate(strong, hand_over=hand_over)
    assert (await sample(cheap, "x", [longer], strategy=strategy)).ok
    asked_of_it = asked(strong, 0)
    assert asked_of_it == "x" if told is None else told in asked_of_it
    with pytest.raises(UsageError, match="hand_over"):
        Escalate(strong, hand_over="all")  # type: ignore[arg-type]


@virtual_time
async def test_hooks_see_each_question_and_reply_and_may_change_the_question() -> None:
    told: list[str] = []

    async def asking(turn: Turn) -> Turn:
        return replace(turn, request=add_to_prompt(turn.request, "Be kind."))

    hooks = Hooks(asking=asking, replied=lambda reply: told.append(reply.text))
    model = by_turn([BAD, GOOD])
    result = await sample(model, "x", [good], cap=1, hooks=hooks)
    assert (result.ok, told) == (True, [BAD, GOOD])
    assert [asked(model, n).endswith("Be kind.") for n in range(2)] == [True, True]
    assert result.samples[0].messages[-1].content == "x\n\nBe kind."
