"""Where candidates come from, what they start from, and what becomes of the winner."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from fanwise.errors import BadSpec, FanwiseError, UntestedOriginal
from fanwise.journal.open import open_journal
from fanwise.optimize.state.run_state import read_run
from fanwise.testing import ScriptedModel
from tests.marks import slow
from tests.optimize import project
from tests.optimize.sleepy import BENCH, RUN, SLOW, give, judge, log_of, sleepy, variant
from tests.optimize.support import code, make_repo, unchanged
from tests.workspaces.support import commit, files, git, write

__all__ = ["sleepy"]

CALLED = code("""
    from pkg.slow import work


    def run():
        return [work(number) for number in range(100)]
""")
ENOUGH = {"command": "python bench.py", "budget": "60s"}


def test_the_winner_is_a_patch_a_branch_and_only_if_asked_in_the_tree(sleepy: Path) -> None:
    repo = sleepy / "project"
    give(sleepy, fast=variant("fast"), slower=variant("slower", 0.3))
    before = files(repo)
    result = judge(sleepy, bench=ENOUGH, journal=sleepy / "j.db", run="r", branch="faster")
    assert result.winner is not None, result.table()
    assert result.winner.candidate.name == "candidates/fast.py"
    assert result.verdict("candidates/slower.py").status == "rejected"
    assert result.winner.speed is not None
    assert result.winner.speed.low > 1.05
    assert files(repo) == before
    assert git(repo, "show", "faster:src/pkg/slow.py").startswith("# path")
    assert git(repo, "log", "-1", "--format=%s", "faster").startswith("Make it ")
    assert result.patch is not None
    assert '-MARK = "original"' in Path(result.patch).read_text()

    again = judge(sleepy, bench=ENOUGH, journal=sleepy / "j.db", run="r", apply=True)
    assert again.winner == result.winner, "nothing was measured again"
    assert list(again.applied) == ["src/pkg/slow.py"]
    assert "MARK = 'fast'" in (repo / "src/pkg/slow.py").read_text()
    assert git(repo, "diff", "--cached") == "", "the index is as it was"


@slow
def test_a_winner_that_cannot_be_applied_any_more_is_told_and_its_patch_is_there(
    sleepy: Path,
) -> None:
    give(sleepy, fast=variant("fast"))
    judge(sleepy, bench=ENOUGH, journal=sleepy / "j.db", run="r")
    write(sleepy / "project" / "src/pkg/slow.py", SLOW + "# mine\n")
    with unchanged(sleepy / "project"):
        result = judge(sleepy, bench=ENOUGH, journal=sleepy / "j.db", run="r", apply=True)
    assert "slow.py" in result.problem
    assert result.applied == ()


def test_it_starts_from_head_or_if_asked_from_the_dirty_state(sleepy: Path) -> None:
    repo = sleepy / "project"
    write(repo / "src/pkg/slow.py", SLOW.replace('"original"', '"dirty"'))
    give(sleepy, fast=variant("fast"))
    with unchanged(repo):
        judge(sleepy)
        assert {mark for mark, _ in log_of(sleepy, "test")} == {"original", "fast"}
        (sleepy / "log").unlink()
        judge(sleepy, dirty=True)
        assert {mark for mark, _ in log_of(sleepy, "test")} == {"dirty", "fast"}


def test_files_that_git_ignores_are_there_if_they_are_named(sleepy: Path) -> None:
    repo = sleepy / "project"
    write(repo / "data.log", "data")
    write(repo / "run.py", RUN + 'assert open("data.log").read() == "data"\n')
    commit(repo)
    give(sleepy, fast=variant("fast"))
    with pytest.raises(UntestedOriginal, match=r"data\.log") as caught:
        judge(sleepy)
    assert "`copy`" in str(caught.value)
    with unchanged(repo):
        (verdict,) = judge(sleepy, copy=["*.log"]).verdicts
    assert verdict.stage == "benchmark"
    assert "data.log" not in verdict.patch


@slow
def test_a_folder_of_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = SLOW.replace("= 0.1", "= 0")  # its calls are made hundreds of times
    inner = {"src/pkg/__init__.py": "", "src/pkg/slow.py": slow, "run.py": RUN, "bench.py": CALLED}
    make_repo(tmp_path / "all", {f"libs/one/{name}": text for name, text in inner.items()})
    monkeypatch.setenv("LOG", str(tmp_path / "log"))
    body = variant("fast").partition("\n\n\n")[2]
    write(tmp_path / "candidates" / "body.py", body.replace("time.sleep(SECONDS)", "pass"))
    with unchanged(tmp_path / "all"):
        result = judge(
            tmp_path,
            repo="all/libs/one",
            target="src/pkg/slow.py::work",
            fields={"seed": 1},
            bench={"call": "bench:run", "budget": "100ms"},
            test="python run.py",
        )
    (verdict,) = result.verdicts
    assert verdict.stage == "benchmark", verdict.reason
    assert "libs/one/src/pkg/slow.py" in verdict.patch


def test_branches(sleepy: Path) -> None:
    repo = sleepy / "project"
    git(repo, "switch", "-q", "-c", "perf/one")
    write(repo / "src/pkg/slow.py", variant("one"))
    commit(repo)
    git(repo, "switch", "-q", "main")
    with unchanged(repo):
        (verdict,) = judge(sleepy, candidates={"branches": "perf/*"}, bench=ENOUGH).verdicts
    assert verdict.candidate.name == "perf/one"
    assert verdict.stage == "benchmark"
    assert "one" in {mark for mark, _ in log_of(sleepy, "bench")}


@slow
def test_a_folder_that_is_no_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOG", str(tmp_path / "log"))
    texts = {"src/pkg/__init__.py": "", "src/pkg/slow.py": SLOW, "run.py": RUN, "bench.py": BENCH}
    for name, text in texts.items():
        write(tmp_path / "project" / name, text)
    give(tmp_path, fast=variant("fast"))
    before = files(tmp_path / "project")
    with pytest.warns(RuntimeWarning, match="not a git repository"):
        result = judge(tmp_path, journal=tmp_path / "j.db", run="r", bench=ENOUGH, apply=True)
    assert result.winner is not None
    assert files(tmp_path / "project") != before, "as was asked"
    again = pytest.raises(FanwiseError, match="not as it was when this run began")
    with again, pytest.warns(RuntimeWarning):
        judge(tmp_path, journal=tmp_path / "j.db", run="r", bench=ENOUGH)


def test_a_head_that_has_moved_does_not_move_a_run(sleepy: Path) -> None:
    give(sleepy, one=variant("one"))
    first = judge(sleepy, journal=sleepy / "j.db", run="r")
    write(sleepy / "project" / "src/pkg/slow.py", SLOW.replace('"original"', '"later"'))
    commit(sleepy / "project")
    (sleepy / "log").unlink()
    assert judge(sleepy, journal=sleepy / "j.db", run="r").verdicts == first.verdicts
    assert not (sleepy / "log").exists(), "nothing ran again"


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"target": "src/pkg/slow.py::wrok"}, "work"),
        ({"target": "src/pkg/nothing.py::work"}, "nothing.py"),
        ({"candidates": "nowhere/*"}, "no file matches"),
        ({"candidates": {"branches": "perf/*"}}, "no branch"),
        ({"repo": "elsewhere"}, "elsewhere"),
        ({"copy": ["nowhere/*.bin"]}, "nothing matches copy"),
    ],
)
def test_what_is_not_there_is_told_before_anything_runs(
    sleepy: Path, more: dict[str, object], says: str
) -> None:
    give(sleepy, one=variant("one"))
    with pytest.raises(BadSpec, match=says):
        judge(sleepy, **more)
    assert not (sleepy / "log").exists()


@slow
def test_a_wrong_proposal_is_repaired_with_the_call_in_which_it_differs(tmp_path: Path) -> None:
    """The model is told; what it answers then is judged, and its descent is kept."""
    project.make_project(tmp_path / "project")
    asked: list[str] = []

    def says(request: object) -> str:
        said = request.messages[-1].content  # type: ignore[attr-defined]
        asked.append(said)
        right = "most_linked([" in said and "the original" in said.lower() and len(asked) > 1
        return f"Here:\n```python\n{project.FAST if right else project.WRONG}```\n"

    result = project.judge(
        tmp_path,
        candidates={"propose": {"model": ScriptedModel(says), "n": 1}},
        rounds={"repair": 1},
        bench={"command": "true", "budget": "100ms"},
    )
    first, second = result.verdicts
    assert (first.status, first.stage) == ("rejected", "differential")
    assert first.difference is not None
    assert first.difference.call in asked[1]
    assert (second.candidate.how, second.candidate.parent) == ("repaired", first.candidate.key)
    assert second.stage == "benchmark", second.reason


def test_a_command_proposes(sleepy: Path) -> None:
    text = variant("proposed").replace("# path: src/pkg/slow.py\n", "")
    write(sleepy / "project" / "agent.py", code(f"""
        import json, sys

        ask = json.load(sys.stdin)
        print(json.dumps({{"file": {text!r}, "path": "src/pkg/slow.py", "name": ask["name"]}}))
    """))  # fmt: skip
    commit(sleepy / "project")
    result = judge(sleepy, candidates={"propose": {"command": "python agent.py", "n": 2}})
    assert [each.status for each in result.verdicts] in (
        ["undecided", "same"], ["accepted", "same"], ["rejected", "same"],
    )  # fmt: skip
    assert result.verdicts[1].same_as == result.verdicts[0].candidate.key


def test_a_command_that_fails_is_told_and_the_others_are_judged(sleepy: Path) -> None:
    give(sleepy, one=variant("one"))
    result = judge(
        sleepy,
        candidates={"files": "candidates/*", "propose": {"command": "false", "n": 1}},
    )
    assert len(result.verdicts) == 1
    (why,) = result.failures.values()
    assert "CommandFailed" in why


@slow
def test_what_is_accepted_is_profiled_and_refined_with_that(tmp_path: Path) -> None:
    pytest.importorskip("line_profiler")
    project.make_project(tmp_path / "project")
    project.give(tmp_path, fast=project.FAST)
    asked: list[str] = []

    def says(request: object) -> str:
        asked.append(request.messages[-1].content)  # type: ignore[attr-defined]
        return f"```python\n{project.ANNOTATED}```"

    with unchanged(tmp_path / "project"):
        result = project.judge(
            tmp_path,
            candidates={
                "files": "candidates/*",
                "propose": {"model": ScriptedModel(says), "n": 0},
            },
            rounds={"refine": 1},
            fields={"profile": True},
            journal=tmp_path / "j.db",
            run="r",
        )
    first, second = result.verdicts
    assert (first.status, second.status) == ("accepted", "same")
    assert (second.candidate.how, second.candidate.parent) == ("refined", first.candidate.key)
    (said,) = asked
    assert "counts[a] = counts.get(a, 0) + 1" in said
    assert "%" in said
    with closing(open_journal(tmp_path / "j.db", read_only=True)) as journal:
        found = read_run(journal, journal.run("r"))
    assert "count += 1" in found.profiles["original"]
    assert "counts.get" in found.profiles[first.candidate.key]
