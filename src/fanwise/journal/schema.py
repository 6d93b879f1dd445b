"""The tables, for SQLAlchemy Core.

People query journals with `sqlite3`, so names are plain, values and errors are JSON text (which
`json_extract` reads), and no column needs quoting (`item_index`, because `index` is a keyword).

For speed:

- Items, attempts and inputs are `WITHOUT ROWID`: the primary key is their only B-tree, while a
  rowid table with a unique index has two. Items are sorted when they are read; an index on
  `item_index` would slow down every write.
- There are no foreign keys. Writes are committed in the order of submission, so a parent always
  exists before its children, and fanwise never deletes anything.

A change here needs a migration in `migrations/versions`; a test compares the two. Importing
SQLAlchemy takes longer than most reads, so this is imported only to create or migrate a file.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    false,
    text,
)

Number = BigInteger().with_variant(Integer, "sqlite")  # SQLite counts only an INTEGER by itself
Key = Text().with_variant(Text(collation="C"), "postgresql")  # sorted as SQLite and Python do

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

runs = Table(
    "runs",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("id", Text, nullable=False, unique=True),
    Column("kind", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("spec", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("ended_at", Float),
    Column("owner", Text),
    Column("cancel_requested", Boolean, nullable=False, server_default=false()),
    Column("error", Text),
    # Which owner may write, and how often it did: see `postgres/session.py`. SQLite needs neither.
    Column("epoch", Integer, nullable=False, server_default=text("0")),
    Column("batch", BigInteger, nullable=False, server_default=text("0")),
    Column("caps_asked", Text),
    sqlite_autoincrement=True,
)

fan_outs = Table(
    "fan_outs",
    metadata,
    # The kernel chooses the id of a fan-out; `seq` is the order of opening.
    Column("seq", Number, primary_key=True),
    Column("id", BigInteger, nullable=False, unique=True),
    Column("run_id", Text, nullable=False, index=True),
    Column("path", Text, nullable=False),
    Column("cap", Integer, nullable=False),
    Column("halt", Text, nullable=False),
    Column("opened_at", Float, nullable=False),
    Column("status", Text, nullable=False),
    Column("ended_at", Float),
    Column("stats", Text),
)

items = Table(
    "items",
    metadata,
    Column("fan_out", BigInteger, primary_key=True),
    Column("key", Key, primary_key=True),
    Column("item_index", Integer, nullable=False),
    Column("status", Text, nullable=False),
    Column("starts", Integer, nullable=False),
    Column("value", Text),
    Column("error", Text),
    Column("started_at", Float),
    Column("ended_at", Float),
    Column("queued_s", Float, nullable=False, server_default=text("0.0")),
    Column("ran_s", Float, nullable=False, server_default=text("0.0")),
    Column("backoff_s", Float, nullable=False, server_default=text("0.0")),
    sqlite_with_rowid=False,
    postgresql_with={"fillfactor": 50},  # room for the outcome beside the start, in the same page
)

attempts = Table(
    "attempts",
    metadata,
    Column("fan_out", BigInteger, primary_key=True),
    Column("key", Key, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("call", Text),
    Column("queued_s", Float, nullable=False),
    Column("ran_s", Float, nullable=False),
    Column("backoff_s", Float, nullable=False),
    Column("error", Text),
    Column("requests", Float),
    Column("tokens", Float),
    Column("usd", Float),
    Column("input_tokens", Integer),
    Column("output_tokens", Integer),
    Column("cached_tokens", Integer),
    Column("first_token_s", Float),
    Column("started_at", Float),
    Column("caps", Text),
    Column("lag_s", Float),
    Column("in_flight", Integer),
    Column("worker", Text),
    sqlite_with_rowid=False,
)

events = Table(
    "events",
    metadata,
    Column("seq", Number, primary_key=True),
    Column("run_id", Text, nullable=False, index=True),
    Column("at", Float, nullable=False),
    Column("kind", Text, nullable=False),
    Column("data", Text, nullable=False),
)

inputs = Table(
    "inputs",
    metadata,
    Column("run_id", Text, primary_key=True),
    Column("input_index", Integer, primary_key=True),
    Column("data", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)
