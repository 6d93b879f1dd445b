"""Workspaces in fan-outs: caps do the waiting, git runs in threads, nothing leaks."""

from __future__ import annotations

import asyncio
import sys
import threading
from pathlib import Path

import pytest

from fanwise import Caps, Command, call, fan_out
from fanwise.errors import NoFreeWorkspace
from fanwise.kernel.workspaces import open_workspaces, workspace
from fanwise.processes import Sandbox, run_command
from fanwise.workspaces import Workspace, environment


def test_twelve_items_share_two_workspaces_each_with_its_own_code(repo: Path) -> None:
    together = most = 0

    async def main() -> None:
        async with open_workspaces(repo, slots=2) as pool:

            async def judge(item: int) -> tuple[int, str]:
                nonlocal together, most
                async with workspace(pool) as ws:
                    together += 1
                    most = max(most, together)
                    ws.write("src/pkg/__init__.py", f"WHO = {item}\n")
                    argv = (sys.executable, "-c", "import pkg; print(pkg.WHO)")
                    command = Command(*argv, cwd=str(ws.path), env=environment(ws))
                    said = (await run_command(command)).stdout.text
                    together -= 1
                    return ws.number, said.strip()

            caps = Caps(workspaces=len(pool))
            found = await fan_out(judge, range(12), cap=12, caps=caps, needs=lambda _: "workspaces")
            assert [who for _, who in found.values()] == [str(item) for item in range(12)]
            assert {number for number, _ in found.values()} == {0, 1}

    asyncio.run(main())
    assert most == 2


def test_without_a_cap_the_error_says_which(repo: Path) -> None:
    async def main() -> None:
        async with open_workspaces(repo, slots=1) as pool, workspace(pool):
            with pytest.raises(NoFreeWorkspace, match="Caps"):
                async with workspace(pool):
                    pass

    asyncio.run(main())


def test_a_block_of_a_call_holds_its_permit(repo: Path) -> None:
    """As a system does it that needs no workspace all the time."""

    async def main() -> None:
        async with open_workspaces(repo, slots=1) as pool:

            async def use(item: int) -> int:
                async with workspace(pool) as ws:
                    ws.write("a.txt", str(item))
                    await asyncio.sleep(0)
                    return int((ws.root / "a.txt").read_text())

            async def work(item: int) -> int:
                return await call(use, item, needs="workspaces")

            found = await fan_out(work, range(4), cap=4, caps=Caps(workspaces=1))
            assert found.values() == [0, 1, 2, 3]

    asyncio.run(main())


def test_cancelled_at_any_time_it_comes_back(repo: Path) -> None:
    async def main() -> None:
        async with open_workspaces(repo, slots=1) as pool:
            with pool.workspace():
                pass

            async def hold(ready: asyncio.Event) -> None:
                async with workspace(pool):
                    ready.set()
                    await asyncio.Event().wait()

            inside = asyncio.Event()
            task = asyncio.create_task(hold(inside))
            await inside.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            early = asyncio.create_task(hold(asyncio.Event()))
            await asyncio.sleep(0)  # git is running in its thread now
            early.cancel()
            with pytest.raises(asyncio.CancelledError) as caught:
                await early
            assert type(caught.value) is asyncio.CancelledError
            async with workspace(pool) as ws:
                assert isinstance(ws, Workspace)

    asyncio.run(main())
    assert not [each for each in threading.enumerate() if "workspaces" in each.name]


def test_cancelled_while_it_opens_a_pool_leaves_nothing(repo: Path, cache: Path) -> None:
    async def main() -> None:
        async def use() -> None:
            async with open_workspaces(repo, slots=2):
                raise AssertionError("cancelled before")

        task = asyncio.create_task(use())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert list(cache.rglob("*")) == []


def test_a_command_in_a_sandbox_writes_to_its_workspace_and_not_to_the_users_tree(
    repo: Path,
) -> None:
    async def main() -> None:
        async with open_workspaces(repo, slots=1) as pool, workspace(pool) as ws:
            command = Command.shell_line(
                f"git log -1 --format=%H; echo mine > a.txt; echo theirs > {repo}/a.txt;"
                f"rm -rf {repo}; git branch mine; git update-ref HEAD HEAD~1",
                cwd=str(ws.path),
                sandbox=Sandbox(writable=[str(ws.root)], readable=ws.readable),
            )
            result = await run_command(command)
            if not result.sandboxed:
                pytest.skip("there is no sandbox here")
            assert result.stdout.text.split() == [pool.base]
            assert ws.changed_files() == ["a.txt"]

    try:
        asyncio.run(main())
    except RuntimeWarning:
        pytest.skip("there is no sandbox here")
