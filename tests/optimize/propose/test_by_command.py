"""A command as a proposer: one JSON document in; code, a patch or JSON out. Real programs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from fanwise.errors import CommandFailed
from fanwise.optimize.propose.by_command import KEEP, CommandProposer, read_output
from fanwise.optimize.propose.port import Feedback, Proposals
from fanwise.processes import Limits
from tests.models.support import run
from tests.optimize.made import verdict
from tests.optimize.propose.asks import FAST, PATCH, SOURCE, an_ask


def program(tmp_path: Path, text: str) -> list[str]:
    (tmp_path / "agent.py").write_text(f"import json, os, sys\n{text}")
    return [sys.executable, str(tmp_path / "agent.py")]


def proposed(argv: list[str], ask: Any = None, **more: Any) -> Proposals:
    return run(CommandProposer(argv, **more).propose(an_ask() if ask is None else ask))


def test_it_gets_one_json_document_on_stdin_with_all_that_a_model_is_told(tmp_path: Path) -> None:
    argv = program(tmp_path, "open('got', 'w').write(sys.stdin.read())\nprint('x')")
    parent = verdict("proposal 2", reason="2 tests failed")
    ask = an_ask(feedback=Feedback(verdict=parent), number=1, n=3, round=1)
    proposed(argv, ask, cwd=str(tmp_path))
    got = json.loads((tmp_path / "got").read_text())
    assert got["target"] == "src/pkg/find.py::find"
    assert got["source"] == SOURCE
    assert (got["number"], got["n"], got["round"]) == (1, 3, 1)
    assert (got["how"], got["name"]) == ("repaired", "proposal 2, repaired")
    assert got["feedback"]["verdict"]["reason"] == "2 tests failed"
    assert "2 tests failed" in got["prompt"]


def test_or_in_a_file_whose_name_is_no_shell_code(tmp_path: Path) -> None:
    argv = program(tmp_path, "print(json.load(open(sys.argv[1].partition('=')[2]))['source'])")
    found = proposed([*argv, "--ask={ask}"])
    assert found.candidates[0].content == f"{SOURCE}\n"


@pytest.mark.parametrize(
    ("printed", "kind", "content"),
    [
        (FAST, "function", FAST),
        (f"Sure:\n```python\n{FAST}```", "function", FAST),
        (PATCH, "patch", PATCH),
        (json.dumps({"function": FAST}), "function", FAST),
        (json.dumps({"patch": PATCH}), "patch", PATCH),
        (json.dumps([{"file": "x = 1\n", "path": "src/a.py"}]), "file", "x = 1\n"),
    ],
)
def test_it_prints_code_a_patch_or_json(
    tmp_path: Path, printed: str, kind: str, content: str
) -> None:
    found = proposed(program(tmp_path, f"sys.stdout.write({printed!r})"))
    (one,) = found.candidates
    assert (one.kind, one.content, one.name, one.how) == (kind, content, "proposal 1", "proposed")
    assert one.path == ("src/a.py" if kind == "file" else None)


def test_it_may_give_several_with_names_of_its_own() -> None:
    rows = [{"function": FAST, "name": "by\nmin"}, {"function": FAST}, {"nonsense": 1}]
    found = read_output(json.dumps(rows), an_ask(number=1, n=2))
    assert [each.name for each in found.candidates] == ["proposal 2.1: by min", "proposal 2.2"]
    assert len({each.key for each in found.candidates}) == 2
    assert [each.name for each in found.unusable] == ["proposal 2.3"]


@pytest.mark.parametrize(
    ("printed", "why"),
    [
        ("", "empty"),
        ("no idea", "does not parse"),
        ("[]", "empty list"),
        ("{}", "exactly one of"),
        (json.dumps({"function": FAST, "patch": PATCH}), "exactly one of"),
        (json.dumps({"function": FAST, "path": "x"}), "'path' means nothing"),
        (json.dumps({"function": 3}), "no object of texts"),
        (json.dumps({"function": "a\0b"}), "NUL"),
        (json.dumps({"file": "x", "path": "../x.py"}), "no file of the repository"),
        (json.dumps({"file": "x", "path": "/etc/passwd"}), "no file of the repository"),
        (json.dumps({"file": "x", "path": ".git/config"}), "no file of the repository"),
        (json.dumps([{"function": FAST}] * 101), "100 is the most"),
    ],
)
def test_what_it_prints_otherwise_is_told(printed: str, why: str) -> None:
    found = read_output(printed, an_ask())
    assert why in found.unusable[-1].reason


def test_a_file_without_a_path_is_that_of_the_target_and_without_a_target_nothing() -> None:
    printed = json.dumps({"file": "x = 1\n"})
    assert read_output(printed, an_ask()).candidates[0].path == "src/pkg/find.py"
    none = an_ask(target="", source="", file="")
    assert read_output(printed, none).candidates == ()
    assert "no target" in read_output(json.dumps({"function": FAST}), none).unusable[0].reason


def test_it_is_the_users_own_program_and_has_the_users_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "the-users")
    argv = program(tmp_path, f"assert os.environ['OPENAI_API_KEY'] == 'the-users'\nprint({FAST!r})")
    assert proposed(argv).candidates


def test_a_failure_is_an_error_with_what_it_said(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed, match="no credit left"):
        proposed(program(tmp_path, "sys.exit('no credit left')"))
    with pytest.raises(CommandFailed, match=r"not found|No such file"):
        proposed(["/no/such/agent"])


def test_it_is_bounded_in_time_in_memory_and_in_what_it_prints(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed, match="timed out"):
        proposed(program(tmp_path, "import time\ntime.sleep(1000)"), timeout=0.05)
    with pytest.raises(CommandFailed, match="memory"):
        eat = program(tmp_path, "x = bytearray(1 << 40)")
        proposed(eat, limits=Limits(address_space=1 << 32))
    much = proposed(program(tmp_path, f"sys.stdout.write('x' * {KEEP + 1})"))
    assert "is the most" in much.unusable[0].reason
    assert len(much.unusable[0].answer) < 3_000
