"""Names as people mistype them; dollars that are known, unknown, and never too few."""

from __future__ import annotations

import logging

import pytest

from fanwise.errors import UnknownModel, UsageError
from fanwise.models.names import Price, Spec, as_spec, shown, split
from fanwise.models.port import Message, Options, Request, Tokens
from fanwise.models.prices import dollars, most, most_input

PROMPT = Request((Message("user", "x" * 300),), Options(max_tokens=1000))


def test_a_name_is_a_provider_and_a_model() -> None:
    assert split("openai:gpt-5-mini") == ("openai", "gpt-5-mini")
    assert split("ollama:qwen3:4b") == ("ollama", "qwen3:4b")
    assert split("replay:a/b.jsonl") == ("replay", "a/b.jsonl")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("opnai:gpt-5-mini", "Did you mean 'openai:gpt-5-mini'?"),
        ("gpt-5-mini", "Did you mean 'openai:gpt-5-mini'?"),
        ("Claude-sonnet-4-5", "Did you mean 'anthropic:Claude-sonnet-4-5'?"),
        ("nobody", "Write PROVIDER:nobody, with one of: openai, anthropic"),
        ("zzz:m", "Known: openai, anthropic"),
        ("openai:", "Write openai:MODEL"),
    ],
)
def test_a_mistyped_name_is_answered_with_the_nearest_that_is_known(name: str, hint: str) -> None:
    with pytest.raises(UnknownModel) as caught:
        split(name)
    assert caught.value.next_step.startswith(hint)


def test_a_spec_of_a_file_says_which_field_is_wrong() -> None:
    given = {"name": "openai:q", "base_url": "http://x/v1", "price": {"input": 1, "output": 2}}
    assert as_spec(given) == Spec("openai:q", "http://x/v1", None, Price(1, 2))
    assert shown(as_spec(given)) == given
    with pytest.raises(UsageError, match="api_key"):
        as_spec({"name": "openai:q", "api_key": "a key has no place in a file"})


def test_a_known_price_is_counted_from_the_list() -> None:
    usd = dollars("openai", "gpt-5-mini", Tokens(1_000_000, 1_000_000))
    assert usd is not None and 1 < usd < 10
    cached = dollars("openai", "gpt-5-mini", Tokens(1_000_000, 1_000_000, cached=1_000_000))
    assert cached is not None and cached < usd


def test_an_unknown_price_is_none_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        answers = [dollars("openai", "no-such-model-1", Tokens(10, 10)) for _ in range(3)]
    assert answers == [None] * 3
    assert [r.getMessage() for r in caplog.records] == [
        "the price of openai:no-such-model-1 is unknown: dollars are not counted"
    ]


def test_a_given_price_goes_before_the_list() -> None:
    assert dollars("openai", "gpt-5-mini", Tokens(1_000_000, 500_000), Price(1, 10)) == 6.0


def test_the_estimate_is_input_by_bytes_and_output_by_max_tokens() -> None:
    estimate = most("openai", "gpt-5-mini", PROMPT)
    assert estimate.tokens == 150 + 16 + 1000
    assert estimate.usd == dollars("openai", "gpt-5-mini", Tokens(166, 1000))


def test_without_max_tokens_the_estimate_is_what_the_model_can_hold() -> None:
    request = Request(PROMPT.messages)
    assert most("openai", "gpt-5-mini", request).tokens == 166 + 400_000
    assert most("openai", "no-such-model-2", request).tokens == 166 + 131_072
    assert most("openai", "no-such-model-2", request).usd is None


def test_a_schema_counts_as_input() -> None:
    schema = Request(PROMPT.messages, schema={"type": "object"})
    assert most_input(schema) == 150 + 9 + 2 * 16
