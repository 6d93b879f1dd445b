from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from fanwise import cancelled, fan_out, open_run
from fanwise.errors import SubPlanFailed
from fanwise.kernel import events
from fanwise.kernel.in_thread import in_thread
from fanwise.plan.model.leaf_result import SubPlan, Try
from fanwise.plan.work import do_leaf
from fanwise.plan.work.by_call import CallWorker, Work
from fanwise.plan.work.by_command import CommandWorker
from fanwise.workspaces import WorkspacePool
from tests.plan.work.support import blob, do, done, how, leaf, lives, make_repository, names
from tests.processes.support import run, timed_out
from tests.workspaces.support import everything, git, write


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_repository(tmp_path_factory.mktemp("plan") / "repo")


def given_up(call: Callable[[], Any]) -> SubPlanFailed:
    with pytest.raises(SubPlanFailed) as caught:
        call()
    return caught.value


# -- one try --------------------------------------------------------------------------------------


def test_what_it_changed_is_blobs_of_the_repository(repo: Path, tmp_path: Path) -> None:
    before = everything(repo)
    command = CommandWorker("echo 'x = 1' > pkg/a.py; rm pkg/b.py; echo hi > pkg/new.py")
    ended = do(repo, command, leaf("pkg/a.py", "pkg/b.py"), how(tmp_path))

    assert (ended.status, ended.verified, ended.tries) == ("changed", "not asked", ())
    assert names(ended) == ["pkg/a.py", "pkg/b.py", "pkg/new.py"]
    assert blob(repo, ended, "pkg/a.py") == "x = 1"
    assert ended.change is not None
    assert ended.change.files["pkg/b.py"] is None
    assert everything(repo) == before


def test_one_that_edits_nothing_is_unchanged_and_no_failure(repo: Path, tmp_path: Path) -> None:
    ended = do(repo, CommandWorker("echo all fine"), leaf(), how(tmp_path, verify="exit 1"))

    assert (ended.status, ended.change, ended.said) == ("unchanged", None, "all fine")


def test_edits_of_others_files_are_requests_and_undone_before_it_is_verified(
    repo: Path, tmp_path: Path
) -> None:
    command = CommandWorker("echo '# mine' >> pkg/a.py; echo '# not mine' >> pkg/b.py; rm pkg/c.py")
    verify = "grep -q mine pkg/a.py && ! grep -q mine pkg/b.py && test -f pkg/c.py"
    ended = do(repo, command, leaf(), how(tmp_path, verify=verify))

    assert ended.verified == "passed"
    assert names(ended) == ["pkg/a.py"]
    assert [(each.path, each.owner) for each in ended.requests] == [
        ("pkg/b.py", "leaf-b"),
        ("pkg/c.py", None),
    ]
    assert "+# not mine" in ended.requests[0].patch
    assert "deleted file" in ended.requests[1].patch


def test_one_whose_edits_are_all_requests_is_unchanged(repo: Path, tmp_path: Path) -> None:
    ended = do(repo, CommandWorker("echo x >> pkg/b.py"), leaf(), how(tmp_path))

    assert (ended.status, len(ended.requests)) == ("unchanged", 1)


def test_shared_files_may_be_changed(repo: Path, tmp_path: Path) -> None:
    command = CommandWorker("echo x >> pkg/c.py; echo y > CHANGES.md")
    ended = do(repo, command, leaf(), how(tmp_path, shared=("c.py", "CHANGES.md")))

    assert (names(ended), ended.requests) == (["CHANGES.md", "pkg/c.py"], ())


def test_what_the_verification_writes_is_no_part_of_the_change(repo: Path, tmp_path: Path) -> None:
    verify = "echo x > report.xml; echo '# by the tests' >> pkg/a.py"
    ended = do(
        repo, CommandWorker("echo '# done' >> pkg/a.py"), leaf(), how(tmp_path, verify=verify)
    )

    assert names(ended) == ["pkg/a.py"]
    assert "by the tests" not in blob(repo, ended, "pkg/a.py")


def test_sub_plans_instead_of_edits(repo: Path, tmp_path: Path) -> None:
    parts = [{"goal": "one", "files": ["pkg/a.py"]}, {"goal": "two", "files": ["pkg/b.py"]}]
    worker = CallWorker(lambda _: {"said": "too much", "subplans": parts})
    ended = do(repo, worker, leaf("pkg/a.py", "pkg/b.py"), how(tmp_path), depth_left=1)

    assert (ended.status, ended.said) == ("split", "too much")
    assert ended.subplans[1] == SubPlan(goal="two", files=("pkg/b.py",))


def test_sub_plans_and_edits_in_one_try_are_a_failure(repo: Path, tmp_path: Path) -> None:
    def work(given: Work) -> Any:
        if given.tries:
            return None
        (given.root / "pkg/a.py").write_text("x\n")
        return {"subplans": [{"goal": "one", "files": ["pkg/a.py"]}]}

    ended = do(repo, CallWorker(work), leaf(), how(tmp_path, retry=1), depth_left=1)

    assert ended.status == "unchanged"  # the next one began anew
    assert [(each.stage, "pkg/a.py" in each.reason) for each in ended.tries] == [("subplans", True)]


# -- tries ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("retry", [0, 1, 2])
def test_retry_is_the_number_of_further_tries(repo: Path, tmp_path: Path, retry: int) -> None:
    made = []

    def work(given: Work) -> None:
        made.append(len(given.tries))
        raise ValueError(f"no {len(made)}")

    error = given_up(lambda: do(repo, CallWorker(work), leaf(), how(tmp_path, retry=retry)))

    assert made == list(range(retry + 1))  # each is told of all before it
    assert [each.reason for each in error.tries] == [f"ValueError: no {n + 1}" for n in made]


def test_the_last_try_that_is_allowed_counts(repo: Path, tmp_path: Path) -> None:
    def work(given: Work) -> None:
        (given.root / "pkg/a.py").write_text("good\n" if len(given.tries) == 1 else "bad\n")

    ended = do(repo, CallWorker(work), leaf(), how(tmp_path, retry=1, verify="grep good {files}"))

    assert (ended.status, ended.verified) == ("changed", "passed")
    assert [each.stage for each in ended.tries] == ["verify"]
    assert "exited with code 1" in ended.tries[0].reason


def test_one_that_does_not_verify_is_repaired_and_one_that_fails_begins_anew(
    repo: Path, tmp_path: Path
) -> None:
    found = []

    def work(given: Work) -> None:
        file = given.root / "pkg/a.py"
        found.append(file.read_text().count("#"))
        with file.open("a") as end:
            end.write("#\n")
        if len(given.tries) == 1:
            raise ValueError("lost")

    verify = "test \"$(grep -c '#' {files})\" = 2 || { echo left > left.txt; exit 1; }"
    ended = do(repo, CallWorker(work), leaf(), how(tmp_path, retry=3, verify=verify))

    # It is repaired; that fails by itself; so the third begins anew, and the fourth repairs it.
    assert found == [0, 1, 0, 1]
    assert [each.stage for each in ended.tries] == ["verify", "work", "verify"]
    assert names(ended) == ["pkg/a.py"]  # and nothing that the verification had left


def test_one_that_was_cut_off_goes_on(repo: Path, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    first = f"echo half >> pkg/a.py; touch {begun}; sleep 600"
    line = f'if [ "$FANWISE_PLAN_TRY" = 1 ]; then {first}; fi; echo whole >> pkg/a.py'
    with WorkspacePool(repo, slots=1) as pool:
        doing = done(pool, CommandWorker(line), leaf(), how(tmp_path, retry=1, timeout=500))
        ended = run(timed_out(doing, 500, begun.exists))

    assert blob(repo, ended, "pkg/a.py").endswith("half\nwhole")
    assert "longer than 500 s" in ended.tries[0].reason


def test_a_verification_that_takes_too_long_is_ended(repo: Path, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    verify = f"echo begun; touch {begun}; sleep 600"
    with WorkspacePool(repo, slots=1) as pool:
        settings = how(tmp_path, timeout=500, verify=verify, sandbox=False)
        doing = done(pool, CommandWorker("echo x >> pkg/a.py"), leaf(), settings)
        error = given_up(lambda: run(timed_out(doing, 500, begun.exists)))

    assert error.tries[0].stage == "verify"
    assert "did not end within 500 s" in error.tries[0].reason
    assert "begun" in error.tries[0].said


def test_the_edits_of_one_that_is_given_up_are_kept(repo: Path, tmp_path: Path) -> None:
    command = CommandWorker("echo wrong >> pkg/a.py; echo new > pkg/new.py; echo b >> pkg/b.py")
    error = given_up(lambda: do(repo, command, leaf(), how(tmp_path, verify="echo no; exit 7")))

    assert (error.leaf, error.title, len(error.tries)) == ("leaf-a", "pkg", 1)
    assert error.kept is not None
    assert error.kept in str(error)
    assert "exited with code 7" in str(error)
    assert "pkg/b.py were undone" in str(error)
    git(repo, "apply", "--check", error.kept)
    patch = Path(error.kept).read_text()
    assert "+wrong" in patch
    assert "+new" in patch
    assert "pkg/b.py" not in patch


def test_a_command_that_cannot_be_started_is_not_tried_again(repo: Path, tmp_path: Path) -> None:
    error = given_up(lambda: do(repo, CommandWorker("nosuchagent"), leaf(), how(tmp_path, retry=1)))

    assert ["code 127" in each.reason for each in error.tries] == [True]


def test_a_conflict_is_feedback_and_no_try_of_its_own(repo: Path, tmp_path: Path) -> None:
    asked = []

    def work(given: Work) -> None:
        asked.append(given.prompt)
        (given.root / "pkg/a.py").write_text("x\n")

    conflict = Try(stage="merge", reason="pkg/a.py is not as leaf-b has it")
    ended = do(repo, CallWorker(work), leaf(), how(tmp_path), before=[conflict])

    assert "pkg/a.py is not as leaf-b has it" in asked[0]
    assert ended.tries == ()


def test_it_starts_where_it_is_told_to(repo: Path, tmp_path: Path) -> None:
    git(repo, "checkout", "-q", "-b", "later")
    write(repo / "pkg/a.py", "later = 1\n")
    git(repo, "commit", "-q", "-am", "later")
    later = git(repo, "rev-parse", "HEAD")
    git(repo, "checkout", "-q", "main")

    ended = do(repo, CommandWorker("grep later pkg/a.py; echo x >> pkg/a.py"), leaf(),
               how(tmp_path), at=later)  # fmt: skip

    assert ended.said == "later = 1"
    assert blob(repo, ended, "pkg/a.py") == "later = 1\nx"


def test_in_a_folder_of_the_repository_names_are_those_of_the_folder(tmp_path: Path) -> None:
    files = {"sub/a.py": "a\n", "sub/-b.py": "b\n", "c.py": "c\n", "sub/log.txt": "l\n"}
    repo = make_repository(tmp_path / "repo", files)
    command = CommandWorker(
        "printf '%s\\n' {files}; for f in {files}; do echo x >> $f; done; echo y >> log.txt"
    )
    asked = how(tmp_path, shared=("./log.txt",), verify="test -f a.py && cat {files}")
    ended = do(repo / "sub", command, leaf("sub/-b.py", "sub/a.py"), asked)

    assert ended.said == "./-b.py\na.py"
    assert names(ended) == ["sub/-b.py", "sub/a.py", "sub/log.txt"]


def test_a_function_in_a_thread_is_waited_for_and_leaves_no_thread(
    repo: Path, tmp_path: Path
) -> None:
    asked_to_end = threading.Event()

    def work(given: Work) -> None:
        while not cancelled():
            asked_to_end.wait(0.01)
        asked_to_end.set()

    before = threading.active_count()
    error = given_up(lambda: do(repo, CallWorker(work), leaf(), how(tmp_path, timeout=0.3)))

    assert "longer than 0.3 s" in error.tries[0].reason
    assert asked_to_end.is_set()
    assert threading.active_count() == before


def test_a_function_that_exits_has_failed_and_no_more(repo: Path, tmp_path: Path) -> None:
    def work(given: Work) -> None:
        sys.exit(3)

    error = given_up(lambda: do(repo, CallWorker(work), leaf(), how(tmp_path)))

    assert error.tries[0].reason == "SystemExit: 3"


# -- cancel ---------------------------------------------------------------------------------------


def test_a_cancellation_awaits_everything_and_gives_the_workspace_back(
    repo: Path, tmp_path: Path
) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    command = CommandWorker(f"setsid sleep 600 & echo $! > {fifo}; wait")
    before = threading.active_count()

    async def main(pool: WorkspacePool) -> str:
        doing = asyncio.ensure_future(done(pool, command, leaf(), how(tmp_path, retry=5)))
        told = await in_thread(fifo.read_text)
        doing.cancel()
        with suppress(asyncio.CancelledError):
            await doing
        assert doing.cancelled()
        return told

    with WorkspacePool(repo, slots=1) as pool:
        told = asyncio.run(main(pool))
        assert not lives(told)
        pool.give_back(pool.take())
    assert threading.active_count() == before


def test_a_cancelled_verification_ends_too(repo: Path, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    verify = f"echo begun > {fifo}; sleep 600"
    command = CommandWorker("echo x >> pkg/a.py")

    async def main(pool: WorkspacePool) -> None:
        asked = how(tmp_path, verify=verify, sandbox=False)
        doing = asyncio.ensure_future(done(pool, command, leaf(), asked))
        await in_thread(fifo.read_text)
        doing.cancel()
        with suppress(asyncio.CancelledError):
            await doing
        assert doing.cancelled()

    with WorkspacePool(repo, slots=1) as pool:
        asyncio.run(main(pool))
        pool.give_back(pool.take())


def test_in_a_sparse_workspace_files_that_are_not_there_are_others_too(
    repo: Path, tmp_path: Path
) -> None:
    command = CommandWorker(
        "test ! -e tests && mkdir tests && echo mine > tests/test_a.py; echo new > tests/test_b.py;"
        " echo x >> pkg/a.py"
    )
    verify = "grep -q one tests/test_a.py"  # as it is at the start
    ended = do(repo, command, leaf(), how(tmp_path, verify=verify), sparse=("pkg",))

    assert names(ended) == ["pkg/a.py", "tests/test_b.py"]
    assert [(each.path, each.owner) for each in ended.requests] == [("tests/test_a.py", "leaf-t")]


def test_a_try_is_told_of_while_it_goes_on(repo: Path, tmp_path: Path) -> None:
    told: list[tuple[str, int]] = []

    def note(event: events.Event) -> None:
        if isinstance(event, events.StageBegan):
            told.append((event.stage, event.number))

    async def main(pool: WorkspacePool) -> None:
        async with open_run(journal=":memory:", subscribers=[note]) as run:
            asked = how(tmp_path, retry=1, verify="grep 2 pkg/a.py")
            command = CommandWorker('echo "#$FANWISE_PLAN_TRY" > pkg/a.py')
            await fan_out(
                lambda node: do_leaf(
                    node, goal="g", worker=command, pool=pool, how=asked, owners={}
                ),
                [leaf()],
                run=run,
            )

    with WorkspacePool(repo, slots=1) as pool:
        asyncio.run(main(pool))
    assert told == [("work", 1), ("verify", 1), ("work", 2), ("verify", 2)]
