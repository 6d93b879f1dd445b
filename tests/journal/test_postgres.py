"""What only a journal on a server must do: owners on all hosts, fencing, a server that goes away.

The rules that all journals share are in `test_contract.py`.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanwise.errors import (
    JournalNotWritable,
    JournalTooNew,
    JournalUnreadable,
    RunIsLive,
    RunTakenOver,
)
from fanwise.journal.batch import write_all
from fanwise.journal.open import open_journal, shown_location
from fanwise.journal.owner import current_owner
from fanwise.journal.port import ItemEndWrite, ItemStartWrite, RunEndWrite, Write, fan_out_id
from fanwise.journal.postgres.copies import PostgresTarget
from fanwise.journal.postgres.journal import PostgresJournal
from fanwise.testing.memory_journal import MemoryJournal
from tests.journal.conftest import FAR_AWAY, Child, a_run, write
from tests.journal.cutting_proxy import Cut, CuttingProxy
from tests.journal.test_order import everything, gathered, writes
from tests.marks import slow
from tests.postgres import Server

F = fan_out_id(1, 1)
HERE = str(Path.cwd())

OWNER = """
    import sys, threading
    from fanwise.journal.owner import current_owner
    from fanwise.journal.port import ItemStartWrite, fan_out_id
    from fanwise.journal.postgres.journal import PostgresJournal
    sys.path.insert(0, sys.argv[2])
    from tests.journal.conftest import a_run, write
    journal = PostgresJournal(sys.argv[1], idle=float(sys.argv[3]))
    journal.create_run(a_run(owner=current_owner()))
    print("owned", flush=True)
    cancelled = threading.Event()
    journal.watch_cancel("r", lambda: print("cancelled", flush=True))
    for line in sys.stdin:
        try:
            write(journal, ItemStartWrite(fan_out_id(1, 1), line.strip(), 0, 1.0))
            print("written", flush=True)
        except Exception as error:
            print(type(error).__name__, flush=True)
"""


@pytest.fixture
def journal(postgres: Server) -> Iterator[PostgresJournal]:
    journal = PostgresJournal(postgres.address)
    yield journal
    journal.close()


def an_owner(child: Child, server: Server, idle: float = 60.0) -> subprocess.Popen[str]:
    """Another process that owns run `r`, and writes an item for each line it gets."""
    process = child(OWNER, server.address, HERE, idle, PYTHONPATH=HERE)
    assert process.stdout is not None
    assert process.stdout.readline() == "owned\n", process.communicate()
    return process


def tell(process: subprocess.Popen[str], line: str) -> str:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(f"{line}\n")
    process.stdin.flush()
    return process.stdout.readline().strip()


# Owners


def test_an_owner_on_another_host_is_alive_as_long_as_its_session(
    journal: PostgresJournal, postgres: Server, child: Child
) -> None:
    process = an_owner(child, postgres)
    assert journal.run("r").owner is not None
    with pytest.raises(RunIsLive, match="--take-over"):
        journal.claim_run("r", current_owner())
    process.kill()
    process.wait()
    while journal.run("r").owner is not None:  # until the server sees the closed socket
        pass
    assert journal.claim_run("r", current_owner()).owner == current_owner()


def test_a_run_without_a_session_can_be_claimed_whatever_host_it_was_on(
    journal: PostgresJournal,
) -> None:
    journal.create_run(a_run(owner=FAR_AWAY))
    assert journal.run("r").owner is None
    assert journal.claim_run("r", current_owner()).owner == current_owner()


def test_a_run_that_was_taken_over_refuses_its_old_owner(
    journal: PostgresJournal, postgres: Server, child: Child
) -> None:
    process = an_owner(child, postgres)
    assert tell(process, "mine") == "written"
    journal.claim_run("r", current_owner(), force=True)
    assert tell(process, "late") == "RunTakenOver"
    write(journal, ItemStartWrite(F, "new", 1, 1.0))
    assert [item.key for item in journal.items(F)] == ["mine", "new"]


def test_an_owner_that_is_paused_past_its_time_is_fenced(
    journal: PostgresJournal, postgres: Server, child: Child
) -> None:
    process = an_owner(child, postgres, idle=1.0)
    process.send_signal(signal.SIGSTOP)
    while journal.run("r").owner is not None:  # the server ends its session
        pass
    journal.claim_run("r", current_owner())
    process.send_signal(signal.SIGCONT)
    assert tell(process, "late") == "RunTakenOver"
    assert list(journal.items(F)) == []


def test_an_owner_that_is_paused_in_a_transaction_loses_it(
    postgres: Server, journal: PostgresJournal
) -> None:
    """The session is ended inside the transaction: nothing of it is kept, and it is fenced."""
    paused = PostgresJournal(postgres.address, idle=0.5)
    paused.create_run(a_run(owner=current_owner()))
    session = paused._session

    def in_transaction(connection: object) -> None:
        postgres_connection = session._connection
        with pytest.raises(psycopg.Error), postgres_connection.raw.transaction():
            session._move_on(False)
            write_all(PostgresTarget(postgres_connection), [ItemStartWrite(F, "half", 0, 1.0)])
            while journal.run("r").owner is not None:
                pass
            journal.claim_run("r", current_owner())
            postgres_connection.execute("SELECT 1")

    paused._writer.order(lambda: in_transaction(None))
    with pytest.raises(RunTakenOver):
        write(paused, ItemStartWrite(F, "late", 0, 1.0))
    paused.close()
    assert list(journal.items(F)) == []


def test_an_idle_owner_hears_that_its_run_was_taken_over(
    postgres: Server, journal: PostgresJournal
) -> None:
    idle = PostgresJournal(postgres.address, idle=0.6)
    idle.create_run(a_run(owner=current_owner()))
    journal.claim_run("r", current_owner(), force=True)
    with pytest.raises(RunTakenOver):
        write(idle, RunEndWrite("r", "done", 2.0))
    assert journal.run("r").status == "running"
    idle.close()


def test_a_cancel_reaches_another_process_by_a_notification(
    journal: PostgresJournal, postgres: Server, child: Child
) -> None:
    process = an_owner(child, postgres)  # its heartbeat comes every 20 s
    assert tell(process, "one") == "written"
    journal.request_cancel("r")
    assert process.stdout is not None
    assert process.stdout.readline() == "cancelled\n"


def test_ten_processes_that_claim_a_run_at_once_have_one_winner(
    postgres: Server, child: Child
) -> None:
    journal = PostgresJournal(postgres.address)
    journal.create_run(a_run())
    journal.close()
    code = """
        import sys
        from fanwise.errors import RunIsLive
        from fanwise.journal.owner import current_owner
        from fanwise.journal.postgres.journal import PostgresJournal
        journal = PostgresJournal(sys.argv[1])
        print("ready", flush=True)
        sys.stdin.readline()
        try:
            journal.claim_run("r", current_owner())
            print("won", flush=True)
        except RunIsLive:
            print("lost", flush=True)
        sys.stdin.readline()
    """
    processes = [child(code, postgres.address) for _ in range(4)]
    for process in processes:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
    answers = []
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        assert process.stdout is not None
        answers.append(process.stdout.readline().strip())
    assert sorted(answers) == ["lost", "lost", "lost", "won"]


# A server that goes away


@pytest.fixture
def proxy(postgres: Server) -> Iterator[CuttingProxy]:
    proxy = CuttingProxy(postgres.port)
    yield proxy
    proxy.close()


def through(proxy: CuttingProxy, patience: float = 60.0) -> PostgresJournal:
    address = f"postgresql://fanwise@127.0.0.1:{proxy.port}/postgres"
    return PostgresJournal(address, patience=patience)


@pytest.mark.parametrize("how", ["before", "after"])
def test_a_batch_whose_commit_was_cut_is_written_exactly_once(
    proxy: CuttingProxy, how: Cut
) -> None:
    journal = through(proxy)
    journal.create_run(a_run(owner=current_owner()))
    for number in range(3):
        proxy.cut_next(how)
        start = ItemStartWrite(F, "k", 0, 1.0)  # a second one would count as a second start
        write(journal, start, ItemEndWrite(F, "k", 0, "done", 2.0, value=str(number)))
        (item,) = journal.items(F)
        assert (item.starts, item.value) == (1, str(number))
    assert proxy.done == [how] * 3
    journal.close()


def test_a_run_that_is_created_over_a_cut_connection_is_ours(proxy: CuttingProxy) -> None:
    journal = through(proxy)
    proxy.cut_next("after")
    created = journal.create_run(a_run(owner=current_owner()))
    assert journal.run("r") == created
    write(journal, ItemStartWrite(F, "k", 0, 1.0))
    journal.close()


def test_writes_wait_for_a_server_that_restarts(postgres_server: Server) -> None:
    postgres_server.empty()
    journal = PostgresJournal(postgres_server.address)
    journal.create_run(a_run(owner=current_owner()))
    for number, end in enumerate((postgres_server.kill, postgres_server.stop)):
        write(journal, ItemStartWrite(F, f"before {number}", 2 * number, 1.0))
        end()
        journal.submit(ItemStartWrite(F, f"during {number}", 2 * number + 1, 1.0))
        postgres_server.start()
    write(journal, ItemStartWrite(F, "after", 9, 1.0))
    items = list(journal.items(F))
    assert [item.key for item in items] == ["before 0", "during 0", "before 1", "during 1", "after"]
    assert {item.starts for item in items} == {1}
    other = PostgresJournal(postgres_server.address)
    with pytest.raises(RunIsLive):
        other.claim_run("r", current_owner())
    other.close()
    journal.close()


def test_a_server_that_stays_away_ends_the_run_with_a_clear_error(proxy: CuttingProxy) -> None:
    journal = through(proxy, patience=0.3)
    journal.create_run(a_run(owner=current_owner()))
    proxy.refuses = True
    proxy.cut_next("before")
    with pytest.raises(JournalNotWritable, match="Check that the server runs") as caught:
        write(journal, ItemStartWrite(F, "k", 0, 1.0))
    assert "then resume" in str(caught.value)
    journal.close()


# Tables, rights and addresses


def test_a_user_who_may_only_read_can_show_runs_and_nothing_else(postgres: Server) -> None:
    writing = PostgresJournal(postgres.address)
    writing.create_run(a_run(owner=current_owner()))
    write(writing, ItemStartWrite(F, "k", 0, 1.0))
    postgres.query(
        "DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'reader') "
        "THEN CREATE ROLE reader LOGIN; END IF; END $$"
    )
    postgres.query("GRANT USAGE ON SCHEMA fanwise TO reader")
    postgres.query("GRANT SELECT ON ALL TABLES IN SCHEMA fanwise TO reader")
    address = postgres.address.replace("fanwise@", "reader@")
    reading = open_journal(address, read_only=True)
    assert [run.status for run in reading.runs()] == ["running"]
    assert [item.key for item in reading.items(F)] == ["k"]
    with pytest.raises(JournalNotWritable, match="reading only"):
        reading.create_run(a_run("s"))
    reading.close()
    refused = open_journal(address)
    with pytest.raises(JournalNotWritable, match="Ask for the right"):
        refused.create_run(a_run("s"))
    refused.close()
    writing.close()


def test_a_server_without_a_journal_is_not_written_to_by_readers(postgres: Server) -> None:
    with pytest.raises(JournalUnreadable, match="nothing has been written"):
        open_journal(postgres.address, read_only=True)
    assert postgres.query("SELECT to_regclass('fanwise.runs')") == [(None,)]


def test_a_newer_schema_is_refused(postgres: Server) -> None:
    PostgresJournal(postgres.address).close()
    postgres.query("UPDATE fanwise.alembic_version SET version_num = '9999'")
    with pytest.raises(JournalTooNew):
        PostgresJournal(postgres.address)


def test_a_password_is_in_no_message(postgres: Server) -> None:
    address = f"postgresql://me:geheim@127.0.0.1:{postgres.port}/none?password=geheim"
    assert "geheim" not in shown_location(address)
    with pytest.raises(JournalNotWritable) as caught:
        open_journal(address)
    assert "geheim" not in str(caught.value)
    assert "geheim" not in repr(vars(caught.value))


@pytest.fixture(scope="module")
def on_server(postgres_server: Server) -> Iterator[PostgresJournal]:
    postgres_server.empty()
    journal = PostgresJournal(postgres_server.address)
    yield journal
    journal.close()


@slow
@given(batches=st.lists(st.lists(st.one_of(writes, gathered), min_size=1, max_size=15), max_size=3))
def test_batches_have_the_effect_of_their_writes_one_by_one(
    on_server: PostgresJournal, batches: list[list[Write]]
) -> None:
    for table in ("runs", "fan_outs", "items", "attempts", "events", "inputs"):
        sql = f"TRUNCATE {table} RESTART IDENTITY"
        on_server._writer.call(lambda connection, sql=sql: connection.execute(sql))  # type: ignore[misc]
    in_memory = MemoryJournal()
    for journal in (on_server, in_memory):
        journal.create_run(a_run())
    for batch in batches:
        on_server._writer.order(lambda batch=batch: on_server._session.commit(batch))  # type: ignore[misc]
        write(in_memory, *batch)
    assert everything(on_server) == everything(in_memory)
