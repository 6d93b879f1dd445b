"""Secrets in a file are refused with their place, and nothing of them is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from fanwise.cli.app import run
from fanwise.errors import BadSpec
from fanwise.specs import ModelSpec, OptionsSpec, SpecModel, check
from tests.specs.support import document

SECRET = "hunter2"


class File(SpecModel):
    model: ModelSpec | None = None
    options: OptionsSpec = OptionsSpec()


@pytest.mark.parametrize(
    ("text", "field", "words"),
    [
        (f"model: {{name: openai:x, base_url: 'https://me:{SECRET}@host/v1'}}",
         "model.base_url", "user or password"),
        (f"model: {{name: openai:x, base_url: 'https://{SECRET}@host/v1'}}",
         "model.base_url", "user or password"),
        (f"model: {{name: openai:x, base_url: 'me:{SECRET}@host/v1'}}",
         "model.base_url", "user or password"),
        (f"model: {{name: openai:x, base_url: 'https://me:{SECRET}@[host/v1'}}",
         "model.base_url", "user or password"),
        (f"model: {{name: openai:x, base_url: 'https://host/v1?v=1&api_key={SECRET}'}}",
         "model.base_url", "`api_key`"),
        (f"model: {{name: openai:x, base_url: 'https://host/v1?key={SECRET}'}}",
         "model.base_url", "`key`"),
        (f"model: {{name: openai:x, base_url: 'https://host/v1#access_token={SECRET}'}}",
         "model.base_url", "`access_token`"),
        (f"options: {{extra: {{extra_headers: {{Authorization: 'Bearer {SECRET}'}}}}}}",
         "options.extra", "`extra_headers.Authorization`"),
        (f"options: {{extra: {{extra_headers: {{x-goog-api-key: {SECRET}}}}}}}",
         "options.extra", "`extra_headers.x-goog-api-key`"),
        (f"options: {{extra: {{extra_headers: {{X-Vault-Token: {SECRET}}}}}}}",
         "options.extra", "`extra_headers.X-Vault-Token`"),
        (f"options: {{extra: {{extra_headers: {{X-Mine: 'basic {SECRET}'}}}}}}",
         "options.extra", "`extra_headers.X-Mine`"),
        (f"options: {{extra: {{extra_body: {{sources: [{{api_key: {SECRET}}}]}}}}}}",
         "options.extra", "`extra_body.sources[0].api_key`"),
        (f"options: {{extra: {{password: {SECRET}}}}}", "options.extra", "`password`"),
    ],
)  # fmt: skip
def test_a_secret_is_refused_with_its_place_and_is_not_said(
    text: str, field: str, words: str
) -> None:
    with pytest.raises(BadSpec) as caught:
        check(document(f"# a line\n{text}\n"), File)
    (problem,) = caught.value.problems
    assert (problem.line, problem.field) == (2, field)
    assert words in problem.message and "`api_key_env`" in problem.message
    assert SECRET not in str(caught.value) and SECRET not in repr(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "model: {name: openai:x, base_url: 'https://host/v1?api-version=2024&user=me'}",
        "model: {name: openai:x, base_url: 'http://127.0.0.1:8000/v1', api_key_env: MY_KEY}",
        "options: {extra: {extra_headers: {X-Title: mine, anthropic-beta: some}}}",
        "options: {extra: {openai_prompt_cache_key: mine, logprobs: true, top_k: 4}}",
        "options: {extra: {extra_body: {schema: {properties: {password: {type: string}}}}}}",
    ],
)
def test_what_is_no_secret_is_as_it_was(text: str) -> None:
    check(document(text), File)


def test_the_command_line_says_nothing_of_it_either(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "f.yaml"
    file.write_text(
        "matrix:\n  name: x\n  models:\n"
        f"    - {{name: openai:x, base_url: 'https://me:{SECRET}@host/v1'}}\n"
        "  inputs: [{text: hello}]\n  prompts: {a: {prompt: '{{ input.text }}'}}\n"
    )
    assert run(["check", str(file)]) == 2
    told = "".join(capfd.readouterr())
    assert "f.yaml:4:" in told and "matrix.models[0].base_url" in told
    assert "api_key_env" in told and SECRET not in told
