"""Agents' command lines: data in, argv out."""

from __future__ import annotations

from pathlib import Path

import pytest

from fanwise.errors import BadSpec, UsageError
from fanwise.specs.agents import KNOWN, argv, command_argv, merged, named, of_project
from tests.workflow.support import document


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("claude", ["claude", "-p", "do it", "--model", "m"]),
        ("gemini", ["gemini", "-p", "do it", "-m", "m"]),
        ("copilot", ["copilot", "-p", "do it", "--allow-all-tools", "--model", "m"]),
        ("codex", ["codex", "exec", "do it", "--model", "m"]),
        ("cursor-agent", ["cursor-agent", "-p", "--trust", "do it", "--model", "m"]),
        ("qwen", ["qwen", "-p", "do it", "-m", "m"]),
        ("opencode", ["opencode", "run", "do it", "-m", "m"]),
    ],
)
def test_a_prompt(name: str, wanted: list[str]) -> None:
    assert argv(named(name, KNOWN), "do it", "m") == wanted
    assert argv(named(name, KNOWN), "do it") == [
        word for word in wanted if word not in ("m", "-m", "--model")
    ]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("claude", ["claude", "-p", "/speckit-git-commit all"]),
        ("gemini", ["gemini", "-p", "/speckit.git.commit all"]),
        ("copilot", ["copilot", "-p", "all", "--allow-all-tools", "--agent", "speckit.git.commit"]),
        ("opencode", ["opencode", "run", "all", "--command", "speckit.git.commit"]),
    ],
)
def test_a_command(name: str, wanted: list[str]) -> None:
    assert command_argv(KNOWN[name], "speckit.git.commit", "all") == wanted


def test_a_command_without_arguments() -> None:
    assert command_argv(KNOWN["claude"], "speckit.plan") == ["claude", "-p", "/speckit-plan"]


def test_a_value_is_one_word_and_no_option_and_no_place() -> None:
    hostile = "--dangerously-skip-permissions {model}"
    assert argv(KNOWN["claude"], hostile, "m") == ["claude", "-p", f" {hostile}", "--model", "m"]
    with pytest.raises(UsageError, match="would be an option"):
        argv(KNOWN["claude"], "x", "--yolo")


def test_only_declared_options_are_given_to_the_agent() -> None:
    options = {"max-turns": 3, "quick": True, "permission-mode": None}
    assert argv(KNOWN["claude"], "x", None, options) == ["claude", "-p", "x", "--max-turns", "3"]


def test_every_agent_takes_a_prompt_as_one_word() -> None:
    for name, agent in KNOWN.items():
        assert argv(agent, "a b")[1:].count("a b") == 1, name


PROJECT = """\
integrations:
  claude: {argv: [claude, --print, "{prompt}"]}
  ours:
    argv: [our-agent, "--task={prompt}"]
    model: [--with, "{model}"]
    options: {deep: [--deep]}
"""


def test_a_project_adds_and_changes_agents(tmp_path: Path) -> None:
    assert of_project(tmp_path) == KNOWN
    (tmp_path / ".fanwise").mkdir()
    (tmp_path / ".fanwise" / "integrations.yaml").write_text(PROJECT)
    known = of_project(tmp_path)
    assert argv(known["claude"], "x") == ["claude", "--print", "x"]
    assert command_argv(known["claude"], "a.b")[-1] == "/a-b", "what it does not say stays"
    assert argv(known["ours"], "-x", "m", {"deep": True}) == [
        "our-agent", "--task=-x", "--with", "m", "--deep",
    ]  # fmt: skip
    assert known["gemini"] == KNOWN["gemini"]
    assert "--print" not in KNOWN["claude"].argv, "the table itself is not changed"


@pytest.mark.parametrize(
    ("text", "line", "field", "told"),
    [
        ("integrations:\n  new: {model: []}", 2, "integrations.new.argv", "is missing"),
        ("integrations:\n  claude: {argv: [a]}", 2, "integrations.claude.argv", "{prompt}"),
        ("integrations:\n  claude: {args: [a]}", 2, "integrations.claude.args", "`argv`"),
        ("integration: {}", 1, "integration", "`integrations`"),
    ],
)
def test_a_bad_project_file(text: str, line: int, field: str, told: str) -> None:
    with pytest.raises(BadSpec) as caught:
        merged(document(text))
    found = [each for each in caught.value.problems if each.field == field]
    assert found and found[0].line == line and told in found[0].message


def test_an_unknown_one_names_the_known() -> None:
    with pytest.raises(UsageError, match=r"did you mean `claude`\?.*integrations.yaml"):
        named("cluade", KNOWN)
    with pytest.raises(UsageError, match="known: amp, auggie, claude"):
        named("zzz", KNOWN)
