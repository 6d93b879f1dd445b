"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    _runs()
    _fan_outs()
    _items()
    _attempts()
    _events()
    _inputs()


def _runs() -> None:
    op.create_table(
        "runs",
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("spec", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("created_at", sa.Float, nullable=False),
        sa.Column("ended_at", sa.Float),
        sa.Column("owner", sa.Text),
        sa.Column("cancel_requested", sa.Boolean, nullable=False, server_default=sa.text("0")),
        sa.Column("error", sa.Text),
        sa.UniqueConstraint("id", name="uq_runs_id"),
        sqlite_autoincrement=True,
    )


def _fan_outs() -> None:
    op.create_table(
        "fan_outs",
        sa.Column("seq", sa.Integer, primary_key=True),
        sa.Column("id", sa.BigInteger, nullable=False),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("path", sa.Text, nullable=False),
        sa.Column("cap", sa.Integer, nullable=False),
        sa.Column("halt", sa.Text, nullable=False),
        sa.Column("opened_at", sa.Float, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("ended_at", sa.Float),
        sa.Column("stats", sa.Text),
        sa.UniqueConstraint("id", name="uq_fan_outs_id"),
    )
    op.create_index("ix_fan_outs_run_id", "fan_outs", ["run_id"])


def _items() -> None:
    op.create_table(
        "items",
        sa.Column("fan_out", sa.BigInteger, primary_key=True),
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("item_index", sa.Integer, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("starts", sa.Integer, nullable=False),
        sa.Column("value", sa.Text),
        sa.Column("error", sa.Text),
        sa.Column("started_at", sa.Float),
        sa.Column("ended_at", sa.Float),
        sa.Column("queued_s", sa.Float, nullable=False, server_default=sa.text("0.0")),
        sa.Column("ran_s", sa.Float, nullable=False, server_default=sa.text("0.0")),
        sa.Column("backoff_s", sa.Float, nullable=False, server_default=sa.text("0.0")),
        sqlite_with_rowid=False,
    )


def _attempts() -> None:
    op.create_table(
        "attempts",
        sa.Column("fan_out", sa.BigInteger, primary_key=True),
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("call", sa.Text),
        sa.Column("queued_s", sa.Float, nullable=False),
        sa.Column("ran_s", sa.Float, nullable=False),
        sa.Column("backoff_s", sa.Float, nullable=False),
        sa.Column("error", sa.Text),
        sa.Column("requests", sa.Float),
        sa.Column("tokens", sa.Float),
        sa.Column("usd", sa.Float),
        sqlite_with_rowid=False,
    )


def _events() -> None:
    op.create_table(
        "events",
        sa.Column("seq", sa.Integer, primary_key=True),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("data", sa.Text, nullable=False),
    )
    op.create_index("ix_events_run_id", "events", ["run_id"])


def _inputs() -> None:
    op.create_table(
        "inputs",
        sa.Column("run_id", sa.Text, primary_key=True),
        sa.Column("input_index", sa.Integer, primary_key=True),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sqlite_with_rowid=False,
    )
