"""A document checked against a model: all that is wrong, each with line, column and field."""

from __future__ import annotations

import pickle
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from fanwise.core.caps import Adaptive, Caps, Rate, Shared
from fanwise.core.retry import Retry
from fanwise.errors import BadSpec
from fanwise.journal.codec import decode_error, encode_error
from fanwise.models import Options, Price, Spec
from fanwise.specs import (
    Duration,
    LimitsSpec,
    Many,
    ModelSpec,
    OptionsSpec,
    RetrySpec,
    SpecModel,
    check,
)
from fanwise.specs.plain import plain_limits
from tests.specs.support import document


class Command(SpecModel):
    type: Literal["command"]
    command: str
    input: str


class Gate(SpecModel):
    type: Literal["gate"]
    message: str


class Poll(LimitsSpec):
    model: ModelSpec | None = None
    models: Many[ModelSpec] = ()
    options: OptionsSpec = OptionsSpec()
    retry: RetrySpec = RetrySpec(times=2)
    timeout: Duration | None = None
    concurrency_budget: int = Field(3, ge=1)
    mode: Literal["fast", "careful"] = "fast"
    steps: Many[Annotated[Command | Gate, Field(discriminator="type")]] = ()
    either: int | list[str] | Gate | None = None
    share: float = Field(0.5, gt=0, lt=1)


class File(SpecModel):
    poll: Poll


def poll(text: str) -> Poll:
    lines = "\n".join(f"  {line}" for line in text.splitlines())
    return check(document(f"poll:\n{lines}\n"), File).poll


def problems(text: str) -> list[str]:
    """Everything that is wrong, as `column field: message`; each text is one line, the second."""
    with pytest.raises(BadSpec) as caught:
        poll(text)
    assert "pydantic" not in str(caught.value)
    assert {problem.line for problem in caught.value.problems} == {2}
    return [
        f"{p.column} {p.field.removeprefix('poll.')}: {p.message}" for p in caught.value.problems
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("concurency_budget: 3", "3 concurency_budget: is not known here; did you mean "
         "`concurrency_budget`?"),
        ('concurrency_budget: "3"', "23 concurrency_budget: must be a whole number, not '3'"),
        ("concurrency_budget: 3.0", "23 concurrency_budget: must be a whole number, not 3.0"),
        ("concurrency_budget: true", "23 concurrency_budget: must be a whole number, not true"),
        ("concurrency_budget: 0", "23 concurrency_budget: must be at least 1, not 0"),
        ("concurrency_budget:", "22 concurrency_budget: must be a whole number, not nothing"),
        ("share: 1", "10 share: must be less than 1, not 1"),
        ("mode: slow", "9 mode: must be `fast` or `careful`, not 'slow'"),
        ("model: {nmae: x:y, name: openai:x}", "11 model.nmae: is not known here; did you mean "
         "`name`?"),
        ("model: {}", "10 model.name: is missing"),
        ("model: 3", "10 model: must be a name such as `openai:gpt-5-mini`, or a mapping, not 3"),
        ("model: gpt-5", "10 model: 'gpt-5' has no provider. Did you mean 'openai:gpt-5'?"),
        ("models: [openai:x, {name: opnai:y}]", "29 models[1].name: 'opnai:y' has the unknown "
         "provider 'opnai'. Did you mean 'openai:y'?"),
        ("models: openai:x", "11 models: must be a list, not 'openai:x'"),
        ("model: {name: openai:x, price: {input: 1}}", "34 model.price.output: is missing"),
        ("options: {top_p: 2}", "20 options.top_p: must be at most 1, not 2"),
        ('caps: {openai: "8"}', "18 caps.openai: must be a whole number or a mapping, not '8'"),
        ("caps: {openai: 0}", "18 caps.openai: must be at least 1, not 0"),
        ("caps: {openai: {strat: 4}}", "19 caps.openai.strat: is not known here; did you mean "
         "`start`?"),
        ("caps: {openai: {start: 4, most: 2}}", "18 caps.openai: least, start and most must not "
         "fall; they are 1, 4 and 2"),
        ("caps: {openai: {most: 4, start: 2, shared: k}}", "18 caps.openai: a shared cap has "
         "`most`, and neither `start` nor `least`"),
        ("caps: {openai: {shared: k}}", "18 caps.openai: a shared cap has `most`, and neither "
         "`start` nor `least`"),
        ("caps: {openai: {most: 4, shraed: k}}", "28 caps.openai.shraed: is not known here; did "
         "you mean `shared`?"),
        ("caps: {total: 4}", "10 caps.total: 'total' is the name of a fan-out's own cap. Choose "
         "another name"),
        ("rates: {openai: {}}", "19 rates.openai: a rate has rpm, tpm or both"),
        ("rates: {openai: {rpm: -1}}", "25 rates.openai.rpm: must be more than 0, not -1"),
        ("budget: {}", "11 budget: a budget has usd, tokens or requests"),
        ("budget: 5", "11 budget: must be a mapping, not 5"),
        ("retry: -1", "10 retry: must be at least 0, not -1"),
        ("retry: {times: 2, base: x}", "27 retry.base: 'x' is not a duration; write 30s, 5m, 1h30m "
         "or a number of seconds"),
        ("timeout: 0", "12 timeout: must be more than 0, not 0"),
        ("timeout: 5 m x", "12 timeout: '5 m x' is not a duration; write 30s, 5m, 1h30m or "
         "a number of seconds"),
        ("steps: [{type: command, command: a}]", "11 steps[0].input: is missing"),
        ("steps: [{type: command, command: a, input: 3}]", "46 steps[0].input: must be text, "
         "not 3"),
        ("steps: [{type: command, command: 3, input: a}]", "36 steps[0].command: must be text, "
         "not 3"),
        ("steps: [{type: gate, mesage: a, message: b}]", "24 steps[0].mesage: is not known here; "
         "did you mean `message`?"),
        ("either: x", "11 either: must be a whole number or a list or a mapping, not 'x'"),
        ("either: [1]", "12 either[0]: must be text, not 1"),
        ("either: {type: gate}", "11 either.message: is missing"),
    ],
)  # fmt: skip
def test_a_problem_names_its_place_and_what_is_wanted(text: str, message: str) -> None:
    assert problems(text) == [message]


def test_a_discriminator_that_is_unknown_is_said_in_a_line() -> None:
    (told,) = problems("steps: [{type: comand}]")
    assert told.startswith("11 steps[0]: ")
    assert "'command', 'gate'" in told


def test_all_problems_are_told_in_the_order_of_the_file_and_ten_at_most() -> None:
    text = "poll:\n" + "".join(f"  wrong{number}: 1\n" for number in range(13))
    with pytest.raises(BadSpec) as caught:
        check(document(text), File)
    assert [problem.line for problem in caught.value.problems] == list(range(2, 15))
    lines = caught.value.message.splitlines()
    assert lines[0] == "f.yaml has 13 problems"
    assert lines[1].startswith("  f.yaml:2:3: poll.wrong0: is not known here; known: budget, ")
    assert (len(lines), lines[-1]) == (12, "  … and 3 more")


def test_a_part_of_a_document_is_checked_with_its_own_place() -> None:
    with pytest.raises(BadSpec) as caught:
        check(document("a:\n- poll:\n    sahre: 1"), File, "a", 0)
    assert "f.yaml:3:5: a[0].poll.sahre: is not known here; did you mean `share`?" in str(
        caught.value
    )


def test_a_key_that_stands_for_a_kind_of_step_does_not_mislead_the_place() -> None:
    """The path of a union has the kind in it, and here a key of that name is in the data too."""
    assert problems("steps: [{type: command, input: 3, command: {input: 4}}]") == [
        "34 steps[0].input: must be text, not 3",
        "46 steps[0].command: must be text, not a mapping of 1",
    ]


def test_models_and_options_are_those_of_the_library() -> None:
    found = poll(
        "models: [openai:x, {name: openai:y, base_url: u, api_key_env: K, "
        "price: {input: 1, output: 2.5}}]\n"
        "options: {temperature: 1, stop: END, max_tokens: 5, extra: {seed: 3}}"
    )
    assert [each.spec() for each in found.models] == [
        Spec("openai:x"), Spec("openai:y", "u", "K", Price(1, 2.5)),
    ]  # fmt: skip
    wanted = Options(temperature=1, max_tokens=5, stop=("END",), extra={"seed": 3})
    assert found.options.options() == wanted


def test_caps_and_rates_become_one_object_and_a_new_one_each_time() -> None:
    found = poll(
        "caps: {openai: 8, local: {start: 4, most: 16}}\n"
        "rates: {openai: {rpm: 500, tpm: 200000}, other: {rpm: 5}}"
    )
    caps = found.make_caps()
    assert caps is not None and found.make_caps() is not caps
    wanted = Caps(openai=(8, Rate(500, 200000)), local=Adaptive(4, 1, 16), other=Rate(5))
    assert repr(caps) == repr(wanted) == "Caps(openai=8, local=4, other=None)"
    assert len(caps.ledger.resources["openai"].buckets) == 2
    assert poll("mode: fast").make_caps() is None


def test_a_shared_cap_goes_from_python_to_a_file_and_back() -> None:
    caps = Caps(openai=(Shared(50, "team-key"), Rate(500)))
    plain = plain_limits(caps, None)
    assert plain["caps"] == {"openai": {"most": 50, "shared": "team-key"}}
    found = poll(f"caps: {plain['caps']}\nrates: {plain['rates']}")
    assert found.limits() == {"openai": [Shared(50, "team-key"), Rate(500)]}
    assert found.limits(alone=True) == {"openai": [50, Rate(500)]}
    assert repr(found.make_caps()) == "Caps(openai=50)"


def test_a_budget_is_made_new_each_time() -> None:
    found = poll("budget: {usd: 5, tokens: 1000}")
    budget = found.make_budget()
    assert budget is not None and found.make_budget() is not budget
    assert budget.limits == {"usd": 5, "tokens": 1000}
    assert poll("mode: fast").make_budget() is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("12.5", 12.5), ("30s", 30), ("5m", 300), ("1h30m", 5400), ("250ms", 0.25), ("1d 2h", 93600)],
)
def test_durations_are_seconds(text: str, seconds: float) -> None:
    assert poll(f"timeout: {text}").timeout == seconds


def test_retry_is_a_number_or_a_mapping() -> None:
    assert poll("retry: 3").retry.retry() == Retry(3)
    assert poll("retry: {times: 1, base: 0, most: 2m}").retry.retry() == Retry(1, 0, 120)


def test_what_was_checked_can_be_kept_as_json_and_checked_again() -> None:
    found = poll("caps: {a: 1, b: {start: 2}}\nmodels: [openai:x]\nretry: 3\ntimeout: 5m")
    kept: dict[str, Any] = found.model_dump(mode="json", exclude_unset=True)
    assert Poll.model_validate(kept) == found


def test_an_error_survives_a_journal_and_a_process_boundary() -> None:
    with pytest.raises(BadSpec) as caught:
        poll("share: 3\nmode: x")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.problems) == (str(caught.value), caught.value.problems)
    recorded = decode_error(encode_error(caught.value))
    assert (recorded.type_name, recorded.fields["file"]) == ("fanwise.errors.BadSpec", "f.yaml")
    assert recorded.fields["problems"][0][2] == "poll.share"


def test_unknown_keys_can_be_told_of_and_left_out() -> None:
    text = "poll: {moed: fast, mode: careful, retry: {times: 1, bass: 2}, either: {type: gate}}"
    told: list[Any] = []
    with pytest.raises(BadSpec) as caught:
        check(document(text), File, on_unknown=told.append)
    assert [each.field for each in caught.value.problems] == ["poll.either.message"]
    assert [(each.field, each.line) for each in told] == [("poll.moed", 1), ("poll.retry.bass", 1)]
    assert "did you mean `mode`?" in told[0].message

    told.clear()
    whole = document(text.replace("type: gate", "type: gate, message: m, extra: 1"))
    found = check(whole, File, on_unknown=told.append).poll
    assert (found.mode, found.retry.times) == ("careful", 1)
    assert "moed" in whole.data["poll"], "the document itself is not changed"
    assert "poll.either.extra" in [each.field for each in told]
