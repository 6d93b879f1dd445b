"""Tokens in and out of each attempt, and when the first one came.

Plain `ALTER TABLE … ADD COLUMN`: no row is touched, however large the journal is, and what was
written before has NULL, which means that nobody knows.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("attempts", sa.Column("input_tokens", sa.Integer))
    op.add_column("attempts", sa.Column("output_tokens", sa.Integer))
    op.add_column("attempts", sa.Column("cached_tokens", sa.Integer))
    op.add_column("attempts", sa.Column("first_token_s", sa.Float))
