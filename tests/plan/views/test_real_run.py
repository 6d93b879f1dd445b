"""A real run, with one of everything: what is read from its journal is what it said itself."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fanwise.journal.open import open_journal
from fanwise.plan import PlanResult, SubPlan, Work, run_plan_sync
from fanwise.plan.state.read_run import RecordedPlan, read_run
from fanwise.plan.system import SYSTEM
from tests.workspaces.support import git, write

FOLDERS = ("clean", "conflict", "earlier", "fails", "parts", "repaired", "same", "wish")


def work(given: Work) -> Any:
    """What a sub-plan does depends on its folder."""
    root, title = Path(given.root), given.title
    folder = given.files[0].split("/")[1]
    if folder == "parts" and len(given.files) > 1:
        return {"subplans": [{"goal": f"only {path}", "files": [path]} for path in given.files]}
    if folder == "same":
        return "nothing to do"
    if folder == "wish":
        write(root / "src/clean/a.py", "mine\n")
    if folder in ("earlier", "conflict"):
        write(root / "notes.txt", f"{title} {len(given.tries)}\n" if not given.tries else NOTES)
    text = "bad\n" if folder == "fails" or (folder == "repaired" and not given.tries) else "good\n"
    for path in given.files:
        write(root / path, text)
    return f"{title} was edited"


NOTES = "both\n"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[PlanResult, RecordedPlan, Path]:
    place = tmp_path_factory.mktemp("real")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FANWISE_CACHE", str(place / "cache"))
        for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
            patch.setenv(name, "/dev/null")
        repo = place / "repo"
        repo.mkdir()
        git(repo, "init", "-q", "-b", "main")
        for folder in FOLDERS:
            for name in "ab":
                write(repo / f"src/{folder}/{name}.py", "old\n")
        write(repo / "notes.txt", "notes\n")
        git(repo, "add", "-A")
        git(repo, "commit", "-q", "-m", "one")
        journal = place / "journal.db"
        result = run_plan_sync(
            "Make it good", work, files="src/**", repo=repo,
            split={"mode": "directory", "max_files": 2}, verify="! grep -l bad {files}",
            check="true", run="real", journal=journal, folder=place,
            fields={"shared": ["notes.txt"], "sandbox": False},
        )  # fmt: skip
        with closing(open_journal(journal, read_only=True)) as opened:
            found = read_run(opened, opened.run("real"))
    return result, found, journal


def test_what_is_read_is_what_the_run_said(run: tuple[PlanResult, RecordedPlan, Path]) -> None:
    result, found, _ = run
    said = [(each.id, each.title, each.state, len(each.tries)) for each in result.leaves]
    read = [(e.node.id, e.node.title, e.state, len(e.tries)) for e in found.state.leaves]
    assert read == said
    states = {title: state for _, title, state, _ in read}
    assert states == {
        "src/clean": "done", "src/conflict": "done", "src/earlier": "done", "src/fails": "failed",
        "src/parts": "split", "src/parts/a.py": "done", "src/parts/b.py": "done",
        "src/repaired": "done", "src/same": "unchanged", "src/wish": "done",
    }  # fmt: skip
    assert found.state.result == result.state.result
    assert found.state.conflicts == result.state.conflicts
    assert found.base.commit == result.base


def test_the_parts_of_the_story_are_told(run: tuple[PlanResult, RecordedPlan, Path]) -> None:
    _, found, journal = run
    with closing(open_journal(journal, read_only=True)) as opened:
        record = opened.run("real")
        short = "\n".join(SYSTEM.describe_run(opened, record, fully=False))
        full = "\n".join(SYSTEM.describe_run(opened, record, fully=True))
        html = SYSTEM.report(opened, record).html
        rows = {row["title"]: row for row in SYSTEM.table(opened, record).rows}
    for part in (
        "9 sub-plans: 1 failed, 7 done, 1 unchanged; 1 returned sub-plans",
        "src/fails: verify failed (try 2)", "notes.txt (", "src/earlier with src/conflict",
        "src/clean/a.py (of src/clean): wanted by src/wish", "check: passed", "fanwise/plan-",
    ):  # fmt: skip
        assert part in short, (part, short)
    assert "goal: only src/parts/a.py" in full
    assert "+mine" in full
    assert "src/repaired" in html
    assert [each["stage"] for each in rows["src/repaired"]["tries"]] == ["verify"]
    assert rows["src/parts"]["subplans"] == [
        {"goal": "only src/parts/a.py", "files": ["src/parts/a.py"]},
        {"goal": "only src/parts/b.py", "files": ["src/parts/b.py"]},
    ]
    assert found.state.by_id[rows["src/parts"]["id"]].result is not None
    assert found.calls.attempts == 0  # no model was asked
    assert SubPlan(goal="only src/parts/a.py", files=("src/parts/a.py",)) in (
        found.state.by_id[rows["src/parts"]["id"]].result.subplans  # type: ignore[union-attr]
    )
