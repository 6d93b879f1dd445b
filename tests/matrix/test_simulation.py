"""A matrix in virtual time: where chance has no part, the time is known to the digit."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from fanwise.core.outcome import Usage
from fanwise.errors import ModelOverloaded, ModelRateLimited, ModelRejected, UsageError
from fanwise.journal.codec import encode_error
from fanwise.journal.port import AttemptRecord
from fanwise.matrix.simulation.event_run import event_run
from fanwise.matrix.simulation.plan import Chances, SimulationPlan
from fanwise.matrix.simulation.profiles import Fixed, Lognormal, ModelProfile, Observed, parse
from fanwise.matrix.simulation.simulate import plan_of, simulate
from fanwise.matrix.simulation.world import World
from fanwise.matrix.system import KEY, SYSTEM
from fanwise.models.names import Spec
from fanwise.models.unconnected import unconnected
from fanwise.specs import read
from fanwise.specs.system import Assumed
from tests.marks import slow_after
from tests.matrix.kernel_simulation import kernel_run

TWO_SECONDS = {"all": "2s"}


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI", "ANTHROPIC", "GOOGLE", "MISTRAL", "DEEPSEEK"):
        monkeypatch.delenv(f"{name}_API_KEY", raising=False)


class Files:
    """Files of a test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def plan(self, text: str) -> tuple[SimulationPlan, World]:
        file = self.folder / "m.yaml"
        file.write_text(f"matrix:\n{text}")
        return plan_of(read(str(file)), KEY, Assumed({}))

    def simulated(
        self, text: str, latency: dict[str, str] | None = None, **assumed: Any
    ) -> dict[str, Any]:
        file = self.folder / "m.yaml"
        file.write_text(f"matrix:\n{text}")
        given = Assumed(latency or {}, **assumed)
        document: dict[str, Any] = SYSTEM.simulate(read(str(file)), given).document
        return document


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def axes(models: str, cells: int) -> str:
    inputs = ", ".join(f"{{id: i{number}, text: t}}" for number in range(cells))
    return f"  models: {models}\n  inputs: [{inputs}]\n"


ONE = '  prompts: {one: {prompt: "{{ input.text }}", options: {max_tokens: 50}}}\n'


def changes(found: dict[str, Any]) -> dict[str, float]:
    return {each["change"]: each["seconds"] for each in found["what_if"]}


def test_with_one_cap_the_time_is_the_work_over_the_cap(files: Files) -> None:
    text = axes("[openai:gpt-5-mini]", 100) + ONE + "  caps: {openai: 4}\n"
    found = files.simulated(text, TWO_SECONDS)
    assert found["predicted_s"] == pytest.approx(50)
    assert found["interval_s"] == [found["predicted_s"]] * 2
    assert found["one_after_another_s"] == pytest.approx(200)
    assert (found["lower_bound_s"], found["lower_bound_by"]) == (50, "openai: cap 4")
    assert (found["binds"], found["calls"], found["failed"]) == ("openai: cap 4", 100, 0)
    # 100 over 8 are 13 rounds of 2 s, over 16 they are 7
    assert changes(found) == pytest.approx(
        {"openai: cap 2": 100, "openai: cap 8": 26, "openai: cap 16": 14}
    )
    (limit,) = found["limits"]
    assert limit["used"] == pytest.approx(1)


def test_of_two_providers_the_slower_one_binds(files: Files) -> None:
    text = axes("[openai:gpt-5-mini, mistral:mistral-small-latest]", 40) + ONE
    text += "  caps: {openai: 4, mistral: 4}\n"
    found = files.simulated(text, {"openai": "1s", "mistral": "3s"})
    assert found["predicted_s"] == pytest.approx(30)
    assert found["binds"] == "mistral: cap 4"
    used = {each["limit"]: each["used"] for each in found["limits"]}
    assert used == pytest.approx({"openai: cap 4": 1 / 3, "mistral: cap 4": 1})


def test_a_rate_that_binds_is_told_from_the_cap(files: Files) -> None:
    text = axes("[openai:gpt-5-mini]", 120) + ONE
    text += "  caps: {openai: 8}\n  rates: {openai: {rpm: 60}}\n"
    found = files.simulated(text, {"openai": "500ms"})
    # One at once, then one a second: the last begins after 119 s.
    assert found["predicted_s"] == pytest.approx(119.5)
    assert found["lower_bound_s"] == pytest.approx(119)
    assert found["binds"] == "openai: 60 rpm"
    assert changes(found)["openai: 30 rpm"] == pytest.approx(238.5)


def test_tokens_a_minute_bind_by_what_is_used(files: Files) -> None:
    text = axes("[openai:gpt-5-mini]", 200) + ONE + "  rates: {openai: {tpm: 6000}}\n"
    found = files.simulated(text, {"openai": "1s"})
    assert found["binds"] == "openai: 6000 tpm"
    # 51 tokens each, of which a thousand come at once and 5,000 in a minute.
    assert found["predicted_s"] == pytest.approx((200 * 51 - 1000) / (5000 / 60), rel=0.03)


def test_a_budget_that_is_spent_fails_cells_and_binds(files: Files) -> None:
    text = axes("[openai:gpt-5-mini]", 20) + ONE
    text += "  caps: {openai: 4}\n  budget: {requests: 8}\n"
    found = files.simulated(text, TWO_SECONDS)
    assert (found["failed"], found["calls"]) == (12, 8)
    assert "BudgetExceeded" in found["first_failure"]
    assert found["binds"] == "budget: 8 requests"
    assert found["predicted_s"] == pytest.approx(4)


def test_a_budget_that_reserves_too_much_holds_calls_up(files: Files) -> None:
    # Without max_tokens an unknown model reserves 131,072 tokens: only one fits into the budget.
    text = axes("[mistral:nobody-knows]", 10)
    text += '  prompts: {one: {prompt: "{{ input.text }}"}}\n'
    text += "  caps: {mistral: 5}\n  budget: {tokens: 200000}\n"
    found = files.simulated(text, TWO_SECONDS)
    assert found["predicted_s"] == pytest.approx(20)
    assert (found["failed"], found["binds"]) == (0, "budget: 200000 tokens")


def test_a_provider_without_a_cap_is_bound_by_the_cells_at_work(files: Files) -> None:
    found = files.simulated(axes("[openai:gpt-5-mini]", 128) + ONE, TWO_SECONDS)
    assert found["predicted_s"] == pytest.approx(4)
    assert found["binds"] == "openai: no cap, 64 cells at once"


def test_steps_follow_one_another_and_judges_follow_them(files: Files) -> None:
    text = axes("[openai:gpt-5-mini]", 8)
    text += """\
  prompts:
    two:
      steps:
        - {name: a, prompt: "{{ input.text }}"}
        - {name: b, prompt: "{{ steps.a }}"}
    control: {constant: yes}
  score: [{judge: "good?", model: "anthropic:claude-sonnet-4-5"}, {exact: input.text}]
  caps: {openai: 8, anthropic: 16}
"""
    found = files.simulated(text, {"openai": "1s", "anthropic": "3s"})
    assert found["predicted_s"] == pytest.approx(5)
    assert found["calls"] == 8 * 2 + 16
    assert (found["lower_bound_s"], found["lower_bound_by"]) == (5, "the longest cell")
    assert found["binds"] is None


def test_samples_are_made_as_deep_as_a_check_may_ask_for(files: Files) -> None:
    text = axes("[openai:gpt-5-mini]", 4) + "  caps: {openai: 3}\n"
    sampled = """\
  prompts:
    vote:
      prompt: "{{ input.text }}"
      sample: {loop_budget: 2, concurrency_budget: 3, strategy: majority%s}
"""
    free = files.simulated(text + sampled % "", TWO_SECONDS)
    assert (free["calls"], free["predicted_s"]) == (12, pytest.approx(8))
    judged = sampled % ", requirements: [short]"
    checked = files.simulated(text + judged, TWO_SECONDS)
    assert (checked["calls"], checked["predicted_s"]) == (48, pytest.approx(32))


def test_nothing_of_the_users_is_called(files: Files) -> None:
    called = files.folder / "called"
    (files.folder / "mine_simulated.py").write_text(
        f"from pathlib import Path\n\ndef answer(subject): Path({str(called)!r}).touch()\n"
        f"def score(answer, given): Path({str(called)!r}).touch()\n"
    )
    text = axes("[openai:gpt-5-mini]", 6)
    text += f"""\
  prompts: {{mine: {{call: "mine_simulated:answer"}}}}
  score: [{{call: "mine_simulated:score"}}, {{command: [touch, {called}]}}]
  caps: {{openai: 2}}
"""
    found = files.simulated(text, TWO_SECONDS)
    assert (found["calls"], found["predicted_s"]) == (6, pytest.approx(6))
    assert not called.exists()


def test_an_attempt_that_is_too_slow_is_cut_off_and_tried_again(files: Files) -> None:
    text = axes("[openai:gpt-5-mini]", 3) + ONE + "  timeout: 5s\n  retry: {times: 1, base: 0s}\n"
    found = files.simulated(text, {"openai": "9s"})
    assert (found["calls"], found["failed"], found["predicted_s"]) == (6, 3, pytest.approx(10))
    assert "timed out after 5 s" in found["first_failure"]


MIXED = """\
  models:
    - "sim:a?median_s=3&rate_limited=0.1&errors=0.05"
    - openai:gpt-5-mini
    - mistral:mistral-small-latest
  inputs: [INPUTS]
  repeat: 3
  prompts:
    one: {prompt: "{{ input.text }}", options: {max_tokens: 50}}
    two:
      steps: [{name: a, prompt: "{{ input.text }}"}, {name: b, prompt: "{{ steps.a }}"}]
    vote: {prompt: "{{ input.text }}", sample: {concurrency_budget: 3, loop_budget: 2}}
    control: {copy: input.text}
  score: [{judge: "good?", model: "openai:gpt-5-mini"}]
  caps: {sim: {start: 2, least: 1, most: 6}, openai: 4, "openai:gpt-5-mini": 3, all: 9}
  rates: {mistral: {rpm: 200, tpm: 100000}}
  budget: {usd: 500, tokens: 100000000}
""".replace("INPUTS", ", ".join(f"{{id: i{number}, text: t{number}}}" for number in range(12)))


@pytest.mark.parametrize(
    "left_out", slow_after(1, ["nothing", "rates:", "budget:", "score:", "vote:"])
)
def test_the_simulation_gives_the_times_of_the_whole_kernel(files: Files, left_out: str) -> None:
    lines = MIXED.replace("usd: 500, ", "").splitlines(keepends=True)
    text = "".join(line for line in lines if left_out not in line)
    plan, world = files.plan(text)
    for seed in range(2):
        chances = Chances(plan, seed)
        ours = event_run(plan, world.profiles, chances)
        took, calls, failed = kernel_run(plan, world.profiles, chances)
        assert ours.seconds == pytest.approx(took, rel=0.05)
        assert (sum(each.attempts for each in ours.totals.values()), ours.failed) == (calls, failed)
    found = files.simulated(text)
    assert found["interval_s"][0] < found["predicted_s"] < found["interval_s"][1]
    assert found["lower_bound_s"] <= found["predicted_s"]


APART = """\
  models: ["sim:a?median_s=3&errors=0.1", openai:gpt-5-mini, mistral:mistral-small-latest]
  inputs: [INPUTS]
  repeat: 2
  prompts:
    one: {prompt: "{{ input.text }}", options: {max_tokens: 50}}
    two:
      steps: [{name: a, prompt: "{{ input.text }}"}, {name: b, prompt: "{{ steps.a }}"}]
  retry: {times: 2, base: 0s}
  timeout: 9s
  caps: {sim: 3, openai: 4, mistral: 5}
""".replace("INPUTS", ", ".join(f"{{id: i{number}, text: t{number}}}" for number in range(12)))


def test_with_caps_apart_it_is_the_same_to_the_digit(files: Files) -> None:
    plan, world = files.plan(APART)
    for seed in range(3):
        chances = Chances(plan, seed)
        ours = event_run(plan, world.profiles, chances)
        took, calls, failed = kernel_run(plan, world.profiles, chances)
        assert ours.seconds == pytest.approx(took, rel=1e-9)
        assert (sum(each.attempts for each in ours.totals.values()), ours.failed) == (calls, failed)


def test_of_a_large_matrix_a_part_is_enough_for_the_what_ifs(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = axes("[openai:gpt-5-mini, mistral:mistral-small-latest]", 1200) + ONE
    text += "  caps: {openai: 2, mistral: 3}\n  budget: {requests: 2000}\n"
    latency = {"openai": "lognormal:1s:0.5", "mistral": "lognormal:2s:0.5"}
    whole = files.simulated(text, latency)
    monkeypatch.setattr(f"{simulate.__module__}.PART_CALLS", 600)
    monkeypatch.setattr(f"{simulate.__module__}.ROUNDS", 0)
    part = files.simulated(text, latency)
    assert (whole["what_if_of_one_cell_in"], part["what_if_of_one_cell_in"]) == (1, 4)
    assert (part["predicted_s"], part["failed"]) == (whole["predicted_s"], 400)
    assert part["binds"] == whole["binds"] == "budget: 2000 requests"
    failed = [{each["change"]: each["failed"] for each in f["what_if"]} for f in (part, whole)]
    shared = [name for name in changes(whole) if name in changes(part)]
    assert len(shared) >= 6
    for name in shared:
        assert changes(part)[name] == pytest.approx(changes(whole)[name], rel=0.1)
        assert failed[0][name] == pytest.approx(failed[1][name], abs=24)


def test_the_same_file_gives_the_same_answer(files: Files) -> None:
    assert files.simulated(MIXED) == files.simulated(MIXED)


PROVIDERS = (
    "openai:gpt-5-mini", "anthropic:claude-haiku-4-5", "google:gemini-2.5-flash",
    "mistral:mistral-small-latest", "deepseek:deepseek-chat",
)  # fmt: skip


def test_cells_grouped_by_provider_take_no_longer_than_the_busiest_provider(files: Files) -> None:
    caps = ", ".join(f"{name.partition(':')[0]}: 4" for name in PROVIDERS)
    text = axes(f"[{', '.join(PROVIDERS)}]", 300) + ONE + f"  caps: {{{caps}}}\n"
    medians = dict(zip(PROVIDERS, (1.0, 0.5, 2.0, 0.8, 1.3), strict=True))
    latency = {name: f"lognormal:{median}s:0.6" for name, median in medians.items()}
    (files.folder / "m.yaml").write_text(f"matrix:\n{text}")
    found = simulate(read(str(files.folder / "m.yaml")), KEY, Assumed(latency))
    kernel = found.draws[0]
    by_provider = [total.seconds / 4 for total in kernel.totals.values()]
    assert len(by_provider) == 5
    assert kernel.seconds <= 1.05 * max(by_provider)


# -- profiles --------------------------------------------------------------------------------------


def attempt(
    call: str, ran_s: float, error: BaseException | None = None, output: int | None = 7
) -> AttemptRecord:
    text = None if error is None else encode_error(error)
    return AttemptRecord(1, "k", call, 0.0, ran_s, 0.0, text, output_tokens=output, number=1)


def failed(kind: type[ModelOverloaded] | type[ModelRateLimited] | type[ModelRejected]) -> Any:
    return kind("no", provider="openai", model="m")


def test_calls_are_learned_from_with_their_failures_and_the_length_of_answers() -> None:
    name, judge = "openai:gpt-5-mini", "judge openai:gpt-5-mini"
    records = [
        *(attempt(name, seconds, output=int(10 * seconds)) for seconds in (3.0, 1.0)),
        attempt(judge, 2.0, output=20),
        attempt(name, 0.2, failed(ModelRateLimited)),
        attempt(name, 0.4, failed(ModelOverloaded)),
        attempt(name, 99.0, failed(ModelRejected)),
        attempt("mistral:other", 50.0),
    ]
    models = [unconnected(Spec(name)), unconnected(Spec("openai:gpt-5"))]
    world = World(models, Assumed({}, records, "monday"))
    profile = world.profiles[name]
    assert profile.latency == Observed([(1.0, 10), (2.0, 20), (3.0, 30)])
    assert (profile.refused, profile.failed) == (0.2, 0.2)
    assert profile.unhappy == Observed([(0.2, None), (0.4, None)])
    # Of a model that was not asked: what was seen of its provider.
    assert world.profiles["openai:gpt-5"].latency == profile.latency
    assert "other models of openai" in world.profiles["openai:gpt-5"].source


def test_what_is_given_comes_before_what_is_learned_and_that_before_what_is_assumed() -> None:
    names = ("openai:gpt-5-mini", "openai:gpt-5", "local:here", "sim:x?median_s=9")
    models = [unconnected(Spec(name)) for name in names]
    records = [attempt("openai:gpt-5-mini", 1.0), attempt("openai:gpt-5", 1.0)]
    found = World(models, Assumed({"openai:gpt-5": "4s"}, records, "monday")).profiles
    sources = [found[name].source.partition(" ")[0].rstrip(":") for name in names]
    assert sources == ["learned", "given", "assumed", "by"]
    assert found["sim:x?median_s=9"].latency == Lognormal(9.0, 0.5)


def test_learned_calls_make_the_time_and_the_cost(files: Files) -> None:
    text = axes('[{name: "openai:gpt-5-mini", price: {input: 0, output: 1000000}}]', 50)
    text += ONE + "  caps: {openai: 5}\n"
    records = [attempt("openai:gpt-5-mini", 4.0, output=3)] * 3
    found = files.simulated(text, learned=records, learned_from="monday")
    assert found["predicted_s"] == pytest.approx(40)
    assert found["usd"] == pytest.approx(150)
    assert "learned from monday" in found["assumed"]["openai:gpt-5-mini"]


def test_draws_follow_the_profile() -> None:
    profile = ModelProfile(
        Lognormal(2.0, 0.5), "given", refused=0.1, failed=0.2, unhappy=Fixed(0.5)
    )
    chance = Random(1).random
    draws = [profile.draw(chance(), chance()) for _ in range(4000)]
    refused = sum(failure == "refused" for _, _, failure in draws) / len(draws)
    broken = sum(failure == "failed" for _, _, failure in draws) / len(draws)
    assert [refused, broken] == pytest.approx([0.1, 0.2], abs=0.02)
    good = sorted(seconds for seconds, _, failure in draws if failure is None)
    assert good[len(good) // 2] == pytest.approx(2.0, rel=0.05)
    assert good[int(0.8413 * len(good))] == pytest.approx(2.0 * 2.718281828**0.5, rel=0.06)
    assert (0.5, 0, "refused") in draws


def test_every_attempt_has_chances_of_its_own_that_do_not_change(files: Files) -> None:
    plan, _ = files.plan(axes("[openai:gpt-5-mini]", 3) + ONE)
    one, same, other = Chances(plan, 1), Chances(plan, 1), Chances(plan, 2)
    places = [(call, attempt) for call in range(3) for attempt in (1, 2, 3)]
    assert [one.of(*place) for place in places] == [same.of(*place) for place in places]
    drawn = {
        number for chances in (one, other) for place in places for number in chances.of(*place)
    }
    assert len(drawn) == 2 * 2 * len(places) and all(0 < number < 1 for number in drawn)


@pytest.mark.parametrize(
    "text", ["", "fast", "-1s", "lognormal:2s", "lognormal:0s:1", "normal:2:1"]
)
def test_a_latency_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is no latency"):
        parse(text)


def test_latencies_are_read() -> None:
    assert parse("1m30s") == parse("90") == Fixed(90.0)
    assert parse("lognormal:250ms:0.4") == Lognormal(0.25, 0.4)


def test_a_latency_for_nobody_is_refused(files: Files) -> None:
    with pytest.raises(UsageError, match="no cell uses 'opnai'"):
        files.simulated(axes("[openai:gpt-5-mini]", 1) + ONE, {"opnai": "1s"})


def test_a_run_without_calls_teaches_nothing(files: Files) -> None:
    with pytest.raises(UsageError, match="no call to learn from in run 'monday'"):
        files.simulated(axes("[openai:gpt-5-mini]", 1) + ONE, learned_from="monday")


def test_the_estimates_of_a_budget_are_those_of_the_connected_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from fanwise.models import Message, Options, Request, connect

    monkeypatch.setenv("OPENAI_API_KEY", "k")
    request = Request((Message("user", "é" * 99),), Options(max_tokens=9), {"type": "string"})
    for spec in (Spec("openai:gpt-5-mini"), Spec("sim:x?tokens=5")):
        real, ours = connect(spec), unconnected(spec)
        assert (ours.name, ours.provider, ours.key) == (real.name, real.provider, real.key)
        assert ours.estimate(request) == real.estimate(request) != Usage()
