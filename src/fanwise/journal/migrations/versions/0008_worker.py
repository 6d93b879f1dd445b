"""The worker that made an attempt, if it was made in another process.

Plain `ALTER TABLE … ADD COLUMN`: no row is touched, however large the journal is.
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("attempts", sa.Column("worker", sa.Text))
