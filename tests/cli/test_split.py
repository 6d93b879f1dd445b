"""`fanwise split`: in this process where nothing hinges on another one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fanwise.cli.app import run
from tests.cli.support import Place
from tests.plan.split.support import commit_all, write


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(name, "/dev/null")
    top = tmp_path / "project"
    write(
        top,
        {f"{folder}/m{n}.py": f"import {folder}.m{n + 1}\n" for folder in "abc" for n in range(9)},
    )
    write(top, {"logo.png": b"\0", "bad\x1b[31m.py": b"\xff\xfe = 1\n", ".gitignore": "*.html\n"})
    commit_all(top)
    monkeypatch.chdir(top)
    return top


def test_it_prints_the_scorecard_the_tree_and_what_is_to_be_said(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["split", ".", "--max-files", "9"]) == 0
    out = capsys.readouterr().out
    for words in ("leaves", "cut without hubs", "speed-up", "commits inside", "├─ ", "└─ "):
        assert words in out
    assert "not UTF-8, but in leaves (1)" in out
    assert "left out (1)\n  logo.png  binary" in out
    assert "\x1b" not in out
    assert "bad\\x1b[31m.py" in out


def test_json_has_all_of_it_and_nothing_else(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["split", ".", "--max-files", "9", "--mode", "dependency", "--json", "--goal", "g"]
    assert run(arguments) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["mode"] == "dependency"
    assert found["scorecard"]["files"] == 29
    assert found["rules"]["max_files"] == 9
    assert found["left_out"] == [{"path": "logo.png", "why": "binary"}]
    leaves = [node for node in found["tree"]["nodes"] if not node["children"]]
    assert sum(len(leaf["files"]) for leaf in leaves) == 29
    assert run([*arguments[:-1], "another"]) == 0
    other = json.loads(capsys.readouterr().out)
    assert other["tree"]["nodes"][0]["id"] != found["tree"]["nodes"][0]["id"]


def test_only_some_files(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["split", ".", "--files", "a/*.py", "--files", "!m1.py", "--files", "typo/**"]) == 0
    out = capsys.readouterr().out
    assert "8 files" in out
    assert "match no file (1)\n  typo/**" in out


def test_files_from_stdin(project: Path) -> None:
    given = b"a/m1.py\nb/m2.py\n"
    done = Place(project).run("split", ".", "--files", "-", "--json", given=given)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["tree"]["nodes"][0]["files"] == ["a/m1.py", "b/m2.py"]


def test_files_from_stdin_with_a_nul_after_each(project: Path) -> None:
    (project / "odd\nname \N{LINE SEPARATOR}.py").write_text("")
    given = "a/m1.py\0odd\nname \N{LINE SEPARATOR}.py\0".encode()
    done = Place(project).run("split", ".", "--files", "-", "--json", given=given)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["tree"]["nodes"][0]["files"] == ["a/m1.py", "odd\nname \N{LINE SEPARATOR}.py"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["typo"], "there is no folder typo"),
        (["a/m1.py"], "is not a folder"),
        ([".", "--mode", "folders"], "no mode 'folders'"),
        ([".", "--max-depth", "0"], "max_depth is 0"),
        ([".", "--min-files", "30"], "min_files (30) is more than max_files (25)"),
        ([".", "--parallel", "0"], "max_parallel is 0"),
        ([".", "--files", "*.rs"], "no files to split that match '*.rs'"),
    ],
)
def test_bad_usage_says_what_to_do(
    project: Path, capfd: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert run(["split", *arguments]) == 2
    error = capfd.readouterr().err
    assert said in error
    assert len(error.splitlines()) == 2, "what is wrong, and what to do"
    assert run(["split", *arguments, "--json"]) == 2
    assert said in json.loads(capfd.readouterr().out)["error"]["message"]


def test_nothing_is_changed(project: Path) -> None:
    before = sorted(project.rglob("*"))
    assert run(["split", "."]) == 0
    assert sorted(project.rglob("*")) == before
