"""When each call began, and which caps it held: what a timeline is drawn from.

Plain `ALTER TABLE … ADD COLUMN`: no row is touched, however large the journal is, and what was
written before has NULL, which means that nobody knows.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("attempts", sa.Column("started_at", sa.Float))
    op.add_column("attempts", sa.Column("caps", sa.Text))
