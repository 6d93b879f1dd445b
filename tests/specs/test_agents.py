"""Agents' command lines: data in, argv out."""

from __future__ import annotations

from pathlib import Path

import pytest

from fanwise.errors import BadSpec, UsageError
from fanwise.specs.agents import argv, command_argv, known, merged, named, of_project
from tests.workflow.support import document

KNOWN = known()
SLASH, SKILL, DOLLAR = (
    "/speckit.git.commit all",
    "/speckit-git-commit all",
    "$speckit-git-commit all",
)
# As spec-kit 1.2.3 calls them: for a prompt with a model, and the prompt that a command is.
# What lets the agent do anything is marked by `!`; it is there only if it is asked for.
AGENTS = {
    "agy": ("agy !--dangerously-skip-permissions --model M --print P", SKILL),
    "alquimia": ("alquimia -p P --model M", SKILL),
    "amp": ("amp --execute P", SLASH),
    "auggie": ("auggie -p P --model M", SLASH),
    "bob": ("bob run !--trust !--accept-license -f pretty P", SKILL),
    "claude": ("claude -p P !--dangerously-skip-permissions --model M", SKILL),
    "codebuddy": ("codebuddy -p P --model M", SLASH),
    "codex": ("codex exec P !--dangerously-bypass-approvals-and-sandbox --model M", DOLLAR),
    "command-code": ("command-code -p P --model M", DOLLAR),
    "copilot": ("copilot -p P !--yolo --model M", SKILL),
    "cursor-agent": ("cursor-agent -p --trust !--approve-mcps !--force P --model M", SKILL),
    "devin": ("devin -p P --model M", SKILL),
    "droid": ("droid exec P --model M", SKILL),
    "dsh": ("dsh --profile headless P", SKILL),
    "forge": ("forge -p P", SKILL),
    "gemini": ("gemini -p P !--yolo -m M", SLASH),
    "goose": ("goose run --model M -t P", None),
    "grok": ("grok -p P !--always-approve --model M", SKILL),
    "hermes": ("hermes chat -Q -m M -q P", None),
    "junie": ("junie -p P --model M", SKILL),
    "kimi": ("kimi -p P --model M", "/skill:speckit-git-commit all"),
    "kiro-cli": ("kiro-cli -p P --model M", SLASH),
    "mcode": ("mcode exec P !--permission !full --model M", SKILL),
    "muse": ("muse exec P --model M", SKILL),
    "omp": ("omp --print --model M P", SLASH),
    "opencode": ("opencode run -m M P", None),
    "pi": ("pi -p P --model M", SLASH),
    "qodercli": ("qodercli -p P --model M", SKILL),
    "qwen": ("qwen -p P !--yolo --model M", SLASH),
    "rovodev": ("acli rovodev run P", SKILL),
    "tabnine": ("tabnine -p P -m M", SLASH),
    "vibe": ("vibe -p P", SKILL),
    "zcode": ("zcode -p P", DOLLAR),
}


def test_the_table_has_these_agents() -> None:
    assert list(KNOWN) == list(AGENTS)


@pytest.mark.parametrize("name", AGENTS)
def test_a_prompt(name: str) -> None:
    line, _ = AGENTS[name]
    safe = [word for word in line.split() if not word.startswith("!")]
    assert argv(KNOWN[name], "P", "M") == safe
    assert argv(KNOWN[name], "P") == [w for w in safe if w not in ("M", "-m", "--model")]
    allowed = argv(KNOWN[name], "P", "M", {"all-permissions": True})
    assert allowed == line.replace("!", "").split()


@pytest.mark.parametrize("name", [name for name, (_, prompt) in AGENTS.items() if prompt])
def test_a_command_that_is_a_prompt(name: str) -> None:
    _, prompt = AGENTS[name]
    assert prompt is not None
    assert command_argv(KNOWN[name], "speckit.git.commit", "all", "M") == argv(
        KNOWN[name], prompt, "M"
    )


@pytest.mark.parametrize(
    ("name", "wanted", "bare"),
    [
        (
            "goose",
            "goose run --model M --recipe .goose/recipes/speckit.plan.yaml --params args=all",
            "goose run --recipe .goose/recipes/speckit.plan.yaml",
        ),
        ("hermes", "hermes chat -Q -m M -s speckit-plan -q all", "hermes chat -Q -s speckit-plan"),
        (
            "opencode",
            "opencode run --command speckit.plan -m M all",
            "opencode run --command speckit.plan",
        ),
    ],
)
def test_a_command_of_its_own(name: str, wanted: str, bare: str) -> None:
    assert command_argv(KNOWN[name], "speckit.plan", "all", "M") == wanted.split()
    assert command_argv(KNOWN[name], "speckit.plan") == bare.split()


def test_a_command_without_arguments() -> None:
    assert command_argv(KNOWN["claude"], "speckit.plan") == ["claude", "-p", "/speckit-plan"]


def test_a_value_is_one_word_and_no_option_and_no_place() -> None:
    hostile = "--dangerously-skip-permissions {model}"
    assert argv(KNOWN["claude"], hostile, "m") == ["claude", "-p", f" {hostile}", "--model", "m"]
    with pytest.raises(UsageError, match="would be an option"):
        argv(KNOWN["claude"], "x", "--yolo")
    with pytest.raises(UsageError, match="max-turns: '--yolo' would be an option"):
        argv(KNOWN["claude"], "x", None, {"max-turns": "--yolo"})


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
    with pytest.raises(UsageError, match="known: agy, alquimia, amp"):
        named("zzz", KNOWN)


def test_the_guide_names_all_agents_and_all_dangerous_options() -> None:
    text = (Path(__file__).parents[2] / "docs" / "guides" / "workflow-files.md").read_text()
    names = list(KNOWN)
    assert f"Built in are {', '.join(names[:-1])} and {names[-1]}." in text
    for name, agent in KNOWN.items():
        if agent.permissions:
            assert f"| {name} | `{' '.join(agent.permissions)}` |" in text
