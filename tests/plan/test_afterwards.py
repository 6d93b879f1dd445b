"""After a plan has ended: its result is applied, rolled back, and told as it is."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from fanwise.journal.open import open_journal
from fanwise.plan.system import SYSTEM
from tests.plan.support import git, make_repo, packages, run_cli, show, write_plan

SPLIT = {"mode": "directory", "max_files": 1, "min_files": 1}


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A plan in which one of three sub-plans makes the check fail."""
    monkeypatch.chdir(tmp_path)
    edit = "for f in {files}; do case $f in p02*) echo BAD;; *) echo good;; esac >> $f; done"
    write_plan(
        tmp_path, each={"command": edit}, check="! grep -rn BAD p*", split=SPLIT, sandbox=False
    )
    return make_repo(tmp_path / "repo", packages(3, files=1))


def page() -> str:
    with closing(open_journal(Path(".fanwise/journal.db"), read_only=True)) as opened:
        return SYSTEM.report(opened, opened.run("plan")).html


def test_the_result_of_a_bisection_is_applied_without_asking_for_it_again(
    repo: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run_cli("run", "plan.json", "--yes") == 1
    assert run_cli("resume", "plan", "--bisect") == 1
    assert "fanwise resume plan --apply" in capfd.readouterr().out
    assert run_cli("resume", "plan", "--apply", "--json") == 1
    result = json.loads(capfd.readouterr().out)["result"]
    assert result["applied"] == ["p00/m0.py", "p01/m0.py"]
    assert (repo / "p01/m0.py").read_text().endswith("good\n")
    assert "BAD" not in (repo / "p02/m0.py").read_text()


def test_what_was_applied_and_rolled_back_is_told_by_show_and_the_report(
    repo: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def shown() -> str:
        capfd.readouterr()
        assert run_cli("show", "plan") == 0
        return capfd.readouterr().out

    assert run_cli("run", "plan.json", "--yes", "--bisect") == 1
    assert "in the work tree" not in shown()
    assert run_cli("resume", "plan", "--apply") == 1
    assert "in the work tree: applied" in shown()
    assert run_cli("resume", "plan") == 1
    assert "in the work tree: applied" in shown()
    assert run_cli("resume", "plan", "--rollback") == 0
    told = shown()
    assert "in the work tree: rolled back" in told
    assert "removed by a rollback" in told
    assert "In the work tree: rolled back" in page()
    assert git(repo, "branch", "--list", "fanwise/*") == ""
    assert run_cli("resume", "plan") == 1
    assert git(repo, "branch", "--list", "fanwise/*") != ""
    assert "rolled back" not in shown()


def test_the_badge_of_a_report_says_what_is_missing(repo: Path) -> None:
    assert run_cli("run", "plan.json", "--yes") == 1
    assert '<span class="status">done: the check failed</span>' in page()
    assert run_cli("resume", "plan", "--bisect") == 1
    badge = '<span class="status">done: 1 of 3 sub-plans not in the result</span>'
    assert badge in page()
    write_plan(Path(), each={"command": "echo good >> {files}"}, split=SPLIT, sandbox=False)
    assert run_cli("run", "plan.json", "--yes") == 0
    assert '<span class="status good">done</span>' in page()


# -- branches, and another try ---------------------------------------------------------------------


def test_each_sub_plan_has_a_branch_with_what_it_builds_on_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lines_of = "".join(f"{n}\n" for n in range(9))
    repo = make_repo(tmp_path / "repo", {"a.txt": lines_of, "b.txt": "", "c.txt": lines_of})
    tasks = [
        {"id": "one", "goal": "First"},
        {"id": "two", "goal": "Second"},
        {"id": "three", "goal": "Third"},
        {"id": "four!", "goal": "Fourth", "needs": ["two"]},
        {"id": "five", "goal": "Fifth"},
    ]
    lines = {
        "one": "sed -i s/^1/one/ a.txt", "two": "echo b > b.txt",
        "three": "sed -i s/^8/three/ a.txt; sed -i s/^1/three/ c.txt",
        "four!": "echo new > new.txt", "five": "sed -i s/^8/five/ c.txt",
    }  # fmt: skip
    cases = " ".join(f"'{name}') {line};;" for name, line in lines.items())
    command = f"case $FANWISE_PLAN_TITLE in {cases} esac"
    plan = {"repo": "repo", "tasks": tasks, "each": {"command": command}, "sandbox": False}
    plan["max_parallel"] = 1  # they are merged as they finish: one after another
    (tmp_path / "plan.json").write_text(json.dumps({"plan": plan}))
    assert run_cli("run", "plan.json", "--yes") == 0
    assert git(repo, "branch", "--list", "*-parts/*") == ""
    capfd.readouterr()
    assert run_cli("resume", "plan", "--branches", "--json") == 0
    names = json.loads(capfd.readouterr().out)["result"]["branches"]
    assert [name.rpartition("/")[2] for name in names] == [
        "01-two",  # first, because another one needs it
        "02-one",
        "03-three",
        "04-five",
        "05-four",
    ]
    two, one, three, five, four = names

    def log(branch: str) -> list[str]:
        return git(repo, "log", "--reverse", "--format=%s", f"main..{branch}").splitlines()

    assert log(one) == ["First: one"], "not on top of the second: they share nothing"
    assert log(two) == ["Second: two"]
    assert log(three) == ["First: one", "Third: three"], "both changed a.txt"
    assert log(four) == ["Second: two", "Fourth: four!"], "it needs the second"
    assert log(five) == ["First: one", "Third: three", "Fifth: five"], "and what those build on"
    assert show(repo, three, "a.txt") == "0\none\n2\n3\n4\n5\n6\n7\nthree"
    assert run_cli("resume", "plan", "--branches") == 0, "a second time they are there"
    assert len(git(repo, "branch", "--list", "*-parts/*").splitlines()) == 5
    assert run_cli("resume", "plan", "--rollback") == 0
    assert git(repo, "branch", "--format=%(refname:short)") == "main"


def test_branches_of_sub_plans_that_a_sub_plan_returned_are_made_and_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    odd = "p00/m\x01.py"
    repo = make_repo(tmp_path / "repo", {**packages(1, files=2), odd: "X = 1\n"})
    parts = [{"goal": "one", "files": ["p00/m0.py"]}, {"goal": "two", "files": ["p00/m1.py", odd]}]
    (tmp_path / "parts.json").write_text(json.dumps(parts))
    first = f"test -e {tmp_path}/split || {{ touch {tmp_path}/split; cp {tmp_path}/parts.json"
    edit = (
        f'{first} "$FANWISE_PLAN_SUBPLANS"; exit; }}; for f in {{files}}; do echo x >> "$f"; done'
    )
    split = {"mode": "directory", "max_files": 9}
    write_plan(tmp_path, each={"command": edit}, split=split, sandbox=False)
    assert run_cli("run", "plan.json", "--yes", "--branches") == 0
    assert len(git(repo, "branch", "--list", "*-parts/*").splitlines()) == 2
    assert run_cli("resume", "plan", "--rollback") == 0
    assert git(repo, "branch", "--format=%(refname:short)") == "main"


def test_one_sub_plan_is_tried_again_with_a_word_from_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    repo = make_repo(tmp_path / "repo", packages(3, files=1))
    log = tmp_path / "log"
    word = "grep -A2 '# What the user says' {prompt} | tail -1"
    edit = f'echo $FANWISE_PLAN_TITLE >> {log}; echo "# $({word})" >> {{files}}'
    write_plan(tmp_path, each={"command": edit}, split=SPLIT, sandbox=False)
    assert run_cli("run", "plan.json", "--yes") == 0
    log.unlink()
    capfd.readouterr()
    tell = ("--tell", "Say hello")
    assert run_cli("resume", "plan", "--retry", "p01/m0.py", *tell, "--json") == 0
    found = json.loads(capfd.readouterr().out)["result"]
    assert log.read_text() == "p01/m0.py\n", "only this one"
    assert show(repo, found["result"]["commit"], "p01/m0.py") == "VALUE = 10\n# Say hello"
    assert show(repo, found["result"]["commit"], "p02/m0.py") == "VALUE = 20\n#"
    assert run_cli("resume", "plan") == 0
    assert log.read_text() == "p01/m0.py\n"
    assert run_cli("resume", "plan", "--retry", "p01", *tell) == 2
    assert "there is no sub-plan 'p01'; known: p00/m0.py" in capfd.readouterr().err
    assert run_cli("resume", "plan", *tell) == 2


def test_a_word_from_the_user_is_kept_for_later_tries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    repo = make_repo(tmp_path / "repo", packages(2, files=1))
    fails = tmp_path / "fails"
    edit = f"test ! -e {fails} || exit 1; grep -c 'Say hello' {{prompt}} >> {{files}}; true"
    write_plan(tmp_path, each={"command": edit}, split=SPLIT, sandbox=False, retry=0)
    assert run_cli("run", "plan.json", "--yes") == 0
    fails.touch()
    assert run_cli("resume", "plan", "--retry", "p01/m0.py", "--tell", "Say hello") == 1
    fails.unlink()
    capfd.readouterr()
    assert run_cli("resume", "plan", "--retry-failed", "--json") == 0
    said = json.loads(capfd.readouterr().out)["result"]
    found = said["result"]
    assert show(repo, found["commit"], "p01/m0.py") == "VALUE = 10\n1"
    assert show(repo, found["commit"], "p00/m0.py") == "VALUE = 00\n0"
    assert run_cli("resume", "plan", "--retry", "p00/m0.py", "--json") == 0
    found = json.loads(capfd.readouterr().out)["result"]["result"]
    assert show(repo, found["commit"], "p00/m0.py") == "VALUE = 00\n0", "it was told to another"
    (leaf,) = [each for each in said["leaves"] if each["title"] == "p01/m0.py"]
    assert run_cli("resume", "plan", "--retry", leaf["id"][:6], "--tell", "Say nothing") == 0
    capfd.readouterr()
    assert run_cli("resume", "plan", "--retry", leaf["id"][:6], "--json") == 0
    found = json.loads(capfd.readouterr().out)["result"]["result"]
    assert show(repo, found["commit"], "p01/m0.py") == "VALUE = 10\n0", "the last word counts"


def test_one_that_settled_a_conflict_settles_it_anew_when_it_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    repo = make_repo(tmp_path / "repo", {**packages(2, files=1), "list.txt": "old\n"})
    log = tmp_path / "log"
    edit = f"echo $FANWISE_PLAN_TITLE >> {log}; echo {{id}} > list.txt"
    write_plan(
        tmp_path, each={"command": edit}, split=SPLIT, sandbox=False, files=["p*/**"],
        shared=["list.txt"], max_parallel=1,
    )  # fmt: skip
    assert run_cli("run", "plan.json", "--yes") == 0
    assert log.read_text().split() == ["p00/m0.py", "p01/m0.py", "p01/m0.py"]
    log.unlink()
    assert run_cli("resume", "plan", "--retry", "p01/m0.py", "--tell", "Again") == 0
    assert log.read_text().split() == ["p01/m0.py", "p01/m0.py"], "at first, and on the merge"
    assert git(repo, "status", "--short") == ""


def test_others_need_not_wait_for_one_that_failed_and_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `fail_fast` nothing begins after one that is known to fail; this one may do better."""
    monkeypatch.chdir(tmp_path)
    make_repo(tmp_path / "repo", packages(3, files=1))
    mended, third = tmp_path / "mended", tmp_path / "third"
    waits = f"test -e {mended} || exit 1; until test -e {third}; do sleep 0.05; done"
    edit = f"case {{files}} in p01*) {waits};; p02*) touch {third};; esac; echo x >> {{files}}"
    write_plan(
        tmp_path, each={"command": edit}, split=SPLIT, sandbox=False, fail_fast=True, retry=0,
        max_parallel=2, timeout="60s",
    )  # fmt: skip
    assert run_cli("run", "plan.json", "--yes") != 0
    third.unlink(missing_ok=True)
    mended.touch()
    assert run_cli("resume", "plan", "--retry", "p01/m0.py") == 0
