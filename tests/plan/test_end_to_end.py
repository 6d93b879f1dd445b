"""Plans as people run them: a codemod over hundreds of files, a model that needs help, a budget."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from fanwise.models import Price, Request
from fanwise.plan import run_plan, run_plan_sync
from fanwise.testing import ScriptedModel
from tests.plan.support import git, make_repo, packages, run_cli, show, write, write_plan
from tests.processes.support import alive, pids_in, run, timed_out

CODEMOD = r"""
import re, sys
for name in sys.argv[1:]:
    with open(name) as file:
        text = file.read()
    text = re.sub(r"self\.assertEqual\((.*), (.*)\)", r"assert \1 == \2", text)
    text = re.sub(r"self\.assertTrue\((.*)\)", r"assert \1", text)
    text = re.sub(r"self\.assertIn\((.*), (.*)\)", r"assert \1 in \2", text)
    with open(name, "w") as file:
        file.write(text)
"""
VERIFY = r"""
import ast, sys
for name in sys.argv[1:]:
    tree = ast.parse(open(name).read())
    names = [n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)]
    assert not [n for n in names if n.startswith("assert")], name
"""
CHECK = r"""
import pathlib, sys
names = sorted(pathlib.Path("tests").rglob("test_*.py"))
for name in names:
    space = {}
    exec(compile(name.read_text(), str(name), "exec"), space)
    space["Case"]("test").test()
print(len(names), "modules")
"""
TEST = """
import unittest


class Case(unittest.TestCase):
    def test(self):
        self.assertEqual({n}, {n})
        self.assertTrue({n} >= 0)
        self.assertIn({n}, [{n}])
"""


def test_a_codemod_over_two_hundred_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {
        f"tests/area{n // 20}/part{n // 5 % 4}/test_{n}.py": TEST.format(n=n) for n in range(220)
    }
    repo = make_repo(tmp_path / "repo", {**files, "README.md": "Hello\n"})
    for name, text in {"codemod": CODEMOD, "verify": VERIFY, "check": CHECK}.items():
        write(tmp_path / f"{name}.py", text)
    write_plan(
        tmp_path,
        goal="Replace unittest assertions by plain asserts",
        files=["tests/**/*.py"],
        split={"mode": "directory", "max_files": 25},
        each={"command": f"python3 {tmp_path}/codemod.py {{files}}"},
        verify=f"python3 {tmp_path}/verify.py {{tests}}",
        check=f"python3 {tmp_path}/check.py",
        sandbox=False,
        max_parallel=4,
    )
    monkeypatch.chdir(tmp_path)
    assert run_cli("run", "plan.json", "--yes", "--json") == 0
    out = json.loads(capsys.readouterr().out)
    found = out["result"]
    assert (out["run"], out["status"], found["ok"]) == ("plan", "done", True)
    assert len(found["leaves"]) == 11
    assert {(leaf["state"], leaf["verified"]) for leaf in found["leaves"]} == {("done", "passed")}
    changed = [path for leaf in found["leaves"] for path in leaf["changed"]]
    assert sorted(changed) == sorted(files), "every file once"
    assert found["checks"][0]["said"] == "220 modules"
    branch = found["result"]["branch"]
    assert git(repo, "rev-list", "--count", f"main..{branch}") == "11"
    assert "assert 7 == 7" in show(repo, branch, "tests/area0/part1/test_7.py")
    assert git(repo, "diff", "--name-only", "main", branch).count("\n") == 219
    assert git(repo, "status", "--porcelain") == ""
    assert run_cli("resume", "plan", "--apply") == 0
    assert git(repo, "diff", "--stat", branch) == "", "the work tree is as the branch"
    assert "applied to 220 files" in capsys.readouterr().out
    assert run_cli("resume", "plan", "--rollback") == 0
    assert git(repo, "status", "--porcelain") == ""
    assert git(repo, "branch", "--list", branch) == ""


def answers(**by_title: list[str]) -> Any:
    """What a model says about each file, one answer after the other; the last one again."""
    given = {name.replace("_", "/", 1) + ".py": list(texts) for name, texts in by_title.items()}

    def answer(request: Request) -> str:
        said = request.messages[-1].content
        (name,) = [path for path in given if f"- {path}" in said or f"`{path}`" in said]
        texts = given[name]
        text = texts.pop(0) if texts[1:] else texts[0]
        return text if text == "NOTHING" else f"FILE: {name}\n```\n{text}\n```\n"

    return answer


def test_a_model_whose_answers_are_repaired_and_one_that_is_given_up(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", packages(4, files=1))
    model = ScriptedModel(
        answers(
            p00_m0=["VALUE = 'good'"],
            p01_m0=["VALUE = 'BAD'", "VALUE = 'good'"],
            p02_m0=["VALUE = 'BAD'"],
            p03_m0=["NOTHING"],
        ),
        price=Price(1, 2),
    )
    found = run_plan_sync(
        "make it good", {"model": model}, repo=repo, retry=2, fields={"sandbox": False},
        split={"mode": "directory", "max_files": 1, "min_files": 1},
        verify="! grep -n BAD {files}", check="! grep -rn BAD p00 p01 p03",
    )  # fmt: skip
    states = {leaf.title: (leaf.state, len(leaf.tries)) for leaf in found.leaves}
    assert states == {
        "p00/m0.py": ("done", 0),
        "p01/m0.py": ("done", 1),
        "p02/m0.py": ("failed", 3),
        "p03/m0.py": ("unchanged", 0),
    }
    assert len(model.requests) == 1 + 2 + 3 + 1
    repaired = [r for r in model.requests if "1:VALUE = 'BAD'" in r.messages[-1].content]
    assert len(repaired) == 1 + 2, "each further try is told what was wrong"
    failed = found.leaf("p02/m0.py")
    assert failed.reason == "verify failed (try 3): it exited with code 1"
    assert failed.tries[-1].said == "1:VALUE = 'BAD'"
    assert not found.ok
    assert found.state.checks[0].passed
    assert found.commit is not None
    assert show(repo, found.commit, "p01/m0.py") == "VALUE = 'good'"
    assert show(repo, found.commit, "p02/m0.py") == "VALUE = 20", "nothing of it is in"
    assert found.output[0] == "4 sub-plans: 1 failed, 2 done, 1 unchanged"
    assert "1 failed:" in found.notes
    line = found.notes[list(found.notes).index("1 failed:") + 1]
    assert line.startswith("  p02/m0.py: verify failed (try 3): it exited with code 1")


@pytest.mark.parametrize("whose", ["plan", "sub-plan"])
def test_a_budget_is_not_overspent_and_what_has_no_room_fails(tmp_path: Path, whose: str) -> None:
    repo = make_repo(tmp_path / "repo", packages(3, files=1))
    model = ScriptedModel(lambda request: "NOTHING", price=Price(1, 1))
    each: dict[str, Any] = {"model": model, "options": {"max_tokens": 10}}
    fields: dict[str, Any] = {}
    if whose == "plan":
        fields["budget"] = {"requests": 2}
    else:
        each["budget"] = {"tokens": 5}
    found = run_plan_sync(
        "spend", each, repo=repo, fields=fields, cap=3,
        split={"mode": "directory", "max_files": 1, "min_files": 1},
    )  # fmt: skip
    failed = [leaf for leaf in found.leaves if leaf.state == "failed"]
    assert len(failed) == (1 if whose == "plan" else 3)
    assert len(model.requests) == (2 if whose == "plan" else 0)
    assert all(leaf.reason.startswith("BudgetExceeded: ") for leaf in failed)
    assert not found.ok


def test_the_check_that_fails_leaves_no_branch_and_bisect_finds_whom_to_leave_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    repo = make_repo(tmp_path / "repo", packages(6, files=1))
    script = "for f in {files}; do case $f in p04*) echo BAD;; *) echo good;; esac >> $f; done"
    log = tmp_path / "checks"
    write_plan(
        tmp_path, each={"command": script}, check=f"echo x >> {log}; ! grep -rn BAD p*",
        split={"mode": "directory", "max_files": 1, "min_files": 1}, sandbox=False,
    )  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert run_cli("run", "plan.json", "--yes") == 1
    told = capfd.readouterr().err
    assert "fanwise: the check failed\n  p04/m0.py:2:BAD\n" in told
    (commit,) = re.findall(r"git switch --detach (\w{40})", told)
    assert show(repo, commit, "p04/m0.py").endswith("BAD"), "it can be looked at"
    assert git(repo, "for-each-ref", "--format=%(refname)") == "refs/heads/main"
    assert log.read_text().count("x") == 1
    assert run_cli("resume", "plan", "--bisect", "--json") == 1
    found = json.loads(capfd.readouterr().out)["result"]
    left_out = [leaf["title"] for leaf in found["leaves"] if leaf["state"] == "left out"]
    assert left_out == ["p04/m0.py"]
    assert "+BAD\n" in Path(found["leaves"][4]["kept"]).read_text(), "it is not lost"
    assert log.read_text().count("x") == len(found["checks"]), "no check was made twice"
    names = git(repo, "diff", "--name-only", "main", found["result"]["branch"]).split()
    assert names == [f"p0{n}/m0.py" for n in (0, 1, 2, 3, 5)]
    assert found["result"]["left_out"] == [[found["leaves"][4]["id"], "the check fails with it"]]


def test_names_that_one_removes_and_another_uses_are_found(tmp_path: Path) -> None:
    files = {
        "shop/a.py": "def price():\n    return 1\n",
        "shop/b.py": "B = 1\n",
        "shop/__init__.py": "",
    }
    repo = make_repo(tmp_path / "repo", files)

    def work(work: Any) -> None:
        for name in work.files:
            if name == "shop/a.py":
                write(work.root / name, "def cost():\n    return 1\n")
            if name == "shop/b.py":
                write(work.root / name, "from shop.a import price\n\nB = price()\n")

    found = run_plan_sync(
        "rename", work, repo=repo, split={"mode": "directory", "max_files": 1, "min_files": 1}
    )
    (broken,) = found.state.broken
    assert (broken.path, broken.line) == ("shop/b.py", 1)
    assert not found.ok, "nothing has checked it"
    assert found.branch is not None
    assert any("shop/b.py:1" in note for note in found.notes)


def test_work_that_takes_too_long_is_ended_with_all_its_processes(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", packages(1))
    pids = tmp_path / "pids"
    command = f"sleep 300 & echo $! >> {pids}; wait"
    running = run_plan("wait", {"command": command}, repo=repo, retry=1, fields={"timeout": "500s"})
    tries = [partial(lambda most: len(pids_in(pids)) >= most, number) for number in (1, 2)]
    found = run(timed_out(running, 500, *tries))
    (leaf,) = found.leaves
    assert leaf.state == "failed"
    assert leaf.reason == "work failed (try 2): it took longer than 500 s, and was ended"
    assert len(leaf.tries) == 2
    assert [pid for pid in pids_in(pids) if alive(pid)] == []


def test_what_is_not_as_it_was_is_not_written_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    repo = make_repo(tmp_path / "repo", packages(2, files=1))
    write_plan(tmp_path, each={"command": "for f in {files}; do echo '# done' >> $f; done"})
    monkeypatch.chdir(tmp_path)
    write(repo / "p01/m0.py", "MINE = 1\n")
    assert run_cli("run", "plan.json", "--yes", "--apply") == 1
    told = capfd.readouterr().err
    assert "1 file is not committed: left out; --dirty includes it" in told
    assert "the result was not applied: not as in the commit" in told
    assert "p01/m0.py" in told
    assert git(repo, "status", "--porcelain") == "M p01/m0.py", "all of it, or nothing"
    assert (repo / "p01/m0.py").read_text() == "MINE = 1\n"
    git(repo, "checkout", "-q", "--", ".")
    assert run_cli("resume", "plan", "--apply") == 0
    assert (repo / "p00/m0.py").read_text() == "VALUE = 00\n# done\n"
    write(repo / "p00/m0.py", "MINE = 2\n")
    assert run_cli("resume", "plan", "--rollback") == 1
    assert "nothing was undone: " in capfd.readouterr().err
    assert (repo / "p00/m0.py").read_text() == "MINE = 2\n"
    assert git(repo, "branch", "--list", "fanwise/*"), "and the branch is still there"


def test_the_dirty_state_is_what_dirty_starts_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = make_repo(tmp_path / "repo", packages(1, files=1))
    write(repo / "p00/m0.py", "VALUE = 'dirty'\n")
    write(repo / "p00/new.py", "NEW = 1\n")
    write_plan(tmp_path, each={"command": "for f in {files}; do echo '# done' >> $f; done"})
    monkeypatch.chdir(tmp_path)
    before = git(repo, "status", "--porcelain")
    assert run_cli("run", "plan.json", "--yes", "--dirty") == 0
    assert git(repo, "status", "--porcelain") == before
    branch = git(repo, "for-each-ref", "--format=%(refname:short)", "refs/heads/fanwise")
    assert show(repo, branch, "p00/m0.py") == "VALUE = 'dirty'\n# done"
    assert show(repo, branch, "p00/new.py") == "NEW = 1\n# done"
    assert run_cli("resume", "plan", "--apply") == 0
    assert (repo / "p00/new.py").read_text() == "NEW = 1\n# done\n"


@pytest.mark.parametrize("kind", ["workflow", "call"])
def test_a_workflow_or_a_function_beside_the_file_does_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    repo = make_repo(tmp_path / "repo", packages(2, files=1))
    write(
        tmp_path / "plan_work_beside.py",
        "def work(work):\n    for n in work.files:\n"
        "        (work.root / n).write_text('D = 1\\n')\n",
    )
    step = {"id": "s", "type": "shell", "run": "for f in p*/m0.py; do echo 'D = 1' > $f; done"}
    flow = {"workflow": {"id": "w", "name": "w"}, "steps": [step]}
    write(tmp_path / "flow.yaml", json.dumps(flow))
    each = {"workflow": "flow.yaml"} if kind == "workflow" else {"call": "plan_work_beside:work"}
    write_plan(
        tmp_path, each=each, split={"mode": "directory", "max_files": 1, "min_files": 1}, retry=0
    )
    monkeypatch.chdir(tmp_path)
    assert run_cli("run", "plan.json", "--yes") == 0
    branch = git(repo, "for-each-ref", "--format=%(refname:short)", "refs/heads/fanwise")
    assert show(repo, branch, "p01/m0.py") == "D = 1"
    (tmp_path / "flow.yaml").unlink()
    if kind == "workflow":
        assert run_cli("resume", "plan") == 0, "a resume has the workflow as it was"
