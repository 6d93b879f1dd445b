"""The connection that writes: who owns a run, and what happens when the server goes away.

**Ownership.** A lock of the session (an advisory lock on the run's number) says that the owner of a
run is alive, on whatever host. It is gone when the connection is: at once when the process dies,
after `IDLE_S` when it falls silent, because the server then ends an idle session. The owner sends
something every third of that time.

**Fencing.** A paused owner may wake up after another process has taken its run. So every claim
starts a new epoch, and the first statement of every batch moves the run's batch number on, where
epoch and number are as expected. No row means that another process owns the run.

**Exactly once.** If the connection breaks during a commit, nobody knows whether it was done. The
batch is sent again, and its number tells: if it was committed, the number has moved on already.
(`pg_xact_status` is not reliable after a crash of the server.)
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from fanwise.crashpoint import crash_point
from fanwise.errors import JournalError, RunExists, RunIsLive, RunTakenOver
from fanwise.journal import runs
from fanwise.journal.batch import write_all
from fanwise.journal.owner import current_owner, describe
from fanwise.journal.port import Owner, RunEndWrite, RunRecord, RunSpec, Write
from fanwise.journal.postgres.address import without_password
from fanwise.journal.postgres.connect import PostgresConnection, connect, driver, explain
from fanwise.journal.postgres.copies import PostgresTarget, make_temporary_tables

T = TypeVar("T")

IDLE_S = 60.0
"""How long a silent owner keeps its run."""
PATIENCE_S = 60.0
"""How long to wait for a server that went away."""
NOTIFY_S = 0.25
"""At most one notification of changes in this time."""
LOCK = 0x66616E77
"""The first half of the locks' numbers; the second is the run's number."""

CANCEL_CHANNEL = "fanwise_cancel"
CHANGE_CHANNEL = "fanwise_change"

_LOCKS = f"""FROM pg_locks WHERE locktype = 'advisory' AND classid = {LOCK}
    AND objsubid = 2 AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"""


def locked_runs(connection: runs.JournalConnection) -> set[int]:
    """The numbers of the runs whose owner has a session."""
    return {int(row[0]) for row in connection.execute(f"SELECT objid {_LOCKS}")}


class Fence(msgspec.Struct):
    """What the next batch of an owned run expects to find."""

    run_id: str
    number: int
    epoch: int
    batch: int


class _CommittedBefore(Exception):
    """The batch that is sent again was committed the first time."""


class PostgresSession:
    """The writing connection, and the runs that it owns."""

    def __init__(self, address: str, *, patience: float = PATIENCE_S, idle: float = IDLE_S) -> None:
        self.location = without_password(address)
        self.poll_s = idle / 3
        self._address = address
        self._patience = patience
        self._idle = idle
        self._owned: dict[int, Fence] = {}
        self._notify_at = 0.0
        self._connection = self._connect()

    def _connect(self) -> PostgresConnection:
        connection = connect(self._address)
        ms = int(self._idle * 1000)
        connection.raw.execute(f"SET idle_session_timeout = {ms}")
        connection.raw.execute(f"SET idle_in_transaction_session_timeout = {ms}")
        make_temporary_tables(connection)
        self._pid = connection.raw.info.backend_pid
        return connection

    # Writing

    def commit(self, writes: list[Write]) -> None:
        """Write all of this in one transaction, exactly once."""
        is_again = False
        while True:
            try:
                with self._connection.raw.transaction():
                    self._move_on(is_again)
                    write_all(PostgresTarget(self._connection), writes)
                    self._notify(writes)
                    crash_point("journal.before_commit")
                break
            except _CommittedBefore:
                break
            except Exception as error:
                if not self._owned:  # without a batch number it might be written twice
                    raise
                self._wait_for_server(error)
                is_again = True
        crash_point("journal.after_commit")
        for fence in self._owned.values():
            fence.batch += 1
        for write in writes:
            if isinstance(write, RunEndWrite):
                self._let_go(write.run_id)

    def _move_on(self, is_again: bool) -> None:
        """Move the batch numbers of owned runs on; raise if they are not as expected."""
        for fence in self._owned.values():
            moved = self._connection.execute(
                "UPDATE runs SET batch = batch + 1 WHERE number = ? AND epoch = ? AND batch = ?",
                (fence.number, fence.epoch, fence.batch),
            )
            if moved.rowcount == 1:
                continue
            found = self._connection.execute(
                "SELECT epoch, batch FROM runs WHERE number = ?", (fence.number,)
            ).fetchone()
            if is_again and found == (fence.epoch, fence.batch + 1):
                raise _CommittedBefore
            raise self._taken_over(self._connection, fence)

    def _taken_over(self, connection: PostgresConnection, fence: Fence) -> RunTakenOver:
        run = runs.get(connection, fence.run_id)
        by = "another process" if run.owner is None else describe(run.owner)
        return RunTakenOver(self.location, fence.run_id, by)

    def _notify(self, writes: list[Write]) -> None:
        """Tell those who look at runs, but not too often."""
        now = time.monotonic()
        if now >= self._notify_at or any(isinstance(write, RunEndWrite) for write in writes):
            self._notify_at = now + NOTIFY_S
            self._connection.execute("SELECT pg_notify(?, '')", (CHANGE_CHANNEL,))

    def call(self, function: Callable[[PostgresConnection], T]) -> T:
        """Call `function` in a transaction of its own. It must bear being called again."""
        while True:
            try:
                with self._connection.raw.transaction():
                    return function(self._connection)
            except Exception as error:
                self._wait_for_server(error)

    def look(self, *, anyway: bool) -> list[runs.RunRequests]:
        """What was asked of runs. This is the heartbeat, too."""
        del anyway

        def requests(connection: PostgresConnection) -> list[runs.RunRequests]:
            for fence in self._owned.values():
                found = connection.execute(
                    "SELECT epoch FROM runs WHERE number = ?", (fence.number,)
                ).fetchone()
                if found != (fence.epoch,):
                    raise self._taken_over(self._connection, fence)
            return runs.requests(connection)

        return self.call(requests)

    def explain(self, error: Exception) -> JournalError:
        """Our error for one of the driver's."""
        return explain(self._address, error)

    def close(self) -> None:
        self._connection.close()

    # Owning runs

    def create(self, run: RunRecord) -> RunRecord:
        """Record a new run and, if this process executes it, take its lock."""

        is_again = False

        def insert(connection: PostgresConnection) -> RunRecord:
            nonlocal is_again
            created = self._created_before(connection, run) if is_again else None
            is_again = True
            created = created or runs.create(connection, run)
            if run.owner == current_owner():
                self._own(connection, created)
            return created

        try:
            return self.call(insert)
        except driver().errors.UniqueViolation:
            raise RunExists(run.id) from None

    @staticmethod
    def _created_before(connection: PostgresConnection, run: RunRecord) -> RunRecord | None:
        """The same run, if the connection broke after it was created and before we knew."""
        found = [each for each in runs.newest_first(connection) if each.id == run.id]
        is_ours = found and replace(found[0], number=0) == replace(run, number=0)
        return found[0] if is_ours else None

    def claim(self, run_id: str, owner: Owner, *, force: bool, spec: RunSpec | None) -> RunRecord:
        """Take the lock of a run, and begin a new epoch of it. `force`: from whoever has it."""

        def take(connection: PostgresConnection) -> RunRecord:
            run = runs.get(connection, run_id)
            self._lock(connection, run, force=force)
            connection.execute(
                "UPDATE runs SET epoch = epoch + 1, batch = 0 WHERE number = ?", (run.number,)
            )
            claimed = runs.give(connection, run, owner, spec)
            self._own(connection, claimed)
            return claimed

        if force:
            self._evict(run_id)
        return self.call(take)

    def _evict(self, run_id: str) -> None:
        """End the session of the owner.

        The epoch first: an owner that is alive connects again at once, and must see that it lost
        the run before it takes the lock back.
        """
        run = self.call(lambda connection: runs.get(connection, run_id))
        holder = self.call(lambda connection: self._holder(connection, run.number))
        if holder is None or run.number in self._owned:
            return
        advance = "UPDATE runs SET epoch = epoch + 1 WHERE number = ?"
        self.call(lambda connection: connection.execute(advance, (run.number,)))
        self.call(lambda connection: _terminate(connection, holder))

    def _lock(self, connection: PostgresConnection, run: RunRecord, *, force: bool) -> None:
        owner = "this process" if run.owner is None else describe(run.owner)
        if run.number in self._owned:
            raise RunIsLive(run.id, owner)
        if self._try_lock(connection, run.number):
            return
        if not force:
            raise RunIsLive(run.id, owner, can_take_over=True)
        self._wait_for_lock(connection, run.number)

    def _own(self, connection: PostgresConnection, run: RunRecord) -> None:
        self._try_lock(connection, run.number)
        epoch, batch = connection.execute(
            "SELECT epoch, batch FROM runs WHERE number = ?", (run.number,)
        ).fetchone() or (0, 0)
        self._owned[run.number] = Fence(run.id, run.number, epoch, batch)

    def _let_go(self, run_id: str) -> None:
        for fence in [each for each in self._owned.values() if each.run_id == run_id]:
            del self._owned[fence.number]
            self._unlock(fence.number)

    def _unlock(self, number: int) -> None:
        with suppress(driver().Error):  # the lock is gone if the connection is
            self._connection.execute(f"SELECT pg_advisory_unlock({LOCK}, ?::int)", (number,))

    def _try_lock(self, connection: PostgresConnection, number: int) -> bool:
        """Session locks count how often they were taken; ours is taken once."""
        if self._holder(connection, number) == connection.raw.info.backend_pid:
            return True
        query = f"SELECT pg_try_advisory_lock({LOCK}, ?::int)"
        row = connection.execute(query, (number,)).fetchone()
        return bool(row and row[0])

    @staticmethod
    def _holder(connection: PostgresConnection, number: int) -> int | None:
        row = connection.execute(f"SELECT pid {_LOCKS} AND objid = ?", (number,)).fetchone()
        return None if row is None else int(row[0])

    @staticmethod
    def _wait_for_lock(connection: PostgresConnection, number: int) -> None:
        connection.execute("SET LOCAL lock_timeout = '10s'")
        connection.execute(f"SELECT pg_advisory_lock({LOCK}, ?::int)", (number,))

    # A server that went away

    def _wait_for_server(self, error: Exception) -> None:
        """Return once there is a new connection; raise `error` if that is not the problem."""
        if not self._connection.raw.closed:
            raise error
        deadline = time.monotonic() + self._patience
        wait = 0.02
        while True:
            try:
                self._reconnect()
            except driver().Error:
                if time.monotonic() >= deadline:
                    raise error from None
            else:
                return
            time.sleep(wait)
            wait = min(1.0, wait * 2)

    def _reconnect(self) -> None:
        old = self._pid
        connection = self._connect()
        try:
            with connection.raw.transaction():
                for fence in self._owned.values():
                    self._lock_again(connection, fence, old)
        except BaseException:
            connection.close()
            self._pid = old
            raise
        self._connection = connection

    def _lock_again(self, connection: PostgresConnection, fence: Fence, old: int) -> None:
        """Take the lock back, if need be from the session that we lost."""
        self._check_epoch(connection, fence)
        if not self._try_lock(connection, fence.number):
            if self._holder(connection, fence.number) == old:
                _terminate(connection, old)
            self._wait_for_lock(connection, fence.number)
        self._check_epoch(connection, fence)

    def _check_epoch(self, connection: PostgresConnection, fence: Fence) -> None:
        query = "SELECT epoch FROM runs WHERE number = ?"
        if connection.execute(query, (fence.number,)).fetchone() != (fence.epoch,):
            raise self._taken_over(connection, fence)


def _terminate(connection: PostgresConnection, pid: int) -> None:
    """End a session, and wait until it is gone."""
    connection.execute("SELECT pg_terminate_backend(?, 5000)", (pid,))
