"""After the fastest has won, nothing of the losers is alive: task, thread, process, connection."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from pathlib import Path

from fanwise import Command, Halt, cancelled, fan_out

FASTEST = Halt.on_success(fastest=True)


class Server:
    """A real HTTP server that never answers the losers and sees their connections close."""

    def __init__(self, parties: int) -> None:
        self.together = asyncio.Barrier(parties)
        self.closed: asyncio.Queue[str] = asyncio.Queue()
        self.open = 0

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = (await reader.readline()).split()[1].decode()
        while await reader.readline() not in (b"\r\n", b""):
            pass
        self.open += 1
        await self.together.wait()  # the winner answers only when all requests are in flight
        if path == "/winner":
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            await writer.drain()
        await reader.read()  # until the client closes
        self.open -= 1
        self.closed.put_nowait(path)
        writer.close()


async def get(port: int, path: str) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        await writer.drain()
        return (await reader.readuntil(b"ok"))[-2:]
    finally:
        writer.close()


def test_the_server_sees_every_losing_request_close() -> None:
    paths = ["/a", "/b", "/winner", "/c", "/d"]

    async def main() -> None:
        state = Server(len(paths))
        server = await asyncio.start_server(state.handle, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server:
            before = asyncio.all_tasks()
            outcomes = await fan_out(lambda p: get(port, p), paths, cap=5, halt=FASTEST)
            # The server's own handlers are not tasks of the fan-out.
            mine = {t for t in asyncio.all_tasks() - before if "handle" not in repr(t)}
            assert mine == set(), "a task of the fan-out is alive"
            assert outcomes.winner is not None
            assert outcomes.winner.value == b"ok"
            closed = {await asyncio.wait_for(state.closed.get(), 30) for _ in paths}
            assert closed == set(paths)
            assert state.open == 0

    asyncio.run(main())


def test_no_thread_of_the_fan_out_is_alive() -> None:
    together = threading.Barrier(4, timeout=60)

    def work(item: int) -> int:
        together.wait()
        while item and not cancelled():
            os.sched_yield()
        return item

    async def main() -> None:
        before = set(threading.enumerate())
        outcomes = await fan_out(work, range(4), cap=4, halt=FASTEST)
        assert set(threading.enumerate()) == before
        assert outcomes.winner is not None
        assert outcomes.winner.value == 0

    asyncio.run(main())


def test_no_child_process_of_the_fan_out_is_alive(tmp_path: Path) -> None:
    """Losers tell their pid through a fifo each; the winner starts when all have."""
    script = tmp_path / "work.sh"
    script.write_text(
        "case $1 in winner) for i in 1 2 3; do read pid < $2/fifo$i; echo $pid >> $2/pids; done;;\n"
        "*) trap '' TERM; echo $$ > $2/fifo$1; while :; do sleep 1000; done;; esac\n"
    )
    for n in (1, 2, 3):
        os.mkfifo(tmp_path / f"fifo{n}")
    command = Command("/bin/sh", str(script), "{}", str(tmp_path))

    async def main() -> None:
        outcomes = await fan_out(command, ["1", "2", "3", "winner"], cap=4, halt=FASTEST)
        assert outcomes.winner is not None
        assert outcomes.winner.index == 3

    asyncio.run(main())
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert len(pids) == 3
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids), sys.platform
