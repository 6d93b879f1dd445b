"""`fanwise check` of a matrix: counted and estimated without a key, and nothing is sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.support import Place

FILE = """\
matrix:
  models: [{name: "openai:gpt-5-mini", price: {input: 1, output: 10}}, "mistral:nobody-knows"]
  inputs: {file: rows.jsonl, id: id}
  repeat: 3
  prompts:
    one: {prompt: "{{ input.text }}", options: {max_tokens: 50}}
    two:
      steps:
        - {name: a, prompt: "{{ input.text }}", options: {max_tokens: 10}}
        - {name: b, prompt: "{{ steps.a }}{{ steps.a }}", options: {max_tokens: 10}}
    vote:
      prompt: "{{ input.text }}"
      options: {max_tokens: 50}
      sample: {loop_budget: 2, concurrency_budget: 3, strategy: majority}
    mine: {call: "mine:answer"}
    always: {constant: good}
  score: [{judge: "good?", model: "anthropic:claude-sonnet-4-5"}]
  caps: {openai: 4}
  rates: {mistral: {rpm: 60}}
  budget: {requests: 10}
"""
ROWS = [{"id": "x", "text": "a" * 40}, {"id": "y", "text": "é" * 40}]
KEYS = ("OPENAI_API_KEY", "MISTRAL_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL")


@pytest.fixture
def file(place: Place, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    (place.path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    (place.path / "mine.py").write_text("def answer(subject): raise SystemExit('I was called')\n")
    path = place.path / "m.yaml"
    path.write_text(FILE)
    return path


def checked(place: Place, code: int) -> dict[str, Any]:
    told = place.run("check", "m.yaml", "--json")
    assert told.returncode == code, told.stderr
    found: dict[str, Any] = json.loads(told.stdout)
    return found


def test_without_a_key_all_is_counted_and_every_missing_key_is_named(
    place: Place, file: Path
) -> None:
    found = checked(place, 2)
    assert found["cells"] == 4 * 2 * 2 * 3 + 2 * 3
    assert found["by_axis"]["strategy"] == {
        "one": 12, "two": 12, "vote": 12, "mine": 12, "always": 6,
    }  # fmt: skip
    problems = {each["field"]: each["message"] for each in found["problems"]}
    assert set(problems) == {
        "matrix.models[0]", "matrix.models[1]", "matrix.score[0].model",
    }  # fmt: skip
    assert "OPENAI_API_KEY is not set" in problems["matrix.models[0]"]
    assert "ANTHROPIC_API_KEY is not set" in problems["matrix.score[0].model"]
    # In words: the counts, then all that is missing.
    told = place.run("check", "m.yaml")
    assert told.returncode == 2
    assert b"\n  cells   54\n" in told.stdout
    assert b"items" not in told.stdout
    assert told.stderr.count(b"_API_KEY is not set") == 3


def test_requests_tokens_and_dollars_are_those_of_the_rendered_prompts(
    place: Place, file: Path
) -> None:
    providers = checked(place, 2)["estimate"]["by_provider"]
    openai = providers["openai"]
    # one, two, vote (3 wide, 2 deep), mine: of 2 inputs, each 3 times
    assert openai["requests"] == 6 * (1 + 2 + 6 + 1)
    # 40 bytes are 10 tokens, in two-byte letters 20; the second step reads 2 answers of 10.
    prompts = 3 * sum(tokens + (tokens + 20) + 6 * tokens for tokens in (10, 20))
    function = sum(3 * -(-len(json.dumps(row, separators=(",", ":"), ensure_ascii=False)
                              .encode()) // 4) for row in ROWS)  # fmt: skip
    assert openai["input_tokens"] == prompts + function
    assert openai["output_tokens"] == 6 * (50 + 10 + 10 + 6 * 50 + 300)
    spent = openai["input_tokens"] * 1e-6 + openai["output_tokens"] * 10e-6
    assert openai["usd"] == pytest.approx(spent)
    assert providers["anthropic"]["requests"] == 54  # one judgement of each cell
    assert providers["anthropic"]["usd"] > 0


def test_an_unknown_price_is_said_and_is_not_0(place: Place, file: Path) -> None:
    found = checked(place, 2)["estimate"]
    assert found["by_provider"]["mistral"]["usd"] is None
    assert (found["usd"], found["unpriced"]) == (None, ["mistral:nobody-knows"])
    assert b"the price of mistral:nobody-knows is unknown" in place.run("check", "m.yaml").stdout


def test_with_the_keys_it_can_run(
    place: Place, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in KEYS[:3]:
        monkeypatch.setenv(name, "secret-key")
    told = place.run("check", "m.yaml")
    assert (told.returncode, told.stderr.count(b"problem")) == (0, 0)
    assert b"secret" not in told.stdout + told.stderr
    assert b"the budget of 10 requests may not be enough: about 174" in told.stdout
    assert checked(place, 0)["problems"] == []


def test_a_missing_file_does_not_hide_the_missing_keys(place: Place, file: Path) -> None:
    (place.path / "rows.jsonl").unlink()
    told = place.run("check", "m.yaml")
    assert (told.returncode, told.stdout) == (2, b"")
    assert b"rows.jsonl" in told.stderr
    assert told.stderr.count(b"_API_KEY is not set") == 3


def test_missing_functions_and_columns_and_keys_are_told_together(place: Place, file: Path) -> None:
    text = FILE.replace("mine:answer", "nowhere:answer").replace("input.text", "input.texd", 1)
    file.write_text(text)
    told = place.run("check", "m.yaml").stderr
    for part in (b"no module `nowhere`", b"no `input.texd`", b"OPENAI_API_KEY", b"MISTRAL_API_KEY"):
        assert part in told
